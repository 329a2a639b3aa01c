//! Helpers for the tests of the schemes: seeded choices, networks of no particular shape, and the claim that the
//! independent calculator checks.

pub(crate) mod wild;

use std::collections::BTreeMap;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_ledger::{JitterModel, Ledger, QueueReport, Reservation, Residual, Shaping};
use wayleave_recheck::{Claim, ClaimedQueue, JitterTerm, PacketiserTerm, PromisedFlow, RecheckReport, check};
use wayleave_schemes::placement::Placement;
use wayleave_topology::{FlowId, LinkId};
use wayleave_units::Time;

/// Choices that a seed replays.
pub(crate) struct Dice(ChaCha8Rng);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Both ends included.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        self.0.random_range(least..=most)
    }

    pub(crate) fn index(&mut self, length: usize) -> usize {
        self.0.random_range(0..length)
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())]
    }

    /// Returns `true` `times` times in a hundred.
    pub(crate) fn percent(&mut self, times: u64) -> bool {
        self.between(1, 100) <= times
    }
}

/// Everything that is promised, exactly as the ledger and the placement have it.
pub(crate) fn claim(placement: &Placement) -> Claim<'_> {
    let (ledger, network) = (placement.ledger(), placement.network());
    let links = || network.links().map(|(link, _)| link);
    let promise = |(flow, reservation): (FlowId, &Reservation)| PromisedFlow {
        name: format!("flow {}", flow.0),
        from: network.link(reservation.route.hops[0].link).from,
        to: network.link(reservation.route.hops.last().unwrap().link).to,
        route: reservation.route.clone(),
        covered: 0,
        rate: reservation.demand.rate,
        burst: reservation.demand.burst,
        deadline: placement.deadline(flow).unwrap(),
        promised_bound: placement.bound(&reservation.route),
    };
    let claimed = |report: QueueReport| ClaimedQueue {
        link: report.link,
        queue: report.queue,
        delay: report.delay_bound().expect("a busy queue has a bound"),
        backlog: report.backlog_bound().expect("a busy queue has a bound"),
    };
    Claim {
        network,
        budgets: links().map(|link| ledger.budgets(link).collect()).collect(),
        max_frame: links().map(|link| ledger.largest_frame(link)).collect(),
        packetiser: PacketiserTerm::Subtracted,
        jitter: match ledger.model().jitter {
            JitterModel::Ordered => JitterTerm::Ordered,
            JitterModel::Any => JitterTerm::Any,
        },
        shaping: ledger.model().shaping == Shaping::InputLinks,
        flows: ledger.flows().map(promise).collect(),
        disjoint: Vec::new(),
        claimed_queues: links().flat_map(|link| ledger.report(link)).map(claimed).collect(),
        exact_claims: ledger.model().residual == Residual::Full,
    }
}

/// Asserts that every promise holds, and that every queue's delay and backlog equals the calculator's, rounded up.
pub(crate) fn assert_sound(placement: &Placement, context: &str) -> RecheckReport {
    let report = check(&claim(placement));
    assert!(report.is_sound(), "{context}: {report}");
    assert_eq!(report.flows.len(), placement.ledger().flows().count(), "{context}");
    report
}

/// All that a person could see of a placement: the ledger bit for bit, and in which order flows were placed.
#[derive(Clone, PartialEq)]
pub(crate) struct Everything {
    ledger: Ledger,
    flows: BTreeMap<FlowId, (Reservation, Time)>,
    on_links: Vec<Vec<(u64, FlowId)>>,
}

pub(crate) fn everything(placement: &Placement) -> Everything {
    let ledger = placement.ledger();
    let of_flow =
        |(flow, reservation): (FlowId, &Reservation)| (flow, (reservation.clone(), placement.deadline(flow).unwrap()));
    let of_link = |link: LinkId| ledger.flows_on(link).to_vec();
    Everything {
        ledger: ledger.clone(),
        flows: ledger.flows().map(of_flow).collect(),
        on_links: placement.network().links().map(|(link, _)| of_link(link)).collect(),
    }
}

impl Everything {
    /// Returns a flow's reservation, and its deadline.
    pub(crate) fn flow(&self, flow: FlowId) -> Option<&(Reservation, Time)> {
        self.flows.get(&flow)
    }

    /// Returns the number of flows.
    pub(crate) fn count(&self) -> usize {
        self.flows.len()
    }
}
