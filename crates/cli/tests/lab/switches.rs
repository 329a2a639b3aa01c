//! Bridges of Open vSwitch, and finding where packets are lost.

use super::*;

/// Open vSwitch forwards. Its rules are removed, and they are back; it is killed, and no message claims that
/// contracts are enforced.
pub(crate) fn a_bridge_without_rules_is_repaired_and_a_stopped_one_enforces_nothing() {
    require_program("ovs", "ovs-vsctl");
    let _others = among_others();
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
    let checked = wayleave(&format!("lab probe --name {} h1 h2", lab.0));
    assert!(checked.status.success(), "{}", text(&checked.stdout));
    let output = text(&wayleave(&format!("events {server}")).stdout);
    assert!(output.contains("rules of bridge br0 were missing or changed: 2"), "{output}");

    let daemons = Labs::default().status(&LabName::new(&lab.0).unwrap()).unwrap().programs;
    let daemon = daemons.iter().find(|program| program.name == "ovs-vswitchd-s1").unwrap();
    // It runs before ordinary programs if that is allowed.
    if Command::new("chrt").args(["-f", "10", "true"]).status().is_ok_and(|status| status.success()) {
        use wayleave_dataplane::doctor::ProcessScheduling;
        assert_eq!(ProcessScheduling::of(daemon.pid), Some(ProcessScheduling::RealTime(10)));
    }
    assert!(Command::new("kill").args(["-KILL", &daemon.pid.to_string()]).status().unwrap().success());
    until("a switch that is dead", &|| match state(" enforced ")() {
        Ok(()) => Err("it is said to be enforced".to_owned()),
        Err(_) => Ok(()),
    });
    let seen = text(&wayleave(&format!("get contracts {server}")).stdout);
    assert!(seen.contains("control"), "{seen}");
    until("a sentence that names the bridge", &|| {
        let seen = text(&wayleave(&format!("status {server}")).stdout);
        if seen.contains("Open vSwitch does not answer for bridge br0") { Ok(()) } else { Err(seen) }
    });
    let seen = text(&wayleave(&format!("lab status --name {}", lab.0)).stdout);
    assert!(seen.starts_with(&format!("lab {} is broken", lab.0)), "{seen}");
}

/// A foreign program at a port of a switch drops every packet: the agents report its presence, and the switch behind
/// which packets are lost.
pub(crate) fn dropped_packets_are_located_behind_a_named_switch() {
    let _others = among_others();
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
    let flow = LabFlow {
        name: "control".to_owned(),
        from: endpoint("host:h1"),
        to: endpoint("host:h2"),
        port: 30_000,
        source_port: None,
        payload: 200,
        overhead: 48,
        load: LabLoad::Constant { rate: wayleave_units::Rate::from_bits_per_second(100_000) },
        bound: None,
    };
    let traffic = RunningTraffic::start(vec![flow]).unwrap();
    until("that packets are followed", &|| described().contains("traced to the receiver's host"));
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
    ToolBatch::tc().extend([filter]).run(&Namespace::open(&switch.namespace).unwrap()).unwrap();
    let status = || text(&wayleave(&format!("status {server}")).stdout);
    until("that the filter is told", &|| status().contains("a foreign filter is at the egress of"));
    until("that a loss is told", &|| described().contains(" behind s1"));
    let _ = traffic.stop();
    assert!(!lost().contains("behind h"), "{}", lost());
}

/// The whole path through kernels, programs and queues, with and without a loss; and the view of an operator of one
/// machine during that.
pub(crate) fn probes_are_observed_along_their_route_and_losses_located() {
    let _others = among_others();
    let lab = Lab::up("star:hosts=3");
    let found = Labs::default().open(&LabName::new(&lab.0).unwrap()).unwrap();
    let server = format!("--server {} --token-file {}", found.server().unwrap(), found.token_file().display());
    let check = |what: &str| {
        let ran = wayleave(&format!("probe {what} {server} -o json"));
        let seen: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{}", text(&ran.stderr)));
        (ran.status.code(), seen)
    };
    let captured = std::thread::scope(|scope| {
        let config = found.folder().join("agent-switches.yaml");
        let capture = format!("capture --config {} --node s1 --lasts 15s --count 4", config.display());
        let capture = scope.spawn(move || wayleave(&capture));
        let (code, seen) = check("h1 h2 --count 20");
        assert_eq!((code, &seen["sent"], &seen["received"]), (Some(0), &20.into(), &20.into()), "{seen}");
        let path: Vec<(String, bool)> = seen["observations"]
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
        assert_eq!(path, wanted);
        assert!(seen["observations"][1]["frame"].as_str().unwrap().starts_with("[s1->h2 q"), "{seen}");
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
    assert!(seen["observations"][1]["frame"].as_str().unwrap().starts_with("[s1->h2 q0]"), "{seen}");
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
    ToolBatch::tc().extend([filter]).run(&Namespace::open(&switch.namespace).unwrap()).unwrap();
    let (code, seen) = check("h1 h2 --count 5");
    assert_eq!((code, &seen["sent"], &seen["received"]), (Some(4), &5.into(), &0.into()), "{seen}");
    let lost = &seen["lost"][0];
    assert!(lost["probes"] == 5 && lost["lastSeenAt"].as_str().unwrap().starts_with("s1, entering by "), "{seen}");
    let (code, seen) = check("h1 h3 --count 2");
    assert_eq!((code, &seen["received"]), (Some(0), &2.into()), "the other port is as it was: {seen}");
}
