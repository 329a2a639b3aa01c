//! Limiters at the edge: the traffic that a bucket lets through is a closed form, and waiting flows are served in
//! turn.

use std::num::NonZeroU16;

use wayleave_contracts::{Bandwidth, Match, PerDirection, Policy, PolicyLevel, Protocol, ServiceSpec};
use wayleave_scenarios::{
    Endpoint, FlowArrivals, FlowEndpoints, HostSchemeConfig, PacketKind, Reliable, Scenario, ScenarioVm, Sharing,
    StaticLimits, Traffic, Workload,
};
use wayleave_sim::{MachineShare, Outcome};
use wayleave_topology::Network;
use wayleave_units::{Bytes, Rate, Time};

use crate::truth::networks::{FRAME, Star, endless, fixed_window, once, run, star, takes};

const LINE: Rate = Rate::from_gbit(10);
const GIGABIT: Rate = Rate::from_gbit(1);

/// Returns a policy of services with these sending maxima, distinguished by their ports.
pub(crate) fn services(network: &Network, maxima: &[(&str, Option<Rate>)]) -> Policy {
    let service = |(index, &(name, max)): (usize, &(&str, Option<Rate>))| ServiceSpec {
        name: name.to_owned(),
        filter: Some(Match {
            protocol: Some(Protocol::TCP),
            destination_port: NonZeroU16::new(index as u16 + 1),
            ..Match::default()
        }),
        bandwidth: PerDirection { transmit: Bandwidth { max, ..Bandwidth::default() }, ..PerDirection::default() },
        ..ServiceSpec::default()
    };
    let services = maxima.iter().enumerate().map(service).collect();
    Policy::new(network, "machines", PolicyLevel::Machine, Vec::new(), None, services).unwrap()
}

/// Fixed limits on a star of hosts, 1 us away from their switch.
struct Limited {
    star: Star,
    scenario: Scenario,
}

fn limited(hosts: usize, class: Option<Rate>, pair: Option<Rate>, burst: u64, milliseconds: u64) -> Limited {
    let star = star(&vec![LINE; hosts], 1_000);
    let mut scenario = Scenario::new("limited", star.network.clone(), Time::from_millis(milliseconds));
    scenario.transport = fixed_window(200);
    let limits = StaticLimits { pair_rate: pair, burst: Bytes::new(burst) };
    let machine = services(&star.network, &[("a", class)]);
    scenario.sharing = Some(Sharing::new(HostSchemeConfig::StaticLimits(limits), machine));
    Limited { star, scenario }
}

fn of_a(mut traffic: Traffic) -> Traffic {
    traffic.service = Some("a".to_owned());
    traffic
}

/// Full frames that a bucket lets through in whole milliseconds.
fn frames(burst: u64, rate: Rate, milliseconds: u64) -> u64 {
    (burst * 8 + rate.bits_per_second() / 1_000 * milliseconds) / (8 * FRAME)
}

fn machine<'a>(outcome: &'a Outcome, service: &str, host: usize) -> &'a MachineShare {
    &outcome.sharing.as_ref().unwrap().service(service).unwrap().machines[host]
}

/// Catches: tokens that are lost to rounding, or taken twice.
#[test]
fn a_pair_sends_exactly_the_tokens_of_its_bucket() {
    for rate in [GIGABIT, Rate::from_bits_per_second(777_777_777)] {
        let Limited { star, mut scenario } = limited(2, None, Some(rate), 10 * FRAME, 20);
        scenario.traffic = vec![of_a(endless("flow", star.hosts[0], star.hosts[1]))];
        let outcome = run(&scenario, 1);
        assert_eq!(outcome.flows[0].sent, frames(10 * FRAME, rate, 20), "at {rate}");
        assert_eq!(machine(&outcome, "a", 0).sent, outcome.flows[0].sent_bytes);
    }
}

/// Catches: a class whose bucket counts for each pair, or a pair that goes first again and again.
#[test]
fn two_pairs_of_a_class_share_its_bucket_in_turn() {
    let Limited { star, mut scenario } = limited(3, Some(GIGABIT), None, 4 * FRAME, 20);
    scenario.traffic = vec![
        of_a(endless("one", star.hosts[0], star.hosts[1])),
        of_a(endless("other", star.hosts[0], star.hosts[2])),
        endless("best effort", star.hosts[1], star.hosts[2]),
    ];
    let outcome = run(&scenario, 1);
    let [one, other, free] = [0, 1, 2].map(|flow| outcome.flows[flow].sent);
    assert_eq!(one + other, frames(4 * FRAME, GIGABIT, 20));
    // The first flow takes the burst of four frames before the second one comes.
    assert!(one.abs_diff(other) <= 5, "{one} and {other} segments");
    assert!(free > 10 * one, "best effort is in no class that is limited, and sent {free} segments");
}

/// Catches: flows of one pair that overtake one another.
#[test]
fn flows_of_a_pair_take_turns() {
    let Limited { star, mut scenario } = limited(2, None, Some(GIGABIT), FRAME, 20);
    let flow = |name: &str| of_a(endless(name, star.hosts[0], star.hosts[1]));
    scenario.traffic = ["x", "y", "z"].map(flow).to_vec();
    let outcome = run(&scenario, 1);
    let sent: Vec<u64> = outcome.flows.iter().map(|flow| flow.sent).collect();
    assert_eq!(sent.iter().sum::<u64>(), frames(FRAME, GIGABIT, 20));
    // The first one has the burst before the others come, and the run ends within a turn.
    assert!(sent.iter().max().unwrap() - sent.iter().min().unwrap() <= 2, "{sent:?}");
}

/// Catches: a bucket that delays what it has tokens for, or that lets more through at once.
#[test]
fn a_burst_leaves_at_the_line_rate_and_the_next_frame_when_it_is_earned() {
    let ends = |segments: u64, pair: Option<Rate>| {
        let Limited { star, mut scenario } = limited(2, None, pair, 10 * FRAME, 20);
        scenario.traffic = vec![of_a(once("burst", &[(star.hosts[0], star.hosts[1])], segments * 1_460))];
        run(&scenario, 1).traffic[0].completions.times().max().unwrap()
    };
    assert_eq!(ends(10, Some(GIGABIT)), ends(10, None));
    // The eleventh frame leaves when it is earned, and takes two links of 10 Gbit/s and 1 us.
    let earned = takes(FRAME, GIGABIT) + 2 * (takes(FRAME, LINE) + 1_000_000);
    assert_eq!(ends(11, Some(GIGABIT)), earned.max(ends(11, None)));
}

/// Catches: packets that are lost without being counted, or that wait in more room than there is.
#[test]
fn packets_of_a_source_wait_for_tokens_and_are_dropped_at_a_full_queue() {
    let Limited { star, mut scenario } = limited(2, None, Some(GIGABIT), FRAME, 20);
    let room = 8;
    scenario.sharing.as_mut().unwrap().packet_queue = Bytes::new(room * FRAME);
    let kind = PacketKind::ConstantRate { rate: Rate::from_gbit(2) };
    let ends = FlowEndpoints::Pairs(vec![(star.hosts[0], star.hosts[1])]);
    scenario.traffic = vec![of_a(Traffic::packets("cbr", ends, kind, Bytes::new(FRAME)))];
    let outcome = run(&scenario, 1);
    let (flow, machine) = (&outcome.flows[0], machine(&outcome, "a", 0));
    assert_eq!(machine.sent.get(), frames(FRAME, GIGABIT, 20) * FRAME);
    assert_eq!(machine.drops, flow.drops, "nothing is lost in the network");
    let left = machine.sent.get() / FRAME;
    assert!(
        (flow.sent - left - flow.drops).abs_diff(room) <= 1,
        "{} sent, {left} left, {} dropped",
        flow.sent,
        flow.drops
    );
    // Behind `room` others it waits for as many frames, and at most for one more.
    let (longest, frame) = (flow.delay.max().unwrap(), takes(FRAME, GIGABIT));
    assert!(room * frame < longest && longest < (room + 1) * frame + 2 * (takes(FRAME, LINE) + 1_000_000));
}

/// Catches: tokens of a segment that was granted and never sent, which are lost.
#[test]
fn short_segments_are_charged_for_their_own_bytes_only() {
    let Limited { star, mut scenario } = limited(2, None, Some(GIGABIT), FRAME, 100);
    // 1,461 B are two segments: 1,538 B and 79 B on the wire.
    let flows = (0..500).map(|_| (0, star.hosts[0], star.hosts[1], 1_461)).collect::<Vec<_>>();
    scenario.traffic = vec![of_a(crate::truth::networks::listed("short", &flows))];
    let outcome = run(&scenario, 1);
    let last = outcome.traffic[0].completions.times().max().unwrap();
    let earned = takes(500 * (FRAME + 79) - FRAME, GIGABIT);
    let path_delay = 2 * (takes(FRAME, LINE) + 1_000_000);
    assert!(earned < last && last <= earned + path_delay, "{last} ps, and {earned} ps are needed for the tokens");
}

/// Catches: a pair that is never forgotten, or too early.
#[test]
fn a_long_idle_pair_is_forgotten_with_its_bucket() {
    let drops = |idle: u64| {
        let Limited { star, mut scenario } = limited(2, None, Some(Rate::from_bits_per_second(1_000)), 10 * FRAME, 40);
        let sharing = scenario.sharing.as_mut().unwrap();
        (sharing.idle_timeout, sharing.packet_queue) = (Time::from_millis(idle), Bytes::ZERO);
        let kind = |phase| PacketKind::TokenBucket {
            rate: Rate::from_bits_per_second(1),
            burst: Bytes::new(10 * FRAME),
            phase,
        };
        let burst = |name: &str, at| {
            let ends = FlowEndpoints::Pairs(vec![(star.hosts[0], star.hosts[1])]);
            let mut traffic =
                Traffic::packets(name, ends, kind(wayleave_scenarios::StartPhase::Together), Bytes::new(FRAME));
            traffic.start = Time::from_millis(at);
            of_a(traffic)
        };
        scenario.traffic = vec![burst("first", 0), burst("second", 20)];
        run(&scenario, 1).flows.iter().map(|flow| flow.drops).collect::<Vec<_>>()
    };
    assert_eq!(drops(30), [0, 10], "the bucket is empty");
    assert_eq!(drops(5), [0, 0], "a new pair has a full bucket");
}

/// Catches: a limit that is recorded wrongly, or series that lose bytes.
#[test]
fn series_of_machines_and_limits_add_up() {
    let Limited { star, mut scenario } = limited(2, Some(GIGABIT), None, FRAME, 20);
    scenario.record.series = Some(Time::from_millis(1));
    scenario.traffic = vec![of_a(endless("flow", star.hosts[0], star.hosts[1]))];
    let outcome = run(&scenario, 1);
    let (sender, receiver) = (machine(&outcome, "a", 0), machine(&outcome, "a", 1));
    assert_eq!(sender.transmit.as_ref().unwrap().total(), sender.sent.get());
    assert_eq!(receiver.receive.as_ref().unwrap().total(), receiver.received.get());
    assert!(sender.receive.is_none() && receiver.transmit.is_none());
    let mut limit = sender.limit.as_ref().unwrap().bins(20_000_000_000);
    assert!(limit.all(|bin| (bin.mean() - 1e9).abs() < 1.0));
}

/// Catches: virtual machines whose pairs are taken for one, whose service is forgotten, or that are counted together. Two
/// of one host send to a third one: two pairs, each with a limiter of its own, where two flows of hosts share one.
#[test]
fn pairs_of_virtual_machines_on_the_same_two_hosts_are_distinguished() {
    let sent = |has_vms: bool| {
        let Limited { star, mut scenario } = limited(2, None, Some(GIGABIT), 10 * FRAME, 20);
        let vm = |name: &str, host: usize| ScenarioVm {
            name: name.to_owned(),
            host: star.hosts[host],
            service: Some("a".to_owned()),
        };
        scenario.vms = vec![vm("one", 0), vm("other", 0), vm("to", 1)];
        let ends: FlowEndpoints<Endpoint> = if has_vms {
            let end = |vm| Endpoint::of_vm(&scenario.vms, vm).unwrap();
            // Traffic within a host is not a pair.
            FlowEndpoints::AllToAll(vec![end(0), end(1)], vec![end(1), end(2)])
        } else {
            let pair = (star.hosts[0].into(), star.hosts[1].into());
            FlowEndpoints::Pairs(vec![pair, pair])
        };
        let flows = Workload::Flows(Reliable::new(FlowArrivals::Once, None));
        let mut traffic = Traffic::new("flows", ends, flows);
        traffic.service = (!has_vms).then(|| "a".to_owned());
        scenario.traffic = vec![traffic];
        let outcome = run(&scenario, 1);
        let sent: Vec<_> = outcome.flows.iter().map(|flow| (flow.endpoints, flow.sent)).collect();
        assert_eq!(machine(&outcome, "a", 0).sent.get(), sent.iter().map(|(_, sent)| sent * FRAME).sum::<u64>());
        sent
    };
    let each = frames(10 * FRAME, GIGABIT, 20);
    let vms = sent(true);
    assert_eq!(vms.iter().map(|flow| flow.0).collect::<Vec<_>>(), [(1, 3), (2, 3)]);
    // The line is busy with the other's burst when some tokens come.
    assert!(vms.iter().all(|(_, sent)| sent.abs_diff(each) <= 1), "{vms:?}, {each} expected");
    let hosts = sent(false);
    assert_eq!((hosts.len(), hosts[0].0), (1, (0, 0)));
    assert_eq!(hosts[0].1, each);
}
