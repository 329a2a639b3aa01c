//! uFAB with an observer of its hosts and ports: the machines are those of the scheme, only plugged in from outside.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use wayleave_scenarios::{HostSchemeConfig, Scenario};
use wayleave_scheme_api::{
    CustomHost, CustomMessage, DynRole, HostAction, HostInput, Incoming, IntHop, Limiter, Mark, Outgoing, PathIndex,
    Probe, ProbeAnswer, ProbeAt, ProbeKind, QueueState, Switch,
};
use wayleave_schemes::host::ufab::{Settings, Timer, Ufab};
use wayleave_schemes::switch::ufab_core::{Params, UfabCore};
use wayleave_sim::{Custom, CustomScheme, HostPlace, Outcome};
use wayleave_topology::{LinkId, NodeId, NodeKind};
use wayleave_units::{Rate, Time};

/// Observed event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) at: Time,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// A port has counted a probe, and then has these sums: Phi and W.
    Sums { link: LinkId, probe: Probe, tokens: u64, windows: u64 },
    /// A host sends a probe.
    Probe { from: NodeId, path: PathIndex, probe: Probe },
    /// One is back.
    Answer { from: NodeId, path: PathIndex, probe: Probe },
    /// A host sets the limiter of a pair, or lifts it.
    Limit { from: NodeId, to: NodeId, rate: Option<Rate> },
}

type Log = Arc<Mutex<Vec<Event>>>;

fn note(log: &Log, at: Time, what: What) {
    log.lock().unwrap().push(Event { at, what });
}

/// uFAB's edge as a trait object.
type Edge = DynRole<Ufab, Timer, fn(&Infallible) -> u32>;

struct WatchedHost {
    edge: Edge,
    node: NodeId,
    /// The other ends of pairs.
    peers: BTreeMap<Outgoing, NodeId>,
    log: Log,
}

impl CustomHost for WatchedHost {
    fn on(
        &mut self,
        now: Time,
        input: HostInput<'_, CustomMessage, u64>,
        act: &mut dyn FnMut(HostAction<CustomMessage, u64>),
    ) {
        let Self { edge, node, peers, log } = self;
        if let HostInput::ProbeReturned { path, probe, .. } = &input {
            note(log, now, What::Answer { from: *node, path: *path, probe: *probe });
        }
        if let HostInput::Opened { pair, spec } = &input {
            peers.insert(*pair, spec.peer);
        }
        edge.on(now, input, &mut |action| {
            match &action {
                HostAction::SendProbe { path, probe, .. } => {
                    note(log, now, What::Probe { from: *node, path: *path, probe: *probe });
                }
                HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket } => {
                    let rate = bucket.map(|bucket| bucket.rate);
                    note(log, now, What::Limit { from: *node, to: peers[pair], rate });
                }
                _ => {}
            }
            act(action);
        });
    }

    fn answer(&mut self, now: Time, pair: Incoming, probe: &Probe) -> ProbeAnswer {
        CustomHost::answer(&mut self.edge, now, pair, probe)
    }
}

/// uFAB's port.
struct WatchedPort {
    core: UfabCore,
    link: LinkId,
    log: Log,
}

impl Switch for WatchedPort {
    fn on_arrival(&mut self, now: Time, queue: QueueState, bytes: u32) -> Mark {
        self.core.on_arrival(now, queue, bytes)
    }

    fn on_telemetry(&mut self, now: Time, probe: Option<&ProbeAt>, hop: &mut IntHop) {
        self.core.on_telemetry(now, probe, hop);
        if let Some(ProbeAt { probe, .. }) = probe.filter(|at| at.probe.kind != ProbeKind::Candidate) {
            let (tokens, windows) = (hop.tokens, hop.windows.get());
            note(&self.log, now, What::Sums { link: self.link, probe: *probe, tokens, windows });
        }
    }
}

struct Watched {
    settings: Settings,
    seed: u64,
    /// Links that leave switches.
    ports: Vec<bool>,
    log: Log,
}

impl CustomScheme for Watched {
    fn host(&self, place: &HostPlace<'_>) -> Box<dyn CustomHost> {
        let seed = self.seed << 32 | u64::from(place.node.0);
        let edge = Ufab::new(place.transmit, self.settings.clone(), seed);
        let edge = Edge::new(edge, |message| match *message {});
        Box::new(WatchedHost { edge, node: place.node, peers: BTreeMap::new(), log: self.log.clone() })
    }

    fn switch(&self, link: LinkId, _queue: u8) -> Option<Box<dyn Switch + Send>> {
        let Settings { registers, bloom_filter_size, dedup_window, pair_expiry, measurement_interval, .. } =
            self.settings;
        let core =
            UfabCore::new(Params { registers, bloom_filter_size, dedup_window, pair_expiry, measurement_interval });
        self.ports[link.index()]
            .then(|| Box::new(WatchedPort { core, link, log: self.log.clone() }) as Box<dyn Switch + Send>)
    }
}

/// Runs a scenario of uFAB, and returns the observed events, in order of time.
pub(super) fn watch(scenario: &Scenario, seed: u64) -> (Outcome, Vec<Event>) {
    let mut scenario = scenario.clone();
    let sharing = scenario.sharing.as_mut().unwrap();
    let HostSchemeConfig::Ufab(settings) =
        std::mem::replace(&mut sharing.scheme, HostSchemeConfig::Custom("watched".to_owned()))
    else {
        panic!("another scheme")
    };
    let network = &scenario.network;
    let ports = network.links().map(|(_, link)| network.node(link.from).kind == NodeKind::Switch).collect();
    let log = Log::default();
    let mut custom = Custom::default();
    custom.schemes.insert("watched".to_owned(), Arc::new(Watched { settings, seed, ports, log: log.clone() }));
    let outcome = wayleave_sim::run_with(&scenario, seed, &custom, |_| true).unwrap();
    drop(custom);
    let events = std::mem::take(&mut *log.lock().unwrap());
    (outcome, events)
}
