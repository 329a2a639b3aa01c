//! Groups of flows that share ports, directly or through others.

use std::collections::BTreeMap;

use crate::flows::FlowSlot;

/// Flows in groups that share no link; each in order, and groups by their first flow.
pub(super) fn groups<'a>(slots: &[FlowSlot], links: impl Fn(FlowSlot) -> &'a [u32]) -> Vec<Vec<FlowSlot>> {
    let mut parents: Vec<usize> = (0..slots.len()).collect();
    // Per link, the first flow there.
    let mut users: BTreeMap<u32, usize> = BTreeMap::new();
    for (index, &slot) in slots.iter().enumerate() {
        for &link in links(slot) {
            let other = *users.entry(link).or_insert(index);
            let (one, other) = (root(&mut parents, index), root(&mut parents, other));
            parents[one.max(other)] = one.min(other);
        }
    }
    let mut groups: BTreeMap<usize, Vec<FlowSlot>> = BTreeMap::new();
    for (index, &slot) in slots.iter().enumerate() {
        groups.entry(root(&mut parents, index)).or_default().push(slot);
    }
    groups.into_values().collect()
}

/// The first flow of a flow's group.
fn root(parents: &mut [usize], mut index: usize) -> usize {
    while parents[index] != index {
        parents[index] = parents[parents[index]];
        index = parents[index];
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_that_share_a_link_through_others_are_one_group() {
        let links = [vec![1, 2], vec![3, 4], vec![2, 5], vec![9], vec![4, 5], vec![7]];
        let of = |slot: FlowSlot| &links[slot as usize][..];
        assert_eq!(groups(&[0, 1, 2, 3, 4, 5], of), [vec![0, 1, 2, 4], vec![3], vec![5]]);
        // Without the one in the middle there are two of them.
        assert_eq!(groups(&[0, 1, 2], of), [vec![0, 2], vec![1]]);
    }
}
