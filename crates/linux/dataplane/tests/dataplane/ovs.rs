//! A bridge of Open vSwitch in a namespace of its own, as a switch: source routes with more tags than it parses,
//! strict priorities, and changes by other programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::names::{Names, require_namespaces};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use wayleave_dataplane::net::{Capture, Namespace, ToolBatch, VethEnd, create_veth, output};
use wayleave_dataplane::switch::{OvsBridge, OvsSwitch, SwitchDriver, SwitchPlan};
use wayleave_packet_format::{TAG_TYPE, Tag};
use wayleave_repo_checks::leave_out;
use wayleave_topology::builders::{Cabling, build};
use wayleave_units::{Bytes, Rate};

const BRIDGE: &str = "br0";
/// Schema of a new database on Debian.
const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
/// Timeout of the start of Open vSwitch.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A namespace with a bridge and its three ports, whose other ends are in another one.
struct Site {
    names: Names,
    folder: PathBuf,
    pins: PathBuf,
    daemons: Vec<Child>,
}

impl Site {
    /// Leaves the test out where it cannot be made.
    fn new() -> Self {
        require_namespaces();
        if !Path::new(SCHEMA).exists() {
            leave_out("ovs", format_args!("it needs Open vSwitch (openvswitch-switch): no {SCHEMA}"));
        }
        let names = Names::new(&["ovs", "cables"]);
        let folder = std::env::temp_dir().join(names.get(0));
        let pins = folder.join("pins");
        fs::create_dir_all(&pins).unwrap();
        mount(Some("bpf"), &pins, Some("bpf"), MsFlags::empty(), None::<&str>).unwrap();
        Namespace::create(names.all()).unwrap();
        let mut site = Self { names, folder, pins, daemons: Vec::new() };
        for name in site.names.all() {
            Namespace::open(name).unwrap().silence().unwrap();
        }
        let mut links = ToolBatch::ip();
        for port in 0..3 {
            let end = |index, ifindex| VethEnd {
                namespace: site.names.get(index).to_owned(),
                interface: format!("p{port}"),
                ifindex,
                mac: None,
                mtu: 1528,
            };
            links.line(create_veth(&end(0, 100 + port), &end(1, 200 + port)).unwrap());
        }
        links.run(&Namespace::current()).unwrap();
        for name in site.names.all() {
            Namespace::open(name).unwrap().set_up(["p0", "p1", "p2"]).unwrap();
        }
        site.start();
        site.vsctl(&["add-br", BRIDGE, "--", "set", "bridge", BRIDGE, "datapath_type=netdev", "protocols=OpenFlow13"]);
        for port in ["p0", "p1", "p2"] {
            site.vsctl(&["add-port", BRIDGE, port]);
        }
        site
    }

    /// Starts a program of Open vSwitch that ends with this process, and waits for the file that it creates.
    fn daemon(&mut self, program: &str, arguments: &[String], file: &str) {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        for name in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"] {
            command.env(name, &self.folder);
        }
        let child = self.namespace().run(|| command.spawn()).unwrap().unwrap();
        self.daemons.push(child);
        let begin = Instant::now();
        while !self.folder.join(file).exists() {
            assert!(begin.elapsed() < TIMEOUT, "{program} does not begin");
            sleep(Duration::from_millis(10));
        }
    }

    fn start(&mut self) {
        let (database, socket) = (self.folder.join("conf.db"), self.folder.join("db.sock"));
        if !database.exists() {
            let made = Command::new("ovsdb-tool").arg("create").arg(&database).arg(SCHEMA).output().unwrap();
            assert!(made.status.success(), "{made:?}");
        }
        let text = |path: &Path| path.to_string_lossy().into_owned();
        self.daemon("ovsdb-server", &[text(&database), format!("--remote=punix:{}", text(&socket))], "db.sock");
        self.vsctl(&["--no-wait", "init"]);
        self.vswitchd();
    }

    fn vswitchd(&mut self) {
        let control = self.folder.join("switch.ctl");
        let _ = fs::remove_file(&control);
        let arguments =
            [format!("unix:{}", self.folder.join("db.sock").display()), format!("--unixctl={}", control.display())];
        self.daemon("ovs-vswitchd", &arguments, "switch.ctl");
    }

    fn vsctl(&self, arguments: &[&str]) -> String {
        let database = format!("--db=unix:{}", self.folder.join("db.sock").display());
        output(&self.namespace(), "ovs-vsctl", &[&[database.as_str(), "--timeout=10"], arguments].concat()).unwrap()
    }

    /// `ovs-ofctl COMMAND BRIDGE ARGUMENTS`.
    fn ofctl(&self, command: &str, arguments: &[&str]) -> String {
        let bridge = format!("unix:{}", self.bridge().socket().display());
        output(&self.namespace(), "ovs-ofctl", &[&["-O", "OpenFlow13", command, &bridge], arguments].concat()).unwrap()
    }

    fn namespace(&self) -> Namespace {
        Namespace::open(self.names.get(0)).unwrap()
    }

    fn bridge(&self) -> OvsBridge {
        OvsBridge { name: BRIDGE.to_owned(), run: self.folder.clone() }
    }

    fn switch(&self) -> OvsSwitch {
        OvsSwitch::open(self.bridge(), self.namespace(), &self.pins).unwrap()
    }

    /// Sends frames into a port, and returns those that leave by others: the port, and the bytes behind both
    /// addresses.
    fn send(&self, port: u32, frames: &[Vec<u8>], expected: usize) -> Vec<(u32, Vec<u8>)> {
        let cables = Namespace::open(self.names.get(1)).unwrap();
        let mut capture = Capture::open(&cables).unwrap();
        cables.run(|| put(port, frames)).unwrap();
        // Once all are there that should be, others have a moment to show themselves.
        let (mut until, mut seen) = (Instant::now() + Duration::from_secs(5), Vec::new());
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            match capture.next(left).unwrap() {
                Some(one) if !one.is_outgoing => {
                    seen.push((one.ifindex - 200, one.frame[12..].to_vec()));
                    if seen.len() <= expected {
                        let moment = if seen.len() < expected { 5_000 } else { 300 };
                        until = Instant::now() + Duration::from_millis(moment);
                    }
                }
                Some(_) => {}
                None => break,
            }
        }
        seen
    }
}

/// Sends frames by an interface of this namespace.
fn put(port: u32, frames: &[Vec<u8>]) {
    use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, sendto, socket};
    use std::os::fd::AsRawFd;
    let addresses = nix::ifaddrs::getifaddrs().unwrap().filter(|one| one.interface_name == format!("p{port}"));
    let address = addresses.filter_map(|one| one.address?.as_link_addr().copied()).next().unwrap();
    let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None).unwrap();
    for frame in frames {
        sendto(socket.as_raw_fd(), frame, &address, MsgFlags::empty()).unwrap();
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        Namespace::delete(self.names.all()).unwrap();
        umount2(&self.pins, MntFlags::MNT_DETACH).unwrap();
        fs::remove_dir_all(&self.folder).unwrap();
    }
}

fn plan() -> SwitchPlan {
    let network = build::star(3, Cabling { rate: Rate::from_mbit(10), ..Cabling::default() }).unwrap();
    let port = |link| u32::from(wayleave_dataplane::switch::port_of(&network, link));
    let switch = network.find_node("s1").unwrap();
    SwitchPlan::of(&network, switch, |link| (format!("p{}", port(link)), 100 + port(link))).unwrap()
}

/// Builds a frame with tags for these ports and queues, followed by `body`.
fn frame(tags: &[(u16, u8)], body: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    frame.extend(behind(tags, body));
    frame
}

fn behind(tags: &[(u16, u8)], body: &[u8]) -> Vec<u8> {
    let tag = |&(port, queue): &(u16, u8)| {
        [TAG_TYPE.to_be_bytes(), Tag::new(port, queue).unwrap().tci().to_be_bytes()].concat()
    };
    let tags = tags.iter().flat_map(tag);
    tags.chain([0x88, 0xB5]).chain(body.iter().copied()).chain(vec![0; 60]).collect()
}

pub(crate) fn packets_follow_their_outer_tag_for_any_number_of_tags() {
    let site = Site::new();
    let mut switch = site.switch();
    switch.configure(&plan()).unwrap();
    assert_eq!(
        site.ofctl("dump-flows", &[]).matches("actions=output").count(),
        3,
        "one rule for each link that leaves"
    );
    let tags = [(1, 0), (2, 3), (0, 7), (5, 1), (9, 2)];
    let mut frames: Vec<Vec<u8>> = (1..=tags.len()).map(|count| frame(&tags[..count], &[count as u8])).collect();
    // Back where it came from, to a port that is not there, and without a tag: dropped.
    frames.extend([frame(&[(0, 0)], &[101]), frame(&[(7, 0)], &[102]), frame(&[], &[103])]);
    let mut seen = site.send(0, &frames, tags.len());
    seen.sort();
    let mut expected: Vec<(u32, Vec<u8>)> =
        (1..=tags.len()).map(|count| (1, behind(&tags[1..count], &[count as u8]))).collect();
    expected.sort();
    assert_eq!(seen, expected);
    let counters = switch.counters().unwrap();
    let sent: u64 = counters.ports.iter().find(|port| port.interface == "p1").unwrap().queues[0].packets;
    assert_eq!(sent, tags.len() as u64, "all of them left by the queue that their tag names");

    // Changes by other programs are found and undone, and nothing else is touched.
    assert_eq!(switch.repair(&plan()).unwrap(), Vec::<String>::new());
    site.ofctl("add-flow", &["priority=40000,in_port=1,actions=flood"]);
    site.ofctl("del-flows", &["dl_vlan=2"]);
    ToolBatch::tc().line("filter del dev p2 egress").run(&site.namespace()).unwrap();
    // Until then no packet leaves by a port that its tag does not name.
    let flooded = site.send(0, &[frame(&[(2, 0)], &[1]), frame(&[(1, 0)], &[2])], 1);
    assert!(flooded.iter().all(|(port, frame)| (*port, frame[2]) == (1, 2) || *port == 2), "{flooded:?}");
    let printed = switch.repair(&plan()).unwrap().join("; ");
    for part in [
        "the program of p2 was missing",
        "rules of bridge br0 were missing or changed: 1",
        "foreign rules in bridge br0: 1",
    ] {
        assert!(printed.contains(part), "{printed}");
    }
    assert_eq!(site.send(0, &[frame(&[(1, 0)], &[9])], 1), [(1, behind(&[], &[9]))]);
}

/// A full queue returns an error to its sender, and Open vSwitch then drops the rest of the batch.
pub(crate) fn a_full_queue_costs_no_packet_of_another_queue() {
    let site = Site::new();
    let mut plan = plan();
    // Seven frames fill it; with so few in all, none is lost before the bridge.
    *plan.ports[1].egress.as_mut().unwrap().queues.last_mut().unwrap() = Bytes::new(10_000);
    site.switch().configure(&plan).unwrap();
    let low = || frame(&[(1, 7)], &[1; 1_400]);
    let frames: Vec<Vec<u8>> =
        (0..15).flat_map(|number| [low(), low(), low(), low(), frame(&[(1, 0)], &[200, number])]).collect();
    let seen = site.send(0, &frames, 15);
    let mut high: Vec<u8> = seen.iter().filter(|(_, frame)| frame[2] == 200).map(|(_, frame)| frame[3]).collect();
    high.sort();
    assert_eq!(high, (0..15).collect::<Vec<u8>>());
    assert!(seen.len() < frames.len(), "the low queue was full: {} of {}", seen.len(), frames.len());
}

/// Packets that wait at one port use the buffer of the socket by which Open vSwitch sends to all ports, unless they
/// are detached from it.
pub(crate) fn packets_waiting_at_one_port_do_not_delay_another() {
    let site = Site::new();
    let mut plan = plan();
    // At this rate, few of the packets are transmitted while the test runs, even on a slow machine.
    let port = plan.ports[1].egress.as_mut().unwrap();
    *port.queues.last_mut().unwrap() = Bytes::new(2_000_000);
    port.rate = Rate::from_bits_per_second(50_000);
    site.switch().configure(&plan).unwrap();
    let waiting: Vec<Vec<u8>> = (0..50).map(|_| frame(&[(1, 7)], &[1; 900])).collect();
    let cables = Namespace::open(site.names.get(1)).unwrap();
    let waits = || {
        let counters = site.switch().counters().unwrap();
        counters.ports.iter().find(|one| one.interface == "p1").unwrap().queues[7].backlog
    };
    // They exceed the memory of a socket. Each part fits into the bridge's receive buffer; what a part loses there,
    // the next one replaces.
    let (mut before, begin) = (0, Instant::now());
    while before < 150_000 {
        assert!(begin.elapsed() < TIMEOUT, "{before} B wait at the other port");
        cables.run(|| put(0, &waiting)).unwrap();
        for _ in 0..100 {
            if waits() > before + 40 * 914 {
                break;
            }
            sleep(Duration::from_millis(1));
        }
        before = waits();
    }
    let others: Vec<Vec<u8>> = (0..20).map(|number| frame(&[(2, 0)], &[200, number])).collect();
    let seen = site.send(0, &others, others.len() + 10);
    let arrived = seen.iter().filter(|(port, _)| *port == 2).count();
    assert_eq!(arrived, others.len(), "{before} B wait at the other port");
}

pub(crate) fn a_restarted_bridge_is_configured_again_and_a_missing_one_reported() {
    let mut site = Site::new();
    let mut switch = site.switch();
    switch.configure(&plan()).unwrap();
    let mut daemon = site.daemons.pop().unwrap();
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    let error = switch.counters().unwrap_err().to_string();
    assert!(error.contains("bridge br0 of Open vSwitch"), "{error}");
    site.vswitchd();
    let begin = Instant::now();
    // The daemon takes its ports again by and by.
    while switch.repair(&plan()).is_err() {
        assert!(begin.elapsed() < TIMEOUT);
        sleep(Duration::from_millis(20));
    }
    assert_eq!(site.send(2, &[frame(&[(0, 1), (4, 4)], &[5])], 1), [(0, behind(&[(4, 4)], &[5]))]);
}

pub(crate) fn a_full_table_and_an_interface_that_is_no_port_are_refused() {
    let site = Site::new();
    site.vsctl(&[
        "--",
        "--id=@t",
        "create",
        "Flow_Table",
        "flow_limit=2",
        "overflow_policy=refuse",
        "--",
        "set",
        "bridge",
        BRIDGE,
        "flow_tables:0=@t",
    ]);
    let error = site.switch().configure(&plan()).unwrap_err().to_string();
    assert!(error.contains("TABLE: the flow table is full at rule 3 of 3"), "{error}");
    site.vsctl(&["clear", "bridge", BRIDGE, "flow_tables"]);
    site.switch().configure(&plan()).unwrap();
    site.vsctl(&["del-port", "p1"]);
    let error = site.switch().configure(&plan()).unwrap_err().to_string();
    assert!(error.contains("p1 is not a port of bridge br0: add it with `ovs-vsctl add-port br0 p1`"), "{error}");
    site.bridge().clear().unwrap();
    assert!(!site.ofctl("dump-flows", &[]).contains("actions=output"));
}
