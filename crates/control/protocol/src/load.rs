//! Measured load: present rates of links, histories of links, contracts and tenants, flows between them, and the monthly
//! statement of a tenant. Figures that were not observed are `null`: unknown, not zero.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Interval at which agents report.
pub const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum time between two reports of an agent that reports throughout a minute: the interval of reports, and two seconds
/// for a report that is late or lost.
pub const MAX_REPORT_GAP: Duration = Duration::from_secs(3);

/// Bytes on the wire of an Ethernet frame that interface counters leave out: preamble and start delimiter (8), frame
/// check sequence (4) and gap between packets (12), as in IEEE 802.3, sections 3.1.1 and 4.4.2. The kernel counts frames
/// without the frame check sequence (`struct rtnl_link_stats64` in include/uapi/linux/if_link.h).
pub const UNCOUNTED_FRAME_BYTES: u64 = 8 + 4 + 12;

/// Counters of a node's links, read at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LinkReport {
    /// Time of the reading, in ns since the start of the node's kernel.
    pub read_ns: u64,
    /// Counters of each link that the node has counters of, in either direction.
    pub counters: Vec<LinkCounters>,
}

/// Counters of a link at one of its ends, since the interface was created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkCounters {
    /// Name of the link: one that leaves the node (packets that its interface has sent), or one that enters it (packets
    /// that its interface has received).
    pub link: String,
    /// Index of the interface: a new index begins new counters.
    pub interface: u32,
    /// Bytes on the wire, with [`UNCOUNTED_FRAME_BYTES`] for each packet.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
    /// Packets that were dropped at this end: before the link by its queues and its interface, or behind the link by
    /// the receiving interface.
    pub dropped: u64,
}

/// End of a link whose agent has counted a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CountedAt {
    /// The node at which the link begins.
    Sender,
    /// The node at which the link ends; used if the sender's agent does not count the link.
    Receiver,
}

/// Measured load of a link between the last two reports of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MeasuredLoad {
    /// Mean rate on the wire.
    pub rate_bps: u64,
    /// Time of the last report (RFC 3339).
    pub at: String,
    /// End that has counted it.
    pub source: CountedAt,
    /// Packets dropped at that end between the two reports; `null` if the counter began anew, or shows more than an end of
    /// a link can count.
    #[schema(required)]
    pub dropped: Option<u64>,
}

/// Measured and reserved rate over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadHistory {
    /// Begin of the first point (RFC 3339).
    pub from: String,
    /// End of the last point (RFC 3339).
    pub to: String,
    /// Length of each point.
    pub step_seconds: u64,
    /// Begin of the first retained measurement (RFC 3339); `null` if none is retained.
    #[schema(required)]
    pub since: Option<String>,
    /// Points of equal length, the oldest first.
    pub points: Vec<LoadPoint>,
}

/// Load of an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadPoint {
    /// Begin of the interval (RFC 3339).
    pub at: String,
    /// Mean rate of the observed part; `null` if less than half of the interval was observed.
    #[schema(required)]
    pub mean_bps: Option<u64>,
    /// Highest observed rate, of a second for links and of ten seconds for contracts and tenants.
    #[schema(required)]
    pub max_bps: Option<u64>,
    /// Reserved rate at the end of the interval; `null` if it was not known.
    #[schema(required)]
    pub reserved_bps: Option<u64>,
    /// Maximum number of contracts in the interval, each admitted, of which not all hosts reported: if it is not 0, the
    /// rates are those of the other contracts, a lower bound. Always 0 for links.
    pub unreported: u64,
}

/// Kind of an element of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FlowElementKind {
    /// A tenant.
    Tenant,
    /// A link.
    Link,
    /// A host.
    Host,
}

/// Element of a flow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
pub struct FlowElement {
    /// Its kind.
    pub kind: FlowElementKind,
    /// Its name.
    pub name: String,
}

/// Rate of all shown contracts from one element to the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlowEdge {
    /// A tenant, or a link.
    pub from: FlowElement,
    /// A link, or a host.
    pub to: FlowElement,
    /// Sum of the measured rates; `null` if none is known.
    #[schema(required)]
    pub rate_bps: Option<u64>,
    /// Number of contracts of which the rate here is not known: if it is not 0, the measured rate is a lower bound.
    #[serde(default)]
    #[schema(required)]
    pub unmeasured: u64,
    /// Sum of the reserved rates.
    pub reserved_bps: u64,
}

/// Rates from tenants over links to hosts. A contract passes the link of its route on which most is reserved, and ends
/// at its receiver's host; a contract with members passes the links into their hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Flows {
    /// Edges from tenants to links, then from links to hosts.
    pub edges: Vec<FlowEdge>,
    /// Number of paths from a tenant over a link to a host that are left out: those with the lowest rates.
    pub omitted: u64,
    /// Number of contracts of which a rate is known.
    pub measured: u64,
    /// Number of contracts that the token may see and that have not ended.
    pub contracts: u64,
}

/// Number of minutes by observation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StatementMinutes {
    /// Minutes throughout which the contract was in force, the agents of all its ends reported without a gap of more
    /// than 3 s, and no violation was observed. Agents of bandwidth-class contracts reported in their present session which
    /// rules are in force, and agents of all ends which contracts they cannot enforce. No agent repaired a foreign change. Counters
    /// of all senders show no more than the rule lets through; without an upper bound (a minimum without `max`, an objective,
    /// `excess: demote`), they are not compared. Without measured or sampled delays, only rules were observed.
    pub kept: u64,
    /// Minutes in which the contract was degraded by a failure or violated, or a sampled packet was lost or late.
    pub broken: u64,
    /// All other minutes ([`UnknownReason`]).
    pub unknown: u64,
}

/// Reason for which a minute of a contract is unknown: the last one of those that apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownReason {
    // Records on disk have these numbers.
    /// Reports of a host lacked counters or times of readings, or contradicted themselves: they could not be compared with
    /// the contract's rule.
    CountersIncomplete,
    /// The counters of a host showed more than the contract's rule lets through.
    RateAboveRule,
    /// An agent repaired a foreign change.
    RulesChanged,
    /// An agent had not confirmed the contract, had not reported its rules in a new session, or left `contractProblems` out of
    /// a report.
    NotConfirmed,
    /// An agent had no session, or its reports had a gap of more than 3 s.
    AgentSilent,
    /// The contract was not in force: no host has agents, its start had not come, or it waited for others.
    NotInForce,
    /// A violation shortly after the minute may have begun in it.
    MaybeBroken,
    /// The controller did not observe the whole minute: it did not run, lead or record, or its clock was set. Earlier versions
    /// recorded no reasons.
    NotObserved,
}

impl UnknownReason {
    /// All reasons.
    pub const ALL: [Self; 8] = [
        Self::CountersIncomplete,
        Self::RateAboveRule,
        Self::RulesChanged,
        Self::NotConfirmed,
        Self::AgentSilent,
        Self::NotInForce,
        Self::MaybeBroken,
        Self::NotObserved,
    ];

    /// Returns the name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CountersIncomplete => "counters-incomplete",
            Self::RateAboveRule => "rate-above-rule",
            Self::RulesChanged => "rules-changed",
            Self::NotConfirmed => "not-confirmed",
            Self::AgentSilent => "agent-silent",
            Self::NotInForce => "not-in-force",
            Self::MaybeBroken => "maybe-broken",
            Self::NotObserved => "not-observed",
        }
    }
}

/// Number of unknown minutes with one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnknownMinutes {
    /// The reason.
    pub reason: UnknownReason,
    /// Number of minutes.
    pub minutes: u64,
}

/// Statement of a tenant for a month (UTC).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Statement {
    /// Name of the tenant.
    pub tenant: String,
    /// Year and month: `2026-11`.
    pub month: String,
    /// Begin of the month (RFC 3339).
    pub from: String,
    /// End of the month (RFC 3339).
    pub to: String,
    /// First moment of the month that the record covers (RFC 3339); `null` if it covers none.
    #[schema(required)]
    pub since: Option<String>,
    /// End of that part (RFC 3339); `null` if it covers none.
    #[schema(required)]
    pub until: Option<String>,
    /// Parts of the month that the record does not cover, in order: before its begin, gaps (the latest 1,000), and after its
    /// end. Minutes of which a part is not covered are unknown, unless a violation was observed.
    pub not_covered: Vec<UncoveredPart>,
    /// Minutes up to `until` in which the tenant had a contract: kept if all of them were kept, broken if one of them was
    /// broken. Minutes before `since` are unknown. If nothing is covered, all minutes of the month are unknown.
    pub minutes: StatementMinutes,
    /// Contracts that existed in the month, by name; without best effort, which promises nothing. At most 1,000: those
    /// with the most broken minutes.
    pub contracts: Vec<ContractStatement>,
    /// Number of contracts that are left out; CSV has all.
    pub omitted: u64,
}

/// Part of a month that the record does not cover.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UncoveredPart {
    /// Begin (RFC 3339).
    pub from: String,
    /// End (RFC 3339).
    pub to: String,
    /// Reason, human-readable: `not yet over`, `not yet begun`.
    pub reason: String,
}

/// Statement of a contract.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContractStatement {
    /// `tenant:name`. A contract that was deleted and created again is listed twice.
    pub contract: String,
    /// Begin of its first whole minute in the month (RFC 3339).
    pub from: String,
    /// End of its last minute in the month (RFC 3339): that of the covered part, if it still exists.
    pub to: String,
    /// Minutes from its creation or its start to its end, within the month.
    pub minutes: StatementMinutes,
    /// Its unknown minutes by reason.
    pub unknown: Vec<UnknownMinutes>,
    /// Changes of its state, the oldest first; at most 100.
    pub events: Vec<StatementEvent>,
}

/// Change of a contract's state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StatementEvent {
    /// Time (RFC 3339).
    pub at: String,
    /// `degraded` or `violated`, and the states after them up to `enforced`; `lost` or `late` for sampled packets; `unknown`
    /// at the first minute that counters of a host leave unknown.
    pub kind: String,
    /// Reason, human-readable.
    pub text: String,
}
