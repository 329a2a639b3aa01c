//! The cost of scarce resources: its routes are admissible, it depends only on the reservations, and it admits more
//! than the paper's method.

use std::sync::Arc;

use wayleave_contracts::RequestMix;
use wayleave_ledger::Model;
use wayleave_scheme_api::{Admission, Request};
use wayleave_schemes::admission::chameleon::{Chameleon, Params, Rerouting, Routing};
use wayleave_schemes::costs::Scarcity;
use wayleave_schemes::routing::RouteQuery;
use wayleave_topology::builders::{FatTree, LeafSpine, build};
use wayleave_topology::{FlowId, Network};

fn fat_tree() -> Arc<Network> {
    Arc::new(build::fat_tree(&FatTree::default()).unwrap())
}

fn mix(network: &Network, scenario: usize, seed: u64, model: Model) -> impl Iterator<Item = Request> {
    RequestMix::new(network, scenario, seed).map(move |contract| wayleave_schemes::request(&contract, &model))
}

#[test]
fn scarcity_routes_pass_the_check_of_any_route() {
    let networks = [fat_tree(), Arc::new(build::leaf_spine(&LeafSpine::default()).unwrap())];
    for (network, scenario) in networks.iter().flat_map(|network| [(network, 1), (network, 8)]) {
        println!("scenario {scenario}");
        let model = Model::default();
        let mut scheme = Chameleon::new(network.clone(), model, Params::default()).unwrap();
        let mut quiet = 0;
        for request in mix(network, scenario, 1, model).take(1500) {
            let query = RouteQuery::of(&request);
            if let Some(found) = scheme.placement_mut().least_loaded_route(&query, Scarcity::default()) {
                quiet += 1;
                assert_eq!(scheme.placement().check(&query, &found.route).unwrap(), found);
                // The whole scheme behaves alike.
                assert_eq!(scheme.admit(&request).unwrap().route, found.route);
            } else {
                let by_delay = scheme.placement_mut().least_delay(&query).map(|found| found.route);
                assert_eq!(scheme.admit(&request).ok().map(|decision| decision.route), by_delay);
            }
        }
        assert!(quiet > 100, "{quiet} routes along quiet ways show little");
    }
}

#[test]
fn earlier_flows_do_not_change_later_decisions() {
    // The same flows, once alone and once after others came and left: every later decision is equal.
    let (network, model) = (fat_tree(), Model::default());
    let scheme = || Chameleon::new(network.clone(), model, Params::default()).unwrap();
    let (mut plain, mut lived) = (scheme(), scheme());
    let requests: Vec<Request> = mix(&network, 8, 3, model).take(900).collect();
    for round in requests.chunks(100) {
        let visitors: Vec<FlowId> =
            mix(&network, 1, 7, model).take(80).filter_map(|request| Some(lived.admit(&request).ok()?.flow)).collect();
        for flow in visitors.into_iter().rev() {
            lived.release(flow).unwrap();
        }
        assert!(plain.placement().ledger() == lived.placement().ledger());
        for request in round {
            let route = |scheme: &mut Chameleon| scheme.admit(request).ok().map(|decision| decision.route);
            assert_eq!(route(&mut plain), route(&mut lived));
        }
    }
}

/// Flows until the first refusal.
fn filling(network: &Arc<Network>, scenario: usize, seed: u64, model: Model, params: &Params) -> usize {
    let mut scheme = Chameleon::new(network.clone(), model, params.clone()).unwrap();
    mix(network, scenario, seed, model).take_while(|request| scheme.admit(request).is_ok()).count()
}

#[test]
fn fast_queues_are_kept_for_flows_that_need_them() {
    // Scenario 8 of Table 2, published model: with least delay, clock synchronisation finds its fast queues full.
    let network = fat_tree();
    let fill =
        |params: Params| -> usize { (1..=4).map(|seed| filling(&network, 8, seed, Model::PUBLISHED, &params)).sum() };
    let rerouting = |how: Rerouting, params: Params| Params { rerouting: Some(how), ..params };
    let (paper, ours) = (fill(Params::published()), fill(Params::default()));
    let moving = fill(rerouting(Rerouting::default(), Params::published()));
    println!("paper {paper}, with rerouting {moving}, scarcity {ours}");
    assert!(ours > 2 * paper && ours > moving, "paper {paper}, with rerouting {moving}, scarcity {ours}");
}

#[test]
fn large_flows_take_the_fastest_queues() {
    let (network, model) = (fat_tree(), Model::PUBLISHED);
    let mut requests = mix(&network, 8, 1, model);
    let base = requests.find(|request| request.deadline.as_nanos() > 50_000_000).unwrap();
    let queues = |share: f64| -> Vec<u8> {
        let rate = wayleave_units::Rate::from_bits_per_second((share * 1e9) as u64);
        let routing = Routing::Scarcity(Scarcity { large: 0.06, ..Scarcity::default() });
        let params = Params { routing, ..Params::default() };
        let mut scheme = Chameleon::new(network.clone(), model, params).unwrap();
        let decision = scheme.admit(&Request { rate, ..base.clone() }).unwrap();
        decision.route.hops.iter().map(|hop| hop.queue).collect()
    };
    assert!(queues(0.06).iter().all(|&queue| queue == 0), "{:?}", queues(0.06));
    assert!(queues(0.059).iter().any(|&queue| queue > 0), "{:?}", queues(0.059));
}
