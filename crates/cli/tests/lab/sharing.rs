//! Tenants that share a port, and brokers.

use super::*;

/// Two tenants send to one host: the first from one host, the second from three. In one queue, they share the line in
/// proportion to their packets. The agents of the hosts divide it by minima and weights, as EyeQ's and Parley's
/// machine shapers do.
pub(crate) fn two_tenants_share_a_port_by_their_promises() {
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
    let flow = |tenant: &str, from: u16| LabFlow {
        name: format!("{tenant} from h{from}"),
        from: found.plan().endpoint(&format!("{tenant}:v{from}")).unwrap().clone(),
        to: found.plan().endpoint(&format!("{tenant}:v4")).unwrap().clone(),
        port: 30_000 + from,
        source_port: None,
        payload: 1_458,
        overhead: 24,
        load: LabLoad::Constant { rate: wayleave_units::Rate::from_mbit(10) },
        bound: None,
    };
    let flows = vec![flow("acme", 1), flow("beta", 1), flow("beta", 2), flow("beta", 3)];
    let traffic = RunningTraffic::start(flows).unwrap();
    let arrived = traffic.arrived();
    // Without contracts the part of each tenant depends on the number of its packets, and on the chance that one
    // comes when the queue has room: constant rates stay in step for seconds.
    let without = next(&arrived, 1_000, 2_000);
    let server = format!("--server {} --token-file {}", found.server().unwrap(), found.token_file().display());
    let applied = wayleave(&format!("apply -f {} {server}", contracts.display()));
    assert!(applied.status.success(), "{}", text(&applied.stdout));
    // Until agents know of contracts and of one another, and rates have settled.
    let first = next(&arrived, 8_000, 100);
    // A sender without a key sends forged messages of agents to all agents. Nothing changes.
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

/// Two tenants with equal contracts from one rack to another. A rack broker reports that one of them has exceeded its
/// policy, and the agent limits that one; the other has the rest. Once the broker is silent, they are equal again.
pub(crate) fn a_rack_broker_limits_a_tenant_while_it_sends_messages() {
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
    let flow = |tenant: &str, port| LabFlow {
        name: tenant.to_owned(),
        from: found.plan().endpoint(&format!("{tenant}:v1")).unwrap().clone(),
        to: found.plan().endpoint(&format!("{tenant}:v2")).unwrap().clone(),
        port,
        source_port: None,
        payload: 1_458,
        overhead: 24,
        load: LabLoad::Constant { rate: wayleave_units::Rate::from_mbit(10) },
        bound: None,
    };
    let traffic = RunningTraffic::start(vec![flow("acme", 30_000), flow("beta", 30_001)]).unwrap();
    let arrived = traffic.arrived();
    // Judged by packets, at any speed: a broker and agents need some seconds for their work.
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
    broker.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    let broker = wayleave_repo_checks::KilledChild(broker.spawn().unwrap());
    // 2 Mbit/s of some 9.5.
    until("a limit of 2 Mbit/s for acme", |[acme, beta]| beta > 3 * acme && beta < 6 * acme);
    drop(broker);
    until("a broker that is silent", is_equal);
    let _ = traffic.stop();
}

/// Addresses at which the agents of hosts receive messages of one another.
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

/// Packets of the first flow, and of all others, of those that arrive after `first` more have.
fn next(arrived: &ArrivalCounts, first: u64, count: u64) -> [u64; 2] {
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
