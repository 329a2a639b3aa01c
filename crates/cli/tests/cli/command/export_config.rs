//! `render`: configurations of switches without an agent.

use crate::command::{file, wayleave};

const FABRIC: &str = "-t ../../docs/examples/network-fabric.yaml -f ../../docs/examples/contracts-fabric.yaml";
const PLANT: &str = "-t ../../docs/examples/network.yaml -f ../../docs/examples/contracts.yaml";

#[test]
fn a_folder_has_a_file_for_every_switch_and_no_differences_afterwards() {
    let folder = std::path::PathBuf::from(file("render-out", "")).with_extension("d");
    let folder = folder.to_str().unwrap();
    wayleave(&format!("export-config --for sonic {FABRIC} --control best-effort --out {folder}")).ends_with(0);
    for name in ["leaf1.json", "leaf2.json", "spine1.json", "spine2.json", "contracts.csv", "NOTES.txt"] {
        assert!(std::path::Path::new(folder).join(name).exists(), "{name}");
    }
    let contracts = std::fs::read_to_string(std::path::Path::new(folder).join("contracts.csv")).unwrap();
    assert!(contracts.contains("robot,3,h1->leaf1 leaf1->spine1 spine1->leaf2 leaf2->h8\n"), "{contracts}");
    let same = wayleave(&format!("export-config --for sonic {FABRIC} --control best-effort --diff {folder}"))
        .ends_with(0)
        .stdout;
    assert_eq!(same, "0 of 4 switches would change; nothing was sent\n");
    std::fs::remove_file(std::path::Path::new(folder).join("spine2.json")).unwrap();
    let marks =
        wayleave(&format!("export-config --for sonic {FABRIC} --control best-effort --ecn 65kB --diff {folder}"))
            .ends_with(0)
            .stdout;
    assert!(marks.contains("leaf1: 23 changes\n"), "{marks}");
    assert!(marks.contains("spine2.json does not exist: its whole content is new\n"), "{marks}");
    assert!(marks.ends_with("4 of 4 switches would change; nothing was sent\n"), "{marks}");
}

#[test]
fn refused_contracts_are_left_out_with_an_exit_code() {
    let run = wayleave(&format!("export-config --for tc {PLANT} --switch leaf1")).ends_with(3);
    assert!(run.stdout.starts_with("#!/bin/sh\n"), "{}", run.stdout);
    assert!(run.stderr.contains("1 contract was refused and left out"), "{}", run.stderr);
}

#[test]
fn an_unsupported_export_fails_with_advice() {
    let wrong = |options: &str| wayleave(&format!("export-config {FABRIC} {options}")).ends_with(2).stderr;
    let unknown = wrong("--for sonic --control best-effort --switch leaf9");
    assert!(unknown.contains("no switch \"leaf9\"") && unknown.contains("leaf1"), "{unknown}");
    let marks = wrong("--for tc --ecn 10kB");
    assert!(marks.contains("--ecn is for SONiC"), "{marks}");
    let full = wrong("--for sonic --switch leaf1");
    assert!(full.contains("uses all 8 queues") && full.contains("--control best-effort"), "{full}");
    let control = wrong("--for tc --control own");
    assert!(control.contains("--control is for SONiC"), "{control}");
    let device = file("render-device.json", r#"{ "PORT": { "Ethernet0": { "speed": "40000", "mtu": "1500" } } }"#);
    let ports = format!("export-config --for sonic {FABRIC} --control best-effort --switch leaf1 --diff {device}");
    let ports = wayleave(&ports).ends_with(0).stdout;
    assert!(
        ports.contains(
            "  PORT|Ethernet0 (leaf1->spine1): speed 40000 (Mbit/s), but the rate in the topology is 10Gbit\n"
        ),
        "{ports}"
    );
    assert!(ports.ends_with("; 6 port settings differ from the topology\n"), "{ports}");
    let none = wayleave(&format!("export-config --for tc {PLANT} --scheme qjump")).ends_with(2).stderr;
    assert!(none.contains("reserves no queues"), "{none}");
    let old = file("render-old.json", "{");
    let old = wrong(&format!("--for sonic --control best-effort --switch leaf1 --diff {old}"));
    assert!(old.contains("render-old.json: is not valid JSON"), "{old}");
}

#[test]
fn invalid_interface_names_are_not_written_into_scripts() {
    let names = file("render-names.txt", "# ours\nleaf1->spine1 Ethernet48\n");
    let text = wayleave(&format!(
        "export-config --for sonic {FABRIC} --control best-effort --switch leaf1 --interfaces {names}"
    ))
    .ends_with(0)
    .stdout;
    assert!(text.contains("\"Ethernet48|7\""), "{text}");
    let wrong = file(
        "render-wrong.txt",
        "leaf1->spine1 eth0;reboot\nleaf1->spin2 eth1\nleaf1->spine1 eth2\nleaf1->spine2 eth2\nleaf1->h1\n",
    );
    let output = wayleave(&format!("export-config --for tc {FABRIC} --interfaces {wrong}")).ends_with(2).stderr;
    for expected in [
        "render-wrong.txt:1:15: \"eth0;reboot\" is not an interface name",
        "render-wrong.txt:2:1: there is no link \"leaf1->spin2\", did you mean \"leaf1->spine2\"?",
        "render-wrong.txt:4:15: \"eth2\" is the interface of another link of the same switch",
        "render-wrong.txt:5:1: 1 words: LINK INTERFACE is expected",
    ] {
        assert!(output.contains(expected), "{expected}: {output}");
    }
}
