//! Guarantee partitioning: divides a hose among the pairs of one end, max-min fair by the amount that each can use.

/// For each pair, what it would get of the hose if nothing bounded it while the others are bounded as they are. A pair that gets
/// less than its bound gets its max-min fair share of the hose; who gets more is bounded by something else. So the sum of
/// `min(bound, part)` is never above the hose. Rounded down; in quadratic time.
pub(super) fn partition(hose: u64, bounds: &[u64], parts: &mut Vec<u64>) {
    parts.clear();
    let mut order: Vec<usize> = (0..bounds.len()).collect();
    order.sort_by_key(|&pair| bounds[pair]);
    parts.extend((0..bounds.len()).map(|pair| {
        let others = order.iter().filter(|&&other| other != pair).map(|&other| bounds[other]);
        level(hose, bounds.len() as u64, others)
    }));
}

/// The level up to which a hose fills `pairs` pairs of which one is not bounded, with the bounds of the others in ascending order.
fn level(hose: u64, mut pairs: u64, bounds: impl Iterator<Item = u64>) -> u64 {
    let mut left = hose;
    for bound in bounds {
        if bound >= left / pairs {
            break;
        }
        left -= bound;
        pairs -= 1;
    }
    left / pairs
}
