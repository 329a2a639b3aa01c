//! A controller that was restarted: nothing is known to be enforced until agents open sessions.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use wayleave_controller::{EnforcedBy, Timeouts};
use wayleave_server::Options;
use wayleave_server::disk::Memory;
use wayleave_store::MemoryStore;
use wayleave_units::Time;

use crate::common::{World, classed, contract, options};
use crate::load::{Agent, now_s};
use wayleave_repo_checks::TempFolder;

/// A server with agents of hosts and switches, whose agents never count as silent.
pub(crate) fn world(disk: &Arc<Mutex<MemoryStore>>, scratch: &Arc<TempFolder>, enforced_by: EnforcedBy) -> World {
    let options = options(Box::new(Memory(disk.clone())), scratch, enforced_by);
    let mut setup = classed(enforced_by);
    setup.timing = Timeouts { silent_after: Time::from_millis(3_600_000), ..setup.timing };
    World::of(Options { setup, ..options }, scratch.clone())
}

pub(crate) fn status(world: &World, name: &str) -> Value {
    world.client.get(&format!("/v1/contracts/{name}")).is(200).json()["status"].clone()
}

/// Begins a session of a node's agent after another one, with these rules.
pub(crate) fn session(world: &World, node: &str, after: Option<u64>, installed: Value) {
    let agent = world.client.token(json!({ "role": "agent", "node": node }));
    let mut spec = json!({ "installed": installed });
    if let Some(after) = after {
        spec["after"] = json!(after);
    }
    agent.post(&format!("/v1/agents/{node}/session"), &spec).is(200);
}

fn states(world: &World) -> [Value; 2] {
    ["ptp", "db"].map(|name| status(world, name)["state"].clone())
}

/// Catches: contracts that are "enforced" by the record of an earlier start, although no agent has confirmed them since.
#[test]
fn after_a_restart_contracts_are_not_confirmed_until_their_agents_open_sessions() {
    let (disk, scratch) = (Arc::default(), Arc::new(TempFolder::new("server")));
    let first = world(&disk, &scratch, EnforcedBy::Hosts);
    first.client.put("/v1/contracts/ptp", &contract("h1", "h16", "10Mbit")).is(201);
    first.client.put("/v1/contracts/db", &json!({ "bandwidth": { "hose": ["h1", "h16"], "min": "100Mbit" } })).is(201);
    let [ptp, db] = ["ptp", "db"].map(|name| status(&first, name)["serial"].clone());
    {
        let agents = ["h1", "h16"].map(|node| Agent::new(&first, now_s(), node));
        agents[0].confirm();
        let rules = json!({ "rulesInForce": [[db, 1]], "contractProblems": [] });
        agents.iter().for_each(|agent| agent.report(rules.clone()));
        assert_eq!(states(&first), [json!("enforced"), json!("enforced")]);
    }
    let enforced = status(&first, "ptp");
    first.end();
    let second = world(&disk, &scratch, EnforcedBy::Hosts);
    assert_eq!(states(&second), [json!("admitted"), json!("admitted")]);
    for (name, hosts) in [("ptp", "the agent of h1 has"), ("db", "the agents of h1 and h16 have")] {
        let status = status(&second, name);
        assert_eq!((&status["reason"], status.get("effective")), (&json!("NOT_CONFIRMED"), None), "{status}");
        let message = format!("{hosts} not confirmed it since this controller started");
        assert!(status["message"].as_str().unwrap().ends_with(&message), "{status}");
    }
    let counts = second.client.get("/v1/status").is(200).json();
    assert_eq!((&counts["contracts"]["enforced"], &counts["effective"]), (&json!(0), &json!(0)), "{counts}");
    let open = |node: &str, installed: Value| {
        let agent = second.client.token(json!({ "role": "agent", "node": node }));
        let begun = agent.post(&format!("/v1/agents/{node}/session"), &json!({ "after": 1, "installed": installed }));
        let report = json!({ "epoch": begun.is(200).json()["epoch"], "beat": true, "rulesInForce": [[db, 1]], "contractProblems": [] });
        (agent, report)
    };
    // The receiver of a latency contract does not enforce it.
    let (receiver, report) = open("h16", json!([]));
    receiver.post("/v1/agents/h16/reports", &report).is(204);
    assert_eq!(states(&second), [json!("admitted"), json!("admitted")]);
    let message = status(&second, "db")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("the agent of h1 has not confirmed it since"), "{message}");
    // A session names the installed rules of latency contracts, and its first report all others.
    let (sender, report) = open("h1", json!([[ptp, enforced["effective"]]]));
    assert_eq!(states(&second), [json!("enforced"), json!("admitted")]);
    sender.post("/v1/agents/h1/reports", &report).is(204);
    assert_eq!(states(&second), [json!("enforced"), json!("enforced")]);
    assert_eq!(status(&second, "ptp")["revision"], enforced["revision"], "it is no change of the contract");
    second.end();
    let third = world(&disk, &scratch, EnforcedBy::Hosts);
    assert_eq!(states(&third), [json!("admitted"), json!("admitted")]);
    third.end();
    let without = world(&disk, &scratch, EnforcedBy::Nobody);
    assert_eq!(status(&without, "ptp")["reason"], "NOT_ENFORCED");
}

/// Catches: a contract whose switches have not confirmed their queues since the start.
#[test]
fn after_a_restart_the_switches_of_a_contract_have_to_open_sessions_too() {
    let (disk, scratch) = (Arc::default(), Arc::new(TempFolder::new("server")));
    let first = world(&disk, &scratch, EnforcedBy::HostsAndSwitches);
    let network = classed(EnforcedBy::Nobody).network;
    let switches: Vec<&str> = network.switches().map(|switch| network.node(switch).name.as_str()).collect();
    for switch in &switches {
        session(&first, switch, None, json!([]));
        session(&first, switch, Some(1), json!([[0, 1]]));
    }
    first.client.put("/v1/contracts/ptp", &contract("h1", "h16", "10Mbit")).is(201);
    let serial = status(&first, "ptp")["serial"].clone();
    Agent::new(&first, now_s(), "h1").confirm();
    let enforced = status(&first, "ptp");
    assert_eq!(enforced["state"], "enforced", "{enforced}");
    first.end();
    let second = world(&disk, &scratch, EnforcedBy::HostsAndSwitches);
    session(&second, "h1", Some(1), json!([[serial, enforced["effective"]]]));
    let shown = status(&second, "ptp");
    assert_eq!((&shown["state"], &shown["reason"]), (&json!("admitted"), &json!("NOT_CONFIRMED")), "{shown}");
    for switch in &switches {
        session(&second, switch, Some(2), json!([[0, 1]]));
    }
    assert_eq!(status(&second, "ptp")["state"], "enforced");
}

/// Catches: links that are "up" while no agent observes them, as after a restart.
#[test]
fn a_link_is_unknown_until_a_connected_agent_observes_it_and_stays_down_while_it_is_reported_down() {
    const LINK: &str = "h1->pod1-edge1";
    // An agent that no longer reports does not observe what it reported.
    const OUTDATED: &str = "no carrier at h1 when last reported; no connected agent reports it now";
    let (disk, scratch) = (Arc::default(), Arc::new(TempFolder::new("server")));
    let link = |world: &World| {
        let link = world.client.get("/v1/links/h1-%3Epod1-edge1").is(200).json();
        (link["state"].as_str().unwrap().to_owned(), link["downReason"].as_str().map(str::to_owned))
    };
    let is = |world: &World, state: &str, why: Option<&str>| {
        assert_eq!(link(world), (state.to_owned(), why.map(str::to_owned)));
    };
    let first = world(&disk, &scratch, EnforcedBy::Hosts);
    is(&first, "unknown", None);
    {
        let sees = |agent: &Agent, links: &[&str]| agent.report(json!({ "withoutCarrier": links }));
        let agent = Agent::new(&first, now_s(), "h1");
        agent.report(json!({}));
        is(&first, "unknown", None);
        sees(&agent, &[]);
        is(&first, "up", None);
        let csv = String::from_utf8(first.client.get("/v1/links?format=csv").is(200).body).unwrap();
        assert!(csv.contains("h1->pod1-edge1,h1,pod1-edge1,up,,"), "{csv}");
        assert!(csv.contains("h2->pod1-edge1,h2,pod1-edge1,unknown,,"), "{csv}");
        sees(&agent, &[LINK]);
        is(&first, "down", Some("no carrier at h1"));
        // In a new session, what was seen in the one before is no longer observed.
        let agent = Agent::new(&first, now_s(), "h1");
        is(&first, "unknown", Some(OUTDATED));
        let down = first.client.get("/v1/topology").is(200).json()["down"].clone();
        assert_eq!(down, json!([{ "element": format!("link {LINK}"), "state": "unknown", "reason": OUTDATED }]));
        sees(&agent, &[LINK]);
        is(&first, "down", Some("no carrier at h1"));
        sees(&agent, &[]);
        is(&first, "up", None);
        let agent = Agent::new(&first, now_s(), "h1");
        is(&first, "unknown", None);
        sees(&agent, &[]);
        is(&first, "up", None);
        // Of two ends, the reason names the one that reports it now.
        sees(&agent, &[LINK]);
        let switch = Agent::new(&first, now_s(), "pod1-edge1");
        sees(&switch, &[LINK]);
        is(&first, "down", Some("no carrier at h1 and pod1-edge1"));
        let agent = Agent::new(&first, now_s(), "h1");
        is(&first, "down", Some("no carrier at pod1-edge1, and at h1 when last reported"));
        sees(&agent, &[]);
        sees(&switch, &[]);
        is(&first, "up", None);
        switch.report(json!({ "leaves": true }));
        agent.report(json!({ "leaves": true }));
        is(&first, "unknown", None);
        sees(&Agent::new(&first, now_s(), "h1"), &[LINK]);
    }
    first.end();
    let second = world(&disk, &scratch, EnforcedBy::Hosts);
    is(&second, "unknown", Some(OUTDATED));
    let down = json!({ "state": "down", "reason": "cut" });
    second.client.put("/v1/links/h1-%3Epod1-edge1/state", &down).is(200);
    is(&second, "down", Some("cut"));
    second.end();
    is(&world(&disk, &scratch, EnforcedBy::Hosts), "down", Some("cut"));
}

/// Catches: agents that are "ended" or "silent" after a restart, although nothing is known of them.
#[test]
fn an_agent_is_not_connected_since_the_start_until_it_opens_a_session() {
    let (disk, scratch) = (Arc::default(), Arc::new(TempFolder::new("server")));
    let first = world(&disk, &scratch, EnforcedBy::Hosts);
    first.client.put("/v1/contracts/ptp", &contract("h1", "h16", "10Mbit")).is(201);
    let connections = |world: &World, expected: [&str; 2]| {
        let agents = world.client.get("/v1/agents").is(200).json();
        for (node, expected) in ["h1", "h16"].into_iter().zip(expected) {
            let listed = agents["items"].as_array().unwrap().iter().find(|agent| agent["node"] == node).unwrap();
            let shown = world.client.get(&format!("/v1/nodes/{node}")).is(200).json()["agent"].clone();
            assert_eq!((&listed["connection"], &shown["connection"]), (&json!(expected), &json!(expected)), "{node}");
        }
        let silent: Vec<&str> =
            ["h1", "h16"].into_iter().zip(expected).filter(|one| one.1 == "silent").map(|one| one.0).collect();
        assert_eq!(world.client.get("/v1/status").is(200).json()["silent"], json!(silent));
        let metrics = String::from_utf8(world.client.get("/metrics").is(200).body).unwrap();
        assert!(metrics.contains(&format!("wayleave_agents_silent {}", silent.len())), "{metrics}");
    };
    {
        let agents = ["h1", "h16"].map(|node| Agent::new(&first, now_s(), node));
        agents[0].confirm();
        connections(&first, ["open", "open"]);
        agents[1].report(json!({ "leaves": true }));
        connections(&first, ["open", "silent"]);
    }
    first.end();
    let second = world(&disk, &scratch, EnforcedBy::Hosts);
    // The agent of h16 was uninstalled.
    connections(&second, ["not-since-start", "silent"]);
    let level = |world: &World| {
        let levels = world.client.get("/v1/health").is(200).json()["levels"].clone();
        levels.as_object().unwrap().iter().find(|(_, count)| **count == 1).unwrap().0.clone()
    };
    assert_eq!(level(&second), "not-enforced", "no agent is connected");
    let agent = Agent::new(&second, now_s(), "h1");
    connections(&second, ["open", "silent"]);
    assert_eq!(level(&second), "pending");
    agent.confirm();
    agent.report(json!({}));
    assert_eq!(level(&second), "ok");
    second.client.put("/v1/nodes/h1/state", &json!({ "state": "down" })).is(200);
    connections(&second, ["ended", "silent"]);
}
