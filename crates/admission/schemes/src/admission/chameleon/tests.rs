//! Worked examples: the allocation of section 4.1.2, Silo's delays of section 2.1.2, Fig. 1, and the promises of a
//! decision (sections 3.2.2 and 3.2.3).

use std::sync::Arc;

use wayleave_contracts::RequestMix;
use wayleave_ledger::{BestEffort, Comparison, Ledger, Model};
use wayleave_scheme_api::{Admission, Binding, Decision, Refusal, Request};
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_topology::{FlowId, Hop, LinkSpec, Network, NetworkBuilder, PortQueue, PortSpec, Route};
use wayleave_units::{Amount, Bytes, Rate, Time};

use super::*;
use crate::reservations;
use crate::routing::RouteQuery;

const GBIT: Rate = Rate::from_gbit(1);

fn request(network: &Network, from: &str, to: &str, deadline: Time) -> Request {
    Request {
        from: network.find_node(from).unwrap(),
        to: network.find_node(to).unwrap(),
        rate: Rate::from_mbit(1),
        burst: Bytes::new(100),
        deadline,
        max_frame: None,
        route: None,
        protection: 1,
    }
}

/// Through these nodes, in the highest queue of each link.
fn route(network: &Network, nodes: &[&str]) -> Route {
    let link = |pair: &[&str]| network.find_link(&format!("{}->{}", pair[0], pair[1])).unwrap();
    Route { hops: nodes.windows(2).map(|pair| Hop { link: link(pair), queue: 0 }).collect() }
}

fn nodes(network: &Network, route: &Route) -> Vec<String> {
    let name = |hop: &Hop| network.node(network.link(hop.link).to).name.clone();
    route.hops.iter().map(name).collect()
}

mod resource_allocation {
    use super::*;

    /// Budgets of the ports of a switch and of a host with `queues` hardware queues, in microseconds.
    fn table(queues: usize, best_effort: BestEffort, allocation: &Allocation) -> (Vec<u64>, Vec<u64>) {
        let port = PortSpec::uniform(queues, Bytes::new(97_000));
        let cabling = Cabling { switch_port: port.clone(), host_port: port, ..Cabling::default() };
        let network = build::star(2, cabling).unwrap();
        let budgets = allocation.budgets(&network, &Model::default().with_best_effort(best_effort));
        let of = |name| {
            let budgets = &budgets[network.find_link(name).unwrap().index()];
            budgets.iter().map(|budget| budget.as_nanos() / 1000).collect()
        };
        (of("s1->h1"), of("h1->s1"))
    }

    fn of_switch(queues: usize, best_effort: BestEffort) -> Vec<u64> {
        table(queues, best_effort, &Allocation::default()).0
    }

    #[test]
    fn ports_of_two_four_and_eight_queues_have_the_delays_of_section_4_1_2() {
        assert_eq!(of_switch(8, BestEffort::Dropped), [100, 500, 1_000, 1_500, 3_000, 6_000, 12_000, 24_000]);
        assert_eq!(of_switch(4, BestEffort::Dropped), [100, 1_000, 6_000, 24_000]);
        assert_eq!(of_switch(2, BestEffort::Dropped), [100, 6_000]);
    }

    #[test]
    fn a_class_for_best_effort_takes_the_slowest_queue_of_a_switch() {
        for queues in 1..=8 {
            let all = of_switch(queues, BestEffort::Dropped);
            assert_eq!(of_switch(queues, BestEffort::LowestQueue), all[..queues - 1], "{queues} queues");
        }
    }

    #[test]
    fn more_queues_offer_at_least_the_same_delays() {
        for best_effort in [BestEffort::Dropped, BestEffort::LowestQueue] {
            for queues in 2..=8 {
                let (fewer, more) = (of_switch(queues - 1, best_effort), of_switch(queues, best_effort));
                assert_eq!(more.len(), fewer.len() + 1);
                assert!(more.is_sorted_by(|a, b| a < b), "{more:?}");
                assert!(fewer.iter().all(|delay| more.contains(delay)), "{fewer:?} is no part of {more:?}");
            }
        }
    }

    #[test]
    fn a_host_has_one_queue_of_half_a_millisecond_for_any_number_of_port_queues() {
        for best_effort in [BestEffort::Dropped, BestEffort::LowestQueue] {
            for queues in 1..=8 {
                assert_eq!(table(queues, best_effort, &Allocation::PUBLISHED).1, [500]);
            }
        }
    }

    #[test]
    fn configured_budgets_replace_the_table_and_limit_the_number_of_queues() {
        let given = |us: &[u64]| us.iter().map(|&us| Time::from_micros(us)).collect();
        let allocation =
            Allocation { switch: Some(given(&[200, 700])), host: Some(given(&[50, 80])), ..Allocation::default() };
        assert_eq!(table(4, BestEffort::Dropped, &allocation), (vec![200, 700], vec![50, 80]));
        assert_eq!(table(2, BestEffort::LowestQueue, &allocation), (vec![200], vec![50, 80]));
        assert_eq!(table(1, BestEffort::LowestQueue, &allocation), (vec![], vec![50]));
    }

    #[test]
    fn a_budget_fixed_by_the_topology_takes_precedence_over_the_table() {
        let queue =
            |budget: Option<u64>| PortQueue { buffer: Bytes::new(97_000), budget: budget.map(Time::from_micros) };
        let switch_port = PortSpec { queues: vec![queue(None), queue(Some(800)), queue(None), queue(None)] };
        let host_port = PortSpec { queues: vec![queue(Some(250)), queue(Some(900)), queue(None)] };
        let network = build::star(2, Cabling { switch_port, host_port, ..Cabling::default() }).unwrap();
        let budgets = Allocation::default().budgets(&network, &Model::PUBLISHED);
        let of = |name| budgets[network.find_link(name).unwrap().index()].clone();
        assert_eq!(of("s1->h1"), [100, 800, 6_000, 24_000].map(Time::from_micros));
        assert_eq!(of("h1->s1"), [250, 900, 4_000].map(Time::from_micros));
    }
}

/// Section 2.1.2: 20 us for rack links, 50 us within pods, 80 us to the cores; one queue each.
mod silo_of_section_2_1_2 {
    use super::*;

    fn network() -> Arc<Network> {
        let plain = build::fat_tree(&FatTree::default()).unwrap();
        let mut builder = NetworkBuilder::default();
        for (_, node) in plain.nodes() {
            builder.add(node.clone()).unwrap();
        }
        for (_, link) in plain.links() {
            let ends = [link.from, link.to].map(|node| plain.node(node).name.as_str());
            let touches = |what: &str| ends.iter().any(|name| name.contains(what));
            let us = if touches("core") {
                80
            } else if touches("agg") {
                50
            } else {
                20
            };
            let queue = PortQueue { buffer: Bytes::new(590_000), budget: Some(Time::from_micros(us)) };
            let spec = LinkSpec {
                from: link.from,
                to: link.to,
                rate: Rate::from_gbit(10),
                propagation: Time::ZERO,
                mtu: link.mtu,
                port: PortSpec { queues: vec![queue] },
            };
            builder.add_link(spec).unwrap();
        }
        Arc::new(builder.build())
    }

    fn scheme(network: &Arc<Network>) -> Chameleon {
        let model = Model::default().with_best_effort(BestEffort::Dropped);
        Chameleon::new(network.clone(), model, Params::default()).unwrap()
    }

    #[test]
    fn the_same_rack_takes_40_us_the_same_pod_140_and_another_pod_300() {
        let network = network();
        let mut scheme = scheme(&network);
        for (to, us) in [("h2", 40), ("h3", 140), ("h5", 300)] {
            let deadline = Time::from_micros(us);
            let decision = scheme.admit(&request(&network, "h1", to, deadline)).unwrap();
            assert_eq!(decision.bound, deadline, "to {to}");
            let refusal = scheme.admit(&request(&network, "h1", to, deadline - Time::from_nanos(1)));
            let is_late = |refusal: &Refusal| matches!(refusal, Refusal::Deadline { fastest, .. } if *fastest == Time::from_micros(us));
            assert!(refusal.as_ref().is_err_and(is_late), "to {to}: {refusal:?}");
        }
    }

    #[test]
    fn a_latency_of_30_us_is_refused_and_10_ms_gains_nothing() {
        let network = network();
        let mut scheme = scheme(&network);
        let deadline = Time::from_micros(30);
        let refusal = scheme.admit(&request(&network, "h1", "h2", deadline)).unwrap_err();
        assert!(
            matches!(refusal, Refusal::Deadline { fastest, .. } if fastest == Time::from_micros(40)),
            "{refusal:?}"
        );
        let decision = scheme.admit(&request(&network, "h1", "h2", Time::from_millis(10))).unwrap();
        assert_eq!(decision.bound, Time::from_micros(40));
    }

    #[test]
    fn between_pods_there_are_four_paths_and_one_delay() {
        let network = network();
        let scheme = scheme(&network);
        let query = RouteQuery::of(&request(&network, "h1", "h16", Time::from_millis(1)));
        let survey = reservations::paths(scheme.placement(), &query, 10);
        assert_eq!((survey.total, survey.paths.len()), (4, 4));
        for path in survey.paths {
            let reservations::PathOutcome::Open { bound, .. } = path.outcome else { panic!("{path:?}") };
            assert_eq!(bound, Time::from_micros(300));
        }
    }
}

/// Fig. 1, with servers 1 to 16 as h1 to h16. Flows fill the links between switches (1 Gbit/s); the hosts' own are faster,
/// since a flow that fills its host's link cannot be moved: for a moment it is reserved on both routes.
mod fig_1 {
    use super::*;

    fn network() -> Arc<Network> {
        let cabling = Cabling { rate: Rate::from_gbit(10), ..Cabling::default() };
        let rates = (Some(GBIT), Some(GBIT));
        let spec = FatTree { cabling, aggregation_rate: rates.0, core_rate: rates.1, ..FatTree::default() };
        Arc::new(build::fat_tree(&spec).unwrap())
    }

    fn flow(network: &Network, from: &str, to: &str) -> Request {
        Request { rate: GBIT, burst: Bytes::new(1500), ..request(network, from, to, Time::from_millis(100)) }
    }

    /// Embeds a flow on a path, in the first of its queues that have room.
    fn embed_on(scheme: &mut Chameleon, network: &Network, path: &[&str]) -> FlowId {
        let wanted = flow(network, path[0], path[path.len() - 1]);
        let links: Vec<_> = route(network, path).hops.into_iter().map(|hop| hop.link).collect();
        let survey = reservations::paths(scheme.placement(), &RouteQuery::of(&wanted), 100);
        let tried = survey.paths.into_iter().find(|tried| tried.links == links).unwrap();
        let reservations::PathOutcome::Open { route, .. } = tried.outcome else { panic!("{tried:?}") };
        scheme.admit(&Request { route: Some(route), ..wanted }).unwrap().flow
    }

    /// The network before the red flow comes, and the blue flow.
    fn embedded(network: &Arc<Network>, rerouting: Option<Rerouting>) -> (Chameleon, FlowId) {
        let params = Params { rerouting, ..Params::default() };
        let mut scheme = Chameleon::new(network.clone(), Model::default(), params).unwrap();
        // Blue chooses its path itself: the others are taken for a moment.
        let others = [
            embed_on(&mut scheme, network, &["h2", "pod1-edge1", "pod1-agg2", "pod1-edge2", "h3"]),
            embed_on(
                &mut scheme,
                network,
                &["h4", "pod1-edge2", "pod1-agg1", "core2", "pod3-agg1", "pod3-edge2", "h12"],
            ),
        ];
        let blue = scheme.admit(&flow(network, "h1", "h10")).unwrap();
        let expected = ["pod1-edge1", "pod1-agg1", "core1", "pod3-agg1", "pod3-edge1", "h10"];
        assert_eq!(nodes(network, &blue.route), expected);
        for other in others {
            scheme.release(other).unwrap();
        }
        embed_on(&mut scheme, network, &["h7", "pod2-edge2", "pod2-agg2", "core3", "pod4-agg2", "pod4-edge1", "h13"]);
        embed_on(&mut scheme, network, &["h15", "pod4-edge2", "pod4-agg2", "core4", "pod3-agg2", "pod3-edge2", "h11"]);
        (scheme, blue.flow)
    }

    #[test]
    fn the_red_flow_cannot_be_embedded_in_the_initial_state() {
        let network = network();
        let (mut scheme, _) = embedded(&network, None);
        let refusal = scheme.admit(&flow(&network, "h5", "h9")).unwrap_err();
        assert!(matches!(refusal, Refusal::Blocked { binding: Binding::Rate { .. }, .. }), "{refusal:?}");
    }

    #[test]
    fn moving_the_blue_flow_onto_the_dashed_path_makes_room_for_the_red_one() {
        let network = network();
        for penalised in [Penalised::NewFlow, Penalised::MovedFlow] {
            for search in [Search::OneLabel, Search::LabelSetting, Search::Larac] {
                let rerouting = Rerouting { penalised, search, ..Rerouting::default() };
                let (mut scheme, blue) = embedded(&network, Some(rerouting));
                let before = scheme.placement().ledger().flow(blue).unwrap().route.clone();
                let red = scheme.admit(&flow(&network, "h5", "h9")).unwrap();
                let [moved] = &red.moved[..] else { panic!("{rerouting:?}: {red:?}") };
                assert_eq!((moved.flow, &moved.from), (blue, &before), "{rerouting:?}");
                let dashed = ["pod1-edge1", "pod1-agg2", "core3", "pod3-agg2", "pod3-edge1", "h10"];
                assert_eq!(nodes(&network, &moved.to), dashed, "{rerouting:?}");
                assert!(nodes(&network, &red.route).contains(&"pod3-agg1".to_owned()));
            }
        }
    }

    #[test]
    fn a_flow_that_fills_its_host_link_is_not_moved() {
        let network = Arc::new(build::fat_tree(&FatTree::default()).unwrap());
        let (mut scheme, _) = embedded(&network, Some(Rerouting::default()));
        assert!(scheme.admit(&flow(&network, "h5", "h9")).is_err());
    }
}

mod promises {
    use super::*;

    /// Hosts on one switch whose ports have these budgets, in microseconds.
    fn star(us: &[u64]) -> Arc<Network> {
        let queue = |us: &u64| PortQueue { buffer: Bytes::new(1_000_000), budget: Some(Time::from_micros(*us)) };
        let best_effort = PortQueue { buffer: Bytes::new(1_000_000), budget: None };
        let switch_port = PortSpec { queues: us.iter().map(queue).chain([best_effort]).collect() };
        Arc::new(build::star(4, Cabling { switch_port, ..Cabling::default() }).unwrap())
    }

    /// To h4 in this queue of its port.
    fn in_queue(network: &Network, from: &str, queue: u8, burst: u64) -> Request {
        let mut route = route(network, &[from, "s1", "h4"]);
        route.hops[1].queue = queue;
        let wanted = request(network, from, "h4", Time::from_millis(10));
        Request { burst: Bytes::new(burst), route: Some(route), ..wanted }
    }

    #[test]
    fn a_promise_of_a_lower_queue_can_refuse_a_request() {
        let network = star(&[250, 250]);
        let mut scheme = Chameleon::new(network.clone(), Model::default(), Params::default()).unwrap();
        for from in ["h1", "h2"] {
            scheme.admit(&in_queue(&network, from, 1, 20_000)).unwrap();
        }
        // Alone in the upper queue, it would keep that queue's promise with ease.
        let upper = in_queue(&network, "h3", 0, 20_000);
        let refusal = scheme.admit(&upper).unwrap_err();
        let Refusal::Blocked { binding: Binding::Delay { link, queue, bound, budget }, others, .. } = refusal else {
            panic!("{refusal:?}")
        };
        assert_eq!((link, queue), (network.find_link("s1->h4").unwrap(), 1));
        assert!(bound > budget && budget == Time::from_micros(250) && others.is_empty());
        let mut alone = Chameleon::new(network.clone(), Model::default(), Params::default()).unwrap();
        assert!(alone.admit(&upper).is_ok());
    }

    /// Behind two frames of 1562 B at 1 Gbit/s, 59,376 B take 0.5 ms exactly, the budget of a host's link. At 500
    /// Mbit/s, 1562 B more arrive during that time; with 18,438 B they fill a buffer of 20,000 B exactly.
    #[test]
    fn a_bound_may_equal_its_limit_by_default_and_must_be_below_it_as_published() {
        let host_port = PortSpec::uniform(1, Bytes::new(20_000));
        let small = Arc::new(build::star(2, Cabling { host_port, ..Cabling::default() }).unwrap());
        let large = Arc::new(build::star(2, Cabling::default()).unwrap());
        let is_admitted = |network: &Arc<Network>, comparison, rate, burst| {
            let model = Model::default().with_comparison(comparison);
            let mut scheme = Chameleon::new(network.clone(), model, Params::default()).unwrap();
            let wanted = request(network, "h1", "h2", Time::from_millis(10));
            scheme.admit(&Request { rate, burst: Bytes::new(burst), ..wanted }).is_ok()
        };
        for (network, rate, most) in
            [(&large, Rate::from_bits_per_second(8), 59_376), (&small, Rate::from_mbit(500), 18_438)]
        {
            assert!(is_admitted(network, Comparison::NonStrict, rate, most));
            assert!(!is_admitted(network, Comparison::NonStrict, rate, most + 1));
            assert!(is_admitted(network, Comparison::Strict, rate, most - 1));
            assert!(!is_admitted(network, Comparison::Strict, rate, most));
        }
    }

    #[test]
    fn an_empty_lower_queue_refuses_nothing() {
        // 30 us are less than the second queue needs behind the first, but no flow relies on them.
        let network = star(&[400, 30]);
        let mut scheme = Chameleon::new(network.clone(), Model::default(), Params::default()).unwrap();
        assert!(scheme.admit(&in_queue(&network, "h1", 0, 20_000)).is_ok());
        assert!(scheme.admit(&in_queue(&network, "h2", 1, 200)).is_err());
    }

    #[test]
    fn a_burst_grows_by_the_budgets_of_the_previous_queues() {
        let network = Arc::new(build::fat_tree(&FatTree::default()).unwrap());
        let mut scheme = Chameleon::new(network.clone(), Model::default(), Params::default()).unwrap();
        let decision = scheme.admit(&request(&network, "h1", "h16", Time::from_millis(1))).unwrap();
        let mut grown = Amount::from(Bytes::new(100));
        for hop in &decision.route.hops {
            let report = &scheme.placement().ledger().report(hop.link)[usize::from(hop.queue)];
            assert_eq!(report.inputs.iter().map(|input| input.burst).collect::<Vec<_>>(), [grown]);
            grown += Rate::from_mbit(1) * report.budget;
        }
        // 0.5 ms on the host's link, and five queues of 0.1 ms.
        assert_eq!(grown, Amount::from(Bytes::new(100)) + Rate::from_mbit(1) * Time::from_millis(1));
    }

    #[test]
    fn later_admissions_do_not_change_the_bound_of_a_flow() {
        let network = Arc::new(build::fat_tree(&FatTree::default()).unwrap());
        let model = Model::default();
        let mut scheme = Chameleon::new(network.clone(), model, Params::default()).unwrap();
        let first = scheme.admit(&request(&network, "h1", "h16", Time::from_millis(1))).unwrap();
        let today = |scheme: &Chameleon| {
            let delay = |hop: &Hop| scheme.placement().ledger().report(hop.link)[usize::from(hop.queue)].delay_bound();
            first.route.hops.iter().map(|hop| delay(hop).unwrap()).sum::<Time>()
        };
        let alone = today(&scheme);
        let requests = RequestMix::new(&network, 1, 7).map(|contract| crate::request(&contract, &model));
        let admitted = requests.take(200).filter(|request| scheme.admit(request).is_ok()).count();
        assert!(admitted > 100);
        // Its queues are slower by now, and as fast as they were promised.
        assert!(today(&scheme) > alone && today(&scheme) <= first.bound);
        assert_eq!(scheme.placement().bound(&first.route), first.bound);
        assert_eq!(first.bound, Time::from_millis(1));
    }

    fn assert_promises(scheme: &Chameleon, ledger_before: &Ledger, request: &Request, decision: &Decision) {
        let placement = scheme.placement();
        assert_eq!(placement.bound(&decision.route), decision.bound);
        assert!(decision.bound <= request.deadline);
        for moved in &decision.moved {
            let (was, is) = (ledger_before.flow(moved.flow).unwrap(), placement.ledger().flow(moved.flow).unwrap());
            assert_eq!((&was.route, &is.route, was.demand), (&moved.from, &moved.to, is.demand));
            assert!(placement.bound(&moved.to) <= placement.deadline(moved.flow).unwrap());
        }
    }

    #[test]
    fn a_decision_meets_its_deadline_and_so_do_moved_flows() {
        let network = Arc::new(build::fat_tree(&FatTree::default()).unwrap());
        let model = Model::default();
        let mut moved = 0;
        for (seed, routing) in [(1, Routing::LeastDelay), (2, Routing::LaracByDelay), (3, Routing::LaracByHops)] {
            println!("seed {seed}, {routing:?}");
            let params = Params { routing, rerouting: Some(Rerouting::default()), ..Params::default() };
            let mut scheme = Chameleon::new(network.clone(), model, params).unwrap();
            let mut deadlines = Vec::new();
            for contract in RequestMix::new(&network, 1, seed).take(300) {
                let request = crate::request(&contract, &model);
                let before = scheme.placement().ledger().clone();
                let Ok(decision) = scheme.admit(&request) else { continue };
                assert_promises(&scheme, &before, &request, &decision);
                deadlines.push((decision.flow, request.deadline));
                moved += decision.moved.len();
            }
            assert!(deadlines.iter().all(|&(flow, deadline)| scheme.placement().deadline(flow) == Some(deadline)));
        }
        assert!(moved > 20, "only {moved}");
    }
}
