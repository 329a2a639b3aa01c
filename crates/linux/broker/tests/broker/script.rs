//! The script's driver in virtual time.

use std::sync::Arc;

use wayleave_broker::BrokerConfig;
use wayleave_broker::script::{ScriptAction, ScriptPhase, run};
use wayleave_schemes::host::parley::Settings;
use wayleave_schemes::hosts::HostSchemeConfig;
use wayleave_topology::builders::{Cabling, LeafSpine, build};
use wayleave_units::{Rate, Time};

#[test]
fn a_phase_ends_when_limits_are_stable_and_a_killed_broker_leaves_none() {
    let cabling = Cabling { rate: Rate::from_gbit(10), ..Cabling::default() };
    let spec = LeafSpine { leaves: 2, spines: 1, hosts_per_leaf: 2, parallel: 1, uplink_rate: None, cabling };
    let network = build::leaf_spine(&spec).unwrap();
    let service = wayleave_contracts::ServiceSpec { name: "a".to_owned(), filter: None, ..Default::default() };
    let level = wayleave_contracts::PolicyLevel::Rack;
    let policy = wayleave_contracts::Policy::new(&network, "p", level, Vec::new(), None, vec![service]).unwrap();
    let setup =
        Arc::new(BrokerConfig::new(network, vec![policy], HostSchemeConfig::Parley(Settings::default()), 1).unwrap());
    let wants = (0..2).map(|machine| (machine, "a", Rate::from_gbit(8))).collect();
    let phases = [
        ScriptPhase { name: "both", wants, actions: vec![] },
        ScriptPhase { name: "one", wants: vec![], actions: vec![ScriptAction::KillRack(0)] },
    ];
    let limits = run(&setup, &phases, Time::from_millis(10_000), Time::from_millis(60_000)).unwrap();
    let of = |phase: usize| [limits[phase][0][1], limits[phase][1][1]];
    let share = Some(Rate::from_mbit(4_750));
    assert_eq!(of(0), [share; 2]);
    // The other one counts itself alone, and wants no more than there is.
    assert_eq!(of(1), [None, None]);
}
