//! `wayleave agent` with a controller and real packets: killed, refused, fenced off, without a controller, taken down.

use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use wayleave_controller::{ControllerConfig, EnforcedBy, SchemeFactory, Timeouts, UnfitPolicy};
use wayleave_dataplane::net::Namespace;
use wayleave_dataplane::sandbox::Apart;
use wayleave_ledger::Model;
use wayleave_packet_format::mac_of;
use wayleave_repo_checks::{KilledChild, leave_out, wait_until};
use wayleave_schemes::admission::chameleon::{Chameleon, Params};
use wayleave_server::disk::File;
use wayleave_server::{Server, ServerLimits};
use wayleave_topology::builders::{Cabling, build};

/// Charge for a packet of 500 B: headers of UDP, IP and Ethernet, what is environment a frame, one tag.
const WIRE: u64 = 500 + 8 + 20 + 14 + 24 + 4;
const BURST: u64 = 3000;
const RATE: u64 = 1_000_000;

/// A controller in this process; its port stays the same.
struct Controller {
    runtime: Runtime,
    server: Option<Server>,
    folder: PathBuf,
    port: u16,
}

impl Controller {
    fn start(folder: &Path, port: u16) -> Self {
        let network = Arc::new(build::star(2, Cabling::default()).unwrap());
        let of = network.clone();
        let scheme = move || Chameleon::new(of.clone(), Model::default(), Params::default()).unwrap().into();
        let document = wayleave_formats::write_topology(&network, "test");
        let timing = Timeouts::default();
        let setup = ControllerConfig {
            scheme: SchemeFactory::fixed(scheme),
            network,
            model: Model::default(),
            enforced_by: EnforcedBy::Hosts,
            timing,
            unfit: UnfitPolicy::Refuse,
        };
        let options = wayleave_server::Options {
            document,
            setup,
            name: "test".to_owned(),
            scheme: "chameleon".to_owned(),
            disk: Box::new(File(folder.join("ledger.db"))),
            operator_file: folder.join("operator"),
            operator_file_counts: false,
            limits: ServerLimits::default(),
            tls: None,
            load_file: None,
            load_clock: wayleave_server::LoadClock::Caller(None),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let server = runtime.block_on(async {
            let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
            Server::start(options, listener).await.unwrap()
        });
        let port = server.address().port();
        Self { runtime, server: Some(server), folder: folder.to_owned(), port }
    }

    fn end(mut self) -> (PathBuf, u16) {
        self.runtime.block_on(self.server.take().unwrap().end()).unwrap();
        (self.folder, self.port)
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let token = std::fs::read_to_string(self.folder.join("operator")).unwrap();
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let request =
            ureq::http::Request::builder().method(method).uri(format!("http://127.0.0.1:{}{path}", self.port));
        let request = request.header("authorization", format!("Bearer {}", token.trim()));
        let request = request.header("content-type", "application/json");
        let mut answer = match method {
            "GET" => agent.run(request.body(()).unwrap()).unwrap(),
            _ => agent.run(request.body(body.to_string()).unwrap()).unwrap(),
        };
        serde_json::from_slice(&answer.body_mut().read_to_vec().unwrap()).unwrap_or_default()
    }

    fn state(&self) -> Value {
        self.ask("GET", "/v1/contracts/c", &Value::Null)["status"]["state"].clone()
    }

    fn epoch(&self) -> u64 {
        self.ask("GET", "/v1/nodes/h1", &Value::Null)["agent"]["epoch"].as_u64().unwrap_or(0)
    }
}

/// `wayleave agent` with this configuration.
fn command(config: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wayleave"));
    command.args(["agent", "--config"]).arg(config);
    command
}

fn agent(config: &Path) -> KilledChild {
    KilledChild(command(config).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

/// h1 with its own interface, whose other end is in a namespace with a name that goes with the value.
struct Site {
    apart: Apart,
    name: String,
    folder: PathBuf,
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = Namespace::delete([self.name.as_str()]);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Site {
    fn new() -> Self {
        let name = format!("wlagent-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&name);
        let apart = Apart::enter(&Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bpf-{name}")));
        let apart = apart.unwrap_or_else(|error| {
            leave_out("root", format_args!("it needs root, network namespaces and eBPF. {error}"));
        });
        std::fs::create_dir_all(&folder).unwrap();
        Namespace::create([name.as_str()]).unwrap();
        let place = Self { apart, name, folder };
        place.apart.veth("own", 101).unwrap();
        place.apart.veth("up0", 111).unwrap();
        let name = place.name.as_str();
        let (own, other) = (mac_of("host:h1").to_string(), mac_of("host:h2").to_string());
        place.apart.ip(&["link", "set", "ownp", "netns", name]).unwrap();
        for arguments in [
            ["link", "set", "ownp", "address", &own].as_slice(),
            // No solicitations of IPv6, which hosts carry, among the packets that are counted.
            &["link", "set", "ownp", "addrgenmode", "none"],
            &["link", "set", "ownp", "up"],
            &["addr", "add", "10.0.0.1/8", "dev", "ownp"],
            &["neigh", "add", "10.0.0.2", "lladdr", &other, "dev", "ownp"],
        ] {
            place.apart.ip(&[&["-n", name], arguments].concat()).unwrap();
        }
        place
    }

    fn configuration(&self, port: u16) -> PathBuf {
        let file = self.folder.join("agent.yaml");
        let folder = self.folder.display();
        let text = format!(
            "apiVersion: wayleave/v1\nkind: Agent\nspec:\n  server: http://127.0.0.1:{port}\n  tokenFile: {folder}/operator\n  \
             state: {folder}/state\n  pins: {}\n  nodes:\n    - {{ node: h1, interfaces: {{ \"h1->s1\": up0 }}, \
             endpoints: [ {{ host: h1, interface: own }} ] }}\n",
            self.apart.pins().display()
        );
        std::fs::write(&file, text).unwrap();
        file
    }

    /// Packets that have left h1.
    fn sent(&self) -> u64 {
        let shown = Command::new("ip").args(["-j", "-s", "link", "show", "up0p"]).output().unwrap();
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        shown[0]["stats64"]["rx"]["packets"].as_u64().unwrap()
    }

    /// More packets leave.
    fn assert_progress(&self, what: &str) {
        let before = self.sent();
        wait_until(what, || self.sent() >= before + 20);
    }

    /// Sends four times as much as the contract allows, until a stop is requested.
    fn flood(&self, stop: &Arc<AtomicBool>) -> JoinHandle<()> {
        let (namespace, stop) = (Namespace::open(&self.name).unwrap(), stop.clone());
        std::thread::spawn(move || {
            namespace.enter().unwrap();
            let socket = UdpSocket::bind("10.0.0.1:0").unwrap();
            while !stop.load(Ordering::Relaxed) {
                let _ = socket.send_to(&[7; 500], "10.0.0.2:5001");
                std::thread::sleep(Duration::from_millis(1));
            }
        })
    }
}

pub(crate) fn no_packet_passes_unshaped_while_agents_are_killed_and_controllers_down() {
    let place = Site::new();
    let controller = Controller::start(&place.folder, 0);
    let config = place.configuration(controller.port);
    let contract = json!({
        "from": "h1", "to": "h2", "rate": "1Mbit", "burst": "3000B", "deadline": "5ms",
        "match": { "protocol": "udp", "destinationPort": 5001 },
    });
    controller.ask("PUT", "/v1/contracts/c", &contract);
    let mut first = agent(&config);
    wait_until("the contract is enforced", || controller.state() == "enforced");

    let (stop, start, before) = (Arc::new(AtomicBool::new(false)), Instant::now(), place.sent());
    let flood = place.flood(&stop);
    place.assert_progress("packets with an agent");
    // The agent counts the link: the packets that leave h1 have the rate of the contract, on the wire.
    wait_until("the measured rate of the link is within 10 % of the contract's", || {
        let link = controller.ask("GET", "/v1/links/h1-%3Es1", &Value::Null);
        let is_near = |rate: u64| rate.abs_diff(RATE) <= RATE / 10;
        link["measured"]["source"] == "sender" && link["measured"]["rateBps"].as_u64().is_some_and(is_near)
    });

    // A second one refuses to start, with a reason.
    let second = command(&config).output().unwrap();
    let output = String::from_utf8_lossy(&second.stderr);
    assert!(!second.status.success() && output.contains("another agent already runs for h1"), "{output}");

    // SIGKILL: installed programs stay in force.
    first.kill().unwrap();
    first.0.wait().unwrap();
    place.assert_progress("packets without an agent");
    let _first = agent(&config);
    wait_until("a second session", || controller.epoch() == 2);
    assert_eq!(controller.state(), "enforced");
    place.assert_progress("packets with another agent");

    // Another program begins a session in its name: the messages of its own session are refused, and it begins a new one.
    let foreign = controller.ask("POST", "/v1/agents/h1/session", &json!({ "after": 2, "installed": [] }));
    assert_eq!(foreign["epoch"], 3);
    wait_until("a session after that of a stranger", || controller.epoch() == 4 && controller.state() == "enforced");
    place.assert_progress("packets after a stranger");

    // The controller stops, and starts again.
    let (folder, port) = controller.end();
    place.assert_progress("packets without a controller");
    let controller = Controller::start(&folder, port);
    wait_until("a session with the next controller", || controller.epoch() == 5 && controller.state() == "enforced");
    place.assert_progress("packets with another controller");

    stop.store(true, Ordering::Relaxed);
    flood.join().unwrap();
    let (packets, elapsed) = (place.sent() - before, start.elapsed());
    let allowed = BURST + RATE * u64::try_from(elapsed.as_micros()).unwrap() / 8_000_000;
    assert!(packets * WIRE <= allowed, "{packets} packets of {WIRE} B in {elapsed:?}, where {allowed} B are allowed");
    assert!(packets >= 120, "{packets}");
    drop(_first);

    let down = command(&config).arg("uninstall").output().unwrap();
    assert!(down.status.success(), "{}", String::from_utf8_lossy(&down.stderr));
    // The controller knows at once, and does not wait until it misses the agent.
    let agent = &controller.ask("GET", "/v1/nodes/h1", &Value::Null)["agent"];
    assert_eq!(
        (&agent["open"], &agent["silent"], controller.state().as_str()),
        (&json!(false), &json!(true), Some("degraded"))
    );
    controller.end();
    assert!(!place.folder.join("state/h1").exists() && !place.apart.pins().join("h1").exists());
    for interface in ["own", "up0"] {
        let shown = Command::new("tc").args(["qdisc", "show", "dev", interface]).output().unwrap();
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(!shown.contains("clsact") && !shown.contains("tbf"), "{interface}: {shown}");
    }
}
