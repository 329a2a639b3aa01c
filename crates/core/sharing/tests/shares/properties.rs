//! Properties that must hold of the shares of any tree.

use std::num::NonZeroU32;

use crate::common::{Case, case, cases, node, rate};
use rand::RngExt;
use wayleave_sharing::{LiveShares, ServiceTerms, Shares, Tree};
use wayleave_units::Rate;

/// Sixty such minima stay below what a tree takes.
const LARGEST: u64 = 1 << 44;

fn compute(case: &Case) -> (Vec<u64>, Vec<Option<Rate>>, Vec<u64>) {
    let tree = case.tree();
    let mut shares = Shares::default();
    shares.compute(&tree, case.capacity, &case.demands);
    let bits =
        |of: &dyn Fn(wayleave_sharing::TreeNode) -> Rate| tree.nodes().map(|node| of(node).bits_per_second()).collect();
    let limits = tree.nodes().map(|node| shares.limit(node)).collect();
    (bits(&|node| shares.share(node)), limits, bits(&|node| shares.demand(node)))
}

/// The textbook's rounds, one child a round, in the plainest integers: what each claim gets of an amount.
fn fill_one_by_one(amount: u64, caps: &[u64], weights: &[u64]) -> Vec<u64> {
    let mut open: Vec<usize> = (0..caps.len()).filter(|&child| caps[child] > 0).collect();
    let mut left = u128::from(amount);
    let mut shares = vec![0; caps.len()];
    loop {
        let width: u128 = open.iter().map(|&child| u128::from(weights[child])).sum();
        let full = open.iter().position(|&child| u128::from(caps[child]) * width <= left * u128::from(weights[child]));
        let Some(full) = full else {
            open.iter().for_each(|&child| shares[child] = (left * u128::from(weights[child]) / width) as u64);
            return shares;
        };
        let child = open.swap_remove(full);
        shares[child] = caps[child];
        left -= u128::from(caps[child]);
    }
}

/// The same in the order in which they become full.
fn fill_in_order(amount: u64, caps: &[u64], weights: &[u64]) -> Vec<u64> {
    let product = |one: u64, other: u64| u128::from(one) * u128::from(other);
    let mut open: Vec<usize> = (0..caps.len()).filter(|&child| caps[child] > 0).collect();
    open.sort_unstable_by(|&one, &other| product(caps[one], weights[other]).cmp(&product(caps[other], weights[one])));
    let mut width: u64 = open.iter().map(|&child| weights[child]).sum();
    let (mut left, mut shares) = (amount, vec![0; caps.len()]);
    let mut is_open = false;
    for child in open {
        is_open |= product(caps[child], width) > product(left, weights[child]);
        if is_open {
            shares[child] = (product(left, weights[child]) / u128::from(width)) as u64;
        } else {
            shares[child] = caps[child];
            (left, width) = (left - caps[child], width - weights[child]);
        }
    }
    shares
}

/// Expected shares of the children of a node.
fn expected(
    case: &Case,
    (shares, demands): (&[u64], &[u64]),
    parent: usize,
    fill: impl Fn(u64, &[u64], &[u64]) -> Vec<u64>,
) -> Vec<u64> {
    let children = case.children(parent);
    let minima: Vec<u64> = children.iter().map(|&child| case.terms[child].min.bits_per_second()).collect();
    let floors: Vec<u64> = children.iter().zip(&minima).map(|(&child, &min)| min.min(demands[child])).collect();
    let promised: u128 = floors.iter().map(|&floor| u128::from(floor)).sum();
    match u128::from(shares[parent]).checked_sub(promised) {
        None => fill(shares[parent], &floors, &minima),
        Some(left) => {
            let caps: Vec<u64> = children.iter().zip(&floors).map(|(&child, floor)| demands[child] - floor).collect();
            let weights: Vec<u64> = children.iter().map(|&child| u64::from(case.terms[child].weight.get())).collect();
            let excess = fill(left as u64, &caps, &weights);
            floors.iter().zip(excess).map(|(floor, excess)| floor + excess).collect()
        }
    }
}

#[test]
fn shares_equal_those_of_the_textbook_at_every_node() {
    cases(3_000, |random| {
        let case = case(random, 40, LARGEST);
        let (shares, _, demands) = compute(&case);
        for parent in 0..case.parents.len() {
            let found: Vec<u64> = case.children(parent).into_iter().map(|child| shares[child]).collect();
            let expected = expected(&case, (&shares, &demands), parent, fill_one_by_one);
            assert_eq!(found, expected, "below node {parent}");
        }
    });
}

/// Enough services for a sample to be taken first: where it is right, and where it misleads, because the load is
/// close to the capacity, the order of the services has a pattern, or all have one demand.
#[test]
fn thousands_of_services_are_filled_as_in_the_textbook() {
    cases(150, |random| {
        let mut case = case(random, 2, 1 << 40);
        let count = random.random_range(2_500..6_000);
        let (shape, weight) = (random.random_range(0..4), [1, 8, 1_000, u32::MAX][random.random_range(0..4)]);
        let (period, minima) = (random.random_range(1..100), random.random_bool(0.3));
        case =
            Case { parents: vec![0, 0], terms: vec![ServiceTerms::default(); 2], demands: vec![Rate::ZERO; 2], ..case };
        // Some are below the first child, so that the root's children are in pieces.
        let below = random.random_bool(0.5);
        while case.parents.len() < count {
            let at = case.parents.len();
            let demand = match shape {
                0 => random.random_range(0..1 << 30),
                1 => 1 << random.random_range(0..40),
                2 => 1 << (at % period % 40),
                _ => [1 << 10, 1 << 38][usize::from(at > count / 2)],
            };
            let min = if minima { random.random_range(0..1 << 30) } else { 0 };
            let weight = NonZeroU32::new(random.random_range(1..=weight)).unwrap();
            case.parents.push(usize::from(below && random.random_bool(0.1)));
            case.terms.push(ServiceTerms { min: rate(min), max: None, weight });
            case.demands.push(rate(demand));
        }
        let all: u64 = case.demands.iter().map(|demand| demand.bits_per_second()).sum();
        let load = [random.random_range(0..1_000), random.random_range(980..1_000), 999][random.random_range(0..3)];
        case.capacity = rate((u128::from(all) * load / 1_000) as u64);
        let (shares, _, demands) = compute(&case);
        for parent in [0, 1] {
            let found: Vec<u64> = case.children(parent).into_iter().map(|child| shares[child]).collect();
            let expected = expected(&case, (&shares, &demands), parent, fill_in_order);
            assert!(found == expected, "below node {parent}");
        }
    });
}

/// Caps that grow by a factor defeat a search that settles them from below: one a round.
#[test]
fn caps_of_all_magnitudes_are_filled_as_in_the_textbook() {
    cases(300, |random| {
        let mut case = case(random, 2, LARGEST);
        let (children, weight) = (random.random_range(100..400), random.random_range(1..1_000_000));
        let top = ServiceTerms { max: None, ..case.terms[0] };
        case = Case { parents: vec![0; children + 1], terms: vec![top], demands: vec![Rate::ZERO], ..case };
        let ratio: f64 = random.random_range(1.0..1.6);
        for child in 0..children {
            let weight = NonZeroU32::new(random.random_range(1..=weight)).unwrap();
            case.terms.push(ServiceTerms { weight, ..ServiceTerms::default() });
            case.demands.push(rate(ratio.powi(child as i32 % 60) as u64 * random.random_range(1..4)));
        }
        let all: u64 = case.demands.iter().map(|demand| demand.bits_per_second()).sum();
        case.capacity = rate(random.random_range(0..=all));
        let bits = |rates: &[Rate]| rates.iter().map(|rate| rate.bits_per_second()).collect::<Vec<_>>();
        let weights: Vec<u64> = case.terms[1..].iter().map(|terms| u64::from(terms.weight.get())).collect();
        let capacity = case.capacity.bits_per_second();
        assert_eq!(compute(&case).0[1..], fill_one_by_one(capacity, &bits(&case.demands[1..]), &weights));
    });
}

#[test]
fn no_capacity_is_allocated_twice_and_almost_none_is_left() {
    cases(3_000, |random| {
        let case = case(random, 60, LARGEST);
        let (shares, limits, demands) = compute(&case);
        assert_eq!(shares[0], demands[0].min(case.capacity.bits_per_second()));
        for parent in 0..case.parents.len() {
            let children = case.children(parent);
            let handed_out: u64 = children.iter().map(|&child| shares[child]).sum();
            // A child is short by the amount that it does not get below its maximum.
            let short = children.iter().filter(|&&child| shares[child] < demands[child]).count() as u64;
            assert!(handed_out <= shares[parent], "below node {parent}");
            if !children.is_empty() {
                let minima = children.iter().any(|&child| case.terms[child].min > Rate::ZERO);
                let floors: u64 = children.iter().map(|&c| demands[c].min(case.terms[c].min.bits_per_second())).sum();
                // Without enough for the minima, those without a minimum are short and take no part.
                let lost = if minima && floors > shares[parent] { children.len() as u64 } else { short };
                assert!(shares[parent] - handed_out <= lost.saturating_sub(u64::from(lost > 0)), "below node {parent}");
            }
        }
        for child in 0..case.parents.len() {
            assert!(shares[child] <= demands[child]);
            assert!(case.terms[child].max.is_none_or(|max| shares[child] <= max.bits_per_second()));
            assert!(limits[child].is_none_or(|limit| limit == rate(shares[child])));
            if case.children(child).is_empty() {
                assert_eq!(limits[child].is_some(), shares[child] < case.demands[child].bits_per_second());
            }
        }
    });
}

/// Weighted max-min: a child that is not satisfied has at least as much excess for its weight as any other, up to the
/// rounding.
#[test]
fn a_satisfied_service_has_no_more_excess_per_weight_than_an_unsatisfied_one() {
    cases(3_000, |random| {
        let case = case(random, 30, LARGEST);
        let (shares, _, demands) = compute(&case);
        for parent in 0..case.parents.len() {
            let children = case.children(parent);
            let floor = |child: usize| demands[child].min(case.terms[child].min.bits_per_second());
            let promised: u64 = children.iter().map(|&child| floor(child)).sum();
            if promised > shares[parent] {
                continue;
            }
            for &short in children.iter().filter(|&&child| shares[child] < demands[child]) {
                assert!(shares[short] >= floor(short), "the minimum of {short}");
                for &other in &children {
                    let weight = |child: usize| u128::from(case.terms[child].weight.get());
                    let excess = |child: usize| u128::from(shares[child] - floor(child));
                    assert!(
                        excess(other) * weight(short) < (excess(short) + 1) * weight(other),
                        "{other} before {short}"
                    );
                }
            }
        }
    });
}

#[test]
fn minima_that_do_not_fit_are_all_scaled_by_the_same_part() {
    cases(2_000, |random| {
        let mut case = case(random, 12, 1 << 40);
        case.parents.fill(0);
        case.terms[0].max = None;
        case.demands.fill(rate(1 << 45));
        case.terms.iter_mut().for_each(|terms| terms.max = None);
        let minima: u64 = case.terms[1..].iter().map(|terms| terms.min.bits_per_second()).sum();
        if minima == 0 {
            return;
        }
        case.capacity = rate(random.random_range(0..minima));
        let (shares, ..) = compute(&case);
        for (child, &share) in shares.iter().enumerate().skip(1) {
            let min = u128::from(case.terms[child].min.bits_per_second());
            let part = min * u128::from(case.capacity.bits_per_second()) / u128::from(minima);
            assert_eq!(u128::from(share), part, "child {child}");
        }
    });
}

#[test]
fn shares_do_not_depend_on_the_order_of_services() {
    cases(1_000, |random| {
        let case = case(random, 60, LARGEST);
        let (shuffled, place) = case.shuffled(random);
        let (one, other) = (compute(&case), compute(&shuffled));
        for (node, place) in place.into_iter().enumerate() {
            assert_eq!((one.0[node], one.1[node]), (other.0[place], other.1[place]), "node {node}");
        }
    });
}

#[test]
fn a_changed_demand_gives_the_result_of_a_full_computation() {
    cases(400, |random| {
        // Some are large enough for several blocks of the index.
        let large = random.random_bool(0.1);
        let mut case = case(random, if large { 3_000 } else { 50 }, LARGEST);
        let tree = case.tree();
        let leaves: Vec<_> = tree.nodes().filter(|&node| tree.is_leaf(node)).collect();
        let mut live = LiveShares::new(tree.clone(), case.capacity, &case.demands);
        let mut shares = Shares::default();
        for _ in 0..30 {
            for _ in 0..random.random_range(1..if large { 200 } else { 4 }) {
                let leaf = leaves[random.random_range(0..leaves.len())];
                // Often the same as another's, so that there are equal claims.
                let other = leaves[random.random_range(0..leaves.len())];
                let demand = case.demands[other.index()].bits_per_second();
                let most = LARGEST >> random.random_range(0..44);
                let demand = if random.random_bool(0.3) { demand } else { random.random_range(0..=most) };
                case.demands[leaf.index()] = rate(demand);
                live.set_demand(leaf, rate(demand));
            }
            if random.random_bool(0.2) {
                case.capacity = rate(random.random_range(0..=LARGEST));
                live.set_capacity(case.capacity);
            }
            shares.compute(&tree, case.capacity, &case.demands);
            for node in tree.nodes() {
                assert_eq!(live.share(node), shares.share(node), "node {node:?}");
                assert_eq!(live.limit(node), shares.limit(node), "node {node:?}");
            }
        }
    });
}

#[test]
fn state_of_another_tree_does_not_affect_shares() {
    cases(300, |random| {
        let mut kept = Shares::default();
        for _ in 0..4 {
            let case = case(random, 40, LARGEST);
            let tree = case.tree();
            let mut fresh = Shares::default();
            fresh.compute(&tree, case.capacity, &case.demands);
            kept.compute(&tree, case.capacity, &case.demands);
            for index in 0..tree.len() {
                let node = node(&tree, index);
                assert_eq!((fresh.share(node), fresh.limit(node)), (kept.share(node), kept.limit(node)));
            }
        }
    });
}

#[test]
fn changed_terms_apply_from_the_next_computation() {
    cases(300, |random| {
        let mut one = case(random, 20, LARGEST);
        let other = case(random, 20, LARGEST);
        let mut tree = one.tree();
        for index in 0..one.parents.len().min(other.parents.len()) {
            // The sum of the minima stays in range: both are at most 20 times 2^54 in the worst case, so it may be refused.
            if tree.set_terms(node(&tree, index), other.terms[index]).is_ok() {
                one.terms[index] = other.terms[index];
            }
        }
        let mut shares = Shares::default();
        shares.compute(&tree, one.capacity, &one.demands);
        let found: Vec<u64> = tree.nodes().map(|node| shares.share(node).bits_per_second()).collect();
        assert_eq!(found, compute(&one).0);
        assert_eq!(tree.parent(Tree::ROOT), None);
    });
}
