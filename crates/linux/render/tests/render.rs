//! Configurations against golden files, and codepoints against routes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use wayleave_render::{
    Codepoints, ConfigDifference, ControlQueue, QueueCodepoints, RenderError, Settings, Target, changes,
    port_differences, render,
};
use wayleave_topology::builders::{Cabling, LeafSpine, build};
use wayleave_topology::{Classes, Hop, Network, NodeKind, PortSpec, Route};
use wayleave_units::{Bytes, Rate};

/// Two racks with two hosts each and one spine, eight queues in every switch, and classes.
fn two_racks() -> Network {
    racks(8, Classes::default())
}

fn racks(queues: u32, classes: Classes) -> Network {
    let cabling = Cabling {
        rate: Rate::from_mbit(1000),
        switch_port: PortSpec::uniform(queues as usize, Bytes::new(97_000)),
        ..Cabling::default()
    };
    let network =
        build::leaf_spine(&LeafSpine { leaves: 2, spines: 1, hosts_per_leaf: 2, cabling, ..LeafSpine::default() })
            .unwrap();
    network.with_classes(classes).unwrap()
}

/// All eight queues of SONiC are the topology's.
fn eight() -> Settings {
    Settings { control: ControlQueue::BestEffort, ..Settings::default() }
}

fn route(network: &Network, name: &str, hops: &[(&str, u8)]) -> QueueCodepoints {
    let hops = hops.iter().map(|&(link, queue)| Hop { link: network.find_link(link).unwrap(), queue });
    QueueCodepoints { name: name.to_owned(), route: Route { hops: hops.collect() } }
}

/// `robot` and `camera` need different queues at both leaves, `lamp` none that contradicts `robot`.
fn placed(network: &Network) -> Vec<QueueCodepoints> {
    vec![
        route(network, "robot", &[("h1->leaf1", 0), ("leaf1->spine1", 0), ("spine1->leaf2", 1), ("leaf2->h3", 0)]),
        route(network, "camera", &[("h2->leaf1", 0), ("leaf1->spine1", 2), ("spine1->leaf2", 1), ("leaf2->h3", 3)]),
        route(network, "lamp", &[("h1->leaf1", 1), ("leaf1->h2", 0)]),
    ]
}

fn text_of(network: &Network, target: Target, settings: &Settings, switch: &str) -> String {
    let codepoints = Codepoints::assign(network, &placed(network)).unwrap();
    let rendered = render(network, &codepoints, target, settings).unwrap();
    rendered.into_iter().find(|one| one.switch == switch).unwrap().text
}

/// Compares with a file of `tests/golden`; `WAYLEAVE_GOLDEN=write` writes it instead.
fn is_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("WAYLEAVE_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    let first = golden.lines().zip(text.lines()).position(|(one, other)| one != other);
    assert!(
        golden == text,
        "{name} differs, first in line {:?}; WAYLEAVE_GOLDEN=write writes it anew",
        first.map(|line| line + 1)
    );
}

#[test]
fn a_leaf_for_sonic_equals_the_golden_file() {
    let network = two_racks();
    let settings = Settings { marks_from: Some(Bytes::new(65_000)), ..eight() };
    is_golden("leaf1.json", &text_of(&network, Target::Sonic, &settings, "leaf1"));
}

#[test]
fn a_leaf_for_tc_equals_the_golden_file() {
    is_golden("leaf1.sh", &text_of(&two_racks(), Target::Tc, &eight(), "leaf1"));
}

#[test]
fn routes_share_a_codepoint_if_they_agree_wherever_they_meet() {
    let network = two_racks();
    let codepoints = Codepoints::assign(&network, &placed(&network)).unwrap();
    assert_eq!(codepoints.routes(), [3, 4, 3]);
}

#[test]
fn the_last_queue_of_sonic_is_the_highest_and_the_strict_one() {
    let network = two_racks();
    let text = text_of(&network, Target::Sonic, &eight(), "leaf2");
    let tables: serde_json::Value = serde_json::from_str(&text).unwrap();
    let class = |dscp: &str| tables["DSCP_TO_TC_MAP"]["wayleave"][dscp].as_str().unwrap().to_owned();
    // robot in queue 0, camera in queue 3 of 8; best effort and unassigned codepoints in the lowest.
    assert_eq!([class("3"), class("4"), class("0"), class("63")], ["7", "4", "0", "0"]);
    for port in ["Ethernet0", "Ethernet4", "Ethernet8"] {
        let scheduler =
            |queue: usize| tables["QUEUE"][format!("{port}|{queue}")]["scheduler"].as_str().unwrap().to_owned();
        assert_eq!(scheduler(7), "wayleave-strict", "{port}");
        assert_eq!(scheduler(3), "wayleave-strict", "{port}");
        assert_eq!(scheduler(2), "wayleave-guaranteed", "{port}");
        assert_eq!(scheduler(0), "wayleave-best-effort", "{port}");
        let map = tables["PORT_QOS_MAP"][port]["tc_to_queue_map"].as_str().unwrap();
        assert_eq!(tables["TC_TO_QUEUE_MAP"][map]["7"], "7");
    }
    assert_eq!(tables["SCHEDULER"]["wayleave-guaranteed"]["weight"], "6");
}

/// Four queues of latency contracts, three that share, and one of routing protocols between them.
#[test]
fn routing_protocols_have_their_own_queue_below_those_of_contracts() {
    let network = racks(7, Classes { latency: 4, ..Classes::default() });
    let text = text_of(&network, Target::Sonic, &Settings::default(), "leaf2");
    let tables: serde_json::Value = serde_json::from_str(&text).unwrap();
    let class = |dscp: &str| tables["DSCP_TO_TC_MAP"]["wayleave"][dscp].as_str().unwrap().to_owned();
    // robot in queue 0, camera in queue 3; CS6 and CS7; best effort and unassigned codepoints.
    assert_eq!(["3", "4", "48", "56", "0", "63"].map(class), ["7", "4", "3", "3", "0", "0"]);
    let queue = |number: usize| tables["QUEUE"][format!("Ethernet0|{number}")]["scheduler"].clone();
    let expected = ["best-effort", "objective", "guaranteed", "strict", "strict", "strict", "strict", "strict"];
    assert_eq!((0..8).map(queue).collect::<Vec<_>>(), expected.map(|one| format!("wayleave-{one}")));
    let map = tables["PORT_QOS_MAP"]["Ethernet0"]["tc_to_queue_map"].as_str().unwrap();
    assert_eq!(tables["TC_TO_QUEUE_MAP"][map]["3"], "3");
    // 16 frames of 1522 B, beside seven queues at each of three ports.
    assert_eq!(tables["BUFFER_QUEUE"]["Ethernet0|3"]["profile"], "wayleave-24352");
    assert_eq!(tables["BUFFER_POOL"]["wayleave-pool"]["size"], (3 * (7 * 97_000 + 24_352)).to_string());
}

#[test]
fn a_port_without_a_queue_for_routing_protocols_is_refused_with_the_option() {
    let network = two_racks();
    let codepoints = Codepoints::assign(&network, &placed(&network)).unwrap();
    let error = render(&network, &codepoints, Target::Sonic, &Settings::default()).unwrap_err();
    assert!(matches!(&error, RenderError::NoControl { has: 8, .. }), "{error}");
    assert!(error.to_string().contains("--control best-effort"), "{error}");
    assert!(render(&network, &codepoints, Target::Sonic, &eight()).is_ok());
    assert!(render(&network, &codepoints, Target::Tc, &Settings::default()).is_ok());
    let of = |target: Target, control| target.assumptions(control).join(" ").contains("uses the lowest queue here");
    assert_eq!(
        [
            of(Target::Sonic, ControlQueue::Own),
            of(Target::Sonic, ControlQueue::BestEffort),
            of(Target::Tc, ControlQueue::Own)
        ],
        [false, true, true]
    );
}

#[test]
fn ports_of_a_device_are_compared_with_the_topology() {
    let network = two_racks();
    let codepoints = Codepoints::assign(&network, &placed(&network)).unwrap();
    let rendered = render(&network, &codepoints, Target::Sonic, &eight()).unwrap();
    let leaf = rendered.into_iter().find(|one| one.switch == "leaf1").unwrap();
    let of = |ports: serde_json::Value| {
        let device = serde_json::json!({ "PORT": ports }).to_string();
        let found = port_differences(Target::Sonic, &device, &leaf.ports).unwrap();
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let port = |speed: &str, mtu: &str| serde_json::json!({ "speed": speed, "mtu": mtu, "lanes": "1" });
    let same = port("1000", "1500");
    assert_eq!(
        of(serde_json::json!({ "Ethernet0": same, "Ethernet4": same, "Ethernet8": same, "Ethernet96": {} })),
        [""; 0]
    );
    assert_eq!(
        of(serde_json::json!({ "Ethernet0": port("40000", "1500"), "Ethernet4": { "speed": "1000" }, "Other": {} })),
        [
            "PORT|Ethernet0 (leaf1->spine1): speed 40000 (Mbit/s), but the rate in the topology is 1Gbit",
            "PORT|Ethernet4 (leaf1->h1): mtu 9100, but the MTU in the topology is 1500 B",
            "PORT|Ethernet8 (leaf1->h2): no such port on the device",
        ]
    );
    // Rendered configurations and scripts of tc have no PORT table.
    assert_eq!(port_differences(Target::Sonic, &leaf.text, &leaf.ports), Ok(vec![]));
    assert_eq!(port_differences(Target::Tc, "#!/bin/sh", &leaf.ports), Ok(vec![]));
    assert!(port_differences(Target::Sonic, "{", &leaf.ports).unwrap_err().contains("not valid JSON"));
}

#[test]
fn the_pool_holds_the_sum_of_all_queue_reservations() {
    let text = text_of(&two_racks(), Target::Sonic, &eight(), "spine1");
    let tables: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(tables["BUFFER_POOL"]["wayleave-pool"]["size"], (2 * 8 * 97_000).to_string());
}

#[test]
fn foreign_settings_of_a_device_are_kept() {
    let text = text_of(&two_racks(), Target::Sonic, &eight(), "leaf1");
    let mut device: serde_json::Value = serde_json::from_str(&text).unwrap();
    device["PORT"] = serde_json::json!({ "Ethernet0": { "speed": "1000" } });
    device["SCHEDULER"]["other"] = serde_json::json!({ "type": "DWRR", "weight": "9" });
    assert_eq!(changes(Target::Sonic, &device.to_string(), &text).unwrap(), []);
    device["SCHEDULER"]["wayleave-guaranteed"]["weight"] = "5".into();
    device["SCHEDULER"]["wayleave-old"] = serde_json::json!({ "type": "STRICT" });
    device["QUEUE"].as_object_mut().unwrap().remove("Ethernet0|7");
    let found = changes(Target::Sonic, &device.to_string(), &text).unwrap();
    assert_eq!(
        found,
        [
            ConfigDifference::Removed("SCHEDULER|wayleave-old type = STRICT".to_owned()),
            ConfigDifference::Added("QUEUE|Ethernet0|7 scheduler = wayleave-strict".to_owned()),
            ConfigDifference::Changed {
                key: "SCHEDULER|wayleave-guaranteed weight".to_owned(),
                from: "5".to_owned(),
                to: "6".to_owned()
            },
        ]
    );
    assert!(changes(Target::Sonic, "[]", &text).unwrap_err().contains("not an object of tables"));
}

#[test]
fn a_contract_without_a_codepoint_is_refused_by_name() {
    let network = two_racks();
    // Of five queues at three switches there are 125 combinations, and 59 codepoints.
    let mut placed = Vec::new();
    for (at, (first, second, third)) in
        (0..5).flat_map(|a| (0..5).flat_map(move |b| (0..5).map(move |c| (a, b, c)))).enumerate()
    {
        let hops = [("h1->leaf1", 0), ("leaf1->spine1", first), ("spine1->leaf2", second), ("leaf2->h3", third)];
        placed.push(route(&network, &format!("c{at}"), &hops));
    }
    let none = Codepoints::assign(&network, &placed).unwrap_err();
    assert_eq!((none.name.as_str(), none.switch.as_str(), none.before, none.most), ("c59", "leaf1", 59, 59));
    assert!(none.to_string().starts_with("refused (TABLE): no codepoint is left for c59, the 60th route"), "{none}");
}

proptest! {
    /// For random routes: at every switch of a route its codepoint maps to its queue there.
    #[test]
    fn a_codepoint_means_the_queue_of_its_route_at_every_switch(queues in prop::collection::vec(prop::array::uniform3(0_u8..5), 1..60), ends in any::<u8>()) {
        let network = two_racks();
        let placed: Vec<QueueCodepoints> = queues.iter().enumerate().map(|(at, &[a, b, c])| {
            let to = if (ends >> (at % 8)) & 1 == 0 { "leaf2->h3" } else { "leaf2->h4" };
            route(&network, &at.to_string(), &[("h1->leaf1", 0), ("leaf1->spine1", a), ("spine1->leaf2", b), (to, c)])
        }).collect();
        let Ok(codepoints) = Codepoints::assign(&network, &placed) else { return Ok(()) };
        let rendered = render(&network, &codepoints, Target::Sonic, &eight()).unwrap();
        let tables: BTreeMap<&str, serde_json::Value> =
            rendered.iter().map(|one| (one.switch.as_str(), serde_json::from_str(&one.text).unwrap())).collect();
        for (placed, dscp) in placed.iter().zip(codepoints.routes()) {
            for hop in &placed.route.hops {
                let from = network.node(network.link(hop.link).from);
                if from.kind == NodeKind::Switch {
                    let class = tables[from.name.as_str()]["DSCP_TO_TC_MAP"]["wayleave"][dscp.to_string()].as_str().unwrap();
                    prop_assert_eq!(class, (7 - hop.queue).to_string());
                }
            }
        }
    }
}

/// Catches: an entry of a device that covers several ports or queues and is taken for a foreign one.
#[test]
fn an_entry_for_several_ports_and_queues_is_compared_with_each() {
    let text = text_of(&two_racks(), Target::Sonic, &eight(), "leaf1");
    let mut device: serde_json::Value = serde_json::from_str(&text).unwrap();
    let queues = device["QUEUE"].as_object_mut().unwrap();
    queues.remove("Ethernet0|4");
    queues.insert("Ethernet0,Ethernet4|3-4".to_owned(), serde_json::json!({ "scheduler": "other" }));
    queues.insert("Ethernet100|0-2".to_owned(), serde_json::json!({ "scheduler": "other" }));
    let found = changes(Target::Sonic, &device.to_string(), &text).unwrap();
    let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
    // Entries of one port and queue count; only Ethernet0|4 has none.
    assert_eq!(shown.len(), 2, "{shown:#?}");
    assert!(shown[0].starts_with("~ QUEUE|Ethernet0|4 scheduler: other -> "), "{shown:#?}");
    assert!(shown[1].starts_with("- QUEUE|Ethernet0,Ethernet4|3-4: it overlaps"), "{shown:#?}");
}

/// Catches: two ports of one name, where one is called as another would be by its place.
#[test]
fn a_port_without_a_name_gets_no_duplicate_name() {
    let network = two_racks();
    let mut links = network.links_from(network.find_node("leaf1").unwrap()).to_vec();
    links.sort();
    let interfaces = [(links[0], "eth2".to_owned())].into();
    let settings = Settings { interfaces, ..eight() };
    let script = text_of(&network, Target::Tc, &settings, "leaf1");
    let names: Vec<&str> = script.lines().filter(|line| line.starts_with("# eth")).map(|line| &line[2..6]).collect();
    assert_eq!(names, ["eth2", "eth3", "eth4"]);
}
