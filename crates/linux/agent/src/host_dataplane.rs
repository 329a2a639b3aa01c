//! Interface of a host driver to its data plane. The Linux data plane implements it, and so do fakes of tests.

use std::collections::BTreeMap;

use wayleave_dataplane::host::{HostPath, HostRule, Measured, PacketSample, SpoofReport};
use wayleave_packet_format::Mac;
use wayleave_protocol::agent::Traffic;
use wayleave_topology::LinkId;

use crate::endpoints::Attachment;

/// Repairs of a data plane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repairs {
    /// Faults found, one sentence each.
    pub done: Vec<String>,
    /// Contracts whose rules have to be installed again; `None`: all.
    pub lost: Option<Vec<u64>>,
}

/// Packets that were noted since the last time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotedPackets {
    /// In order.
    pub samples: Vec<PacketSample>,
    /// Number of bits of their numbers by which they were chosen.
    pub level: u32,
    /// Some that were chosen may be missing.
    pub is_incomplete: bool,
    /// Maximum number reported per second.
    pub most: u32,
}

/// The data plane of a host. Everything that is done twice is the same as done once; what failed may be done again.
pub trait HostDataplane {
    /// The index of an interface, if it is there.
    fn index(&mut self, interface: &str) -> Option<u32>;

    /// From now on packets may leave by this interface, in the queues of the link's port, and those that come by it are handed on.
    ///
    /// # Errors
    /// Why not.
    fn add_uplink(&mut self, link: LinkId, interface: &str, index: u32) -> Result<(), String>;

    /// Interfaces and addresses of all endpoints that it has.
    ///
    /// # Errors
    /// Why that is not known.
    fn endpoints(&mut self) -> Result<Vec<(u32, Mac)>, String>;

    /// From now on packets that this interface sends are checked, shaped and tagged, and packets for its address are
    /// delivered to it. `attached` names the interface, and the tag that frames have there.
    ///
    /// # Errors
    /// The reason of the failure.
    fn add_endpoint(&mut self, attached: &Attachment, index: u32, mac: Mac) -> Result<(), String>;

    /// From now on these members get a copy of each broadcast of the endpoint with this interface: those on this host
    /// first, then those with the fewest tags.
    ///
    /// # Errors
    /// The reason of the failure.
    fn set_group(&mut self, index: u32, members: &[Mac]) -> Result<(), String>;

    /// Packets of endpoints that are not as they should be, since the plane was made.
    ///
    /// # Errors
    /// Why that is not known.
    fn spoof_reports(&mut self) -> Result<Vec<SpoofReport>, String>;

    /// The interface is no endpoint any more; it may be gone.
    ///
    /// # Errors
    /// Why not.
    fn remove_endpoint(&mut self, index: u32) -> Result<(), String>;

    /// Rules of which at least some packets belong to a rule that comes first, with that one.
    fn shadowed(&self) -> BTreeMap<u64, u64>;

    /// Serial and version of every rule.
    ///
    /// # Errors
    /// Why that is not known.
    fn installed(&mut self) -> Result<Vec<(u64, u64)>, String>;

    /// Installs a rule in place of another of the contract, between one packet and the next; the bucket keeps its level.
    ///
    /// # Errors
    /// Why not; what was there is still there.
    fn install(&mut self, serial: u64, version: u64, rule: &HostRule) -> Result<(), String>;

    /// Nothing is sent of the contract any more.
    ///
    /// # Errors
    /// Why it may still be sent.
    fn remove(&mut self, serial: u64) -> Result<(), String>;

    /// Sets the routes of packets to this address that no contract covers; without a route they are dropped.
    ///
    /// # Errors
    /// The reason of the failure.
    fn set_best_effort(&mut self, mac: Mac, host_paths: &[HostPath]) -> Result<(), String>;

    /// Compares the programs and maps in the kernel with the installed rules, and restores them.
    ///
    /// # Errors
    /// The reason why that is not known, or not possible.
    fn repair(&mut self) -> Result<Repairs, String>;

    /// Returns the current faults that the agent cannot repair, one sentence each.
    fn problems(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the counters of every contract that is sent here.
    ///
    /// # Errors
    /// The reason why they are not known.
    fn traffic(&mut self) -> Result<Vec<Traffic>, String>;

    /// Returns the counters of all packets, by outcome.
    ///
    /// # Errors
    /// The reason why they are not known.
    fn packets(&mut self) -> Result<BTreeMap<String, u64>, String>;

    /// Packets that were sent or have arrived and were noted for it, since the last time; `None` if none ever are.
    ///
    /// # Errors
    /// Why that is not known.
    fn samples(&mut self) -> Result<Option<NotedPackets>, String> {
        Ok(None)
    }

    /// Returns the delays of packets that arrived here since the plane was made.
    ///
    /// # Errors
    /// The reason why they are not known.
    fn measured(&mut self) -> Result<Vec<Measured>, String>;
}
