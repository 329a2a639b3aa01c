//! Record of a contract, of any kind (format 5 of a ledger); `old_record` reads earlier formats.

use std::net::IpAddr;
use std::num::{NonZeroU16, NonZeroU32};

use serde::{Deserialize, Serialize};
use wayleave_contracts::{
    Accounting, BandwidthContract, BestEffortContract, Contract, ContractRequest, Endpoints, Excess, FlowObjective,
    Labels, LatencyContract, Match, ObjectiveContract, Priority, Protocol,
};
use wayleave_ledger::{PathSpread, ReservedShare};
use wayleave_protocol::Id;
use wayleave_scheme_api::Certainty;
use wayleave_topology::{Hop, Network, NodeId};
use wayleave_units::{Bytes, Rate, Time, WallTime};

use crate::grant::{AdmittedContract, KindState, LateDelivery, LatencyState, RuleState, Sender, ShareState};
use crate::record::{DegradedRecord, MissingElement, RouteRecord, hops, node, reserved, reserved_as_far, route};
use crate::scheme_ledger::UndoReservation;

/// A contract.
#[derive(Serialize, Deserialize)]
pub(crate) struct ContractRecord {
    pub(crate) tenant: String,
    pub(crate) name: String,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub(crate) implied_tenant: bool,
    /// As they were written.
    pub(crate) members: Vec<String>,
    /// Their hosts.
    pub(crate) hosts: Vec<String>,
    pub(crate) priority: u8,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) starts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) ends: Option<u64>,
    #[serde(skip_serializing_if = "Labels::is_empty", default)]
    pub(crate) labels: Labels,
    pub(crate) revision: u64,
    pub(crate) created: u64,
    pub(crate) decision: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub(crate) ended: bool,
    #[serde(rename = "trouble", skip_serializing_if = "Option::is_none", default)]
    pub(crate) degraded_reason: Option<DegradedRecord>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) waits_for: Vec<u64>,
    /// Rule for hosts of a contract of another kind than latency.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) rule: Option<RuleRecord>,
    pub(crate) terms: TermsRecord,
}

/// Rule of a contract of another kind than latency. Single confirmations are not on disk: after a start the hosts report again.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct RuleRecord {
    version: u64,
    /// All members have confirmed it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    confirmed: bool,
}

impl RuleRecord {
    fn of(grant: &AdmittedContract) -> Option<Self> {
        let state = grant.share_state()?;
        (state.version > 0).then_some(Self { version: state.version, confirmed: state.unconfirmed.is_empty() })
    }
}

/// Terms and reservations, by kind.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TermsRecord {
    Latency(Box<LatencyRecord>),
    Pair(BandwidthRecord, ShareRecord),
    Hose(BandwidthRecord, ShareRecord),
    Objective(ObjectiveRecord, ShareRecord),
    BestEffort,
    /// Best effort with a maximum.
    LimitedBestEffort(LimitRecord),
}

/// Terms of a latency contract, with its routes and its sender.
#[derive(Serialize, Deserialize)]
pub(crate) struct LatencyRecord {
    pub(crate) rate_bps: u64,
    pub(crate) burst_bytes: u64,
    pub(crate) deadline_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) min_frame_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) max_frame_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) route: Option<Vec<(String, u8)>>,
    pub(crate) protection: u8,
    /// Treatment of packets beyond the bucket, where that is not usual.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) excess: Option<String>,
    #[serde(rename = "match", skip_serializing_if = "Option::is_none", default)]
    pub(crate) matching: Option<MatchRecord>,
    pub(crate) bound_ns: u64,
    pub(crate) places: Vec<RouteRecord>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) violation: Option<(u64, u64, u64)>,
    pub(crate) sender: SenderRecord,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct MatchRecord {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    protocol: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    source_address: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    source_port: Option<NonZeroU16>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    destination_address: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    destination_port: Option<NonZeroU16>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct SenderRecord {
    version: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    stop: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    run: Option<u64>,
    since: u64,
    /// Only in formats before 5.
    #[serde(skip_serializing, default)]
    pub(crate) waits_for: Vec<u64>,
    #[serde(rename = "told", skip_serializing_if = "Option::is_none", default)]
    announced: Option<(u64, bool)>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    confirmed: Option<(u64, bool)>,
    /// Absent if it is the version.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    offered: Option<u64>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct BandwidthRecord {
    min_bps: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    max_bps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    weight: Option<NonZeroU32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    within_ns: Option<u64>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct LimitRecord {
    max_bps: u64,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct ObjectiveRecord {
    pub(crate) aim: String,
    pub(crate) min_bps: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) deadline_ns: Option<u64>,
}

/// Share of a contract of another kind than latency.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct ShareRecord {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) place: Option<PlaceRecord>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) certainty: Option<CertaintyRecord>,
    /// Its minimum is there so soon.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) there_within_ns: Option<u64>,
}

/// Place of a share.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PlaceRecord {
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
pub(crate) enum CertaintyRecord {
    Proven,
    Measured,
}

/// Reservation of a contract, if it has a place now.
pub(crate) enum HeldReservation {
    Routes(Option<UndoReservation>),
    Share(Option<ReservedShare>),
}

impl ContractRecord {
    /// Of a contract that holds this.
    pub(crate) fn of(network: &Network, grant: &AdmittedContract, held: &HeldReservation) -> Self {
        let order = &grant.order;
        Self {
            tenant: grant.id.tenant.clone(),
            name: grant.id.name.clone(),
            implied_tenant: order.tenant().is_none(),
            members: order.members.clone(),
            hosts: order.contract.hosts().into_iter().map(|host| network.node(host).name.clone()).collect(),
            priority: order.priority.get(),
            starts: order.starts.map(WallTime::as_nanos),
            ends: order.ends.map(WallTime::as_nanos),
            labels: order.labels.clone(),
            revision: grant.revision,
            created: grant.created.as_nanos(),
            decision: grant.decision,
            ended: grant.is_ended,
            degraded_reason: grant.degraded_reason.as_ref().map(|reason| DegradedRecord::of(network, reason)),
            rule: RuleRecord::of(grant),
            waits_for: grant.waits_for.clone(),
            terms: TermsRecord::of(network, grant, held),
        }
    }

    /// Name of the contract with its tenant.
    pub(crate) fn id(&self) -> Id {
        Id::new(self.tenant.as_str(), self.name.as_str())
    }

    /// A contract that holds nothing yet.
    pub(crate) fn grant(&self, network: &Network, serial: u64) -> Result<AdmittedContract, MissingElement> {
        let order = self.order(network)?;
        let mut held = match &self.terms {
            TermsRecord::Latency(latency) => KindState::Latency(LatencyState {
                bound: Time::from_nanos(latency.bound_ns),
                lowest_bound: None,
                violation: latency.violation(),
                flow: None,
                cut_routes: 0,
                sender: latency.sender.sender(),
            }),
            TermsRecord::Pair(_, share) | TermsRecord::Hose(_, share) | TermsRecord::Objective(_, share) => {
                KindState::Share(share.state())
            }
            TermsRecord::BestEffort | TermsRecord::LimitedBestEffort(_) => KindState::Share(ShareState::default()),
        };
        if let KindState::Share(share) = &mut held {
            // Formats before 5 have no versions, and no confirmations.
            share.version = self.rule.map_or(1, |rule| rule.version);
            if !self.rule.is_some_and(|rule| rule.confirmed) {
                share.unconfirmed = order.contract.hosts().into_iter().collect();
            }
        }
        Ok(AdmittedContract {
            revision: self.revision,
            decision: self.decision,
            degraded_reason: self.degraded_reason.as_ref().map(|record| record.reason(network)),
            waits_for: self.waits_for.clone(),
            is_ended: self.ended,
            held,
            ..AdmittedContract::new(self.id(), serial, order, WallTime::from_nanos(self.created))
        })
    }

    fn order(&self, network: &Network) -> Result<ContractRequest, MissingElement> {
        let hosts = self.hosts.iter().map(|name| node(network, name)).collect::<Result<Vec<NodeId>, _>>()?;
        let matching = match &self.terms {
            TermsRecord::Latency(latency) => latency.matching.as_ref().map(MatchRecord::matching),
            _ => None,
        };
        Ok(ContractRequest {
            contract: self.contract(network, hosts)?,
            members: self.members.clone(),
            priority: Priority::new(self.priority).unwrap_or_default(),
            starts: self.starts.map(WallTime::from_nanos),
            ends: self.ends.map(WallTime::from_nanos),
            labels: self.labels.clone(),
            matching,
        })
    }

    fn contract(&self, network: &Network, hosts: Vec<NodeId>) -> Result<Contract, MissingElement> {
        let (name, tenant) = (self.name.clone(), Some(self.tenant.clone()).filter(|_| !self.implied_tenant));
        let ends = |hosts: &[NodeId]| match *hosts {
            [from, to] => Ok((from, to)),
            _ => Err(MissingElement { what: "member", name: format!("of {}, which has two", self.name) }),
        };
        Ok(match &self.terms {
            TermsRecord::Latency(latency) => latency.contract(network, name, tenant, ends(&hosts)?)?.into(),
            TermsRecord::Pair(bandwidth, _) => {
                let (from, to) = ends(&hosts)?;
                bandwidth.contract(name, tenant, Endpoints::Pair(from, to)).into()
            }
            TermsRecord::Hose(bandwidth, _) => bandwidth.contract(name, tenant, Endpoints::Hose(hosts)).into(),
            TermsRecord::Objective(record, _) => {
                let known = FlowObjective::NAMED.iter().find(|(word, _)| *word == record.aim);
                let Some(&(_, objective)) = known else {
                    return Err(MissingElement { what: "objective", name: record.aim.clone() });
                };
                let min = Rate::from_bits_per_second(record.min_bps);
                let deadline = record.deadline_ns.map(Time::from_nanos);
                ObjectiveContract { name, tenant, objective, deadline, members: hosts, min }.into()
            }
            TermsRecord::BestEffort => BestEffortContract { name, tenant, members: hosts, max: None }.into(),
            TermsRecord::LimitedBestEffort(limit) => {
                let max = Some(Rate::from_bits_per_second(limit.max_bps));
                BestEffortContract { name, tenant, members: hosts, max }.into()
            }
        })
    }

    /// Returns the reservation of a contract on a network whose links may differ from those at the time of writing.
    /// If one of its links no longer exists: no reservation, the rest of its routes up to that link, and `true`.
    pub(crate) fn held_as_far(
        &self,
        network: &Network,
        grant: &AdmittedContract,
        is_usable: &dyn Fn(Hop) -> bool,
    ) -> Result<(HeldReservation, Option<UndoReservation>, bool), MissingElement> {
        match &self.terms {
            TermsRecord::Latency(latency) => {
                let deadline = Time::from_nanos(latency.deadline_ns);
                let (reserved, is_whole) = reserved_as_far(network, &latency.places, deadline, is_usable);
                if !is_whole {
                    return Ok((HeldReservation::Routes(None), Some(reserved), true));
                }
                let reserved = UndoReservation { is_pinned: grant.has_given_route(), ..reserved };
                Ok((HeldReservation::Routes(Some(reserved).filter(|one| !one.reservations.is_empty())), None, false))
            }
            TermsRecord::Pair(_, ShareRecord { place: Some(PlaceRecord::Route(hops)), .. })
                if route(network, hops).is_err() =>
            {
                Ok((HeldReservation::Share(None), None, true))
            }
            _ => Ok((self.held(network, grant)?, None, false)),
        }
    }

    /// Reservation of a contract that was read from this record.
    pub(crate) fn held(&self, network: &Network, grant: &AdmittedContract) -> Result<HeldReservation, MissingElement> {
        let missing = || MissingElement { what: "place", name: format!("of {}", self.name) };
        let (share, contract) = match (&self.terms, &grant.order.contract) {
            (TermsRecord::Latency(latency), _) => {
                let (deadline, is_pinned) = (Time::from_nanos(latency.deadline_ns), grant.has_given_route());
                let reserved = reserved(network, &latency.places, deadline, is_pinned)?;
                return Ok(HeldReservation::Routes(
                    Some(reserved).filter(|reserved| !reserved.reservations.is_empty()),
                ));
            }
            (TermsRecord::BestEffort | TermsRecord::LimitedBestEffort(_), _) => {
                return Ok(HeldReservation::Share(None));
            }
            (TermsRecord::Objective(_, share), Contract::Objective(objective)) => {
                return match share.place {
                    None => Ok(HeldReservation::Share(None)),
                    Some(PlaceRecord::Weights) => {
                        let (weight, members) = (objective.min, objective.members.clone());
                        Ok(HeldReservation::Share(Some(ReservedShare::Objective { weight, members })))
                    }
                    Some(_) => Err(missing()),
                };
            }
            (TermsRecord::Pair(_, share) | TermsRecord::Hose(_, share), Contract::Bandwidth(contract)) => {
                (share, contract)
            }
            _ => return Err(missing()),
        };
        let (min, is_timed) = (contract.min, contract.within.is_some());
        let spread = match (&share.place, &contract.between) {
            (None, _) => return Ok(HeldReservation::Share(None)),
            (Some(PlaceRecord::Route(hops)), Endpoints::Pair(..)) => {
                let route = route(network, hops)?;
                return Ok(HeldReservation::Share(Some(ReservedShare::Pair { min, route, is_timed })));
            }
            (Some(PlaceRecord::AllPaths), Endpoints::Hose(_)) => PathSpread::AllPaths,
            (Some(PlaceRecord::OnePath), Endpoints::Hose(_)) => PathSpread::OnePath,
            _ => return Err(missing()),
        };
        let members = contract.between.hosts();
        Ok(HeldReservation::Share(Some(ReservedShare::Hose { min, members, spread, is_timed })))
    }
}

impl TermsRecord {
    fn of(network: &Network, grant: &AdmittedContract, held: &HeldReservation) -> Self {
        let share = || match held {
            HeldReservation::Share(share) => ShareRecord::of(network, grant, share.as_ref()),
            HeldReservation::Routes(_) => ShareRecord::default(),
        };
        match &grant.order.contract {
            Contract::Latency(contract) => {
                let reserved = if let HeldReservation::Routes(reserved) = held { reserved.as_ref() } else { None };
                Self::Latency(Box::new(LatencyRecord::of(network, contract, grant, reserved)))
            }
            Contract::Bandwidth(contract) => {
                let record = BandwidthRecord {
                    min_bps: contract.min.bits_per_second(),
                    max_bps: contract.max.map(Rate::bits_per_second),
                    weight: contract.weight,
                    within_ns: contract.within.map(Time::as_nanos),
                };
                match contract.between {
                    Endpoints::Pair(..) => Self::Pair(record, share()),
                    Endpoints::Hose(_) => Self::Hose(record, share()),
                }
            }
            Contract::Objective(contract) => {
                let record = ObjectiveRecord {
                    aim: contract.objective.name().to_owned(),
                    min_bps: contract.min.bits_per_second(),
                    deadline_ns: contract.deadline.map(Time::as_nanos),
                };
                Self::Objective(record, share())
            }
            Contract::BestEffort(contract) => match contract.max {
                Some(max) => Self::LimitedBestEffort(LimitRecord { max_bps: max.bits_per_second() }),
                None => Self::BestEffort,
            },
        }
    }
}

impl LatencyRecord {
    fn of(
        network: &Network,
        contract: &LatencyContract,
        grant: &AdmittedContract,
        reserved: Option<&UndoReservation>,
    ) -> Self {
        let places = reserved.iter().flat_map(|reserved| &reserved.reservations);
        let sender = grant.announced_sender().cloned().unwrap_or_default();
        Self {
            rate_bps: contract.rate.bits_per_second(),
            burst_bytes: contract.burst.get(),
            deadline_ns: contract.deadline.as_nanos(),
            min_frame_bytes: match contract.accounting {
                Accounting::Wire => None,
                Accounting::Frame { min_frame } => Some(min_frame.get()),
            },
            max_frame_bytes: contract.max_frame.map(Bytes::get),
            route: contract.route.as_ref().map(|route| hops(network, route)),
            protection: contract.protection,
            excess: Some(contract.excess)
                .filter(|&excess| excess != Excess::default())
                .map(|excess| excess.name().to_owned()),
            matching: grant.order.matching.map(MatchRecord::of),
            bound_ns: grant.bound().unwrap_or_default().as_nanos(),
            places: places.map(|one| RouteRecord::of(network, one)).collect(),
            violation: grant.violation().map(|one| (one.at.as_nanos(), one.packets, one.worst.as_nanos())),
            sender: SenderRecord::of(&sender),
        }
    }

    fn contract(
        &self,
        network: &Network,
        name: String,
        tenant: Option<String>,
        (from, to): (NodeId, NodeId),
    ) -> Result<LatencyContract, MissingElement> {
        let frame = |min: u64| Accounting::Frame { min_frame: Bytes::new(min) };
        Ok(LatencyContract {
            name,
            tenant,
            from,
            to,
            rate: Rate::from_bits_per_second(self.rate_bps),
            burst: Bytes::new(self.burst_bytes),
            deadline: Time::from_nanos(self.deadline_ns),
            accounting: self.min_frame_bytes.map_or(Accounting::Wire, frame),
            max_frame: self.max_frame_bytes.map(Bytes::new),
            route: self.route.as_ref().map(|hops| route(network, hops)).transpose()?,
            protection: self.protection,
            excess: self.excess.as_deref().and_then(Excess::named).unwrap_or_default(),
        })
    }

    fn violation(&self) -> Option<LateDelivery> {
        let (at, packets, worst) = self.violation?;
        Some(LateDelivery { at: WallTime::from_nanos(at), packets, worst: Time::from_nanos(worst) })
    }
}

impl MatchRecord {
    fn of(one: Match) -> Self {
        Self {
            protocol: one.protocol.map(Protocol::number),
            source_address: one.source_address,
            source_port: one.source_port,
            destination_address: one.destination_address,
            destination_port: one.destination_port,
        }
    }

    fn matching(&self) -> Match {
        Match {
            protocol: self.protocol.map(Protocol::new),
            source_address: self.source_address,
            source_port: self.source_port,
            destination_address: self.destination_address,
            destination_port: self.destination_port,
        }
    }
}

impl SenderRecord {
    fn of(sender: &Sender) -> Self {
        let announced = |announced: Option<RuleState>| announced.map(|announced| (announced.version, announced.runs));
        Self {
            version: sender.version,
            stop: sender.stop,
            run: sender.run,
            since: sender.since,
            waits_for: Vec::new(),
            announced: announced(sender.announced),
            confirmed: announced(sender.confirmed),
            offered: Some(sender.offered).filter(|&offered| offered < sender.version),
        }
    }

    fn sender(&self) -> Sender {
        let announced = |announced: Option<(u64, bool)>| announced.map(|(version, runs)| RuleState { version, runs });
        Sender {
            version: self.version,
            offered: self.offered.unwrap_or(self.version),
            stop: self.stop,
            run: self.run,
            since: self.since,
            announced: announced(self.announced),
            confirmed: announced(self.confirmed),
            asked: None,
        }
    }
}

impl BandwidthRecord {
    fn contract(&self, name: String, tenant: Option<String>, between: Endpoints) -> BandwidthContract {
        BandwidthContract {
            name,
            tenant,
            between,
            min: Rate::from_bits_per_second(self.min_bps),
            max: self.max_bps.map(Rate::from_bits_per_second),
            weight: self.weight,
            within: self.within_ns.map(Time::from_nanos),
        }
    }
}

impl ShareRecord {
    fn of(network: &Network, grant: &AdmittedContract, share: Option<&ReservedShare>) -> Self {
        let place = |share: &ReservedShare| match share {
            ReservedShare::Pair { route, .. } => PlaceRecord::Route(hops(network, route)),
            ReservedShare::Hose { spread: PathSpread::AllPaths, .. } => PlaceRecord::AllPaths,
            ReservedShare::Hose { spread: PathSpread::OnePath, .. } => PlaceRecord::OnePath,
            ReservedShare::Objective { .. } => PlaceRecord::Weights,
        };
        let certainty = |certainty| match certainty {
            Certainty::Proven => CertaintyRecord::Proven,
            Certainty::Measured => CertaintyRecord::Measured,
        };
        Self {
            place: share.map(place),
            certainty: grant.certainty().map(certainty),
            there_within_ns: grant.within().map(Time::as_nanos),
        }
    }

    fn state(&self) -> ShareState {
        let certainty = |certainty| match certainty {
            CertaintyRecord::Proven => Certainty::Proven,
            CertaintyRecord::Measured => Certainty::Measured,
        };
        ShareState {
            certainty: self.certainty.map(certainty),
            within: self.there_within_ns.map(Time::from_nanos),
            ..ShareState::default()
        }
    }
}
