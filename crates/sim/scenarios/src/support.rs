//! Keys of a scenario that the simulator does not carry out, a sentence each. Every other key changes what is simulated (`docs/reference/keys.md`).

use std::collections::BTreeSet;

use wayleave_contracts::{Bandwidth, Direction, ServiceSpec};
use wayleave_schemes::hosts::HostSchemeConfig;
use wayleave_schemes::path::clove;
use wayleave_schemes::transports::Congestion;
use wayleave_units::Time;

use crate::{
    Buffering, Discipline, Ecn, PortBehaviour, PortEcn, Routing, Scenario, Sharing, SharingChange, TransportConfig,
    Workload,
};

impl Scenario {
    /// Returns a sentence for each key that is given and not carried out, beside those of
    /// [`Sharing::not_carried_out`]: each begins with the key. Only the first `written` traffics are checked:
    /// contracts add others.
    pub fn not_carried_out(&self, written: usize) -> Vec<String> {
        let mut all = BTreeSet::new();
        transport("transport", &self.transport, &mut all);
        for traffic in self.traffic.iter().take(written) {
            let own = match &traffic.workload {
                Workload::Flows(flows) => flows.transport.as_ref(),
                Workload::Listed { transport, .. } => transport.as_ref(),
                Workload::Job(job) => job.transport.as_ref(),
                Workload::Packets { .. } => None,
            };
            if let Some(own) = own.filter(|own| **own != self.transport) {
                transport(&format!("traffic.{}.transport", traffic.name), own, &mut all);
            }
        }
        all.extend(self.queues());
        all.extend(self.marks_of_hosts());
        all.extend(self.reserved_of_nothing());
        if self.record.promises {
            let why = "sim does not show measured values of contracts (verify does)";
            all.insert(format!("record.promises has no effect: {why}"));
        }
        all.extend(self.probes_of_paths());
        all.extend(self.sums_of_nothing());
        all.into_iter().collect()
    }

    /// Queues that traffic names where no port has several.
    fn queues(&self) -> Option<String> {
        let has_one = [&self.switches, &self.hosts].iter().all(|ports| ports.discipline.has_one_queue());
        let names_one = |flows: &[crate::FlowSpec]| flows.iter().any(|flow| flow.queue.is_some());
        let is_named = |traffic: &&crate::Traffic| {
            traffic.queue.is_some() || matches!(&traffic.workload, Workload::Listed { flows, .. } if names_one(flows))
        };
        let traffic = self.traffic.iter().find(is_named).filter(|_| has_one)?;
        Some(format!(
            "traffic.{}.queue has no effect: all ports have one queue because of their `discipline`",
            traffic.name
        ))
    }

    /// Marks of host ports that no segment ever gets: a port that chooses takes the next segment of a flow when none of its queue waits
    /// (`docs/theory/simulation.md`).
    fn marks_of_hosts(&self) -> Option<String> {
        let hosts = &self.hosts;
        let is_any = match &hosts.ecn {
            PortEcn::Same(ecn) => ecn.is_some(),
            PortEcn::PerQueue(queues) => queues.iter().any(Option::is_some),
        };
        let has_threshold = hosts.ecn.of(0).is_some_and(|ecn| ecn.threshold_only().is_some());
        let is_line = hosts.discipline == Discipline::Fifo
            && has_threshold
            && !hosts.telemetry
            && !matches!(hosts.buffering, Buffering::Shared { .. });
        (is_any && !is_line && self.sharing.is_none()).then(|| {
            "hosts.ecn has no effect: these ports take a segment of a flow when its queue is empty, so it finds no queue (`discipline: fifo` \
             with a threshold marks)"
                .to_owned()
        })
    }

    /// Sums of uFAB at ports that no probe asks.
    fn sums_of_nothing(&self) -> Option<String> {
        let is_core = |ports: &PortBehaviour| (0..8).any(|queue| matches!(ports.ecn.of(queue), Some(Ecn::UfabCore(_))));
        let key = if is_core(&self.switches) { "switches" } else { Some("hosts").filter(|_| is_core(&self.hosts))? };
        let has_probes =
            self.sharing.iter().flat_map(Sharing::schemes).any(|scheme| matches!(scheme, HostSchemeConfig::Ufab(_)));
        (!has_probes).then(|| format!("{key}.ecn.ufabCore has no effect: no scheme sends probes here"))
    }

    /// Probes of Clove, which belong to pairs of hosts that share.
    fn probes_of_paths(&self) -> Option<String> {
        let Routing::Clove(params) = &self.routing else { return None };
        let is_given = params.probe_interval != clove::Params::default().probe_interval;
        (is_given && self.sharing.is_none()).then(|| {
            "routing.clove.probeInterval has no effect: pairs of hosts send probes, and without `sharing` there are no pairs"
                .to_owned()
        })
    }

    fn reserved_of_nothing(&self) -> Option<String> {
        let shares = |discipline: &Discipline| matches!(discipline, Discipline::StrictOverWeighted { .. });
        let counts = [&self.switches, &self.hosts].iter().any(|ports| shares(&ports.discipline));
        (!self.reserved.is_empty() && !counts).then(|| {
            "reserved has no effect: it applies to weighted queues below strict ones, and no port has any".to_owned()
        })
    }
}

/// Keys of a transport that its congestion control has values of its own for, or that the simulator's hosts have no use for.
fn transport(path: &str, transport: &TransportConfig, all: &mut BTreeSet<String>) {
    let usual = TransportConfig::default();
    let given = [
        ("initialWindow", transport.initial_window != usual.initial_window),
        ("maxWindow", transport.max_window != usual.max_window),
        ("minTimeout", transport.min_timeout != usual.min_timeout),
        ("firstTimeout", transport.first_timeout != usual.first_timeout),
    ];
    let (own, whose): (&[&str], &str) = match &transport.congestion {
        Congestion::Pfabric(_) => (&["initialWindow", "maxWindow", "minTimeout", "firstTimeout"], "pfabric"),
        Congestion::Fixed(params) if params.window != transport.initial_window => (&["initialWindow"], "fixed"),
        _ => (&[], ""),
    };
    let keys = given.iter().filter(|(key, is_given)| *is_given && own.contains(key));
    all.extend(keys.map(|(key, _)| format!("{path}.{key} has no effect: {whose} has one of its own")));
    if let Congestion::Swift(params) = &transport.congestion
        && params.endpoint_target != wayleave_schemes::transport::swift::Params::default().endpoint_target
    {
        all.insert(format!(
            "{path}.congestion.swift.endpointTarget has no effect: hosts of the simulator take no time for a packet"
        ));
    }
}

impl Sharing {
    /// Returns a sentence for each key of `sharing` that is given and not carried out: each begins with the key.
    pub fn not_carried_out(&self) -> Vec<String> {
        let mut all = BTreeSet::new();
        let later = self.events.iter().filter_map(|event| match &event.what {
            SharingChange::Policy(policy) => Some(&**policy),
            _ => None,
        });
        for policy in self.policies().chain(later) {
            let level = policy.level().name();
            for service in policy.services().iter().filter(|service| !service.changes.is_empty()) {
                all.insert(format!(
                    "changes of service {} in sharing.{level} has no effect: a run has no calendar (`events` change policies)",
                    service.name
                ));
            }
            if policy.level() == self.machine.level() {
                all.extend(policy.services().iter().flat_map(|service| self.terms(service)));
            }
        }
        all.extend(self.faults());
        all.into_iter().collect()
    }

    /// Terms of a service of machines that its scheme does not know.
    fn terms(&self, service: &ServiceSpec) -> Vec<String> {
        let Some(scheme) = self.schemes().nth(self.scheme_of(&service.name)) else { return Vec::new() };
        let given = |bandwidth: &Bandwidth| {
            let Bandwidth { min, max, weight } = bandwidth;
            [("min", min.is_some()), ("max", max.is_some()), ("weight", weight.is_some())]
        };
        let of = |direction: Direction| {
            let given = given(service.bandwidth.get(direction));
            let given = given.into_iter().filter(|(_, is_given)| *is_given);
            given.map(move |(term, _)| format!("{}.{term}", direction.name()))
        };
        let all = Direction::ALL.into_iter().flat_map(of);
        let unknown = all.filter(|term| scheme.not_carried_out().contains(&term.as_str()));
        let sentence = |term| {
            format!("{term} of service {} has no effect: scheme {} has no use for it", service.name, scheme.name())
        };
        unknown.map(sentence).collect()
    }

    /// Faults of messages and probes that no scheme sends.
    fn faults(&self) -> Vec<String> {
        let (faults, mut all) = (self.faults, Vec::new());
        let of_messages =
            [("loss", faults.loss > 0.0), ("duplicate", faults.duplicate > 0.0), ("delay", faults.delay > Time::ZERO)];
        if !self.has_brokers() {
            let given = of_messages.into_iter().filter(|(_, is_given)| *is_given);
            all.extend(given.map(|(key, _)| {
                format!("sharing.faults.{key} has no effect: no broker writes or reads messages here")
            }));
        }
        if faults.probe_loss > 0.0 && !self.schemes().any(|scheme| matches!(scheme, HostSchemeConfig::Ufab(_))) {
            all.push("sharing.faults.probeLoss has no effect: no scheme sends probes here".to_owned());
        }
        all
    }
}
