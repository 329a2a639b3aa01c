//! The place where packets wait, and the class of a contract there.

use std::collections::BTreeMap;

use wayleave_units::Time;

use crate::net::HtbClasses;

/// The class of a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Bytes a second.
    pub(super) rate: u64,
    pub(super) burst: u64,
    pub(super) overhead: u32,
}

/// The place where packets wait.
#[derive(Debug)]
pub(super) struct Holder {
    /// Netlink socket by which classes are made.
    pub(super) kernel: HtbClasses,
    pub(super) ifindex: u32,
    pub(super) splitter: u32,
    pub(super) longest: Time,
    /// By slot, as this process has made them.
    pub(super) classes: BTreeMap<u32, Shape>,
}
