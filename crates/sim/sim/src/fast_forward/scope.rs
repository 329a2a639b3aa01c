//! Scope of fast-forward: the scenarios that it supports.

use wayleave_scenarios::{
    Buffering, Congestion, Discipline, Ecn, Jitter, PortBehaviour, Routing, Scenario, TransportConfig, Workload,
};

use crate::custom::Custom;

/// Returns the reason why nothing of a scenario can be fast-forwarded, if so.
pub(super) fn refusal(scenario: &Scenario, custom: &Custom<'_>) -> Option<&'static str> {
    let network = &scenario.network;
    let reasons = [
        (network.hosts().any(|host| network.links_from(host).len() > 1), "hosts have several links"),
        (scenario.sharing.is_some() || !scenario.vms.is_empty(), "hosts share what they send among services"),
        (!scenario.outages.is_empty(), "links fail or are repaired"),
        (!scenario.shared_services.is_empty(), "ports share a service"),
        (scenario.jitter != Jitter::Whole, "nodes hold each packet up for a time of its own"),
        (!matches!(scenario.routing, Routing::PerFlow(_)), "packets of a flow take several paths"),
        (scenario.record.trace.is_some(), "packets are traced"),
        (scenario.record.series.is_some() || scenario.record.promises, "series over time are recorded"),
        (custom.switch.is_some() || !custom.schemes.is_empty(), "schemes come from outside"),
    ];
    let reason = reasons.into_iter().find_map(|(applies, reason)| applies.then_some(reason));
    let ports = || [&scenario.switches, &scenario.hosts].into_iter().find_map(refusal_of_ports);
    reason.or_else(ports).or_else(|| {
        scenario.traffic.iter().find_map(|traffic| {
            if traffic.active.is_some() {
                return Some("traffic is switched on and off");
            }
            refusal_of_workload(&traffic.workload, &scenario.transport)
        })
    })
}

fn refusal_of_ports(ports: &PortBehaviour) -> Option<&'static str> {
    let marks_by_length = |ecn: &Ecn| !ecn.marks() || ecn.threshold_only().is_some();
    if ports.discipline == Discipline::SmallestRemainingFirst {
        return Some("ports serve the flow with the least left first");
    }
    if ports.discipline != Discipline::Fifo {
        return Some("ports have several queues");
    }
    if matches!(ports.buffering, Buffering::Shared { .. }) {
        return Some("ports share buffers");
    }
    if ports.telemetry {
        return Some("ports write telemetry");
    }
    let all_queues = 0..crate::port::MAX_QUEUES;
    let is_random = !all_queues.filter_map(|queue| ports.ecn.of(queue)).all(marks_by_length);
    is_random.then_some("ports mark at random")
}

fn refusal_of_workload(workload: &Workload, usual: &TransportConfig) -> Option<&'static str> {
    let transport = match workload {
        Workload::Packets { .. } => return Some("sources send packets without acknowledgements"),
        Workload::Flows(reliable) if reliable.send_schedule.is_some() => return Some("applications write bit by bit"),
        Workload::Flows(reliable) if reliable.deadline.is_some() => return Some("flows have deadlines"),
        Workload::Flows(reliable) => reliable.transport.as_ref(),
        Workload::Listed { transport, .. } => transport.as_ref(),
        Workload::Job(job) => job.transport.as_ref(),
    };
    match transport.unwrap_or(usual).congestion {
        Congestion::NewReno(_) | Congestion::Cubic(_) | Congestion::Dctcp(_) | Congestion::Swift(_) => None,
        _ => Some("congestion control goes by what flows have sent or have left"),
    }
}
