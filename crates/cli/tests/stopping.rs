//! Labs whose makers and users are stopped in the middle, politely (Ctrl-C) or not at all.
//!
//! A binary of its own: it sets up labs, and others measure packets in theirs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod common;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use common::{Lab, command, text, wayleave};
use wayleave_repo_checks::{leave_out, wait_until};

fn main() -> std::process::ExitCode {
    wayleave_repo_checks::run_tests(wayleave_repo_checks::tests![
        a_lab_stopped_during_creation_is_removed_and_a_killed_one_incomplete,
        a_stopped_run_prints_its_results_and_restores_cut_links,
        a_probe_names_the_place_of_its_loss_and_a_capture_shows_its_tags,
        an_agent_is_configured_in_one_step,
    ])
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn begun(arguments: &str) -> Child {
    command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Sends Ctrl-C, and returns the output.
fn stopped(child: Child) -> Output {
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    child.wait_with_output().unwrap()
}

/// Leaves the test out unless labs can be made on this machine.
fn require_labs() {
    let doctor: Value = serde_json::from_slice(&wayleave("doctor -o json").stdout).unwrap();
    let checks = doctor["checks"].as_array().unwrap().iter();
    if let Some(one) = checks.clone().find(|one| one["isRequired"] == true && one["state"] != "present") {
        let text = |field: &str| one[field].as_str().unwrap_or_default();
        leave_out(text("name"), format_args!("labs cannot be made here: {}; {}", text("detail"), text("remedy")));
    }
    assert_eq!(doctor["canRun"], true);
}

impl Lab {
    fn folder(&self) -> PathBuf {
        PathBuf::from("/run/wayleave/lab").join(&self.0)
    }

    fn status(&self) -> Value {
        json(&wayleave(&format!("lab status --name {} -o json", self.0)))
    }

    /// Returns the link that is cut by the lab's file: `lab status` takes seconds on a busy machine, as long as a cut.
    fn cut_link(&self) -> Option<String> {
        let text = std::fs::read_to_string(self.folder().join("state.json")).ok()?;
        serde_json::from_str::<Value>(&text).ok()?["cut"].as_str().map(str::to_owned)
    }
}

fn a_lab_stopped_during_creation_is_removed_and_a_killed_one_incomplete() {
    require_labs();
    let lab = Lab::new();
    let up = || begun(&format!("lab up -f fat-tree:k=4 --name {}", lab.0));
    // As soon as its folder is there, and while its controller is being started.
    for file in ["state.json", "controller.log"] {
        let child = up();
        wait_until("the lab begins", || lab.folder().join(file).exists());
        let output = stopped(child);
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        assert!(!lab.folder().exists(), "{file}: {output:?}");
    }
    let mut child = up();
    wait_until("the controller begins", || lab.folder().join("controller.log").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let status = wayleave(&format!("lab status --name {}", lab.0));
    let printed = text(&status.stdout);
    assert!(printed.contains("is incomplete") && lab.status()["isWhole"] == false, "{printed}");
}

fn a_stopped_run_prints_its_results_and_restores_cut_links() {
    require_labs();
    let lab = Lab::up("ring:switches=3,hosts=1");
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.yaml", lab.0));
    let contract = "name: a, from: h1, to: h2, rate: 1Mbit, burst: 3000B, deadline: 500ms";
    let text = format!(
        "apiVersion: wayleave/v1\nkind: Contracts\nmetadata: {{ name: a }}\nspec:\n  contracts:\n    - {{ {contract} }}\n"
    );
    std::fs::File::create(&file).unwrap().write_all(text.as_bytes()).unwrap();
    let run = |options: &str| begun(&format!("lab run -f {} --name {} {options} -o json", file.display(), lab.0));

    // Killed: the cable stays cut, which is known.
    let mut child = run("--lasts 8s --cut");
    wait_until("a cable is cut", || lab.cut_link().is_some());
    child.kill().unwrap();
    child.wait().unwrap();
    let link = lab.status()["cut"].as_str().unwrap_or_else(|| panic!("it is still cut")).to_owned();
    let printed = wayleave(&format!("lab status --name {}", lab.0));
    assert!(String::from_utf8_lossy(&printed.stdout).contains(&format!("CUT: {link}")), "{printed:?}");

    // The next run joins it, and shows what it has seen when it is stopped.
    let child = run("--lasts 100000s");
    wait_until("the cable is joined", || lab.status()["cut"].is_null());
    let output = stopped(child);
    if output.status.code() == Some(130) && !output.stdout.is_empty() {
        assert_eq!(json(&output)["isPartial"], true);
    }

    // Stopped with a cable cut, a run joins it.
    let child = run("--lasts 10s --cut");
    wait_until("a cable is cut again", || lab.cut_link().is_some());
    let output = stopped(child);
    let seen = json(&output);
    assert!(matches!(output.status.code(), Some(130 | 4)) && seen["isPartial"] == true, "{output:?}");
    assert!(seen["contracts"][0]["sent"].as_u64() > Some(10), "{seen}");
    assert!(lab.status()["cut"].is_null());
    let again = run("--lasts 1s").wait_with_output().unwrap();
    assert_eq!(json(&again)["isPartial"], false);
}

fn a_probe_names_the_place_of_its_loss_and_a_capture_shows_its_tags() {
    require_labs();
    let lab = Lab::up("ring:switches=3,hosts=1");
    let check = |options: &str| wayleave(&format!("lab probe h1 h2 --name {} {options} -o json", lab.0));
    let output = check("");
    let seen = json(&output);
    assert_eq!((output.status.code(), &seen["received"], &seen["lastSeenAt"]), (Some(0), &seen["sent"], &Value::Null));
    let places: Vec<&str> =
        seen["observations"].as_array().unwrap().iter().map(|one| one["place"].as_str().unwrap()).collect();
    assert_eq!((places[0], *places.last().unwrap()), ("host:h1 eth0", "host:h2 eth0"), "{seen:#}");
    let leaving = seen["observations"].as_array().unwrap().iter().find(|one| one["place"] == "h1 up1").unwrap();
    let frame = leaving["frame"].as_str().unwrap();
    assert!(frame.starts_with("[s1->s2 q") && frame.contains("][s2->h2 q"), "{frame}");

    // Without a static entry they ask for each other, and are answered.
    for host in ["h1", "h2"] {
        let flushed = wayleave(&format!("lab exec --name {} {host} -- ip neigh flush all nud permanent", lab.0));
        assert!(flushed.status.success(), "{flushed:?}");
    }
    let seen = json(&check(""));
    let carried = seen["counted"].as_array().unwrap().iter().any(|one| one["host"] == "h1" && one["what"] == "carried");
    assert!(seen["received"] == seen["sent"] && carried, "{seen:#}");

    let mut capture = begun(&format!("lab capture s1 --name {} --count 3", lab.0));
    wait_until("three frames are seen", || {
        check("--count 5");
        capture.try_wait().unwrap().is_some()
    });
    let shown = String::from_utf8(capture.wait_with_output().unwrap().stdout).unwrap();
    assert!(shown.lines().count() == 3 && shown.lines().all(|line| line.contains(" s1 p")), "{shown}");
    assert!(shown.contains("[s2->h2 q") && shown.contains("port 7 UDP"), "{shown}");
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.pcap", lab.0));
    let mut capture = begun(&format!("lab capture s1 --name {} --count 2 --write {}", lab.0, file.display()));
    wait_until("two frames are written", || {
        check("--count 5");
        capture.try_wait().unwrap().is_some()
    });
    let written = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(written.starts_with(&[0x4d, 0x3c, 0xb2, 0xa1]) && written.len() > 24 + 2 * (16 + 60), "{written:02x?}");

    // The interface of an endpoint is never repaired, so the packets that its host gets for it are lost there.
    let broken = wayleave(&format!("lab exec --name {} --node h2 -- ip link set dev e1 down", lab.0));
    assert!(broken.status.success(), "{broken:?}");
    let output = check("");
    let seen = json(&output);
    assert_eq!((output.status.code(), &seen["received"]), (Some(4), &Value::from(0)), "{seen:#}");
    assert_eq!(seen["lastSeenAt"], "h2 up1 (entering)", "{seen:#}");
    let delivered = seen["counted"].as_array().unwrap().iter().find(|one| one["what"] == "delivered");
    assert_eq!(
        delivered.map(|one| (&one["host"], &one["count"])),
        Some((&Value::from("h2"), &Value::from(10))),
        "{seen:#}"
    );
}

fn an_agent_is_configured_in_one_step() {
    use std::os::unix::fs::PermissionsExt;
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("init-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("token"), "a-secret-token-of-an-agent-0123456789\n").unwrap();
    let init = |more: &str| {
        let place = folder.display();
        wayleave(&format!(
            "agent init --node h1 --server https://c.example:7480 --token-file {place}/token --interface h1->s1=eth1 \
             --endpoint acme:web=tap0,100 --directory {place}/etc --unit {place}/unit --no-mount{more}"
        ))
    };
    let first = init("");
    assert!(first.status.success(), "{first:?}");
    let mode = |name: &str| std::fs::metadata(folder.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("etc/h1.token"), mode("etc/agent.yaml")), (0o600, 0o644));
    let unit = std::fs::read_to_string(folder.join("unit")).unwrap();
    assert!(unit.contains(&format!("--config {}/etc/agent.yaml", folder.display())), "{unit}");
    // The file is one that the agent reads.
    let source = wayleave_formats::Source::read(folder.join("etc/agent.yaml")).unwrap();
    let agent = wayleave_formats::read_agent(&source).unwrap();
    assert_eq!(
        (agent.nodes[0].interfaces["h1->s1"].as_str(), agent.nodes[0].endpoints["acme:web"].vlan),
        ("eth1", Some(100))
    );
    // With a certificate there is no token to be written; the certificate stays where it is.
    let place = folder.display();
    let certified = wayleave(&format!(
        "agent init --node h1 --server https://c.example:7480 --cert {place}/h1.pem --cert-key {place}/h1.key \
         --interface h1->s1=eth1 --directory {place}/certified --no-unit --no-mount"
    ));
    assert!(certified.status.success(), "{certified:?}");
    let source = wayleave_formats::Source::read(folder.join("certified/agent.yaml")).unwrap();
    let (chain, key) = (folder.join("h1.pem"), folder.join("h1.key"));
    let credential = wayleave_formats::AgentCredential::Certificate { chain, key };
    assert_eq!(wayleave_formats::read_agent(&source).unwrap().credential, Some(credential));
    assert!(!folder.join("certified/h1.token").exists());
    // A switch for which Open vSwitch forwards.
    let bridge = wayleave(&format!(
        "agent init --node s1 --server https://c.example:7480 --token-file {place}/token --interface s1->h1=eth1 --ovs br0 \
         --directory {place}/ovs --no-unit --no-mount"
    ));
    assert!(bridge.status.success(), "{bridge:?}");
    let source = wayleave_formats::Source::read(folder.join("ovs/agent.yaml")).unwrap();
    let agent = wayleave_formats::read_agent(&source).unwrap();
    assert_eq!(agent.nodes[0].ovs.as_ref().map(|ovs| ovs.bridge.as_str()), Some("br0"));
    let again = init("");
    let printed = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(again.status.code() == Some(2) && printed.contains("--force replaces it"), "{again:?}");
    assert!(init(" --force").status.success());
    std::fs::remove_dir_all(&folder).unwrap();
}
