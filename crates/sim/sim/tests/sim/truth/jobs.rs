//! Jobs: messages that depend on one another, against what is computed by hand and the bounds of collective operations.

use std::sync::Arc;

use proptest::prelude::*;
use wayleave_scenarios::{
    Collective, CollectiveExchange, Dependency, Endpoint, Job, JobGraph, JobOperation, OperationAction, Scenario,
    Traffic, WaitUntil,
};
use wayleave_units::{Bytes, Rate, Time};

use super::networks::{SEGMENT, Star, finished, fixed_window, run, star};

/// A full segment on one link of 10 Gbit/s, in ps, without propagation.
const HOP: u64 = 1_230_400;

const RATE: Rate = Rate::from_gbit(10);

/// Propagation of each link of the stars, in ns.
const DELAY_NS: u64 = 1_000;

fn ranks(star: &Star) -> Vec<Endpoint> {
    star.hosts.iter().map(|&host| host.into()).collect()
}

fn scenario(star: &Star, graph: JobGraph, iterations: u32) -> Scenario {
    let mut scenario = Scenario::new("job", star.network.clone(), Time::from_millis(100));
    scenario.transport = fixed_window(1_000);
    scenario.traffic = vec![Traffic::job("job", Job::new(ranks(star), Arc::new(graph), iterations).unwrap())];
    scenario
}

fn exchange(collective: Collective, data: u64) -> CollectiveExchange {
    CollectiveExchange { collective, data: Bytes::new(data), chunks: 1, compute: Time::ZERO }
}

/// Catches: a receive that is over before its message, a send before its dependency, concurrent computations of one
/// processor, and a dependency on the beginning that waits for the end. Two hops of propagation and of one segment
/// are between two ranks; the reverse direction has the same delay for 64 B.
#[test]
fn operations_wait_for_their_dependencies() {
    let star = star(&[RATE; 2], DELAY_NS);
    let operation = |rank, action, cpu| JobOperation { rank, action, cpu, nic: 0 };
    let microseconds = |count| OperationAction::Compute(Time::from_micros(count));
    let size = Bytes::new(SEGMENT);
    let message = OperationAction::Send { to: 1, size, tag: 3 };
    let receive = |tag| OperationAction::Receive { from: Some(0), size, tag };
    let dependency = |operation, on, until| Dependency { operation, on, until };
    let one_way = 2 * HOP + 2 * DELAY_NS * 1_000;
    let took = |operations: Vec<JobOperation>, dependencies: &[Dependency]| {
        let outcome = run(&scenario(&star, JobGraph::new(2, operations, dependencies).unwrap(), 1), 1);
        assert_eq!(finished(&outcome, 0), 1);
        outcome.traffic[0].completions.times().max().unwrap()
    };
    let near = |found: u64, expected: u64| found.abs_diff(expected) <= expected / 16;
    // 50 us, the message, 30 us.
    let chain = vec![
        operation(0, microseconds(50), 0),
        operation(0, message, 0),
        operation(1, receive(None), 0),
        operation(1, microseconds(30), 0),
    ];
    let over = [dependency(1, 0, WaitUntil::Over), dependency(3, 2, WaitUntil::Over)];
    let found = took(chain.clone(), &over);
    assert!(near(found, 80_000_000 + one_way), "{found}");
    // The message leaves when the computation begins: 30 us after it is there is before the 50 us are over.
    let begun = [dependency(1, 0, WaitUntil::Begun), dependency(3, 2, WaitUntil::Over)];
    let found = took(chain, &begun);
    assert!(near(found, 50_000_000), "{found}");
    // Two computations: one after the other on one processor, together on two.
    for (cpu, expected) in [(0, 80_000_000), (1, 50_000_000)] {
        let both = vec![
            operation(0, message, 0),
            operation(1, receive(Some(3)), 0),
            operation(1, microseconds(50), 0),
            operation(1, microseconds(30), cpu),
        ];
        let found = took(both, &[]);
        assert!(near(found, expected), "processor {cpu}: {found}");
    }
}

/// Catches: iterations that overlap or are lost, and a job whose time is not from the first beginning to the last end.
#[test]
fn iterations_are_consecutive_and_the_job_ends_with_the_last() {
    let star = star(&[RATE; 4], DELAY_NS);
    let ring =
        CollectiveExchange { compute: Time::from_micros(100), ..exchange(Collective::RingAllReduce, 40 * SEGMENT) };
    let outcome = run(&scenario(&star, ring.graph(4).unwrap(), 5), 1);
    let result = &outcome.traffic[0];
    assert_eq!((result.begun, finished(&outcome, 0), result.chains.count()), (5, 5, 1));
    let (shortest, longest) = (result.completions.times().min().unwrap(), result.completions.times().max().unwrap());
    let whole = result.chains.max().unwrap();
    assert!(
        shortest > 100_000_000 && whole >= 5 * (shortest - shortest / 16) && whole <= 5 * (longest + longest / 16),
        "{shortest} {longest} {whole}"
    );
    // No traffic interferes: an iteration takes little more than its longest chain alone.
    let slowdown = result.completions.all().slowdowns.max().unwrap();
    assert!(slowdown < 1_300, "thousandths: {slowdown}");
}

/// The smallest and the largest slowdown of the iterations of a job alone in a network, in thousandths.
fn slowdowns(scenario: &Scenario) -> (u64, u64) {
    let outcome = run(scenario, 1);
    let slowdowns = &outcome.traffic[0].completions.all().slowdowns;
    (slowdowns.min().unwrap(), slowdowns.max().unwrap())
}

/// Catches: an ideal that forgets the acknowledgement that a send waits for.
#[test]
fn one_message_alone_has_a_slowdown_of_one() {
    for size in [1, SEGMENT, SEGMENT + 1, 20 * SEGMENT] {
        let star = star(&[RATE; 2], 10_000);
        let operation = |rank, action| JobOperation { rank, action, cpu: 0, nic: 0 };
        let send = operation(0, OperationAction::Send { to: 1, size: Bytes::new(size), tag: 0 });
        let receive = operation(1, OperationAction::Receive { from: Some(0), size: Bytes::new(size), tag: None });
        let graph = JobGraph::new(2, vec![send, receive], &[]).unwrap();
        let (least, most) = slowdowns(&scenario(&star, graph, 2));
        // The acknowledgement of a short last segment waits for the one before it.
        assert!(
            least >= 1_000 && most <= if size == SEGMENT + 1 { 1_001 } else { 1_000 },
            "{size} B: {least} to {most}"
        );
    }
}

/// Catches: an ideal in which a port sends several messages at the same time, and one that a job can beat.
#[test]
fn an_exchange_on_an_idle_network_has_a_slowdown_of_about_one() {
    for (_, collective) in Collective::ALL {
        for compute in [0, 500] {
            let star = star(&[RATE; 8], DELAY_NS);
            let exchange =
                CollectiveExchange { compute: Time::from_micros(compute), ..exchange(collective, 8 * 100 * SEGMENT) };
            let (least, most) = slowdowns(&scenario(&star, exchange.graph(8).unwrap(), 2));
            assert!(least >= 1_000, "{collective:?} {compute}: {least}");
            // Acknowledgements share the ports with segments: 84 B for each 1,538 B.
            // In trees and rings each step shares ports by itself, which the bound does not count.
            let limit = if collective == Collective::AllToAll { 1_060 } else { 1_500 };
            assert!(most <= limit, "{collective:?} {compute}: {most}");
        }
    }
}

/// Catches: messages of two jobs that are taken for one another, and jobs that begin before their start.
#[test]
fn two_jobs_on_one_network_slow_each_other_down_and_stay_separate() {
    let star = star(&[RATE; 4], DELAY_NS);
    let graph = Arc::new(exchange(Collective::AllToAll, 400 * SEGMENT).graph(4).unwrap());
    let mut alone = scenario(&star, (*graph).clone(), 1);
    let quick = run(&alone, 1).traffic[0].completions.times().max().unwrap();
    alone.traffic.push(Traffic::job("other", Job::new(ranks(&star), graph, 1).unwrap()));
    let outcome = run(&alone, 1);
    let times = [0, 1].map(|traffic| outcome.traffic[traffic].completions.times().max().unwrap());
    assert!(times.iter().all(|&time| time > quick * 17 / 10 && time < quick * 23 / 10), "{quick} {times:?}");
}

/// Catches: ranks at one host whose messages are lost, or go over the network.
#[test]
fn messages_within_a_host_arrive_at_once() {
    let star = star(&[RATE; 2], DELAY_NS);
    let graph = exchange(Collective::RingAllReduce, 4 * SEGMENT).graph(4).unwrap();
    let [first, second] = [star.hosts[0], star.hosts[1]].map(Endpoint::from);
    let job = Job::new(vec![first, first, second, second], Arc::new(graph), 1).unwrap();
    assert_eq!(job.pairs(), [(first, second), (second, first)]);
    let mut scenario = Scenario::new("job", star.network.clone(), Time::from_millis(10));
    scenario.transport = fixed_window(100);
    scenario.traffic = vec![Traffic::job("job", job)];
    let outcome = run(&scenario, 1);
    assert_eq!(finished(&outcome, 0), 1);
    // Each of both sends six segments; only those between the hosts are packets.
    assert_eq!(outcome.flows.iter().map(|flow| flow.payload.get()).sum::<u64>(), 2 * 6 * SEGMENT);
}

/// Catches: an iteration that is not over when the run ends, and is not counted or counted for each message.
#[test]
fn an_unfinished_iteration_at_the_end_is_counted_once() {
    let star = star(&[RATE; 4], DELAY_NS);
    let mut scenario = scenario(&star, exchange(Collective::AllToAll, 100_000_000).graph(4).unwrap(), 3);
    scenario.duration = Time::from_millis(1);
    let outcome = run(&scenario, 1);
    let result = &outcome.traffic[0];
    assert_eq!((result.begun, finished(&outcome, 0), result.completions.unfinished()), (1, 0, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Catches: a ring that moves too much, too little, or faster than links can. Thakur et al., section 4.5: 2(N-1) steps of one part each.
    #[test]
    fn a_ring_all_reduce_moves_the_required_bytes_and_respects_its_bound(count in 2_u64..9, parts in 1_u64..60, seed in 0_u64..1_000) {
        let star = star(&vec![RATE; count as usize], DELAY_NS);
        let data = count * parts * SEGMENT;
        let outcome = run(&scenario(&star, exchange(Collective::RingAllReduce, data).graph(count as u32).unwrap(), 1), seed);
        prop_assert_eq!(finished(&outcome, 0), 1);
        for &host in &star.hosts {
            let sent: u64 = outcome.flows.iter().filter(|flow| flow.from == Some(host)).map(|flow| flow.payload.get()).sum();
            prop_assert_eq!(sent, 2 * (count - 1) * data / count, "{:?}", host);
        }
        let alpha = 2 * DELAY_NS * 1_000;
        let beta = data / count * 8 * 1_000_000_000_000 / RATE.bits_per_second();
        let took = outcome.traffic[0].completions.times().max().unwrap();
        // A histogram's bins are a sixteenth wide.
        prop_assert!(took + took / 16 >= 2 * (count - 1) * (alpha + beta), "{} < {}", took, 2 * (count - 1) * (alpha + beta));
    }

    /// Catches: an algorithm that leaves out a rank. All of them end, and every rank sends and receives at least its
    /// part.
    #[test]
    fn every_collective_ends_with_the_payload_of_its_graph(which in 0_usize..6, bits in 1_u32..4, data in 1_u64..200_000, chunks in 1_u32..4) {
        let (_, collective) = Collective::ALL[which];
        let count = 1_u32 << bits;
        let star = star(&vec![RATE; count as usize], DELAY_NS);
        let graph = CollectiveExchange { chunks, ..exchange(collective, data) }.graph(count).unwrap();
        let empty = graph.operations().iter().filter(|operation| matches!(operation.action, OperationAction::Send { size: Bytes::ZERO, .. })).count();
        let payload = graph.payload() + empty as u64;
        let outcome = run(&scenario(&star, graph, 1), 1);
        prop_assert_eq!(finished(&outcome, 0), 1);
        prop_assert_eq!(outcome.flows.iter().map(|flow| flow.payload.get()).sum::<u64>(), payload);
        prop_assert!(outcome.traffic[0].completions.all().slowdowns.min() >= Some(1_000));
    }
}
