//! Labs on this machine: they come, they go, and leave nothing, whatever happens meanwhile.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

use std::time::Instant;

use wayleave_lab::{LabName, Labs, UpOptions, scaled};
use wayleave_topology::builders::{FatTree, build};
use wayleave_units::Rate;

#[test]
fn a_fat_tree_comes_up() {
    let network = scaled(&build::fat_tree(&FatTree::default()).unwrap(), Rate::from_mbit(10)).unwrap();
    let labs = Labs::default();
    let name = LabName::new("tnet").unwrap();
    let start = Instant::now();
    let lab = labs.up(&UpOptions { name: name.clone(), topology: "fat", network: &network, endpoints: &[] }).unwrap();
    eprintln!("up {:?}", start.elapsed());
    let start = Instant::now();
    let status = labs.status(&name).unwrap();
    eprintln!("status {:?} {:?}", start.elapsed(), status.nodes.len());
    drop(lab);
    let start = Instant::now();
    let gone = labs.down(&name).unwrap();
    eprintln!("down {:?} {gone:?}", start.elapsed());
}
