//! Metrics for Prometheus. Nothing here is named after a tenant, a contract or a link (`detail_metrics` is), and hosts have a bounded number of
//! counters: the number of series is bounded.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use wayleave_controller::{CommandError, ControllerConfig, DegradedReason, EnforcedBy, ItemResult, NodeState, State};
use wayleave_protocol::contract::Kind;
use wayleave_scheme_api::RefusalCode;
use wayleave_topology::{Class, LinkId, Network, NodeKind};
use wayleave_units::Time;

use crate::VERSION;
use crate::alert_counters::AlertCounters;
use crate::cluster_metrics::ClusterMetrics;
use crate::counts::Counts;
use crate::detail_metrics::{DetailMetrics, Details};
use crate::down_counts::DownCounts;
use crate::links::LinkFigures;
use crate::logger;
use crate::measure::{KnownGauge, seconds, signed};
use crate::packet_metrics::PacketMetrics;
use crate::read_view::{Tables, View};
use crate::traffic::ReportedTraffic;

type Level = Gauge<f64, AtomicU64>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabels {
    result: &'static str,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    method: &'static str,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClassLabels {
    class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueueLabels {
    class: &'static str,
    queue: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NodeLabels {
    node: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LimitLabels {
    limit: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KeptLabels {
    what: &'static str,
}

/// Limit that a request can exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Requests in a second.
    Requests,
    /// Requests that wait for the engine.
    Waiting,
    /// Bytes of requests that are being answered.
    OpenBytes,
    /// Bytes of answers that are kept.
    Answers,
    /// Streams of events.
    Watchers,
    /// Connections.
    Connections,
    /// VMs of a tenant.
    Vms,
}

impl Limit {
    const ALL: [Self; 7] =
        [Self::Requests, Self::Waiting, Self::OpenBytes, Self::Answers, Self::Watchers, Self::Connections, Self::Vms];

    const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Waiting => "waiting",
            Self::OpenBytes => "open-bytes",
            Self::Answers => "answers",
            Self::Watchers => "watchers",
            Self::Connections => "connections",
            Self::Vms => "vms",
        }
    }
}

/// Kind of data that takes memory at the request of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientMemory {
    /// Answers to requests with an `Idempotency-Key`.
    Answers,
    /// Bodies of requests that are being answered.
    Requests,
    /// Events, decisions and the audit.
    History,
}

impl ClientMemory {
    const fn name(self) -> &'static str {
        match self {
            Self::Answers => "answers",
            Self::Requests => "requests",
            Self::History => "history",
        }
    }
}

/// Everything that is counted.
pub(crate) struct Metrics {
    registry: Registry,
    decisions: Family<DecisionLabels, Counter>,
    decision_seconds: Histogram,
    commit_seconds: Histogram,
    requests: Family<RequestLabels, Counter>,
    request_seconds: Family<RouteLabels, Histogram>,
    reserved: Family<ClassLabels, Level>,
    minima: Family<ClassLabels, Level>,
    weights: Family<ClassLabels, Level>,
    free: Family<ClassLabels, Level>,
    use_mean: Family<QueueLabels, Level>,
    use_max: Family<QueueLabels, Level>,
    contracts: Family<StateLabels, Gauge>,
    degraded: Family<ReasonLabels, Gauge>,
    kinds: Family<KindLabels, Gauge>,
    sessions: KnownGauge,
    silent: KnownGauge,
    exceeding: KnownGauge,
    unprotected: Gauge,
    packets: PacketMetrics,
    repairs: Family<NodeLabels, Counter>,
    down: KnownGauge,
    unobserved: KnownGauge,
    ready: Gauge,
    limited: Family<LimitLabels, Counter>,
    kept: Family<KeptLabels, Gauge>,
    waiting: Gauge,
    clock_ahead: Level,
    dropped: Counter,
    /// Counters of alerts.
    pub(crate) alert_counters: AlertCounters,
    /// Metrics by tenant and by link.
    detail: Option<DetailMetrics>,
    /// Held while figures are replaced and encoded.
    scrape: Mutex<()>,
}

/// Reservations of each kind on the links of a class, in bits per second.
#[derive(Clone, Copy, Debug, Default)]
struct LinkSums {
    /// Links of the class whose figures are unknown: then nothing can be summed.
    unknown: u64,
    reserved: u128,
    minima: u128,
    weights: u128,
    free: u128,
}

impl LinkSums {
    fn add(&mut self, rate: u64, figures: &LinkFigures) {
        let reserved = |class| figures.of(class).map_or(0, |capacity| capacity.reserved.bits_per_second());
        let [latency, minima, weights] = [Class::Latency, Class::Guaranteed, Class::Objective].map(reserved);
        let taken = latency.saturating_add(minima).saturating_add(weights);
        self.reserved += u128::from(latency);
        self.minima += u128::from(minima);
        self.weights += u128::from(weights);
        self.free += u128::from(rate.saturating_sub(taken));
    }
}

/// Returns the class of a link.
fn class(network: &Network, link: LinkId) -> &'static str {
    let link = network.link(link);
    match (network.node(link.from).kind, network.node(link.to).kind) {
        (NodeKind::Host, _) => "host-up",
        (_, NodeKind::Host) => "host-down",
        _ => "switch",
    }
}

impl Metrics {
    /// With those of a cluster, of a controller that is one of several; with this number of series by tenant and by link.
    pub(crate) fn new(cluster: Option<&ClusterMetrics>, series: usize) -> Arc<Self> {
        let mut metrics = Self {
            registry: Registry::with_prefix("wayleave"),
            decisions: Family::default(),
            decision_seconds: seconds(),
            commit_seconds: seconds(),
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(seconds),
            reserved: Family::default(),
            minima: Family::default(),
            weights: Family::default(),
            free: Family::default(),
            use_mean: Family::default(),
            use_max: Family::default(),
            contracts: Family::default(),
            degraded: Family::default(),
            kinds: Family::default(),
            sessions: KnownGauge::default(),
            silent: KnownGauge::default(),
            exceeding: KnownGauge::default(),
            unprotected: Gauge::default(),
            packets: PacketMetrics::default(),
            repairs: Family::default(),
            down: KnownGauge::default(),
            unobserved: KnownGauge::default(),
            ready: Gauge::default(),
            limited: Family::default(),
            kept: Family::default(),
            waiting: Gauge::default(),
            clock_ahead: Level::default(),
            dropped: Counter::default(),
            alert_counters: AlertCounters::default(),
            detail: None,
            scrape: Mutex::default(),
        };
        metrics.register();
        metrics.detail = DetailMetrics::register(series, &mut metrics.registry);
        if let Some(cluster) = cluster {
            cluster.register(&mut metrics.registry);
        }
        metrics.begin_counters();
        Arc::new(metrics)
    }

    fn register(&mut self) {
        let of = &mut self.registry;
        of.register("decisions", "Admission decisions", self.decisions.clone());
        let help = "Duration of one admission request; a list counts as one";
        of.register_with_unit("decision", help, Unit::Seconds, self.decision_seconds.clone());
        of.register_with_unit(
            "ledger_commit",
            "Duration of a ledger commit",
            Unit::Seconds,
            self.commit_seconds.clone(),
        );
        of.register("http_requests", "Requests answered", self.requests.clone());
        let help = "Time from the request headers to the response";
        of.register_with_unit("http_request", help, Unit::Seconds, self.request_seconds.clone());
        let rate = Unit::Other("bits_per_second".to_owned());
        of.register_with_unit(
            "links_reserved",
            "Rate reserved for latency contracts",
            rate.clone(),
            self.reserved.clone(),
        );
        of.register_with_unit(
            "links_minima",
            "Minimum rates reserved for bandwidth contracts",
            rate.clone(),
            self.minima.clone(),
        );
        of.register_with_unit("links_weights", "Weights reserved for objectives", rate.clone(), self.weights.clone());
        of.register_with_unit("links_free", "Rate not reserved by contracts of any kind", rate, self.free.clone());
        let help = "Delay bound divided by delay budget, mean over queues with contracts";
        of.register_with_unit("queue_budget_use_mean", help, Unit::Ratios, self.use_mean.clone());
        let help = "Delay bound divided by delay budget, of the fullest queue";
        of.register_with_unit("queue_budget_use_max", help, Unit::Ratios, self.use_max.clone());
        of.register("contracts", "Contracts by state", self.contracts.clone());
        let help = "Degraded contracts by reason; the enforcement of SILENT and UNCONFIRMED ones is unknown";
        of.register("contracts_degraded", help, self.degraded.clone());
        of.register("contract_kinds", "Contracts by kind", self.kinds.clone());
        of.register("agent_sessions", "Open sessions of agents", self.sessions.clone());
        self.packets.register(of);
        let help = "Foreign changes on a node that its agent has reverted";
        of.register("repairs", help, self.repairs.clone());
        let unprotected = "Protected contracts with at least one disjoint route down";
        of.register("contracts_protection_lost", unprotected, self.unprotected.clone());
        let help = "Contracts of which counters show more than their rules let through";
        of.register("contracts_rate_exceeded", help, self.exceeding.clone());
        of.register("agents_silent", "Nodes with silent agents", self.silent.clone());
        of.register("elements_down", "Links and nodes that are reported down now", self.down.clone());
        let help = "Links and nodes that were last reported down, and that no connected agent observes now";
        of.register("elements_unobserved", help, self.unobserved.clone());
        let help = "1 if this controller can write the ledger: it leads, and agents report to it";
        of.register("ready", help, self.ready.clone());
        of.register("limits_reached", "Requests refused because of a limit", self.limited.clone());
        let help = "Memory allocated for clients";
        of.register_with_unit("kept", help, Unit::Bytes, self.kept.clone());
        of.register("requests_waiting", "Requests waiting for the engine", self.waiting.clone());
        let help = "Suspected clock error: how far an untrusted clock is ahead of the calendar of contracts";
        of.register_with_unit("clock_ahead", help, Unit::Seconds, self.clock_ahead.clone());
        let help = "Log lines dropped because standard error was not read";
        of.register("log_lines_dropped", help, self.dropped.clone());
        let version = vec![("version", VERSION)];
        of.register("build", "Version of this program", Info::new(version));
    }

    /// Creates series of counters whose labels are known: Prometheus does not count an increase with which a series begins.
    fn begin_counters(&self) {
        for limit in Limit::ALL {
            let _ = self.limited.get_or_create(&LimitLabels { limit: limit.name() });
        }
        let _ = self.decisions.get_or_create(&DecisionLabels { result: "admitted", reason: "" });
        for code in RefusalCode::ALL {
            let _ = self.decisions.get_or_create(&DecisionLabels { result: "refused", reason: code.code() });
        }
    }

    /// Creates series of counters of the nodes with agents.
    pub(crate) fn expect_agents(&self, setup: &ControllerConfig) {
        let nodes = setup.network.nodes().filter(|(_, node)| match setup.enforced_by {
            EnforcedBy::Nobody => false,
            EnforcedBy::Hosts => node.kind == NodeKind::Host,
            EnforcedBy::HostsAndSwitches => true,
        });
        nodes.for_each(|(_, node)| self.repaired(&node.name, 0));
    }

    /// Sets the lead of the clock over the calendar by which contracts start and end.
    pub(crate) fn clock_is_ahead(&self, by: Time) {
        self.clock_ahead.set(by.as_nanos() as f64 / 1e9);
    }

    /// Returns that lead, if the clock is distrusted.
    pub(crate) fn clock_hold_down_seconds(&self) -> Option<Time> {
        let seconds = self.clock_ahead.get();
        (seconds > 0.0).then(|| Time::from_nanos((seconds * 1e9) as u64))
    }

    pub(crate) fn decided(&self, applied: &[ItemResult], time: Duration) {
        self.decision_seconds.observe(time.as_secs_f64());
        for one in applied {
            let (result, reason) = match &one.result {
                Ok(_) => ("admitted", ""),
                Err(CommandError::Refused { reason, .. }) => ("refused", *reason),
                Err(_) => continue,
            };
            self.decisions.get_or_create(&DecisionLabels { result, reason }).inc();
        }
    }

    pub(crate) fn committed(&self, time: Duration) {
        self.commit_seconds.observe(time.as_secs_f64());
        self.alert_counters.committed(time);
    }

    pub(crate) fn answered(&self, route: &'static str, method: &'static str, status: u16, time: Duration) {
        self.requests.get_or_create(&RequestLabels { route, method, status }).inc();
        self.request_seconds.get_or_create(&RouteLabels { route }).observe(time.as_secs_f64());
    }

    /// A request was refused since a limit is reached.
    pub(crate) fn limited(&self, limit: Limit) {
        self.limited.get_or_create(&LimitLabels { limit: limit.name() }).inc();
    }

    /// Counts the repairs by a node's agent.
    pub(crate) fn repaired(&self, node: &str, count: usize) {
        self.repairs.get_or_create(&NodeLabels { node: node.to_owned() }).inc_by(count as u64);
        self.alert_counters.repaired(node, count as u64);
    }

    /// Sets the number of bytes kept.
    pub(crate) fn keeps(&self, what: ClientMemory, bytes: u64) {
        self.kept.get_or_create(&KeptLabels { what: what.name() }).set(signed(bytes));
    }

    /// Sets the number of requests that wait for the engine.
    pub(crate) fn waits(&self, count: usize) {
        self.waiting.set(signed(count as u64));
    }

    /// Returns the metrics as OpenMetrics. Figures of links are those last computed by the engine. `counted` is `None` at a
    /// controller that receives no reports of agents. `details` returns the figures by tenant and by link.
    pub(crate) fn open_metrics(
        &self,
        (network, view, counted): (&Network, &View, Option<&ReportedTraffic>),
        now: Instant,
        details: impl FnOnce() -> Details,
    ) -> String {
        let _scrape = self.scrape.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(detail) = &self.detail {
            detail.update(details());
        }
        self.text(network, view, counted, now)
    }

    pub(crate) fn text(
        &self,
        network: &Network,
        view: &View,
        counted: Option<&ReportedTraffic>,
        now: Instant,
    ) -> String {
        self.packets.update(now, counted);
        {
            let tables = view.read();
            self.look_at_links(network, &tables);
            self.look_at_contracts(&tables);
            let nodes =
                |counts: fn(&NodeState) -> bool| tables.nodes.values().filter(|node| counts(node)).count() as u64;
            self.sessions.set(counted.map(|_| nodes(NodeState::is_there)));
            self.silent.set(counted.map(|_| nodes(|node| node.is_silent)));
            let has_counters = counted.is_some_and(|counted| counted.totals().is_some());
            self.exceeding.set(has_counters.then(|| tables.excess().len() as u64));
        }
        self.dropped.inner().store(logger::dropped(), Ordering::Relaxed);
        let mut text = String::new();
        if encode(&mut text, &self.registry).is_err() {
            let _ = text.write_str("# error: metrics are not available\n");
        }
        text
    }

    /// Sets whether this controller can decide now.
    pub(crate) fn is_ready(&self, is_ready: bool) {
        self.ready.set(i64::from(is_ready));
    }

    fn look_at_contracts(&self, tables: &Tables) {
        let mut counts = Counts::default();
        tables.counts.values().for_each(|count| counts.add(count));
        for (state, count) in State::ALL.iter().zip(counts.states) {
            self.contracts.get_or_create(&StateLabels { state: state.name() }).set(signed(count));
        }
        for (reason, count) in DegradedReason::CODES.into_iter().zip(counts.degraded) {
            self.degraded.get_or_create(&ReasonLabels { reason }).set(signed(count));
        }
        for (kind, count) in Kind::ALL.iter().zip(counts.kinds) {
            self.kinds.get_or_create(&KindLabels { kind: kind.name() }).set(signed(count));
        }
        self.unprotected.set(signed(counts.unprotected));
    }

    fn look_at_links(&self, network: &Network, tables: &Tables) {
        let DownCounts { down, unobserved } = DownCounts::of(tables, network);
        self.down.set(down);
        self.unobserved.set(unobserved);
        let mut sums = ["host-up", "host-down", "switch"].map(|class| (class, LinkSums::default()));
        let mut queues = std::collections::BTreeMap::<(&str, u32), (f64, u64, f64)>::new();
        for (link, known) in network.links() {
            let class = class(network, link);
            let Some((_, sum)) = sums.iter_mut().find(|(name, _)| *name == class) else { continue };
            let Some(figures) = tables.figures(link) else {
                sum.unknown += 1;
                continue;
            };
            sum.add(known.rate.bits_per_second(), figures);
            for queue in &figures.queues {
                let Some((delay, budget)) = queue.delay.zip(queue.budget) else { continue };
                let share = delay.as_nanos() as f64 / budget.as_nanos().max(1) as f64;
                let of = queues.entry((class, u32::from(queue.number))).or_default();
                (of.0, of.1, of.2) = (of.0 + share, of.1 + 1, of.2.max(share));
            }
        }
        // A class with links of which nothing is known has no figures.
        [&self.reserved, &self.minima, &self.weights, &self.free].into_iter().for_each(Family::clear);
        for (class, LinkSums { unknown, reserved, minima, weights, free }) in sums {
            let of = [(&self.reserved, reserved), (&self.minima, minima), (&self.weights, weights), (&self.free, free)];
            for (family, sum) in of.into_iter().filter(|_| unknown == 0) {
                family.get_or_create(&ClassLabels { class }).set(sum as f64);
            }
        }
        self.use_mean.clear();
        self.use_max.clear();
        for ((class, queue), (sum, count, max)) in queues {
            self.use_mean.get_or_create(&QueueLabels { class, queue }).set(sum / count as f64);
            self.use_max.get_or_create(&QueueLabels { class, queue }).set(max);
        }
    }
}
