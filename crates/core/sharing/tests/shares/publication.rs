//! The worked examples of Parley (2014), sections 1, 3.1, 3.2 and 6.3.

use std::num::NonZeroU32;

use wayleave_sharing::{MAX_RATE, ServiceTerms, Shares, Tree, TreeError, TreeNode};
use wayleave_units::Rate;

fn gbit(rate: u64) -> Rate {
    Rate::from_gbit(rate)
}

fn at_most(max: Rate) -> ServiceTerms {
    ServiceTerms { max: Some(max), ..ServiceTerms::default() }
}

fn at_least(min: Rate) -> ServiceTerms {
    ServiceTerms { min, ..ServiceTerms::default() }
}

/// The shares of some nodes, of leaves that want everything or nothing.
fn shares<const N: usize>(tree: &Tree, capacity: Rate, idle: &[TreeNode], asked: [TreeNode; N]) -> [Rate; N] {
    let demand = |node| if idle.contains(&node) { Rate::ZERO } else { MAX_RATE };
    let demands: Vec<Rate> = tree.nodes().map(demand).collect();
    let mut shares = Shares::default();
    shares.compute(tree, capacity, &demands);
    asked.map(|node| shares.share(node))
}

/// Fig. 1: two machines of 10 Gbit/s under a rack of 10 Gbit/s; VMs at most 1 Gbit/s, DFS at least 6 Gbit/s.
struct Rack {
    tree: Tree,
    vms: [TreeNode; 2],
    dfs: [TreeNode; 2],
}

fn rack(dfs_max: Option<Rate>) -> Rack {
    let mut tree = Tree::new(ServiceTerms::default()).unwrap();
    let vm = tree.add(Tree::ROOT, at_most(gbit(1))).unwrap();
    let dfs = tree.add(Tree::ROOT, ServiceTerms { max: dfs_max, ..at_least(gbit(6)) }).unwrap();
    let mut machines = |service| [0, 1].map(|_| tree.add(service, at_most(gbit(10))).unwrap());
    let (vms, dfs) = (machines(vm), machines(dfs));
    Rack { tree, vms, dfs }
}

/// Section 3.2, with the maximum of 8 Gbit/s of Fig. 1 and section 1.
#[test]
fn dfs_with_a_maximum_of_8_gbit_gets_4_on_each_machine_and_8_on_one() {
    let Rack { tree, vms: [vm1, vm2], dfs: [dfs1, dfs2] } = rack(Some(gbit(8)));
    let half = Rate::from_mbit(500);
    assert_eq!(shares(&tree, gbit(10), &[], [vm1, vm2, dfs1, dfs2]), [half, half, gbit(4), gbit(4)]);
    assert_eq!(shares(&tree, gbit(10), &[dfs2], [vm1, vm2, dfs1]), [half, half, gbit(8)]);
    // "When all VMs are idle, (M1,DFS) is allocated the entire 9Gb/s" contradicts that maximum.
    assert_eq!(shares(&tree, gbit(10), &[vm1, vm2, dfs2], [dfs1]), [gbit(8)]);
}

/// The 9 Gbit/s of section 3.2 are the share of DFS beside active VMs if nothing limits it; beside idle ones it gets
/// everything.
#[test]
fn dfs_without_a_maximum_gets_the_9_gbit_left_by_the_vms() {
    let Rack { tree, vms: [vm1, vm2], dfs: [dfs1, dfs2] } = rack(None);
    assert_eq!(shares(&tree, gbit(10), &[dfs2], [dfs1]), [gbit(9)]);
    assert_eq!(shares(&tree, gbit(10), &[vm1, vm2, dfs2], [dfs1]), [gbit(10)]);
}

/// Section 3.1: "10 MapReduce jobs in a rack, and each job has machine-level policy (weight = 1, max = 1Gb/s)".
#[test]
fn ten_jobs_under_5_gbit_send_half_a_gbit_each_and_one_alone_1_gbit() {
    let mut tree = Tree::new(ServiceTerms::default()).unwrap();
    let jobs = tree.add(Tree::ROOT, at_most(gbit(5))).unwrap();
    let jobs = [0; 10].map(|_| tree.add(jobs, at_most(gbit(1))).unwrap());
    assert_eq!(shares(&tree, gbit(80), &[], jobs), [Rate::from_mbit(500); 10]);
    assert_eq!(shares(&tree, gbit(80), &jobs[1..], [jobs[0]]), [gbit(1)]);
}

/// Section 6.3, Fig. 14.
#[test]
fn a_alone_uses_30_gbit_both_use_30_and_b_alone_60() {
    let mut tree = Tree::new(at_most(gbit(60))).unwrap();
    let a = tree.add(Tree::ROOT, at_most(gbit(30))).unwrap();
    let b = tree.add(Tree::ROOT, at_least(gbit(30))).unwrap();
    assert_eq!(shares(&tree, gbit(80), &[b], [a]), [gbit(30)]);
    assert_eq!(shares(&tree, gbit(80), &[a], [b]), [gbit(60)]);
    // The figure has 30 and 30. By section 3.1's rule B's weight counts above its guarantee, so B gets 30 + 15.
    assert_eq!(shares(&tree, gbit(80), &[], [a, b]), [gbit(15), gbit(45)]);
    // The rates that the text gives for both come out if A is guaranteed its 30 as well, or B limited to them.
    tree.set_terms(a, ServiceTerms { min: gbit(30), ..at_most(gbit(30)) }).unwrap();
    assert_eq!(shares(&tree, gbit(80), &[], [a, b]), [gbit(30), gbit(30)]);
}

/// Section 3.1: "excess bandwidth (what remains after all guarantees have been met) is shared" by weight.
#[test]
fn weights_share_the_excess_and_not_the_whole() {
    let mut tree = Tree::new(ServiceTerms::default()).unwrap();
    let weighted = |min, weight| ServiceTerms { weight: NonZeroU32::new(weight).unwrap(), ..at_least(gbit(min)) };
    let heavy = tree.add(Tree::ROOT, weighted(2, 3)).unwrap();
    let light = tree.add(Tree::ROOT, weighted(4, 1)).unwrap();
    assert_eq!(shares(&tree, gbit(10), &[], [heavy, light]), [gbit(5), gbit(5)]);
}

/// A link that lost capacity; section 3.1 asks that this be prevented, and does not describe the consequences.
#[test]
fn minima_above_the_capacity_are_scaled_and_the_others_get_zero() {
    let mut tree = Tree::new(ServiceTerms::default()).unwrap();
    let [six, two] = [6, 2].map(|min| tree.add(Tree::ROOT, at_least(gbit(min))).unwrap());
    let none = tree.add(Tree::ROOT, ServiceTerms::default()).unwrap();
    assert_eq!(shares(&tree, gbit(4), &[], [six, two, none]), [gbit(3), gbit(1), gbit(0)]);
    // A minimum without demand has no owner.
    assert_eq!(shares(&tree, gbit(4), &[six], [six, two, none]), [gbit(0), gbit(3), gbit(1)]);
}

#[test]
fn contradictory_terms_are_refused_and_change_nothing() {
    let mut tree = Tree::new(ServiceTerms::default()).unwrap();
    let node = tree.add(Tree::ROOT, at_least(gbit(1))).unwrap();
    let wrong = ServiceTerms { max: Some(gbit(1)), ..at_least(gbit(2)) };
    let refused = TreeError::MaxBelowMin { min: gbit(2), max: gbit(1) };
    assert_eq!(Tree::new(wrong).unwrap_err(), refused);
    assert_eq!(tree.add(node, wrong), Err(refused));
    assert_eq!(tree.set_terms(node, wrong), Err(refused));
    assert_eq!(refused.to_string(), "the maximum 1Gbit is below the minimum 2Gbit: raise the one or lower the other");
    let large = at_least(MAX_RATE);
    assert_eq!(tree.add(Tree::ROOT, large), Err(TreeError::Minima { parent: Tree::ROOT }));
    tree.set_terms(node, large).unwrap();
    assert_eq!(tree.add(Tree::ROOT, at_least(gbit(1))), Err(TreeError::Minima { parent: Tree::ROOT }));
    assert_eq!(tree.len(), 2);
    let other = tree.add(node, ServiceTerms::default()).unwrap();
    let small = Tree::new(ServiceTerms::default()).unwrap();
    assert_eq!(small.clone().add(other, ServiceTerms::default()), Err(TreeError::UnknownParent(other)));
}
