//! Agents: sessions, operations, confirmations, reports.

use serde_json::json;
use wayleave_controller::EnforcedBy;
use wayleave_server::disk::Memory;

use crate::common::{World, contract};

#[test]
fn a_contract_is_enforced_once_its_host_confirms() {
    let world = World::with(Box::new(Memory::default()), EnforcedBy::Hosts);
    let client = &world.client;
    let agent = client.token(json!({ "role": "agent", "node": "h1" }));
    agent.get("/v1/agents/h1/messages").is_problem(409, "STALE_EPOCH");
    let session = agent.post("/v1/agents/h1/session", &json!({ "installed": [] })).is(200).json();
    let epoch = session["epoch"].as_u64().unwrap();
    assert_eq!(agent.get(&format!("/v1/agents/h1/messages?epoch={epoch}")).is(200).json()["operations"], json!([]));

    // An operation that arrives during the wait ends the wait.
    let waiting = {
        let agent = agent.clone();
        std::thread::spawn(move || agent.get(&format!("/v1/agents/h1/messages?epoch={epoch}&wait=60")).is(200).json())
    };
    client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    assert_eq!(client.get("/v1/contracts/a").json()["status"]["state"], "admitted");
    let messages = waiting.join().unwrap();
    let operation = &messages["operations"][0];
    assert_eq!((&operation["do"], &operation["rule"]["id"]), (&json!("install"), &json!("default:a")), "{messages}");
    assert!(operation["rule"]["rateBps"].as_u64().unwrap() >= 10_000_000);
    let done = json!({ "epoch": epoch, "done": [[operation["serial"], operation["version"]]] });
    agent.post("/v1/agents/h1/confirmations", &done).is(204);
    let status = client.get("/v1/contracts/a").json()["status"].clone();
    assert_eq!(status["state"], "enforced");
    // Absent in both would be equal, too.
    assert_eq!((&status["configured"], &status["effective"]), (&operation["version"], &operation["version"]));
    assert!(status["effective"].is_u64(), "{status}");
    assert_eq!(client.get("/v1/nodes/h1").json()["agent"]["open"], true);

    let receiver = client.token(json!({ "role": "agent", "node": "h16" }));
    let other = receiver.post("/v1/agents/h16/session", &json!({})).is(200).json()["epoch"].as_u64().unwrap();
    let late = json!({ "epoch": other, "measured": [{ "serial": operation["serial"], "packets": 10, "late": 1, "worstNs": 9_000_000 }] });
    receiver.post("/v1/agents/h16/reports", &late).is(204);
    let status = client.get("/v1/contracts/a").json()["status"].clone();
    assert_eq!((&status["state"], &status["measured"]["worstNs"]), (&json!("violated"), &json!(9_000_000)), "{status}");
    assert_eq!(status["message"], "1 packet was late: it took 9 ms");

    let installed = json!([[operation["serial"], operation["version"]]]);
    let again = agent.post("/v1/agents/h1/session", &json!({ "installed": installed }));
    again.is_problem(409, "STALE_EPOCH");
    let again = agent.post("/v1/agents/h1/session", &json!({ "after": epoch, "installed": installed }));
    assert!(again.is(200).json()["epoch"].as_u64().unwrap() > epoch);
    agent.post("/v1/agents/h1/confirmations", &done).is_problem(409, "STALE_EPOCH");
    agent.get(&format!("/v1/agents/h1/messages?epoch={epoch}")).is_problem(409, "STALE_EPOCH");
    receiver.get("/v1/agents/h1/messages").is_problem(404, "NOT_FOUND");

    client.delete("/v1/contracts/a").is(204);
    assert_eq!(client.get("/v1/contracts/a").json()["status"]["state"], "released");
    let tenant = client.token(json!({ "role": "tenant", "tenant": "default" }));
    tenant.delete("/v1/contracts/a?force=true").is_problem(403, "FORBIDDEN");
    client.delete("/v1/contracts/a?force=true").is(204);
}

#[test]
fn counters_of_hosts_are_returned_and_summed() {
    let world = World::with(Box::new(Memory::default()), EnforcedBy::Hosts);
    let client = &world.client;
    let agent = client.token(json!({ "role": "agent", "node": "h1" }));
    let epoch = agent.post("/v1/agents/h1/session", &json!({})).is(200).json()["epoch"].as_u64().unwrap();
    client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    let unknown = json!({ "hosts": 1, "reporting": 0, "traffic": null, "rateBps": null, "waitedNs": null });
    assert_eq!(client.get("/v1/contracts/a/traffic").is(200).json(), unknown);
    let serial = agent.get("/v1/agents/h1/messages").is(200).json()["operations"][0]["serial"].clone();
    let traffic = |packets: u64| {
        json!([{ "serial": serial, "packets": packets, "bytes": 1_538 * packets, "delayed": 4, "waiting": 1, "queueFull": 2,
            "oversized": 0, "waitedNs": 9_000_000, "waits": [1, 3, 0] }])
    };
    let report = |epoch: u64, packets: u64| json!({ "epoch": epoch, "beat": true, "contractProblems": [], "repairs": ["the queues of up1 had been changed"], "traffic": traffic(packets), "packets": { "spoofed": 3, "guaranteed": packets }, "troubles": ["acme:web sends from elsewhere"] });
    for (second, packets) in [(0, 7), (2, 9)] {
        world.set_report_second(second);
        agent.post("/v1/agents/h1/reports", &report(epoch, packets)).is(204);
    }
    agent.post("/v1/agents/h1/reports", &report(epoch + 1, 99)).is_problem(409, "STALE_EPOCH");
    let known = client.get("/v1/contracts/a/traffic").is(200).json();
    let counters = &known["traffic"];
    assert_eq!(
        (&known["reporting"], &counters["packets"], &counters["queueFull"], &counters["waits"]),
        (&json!(1), &json!(9), &json!(2), &json!([1, 3, 0])),
        "{known}"
    );
    // Two packets of 1,538 B in two seconds.
    assert_eq!(known["rateBps"], 12_304, "{known}");
    client.get("/v1/contracts/b/traffic").is_problem(404, "NOT_FOUND");
    let text = |path: &str| String::from_utf8(client.get(path).is(200).body).unwrap();
    let metrics = text("/metrics");
    for line in [
        "wayleave_contract_packets_total{became=\"sent\"} 2",
        "wayleave_contract_packets_total{became=\"queue-full\"} 0",
        "wayleave_contract_wait_seconds_count 0",
        "wayleave_agents_silent 0",
        "wayleave_repairs_total{node=\"h1\"} 2",
        "wayleave_host_packets_total{node=\"h1\",became=\"spoofed\"} 3",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    let events = text("/v1/events");
    assert!(events.contains("repaired") && events.contains("the queues of up1 had been changed"), "{events}");
    let status = client.get("/v1/status").json();
    assert_eq!((&status["silent"], &status["problems"]), (&json!([]), &json!(["h1: acme:web sends from elsewhere"])));
    let tenant = client.token(json!({ "role": "tenant", "tenant": "default" }));
    assert_eq!(tenant.get("/v1/status").json()["problems"], json!([]), "what is wrong on hosts is nothing for tenants");
}

#[test]
fn packet_samples_of_two_hosts_are_combined() {
    let world = World::with(Box::new(Memory::default()), EnforcedBy::Hosts);
    let client = &world.client;
    let begin = |node: &str| {
        let agent = client.token(json!({ "role": "agent", "node": node }));
        let session = agent.post(&format!("/v1/agents/{node}/session"), &json!({})).is(200).json();
        (agent, session["epoch"].as_u64().unwrap())
    };
    let ((sender, from), (receiver, to)) = (begin("h1"), begin("h16"));
    client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    let serial = sender.get("/v1/agents/h1/messages").is(200).json()["operations"][0]["serial"].clone();
    let clock = json!({ "boot": "one", "aheadNs": 5 });
    let bound = client.get("/v1/contracts/a").is(200).json()["status"]["boundNs"].as_u64().unwrap();
    let problems = || client.get("/v1/status").is(200).json()["problems"].as_array().unwrap().len();
    let sent = |to: &str, bound: u64| {
        let packets = json!([{ "serial": serial, "to": to, "boundNs": bound, "packets": [[11, 100], [12, 200]] }]);
        json!({ "epoch": from, "beat": true, "contractProblems": [], "traffic": [{ "serial": serial, "packets": 2, "bytes": 100, "delayed": 0, "waiting": 0, "queueFull": 0,
            "oversized": 0, "waitedNs": 0, "waits": [] }], "samples": { "number": 0, "level": 0, "clock": clock, "sent": packets } })
    };
    // Packets of another sender, to another receiver, or with another bound are named and ignored.
    let of_receiver =
        json!({ "epoch": to, "beat": true, "contractProblems": [], "samples": sent("h16", bound)["samples"] });
    for (agent, path, report, ignored) in [
        (&sender, "/v1/agents/h1/reports", sent("a host that is none", bound), 1),
        (&sender, "/v1/agents/h1/reports", sent("h16", 1_000), 1),
        (&sender, "/v1/agents/h1/reports", sent("h16", bound), 0),
        (&receiver, "/v1/agents/h16/reports", of_receiver, 1),
    ] {
        agent.post(path, &report).is(204);
        assert_eq!(problems(), ignored, "{report}");
    }
    let arrived = json!({ "number": 0, "level": 0, "clock": clock, "arrived": [[11, 600], [12, 1_900]] });
    receiver.post("/v1/agents/h16/reports", &json!({ "epoch": to, "samples": arrived })).is(204);
    // The end of a run of equal packets is known ten seconds later; the unit tests of the outcome then need no time.
    assert_eq!(client.get("/v1/contracts/a/traffic").is(200).json()["traffic"].get("followed"), None);
    let metrics = String::from_utf8(client.get("/metrics").is(200).body).unwrap();
    for line in ["{became=\"followed\"} 0", "{became=\"lost\"} 0", "{became=\"late\"} 0"] {
        assert!(metrics.contains(&format!("wayleave_contract_packets_total{line}")), "{line} is not in\n{metrics}");
    }
    let wrong = json!({ "epoch": to, "samples": { "number": 1, "level": 0, "clock": { "boot": 7 } } });
    receiver.post("/v1/agents/h16/reports", &wrong).is_problem(400, "INVALID");
}

/// Catches: an agent that keeps the places of VMs of a lost ledger, since a backup counts the same changes again.
#[test]
fn ledgers_with_the_same_number_of_changes_have_their_own_tags() {
    let tag = |host: &str| {
        let world = World::with(Box::new(Memory::default()), EnforcedBy::Hosts);
        world.client.put("/v1/vms/default:web", &json!({ "placement": { "host": host } })).is(201);
        let agent = world.client.token(json!({ "role": "agent", "node": "h1" }));
        agent.get("/v1/agents/h1/neighbours").is(200).header("etag").unwrap().to_owned()
    };
    assert_ne!(tag("h3"), tag("h4"));
}

#[test]
fn an_agent_can_read_the_map_and_vm_placement_only() {
    let world = World::with(Box::new(Memory::default()), EnforcedBy::Hosts);
    let client = &world.client;
    client.put("/v1/tenants/acme", &json!({})).is(201);
    let agent = client.token(json!({ "role": "agent", "node": "h1" }));
    assert!(agent.get("/v1/topology").is(200).json()["document"].as_str().unwrap().contains("kind: Topology"));
    let first = agent.get("/v1/agents/h1/neighbours").is(200);
    assert_eq!(first.json()["vms"], json!([]));
    agent.send("GET", "/v1/agents/h1/neighbours", &[("if-none-match", first.header("etag").unwrap())], b"").is(304);

    let placed = json!({ "placement": { "host": "h3" }, "mac": "02:00:5e:10:00:01" });
    client.put("/v1/vms/acme:web", &placed).is(201);
    client.put("/v1/contracts/a", &contract("h1", "h16", "1Mbit")).is(201);
    let second =
        agent.send("GET", "/v1/agents/h1/neighbours", &[("if-none-match", first.header("etag").unwrap())], b"").is(200);
    let web = json!({ "id": "acme:web", "host": "h3", "mac": "02:00:5e:10:00:01" });
    assert_eq!(second.json()["vms"], json!([web]));
    client.put("/v1/links/pod1-edge1-%3Eh1/state", &json!({ "state": "down" })).is(200);
    client.put("/v1/nodes/core1/state", &json!({ "state": "down" })).is(200);
    let third = agent.get("/v1/agents/h1/neighbours").is(200);
    assert_ne!(third.header("etag"), second.header("etag"));
    let mut down: Vec<String> = serde_json::from_value(third.json()["downLinks"].clone()).unwrap();
    down.sort();
    assert_eq!(down, ["h1->pod1-edge1", "pod1-edge1->h1"]);
    assert_eq!(third.json()["downNodes"], json!(["core1"]));

    agent.get("/v1/agents/h2/neighbours").is_problem(404, "NOT_FOUND");
    agent.get("/v1/vms").is_problem(403, "FORBIDDEN");
    agent.get("/v1/links").is_problem(403, "FORBIDDEN");
    let tenant = client.token(json!({ "role": "tenant", "tenant": "acme" }));
    tenant.get("/v1/agents/h1/neighbours").is_problem(403, "FORBIDDEN");
    tenant.get("/v1/topology").is_problem(403, "FORBIDDEN");
}
