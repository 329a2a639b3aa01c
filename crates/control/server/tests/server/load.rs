//! Measured load: counters of links, histories, flows, and the monthly statement.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use wayleave_controller::{EnforcedBy, Timeouts};
use wayleave_server::disk::Memory;
use wayleave_server::{LoadClock, Options};
use wayleave_store::MemoryStore;
use wayleave_units::{Time, WallTime};

use crate::common::{Client, World, contract, options};
use wayleave_repo_checks::TempFolder;

pub(crate) const SECOND: u64 = 1_000_000_000;

pub(crate) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

pub(crate) fn at(seconds: u64) -> WallTime {
    WallTime::from_nanos(seconds * SECOND)
}

/// A server whose load is measured by the test's clock, from `start` on. Agents count as silent only after an hour: a slow
/// machine changes no result.
pub(crate) fn world(
    start: u64,
    disk: &Arc<Mutex<MemoryStore>>,
    scratch: Arc<TempFolder>,
    file: Option<&Path>,
) -> World {
    let options = options(Box::new(Memory(disk.clone())), &scratch, EnforcedBy::Hosts);
    let mut setup = options.setup.clone();
    setup.timing = Timeouts { silent_after: Time::from_millis(3_600_000), ..setup.timing };
    let load_clock = LoadClock::Caller(Some(at(start)));
    World::of(Options { setup, load_file: file.map(Path::to_owned), load_clock, ..options }, scratch)
}

pub(crate) fn new_world(start: u64) -> World {
    world(start, &Arc::default(), Arc::new(TempFolder::new("server")), None)
}

pub(crate) fn record(world: &World, seconds: u64) {
    world.server.as_ref().unwrap().record_load(at(seconds));
}

pub(crate) fn set_time(world: &World, seconds: u64) {
    world.report_time.store(seconds, Ordering::Relaxed);
    world.server.as_ref().unwrap().set_load_time(at(seconds));
}

/// An agent with a session, on a machine that was started at `boot`.
pub(crate) struct Agent<'a> {
    world: &'a World,
    boot: u64,
    pub(crate) client: Client,
    node: &'static str,
    pub(crate) epoch: u64,
    /// Serial numbers of the latency contracts that it sends.
    serials: RefCell<BTreeSet<u64>>,
}

impl<'a> Agent<'a> {
    pub(crate) fn new(world: &'a World, boot: u64, node: &'static str) -> Self {
        let client = world.client.token(json!({ "role": "agent", "node": node }));
        let open = |spec: &Value| client.post(&format!("/v1/agents/{node}/session"), spec);
        let mut session = open(&json!({}));
        // The node had a session before.
        if session.status == 409 {
            session = open(&json!({ "after": session.json()["epoch"] }));
        }
        let session = session.is(200).json();
        let epoch = session["epoch"].as_u64().unwrap();
        Self { world, boot, client, node, epoch, serials: RefCell::default() }
    }

    pub(crate) fn path(&self, what: &str) -> String {
        format!("/v1/agents/{}/{what}", self.node)
    }

    /// Reports counters of no traffic, read when they arrive. `more` replaces fields, and has `null` for those that are left
    /// out.
    pub(crate) fn report(&self, more: Value) {
        let read_ns = self.world.report_time.load(Ordering::Relaxed).saturating_sub(self.boot) * SECOND;
        let traffic: Vec<Value> = self.serials.borrow().iter().map(|serial| counted(&json!(serial), 0)).collect();
        let mut report = json!({ "epoch": self.epoch, "beat": true, "traffic": traffic, "contractProblems": [],
            "links": { "readNs": read_ns, "counters": [] } });
        let fields = report.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        fields.retain(|_, field| !field.is_null());
        self.client.post(&self.path("reports"), &report).is(204);
    }

    /// Reports counters that are read when they are reported.
    fn links(&self, read_s: u64, counters: &[Value]) {
        self.links_at(read_s, read_s, counters);
    }

    /// Reports counters whose reading the agent states at another time. Both are in seconds since the start of its
    /// machine.
    fn links_at(&self, arrival_s: u64, read_s: u64, counters: &[Value]) {
        set_time(self.world, self.boot + arrival_s);
        self.report(json!({ "links": { "readNs": read_s * SECOND, "counters": counters } }));
    }

    /// Confirms everything that the controller asks for.
    pub(crate) fn confirm(&self) {
        let messages = self.client.get(&self.path("messages")).is(200).json();
        let operations = messages["operations"].as_array().unwrap();
        for one in operations {
            let (serial, mut serials) = (one["serial"].as_u64().unwrap(), self.serials.borrow_mut());
            let _ = if one["do"] == "install" { serials.insert(serial) } else { serials.remove(&serial) };
        }
        let done: Vec<Value> = operations.iter().map(|one| json!([one["serial"], one["version"]])).collect();
        self.client.post(&self.path("confirmations"), &json!({ "epoch": self.epoch, "done": done })).is(204);
    }
}

/// Counters of a contract that has sent these bytes.
pub(crate) fn counted(serial: &Value, bytes: u64) -> Value {
    json!({ "serial": serial, "packets": bytes.div_ceil(1_000), "bytes": bytes, "delayed": 0, "waiting": 0, "queueFull": 0,
        "oversized": 0, "waitedNs": 0, "waits": [] })
}

fn counter(link: &str, interface: u32, bytes: u64, dropped: u64) -> Value {
    json!({ "link": link, "interface": interface, "bytes": bytes, "packets": bytes / 1_000, "dropped": dropped })
}

fn measured(client: &Client, link: &str) -> Value {
    client.get(&format!("/v1/links/{}", link.replace('>', "%3E"))).is(200).json()["measured"].clone()
}

const OUT: &str = "h1->pod1-edge1";
const INTO: &str = "pod1-edge1->h1";

#[test]
fn a_link_has_the_rate_of_its_sender_and_wrong_counters_are_unknown_and_named() {
    let boot = now_s();
    let world = new_world(boot + 99);
    let client = &world.client;
    assert_eq!(measured(client, OUT), Value::Null);
    let agent = Agent::new(&world, boot, "h1");
    // An agent without counters of links, as of an earlier version.
    agent.report(json!({ "links": null }));
    agent.links(100, &[counter(OUT, 3, 1_000_000, 1), counter(INTO, 3, 0, 0)]);
    assert_eq!(measured(client, OUT), Value::Null, "one reading is no rate");
    agent.links(101, &[counter(OUT, 3, 1_125_000, 3), counter(INTO, 3, 250_000, 0)]);
    let known = measured(client, OUT);
    assert_eq!(
        (&known["rateBps"], &known["source"], &known["dropped"]),
        (&json!(1_000_000), &json!("sender"), &json!(2))
    );
    let known = measured(client, INTO);
    assert_eq!((&known["rateBps"], &known["source"]), (&json!(2_000_000), &json!("receiver")));
    let listed = client.get("/v1/links?limit=1000").is(200).json();
    let listed = listed["items"].as_array().unwrap().iter().find(|link| link["name"] == OUT).unwrap().clone();
    assert_eq!(listed["measured"]["rateBps"], 1_000_000);
    // A counter that goes back, a replaced interface, and a long silence leave the interval unknown.
    for (read, interface, bytes) in [(102, 3, 5_000), (103, 4, 90_000), (110, 4, 95_000)] {
        agent.links(read, &[counter(OUT, interface, bytes, 0)]);
        assert_eq!(measured(client, OUT), Value::Null, "{read}");
    }
    agent.links(111, &[counter(OUT, 4, 220_000, 0)]);
    assert_eq!(measured(client, OUT)["rateBps"], 1_000_000);
    // A clock that goes back: its reports count as late for five seconds, then its rates are unknown for ten.
    let problems = |client: &Client| client.get("/v1/status").is(200).json()["problems"].to_string();
    for second in 112..=127 {
        agent.links_at(second, second - 62, &[counter(OUT, 4, 220_000 + 125_000 * (second - 111), 0)]);
        assert_eq!(
            problems(client).contains("h1: the times of its counters"),
            (117..127).contains(&second),
            "{second}"
        );
        assert_eq!(measured(client, OUT).is_null(), second >= 116, "{second}");
    }
    agent.links_at(128, 66, &[counter(OUT, 4, 2_345_000, 0)]);
    assert_eq!(measured(client, OUT)["rateBps"], 1_000_000);
    // A clock that runs at twice the speed doubles or halves no rate for long.
    for second in 129..=131 {
        agent.links_at(second, 66 + 2 * (second - 128), &[counter(OUT, 4, 2_345_000 + 125_000 * (second - 128), 0)]);
    }
    assert_eq!(measured(client, OUT), Value::Null);
    (150..=165).for_each(|second| agent.links(second, &[counter(OUT, 4, 125_000 * second, 0)]));
    assert_eq!(measured(client, OUT)["rateBps"], 1_000_000);
    // Forged counters: too large, of no link, of a link elsewhere.
    agent.links(166, &[counter(OUT, 4, 1 << 62, 0)]);
    assert_eq!(measured(client, OUT), Value::Null);
    let named = "h1: the counters of link h1->pod1-edge1 show more than its line rate, 1Gbit";
    assert!(problems(client).contains(named), "{}", problems(client));
    agent.links(167, &[counter("no such\u{202e}link", 1, 5, 0), counter("h2->pod1-edge1", 1, 9_000, 0)]);
    agent.links(168, &[counter("no such link", 1, 9, 0), counter("h2->pod1-edge1", 1, 99_000, 0)]);
    assert_eq!(measured(client, "h2->pod1-edge1"), Value::Null);
    let named = "h1: counters of no such link, h2->pod1-edge1 are ignored";
    assert!(problems(client).contains(named), "{}", problems(client));
    agent.links(169, &[]);
    assert!(!problems(client).contains("counters of"), "{}", problems(client));
    // A tenant is shown neither links nor problems of nodes.
    client.put("/v1/tenants/shop", &json!({})).is(201);
    let tenant = client.token(json!({ "role": "tenant", "tenant": "shop" }));
    tenant.get("/v1/links/h1-%3Epod1-edge1/history").is_problem(403, "FORBIDDEN");
    agent.client.get("/v1/links/h1-%3Epod1-edge1/history").is_problem(403, "FORBIDDEN");
}

/// Points of a history, as their means.
fn means(history: &Value) -> Vec<Value> {
    history["points"].as_array().unwrap().iter().map(|point| point["meanBps"].clone()).collect()
}

#[test]
fn histories_survive_a_restart_with_a_gap_and_have_null_where_nothing_was_observed() {
    let (disk, scratch) = (Arc::default(), Arc::new(TempFolder::new("server")));
    let file = scratch.join("ledger.db-load");
    let base = now_s() / 600 * 600 - 1_200;
    let world = |start, file| world(start, &disk, scratch.clone(), Some(file));
    // Neither the first point nor the first chunk on disk begins with the server.
    let start = base + 3;
    let first = world(start, &file);
    let path = |from: u64, to: u64, step: u64| {
        format!("/v1/links/h1-%3Epod1-edge1/history?from={}&to={}&step={step}", at(from), at(to))
    };
    {
        // The engine computes reservations while it is idle.
        while first.client.get("/v1/links/h1-%3Epod1-edge1").is(200).json()["capacity"].is_null() {}
        let agent = Agent::new(&first, base, "h1");
        agent.links(3, &[counter(OUT, 3, 0, 0)]);
        // Two minutes at 1 Mbit/s, with 2 Mbit/s in one of the seconds of each slot.
        let mut bytes = 0;
        for slot in 1..=12 {
            for second in if slot == 1 { 3..10 } else { 0..10 } {
                bytes += if second == 3 { 250_000 } else { 125_000 };
                agent.links(slot * 10 + second - 9, &[counter(OUT, 3, bytes, 0)]);
            }
            record(&first, base + slot * 10);
        }
        set_time(&first, base + 150);
        let fine = first.client.get(&path(base, base + 150, 10)).is(200).json();
        // Of the first slot, seven seconds are known.
        let mut expected = vec![json!(1_100_000); 12];
        expected[0] = json!(1_142_857);
        expected.extend([Value::Null, Value::Null, Value::Null]);
        assert_eq!(means(&fine), expected, "{fine}");
        let point = &fine["points"][0];
        assert_eq!((&point["maxBps"], &point["at"]), (&json!(2_000_000), &json!(at(base).to_string())));
        assert_eq!((&point["reservedBps"], &point["unreported"]), (&json!(0), &json!(0)));
        assert_eq!(fine["since"], at(start).to_string());
    }
    first.end();
    let second = world(base + 190, &file);
    record(&second, base + 200);
    set_time(&second, base + 240);
    let coarse = second.client.get(&path(base, base + 240, 60)).is(200).json();
    assert_eq!(means(&coarse), [json!(1_107_142), json!(1_100_000), Value::Null, Value::Null], "{coarse}");
    assert_eq!((&coarse["points"][0]["maxBps"], &coarse["since"]), (&json!(2_000_000), &json!(at(start).to_string())));
    let other = second.client.get("/v1/links/h2-%3Epod1-edge1/history").is(200).json();
    assert_eq!(other["since"], Value::Null, "nothing is retained of this link");
    // Without a step, older minutes are found, too.
    let chosen = format!("/v1/links/h1-%3Epod1-edge1/history?from={}&to={}", at(base), at(base + 240));
    assert_eq!(second.client.get(&chosen).is(200).json(), coarse);
    let csv = second.client.get(&format!("{}&format=csv", path(base, base + 180, 60))).is(200);
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    let text = String::from_utf8(csv.body).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), lines[0]), (4, "at,meanBps,maxBps,reservedBps,unreported"));
    assert!(lines[1].ends_with("Z,1107142,2000000,0,0") && lines[3].ends_with("Z,,,,0"), "{text}");
    // Each error names its parameter.
    for (name, value) in [
        ("step", "15"),
        ("step", "0"),
        ("step", "86401"),
        ("format", "xml"),
        ("from", "yesterday"),
        ("from", "2500-01-01T00:00:00Z"),
        ("from", "1970-01-01T00:00:00Z"),
        ("from", ""),
        ("to", "yesterday"),
        ("to", "1970-01-01T00:00:00Z"),
        ("to", ""),
        ("stp", "60"),
    ] {
        let answer = second.client.get(&format!("/v1/links/h1-%3Epod1-edge1/history?{name}={value}"));
        answer.is_problem(400, "INVALID");
        assert_eq!(answer.json()["errors"][0]["field"], name, "{value}");
    }
    second.end();
    // A damaged file: the controller decides contracts, the past is unknown, and the problem is listed.
    std::fs::write(&file, "no database".repeat(1_000)).unwrap();
    let third = world(base + 250, &file);
    // Before anything reads the file.
    let problems = third.client.get("/v1/status").is(200).json()["problems"].to_string();
    assert!(problems.contains("begin anew") && problems.contains("ledger.db-load-damaged"), "{problems}");
    third.client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    assert_eq!(means(&third.client.get(&path(base, base + 120, 60)).is(200).json()), [Value::Null, Value::Null]);
    third.end();
    // A place that cannot be written.
    let fourth = world(base + 350, &scratch);
    fourth.client.put("/v1/contracts/b", &contract("h1", "h16", "10Mbit")).is(201);
    fourth.client.get("/v1/tenants/default/statement").is_problem(503, "UNAVAILABLE");
    let problems = fourth.client.get("/v1/status").is(200).json()["problems"].to_string();
    assert!(problems.contains("measured load") && problems.contains("unknown"), "{problems}");
    record(&fourth, base + 400);
    fourth.client.put("/v1/contracts/c", &contract("h1", "h16", "10Mbit")).is(201);
}

#[test]
fn contracts_and_tenants_have_a_history_of_what_their_hosts_report() {
    let base = now_s() / 60 * 60 - 120;
    let world = new_world(base);
    let client = &world.client;
    client.put("/v1/tenants/brief", &json!({})).is(201);
    client.put("/v1/tenants/shop", &json!({})).is(201);
    client.put("/v1/contracts/shop:web", &contract("h1", "h16", "10Mbit")).is(201);
    client.put("/v1/contracts/shop:dark", &contract("h2", "h16", "10Mbit")).is(201);
    let serial = client.get("/v1/contracts/shop:web").is(200).json()["status"]["serial"].clone();
    let agent = Agent::new(&world, base, "h1");
    record(&world, base);
    for second in 0..=10 {
        set_time(&world, base + second);
        let traffic = json!([counted(&serial, 125_000 * second)]);
        agent.report(json!({ "traffic": traffic, "links": { "readNs": (second + 1) * SECOND, "counters": [] } }));
    }
    // Rates of flows are those of the last five seconds.
    let flows = client.get("/v1/flows").is(200).json();
    record(&world, base + 10);
    record(&world, base + 20);
    let history = |what: &str| {
        let path = format!("/v1/{what}/history?from={}&to={}&step=10", at(base), at(base + 20));
        client.get(&path).is(200).json()["points"].clone()
    };
    let point = |seconds: u64, mean: Value, reserved: u64, unreported: u64| {
        let time = at(base + seconds).to_string();
        json!({ "at": time, "meanBps": mean, "maxBps": mean, "reservedBps": reserved, "unreported": unreported })
    };
    let reserved = history("contracts/shop:web")[0]["reservedBps"].as_u64().unwrap();
    assert!(reserved >= 10_000_000);
    let web = json!([point(0, json!(1_000_000), reserved, 0), point(10, Value::Null, reserved, 1)]);
    assert_eq!(history("contracts/shop:web"), web);
    let shop = json!([point(0, json!(1_000_000), 2 * reserved, 1), point(10, Value::Null, 2 * reserved, 2)]);
    assert_eq!(history("tenants/shop"), shop);
    assert_eq!(history("tenants/default")[0], point(0, Value::Null, 0, 0), "without contracts nothing is measured");
    assert_eq!(history("contracts/shop:dark")[0]["meanBps"], Value::Null);

    assert_eq!((&flows["contracts"], &flows["measured"], &flows["omitted"]), (&json!(2), &json!(1), &json!(0)));
    let edges = flows["edges"].as_array().unwrap();
    let sum = |from: &str, key: &str| -> u64 {
        edges.iter().filter(|edge| edge["from"]["kind"] == from).filter_map(|edge| edge[key].as_u64()).sum()
    };
    // Everything that leaves a tenant enters a host.
    for key in ["rateBps", "reservedBps"] {
        assert_eq!(sum("tenant", key), sum("link", key), "{key}: {flows}");
    }
    assert_eq!(sum("tenant", "reservedBps"), 2 * reserved);
    assert!(edges.iter().all(|edge| edge["to"]["kind"] != "host" || edge["to"]["name"] == "h16"), "{flows}");
    client.get("/v1/flows?tenant=nosuch").is_problem(404, "NOT_FOUND");
    let one = client.get("/v1/flows?limit=1").is(200).json();
    assert!(one["edges"].as_array().unwrap().len() == 2 || one["omitted"] == 0, "{one}");

    // A tenant sees its own, without names of links; another tenant's is hidden.
    let own = client.token(json!({ "role": "tenant", "tenant": "shop" }));
    let other = client.token(json!({ "role": "tenant", "tenant": "default" }));
    let reader = client.token(json!({ "role": "reader" }));
    for path in ["/v1/contracts/shop:web/history", "/v1/tenants/shop/history", "/v1/tenants/shop/statement"] {
        own.get(path).is(200);
        reader.get(path).is(200);
        other.get(path).is_problem(404, "NOT_FOUND");
        agent.client.get(path).is_problem(403, "FORBIDDEN");
    }
    client.get("/v1/tenants/none/history").is_problem(404, "NOT_FOUND");
    assert!(!own.get("/v1/flows").is(200).json().to_string().contains("->"));
    assert_eq!(other.get("/v1/flows").is(200).json()["contracts"], 0);
    other.get("/v1/flows?tenant=shop").is_problem(404, "NOT_FOUND");
    // Nothing is left of a tenant that was deleted, when another one gets its name.
    assert_eq!(history("tenants/brief")[0]["reservedBps"], 0);
    client.delete("/v1/tenants/brief").is(204);
    client.put("/v1/tenants/brief", &json!({})).is(201);
    assert_eq!(history("tenants/brief")[0]["reservedBps"], Value::Null);
}

fn minutes(statement: &Value) -> [u64; 3] {
    ["kept", "broken", "unknown"].map(|key| statement["minutes"][key].as_u64().unwrap())
}

/// Runs the clock from one second after `base` to another. Agents report every three seconds.
pub(crate) fn run(world: &World, base: u64, seconds: std::ops::RangeInclusive<u64>, agents: &[&Agent]) {
    for second in seconds {
        set_time(world, base + second);
        if second % 3 == 0 {
            agents.iter().for_each(|agent| agent.report(json!({})));
        }
        if second % 10 == 0 {
            record(world, base + second);
        }
    }
}

#[test]
fn a_statement_counts_kept_broken_and_unknown_minutes_of_each_contract() {
    let (disk, scratch) = (Arc::default(), Arc::new(TempFolder::new("server")));
    let file = scratch.join("load");
    // Contracts are created by the clock of this machine, at most two minutes before.
    let base = now_s() / 60 * 60 + 120;
    let world = self::world(base, &disk, scratch.clone(), Some(&file));
    let client = &world.client;
    let (sender, receiver) = (Agent::new(&world, base, "h1"), Agent::new(&world, base, "h16"));
    let both = [&sender, &receiver];
    client.put("/v1/tenants/shop", &json!({})).is(201);
    client.put("/v1/contracts/shop:brief", &contract("h1", "h16", "10Mbit")).is(201);
    client.put("/v1/contracts/shop:web", &contract("h1", "h16", "10Mbit")).is(201);
    both.iter().for_each(|agent| agent.report(json!({})));
    sender.confirm();
    let is = |state: &str| assert_eq!(client.get("/v1/contracts/shop:web").json()["status"]["state"], state);
    let cut = || {
        client.put("/v1/links/h1-%3Epod1-edge1/state", &json!({ "state": "down", "reason": "cut" })).is(200);
        is("degraded");
        client.put("/v1/links/h1-%3Epod1-edge1/state", &json!({ "state": "up" })).is(200);
        sender.confirm();
        is("enforced");
    };
    is("enforced");
    let month = at(base).to_string()[..7].to_owned();
    let path = format!("/v1/tenants/shop/statement?month={month}");
    let begin: WallTime = format!("{month}-01T00:00:00Z").parse().unwrap();
    let gap = (base - begin.as_nanos() / SECOND) / 60;
    // Minutes in which each contract existed before the record: unknown ones.
    let early = ["brief", "web"].map(|name| {
        let contract = client.get(&format!("/v1/contracts/shop:{name}")).is(200).json();
        let created: WallTime = contract["status"]["created"].as_str().unwrap().parse().unwrap();
        (base / 60).saturating_sub(created.as_nanos().div_ceil(60 * SECOND)).min(gap)
    });
    let minutes_since = |one: &Value, early: u64| {
        let [kept, broken, unknown] = minutes(one);
        [kept, broken, unknown - early]
    };
    // Minutes of the contract, and the number of minutes that are decided.
    let statement = |client: &Client| {
        let statement = client.get(&path).is(200).json();
        let until: Option<WallTime> = statement["until"].as_str().map(|until| until.parse().unwrap());
        let web = statement["contracts"].as_array().unwrap().iter().find(|one| one["contract"] == "shop:web");
        (
            web.map(|one| minutes_since(one, early[1])),
            until.map(|until| (until.as_nanos() / SECOND - base) / 60),
            statement,
        )
    };
    let is_now = |expected: [u64; 3], decided: u64| {
        let (minutes, until, statement) = statement(client);
        assert_eq!((minutes, until), (Some(expected), Some(decided)), "{statement}");
    };
    let none = statement(client).2;
    assert_eq!((&none["since"], &none["until"], &none["contracts"]), (&Value::Null, &Value::Null, &json!([])));
    assert_eq!(none["notCovered"].as_array().unwrap().last().unwrap()["reason"], "not yet over");
    // The first minute was not observed from its begin. A minute is decided when the evidence of its end has arrived.
    run(&world, base, 0..=190, &both);
    is_now([1, 0, 1], 2);
    run(&world, base, 191..=200, &both);
    is_now([2, 0, 1], 3);
    // A link of its route fails for a moment: the minute is broken, also for a contract that is deleted before it is
    // decided.
    cut();
    run(&world, base, 201..=245, &both);
    client.delete("/v1/contracts/shop:brief?force=true").is(204);
    run(&world, base, 246..=262, &both);
    is_now([2, 1, 1], 4);
    let brief = statement(client).2["contracts"][0].clone();
    assert_eq!((&brief["contract"], minutes_since(&brief, early[0])), (&json!("shop:brief"), [2, 1, 1]), "{brief}");
    // A failure in the first seconds of a minute may have begun in the minute before.
    run(&world, base, 263..=301, &both);
    cut();
    run(&world, base, 302..=382, &both);
    is_now([2, 2, 2], 6);
    // An agent is silent from 418 to 422: the ends of two minutes are not observed.
    run(&world, base, 383..=417, &both);
    receiver.report(json!({}));
    run(&world, base, 418..=421, &[&sender]);
    run(&world, base, 422..=562, &both);
    is_now([3, 2, 4], 9);
    // Minutes without a recording are unknown, as is the one that began unobserved.
    for second in (563..700).filter(|second| second % 3 == 0) {
        set_time(&world, base + second);
        both.iter().for_each(|agent| agent.report(json!({})));
    }
    run(&world, base, 700..=802, &both);
    is_now([4, 2, 7], 13);
    // The receiver's agent leaves: nothing is observed any more.
    receiver.report(json!({ "leaves": true }));
    run(&world, base, 803..=862, &[&sender]);
    is_now([4, 2, 8], 14);
    let whole = statement(client).2;
    let events = whole["contracts"][1]["events"].as_array().unwrap();
    let kinds: Vec<&str> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds[..3], ["degraded", "admitted", "enforced"], "{whole}");
    assert!(events[0]["text"].as_str().unwrap().contains("h1->pod1-edge1"), "{whole}");
    assert!(events.iter().all(|event| event["text"] != ""), "every event has a reason: {whole}");
    // Minutes of the month before the begin of the record are unknown, also for the tenant.
    let before = &whole["notCovered"][0];
    assert!(gap == 0 || before["reason"] == format!("before the record began on {}", at(base)), "{whole}");
    assert_eq!((minutes(&whole), &whole["since"]), ([4, 2, 8 + gap], &json!(at(base).to_string())), "{whole}");
    let csv = String::from_utf8(client.get(&format!("{path}&format=csv")).is(200).body).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "line,name,from,to,kept,broken,unknown,event,text");
    let covered = format!("covered,shop,{},{},,,,,", at(base), at(base + 840));
    assert_eq!(lines.iter().find(|line| line.starts_with("covered,")), Some(&&*covered), "{csv}");
    for (end, of) in [
        (format!(",2,1,{},,", 1 + early[0]), "contract,shop:brief,"),
        (format!(",4,2,{},,", 8 + early[1]), "contract,shop:web,"),
        (format!(",4,2,{},,", 8 + gap), "tenant,shop,"),
    ] {
        assert!(lines.iter().any(|line| line.starts_with(of) && line.ends_with(&end)), "{of} {end}: {csv}");
    }
    assert!(lines.iter().any(|line| line.starts_with("event,shop:web,") && line.contains("h1->pod1-edge1")), "{csv}");
    let skipped = &whole["notCovered"].as_array().unwrap()[usize::from(gap > 0)];
    // Nothing was recorded from 563 to 700: a gap from the last recorded minute on.
    assert_eq!(
        (&skipped["from"], &skipped["to"]),
        (&json!(at(base + 600).to_string()), &json!(at(base + 700).to_string()))
    );
    assert!(skipped["reason"].as_str().unwrap().starts_with("not observed: the controller"), "{whole}");
    for (month, days, reason) in [("2020-01", 31, "before the record began on "), ("2500-02", 28, "not yet begun")] {
        let other = client.get(&format!("/v1/tenants/shop/statement?month={month}")).is(200).json();
        assert_eq!((minutes(&other), &other["contracts"]), ([0, 0, days * 1_440], &json!([])), "{other}");
        assert_eq!((&other["since"], &other["until"]), (&Value::Null, &Value::Null), "{other}");
        assert!(other["notCovered"][0]["reason"].as_str().unwrap().starts_with(reason), "{other}");
        assert_eq!((&other["notCovered"][0]["from"], &other["notCovered"][0]["to"]), (&other["from"], &other["to"]));
    }
    for (wrong, why) in [("2026-13", "such as 2026-11"), ("9999-12", "to 2554-06"), ("0001-01", "1970-01 to")] {
        let answer = client.get(&format!("/v1/tenants/shop/statement?month={wrong}"));
        answer.is_problem(400, "INVALID");
        assert!(answer.json()["detail"].as_str().unwrap().contains(why), "{wrong}");
    }
    // The time in which the controller was down is unknown.
    world.end();
    let again = self::world(base + 830, &disk, scratch, Some(&file));
    let (minutes_again, until, _) = statement(&again.client);
    assert_eq!((minutes_again, until), (Some([4, 2, 8]), Some(14)));
    // The minute that this controller began in was recorded before. What is recorded can be read.
    run(&again, base, 831..=860, &[]);
    let problems = again.client.get("/v1/status").is(200).json()["problems"].to_string();
    assert!(problems.contains("behind the last recorded minute"), "{problems}");
    assert_eq!(statement(&again.client).0, Some([4, 2, 8]));
    // Its agents begin in the middle of a minute, which is not observed throughout.
    let (sender, receiver) = (Agent::new(&again, base, "h1"), Agent::new(&again, base, "h16"));
    sender.confirm();
    receiver.confirm();
    assert_eq!(again.client.get("/v1/contracts/shop:web").json()["status"]["state"], "enforced");
    run(&again, base, 861..=982, &[&sender, &receiver]);
    let (minutes_again, until, later) = statement(&again.client);
    assert_eq!((minutes_again, until), (Some([5, 2, 9]), Some(16)), "{later}");
    let problems = again.client.get("/v1/status").is(200).json()["problems"].to_string();
    assert!(!problems.contains("measured load"), "{problems}");
    // Statements of a deleted contract stay.
    again.client.delete("/v1/contracts/shop:web?force=true").is(204);
    run(&again, base, 983..=1_042, &[&sender, &receiver]);
    assert_eq!(statement(&again.client).0, Some([5, 2, 9]));
}

/// The highest counters that are taken.
pub(crate) const MAX_COUNT: u64 = (1 << 53) - 1;

/// Catches: sums of forged counters that overflow, and rates that no host sends. Two agents report the highest counters, and
/// installed rules of the highest version.
#[test]
fn forged_counters_of_contracts_stop_nothing_and_have_no_rate() {
    let start = now_s();
    let world = new_world(start);
    world.client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    world.client.put("/v1/contracts/b", &contract("h2", "h16", "10Mbit")).is(201);
    let agents = [Agent::new(&world, start, "h1"), Agent::new(&world, start, "h2")];
    let counters = |serial: usize, count: u64| {
        let mut traffic = json!({ "serial": serial, "waitedNs": count, "waits": [count, 0] });
        for name in ["packets", "bytes", "delayed", "waiting", "queueFull", "oversized"] {
            traffic[name] = json!(count);
        }
        json!({ "beat": true, "traffic": [traffic] })
    };
    for (second, count) in [(1, 0), (2, MAX_COUNT)] {
        set_time(&world, start + second);
        agents.iter().enumerate().for_each(|(at, agent)| agent.report(counters(at + 1, count)));
        for path in ["/metrics", "/v1/traffic", "/v1/flows", "/v1/contracts?sort=measured", "/v1/contracts/a/traffic"] {
            world.client.get(path).is(200);
        }
    }
    let counted = world.client.get("/v1/contracts/a/traffic").is(200).json();
    assert_eq!((&counted["rateBps"], &counted["traffic"]["bytes"]), (&Value::Null, &json!(MAX_COUNT)));
    let problems = world.client.get("/v1/status").is(200).json()["problems"].to_string();
    let named = "h1: the counters of contract default:a show more than the line rate of this host, 1Gbit";
    assert!(problems.contains(named), "{problems}");
    let again = json!({ "after": agents[0].epoch, "installed": [[99, u64::MAX]] });
    agents[0].client.post(&agents[0].path("session"), &again).is(400);
    let again = json!({ "after": agents[0].epoch, "installed": [[99, u64::MAX >> 1]] });
    agents[0].client.post(&agents[0].path("session"), &again).is(200);
}
