//! A host's data plane: the classification of packets by contract, the rate of each contract, and the routes of its
//! packets.
//!
//! Everything is in pinned maps, so programs enforce it even when no agent runs, and an agent that starts finds it
//! again.
//!
//! | | |
//! |---|---|
//! | `rules`, `buckets` | arrays, one slot for a contract. A rule is written under the lock that packets take, so a packet sees either the whole old or the whole new rule. The bucket stays: a change does not fill it |
//! | `classes`, `classes6` | the slots of packets, by tuple space: each set of fields in use is one look-up |
//! | `endpoints`, `local` | the interfaces of tenants, by number and by address |
//! | `best_effort` | routes by the receiver's address |
//!
//! Packets for which there are too few tokens wait ([`Host::hold`]), or are dropped.
//!
//! Entries of hash maps are reused as soon as they are removed, even while a program still reads one. So before an
//! entry is added after one was removed, [`Host`] waits until all programs that were running have ended.

mod best_effort;
mod classes;
mod counters;
mod hold;
mod measured;
mod neighbours;
mod open;
mod reason;
mod reconcile;
mod rule;
mod samples;
mod waiting;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use aya::maps::{Array, HashMap, MapData, PerCpuArray, RingBuf};
use aya::programs::SchedClassifier;
use wayleave_packet_format::Mac;
use wayleave_units::Time;

use crate::error::Error;
use crate::layout::{self, BUCKET, CONTRACTS, Class, ENDPOINT, MEASURED, ROUTES, RULE};
use crate::programs::{self, Pins};
use crate::sys;
use crate::table::Table;

pub use counters::{ContractPackets, Counters, Measured, QueueDelays};

pub use crate::samples::{PacketSample, Sent};
pub use neighbours::{SpoofKind, SpoofReport};
pub use reason::PacketOutcome;
pub use rule::{HostPath, HostRule, Sender};
pub use wayleave_packet_format::{LONGEST_WAIT, QueueLimit};

/// The first number that no VLAN has (IEEE 802.1Q).
const NO_VLAN: u16 = 4095;

/// Treatment of packets that belong to no contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unmatched {
    /// They go to the lowest class of every link.
    #[default]
    BestEffort,
    /// They are dropped, as in Chameleon, section 4.2.2.
    Dropped,
}

/// Settings of a host's programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Treatment of packets that belong to no contract.
    pub unmatched: Unmatched,
    /// Number of sequence numbers that a duplicate filter remembers, 2 to 32,768 (`frerSeqRcvyHistoryLength` of IEEE
    /// 802.1CB).
    pub window: u16,
    /// Time without an accepted packet after which a duplicate filter accepts any number (`frerSeqRcvyResetMSec`).
    pub reset: Time,
    /// Measure delays: the folder of a bpf file system that all agents of this kernel share for it.
    pub measure: Option<PathBuf>,
    /// Packets for which their contract has too few tokens wait up to about this long ([`Host::hold`]); `None`: they are dropped.
    pub wait: Option<Time>,
    /// Sampling of packets of contracts where they are sent and where they arrive ([`Host::samples`]): packets are
    /// noted whose number ends with this many zero bits, below 32. `None`: no packet.
    pub sample: Option<u32>,
    /// Contracts at most; only when pins are made.
    pub contracts: u32,
    /// Fixed time of every packet, in place of the clock; for tests. Programs then write the chosen interface into
    /// the packet's mark.
    pub now: Option<Time>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            unmatched: Unmatched::BestEffort,
            window: 1 << 15,
            // The default of IEEE 802.1CB-2017 is 1000 ms: packets of a sender that begins again are accepted a
            // second later.
            reset: Time::from_millis(1000),
            measure: None,
            wait: None,
            sample: None,
            contracts: 4096,
            now: None,
        }
    }
}

/// A host's data plane. One process at a time owns it.
pub struct Host {
    folder: PathBuf,
    pins: Pins,
    /// Held as long as this is.
    owner: File,
    endpoints: Table<u32, [u8; ENDPOINT]>,
    local: Table<[u8; layout::MAC], [u8; layout::TARGET]>,
    groups: Table<u32, [u8; layout::GROUP]>,
    spoofed: HashMap<MapData, [u8; layout::SPOOFED], u64>,
    classes: Table<[u8; layout::CLASS], [u8; CONTRACTS]>,
    classes6: Table<[u8; layout::CLASS6], [u8; CONTRACTS]>,
    rules: Array<MapData, [u8; RULE]>,
    buckets: Array<MapData, [u8; BUCKET]>,
    best_effort: Table<[u8; layout::MAC], [u8; ROUTES]>,
    settings: Array<MapData, [u8; layout::SETTINGS]>,
    counters: PerCpuArray<MapData, [u64; PacketOutcome::ALL.len()]>,
    measured: HashMap<MapData, u64, [u8; MEASURED]>,
    samples: RingBuf<MapData>,
    /// Slot and version of every rule, by serial.
    slots: BTreeMap<u64, (u32, u64)>,
    /// Every rule as it was written, by slot.
    written: BTreeMap<u32, [u8; RULE]>,
    /// Contents of `classes` and `classes6`.
    known: BTreeMap<Class, Vec<(u64, u32)>>,
    /// `true` if an entry was removed, and programs may still read it.
    is_stale: bool,
    /// Current settings, without the interface that cuts super-frames.
    set: layout::Settings,
    /// Queues in which packets wait for tokens; `None` if they are dropped instead.
    holder: Option<waiting::Holder>,
}

/// The programs of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostProgram {
    /// For the ingress of the host's end of an endpoint's interface: what the tenant sends.
    Endpoint,
    /// For the ingress of an uplink: what the network delivers.
    Uplink,
    /// For the egress of the interface where packets come that have waited.
    Held,
}

impl HostProgram {
    const fn name(self) -> &'static str {
        match self {
            Self::Endpoint => "endpoint",
            Self::Uplink => "uplink",
            Self::Held => "held",
        }
    }
}

impl Host {
    /// Returns the path at which a program is pinned: `tc filter add ... bpf da object-pinned ...` attaches it.
    pub fn pinned(&self, program: HostProgram) -> PathBuf {
        self.pins.path(program.name())
    }

    /// A program, to run it on frames.
    ///
    /// # Errors
    /// If it is not pinned any more.
    pub fn program(&self, program: HostProgram) -> Result<SchedClassifier, Error> {
        self.pins.program(program.name())
    }

    /// The kernel's number of a program.
    ///
    /// # Errors
    /// If it is not pinned any more.
    pub fn program_id(&self, program: HostProgram) -> Result<u32, Error> {
        programs::id(&self.program(program)?)
    }

    /// From now on packets that arrive at this interface are from the endpoint with this address, and packets for
    /// this address leave by it. The program has to be attached there.
    ///
    /// # Errors
    /// If another endpoint of this host has the address, or the kernel refuses.
    pub fn add_endpoint(&mut self, ifindex: u32, mac: Mac) -> Result<(), Error> {
        self.add_tagged_endpoint(ifindex, mac, 0)
    }

    /// The same for an endpoint whose frames have the tag of this VLAN on its interface, and nowhere else; 0 is none.
    ///
    /// # Errors
    /// As of [`Host::add_endpoint`], or if that is no VLAN.
    pub fn add_tagged_endpoint(&mut self, ifindex: u32, mac: Mac, vlan: u16) -> Result<(), Error> {
        if vlan >= NO_VLAN {
            return Err(Error::Refused(format!("{vlan} is not a VLAN ID: expected 1 to {}", NO_VLAN - 1)));
        }
        if mac.is_multicast() {
            return Err(Error::Refused(format!("{mac} is a group address: expected a unicast MAC address")));
        }
        let taken = self.local.get(&layout::mac(mac)).map(|target| layout::u32_at(target, 0));
        if let Some(other) = taken.filter(|&other| other != ifindex) {
            return Err(Error::Refused(format!(
                "interface {other} already has the address {mac}: remove that endpoint, or declare another address"
            )));
        }
        if self.mac_at(ifindex).is_some_and(|before| before != mac) {
            self.remove_endpoint(ifindex)?;
        }
        self.settle()?;
        self.write_endpoint(ifindex, mac, vlan)?;
        let target = layout::target(ifindex, vlan);
        self.local.insert(layout::mac(mac), target).map_err(|error| Error::failed("adding an endpoint", error))
    }

    /// From now on nothing is sent of this endpoint and nothing delivered to it. Contracts of which it is a sender stay; that it is not
    /// there is no error.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn remove_endpoint(&mut self, ifindex: u32) -> Result<(), Error> {
        let Some(mac) = self.mac_at(ifindex) else { return Ok(()) };
        let failed = |error| Error::failed("removing an endpoint", error);
        self.is_stale = true;
        self.endpoints.remove(&ifindex).map_err(failed)?;
        self.local.remove(&layout::mac(mac)).map_err(failed)?;
        self.remove_group(ifindex)
    }

    /// Every endpoint: its interface and its address.
    pub fn endpoints(&self) -> Vec<(u32, Mac)> {
        self.endpoints.iter().map(|(&ifindex, value)| (ifindex, layout::endpoint_mac(value))).collect()
    }

    /// Removes all pins, also those of older versions. Attached programs continue to run until they are detached or
    /// their interface is deleted: detach them before.
    ///
    /// # Errors
    /// If pins cannot be removed.
    pub fn tear_down(self) -> Result<(), Error> {
        programs::remove(&self.folder)
    }

    fn mac_at(&self, ifindex: u32) -> Option<Mac> {
        self.endpoint_at(ifindex).map(|(mac, _)| mac)
    }

    /// The address of an endpoint, and its VLAN.
    fn endpoint_at(&self, ifindex: u32) -> Option<(Mac, u16)> {
        self.endpoints.get(&ifindex).map(|value| (layout::endpoint_mac(value), layout::endpoint_vlan(value)))
    }

    /// Before an entry is added: no program reads a removed one any more.
    fn settle(&mut self) -> Result<(), Error> {
        if self.is_stale {
            sys::wait_for_programs().map_err(|error| Error::failed("waiting for running programs", error))?;
            self.is_stale = false;
        }
        Ok(())
    }
}
