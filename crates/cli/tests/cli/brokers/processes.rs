//! Brokers as children of the test, and a data plane for each machine: it sends the traffic that its services want
//! and may send, one interval for each line that it writes. A machine without a broker is limited by nothing after
//! the time-out.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use wayleave_broker::BrokerConfig;
use wayleave_broker::process::{LimitsLine, ReportLine, ServiceCounters, ServiceLimit};
use wayleave_broker::script::{ScriptAction, ScriptLimits, ScriptPhase};
use wayleave_repo_checks::KilledChild;
use wayleave_scheme_api::ClassId;
use wayleave_topology::NodeId;
use wayleave_units::Rate;

use super::{FABRIC_INTERVAL, FABRIC_TIMEOUT};

/// Longest time of a phase before the test gives up.
const TIMEOUT: Duration = Duration::from_secs(40);

pub(crate) struct Processes {
    setup: Arc<BrokerConfig>,
    folder: PathBuf,
    network: String,
    files: Vec<String>,
    key: PathBuf,
    ports: Vec<u16>,
    fabric_port: u16,
    fabric: Option<KilledChild>,
    machines: Vec<Machine>,
    lines: (Sender<Line>, Receiver<Line>),
    lives: u64,
}

/// The machine, the life of its broker, and a line of its output.
type Line = (usize, u64, String);

struct Machine {
    name: String,
    node: NodeId,
    broker: Option<Broker>,
    wants: BTreeMap<&'static str, Rate>,
    limits: BTreeMap<String, ServiceLimit>,
    counters: BTreeMap<String, ServiceCounters>,
    at_ns: u64,
    received: Instant,
}

struct Broker {
    life: u64,
    stdin: ChildStdin,
    /// `true` if a line was written that has no answer yet.
    is_asked: bool,
    _child: KilledChild,
}

impl Processes {
    pub(crate) fn begin(setup: Arc<BrokerConfig>, network: &str, policies: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("wayleave-brokers-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let key = folder.join("key");
        std::fs::write(&key, "a secret of brokers with at least 32 bytes").unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        let mut files = Vec::new();
        for (index, policy) in policies.iter().enumerate() {
            let file = folder.join(format!("policy{index}.yaml"));
            std::fs::write(&file, policy).unwrap();
            files.push(file.to_str().unwrap().to_owned());
        }
        let hosts: Vec<NodeId> = setup.network().hosts().collect();
        // Ports that were free a moment ago.
        let ports: Vec<u16> = hosts
            .iter()
            .map(|_| UdpSocket::bind("127.0.0.1:0").unwrap())
            .collect::<Vec<_>>()
            .iter()
            .map(|socket| socket.local_addr().unwrap().port())
            .collect();
        let fabric_port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let machines = hosts.iter().map(|&node| Machine {
            name: setup.network().node(node).name.clone(),
            node,
            broker: None,
            wants: BTreeMap::new(),
            limits: BTreeMap::new(),
            counters: BTreeMap::new(),
            at_ns: 0,
            received: Instant::now(),
        });
        let machines = machines.collect();
        let network = network.to_owned();
        let lines = channel();
        let mut this =
            Self { setup, folder, network, files, key, ports, fabric_port, fabric: None, machines, lines, lives: 0 };
        this.start_fabric();
        (0..this.machines.len()).for_each(|machine| this.start(machine));
        this
    }

    pub(crate) fn begin_phase(&mut self, phase: &ScriptPhase) {
        for &(machine, service, rate) in &phase.wants {
            self.machines[machine].wants.insert(service, rate);
        }
        for &action in &phase.actions {
            match action {
                ScriptAction::KillRack(machine) => self.machines[machine].broker = None,
                ScriptAction::StartRack(machine) => self.start(machine),
                ScriptAction::KillFabric => self.fabric = None,
                ScriptAction::StartFabric => self.start_fabric(),
            }
        }
    }

    /// Until limits have been for three rounds what they should.
    pub(crate) fn settle(&mut self, phase: &str, expected: &ScriptLimits) {
        let begin = Instant::now();
        let mut rounds = 0;
        while rounds < 3 {
            self.round();
            rounds = if self.differ(expected).is_empty() { rounds + 1 } else { 0 };
            assert!(begin.elapsed() < TIMEOUT, "{phase}: {}", self.differ(expected).join("; "));
        }
        println!("{phase}: {} ms", begin.elapsed().as_millis());
    }

    /// Signals end brokers cleanly.
    pub(crate) fn end(mut self) {
        for machine in &mut self.machines {
            // The end of its lines is the end of a rack broker.
            let Some(Broker { stdin, mut _child, .. }) = machine.broker.take() else { continue };
            drop(stdin);
            let status = _child.wait().unwrap();
            assert_eq!(status.code(), Some(0), "{}", machine.name);
        }
        let mut fabric = self.fabric.take().unwrap();
        let id = i32::try_from(fabric.id()).unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert_eq!(fabric.wait().unwrap().code(), Some(0), "the fabric broker");
        std::fs::remove_dir_all(&self.folder).ok();
    }

    /// Every machine sends for an interval, reports it, and waits for the answer.
    fn round(&mut self) {
        let interval = self.setup.times().interval;
        let timeout = Duration::from_nanos(self.setup.times().timeout.as_nanos());
        for machine in &mut self.machines {
            if machine.received.elapsed() >= timeout {
                machine.limits.clear();
            }
            machine.send(interval.as_nanos());
            machine.report();
        }
        let until = Instant::now() + Duration::from_nanos(interval.as_nanos());
        while self.machines.iter().any(|machine| machine.broker.as_ref().is_some_and(|broker| broker.is_asked)) {
            let left = until.saturating_duration_since(Instant::now());
            // A first line has no answer, and a broker that begins takes its time.
            let Ok((machine, life, line)) = self.lines.1.recv_timeout(left) else { break };
            self.machines[machine].on_line(life, &line);
        }
    }

    fn differ(&self, expected: &ScriptLimits) -> Vec<String> {
        let mut differ = Vec::new();
        for (machine, expected) in self.machines.iter().zip(expected) {
            for (class, &expected) in expected.iter().enumerate() {
                let name = self.setup.services().name(ClassId(class as u32)).unwrap_or("other");
                let limit = machine.limits.get(name).and_then(|limit| limit.transmit_bits_per_second);
                let expected = expected.map(Rate::bits_per_second);
                let is_same = match (limit, expected) {
                    // Difference that rounding to 24 bits and to whole bytes of an interval may cause.
                    (Some(limit), Some(expected)) => limit.abs_diff(expected) <= 200_000,
                    (limit, expected) => limit == expected,
                };
                if !is_same {
                    differ.push(format!("{} {name}: {limit:?} and not {expected:?}", machine.name));
                }
            }
        }
        differ
    }

    fn command(&self, kind: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wayleave"));
        command.args(["broker", kind, "-t", &self.network, "-f", &self.files.join(",")]);
        command.args(["--interval", &self.setup.times().interval.to_string()]);
        command.args(["--fabric-interval", &FABRIC_INTERVAL.to_string()]);
        command.args(["--fabric-timeout", &FABRIC_TIMEOUT.to_string()]);
        // Their results are in the answers.
        command.args(["--log-level", "error"]);
        // Brokers that do not open one another's seals agree on nothing.
        command.arg("--key").arg(&self.key);
        command
    }

    fn start_fabric(&mut self) {
        let mut command = self.command("fabric");
        command.args(["--listen", &format!("127.0.0.1:{}", self.fabric_port)]);
        self.fabric = Some(KilledChild(command.stdin(Stdio::null()).spawn().unwrap()));
    }

    fn start(&mut self, at: usize) {
        let rack = self.setup.rack_of(self.machines[at].node);
        let peers = self.machines.iter().zip(&self.ports).filter(|(peer, _)| self.setup.rack_of(peer.node) == rack);
        let peers: Vec<String> = peers.map(|(peer, port)| format!("{}=127.0.0.1:{port}", peer.name)).collect();
        let mut command = self.command("rack");
        command.args(["--machine", &self.machines[at].name, "--peers", &peers.join(",")]);
        command.args(["--listen", &format!("127.0.0.1:{}", self.ports[at])]);
        command.args(["--fabric", &format!("127.0.0.1:{}", self.fabric_port)]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        self.lives += 1;
        let (life, lines) = (self.lives, self.lines.0.clone());
        // It ends with its child.
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if lines.send((at, life, line)).is_err() {
                    break;
                }
            }
        });
        self.machines[at].broker = Some(Broker { life, stdin, is_asked: false, _child: KilledChild(child) });
    }
}

impl Machine {
    fn send(&mut self, nanos: u64) {
        self.at_ns += nanos;
        for (&service, wants) in &self.wants {
            let limit = self.limits.get(service).and_then(|limit| limit.transmit_bits_per_second);
            let rate = limit.map_or(wants.bits_per_second(), |limit| limit.min(wants.bits_per_second()));
            let bytes = u128::from(rate) * u128::from(nanos) / 8_000_000_000;
            self.counters.entry(service.to_owned()).or_default().sent += bytes as u64;
        }
    }

    fn report(&mut self) {
        let (services, limits) = (self.counters.clone(), Some(self.limits.clone()));
        let line = ReportLine { at_ns: Some(self.at_ns), services, limits };
        if let Some(broker) = &mut self.broker {
            writeln!(broker.stdin, "{}", serde_json::to_string(&line).unwrap()).unwrap();
            broker.is_asked = true;
        }
    }

    fn on_line(&mut self, life: u64, line: &str) {
        let Some(broker) = self.broker.as_mut().filter(|broker| broker.life == life) else { return };
        let line: LimitsLine = serde_json::from_str(line).unwrap();
        broker.is_asked = false;
        self.limits = line.limits;
        self.received = Instant::now();
    }
}
