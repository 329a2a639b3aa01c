//! Telemetry that ports write into packets, and causes of drops.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use wayleave_scenarios::{
    Buffering, Congestion, Discipline, Element, ElementChange, FlowArrivals, FlowEndpoints, FlowSizes, Outage,
    PacketKind, Scenario, Traffic, Workload,
};
use wayleave_scheme_api::{IntHop, Mark, ProbeAt, QueueState, Switch};
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_topology::{LinkId, Network, NodeId, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

use super::{DropCause, Dropped, Health, Step};
use crate::custom::Custom;
use crate::engine::Engine;
use crate::packet::{Kind, Packet};

/// Two hosts at a switch, with two queues everywhere, 10 Gbit/s.
fn star() -> (Arc<Network>, NodeId, NodeId) {
    let port = PortSpec::uniform(2, Bytes::new(1_000_000));
    let rate = Rate::from_gbit(10);
    let cabling = Cabling { rate, switch_port: port.clone(), host_port: port, ..Cabling::default() };
    let network = Arc::new(build::star(2, cabling).unwrap());
    let hosts: Vec<NodeId> = network.hosts().collect();
    (network, hosts[0], hosts[1])
}

/// A queue as seen by an observer who only counts packets that come and go.
#[derive(Default)]
struct Counter {
    waiting: VecDeque<u32>,
    departed: u64,
    records: u64,
    latest: Time,
}

/// Compares every record of one queue with a counter.
struct Checked(Arc<Mutex<[Counter; 2]>>, usize);

impl Switch for Checked {
    fn on_arrival(&mut self, _now: Time, _queue: QueueState, bytes: u32) -> Mark {
        self.0.lock().unwrap()[self.1].waiting.push_back(bytes);
        Mark::Congestion
    }

    fn on_telemetry(&mut self, now: Time, probe: Option<&ProbeAt>, hop: &mut IntHop) {
        let counter = &mut self.0.lock().unwrap()[self.1];
        let bytes = counter.waiting.pop_front().unwrap();
        let behind: u64 = counter.waiting.iter().map(|&bytes| u64::from(bytes)).sum();
        assert_eq!((hop.sent.get(), hop.queue.get()), (counter.departed, behind), "queue {}", self.1);
        assert_eq!((hop.rate, hop.at, probe), (Rate::from_gbit(10), now, None));
        counter.departed += u64::from(bytes);
        counter.records += 1;
        counter.latest = now;
        hop.tokens = 7;
    }
}

/// Segments that ask for telemetry in two queues of the port to the second host, with other segments between them.
fn two_queues(discipline: Discipline) -> Scenario {
    let (network, from, to) = star();
    let mut scenario = Scenario::new("telemetry", network, Time::from_millis(2));
    scenario.warmup = Time::from_millis(1);
    scenario.switches.discipline = discipline;
    scenario.switches.buffering = Buffering::Unlimited;
    scenario.switches.telemetry = true;
    scenario.transport.congestion = Congestion::fixed_window(20);
    for (queue, every) in [(0, 3), (1, 2)] {
        let (ends, size) = (FlowEndpoints::Pairs(vec![(from, to)]), FlowSizes::Fixed(Bytes::new(2_000)));
        let arrivals = FlowArrivals::Every(Time::from_micros(every));
        let mut traffic = Traffic::flows(&format!("q{queue}"), ends, arrivals, size);
        traffic.queue = Some(queue);
        scenario.traffic.push(traffic);
    }
    scenario.validate().unwrap();
    scenario
}

/// Catches counters of the port instead of the queue, and counters that the end of the warm-up resets. The role's own
/// entries reach the packet, and its marks do not reach transports that understand none.
#[test]
fn records_cover_the_queue_of_the_packet_since_the_start_of_the_run() {
    let scenario = two_queues(Discipline::StrictPriority);
    let to = scenario.network.find_link("s1->h2").unwrap();
    let counters = Arc::new(Mutex::new(<[Counter; 2]>::default()));
    let make = |link: LinkId, queue: u8| {
        let role = Checked(counters.clone(), usize::from(queue));
        (link == to).then(|| Box::new(role) as Box<dyn Switch + Send>)
    };
    let custom = Custom { switch: Some(&make), ..Custom::default() };
    let mut engine = Engine::new(&scenario, 1, &custom);
    engine.run(&mut |_| true);
    let telemetry = engine.fabric().telemetry();
    let open = (1..100).flat_map(|stack| telemetry.get(stack)).filter(|hop| hop.sent > Bytes::ZERO);
    assert!(open.clone().count() > 0 && open.clone().all(|hop| hop.tokens == 7), "segments on the way");
    for (queue, counter) in counters.lock().unwrap().iter().enumerate() {
        assert!(counter.records > 500, "{} records of queue {queue}", counter.records);
        assert!(counter.latest > Time::from_micros(1_900), "also long after the warm-up");
    }
    let outcome = engine.outcome("telemetry", 1, crate::RunEnd::Complete);
    assert!(outcome.flows.iter().all(|flow| flow.marked == 0));
}

/// A first-come-first-served port with a role from outside holds its packets, and sends all of them in the same order at
/// the same time as without.
#[test]
fn an_external_role_changes_no_time_of_a_fifo_port() {
    let mut scenario = two_queues(Discipline::Fifo);
    scenario.switches.telemetry = false;
    let counters = Arc::new(Mutex::new(<[Counter; 2]>::default()));
    let asked = Mutex::new(Vec::new());
    let make = |link: LinkId, queue: u8| {
        asked.lock().unwrap().push((link.0, queue));
        Some(Box::new(Checked(counters.clone(), 0)) as Box<dyn Switch + Send>)
    };
    let with = crate::run_with(&scenario, 1, &Custom { switch: Some(&make), ..Custom::default() }, |_| true).unwrap();
    let without = crate::run(&scenario, 1, |_| true).unwrap();
    assert_eq!(*asked.lock().unwrap(), (0..4).map(|link| (link, 0)).collect::<Vec<_>>(), "once for each queue");
    let delays = |outcome: &crate::Outcome| outcome.flows.iter().map(|flow| flow.delay.clone()).collect::<Vec<_>>();
    assert_eq!(delays(&with), delays(&without));
    assert!(counters.lock().unwrap()[0].waiting.len() > 1_000, "it sees every packet");
}

/// Looking ahead, and another event queue, change no result: flows and sources, ports of every order, a failure.
#[test]
fn a_large_network_behaves_like_a_small_one() {
    for discipline in [Discipline::Fifo, Discipline::StrictPriority, Discipline::SmallestRemainingFirst] {
        let port = PortSpec::uniform(2, Bytes::new(60_000));
        let cabling = Cabling { switch_port: port.clone(), host_port: port, ..Cabling::default() };
        let network = Arc::new(build::fat_tree(&FatTree { k: 4, cabling, ..FatTree::default() }).unwrap());
        let hosts: Vec<NodeId> = network.hosts().collect();
        let mut scenario = Scenario::new("large", network.clone(), Time::from_millis(3));
        scenario.warmup = Time::from_millis(1);
        scenario.switches.discipline = discipline.clone();
        let ends = FlowEndpoints::Permutation(hosts.clone());
        let (every, size) = (FlowArrivals::Every(Time::from_micros(70)), FlowSizes::Fixed(Bytes::new(150_000)));
        scenario.traffic.push(Traffic::flows("flows", ends, every, size));
        let rate = Rate::from_mbit(700);
        let kind = PacketKind::Poisson { rate };
        let packets = Workload::Packets { kind, frame: Bytes::new(500) };
        scenario.traffic.push(Traffic { name: "packets".to_owned(), workload: packets, ..scenario.traffic[0].clone() });
        let link = network.find_link("pod1-edge1->pod1-agg1").unwrap();
        for (at, change) in [(1_200, ElementChange::Fails), (1_900, ElementChange::Works)] {
            scenario.outages.push(Outage { at: Time::from_micros(at), what: Element::Link(link), change });
        }
        scenario.validate().unwrap();
        let outcome = |is_large: bool| {
            let mut engine = Engine::new(&scenario, 7, &Custom::default());
            if is_large {
                engine.fabric().events.become_large();
            }
            let ending = engine.run(&mut |_| true);
            let outcome = engine.outcome("large", 7, ending);
            assert!(outcome.hops > 40_000, "{}", outcome.hops);
            format!("{:?}", crate::Outcome { packet_memory: 0, ..outcome })
        };
        assert!(outcome(false) == outcome(true), "{discipline:?}");
    }
}

/// Offers packets of 1,000 B to the port of the first host, and returns their outcomes.
fn offered(engine: &mut Engine, count: u32) -> Vec<Option<DropCause>> {
    let offer = |_| {
        let packet = Packet { size: 1_000, kind: Kind::Datagram, hop: u8::MAX, ..Packet::default() };
        let id = engine.fabric().insert(packet);
        let dropped = engine.fabric().enter(Step::new(0, 0), id, 0);
        dropped.map(|dropped| {
            assert_eq!(dropped.id, id);
            dropped.cause
        })
    };
    (0..count).map(offer).collect()
}

/// The sender of a probe is notified of a link that is known to be down, and of nothing else.
#[test]
fn the_cause_of_a_drop_is_known() {
    for discipline in [Discipline::Fifo, Discipline::StrictPriority] {
        let mut scenario = two_queues(Discipline::Fifo);
        scenario.hosts.discipline = discipline.clone();
        scenario.hosts.buffering = Buffering::EachQueue(Bytes::new(2_500));
        let mut engine = Engine::new(&scenario, 1, &Custom::default());
        assert_eq!(offered(&mut engine, 3), [None, None, Some(DropCause::QueueFull)], "{discipline:?}");
        let causes = |lost: Vec<Dropped>| lost.into_iter().map(|dropped| dropped.cause).collect::<Vec<_>>();
        let lost = engine.fabric().fail(0, Health::Down, 0);
        assert_eq!(causes(lost), [DropCause::LostOnLink; 2], "{discipline:?}");
        assert_eq!(offered(&mut engine, 1), [Some(DropCause::LinkDown)], "{discipline:?}");
        assert!(engine.fabric().repair(0), "everybody knew");
        assert_eq!(offered(&mut engine, 1), [None], "{discipline:?}");
        let lost = engine.fabric().fail(0, Health::SilentlyDown, 0);
        assert_eq!(causes(lost), [DropCause::Silent], "{discipline:?}");
        assert_eq!(offered(&mut engine, 2), [Some(DropCause::Silent); 2], "{discipline:?}");
        assert!(!engine.fabric().repair(0), "nobody knew");
        assert_eq!(engine.fabric().health[0].lost_silently, 3, "{discipline:?}");
        assert_eq!(engine.fabric().records[0].drops, 2, "the full queue and the link that is known to be down");
    }
}
