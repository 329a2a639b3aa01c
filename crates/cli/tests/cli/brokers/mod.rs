//! One script on both drivers of brokers: in virtual time, and as real processes on loopback. Limits are the same at the end of each
//! phase, also when brokers are killed and begin again.

mod agent;
mod document;
mod processes;

use std::sync::Arc;

use processes::Processes;
use wayleave_broker::script::{self, ScriptAction, ScriptPhase};
use wayleave_broker::{BrokerConfig, process};
use wayleave_formats::{Source, parse_builder, read_policy};
use wayleave_schemes::host::parley::Settings;
use wayleave_schemes::hosts::HostSchemeConfig;
use wayleave_units::{Rate, Time};

const NETWORK: &str = "leaf-spine:leaves=2,spines=1,hosts=2,parallel=2,rate=10Gbit";

/// A is one of those whom the fabric limits, too.
const POLICIES: [&str; 2] = [
    "apiVersion: wayleave/v1
kind: Policy
metadata: { name: rack }
spec:
  level: rack
  peak: 12Gbit
  services:
    - { name: a, match: { protocol: tcp, destinationPort: 1 }, max: 5Gbit }
    - { name: b, match: { protocol: tcp, destinationPort: 2 }, min: 6Gbit }
    - { name: c, match: { protocol: tcp, destinationPort: 3 }, weight: 2 }
",
    "apiVersion: wayleave/v1
kind: Policy
metadata: { name: fabric }
spec:
  level: fabric
  services:
    - { name: a, match: { protocol: tcp, destinationPort: 1 }, max: 6Gbit }
",
];

pub(crate) const INTERVAL: Time = Time::from_millis(50);
pub(crate) const FABRIC_INTERVAL: Time = Time::from_millis(250);
pub(crate) const FABRIC_TIMEOUT: Time = Time::from_millis(1_000);

fn script() -> Vec<ScriptPhase> {
    let gbit = Rate::from_gbit;
    let all = |service, rate| (0..4).map(move |machine| (machine, service, rate));
    let phase = |name, wants, actions| ScriptPhase { name, wants, actions };
    vec![
        phase("everybody wants more than there is", all("a", gbit(4)).chain(all("b", gbit(3))).collect(), vec![]),
        phase("c comes on two machines", vec![(0, "c", gbit(5)), (3, "c", gbit(1))], vec![]),
        phase("the leader of a rack is killed", vec![], vec![ScriptAction::KillRack(0)]),
        phase("a stops on another machine meanwhile", vec![(3, "a", Rate::ZERO)], vec![]),
        phase("the leader is back", vec![], vec![ScriptAction::StartRack(0)]),
        phase("the fabric broker is killed", vec![], vec![ScriptAction::KillFabric]),
        phase("b stops meanwhile", all("b", Rate::ZERO).collect(), vec![]),
        phase("the fabric broker is back", vec![], vec![ScriptAction::StartFabric]),
        phase("a wants more again", vec![(3, "a", gbit(9))], vec![]),
    ]
}

fn setup() -> BrokerConfig {
    let network = parse_builder(NETWORK).unwrap().network;
    let policies = POLICIES.map(|text| read_policy(&Source::new("policy", text), &network).unwrap().policy).to_vec();
    let settings = Settings {
        rack_interval: INTERVAL,
        fabric_interval: Some(FABRIC_INTERVAL),
        fabric_timeout: Some(FABRIC_TIMEOUT),
        ..Settings::default()
    };
    BrokerConfig::new(network, policies, HostSchemeConfig::Parley(settings), 1).unwrap()
}

#[test]
fn processes_settle_to_the_state_of_the_simulated_world() {
    let setup = Arc::new(setup());
    let script = script();
    // Longer than four of the fabric's intervals, and than its time-out.
    let world = script::run(&setup, &script, Time::from_millis(1_500), Time::from_millis(30_000)).unwrap();
    for pair in world.windows(2) {
        assert_ne!(pair[0], pair[1], "a phase in which nothing changes tests nothing");
    }
    let mut processes = Processes::begin(Arc::clone(&setup), NETWORK, &POLICIES);
    for (phase, expected) in script.iter().zip(&world) {
        processes.begin_phase(phase);
        processes.settle(phase.name, expected);
    }
    processes.end();
}

#[test]
fn a_json_line_from_the_script_is_a_valid_report() {
    // The report of the world is the line that a data plane writes.
    let setup = setup();
    let line = r#"{"at_ns": 5, "services": {"a": {"sent": 10, "sent_outside": 4, "metered": 9, "held": 8}}, "limits": {"b": {"transmit_bits_per_second": 7}}}"#;
    let report = process::ReportLine::parse(line).unwrap().read(setup.services(), Time::ZERO).unwrap();
    assert_eq!(
        (report.at, report.services[0].total[0].get(), report.services[0].uplink[0].get()),
        (Time::from_nanos(5), 10, 4)
    );
    assert_eq!((report.services[0].metered.intervals, report.services[0].metered.held), (9, 8));
    assert_eq!(report.limits.unwrap()[0].limit[0], Some(Rate::from_bits_per_second(7)));
    for (line, why) in [
        ("", "malformed report"),
        ("{}", "services"),
        (r#"{"services": {"d": {}}}"#, "no policy names the service \"d\""),
        (r#"{"services": {"a": {"sent": -1}}}"#, "invalid value"),
        (r#"{"services": {"a": {"send": 1}}}"#, "unknown field `send`"),
    ] {
        let error = process::ReportLine::parse(line)
            .and_then(|line| line.read(setup.services(), Time::ZERO))
            .unwrap_err()
            .to_string();
        assert!(error.contains(why), "{line}: {error}");
    }
}
