//! The text's examples, and its statements on failures, in rounds of a second.

mod rack;
mod shaper;

use wayleave_contracts::PolicyLevel;
use wayleave_packet_format::broker::{RateList, RateSubject, ServiceRates};
use wayleave_scheme_api::{BrokerId, BrokerInput, Member};
use wayleave_topology::NodeKind;
use wayleave_units::{Rate, Time};

use self::rack::{Racks, SECOND, gbit, mbit, network, policy, service};
use super::*;
use crate::brokers::IgnoredParam;
use crate::services::{Policies, Services};

/// The text's examples share out all that the links can carry.
const EXACT: Params = Params { uplink_percent: 100, ..Params::PUBLISHED };
const ALL: Rate = Rate::from_gbit(10);

/// Fig. 1: two machines of 10 Gbit/s and 10 Gbit/s to the fabric; VMs at most 1 Gbit/s, DFS at least 6.
fn figure_1() -> Racks {
    let network = network(2, 2, 1);
    let services = vec![service("dfs", 6_000, None), service("vms", 0, Some(1_000))];
    let rack = policy(&network, PolicyLevel::Rack, None, services);
    let mut racks = Racks::new(&network, Policies { rack: Some(&rack), ..Policies::default() }, EXACT);
    for (machine, name) in [(0, "vms"), (1, "vms"), (0, "dfs"), (1, "dfs")] {
        racks.want(machine, name, ALL);
    }
    racks
}

#[test]
fn figure_1_is_reached_within_three_rounds() {
    let mut racks = figure_1();
    // The first round sets the base of the counters, the second shows the demands, the third follows the last
    // messages.
    racks.rounds(3);
    for machine in 0..2 {
        assert_eq!(racks.limit(machine, "vms"), Some(mbit(500)));
        // "(M1,DFS), (M2,DFS) are allocated 4Gb/s each" is with the maximum of 8 in Fig. 1; the text has none.
        assert_eq!(racks.limit(machine, "dfs"), Some(mbit(4_500)));
    }
    racks.want(1, "dfs", Rate::ZERO);
    racks.rounds(12);
    assert_eq!(racks.limit(0, "dfs"), Some(gbit(9)));
    racks.want(0, "vms", Rate::ZERO);
    racks.want(1, "vms", Rate::ZERO);
    racks.rounds(16);
    // It fills its limit and wants everything, and gets that.
    assert_eq!(racks.used(0, "dfs"), ALL);
}

#[test]
fn a_machine_with_demand_below_its_share_is_not_limited() {
    let mut racks = figure_1();
    racks.want(0, "dfs", gbit(2));
    racks.rounds(4);
    assert_eq!((racks.limit(0, "dfs"), racks.limit(1, "dfs")), (None, Some(gbit(7))));
}

#[test]
fn section_6_3_when_a_leaves_b_gets_the_peak() {
    let network = network(2, 10, 8);
    let services = vec![service("a", 0, Some(30_000)), service("b", 30_000, None)];
    let rack = policy(&network, PolicyLevel::Rack, Some(gbit(60)), services);
    let mut racks = Racks::new(&network, Policies { rack: Some(&rack), ..Policies::default() }, EXACT);
    (0..10).for_each(|machine| racks.want(machine, "a", gbit(5)));
    racks.rounds(4);
    assert_eq!(racks.total(0, "a"), gbit(30));
    (0..10).for_each(|machine| racks.want(machine, "b", gbit(8)));
    racks.rounds(4);
    assert_eq!((racks.total(0, "a"), racks.total(0, "b")), (gbit(15), gbit(45)));
    (0..10).for_each(|machine| racks.want(machine, "a", Rate::ZERO));
    racks.rounds(16);
    assert_eq!(racks.total(0, "b"), gbit(60));
}

/// Both services receive from everywhere, and marks of links that are shared unevenly leave them less than the peak.
fn marked(is_metered: bool) -> Racks {
    let network = network(2, 10, 8);
    let services = vec![service("a", 0, Some(30_000)), service("b", 30_000, None)];
    let rack = policy(&network, PolicyLevel::Rack, Some(gbit(60)), services);
    let mut racks = Racks::new(&network, Policies { rack: Some(&rack), ..Policies::default() }, EXACT);
    let [a, b] = ["a", "b"].map(|name| racks.class(name).index());
    for machine in &mut racks.machines[..10] {
        machine.is_metered = is_metered;
        machine.wants[a][1] = gbit(5);
        machine.wants[b][1] = gbit(5);
        machine.network[a] = Some(mbit(2_700));
        machine.network[b] = Some(mbit(2_800));
    }
    racks.rounds(3);
    racks
}

#[test]
fn traffic_limited_by_marks_has_demand_above_its_usage() {
    let limits = |racks: &Racks| {
        ["a", "b"].map(|name| racks.machines[0].limits[racks.class(name).index()][1].filter(|&limit| limit < gbit(30)))
    };
    assert_eq!(limits(&marked(true)), [Some(mbit(1_500)), Some(mbit(4_500))]);
    // Usage alone: 55 Gbit/s of 60 appear as if no service lacked anything, and B stays below its guarantee.
    assert_eq!(limits(&marked(false)), [None, None]);
    // Once the network carries all that the limits allow, nothing changes, though the meters limit no sender.
    let mut racks = marked(true);
    for machine in &mut racks.machines[..10] {
        machine.network.fill(Some(gbit(9)));
    }
    racks.rounds(3);
    assert_eq!(limits(&racks), [Some(mbit(1_500)), Some(mbit(4_500))]);
}

#[test]
fn uplink_capacity_comes_from_the_driver_but_never_exceeds_the_peak() {
    let network = network(2, 2, 8);
    let rack = policy(&network, PolicyLevel::Rack, Some(gbit(12)), vec![service("a", 0, None)]);
    let mut racks = Racks::new(&network, Policies { rack: Some(&rack), ..Policies::default() }, EXACT);
    (0..2).for_each(|machine| racks.want(machine, "a", ALL));
    racks.rounds(4);
    assert_eq!(racks.limit(0, "a"), Some(gbit(6)));
    for (capacity, share) in [(4, 2), (80, 6)] {
        let capacity = BrokerInput::Capacity { transmit: gbit(capacity), receive: gbit(capacity) };
        (0..2).for_each(|machine| racks.handle(machine, capacity.clone()));
        racks.rounds(2);
        assert_eq!(racks.limit(0, "a"), Some(gbit(share)));
    }
}

#[test]
fn a_part_of_each_link_is_not_shared_out() {
    let network = network(2, 2, 1);
    let rack = policy(&network, PolicyLevel::Rack, None, vec![service("a", 0, None)]);
    let mut racks = Racks::new(&network, Policies { rack: Some(&rack), ..Policies::default() }, Params::PUBLISHED);
    (0..2).for_each(|machine| racks.want(machine, "a", ALL));
    racks.rounds(4);
    assert_eq!([racks.limit(0, "a"), racks.limit(1, "a")], [Some(mbit(4_750)); 2]);
}

#[test]
fn lost_broadcasts_change_nothing_until_the_time_out_removes_the_machine() {
    let mut racks = figure_1();
    racks.rounds(4);
    // Messages of machine 1 are lost from now on; its last known demand is 4.5 Gbit/s and more.
    let since = racks.now;
    racks.is_lost = Box::new(|_, from, _| from == 1);
    for round in 1..=8 {
        racks.rounds(1);
        let expected = if racks.now - since < Time::from_millis(5_000) { mbit(4_500) } else { gbit(9) };
        assert_eq!(racks.limit(0, "dfs"), Some(expected), "round {round}");
        assert_eq!(racks.limit(1, "dfs"), Some(mbit(4_500)), "it hears the other one");
    }
    racks.is_lost = Box::new(|_, _, _| false);
    racks.rounds(2);
    assert_eq!(racks.limit(0, "dfs"), Some(mbit(4_500)));
}

#[test]
fn a_restarted_broker_resumes_from_the_limits_in_force() {
    let mut racks = figure_1();
    racks.rounds(4);
    let mut fresh = racks.machines[1].broker.clone().unwrap();
    let place = RackPlace { serial: 1 << 32, ..fresh.place.clone() };
    fresh = RackBroker::new(EXACT, place, fresh.pool.clone()).unwrap();
    racks.machines[1].broker = Some(fresh);
    for _ in 0..4 {
        racks.rounds(1);
        assert_eq!([racks.limit(0, "dfs"), racks.limit(1, "dfs")], [Some(mbit(4_500)); 2]);
    }
}

#[test]
fn no_share_stays_permanently_small() {
    let mut racks = figure_1();
    for machine in 0..2 {
        racks.want(machine, "vms", Rate::ZERO);
    }
    // The capacity was 1 bit/s for some rounds: the next rounds recover as if that had never happened.
    let nothing = BrokerInput::Capacity { transmit: Rate::from_bits_per_second(2), receive: Rate::ZERO };
    (0..2).for_each(|machine| racks.handle(machine, nothing.clone()));
    racks.rounds(30);
    assert_eq!(racks.limit(0, "dfs"), Some(Rate::from_bits_per_second(1)));
    let capacity = BrokerInput::Capacity { transmit: gbit(10), receive: gbit(10) };
    (0..2).for_each(|machine| racks.handle(machine, capacity.clone()));
    racks.rounds(4);
    assert_eq!((racks.used(0, "dfs"), racks.used(1, "dfs")), (gbit(5), gbit(5)));
}

#[test]
fn stale_epochs_old_serials_and_unknown_senders_are_counted_and_ignored() {
    let mut racks = figure_1();
    racks.rounds(4);
    let leaf1 = racks.machines[0].broker.as_ref().unwrap().place.rack.index() as u32;
    let from = racks.machines[1].broker.as_ref().unwrap().place.machine.index() as u32;
    let all = ServiceRates { service: 1, transmit: Some(Rate::ZERO), receive: Some(Rate::ZERO) };
    let list =
        RateList { epoch: 1, serial: 900, rack: leaf1, from, ..RateList::new(RateSubject::MachineDemands, vec![all]) };
    let wrong = [
        RateList { epoch: 0, ..list.clone() },
        RateList { epoch: 2, ..list.clone() },
        RateList { serial: 1, ..list.clone() },
        RateList { rack: leaf1 + 1, ..list.clone() },
        RateList { from: 999_999, ..list.clone() },
        RateList { subject: RateSubject::MachineLimits, ..list.clone() },
        RateList { subject: RateSubject::RackLimits, from: 999_999, ..list.clone() },
    ];
    for list in wrong {
        let message = Message::Rates(list);
        racks.handle(0, BrokerInput::Message { from: Member::Broker(BrokerId(1)), message });
    }
    let ignored = racks.machines[0].broker.as_ref().unwrap().ignored();
    assert_eq!(ignored, IgnoredParam { epoch: 2, serial: 1, unknown_sender: 4 });
    racks.rounds(1);
    assert_eq!(racks.limit(0, "dfs"), Some(mbit(4_500)));
}

#[test]
fn the_first_machine_received_becomes_the_leader() {
    let mut racks = figure_1();
    racks.rounds(3);
    let leader = |racks: &Racks, at: usize| {
        let broker = racks.machines[at].broker.as_ref().unwrap();
        broker.leader(racks.now).unwrap()
    };
    let machines: Vec<_> =
        racks.machines.iter().map(|machine| machine.broker.as_ref().unwrap().place.machine).collect();
    assert_eq!([0, 1, 2, 3].map(|at| leader(&racks, at)), [machines[0], machines[0], machines[2], machines[2]]);
    racks.machines[0].broker = None;
    racks.rounds(4);
    assert_eq!(leader(&racks, 1), machines[0]);
    racks.rounds(1);
    assert_eq!(leader(&racks, 1), machines[1]);
}

#[test]
fn traffic_inside_the_rack_keeps_its_share_and_is_not_counted_at_uplinks() {
    let mut racks = figure_1();
    for machine in 0..2 {
        racks.want(machine, "vms", Rate::ZERO);
    }
    let dfs = racks.class("dfs").index();
    racks.machines[0].inside[dfs] = [gbit(10), Rate::ZERO];
    racks.rounds(6);
    // 5 Gbit/s across the uplinks each, and as much inside the rack at the first.
    assert_eq!((racks.limit(0, "dfs"), racks.limit(1, "dfs")), (Some(gbit(10)), Some(gbit(5))));
    assert_eq!((racks.used(0, "dfs"), racks.used(1, "dfs")), (gbit(5), gbit(5)));
}

#[test]
fn light_services_are_reported_as_one_sum_and_deducted_from_the_capacity() {
    let network = network(2, 2, 1);
    let names = ["a", "b", "c", "d"];
    let services = names.map(|name| service(name, 0, None)).to_vec();
    let rack = policy(&network, PolicyLevel::Rack, None, services);
    let mut racks = Racks::new(&network, Policies { rack: Some(&rack), ..Policies::default() }, EXACT);
    racks.want(0, "a", ALL);
    racks.want(1, "a", ALL);
    // Below 100 Mbit/s divided by two machines.
    racks.want(1, "b", mbit(40));
    racks.want(1, "c", mbit(40));
    racks.want(1, "d", mbit(60));
    racks.rounds(4);
    let list = racks.written.iter().find(|list| list.rates.len() == 2).unwrap();
    assert_eq!([list.rates[0].service, list.rates[1].service], [1, 4]);
    assert_eq!(list.light.0, mbit(80));
    assert_eq!(racks.limit(0, "a").map(|limit| limit + racks.limit(1, "a").unwrap()), Some(mbit(10_000 - 80 - 60)));
    assert_eq!(["b", "c", "d"].map(|name| racks.limit(1, name)), [None; 3]);
}

/// 4 racks of 1 machine; a tenant has 2 Gbit/s in the whole fabric.
fn fabric() -> Racks {
    let network = network(4, 1, 1);
    let fabric = policy(&network, PolicyLevel::Fabric, None, vec![service("t", 0, Some(2_000))]);
    let mut racks = Racks::new(&network, Policies { fabric: Some(&fabric), ..Policies::default() }, EXACT);
    (0..4).for_each(|machine| racks.want(machine, "t", gbit(5)));
    racks
}

#[test]
fn the_fabric_broker_limits_a_service_across_all_racks() {
    let mut racks = fabric();
    // The first racks to speak are answered before the others are known, and again ten seconds later.
    racks.rounds(25);
    for rack in 0..4 {
        assert_eq!(racks.used(rack, "t"), mbit(500));
    }
    // One of them stops: the others have its part after two of the fabric's intervals.
    racks.want(0, "t", Rate::ZERO);
    racks.rounds(31);
    let total = (1..4).fold(Rate::ZERO, |sum, rack| sum + racks.used(rack, "t"));
    assert!(total > mbit(1_990) && total <= gbit(2), "{total}");
}

#[test]
fn a_rack_without_the_fabric_broker_falls_back_to_its_own_policy() {
    let mut racks = fabric();
    racks.rounds(25);
    assert_eq!(racks.used(2, "t"), mbit(500));
    let fabric = racks.fabric.take();
    let last_message = Time::from_millis(22_000);
    let mut free_at = None;
    for _ in 0..60 {
        racks.rounds(1);
        if free_at.is_none() && racks.used(2, "t") > mbit(500) {
            free_at = Some(racks.now);
        }
    }
    let free_at = free_at.unwrap();
    assert!((last_message + SECOND * 49..=last_message + SECOND * 52).contains(&free_at), "{free_at}");
    assert_eq!(racks.used(2, "t"), gbit(5));
    racks.fabric = fabric;
    racks.rounds(25);
    assert_eq!(racks.used(2, "t"), mbit(500));
}

#[test]
fn racks_and_their_switches_are_distinguished() {
    let network = network(4, 1, 1);
    let services = Services::new(Policies::default()).unwrap();
    let pool = Pool::fabric(&network, &services, Policies::default(), None).unwrap();
    assert!(pool.members().iter().all(|&rack| network.node(rack).kind == NodeKind::Switch));
    assert_eq!(pool.members().len(), 4);
}
