//! Tests of agents: meaning of their files, and error messages.

use crate::common::assert_problems;
use wayleave_formats::ProblemKind::{
    BadValue, DuplicateKey, DuplicateName, Impossible, MissingKey, UnknownKey, WrongType,
};
use wayleave_formats::{
    AgentBridge, AgentCredential, AgentEndpoint, AgentFile, DocumentKind, InputErrors, Source, UnmatchedPackets,
    kind_of, read_agent,
};

/// A document with this spec, which begins on line 4.
fn read(spec: &str) -> Result<AgentFile, InputErrors> {
    read_agent(&Source::new("a.yaml", format!("apiVersion: wayleave/v1\nkind: Agent\nspec:\n{spec}\n")))
}

#[test]
fn the_example_has_the_documented_values() {
    let path = format!("{}/../../../schemas/examples/agent.yaml", env!("CARGO_MANIFEST_DIR"));
    let source = Source::read(path).unwrap();
    assert_eq!(kind_of(&source), Some(DocumentKind::Agent));
    let agent = read_agent(&source).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!((agent.server.as_str(), agent.measures), ("https://controller.example:7480", false));
    assert_eq!(agent.credential, Some(AgentCredential::Token("/etc/wayleave/h1.token".into())));
    assert_eq!(agent.state.to_str(), Some("/run/wayleave/agent"));
    let node = &agent.nodes[0];
    assert_eq!((node.node.as_str(), node.netns.as_deref(), agent.nodes.len()), ("h1", None, 1));
    assert_eq!(node.interfaces["h1->s1"], "eth1");
    let endpoints = [("acme:web", "tap0"), ("host:h1", "veth0")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    let endpoints = endpoints.map(|(name, interface)| (name, AgentEndpoint { interface, vlan: None }));
    assert_eq!(node.endpoints, endpoints.into());
}

#[test]
fn absent_keys_have_the_documented_defaults() {
    let agent = read(
        "  server: http://h\n  unmatched: drop\n  measure: true\n  nodes: [ { node: s1, interfaces: {}, netns: x } ]",
    );
    let agent = agent.unwrap();
    assert_eq!((agent.unmatched, agent.measures), (UnmatchedPackets::Drop, true));
    assert_eq!(agent.nodes[0].netns.as_deref(), Some("x"));
    let vm = "  server: http://h\n  nodes: [ { node: h1, interfaces: {}, endpoints: [ { vm: web, interface: t } ] } ]";
    assert!(read(vm).unwrap().nodes[0].endpoints.contains_key("default:web"));
}

#[test]
fn a_switch_may_be_a_bridge_of_open_vswitch() {
    let of =
        |ovs: &str| read(&format!("  server: http://h\n  nodes: [ {{ node: s1, interfaces: {{}}, ovs: {ovs} }} ]"));
    let bridge = |run: &str| AgentBridge { bridge: "br0".to_owned(), run: run.into() };
    assert_eq!(of("{ bridge: br0 }").unwrap().nodes[0].ovs, Some(bridge("/run/openvswitch")));
    assert_eq!(of("{ bridge: br0, run: /tmp/ovs }").unwrap().nodes[0].ovs, Some(bridge("/tmp/ovs")));
    assert_problems(of("{ run: /tmp/ovs }"), &[(MissingKey, "5:45", "\"bridge\"")]);
}

#[test]
fn an_agent_has_a_token_or_a_certificate_and_a_node_may_have_its_own() {
    let certificate = || AgentCredential::Certificate { chain: "h1.pem".into(), key: "h1.key".into() };
    let of = |text: &str, own: &str| {
        read(&format!("  server: http://h\n{text}  nodes: [ {{ node: h1, interfaces: {{}}{own} }} ]"))
    };
    let agent = of("  cert: h1.pem\n  certKey: h1.key\n", "").unwrap();
    assert_eq!((agent.credential, agent.nodes[0].credential.clone()), (Some(certificate()), None));
    let agent = of("  tokenFile: all.token\n", ", cert: h1.pem, certKey: h1.key").unwrap();
    assert_eq!(agent.nodes[0].credential, Some(certificate()));
    assert_eq!(agent.credential, Some(AgentCredential::Token("all.token".into())));
    assert_problems(of("  cert: h1.pem\n", ""), &[(MissingKey, "5:9", "\"certKey\" is missing")]);
    assert_problems(of("", ", certKey: h1.key"), &[(MissingKey, "5:49", "\"cert\" is missing")]);
    assert_problems(
        of("  tokenFile: t\n  cert: h1.pem\n  certKey: h1.key\n", ""),
        &[(Impossible, "5:14", "either a token or a certificate")],
    );
}

#[test]
fn errors_are_reported_at_their_place() {
    assert_problems(read("  nodes: []"), &[(MissingKey, "4:3", "needs the key \"server\"")]);
    assert_problems(
        read("  server: http://h\n  unmatched: dorp\n  measure: yes\n  nodes: [ { node: h1 } ]"),
        &[
            (BadValue, "5:14", "did you mean \"drop\""),
            (BadValue, "6:12", "true or false"),
            (MissingKey, "7:12", "needs the key \"interfaces\""),
        ],
    );
    let node = |text: &str| read(&format!("  server: http://h\n  nodes: [ {{ node: h1, {text} }} ]"));
    assert_problems(node("interface: {}"), &[(UnknownKey, "5:24", "did you mean \"interfaces\"")]);
    assert_problems(node("interfaces: eth0"), &[(WrongType, "5:36", "interfaces by links are expected")]);
    assert_problems(node("interfaces: { a: b, a: c }"), &[(DuplicateKey, "5:44", "twice")]);
    let endpoint = |text: &str| node(&format!("interfaces: {{}}, endpoints: [ {text} ]"));
    assert_problems(endpoint("{ interface: t }"), &[(MissingKey, "5:53", "\"vm\" and \"host\"")]);
    assert_problems(endpoint("{ vm: A:b, interface: t }"), &[(BadValue, "5:59", "[a-z0-9-]")]);
    let tagged = endpoint("{ vm: a, interface: t, vlan: 100 }").unwrap();
    assert_eq!(tagged.nodes[0].endpoints["default:a"].vlan, Some(100));
    for wrong in ["0", "4095", "x"] {
        let vlan = endpoint(&format!("{{ vm: a, interface: t, vlan: {wrong} }}"));
        assert_problems(vlan, &[(BadValue, "5:82", "1 to 4094")]);
    }
    assert_problems(endpoint("{ host: h2, interface: t }"), &[(Impossible, "5:61", "only h1 itself, or a VM")]);
    assert_problems(
        endpoint("{ vm: a, interface: t }, { vm: \"default:a\", interface: u }"),
        &[(DuplicateName, "5:78", "is already listed above")],
    );
}
