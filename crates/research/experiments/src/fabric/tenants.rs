//! Tenants on the network, and their promises.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use wayleave_contracts::{Division, FlowObjective, LatencyContract, Policy, PolicyLevel, ServiceSpec};
use wayleave_ledger::Model;
use wayleave_scheme_api::Admission;
use wayleave_schemes::admission::chameleon::{Allocation, Chameleon, Params};
use wayleave_schemes::admission::qjump::{self, Qjump};
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_topology::{Class, Classes, Network, NodeId, PortSpec, Route, SharedLink, StrictResidual};
use wayleave_units::{Amount, Bytes, Rate, Time};

use crate::failed::Failed;
use crate::policies::{self, minimum, service};

pub(super) const LINE: Rate = Rate::from_gbit(10);
/// Of every link: six of them there and back, and as many frames, make a round trip of some 20 us.
const PROPAGATION: Time = Time::from_micros(1);
/// A full frame with headers and tags.
pub(super) const FRAME: Bytes = Bytes::new(1_562);
/// Of each queue of a port with eight of them.
pub(super) const BUFFER: Bytes = Bytes::new(500_000);

/// Hoses: three tenants have one at every host.
pub(super) const HOSES: [&str; 3] = ["g1", "g2", "g3"];
/// Divisions with their weights, and the objective of each at a host.
pub(super) const DIVISIONS: [(&str, u64, FlowObjective); 3] =
    [("ds", 3, FlowObjective::Deadline), ("cs", 2, FlowObjective::Completion), ("ls", 1, FlowObjective::Latency)];
/// Of all divisions at a host.
const OBJECTIVES: Rate = Rate::from_gbit(2);
/// Latency contracts and best effort, where a system has services.
pub(super) const LATENCY: &str = "latency";
pub(super) const BEST_EFFORT: &str = "best";

/// Budgets of the five latency queues of switches, and that of hosts.
const BUDGETS: [u64; 5] = [10, 20, 40, 80, 160];
const HOST_BUDGET: u64 = 80;

/// Number of ports of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size(pub(super) u64);

/// A latency contract with the route that it has been given.
#[derive(Clone, Debug)]
pub(super) struct Admitted {
    pub(super) contract: LatencyContract,
    pub(super) route: Option<Route>,
}

/// The network with its tenants.
pub(super) struct Stage {
    pub(super) network: Arc<Network>,
    pub(super) hosts: Vec<NodeId>,
    pub(super) asked: Vec<LatencyContract>,
}

fn bare(size: Size) -> Result<Network, Failed> {
    let cabling = Cabling {
        rate: LINE,
        propagation: PROPAGATION,
        switch_port: PortSpec::uniform(8, BUFFER),
        host_port: PortSpec::uniform(8, Bytes::MAX),
        ..Cabling::default()
    };
    build::fat_tree(&FatTree { k: size.0, cabling, ..FatTree::default() }).map_err(Failed::broken)
}

impl Stage {
    /// Controls of 20 Mbit/s in 200 us, and cameras of 100 Mbit/s in 500 us, between hosts that the seed draws: 15 and 4 of each host.
    pub(super) fn new(size: Size, seed: u64) -> Result<Self, Failed> {
        let network = Arc::new(bare(size)?);
        let hosts: Vec<NodeId> = network.hosts().collect();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut asked = Vec::new();
        let kinds = [("control", 15, 20, 3_000, 200), ("camera", 4, 100, 6_000, 500)];
        for (name, each, mbit, burst, micros) in kinds {
            for number in 0..each * hosts.len() {
                let from = hosts[number % hosts.len()];
                let others: Vec<NodeId> = hosts.iter().copied().filter(|&host| host != from).collect();
                let to = others[random.random_range(0..others.len())];
                asked.push(LatencyContract {
                    max_frame: Some(Bytes::new(1_500)),
                    ..LatencyContract::new(
                        format!("{name}{number}"),
                        from,
                        to,
                        Rate::from_mbit(mbit),
                        Bytes::new(burst),
                        Time::from_micros(micros),
                    )
                });
            }
        }
        asked.shuffle(&mut random);
        Ok(Self { network, hosts, asked })
    }

    /// Returns the latency contracts that fit into the queues of switches, and their reservations on each link. The
    /// others are refused.
    pub(super) fn chameleon(&self, classes: Option<Classes>) -> Result<(Vec<Admitted>, Vec<StrictResidual>), Failed> {
        let network = match classes {
            Some(classes) => Arc::new((*self.network).clone().with_classes(classes).map_err(Failed::broken)?),
            None => self.network.clone(),
        };
        let micros = |all: &[u64]| all.iter().map(|&micros| Time::from_micros(micros)).collect::<Vec<_>>();
        let allocation =
            Allocation { switch: Some(micros(&BUDGETS)), host: Some(micros(&[HOST_BUDGET])), ..Allocation::PUBLISHED };
        let params = Params { allocation, ..Params::default() };
        let model = Model::default();
        let mut scheme = Chameleon::new(network.clone(), model, params).map_err(Failed::broken)?;
        let admitted = self.admit(&mut scheme, &model);
        let mut bursts = vec![Amount::from(Bytes::ZERO); network.links().len()];
        for admitted in &admitted {
            // A burst grows by the contract's rate during the earlier budgets.
            let hops = admitted.route.iter().flat_map(|route| &route.hops);
            let mut before = Time::ZERO;
            for hop in hops {
                let grown = i128::from(admitted.contract.rate.bits_per_second()) * i128::from(before.as_nanos());
                let burst = Amount::from(admitted.contract.burst) + Amount::from_nanobits(grown);
                bursts[hop.link.index()] = bursts[hop.link.index()] + burst;
                before += scheme.placement().ledger().budget(*hop);
            }
        }
        let own = Amount::from(Bytes::new(2 * FRAME.get()));
        let ledger = scheme.placement().ledger();
        let below = |(id, link): (wayleave_topology::LinkId, &wayleave_topology::Link)| {
            StrictResidual::below(link.rate, own, ledger.reserved(id), bursts[id.index()])
        };
        let residuals = network.links().map(below).collect();
        Ok((admitted, residuals))
    }

    /// Returns the contracts that QJump admits to its highest priority.
    pub(super) fn qjump(&self) -> Vec<Admitted> {
        let params = qjump::Params { reading: qjump::Reading::Charged, ..qjump::Params::default() };
        let model = Model::default();
        let mut scheme = Qjump::new(self.network.clone(), model, params);
        self.admit(&mut scheme, &model)
    }

    /// All of them, wherever a hash sends them.
    pub(super) fn all_tenants(&self) -> Vec<Admitted> {
        self.asked.iter().map(|contract| Admitted { contract: contract.clone(), route: None }).collect()
    }

    fn admit(&self, scheme: &mut impl Admission, model: &Model) -> Vec<Admitted> {
        let admit = |contract: &LatencyContract| {
            let decision = scheme.admit(&wayleave_schemes::request(contract, model)).ok()?;
            Some(Admitted { contract: contract.clone(), route: Some(decision.route) })
        };
        self.asked.iter().filter_map(admit).collect()
    }

    /// A link with its classes. Round trips are those between the hosts that are farthest apart.
    pub(super) fn shared_link(&self, classes: Classes) -> SharedLink {
        let round_trip = self.network.longest_round_trip(|_| FRAME);
        SharedLink { classes, line: LINE, frame: FRAME, round_trip }
    }

    /// Returns the promise to each hose at each host: a third of the promisable rate on the fullest link, in Mbit/s.
    pub(super) fn hose(&self, link: &SharedLink, residuals: &[StrictResidual]) -> Rate {
        let least = residuals.iter().map(|residual| residual.rate).min().unwrap_or(Rate::ZERO);
        let most = link.promisable(Class::Guaranteed, least).bits_per_second();
        Rate::from_mbit(most / 1_000_000 / HOSES.len() as u64)
    }
}

/// Configuration of objectives at hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Objectives {
    /// As divisions with weights.
    Divisions,
    /// As minima, for systems that know nothing else.
    Minima,
}

/// Returns the hosts' policy for the tenants; latency contracts have a minimum if a system knows no contracts.
pub(super) fn policy(
    stage: &Stage,
    level: PolicyLevel,
    hose: Rate,
    objectives: Objectives,
    latency: Option<Rate>,
) -> Result<Policy, Failed> {
    let mut services = Vec::new();
    let mut add = |name: &str, min: Option<Rate>, division: Option<Division>| {
        let port = services.len() as u16 + 1;
        services.push(ServiceSpec { division, ..service(name, port, minimum(min)) });
    };
    HOSES.iter().for_each(|name| add(name, Some(hose), None));
    let weights: u64 = DIVISIONS.iter().map(|division| division.1).sum();
    for (name, weight, objective) in DIVISIONS {
        let part = OBJECTIVES.bits_per_second() * weight / weights;
        match objectives {
            Objectives::Divisions => {
                let share = Rate::from_bits_per_second(part * stage.hosts.len() as u64);
                add(name, None, Some(Division { share, objective: Some(objective) }));
            }
            Objectives::Minima => add(name, Some(Rate::from_bits_per_second(part)), None),
        }
    }
    add(LATENCY, latency, None);
    add(BEST_EFFORT, None, None);
    policies::policy(&stage.network, level, None, services)
}
