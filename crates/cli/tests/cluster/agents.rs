//! An agent with the addresses of two controllers: it changes over to the one that leads, and messages of an older
//! session are refused.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use wayleave_dataplane::sandbox::Apart;
use wayleave_repo_checks::{leave_out, wait_for};

use super::alone;
use super::clients::get;
use super::moving::{await_leader, serve_with};
use super::processes::{self, Etcd, Process, folder};
use nix::sys::signal::Signal;

/// The status of an answer, and the answer.
pub(crate) fn ask(method: &str, url: &str, token: &str, body: &Value) -> (u16, Value) {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let request = ureq::http::Request::builder().method(method).uri(url).header("content-type", "application/json");
    let request = request.header("authorization", format!("Bearer {token}")).body(body.to_string()).unwrap();
    let mut answer = agent.run(request).unwrap();
    let body = answer.body_mut().read_to_vec().unwrap();
    (answer.status().as_u16(), serde_json::from_slice(&body).unwrap_or_default())
}

fn rules_of(interface: &str) -> String {
    let shown = Command::new("tc").args(["filter", "show", "dev", interface, "egress"]).output().unwrap();
    let shown = [
        shown.stdout,
        Command::new("tc").args(["filter", "show", "dev", interface, "ingress"]).output().unwrap().stdout,
    ];
    shown.map(|text| String::from_utf8_lossy(&text).into_owned()).concat()
}

fn configuration(folder: &Path, pins: &Path, servers: &str) -> String {
    let (file, place) = (folder.join("agent.yaml"), folder.display());
    let text = format!(
        "apiVersion: wayleave/v1\nkind: Agent\nspec:\n  server: {servers}\n  tokenFile: {place}/token\n  \
         state: {place}/state\n  pins: {}\n  nodes:\n    - {{ node: h1, interfaces: {{ \"h1->s1\": up0 }}, \
         endpoints: [ {{ host: h1, interface: own }} ] }}\n",
        pins.display()
    );
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

pub(crate) fn an_agent_moves_to_the_next_leader_and_older_sessions_are_refused() {
    let _alone = alone();
    let folder = folder("agents");
    let apart = Apart::enter(&folder.with_extension("bpf")).unwrap_or_else(|error| {
        leave_out("root", format_args!("it needs root, network namespaces and eBPF. {error}"));
    });
    apart.veth("own", 101).unwrap();
    apart.veth("up0", 111).unwrap();
    let etcd = Etcd::start(&folder, 1);
    let options = ["-t", "star:hosts=2", "--enforcement=hosts", &format!("--etcd={}", etcd.urls())];
    let controllers = ["first", "second"].map(|name| serve_with(&folder, &folder.join(format!("{name}.db")), &options));
    let token = processes::token(&folder);
    let leader = |besides: Option<usize>| await_leader(&controllers, &token, besides);
    let old = leader(None);
    let contract = json!({ "from": "h1", "to": "h2", "rate": "1Mbit", "burst": "3000B", "deadline": "5ms" });
    let url = |at: usize, path: &str| format!("{}{path}", controllers[at].1);
    assert_eq!(ask("PUT", &url(old, "/v1/contracts/default:c"), &token, &contract).0, 201);
    // It asks one that follows first.
    let servers = format!("{},{}", controllers[1 - old].1, controllers[old].1);
    let config = configuration(&folder, apart.pins(), &servers);
    let wayleave = env!("CARGO_BIN_EXE_wayleave").to_owned();
    let _agent =
        Process::start(&folder.join("agent.log"), &[wayleave, "agent".to_owned(), "--config".to_owned(), config]);
    let state = |at: usize| {
        get(&controllers[at].1, "/v1/contracts/default:c", &token).map(|(_, found)| found["status"]["state"].clone())
    };
    let epoch = |at: usize| {
        get(&controllers[at].1, "/v1/nodes/h1", &token).and_then(|(_, found)| found["agent"]["epoch"].as_u64())
    };
    wait_for("the contract is enforced", || (state(old)? == "enforced").then_some(()));
    let (first, installed) = (epoch(old).unwrap(), rules_of("own"));
    assert!(!installed.is_empty(), "nothing is installed");

    controllers[old].0.signal(Signal::SIGSTOP);
    let new = leader(Some(old));
    wait_for("a session of the new leader", || (epoch(new)? > first && state(new)? == "enforced").then_some(()));
    assert_eq!(rules_of("own"), installed, "what was installed was said, and stays");
    controllers[old].0.signal(Signal::SIGCONT);
    wait_for("the old leader follows", || {
        (get(&controllers[old].1, "/v1/status", &token)?.0 == "follower").then_some(())
    });

    // Messages in the session of the old leader are refused by both.
    let late = json!({ "epoch": first, "done": [[1, 1]] });
    let (status, problem) = ask("POST", &url(new, "/v1/agents/h1/confirmations"), &token, &late);
    assert_eq!((status, &problem["code"]), (409, &json!("STALE_EPOCH")), "{problem}");
    let (status, problem) = ask("POST", &url(old, "/v1/agents/h1/confirmations"), &token, &late);
    assert_eq!((status, &problem["leader"]), (421, &json!(controllers[new].1)), "{problem}");
    // Contracts of the new leader are carried out, with packets of their own.
    let mut other = contract;
    other["match"] = json!({ "protocol": "udp" });
    assert_eq!(ask("PUT", &url(new, "/v1/contracts/default:d"), &token, &other).0, 201);
    wait_for("it is enforced", || {
        let (_, found) = get(&controllers[new].1, "/v1/contracts/default:d", &token)?;
        (found["status"]["state"] == "enforced").then_some(())
    });
    drop(controllers);
    drop(etcd);
    drop(apart);
    let _ = std::fs::remove_dir(folder.with_extension("bpf"));
}
