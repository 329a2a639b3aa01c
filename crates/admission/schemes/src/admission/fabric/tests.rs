use std::sync::Arc;

use wayleave_contracts::RequestMix;
use wayleave_ledger::Model;
use wayleave_scheme_api::{Admission, Certainty, Refusal, RefusalCode, ShareMembers, ShareRequest};
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_topology::{Class, Classes, Network, NodeId};
use wayleave_units::{Rate, Time};

use super::{Charge, Fabric, Paths, Settings};
use crate::admission::chameleon::{self, Chameleon};

fn plain() -> Network {
    let cabling = Cabling { rate: Rate::from_gbit(10), propagation: Time::from_micros(1), ..Cabling::default() };
    build::fat_tree(&FatTree { k: 4, cabling, ..FatTree::default() }).unwrap()
}

fn network() -> Arc<Network> {
    Arc::new(plain().with_classes(Classes::default()).unwrap())
}

fn fabric(paths: Paths) -> Fabric {
    let settings = Settings { paths, ..Settings::default() };
    Fabric::new(network(), Model::default(), chameleon::Params::default(), &settings).unwrap()
}

fn hosts(numbers: &[usize]) -> Vec<NodeId> {
    numbers.iter().map(|number| network().find_node(&format!("h{number}")).unwrap()).collect()
}

fn pair(from: usize, to: usize, mbit: u64) -> ShareRequest {
    let ends = hosts(&[from, to]);
    ShareRequest { among: ShareMembers::Pair(ends[0], ends[1]), min: Rate::from_mbit(mbit), within: None }
}

fn hose(members: &[usize], mbit: u64) -> ShareRequest {
    ShareRequest { among: ShareMembers::Hose(hosts(members)), min: Rate::from_mbit(mbit), within: None }
}

/// Two pairs of 3 Gbit/s leave one rack for one pod: 5.1 Gbit/s can be promised on a link, so they take two paths.
#[test]
fn pairs_take_the_shortest_path_with_the_most_free_capacity() {
    let mut fabric = fabric(Paths::One);
    let route = |fabric: &mut Fabric, from, to| fabric.admit_share(&pair(from, to, 3_000)).unwrap().route.unwrap();
    let (first, second) = (route(&mut fabric, 1, 16), route(&mut fabric, 2, 15));
    let ends = hosts(&[1, 16, 2, 15]);
    first.validate(&network(), ends[0], ends[1]).unwrap();
    second.validate(&network(), ends[2], ends[3]).unwrap();
    assert_eq!((first.hops.len(), second.hops.len()), (6, 6));
    assert!(first.hops[1..].iter().all(|hop| hop.queue == 5), "in the queue of their class");
    assert_ne!(first.hops[1].link, second.hops[1].link);
    let refusal = fabric.admit_share(&pair(1, 9, 2_101)).unwrap_err();
    let Refusal::ClassRate { class, link, asked, left, fits } = refusal else { panic!("{refusal:?}") };
    assert_eq!((class, asked, left, fits), (Class::Guaranteed, Rate::from_mbit(2_101), Rate::from_mbit(2_100), left));
    assert_eq!(network().link(link).name, network().link(first.hops[0].link).name, "the host's own link");
    assert_eq!(fabric.would_admit_share(&pair(1, 9, 2_100)), Ok(()));
}

#[test]
fn two_hosts_at_one_switch_have_two_links() {
    let mut fabric = fabric(Paths::One);
    assert_eq!(fabric.admit_share(&pair(1, 2, 1)).unwrap().route.unwrap().hops.len(), 2);
    assert_eq!(fabric.admit_share(&pair(1, 3, 1)).unwrap().route.unwrap().hops.len(), 4);
}

/// One hose alone may put all of its minimum on any link, and that is charged. Of four hoses half is charged on the four links of a pod.
#[test]
fn hoses_are_proven_if_the_charge_covers_every_choice_of_paths() {
    let request = hose(&[1, 5, 9], 1_000);
    let mut one = fabric(Paths::One);
    let first = one.admit_share(&request).unwrap();
    assert_eq!(first.certainty, Certainty::Proven);
    let others = [[1, 6, 10], [2, 7, 11], [2, 8, 12]].map(|members| one.admit_share(&hose(&members, 1_000)).unwrap());
    assert_eq!(others[2].certainty, Certainty::Measured);
    assert_eq!(one.certainty(first.share), Some(Certainty::Measured), "they may all meet on one link");
    assert!(one.release_share(others[2].share) && one.release_share(others[1].share));
    assert_eq!(one.certainty(first.share), Some(Certainty::Measured), "2 Gbit/s may meet where 1.5 are charged");
    assert!(one.release_share(others[0].share));
    assert_eq!(one.certainty(first.share), Some(Certainty::Proven));
    let settings = Settings { hose_charge: Charge::EveryPath, ..Settings::default() };
    let mut every = Fabric::new(network(), Model::default(), chameleon::Params::default(), &settings).unwrap();
    for members in [[1, 5, 9], [1, 6, 10], [2, 7, 11], [2, 8, 12]] {
        assert_eq!(every.admit_share(&hose(&members, 1_000)).unwrap().certainty, Certainty::Proven);
    }
    let pod = hose(&[3, 13, 16], 1_101);
    assert!(matches!(every.admit_share(&pod), Err(Refusal::ClassRate { .. })), "any link of the pod may get all");
    let pods = [[1, 5, 9], [1, 6, 10], [2, 7, 11], [2, 8, 12]].map(|members| hose(&members, 1_000));
    assert!(pods[1..].iter().chain([&pod]).all(|request| one.admit_share(request).is_ok()));
}

#[test]
fn even_splits_stay_proven_when_switches_are_down() {
    let mut all = fabric(Paths::All);
    assert_eq!(all.admit_share(&hose(&[1, 5, 9], 1_000)).unwrap().certainty, Certainty::Proven);
    let aggregation = network().links_to_switches(network().link(network().links_from(hosts(&[2])[0])[0]).to)[0];
    all.placement_mut().close(aggregation);
    assert_eq!(
        all.admit_share(&hose(&[2, 9], 100)).unwrap().certainty,
        Certainty::Proven,
        "over the links that are left"
    );
    all.placement_mut().open(aggregation);
    let of_host = network().links_from(hosts(&[2])[0])[0];
    all.placement_mut().close(of_host);
    assert_eq!(all.admit_share(&hose(&[2, 9], 100)).unwrap_err(), Refusal::LinkDown { link: of_host });
}

/// 5.1 Gbit/s on a host's link: the refusal names exactly the rate that would fit.
#[test]
fn a_refused_hose_reports_what_would_fit() {
    let mut fabric = fabric(Paths::All);
    let refusal = fabric.admit_share(&hose(&[1, 5, 9], 6_000)).unwrap_err();
    assert!(matches!(refusal, Refusal::ClassRate { fits, .. } if fits == Rate::from_mbit(5_100)), "{refusal:?}");
    assert_eq!(refusal.reason(), RefusalCode::Rate);
    fabric.admit_share(&hose(&[1, 5, 9], 5_100)).unwrap();
    let objective = ShareRequest { among: ShareMembers::Objective(hosts(&[1, 2])), ..hose(&[1, 2], 2_551) };
    let refusal = fabric.admit_share(&objective).unwrap_err();
    assert!(matches!(refusal, Refusal::ClassRate { class: Class::Objective, .. }), "{refusal:?}");
}

#[test]
fn a_refused_or_released_share_leaves_the_ledger_unchanged() {
    let mut fabric = fabric(Paths::One);
    let share = fabric.admit_share(&pair(1, 16, 3_000)).unwrap().share;
    let before = fabric.placement().ledger().clone();
    assert!(fabric.admit_share(&pair(1, 16, 3_000)).is_err());
    assert!(fabric.admit_share(&hose(&[1, 2, 3], 9_000)).is_err());
    assert!(*fabric.placement().ledger() == before);
    assert!(fabric.release_share(share));
    assert!(!fabric.release_share(share));
    assert!(*fabric.placement().ledger() == *self::fabric(Paths::One).placement().ledger());
}

/// Six links of 260 us, two round trips, 32 us of tokens, and 124,960 ns for a frame at 100 Mbit/s.
#[test]
fn a_delay_bound_is_the_path_budgets_plus_the_reaction_of_hosts() {
    let mut fabric = fabric(Paths::One);
    let within = |micros| ShareRequest { within: Some(Time::from_micros(micros)), ..pair(1, 16, 100) };
    let expected = 6 * 260_000
        + 2 * network().longest_round_trip(|_| wayleave_units::Bytes::new(1_562)).as_nanos()
        + 32_000
        + 124_960;
    let refusal = fabric.admit_share(&within(1_000)).unwrap_err();
    assert_eq!(refusal, Refusal::SlowMinimum { bound: Time::from_nanos(expected), within: Time::from_millis(1) });
    assert_eq!(refusal.reason(), RefusalCode::Latency);
    let admitted = fabric.admit_share(&within(2_000)).unwrap();
    assert_eq!(admitted.within, Some(Time::from_nanos(expected)));
    // At a link in one rack it is two budgets.
    let near = ShareRequest { within: Some(Time::from_micros(800)), ..pair(3, 4, 100) };
    assert!(fabric.admit_share(&near).is_ok());
}

/// Lists of latency contracts on a network without classes: every decision is Chameleon's.
#[test]
fn without_classes_every_decision_equals_that_of_chameleon() {
    let network = Arc::new(plain());
    let model = Model::default();
    let mut chameleon = Chameleon::new(network.clone(), model, chameleon::Params::default()).unwrap();
    let settings = Settings::default();
    let mut fabric = Fabric::new(network.clone(), model, chameleon::Params::default(), &settings).unwrap();
    for contract in RequestMix::new(&network, 1, 7).take(600) {
        let request = crate::request(&contract, &model);
        assert_eq!(fabric.admit(&request), chameleon.admit(&request), "{}", contract.name);
    }
    assert_eq!(fabric.admit_share(&pair(1, 2, 1)), Err(Refusal::NoClasses));
    assert_eq!(chameleon.admit_share(&pair(1, 2, 1)), Err(Refusal::OnlyLatency));
}

/// Minima take lines that latency contracts then cannot have, and both keep what they have been promised.
#[test]
fn latency_contracts_and_minima_are_admitted_beside_each_other() {
    let mut fabric = fabric(Paths::One);
    let model = Model::default();
    for (first, last) in [(1, 5), (2, 6), (3, 7), (9, 13)] {
        fabric.admit_share(&hose(&[first, last, first + 7], 1_500)).unwrap();
    }
    let mut refused = 0;
    for contract in RequestMix::new(&network(), 1, 3).take(2_000) {
        match fabric.admit(&crate::request(&contract, &model)) {
            Ok(_) => {}
            Err(Refusal::Blocked { .. } | Refusal::TooSlow { .. }) => refused += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    let ledger = fabric.placement().ledger();
    assert!(refused > 0);
    assert!(network().links().all(|(link, _)| ledger.keeps(link)));
    let spare = network().links().map(|(link, _)| ledger.left_for(link, Class::Guaranteed)).min().unwrap();
    assert!(spare < Rate::from_mbit(3_600), "{spare}");
}
