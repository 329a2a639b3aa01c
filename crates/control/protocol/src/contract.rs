//! A contract as in a file, with its status.

use std::collections::BTreeMap;

use std::num::NonZeroU16;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use wayleave_contracts::ContractKind;
use wayleave_topology::Network;

/// A contract as it is asked for; the same keys as in a file of `kind: Contracts`.
///
/// A latency contract has `from`, `to`, `rate`, `burst` and `deadline`; one of another kind has `bandwidth`, `objective` or
/// `bestEffort`, and none of these.
///
/// ```
/// let body = r#"{"from": "web-1", "to": "db-1", "rate": "10Mbit", "burst": "3000B", "deadline": "5ms"}"#;
/// let contract: wayleave_protocol::contract::ContractSpec = serde_json::from_str(body)?;
/// assert_eq!(contract.rate.as_deref(), Some("10Mbit"));
/// let body = r#"{"bandwidth": {"hose": ["db-1", "db-2", "db-3"], "min": "1Gbit"}}"#;
/// let contract: wayleave_protocol::contract::ContractSpec = serde_json::from_str(body)?;
/// assert_eq!(contract.bandwidth.map(|bandwidth| bandwidth.min).as_deref(), Some("1Gbit"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContractSpec {
    /// Unique among the contracts of the tenant: 1 to 100 of `[A-Za-z0-9._-]`. Not required if the address contains
    /// it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// Owner; by default the tenant of the token, or `default`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tenant: Option<String>,
    /// The sender: a VM of the tenant, or a host, which represents all VMs of the tenant there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<String>,
    /// The receiver: a VM of the tenant, or a host.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to: Option<String>,
    /// Wire bytes per time, for example `10Mbit`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate: Option<String>,
    /// Wire bytes at once, for example `3000B`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub burst: Option<String>,
    /// Maximum delay of every packet, for example `5ms`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deadline: Option<String>,
    /// `wire` (default), or `frame`: then rate and burst count frame bytes, and `minFrame` is needed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub accounting: Option<String>,
    /// The smallest frame, for `accounting: frame`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub min_frame: Option<String>,
    /// Maximum frame, if it is smaller than burst and MTU imply.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_frame: Option<String>,
    /// The route to take, link by link: `h1->s1:0` is queue 0 of that link.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub route: Option<Vec<String>>,
    /// Over how many disjoint routes every packet is sent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub protection: Option<u32>,
    /// Treatment of packets beyond rate and burst: `wait` (default), `drop` or `demote`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub excess: Option<String>,
    /// From 0 to 100 (default 50): the higher, the longer it is kept when something fails.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub priority: Option<u8>,
    /// Start time (RFC 3339); by default now.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub starts: Option<String>,
    /// End time (RFC 3339); by default never.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ends: Option<String>,
    /// Words to find it by: up to 16 keys with values, of `[A-Za-z0-9._/-]`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub labels: BTreeMap<String, String>,
    /// Matching packets between its endpoints; by default all.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none", default)]
    pub matching: Option<Match>,
    /// A minimum rate, between two hosts or for every host of a hose.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bandwidth: Option<BandwidthSpec>,
    /// Common objective of all flows among some hosts, with a share of every link on which they meet.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub objective: Option<ObjectiveSpec>,
    /// Hosts whose traffic has a name and no promise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub best_effort: Option<BestEffortSpec>,
}

/// A minimum rate: `from` and `to`, or `hose`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BandwidthSpec {
    /// The sender: a VM of the tenant, or a host.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<String>,
    /// The receiver: a VM of the tenant, or a host.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to: Option<String>,
    /// The members, on different hosts: each may send and receive at the minimum, to and from whomever.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hose: Option<Vec<String>>,
    /// On the wire: of the pair, or of every member.
    pub min: String,
    /// Maximum rate.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max: Option<String>,
    /// Weight of its share of the capacity above all minima.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(minimum = 1)]
    pub weight: Option<u32>,
    /// The minimum is there so soon after there is something to send.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub within: Option<String>,
}

/// Objective of flows: `deadline` or `goal`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectiveSpec {
    /// `deadline`, `completion` or `latency`; `deadline` where one is given.
    // Aliases: histories in ledgers of development versions after 0.2.0.
    #[serde(skip_serializing_if = "Option::is_none", default, alias = "aim")]
    pub goal: Option<String>,
    /// Maximum completion time of each flow.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deadline: Option<String>,
    /// The members, on different hosts.
    pub members: Vec<String>,
    /// The weight on every link, as a rate.
    #[serde(alias = "min")]
    pub weight: String,
}

/// Hosts whose traffic has a name and no promise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BestEffortSpec {
    /// The members, on different hosts.
    pub members: Vec<String>,
    /// Maximum rate at which each member sends to all others together.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max: Option<String>,
}

impl ContractSpec {
    /// Returns the members as given: the sender and the receiver, or all.
    pub fn members(&self) -> Vec<&str> {
        let (ends, members) = match (&self.bandwidth, &self.objective, &self.best_effort) {
            (Some(BandwidthSpec { hose: Some(members), .. }), ..) => ([&None, &None], &members[..]),
            (Some(BandwidthSpec { from, to, .. }), ..) => ([from, to], &[][..]),
            (_, Some(objective), _) => ([&None, &None], &objective.members[..]),
            (.., Some(best_effort)) => ([&None, &None], &best_effort.members[..]),
            _ => ([&self.from, &self.to], &[][..]),
        };
        let ends = ends.into_iter().filter_map(|end: &Option<String>| end.as_deref());
        ends.chain(members.iter().map(String::as_str)).collect()
    }
}

/// Header fields of a contract's packets; at least one key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Match {
    /// `tcp`, `udp`, `icmp`, `icmpv6`, `sctp`, or a number.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schema(value_type = Option<String>)]
    pub protocol: Option<Protocol>,
    /// IPv4 or IPv6.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source_address: Option<String>,
    /// Only with a protocol that has ports.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source_port: Option<u16>,
    /// IPv4 or IPv6.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub destination_address: Option<String>,
    /// Only with a protocol that has ports.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub destination_port: Option<u16>,
}

/// A protocol above IP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Protocol {
    /// By its name.
    Name(String),
    /// By its number.
    Number(u8),
}

impl From<wayleave_contracts::Match> for Match {
    fn from(matching: wayleave_contracts::Match) -> Self {
        Self {
            protocol: matching.protocol.map(Protocol::from),
            source_address: matching.source_address.map(|address| address.to_string()),
            source_port: matching.source_port.map(NonZeroU16::get),
            destination_address: matching.destination_address.map(|address| address.to_string()),
            destination_port: matching.destination_port.map(NonZeroU16::get),
        }
    }
}

impl TryFrom<&Match> for wayleave_contracts::Match {
    /// Reason for which the text cannot be read.
    type Error = String;

    fn try_from(document: &Match) -> Result<Self, String> {
        let address = |text: &String| text.parse().map_err(|_| format!("{text} is not an IP address"));
        let protocol = |protocol: &Protocol| match protocol {
            Protocol::Number(number) => Ok(wayleave_contracts::Protocol::new(*number)),
            Protocol::Name(name) => name.parse().map_err(|_| format!("{name} is not a protocol")),
        };
        Ok(Self {
            protocol: document.protocol.as_ref().map(protocol).transpose()?,
            source_address: document.source_address.as_ref().map(address).transpose()?,
            source_port: document.source_port.and_then(NonZeroU16::new),
            destination_address: document.destination_address.as_ref().map(address).transpose()?,
            destination_port: document.destination_port.and_then(NonZeroU16::new),
        })
    }
}

impl From<wayleave_contracts::Protocol> for Protocol {
    /// By its name, if it has one.
    fn from(protocol: wayleave_contracts::Protocol) -> Self {
        let named = wayleave_contracts::Protocol::NAMED.iter().find(|(_, known)| *known == protocol);
        named.map_or(Self::Number(protocol.number()), |(name, _)| Self::Name((*name).to_owned()))
    }
}

/// A contract that exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Contract {
    /// `tenant:name`.
    pub id: String,
    /// Terms as requested.
    #[serde(flatten)]
    pub spec: ContractSpec,
    /// Present status.
    pub status: ContractStatus,
}

/// The state of an admitted contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Admitted by proof, but its packets may not be sent yet: others have to move first, or its time has not come.
    #[default]
    Pending,
    /// Admitted; its sender is being notified. Without agents, a contract stays in this state.
    Admitted,
    /// The sender enforces the contract.
    Enforced,
    /// The guarantee is lost: an element failed, or the sender's agent does not answer.
    Degraded,
    /// A packet exceeded its bound.
    Violated,
    /// Deleted; what it had is held until its last packets have left.
    Released,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Admitted, Self::Enforced, Self::Degraded, Self::Violated, Self::Released];

    /// As it appears in interfaces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Admitted => "admitted",
            Self::Enforced => "enforced",
            Self::Degraded => "degraded",
            Self::Violated => "violated",
            Self::Released => "released",
        }
    }
}

/// Guarantee of a contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A bound of the delay of every packet.
    #[default]
    Latency,
    /// A minimum rate.
    Bandwidth,
    /// A share of every link for flows with a common objective.
    Objective,
    /// No guarantee.
    BestEffort,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Latency, Self::Bandwidth, Self::Objective, Self::BestEffort];

    /// As it appears in interfaces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Bandwidth => "bandwidth",
            Self::Objective => "objective",
            Self::BestEffort => "best-effort",
        }
    }
}

impl From<ContractKind> for Kind {
    fn from(kind: ContractKind) -> Self {
        match kind {
            ContractKind::Latency => Self::Latency,
            ContractKind::Bandwidth => Self::Bandwidth,
            ContractKind::Objective => Self::Objective,
            ContractKind::BestEffort => Self::BestEffort,
        }
    }
}

/// Status of a contract.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContractStatus {
    /// The state.
    pub state: State,
    /// Guarantee of the contract.
    #[serde(default)]
    pub kind: Kind,
    /// A stable code, for `degraded` and `violated`: `FAILURE`, `UNFIT`, `UNCONFIRMED`, `SILENT`, `LATE_PACKETS`; for `pending`: `WAITS`, `NOT_STARTED`;
    /// for `admitted`: `NOT_ENFORCED`, without agents; `NOT_CONFIRMED`; `RATE_EXCEEDED`, where counters show more than its rule lets through;
    /// `FOLLOWER`, at a controller to which agents do not report, if the leader has recorded it as enforced;
    /// for `enforced`: `ENFORCED_IN_PART`, where agents keep its share on the links of hosts; `PROTECTION_LOST`;
    /// for any: `NO_PACKET_CONFORMS`, where its burst is below the smallest frame.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// The same for people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<String>,
    /// Evidence for the guarantee of a bandwidth-class contract: `proven`, or `measured`, which is no guarantee.
    /// Absent without a guarantee, also while a failure keeps the contract from sending, and after its end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub certainty: Option<String>,
    /// A minimum is there so soon after there is something to send, if that was asked for. Absent like `boundNs`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub within_ns: Option<u64>,
    /// Proven delay bound of a latency contract. Absent while a failure keeps the contract from sending, and after its end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bound_ns: Option<u64>,
    /// Deadline of a latency contract.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deadline_ns: Option<u64>,
    /// The host that sends; absent where there are members.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from_host: Option<String>,
    /// The host that receives; absent where there are members.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to_host: Option<String>,
    /// The hosts of its members, in their order; absent where there is a sender and a receiver.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub hosts: Vec<String>,
    /// Routes of its packets; several if each packet is sent over all of them. Empty if it is not placed now, or if
    /// hosts choose its paths.
    pub routes: Vec<Route>,
    /// Number among the contracts of all tenants, as agents know it. Hidden from tenants, since it would reveal the
    /// number of other contracts.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub serial: u64,
    /// The same as the ETag.
    pub revision: u64,
    /// The decision that admitted it as it is.
    pub decision: u64,
    /// Time of its first admission (RFC 3339).
    pub created: String,
    /// The version of its rule that is to be in force.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub configured: Option<u64>,
    /// The version that its sender, or all its members, have confirmed. Absent if none is confirmed, or if that is unknown:
    /// while an agent of these hosts is silent, and until it has connected since the controller started. Absent also if an agent
    /// cannot carry it out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub effective: Option<u64>,
    /// Late packets as measured by its receiver, if any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub measured: Option<LatePackets>,
    /// Rate of its packets on the wire between the last two reports of its hosts, in lists of contracts. Absent if it is
    /// unknown, which is not zero. If not all hosts report, the rate is a lower bound.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_bps: Option<u64>,
    /// Number of hosts whose agents count it, in lists of contracts: the sender, or every member; 0 for best effort.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counting_hosts: Option<u64>,
    /// Number of those hosts that have reported counters within the last five seconds, in lists of contracts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reporting_hosts: Option<u64>,
    /// Number of routes that other contracts have left and whose packets must drain before packets of this contract may be sent.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub pending_releases: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A route with its bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// From sender to receiver.
    pub hops: Vec<Hop>,
    /// Delay bound of a latency contract on this route. While `status.boundNs` is absent, it is not promised: it is the
    /// bound of the reservation that is kept for a repair, or until the last packets have left.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bound_ns: Option<u64>,
}

/// One link of a route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Hop {
    /// Name of the link.
    pub link: String,
    /// Queue at the link's entry, 0 first.
    pub queue: u8,
}

impl Hop {
    /// A route with the names of links.
    pub fn named(network: &Network, route: &wayleave_topology::Route) -> Vec<Self> {
        route.hops.iter().map(|hop| Self { link: network.link(hop.link).name.clone(), queue: hop.queue }).collect()
    }

    /// The route that some hops describe.
    ///
    /// # Errors
    /// The name of a link that the network does not have.
    pub fn route(network: &Network, hops: &[Self]) -> Result<wayleave_topology::Route, String> {
        let find = |hop: &Self| match network.find_link(&hop.link) {
            Some(link) => Ok(wayleave_topology::Hop { link, queue: hop.queue }),
            None => Err(hop.link.clone()),
        };
        Ok(wayleave_topology::Route { hops: hops.iter().map(find).collect::<Result<_, _>>()? })
    }
}

/// Packets that came too late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LatePackets {
    /// Number of packets.
    pub packets: u64,
    /// The longest delay.
    pub worst_ns: u64,
    /// Time of the last such report (RFC 3339).
    pub at: String,
}
