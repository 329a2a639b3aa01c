//! Partitions of one hose.

use super::super::partition::partition;
use crate::random::SplitMix;

fn parts(hose: u64, bounds: &[u64]) -> Vec<u64> {
    let mut parts = Vec::new();
    partition(hose, bounds, &mut parts);
    parts
}

#[test]
fn an_unbounded_pair_gets_what_bounded_pairs_leave() {
    assert_eq!(parts(450, &[1_000, 1_000, 1_000]), [150, 150, 150]);
    // The one that another end holds to 50 would get a third as well, if it could use it.
    assert_eq!(parts(450, &[50, 1_000, 1_000]), [150, 200, 200]);
    assert_eq!(parts(450, &[50, 100, 1_000]), [175, 200, 300]);
    assert_eq!(parts(450, &[0]), [450]);
    assert_eq!(parts(0, &[10, 20]), [0, 0]);
    assert_eq!(parts(450, &[]), [0; 0]);
}

/// Max-min shares by raising a level bit by bit.
fn shares(hose: u64, bounds: &[u64]) -> Vec<u64> {
    let taken = |level: u64| bounds.iter().map(|&bound| bound.min(level)).sum::<u64>();
    let level = (0..=hose).rev().find(|&level| taken(level) <= hose).unwrap();
    bounds.iter().map(|&bound| bound.min(level)).collect()
}

#[test]
fn usable_parts_of_pairs_are_the_max_min_share_and_never_above_the_hose() {
    for seed in 0..2_000 {
        let mut random = SplitMix::new(seed);
        let hose = u64::from(random.below(1_000));
        let bounds: Vec<u64> = (0..random.below(12)).map(|_| u64::from(random.below(400))).collect();
        let used: Vec<u64> = parts(hose, &bounds).iter().zip(&bounds).map(|(&part, &bound)| part.min(bound)).collect();
        assert!(used.iter().sum::<u64>() <= hose, "seed {seed}: {used:?} of {hose}");
        for (used, share) in used.iter().zip(shares(hose, &bounds)) {
            assert!(used.abs_diff(share) <= 1, "seed {seed}: {used} for {share}");
        }
    }
}
