//! All hosts of a network that share, and their state at the start of a run.

use std::collections::{HashMap, VecDeque};

use rand::rngs::ChaCha8Rng;
use wayleave_contracts::{Direction, Policy, PolicyLevel};
use wayleave_scenarios::{HostSchemeConfig, Routing, Scenario, Sharing, StaticLimits};
use wayleave_scheme_api::{ClassId, HostInput, Outgoing, Share};
use wayleave_schemes::brokers::BrokerNetwork;
use wayleave_schemes::duplicates::Filter;
use wayleave_schemes::host::eyeq::LineParams;
use wayleave_schemes::hosts::{AnyHost, AnyTimer};
use wayleave_schemes::services::Services;
use wayleave_stack::HostStack;
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use super::account::Account;
use super::action::Action;
use super::brokers::Brokers;
use super::message::Messages;
use super::pair::{Pair, PairKey, SourcePair};
use super::promises::PromiseMonitor;
use super::roles::{self, Scheme};
use super::slot::{HostId, NO_HOST, NO_PAIR, PairSlot};
use super::timers::{HostTimer, TimerQueue, Timers};
use crate::clock::{self, Instant};
use crate::custom::Custom;
use crate::fabric::{NetworkState, Step};
use crate::flows::FlowSlot;
use crate::packet::PacketId;
use crate::random;

/// The stack of a host: flows by their places, packets with their first step.
pub(crate) type Stack = HostStack<FlowSlot, (PacketId, Step)>;

/// The purpose of the hosts' random numbers; those of traffic are below.
const HOSTS: u64 = 1 << 40;

/// All hosts of a network that share.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// `true` if the scenario defines sharing by its hosts. Otherwise there are no hosts here.
    is_shared: bool,
    pub(super) hosts: Vec<HostState>,
    /// The node of each of them.
    pub(super) nodes: Vec<NodeId>,
    /// Per node.
    pub(super) of_node: Vec<HostId>,
    /// The classes by number; the first one is best effort.
    pub(super) services: Services,
    pub(super) classes: u32,
    /// Per class, the number of its scheme.
    pub(super) scheme_of: Vec<u8>,
    pub(super) schemes: Vec<Scheme>,
    /// Per host and class: whether the class is at the host.
    pub(super) is_here: Vec<bool>,
    pub(super) pairs: Vec<Pair>,
    pub(super) vacant: Vec<PairSlot>,
    pub(super) known: HashMap<PairKey, PairSlot>,
    /// Number of pairs that were opened.
    pub(super) opened: u64,
    /// By the statistics of a packet source.
    pub(super) sources: Vec<Option<SourcePair>>,
    /// Pending actions of machines and brokers, in order.
    pub(crate) actions: VecDeque<Action>,
    pub(crate) timer_queue: TimerQueue,
    pub(super) timers: Timers<(u8, AnyTimer)>,
    pub(super) messages: Messages,
    /// Duplicate filters of sources whose packets are copied, by their statistics.
    pub(super) filters: HashMap<u32, Filter>,
    pub(super) brokers: Brokers,
    /// Per link, the rate for the scheme with brokers: the first one.
    pub(super) left: Vec<Rate>,
    pub(crate) account: Account,
    /// Measurement of promises, if a scenario records them.
    pub(super) promises: Option<Box<PromiseMonitor>>,
    pub(super) sharing: Box<Sharing>,
    /// Path scheme of the scenario, and the seed of the pairs' path schemes.
    pub(super) routing: (Routing, u64),
    /// Of every port, for messages.
    pub(super) queue: u8,
    /// For faults of messages, and for when machines report first.
    pub(super) rng: ChaCha8Rng,
}

/// State of one host.
#[derive(Debug)]
pub(super) struct HostState {
    pub(super) node: NodeId,
    pub(super) line: LineParams,
    /// One for each scheme.
    pub(super) roles: Vec<AnyHost>,
    pub(super) stack: Stack,
    /// By [`wayleave_scheme_api::Outgoing`].
    pub(super) outgoing: Vec<PairSlot>,
    pub(super) free_outgoing: Vec<u32>,
    /// By [`wayleave_scheme_api::Incoming`].
    pub(super) incoming: Vec<PairSlot>,
    pub(super) free_incoming: Vec<u32>,
}

impl Hosts {
    /// The hosts of a scenario that share; none if it has no sharing. Their process is the first one, so its number follows those of the fabric.
    pub(crate) fn new(scenario: &Scenario, seed: u64, custom: &Custom<'_>, fabric: &NetworkState) -> Self {
        let none = || {
            Sharing::new(HostSchemeConfig::StaticLimits(StaticLimits::default()), Policy::empty(PolicyLevel::Machine))
        };
        let sharing = Box::new(scenario.sharing.clone().unwrap_or_else(none));
        // A validated scenario has not too many services.
        let services = Services::new(roles::policies(&sharing)).unwrap_or_default();
        let classes = services.len() as u32;
        let network = &scenario.network;
        let mut rng = random::generator(seed, HOSTS);
        let nodes: Vec<NodeId> = network.hosts().filter(|&node| fabric.can_send_and_receive(node)).collect();
        let is_here = |class: ClassId, node| services.name(class).is_none_or(|name| sharing.is_at(name, node));
        // If there are brokers, they count every machine of a rack.
        let is_sharing = |node: &NodeId| {
            sharing.has_brokers() || services.classes().any(|class| class != Services::OTHER && is_here(class, *node))
        };
        let nodes: Vec<NodeId> = nodes.into_iter().filter(is_sharing).collect();
        let scheme_of = |class| services.name(class).map_or(0, |name| sharing.scheme_of(name)) as u8;
        let scheme_of: Vec<u8> = services.classes().map(scheme_of).collect();
        let schemes: Vec<Scheme> = sharing.schemes().map(|kind| Scheme::new(kind, custom)).collect();
        let policies = roles::policies(&sharing);
        let brokers = Brokers::new(
            &schemes,
            &BrokerNetwork { network, policies, services: &services, hosts: &nodes, today: None },
        );
        let mut left: Vec<Vec<Rate>> = (0..schemes.len()).map(|number| scenario.left_for(number)).collect();
        let mut of_node = vec![NO_HOST; network.nodes().len()];
        let mut hosts = Vec::new();
        let mut here = Vec::new();
        for &node in &nodes {
            of_node[node.index()] = hosts.len() as HostId;
            let role = |(number, scheme)| {
                roles::host(scenario, &sharing, &services, (scheme, brokers.of(number), &left[number]), node, &mut rng)
            };
            hosts.push(HostState {
                node,
                line: roles::line(scenario, &sharing, &[], node),
                roles: schemes.iter().enumerate().map(role).collect(),
                stack: Stack::new(classes as usize),
                outgoing: Vec::new(),
                free_outgoing: Vec::new(),
                incoming: Vec::new(),
                free_incoming: Vec::new(),
            });
            here.extend(services.classes().map(|class| is_here(class, node)));
        }
        let switch_of = |node: NodeId| network.links_to_switches(node).first().map(|&up| network.link(up).to);
        Self {
            is_shared: scenario.sharing.is_some(),
            account: Account::new(scenario, &services, &nodes, switch_of),
            promises: PromiseMonitor::of(scenario, fabric.links(), &services, &nodes),
            brokers,
            left: left.swap_remove(0),
            nodes,
            hosts,
            of_node,
            services,
            classes,
            scheme_of,
            schemes,
            is_here: here,
            pairs: Vec::new(),
            vacant: Vec::new(),
            known: HashMap::new(),
            opened: 0,
            sources: Vec::new(),
            actions: VecDeque::new(),
            timer_queue: TimerQueue::new(fabric.actors()),
            timers: Timers::default(),
            messages: Messages::default(),
            filters: HashMap::new(),
            routing: (scenario.routing.clone(), seed),
            queue: sharing.queue.unwrap_or_else(|| scenario.lowest_queue()),
            sharing,
            rng,
        }
    }

    /// Returns `true` if the scenario defines sharing by its hosts.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// The class of a service by its name; best effort if there is none.
    pub(crate) fn class_of(&self, service: &str) -> u32 {
        self.services.class(service).unwrap_or(Services::OTHER).0
    }

    /// Starts the machines, and notifies them of their classes; starts the brokers.
    pub(crate) fn start(&mut self, fabric: &mut NetworkState) {
        for host in 0..self.hosts.len() as HostId {
            for scheme in 0..self.schemes.len() {
                self.notify(host, scheme as u8, HostInput::Started, 0);
            }
            self.notify_terms(host, 0);
        }
        self.start_brokers(fabric);
        let events: Vec<Time> = self.sharing.events.iter().map(|event| event.at).collect();
        for (event, at) in events.into_iter().enumerate() {
            self.timer_queue.arm(clock::from_time(at), HostTimer::Event(event as u32), fabric, 0);
        }
    }

    /// Notifies a machine of the terms of its classes.
    pub(super) fn notify_terms(&mut self, host: HostId, now: Instant) {
        let policy = &self.sharing.machine;
        let [transmit, receive] = Direction::ALL.map(|direction| policy.terms(direction, None));
        let share = |place: Option<usize>, terms: &[wayleave_sharing::ServiceTerms]| {
            place.map_or(Share::BEST_EFFORT, |place| {
                let terms = terms[place];
                Share { min: terms.min, max: terms.max, weight: terms.weight.get() }
            })
        };
        let of = |class: ClassId| {
            let named = |name: &str| policy.services().iter().position(|service| service.name == name);
            let place = self.services.name(class).and_then(named);
            HostInput::ClassSet { class, transmit: share(place, &transmit), receive: share(place, &receive) }
        };
        let here = self.services.classes().filter(|class| self.is_here[(host * self.classes + class.0) as usize]);
        let inputs: Vec<_> = here.map(|class| (self.scheme_of[class.index()], of(class))).collect();
        for (scheme, input) in inputs {
            self.notify(host, scheme, input, now);
        }
    }

    /// The machine of a scheme at a host.
    pub(super) fn role(&mut self, host: HostId, scheme: u8) -> &mut AnyHost {
        &mut self.hosts[host as usize].roles[usize::from(scheme)]
    }

    /// The place of a pair that leaves a host; [`NO_PAIR`] if it is being forgotten.
    pub(crate) fn outgoing(&self, host: HostId, pair: Outgoing) -> PairSlot {
        self.hosts[host as usize].outgoing.get(pair.index()).copied().unwrap_or(NO_PAIR)
    }
}

/// As schemes count time.
pub(super) fn time(now: Instant) -> Time {
    clock::to_time(now)
}
