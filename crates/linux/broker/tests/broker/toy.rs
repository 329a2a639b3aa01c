//! Brokers of a scheme that only tests know, with timers, run as they are: in virtual time, over the same bytes as programs. Its name and
//! its parameters come from its descriptor, so that this file does not name it.

use std::sync::Arc;

use wayleave_broker::BrokerConfig;
use wayleave_broker::world::SimulatedRacks;
use wayleave_scheme_api::{Descriptor, Role, Value};
use wayleave_schemes::hosts::{HOSTS, HostSchemeConfig};
use wayleave_schemes::services::Services;
use wayleave_topology::builders::{Cabling, LeafSpine, build};
use wayleave_units::{Rate, Time};

/// Rate that all machines together may send.
const RATE: Rate = Rate::from_mbit(800);
const INTERVAL: Time = Time::from_millis(100);

fn toy() -> &'static Descriptor {
    let is_toy = |scheme: &&&Descriptor| scheme.name.starts_with("toy-") && scheme.roles.contains(&Role::Broker);
    HOSTS.iter().find(is_toy).unwrap()
}

fn setup() -> Arc<BrokerConfig> {
    let spec = LeafSpine {
        leaves: 2,
        spines: 1,
        hosts_per_leaf: 2,
        parallel: 1,
        uplink_rate: None,
        cabling: Cabling::default(),
    };
    let toy = toy();
    let position = |key| toy.position(key).unwrap();
    let given = vec![(position("rate"), Value::Rate(RATE)), (position("interval"), Value::Time(INTERVAL))];
    let scheme = HostSchemeConfig::of(toy.name, &given).unwrap();
    Arc::new(BrokerConfig::new(build::leaf_spine(&spec).unwrap(), Vec::new(), scheme, 1).unwrap())
}

fn limits(world: &SimulatedRacks) -> Vec<Option<Rate>> {
    (0..world.machines()).map(|machine| world.limit(machine, Services::OTHER)[0]).collect()
}

/// All machines report within an interval, and the fabric's broker sends the parts in the next one.
const ROUND: Time = Time::from_millis(300);

#[test]
fn toy_brokers_divide_their_rate_among_machines_in_virtual_time() {
    let mut world = SimulatedRacks::new(setup(), 3).unwrap();
    world.run(ROUND);
    assert_eq!(limits(&world), [Some(Rate::from_mbit(200)); 4]);
    // Every message is 9 B long: a letter and a number.
    let written = world.written();
    assert!(written.messages > 0 && written.bytes == 9 * written.messages, "{written:?}");
    // Its broker is silent, so that a machine lifts its limits after the time-out; others are still divided for.
    world.crash_broker(1);
    world.run(world.now() + INTERVAL * 7);
    assert_eq!(
        limits(&world),
        [Some(Rate::from_mbit(200)), None, Some(Rate::from_mbit(200)), Some(Rate::from_mbit(200))]
    );
    world.start_broker(1).unwrap();
    world.run(world.now() + ROUND);
    assert_eq!(limits(&world), [Some(Rate::from_mbit(200)); 4]);
}

#[test]
fn a_restarted_broker_receives_no_timers_of_its_earlier_start() {
    // Messages of the fabric's broker in ten intervals: one in each, to each machine.
    let message = |starts: u32| {
        let mut world = SimulatedRacks::on_time(setup(), 3).unwrap();
        world.run(ROUND);
        for _ in 0..starts {
            world.crash_fabric();
            world.start_fabric().unwrap();
        }
        world.run(world.now() + ROUND);
        let before = world.written().messages;
        world.run(world.now() + INTERVAL * 10);
        world.written().messages - before
    };
    // Each machine reports to its broker, which reports to the fabric's, which sends each of them its part.
    assert_eq!(message(0), 80);
    assert_eq!(message(5), 80, "each start that is forgotten armed a timer");
}
