//! Records of contracts in formats 1 to 4 of a ledger (versions up to 0.2.0): latency contracts and those of other kinds were two kinds of records.
//! They are read as they are, and written as records of format 5 when their contracts change next.

use serde::Deserialize;
use wayleave_contracts::Labels;

use crate::contract_record::{
    BandwidthRecord, CertaintyRecord, ContractRecord, LatencyRecord, MatchRecord, ObjectiveRecord, PlaceRecord,
    SenderRecord, ShareRecord, TermsRecord,
};
use crate::record::{DegradedRecord, RouteRecord};

/// A latency contract.
#[derive(Deserialize)]
pub(crate) struct OldLatencyRecord {
    tenant: String,
    name: String,
    #[serde(default)]
    implied_tenant: bool,
    from: String,
    to: String,
    from_host: String,
    to_host: String,
    rate_bps: u64,
    burst_bytes: u64,
    deadline_ns: u64,
    min_frame_bytes: Option<u64>,
    max_frame_bytes: Option<u64>,
    route: Option<Vec<(String, u8)>>,
    protection: u8,
    excess: Option<String>,
    priority: u8,
    starts: Option<u64>,
    ends: Option<u64>,
    #[serde(rename = "match")]
    matching: Option<MatchRecord>,
    revision: u64,
    created: u64,
    decision: u64,
    bound_ns: u64,
    places: Vec<RouteRecord>,
    #[serde(default)]
    ended: bool,
    #[serde(rename = "trouble")]
    degraded_reason: Option<DegradedRecord>,
    violation: Option<(u64, u64, u64)>,
    sender: SenderRecord,
}

/// A contract of another kind.
#[derive(Deserialize)]
pub(crate) struct OldShareRecord {
    tenant: String,
    name: String,
    #[serde(default)]
    implied_tenant: bool,
    #[serde(flatten)]
    terms: OldTerms,
    members: Vec<String>,
    hosts: Vec<String>,
    priority: u8,
    starts: Option<u64>,
    ends: Option<u64>,
    revision: u64,
    created: u64,
    decision: u64,
    place: Option<PlaceRecord>,
    certainty: Option<CertaintyRecord>,
    there_within_ns: Option<u64>,
    #[serde(rename = "trouble")]
    degraded_reason: Option<DegradedRecord>,
    #[serde(default)]
    waits_for: Vec<u64>,
}

/// Terms of a contract.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
enum OldTerms {
    Pair(BandwidthRecord),
    Hose(BandwidthRecord),
    Objective(ObjectiveRecord),
    BestEffort,
}

impl From<OldLatencyRecord> for ContractRecord {
    fn from(mut old: OldLatencyRecord) -> Self {
        Self {
            tenant: old.tenant,
            name: old.name,
            implied_tenant: old.implied_tenant,
            members: vec![old.from, old.to],
            hosts: vec![old.from_host, old.to_host],
            priority: old.priority,
            starts: old.starts,
            ends: old.ends,
            labels: Labels::new(),
            revision: old.revision,
            created: old.created,
            decision: old.decision,
            ended: old.ended,
            degraded_reason: old.degraded_reason,
            waits_for: std::mem::take(&mut old.sender.waits_for),
            rule: None,
            terms: TermsRecord::Latency(Box::new(LatencyRecord {
                rate_bps: old.rate_bps,
                burst_bytes: old.burst_bytes,
                deadline_ns: old.deadline_ns,
                min_frame_bytes: old.min_frame_bytes,
                max_frame_bytes: old.max_frame_bytes,
                route: old.route,
                protection: old.protection,
                excess: old.excess,
                matching: old.matching,
                bound_ns: old.bound_ns,
                places: old.places,
                violation: old.violation,
                sender: old.sender,
            })),
        }
    }
}

impl From<OldShareRecord> for ContractRecord {
    fn from(old: OldShareRecord) -> Self {
        let share = ShareRecord { place: old.place, certainty: old.certainty, there_within_ns: old.there_within_ns };
        Self {
            tenant: old.tenant,
            name: old.name,
            implied_tenant: old.implied_tenant,
            members: old.members,
            hosts: old.hosts,
            priority: old.priority,
            starts: old.starts,
            ends: old.ends,
            labels: Labels::new(),
            revision: old.revision,
            created: old.created,
            decision: old.decision,
            ended: false,
            degraded_reason: old.degraded_reason,
            waits_for: old.waits_for,
            rule: None,
            terms: match old.terms {
                OldTerms::Pair(bandwidth) => TermsRecord::Pair(bandwidth, share),
                OldTerms::Hose(bandwidth) => TermsRecord::Hose(bandwidth, share),
                OldTerms::Objective(objective) => TermsRecord::Objective(objective, share),
                OldTerms::BestEffort => TermsRecord::BestEffort,
            },
        }
    }
}
