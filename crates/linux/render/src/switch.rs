//! Targets and settings of a rendering, and one switch with the meanings of its codepoints.

use std::collections::BTreeMap;

use wayleave_dataplane::switch::{PlanError, SwitchPlan};
use wayleave_topology::{LinkId, Network, NodeId};
use wayleave_units::Bytes;

use crate::codepoints::Codepoints;

/// Format of a switch's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A script of `tc`, for a Linux machine that forwards.
    Tc,
    /// Tables of SONiC's `config_db.json`.
    Sonic,
}

/// Names of interfaces, by the link that leaves them. A port without a name is called after its place, as [`Target::interface`] does.
pub type Interfaces = BTreeMap<LinkId, String>;

/// Settings of a rendering, besides the queues of the network and the codepoints.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Names of interfaces.
    pub interfaces: Interfaces,
    /// Queue of routing protocols on SONiC's switches.
    pub control: ControlQueue,
    /// Queue length from which queues of sharing classes mark packets (ECN), in bytes; `None` is never.
    pub marks_from: Option<Bytes>,
}

/// Queue of the network's own control traffic: codepoints CS6 and CS7 (RFC 4594, section 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ControlQueue {
    /// One of its own, below those of contracts about latency.
    #[default]
    Own,
    /// The lowest one, with all that has no contract.
    BestEffort,
}

/// Reason for which a switch cannot be configured.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum RenderError {
    /// Its ports.
    #[error("{0}")]
    Plan(#[from] PlanError),
    /// Its queues do not go into a discipline of Linux.
    #[error("{switch}, port {interface}: {why}")]
    Queues {
        /// The switch.
        switch: String,
        /// The port.
        interface: String,
        /// Reason.
        why: String,
    },
    /// A port has no queue left for routing protocols.
    #[error(
        "{switch}, port {interface} uses all {has} queues, and SONiC needs one for routing protocols (CS6 and CS7): use fewer in the topology (`queues: 7`), or put these protocols into the lowest queue (--control best-effort)"
    )]
    NoControl {
        /// The switch.
        switch: String,
        /// The port.
        interface: String,
        /// The queues that the topology gives it.
        has: usize,
    },
    /// A codepoint or class names a queue that one port does not have.
    #[error("DSCP {dscp} needs queue {queue} of {link}, which has only {has}")]
    Missing {
        /// The link that leaves the port.
        link: String,
        /// Number of queues that it has.
        has: usize,
        /// The codepoint.
        dscp: u8,
        /// The queue, 0 the highest.
        queue: u8,
    },
}

impl Target {
    /// Returns the default name of a port: `eth1` for the first one, or `Ethernet0`, `Ethernet4` (SONiC numbers
    /// lanes, and most ports have four).
    pub fn interface(self, place: usize) -> String {
        match self {
            Self::Tc => format!("eth{}", place + 1),
            Self::Sonic => format!("Ethernet{}", place * 4),
        }
    }

    /// Returns the extension of its files.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Tc => "sh",
            Self::Sonic => "json",
        }
    }

    /// Returns the assumptions of the plan about the device that this configuration cannot ensure, one sentence each.
    pub fn assumptions(self, control: ControlQueue) -> Vec<&'static str> {
        let mut all = vec![
            "Packets take the routes of the plan: the codepoint selects queues, not the route. Pin the routes (listed in contracts.csv).",
            "Hosts set the codepoint of each contract (contracts.csv) and keep it to its rate, burst and largest frame. Wayleave's agents mark packets with VLAN tags, not with codepoints, so another program must do both here.",
            "No other traffic uses these codepoints: clear them at the network edge.",
            "Ports of hosts have the queues and buffers of the topology (`hostQueues`, `hostBuffer`), and hosts fill no more of a line than `target` of its classes: only switches are configured here.",
            "No packet is larger than the MTU of its link in the topology, which is not set here, and PAUSE and PFC are off: bounds do not include time in which a port is paused.",
        ];
        all.push(match (self, control) {
            (Self::Sonic, ControlQueue::Own) => {
                "Control traffic (routing protocols, CS6 and CS7) is small: its queue is served before all but latency contracts, at the expense of the other classes."
            }
            _ => "Control traffic (routing protocols, CS6 and CS7) is small: it uses the lowest queue here.",
        });
        all.extend(match self {
            Self::Tc => [
                "The machine forwards packets itself (bridge or routes), and its interfaces do not merge packets (no GRO, TSO or GSO).",
                "A frame is on the wire for its length and 24 bytes, and the bucket of TBF lets no more than one frame and a third of a millisecond through at once (docs/operate/dataplane.md).",
            ]
            .as_slice(),
            Self::Sonic => [
                "Among queues of type STRICT the one with the highest index is served first, and all of them before DWRR queues. Frames are not preempted.",
                "`size` of a buffer profile is reserved for each queue, in bytes. Devices that count cells hold less with small frames: multiply by the cell and divide by the smallest frame.",
                "The device has `size` of the pool to reserve, and no other profile of it takes from that (`buffer_model` traditional).",
                "DWRR shares in bytes by weights. Its quantum is at most a frame times the weight.",
                "Every port of this file exists, with the rate of the topology.",
            ]
            .as_slice(),
        });
        all
    }

    /// Returns how far the configuration has been tested with devices.
    pub const fn checked(self) -> &'static str {
        match self {
            Self::Tc => "Wayleave's tests run such scripts in a namespace and send packets through it.",
            Self::Sonic => {
                "Not validated: SONiC's YANG models are in no package registry, and no device was available. Keys and ranges of SCHEDULER, QUEUE, WRED_PROFILE, DSCP_TO_TC_MAP, TC_TO_QUEUE_MAP and BUFFER_QUEUE were compared by eye with the models in sonic-buildimage; BUFFER_POOL and BUFFER_PROFILE were not. Run `sonic-cfggen` or a YANG validation on the device before you load it."
            }
        }
    }
}

/// One switch with the queues of its packets.
pub(crate) struct Switch {
    pub(crate) plan: SwitchPlan,
    /// Queue of each codepoint here, 0 the highest. A codepoint without an entry uses the lowest queue.
    pub(crate) queues: BTreeMap<u8, u8>,
}

impl Switch {
    pub(crate) fn of(
        network: &Network,
        codepoints: &Codepoints,
        target: Target,
        settings: &Settings,
        node: NodeId,
    ) -> Result<Self, RenderError> {
        let mut links = network.links_from(node).to_vec();
        links.sort();
        let mut names: BTreeMap<LinkId, String> =
            links.iter().filter_map(|link| Some((*link, settings.interfaces.get(link)?.clone()))).collect();
        for (place, &link) in links.iter().enumerate() {
            if !names.contains_key(&link) {
                // A name that another port has already is not given again.
                let mut free = (place..).map(|place| target.interface(place));
                let name = free.find(|name| !names.values().any(|taken| taken == name));
                names.insert(link, name.unwrap_or_default());
            }
        }
        let plan = SwitchPlan::of(network, node, |link| (names.get(&link).cloned().unwrap_or_default(), 0))?;
        let queues = codepoints.queues_at(node);
        for link in links {
            let has = network.queues(link).len();
            let used = codepoints.used_at(link);
            if let Some((&dscp, &queue)) = used.iter().find(|&(_, &queue)| usize::from(queue) >= has) {
                return Err(RenderError::Missing { link: network.link(link).name.clone(), has, dscp, queue });
            }
        }
        Ok(Self { plan, queues })
    }
}
