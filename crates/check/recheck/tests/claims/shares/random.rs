//! Random networks: everything that is derived equals what enumeration finds, figure by figure.

use std::collections::BTreeSet;

use wayleave_recheck::{BrokenShare, HeldShares, PromisedShare};

use super::reference::{Fault, Reference};
use super::scene::{Scene, drawn};

/// More with `SHARE_SCENES`.
fn scenes() -> u64 {
    std::env::var("SHARE_SCENES").ok().and_then(|count| count.parse().ok()).unwrap_or(1_500)
}

fn sorted(broken: Vec<BrokenShare>) -> Vec<String> {
    let mut texts: Vec<String> = broken.iter().map(|one| format!("{one:?}")).collect();
    texts.sort();
    texts
}

fn expected(scene: &Scene, fault: Fault) -> Vec<String> {
    sorted(Reference::new(scene, fault).broken())
}

#[test]
fn derived_charges_equal_enumeration_of_paths_and_matchings() {
    let mut kinds = [0_usize; 7];
    for seed in 0..scenes() {
        let scene = drawn(seed);
        let broken = scene.check();
        for one in &broken {
            let kind = match one {
                BrokenShare::Class { .. } => 0,
                BrokenShare::Acknowledgements { .. } => 1,
                BrokenShare::Certainty { .. } => 2,
                BrokenShare::NoPath { .. } => 3,
                BrokenShare::Closed { .. } => 4,
                BrokenShare::Wait { .. } => 5,
                BrokenShare::Time { .. } => 6,
                BrokenShare::Route { .. } | BrokenShare::Unknown { .. } | BrokenShare::Buffer { .. } => {
                    panic!("seed {seed}: {one}")
                }
            };
            kinds[kind] += 1;
        }
        assert_eq!(sorted(broken), expected(&scene, Fault::None), "seed {seed}");
    }
    assert!(kinds.iter().all(|&count| count > 0), "each kind occurs: {kinds:?}");
}

#[test]
fn a_wrong_formula_is_found() {
    let mut missing: Vec<Fault> = Fault::ALL.to_vec();
    for seed in 0..scenes() {
        if missing.is_empty() {
            break;
        }
        let scene = drawn(seed);
        let derived = sorted(scene.check());
        missing.retain(|&fault| expected(&scene, fault) == derived);
    }
    assert_eq!(missing, [], "these faults made no difference in {} scenes", scenes());
}

/// Shares are added and removed in another order, links close and open: the violations equal those of a check of the
/// remaining shares.
#[test]
fn added_and_removed_shares_leave_no_state() {
    for seed in 0..scenes() {
        let mut scene = drawn(seed);
        let classes = *scene.network.classes().unwrap();
        let (gone, stays) = scene.shares.split_at(scene.shares.len() / 2);
        // Shares that have a fault with all links up are left out.
        let open = scene.check_open();
        let is_sound = |share: &&PromisedShare| open.iter().all(|fault| *fault != share.name);
        let (gone, stays) = (gone.to_vec(), stays.iter().filter(is_sound).cloned().collect::<Vec<_>>());
        scene.shares = stays.clone();
        let claim = scene.claim();
        let mut held = HeldShares::beside(&claim, &classes, &BTreeSet::new(), Some(&scene.times));
        let first: Vec<_> = gone.iter().filter_map(|share| held.add(share).ok()).collect();
        stays.iter().rev().for_each(|share| drop(held.add(share)));
        held.close(&scene.closed);
        first.iter().for_each(|added| held.remove(added));
        let now = held.broken();
        let fresh = scene.check().into_iter().filter(|one| !matches!(one, BrokenShare::Time { .. })).collect();
        assert_eq!(sorted(now), sorted(fresh), "seed {seed}");
        // And open again.
        let closed = BTreeSet::new();
        held.close(&closed);
        let open = held.broken();
        let mut fresh = HeldShares::beside(&claim, &classes, &closed, Some(&scene.times));
        stays.iter().for_each(|share| drop(fresh.add(share)));
        assert_eq!(sorted(open), sorted(fresh.broken()), "seed {seed}");
    }
}
