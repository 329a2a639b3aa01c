//! Worked examples of sections 3.1 and 5.1.1, and of Fig. 1.

use std::sync::Arc;

use wayleave_calculus::rational;
use wayleave_ledger::{Model, Shaping};
use wayleave_scheme_api::{Binding, Handover, Refusal};
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_topology::{Hop, Network, Route};
use wayleave_units::{Amount, Bytes, Rate, Time};

use super::*;

fn fat_tree() -> Arc<Network> {
    Arc::new(build::fat_tree(&FatTree::default()).unwrap())
}

/// As section 3.1 has it, without the caps by input lines.
fn silo(network: &Arc<Network>) -> Silo {
    let model = Model::default().with_shaping(Shaping::Off);
    Silo::new(network.clone(), model, Params::default()).unwrap()
}

fn request(network: &Network, from: &str, to: &str, mbit: u64, burst: u64) -> Request {
    Request {
        from: network.find_node(from).unwrap(),
        to: network.find_node(to).unwrap(),
        rate: Rate::from_mbit(mbit),
        burst: Bytes::new(burst),
        deadline: Time::from_millis(1),
        max_frame: None,
        route: None,
        protection: 1,
    }
}

fn route(network: &Network, nodes: &[&str]) -> Route {
    let link = |pair: &[&str]| network.find_link(&format!("{}->{}", pair[0], pair[1])).unwrap();
    Route { hops: nodes.windows(2).map(|pair| Hop { link: link(pair), queue: 0 }).collect() }
}

#[test]
fn the_latency_is_a_tenth_of_a_millisecond_for_each_link() {
    let network = fat_tree();
    let mut silo = silo(&network);
    for (to, links) in [("h2", 2), ("h3", 4), ("h5", 6)] {
        let bound = Time::from_micros(100) * links;
        let decision = silo.admit(&request(&network, "h1", to, 1, 100)).unwrap();
        assert_eq!((decision.bound, decision.route.hops.len() as u64), (bound, links));
        let deadline = bound - Time::from_nanos(1);
        let late = Request { deadline, ..request(&network, "h1", to, 1, 100) };
        let refusal = silo.admit(&late).unwrap_err();
        assert!(
            matches!(refusal, Refusal::Deadline { fastest, least, .. } if fastest == bound && least < bound),
            "{refusal:?}"
        );
    }
}

#[test]
fn only_the_first_of_eight_queues_is_used() {
    let network = fat_tree();
    let silo = silo(&network);
    assert!(network.links().all(|(link, _)| silo.placement().ledger().budgets(link).len() == 1));
}

#[test]
fn the_delay_of_a_link_is_its_burst_over_its_rate_plus_two_frames() {
    let network = fat_tree();
    let mut silo = silo(&network);
    silo.admit(&request(&network, "h1", "h2", 10, 3000)).unwrap();
    silo.admit(&request(&network, "h1", "h5", 10, 2000)).unwrap();
    let uplink = network.find_link("h1->pod1-edge1").unwrap();
    let delay = silo.placement().ledger().report(uplink)[0].delay.clone();
    // A frame of best effort that blocks, and one more since packets count only once they are complete.
    assert_eq!(delay, Some(rational::from_time(Time::from_nanos((3000 + 2000 + 2 * 1562) * 8))));
}

#[test]
fn a_burst_is_admitted_up_to_the_budget_and_not_one_byte_beyond() {
    let network = fat_tree();
    let mut silo = silo(&network);
    // 0.1 ms at 1 Gbit/s are 12,500 B; the last link sees a burst that has grown by r D = 12.5 B.
    let most = 12_500 - 2 * 1562 - 13;
    let decision = silo.admit(&request(&network, "h1", "h2", 1, most)).unwrap();
    silo.release(decision.flow).unwrap();
    let refusal = silo.admit(&request(&network, "h1", "h2", 1, most + 1)).unwrap_err();
    let budget = Time::from_micros(100);
    let downlink = network.find_link("pod1-edge1->h2").unwrap();
    assert!(
        matches!(refusal, Refusal::Blocked { binding: Binding::Delay { link, queue: 0, budget: b, .. }, .. }
            if link == downlink && b == budget),
        "{refusal:?}"
    );
}

#[test]
fn a_burst_grows_by_rate_times_budget_at_each_hop() {
    let network = fat_tree();
    let mut silo = silo(&network);
    let decision = silo.admit(&request(&network, "h1", "h5", 10, 1000)).unwrap();
    for (before, hop) in (0..).zip(&decision.route.hops) {
        let report = &silo.placement().ledger().report(hop.link)[0];
        // 10 Mbit/s for 0.1 ms are 125 B.
        assert_eq!(report.inputs[0].burst, Amount::from(Bytes::new(1000 + 125 * before)));
    }
}

#[test]
fn an_embedded_flow_is_never_moved() {
    let network = fat_tree();
    let mut silo = silo(&network);
    for path in [
        &["h1", "pod1-edge1", "pod1-agg1", "core1", "pod3-agg1", "pod3-edge1", "h10"],
        &["h7", "pod2-edge2", "pod2-agg2", "core3", "pod4-agg2", "pod4-edge1", "h13"],
        &["h15", "pod4-edge2", "pod4-agg2", "core4", "pod3-agg2", "pod3-edge2", "h11"],
    ] {
        // Enough that no two of them fit on a link.
        let flow = request(&network, path[0], path[path.len() - 1], 60, 4000);
        silo.admit(&Request { route: Some(route(&network, path)), ..flow }).unwrap();
    }
    let red = request(&network, "h5", "h9", 60, 4000);
    let before = silo.placement().ledger().clone();
    assert!(!silo.would_admit(&red));
    assert!(matches!(silo.admit(&red), Err(Refusal::Blocked { .. })));
    assert!(*silo.placement().ledger() == before);
}

#[test]
fn a_change_that_does_not_fit_keeps_the_terms_of_the_flow() {
    let network = Arc::new(build::star(3, Cabling::default()).unwrap());
    let mut silo = silo(&network);
    let flow = silo.admit(&request(&network, "h1", "h2", 10, 8000)).unwrap().flow;
    let before = silo.placement().ledger().clone();
    assert!(silo.change(flow, &request(&network, "h1", "h2", 10, 20_000)).unwrap().is_err());
    assert!(*silo.placement().ledger() == before);
    let changed = silo.change(flow, &request(&network, "h1", "h2", 20, 9000)).unwrap().unwrap();
    // It did not fit beside the old terms: what was in flight has to leave first.
    assert_eq!(changed.handover, Handover::Instead);
    assert_eq!(silo.placement().ledger().flow(changed.flow).unwrap().demand.burst, Bytes::new(9000));
    let beside = silo.change(changed.flow, &request(&network, "h1", "h3", 1, 100)).unwrap().unwrap();
    assert_eq!(beside.handover, Handover::Beside);
    assert_eq!(silo.change(changed.flow, &request(&network, "h1", "h3", 1, 100)), None);
}

fn hop(network: &Network, from: &str, to: &str) -> Hop {
    Hop { link: network.find_link(&format!("{from}->{to}")).unwrap(), queue: 0 }
}

/// From h1 to h5: over one of four cores.
fn to_another_pod(network: &Network, burst: u64) -> Request {
    request(network, "h1", "h5", 1, burst)
}

#[test]
fn the_route_does_not_depend_on_load() {
    let network = fat_tree();
    let mut empty = silo(&network);
    let wanted = to_another_pod(&network, 4_000);
    let meant = empty.admit(&wanted).unwrap().route;
    // The link to the core that it would use is full, and all other routes are empty.
    let mut full = silo(&network);
    let ends = [hop(&network, "h2", "pod1-edge1"), hop(&network, "pod2-edge1", "h6")];
    let beside = Route { hops: [&ends[..1], &meant.hops[1..5], &ends[1..]].concat() };
    full.admit(&Request { route: Some(beside), ..request(&network, "h2", "h6", 1, 8_000) }).unwrap();
    let refusal = full.admit(&wanted).unwrap_err();
    assert!(matches!(&refusal, Refusal::Blocked { route, .. } if *route == meant), "{refusal:?}");
}

#[test]
fn the_stronger_reading_routes_around_full_links() {
    let network = fat_tree();
    let model = Model::default().with_shaping(Shaping::Off);
    let params = Params { route: RouteChoice::Around, ..Params::default() };
    let mut around = Silo::new(network.clone(), model, params).unwrap();
    let mut direct = silo(&network);
    // Four racks send to another pod each, so that only links between switches are shared.
    let flow = |from: usize, to: usize| request(&network, &format!("h{from}"), &format!("h{to}"), 60, 4_000);
    let wanted = [flow(1, 5), flow(2, 7), flow(3, 9), flow(4, 11)];
    let admitted = |silo: &mut Silo| wanted.iter().filter(|wanted| silo.admit(wanted).is_ok()).count();
    assert_eq!(admitted(&mut around), 4);
    assert!(admitted(&mut direct) < 4);
}

#[test]
fn flows_spread_over_all_shortest_paths_and_repeat_their_choice() {
    let network = fat_tree();
    let mut silo = silo(&network);
    let mut cores = std::collections::BTreeMap::new();
    for burst in 1..=400 {
        let wanted = to_another_pod(&network, burst);
        let [first, again] = [(); 2].map(|()| {
            let decision = silo.admit(&wanted).unwrap();
            silo.release(decision.flow).unwrap()
        });
        assert_eq!(first, again);
        *cores.entry(first.hops[2].link).or_insert(0) += 1;
    }
    // A hundred each: six standard deviations of a binomial draw are 52.
    assert!(cores.len() == 4 && cores.values().all(|&count: &i32| (48..=152).contains(&count)), "{cores:?}");
}

#[test]
fn a_closed_link_is_not_chosen() {
    let network = fat_tree();
    let mut silo = silo(&network);
    let wanted = to_another_pod(&network, 100);
    let decision = silo.admit(&wanted).unwrap();
    let route = silo.release(decision.flow).unwrap();
    silo.placement_mut().close(route.hops[2].link);
    let other = silo.admit(&wanted).unwrap().route;
    assert!(other.hops.len() == route.hops.len() && other.hops.iter().all(|hop| hop.link != route.hops[2].link));
}
