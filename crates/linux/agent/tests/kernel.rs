//! The drivers over the kernel, in a place apart: the suite of drivers, and what outlives an agent.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod common;

use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{links, network};
use wayleave_agent::NodeDriver;
use wayleave_agent::endpoints::{Attachment, Declared};
use wayleave_agent::environment::Environment;
use wayleave_agent::host::HostDriver;
use wayleave_agent::linux::{LinuxHost, index};
use wayleave_agent::machine::suite::{DriverUnderTest, check_host, check_switch, link};
use wayleave_agent::machine::{Driver, DriverError};
use wayleave_agent::rule_store::RuleStore;
use wayleave_agent::switch::SwitchNode;
use wayleave_contracts::{Match, Protocol};
use wayleave_dataplane::host::{Host, HostProgram, Settings, Unmatched};
use wayleave_dataplane::net::Namespace;
use wayleave_dataplane::sandbox::Apart;
use wayleave_dataplane::switch::LinuxSwitch;
use wayleave_dataplane::test_run::{REDIRECTED, TestPacket, TestVerdict, run};
use wayleave_packet_format::mac_of;
use wayleave_protocol::agent::Rule;
use wayleave_protocol::contract::Hop;
use wayleave_repo_checks::TempFolder;
use wayleave_repo_checks::leave_out;
use wayleave_topology::LinkId;
use wayleave_units::Time;

fn main() -> std::process::ExitCode {
    wayleave_repo_checks::run_tests(wayleave_repo_checks::tests![
        the_host_passes_the_suite_of_drivers,
        another_agent_rule_or_interface_does_not_refill_a_bucket,
        foreign_changes_on_a_host_are_repaired_and_reported,
        foreign_programs_are_reported_and_kept,
        foreign_changes_in_the_maps_of_a_host_are_repaired_and_reported,
        removed_pins_are_created_again_with_one_owner,
        foreign_changes_on_a_switch_are_repaired_and_reported,
        packet_samples_are_reported_with_their_destination_host,
        an_agent_cannot_open_the_maps_of_another,
        the_switch_passes_the_suite_of_drivers,
        a_switch_waits_for_its_interfaces,
    ])
}

const NOW: Time = Time::ZERO;
/// The host's own endpoint, and its uplinks.
const ENDPOINT: u32 = 101;
const UPLINK: u32 = 111;

/// This thread in a place apart, with the interfaces of h1; leaves the test out where that is not allowed.
fn apart(name: &str) -> Apart {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bpf-agent-{}-{name}", std::process::id()));
    let apart = Apart::enter(&folder).unwrap_or_else(|error| {
        leave_out("root", format_args!("it needs root, network namespaces and eBPF. {error}"));
    });
    apart.veth("own", ENDPOINT).unwrap();
    for at in 0..3 {
        apart.veth(&format!("up{at}"), UPLINK + 2 * at).unwrap();
    }
    apart
}

/// The rules of the suite are for the same packets; here each contract has a port of its own, so that packets identify their contract.
fn of_port(serial: u64, rule: &Rule) -> Rule {
    let port = NonZeroU16::new(5000 + serial as u16);
    let matching = Match { protocol: Some(Protocol::UDP), destination_port: port, ..Match::default() };
    Rule { matching: Some(matching.into()), ..rule.clone() }
}

/// h1 on this kernel, its clock stopped at a time.
struct Kernel {
    pins: PathBuf,
    folder: TempFolder,
    now: Time,
    host: Option<HostDriver<LinuxHost>>,
}

impl Kernel {
    fn open(pins: PathBuf, folder: TempFolder, now: Time) -> Self {
        let environment = Arc::new(Environment::new(network()));
        let settings = Settings { unmatched: Unmatched::Dropped, now: Some(now), contracts: 64, ..Settings::default() };
        let host = Host::open(&pins, &settings).unwrap();
        let node = environment.network().find_node("h1").unwrap();
        let plane = LinuxHost::new(host, environment.shared_network(), node, folder.join("uplinks"));
        let store = RuleStore::open(&folder.join("rules")).unwrap();
        let fixed = BTreeMap::from([("host:h1".to_owned(), Attachment::untagged("own"))]);
        let declared = Declared::new(fixed, folder.join("endpoints"));
        let links = links(environment.network());
        let host = HostDriver::open(plane, node, environment, store, links, declared).unwrap();
        Self { pins, folder, now, host: Some(host) }
    }

    fn host(&mut self) -> &mut HostDriver<LinuxHost> {
        self.host.as_mut().unwrap()
    }

    /// The agent is killed, and another one started at a time.
    fn restarted(mut self, now: Time) -> Self {
        drop(self.host.take());
        Self::open(self.pins, self.folder, now)
    }

    /// Outcome of a packet from h1 to h2 that belongs to a contract.
    fn send(&mut self, serial: u64, bytes: usize, ifindex: u32) -> TestVerdict {
        let mut frame = [mac_of("host:h2").bytes(), mac_of("host:h1").bytes()].concat();
        frame.extend([8, 0, 0x45, 0]);
        frame.extend((bytes as u16 - 14).to_be_bytes());
        frame.extend([0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x10, 0]);
        frame.extend((5000 + serial as u16).to_be_bytes());
        frame.extend((bytes as u16 - 34).to_be_bytes());
        frame.resize(bytes, 0);
        let program = self.host().plane().host().program(HostProgram::Endpoint).unwrap();
        run(&program, TestPacket { ifindex, frame: &frame, gso_size: 0 }, 1).unwrap()
    }
}

impl Driver for Kernel {
    fn installed(&mut self, now: Time) -> Result<Vec<(u64, u64)>, DriverError> {
        self.host().installed(now)
    }

    fn install(&mut self, now: Time, serial: u64, version: u64, rule: &Rule) -> Result<(), DriverError> {
        self.host().install(now, serial, version, &of_port(serial, rule))
    }

    fn remove(&mut self, now: Time, serial: u64, version: u64) -> Result<(), DriverError> {
        self.host().remove(now, serial, version)
    }

    fn set_up(&mut self, now: Time, version: u64) -> Result<(), DriverError> {
        self.host().set_up(now, version)
    }
}

impl DriverUnderTest for Kernel {
    fn in_force(&mut self, serial: u64) -> Option<Vec<Vec<Hop>>> {
        let sent = self.send(serial, 60, ENDPOINT);
        (sent.verdict == REDIRECTED)
            .then(|| vec![vec![Hop { link: link((sent.out - UPLINK) / 2), queue: (sent.priority & 0xFFFF) as u8 - 1 }]])
    }

    fn restart(self) -> Self {
        let now = self.now;
        self.restarted(now)
    }

    fn reboot(mut self) -> Self {
        self.host.take().unwrap().into_plane().into_host().tear_down().unwrap();
        Self::open(self.pins, TempFolder::new("agent"), self.now)
    }
}

fn the_host_passes_the_suite_of_drivers() {
    let apart = apart("suite");
    let mut number = 0;
    let broken = check_host(|| {
        number += 1;
        Kernel::open(apart.pins().join(format!("h{number}")), TempFolder::new("agent"), Time::from_nanos(1))
    });
    assert_eq!(broken, []);
}

fn another_agent_rule_or_interface_does_not_refill_a_bucket() {
    let apart = apart("bucket");
    let start = Time::from_millis(1);
    let mut node = Kernel::open(apart.pins().join("host"), TempFolder::new("agent"), start);
    let rule = wayleave_agent::machine::suite::rule(1);
    node.install(NOW, 1, 1, &rule).unwrap();
    // 1000 B of burst, at 1 Mbit/s: one frame of 600 B passes, the second does not, and 100 us later (12 B) it does not either.
    assert_eq!(node.send(1, 600, ENDPOINT).verdict, REDIRECTED);
    assert_ne!(node.send(1, 600, ENDPOINT).verdict, REDIRECTED);
    let mut node = node.restarted(start + Time::from_micros(100));
    assert_eq!(node.installed(NOW).unwrap(), [(1, 1)]);
    assert_ne!(node.send(1, 600, ENDPOINT).verdict, REDIRECTED, "another agent");
    node.install(NOW, 1, 2, &wayleave_agent::machine::suite::rule(2)).unwrap();
    assert_ne!(node.send(1, 600, ENDPOINT).verdict, REDIRECTED, "another rule");
    apart.ip(&["link", "del", "own"]).unwrap();
    node.host().refresh();
    assert_eq!(node.installed(NOW).unwrap(), [(1, 2)], "a rule outlives its interface");
    apart.veth("own", ENDPOINT + 50).unwrap();
    node.host().refresh();
    assert_ne!(node.send(1, 600, ENDPOINT + 50).verdict, REDIRECTED, "another interface");
    // Its charge is due: 624 B of 1000 B, and 248 B of them are needed.
    let mut node = node.restarted(start + Time::from_millis(3));
    let sent = node.send(1, 600, ENDPOINT + 50);
    assert_eq!(
        (sent.verdict, sent.out),
        (REDIRECTED, UPLINK + 4),
        "the rule is on the new interface, and leaves by link 2"
    );
}

fn tool(command: &str) {
    let (name, arguments) = command.split_once(' ').unwrap();
    let output = std::process::Command::new(name).args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
}

fn foreign_changes_on_a_host_are_repaired_and_reported() {
    wayleave_repo_checks::require_program("ethtool", "ethtool");
    let apart = apart("repair");
    let mut node = Kernel::open(apart.pins().join("host"), TempFolder::new("agent"), Time::from_nanos(1));
    node.host().plane_mut().host_mut().hold(Time::from_millis(100)).unwrap();
    node.install(NOW, 1, 1, &wayleave_agent::machine::suite::rule(1)).unwrap();
    assert_eq!(node.host().repair(), Vec::<String>::new(), "nothing was changed");
    let pinned = node.host().plane().host().pinned(HostProgram::Uplink);
    let before = format!(
        "tc filter add dev own ingress pref 1 handle 2 protocol all bpf direct-action object-pinned {}",
        pinned.display()
    );
    let up1_queues = "the queues of up1 had been changed";
    let split_queues = "the queues of wl-shape or wl-split had been changed";
    for (command, neighbours) in [
        ("tc filter del dev own ingress", "the program of own was missing"),
        ("tc qdisc del dev own clsact", "the program of own was missing"),
        ("tc qdisc del dev up0 clsact", "the program of up0 was missing"),
        ("tc qdisc del dev up1 root", up1_queues),
        ("tc qdisc change dev up1 root handle 1: tbf rate 1gbit burst 10000 limit 1000000", up1_queues),
        ("ip link set dev up2 mtu 1280", "the MTU of up2 was 1280 B"),
        ("tc qdisc del dev wl-shape root", split_queues),
        ("tc qdisc del dev wl-hold clsact", "the program of wl-hold was missing"),
        ("tc class change dev up1 parent 2: classid 2:2 htb rate 1mbit", up1_queues),
        ("tc class change dev up1 parent 2: classid 2:1 htb rate 100gbit burst 100mb cburst 100mb prio 7", up1_queues),
        (
            "tc class change dev up1 parent 2: classid 2:1 htb rate 100gbit burst 100mb cburst 100mb quantum 9000 prio 0",
            up1_queues,
        ),
        ("tc qdisc change dev up1 parent 2:1 handle 11: bfifo limit 3000", up1_queues),
        ("tc qdisc replace dev up1 parent 2:1 handle 21: pfifo limit 97000", up1_queues),
        (
            "tc qdisc change dev up1 root handle 1: tbf rate 100mbit burst 100000 limit 10000000 mpu 84 overhead 28",
            up1_queues,
        ),
        ("ip link set dev up1 mtu 9000", "the MTU of up1 was 9000 B"),
        ("ethtool -K up1 gro on", "offloads that merge packets were on at up1"),
        ("tc class change dev wl-shape parent 1: classid 1:1 htb rate 1gbit", "the classes of 1 rule had been changed"),
        ("tc class del dev wl-shape classid 1:8001", "the classes of 1 rule had been changed"),
        ("tc qdisc add dev wl-shape parent 1:4001 handle 5: pfifo limit 2", split_queues),
        ("tc qdisc replace dev wl-split root tbf rate 1mbit burst 2000 limit 5000", split_queues),
        ("ip link set dev wl-shape txqueuelen 10", split_queues),
        ("ip link set dev wl-shape down", "wl-shape was down, or its MTU had been changed"),
        ("ip link set dev wl-split mtu 1500", "wl-split was down, or its MTU had been changed"),
        (
            "tc filter add dev up1 parent 2: protocol all u32 match u32 0 0 flowid 2:2",
            "foreign filters selected the queues of up1",
        ),
        (
            "tc filter add dev wl-shape parent 1: protocol all u32 match u32 0 0 flowid 1:ffff",
            "foreign filters selected the queues of wl-shape",
        ),
        (&before, "a foreign program was attached before that of own"),
        ("ip link del wl-hold", "wl-shape, wl-split or wl-hold was missing"),
    ] {
        tool(command);
        assert_eq!(node.host().repair(), [neighbours], "{command}");
        assert_eq!(node.host().repair(), Vec::<String>::new(), "it is repaired: {command}");
    }
    // The rule is again where packets wait: its class is there, and the contract sends.
    let classes = std::process::Command::new("tc").args(["class", "show", "dev", "wl-shape"]).output().unwrap();
    assert!(String::from_utf8_lossy(&classes.stdout).contains("class htb 1:1 "), "{classes:?}");
    assert!(node.in_force(1).is_some());
}

fn foreign_programs_are_reported_and_kept() {
    let apart = apart("beside");
    let mut node = Kernel::open(apart.pins().join("host"), TempFolder::new("agent"), Time::from_nanos(1));
    node.host().repair();
    assert_eq!(node.host().problems(NOW), Vec::<String>::new());
    let mut program = node.host().plane().host().program(HostProgram::Uplink).unwrap();
    program.attach("up2", aya::programs::TcAttachType::Ingress).unwrap();
    tool("tc filter add dev up1 egress pref 3 protocol all u32 match u32 0 0 classid 1:1");
    assert_eq!(node.host().repair(), Vec::<String>::new(), "it is somebody's own");
    let neighbours = node.host().problems(NOW);
    assert!(
        neighbours.len() == 2
            && neighbours[0].contains("at the egress of up1")
            && neighbours[1].contains("ingress of up2 by TCX"),
        "{neighbours:?}"
    );
    drop(program);
    tool("tc filter del dev up1 egress pref 3");
    node.host().repair();
    assert_eq!(node.host().problems(NOW), Vec::<String>::new());
}

/// Changes the maps of a program as another program would: by their pins.
mod by_hand {
    use std::path::Path;

    use aya::Pod;
    use aya::maps::{Array, HashMap, Map, MapData};

    pub(super) fn hash<K: Pod, V: Pod>(pins: &Path, name: &str) -> HashMap<MapData, K, V> {
        HashMap::try_from(Map::HashMap(MapData::from_pin(pins.join(name)).unwrap())).unwrap()
    }

    /// Changes a byte of the first entry.
    pub(super) fn change<K: Pod, const N: usize>(pins: &Path, name: &str, at: usize) {
        let mut map = hash::<K, [u8; N]>(pins, name);
        let (key, mut value) = map.iter().next().unwrap().unwrap();
        value[at] ^= 1;
        map.insert(key, value, 0).unwrap();
    }

    pub(super) fn remove<K: Pod, const N: usize>(pins: &Path, name: &str) {
        let mut map = hash::<K, [u8; N]>(pins, name);
        let key = map.keys().next().unwrap().unwrap();
        map.remove(&key).unwrap();
    }

    pub(super) fn change_array<const N: usize>(pins: &Path, name: &str, at: usize) {
        let mut map = Array::<_, [u8; N]>::try_from(Map::Array(MapData::from_pin(pins.join(name)).unwrap())).unwrap();
        let mut value = map.get(&0, 0).unwrap();
        value[at] ^= 1;
        map.set(0, value, 0).unwrap();
    }
}

fn foreign_changes_in_the_maps_of_a_host_are_repaired_and_reported() {
    let apart = apart("maps");
    let mut node = Kernel::open(apart.pins().join("host"), TempFolder::new("agent"), Time::from_nanos(1));
    node.host().plane_mut().host_mut().hold(Time::from_millis(100)).unwrap();
    node.install(NOW, 1, 1, &wayleave_agent::machine::suite::rule(1)).unwrap();
    assert_eq!(node.host().repair(), Vec::<String>::new(), "nothing was changed");
    let pins = &node.pins.join(wayleave_dataplane::programs::version());
    let changes: [(&str, &dyn Fn(), &str); 12] = [
        ("the rate of a rule", &|| by_hand::change_array::<240>(pins, "rules", 25), "1 rule had been changed"),
        ("the bound of a rule", &|| by_hand::change_array::<240>(pins, "rules", 49), "1 rule had been changed"),
        (
            "a class",
            &|| by_hand::change::<[u8; 24], 64>(pins, "classes", 8),
            "1 entry of the map classes had been changed",
        ),
        (
            "no class",
            &|| by_hand::remove::<[u8; 24], 64>(pins, "classes"),
            "1 entry of the map classes had been changed",
        ),
        (
            "an address",
            &|| by_hand::change::<u32, 44>(pins, "endpoints", 5),
            "1 entry of the map endpoints had been changed",
        ),
        (
            "no endpoint",
            &|| by_hand::remove::<u32, 44>(pins, "endpoints"),
            "1 entry of the map endpoints had been changed",
        ),
        (
            "an interface",
            &|| by_hand::change::<[u8; 8], 8>(pins, "local", 0),
            "1 entry of the map local had been changed",
        ),
        (
            "a way",
            &|| by_hand::change::<[u8; 8], 164>(pins, "best_effort", 4),
            "1 entry of the map best_effort had been changed",
        ),
        (
            "no way",
            &|| by_hand::remove::<[u8; 8], 164>(pins, "best_effort"),
            "1 entry of the map best_effort had been changed",
        ),
        ("a group", &|| by_hand::change::<u32, 528>(pins, "groups", 16), "1 entry of the map groups had been changed"),
        ("a setting", &|| by_hand::change_array::<40>(pins, "settings", 20), "the settings had been changed"),
        (
            "an endpoint that is none",
            &|| by_hand::hash::<[u8; 8], [u8; 8]>(pins, "local").insert([2; 8], [0_u8; 8], 0).unwrap(),
            "1 entry of the map local had been changed",
        ),
    ];
    for (what, change, neighbours) in changes {
        change();
        assert_eq!(node.host().repair(), [neighbours], "{what}");
        assert_eq!(node.host().repair(), Vec::<String>::new(), "it is repaired: {what}");
    }
    assert!(node.in_force(1).is_some());
}

fn removed_pins_are_created_again_with_one_owner() {
    let apart = apart("pins");
    let mut node = Kernel::open(apart.pins().join("host"), TempFolder::new("agent"), Time::from_nanos(1));
    node.install(NOW, 1, 1, &wayleave_agent::machine::suite::rule(1)).unwrap();
    std::fs::remove_dir_all(&node.pins).unwrap();
    let repaired = node.host().repair();
    assert!(matches!(repaired.as_slice(), [one] if one.ends_with(" pins were missing")), "{repaired:?}");
    assert_eq!(node.host().repair(), Vec::<String>::new());
    let refused = Host::open(&node.pins, &Settings::default()).map(drop).unwrap_err().to_string();
    assert!(refused.contains("another running process"), "{refused}");
    // The next agent finds what is in force.
    let mut node = node.restarted(Time::from_nanos(2));
    assert_eq!(node.installed(NOW).unwrap(), [(1, 1)]);
    assert!(node.in_force(1).is_some());
}

fn foreign_changes_on_a_switch_are_repaired_and_reported() {
    wayleave_repo_checks::require_program("ethtool", "ethtool");
    let apart = apart("mend");
    let mut node = Box1::open(apart.pins().join("s1"), TempFolder::new("agent"));
    assert_eq!(node.switch.repair(), Vec::<String>::new(), "nothing is set up yet");
    node.set_up(NOW, 1).unwrap();
    assert_eq!(node.switch.repair(), Vec::<String>::new());
    tool("tc qdisc del dev up0 clsact");
    tool("tc qdisc del dev up1 root");
    assert_eq!(node.switch.repair(), ["the program of up0 was missing", "the queues of up1 had been changed"]);
    assert_eq!(node.switch.repair(), Vec::<String>::new());
    let pins = node.pins.join(wayleave_dataplane::programs::version());
    // From now on it notes packets.
    assert_eq!(node.switch.samples(), None);
    let changes: [(&str, &dyn Fn(), &str); 10] = [
        (
            "what it notes",
            &|| by_hand::change_array::<16>(&pins, "watch", 0),
            "the selection of traced packets had been changed",
        ),
        (
            "a filter",
            &|| tool("tc filter add dev up1 parent 2: protocol all u32 match u32 0 0 flowid 2:1"),
            "foreign filters selected the queues of up1",
        ),
        ("an MTU", &|| tool("ip link set dev up0 mtu 1400"), "the MTU of up0 was 1400 B"),
        ("merging", &|| tool("ethtool -K up1 gro on"), "offloads that merge packets were on at up1"),
        (
            "a weight",
            &|| {
                tool(
                    "tc class change dev up1 parent 2: classid 2:1 htb rate 100gbit burst 100mb cburst 100mb quantum 9000 prio 0",
                )
            },
            "the queues of up1 had been changed",
        ),
        (
            "a priority",
            &|| {
                tool(
                    "tc class change dev up0 parent 2: classid 2:1 htb rate 100gbit burst 100mb cburst 100mb quantum 1600 prio 3",
                )
            },
            "the queues of up0 had been changed",
        ),
        ("a default", &|| tool("tc qdisc del dev up0 parent 2:1"), "the queues of up0 had been changed"),
        ("a line", &|| by_hand::change::<[u8; 8], 8>(&pins, "tags", 0), "1 entry had been removed from the table"),
        ("no line", &|| by_hand::remove::<[u8; 8], 8>(&pins, "tags"), "1 entry had been removed from the table"),
        (
            "a foreign line",
            &|| {
                let mut key = [0_u8; 8];
                key[..4].copy_from_slice(&UPLINK.to_ne_bytes());
                key[4..6].copy_from_slice(&4000_u16.to_ne_bytes());
                by_hand::hash::<[u8; 8], [u8; 8]>(&pins, "tags").insert(key, [0_u8; 8], 0).unwrap();
            },
            "1 entry had been added to the table",
        ),
    ];
    for (what, change, neighbours) in changes {
        change();
        assert_eq!(node.switch.repair(), [neighbours], "{what}");
        assert_eq!(node.switch.repair(), Vec::<String>::new(), "it is repaired: {what}");
    }
    std::fs::remove_dir_all(&pins).unwrap();
    let repaired = node.switch.repair();
    assert!(matches!(repaired.as_slice(), [one] if one.ends_with(" pins were missing")), "{repaired:?}");
    // Also by an agent that was started since.
    let mut node = node.restart();
    tool("tc qdisc del dev up0 root");
    assert_eq!(node.switch.repair(), ["the queues of up0 had been changed"]);
}

fn packet_samples_are_reported_with_their_destination_host() {
    let apart = apart("samples");
    let mut node = Kernel::open(apart.pins().join("host"), TempFolder::new("agent"), Time::from_nanos(9));
    let rule = wayleave_agent::machine::suite::rule(1);
    node.install(NOW, 1, 1, &rule).unwrap();
    assert_eq!(node.host().samples(), None, "packets are noted from now on");
    assert!(node.in_force(1).is_some());
    let neighbours = node.host().samples().unwrap();
    assert_eq!(
        (neighbours.number, neighbours.level, neighbours.is_incomplete, neighbours.arrived.len()),
        (0, 0, false, 0)
    );
    let [sent] = neighbours.sent.as_slice() else { panic!("{neighbours:?}") };
    let network = network();
    let last = network.find_link(&rule.routes[0].last().unwrap().link).unwrap();
    assert_eq!(sent.to, network.node(network.link(last).to).name);
    assert_eq!((sent.serial, sent.bound_ns, sent.via.len()), (1, rule.bound_ns, rule.routes[0].len() - 1));
    assert_eq!((sent.packets.len(), sent.packets[0].1), (1, 9));
    assert_eq!(node.host().samples().unwrap().number, 1);
}

fn an_agent_cannot_open_the_maps_of_another() {
    let apart = apart("second");
    let node = Kernel::open(apart.pins().join("host"), TempFolder::new("agent"), Time::from_nanos(1));
    let refused = Host::open(&node.pins, &Settings::default()).map(drop).unwrap_err().to_string();
    assert!(refused.contains("another running process"), "{refused}");
}

/// s1 on this kernel.
struct Box1 {
    pins: PathBuf,
    folder: TempFolder,
    switch: SwitchNode<LinuxSwitch>,
}

impl Box1 {
    fn open(pins: PathBuf, folder: TempFolder) -> Self {
        let environment = Environment::new(network());
        let driver = LinuxSwitch::open(Namespace::current(), &pins).unwrap();
        // Of the links that leave s1, and of the one that enters it.
        let interfaces =
            [(3, "up0"), (6, "up1"), (0, "up2")].map(|(link, name)| (LinkId(link), name.to_owned())).into();
        let node = environment.network().find_node("s1").unwrap();
        let file = folder.join("switch");
        let switch = SwitchNode::open(driver, &environment, node, interfaces, Box::new(index), file);
        Self { pins, folder, switch }
    }
}

impl Driver for Box1 {
    fn installed(&mut self, now: Time) -> Result<Vec<(u64, u64)>, DriverError> {
        self.switch.installed(now)
    }

    fn install(&mut self, now: Time, serial: u64, version: u64, rule: &Rule) -> Result<(), DriverError> {
        self.switch.install(now, serial, version, rule)
    }

    fn remove(&mut self, now: Time, serial: u64, version: u64) -> Result<(), DriverError> {
        self.switch.remove(now, serial, version)
    }

    fn set_up(&mut self, now: Time, version: u64) -> Result<(), DriverError> {
        self.switch.set_up(now, version)
    }
}

impl DriverUnderTest for Box1 {
    fn in_force(&mut self, _serial: u64) -> Option<Vec<Vec<Hop>>> {
        None
    }

    fn restart(self) -> Self {
        Self::open(self.pins, self.folder)
    }

    fn reboot(self) -> Self {
        std::fs::remove_dir_all(&self.pins).unwrap();
        Self::open(self.pins, TempFolder::new("agent"))
    }

    fn set_ups(&self) -> Option<usize> {
        Some(self.switch.set_ups())
    }
}

fn the_switch_passes_the_suite_of_drivers() {
    let apart = apart("switch");
    let mut number = 0;
    let broken = check_switch(|| {
        number += 1;
        Box1::open(apart.pins().join(format!("s{number}")), TempFolder::new("agent"))
    });
    assert_eq!(broken, []);
}

fn a_switch_waits_for_its_interfaces() {
    let apart = apart("ports");
    apart.ip(&["link", "del", "up1"]).unwrap();
    let mut node = Box1::open(apart.pins().join("s1"), TempFolder::new("agent"));
    match node.set_up(NOW, 1) {
        Err(DriverError::Later(why)) => assert!(why.contains("up1"), "{why}"),
        other => panic!("{other:?}"),
    }
    apart.veth("up1", UPLINK + 2).unwrap();
    node.set_up(NOW, 1).unwrap();
    assert_eq!(node.installed(NOW).unwrap(), [(0, 1)]);
}
