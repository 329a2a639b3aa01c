//! The paths of a survey, against every combination of their queues.

use std::sync::Arc;

use wayleave_contracts::RequestMix;
use wayleave_ledger::{Model, PortInput};
use wayleave_scheme_api::Admission;
use wayleave_schemes::admission::chameleon::{Chameleon, Params};
use wayleave_schemes::placement::Placement;
use wayleave_schemes::reservations::{PathOutcome, PathTried, paths};
use wayleave_schemes::routing::RouteQuery;
use wayleave_topology::builders::{Cabling, FatTree, LeafSpine, build};
use wayleave_topology::{Hop, LinkId, Network, PortSpec, Route};
use wayleave_units::{Bytes, Time};

/// Filled with a mix until `refusals` requests were refused; the queries of those.
fn filled(network: &Arc<Network>, seed: u64, refusals: usize) -> (Chameleon, Vec<RouteQuery>) {
    println!("seed {seed}");
    let model = Model::default();
    let mut scheme = Chameleon::new(network.clone(), model, Params::default()).unwrap();
    let mut refused = Vec::new();
    for contract in RequestMix::new(network, 4, seed) {
        let request = wayleave_schemes::request(&contract, &model);
        if scheme.admit(&request).is_err() {
            refused.push(RouteQuery::of(&request));
        }
        if refused.len() == refusals {
            break;
        }
    }
    (scheme, refused)
}

/// Returns the number of queues of a route that deny access.
fn broken(placement: &Placement, query: &RouteQuery, route: &Route) -> usize {
    let ledger = placement.ledger();
    let (mut input, mut burst, mut broken) = (PortInput::LOCAL, query.burst, 0);
    for &hop in &route.hops {
        broken += usize::from(!ledger.fits(hop.link, hop.queue, input, query.rate, burst));
        input = PortInput::link(hop.link);
        burst += query.rate * ledger.budget(hop);
    }
    broken
}

/// The fewest promises that any queues in time break on these links, and the least delay among those.
fn best_of_all(placement: &Placement, query: &RouteQuery, links: &[LinkId]) -> Option<(usize, Time)> {
    let mut routes = vec![Route::default()];
    for &link in links {
        let queues = placement.ledger().budgets(link).len() as u8;
        let longer = |route: &Route| {
            let hops = route.hops.clone();
            (0..queues).map(move |queue| Route { hops: hops.iter().copied().chain([Hop { link, queue }]).collect() })
        };
        routes = routes.iter().flat_map(longer).collect();
    }
    let outcome = |route: &Route| (broken(placement, query, route), placement.bound(route));
    routes.iter().map(outcome).filter(|&(_, bound)| bound <= query.deadline).min()
}

fn assert_best(placement: &Placement, query: &RouteQuery, tried: &PathTried) {
    let found = match &tried.outcome {
        PathOutcome::Open { route, bound } => {
            assert_eq!(placement.bound(route), *bound);
            Some((0, *bound))
        }
        PathOutcome::Blocked { bindings, bound, .. } => Some((bindings.len(), *bound)),
        PathOutcome::TooSlow { fastest } => {
            assert!(*fastest > query.deadline);
            None
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(found, best_of_all(placement, query, &tried.links), "{query:?} {tried:?}");
}

#[test]
fn no_other_choice_of_queues_on_a_path_breaks_fewer_promises() {
    let cabling = Cabling { switch_port: PortSpec::uniform(4, Bytes::new(190_000)), ..Cabling::default() };
    let network = Arc::new(build::fat_tree(&FatTree { cabling, ..FatTree::default() }).unwrap());
    for seed in 1..=3 {
        let (scheme, refused) = filled(&network, seed, 10);
        for query in refused {
            let survey = paths(scheme.placement(), &query, 16);
            assert_eq!(survey.total, survey.paths.len());
            for tried in &survey.paths {
                assert_best(scheme.placement(), &query, tried);
            }
        }
    }
}

#[test]
fn parallel_links_are_separate_paths_and_those_beyond_the_limit_are_counted() {
    let network = Arc::new(build::leaf_spine(&LeafSpine { parallel: 3, ..LeafSpine::default() }).unwrap());
    let (scheme, refused) = filled(&network, 1, 1);
    let survey =
        paths(scheme.placement(), &RouteQuery { to: network.find_node("h16").unwrap(), ..refused[0].clone() }, 5);
    // Two spines, three links up and three down.
    assert_eq!((survey.total, survey.paths.len()), (18, 5));
    assert!(survey.paths.iter().enumerate().all(|(at, path)| !survey.paths[..at].contains(path)));
}
