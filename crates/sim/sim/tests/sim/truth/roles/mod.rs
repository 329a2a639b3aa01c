//! Every role of a scheme, driven by the simulator: first each mechanism alone, held against numbers that are computed by
//! hand, then skeletons of uFAB, SCC and Chameleon on a network of two paths and several switches.

mod brokers;
mod chameleon;
mod mechanisms;
mod private;
mod scc;
mod transports;
mod ufab;

use std::sync::Arc;

use wayleave_scenarios::{Discipline, HostSchemeConfig, PortBehaviour, Scenario, Sharing, Traffic};
use wayleave_scheme_api::{
    CustomBroker, CustomHost, DynRole, Host, HostAction, HostInput, Leadership, PairSpec, Path, Switch, Tunnel,
};
use wayleave_sim::{BrokerLocation, BrokerNetwork, BrokerSetup, BrokerSpec, Custom, CustomScheme, HostPlace, Outcome};
use wayleave_topology::{LinkId, Network, NodeId};
use wayleave_units::{Rate, Time};

use crate::truth::limiters::services;
use crate::truth::networks::Cables;

const LINE: Rate = Rate::from_gbit(10);

/// Two leaves with hosts, joined by two spines: two paths of two switch ports each between hosts of different leaves.
pub(super) struct Diamond {
    pub(super) network: Arc<Network>,
    /// Of the first leaf.
    pub(super) left: Vec<NodeId>,
    /// Of the second.
    pub(super) right: Vec<NodeId>,
    /// From the first leaf to each spine.
    pub(super) to_spine: Vec<LinkId>,
    /// From the second leaf to its hosts.
    pub(super) down: Vec<LinkId>,
}

/// Returns a diamond with `hosts` hosts at each leaf; every link has 10 Gbit/s and 1 us.
fn diamond(hosts: usize) -> Diamond {
    long_diamond(hosts, 1_000)
}

/// Returns the same network with cables of `propagation` ns.
pub(super) fn long_diamond(hosts: usize, propagation: u64) -> Diamond {
    unequal_diamond(hosts, propagation, [propagation; 2])
}

/// The same with other cables to the spines.
pub(super) fn unequal_diamond(hosts: usize, propagation: u64, to_spines: [u64; 2]) -> Diamond {
    let mut cables = Cables::new();
    let leaves = ["l0", "l1"].map(|name| cables.switch(name));
    let spines = ["s0", "s1"].map(|name| cables.switch(name));
    let mut to_spine = Vec::new();
    for (spine, propagation) in spines.into_iter().zip(to_spines) {
        to_spine.push(cables.join(leaves[0], spine, LINE, propagation).0);
        cables.join(spine, leaves[1], LINE, propagation);
    }
    let (mut left, mut right, mut down) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..hosts {
        let host = cables.host(&format!("a{number}"));
        cables.join(host, leaves[0], LINE, propagation);
        left.push(host);
        let host = cables.host(&format!("b{number}"));
        down.push(cables.join(host, leaves[1], LINE, propagation).1);
        right.push(host);
    }
    Diamond { network: cables.build(), left, right, to_spine, down }
}

type Made<T> = Box<dyn Fn(NodeId, &PairSpec) -> T + Send + Sync>;
type MadeHost = Box<dyn Fn(&HostPlace<'_>) -> Box<dyn CustomHost> + Send + Sync>;
type MadeSwitch = Box<dyn Fn(LinkId, u8) -> Option<Box<dyn Switch + Send>> + Send + Sync>;
type MadeBroker = Box<dyn Fn() -> CustomBroker + Send + Sync>;

/// A scheme from outside whose parts are functions.
struct Parts {
    host: MadeHost,
    tunnel: Made<Option<Box<dyn Tunnel + Send>>>,
    path: Made<Option<Box<dyn Path + Send>>>,
    switch: MadeSwitch,
    /// Its only broker, if it has one.
    broker: Option<(BrokerSpec, MadeBroker)>,
}

impl Parts {
    fn new(host: impl Fn(&HostPlace<'_>) -> Box<dyn CustomHost> + Send + Sync + 'static) -> Self {
        Self {
            host: Box::new(host),
            tunnel: Box::new(|_, _| None),
            path: Box::new(|_, _| None),
            switch: Box::new(|_, _| None),
            broker: None,
        }
    }
}

/// Returns a seat at a location; its broker receives no link loads.
fn broker_spec(at: BrokerLocation, leadership: Leadership) -> BrokerSpec {
    BrokerSpec { point: None, at, leadership }
}

impl CustomScheme for Parts {
    fn host(&self, place: &HostPlace<'_>) -> Box<dyn CustomHost> {
        (self.host)(place)
    }
    fn tunnel(&self, from: NodeId, pair: &PairSpec) -> Option<Box<dyn Tunnel + Send>> {
        (self.tunnel)(from, pair)
    }
    fn path(&self, from: NodeId, pair: &PairSpec) -> Option<Box<dyn Path + Send>> {
        (self.path)(from, pair)
    }
    fn switch(&self, link: LinkId, queue: u8) -> Option<Box<dyn Switch + Send>> {
        (self.switch)(link, queue)
    }
    fn brokers(&self, _: &BrokerNetwork<'_>) -> Vec<BrokerSpec> {
        self.broker.iter().map(|(broker_spec, _)| *broker_spec).collect()
    }
    fn broker(&self, _: &BrokerSetup<'_>) -> Option<CustomBroker> {
        self.broker.as_ref().map(|(_, broker)| broker())
    }
}

/// A host that is one function, with numbers as messages and timers.
struct Script<F>(F);

impl<F> Host for Script<F>
where
    F: FnMut(Time, HostInput<'_, u64, u64>, &mut dyn FnMut(HostAction<u64, u64>)),
{
    type Message = u64;
    type Timer = u64;

    fn on(&mut self, now: Time, input: HostInput<'_, u64, u64>, act: &mut impl FnMut(HostAction<u64, u64>)) {
        (self.0)(now, input, act);
    }
}

/// The host of a function.
fn script<F>(function: F) -> Box<dyn CustomHost>
where
    F: FnMut(Time, HostInput<'_, u64, u64>, &mut dyn FnMut(HostAction<u64, u64>)) + Send + 'static,
{
    Box::new(DynRole::new(Script(function), |_: &u64| 100))
}

/// A scenario whose hosts have the services a and b under the scheme "outside".
fn scenario(network: &Arc<Network>, milliseconds: u64) -> Scenario {
    let mut scenario = Scenario::new("outside", network.clone(), Time::from_millis(milliseconds));
    let machine = services(network, &[("a", None), ("b", None)]);
    scenario.sharing = Some(Sharing::new(HostSchemeConfig::Custom("outside".to_owned()), machine));
    scenario
}

/// Ports that write telemetry.
fn telling() -> PortBehaviour {
    PortBehaviour { discipline: Discipline::StrictPriority, telemetry: true, ..PortBehaviour::default() }
}

fn of(service: &str, mut traffic: Traffic) -> Traffic {
    traffic.service = Some(service.to_owned());
    traffic
}

/// Runs with the scheme as "outside".
fn run_with(scenario: &Scenario, parts: Parts, seed: u64) -> Outcome {
    let mut custom = Custom::default();
    custom.schemes.insert("outside".to_owned(), Arc::new(parts));
    wayleave_sim::run_with(scenario, seed, &custom, |_| true).unwrap()
}
