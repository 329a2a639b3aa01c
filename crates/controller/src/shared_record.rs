//! The record of a contract of another kind than latency: names and whole numbers, as all records.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use wayleave_contracts::{
    AnyContract, BandwidthContract, BestEffortContract, Between, Objective, ObjectiveContract, Priority, SharedOrder,
};
use wayleave_ledger::{Share, Spread};
use wayleave_protocol::Id;
use wayleave_roles::Certainty;
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Rate, Time, WallTime};

use crate::record::{Missing, TroubleRecord, hops, node, route};
use crate::shared::SharedGrant;

/// A contract of another kind than latency.
#[derive(Serialize, Deserialize)]
pub(crate) struct SharedRecord {
    pub(crate) tenant: String,
    pub(crate) name: String,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    implied_tenant: bool,
    #[serde(flatten)]
    terms: TermsRecord,
    /// As they were written.
    members: Vec<String>,
    /// Where they are.
    hosts: Vec<String>,
    priority: u8,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    starts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    ends: Option<u64>,
    pub(crate) revision: u64,
    pub(crate) created: u64,
    pub(crate) decision: u64,
    /// What it holds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    place: Option<PlaceRecord>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    certainty: Option<CertaintyRecord>,
    /// Its minimum is there so soon.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    there_within_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    trouble: Option<TroubleRecord>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    pub(crate) waits_for: BTreeSet<u64>,
}

/// What is asked.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
enum TermsRecord {
    Pair(BandwidthRecord),
    Hose(BandwidthRecord),
    Objective {
        aim: String,
        min_bps: u64,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        deadline_ns: Option<u64>,
    },
    BestEffort,
}

#[derive(Serialize, Deserialize)]
struct BandwidthRecord {
    min_bps: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    max_bps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    weight: Option<NonZeroU32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    within_ns: Option<u64>,
}

/// What a share is beyond what was asked.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PlaceRecord {
    /// A pair's links with their queues.
    Route(Vec<(String, u8)>),
    /// A hose whose packets may take all paths.
    AllPaths,
    /// A hose with a path for each pair.
    OnePath,
    /// An objective.
    Weights,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CertaintyRecord {
    Proven,
    Measured,
}

impl TermsRecord {
    fn of(contract: &AnyContract) -> Self {
        match contract {
            AnyContract::Bandwidth(bandwidth) => {
                let record = BandwidthRecord {
                    min_bps: bandwidth.min.bits_per_second(),
                    max_bps: bandwidth.max.map(Rate::bits_per_second),
                    weight: bandwidth.weight,
                    within_ns: bandwidth.within.map(Time::as_nanos),
                };
                match bandwidth.between {
                    Between::Pair(..) => Self::Pair(record),
                    Between::Hose(_) => Self::Hose(record),
                }
            }
            AnyContract::Objective(objective) => Self::Objective {
                aim: objective.objective.name().to_owned(),
                min_bps: objective.min.bits_per_second(),
                deadline_ns: objective.deadline.map(Time::as_nanos),
            },
            AnyContract::BestEffort(_) | AnyContract::Latency(_) => Self::BestEffort,
        }
    }

    /// The contract with these names, among these hosts.
    fn contract(&self, name: String, tenant: Option<String>, hosts: Vec<NodeId>) -> Result<AnyContract, Missing> {
        let missing = |what: &'static str, name: &str| Missing { what, name: name.to_owned() };
        let bandwidth = |record: &BandwidthRecord, between| BandwidthContract {
            name: name.clone(),
            tenant: tenant.clone(),
            between,
            min: Rate::from_bits_per_second(record.min_bps),
            max: record.max_bps.map(Rate::from_bits_per_second),
            weight: record.weight,
            within: record.within_ns.map(Time::from_nanos),
        };
        match self {
            Self::Pair(record) => match hosts[..] {
                [from, to] => Ok(bandwidth(record, Between::Pair(from, to)).into()),
                _ => Err(missing("member", "of a pair")),
            },
            Self::Hose(record) => Ok(bandwidth(record, Between::Hose(hosts)).into()),
            Self::Objective { aim, min_bps, deadline_ns } => {
                let known = Objective::NAMED.iter().find(|(word, _)| word == aim);
                let Some(&(_, objective)) = known else { return Err(missing("objective", aim)) };
                let (min, deadline) = (Rate::from_bits_per_second(*min_bps), deadline_ns.map(Time::from_nanos));
                Ok(ObjectiveContract { name, tenant, objective, deadline, members: hosts, min }.into())
            }
            Self::BestEffort => Ok(BestEffortContract { name, tenant, members: hosts }.into()),
        }
    }
}

impl SharedRecord {
    pub(crate) fn of(network: &Network, grant: &SharedGrant, share: Option<&Share>) -> Self {
        let order = &grant.order;
        let place = |share: &Share| match share {
            Share::Pair { route, .. } => PlaceRecord::Route(hops(network, route)),
            Share::Hose { spread: Spread::AllPaths, .. } => PlaceRecord::AllPaths,
            Share::Hose { spread: Spread::OnePath, .. } => PlaceRecord::OnePath,
            Share::Objective { .. } => PlaceRecord::Weights,
        };
        let certainty = |certainty| match certainty {
            Certainty::Proven => CertaintyRecord::Proven,
            Certainty::Measured => CertaintyRecord::Measured,
        };
        Self {
            tenant: grant.id.tenant.clone(),
            name: grant.id.name.clone(),
            implied_tenant: order.contract.tenant().is_none(),
            terms: TermsRecord::of(&order.contract),
            members: order.members.clone(),
            hosts: order.contract.hosts().into_iter().map(|host| network.node(host).name.clone()).collect(),
            priority: order.priority.get(),
            starts: order.starts.map(WallTime::as_nanos),
            ends: order.ends.map(WallTime::as_nanos),
            revision: grant.revision,
            created: grant.created.as_nanos(),
            decision: grant.decision,
            place: share.map(place),
            certainty: grant.certainty.map(certainty),
            there_within_ns: grant.within.map(Time::as_nanos),
            trouble: grant.trouble.as_ref().map(TroubleRecord::of),
            waits_for: grant.waits_for.clone(),
        }
    }

    /// What was asked.
    pub(crate) fn order(&self, network: &Network) -> Result<SharedOrder, Missing> {
        let hosts = self.hosts.iter().map(|name| node(network, name)).collect::<Result<_, _>>()?;
        let tenant = Some(self.tenant.clone()).filter(|_| !self.implied_tenant);
        Ok(SharedOrder {
            contract: self.terms.contract(self.name.clone(), tenant, hosts)?,
            members: self.members.clone(),
            priority: Priority::new(self.priority).unwrap_or_default(),
            starts: self.starts.map(WallTime::from_nanos),
            ends: self.ends.map(WallTime::from_nanos),
        })
    }

    /// What it holds.
    pub(crate) fn share(&self, network: &Network, contract: &AnyContract) -> Result<Option<Share>, Missing> {
        let missing = || Missing { what: "place", name: format!("of {}", self.name) };
        let spread = match &self.place {
            None => return Ok(None),
            Some(PlaceRecord::Route(hops)) => {
                let AnyContract::Bandwidth(pair) = contract else { return Err(missing()) };
                let route = route(network, hops)?;
                return Ok(Some(Share::Pair { min: pair.min, route, is_timed: pair.within.is_some() }));
            }
            Some(PlaceRecord::Weights) => {
                let AnyContract::Objective(objective) = contract else { return Err(missing()) };
                return Ok(Some(Share::Objective { weight: objective.min, members: objective.members.clone() }));
            }
            Some(PlaceRecord::AllPaths) => Spread::AllPaths,
            Some(PlaceRecord::OnePath) => Spread::OnePath,
        };
        let AnyContract::Bandwidth(BandwidthContract { between: Between::Hose(members), min, within, .. }) = contract
        else {
            return Err(missing());
        };
        Ok(Some(Share::Hose { min: *min, members: members.clone(), spread, is_timed: within.is_some() }))
    }

    /// A contract without its share.
    pub(crate) fn grant(&self, serial: u64, order: SharedOrder) -> SharedGrant {
        let certainty = |certainty| match certainty {
            CertaintyRecord::Proven => Certainty::Proven,
            CertaintyRecord::Measured => Certainty::Measured,
        };
        let (id, created) = (Id::new(self.tenant.as_str(), self.name.as_str()), WallTime::from_nanos(self.created));
        SharedGrant {
            revision: self.revision,
            decision: self.decision,
            certainty: self.certainty.map(certainty),
            within: self.there_within_ns.map(Time::from_nanos),
            trouble: self.trouble.as_ref().map(TroubleRecord::trouble),
            waits_for: self.waits_for.clone(),
            ..SharedGrant::new(id, serial, order, created)
        }
    }
}
