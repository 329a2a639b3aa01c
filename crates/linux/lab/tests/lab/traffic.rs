//! Real packets through a lab: forwarded by their tags, measured, and late without shaping.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{Down, labs, name};
use crate::guards::{alone, among_others, in_time};
use crate::hosts::{CONTRACT_PORT, promise};
use wayleave_dataplane::net::Namespace;
use wayleave_formats::{Source, read_topology};
use wayleave_lab::traffic::{FlowReport, HEADERS, LabFlow, LabLoad, RunningTraffic};
use wayleave_lab::{Hosts, Lab, Sentinel, UpOptions, scaled};
use wayleave_repo_checks::{require_program, unless};
use wayleave_topology::builders::{Cabling, build};
use wayleave_units::{Bytes, Rate, Time};

fn star(hosts: u64) -> (Lab, Down) {
    star_of(hosts, BTreeSet::new())
}

/// Open vSwitch forwards for these switches.
fn star_of(hosts: u64, ovs: BTreeSet<String>) -> (Lab, Down) {
    let network = scaled(&build::star(hosts, Cabling::default()).unwrap(), Rate::from_mbit(10)).unwrap();
    let name = name();
    let down = Down(name.clone());
    (
        labs()
            .up(&UpOptions {
                name,
                topology: "star",
                network: &network,
                endpoints: &[],
                ovs,
                services: Default::default(),
            })
            .unwrap(),
        down,
    )
}

fn flow(lab: &Lab, [from, to]: [&str; 2], port: u16, load: LabLoad) -> LabFlow {
    let endpoint = |id| lab.plan().endpoint(id).unwrap().clone();
    let (from, to) = (endpoint(from), endpoint(to));
    let name = format!("{} to {}", from.id, to.id);
    let bound = Some(Time::from_millis(25));
    LabFlow { name, from, to, port, source_port: None, payload: 1000, overhead: 28, load, bound }
}

/// 2 Mbit/s in bursts of three packets.
const CONTRACT: LabLoad = LabLoad::Bursts {
    rate: Rate::from_mbit(2),
    burst: Bytes::new(3 * (1000 + HEADERS + 28)),
    period: Time::from_millis(50),
};

/// Runs for two seconds, and longer on a machine that stalls: until every flow has sent this many packets.
fn run(specs: Vec<LabFlow>, packets: u64) -> Vec<FlowReport> {
    let traffic = RunningTraffic::start(specs).unwrap();
    let start = Instant::now();
    sleep(Duration::from_secs(2));
    while traffic.least_sent() < packets && start.elapsed() < Duration::from_secs(30) {
        sleep(Duration::from_millis(50));
    }
    traffic.stop()
}

pub(crate) fn a_contract_keeps_its_bound_during_a_flood_and_needs_its_queue() {
    let _alone = alone();
    let (lab, _down) = star(3);
    assert_keeps_its_bound(&lab);
}

/// Links with the MTU and the interface names of the topology, and packets of nearly that size.
pub(crate) fn a_lab_has_the_mtu_and_the_interfaces_of_its_topology() {
    let _others = among_others();
    let text = "\
apiVersion: wayleave/v1
kind: Topology
metadata: { name: large }
spec:
  nodes: [{ name: h1, kind: host }, { name: h2, kind: host }, { name: s1, kind: switch }]
  links:
    - { between: [h1, s1], rate: 1Gbit, mtu: 9000B, buffer: 200kB, interfaces: [eth1, Ethernet0] }
    - { between: [h2, s1], rate: 1Gbit, mtu: 9500B, buffer: 200kB, interfaces: [ens1, GigabitEthernet0/0/0/1] }
";
    let network = read_topology(&Source::new("large", text)).unwrap().network;
    let network = scaled(&network, Rate::from_mbit(100)).unwrap();
    let (name, ovs) = (name(), BTreeSet::new());
    let _down = Down(name.clone());
    let options =
        UpOptions { name, topology: "large", network: &network, endpoints: &[], ovs, services: Default::default() };
    let lab = labs().up(&options).unwrap();
    for (node, interface, mtu) in
        [("h1", "eth1", 9028), ("s1", "Ethernet0", 9028), ("h2", "ens1", 9528), ("s1", "p2", 9528)]
    {
        let space = Namespace::open(&lab.plan().node(node).unwrap().namespace).unwrap();
        let has = wayleave_dataplane::net::mtu(&space, interface).unwrap();
        assert_eq!(has, Bytes::new(mtu), "{node} {interface}");
    }
    let _hosts = Hosts::start(&lab).unwrap();
    let load = LabLoad::Constant { rate: Rate::from_mbit(5) };
    let large = LabFlow { payload: 8900, ..flow(&lab, ["host:h1", "host:h2"], 9000, load) };
    let report = &run(vec![large], 20)[0];
    assert!(report.sent >= 20 && report.lost() == 0, "{} of {} were lost", report.lost(), report.sent);
}

pub(crate) fn a_contract_keeps_its_bound_with_open_vswitch() {
    require_program("ovs", "ovs-vsctl");
    let _alone = alone();
    let (lab, _down) = star_of(3, ["s1".to_owned()].into());
    assert_keeps_its_bound(&lab);
}

fn assert_keeps_its_bound(lab: &Lab) {
    let mut hosts = Hosts::start(lab).unwrap();
    let flood = LabLoad::Constant { rate: Rate::from_mbit(15) };
    let specs = vec![
        flow(lab, ["host:h1", "host:h3"], CONTRACT_PORT, CONTRACT),
        flow(lab, ["host:h2", "host:h3"], 9000, flood),
    ];
    let without = &run(specs.clone(), 300)[0];
    assert!(
        without.late().len() > 10 || without.lost() > 10,
        "best effort beside a flood is late: {:?}",
        without.worst()
    );

    let (rate, burst) = (Rate::from_mbit(2), Bytes::new(3 * (1000 + HEADERS + 28)));
    promise(&mut hosts, lab, ["host:h1", "host:h3"], 1, (rate, burst, Time::from_millis(25)));
    let from = lab.plan().endpoint("host:h1").unwrap();
    in_time(|| {
        let before = hosts.counters(from.host).unwrap().contracts[&1];
        let sentinel = Sentinel::start().unwrap();
        let reports = run(specs.clone(), 300);
        let stalls = sentinel.stop();
        let after = hosts.counters(from.host).unwrap().contracts[&1];
        let (packets, shaped) = (after.packets - before.packets, after.shaped - before.shaped);
        let with = &reports[0];
        assert_eq!(packets + shaped, with.sent, "every packet passes its shaper or is dropped there");
        assert_eq!((with.duplicates, with.foreign), (0, 0));
        assert!(with.lost() >= shaped, "{shaped} were shaped, and {} are missing", with.lost());
        let (_, broken) = with.late_by_stalls(&stalls);
        let wrong = [
            unless(broken.is_empty(), || format!("late, worst {:?}: {broken:?}", with.worst())),
            unless(with.lost() == shaped, || format!("{} were lost behind the shaper", with.lost() - shaped)),
            unless(with.reordered == 0, || format!("{} were reordered", with.reordered)),
            unless(with.sent >= 300 && shaped * 50 < with.sent, || format!("{shaped} of {} were shaped", with.sent)),
            unless(reports[1].lost() > 100, || "the flood did not overflow its queue".to_owned()),
        ];
        wrong.into_iter().flatten().collect()
    });
}

pub(crate) fn every_message_of_an_exchange_is_answered_by_its_number() {
    let _alone = alone();
    let (lab, _down) = star(2);
    let _hosts = Hosts::start(&lab).unwrap();
    let asked = LabLoad::Requests { every: Time::from_millis(10) };
    let specs = vec![
        flow(&lab, ["host:h1", "host:h2"], 9000, asked),
        flow(&lab, ["host:h2", "host:h1"], 9001, LabLoad::Answers { to: 0 }),
    ];
    let reports = run(specs, 60);
    let [messages, answers] = [&reports[0], &reports[1]].map(|report| &report.arrivals);
    assert!(messages.len() > 50, "{}", messages.len());
    assert_eq!((reports[0].lost(), reports[1].lost(), reports[1].sent), (0, 0, messages.len() as u64));
    for (message, answer) in messages.iter().zip(answers) {
        assert!(message.number == answer.number && message.received <= answer.sent, "{message:?} {answer:?}");
    }
}
