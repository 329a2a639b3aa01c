//! `/v1/traffic`: the contracts that send most, out of more than a page has.

use std::sync::Arc;

use serde_json::{Value, json};
use wayleave_controller::EnforcedBy;
use wayleave_repo_checks::TempFolder;
use wayleave_server::Options;
use wayleave_server::disk::Memory;

use crate::common::{World, classed, contract, options};

const CONTRACTS: usize = 150;

/// A contract so small that all of them fit.
fn small(from: &str) -> Value {
    json!({ "from": from, "to": "h16", "rate": "20kbit", "burst": "84B", "deadline": "50ms" })
}

#[test]
fn the_contract_that_sends_the_most_is_listed_first_for_any_name() {
    let world = World::with(Box::new(Memory::default()), EnforcedBy::Hosts);
    let client = &world.client;
    let agent = client.token(json!({ "role": "agent", "node": "h1" }));
    let epoch = agent.post("/v1/agents/h1/session", &json!({})).is(200).json()["epoch"].as_u64().unwrap();
    client.put("/v1/tenants/shop", &json!({})).is(201);
    for at in 0..CONTRACTS {
        client.put(&format!("/v1/contracts/c{at:03}"), &small("h1")).is(201);
    }
    client.put("/v1/contracts/shop:own", &small("h1")).is(201);
    client.put("/v1/contracts/idle", &small("h2")).is(201);
    let unknown = client.get("/v1/traffic?limit=3").is(200).json();
    assert_eq!((&unknown["rateBps"], &unknown["measured"]), (&json!(null), &json!(0)), "{unknown}");
    let serial = |name: &str| {
        let path = format!("/v1/contracts/{name}");
        client.get(&path).is(200).json()["status"]["serial"].as_u64().unwrap()
    };
    let (loud, quiet, of_shop) = (serial("c148"), serial("c003"), serial("shop:own"));
    let report = |times: u64| {
        world.set_report_second(times);
        let one = |serial: u64, bytes: u64| {
            json!({ "serial": serial, "packets": times, "bytes": bytes * times, "delayed": 0, "waiting": 0, "queueFull": 0,
                "oversized": 0, "waitedNs": 0, "waits": [] })
        };
        let traffic = json!([one(loud, 9_000), one(quiet, 1_000), one(of_shop, 3_000)]);
        agent.post("/v1/agents/h1/reports", &json!({ "epoch": epoch, "beat": true, "traffic": traffic })).is(204);
    };
    report(1);
    report(2);
    let top = client.get("/v1/traffic?limit=3").is(200).json();
    let names = |top: &Value| -> Vec<String> {
        let items = top["items"].as_array().unwrap().iter();
        items.map(|item| item["contract"]["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&top), ["default:c148", "shop:own", "default:c003"]);
    let all = CONTRACTS + 2;
    assert_eq!(
        (&top["contracts"], &top["measured"], &top["omitted"]),
        (&json!(all), &json!(3), &json!(all - 3)),
        "{top}"
    );
    let rate = |at: usize| top["items"][at]["rateBps"].as_u64().unwrap();
    assert_eq!(top["rateBps"].as_u64().unwrap(), (0..3).map(rate).sum::<u64>());
    // The list of contracts has the same rates, and none for a contract that no host has reported.
    let listed = |text: &str| {
        let list = client.get(&format!("/v1/contracts?text={text}")).is(200).json();
        list["items"][0]["status"].get("rateBps").cloned()
    };
    assert_eq!(listed("c148"), Some(top["items"][0]["rateBps"].clone()));
    assert_eq!(listed("idle"), None);
    // Rates that are not measured are unknown, and sorted after all others.
    let longer = client.get("/v1/traffic?limit=1000").is(200).json();
    assert_eq!((longer["items"].as_array().unwrap().len(), &longer["omitted"]), (all, &json!(0)));
    assert_eq!(&longer["items"][4]["rateBps"], &json!(null));
    // A tenant sees its own, without numbers.
    let tenant = client.token(json!({ "role": "tenant", "tenant": "shop" }));
    let own = tenant.get("/v1/traffic").is(200).json();
    assert_eq!((names(&own), &own["contracts"]), (vec!["shop:own".to_owned()], &json!(1)));
    let numbers = ["/contract/status/serial", "/traffic/serial"].map(|path| own["items"][0].pointer(path).cloned());
    assert!(numbers.iter().flatten().all(|number| *number == json!(0)), "{own}");
    for name in ["default", "nosuch"] {
        tenant.get(&format!("/v1/traffic?tenant={name}")).is_problem(404, "NOT_FOUND");
    }
    assert_eq!(names(&client.get("/v1/traffic?tenant=shop").is(200).json()), ["shop:own"]);
}

#[test]
fn the_topology_summary_has_the_measured_share_of_links() {
    let world = World::with(Box::new(Memory::default()), EnforcedBy::Hosts);
    let client = &world.client;
    let agent = client.token(json!({ "role": "agent", "node": "h1" }));
    let epoch = agent.post("/v1/agents/h1/session", &json!({})).is(200).json()["epoch"].as_u64().unwrap();
    let links = client.get("/v1/links?limit=1000").is(200).json();
    let links: Vec<&Value> = links["items"].as_array().unwrap().iter().filter(|link| link["from"] == "h1").collect();
    let (name, rate) = (links[0]["name"].as_str().unwrap(), links[0]["rateBps"].as_u64().unwrap());
    let shares = || -> Vec<Value> {
        let summary = client.get("/v1/topology/summary").is(200).json();
        let groups = summary["linkGroups"].as_array().unwrap().iter();
        groups.map(|group| group["measuredPpm"].clone()).filter(|share| !share.is_null()).collect()
    };
    assert_eq!(shares(), Vec::<Value>::new(), "no agent counts a link");
    // A quarter of the rate for two seconds.
    for second in [0, 2] {
        world.set_report_second(second);
        let counters =
            json!([{ "link": name, "interface": 2, "bytes": rate / 8 / 4 * second, "packets": second, "dropped": 0 }]);
        let report = json!({ "readNs": 1_000_000_000_u64 * second, "counters": counters });
        agent.post("/v1/agents/h1/reports", &json!({ "epoch": epoch, "beat": true, "links": report })).is(204);
    }
    assert_eq!(shares(), [json!(250_000)]);
}

/// Catches: the rate of some hosts of a contract that looks like the rate of all.
#[test]
fn a_rate_is_complete_only_if_all_hosts_report_one() {
    let scratch = Arc::new(TempFolder::new("server"));
    let options = options(Box::new(Memory::default()), &scratch, EnforcedBy::Hosts);
    let world = World::of(Options { setup: classed(EnforcedBy::Hosts), ..options }, scratch);
    let client = &world.client;
    client.put("/v1/contracts/db", &json!({ "bandwidth": { "hose": ["h1", "h5"], "min": "100Mbit" } })).is(201);
    client.put("/v1/contracts/ptp", &contract("h1", "h16", "10Mbit")).is(201);
    let serials = ["db", "ptp"]
        .map(|name| client.get(&format!("/v1/contracts/{name}")).is(200).json()["status"]["serial"].as_u64().unwrap());
    let agents = ["h1", "h5"].map(|node| {
        let agent = client.token(json!({ "role": "agent", "node": node }));
        let epoch = agent.post(&format!("/v1/agents/{node}/session"), &json!({})).is(200).json()["epoch"].clone();
        (node, agent, epoch)
    });
    let report = |second: u64, (node, agent, epoch): &(&str, crate::common::Client, Value), serials: &[u64]| {
        world.set_report_second(second);
        let one = |serial: &u64| {
            json!({ "serial": serial, "packets": second, "bytes": 1_000 * second, "delayed": 0, "waiting": 0,
                "queueFull": 0, "oversized": 0, "waitedNs": 0, "waits": [] })
        };
        let traffic: Vec<Value> = serials.iter().map(one).collect();
        let body = json!({ "epoch": epoch, "beat": true, "traffic": traffic });
        agent.post(&format!("/v1/agents/{node}/reports"), &body).is(204);
    };
    let listed = || {
        let list = client.get("/v1/contracts?text=db").is(200).json();
        let status = list["items"][0]["status"].clone();
        let csv = String::from_utf8(client.get("/v1/contracts?format=csv").is(200).body).unwrap();
        let db = csv.lines().find(|line| line.starts_with("default:db")).unwrap();
        let columns: Vec<String> = db.split(',').skip(12).take(3).map(str::to_owned).collect();
        let hosts = [status["reportingHosts"].clone(), status["countingHosts"].clone()];
        (status.get("rateBps").cloned(), hosts, columns.join(","))
    };
    let top = || {
        let top = client.get("/v1/traffic").is(200).json();
        ["contracts", "measured", "partial", "rateBps"].map(|key| top[key].clone())
    };
    // Contracts without a known rate, by the host at which an edge ends.
    let unmeasured = || {
        let flows = client.get("/v1/flows").is(200).json();
        let of = |host: &str| -> Vec<u64> {
            let edges = flows["edges"].as_array().unwrap().iter().filter(|edge| edge["to"]["name"] == host);
            edges.map(|edge| edge["unmeasured"].as_u64().unwrap()).collect()
        };
        ["h1", "h5", "h16"].map(of)
    };
    assert_eq!(listed(), (None, [json!(0), json!(2)], ",0,2".to_owned()));
    assert_eq!(unmeasured(), [[1], [1], [1]]);
    (1..=2).for_each(|second| report(second, &agents[0], &serials));
    assert_eq!(listed(), (Some(json!(8_000)), [json!(1), json!(2)], "8000,1,2".to_owned()));
    assert_eq!(top(), [json!(2), json!(2), json!(1), json!(16_000)]);
    // Agents count at the sender: the rates of a hose into its hosts are not known.
    assert_eq!(unmeasured(), [[1], [1], [0]]);
    report(3, &agents[1], &serials[..1]);
    assert_eq!(listed(), (None, [json!(2), json!(2)], "8000,1,2".to_owned()), "the second host has one reading");
    assert_eq!(top(), [json!(2), json!(1), json!(0), json!(8_000)]);
    report(4, &agents[0], &serials);
    report(4, &agents[1], &serials[..1]);
    assert_eq!(listed(), (Some(json!(16_000)), [json!(2), json!(2)], "16000,2,2".to_owned()));
    assert_eq!(top(), [json!(2), json!(2), json!(0), json!(24_000)]);
    let alone = client.get("/v1/contracts/db").is(200).json();
    assert_eq!(alone["status"].get("countingHosts"), None, "{alone}");
    // One of two hosts sends nothing, and the other is silent.
    let (node, agent, epoch) = &agents[0];
    for second in [20, 21] {
        world.set_report_second(second);
        let idle = json!({ "serial": serials[0], "packets": 4, "bytes": 4_000, "delayed": 0, "waiting": 0, "queueFull": 0,
            "oversized": 0, "waitedNs": 0, "waits": [] });
        let body = json!({ "epoch": epoch, "beat": true, "traffic": [idle] });
        agent.post(&format!("/v1/agents/{node}/reports"), &body).is(204);
    }
    assert_eq!(listed().1, [json!(1), json!(2)]);
    assert_eq!(top(), [json!(2), json!(0), json!(0), Value::Null], "a lower bound of 0 is no measurement");
}
