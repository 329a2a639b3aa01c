//! The format of records on disk: JSON with names instead of indices and numbers in whole units, so that a record means the same when the
//! topology file lists its links in another order, and so that a person can read it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use wayleave_contracts::{BucketDemand, Quota};
use wayleave_ledger::Reservation;
use wayleave_topology::{Hop, Network, NodeId, Route};
use wayleave_units::{Bytes, Rate, Time};

use crate::command::ElementName;
use crate::elements::Down;
use crate::grant::DegradedReason;
use crate::journal::TenantNumbers;
use crate::nodes::NodeState;
use crate::output::{RecordChange, RecordKind};
use crate::releases::{PendingRelease, Phase};
use crate::scheme_ledger::UndoReservation;
use crate::tenants::TenantState;
use crate::vms::VmState;

/// A tenant.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct TenantRecord {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    rate_bps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    burst_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    contracts: Option<u64>,
    pub(crate) revision: u64,
    /// Absent in records that are older than it, and of a tenant that has had nothing yet.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) numbers: Option<TenantNumbers>,
    /// Absent in records that are older than it.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub(crate) created_after: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl TenantRecord {
    pub(crate) fn of(tenant: &TenantState, numbers: Option<TenantNumbers>) -> Self {
        Self {
            rate_bps: tenant.quota.rate.map(Rate::bits_per_second),
            burst_bytes: tenant.quota.burst.map(Bytes::get),
            contracts: tenant.quota.contracts,
            revision: tenant.revision,
            numbers,
            created_after: tenant.created_after,
        }
    }

    pub(crate) fn quota(&self) -> Quota {
        Quota {
            rate: self.rate_bps.map(Rate::from_bits_per_second),
            burst: self.burst_bytes.map(Bytes::new),
            contracts: self.contracts,
        }
    }
}

/// A VM.
#[derive(Serialize, Deserialize)]
pub(crate) struct VmRecord {
    pub(crate) host: String,
    /// Absent in records that are older than it: it follows from the name then.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) mac: Option<String>,
    pub(crate) revision: u64,
}

impl VmRecord {
    pub(crate) fn of(network: &Network, vm: &VmState) -> Self {
        let host = network.node(vm.host).name.clone();
        Self { host, mac: Some(vm.mac.to_string()), revision: vm.revision }
    }
}

/// The session of a node.
#[derive(Serialize, Deserialize)]
pub(crate) struct NodeRecord {
    pub(crate) epoch: u64,
    pub(crate) set_up: bool,
    /// The version of the last set-up that it was asked for. Absent in records of earlier versions.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub(crate) set_up_version: u64,
    /// `true` if heartbeats of its agent are expected.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub(crate) watched: bool,
    /// `true` if they are overdue: they are after a restart of the controller, until the first one.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub(crate) silent: bool,
}

impl NodeRecord {
    /// `None` for a node that never had a session: there is nothing to remember.
    pub(crate) fn of(state: &NodeState) -> Option<Self> {
        let &NodeState { epoch, is_set_up: set_up, set_up_version, is_watched: watched, is_silent: silent, .. } = state;
        (epoch > 0).then_some(Self { epoch, set_up, set_up_version, watched, silent })
    }

    /// Sets the state of a node to what is recorded.
    pub(crate) fn put(&self, state: &mut NodeState) {
        (state.epoch, state.is_set_up, state.set_up_version) = (self.epoch, self.set_up, self.set_up_version);
        (state.is_watched, state.is_silent) = (self.watched, self.silent);
    }
}

/// Something that is down.
#[derive(Serialize, Deserialize)]
pub(crate) struct DownRecord {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) link: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) node: Option<String>,
    /// As an operator declared it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) why: Option<String>,
    /// The nodes whose agents see no carrier.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    pub(crate) seen: BTreeSet<String>,
}

impl DownRecord {
    pub(crate) fn of(element: &ElementName, down: &Down) -> Self {
        let (link, node) = match element.clone() {
            ElementName::Link(link) => (Some(link), None),
            ElementName::Node(node) => (None, Some(node)),
        };
        Self { link, node, why: down.declared().map(str::to_owned), seen: down.seen().clone() }
    }
}

/// Reservation on one route.
#[derive(Serialize, Deserialize)]
pub(crate) struct RouteRecord {
    /// Link and queue, hop by hop.
    hops: Vec<(String, u8)>,
    placed: u64,
    rate_bps: u64,
    burst_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    max_frame_bytes: Option<u64>,
}

/// Cause for which a contract is not kept.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub(crate) enum DegradedRecord {
    Failed {
        element: String,
        keeps_place: bool,
        why: String,
    },
    Unfit {
        why: String,
    },
    Unconfirmed,
    Silent {
        #[serde(rename = "hosts", skip_serializing_if = "Vec::is_empty", default)]
        nodes: Vec<String>,
    },
    #[serde(rename = "not-carried-out")]
    NotCarriedOut {
        host: String,
        why: String,
    },
}

impl DegradedRecord {
    pub(crate) fn of(network: &Network, reason: &DegradedReason) -> Self {
        let name = |host: NodeId| network.node(host).name.clone();
        match reason.clone() {
            DegradedReason::Failed { element, keeps_place, why } => Self::Failed { element, keeps_place, why },
            DegradedReason::Unfit { why } => Self::Unfit { why },
            DegradedReason::Unconfirmed => Self::Unconfirmed,
            DegradedReason::Silent { nodes } => Self::Silent { nodes: nodes.into_iter().map(name).collect() },
            DegradedReason::NotCarriedOut { host, why } => Self::NotCarriedOut { host: name(host), why },
        }
    }

    /// The trouble; that of a host which is not in the network any more is of no host.
    pub(crate) fn reason(&self, network: &Network) -> DegradedReason {
        match self {
            Self::Failed { element, keeps_place, why } => {
                DegradedReason::Failed { element: element.clone(), keeps_place: *keeps_place, why: why.clone() }
            }
            Self::Unfit { why } => DegradedReason::Unfit { why: why.clone() },
            Self::Unconfirmed => DegradedReason::Unconfirmed,
            Self::Silent { nodes } => {
                DegradedReason::Silent { nodes: nodes.iter().filter_map(|name| network.find_node(name)).collect() }
            }
            Self::NotCarriedOut { host, why } => match network.find_node(host) {
                Some(host) => DegradedReason::NotCarriedOut { host, why: why.clone() },
                None => DegradedReason::Unconfirmed,
            },
        }
    }
}

/// A pending release.
#[derive(Serialize, Deserialize)]
pub(crate) struct ReleaseRecord {
    pub(crate) serial: u64,
    pub(crate) node: String,
    pub(crate) places: Vec<RouteRecord>,
    pub(crate) deadline_ns: u64,
    pub(crate) pinned: bool,
    pub(crate) until: u64,
    pub(crate) drain_ns: u64,
    /// `true` if the sender has stopped there.
    pub(crate) stopped: bool,
    /// `true` if the ledger still holds it.
    pub(crate) held: bool,
}

/// The key of a numbered record: as wide as any, so that keys sort as numbers do.
pub(crate) fn key(number: u64) -> String {
    format!("{number:020}")
}

/// The change that writes a record, or removes it.
pub(crate) fn put<T: Serialize>(kind: RecordKind, key: String, record: Option<&T>) -> RecordChange {
    let json = |record| {
        let Ok(body) = serde_json::to_string(record) else { unreachable!("records have text keys and finite numbers") };
        body.into()
    };
    RecordChange { kind, key, body: record.map(json) }
}

pub(crate) fn hops(network: &Network, route: &Route) -> Vec<(String, u8)> {
    route.hops.iter().map(|hop| (network.link(hop.link).name.clone(), hop.queue)).collect()
}

/// The route of these names, or the link that the network does not have.
pub(crate) fn route(network: &Network, hops: &[(String, u8)]) -> Result<Route, MissingElement> {
    let hop = |(name, queue): &(String, u8)| match network.find_link(name) {
        Some(link) => Ok(Hop { link, queue: *queue }),
        None => Err(MissingElement { what: "link", name: name.clone() }),
    };
    Ok(Route { hops: hops.iter().map(hop).collect::<Result<_, _>>()? })
}

pub(crate) fn node(network: &Network, name: &str) -> Result<NodeId, MissingElement> {
    network.find_node(name).ok_or_else(|| MissingElement { what: "node", name: name.to_owned() })
}

/// An object that a record needs and the network does not have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MissingElement {
    pub(crate) what: &'static str,
    pub(crate) name: String,
}

impl RouteRecord {
    pub(crate) fn of(network: &Network, reservation: &Reservation) -> Self {
        let BucketDemand { rate, burst, max_frame } = reservation.demand;
        Self {
            hops: hops(network, &reservation.route),
            placed: reservation.placed,
            rate_bps: rate.bits_per_second(),
            burst_bytes: burst.get(),
            max_frame_bytes: max_frame.map(Bytes::get),
        }
    }

    /// Returns the reservation as far as the network has its links and, by `is_usable`, its queues; and `true` if it
    /// is complete.
    fn as_far(&self, network: &Network, is_usable: &dyn Fn(Hop) -> bool) -> (Option<Reservation>, bool) {
        let hop = |(name, queue): &(String, u8)| Some(Hop { link: network.find_link(name)?, queue: *queue });
        let hops: Vec<Hop> = self.hops.iter().map_while(hop).take_while(|&hop| is_usable(hop)).collect();
        let is_whole = hops.len() == self.hops.len();
        let reservation = Reservation { demand: self.demand(), route: Route { hops }, placed: self.placed };
        (Some(reservation).filter(|one| !one.route.hops.is_empty()), is_whole)
    }

    fn demand(&self) -> BucketDemand {
        BucketDemand {
            rate: Rate::from_bits_per_second(self.rate_bps),
            burst: Bytes::new(self.burst_bytes),
            max_frame: self.max_frame_bytes.map(Bytes::new),
        }
    }

    fn reservation(&self, network: &Network) -> Result<Reservation, MissingElement> {
        Ok(Reservation { demand: self.demand(), route: route(network, &self.hops)?, placed: self.placed })
    }
}

/// Returns the reservations on these routes.
pub(crate) fn reserved(
    network: &Network,
    routes: &[RouteRecord],
    deadline: Time,
    is_pinned: bool,
) -> Result<UndoReservation, MissingElement> {
    let reservations = routes.iter().map(|route| route.reservation(network)).collect::<Result<_, _>>()?;
    Ok(UndoReservation { reservations, deadline, is_pinned })
}

/// Returns the reservations on these routes, each as far as the network has its links and queues, and `true` if they
/// are complete. Packets travel at most to the first missing link.
pub(crate) fn reserved_as_far(
    network: &Network,
    routes: &[RouteRecord],
    deadline: Time,
    is_usable: &dyn Fn(Hop) -> bool,
) -> (UndoReservation, bool) {
    let (routes, whole): (Vec<_>, Vec<_>) = routes.iter().map(|one| one.as_far(network, is_usable)).unzip();
    let reservations = routes.into_iter().flatten().collect();
    (UndoReservation { reservations, deadline, is_pinned: true }, whole.into_iter().all(|is_whole| is_whole))
}

impl ReleaseRecord {
    pub(crate) fn of(network: &Network, release: &PendingRelease) -> Self {
        Self {
            serial: release.serial,
            node: network.node(release.node).name.clone(),
            places: release.reserved.reservations.iter().map(|one| RouteRecord::of(network, one)).collect(),
            deadline_ns: release.reserved.deadline.as_nanos(),
            pinned: release.reserved.is_pinned,
            until: release.until,
            drain_ns: release.drain.as_nanos(),
            stopped: release.phase != Phase::Sending,
            held: release.held.is_some(),
        }
    }

    pub(crate) fn sender(&self, network: &Network) -> Result<NodeId, MissingElement> {
        node(network, &self.node)
    }
}
