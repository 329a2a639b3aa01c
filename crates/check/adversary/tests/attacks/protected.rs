//! Protected contracts: links and switches are cut while flows run, and nothing is late or lost as long as a route is left.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_adversary::{
    AdmittedClaim, Attack, Breach, ClaimError, Duplication, Effort, Fault, Protected, replay, verify,
};
use wayleave_ledger::Model;
use wayleave_scheme_api::{Admission, Request};
use wayleave_schemes::admission::chameleon::{Chameleon, Params, Rerouting};
use wayleave_topology::builders::{FatTree, build};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use crate::common::Plan;

const GBIT: Rate = Rate::from_gbit(1);

fn request(network: &Network, from: &str, to: &str, protection: u8) -> Request {
    Request {
        from: network.find_node(from).unwrap(),
        to: network.find_node(to).unwrap(),
        rate: Rate::from_mbit(20),
        burst: Bytes::new(6000),
        deadline: Time::from_millis(50),
        max_frame: None,
        route: None,
        protection,
    }
}

/// Returns a host, a switch, several paths of different lengths to another switch, a host; and two hosts behind the
/// first switch on each path.
fn paths(count: usize) -> Arc<Network> {
    let cables = (0..count).fold(Plan::default(), |plan, path| {
        let names = [format!("s{path}a"), format!("s{path}b")];
        let far = Time::from_micros(10 * path as u64);
        plan.cable("s", &names[0], GBIT, far)
            .cable(&names[0], &names[1], GBIT, Time::ZERO)
            .cable(&names[1], "st", GBIT, Time::ZERO)
            .cable(&format!("h{path}"), &names[0], GBIT, Time::ZERO)
            .cable(&format!("hh{path}"), &names[1], GBIT, Time::ZERO)
    });
    cables.cable("hx", "s", GBIT, Time::ZERO).cable("st", "hy", GBIT, Time::ZERO).build()
}

/// Returns the contracts that a scheme has admitted, with the routes of every contract together.
fn claim(scheme: &Chameleon) -> AdmittedClaim {
    let placement = scheme.placement();
    let mut claim = crate::common::claim(placement.ledger());
    let flows: Vec<_> = placement.ledger().flows().map(|(flow, _)| flow).collect();
    let number = |flow| flows.iter().position(|&other| other == flow).unwrap();
    for &flow in &flows {
        let routes = placement.routes_of(flow);
        if routes.len() > 1 && routes[0] == flow {
            let routes = routes.into_iter().map(number).collect();
            claim.protected.push(Protected { routes, duplication: Duplication::On });
        }
    }
    claim
}

fn admitted(network: &Arc<Network>, requests: &[Request]) -> AdmittedClaim {
    let mut scheme = Chameleon::new(network.clone(), Model::default(), Params::default()).unwrap();
    for request in requests {
        scheme.admit(request).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    }
    claim(&scheme)
}

/// Returns two paths, a protected contract over both, and one without protection on each.
fn two_paths() -> AdmittedClaim {
    let network = paths(2);
    let alone = |path: u32| request(&network, &format!("h{path}"), &format!("hh{path}"), 1);
    admitted(&network, &[request(&network, "hx", "hy", 2), alone(0), alone(1)])
}

const ALL: Effort = Effort::QUICK.with_cuts(u32::MAX);

#[test]
fn every_single_failure_is_survived_and_unprotected_contracts_may_lose_packets() {
    let claim = two_paths();
    let report = verify(&claim, &ALL, None, |_, _| true).unwrap();
    assert!(report.is_sound(), "{:?}", report.violations);
    // Three cables and two switches on either path: each is cut once while its route is left alone, and once for all.
    let [finding] = report.protected[..] else { panic!("one protected contract") };
    assert_eq!((finding.cuts, finding.lost), (20, 0));
    // A burst of four frames each, and the tokens earned afterwards.
    assert!(finding.packets > 20 * 4, "{}", finding.packets);
    // Packets that cross a->b have no other path.
    assert!(report.unprotected_losses > 0);
}

#[test]
fn without_duplicates_the_same_failures_lose_packets() {
    let claim = two_paths().broken_by(Fault::DuplicationOff).unwrap();
    let report = verify(&claim, &ALL, None, |_, _| true).unwrap();
    let lost = report.violations.iter().find(|violation| matches!(violation.breach, Breach::Lost { .. })).unwrap();
    assert_eq!(lost.promise, claim.protected[0].routes[0]);
    // The attack shows it again, from its text alone.
    let attack: Attack = lost.attack.to_string().parse().unwrap();
    let again = replay(&claim, &ALL, &attack).unwrap();
    assert!(again.violations.iter().any(|violation| violation.breach == lost.breach));
}

#[test]
fn an_overstated_promise_of_one_copy_is_late_when_the_others_are_cut() {
    let mut claim = two_paths();
    let slower = *claim.protected[0].routes.iter().max_by_key(|&&route| claim.promises[route].bound).unwrap();
    claim.promises[slower].bound = Time::from_micros(60);
    claim.promises[slower].today = None;
    let report = verify(&claim, &ALL, None, |_, _| true).unwrap();
    let is_cut = |violation: &&wayleave_adversary::AttackViolation| {
        violation.promise == slower && matches!(violation.breach, Breach::Late { .. })
    };
    assert!(report.violations.iter().any(|violation| is_cut(&violation)));
}

#[test]
fn three_routes_survive_two_failures_at_once_and_no_more() {
    let network = paths(3);
    let claim = admitted(&network, &[request(&network, "hx", "hy", 3)]);
    let report = verify(&claim, &ALL, None, |_, _| true).unwrap();
    assert!(report.is_sound(), "{:?}", report.violations);
    // For each of three routes 5 x 5 pairs of elements of the others, and 15 single failures.
    assert_eq!((report.protected[0].cuts, report.protected[0].lost), (90, 0));
    let links = ["s->s0a", "s->s1a", "s->s2a"].map(|name| network.find_link(name).unwrap().0);
    let cut = |many: usize| -> Attack {
        let cuts: String = links[..many].iter().map(|link| format!("/cut:l{link}@30000")).collect();
        format!("together{cuts},1").parse().unwrap()
    };
    let two = replay(&claim, &ALL, &cut(2)).unwrap();
    assert_eq!((two.protected[0].cuts, two.protected[0].lost, two.unprotected_losses), (1, 0, 0));
    // With all three cut nothing was promised.
    let three = replay(&claim, &ALL, &cut(3)).unwrap();
    assert!(three.is_sound() && three.unprotected_losses > 0);
    assert_eq!(three.protected[0].cuts, 0);
}

#[test]
fn an_unknown_element_cannot_be_cut() {
    let claim = two_paths();
    for text in ["together/cut:l9999@0,1", "together/cut:s9999@0,1"] {
        let error = replay(&claim, &ALL, &text.parse().unwrap()).unwrap_err();
        assert!(matches!(error, ClaimError::NoElement { .. }), "{error}");
    }
    let host = claim.network.find_node("hx").unwrap().0;
    let attack = format!("together/cut:s{host}@0,1").parse().unwrap();
    assert!(replay(&claim, &ALL, &attack).is_err());
}

#[test]
fn promises_about_different_packets_are_not_a_protected_contract() {
    let wrong = |change: &dyn Fn(&mut AdmittedClaim)| {
        let mut claim = two_paths();
        change(&mut claim);
        verify(&claim, &ALL, None, |_, _| true).unwrap_err()
    };
    for change in [
        &(|claim: &mut AdmittedClaim| claim.protected[0].routes.truncate(1)) as &dyn Fn(&mut AdmittedClaim),
        &|claim: &mut AdmittedClaim| claim.protected[0].routes[1] = 2,
        &|claim: &mut AdmittedClaim| claim.protected[0].routes[1] = 99,
    ] {
        assert_eq!(wrong(change), ClaimError::Protected { number: 0 });
    }
}

/// A ring of switches with chords, and two hosts on each.
fn mesh(rng: &mut ChaCha8Rng) -> Arc<Network> {
    let switches = rng.random_range(4..=6_usize);
    let mut plan = Plan::default();
    let time = |rng: &mut ChaCha8Rng| Time::from_nanos(rng.random_range(0..10_000));
    for switch in 0..switches {
        let next = (switch + 1) % switches;
        plan = plan.cable(&format!("s{switch}"), &format!("s{next}"), GBIT, time(rng));
        if rng.random_range(0..2) == 0 {
            plan = plan.cable(&format!("s{switch}"), &format!("s{}", (switch + 2) % switches), GBIT, time(rng));
        }
        for host in ["h", "hh"] {
            plan = plan.cable(&format!("{host}{switch}"), &format!("s{switch}"), GBIT, time(rng));
            // Some hosts hang on two switches.
            if rng.random_range(0..3) == 0 {
                plan = plan.cable(&format!("{host}{switch}"), &format!("s{next}"), GBIT, time(rng));
            }
        }
    }
    plan.build()
}

#[test]
fn random_sets_survive_random_failures() {
    let cases = std::env::var("PROTECTED_CASES").map_or(60, |cases| cases.parse().unwrap());
    let (mut cuts, mut losses) = (0, 0);
    for case in 0..cases {
        let mut rng = ChaCha8Rng::seed_from_u64(case);
        let network = mesh(&mut rng);
        let hosts: Vec<NodeId> = network.hosts().collect();
        let rerouting = (rng.random_range(0..2) == 0).then(Rerouting::default);
        let mut scheme =
            Chameleon::new(network.clone(), Model::default(), Params { rerouting, ..Params::default() }).unwrap();
        for _ in 0..24 {
            let (from, to) = (rng.random_range(0..hosts.len()), rng.random_range(0..hosts.len()));
            if from == to {
                continue;
            }
            let _ = scheme.admit(&Request {
                from: hosts[from],
                to: hosts[to],
                rate: Rate::from_mbit(rng.random_range(1..60)),
                burst: Bytes::new(rng.random_range(100..8000)),
                deadline: Time::from_millis(rng.random_range(1..20)),
                max_frame: None,
                route: None,
                protection: rng.random_range(1..=3),
            });
        }
        let effort = Effort::QUICK
            .with_seeds(1)
            .with_victims(8)
            .with_rounds(2)
            .with_searched(1)
            .with_cuts(3)
            .with_packet_hops(20_000)
            .with_seed(case);
        let report = verify(&claim(&scheme), &effort, None, |_, _| true).unwrap();
        assert!(report.is_sound(), "case {case}: {:?}", report.violations);
        cuts += report.protected.iter().map(|finding| finding.cuts).sum::<u64>();
        losses += report.unprotected_losses;
    }
    assert!(cuts > 10 * cases && losses > 0, "{cuts} cuts, {losses} losses");
}

#[test]
fn a_fat_tree_survives_every_cable_and_switch_between_its_edges() {
    let network = Arc::new(build::fat_tree(&FatTree::default()).unwrap());
    let claim = admitted(&network, &[request(&network, "h1", "h16", 2), request(&network, "h2", "h9", 2)]);
    let report = verify(&claim, &ALL, None, |_, _| true).unwrap();
    assert!(report.is_sound(), "{:?}", report.violations);
    // Four cables and three switches on each of two routes, cut for itself.
    assert!(report.protected.iter().all(|finding| finding.cuts >= 14 && finding.lost == 0), "{:?}", report.protected);
}
