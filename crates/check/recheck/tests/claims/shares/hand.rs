//! Hand-computed cases: 10 Gbit/s everywhere, weights 6:3:1, so that 5.1 Gbit/s of minima and 2.55 Gbit/s of weights fit on a link, and
//! 5.7 Gbit/s of minima with acknowledgements.

use std::collections::BTreeSet;

use wayleave_recheck::{BrokenShare, HeldShare, HoseCharge, PromisedShare, ShareTimes, StatedCertainty};
use wayleave_topology::{Class, Classes, Hop, LinkId, Network, NodeId, Route};
use wayleave_units::{Bytes, Rate, Time};

use super::scene::{Direction, Scene, network};

pub(crate) const LINE: Direction = Some((10_000_000_000, 500));

/// Cables of 10 Gbit/s and 0.5 us with both directions; nodes as they are named.
pub(crate) fn built(cables: &[(&str, &str)]) -> Network {
    let cables: Vec<_> = cables.iter().map(|&(one, other)| (one, other, LINE, LINE)).collect();
    built_of(&cables)
}

pub(crate) fn built_of(cables: &[(&str, &str, Direction, Direction)]) -> Network {
    let names: BTreeSet<&str> = cables.iter().flat_map(|cable| [cable.0, cable.1]).collect();
    let nodes: Vec<_> = names.into_iter().map(|name| (name.to_owned(), 0)).collect();
    let cables: Vec<_> = cables.iter().map(|&(one, other, up, down)| (one.into(), other.into(), up, down)).collect();
    network(&nodes, &cables).with_classes(Classes::default()).unwrap()
}

pub(crate) fn scene(network: Network, shares: Vec<PromisedShare>) -> Scene {
    let links = network.links().len();
    Scene {
        network,
        closed: BTreeSet::new(),
        max_frame: vec![Bytes::new(1_500); links],
        flows: Vec::new(),
        shares,
        times: ShareTimes { budgets: vec![Time::from_micros(500); links], token_period: Time::from_micros(32) },
    }
}

pub(crate) fn nodes(network: &Network, names: &[&str]) -> Vec<NodeId> {
    names.iter().map(|name| network.find_node(name).unwrap()).collect()
}

fn share(mbit: u64, held: HeldShare) -> PromisedShare {
    PromisedShare { name: "share".into(), min: Rate::from_mbit(mbit), held, there_within: None, certainty: None }
}

pub(crate) fn hose(network: &Network, mbit: u64, charge: HoseCharge, members: &[&str]) -> PromisedShare {
    share(mbit, HeldShare::Hose { members: nodes(network, members), charge })
}

fn objective(network: &Network, mbit: u64, members: &[&str]) -> PromisedShare {
    share(mbit, HeldShare::Objective(nodes(network, members)))
}

pub(crate) fn route(network: &Network, links: &[&str]) -> Route {
    Route { hops: links.iter().map(|name| Hop { link: network.find_link(name).unwrap(), queue: 5 }).collect() }
}

pub(crate) fn pair(network: &Network, mbit: u64, links: &[&str]) -> PromisedShare {
    let route = route(network, links);
    let ends = (network.link(route.hops[0].link).from, network.link(route.hops[route.hops.len() - 1].link).to);
    share(mbit, HeldShare::Pair(ends.0, ends.1, route))
}

/// Returns the promised total of the guaranteed class on an overbooked link.
fn promised(broken: &[BrokenShare], name: &str) -> Option<u128> {
    broken.iter().find_map(|one| match one {
        BrokenShare::Class { link, class: Class::Guaranteed, promised, .. } if link == name => Some(*promised),
        _ => None,
    })
}

/// The links with too much of a class.
fn full(broken: &[BrokenShare], wanted: Class) -> Vec<&str> {
    let link = |one| match one {
        &BrokenShare::Class { ref link, class, .. } if class == wanted => Some(link.as_str()),
        _ => None,
    };
    broken.iter().filter_map(link).collect()
}

fn line() -> Network {
    built(&[("h1", "s1"), ("h2", "s1"), ("s1", "s2"), ("h3", "s2"), ("h4", "s2")])
}

const GBIT: u128 = 1_000_000_000;

/// Two objectives of 2 Gbit/s, a pair of 5 and a hose of 5 over one link between switches that both have hosts.
#[test]
fn a_link_between_two_switches_with_hosts_is_charged() {
    let network = line();
    let shares = vec![
        objective(&network, 2_000, &["h1", "h3"]),
        objective(&network, 2_000, &["h2", "h4"]),
        pair(&network, 5_000, &["h1->s1", "s1->s2", "s2->h3"]),
        hose(&network, 5_000, HoseCharge::EvenSplits, &["h2", "h4"]),
    ];
    let broken = scene(network, shares).check();
    assert_eq!(full(&broken, Class::Guaranteed), ["s1->s2"]);
    assert_eq!(promised(&broken, "s1->s2"), Some(10 * GBIT));
    assert_eq!(full(&broken, Class::Objective), ["s1->s2", "s2->s1"]);
}

/// Three members at one end and two at the other: two can send across at once. 2 x 2.55 = 5.1 fit, a bit/s more does not.
#[test]
fn a_hose_crosses_a_dumbbell_as_often_as_its_smaller_side() {
    let cables = [("h1", "s1"), ("h2", "s1"), ("h3", "s1"), ("s1", "s2"), ("h4", "s2"), ("h5", "s2")];
    for charge in [HoseCharge::EvenSplits, HoseCharge::ChosenPaths, HoseCharge::EveryPath] {
        let check = |bits| {
            let network = built(&cables);
            let members = ["h1", "h2", "h3", "h4", "h5"];
            let least = hose(&network, 0, charge, &members);
            let one = PromisedShare { min: Rate::from_bits_per_second(bits), ..least };
            scene(network, vec![one]).check()
        };
        assert_eq!(check(2_550_000_000), []);
        assert_eq!(full(&check(2_550_000_001), Class::Guaranteed), ["s1->s2", "s2->s1"], "{charge:?}");
    }
}

/// A host at each switch of a ring of four. Opposite hosts split over both sides. Over s1->s2 go (1, 2) wholly, and half of (1, 3) and (4, 2).
/// Evenly, 1 -> 2 alone or 1 -> 3 with 4 -> 2 put 1 there; every path: 1 -> 3 and 4 -> 2 put 2 there.
#[test]
fn a_ring_of_four_splits_traffic_to_the_opposite_side() {
    let cables = [("s1", "s2"), ("s2", "s3"), ("s3", "s4"), ("s4", "s1")];
    let hosts = [("h1", "s1"), ("h2", "s2"), ("h3", "s3"), ("h4", "s4")];
    let check = |mbit, charge| {
        let network = built(&[&cables[..], &hosts[..]].concat());
        let one = hose(&network, mbit, charge, &["h1", "h2", "h3", "h4"]);
        scene(network, vec![one]).check()
    };
    assert_eq!(check(5_100, HoseCharge::EvenSplits), []);
    let broken = check(2_600, HoseCharge::EveryPath);
    assert_eq!(full(&broken, Class::Guaranteed).len(), 8, "all links of the ring, and no host's: {broken:?}");
    assert_eq!(promised(&broken, "s1->s2"), Some(2 * 2_600_000_000));
    assert_eq!(check(2_550, HoseCharge::EveryPath), []);
    // One such hose: what it may choose is no more than even splits and its largest minimum. The charge is the smaller of both.
    assert_eq!(promised(&check(2_600, HoseCharge::ChosenPaths), "s1->s2"), Some(5_200_000_000));
}

/// Two racks of two hosts and two spines: even splits put half of 2 B on each uplink, chosen paths up to 2 B. Two hoses of 1 Gbit/s: 2 evenly,
/// 4 by every path, 2 + 1 as they are charged; so they are not proven, and a pair beside them is not either.
#[test]
fn two_hoses_on_chosen_spines_are_charged_less_than_their_maximum() {
    let cables = [
        ("h1", "s1"),
        ("h2", "s1"),
        ("h3", "s2"),
        ("h4", "s2"),
        ("s1", "s3"),
        ("s1", "s4"),
        ("s2", "s3"),
        ("s2", "s4"),
    ];
    let proven = |share| PromisedShare { certainty: Some(StatedCertainty::Proven), ..share };
    let members = ["h1", "h2", "h3", "h4"];
    let check = |charge, mbit, count, over: &[&str]| {
        let network = built(&cables);
        let mut shares = vec![proven(hose(&network, mbit, charge, &members)); count];
        shares.push(PromisedShare { name: "pair".into(), ..proven(pair(&network, 1, over)) });
        scene(network, shares).check()
    };
    let inside: &[&str] = &["h1->s1", "s1->h2"];
    let across: &[&str] = &["h1->s1", "s1->s3", "s3->s2", "s2->h3"];
    let unproven = |broken: Vec<BrokenShare>| -> Vec<String> {
        let name = |one| if let BrokenShare::Certainty { share, .. } = one { Some(share) } else { panic!("{one}") };
        broken.into_iter().filter_map(name).collect()
    };
    // One hose: 1 evenly and 1 beside is all that it can send: 2.
    assert_eq!(check(HoseCharge::ChosenPaths, 1_000, 1, across), []);
    assert_eq!(unproven(check(HoseCharge::ChosenPaths, 1_000, 2, across)), ["share", "share", "pair"]);
    assert_eq!(unproven(check(HoseCharge::ChosenPaths, 1_000, 2, inside)), ["share", "share"]);
    for charge in [HoseCharge::EvenSplits, HoseCharge::EveryPath] {
        assert_eq!(check(charge, 1_000, 2, across), []);
    }
    // On an uplink: 3 hoses of 1.4 Gbit/s evenly 4.2; chosen 4.2 + 1.4; by every path 8.4.
    assert_eq!(promised(&check(HoseCharge::EvenSplits, 1_400, 3, inside), "s1->s3"), None);
    assert_eq!(promised(&check(HoseCharge::ChosenPaths, 1_400, 3, inside), "s1->s3"), Some(5_600_000_000));
    assert_eq!(promised(&check(HoseCharge::EveryPath, 1_400, 3, inside), "s1->s3"), Some(8_400_000_000));
}

/// A pair of 5 Gbit/s in one direction and pairs of the other direction that sum up to 5.1: 0.51 of acknowledgements
/// meet 5.1, 5.61 of 5.7 Gbit/s. With a hose whose own acknowledgements are 0.5, 0.2 more are too much.
#[test]
fn acknowledgements_count_in_the_other_direction() {
    let check = |back| {
        let network = line();
        let mut shares = vec![hose(&network, 5_000, HoseCharge::EvenSplits, &["h1", "h3"])];
        shares.push(pair(&network, 100, &["h1->s1", "s1->s2", "s2->h3"]));
        shares.push(PromisedShare {
            min: Rate::from_bits_per_second(back),
            ..pair(&network, 0, &["h4->s2", "s2->s1", "s1->h2"])
        });
        scene(network, shares).check()
    };
    // On s1->s2: 5.1, a tenth of 5 for the hose, and a tenth of the reverse traffic, rounded up: 5.7 at 1 Gbit/s. On
    // s2->s1 5 + 1 are too much.
    let text = |broken: Vec<BrokenShare>| broken.iter().map(ToString::to_string).collect::<Vec<_>>();
    let too_much =
        "minima of s1->s2 with acknowledgements and probes take 5.700000001 Gbit/s, above the limit of 5.7 Gbit/s";
    assert!(!text(check(1_000_000_000)).iter().any(|one| one.starts_with("minima of s1->s2")));
    assert!(text(check(1_000_000_001)).contains(&too_much.to_owned()), "{:?}", text(check(1_000_000_001)));
}

/// If a cable has one direction only, acknowledgements may come back on every allowed path.
#[test]
fn without_a_reverse_direction_acknowledgements_use_every_allowed_path() {
    let check = |mbit| {
        let network = built_of(&[
            ("h1", "s1", LINE, LINE),
            ("h2", "s2", LINE, LINE),
            ("s1", "s2", LINE, None),
            ("s2", "s3", Some((900_000_000, 500)), None),
            ("s3", "s1", LINE, None),
        ]);
        let shares = vec![pair(&network, mbit, &["h1->s1", "s1->s2", "s2->h2"])];
        scene(network, shares).check()
    };
    // 0.513 of 0.9 Gbit/s may be filled: a tenth of 5.1 is 0.51.
    assert_eq!(check(5_100), []);
    let texts: Vec<String> = check(5_140).iter().map(ToString::to_string).collect();
    assert!(
        texts.iter().any(|text| text.starts_with("minima of s2->s3 with ack") && text.contains("514 Mbit/s")),
        "{texts:?}"
    );
}

#[test]
fn members_on_two_islands_have_no_path() {
    let cables = [("h1", "s1"), ("h2", "s1"), ("h3", "s2"), ("h4", "s2")];
    let network = built(&cables);
    let shares = vec![
        objective(&network, 1, &["h1", "h3"]),
        hose(&network, 1, HoseCharge::EvenSplits, &["h1", "h2", "h4"]),
        hose(&network, 1, HoseCharge::EvenSplits, &["h1", "h2"]),
    ];
    let no_path =
        |from: &str, to: &str| BrokenShare::NoPath { share: "share".into(), from: from.into(), to: to.into() };
    assert_eq!(scene(network, shares).check(), [no_path("h1", "h3"), no_path("h1", "h4")]);
}

/// h2 has a link to each of two switches that nothing else joins.
#[test]
fn hosts_do_not_forward() {
    let network = built(&[("h1", "s1"), ("h2", "s1"), ("h2", "s2"), ("h3", "s2")]);
    let check = |members: &[&str]| {
        let one = hose(&network, 1, HoseCharge::EvenSplits, members);
        scene(network.clone(), vec![one]).check().len()
    };
    assert_eq!((check(&["h1", "h3"]), check(&["h1", "h2"]), check(&["h2", "h3"])), (1, 0, 0));
}

/// Parallel cables carry half each, and a host with two links to its switch sends over both.
#[test]
fn parallel_cables_and_hosts_with_two_links_split() {
    let network = || built(&[("h1", "s1"), ("h1", "s1"), ("h2", "s2"), ("s1", "s2"), ("s1", "s2")]);
    let check = |mbit, charge| {
        let network = network();
        let one = hose(&network, mbit, charge, &["h1", "h2"]);
        scene(network, vec![one]).check()
    };
    let broken = check(5_200, HoseCharge::EvenSplits);
    assert_eq!(full(&broken, Class::Guaranteed), ["h2->s2", "s2->h2"]);
    let broken = check(5_200, HoseCharge::EveryPath);
    assert_eq!(full(&broken, Class::Guaranteed).len(), 2 + 4 + 4);
    assert_eq!(promised(&check(10_300, HoseCharge::EvenSplits), "s1->s2#2"), Some(5_150_000_000));
}

/// The ring without s1->s4 and back: traffic of both directions goes over s1->s2, and the charge is the larger of
/// both states.
#[test]
fn closed_links_count_in_both_their_states() {
    let cables = [("s1", "s2"), ("s2", "s3"), ("s3", "s4"), ("s4", "s1"), ("h1", "s1"), ("h3", "s3")];
    let network = built(&cables);
    let shares = vec![hose(&network, 4_000, HoseCharge::EvenSplits, &["h1", "h3"]); 2];
    let mut scene = scene(network, shares);
    let on_the_ring = |broken: &[BrokenShare]| ["s1->s2", "s1->s4"].map(|link| promised(broken, link));
    assert_eq!(on_the_ring(&scene.check()), [None, None]);
    let link = |name: &str| scene.network.find_link(name).unwrap();
    let closed: BTreeSet<LinkId> = [link("s1->s4"), link("s4->s1")].into();
    scene.closed = closed;
    assert_eq!(on_the_ring(&scene.check()), [Some(8_000_000_000), None], "4 of 5.1 stay on what is closed");
    scene.shares.push(pair(&scene.network, 1_200, &["h1->s1", "s1->s4", "s4->s3", "s3->h3"]));
    let broken = scene.check();
    assert!(broken[0].to_string().contains("takes s1->s4, which is closed"), "{}", broken[0]);
}

/// Two spines, one 20 us away: frames of 12,000 bits take 1.2 us a link. So the slow path takes 4 x 1.2 + 2 x 0.5 + 2
/// x 20 = 45.8 us in each direction, and T is 91.6 us. A minimum of 1 Gbit/s is available after 4 x 500 + 2 x 91.6 +
/// 32 + 12 us.
#[test]
fn the_slowest_allowed_path_determines_the_round_trip() {
    let far: Direction = Some((10_000_000_000, 20_000));
    let network = built_of(&[
        ("h1", "s1", LINE, LINE),
        ("h2", "s2", LINE, LINE),
        ("s1", "s3", LINE, LINE),
        ("s2", "s3", LINE, LINE),
        ("s1", "s4", far, far),
        ("s2", "s4", far, far),
    ]);
    let timed = |share, within| PromisedShare { there_within: Some(Time::from_nanos(within)), ..share };
    let check = |within, pair_within| {
        let one = timed(hose(&network, 1_000, HoseCharge::ChosenPaths, &["h1", "h2"]), within);
        // On the fast path: 4 x 1.2 + 4 x 0.5 = 6.8 us in each direction.
        let other = timed(pair(&network, 1_000, &["h1->s1", "s1->s3", "s3->s2", "s2->h2"]), pair_within);
        scene(network.clone(), vec![one, other]).check()
    };
    let (exact, of_pair) = (2_000_000 + 183_200 + 32_000 + 12_000, 2_000_000 + 27_200 + 32_000 + 12_000);
    assert_eq!(check(exact, of_pair), []);
    let late = |broken: Vec<BrokenShare>| match &broken[..] {
        [BrokenShare::Time { derived, .. }] => derived.as_nanos(),
        other => panic!("{other:?}"),
    };
    assert_eq!((late(check(exact - 1, of_pair)), late(check(exact, of_pair - 1))), (exact, of_pair));
}

/// One pair of 1 Gbit/s on a star of two: T = 2 (2 x 1.2 + 2 x 0.5) = 6.8 us, I = 0.95 (2 x 6 + 10) 6.8 = 142,120 bits; one frame for one
/// pair; S' = 2 frames, H = 4 + 2 + 4/6 frames; d = ((142,120 + 12,000) / 0.6 + 24,000 + 80,000) / 10 bits per ns = 36,086.7 ns.
/// An objective adds nothing. A hose of 3 adds 2 ordered pairs that leave h1.
#[test]
fn the_delay_includes_data_in_flight_and_one_frame_per_pair() {
    let network = built(&[("h1", "s1"), ("h2", "s1"), ("h3", "s1")]);
    let check = |budget, with_hose: bool| {
        let mut shares = vec![
            PromisedShare { there_within: Some(Time::from_millis(10)), ..pair(&network, 1_000, &["h1->s1", "s1->h2"]) },
            objective(&network, 1, &["h1", "h2", "h3"]),
        ];
        shares.extend(with_hose.then(|| hose(&network, 1, HoseCharge::EvenSplits, &["h1", "h2", "h3"])));
        let mut scene = scene(network.clone(), shares);
        scene.times.budgets = vec![Time::from_nanos(budget); scene.network.links().len()];
        scene.check()
    };
    let wait = |broken: Vec<BrokenShare>| match &broken[..] {
        [BrokenShare::Wait { wait: Some(one), .. }, BrokenShare::Wait { wait: Some(other), .. }] => {
            (one.as_nanos(), other.as_nanos())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(check(36_087, false), []);
    assert_eq!(wait(check(36_086, false)), (36_087, 36_087));
    // 2 x 12,000 / 0.6 / 10 more.
    assert_eq!(wait(check(36_087, true)), (40_087, 40_087));
}
