//! The driver of a host over a plane that takes notes: what it resolves, what it waits for, what it remembers.

use std::sync::Arc;

use crate::common::network;
use crate::fake::{Fake, driver, neighbours};
use wayleave_agent::NodeDriver;
use wayleave_agent::environment::Environment;
use wayleave_agent::host::HostDriver;
use wayleave_agent::machine::suite::{DriverUnderTest, check_host, link};
use wayleave_agent::machine::{Driver, DriverError};
use wayleave_contracts::{Match, Protocol};
use wayleave_dataplane::host::Measured;
use wayleave_packet_format::{Mac, Tag, mac_of};
use wayleave_protocol::Id;
use wayleave_protocol::agent::{Neighbours, Rule};
use wayleave_protocol::contract::Hop;
use wayleave_repo_checks::TempFolder;
use wayleave_topology::LinkId;
use wayleave_units::Time;

const NOW: Time = Time::ZERO;
const WEB: &str = "02:00:00:00:00:01";
const DB: &str = "02:00:00:00:00:02";

fn environment() -> Arc<Environment> {
    Arc::new(Environment::of(network(), &neighbours(&[("acme:web", "h1", WEB), ("acme:db", "h2", DB)])))
}

fn up() -> Fake {
    let names: Vec<String> = (0..8).map(|link| format!("up{link}")).collect();
    let mut interfaces: Vec<(&str, u32)> = names.iter().zip(10..).map(|(name, index)| (name.as_str(), index)).collect();
    interfaces.push(("tap0", 30));
    interfaces.push(("veth0", 31));
    Fake::with(&interfaces)
}

/// From one to the other over h1->s1, s1->s2, s2->h2.
fn rule(tenant: &str, from: &str, to: &str) -> Rule {
    let hops = [("h1->s1", 0), ("s1->s2", 1), ("s2->h2", 0)];
    let matching = Match { protocol: Some(Protocol::UDP), ..Match::default() };
    Rule {
        id: Id::new(tenant, "c").to_string(),
        from: from.to_owned(),
        to: to.to_owned(),
        matching: Some(matching.into()),
        rate_bps: 1_000_000,
        burst_bytes: 3000,
        max_frame_bytes: None,
        routes: vec![hops.map(|(link, queue)| Hop { link: link.to_owned(), queue }).to_vec()],
        bound_ns: 5_000_000,
    }
}

/// A host with the interface of a VM.
fn with_web() -> (Fake, TempFolder, HostDriver<Fake>) {
    let (fake, folder) = (up(), TempFolder::new("agent"));
    let host = driver(&fake, &folder, environment(), &[("acme:web", "tap0")]);
    (fake, folder, host)
}

#[test]
fn names_become_interfaces_addresses_and_tags() {
    let (fake, _folder, mut host) = with_web();
    host.install(NOW, 7, 2, &rule("acme", "web", "db")).unwrap();
    let kernel = fake.kernel();
    let (version, installed) = &kernel.rules[&7];
    assert_eq!((*version, installed.senders.len(), installed.paths.len()), (2, 1, 1));
    assert_eq!((installed.senders[0].ifindex, installed.senders[0].selector.protocol), (30, Some(17)));
    assert_eq!(installed.senders[0].selector.destination, Some(DB.parse().unwrap()));
    let path = &installed.paths[0];
    // s1 has the links to h2 and to s2, in this order; s2 that to h2.
    let tags = [Tag::new(1, 1).unwrap(), Tag::new(0, 0).unwrap()];
    assert_eq!((path.uplink, path.queue, path.tags.as_slice()), (10, 0, tags.as_slice()));
    assert_eq!(kernel.endpoints, [(30, WEB.parse().unwrap())].into());
}

/// Catches: a tenant whose contract limits, or takes, the traffic of the host itself.
#[test]
fn a_host_rule_covers_the_vms_of_the_tenant_and_without_any_the_host_itself() {
    let vms = [("acme:web", "h1", WEB), ("acme:db", "h2", DB), ("other:x", "h2", "02:00:00:00:00:03")];
    let environment = Arc::new(Environment::of(network(), &neighbours(&vms)));
    let (fake, folder) = (up(), TempFolder::new("agent"));
    let mut host = driver(&fake, &folder, environment, &[("acme:web", "tap0"), ("host:h1", "veth0")]);
    let (db, other, own) = (DB.parse().unwrap(), "02:00:00:00:00:03".parse().unwrap(), mac_of("host:h2"));
    for (tenant, expected) in [("acme", (30, db)), ("other", (31, other)), ("third", (31, own)), ("default", (31, own))]
    {
        host.install(NOW, 1, 1, &rule(tenant, "h1", "h2")).unwrap();
        let senders = fake.kernel().rules[&1].1.senders.clone();
        let pairs: Vec<(u32, Mac)> =
            senders.iter().map(|one| (one.ifindex, one.selector.destination.unwrap())).collect();
        assert_eq!(pairs, [expected], "{tenant}");
    }
}

#[test]
fn missing_endpoints_are_waited_for_and_found() {
    let (fake, folder) = (up(), TempFolder::new("agent"));
    fake.kernel().interfaces.remove("tap0");
    let mut host = driver(&fake, &folder, environment(), &[("acme:web", "tap0")]);
    for (from, to, missing) in [("web", "db", "the interface of web"), ("nobody", "db", "nobody"), ("db", "web", "db")]
    {
        match host.install(NOW, 1, 1, &rule("acme", from, to)) {
            Err(DriverError::Later(why)) => assert!(why.contains(missing), "{why}"),
            other => panic!("{from} to {to}: {other:?}"),
        }
    }
    assert_eq!(host.installed(NOW).unwrap(), []);
    fake.kernel().interfaces.insert("tap0".to_owned(), 44);
    host.refresh();
    host.install(NOW, 1, 1, &rule("acme", "web", "db")).unwrap();
    assert_eq!(fake.kernel().rules[&1].1.senders[0].ifindex, 44);
}

#[test]
fn an_interface_that_reappears_has_its_rules_again() {
    let (fake, folder, mut host) = with_web();
    host.install(NOW, 1, 3, &rule("acme", "web", "db")).unwrap();
    fake.kernel().interfaces.remove("tap0");
    host.refresh();
    assert!(fake.kernel().endpoints.is_empty());
    // The rule stays: nothing is sent, and the bucket keeps its level.
    assert_eq!(host.installed(NOW).unwrap(), [(1, 3)]);
    // The next agent does not know the rule from the controller, and still puts it on the new interface.
    drop(host);
    let mut host = driver(&fake, &folder, environment(), &[("acme:web", "tap0")]);
    fake.kernel().interfaces.insert("tap0".to_owned(), 55);
    host.refresh();
    assert_eq!(fake.kernel().rules[&1].1.senders[0].ifindex, 55);
    assert_eq!(host.installed(NOW).unwrap(), [(1, 3)]);
    assert_eq!(fake.kernel().endpoints, [(55, WEB.parse().unwrap())].into());
}

#[test]
fn an_uplink_that_reappears_with_another_index_is_used_again() {
    let (fake, _folder, mut host) = with_web();
    host.install(NOW, 1, 1, &rule("acme", "web", "db")).unwrap();
    fake.kernel().interfaces.remove("up0");
    host.refresh();
    assert!(matches!(host.install(NOW, 2, 1, &rule("acme", "web", "db")), Err(DriverError::Later(_))));
    fake.kernel().interfaces.insert("up0".to_owned(), 77);
    host.refresh();
    assert_eq!(fake.kernel().uplinks[&77], LinkId(0));
    assert_eq!(fake.kernel().rules[&1].1.paths[0].uplink, 77);
}

#[test]
fn a_restart_changes_nothing_and_reinstalls_nothing() {
    let (fake, folder, mut host) = with_web();
    host.install(NOW, 1, 4, &rule("acme", "web", "db")).unwrap();
    let before = fake.kernel().rules.clone();
    drop(host);
    let mut host = driver(&fake, &folder, environment(), &[("acme:web", "tap0")]);
    assert_eq!(host.installed(NOW).unwrap(), [(1, 4)]);
    assert_eq!(fake.kernel().rules, before);
    let installs = fake.kernel().installs;
    for _ in 0..3 {
        host.refresh();
    }
    assert_eq!(fake.kernel().installs, installs);
}

/// Catches: a new contract with the counters of one that the controller has lost, and whose serial number it has given again.
#[test]
fn a_serial_number_of_another_contract_begins_with_new_counters() {
    let (fake, _folder, mut host) = with_web();
    host.install(NOW, 1, 1, &rule("acme", "web", "db")).unwrap();
    host.install(NOW, 1, 2, &rule("acme", "web", "db")).unwrap();
    assert_eq!(fake.kernel().removed, [0; 0], "other terms keep counters and bucket");
    let other = Rule { id: "acme:d".to_owned(), ..rule("acme", "web", "db") };
    host.install(NOW, 1, 3, &other).unwrap();
    assert_eq!(fake.kernel().removed, [1]);
    let named: Vec<Option<String>> = host.traffic().unwrap().into_iter().map(|one| one.contract).collect();
    assert_eq!(named, [Some("acme:d".to_owned())]);
    // If the new rule cannot be installed, nothing is left of the other one.
    fake.kernel().fails.insert("install");
    assert!(host.install(NOW, 1, 4, &rule("acme", "web", "db")).is_err());
    assert_eq!((host.traffic(), host.installed(NOW).unwrap()), (Some(Vec::new()), Vec::new()));
}

#[test]
fn an_unknown_rule_is_removed_and_requested_again() {
    let (fake, folder, mut host) = with_web();
    host.install(NOW, 1, 4, &rule("acme", "web", "db")).unwrap();
    drop(host);
    std::fs::remove_dir_all(folder.join("rules")).unwrap();
    let mut host = driver(&fake, &folder, environment(), &[("acme:web", "tap0")]);
    assert_eq!(host.installed(NOW).unwrap(), []);
    assert!(fake.kernel().rules.is_empty());
}

#[test]
fn best_effort_follows_vms_and_avoids_failed_elements() {
    let (fake, _folder, mut host) = with_web();
    let db: Mac = DB.parse().unwrap();
    // Over each switch, in the host's own class below its two queues.
    let host_paths = fake.kernel().host_paths[&db].clone();
    assert_eq!(
        (host_paths.len(), host_paths[0].queue, host_paths[0].tags.len(), host_paths[0].tags[0].queue()),
        (3, 2, 1, 1)
    );
    assert!(!fake.kernel().host_paths.contains_key(&WEB.parse().unwrap()));
    let down_links = ["h1->s2", "h1->s3", "s1->h2"].map(str::to_owned).to_vec();
    let neighbours = Neighbours { down_links, ..neighbours(&[("acme:web", "h1", WEB), ("acme:db", "h2", DB)]) };
    host.set_environment(Arc::new(Environment::of(network(), &neighbours)));
    let host_paths = fake.kernel().host_paths[&db].clone();
    assert_eq!((host_paths.len(), host_paths[0].uplink, host_paths[0].tags.len()), (1, 10, 2));
    let neighbours = Neighbours { down_nodes: vec!["h2".to_owned()], ..neighbours };
    host.set_environment(Arc::new(Environment::of(network(), &neighbours)));
    assert!(fake.kernel().host_paths.is_empty());
}

#[test]
fn a_moved_vm_is_followed() {
    let (fake, _folder, mut host) = with_web();
    host.install(NOW, 1, 1, &rule("acme", "web", "db")).unwrap();
    let moved = neighbours(&[("acme:web", "h1", WEB), ("acme:db", "h2", "02:00:00:00:00:09")]);
    host.set_environment(Arc::new(Environment::of(network(), &moved)));
    let now: Mac = "02:00:00:00:00:09".parse().unwrap();
    assert_eq!(fake.kernel().rules[&1].1.senders[0].selector.destination, Some(now));
    assert!(
        fake.kernel().host_paths.contains_key(&now) && !fake.kernel().host_paths.contains_key(&DB.parse().unwrap())
    );
    let gone = neighbours(&[("acme:web", "h2", WEB), ("acme:db", "h2", DB)]);
    host.set_environment(Arc::new(Environment::of(network(), &gone)));
    assert!(fake.kernel().endpoints.is_empty(), "a VM of another host has no interface here");
}

#[test]
fn delays_are_reported_once() {
    let (fake, folder) = (up(), TempFolder::new("agent"));
    let one = |packets, late| Measured { serial: 5, packets, late, worst: Time::from_micros(900) };
    fake.kernel().measured = vec![one(10, 1)];
    let mut host = driver(&fake, &folder, environment(), &[]);
    assert_eq!(host.reports(), [], "what an agent before this one has reported");
    fake.kernel().measured = vec![one(12, 3)];
    let reports = host.reports();
    assert_eq!((reports.len(), reports[0].packets, reports[0].late, reports[0].worst_ns), (1, 2, 2, 900_000));
    assert_eq!(host.reports(), []);
    fake.kernel().measured = vec![one(4, 4)];
    assert_eq!(host.reports()[0].late, 4, "counts that have begun again");
}

/// A host of the suite: its rules go from h1 to h2 over direct links.
struct Suite {
    fake: Fake,
    folder: TempFolder,
    host: HostDriver<Fake>,
}

impl Suite {
    fn open(fake: Fake, folder: TempFolder) -> Self {
        let environment = Arc::new(Environment::new(network()));
        let host = driver(&fake, &folder, environment, &[("host:h1", "veth0")]);
        Self { fake, folder, host }
    }
}

impl Driver for Suite {
    fn installed(&mut self, now: Time) -> Result<Vec<(u64, u64)>, DriverError> {
        self.host.installed(now)
    }

    fn install(&mut self, now: Time, serial: u64, version: u64, rule: &Rule) -> Result<(), DriverError> {
        self.host.install(now, serial, version, rule)
    }

    fn remove(&mut self, now: Time, serial: u64, version: u64) -> Result<(), DriverError> {
        self.host.remove(now, serial, version)
    }

    fn set_up(&mut self, now: Time, version: u64) -> Result<(), DriverError> {
        self.host.set_up(now, version)
    }
}

impl DriverUnderTest for Suite {
    fn in_force(&mut self, serial: u64) -> Option<Vec<Vec<Hop>>> {
        let kernel = self.fake.kernel();
        let (_, rule) = kernel.rules.get(&serial)?;
        let route = |path: &wayleave_dataplane::host::HostPath| {
            vec![Hop { link: link(kernel.uplinks[&path.uplink].0), queue: path.queue }]
        };
        Some(rule.paths.iter().map(route).collect())
    }

    fn restart(self) -> Self {
        let Self { fake, folder, host } = self;
        drop(host);
        Self::open(fake, folder)
    }

    fn reboot(self) -> Self {
        // The agent's state is on a disk in memory, so a reboot deletes it, too.
        drop(self);
        Self::open(up(), TempFolder::new("agent"))
    }

    fn fail_next(&mut self) -> bool {
        self.fake.kernel().fails.insert("install");
        true
    }
}

#[test]
fn the_host_passes_the_suite_of_drivers() {
    assert_eq!(check_host(|| Suite::open(up(), TempFolder::new("agent"))), []);
}

/// Receivers of broadcasts by sending interface, as the last bytes of their addresses.
#[test]
fn broadcasts_reach_endpoints_of_the_tenant_and_those_of_hosts_reach_all() {
    let (fake, folder) = (Fake::with(&[("tap0", 7), ("own", 8), ("up0", 20)]), TempFolder::new("agent"));
    let vm = |id, host, last| (id, host, last);
    let neighbours = neighbours(&[
        vm("acme:web", "h1", "02:00:00:00:00:01"),
        vm("acme:db", "h1", "02:00:00:00:00:02"),
        vm("acme:far", "h2", "02:00:00:00:00:03"),
        vm("other:x", "h2", "02:00:00:00:00:04"),
    ]);
    let environment = Arc::new(Environment::of(network(), &neighbours));
    let _driver = driver(&fake, &folder, environment.clone(), &[("acme:web", "tap0"), ("host:h1", "own")]);
    let mac = |name: &str| environment.location(name).unwrap().mac;
    let asked = |index: u32| -> Vec<wayleave_packet_format::Mac> { fake.kernel().groups[&index].clone() };
    let sorted = |names: &[&str]| {
        let mut macs: Vec<_> = names.iter().map(|name| mac(name)).collect();
        macs.sort();
        macs
    };
    let parts = |mut all: Vec<wayleave_packet_format::Mac>, here: usize| {
        let mut far = all.split_off(here);
        far.sort();
        all.sort();
        [all, far]
    };
    assert_eq!(parts(asked(7), 2), [sorted(&["acme:db", "host:h1"]), sorted(&["acme:far", "host:h2"])]);
    assert_eq!(parts(asked(8), 2), [sorted(&["acme:web", "acme:db"]), sorted(&["acme:far", "other:x", "host:h2"])]);
}

#[test]
fn problems_of_a_node_are_reported_together_with_spoofing_endpoints() {
    use wayleave_dataplane::host::{SpoofKind, SpoofReport};
    let (fake, folder) = (Fake::with(&[("tap0", 7), ("up0", 20)]), TempFolder::new("agent"));
    let environment = Arc::new(Environment::of(network(), &neighbours(&[("acme:web", "h1", "02:00:00:00:00:01")])));
    let mut driver = driver(&fake, &folder, environment, &[("acme:web", "tap0")]);
    assert_eq!(driver.problems(Time::from_millis(1_000)), [""; 0]);
    let (mac, source) = (wayleave_packet_format::Mac::new([2, 0, 0, 0, 0, 9]), None);
    fake.kernel().spoofed = vec![SpoofReport { ifindex: 7, why: SpoofKind::Address, mac, source, packets: 4 }];
    let expected = "acme:web sends from 02:00:00:00:00:09, and its own is 02:00:00:00:00:01: dropped (4 packets)";
    assert_eq!(driver.problems(Time::from_millis(2_000)), [expected]);
    // A failed operation is reported, too.
    fake.kernel().interfaces.insert("up1".to_owned(), 21);
    fake.kernel().fails.insert("uplink");
    driver.refresh();
    let troubles = driver.problems(Time::from_millis(100_000));
    assert!(troubles.len() == 1 && troubles[0].contains("up1, for link h1->s2"), "{troubles:?}");
}
