//! Keys that are accepted and that the simulator does not carry out: each is named, and only where it does nothing.

use wayleave_formats::{Source, beside, read_scenario};

/// Returns the warnings about a scenario on a star; `files` are those that it names.
fn messages(topology: &str, spec: &str, files: &[(&str, &str)]) -> Vec<String> {
    let text = format!(
        "{{ apiVersion: wayleave/v1, kind: Scenario, spec: {{ topology: {topology}, duration: 10ms, {spec} }} }}"
    );
    let open = |name: &str| {
        let (_, text) = files.iter().find(|(known, _)| *known == name).unwrap();
        Ok(Source::new(name, *text))
    };
    match read_scenario(&Source::new("scenario.yaml", text.as_str()), &open) {
        Ok(file) => file.not_carried_out,
        Err(errors) => panic!("{errors}\nin {text}"),
    }
}

const STAR: &str = "'star:hosts=3,rate=1Gbit,queues=3,hostQueues=3'";
const FLOWS: &str = "traffic: [ { name: f, load: 0.1, sizes: 9kB } ]";
const WEIGHTED: &str = "switches: { discipline: { strict: 1, weighted: [1, 1] } }";

fn sharing(scheme: &str, terms: &str, beside: &str) -> String {
    format!(
        "sharing: {{ scheme: {scheme}, machine: {{ services: [ {{ name: a, match: {{ protocol: tcp }}, {terms} }} ] }} {beside} }}, {FLOWS}"
    )
}

#[test]
fn a_key_without_effect_in_a_scenario_is_named() {
    // A spec, the beginning of its message, and a spec in which the key has an effect.
    let cases: [(String, &str, String); 17] = [
        (
            format!("hosts: {{ discipline: strict-priority, ecn: 9kB }}, {FLOWS}"),
            "hosts.ecn ",
            format!("hosts: {{ ecn: 9kB }}, {FLOWS}"),
        ),
        (
            "traffic: [ { name: f, load: 0.1, sizes: 9kB, queue: 1 } ]".to_owned(),
            "traffic.f.queue ",
            "switches: { discipline: strict-priority }, traffic: [ { name: f, load: 0.1, sizes: 9kB, queue: 1 } ]".to_owned(),
        ),
        (format!("reserved: 1Mbit, {FLOWS}"), "reserved ", format!("reserved: 1Mbit, {WEIGHTED}, {FLOWS}")),
        (
            format!("routing: {{ clove: {{ probeInterval: 2ms }} }}, {FLOWS}"),
            "routing.clove.probeInterval ",
            format!("routing: {{ clove: {{ probeInterval: 2ms }} }}, {}", sharing("eyeq", "min: 1Mbit", "")),
        ),
        (
            format!("transport: {{ congestion: {{ fixed: 20 }}, initialWindow: 5 }}, {FLOWS}"),
            "transport.initialWindow ",
            format!("transport: {{ initialWindow: 5 }}, {FLOWS}"),
        ),
        (
            "transport: dctcp, traffic: [ { name: f, load: 0.1, sizes: 9kB, transport: { congestion: pfabric, minTimeout: 1ms } } ]".to_owned(),
            "traffic.f.transport.minTimeout ",
            "transport: dctcp, traffic: [ { name: f, load: 0.1, sizes: 9kB, transport: { congestion: cubic, minTimeout: 1ms } } ]".to_owned(),
        ),
        (
            format!("transport: {{ congestion: {{ swift: {{ endpointTarget: 1us }} }} }}, {FLOWS}"),
            "transport.congestion.swift.endpointTarget ",
            format!("transport: {{ congestion: {{ swift: {{ baseTarget: 9us }} }} }}, {FLOWS}"),
        ),
        (
            format!("switches: {{ ecn: {{ ufabCore: {{}} }} }}, {}", sharing("eyeq", "min: 1Mbit", "")),
            "switches.ecn.ufabCore ",
            format!("switches: {{ ecn: {{ ufabCore: {{}} }} }}, {}", sharing("ufab", "min: 1Mbit", "")),
        ),
        (format!("record: {{ promises: true }}, {FLOWS}"), "record.promises ", format!("record: {{ series: 1ms }}, {FLOWS}")),
        (
            sharing("eyeq", "changes: [ { at: 2027-01-10T22:00:00Z, max: 1Mbit } ]", ""),
            "changes of service a in sharing.machine ",
            sharing("eyeq", "max: 1Mbit", ""),
        ),
        (sharing("static-limits", "min: 1Mbit", ""), "receive.min of service a ", sharing("eyeq", "min: 1Mbit", "")),
        (
            sharing("static-limits", "receive: { max: 1Mbit }", ""),
            "receive.max of service a ",
            sharing("static-limits", "transmit: { max: 1Mbit }", ""),
        ),
        (sharing("picnic", "weight: 2", ""), "receive.weight of service a ", sharing("eyeq", "weight: 2", "")),
        (
            sharing("elasticswitch", "receive: { max: 1Mbit }", ""),
            "receive.max of service a ",
            sharing("elasticswitch", "transmit: { max: 1Mbit }", ""),
        ),
        (
            sharing("ufab", "transmit: { weight: 2 }", ""),
            "transmit.weight of service a ",
            sharing("{ ufab: { excessSharing: weights } }", "transmit: { weight: 2 }", ""),
        ),
        (
            sharing("eyeq", "min: 1Mbit", ", faults: { loss: 0.1 }"),
            "sharing.faults.loss ",
            sharing("{ parley: {} }", "min: 1Mbit", ", faults: { loss: 0.1 }"),
        ),
        (
            sharing("eyeq", "min: 1Mbit", ", faults: { probeLoss: 0.1 }"),
            "sharing.faults.probeLoss ",
            sharing("ufab", "min: 1Mbit", ", faults: { probeLoss: 0.1 }"),
        ),
    ];
    for (idle, key, at_work) in cases {
        let (named, silent) = (messages(STAR, &idle, &[]), messages(STAR, &at_work, &[]));
        assert!(named.iter().any(|one| one.starts_with(key)), "{key}: {named:?}");
        assert!(named.iter().all(|one| one.contains(" has no effect: ")), "{named:?}");
        assert!(silent.is_empty(), "{at_work}: {silent:?}");
    }
}

const CLASSES: &str = "{ builder: { kind: star, hosts: 3, rate: 1Gbit }, classes: {} }";
const CONTRACTS: &str = "{ apiVersion: wayleave/v1, kind: Contracts, spec: { contracts: [
  { name: a, from: h1, to: h3, rate: 1Mbit, burst: 300B, deadline: 5ms, starts: 2027-01-10T22:00:00Z, match: { protocol: udp } },
  { name: b, from: h2, to: h3, rate: 1Mbit, burst: 300B, deadline: 5ms, starts: 2027-01-10T22:00:00Z, excess: drop } ] } }";

#[test]
fn keys_of_contracts_are_named_once_with_the_first_and_the_number_of_contracts() {
    let files = [("c.yaml", CONTRACTS)];
    let found = messages(CLASSES, "contracts: c.yaml", &files);
    let starts: Vec<&str> = found.iter().filter_map(|one| one.split(" has no effect: ").next()).collect();
    assert_eq!(starts, ["excess: drop of contract b", "match of contract a", "starts of 2 contracts (a, ...)"]);
    let alone = messages(CLASSES, FLOWS, &[]);
    assert!(alone.len() == 1 && alone[0].starts_with("topology.classes has no effect: "), "{alone:?}");
}

#[test]
fn port_settings_given_by_contracts_are_refused_beside_them() {
    for (ports, key) in [("switches", "discipline: fifo"), ("switches", "ecn: 9kB"), ("hosts", "discipline: fifo")] {
        let text = format!(
            "{{ apiVersion: wayleave/v1, kind: Scenario, spec: {{ topology: {CLASSES}, duration: 1ms, contracts: c.yaml, {ports}: {{ {key} }} }} }}"
        );
        let open = |name: &str| Ok(Source::new(name, CONTRACTS));
        let error = read_scenario(&Source::new("scenario.yaml", text.as_str()), &open).unwrap_err().to_string();
        let key = key.split(':').next().unwrap();
        assert!(error.contains(&format!("{ports}.{key} has no effect with contracts")), "{error}");
    }
    messages(
        CLASSES,
        "contracts: c.yaml, switches: { buffer: 9kB }, hosts: { buffer: 9kB, ecn: 9kB }",
        &[("c.yaml", CONTRACTS)],
    );
}

#[test]
fn shares_are_refused_in_policies_of_racks() {
    let text = format!(
        "{{ apiVersion: wayleave/v1, kind: Scenario, spec: {{ topology: {STAR}, duration: 1ms, {} }} }}",
        sharing(
            "{ parley: {} }",
            "min: 1Mbit",
            ", rack: { services: [ { name: a, match: { protocol: tcp }, share: 1Mbit } ] }"
        )
    );
    let source = Source::new("scenario.yaml", text.as_str());
    let error = read_scenario(&source, &|name| beside(&source, name)).unwrap_err().to_string();
    assert!(error.contains("service a: share and objective are terms of machines"), "{error}");
}
