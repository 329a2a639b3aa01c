//! Realistic containerlab files: rates by direction, merge keys, interface names, MTUs, and forwarding nodes.

use crate::common::graphs::{links, names, options, read, remarks, with_rate, wrong};
use wayleave_formats::{HostSelector, Source, read_network, read_topology, write_topology};
use wayleave_topology::{Network, NodeKind};

fn lab(nodes: &str, links: &str) -> String {
    format!("name: lab\ntopology:\n  nodes:\n{nodes}  links:\n{links}")
}

/// `LINK INTERFACE MTU` of every link.
fn ports(network: &Network) -> Vec<String> {
    let interface = |id| network.interfaces().get(&id).map_or("-", String::as_str);
    network.links().map(|(id, link)| format!("{} {} {}", link.name, interface(id), link.mtu)).collect()
}

const SWITCHED: &str = "    s1: { kind: nokia_srlinux }\n    s2: { kind: nokia_srlinux }\n    h1: { kind: linux }\n    h2: { kind: linux }\n";

#[test]
fn vars_of_an_endpoint_apply_to_its_outgoing_direction() {
    let text = lab(
        SWITCHED,
        "    - type: veth
      mtu: 9000
      vars: { rate: 1Gbit, delay: 1ms }
      endpoints:
        - { node: s1, interface: ethernet-1/1, vars: { rate: 100Mbit, delay: 20ms } }
        - { node: s2, interface: ethernet-1/1, vars: { rate: 20Mbit } }
    - { endpoints: [\"h1:eth1\", \"s1:e1-2\"], vars: { rate: 1Gbit } }
    - { endpoints: [\"h2:eth1\", \"s2:e1-2\"], vars: { rate: 1Gbit } }
",
    );
    let imported = read("x.clab.yml", &text, &options());
    let network = &imported.topology.network;
    assert_eq!(links(network)[..3], ["s1->s2 100Mbit 20ms", "s2->s1 20Mbit 1ms", "h1->s1 1Gbit 0ns"]);
    assert_eq!(
        ports(network)[..4],
        ["s1->s2 ethernet-1/1 9kB", "s2->s1 ethernet-1/1 9kB", "h1->s1 eth1 9.5kB", "s1->h1 e1-2 9.5kB"]
    );
    // Both directions are one cable, which fails as a whole.
    let there = network.find_link("s1->s2").unwrap();
    assert_eq!(network.reverse(there), network.find_link("s2->s1"));
}

#[test]
fn a_rate_at_one_end_does_not_apply_to_the_other_direction() {
    let text = lab(
        SWITCHED,
        "    - endpoints: [ { node: h1, interface: eth1, vars: { rate: 1Gbit } }, { node: s1, interface: e1-1 } ]\n",
    );
    let messages = wrong("x.clab.yml", &text, &options());
    assert_eq!(messages, ["9:7 1 of 1 link have no rate: the first joins \"h1\" and \"s1\", and has only rate"]);
}

#[test]
fn merge_keys_are_followed_for_attributes_and_nodes() {
    let text = "name: merge
x-fast: &fast { rate: 1Gbit, delay: 5ms }
x-wan: &wan { mtu: 9000, vars: { rate: 100Mbit, delay: 20ms } }
x-nodes: &nodes { b: { kind: nokia_srlinux }, h2: { kind: linux } }
topology:
  nodes:
    <<: *nodes
    a: { kind: nokia_srlinux }
    h1: { kind: linux }
  links:
    - endpoints: [\"a:e1-1\", \"b:e1-1\"]
      <<: *wan
    - endpoints: [\"h1:eth1\", \"a:e1-2\"]
      vars: { <<: *fast, delay: 7ms }
    - endpoints: [\"h2:eth1\", \"b:e1-2\"]
      vars: { <<: [{ delay: 1ms }, *fast] }
";
    let imported = read("x.clab.yml", text, &options());
    let network = &imported.topology.network;
    let forward: Vec<String> = links(network).into_iter().step_by(2).collect();
    assert_eq!(forward, ["a->b 100Mbit 20ms", "h1->a 1Gbit 7ms", "h2->b 1Gbit 1ms"]);
    assert_eq!(ports(network)[0], "a->b e1-1 9kB");
    assert_eq!(names(network, NodeKind::Host), ["h1", "h2"]);
}

#[test]
fn links_without_an_mtu_have_that_of_containerlab_and_sonic() {
    let text = lab(
        "    leaf1: { kind: sonic-vs }\n    leaf2: { kind: sonic-vm }\n    srv1: { kind: linux }\n",
        "    - { endpoints: [\"leaf1:eth49\", \"leaf2:eth1\"], vars: { rate: 10Gbit, delay: 0us } }
    - { endpoints: [\"srv1:eth1\", \"leaf1:eth7\"], vars: { rate: 1Gbit, delay: 0us } }
",
    );
    let imported = read("x.clab.yml", &text, &options());
    assert_eq!(
        ports(&imported.topology.network),
        [
            "leaf1->leaf2 Ethernet192 9.1kB",
            "leaf2->leaf1 Ethernet0 9.1kB",
            "srv1->leaf1 eth1 9.5kB",
            "leaf1->srv1 Ethernet24 9.1kB"
        ]
    );
    let expected = "note: 4 directed links have no MTU: 9100B on 3 (SONiC's default) and 9500B on 1 (containerlab's default); \
                    --default-mtu gives another";
    assert!(remarks(&imported).contains(&expected.to_owned()), "{:#?}", remarks(&imported));
    let expected = "note: interfaces of SONiC nodes are named after their ports: \"eth49\" of \"leaf1\" is \"Ethernet192\" (2 more)";
    assert!(remarks(&imported).contains(&expected.to_owned()), "{:#?}", remarks(&imported));
    let given = options().with_default_mtu("1500B".parse::<wayleave_units::Bytes>().ok());
    let imported = read("x.clab.yml", &text, &given);
    assert!(ports(&imported.topology.network).iter().all(|port| port.ends_with(" 1.5kB")));
}

#[test]
fn interface_names_survive_a_topology_document() {
    let text = lab(
        SWITCHED,
        "    - { endpoints: [\"s1:e1-2\", \"s2:e1-1\"], vars: { rate: 10Gbit } }
    - { endpoints: [\"s1:e1-1\", \"h1:eth1\"], vars: { rate: 1Gbit } }
    - endpoints: [ { node: s2, interface: e1-3, vars: { rate: 2Gbit } }, { node: h2, vars: { rate: 1Gbit } } ]
",
    );
    let network = read("x.clab.yml", &text, &options()).topology.network;
    let written = write_topology(&network, "lab");
    assert!(written.contains("interfaces: [e1-2, e1-1]"), "{written}");
    assert!(written.contains("from: s2, to: h2, rate: 2Gbit, interface: e1-3"), "{written}");
    let back = read_topology(&Source::new("lab.yaml", written)).unwrap_or_else(|errors| panic!("{errors}")).network;
    assert_eq!(ports(&back), ports(&network));
    let rebuilt = back.with_ports(|_, _, _| {}).unwrap();
    assert_eq!(ports(&rebuilt), ports(&network));
}

#[test]
fn an_interface_of_two_links_is_kept_once_and_reported() {
    let text = lab(
        SWITCHED,
        "    - { endpoints: [\"s1:e1-1\", \"s2:e1-1\"], vars: { rate: 10Gbit } }
    - { endpoints: [\"s1:e1-1\", \"h1:eth 1\"], vars: { rate: 1Gbit } }
    - { endpoints: [\"s2:e1-3\", \"h2:eth1\"], vars: { rate: 1Gbit } }
",
    );
    let imported = read("x.clab.yml", &text, &options());
    assert_eq!(ports(&imported.topology.network)[2..4], ["s1->h1 - 9.5kB", "h1->s1 - 9.5kB"]);
    let expected = "warning: an interface name was left out: the interface \"e1-1\" of link s1->h1 is that of s1->s2 too: \
                    every link leaves an interface of its own (1 more)";
    assert!(remarks(&imported).contains(&expected.to_owned()), "{:#?}", remarks(&imported));
}

#[test]
fn veth_stitch_is_a_link_of_the_lab() {
    let text = lab(
        SWITCHED,
        "    - { type: veth-stitch, endpoints: [\"s1:e1-1\", { node: h1, interface: eth1 }], vars: { rate: 1Gbit } }\n",
    );
    assert_eq!(links(&read("x.clab.yml", &text, &options()).topology.network).len(), 2);
}

/// The roles of a lab's nodes, and the remarks.
fn taken(nodes: &str, joined: &[[&str; 2]]) -> (Vec<String>, String) {
    let mut ports = 0;
    let links: String = joined
        .iter()
        .map(|[from, to]| {
            ports += 1;
            format!("    - endpoints: [\"{from}:e{ports}\", \"{to}:e{ports}\"]\n")
        })
        .collect();
    let imported = read("x.clab.yml", &lab(nodes, &links), &with_rate());
    let hosts = names(&imported.topology.network, NodeKind::Host).into_iter().map(str::to_owned).collect();
    let messages = remarks(&imported).into_iter().find(|remark| remark.contains("taken for")).unwrap_or_default();
    (hosts, messages)
}

const FABRIC: [[&str; 2]; 5] =
    [["leaf1", "spine"], ["leaf2", "spine"], ["srv", "leaf1"], ["srv", "leaf2"], ["cl", "spine"]];

#[test]
fn a_server_with_two_links_is_a_host_if_its_neighbours_forward() {
    let nodes = "    leaf1: { kind: linux, image: frr }
    leaf2: { kind: linux, image: \"quay.io/frrouting/frr:9.1\" }
    spine: { kind: linux, image: alpine, exec: [ \"sysctl -w net.ipv4.ip_forward=1\" ] }
    srv: { kind: linux, image: alpine }
    cl: { kind: linux, image: alpine }
";
    let (hosts, messages) = taken(nodes, &FABRIC);
    assert_eq!(hosts, ["srv", "cl"]);
    assert_eq!(
        messages,
        "note: taken for hosts: \"cl\"; for hosts with several links that are not marked as forwarding: \"srv\"; for \
         switches, by their image, sysctls or exec: \"leaf1\", \"leaf2\", \"spine\" (a label wayleave.role: host or switch overrides this)"
    );
}

#[test]
fn a_router_between_bridges_forwards_since_nothing_else_joins_them() {
    let nodes = "    br1: { kind: bridge }\n    br2: { kind: bridge }\n    fw: { kind: linux, image: alpine }\n    a: { kind: linux }\n    b: { kind: linux }\n";
    let (hosts, messages) = taken(nodes, &[["fw", "br1"], ["fw", "br2"], ["a", "br1"], ["b", "br2"]]);
    assert_eq!(hosts, ["a", "b"]);
    assert!(messages.contains("for switches, since they have to forward: \"fw\""), "{messages}");
}

#[test]
fn sysctls_override_the_image() {
    let nodes = "    br1: { kind: bridge }\n    br2: { kind: bridge }\n    x: { kind: linux, image: frr, sysctls: { net.ipv4.ip_forward: 0 } }\n    y: { kind: linux, sysctls: { net.ipv6.conf.all.forwarding: 1 } }\n    a: { kind: linux }\n";
    let joined = [["x", "br1"], ["x", "br2"], ["y", "br1"], ["y", "br2"], ["a", "br1"]];
    let (hosts, messages) = taken(nodes, &joined);
    assert_eq!(hosts, ["x", "a"]);
    assert!(messages.contains("since their sysctls switch forwarding off: \"x\""), "{messages}");
}

#[test]
fn a_lab_with_ambiguous_forwarding_is_refused_with_advice() {
    let nodes = "    leaf1: { kind: linux }\n    leaf2: { kind: linux }\n    spine: { kind: linux }\n    srv: { kind: linux }\n    h: { kind: linux }\n";
    let joined = "    - endpoints: [\"leaf1:e1\", \"spine:e1\"]
    - endpoints: [\"leaf2:e1\", \"spine:e2\"]
    - endpoints: [\"srv:e1\", \"leaf1:e2\"]
    - endpoints: [\"srv:e2\", \"leaf2:e2\"]
";
    let text = lab(nodes, joined);
    let errors = read_network(&Source::new("x.clab.yml", text.as_str()), &with_rate()).unwrap_err();
    let expected =
        "the file does not define whether \"leaf1\", \"leaf2\", \"spine\", \"srv\" forward: their kind allows both";
    assert_eq!(errors.problems()[0].message(), expected);
    assert!(errors.problems()[0].hint().unwrap().contains("labels: { wayleave.role: host }"));
    let leaves = with_rate().with_hosts(HostSelector::Leaves);
    let imported = read("x.clab.yml", &text, &leaves);
    assert_eq!(names(&imported.topology.network, NodeKind::Switch), ["leaf1", "leaf2", "spine", "srv"]);
}

const LAB: &str = r#"name: plant
topology:
  defaults: { kind: linux }
  kinds:
    nokia_srlinux: { image: srlinux }
  groups:
    servers: { labels: { tier: edge } }
  nodes:
    leaf1: { kind: nokia_srlinux }
    leaf2: { kind: nokia_srlinux }
    br: { kind: bridge }
    pc1:
    pc2: {}
    frr1: { image: frr }
    frr2: { image: frr }
    dual: { group: servers }
    probe: { labels: { wayleave.role: switch } }
  links:
    - endpoints: ["leaf1:e1-1", "leaf2:e1-1"]
      vars: { rate: 10Gbps, delay: 5us }
    - type: veth
      endpoints: [ { node: leaf1, interface: e1-2 }, { node: pc1, interface: eth1 } ]
      vars: { rate: 1Gbit }
      mtu: 9000
    - endpoints: ["pc2:eth1", "frr1:eth1"]
    - endpoints: ["frr1:eth2", "frr2:eth1"]
    - endpoints: ["frr2:eth2", "br:p1"]
    - endpoints: ["br:p2", "leaf2:e1-2"]
    - endpoints: ["dual:eth1", "leaf1:e1-3"]
    - endpoints: ["dual:eth2", "leaf2:e1-3"]
    - endpoints: ["probe:eth1", "br:p3"]
    - endpoints: ["leaf1:mgmt0", "mgmt-net:leaf1-mgmt"]
    - { type: macvlan, endpoint: { node: pc1, interface: eth2 }, host-interface: eno0 }
"#;

#[test]
fn containerlab_labs_determine_forwarding_nodes() {
    let imported = read("plant.clab.yml", LAB, &with_rate());
    let network = &imported.topology.network;
    assert_eq!(imported.topology.name, "plant");
    assert_eq!(names(network, NodeKind::Host), ["pc1", "pc2", "dual"]);
    assert_eq!(links(network)[..3], ["leaf1->leaf2 10Gbit 5us", "leaf2->leaf1 10Gbit 5us", "leaf1->pc1 1Gbit 0ns"]);
    let pc1 = network.find_link("pc1->leaf1").unwrap();
    assert_eq!(network.link(pc1).mtu.get(), 9000);
    let messages = remarks(&imported);
    for expected in [
        "note: taken for hosts: \"pc1\", \"pc2\"; for switches, by their image, sysctls or exec: \"frr1\", \"frr2\" (a label wayleave.role: host or switch overrides this)",
        "warning: links that leave the lab were left out: \"leaf1\" to \"mgmt-net\", \"pc1\" (macvlan)",
        "note: 7 of 9 links have no rate: 10Gbit (--default-rate)",
    ] {
        assert!(messages.iter().any(|remark| remark == expected), "{expected}\n{messages:#?}");
    }
    // The same without its ending.
    assert_eq!(links(&read("x.yaml", LAB, &with_rate()).topology.network), links(network));
}

#[test]
fn errors_of_a_lab_are_reported_at_their_place() {
    for (old, new, expected) in [
        ("\"leaf2:e1-1\"", "\"leaf3:e1-1\"", "19:33 there is no node \"leaf3\""),
        ("\"leaf2:e1-1\"", "leaf2", "19:33 \"leaf2\" is not an endpoint: NODE:INTERFACE is expected"),
        ("type: veth", "type: vteh", "21:13 unknown type of link \"vteh\", did you mean \"veth\"?"),
        ("node: pc1, interface: eth1", "interface: eth1", "22:54 an endpoint needs the key \"node\""),
        ("role: switch", "role: swtich", "17:39 the label wayleave.role is host or switch, not \"swtich\""),
        ("rate: 10Gbps", "rate: 10", "20:21 the rate \"10\" has no unit"),
        ("\"pc2:eth1\", \"frr1:eth1\"", "\"pc2:eth1\"", "25:18 a link has two endpoints, not 1"),
        ("topology:", "topologie:", "1:1 the key \"topology\" is missing"),
        ("  nodes:", "  node:", "3:3 a topology needs the key \"nodes\", a mapping from names to nodes"),
    ] {
        assert!(LAB.contains(old), "{old}");
        assert_eq!(wrong("x.clab.yml", &LAB.replacen(old, new, 1), &with_rate())[0], expected, "{new}");
    }
}
