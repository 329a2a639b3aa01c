//! Reports of agents: figures that no agent can count, and controllers that receive no reports.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use wayleave_controller::EnforcedBy;
use wayleave_replica::Lease;
use wayleave_server::disk::{Disk, ForeignChanges, Memory, Opened, WriterTurn};
use wayleave_store::{MemoryStore, StoreError, StoredRecord};

use crate::common::{World, contract, options};
use crate::load::{Agent, new_world, now_s, set_time};
use wayleave_repo_checks::TempFolder;

const LEADER: &str = "http://leader:7480";

/// A store that another controller writes.
struct Foreign(Arc<Mutex<MemoryStore>>);

impl Disk for Foreign {
    fn open(&mut self) -> Result<Opened, StoreError> {
        unreachable!("another controller leads")
    }

    fn turn(&mut self, _fits: &mut wayleave_server::disk::CheckRecords<'_>) -> Result<WriterTurn, StoreError> {
        let leader = Some(LEADER.to_owned());
        Ok(WriterTurn::Others { leader, news: ForeignChanges { changes: Some(Vec::new()), sequence: 1 } })
    }

    fn records(&mut self) -> Result<Vec<StoredRecord>, StoreError> {
        Ok(self.0.lock().unwrap().reopen())
    }

    fn name(&self) -> String {
        "foreign".to_owned()
    }

    fn lease(&self) -> Option<Lease> {
        Some(Lease::default())
    }
}

/// Catches: a follower that claims that no agent is connected, or silent.
#[test]
fn a_follower_names_the_leader_for_everything_that_agents_report() {
    let (disk, scratch) = (Arc::<Mutex<MemoryStore>>::default(), Arc::new(TempFolder::new("server")));
    let leader = World::of(options(Box::new(Memory(disk.clone())), &scratch, EnforcedBy::Hosts), scratch.clone());
    leader.client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    let agent = Agent::new(&leader, now_s(), "h1");
    agent.report(json!({}));
    let tenant = leader.client.token(json!({ "role": "tenant", "tenant": "default" }));
    let of = |world: &World| {
        let status = world.client.get("/v1/status").is(200).json();
        let host = world.client.get("/v1/hosts/h1").is(200).json();
        let hosts = world.client.get("/v1/hosts?limit=1").is(200).json();
        let summary = world.client.get("/v1/topology/summary").is(200).json();
        let silent = summary["tiers"][0]["nodeGroups"][0]["silent"].clone();
        let [open, listed] = [&host["agent"]["open"], &hosts["items"][0]["agent"]["open"]].map(Value::clone);
        (status["agents"].clone(), status["silent"].clone(), open, listed, silent)
    };
    assert_eq!(of(&leader), (json!(1), json!([]), json!(true), json!(true), json!(0)));
    let metrics = |world: &World| String::from_utf8(world.client.get("/metrics").is(200).body).unwrap();
    let of_leader = metrics(&leader);
    leader.end();
    let follower = World::of(options(Box::new(Foreign(disk)), &scratch, EnforcedBy::Hosts), scratch);
    let is_reading = || follower.client.get("/v1/contracts/a").status == 200;
    while !is_reading() {}
    assert_eq!(of(&follower), (Value::Null, Value::Null, Value::Null, Value::Null, Value::Null));
    for path in [
        "/v1/agents",
        "/v1/flows",
        "/v1/traffic",
        "/v1/contracts/a/traffic",
        "/v1/contracts/a/history",
        "/v1/links/h1-%3Epod1-edge1/history",
        "/v1/tenants/default/history",
        "/v1/tenants/default/statement",
    ] {
        let answer = follower.client.get(path).is_problem(421, "NOT_LEADER");
        assert_eq!(answer["leader"], LEADER, "{path}");
    }
    // Tenants need the address of the leader, too.
    let answer = tenant.at(&follower).get("/v1/traffic").is_problem(421, "NOT_LEADER");
    assert_eq!(answer["leader"], LEADER);
    let answer = tenant.at(&follower).put("/v1/contracts/b", &contract("h1", "h16", "1Mbit"));
    assert_eq!(answer.is_problem(421, "NOT_LEADER")["leader"], LEADER);
    let cluster = tenant.at(&follower).get("/v1/status").is(200).json()["cluster"].clone();
    assert_eq!((&cluster["role"], &cluster["leader"]), (&json!("follower"), &json!(LEADER)));
    let of_follower = metrics(&follower);
    for name in ["wayleave_agent_sessions", "wayleave_agents_silent", "wayleave_contract_packets"] {
        let samples = of_follower.lines().filter(|line| line.starts_with(name)).count();
        assert_eq!(samples, 0, "{name}");
    }
    // Rules and dashboards read gauges at `wayleave_ready` 1 only.
    for (metrics, ready) in [(of_follower, "wayleave_ready 0\n"), (of_leader, "wayleave_ready 1\n")] {
        assert!(metrics.contains("wayleave_contracts{state=") && metrics.contains(ready), "{metrics}");
    }
}

/// Catches: a follower that claims that no agent reports an element, or that it knows the present state of a contract.
#[test]
fn a_follower_refers_to_the_leaders_records_for_elements_and_withdrawn_contracts() {
    const LINK: &str = "h1->pod1-edge1";
    let (disk, scratch) = (Arc::<Mutex<MemoryStore>>::default(), Arc::new(TempFolder::new("server")));
    let leader = World::of(options(Box::new(Memory(disk.clone())), &scratch, EnforcedBy::Hosts), scratch.clone());
    leader.client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    Agent::new(&leader, now_s(), "h1").report(json!({ "withoutCarrier": [LINK] }));
    leader.end();
    let follower = World::of(options(Box::new(Foreign(disk)), &scratch, EnforcedBy::Hosts), scratch);
    let is_reading = || follower.client.get("/v1/contracts/a").status == 200;
    while !is_reading() {}
    let get = |path: &str| follower.client.get(path).is(200).json();
    let reason = "no carrier at h1 when last reported; agents report to the leader";
    let expected = json!({ "element": format!("link {LINK}"), "state": "unknown", "reason": reason });
    assert_eq!(get("/v1/topology")["down"], json!([expected]));
    assert_eq!(get("/v1/topology/summary")["down"], json!([expected]));
    assert_eq!(get("/v1/links/h1-%3Epod1-edge1")["downReason"], reason);
    let answer = follower.client.get("/v1/contracts/a/explanation").is_problem(409, "CONFLICT");
    let detail = answer["detail"].as_str().unwrap();
    assert!(
        detail.contains("degraded (FAILURE): by the leader's records: it cannot use link h1->pod1-edge1"),
        "{detail}"
    );
}

/// Catches: counters at 2^63 in a metric, on a page or in a file.
#[test]
fn figures_above_any_possible_value_reach_no_metric_and_are_named() {
    let start = now_s();
    let world = new_world(start);
    world.client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    let agents = [Agent::new(&world, start, "h1"), Agent::new(&world, start, "h16")];
    let traffic = |count: u64| {
        let mut traffic = json!({ "serial": 1, "waitedNs": count, "waits": [count, count] });
        for name in ["packets", "bytes", "delayed", "waiting", "queueFull", "oversized"] {
            traffic[name] = json!(count);
        }
        json!({ "traffic": [traffic], "packets": { "spoofed": count } })
    };
    let metric = |name: &str| {
        let text = String::from_utf8(world.client.get("/metrics").is(200).body).unwrap();
        text.lines().find_map(|line| line.strip_prefix(name).map(|value| value.trim().to_owned()))
    };
    set_time(&world, start + 1);
    [3, 10].into_iter().for_each(|count| agents[0].report(traffic(count)));
    assert_eq!(metric("wayleave_contract_packets_total{became=\"sent\"}").as_deref(), Some("7"));
    for (second, count) in [(10, 1 << 53), (20, 1 << 63), (30, u64::MAX)] {
        set_time(&world, start + second);
        agents[0].report(traffic(count));
        let listed = world.client.get("/v1/contracts/a/traffic").is(200).json();
        assert_eq!((&listed["reporting"], &listed["traffic"]), (&json!(0), &Value::Null), "{listed}");
        assert_eq!(
            metric("wayleave_contract_packets_total{became=\"sent\"}").as_deref(),
            Some("7"),
            "as counted before"
        );
        assert_eq!(metric("wayleave_host_packets_total{node=\"h1\",became=\"spoofed\"}"), None);
        let problems = world.client.get("/v1/status").is(200).json()["problems"].to_string();
        assert!(problems.contains("h1: its report has figures above any possible value"), "{problems}");
        assert!(problems.contains("packets (1), traffic."), "{problems}");
        let agents = world.client.get("/v1/agents?problems=true").is(200).json();
        assert!(agents["items"][0]["problems"].to_string().contains("which are ignored"), "{agents}");
    }
    // Packets that came too late, in a number that no host can count, are no violation.
    let measured = |late: u64, worst_ns: u64| json!({ "measured": [{ "serial": 1, "packets": 1, "late": late, "worstNs": worst_ns }] });
    let state = || world.client.get("/v1/contracts/a").is(200).json()["status"]["state"].clone();
    agents[1].report(measured(u64::MAX, 9_000_000));
    assert_ne!(state(), "violated");
    // Nor are late packets of which the slowest was within the bound.
    let bound = world.client.get("/v1/contracts/a").is(200).json()["status"]["boundNs"].as_u64().unwrap();
    agents[1].report(measured(1, bound));
    assert_ne!(state(), "violated");
    let problems = world.client.get("/v1/status").is(200).json()["problems"].to_string();
    assert!(problems.contains("h16: its report has late packets of contract default:a"), "{problems}");
    agents[1].report(measured(1, bound + 1));
    assert_eq!(state(), "violated");
    let problems = world.client.get("/v1/status").is(200).json()["problems"].to_string();
    assert!(!problems.contains("late packets"), "{problems}");
    agents[0].report(json!({}));
    let problems = world.client.get("/v1/status").is(200).json()["problems"].to_string();
    assert!(!problems.contains("above any possible value"), "{problems}");
}
