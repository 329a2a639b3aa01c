//! If the worst case can be constructed by hand, the attacks come close to the calculus, and never exceed it.

use std::sync::Arc;

use crate::common::{Plan, claim, demand, ledger, route, star};
use wayleave_adversary::{Effort, Verification, verify};
use wayleave_ledger::{BestEffort, Ledger, Model};
use wayleave_topology::Network;
use wayleave_units::{Rate, Time};

/// Well above a frame.
const BURST: u64 = 60_000;

fn models() -> [Model; 2] {
    [BestEffort::LowestQueue, BestEffort::Dropped].map(|best_effort| Model::default().with_best_effort(best_effort))
}

/// Attacks the contracts of a ledger: nothing breaks, and the worst delay of these flows is at least 80 % of the
/// calculus.
#[track_caller]
fn assert_tight(ledger: &Ledger, flows: &[usize]) -> Verification {
    let claim = claim(ledger);
    let report = verify(&claim, &Effort::QUICK, None, |_, _| true).unwrap();
    assert!(report.is_sound(), "{:?}", report.violations);
    for &flow in flows {
        let share = report.share(&claim, flow);
        println!("{flow}: {:?} of {:?}: {share:.3}", report.findings[flow].delay(), claim.promises[flow].today);
        assert!(share >= 0.8, "flow {flow} saw {share:.3} of its bound: {:?}", report.findings[flow]);
    }
    report
}

fn reserve(ledger: &mut Ledger, network: &Arc<Network>, nodes: &str, queue: u8, mbit: u64, burst: u64) {
    ledger.reserve(demand(Rate::from_mbit(mbit), burst), route(network, nodes, queue));
}

#[test]
fn bursts_of_one_host_fill_its_own_queue() {
    for model in models() {
        let network = star(3);
        let mut ledger = ledger(&network, model, Time::from_millis(5));
        reserve(&mut ledger, &network, "h1 s1 h2", 0, 5, BURST);
        reserve(&mut ledger, &network, "h1 s1 h3", 0, 5, BURST);
        assert_tight(&ledger, &[0, 1]);
    }
}

#[test]
fn several_hosts_into_one_port_collide() {
    for model in models() {
        for hosts in [2, 4, 8] {
            let network = star(hosts + 1);
            let mut ledger = ledger(&network, model, Time::from_millis(5));
            for host in 1..=hosts {
                reserve(&mut ledger, &network, &format!("h{host} s1 h{}", hosts + 1), 0, 5, BURST);
            }
            let all: Vec<usize> = (0..hosts as usize).collect();
            assert_tight(&ledger, &all);
        }
    }
}

#[test]
fn a_lower_priority_waits_for_the_higher_one() {
    for model in models() {
        let network = star(5);
        let mut ledger = ledger(&network, model, Time::from_millis(5));
        for host in 1..=4 {
            reserve(&mut ledger, &network, &format!("h{host} s1 h5"), u8::from(host > 2), 5, BURST);
        }
        assert_tight(&ledger, &[2, 3]);
    }
}

#[test]
fn fast_hosts_overload_a_slow_port() {
    for model in models() {
        let plan = Plan::default().cable("h1", "s1", Rate::from_gbit(10), Time::ZERO);
        let plan = plan.cable("h2", "s1", Rate::from_gbit(10), Time::ZERO);
        let network = plan.cable("h3", "s1", Rate::from_gbit(1), Time::from_micros(20)).build();
        let mut ledger = ledger(&network, model, Time::from_millis(2));
        reserve(&mut ledger, &network, "h1 s1 h3", 0, 5, BURST);
        reserve(&mut ledger, &network, "h2 s1 h3", 0, 5, BURST);
        assert_tight(&ledger, &[0, 1]);
    }
}

#[test]
fn slow_hosts_fill_a_fast_port() {
    // Before their knee four lines together bring 4 Gbit/s into 2 Gbit/s: the general kernel decides here.
    for model in models() {
        let join = |plan: Plan, n| plan.cable(&format!("h{n}"), "s1", Rate::from_gbit(1), Time::ZERO);
        let plan = (1..=4).fold(Plan::default(), join);
        let network = plan.cable("h5", "s1", Rate::from_gbit(2), Time::ZERO).build();
        let mut ledger = ledger(&network, model, Time::from_millis(2));
        for host in 1..=4 {
            reserve(&mut ledger, &network, &format!("h{host} s1 h5"), 0, 5, BURST);
        }
        assert_tight(&ledger, &[0, 1, 2, 3]);
    }
}

/// The victim meets others at the second and at the third switch.
fn chain() -> Arc<Network> {
    let gbit = Rate::from_gbit(1);
    let hop = Time::from_micros(5);
    let plan = Plan::default().cable("s1", "s2", gbit, hop).cable("s2", "s3", gbit, hop);
    let hosts = [("h1", "s1"), ("h2", "s1"), ("h3", "s2"), ("h4", "s2"), ("h5", "s3"), ("h6", "s3")];
    hosts.into_iter().fold(plan, |plan, (host, switch)| plan.cable(host, switch, gbit, hop)).build()
}

#[test]
fn along_a_chain_of_three_switches_flows_join_hop_by_hop() {
    for model in models() {
        let network = chain();
        let mut ledger = ledger(&network, model, Time::from_millis(4));
        reserve(&mut ledger, &network, "h1 s1 s2 s3 h6", 0, 1, BURST);
        reserve(&mut ledger, &network, "h2 s1 s2 h4", 0, 1, BURST);
        reserve(&mut ledger, &network, "h3 s2 s3 h6", 0, 1, BURST);
        reserve(&mut ledger, &network, "h5 s3 h6", 0, 1, BURST);
        assert_tight(&ledger, &[0]);
    }
}

#[test]
fn an_attack_is_replayed_bit_for_bit() {
    let network = chain();
    let mut ledger = ledger(&network, Model::default(), Time::from_millis(4));
    reserve(&mut ledger, &network, "h1 s1 s2 s3 h6", 0, 20, 9_000);
    reserve(&mut ledger, &network, "h2 s1 s2 s3 h5", 1, 20, 5_000);
    reserve(&mut ledger, &network, "h3 s2 s3 h6", 0, 20, 7_000);
    let report = assert_tight(&ledger, &[]);
    let claim = claim(&ledger);
    for (number, finding) in report.findings.iter().enumerate() {
        let text = finding.attack.as_ref().unwrap().to_string();
        let again = wayleave_adversary::replay(&claim, &Effort::QUICK, &text.parse().unwrap()).unwrap();
        assert_eq!(again.findings[number].delay_ps, finding.delay_ps, "{text}");
    }
}
