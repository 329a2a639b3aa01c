//! Figures of agents after a change of the leader: the new leader claims none of them before agents report to it, and the
//! old one names itself a follower and forgets its own.

use std::path::Path;
use std::process::Command;

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use wayleave_repo_checks::wait_for;

use super::agents::ask;
use super::alone;
use super::clients::get;
use super::moving::{await_leader, serve_with};
use super::processes::{self, Etcd, folder};

pub(crate) fn a_new_leader_claims_nothing_that_its_agents_have_not_reported() {
    let _alone = alone();
    let folder = folder("observed");
    let etcd = Etcd::start(&folder, 1);
    let options = ["-t", "star:hosts=2", "--enforcement=hosts", &format!("--etcd={}", etcd.urls())];
    let controllers = ["first", "second"].map(|name| serve_with(&folder, &folder.join(format!("{name}.db")), &options));
    let token = processes::token(&folder);
    let leader = |besides: Option<usize>| await_leader(&controllers, &token, besides);
    let read = |at: usize, path: &str| wait_for("an answer", || get(&controllers[at].1, path, &token));
    let url = |at: usize, path: &str| format!("{}{path}", controllers[at].1);
    let metrics = |at: usize| {
        let asked = ureq::get(url(at, "/metrics")).header("authorization", format!("Bearer {token}"));
        asked.call().unwrap().body_mut().read_to_string().unwrap()
    };
    let has_packets = |at: usize| metrics(at).contains("wayleave_contract_packets_total{");
    let old = leader(None);
    let contract = json!({ "from": "h1", "to": "h2", "rate": "1Mbit", "burst": "3000B", "deadline": "5ms" });
    assert_eq!(ask("PUT", &url(old, "/v1/contracts/default:c"), &token, &contract).0, 201);
    let serial = read(old, "/v1/contracts/default:c").1["status"]["serial"].clone();
    let (status, session) = ask("POST", &url(old, "/v1/agents/h1/session"), &token, &json!({}));
    assert_eq!(status, 200, "{session}");
    describes_all_events(&controllers[old].1, &token, &folder);
    let version = read(old, "/v1/contracts/default:c").1["status"]["configured"].clone();
    let begin = |after: &Value, installed: Value| {
        let spec = json!({ "after": after["epoch"], "installed": installed });
        let (status, session) = ask("POST", &url(old, "/v1/agents/h1/session"), &token, &spec);
        assert_eq!(status, 200, "{session}");
        session
    };
    // The agent receives the rule in one session, and names it in the next one.
    let session = begin(&session, json!([]));
    let session = begin(&session, json!([[serial, version]]));
    assert_eq!(read(old, "/v1/contracts/default:c").1["status"]["state"], "enforced");
    let other = 1 - old;
    wait_for("the record of the confirmation", || {
        let status = get(&controllers[other].1, "/v1/contracts/default:c", &token)?.1["status"].clone();
        (status["state"] == "enforced" || status["reason"] == "FOLLOWER").then_some(())
    });
    claims_nothing(&controllers[other].1, &token, &folder);
    let report = |second: u64| {
        let one = json!({ "serial": serial, "packets": second, "bytes": 1_000 * second, "delayed": 0, "waiting": 0,
            "queueFull": 0, "oversized": 0, "waitedNs": 0, "waits": [] });
        let links = json!({ "readNs": 1_000_000_000 * second, "counters": [
            { "link": "h1->s1", "interface": 2, "bytes": 1_000 * second, "packets": second, "dropped": 0 }] });
        let report = json!({ "epoch": session["epoch"], "beat": true, "traffic": [one], "links": links,
            "troubles": ["a problem of h1"] });
        assert_eq!(ask("POST", &url(old, "/v1/agents/h1/reports"), &token, &report).0, 204);
    };
    report(1);
    let unknown_alerts = |at: usize| -> Vec<String> {
        let unknown = read(at, "/v1/alerts").1["unknown"].as_array().unwrap().clone();
        unknown.iter().map(|alert| alert["name"].as_str().unwrap().to_owned()).collect()
    };
    let rates = |at: usize| {
        let (_, contract) = read(at, "/v1/contracts/default:c");
        let (_, listed) = read(at, "/v1/contracts?sort=measured&order=desc");
        // Only the leader answers.
        let traffic = get(&controllers[at].1, "/v1/traffic", &token).map(|(_, traffic)| traffic).unwrap_or_default();
        let (_, links) = read(at, "/v1/links");
        let measured = links["items"].as_array().unwrap().iter().filter(|link| !link["measured"].is_null()).count();
        let listed = listed["items"][0]["status"]["rateBps"].clone();
        (contract["status"]["rateBps"].clone(), listed, traffic["rateBps"].clone(), measured)
    };
    // A rate expires within seconds, which may pass between two requests on a busy machine.
    let mut second = 1;
    wait_for("the leader has rates", || {
        second += 1;
        report(second);
        let (_, listed, sum, measured) = rates(old);
        (!listed.is_null() && !sum.is_null() && measured == 1).then_some(())
    });
    assert!(has_packets(old) && !unknown_alerts(old).contains(&"WayleaveAgentSilent".to_owned()));

    controllers[old].0.signal(Signal::SIGSTOP);
    let new = leader(Some(old));
    assert_eq!(rates(new), (Value::Null, Value::Null, Value::Null, 0));
    assert!(!has_packets(new));
    let unknown = unknown_alerts(new);
    for alert in ["WayleaveAgentSilent", "WayleaveContractsViolated", "WayleaveQueueFull", "WayleavePacketsLost"] {
        assert!(unknown.contains(&alert.to_owned()), "{alert}: {unknown:?}");
    }
    assert_eq!(read(new, "/v1/status").1["problems"], json!([]));
    // The agent has a session with the old leader.
    assert_eq!(read(new, "/v1/contracts/default:c").1["status"]["state"], "admitted");

    controllers[old].0.signal(Signal::SIGCONT);
    wait_for("the old leader follows", || {
        (get(&controllers[old].1, "/v1/status", &token)?.0 == "follower").then_some(())
    });
    // Agents report to the leader: the figures of the old one expire, and each answer names its role.
    wait_for("the old leader has forgotten its reports", || {
        let (role, status) = read(old, "/v1/status");
        let is_empty = rates(old).1.is_null() && !has_packets(old) && status["problems"].is_null();
        (role == "follower" && is_empty).then_some(())
    });
    claims_nothing(&controllers[old].1, &token, &folder);
    assert!(unknown_alerts(old).contains(&"WayleaveAgentSilent".to_owned()));
    let (status, problem) = ask("POST", &url(old, "/v1/agents/h1/session"), &token, &json!({}));
    assert_eq!((status, &problem["leader"]), (421, &json!(controllers[new].1)), "{problem}");
    // Without etcd, no controller knows the leader.
    drop(etcd);
    for at in [new, old] {
        wait_for("a controller without etcd has no role", || {
            let (role, status) = get(&controllers[at].1, "/v1/status", &token)?;
            (role == "unknown" && status["agents"].is_null()).then_some(())
        });
        claims_nothing(&controllers[at].1, &token, &folder);
    }
    let (status, problem) = ask("PUT", &url(new, "/v1/contracts/default:c"), &token, &contract);
    assert!(status != 200 && !problem.to_string().contains("is a follower"), "{status} {problem}");
    drop(controllers);
}

fn printed(address: &str, folder: &Path, arguments: &[&str]) -> String {
    let tokens = folder.join("token");
    let at = ["--server", address, "--token-file", tokens.to_str().unwrap()];
    let output = Command::new(env!("CARGO_BIN_EXE_wayleave")).args(arguments).args(at).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Events of a node are of two objects: the node, and its agent. Those of a link have the name of its cable.
fn describes_all_events(address: &str, token: &str, folder: &Path) {
    let down = json!({ "state": "down", "reason": "cut" });
    for element in ["nodes/h1", "links/s1-%3Eh1"] {
        assert_eq!(ask("PUT", &format!("{address}/v1/{element}/state"), token, &down).0, 200, "{element}");
    }
    let described = |kind: &str, name: &str| printed(address, folder, &["describe", kind, name]);
    for kind in ["host", "node"] {
        let text = described(kind, "h1");
        assert!(text.contains("agent-up") && text.contains("down       node h1"), "{kind}: {text}");
    }
    for link in ["h1->s1", "s1->h1"] {
        assert!(described("link", link).contains("  down       link "), "{link}: {}", described("link", link));
    }
    let text = described("contract", "default:c");
    assert!(text.contains("has no proof now") || text.contains("has no route now"), "{text}");
    for element in ["links/s1-%3Eh1", "nodes/h1"] {
        let up = json!({ "state": "up" });
        assert_eq!(ask("PUT", &format!("{address}/v1/{element}/state"), token, &up).0, 200, "{element}");
    }
}

/// Every reader of a controller to which agents do not report has records, and claims no effect of them.
fn claims_nothing(address: &str, token: &str, folder: &Path) {
    let read = |path: &str| {
        let asked = ureq::get(format!("{address}{path}")).header("authorization", format!("Bearer {token}"));
        asked.call().unwrap().body_mut().read_to_string().unwrap()
    };
    let object = |path: &str| -> Value { serde_json::from_str(&read(path)).unwrap() };
    wait_for("the records", || read("/v1/contracts").contains("default:c").then_some(()));
    let contract = object("/v1/contracts/default:c")["status"].clone();
    assert_ne!(contract["state"], "enforced", "{contract}");
    assert!(contract.get("effective").is_none(), "{contract}");
    let health = object("/v1/health");
    assert_eq!((&health["levels"]["ok"], &health["levels"]["best-estimate"]), (&json!(0), &json!(0)), "{health}");
    let status = object("/v1/status");
    assert_eq!(status["contracts"]["enforced"], 0, "{status}");
    for unknown in ["effective", "late", "agents", "silent", "problems"] {
        assert_eq!(status.get(unknown), Some(&Value::Null), "{unknown}: {status}");
    }
    assert!(read("/metrics").contains("wayleave_contracts{state=\"enforced\"} 0"));
    for link in object("/v1/links")["items"].as_array().unwrap() {
        assert!(link["state"] != "up" && link["measured"].is_null(), "{link}");
    }
    let printed = |arguments: &[&str]| printed(address, folder, arguments);
    let status = printed(&["status"]);
    assert!(!status.contains("are confirmed by all") && !status.contains("no agent is connected"), "{status}");
    let described = printed(&["describe", "contract", "default:c"]);
    let words = described.split_whitespace().collect::<Vec<_>>().join(" ");
    let claims = ["effective rule version", "late packets none reported"];
    assert!(claims.iter().all(|claim| !words.contains(claim)), "{described}");
}
