//! Statements are derived again: a true statement is accepted, and one with a single error is not.

use std::sync::Arc;

use crate::common::{demand, ledger, route, star};
use crate::mutations::far_or_slow_of;
use wayleave_adversary::{
    Admitted, AttackBucket, ByteAccounting, DecisionKind, DelayPart, Discrepancy, Effort, Exactness, Fault,
    FaultNotInjected, HistoryError, Layer, Lines, LowestQueue, MinimaTerms, ModelAccounting, PacketOrder, PlanEvent,
    Relocation, RequestedTerms, StatedQueue, StatedRoute, StatedTerm, Statement, TransitionRule, check_history, derive,
    verify,
};
use wayleave_contracts::WireOverhead;
use wayleave_ledger::{JitterModel, Ledger, Model};
use wayleave_topology::{FlowId, Network, Route};
use wayleave_units::{Bytes, Rate, Time};

fn queues(ledger: &Ledger) -> Vec<StatedQueue> {
    let links = ledger.network().links();
    let reports = links.flat_map(|(link, _)| ledger.report(link));
    let claimed = reports.map(|report| StatedQueue {
        link: report.link,
        queue: report.queue,
        budget: report.budget,
        buffer: report.buffer,
        flows: report.flows as usize,
        delay: report.delay_bound(),
        backlog: report.backlog_bound(),
    });
    claimed.collect()
}

/// Returns a ledger's statement about one of its flows, which was not moved.
fn admitted(ledger: &Ledger, flow: FlowId, name: &str) -> Admitted {
    let network = ledger.network();
    let reservation = ledger.flow(flow).unwrap();
    let route = reservation.route.clone();
    let (first, last) = (route.hops[0].link, route.hops[route.hops.len() - 1].link);
    let bucket = AttackBucket { rate: reservation.demand.rate, burst: reservation.demand.burst };
    Admitted {
        name: name.to_owned(),
        at: Time::ZERO,
        kind: DecisionKind::New,
        from: network.link(first).from,
        to: network.link(last).to,
        asked: RequestedTerms { bucket, accounting: ByteAccounting::Wire, deadline: Time::from_millis(100) },
        reserved: bucket,
        max_frame: None,
        routes: vec![stated(ledger, route)],
        moved: Vec::new(),
        activate_after: Time::ZERO,
        old_terms_end_after: None,
    }
}

fn stated(ledger: &Ledger, route: Route) -> StatedRoute {
    let hops = route.hops.iter();
    let terms: Vec<StatedTerm> = hops
        .map(|&hop| StatedTerm { part: DelayPart::Queue(hop.link, hop.queue), delay: ledger.budget(hop) })
        .collect();
    StatedRoute { bound: terms.iter().map(|term| term.delay).sum(), route, terms }
}

fn statement(ledger: &Ledger, history: Vec<Admitted>) -> Statement {
    Statement {
        network: ledger.network().clone(),
        counting: ModelAccounting {
            tags: Some(6),
            max_frame: None,
            lowest_queue: LowestQueue::BestEffort,
            lines: Lines::Shape,
            order: match ledger.model().jitter {
                JitterModel::Ordered => PacketOrder::Kept,
                JitterModel::Any => PacketOrder::Free,
            },
            figures: Exactness::Exact,
        },
        queues: queues(ledger),
        history: history.into_iter().map(|admitted| PlanEvent::Admitted(Box::new(admitted))).collect(),
        transition_rule: TransitionRule::Waits,
        shares: Vec::new(),
        short_buffers: Vec::new(),
        minima: MinimaTerms { budget: Time::from_micros(260), token_period: Time::from_micros(32) },
        findings: Vec::new(),
    }
}

/// Five hosts, four of which send bursts of 30 kB to the fifth, in two queues.
fn loaded() -> Statement {
    let network = star(5);
    let mut ledger = ledger(&network, Model::default(), Time::from_millis(5));
    let mut history = Vec::new();
    for host in 1..=4 {
        let path = route(&network, &format!("h{host} s1 h5"), u8::from(host > 2));
        let flow = ledger.reserve(demand(Rate::from_mbit(5), 30_000), path);
        history.push(admitted(&ledger, flow, &format!("c{host}")));
    }
    statement(&ledger, history)
}

/// Two paths lead from a to b, each with room for one burst. First `first` was added, over the upper one. `second`
/// needs that path, since only there its deadline is met. So `first` moves to the lower one, and `second` waits until
/// its packets have left.
fn moved(activate_after: Time) -> Statement {
    let cable = |plan: crate::common::Plan, (a, b)| plan.cable(a, b, Rate::from_gbit(1), Time::ZERO);
    let ends = [("h1", "s1"), ("h2", "s1"), ("s1", "s2"), ("s1", "s3"), ("s2", "s4"), ("s3", "s4"), ("s4", "h3")];
    let network: Arc<Network> = ends.into_iter().fold(crate::common::Plan::default(), cable).build();
    let mut ledger = ledger(&network, Model::default(), Time::from_micros(400));
    // The debt of 25 us and 40 kB take 345 us; two of them do not fit 400 us.
    let demand = || demand(Rate::from_mbit(1), 40_000);
    let (upper, lower) = (route(&network, "h1 s1 s2 s4 h3", 0), route(&network, "h1 s1 s3 s4 h3", 0));
    let flow = ledger.reserve(demand(), upper.clone());
    let mut first = admitted(&ledger, flow, "first");
    first.routes[0].route.hops[3].queue = 0;
    ledger.release(flow);
    // The last link is shared: there the second comes in another queue.
    let mut to_lower = lower;
    to_lower.hops[3].queue = 0;
    ledger.reserve(demand(), to_lower.clone());
    let mut path = route(&network, "h2 s1 s2 s4 h3", 0);
    path.hops[3].queue = 1;
    let flow = ledger.reserve(demand(), path);
    let second = Admitted {
        moved: vec![Relocation { name: "first".into(), from: upper, to: to_lower, after: None }],
        activate_after,
        ..admitted(&ledger, flow, "second")
    };
    statement(&ledger, vec![first, second])
}

#[track_caller]
fn found(statement: &Statement) -> Vec<Discrepancy> {
    derive(statement).unwrap().discrepancies
}

#[track_caller]
fn assert_found(statement: &Statement, words: &str) {
    let found = found(statement);
    let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(texts.iter().any(|text| text.contains(words)), "{words}: {texts:#?}");
}

fn first(statement: &mut Statement) -> &mut Admitted {
    match &mut statement.history[0] {
        PlanEvent::Admitted(admitted) => admitted,
        PlanEvent::Released { .. } | PlanEvent::Shared { .. } => panic!("nothing was released"),
    }
}

/// Two calculators of bytes that share nothing: that of admission, and that of the derivation.
#[test]
fn wire_bytes_are_those_that_admission_counts() {
    let plain = loaded().counting;
    for tags in 0..=6 {
        let (admission, derived) = (WireOverhead::Counted { tags }, ModelAccounting { tags: Some(tags), ..plain });
        for frame in (1..=128).chain([1514, 9014]).map(Bytes::new) {
            let bucket = AttackBucket { rate: Rate::from_mbit(1), burst: frame };
            let accounting = ByteAccounting::Frames { smallest: frame };
            let terms = RequestedTerms { bucket, accounting, deadline: Time::ZERO };
            assert_eq!(derived.on_the_wire(&terms).burst, admission.on_the_wire(frame), "{frame}, {tags} tags");
            assert_eq!(derived.largest_frame(frame), admission.largest_frame(frame), "{frame}, {tags} tags");
        }
    }
}

#[test]
fn a_true_statement_has_no_faults() {
    assert_eq!(found(&loaded()), []);
    assert_eq!(found(&moved(Time::from_millis(2))), []);
}

#[test]
fn every_false_claim_of_a_statement_is_found() {
    let nanosecond = Time::from_nanos(1);
    let changed = |change: fn(&mut Statement)| {
        let mut statement = loaded();
        change(&mut statement);
        statement
    };
    assert_found(
        &changed(|s| first(s).routes[0].bound = Time::from_nanos(1)),
        "\"c1\" was guaranteed 1 ns, below its bound of",
    );
    assert_found(&changed(|s| first(s).asked.deadline = Time::from_millis(9)), "above its deadline of 9 ms");
    assert_found(
        &changed(|s| first(s).routes[0].terms[1].delay = Time::from_nanos(1)),
        "1 ns in queue 0 of s1->h5 is stated",
    );
    assert_found(&changed(|s| first(s).routes[0].terms.truncate(1)), "5 ms in queue 0 of s1->h5 is missing");
    assert_found(&changed(|s| s.queues[0].flows += 1), "queue 0 of h1->s1: flows: 2 stated, 1 by the routes");
    assert_found(
        &changed(|s| s.queues[0].buffer = Bytes::new(7)),
        "a buffer of 7 B is stated, but the network has 100 GB",
    );
    assert_found(&changed(|s| s.queues[0].backlog = None), "is claimed to hold 0 B, below the derived");
    assert_found(
        &changed(|s| first(s).reserved.burst = Bytes::new(29_999)),
        "\"c1\" has 5 Mbit/s with bursts of 29.999 kB reserved",
    );
    assert_found(
        &changed(|s| first(s).asked.accounting = ByteAccounting::Frames { smallest: Bytes::new(20) }),
        "its traffic can be 21 Mbit/s with bursts of 126 kB on the wire",
    );
    let lowest = changed(|s| {
        let last = *s.queues.last().unwrap();
        s.queues.push(StatedQueue { queue: last.queue + 1, ..last });
    });
    assert_found(&lowest, "is stated as a queue for contracts, but is not one");
    let mut twice = loaded();
    twice.queues.insert(1, twice.queues[0]);
    assert_found(&twice, "queue 0 of h1->s1 is described where queue 1 is expected");
    let low = changed(|s| s.queues[0].delay = Some(Time::from_nanos(1)));
    assert_found(&low, "queue 0 of h1->s1 is claimed to delay by 1 ns, below the derived");
    // Packets are compared with the statement if it is smaller: so they can show the error too.
    assert_eq!(
        derive(&changed(|s| first(s).routes[0].bound = Time::from_nanos(1))).unwrap().claim.promises[0].bound,
        nanosecond
    );
}

#[test]
fn a_contradictory_history_is_refused() {
    let mut twice = loaded();
    twice.history.push(twice.history[0].clone());
    assert_eq!(check_history(&twice), Err(HistoryError::Twice { name: "c1".into() }));
    let release = |at: u64, held_until: u64| PlanEvent::Released {
        name: "c1".into(),
        at: Time::from_nanos(at),
        held_until: Time::from_nanos(held_until),
    };
    let mut again = loaded();
    again.history.extend([release(5, 5), release(6, 6)]);
    assert_eq!(check_history(&again), Err(HistoryError::ReleasedUnknown { name: "c1".into() }));
    let mut unknown = moved(Time::from_millis(2));
    unknown.history.remove(0);
    let expected = HistoryError::MovedUnknown { name: "first".into(), by: "second".into() };
    assert_eq!(check_history(&unknown), Err(expected));
    let mut elsewhere = moved(Time::from_millis(2));
    first(&mut elsewhere).routes[0].route.hops[1].queue = 1;
    let error = check_history(&elsewhere).unwrap_err().to_string();
    assert!(error.contains("an earlier move is missing or superfluous"), "{error}");
}

#[test]
fn a_held_reservation_counts_until_it_is_free() {
    let mut statement = loaded();
    let release = |at, held_until| PlanEvent::Released { name: "c1".into(), at, held_until };
    statement.history.push(release(Time::ZERO, Time::from_millis(10)));
    // It still counts in the statement about queues, but sends nothing.
    assert_eq!((found(&statement), derive(&statement).unwrap().claim.promises.len()), (vec![], 3));
    *statement.history.last_mut().unwrap() = release(Time::ZERO, Time::ZERO);
    assert_found(&statement, "queue 0 of h1->s1: flows: 1 stated, 0 by the routes");
}

#[test]
fn a_contract_starts_after_the_last_packets_of_its_predecessor() {
    // Over four queues of 400 us packets can be for 1.6 ms.
    assert_eq!(found(&moved(Time::from_micros(1_600))), []);
    let early = moved(Time::from_nanos(1_599_999));
    // The times of moves are not stated: `second` is decided when all packets of the first decision have left.
    assert_found(
        &early,
        "before packets have left: from 3.199999 ms on, queue 1 of s4->h3 has a worst-case delay of 681.87 us",
    );
    assert_found(&early, "with packets of first (present until 1.6 ms), first, second");
}

/// Contract a gets other terms at 1 ms, which start at 6 ms. At 4 ms b starts where a was: there is room for one of them.
fn changed(old_terms_end_after: Option<Time>) -> Statement {
    let network = star(3);
    let mut ledger = ledger(&network, Model::default(), Time::from_micros(400));
    let demand = |bytes| demand(Rate::from_mbit(1), bytes);
    let mut admit = |bytes, path, name, at| {
        let flow = ledger.reserve(demand(bytes), route(&network, path, 0));
        let admitted = Admitted { at: Time::from_millis(at), ..admitted(&ledger, flow, name) };
        (flow, admitted)
    };
    let (old, first) = admit(40_000, "h1 s1 h3", "a", 0);
    let (_, new) = admit(1_000, "h1 s1 h2", "a", 1);
    let new = Admitted { kind: DecisionKind::Change, activate_after: Time::from_millis(5), old_terms_end_after, ..new };
    ledger.release(old);
    let flow = ledger.reserve(demand(40_000), route(&network, "h1 s1 h3", 0));
    let b = Admitted { at: Time::from_millis(4), ..admitted(&ledger, flow, "b") };
    statement(&ledger, vec![first, new, b])
}

#[test]
fn old_terms_count_until_their_sender_stops() {
    // Their packets have left 800 us after that, so at 4 ms if it is at 3.2 ms.
    assert_eq!(found(&changed(Some(Time::ZERO))), []);
    assert_eq!(found(&changed(Some(Time::from_micros(2_200)))), []);
    let late = changed(Some(Time::from_nanos(2_200_001)));
    assert_found(&late, "before packets have left: from 4 ms on, queue 0 of h1->s1 has a worst-case delay of");
    assert_found(&changed(Some(Time::from_millis(5))), "with packets of a (present until 6 ms), a, b");
    // If it is not stated, it is the start of the new ones.
    assert_found(&changed(None), "with packets of a (present until 6 ms), a, b");
}

/// The derivation finds a fault of a statement; packets show a fault of their treatment.
#[test]
fn every_fault_is_caught() {
    let by_derivation = |statement: &Statement| !found(statement).is_empty();
    for fault in Fault::ALL {
        let statement = match fault {
            Fault::MoveForgotten | Fault::MovesChained => moved(Time::from_millis(2)),
            _ => loaded(),
        };
        match fault.layer() {
            Layer::Statement => match statement.broken_by(fault) {
                Ok(broken) => assert!(by_derivation(&broken), "{} is not noticed", fault.name()),
                Err(why) => {
                    assert_eq!(fault, Fault::JitterIgnored);
                    assert_eq!(why, FaultNotInjected::NoEffect("no node of this network has jitter"));
                }
            },
            Layer::Packets => match derive(&statement).unwrap().claim.broken_by(fault) {
                Ok(broken) => {
                    let report = verify(&broken, &Effort::USUAL, None, |_, _| true).unwrap();
                    assert!(!report.is_sound(), "{} is not noticed", fault.name());
                }
                Err(why) => {
                    assert_eq!(fault, Fault::DuplicationOff);
                    let reason = "no contract is protected, so no packet is duplicated";
                    assert_eq!(why, FaultNotInjected::NoEffect(reason));
                }
            },
        }
    }
}

#[test]
fn stated_delays_without_jitter_are_found_by_either_check() {
    for order in [JitterModel::Ordered, JitterModel::Any] {
        let ledger = far_or_slow_of(order, Time::ZERO, Time::ZERO, Time::from_micros(300));
        let flow = ledger.flows().next().unwrap().0;
        let statement = statement(&ledger, vec![admitted(&ledger, flow, "slow")]);
        assert_eq!(found(&statement), []);
        let broken = statement.broken_by(Fault::JitterIgnored).unwrap();
        assert_found(&broken, "queue 0 of s1->h2 is claimed to delay by");
        let report = verify(&derive(&broken).unwrap().claim, &Effort::QUICK, None, |_, _| true).unwrap();
        assert!(!report.is_sound(), "no packet takes the jitter, {order:?}");
    }
}

/// The stated figures of equal flows are larger if nodes do not preserve the order.
#[test]
fn figures_for_ordered_jitter_are_too_small_for_reordering_jitter() {
    let claimed = |order| {
        let ledger = far_or_slow_of(order, Time::ZERO, Time::ZERO, Time::from_micros(300));
        let flow = ledger.flows().next().unwrap().0;
        statement(&ledger, vec![admitted(&ledger, flow, "slow")])
    };
    let mut small = claimed(JitterModel::Any);
    small.queues = claimed(JitterModel::Ordered).queues;
    assert_found(&small, "queue 0 of s1->h2 is claimed to delay by");
}

#[test]
fn a_fault_without_effect_gives_a_reason() {
    let mut alone = loaded();
    alone.history.clear();
    for fault in Fault::ALL.into_iter().filter(|fault| fault.layer() == Layer::Statement) {
        let why = loaded().broken_by(fault).err().or(alone.broken_by(fault).err());
        let is_of_all = matches!(fault, Fault::CalculusLow | Fault::FrameForgotten);
        assert_eq!(why.is_none(), is_of_all, "{}: {why:?}", fault.name());
    }
    let claim = derive(&loaded()).unwrap().claim;
    let mut one_queue = claim.clone();
    one_queue.promises.truncate(2);
    let why = one_queue.broken_by(Fault::PrioritiesSwapped).unwrap_err();
    assert_eq!(why, FaultNotInjected::NoEffect("at no port do contracts use two priorities"));
}

#[test]
fn a_result_does_not_depend_on_the_number_of_threads() {
    let claim = derive(&loaded()).unwrap().claim.broken_by(Fault::PrioritiesSwapped).unwrap();
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut steps = Vec::new();
        let report = pool.install(|| {
            verify(&claim, &Effort::QUICK.with_seeds(3), None, |done, total| {
                steps.push((done, total));
                true
            })
        });
        (format!("{:?}", report.unwrap()), steps)
    };
    let one = with(1);
    assert!(one.0.contains("Late") || one.0.contains("Unproven"), "{}", one.0);
    assert_eq!(one, with(2));
    assert_eq!(one, with(5));
}
