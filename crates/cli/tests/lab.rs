//! `wayleave lab`, as a person uses it: a whole network on this machine, with a controller and agents that are the real programs.
//!
//! A binary of its own, so that nothing else keeps the processors busy while packets are measured.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use serde_json::Value;
use wayleave_dataplane::net::{Batch, Namespace};
use wayleave_dataplane::programs;
use wayleave_lab::traffic::{Arrived, FlowSpec, Load, Traffic};
use wayleave_lab::{LabName, Labs, Sentinel};
use wayleave_repo_checks::{left_out, unless};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples");
const CONTRACTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/lab-contracts.yaml");

fn wayleave(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wayleave"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("WAYLEAVE_")) {
        command.env_remove(name);
    }
    command.args(arguments.split(' ')).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether labs can be made here; says what was left out if not.
fn is_able() -> bool {
    let doctor: Value = serde_json::from_slice(&wayleave("doctor -o json").stdout).unwrap();
    let checks = doctor["checks"].as_array().unwrap().iter();
    for one in checks.filter(|one| one["isRequired"] == true && one["state"] == "missing") {
        let said = |field: &str| one[field].as_str().unwrap_or_default().to_owned();
        left_out(&said("name"), format_args!("labs cannot be made here: {}; {}", said("detail"), said("remedy")));
    }
    doctor["canRun"] == true
}

/// A lab that is gone in the end, also by a panic.
struct Lab(String);

impl Lab {
    fn up(topology: &str) -> Self {
        static LABS: AtomicU32 = AtomicU32::new(0);
        let lab = Self(format!("c{}n{}", std::process::id(), LABS.fetch_add(1, Relaxed)));
        let up = wayleave(&format!("lab up -f {topology} --name {}", lab.0));
        assert!(up.status.success(), "{}", text(&up.stderr));
        lab
    }

    fn run(&self, options: &str) -> (Option<i32>, Value) {
        self.run_of(CONTRACTS, options)
    }

    fn run_of(&self, contracts: &str, options: &str) -> (Option<i32>, Value) {
        let run = wayleave(&format!("lab run -f {contracts} --name {} {options} -o json", self.0));
        let seen = serde_json::from_slice(&run.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", text(&run.stdout), text(&run.stderr)));
        (run.status.code(), seen)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = wayleave(&format!("lab down --name {}", self.0));
    }
}

/// The sum of a count over all contracts.
fn sum(seen: &Value, count: &str) -> u64 {
    seen["contracts"].as_array().unwrap().iter().map(|one| one[count].as_u64().unwrap()).sum()
}

/// A line for each contract and each deed: a whole report is longer than what people read of a failing test.
fn in_short(seen: &Value) -> String {
    let line = |one: &Value, names: &[&str]| {
        let words: Vec<String> = names.iter().map(|&name| format!("{name} {}", one[name])).collect();
        words.join(", ") + "\n"
    };
    let of = |list: &str, names: &[&str]| -> String {
        seen[list].as_array().into_iter().flatten().map(|one| line(one, names)).collect()
    };
    let counts =
        ["id", "state", "sent", "received", "shaped", "lost", "late", "lateInStalls", "lateUnpromised", "duplicates"];
    let deeds = ["deed", "what", "moved", "stopped", "degraded", "tookNs", "failed"];
    let whole = line(seen, &["violations", "moves", "refused", "silent", "stalls"]);
    format!("\n{whole}{}{}", of("contracts", &counts), of("actions", &deeds))
}

/// One lab at a time: they measure packets.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Whether a contract is kept in the end. Agents call it violated for a while if a packet came late, also where the machine stood still.
fn is_kept(contract: &Value) -> bool {
    contract["state"] == "enforced" || contract["state"] == "violated" && contract["lateInStalls"].as_u64() > Some(0)
}

#[test]
fn contracts_keep_their_bounds_while_they_are_moved_beside_floods_and_would_not_without() {
    if !is_able() {
        return;
    }
    let _alone = alone();
    let lab = Lab::up("fat-tree:k=4");
    in_time(|| keep_their_bounds(&lab));
    in_time(|| outlive_an_adversary_and_a_cut(&lab));
    in_time(|| suffer_as_best_effort(&lab));
}

/// With a sentinel among ordinary threads.
fn in_time(measure: impl FnMut() -> Vec<String>) {
    let waited = |sentinel: Sentinel| Duration::from_nanos(sentinel.stop().within(0, u64::MAX));
    wayleave_repo_checks::in_time(|| Sentinel::start_among_others().unwrap(), waited, measure);
}

/// What is wrong, with all that was seen.
fn wrong<const N: usize>(claims: [(bool, &str); N], seen: &Value) -> Vec<String> {
    claims.into_iter().filter_map(|(holds, claim)| unless(holds, || format!("{claim}: {}", in_short(seen)))).collect()
}

fn keep_their_bounds(lab: &Lab) -> Vec<String> {
    let (code, seen) = lab.run("--lasts 8s --reroutes 5 --flood 12Mbit");
    let contracts = seen["contracts"].as_array().unwrap();
    assert_eq!((contracts.len(), code), (8, Some(if seen["violations"] == 0 { 0 } else { 4 })), "{}", in_short(&seen));
    wrong(
        [
            (seen["violations"] == 0, "a bound was broken"),
            (
                contracts.iter().all(|one| is_kept(one) && one["sent"].as_u64() > Some(100)),
                "not every contract is kept",
            ),
            (sum(&seen, "lost") == 0, "packets were lost behind their shapers"),
            (seen["moves"].as_u64() >= Some(4), "fewer than four contracts were moved"),
        ],
        &seen,
    )
}

/// A sender that ignores its bucket is the only one who suffers from it.
fn outlive_an_adversary_and_a_cut(lab: &Lab) -> Vec<String> {
    let (_, seen) = lab.run("--lasts 4s --flood 12Mbit --adversary camera=9Mbit --cut");
    let of = |id: &str| seen["contracts"].as_array().unwrap().iter().find(|one| one["id"] == id).unwrap();
    let (camera, sensor) = (of("default:camera"), of("default:sensor"));
    let cut = &seen["actions"][0];
    assert!(cut["deed"] == "cut" && cut["degraded"] == 0 && !cut["moved"].as_array().unwrap().is_empty(), "{cut:#}");
    wrong(
        [
            (seen["violations"] == 0, "a bound was broken"),
            (
                camera["shaped"].as_u64() > camera["received"].as_u64(),
                "most of what is sent too much was to be dropped",
            ),
            (camera["waitsNs"].as_u64() > Some(100_000_000), "how long what is sent too much waits is not said"),
            // Its packets go over two routes that share no cable between switches.
            (sensor["lost"] == 0 && sensor["duplicates"] == 0, "a contract with two routes lost packets in a cut"),
        ],
        &seen,
    )
}

/// The same packets as best effort: what contracts are good for, and that this test can fail. On a machine that hardly runs, stalls
/// account for late packets, however late they are; lost ones stay lost.
fn suffer_as_best_effort(lab: &Lab) -> Vec<String> {
    let (code, seen) = lab.run("--lasts 4s --flood 12Mbit --without-contracts");
    assert_eq!(code, Some(if seen["violations"] == 0 { 0 } else { 4 }), "{}", in_short(&seen));
    let suffer = sum(&seen, "late") + sum(&seen, "lost");
    wrong([(suffer > 20 && suffer + sum(&seen, "lateInStalls") > 100, "hardly a packet suffered")], &seen)
}

/// The demonstration of one fabric with real packets: everybody sends as much as it can, and has what it was promised.
#[test]
fn contracts_of_every_kind_are_kept_on_one_network() {
    if !is_able() {
        return;
    }
    let _alone = alone();
    let lab = Lab::up(&format!("{EXAMPLES}/lab-network-fabric.yaml"));
    in_time(|| {
        let (_, seen) = lab.run_of(&format!("{EXAMPLES}/lab-contracts-fabric.yaml"), "--lasts 10s --flood 12Mbit");
        let shares = seen["shares"].as_array().unwrap();
        let of = |id: &str| shares.iter().find(|one| one["id"] == id).unwrap();
        let most = of("default:copy")["pairs"][0]["rateBps"].as_u64().unwrap();
        assert!(seen["refused"].as_array().unwrap().is_empty() && shares.len() == 5, "{}", in_short(&seen));
        let got: Vec<String> = shares.iter().map(|one| format!("{} short {}", one["id"], one["short"])).collect();
        wrong(
            [
                (seen["violations"] == 0, "a bound was broken"),
                (sum(&seen, "lost") == 0, "packets of latency contracts were lost behind their shapers"),
                (seen["short"] == 0, &format!("a minimum was missed ({})", got.join(", "))),
                (most < 2_200_000, &format!("a pair with a maximum of 2 Mbit/s got {most} bit/s")),
            ],
            &seen,
        )
    });
}

/// Two tenants send to one host: the first from one host, the second from three. In one queue, packets share the line by how many come; the
/// agents of the hosts divide it by minima and weights, as EyeQ's and Parley's machine shapers do.
#[test]
fn two_tenants_share_a_port_by_what_they_were_promised() {
    if !is_able() {
        return;
    }
    let _alone = alone();
    let vms = ["acme", "beta"].map(|tenant| [1, 2, 3, 4].map(|at| format!("--endpoint {tenant}:v{at}=h{at}")));
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (network, contracts) = (folder.join("lab-port.yaml"), folder.join("lab-port-contracts.yaml"));
    let head = "apiVersion: wayleave/v1\nkind: ";
    let star = "Topology\nmetadata: { name: port }\nspec: { builder: { kind: star, hosts: 4, rate: 10Mbit, queues: 8 }, classes: {} }\n";
    std::fs::write(&network, format!("{head}{star}")).unwrap();
    let hose = |tenant: &str, min: &str| {
        format!(
            "    - {{ name: hose, tenant: {tenant}, bandwidth: {{ hose: [v1, v2, v3, v4], min: {min}, weight: 1 }} }}\n"
        )
    };
    let list = [hose("acme", "4Mbit"), hose("beta", "1Mbit")].concat();
    std::fs::write(&contracts, format!("{head}Contracts\nspec:\n  contracts:\n{list}")).unwrap();

    let lab = Lab::up(&format!("{} {}", network.display(), vms.concat().join(" ")));
    let found = Labs::default().open(&LabName::new(&lab.0).unwrap()).unwrap();
    let flow = |tenant: &str, from: u16| FlowSpec {
        name: format!("{tenant} from h{from}"),
        from: found.plan().endpoint(&format!("{tenant}:v{from}")).unwrap().clone(),
        to: found.plan().endpoint(&format!("{tenant}:v4")).unwrap().clone(),
        port: 30_000 + from,
        source_port: None,
        payload: 1_458,
        overhead: 24,
        load: Load::Constant { rate: wayleave_units::Rate::from_mbit(10) },
        bound: None,
    };
    let flows = vec![flow("acme", 1), flow("beta", 1), flow("beta", 2), flow("beta", 3)];
    let traffic = Traffic::start(flows).unwrap();
    let arrived = traffic.arrived();
    // Without contracts everybody has its part by how many packets it sends, and by whose come when the queue has room: constant rates stay in
    // step for seconds.
    let without = next(&arrived, 1_000, 2_000);
    let server = format!("--server {} --token-file {}", found.server().unwrap(), found.token_file().display());
    let applied = wayleave(&format!("apply -f {} {server}", contracts.display()));
    assert!(applied.status.success(), "{}", text(&applied.stdout));
    // Until agents have heard of contracts and of one another, and rates have settled.
    let first = next(&arrived, 8_000, 100);
    // Somebody who has no key sends to all agents what looks like what they say. Nothing changes.
    let flood = Flood::start(addresses_of_agents(&found));
    let with = next(&arrived, 3_000, 3_000);
    let forged = flood.stop();
    let _ = traffic.stop();
    assert!(forged > 1_000 && first[0] > 0, "{forged} forged datagrams");
    // 4 + 1 Mbit/s are minima, and of 9 that are shared out the other 4 are halved: 6 and 3.
    let is_as_promised = |[acme, beta]: [u64; 2]| 10 * acme > 16 * beta && 10 * acme < 26 * beta;
    assert!(!is_as_promised(without), "without contracts as with them: {without:?} packets");
    assert!(is_as_promised(with), "packets of acme and beta: {with:?}, without contracts {without:?}");
}

/// Two tenants with the same contract from one rack to another. A rack broker says that one of them has exceeded what its policy allows, and the agent limits that one; the
/// other has what is left. Once the broker is silent, they are equal again.
#[test]
fn a_rack_broker_limits_a_tenant_for_as_long_as_it_speaks() {
    if !is_able() {
        return;
    }
    let _alone = alone();
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, format!("apiVersion: wayleave/v1\nkind: {text}")).unwrap();
        path.display().to_string()
    };
    let racks = "Topology\nmetadata: { name: rack }\nspec: { builder: { kind: leaf-spine, leaves: 2, spines: 1, hosts: 1, rate: 10Mbit, queues: 8 }, classes: {} }\n";
    let policy = "Policy\nmetadata: { name: rack }\nspec: { level: rack, services: [ { name: databases, tenant: acme, match: { protocol: tcp, destinationPort: 1 }, max: 2Mbit } ] }\n";
    let pair = |tenant: &str| {
        format!("    - {{ name: pair, tenant: {tenant}, bandwidth: {{ from: v1, to: v2, min: 1Mbit, weight: 1 }} }}\n")
    };
    let network = write("lab-rack.yaml", racks);
    let contracts = format!("Contracts\nspec:\n  contracts:\n{}{}", pair("acme"), pair("beta"));
    let (contracts, policy) = (write("lab-rack-contracts.yaml", &contracts), write("lab-rack-policy.yaml", policy));
    let vms = ["acme", "beta"].map(|tenant| format!("--endpoint {tenant}:v1=h1 --endpoint {tenant}:v2=h2"));
    let lab = Lab::up(&format!("{network} {}", vms.join(" ")));
    let found = Labs::default().open(&LabName::new(&lab.0).unwrap()).unwrap();
    let server = format!("--server {} --token-file {}", found.server().unwrap(), found.token_file().display());
    let applied = wayleave(&format!("apply -f {contracts} {server}"));
    assert!(applied.status.success(), "{}{}", text(&applied.stdout), text(&applied.stderr));
    let flow = |tenant: &str, port| FlowSpec {
        name: tenant.to_owned(),
        from: found.plan().endpoint(&format!("{tenant}:v1")).unwrap().clone(),
        to: found.plan().endpoint(&format!("{tenant}:v2")).unwrap().clone(),
        port,
        source_port: None,
        payload: 1_458,
        overhead: 24,
        load: Load::Constant { rate: wayleave_units::Rate::from_mbit(10) },
        bound: None,
    };
    let traffic = Traffic::start(vec![flow("acme", 30_000), flow("beta", 30_001)]).unwrap();
    let arrived = traffic.arrived();
    // Judged by packets, however long they take: a broker and agents need some seconds for what they do.
    let until = |what: &str, is_so: fn([u64; 2]) -> bool| {
        let mut seen = [0; 2];
        for _ in 0..40 {
            seen = next(&arrived, 100, 600);
            if is_so(seen) {
                return;
            }
        }
        panic!("{what}: packets of acme and beta: {seen:?}");
    };
    let is_equal = |[acme, beta]: [u64; 2]| 10 * acme > 8 * beta && 10 * beta > 8 * acme;
    until("the same contract", is_equal);
    let socket = found.folder().join("agents/h1/broker.sock");
    let mut broker = Command::new(env!("CARGO_BIN_EXE_wayleave"));
    broker.args(["broker", "rack", "--machine", "h1", "--listen", "127.0.0.1:0", "-f", &policy]);
    broker.arg("-t").arg(found.topology_file()).arg("--agent").arg(&socket);
    let broker = broker.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null()).spawn().unwrap();
    struct Ends(std::process::Child);
    impl Drop for Ends {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
    let broker = Ends(broker);
    // 2 Mbit/s of some 9.5.
    until("a limit of 2 Mbit/s for acme", |[acme, beta]| beta > 3 * acme && beta < 6 * acme);
    drop(broker);
    until("a broker that is silent", is_equal);
    let _ = traffic.stop();
}

/// Open vSwitch forwards. Somebody removes its rules, and they are back; it is killed, and nobody says that contracts are enforced.
#[test]
fn a_bridge_without_rules_is_repaired_and_one_that_is_dead_enforces_nothing() {
    if !is_able() {
        return;
    }
    if Command::new("ovs-vsctl").arg("--version").output().is_err() {
        left_out("ovs", "it needs Open vSwitch (openvswitch-switch)");
        return;
    }
    let _alone = alone();
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab-ovs-contracts.yaml");
    let contract = "{ name: control, from: h1, to: h2, rate: 500kbit, burst: 1600B, deadline: 80ms }";
    std::fs::write(&path, format!("apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n    - {contract}\n"))
        .unwrap();
    let lab = Lab::up("star:hosts=2 --ovs s1");
    let found = Labs::default().open(&LabName::new(&lab.0).unwrap()).unwrap();
    let server = format!("--server {} --token-file {}", found.server().unwrap(), found.token_file().display());
    let applied = wayleave(&format!("apply -f {} {server}", path.display()));
    assert!(applied.status.success(), "{}{}", text(&applied.stdout), text(&applied.stderr));
    let until = |what: &str, is_so: &dyn Fn() -> Result<(), String>| {
        let begin = Instant::now();
        while let Err(seen) = is_so() {
            assert!(begin.elapsed() < Duration::from_secs(40), "{what}: {seen}");
            sleep(Duration::from_millis(100));
        }
    };
    let state = |wanted: &'static str| {
        let server = server.clone();
        move || {
            let seen = text(&wayleave(&format!("get contracts {server}")).stdout);
            if seen.contains(wanted) { Ok(()) } else { Err(seen) }
        }
    };
    until("admitted and installed", &state(" enforced "));
    let bridge = found.bridge(found.plan().node("s1").unwrap()).unwrap();
    let ofctl = |command: &str, rest: &[&str]| {
        let socket = format!("unix:{}", bridge.socket().display());
        text(
            &Command::new("ovs-ofctl").args(["-O", "OpenFlow13", command, &socket]).args(rest).output().unwrap().stdout,
        )
    };
    ofctl("del-flows", &[]);
    ofctl("add-flow", &["actions=NORMAL"]);
    until("its own rules, and no others", &|| {
        let rules = ofctl("dump-flows", &[]);
        let is_so = rules.matches("actions=output").count() == 2 && !rules.contains("NORMAL");
        if is_so { Ok(()) } else { Err(rules) }
    });
    let checked = wayleave(&format!("lab check --name {} h1 h2", lab.0));
    assert!(checked.status.success(), "{}", text(&checked.stdout));
    let said = text(&wayleave(&format!("events {server}")).stdout);
    assert!(said.contains("rules of bridge br0 were gone or others: 2"), "{said}");

    let daemons = Labs::default().status(&LabName::new(&lab.0).unwrap()).unwrap().programs;
    let daemon = daemons.iter().find(|program| program.name == "ovs-vswitchd-s1").unwrap();
    assert!(Command::new("kill").args(["-KILL", &daemon.pid.to_string()]).status().unwrap().success());
    until("a switch that is dead", &|| match state(" enforced ")() {
        Ok(()) => Err("it is said to be enforced".to_owned()),
        Err(_) => Ok(()),
    });
    let seen = text(&wayleave(&format!("get contracts {server}")).stdout);
    assert!(seen.contains("control"), "{seen}");
}

/// Where the agents of hosts hear one another.
fn addresses_of_agents(lab: &wayleave_lab::Lab) -> Vec<SocketAddr> {
    let token = std::fs::read_to_string(lab.token_file()).unwrap();
    let mut all = std::collections::BTreeSet::new();
    for host in ["h1", "h2"] {
        let url = format!("{}/v1/agents/{host}/shares", lab.server().unwrap());
        let answer = ureq::get(&url).header("authorization", format!("Bearer {}", token.trim())).call();
        let shares: Value = serde_json::from_slice(&answer.unwrap().body_mut().read_to_vec().unwrap()).unwrap();
        let peers = shares["peers"].as_object().unwrap().values();
        all.extend(peers.map(|at| at.as_str().unwrap().parse::<SocketAddr>().unwrap()));
    }
    assert_eq!(all.len(), 4, "every host has an agent that hears");
    all.into_iter().collect()
}

/// Datagrams that look like those of agents, sent until it is stopped.
struct Flood(Arc<AtomicBool>, JoinHandle<u64>);

impl Flood {
    fn start(to: Vec<SocketAddr>) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let ended = ends.clone();
        let send = move || {
            let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
            let (mut datagram, mut count) = (b"WLS1".to_vec(), 0_u64);
            datagram.resize(1_200, 7);
            while !ended.load(Relaxed) {
                for at in &to {
                    datagram[8..16].copy_from_slice(&count.to_be_bytes());
                    count += u64::from(socket.send_to(&datagram, at).is_ok());
                }
                // Some thousands a second: the processors are those of the network, too.
                sleep(Duration::from_micros(500));
            }
            count
        };
        Self(ends, std::thread::spawn(send))
    }

    fn stop(self) -> u64 {
        self.0.store(true, Relaxed);
        self.1.join().unwrap()
    }
}

/// A program of somebody else at a port of a switch drops every packet: the agents say that it is there, and behind which switch packets are lost.
#[test]
fn packets_that_somebody_drops_are_lost_behind_a_switch_that_has_a_name() {
    if !is_able() {
        return;
    }
    let _alone = alone();
    let lab = Lab::up("star:hosts=3");
    let found = Labs::default().open(&LabName::new(&lab.0).unwrap()).unwrap();
    let server = format!("--server {} --token-file {}", found.server().unwrap(), found.token_file().display());
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab-loss.yaml");
    let contract = "{ name: control, from: h1, to: h2, rate: 1Mbit, burst: 3200B, deadline: 100ms }";
    std::fs::write(&file, format!("apiVersion: wayleave/v1\nkind: Contracts\nspec: {{ contracts: [{contract}] }}\n"))
        .unwrap();
    let applied = wayleave(&format!("apply -f {} {server}", file.display()));
    assert!(applied.status.success(), "{}", text(&applied.stderr));
    let described = || text(&wayleave(&format!("describe contract control {server}")).stdout);
    let until = |what: &str, holds: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !holds() {
            assert!(
                start.elapsed() < Duration::from_secs(120),
                "{what} did not happen: {}",
                described().lines().take(20).collect::<Vec<_>>().join("\n")
            );
            sleep(Duration::from_millis(200));
        }
    };
    let endpoint = |id: &str| found.plan().endpoint(id).unwrap().clone();
    let flow = FlowSpec {
        name: "control".to_owned(),
        from: endpoint("host:h1"),
        to: endpoint("host:h2"),
        port: 30_000,
        source_port: None,
        payload: 200,
        overhead: 48,
        load: Load::Constant { rate: wayleave_units::Rate::from_bits_per_second(100_000) },
        bound: None,
    };
    let traffic = Traffic::start(vec![flow]).unwrap();
    until("that packets are followed", &|| described().contains("followed to their receiver's host"));
    let lost = || {
        let all = described();
        all.lines().find(|line| line.starts_with("lost ")).unwrap_or_default().to_owned()
    };
    assert!(lost().trim_start_matches("lost").trim_start().starts_with("0 of "), "{}", lost());

    let switch = found.plan().switches().next().unwrap();
    let to_h2 = found.network().find_link("s1->h2").unwrap();
    let port = switch.ports.ports.iter().find(|port| port.link == Some(to_h2)).unwrap();
    // The switch's own program drops what has no tag, as all packets here.
    let program = found.pins().join(switch.file_name()).join(programs::version()).join("port");
    let filter = format!(
        "filter add dev {} egress pref 3 protocol all bpf direct-action object-pinned {}",
        port.interface,
        program.display()
    );
    Batch::tc().extend([filter]).run(&Namespace::open(&switch.namespace).unwrap()).unwrap();
    let status = || text(&wayleave(&format!("status {server}")).stdout);
    until("that the filter is told", &|| status().contains("a filter of somebody else is at the egress of"));
    until("that a loss is told", &|| described().contains(" behind s1"));
    let _ = traffic.stop();
    assert!(!lost().contains("behind h"), "{}", lost());
}

/// The whole way through kernels, programs and queues, with and without a loss; and what an operator of one machine sees meanwhile.
#[test]
fn probes_are_seen_on_all_of_their_way_and_a_loss_has_a_place() {
    if !is_able() {
        return;
    }
    let _alone = alone();
    let lab = Lab::up("star:hosts=3");
    let found = Labs::default().open(&LabName::new(&lab.0).unwrap()).unwrap();
    let server = format!("--server {} --token-file {}", found.server().unwrap(), found.token_file().display());
    let check = |what: &str| {
        let ran = wayleave(&format!("check {what} {server} -o json"));
        let seen: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{}", text(&ran.stderr)));
        (ran.status.code(), seen)
    };
    let captured = std::thread::scope(|scope| {
        let config = found.folder().join("agent-switches.yaml");
        let capture = format!("capture --config {} --node s1 --lasts 15s --count 4", config.display());
        let capture = scope.spawn(move || wayleave(&capture));
        let (code, seen) = check("h1 h2 --count 20");
        assert_eq!((code, &seen["sent"], &seen["received"]), (Some(0), &20.into(), &20.into()), "{seen}");
        let way: Vec<(String, bool)> = seen["sightings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| {
                (
                    format!("{} {}", one["node"].as_str().unwrap(), one["leadsTo"].as_str().unwrap()),
                    one["isOutgoing"] == true,
                )
            })
            .collect();
        let wanted = [
            ("h1 host:h1", false),
            ("h1 h1->s1", true),
            ("s1 s1->h1", false),
            ("s1 s1->h2", true),
            ("h2 h2->s1", false),
            ("h2 host:h2", true),
        ]
        .map(|(at, is_outgoing)| (at.to_owned(), is_outgoing));
        assert_eq!(way, wanted);
        assert!(seen["sightings"][1]["frame"].as_str().unwrap().starts_with("[s1->h2 q"), "{seen}");
        capture.join().unwrap()
    });
    let lines = text(&captured.stdout);
    assert!(captured.status.success(), "{}", text(&captured.stderr));
    assert_eq!(lines.lines().count(), 4, "{lines}");
    assert!(lines.lines().any(|line| line.contains("s1->h1) in  [s1->h2 q")), "{lines}");

    // A contract's probes are charged to it, and take its queue.
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab-check.yaml");
    let contract = "{ name: control, from: h1, to: h2, rate: 1Mbit, burst: 3200B, deadline: 100ms, match: { protocol: tcp, destinationPort: 443 } }";
    std::fs::write(&file, format!("apiVersion: wayleave/v1\nkind: Contracts\nspec: {{ contracts: [{contract}] }}\n"))
        .unwrap();
    let applied = wayleave(&format!("apply -f {} {server}", file.display()));
    assert!(applied.status.success(), "{}", text(&applied.stderr));
    let described = || text(&wayleave(&format!("describe contract control {server}")).stdout);
    let start = Instant::now();
    while !described().contains("enforced") {
        assert!(start.elapsed() < Duration::from_secs(60), "the contract is not enforced");
        sleep(Duration::from_millis(200));
    }
    let (code, seen) = check("--contract control --count 3");
    assert_eq!((code, &seen["received"]), (Some(0), &3.into()), "{seen}");
    assert!(seen["sightings"][1]["frame"].as_str().unwrap().starts_with("[s1->h2 q0]"), "{seen}");
    let guaranteed = |seen: &Value| {
        seen["counted"].as_array().unwrap().iter().any(|one| one["node"] == "h1" && one["what"] == "guaranteed")
    };
    assert!(guaranteed(&seen), "{seen}");

    let switch = found.plan().switches().next().unwrap();
    let to_h2 = found.network().find_link("s1->h2").unwrap();
    let port = switch.ports.ports.iter().find(|port| port.link == Some(to_h2)).unwrap();
    let program = found.pins().join(switch.file_name()).join(programs::version()).join("port");
    let pinned = program.display();
    let filter = format!(
        "filter add dev {} egress pref 3 protocol all bpf direct-action object-pinned {pinned}",
        port.interface
    );
    Batch::tc().extend([filter]).run(&Namespace::open(&switch.namespace).unwrap()).unwrap();
    let (code, seen) = check("h1 h2 --count 5");
    assert_eq!((code, &seen["sent"], &seen["received"]), (Some(4), &5.into(), &0.into()), "{seen}");
    let lost = &seen["lost"][0];
    assert!(lost["probes"] == 5 && lost["behind"].as_str().unwrap().starts_with("s1, entering by "), "{seen}");
    let (code, seen) = check("h1 h3 --count 2");
    assert_eq!((code, &seen["received"]), (Some(0), &2.into()), "the other port is as it was: {seen}");
}

/// Packets of the first flow, and of all others, of those that arrive after `first` more have.
fn next(arrived: &Arrived, first: u64, count: u64) -> [u64; 2] {
    let both = || -> [u64; 2] {
        let all = arrived.all();
        [all[0], all[1..].iter().sum()]
    };
    let reach = |wanted: u64| {
        let start = Instant::now();
        while both().iter().sum::<u64>() < wanted {
            assert!(start.elapsed() < Duration::from_secs(120), "packets have stopped arriving: {:?}", both());
            sleep(Duration::from_millis(5));
        }
        both()
    };
    let begin = reach(both().iter().sum::<u64>() + first);
    let end = reach(begin.iter().sum::<u64>() + count);
    [end[0] - begin[0], end[1] - begin[1]]
}
