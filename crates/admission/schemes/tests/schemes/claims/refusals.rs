//! Claims of refusals are true: each kind against brute force, on small networks of no particular shape.

use std::collections::BTreeMap;

use crate::claims::common::Dice;
use crate::claims::common::wild::{self, Constants, Wild};
use wayleave_contracts::WireOverhead;
use wayleave_ledger::{Model, PortInput, Shaping};
use wayleave_scheme_api::{Admission, Binding, Refusal, Request};
use wayleave_schemes::admission::chameleon::{Chameleon, Params};
use wayleave_schemes::placement::Placement;
use wayleave_schemes::routing::RouteQuery;
use wayleave_topology::{LinkId, NodeId, NodeKind};
use wayleave_units::{Amount, Bytes, Time};

/// State of the brute-force search.
#[derive(Clone, Copy)]
struct PartialPath {
    at: NodeId,
    input: PortInput,
    burst: Amount,
    delay: Time,
    /// Delay of the fastest queues of the same links.
    least: Time,
    broken: usize,
}

/// Over all simple paths that carry the frames.
#[derive(Debug, Default)]
struct Truth {
    fastest: Option<Time>,
    /// By the minimum delay of paths: the fewest promises broken by any of their queues that are in time.
    fewest_broken: BTreeMap<Time, usize>,
}

impl Truth {
    fn of(placement: &Placement, query: &RouteQuery) -> Self {
        let mut truth = Self::default();
        let delay = placement.network().node(query.from).processing;
        let start =
            PartialPath { at: query.from, input: PortInput::LOCAL, burst: query.burst, delay, least: delay, broken: 0 };
        truth.extend(placement, query, start, &mut vec![query.from]);
        truth
    }

    fn extend(&mut self, placement: &Placement, query: &RouteQuery, path: PartialPath, visited: &mut Vec<NodeId>) {
        if path.at == query.to {
            self.fastest = Some(self.fastest.map_or(path.delay, |fastest| fastest.min(path.delay)));
            if path.delay <= query.deadline {
                let fewest = self.fewest_broken.entry(path.least).or_insert(path.broken);
                *fewest = path.broken.min(*fewest);
            }
            return;
        }
        let (network, ledger) = (placement.network(), placement.ledger());
        let is_free = |head: NodeId| head == query.to || network.node(head).kind == NodeKind::Switch;
        let carries = |link: LinkId| query.max_frame.is_none_or(|frame| frame <= ledger.largest_frame(link));
        for &id in network.links_from(path.at) {
            let link = network.link(id);
            if !is_free(link.to) || visited.contains(&link.to) || !carries(id) {
                continue;
            }
            visited.push(link.to);
            let entered = network.node(link.to);
            let processing = if entered.kind == NodeKind::Switch { entered.processing } else { Time::ZERO };
            let least = ledger.budgets(id).min().unwrap_or(Time::ZERO);
            for (queue, budget) in (0u8..).zip(ledger.budgets(id)) {
                let fits = ledger.fits(id, queue, path.input, query.rate, path.burst);
                let next = PartialPath {
                    at: link.to,
                    input: PortInput::link(id),
                    burst: path.burst + query.rate * budget,
                    delay: path.delay + budget + link.propagation + processing,
                    least: path.least + least + link.propagation + processing,
                    broken: path.broken + usize::from(!fits),
                };
                self.extend(placement, query, next, visited);
            }
            visited.pop();
        }
    }
}

fn assert_binding(placement: &Placement, binding: &Binding) {
    let budget_of = |link, queue| placement.ledger().budgets(link).nth(queue);
    match *binding {
        Binding::Delay { link, queue, bound, budget } => {
            assert!(bound > budget && Some(budget) == budget_of(link, usize::from(queue)), "{binding:?}");
        }
        Binding::Buffer { link, queue, backlog, buffer } => {
            let has = placement.network().queues(link)[usize::from(queue)].buffer;
            assert!(backlog > buffer && buffer == has, "{binding:?}");
        }
        Binding::Rate { asked, left, .. } => assert!(asked > left, "{binding:?}"),
        Binding::Down { link, .. } => assert!(placement.ledger().is_closed(link), "{binding:?}"),
    }
}

/// Every number of a refusal; its kind, for the count.
fn assert_true(placement: &Placement, query: &RouteQuery, refusal: &Refusal) -> &'static str {
    let truth = Truth::of(placement, query);
    // Also paths that do not carry the frames.
    let fastest_path = Truth::of(placement, &RouteQuery { max_frame: None, ..query.clone() }).fastest;
    let context = || format!("{refusal:?}, {truth:?}, {query:?}");
    match refusal {
        Refusal::Blocked { route, binding, others } => {
            assert_eq!(route.validate(placement.network(), query.from, query.to), Ok(()), "{}", context());
            assert!(placement.bound(route) <= query.deadline, "{}", context());
            let all: Vec<Binding> = [binding].into_iter().chain(others).cloned().collect();
            assert_eq!(all, placement.bindings(query, route), "{}", context());
            all.iter().for_each(|binding| assert_binding(placement, binding));
            // Longer paths are considered only if no shortest one is in time (or, with constants, by the way).
            let fewest = truth.fewest_broken.values().min().unwrap();
            let on_shortest = truth.fewest_broken.get(&fastest_path.unwrap()).unwrap_or(fewest);
            assert!((fewest..=on_shortest).contains(&&all.len()), "{}", context());
            "blocked"
        }
        Refusal::Deadline { fastest, deadline, .. } => {
            assert!(fastest > deadline && *deadline == query.deadline, "{}", context());
            assert_eq!(fastest_path, Some(*fastest), "{}", context());
            "deadline"
        }
        Refusal::FrameTooLarge { frame } => {
            assert_eq!(Some(*frame), query.max_frame, "{}", context());
            // None that carries it, or none that is in time.
            assert!(truth.fewest_broken.is_empty(), "{}", context());
            "frame too large"
        }
        Refusal::Disconnected => {
            assert_eq!(fastest_path, None, "{}", context());
            "disconnected"
        }
        _ => panic!("{}", context()),
    }
}

#[test]
fn every_refusal_of_a_search_is_true_and_breaks_no_more_promises_than_a_shortest_path() {
    let model = Model::default().with_shaping(Shaping::Off).with_overhead(WireOverhead::Counted { tags: 8 });
    let wild =
        Wild { switches: (3, 5), queues: (0, 3), mtus: &[1500, 1500, 9000], rates: &[100, 1000], ..Wild::default() };
    let mut kinds: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 0..600 {
        let constants = if seed % 2 == 0 { Constants::None } else { Constants::Long };
        let mut dice = Dice::new(seed);
        let network = Wild { constants, ..wild }.build(&mut dice);
        let mut scheme = Chameleon::new(network.clone(), model, Params::default()).unwrap();
        let (attempts, load) = (dice.between(10, 150), dice.between(5, 200));
        wild::fill(&mut dice, scheme.placement_mut(), attempts, load);
        for _ in 0..10 {
            let load = dice.between(5, 300);
            let mut request = wild::request(&mut dice, &network, load);
            request.max_frame = dice.percent(30).then(|| Bytes::new(dice.pick(&[600, 1600, 9062])));
            let Err(refusal) = scheme.admit(&request) else { continue };
            *kinds.entry(assert_true(scheme.placement(), &RouteQuery::of(&request), &refusal)).or_default() += 1;
        }
    }
    println!("{kinds:?}");
    assert!(kinds.len() == 4 && kinds.values().all(|&count| count > 30));
}

#[test]
fn every_refusal_of_a_given_route_is_true() {
    let wild = Wild { mtus: &[1500, 1500, 9000], rates: &[100, 1000], ..Wild::default() };
    let model = Model::default().with_overhead(WireOverhead::Counted { tags: 4 });
    let mut kinds: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 1000..1200 {
        let mut dice = Dice::new(seed);
        let network = wild.build(&mut dice);
        let mut scheme = Chameleon::new(network.clone(), model, Params::default()).unwrap();
        for _ in 0..60 {
            let mut request = wild::request(&mut dice, &network, 60);
            request.max_frame = dice.percent(20).then(|| Bytes::new(9000));
            let route = wild::random_route(&mut dice, scheme.placement().ledger(), request.from, request.to);
            let Some(mut route) = route else { continue };
            if dice.percent(10) {
                let at = dice.index(route.hops.len());
                route.hops[at].queue += dice.between(0, 3) as u8;
            }
            let request = Request { route: Some(route.clone()), ..request };
            let Err(refusal) = scheme.admit(&request) else { continue };
            let placement = scheme.placement();
            let ledger = placement.ledger();
            let bindings = |route| placement.bindings(&RouteQuery::of(&request), route);
            let kind = match &refusal {
                Refusal::NoSuchQueue { link, queue, queues } => {
                    assert!(route.hops.iter().any(|hop| hop.link == *link && hop.queue == *queue));
                    assert!(queue >= queues && usize::from(*queues) == ledger.budgets(*link).len());
                    "no such queue"
                }
                Refusal::FrameTooLarge { frame } => {
                    assert!(route.hops.iter().any(|hop| ledger.largest_frame(hop.link) < *frame));
                    "frame too large"
                }
                Refusal::TooManySwitches { limit } => {
                    assert!(*limit == 4 && route.hops.len() > 5);
                    "too many switches"
                }
                Refusal::Blocked { route: named, binding, others } => {
                    let all: Vec<Binding> = [binding].into_iter().chain(others).cloned().collect();
                    assert_eq!((named, all), (&route, bindings(&route)));
                    assert_binding(placement, binding);
                    "blocked"
                }
                Refusal::TooSlow { route: named, bound, deadline } => {
                    assert!(bound > deadline && *deadline == request.deadline && *named == route);
                    assert!(*bound == placement.bound(&route) && bindings(&route).is_empty());
                    "too slow"
                }
                other => panic!("{other:?}"),
            };
            *kinds.entry(kind).or_default() += 1;
        }
    }
    println!("{kinds:?}");
    assert!(kinds.len() == 5 && kinds.values().all(|&count| count > 30));
}
