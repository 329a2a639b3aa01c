//! A rack broker with an agent's socket as its data plane: the real socket of both, and a broker in a thread.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use wayleave_agent::shares::broker::{self, Connection};
use wayleave_broker::BrokerConfig;
use wayleave_broker::process::{
    AgentSocket, LimitsLine, RackOptions, ReportLine, ServiceCounters, StopSignal, TenantServices, run_rack,
};
use wayleave_formats::{Source, parse_builder, read_policy};
use wayleave_schemes::host::parley::Settings;
use wayleave_schemes::hosts::HostSchemeConfig;
use wayleave_topology::NodeId;
use wayleave_units::Time;

const TIMEOUT: Duration = Duration::from_secs(20);
/// One rack; acme's contracts are the service of databases, and web is called as its tenant.
const POLICY: &str = "apiVersion: wayleave/v1\nkind: Policy\nmetadata: { name: rack }\nspec:\n  level: rack\n  services:\n    \
    - { name: databases, tenant: acme, match: { protocol: tcp, destinationPort: 1 }, max: 300Mbit }\n    - { name: web, match: { protocol: tcp, destinationPort: 2 }, max: 200Mbit }\n";

/// A socket as an agent has it, and the messages of brokers there.
struct Side {
    connection: Arc<Connection>,
    lines: Receiver<LimitsLine>,
    path: PathBuf,
}

impl Side {
    fn open(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("wayleave-{name}-{}.sock", std::process::id()));
        let listener = broker::open(&path).unwrap();
        let connection = Arc::<Connection>::default();
        let (sender, lines) = channel();
        let response = connection.clone();
        std::thread::spawn(move || broker::listen(&listener, &response, move |limits, _| sender.send(limits).is_ok()));
        Self { connection, lines, path }
    }

    /// Writes the amounts that tenants have sent until the broker answers with the limits wanted. Every line is of
    /// one interval more.
    fn until(&self, at: &mut u64, mbit: [u64; 3], wanted: impl Fn(&LimitsLine) -> bool) -> LimitsLine {
        let began = std::time::Instant::now();
        let mut last = None;
        while began.elapsed() < TIMEOUT {
            *at += 1;
            let counters = |mbit: u64| {
                let bytes = mbit * 125_000 * *at / 20;
                ServiceCounters { sent: bytes, sent_outside: Some(bytes), ..ServiceCounters::default() }
            };
            let tenants = ["acme", "nobody", "web"].into_iter().zip(mbit.map(counters));
            let services = tenants.map(|(name, counters)| (name.to_owned(), counters)).collect();
            self.connection.send_report(&ReportLine { at_ns: Some(*at * 50_000_000), services, limits: None });
            // As long as an interval of the broker.
            if let Ok(limits) = self.lines.recv_timeout(Duration::from_millis(50)) {
                if wanted(&limits) {
                    return limits;
                }
                last = Some(limits);
            }
        }
        panic!("the broker has not said what was wanted; last: {last:?}");
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).ok();
    }
}

fn broker(path: PathBuf) -> (StopSignal, JoinHandle<()>) {
    let network = parse_builder("testbed:parley-testbed").unwrap().network;
    let policy = read_policy(&Source::new("policy", POLICY), &network).unwrap().policy;
    let settings = Settings { rack_interval: Time::from_millis(50), ..Settings::default() };
    let setup = Arc::new(BrokerConfig::new(network, vec![policy], HostSchemeConfig::Parley(settings), 1).unwrap());
    let machine: NodeId = setup.network().hosts().next().unwrap();
    let tenants = Some(TenantServices::of(setup.policies()));
    let listen = "127.0.0.1:0".parse().unwrap();
    let options =
        RackOptions { setup, machine, listen, peers: Vec::new(), fabric: None, key: None, uplinks: None, tenants };
    let stop = StopSignal::default();
    let (agent, ends) = (AgentSocket::at(path, stop.clone()), stop.clone());
    (
        stop,
        std::thread::spawn(move || {
            run_rack(options, &ends, agent.lines(), agent, |_| {}).unwrap();
        }),
    )
}

fn limit(line: &LimitsLine, tenant: &str) -> Option<u64> {
    line.limits.get(tenant)?.transmit_bits_per_second
}

#[test]
fn limits_of_tenants_are_sent_to_an_agent_again_after_reconnection() {
    let side = Side::open("tenants");
    let (stop, thread) = broker(side.path.clone());
    let mut at = 0;
    // The service of acme has another name; the unknown tenant belongs to none.
    let lines = side.until(&mut at, [900, 50, 100], |lines| limit(lines, "acme").is_some());
    assert_eq!(limit(&lines, "acme"), Some(300_000_000), "{lines:?}");
    assert!(!lines.limits.contains_key("databases") || limit(&lines, "databases") == limit(&lines, "acme"));
    assert!(!lines.limits.contains_key("nobody") && !lines.limits.contains_key("other"), "{lines:?}");
    // Another process connects and reads nothing: the broker comes back, and a connection that does not read is
    // closed.
    let rude = UnixStream::connect(&side.path).unwrap();
    let lines = side.until(&mut at, [900, 50, 900], |lines| limit(lines, "web").is_some());
    assert_eq!(limit(&lines, "web"), Some(200_000_000), "{lines:?}");
    let mut rest = String::new();
    let mut rude = BufReader::new(rude);
    while rude.read_line(&mut rest).unwrap() > 0 {}
    stop.stop();
    thread.join().unwrap();
}

#[test]
fn a_broker_that_does_not_read_does_not_block_an_agent() {
    let side = Side::open("rude");
    let rude = UnixStream::connect(&side.path).unwrap();
    while !side.connection.is_open() {
        std::thread::yield_now();
    }
    let services = (0..1_000).map(|number| (format!("tenant{number}"), ServiceCounters::default())).collect();
    let line = ReportLine { services, ..ReportLine::default() };
    let response = (0..1_000).take_while(|_| {
        side.connection.send_report(&line);
        side.connection.is_open()
    });
    assert!(response.count() < 1_000, "what nobody reads is not kept");
    drop(rude);
}
