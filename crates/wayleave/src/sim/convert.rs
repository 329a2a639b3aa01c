//! Converts the simulator's outcome into a stored result.

use wayleave_scenarios::{Endpoint, Scenario, Workload};
use wayleave_sim::stats::{Completions, Histogram, Histograms, LevelBin, Series, Shortfall};
use wayleave_sim::{
    FlowOutcome, ForwardOutcome, LinkOutcome, MachineShare, Outcome, QueueCounts, RackShare, SharingOutcome,
    TrafficOutcome,
};
use wayleave_topology::{Network, NodeId, NodeKind};

use super::batch::{Batch, PlannedRun};
use super::divisions::divisions;
use wayleave_report::sim::result::{
    Distribution, FlowResult, ForwardResult, LevelsResult, LinkResult, MAX_PAIRS, QueueResult, ReportedEnd, RunResult,
    SeriesResult, ServiceResult, ShareResult, SharingResult, ShortfallResult, SizeResult, Tier, TimesResult,
    TrafficKind, TrafficResult,
};

/// The most points of a distribution: more than a figure has pixels to show them.
const MAX_POINTS: usize = 200;
/// Links whose backlog is kept over time: those with the highest maximum.
const LINKS_WITH_LEVELS: usize = 20;
/// The most flows that are listed one by one: some megabytes of JSON.
const MAX_FLOWS: usize = 10_000;
/// Queues whose waits are kept point by point: the longest ones.
const QUEUES_WITH_POINTS: usize = 20;

/// Returns the stored result of a run.
pub(crate) fn run_result(batch: &Batch, planned: &PlannedRun, outcome: &Outcome) -> RunResult {
    let scenario = &*planned.scenario;
    let network = &*scenario.network;
    let single = || outcome.flows.iter().filter_map(|flow| Some((flow, flow.from?, flow.to?)));
    let traffic: Vec<TrafficResult> =
        (0..outcome.traffic.len()).map(|index| traffic(scenario, outcome, index)).collect();
    RunResult {
        wayleave: env!("CARGO_PKG_VERSION").to_owned(),
        scenario: outcome.name.clone(),
        parameters: planned.parameters.clone(),
        seed: planned.seed,
        input_hash: batch.input_hash(),
        replay: planned.replay.clone(),
        ending: match outcome.ending {
            wayleave_sim::RunEnd::Complete => ReportedEnd::Complete,
            wayleave_sim::RunEnd::Stopped => ReportedEnd::Stopped,
            wayleave_sim::RunEnd::TooManyFlows => ReportedEnd::TooManyFlows,
        },
        duration_ns: scenario.duration.as_nanos(),
        simulated_ns: outcome.simulated.as_nanos(),
        counted_ns: outcome.counted.as_nanos(),
        hosts: network.hosts().count() as u64,
        switches: network.switches().count() as u64,
        hops: outcome.hops,
        events: outcome.events,
        peak_packets: outcome.peak_packets,
        flows: single()
            .take(MAX_FLOWS)
            .map(|(flow, from, to)| flow_result(scenario, outcome, flow, [from, to]))
            .collect(),
        flows_left_out: single().count().saturating_sub(MAX_FLOWS) as u64,
        queues: queues(network, outcome),
        links: links(network, outcome),
        sharing: outcome.sharing.as_ref().map(|sharing| SharingResult {
            divisions: divisions(scenario, outcome, sharing, &traffic),
            ..sharing_result(network, outcome, sharing)
        }),
        traffic,
        forward: outcome.forward.as_ref().map(forward_result),
    }
}

fn forward_result(forward: &ForwardOutcome) -> ForwardResult {
    let share = |millionths: Option<u64>| millionths.map(|millionths| millionths as f64 / 1e6);
    ForwardResult {
        error: forward.error,
        refusal: forward.refusal.map(str::to_owned),
        skips: forward.skips,
        skipped_segments: forward.skipped_segments,
        skipped_flow_time_ns: u64::try_from(forward.skipped_flow_time / 1_000).unwrap_or(u64::MAX),
        declined: forward.declined.iter().map(|(&why, &count)| (why.to_owned(), count)).collect(),
        estimated_error_p99: share(forward.errors.percentile(99.0)),
        estimated_error_max: share(forward.errors.max()),
    }
}

fn sharing_result(network: &Network, outcome: &Outcome, sharing: &SharingOutcome) -> SharingResult {
    let end = outcome.simulated.as_nanos();
    let series = |series: &Option<Series>| series.as_ref().map(|series| series_result(series, end));
    let shortfall = |of: &Option<Shortfall>| {
        of.as_ref().map(|of| ShortfallResult {
            owed_bytes: of.owed(),
            missed_bytes: of.missed(),
            missed: series_result(of.series(), end),
        })
    };
    let machine = |share: &MachineShare| ShareResult {
        node: network.node(share.host).name.clone(),
        sent_bytes: share.sent.get(),
        received_bytes: share.received.get(),
        drops: share.drops,
        path_changes: share.path_changes,
        transmit: series(&share.transmit),
        receive: series(&share.receive),
        transmit_shortfall: shortfall(&share.transmit_shortfall),
        receive_shortfall: shortfall(&share.receive_shortfall),
    };
    let rack = |share: &RackShare| ShareResult {
        node: network.node(share.switch).name.clone(),
        sent_bytes: share.sent.get(),
        received_bytes: share.received.get(),
        drops: 0,
        path_changes: 0,
        transmit: series(&share.transmit),
        receive: series(&share.receive),
        transmit_shortfall: None,
        receive_shortfall: None,
    };
    // Shares with unserved demand are shown too.
    let owed = |shortfall: &Option<ShortfallResult>| shortfall.as_ref().map_or(0, |shortfall| shortfall.owed_bytes);
    let is_used = |share: &ShareResult| {
        share.sent_bytes + share.received_bytes + share.drops > 0
            || owed(&share.transmit_shortfall) + owed(&share.receive_shortfall) > 0
    };
    let services = sharing.services.iter().map(|service| ServiceResult {
        name: service.name.clone(),
        machines: service.machines.iter().map(machine).filter(is_used).collect(),
        racks: service.racks.iter().map(rack).filter(is_used).collect(),
    });
    SharingResult {
        services: services.collect(),
        messages: sharing.messages.sent,
        messages_lost: sharing.messages.lost,
        message_bytes: sharing.messages.bytes.get(),
        probes: sharing.probes.sent,
        probes_lost: sharing.probes.lost,
        probe_bytes: sharing.probes.bytes.get(),
        divisions: Vec::new(),
    }
}

fn traffic(scenario: &Scenario, outcome: &Outcome, index: usize) -> TrafficResult {
    let TrafficOutcome { name, begun, completions, chains, throughput, round_trips, host_waits } =
        &outcome.traffic[index];
    let kind = match scenario.traffic[index].workload {
        Workload::Packets { .. } => TrafficKind::Packets,
        Workload::Flows(_) | Workload::Listed { .. } | Workload::Job(_) => TrafficKind::Flows,
    };
    let flows: Vec<&FlowOutcome> = outcome.flows.iter().filter(|flow| flow.traffic == index).collect();
    let sum = |of: fn(&FlowOutcome) -> u64| flows.iter().map(|flow| of(flow)).sum::<u64>();
    let mut delay = Histogram::new();
    flows.iter().for_each(|flow| delay.merge(&flow.delay));
    let all = completions.all();
    let (delivered_bytes, payload_bytes) = (sum(|flow| flow.delivered_bytes.get()), sum(|flow| flow.payload.get()));
    let useful = if kind == TrafficKind::Flows { payload_bytes } else { delivered_bytes };
    TrafficResult {
        name: name.clone(),
        kind,
        sent: sum(|flow| flow.sent),
        sent_bytes: sum(|flow| flow.sent_bytes.get()),
        delivered: sum(|flow| flow.delivered),
        delivered_bytes,
        payload_bytes,
        goodput_bps: per_second(useful, outcome.counted.as_nanos()),
        drops: sum(|flow| flow.drops),
        marked: sum(|flow| flow.marked),
        again: sum(|flow| flow.again),
        duplicates: sum(|flow| flow.duplicates),
        timeouts: sum(|flow| flow.timeouts),
        without_arrivals: without_arrivals(scenario, &flows),
        after_the_end: after_the_end(scenario, index),
        delay_ps: distribution(&delay, MAX_POINTS),
        begun: *begun,
        finished: completions.finished(),
        completion_ps: distribution(&all.times, MAX_POINTS),
        chain_ps: distribution(chains, MAX_POINTS),
        slowdown_thousandths: distribution(&all.slowdowns, MAX_POINTS),
        sizes: sizes(completions),
        deadlines_met: completions.deadlines().met,
        deadlines_missed: completions.deadlines().missed,
        throughput: throughput.as_ref().map(|series| series_result(series, outcome.simulated.as_nanos())),
        round_trip_ps: round_trips.as_ref().and_then(|of| distribution(&of.all(), MAX_POINTS)),
        host_wait_ps: distribution(host_waits, MAX_POINTS),
        round_trips: round_trips
            .as_ref()
            .filter(|_| kind == TrafficKind::Flows)
            .map(|of| times_result(of, outcome.simulated.as_nanos())),
    }
}

/// Returns the endpoints of flows of which nothing arrived, as far as flows are distinguished. The outcome of a
/// packet's copies is part of the flow itself.
fn without_arrivals(scenario: &Scenario, flows: &[&FlowOutcome]) -> Vec<[String; 2]> {
    let name = |host, number| scenario.name_of(Endpoint { host, number }).to_owned();
    let silent = flows.iter().filter(|flow| flow.delivered == 0 && flow.copy.is_none());
    let pairs = silent.filter_map(|flow| {
        let (from, to) = flow.from.zip(flow.to)?;
        Some([name(from, flow.endpoints.0), name(to, flow.endpoints.1)])
    });
    pairs.take(MAX_PAIRS).collect()
}

/// Counts the flows of a list that would have begun after the run.
fn after_the_end(scenario: &Scenario, index: usize) -> u64 {
    match &scenario.traffic[index].workload {
        Workload::Listed { flows, .. } => flows.iter().filter(|flow| flow.start >= scenario.duration).count() as u64,
        Workload::Packets { .. } | Workload::Flows(_) | Workload::Job(_) => 0,
    }
}

fn sizes(completions: &Completions) -> Vec<SizeResult> {
    let finished = completions.decades().filter(|(_, class)| class.finished() > 0);
    finished
        .map(|((above_bytes, most_bytes), class)| SizeResult {
            above_bytes,
            most_bytes,
            finished: class.finished(),
            completion_ps: distribution(&class.times, 0),
            slowdown_thousandths: distribution(&class.slowdowns, 0),
        })
        .collect()
}

fn times_result(times: &Histograms, end_ns: u64) -> TimesResult {
    let bins: Vec<_> = times.bins(end_ns.saturating_mul(1_000)).collect();
    let of = |value: fn(&Histogram) -> u64| bins.iter().map(|bin| value(bin.values)).collect();
    TimesResult {
        interval_ps: bins.first().map_or(times.interval_ps(), |bin| bin.end_ps - bin.start_ps),
        count: of(Histogram::count),
        mean_ps: of(|values| values.mean().map_or(0, |mean| mean.round() as u64)),
        p50_ps: of(|values| values.percentile(50.0).unwrap_or(0)),
        p99_ps: of(|values| values.percentile(99.0).unwrap_or(0)),
        max_ps: of(|values| values.max().unwrap_or(0)),
    }
}

fn series_result(series: &Series, end_ns: u64) -> SeriesResult {
    let bins: Vec<_> = series.bins(end_ns.saturating_mul(1_000)).collect();
    // If there is only one interval, which may be cut, its length is known only from the series.
    let interval_ps = bins.first().map_or(series.interval_ps(), |bin| bin.end_ps - bin.start_ps);
    SeriesResult { interval_ps, bytes: bins.iter().map(|bin| bin.amount).collect() }
}

fn flow_result(scenario: &Scenario, outcome: &Outcome, flow: &FlowOutcome, [from, to]: [NodeId; 2]) -> FlowResult {
    let name = |host, number| scenario.name_of(Endpoint { host, number }).to_owned();
    FlowResult {
        traffic: outcome.traffic[flow.traffic].name.clone(),
        from: name(from, flow.endpoints.0),
        to: name(to, flow.endpoints.1),
        sent: flow.sent,
        delivered: flow.delivered,
        payload_bytes: flow.payload.get(),
        drops: flow.drops,
        marked: flow.marked,
        again: flow.again,
        slowest: flow.slowest,
        delay_ps: distribution(&flow.delay, 0),
    }
}

/// The queues of ports, and the buffers before shared services.
fn queues(network: &Network, outcome: &Outcome) -> Vec<QueueResult> {
    let ports = outcome.queues.iter();
    let ports = ports.map(|queue| (network.link(queue.link).name.clone(), queue.queue, &queue.counts));
    let services = outcome.services.iter();
    let services =
        services.map(|service| (format!("{} (service)", network.node(service.switch).name), 0, &service.counts));
    let queues: Vec<(String, u8, &QueueCounts)> = ports.chain(services).collect();
    let tail = |index: usize| queues[index].2.wait.percentile(99.0).unwrap_or(0);
    let mut longest: Vec<usize> = (0..queues.len()).collect();
    longest.sort_by_key(|&index| (std::cmp::Reverse(tail(index)), index));
    longest.truncate(QUEUES_WITH_POINTS);
    let result = |(index, (link, queue, counts)): (usize, &(String, u8, &QueueCounts))| QueueResult {
        link: link.clone(),
        queue: *queue,
        peak_bytes: counts.peak.get(),
        drops: counts.drops,
        marks: counts.marks,
        wait_ps: distribution(&counts.wait, if longest.contains(&index) { MAX_POINTS } else { 0 }),
        found_bytes: distribution(&counts.found, 0),
    };
    queues.iter().enumerate().map(result).collect()
}

fn links(network: &Network, outcome: &Outcome) -> Vec<LinkResult> {
    let end_ps = outcome.simulated.as_nanos().saturating_mul(1_000);
    let bins = |link: &LinkOutcome| link.backlog.as_ref().map(|levels| levels.bins(end_ps).collect::<Vec<_>>());
    let most = |link: &LinkOutcome| bins(link).into_iter().flatten().map(|bin| bin.maximum).max().unwrap_or(0);
    let mut highest: Vec<(u64, usize)> =
        outcome.links.iter().map(most).zip(0..).filter(|&(most, _)| most > 0).collect();
    highest.sort_by_key(|&(most, index)| (std::cmp::Reverse(most), index));
    highest.truncate(LINKS_WITH_LEVELS);
    let result = |(index, link): (usize, &LinkOutcome)| {
        let is_shown = highest.iter().any(|&(_, known)| known == index);
        link_result(network, link, bins(link).filter(|_| is_shown).map(|bins| levels_result(&bins)))
    };
    outcome.links.iter().enumerate().map(result).collect()
}

fn levels_result(bins: &[LevelBin]) -> LevelsResult {
    LevelsResult {
        interval_ps: bins.first().map_or(0, |bin| bin.end_ps - bin.start_ps),
        mean_bytes: bins.iter().map(|bin| bin.mean().round() as u64).collect(),
        most_bytes: bins.iter().map(|bin| bin.maximum).collect(),
    }
}

fn link_result(network: &Network, outcome: &LinkOutcome, backlog: Option<LevelsResult>) -> LinkResult {
    let link = network.link(outcome.link);
    let kind = |node: NodeId| network.node(node).kind;
    let tier = match (kind(link.from), kind(link.to)) {
        (NodeKind::Host, _) => Tier::FromHosts,
        (_, NodeKind::Host) => Tier::ToHosts,
        _ => Tier::BetweenSwitches,
    };
    LinkResult {
        link: link.name.clone(),
        tier,
        rate_bps: link.rate.bits_per_second(),
        sent_bytes: outcome.sent.get(),
        utilisation: outcome.utilisation,
        lost_silently: outcome.lost_silently,
        backlog,
    }
}

/// Bit/s, rounded down; nothing in no time.
fn per_second(bytes: u64, nanos: u64) -> u64 {
    let bits = u128::from(bytes) * 8 * 1_000_000_000;
    u64::try_from(bits.checked_div(u128::from(nanos)).unwrap_or(0)).unwrap_or(u64::MAX)
}

/// Returns the distribution of the values with at most `points` points, or `None` if there are no values.
fn distribution(values: &Histogram, points: usize) -> Option<Distribution> {
    let percentile = |percent| values.percentile(percent);
    Some(Distribution {
        count: values.count(),
        mean: values.mean()?,
        min: values.min()?,
        p50: percentile(50.0)?,
        p90: percentile(90.0)?,
        p99: percentile(99.0)?,
        p99_9: percentile(99.9)?,
        max: values.max()?,
        cdf: values.cdf(points).into_iter().map(|point| (point.value, point.fraction)).collect(),
    })
}
