//! A Linux switch in a namespace of its own: configured once, and again without a packet lost.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::names::{Names, require_namespaces};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use wayleave_dataplane::net::{Namespace, ToolBatch, VethEnd, create_veth, output};
use wayleave_dataplane::programs::SwitchProgram;
use wayleave_dataplane::switch::{LinuxSwitch, SwitchDriver, SwitchPlan};
use wayleave_topology::Network;
use wayleave_topology::builders::{Cabling, build};
use wayleave_units::Rate;

/// A namespace with three ports `p0` to `p2`, and a bpf file system.
struct Site {
    names: Names,
    pins: PathBuf,
}

impl Site {
    fn new() -> Self {
        let names = Names::new(&["switch", "cables"]);
        Namespace::create(names.all()).unwrap();
        let pins = std::env::temp_dir().join(names.get(0));
        fs::create_dir_all(&pins).unwrap();
        mount(Some("bpf"), &pins, Some("bpf"), MsFlags::empty(), None::<&str>).unwrap();
        let mut links = ToolBatch::ip();
        for port in 0..3 {
            let end = |index, ifindex| VethEnd {
                namespace: names.get(index).to_owned(),
                interface: format!("p{port}"),
                ifindex,
                mac: None,
                mtu: 1528,
            };
            links.line(create_veth(&end(0, 100 + port), &end(1, 200 + port)).unwrap());
        }
        links.run(&Namespace::current()).unwrap();
        Self { names, pins }
    }

    fn namespace(&self) -> Namespace {
        Namespace::open(self.names.get(0)).unwrap()
    }

    fn switch(&self) -> LinuxSwitch {
        LinuxSwitch::open(self.namespace(), &self.pins).unwrap()
    }

    fn qdiscs(&self) -> String {
        output(&self.namespace(), "tc", &["-d", "qdisc", "show"]).unwrap()
    }

    fn table(&self) -> BTreeSet<(u32, u16, u32)> {
        let table = SwitchProgram::open(&self.pins).unwrap().table().unwrap();
        table.into_iter().map(|(ingress, tci, port)| (ingress, tci, port.ifindex)).collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        Namespace::delete(self.names.all()).unwrap();
        umount2(&self.pins, MntFlags::MNT_DETACH).unwrap();
        fs::remove_dir(&self.pins).unwrap();
    }
}

fn star(rate: Rate) -> Network {
    build::star(3, Cabling { rate, ..Cabling::default() }).unwrap()
}

fn plan(network: &Network) -> SwitchPlan {
    let switch = network.find_node("s1").unwrap();
    let port = |link| u32::from(wayleave_dataplane::switch::port_of(network, link));
    SwitchPlan::of(network, switch, |link| (format!("p{}", port(link)), 100 + port(link))).unwrap()
}

/// A packet larger than an interface's MTU would be lost there, in spite of its contract: the switch is refused, and
/// no part is set up.
pub(crate) fn a_port_that_cannot_carry_packets_of_its_link_is_refused() {
    require_namespaces();
    let place = Site::new();
    ToolBatch::ip().line("link set dev p1 mtu 1499").run(&place.namespace()).unwrap();
    let error = place.switch().configure(&plan(&star(Rate::from_mbit(10)))).unwrap_err().to_string();
    assert!(error.contains("the MTU of p1 is 1499 B") && error.contains("`ip link set dev p1 mtu 1528`"), "{error}");
    assert_eq!((place.table().len(), place.qdiscs().matches("bfifo").count()), (0, 0));
    ToolBatch::ip().line("link set dev p1 mtu 1500").run(&place.namespace()).unwrap();
    place.switch().configure(&plan(&star(Rate::from_mbit(10)))).unwrap();
}

pub(crate) fn a_reconfigured_switch_keeps_its_queues_and_adds_new_ones() {
    require_namespaces();
    let place = Site::new();
    let mut slow = plan(&star(Rate::from_mbit(10)));
    place.switch().configure(&slow).unwrap();
    assert_eq!(place.table().len(), 3 * 2 * 8);
    assert_eq!(place.qdiscs().matches("bfifo").count(), 3 * 8);

    // Something that only a port that is left alone keeps.
    let mark = "filter add dev p1 parent 2: protocol all pref 99 u32 match u32 0 0 classid 2:99";
    ToolBatch::tc().line(mark).run(&place.namespace()).unwrap();
    let marks = || {
        output(&place.namespace(), "tc", &["filter", "show", "dev", "p1", "parent", "2:"])
            .unwrap()
            .matches("2:99")
            .count()
    };
    place.switch().configure(&slow).unwrap();
    assert_eq!(marks(), 1, "the same plan touches no queue");

    // Another process with another plan: one rate is new, one port is removed.
    let fast = plan(&star(Rate::from_mbit(20)));
    slow.ports[1] = fast.ports[1].clone();
    slow.ports.pop();
    place.switch().configure(&slow).unwrap();
    assert_eq!(marks(), 0);
    assert_eq!((place.qdiscs().matches("rate 20Mbit").count(), place.qdiscs().matches("rate 10Mbit").count()), (1, 2));
    let used: BTreeSet<(u32, u32)> = place.table().into_iter().map(|(from, _, to)| (from, to)).collect();
    assert!(used.contains(&(100, 101)) && !used.contains(&(100, 102)) && !used.contains(&(101, 102)), "{used:?}");
    let counters = place.switch().counters().unwrap();
    assert_eq!((counters.ports.len(), counters.unroutable), (3, 0));
}
