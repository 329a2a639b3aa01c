//! Promises of SCC to divisions, tested with random numbers of tunnels, flows and hosts: only arrivals are inspected,
//! not the internals of the scheme.

use wayleave_contracts::FlowObjective;
use wayleave_repo_checks::Random;
use wayleave_scenarios::{
    BrokerAt, Buffering, Congestion, Element, ElementChange, HostSchemeConfig, MessageFaults, Outage, Scenario,
    Schedule, Sharing, SharingChange, SharingEvent, Traffic, TransportConfig, Workload,
};
use wayleave_schemes::host::scc::{Params, TunnelScheduling};
use wayleave_sim::Outcome;
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

use super::networks::{FRAME, Star, endless, run, star};

/// Of the only link that is full: that to the last host of a star.
const BOTTLENECK: Rate = Rate::from_gbit(1);

/// Of the links of all other hosts.
const LINE: Rate = Rate::from_gbit(10);

/// A feedback period, by default.
const PERIOD: Time = Time::from_micros(300);

/// Each case has its own seed; `make scc-long` has more of them.
fn cases(usual: u64) -> std::ops::RangeInclusive<u64> {
    let more = std::env::var("WAYLEAVE_SCC").ok().and_then(|cases| cases.parse().ok());
    1..=more.unwrap_or(usual)
}

/// Senders, and at last a receiver behind the bottleneck; 300 us of round trip (II-B).
fn senders(count: usize) -> Star {
    let mut rates = vec![LINE; count];
    rates.push(BOTTLENECK);
    star(&rates, 70_000)
}

fn scenario(star: &Star, divisions: &[(u64, Option<FlowObjective>)], length: Time) -> Scenario {
    let mut scenario = Scenario::new("divisions", star.network.clone(), length);
    scenario.switches.buffering = Buffering::EachQueue(Bytes::new(250 * FRAME));
    scenario.transport.congestion = Congestion::dctcp();
    let machine = super::scc::divisions(&star.network, divisions);
    scenario.sharing = Some(Sharing::new(HostSchemeConfig::Scc(Params::default()), machine));
    scenario
}

/// An endless flow of a division from one of the hosts to the last.
fn flow(star: &Star, division: usize, from: usize) -> Traffic {
    let to = *star.hosts.last().unwrap();
    let mut traffic = endless(&format!("a{division} from {from}"), star.hosts[from], to);
    traffic.service = Some(format!("a{division}"));
    traffic
}

/// Returns the bytes that a division received.
fn received(outcome: &Outcome, division: usize) -> u64 {
    let service = outcome.sharing.as_ref().unwrap().service(&format!("a{division}")).unwrap();
    service.machines.iter().map(|machine| machine.received.get()).sum()
}

/// The parts of all that was received.
fn parts(outcome: &Outcome, divisions: usize) -> Vec<f64> {
    let all: Vec<f64> = (0..divisions).map(|division| received(outcome, division) as f64).collect();
    let sum: f64 = all.iter().sum();
    all.iter().map(|bytes| bytes / sum).collect()
}

const OBJECTIVES: [Option<FlowObjective>; 4] =
    [None, Some(FlowObjective::Latency), Some(FlowObjective::Deadline), Some(FlowObjective::Completion)];

/// Two to four divisions of random shares: each with one to eight tunnels, and one to sixteen flows in each of them.
fn drawn(seed: u64) -> (Scenario, Vec<u64>) {
    let random = &mut Random::new(seed);
    let count = 2 + random.below(3) as usize;
    let shares: Vec<u64> = (0..count).map(|_| 100 * (1 + random.below(10))).collect();
    let divisions: Vec<_> = shares.iter().map(|&share| (share, OBJECTIVES[random.below(4) as usize])).collect();
    let star = senders(8);
    let mut scenario = scenario(&star, &divisions, Time::from_millis(600));
    scenario.warmup = Time::from_millis(200);
    if let Some(Sharing { scheme: HostSchemeConfig::Scc(params), .. }) = &mut scenario.sharing {
        params.scheduling = [TunnelScheduling::Tunnel, TunnelScheduling::Transports][random.below(2) as usize];
    }
    for division in 0..count {
        let first = random.below(8) as usize;
        for tunnel in 0..1 + random.below(8) as usize {
            let congestion = [Congestion::dctcp(), Congestion::newreno()][random.below(2) as usize].clone();
            for _ in 0..1 + random.below(16) {
                let mut traffic = flow(&star, division, (first + tunnel) % 8);
                traffic.name = format!("{} {}", traffic.name, scenario.traffic.len());
                traffic.start = Time::from_micros(random.below(20_000));
                if let Workload::Flows(flows) = &mut traffic.workload {
                    let transport = TransportConfig { congestion: congestion.clone(), ..TransportConfig::default() };
                    flows.transport = Some(transport);
                }
                scenario.traffic.push(traffic);
            }
        }
    }
    (scenario, shares)
}

/// Returns the largest relative distance of a division from its share, and the used part of the bottleneck.
fn distance(outcome: &Outcome, shares: &[u64], measured: Time) -> (f64, f64) {
    let sum: u64 = shares.iter().sum();
    let got = parts(outcome, shares.len());
    let off = got.iter().zip(shares).map(|(got, &share)| (got * sum as f64 / share as f64 - 1.0).abs());
    let all: u64 = (0..shares.len()).map(|division| received(outcome, division)).sum();
    let used = all as f64 * 8e9 / measured.as_nanos() as f64 / BOTTLENECK.bits_per_second() as f64;
    (off.fold(0.0, f64::max), used)
}

/// Catches: shares by flows or by tunnels instead of by weights, divisions whose objective or transport changes what they get, and a bottleneck that is not used.
#[test]
fn shares_follow_weights_for_any_number_of_tunnels_flows_and_hosts() {
    let (mut least, mut all) = (1.0_f64, Vec::new());
    for seed in cases(6) {
        let (scenario, shares) = drawn(seed);
        let outcome = run(&scenario, seed);
        let (off, used) = distance(&outcome, &shares, scenario.duration.saturating_sub(scenario.warmup));
        println!("seed {seed}: {shares:?} {:.3?} off {off:.3} used {used:.3}", parts(&outcome, shares.len()));
        least = least.min(used);
        all.push(off);
        assert!(off < 0.3 && used > 0.9, "seed {seed}: {off:.3} from {shares:?}, {used:.3} used");
    }
    all.sort_by(f64::total_cmp);
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let [median, most, worst] = [50, 99, 100].map(|percent| 100.0 * all[(all.len() * percent).div_ceil(100) - 1]);
    println!(
        "off: {:.1} % in the mean, {median:.1} % at 50 %, {most:.1} % at 99 %, {worst:.1} % at most",
        100.0 * mean
    );
    println!("the least use: {:.1} %", least * 100.0);
    // Light divisions of many tunnels, a packet every few milliseconds each, receive little feedback.
    let far = all.iter().filter(|&&off| off > 0.1).count();
    assert!(mean < 0.03 && far * 50 <= all.len(), "{mean:.3} in the mean, {far} of {} above a tenth", all.len());
}

/// Returns the part of the second of two divisions of equal share. It has `flows` flows over `tunnels` tunnels, and
/// the first has one; or four if tunnels keep queues so short that one flow of DCTCP does not always fill its tunnel.
fn against(flows: usize, tunnels: usize, objective: Option<FlowObjective>) -> f64 {
    let star = senders(8);
    let mut scenario = scenario(&star, &[(500, objective), (500, objective)], Time::from_millis(600));
    scenario.warmup = Time::from_millis(300);
    let few = if objective == Some(FlowObjective::Latency) { 4 } else { 1 };
    for (division, number) in (0..few).map(|number| (0, number)).chain((0..flows).map(|number| (1, number))) {
        let mut traffic = flow(&star, division, if division == 0 { 0 } else { number % tunnels });
        traffic.name = format!("{} {number}", traffic.name);
        scenario.traffic.push(traffic);
    }
    parts(&run(&scenario, 1), 2)[1]
}

/// Catches: shares by flows.
#[test]
fn a_tenant_that_opens_a_thousand_flows_gains_nothing() {
    for objective in OBJECTIVES {
        for tunnels in [1, 8] {
            let part = against(1_000, tunnels, objective);
            println!("{objective:?}, {tunnels} tunnels: {part:.3}");
            assert!(part < 0.51, "{objective:?}, {tunnels} tunnels: {part:.3}");
        }
    }
}

/// Returns the rates of two divisions, in Mbit/s, in `periods` periods before a time: the difference of two runs that
/// are equal until then.
fn window(scenario: &Scenario, end: Time, periods: u64) -> [f64; 2] {
    let until = |end: Time| {
        let outcome = run(&Scenario { duration: end, ..scenario.clone() }, 1);
        [0, 1].map(|division| received(&outcome, division) as f64)
    };
    let length = Time::from_nanos(periods * PERIOD.as_nanos());
    let (before, after) = (until(end.saturating_sub(length)), until(end));
    [0, 1].map(|division| (after[division] - before[division]) * 8e3 / length.as_nanos() as f64)
}

/// Catches: shares that are kept without demand, and rates that do not recover. The second of two divisions is silent
/// from 200 to 300 ms. Nine tenths of a share are back ten periods after demand resumes, and free capacity is used
/// after 100.
#[test]
fn an_unused_share_is_free_and_returns_with_demand() {
    let star = senders(4);
    let mut scenario = scenario(&star, &[(500, None), (500, None)], Time::from_millis(400));
    for from in 0..2 {
        scenario.traffic.push(flow(&star, 0, from));
        let mut other = flow(&star, 1, 2 + from);
        other.active = Some(Schedule::periodic(Time::ZERO, Time::from_millis(200), Time::from_millis(100)));
        scenario.traffic.push(other);
    }
    // Arrivals in ten periods, `periods` after a time.
    let after = |ms: u64, periods: u64| window(&scenario, Time::from_micros(ms * 1_000 + periods * 300 + 3_000), 10);
    let [_, share] = window(&scenario, Time::from_millis(200), 100);
    let ([freed, _], [_, soon], [_, late]) = (after(200, 100), after(300, 10), after(300, 200));
    let found = format!("share {share:.0}, freed {freed:.0}, back {soon:.0} and {late:.0} Mbit/s");
    println!("{found}");
    assert!(freed > 0.9 * 1e3 && soon > 0.85 * share && late > 0.95 * share, "{found}");
}

/// Two divisions of equal share, with one tunnel and with four.
fn lopsided(star: &Star) -> Scenario {
    let divisions = [(500, Some(FlowObjective::Completion)), (500, Some(FlowObjective::Completion))];
    let mut scenario = scenario(star, &divisions, Time::from_millis(600));
    scenario.warmup = Time::from_millis(300);
    scenario.traffic.push(flow(star, 0, 0));
    scenario.traffic.extend((1..5).map(|from| flow(star, 1, from)));
    scenario
}

/// Catches: weights that are lost with the tracker, or doubled by a new tracker, and reports that are not repeated.
#[test]
fn shares_survive_lost_trackers_and_messages() {
    let star = senders(5);
    let stop = |at: u64| {
        let stops = |&host: &NodeId| SharingChange::Stops(BrokerAt::Machine(host));
        let event = move |what| SharingEvent { at: Time::from_millis(at), what };
        star.hosts.iter().map(stops).map(event).collect::<Vec<_>>()
    };
    let start = |at: u64| {
        let starts = |&host: &NodeId| SharingChange::Starts(BrokerAt::Machine(host));
        let event = move |what| SharingEvent { at: Time::from_millis(at), what };
        star.hosts.iter().map(starts).map(event).collect::<Vec<_>>()
    };
    let lost = MessageFaults { loss: 0.5, ..MessageFaults::default() };
    let cases = [
        ("nothing is lost", Vec::new(), MessageFaults::default(), (0.1, 0.95)),
        ("all trackers start again", [stop(150), start(200)].concat(), MessageFaults::default(), (0.1, 0.95)),
        ("half of all messages with trackers are lost", Vec::new(), lost, (0.1, 0.95)),
        // Each host has an equal part of its division's share then, so four hosts have more than one, and rates grow
        // in smaller steps.
        ("all trackers stop", stop(150), MessageFaults::default(), (0.7, 0.5)),
    ];
    for (name, events, faults, (most, least)) in cases {
        let mut scenario = lopsided(&star);
        let sharing = scenario.sharing.as_mut().unwrap();
        (sharing.events, sharing.faults) = (events, faults);
        let (off, used) = distance(&run(&scenario, 1), &[500, 500], Time::from_millis(300));
        println!("{name}: off {off:.3} used {used:.3}");
        assert!(off < most && used > least, "{name}: off {off:.3}, {used:.3} used");
    }
}

/// Catches: rates that stay at their values from the time without answers. For 50 ms nothing returns from the
/// receiver, neither acknowledgements nor feedback.
#[test]
fn shares_recover_with_feedback() {
    let star = senders(5);
    let mut scenario = lopsided(&star);
    let back = Element::Link(star.up[5]);
    scenario.outages = [(150, ElementChange::FailsSilently), (200, ElementChange::Works)]
        .map(|(at, change)| Outage { at: Time::from_millis(at), what: back, change })
        .to_vec();
    let (off, used) = distance(&run(&scenario, 1), &[500, 500], Time::from_millis(300));
    println!("off {off:.3} used {used:.3}");
    assert!(off < 0.1 && used > 0.95, "off {off:.3}, {used:.3} used");
}

/// Catches: packets that a tunnel reorders, which a transport would take for losses, and bytes that it loses without a word.
#[test]
fn tunnels_reorder_no_flow_and_report_every_loss() {
    for seed in cases(6) {
        let (mut scenario, _) = drawn(seed);
        (scenario.duration, scenario.warmup) = (Time::from_millis(200), Time::ZERO);
        let outcome = run(&scenario, seed);
        let network: u64 = outcome.queues.iter().map(|queue| queue.counts.drops).sum();
        let mut dropped = 0;
        for tunnel in &outcome.sharing.as_ref().unwrap().tunnels {
            let counts = tunnel.counts;
            assert_eq!(counts.arrived, counts.departed + counts.queued + counts.dropped, "seed {seed}: {tunnel:?}");
            dropped += counts.dropped.get();
        }
        let lost: u64 = outcome.flows.iter().map(|flow| flow.drops).sum();
        assert_eq!(dropped / FRAME + network, lost, "seed {seed}: in tunnels, in the network, and what flows know of");
        for flow in outcome.flows.iter().filter(|flow| flow.drops == 0) {
            // A flow that waits for others is repeated by its time-out, and by nothing else.
            assert!(flow.again <= 2 * flow.timeouts, "seed {seed}: {flow:?}");
        }
    }
}
