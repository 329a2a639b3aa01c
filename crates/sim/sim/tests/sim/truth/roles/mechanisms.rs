//! Actions that a host role can ask for, one at a time.

use std::sync::{Arc, Mutex};

use wayleave_scenarios::{
    Buffering, Congestion, Element, ElementChange, FlowEndpoints, HostSchemeConfig, Outage, PacketKind, SchemeOf,
    StaticLimits, Traffic,
};
use wayleave_scheme_api::{
    Broker, BrokerAction, BrokerInput, Bucket, ClassId, CustomBroker, Departure, DynRole, ExcessAction, HopWindow,
    HostAction, HostInput, IntHop, Leadership, Limiter, LocalFlow, NoRole, Path, PathIndex, PathReport, PathUse, Peer,
    Probe, ProbeKind, ProbeOutcome, Tunnel, TunnelAck, TunnelEntry, TunnelPacket, TunnelQueue, Weighted,
};
use wayleave_sim::{BrokerLocation, Outcome};
use wayleave_topology::LinkId;
use wayleave_units::{Bytes, Rate, Time};

use super::{LINE, Parts, broker_spec, diamond, of, run_with, scenario, script, telling};
use crate::truth::networks::{FRAME, assert_near, endless, fixed_window, flow, once, ports, star};

fn constant(name: &str, from: wayleave_topology::NodeId, to: wayleave_topology::NodeId, rate: Rate) -> Traffic {
    let kind = PacketKind::ConstantRate { rate };
    Traffic::packets(name, FlowEndpoints::Pairs(vec![(from, to)]), kind, Bytes::new(FRAME))
}

/// Full frames that a link carried.
fn sent(outcome: &Outcome, link: LinkId) -> u64 {
    outcome.links.iter().find(|of| of.link == link).unwrap().sent.get() / FRAME
}

/// A host that gives every pair this window on every path.
fn windows(window: u64) -> Parts {
    Parts::new(move |_| {
        script(move |_, input, act| {
            if let HostInput::Opened { pair, spec } = input {
                for path in (0..spec.paths).map(PathIndex) {
                    act(HostAction::SetWindow { pair, path, window: Some(Bytes::new(window)) });
                }
            }
        })
    })
}

/// Catches: a window that does not hold, or that counts what has been answered. On a star of two hosts, 1 us away from
/// their switch, a frame takes 2 (1,230.4 + 1,000) ns and its answer 2 (67.2 + 1,000) ns: ten frames in 6,595.2 ns.
#[test]
fn a_pair_sends_one_window_per_round_trip() {
    let round_trip = 2.0 * (1_230.4 + 1_000.0) + 2.0 * (67.2 + 1_000.0);
    let star = star(&[LINE; 2], 1_000);
    for frames in [1, 3] {
        let expected = frames as f64 * 5e6 / round_trip;
        let reliable = endless("flow", star.hosts[0], star.hosts[1]);
        let datagrams = constant("packets", star.hosts[0], star.hosts[1], Rate::from_gbit(9));
        for traffic in [reliable, datagrams] {
            let mut scenario = scenario(&star.network, 5);
            scenario.transport = fixed_window(200);
            let name = traffic.name.clone();
            scenario.traffic = vec![of("a", traffic)];
            let outcome = run_with(&scenario, windows(frames * FRAME), 1);
            let sent = outcome.flows[0].delivered;
            assert_near(sent as f64, expected, 0.003, &format!("{name} with {frames} frames"));
        }
    }
}

/// Catches: a window below a packet that is taken for zero, or for a packet. A quarter of a frame is a frame in four
/// base round trips, whose length the pair receives when it opens.
#[test]
fn a_window_below_a_packet_is_a_packet_in_several_round_trips() {
    let star = star(&[LINE; 2], 1_000);
    let mut scenario = scenario(&star.network, 5);
    scenario.transport = fixed_window(200);
    scenario.traffic = vec![of("a", endless("flow", star.hosts[0], star.hosts[1]))];
    let seen = Arc::new(Mutex::new(Time::ZERO));
    let shared = seen.clone();
    let parts = Parts::new(move |_| {
        let shared = shared.clone();
        script(move |_, input, act| {
            if let HostInput::Opened { pair, spec } = input {
                *shared.lock().unwrap() = spec.round_trip;
                let window = Some(Bytes::new(FRAME / 4));
                act(HostAction::SetWindow { pair, path: PathIndex(0), window });
            }
        })
    });
    let outcome = run_with(&scenario, parts, 1);
    let round_trip = seen.lock().unwrap().as_nanos() as f64;
    // FRAME / 4 is rounded down to 384 B.
    let expected = 5e6 / (round_trip * FRAME as f64 / 384.0);
    assert_near(outcome.flows[0].delivered as f64, expected, 0.01, "frames");
}

/// Catches: a window that counts lost packets for ever. Two thirds of all frames find no room in the switch; with a
/// silent cut of the link for some time, all packets in flight are lost at once.
#[test]
fn a_window_never_freezes_for_any_number_of_losses() {
    let star = star(&[LINE, Rate::from_gbit(1)], 1_000);
    for is_reliable in [true, false] {
        let mut scenario = scenario(&star.network, 200);
        scenario.transport.congestion = Congestion::fixed_window(200);
        scenario.switches = ports(wayleave_scenarios::Discipline::Fifo, Buffering::EachQueue(Bytes::new(2 * FRAME)));
        let traffic = match is_reliable {
            true => endless("flow", star.hosts[0], star.hosts[1]),
            false => constant("packets", star.hosts[0], star.hosts[1], Rate::from_gbit(3)),
        };
        scenario.traffic = vec![of("a", traffic)];
        let link = Element::Link(star.down[1]);
        let outage = |at, change| Outage { at: Time::from_millis(at), what: link, change };
        scenario.outages = vec![outage(50, ElementChange::FailsSilently), outage(100, ElementChange::Works)];
        scenario.record.series = Some(Time::from_millis(10));
        let outcome = run_with(&scenario, windows(20 * FRAME), 1);
        let machine = &outcome.sharing.as_ref().unwrap().service("a").unwrap().machines[1];
        let series = machine.receive.as_ref().unwrap();
        let bins: Vec<u64> = series.bins(200_000_000_000).map(|bin| bin.amount).collect();
        let last: u64 = bins.iter().rev().take(5).sum();
        // Of 1 Gbit/s in 50 ms, at any cost of the retransmissions.
        assert!(last > 6_250_000 / 2, "reliable: {is_reliable}, {last} B in the last 50 ms");
    }
}

/// Catches: a limiter that queues where it has to drop.
#[test]
fn a_dropping_bucket_passes_its_tokens_and_queues_nothing() {
    let star = star(&[LINE; 2], 1_000);
    let mut scenario = scenario(&star.network, 20);
    scenario.traffic = vec![of("a", constant("packets", star.hosts[0], star.hosts[1], Rate::from_gbit(2)))];
    let parts = Parts::new(|_| {
        script(|_, input, act| {
            if let HostInput::Opened { pair, .. } = input {
                let bucket =
                    Bucket { rate: Rate::from_gbit(1), burst: Bytes::new(4 * FRAME), excess: ExcessAction::Drops };
                act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket: Some(bucket) });
            }
        })
    });
    let outcome = run_with(&scenario, parts, 1);
    let packets = flow(&outcome, 0);
    let allowed = 4 + 1_000_000_000 / 50 / (8 * FRAME);
    assert!(packets.delivered.abs_diff(allowed) <= 1, "{} of {allowed}", packets.delivered);
    assert!(packets.sent - packets.delivered - packets.drops <= 1, "one may be on the way at the end");
    // No packet waited: two links, two cables, and the packet before, if there was one.
    assert!(packets.delay.max().unwrap() <= 2 * (1_230_400 + 1_000_000));
    let machine = &outcome.sharing.as_ref().unwrap().service("a").unwrap().machines[0];
    assert_eq!(machine.drops, packets.drops);
}

/// Catches: weights that are not applied, or that cost work conservation.
#[test]
fn classes_share_the_interface_of_their_host_by_weight_and_lend_the_rest() {
    let star = star(&[LINE; 3], 1_000);
    let weigh = || {
        Parts::new(|_| {
            script(|_, input, act| {
                if let HostInput::ClassSet { class, .. } = input {
                    act(HostAction::SetWeight { of: Weighted::Class(class), weight: if class.0 == 2 { 3 } else { 1 } });
                }
            })
        })
    };
    let hosts = &star.hosts;
    // Flows of a, packets of b, and the other way round; twice as much as the line carries.
    let flows = |service, to| of(service, endless(service, hosts[0], hosts[to]));
    let packets = |service, to| of(service, constant(service, hosts[0], hosts[to], LINE));
    for traffic in [vec![flows("a", 1), packets("b", 2)], vec![packets("a", 1), flows("b", 2)]] {
        let mut scenario = scenario(&star.network, 10);
        scenario.transport = fixed_window(100);
        scenario.traffic = traffic;
        let outcome = run_with(&scenario, weigh(), 1);
        let sent = |name| outcome.sharing.as_ref().unwrap().service(name).unwrap().machines[0].sent.get() as f64;
        let received = |traffic: usize| flow(&outcome, traffic).delivered as f64;
        assert_near(received(1) / received(0), 3.0, 0.02, "b over a");
        assert_near((received(0) + received(1)) * FRAME as f64, 12_500_000.0, 0.01, "together");
        assert!(sent("a") > 0.0 && sent("b") > 0.0);
    }
    // Alone, a has everything.
    let mut scenario = scenario(&star.network, 10);
    scenario.transport = fixed_window(100);
    scenario.traffic = vec![flows("a", 1)];
    let outcome = run_with(&scenario, weigh(), 1);
    assert_near(outcome.flows[0].delivered as f64 * FRAME as f64, 12_500_000.0, 0.01, "a alone");
}

/// Catches: packets that keep to a path that was left, or take one before its time.
#[test]
fn packets_take_the_path_chosen_by_the_host_from_the_given_time() {
    let diamond = diamond(1);
    let mut scenario = scenario(&diamond.network, 4);
    scenario.transport = fixed_window(20);
    scenario.traffic = vec![of("a", endless("flow", diamond.left[0], diamond.right[0]))];
    let parts = Parts::new(|_| {
        script(|now, input, act| match input {
            HostInput::Opened { pair, .. } => {
                act(HostAction::UsePath { pair, path: PathIndex(0), purpose: PathUse::Share, from: now });
                act(HostAction::Arm { at: Time::from_millis(2), timer: u64::from(pair.0) });
            }
            HostInput::Timer(pair) => {
                let pair = wayleave_scheme_api::Outgoing(pair as u32);
                let from = now + Time::from_millis(1);
                act(HostAction::UsePath { pair, path: PathIndex(1), purpose: PathUse::Share, from });
                act(HostAction::LeavePath { pair, path: PathIndex(0) });
            }
            _ => {}
        })
    });
    let outcome = run_with(&scenario, parts, 1);
    let [first, second] = [0, 1].map(|path| sent(&outcome, diamond.to_spine[path]));
    // Two ms on the first, nothing for one, one on the second, at line rate; acknowledgements take the opposite
    // direction.
    let frames = |milliseconds: f64| milliseconds * 1e6 / 1_230.4;
    assert_near(first as f64, frames(2.0), 0.01, "frames on the first path");
    assert_near(second as f64, frames(1.0), 0.02, "frames on the second path");
}

/// A path role for all flows of a pair: each flow has its path, and reports on paths are recorded.
struct ByFlow(Arc<Mutex<Vec<PathReport>>>);

impl Path for ByFlow {
    fn choose(&mut self, _: Time, _: Departure) -> u32 {
        panic!("a pair's path role is asked with the flow");
    }
    fn choose_for(&mut self, _: Time, flow: LocalFlow, departure: Departure) -> u32 {
        flow.0 % departure.paths
    }
    fn on_report(&mut self, _: Time, report: PathReport) {
        self.0.lock().unwrap().push(report);
    }
}

#[test]
fn one_path_role_serves_all_flows_of_a_pair_with_their_acknowledgements() {
    let diamond = diamond(1);
    let mut scenario = scenario(&diamond.network, 5);
    let (from, to) = (diamond.left[0], diamond.right[0]);
    scenario.traffic = vec![of("a", once("flows", &[(from, to); 4], 150 * 1460))];
    let reports = Arc::new(Mutex::new(Vec::new()));
    let shared = reports.clone();
    let mut parts = Parts::new(|_| Box::new(DynRole::new(NoRole, |never: &std::convert::Infallible| match *never {})));
    parts.path = Box::new(move |_, _| Some(Box::new(ByFlow(shared.clone()))));
    let outcome = run_with(&scenario, parts, 1);
    assert_eq!(outcome.traffic[0].completions.finished(), 4);
    // Four flows of a pair, two for each path.
    let sent = [0, 1].map(|path| sent(&outcome, diamond.to_spine[path]));
    assert_eq!(sent, [300, 300]);
    let reports = reports.lock().unwrap();
    let bytes = |path| reports.iter().filter(|report| report.path == path).map(|report| report.bytes).sum::<u64>();
    assert_eq!([bytes(0), bytes(1)], [300 * 1460; 2]);
    // Nothing is faster than an empty network: four cables of 1 us in each direction.
    assert!(reports.iter().all(|report| report.round_trip.unwrap() > Time::from_micros(8)));
}

/// A tunnel with a maximum number of packets, which marks while it holds more than five.
struct Short {
    most: u32,
    holds_back: bool,
}

impl Tunnel for Short {
    fn on_arrival(&mut self, _: Time, _: TunnelPacket, queue: TunnelQueue) -> TunnelEntry {
        match queue.packets < self.most {
            true => TunnelEntry::Queued,
            false if self.holds_back => TunnelEntry::HeldBack,
            false => TunnelEntry::Dropped,
        }
    }
    fn on_ack(&mut self, _: Time, _: LocalFlow, ack: TunnelAck, queue: TunnelQueue) -> u64 {
        if queue.packets > 5 { ack.newly } else { 0 }
    }
}

/// Catches: bytes that a tunnel loses, and transports that see marks of the network.
#[test]
fn a_tunnel_accounts_for_every_byte_and_its_limiter_for_the_rate() {
    let star = star(&[LINE; 2], 1_000);
    for (holds_back, congestion) in
        [(false, Congestion::newreno()), (true, Congestion::fixed_window(64)), (false, Congestion::dctcp())]
    {
        let mut scenario = scenario(&star.network, 50);
        scenario.transport.congestion = congestion.clone();
        let (from, to) = (star.hosts[0], star.hosts[1]);
        scenario.traffic = vec![
            of("a", endless("one", from, to)),
            of("a", endless("two", from, to)),
            of("a", constant("packets", from, to, Rate::from_mbit(200))),
        ];
        let mut parts = Parts::new(|_| {
            script(|_, input, act| {
                if let HostInput::Opened { pair, .. } = input {
                    let bucket =
                        Bucket { rate: Rate::from_gbit(1), burst: Bytes::new(2 * FRAME), excess: ExcessAction::Waits };
                    act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket: Some(bucket) });
                }
            })
        });
        parts.tunnel = Box::new(move |_, _| Some(Box::new(Short { most: 20, holds_back })));
        let outcome = run_with(&scenario, parts, 1);
        let sharing = outcome.sharing.as_ref().unwrap();
        let counts = sharing.tunnels[0].counts;
        assert_eq!(counts.arrived, counts.departed + counts.queued + counts.dropped, "{congestion:?}");
        assert!(counts.longest <= 20);
        assert_eq!(counts.dropped > Bytes::ZERO, congestion == Congestion::newreno() || holds_back, "{congestion:?}");
        assert_eq!(counts.departed, sharing.service("a").unwrap().machines[0].sent);
        assert_near(counts.departed.get() as f64, 1e9 / 8.0 * 0.05, 0.01, "bytes through the limiter");
        let machine = &sharing.service("a").unwrap().machines[0];
        let host_drops: u64 = outcome.flows.iter().map(|flow| flow.drops).sum();
        assert_eq!(machine.drops, host_drops, "nothing is lost elsewhere");
    }
}

/// Return time of a probe, its path, its outcome and its records.
type Returned = (Time, PathIndex, ProbeOutcome, Vec<IntHop>);

/// Catches: probes that skip ports, or whose loss is reported.
#[test]
fn a_probe_takes_its_path_and_returns_the_records_of_ports() {
    let diamond = diamond(1);
    let mut scenario = scenario(&diamond.network, 2);
    scenario.switches = telling();
    scenario.transport = fixed_window(1);
    scenario.traffic = vec![of("a", once("flow", &[(diamond.left[0], diamond.right[0])], 100))];
    let arrived: Arc<Mutex<Vec<Returned>>> = Arc::default();
    let shared = arrived.clone();
    let parts = Parts::new(move |_| {
        let shared = shared.clone();
        script(move |now, input, act| match input {
            HostInput::Opened { pair, spec } => {
                for path in (0..spec.paths).map(PathIndex) {
                    let probe = Probe::new(spec.key, ProbeKind::Candidate, 7);
                    act(HostAction::SendProbe { pair, path, probe, windows: vec![HopWindow::new(Bytes::new(5))] });
                }
            }
            HostInput::ProbeReturned { path, outcome, hops, .. } => {
                shared.lock().unwrap().push((now, path, outcome, hops.to_vec()));
            }
            _ => {}
        })
    });
    let outcome = run_with(&scenario, parts, 1);
    let arrived = arrived.lock().unwrap();
    assert_eq!(arrived.iter().map(|(_, path, ..)| path.0).collect::<Vec<_>>(), [0, 1]);
    for (at, _, outcome, hops) in arrived.iter() {
        assert!(matches!(outcome, ProbeOutcome::Answered(answer) if answer.tokens.is_none()));
        // Leaf, spine, leaf; the windows that the sender wrote are still there, since no switch keeps sums.
        assert_eq!(hops.len(), 3);
        assert!(hops.iter().all(|hop| hop.rate == LINE && hop.windows == Bytes::new(5)));
        assert!(hops.windows(2).all(|hops| hops[0].at < hops[1].at));
        // 38 + 24 + 3 x 9 = 89 B, eight transmissions of 71.2 ns, and eight cables.
        assert!(*at >= Time::from_nanos(8_569), "{at}");
    }
    let probes = outcome.sharing.as_ref().unwrap().probes;
    assert_eq!((probes.sent, probes.lost, probes.bytes), (2, 0, Bytes::new(2 * 89)));
}

/// Catches: failures that are reported although they are silent, or not reported although they are not.
#[test]
fn a_probe_into_a_failed_link_returns_as_failed_unless_the_failure_is_silent() {
    for silent in [false, true] {
        let diamond = diamond(1);
        let mut scenario = scenario(&diamond.network, 3);
        scenario.switches = telling();
        scenario.traffic = vec![of("a", once("flow", &[(diamond.left[0], diamond.right[0])], 100))];
        // The last link: there is no other path, so the path stays.
        let outage = Outage {
            at: Time::from_millis(1),
            what: Element::Link(diamond.down[0]),
            change: if silent { ElementChange::FailsSilently } else { ElementChange::Fails },
        };
        scenario.outages = vec![outage];
        let arrived: Arc<Mutex<Vec<ProbeOutcome>>> = Arc::default();
        let shared = arrived.clone();
        let parts = Parts::new(move |_| {
            let shared = shared.clone();
            script(move |_, input, act| match input {
                HostInput::Opened { pair, .. } => {
                    act(HostAction::Arm { at: Time::from_millis(2), timer: u64::from(pair.0) });
                }
                HostInput::Timer(pair) => {
                    let pair = wayleave_scheme_api::Outgoing(pair as u32);
                    let probe = Probe::new(1, ProbeKind::Active, 1);
                    act(HostAction::SendProbe { pair, path: PathIndex(0), probe, windows: vec![HopWindow::default()] });
                }
                HostInput::ProbeReturned { outcome, hops, .. } => {
                    assert_eq!(hops.len(), 2, "the ports up to there have seen it");
                    shared.lock().unwrap().push(outcome);
                }
                _ => {}
            })
        });
        let outcome = run_with(&scenario, parts, 1);
        let expected: &[ProbeOutcome] = if silent { &[] } else { &[ProbeOutcome::Failed] };
        assert_eq!(*arrived.lock().unwrap(), expected, "silent: {silent}");
        assert_eq!(outcome.sharing.unwrap().probes.lost, u64::from(silent));
    }
}

/// Catches: one scheme for all classes, and messages or timers that reach another scheme.
#[test]
fn several_schemes_share_one_host_each_with_its_classes() {
    let star = star(&[LINE; 3], 1_000);
    let mut scenario = scenario(&star.network, 20);
    scenario.transport = fixed_window(100);
    let sharing = scenario.sharing.as_mut().unwrap();
    let limits = StaticLimits { pair_rate: Some(Rate::from_gbit(1)), burst: Bytes::new(4 * FRAME) };
    let services = vec!["a".to_owned()];
    sharing.other_schemes = vec![SchemeOf { scheme: HostSchemeConfig::StaticLimits(limits), services }];
    let hosts = &star.hosts;
    scenario.traffic = vec![of("a", endless("a", hosts[0], hosts[1])), of("b", endless("b", hosts[0], hosts[2]))];
    let classes: Arc<Mutex<Vec<ClassId>>> = Arc::default();
    let shared = classes.clone();
    let parts = Parts::new(move |_| {
        let shared = shared.clone();
        script(move |_, input, act| match input {
            HostInput::ClassSet { class, .. } => shared.lock().unwrap().push(class),
            HostInput::Opened { pair, .. } => {
                let bucket =
                    Bucket { rate: Rate::from_gbit(2), burst: Bytes::new(4 * FRAME), excess: ExcessAction::Waits };
                act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket: Some(bucket) });
                act(HostAction::Send { to: Peer::Receiver(pair), message: 5 });
            }
            HostInput::Message { message, .. } => assert_eq!(message, 5),
            _ => {}
        })
    });
    let outcome = run_with(&scenario, parts, 1);
    let frames = |rate: u64| (4 * FRAME * 8 + rate * 20_000_000) / (8 * FRAME);
    assert_eq!(outcome.flows[0].sent, frames(1), "a by the fixed limits");
    assert_eq!(outcome.flows[1].sent, frames(2), "b by the scheme from outside");
    let classes = classes.lock().unwrap();
    assert!(!classes.contains(&ClassId(1)) && classes.contains(&ClassId(2)), "{classes:?}");
    assert_eq!(outcome.sharing.unwrap().messages.sent, 1);
}

/// A name without a given scheme is an error before anything runs.
#[test]
fn a_missing_scheme_is_an_error_with_its_name() {
    let star = star(&[LINE; 2], 0);
    let mut scenario = scenario(&star.network, 1);
    scenario.traffic = vec![of("a", once("flow", &[(star.hosts[0], star.hosts[1])], 100))];
    let error = wayleave_sim::run(&scenario, 1, |_| true).unwrap_err();
    assert!(error.to_string().contains("scheme outside is not in this repository"), "{error}");
}

/// Records the times of its inputs.
struct Listener(Arc<Mutex<Vec<Time>>>);

impl Broker for Listener {
    type Message = u64;
    type Timer = ();

    fn on(&mut self, now: Time, input: BrokerInput<u64, ()>, _: &mut dyn FnMut(BrokerAction<u64, ()>)) {
        if let BrokerInput::Message { .. } = input {
            self.0.lock().unwrap().push(now);
        }
    }
}

/// Catches messages that are lost because they have no network to cross, and a delay that is not the seat's.
#[test]
fn an_external_broker_receives_messages_after_its_configured_delay() {
    for away in [Time::ZERO, Time::from_micros(100)] {
        let diamond = diamond(1);
        let mut scenario = scenario(&diamond.network, 1);
        scenario.traffic.push(constant("none of the scheme", diamond.left[0], diamond.right[0], Rate::from_mbit(10)));
        let arrived: Arc<Mutex<Vec<Time>>> = Arc::default();
        let mut parts = Parts::new(|place| {
            let to = Peer::Broker(place.first_broker);
            script(move |_, input, act| {
                if let HostInput::Started = input {
                    act(HostAction::Send { to, message: 1 });
                }
            })
        });
        let list = arrived.clone();
        let broker = Box::new(move || -> CustomBroker { Box::new(DynRole::new(Listener(list.clone()), |_: &u64| 84)) });
        parts.broker = Some((broker_spec(BrokerLocation::Outside(away), Leadership::Follower), broker));
        let outcome = run_with(&scenario, parts, 1);
        assert_eq!(*arrived.lock().unwrap(), [away; 2], "one message of each host");
        assert_eq!(outcome.sharing.unwrap().messages.sent, 2);
    }
}
