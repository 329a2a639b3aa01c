//! Nodes whose packets each take a time of their own: what is promised for nodes that keep the order breaks where they do not.

use std::sync::Arc;

use wayleave_adversary::{AdmittedClaim, Effort, JitterDraw, PacketOrder, Verification, replay, verify};
use wayleave_ledger::{JitterModel, Ledger, Model};
use wayleave_topology::Network;
use wayleave_units::{Rate, Time};

use crate::common::{Plan, claim, demand, ledger, route};

/// Two hosts at 40 Gbit/s and one at 10 Gbit/s around a switch with 20 us of jitter, as in the outside audit of version 0.1.0.
fn network() -> Arc<Network> {
    let cable = |plan: Plan, (name, gbit)| plan.cable(name, "s1", Rate::from_gbit(gbit), Time::ZERO);
    let plain = [("h1", 40), ("h2", 40), ("h3", 10)].into_iter().fold(Plan::default(), cable).build();
    let with_jitter = plain.with_nodes(|node| {
        if node.name == "s1" {
            node.jitter = Time::from_micros(20);
        }
    });
    Arc::new(with_jitter.unwrap())
}

/// A packet from one host, in the queue of a burst of 60,000 B from another.
fn late_and_early(jitter: JitterModel) -> Ledger {
    let network = network();
    let mut ledger = ledger(&network, Model::default().with_jitter(jitter), Time::from_micros(100));
    for (nodes, mbit, burst) in [("h1 s1 h3", 10, 1562), ("h2 s1 h3", 100, 60_000)] {
        ledger.reserve(demand(Rate::from_mbit(mbit), burst), route(&network, nodes, 0));
    }
    ledger
}

fn attacked(claim: &AdmittedClaim) -> Verification {
    verify(claim, &Effort::QUICK, None, |_, _| true).unwrap()
}

#[test]
fn a_bound_for_ordered_jitter_is_broken_by_a_node_that_reorders() {
    let mut claim = claim(&late_and_early(JitterModel::Ordered));
    let kept = attacked(&claim);
    assert!(kept.is_sound(), "{:?}", kept.violations);
    claim.order = PacketOrder::Free;
    let report = attacked(&claim);
    let violation = report.violations.iter().find(|violation| violation.promise == 0).expect("the packet is late");
    assert_eq!(violation.attack.held_up, JitterDraw::Late);
    let again = replay(&claim, &Effort::QUICK, &violation.attack).unwrap();
    assert_eq!(again.findings[0].delay_ps, report.findings[0].delay_ps);
}

#[test]
fn a_bound_for_any_jitter_holds_and_is_nearly_reached() {
    for (jitter, least) in [(JitterModel::Any, 0.95), (JitterModel::Ordered, 0.9)] {
        let claim = claim(&late_and_early(jitter));
        let report = attacked(&claim);
        assert!(report.is_sound(), "{:?}", report.violations);
        let share = report.share(&claim, 0);
        println!("{jitter:?}: {:?} of {:?}: {share:.4}", report.findings[0].delay(), claim.promises[0].today);
        assert!(share > least, "{jitter:?}: {share}");
    }
}

/// At two switches in a row, from other hosts at each.
#[test]
fn along_two_switches_the_late_packet_is_late_at_both() {
    let gbit = Rate::from_gbit;
    let plan = Plan::default().cable("s1", "s2", gbit(10), Time::from_micros(1));
    let hosts = [("h1", "s1"), ("h2", "s1"), ("h3", "s2"), ("h4", "s2")];
    let plain =
        hosts.into_iter().fold(plan, |plan, (host, switch)| plan.cable(host, switch, gbit(10), Time::ZERO)).build();
    let network = Arc::new(plain.with_nodes(|node| node.jitter = Time::from_micros(30)).unwrap());
    let mut ledger = ledger(&network, Model::default(), Time::from_micros(500));
    for nodes in ["h1 s1 s2 h4", "h2 s1 s2 h4", "h3 s2 h4"] {
        ledger.reserve(demand(Rate::from_mbit(10), 60_000), route(&network, nodes, 0));
    }
    let claim = claim(&ledger);
    let report = attacked(&claim);
    assert!(report.is_sound(), "{:?}", report.violations);
    println!("{:?} of {:?}: {:.4}", report.findings[0].delay(), claim.promises[0].today, report.share(&claim, 0));
    // Its own burst is counted at every queue, and comes as a burst only at the first.
    assert!(report.share(&claim, 0) > 0.75);
}
