//! Statements: new sessions of agents, the first covered moment, gaps, and tenants with the name of an earlier one.

use std::sync::Arc;

use serde_json::{Value, json};
use wayleave_controller::{EnforcedBy, Timeouts};
use wayleave_server::disk::Memory;
use wayleave_server::{LoadClock, Options};
use wayleave_units::Time;

use crate::common::{World, classed, contract, options};
use crate::load::{Agent, at, new_world, now_s, record, run, set_time, world};
use wayleave_repo_checks::TempFolder;

/// A server of the test's clock that admits contracts of every kind.
fn world_of_kinds(start: u64) -> World {
    let scratch = Arc::new(TempFolder::new("server"));
    let options = options(Box::new(Memory::default()), &scratch, EnforcedBy::Hosts);
    let mut setup = classed(EnforcedBy::Hosts);
    setup.timing = Timeouts { silent_after: Time::from_millis(3_600_000), ..setup.timing };
    World::of(Options { setup, load_clock: LoadClock::Caller(Some(at(start))), ..options }, scratch)
}

fn statement(world: &World, tenant: &str, seconds: u64) -> Value {
    let month = at(seconds).to_string()[..7].to_owned();
    world.client.get(&format!("/v1/tenants/{tenant}/statement?month={month}")).is(200).json()
}

/// Returns the minutes of a contract: kept, broken, unknown.
fn minutes(statement: &Value, contract: &str) -> Option<[u64; 3]> {
    let all = statement["contracts"].as_array().unwrap();
    let one = all.iter().find(|one| one["contract"] == contract)?;
    Some(["kept", "broken", "unknown"].map(|key| one["minutes"][key].as_u64().unwrap()))
}

/// Catches: a minute that counts as kept, although an agent that was restarted has not reported which rules are in force.
#[test]
fn a_minute_is_not_kept_until_a_new_session_has_reported_its_rules() {
    let base = now_s() / 60 * 60 + 120;
    let world = world_of_kinds(base);
    let client = &world.client;
    client.put("/v1/contracts/ptp", &contract("h1", "h16", "10Mbit")).is(201);
    client.put("/v1/contracts/db", &json!({ "bandwidth": { "hose": ["h1", "h16"], "min": "100Mbit" } })).is(201);
    let serial_of = |name: &str| client.get(&format!("/v1/contracts/{name}")).json()["status"]["serial"].clone();
    let (ptp, db) = (serial_of("ptp"), serial_of("db"));
    let rules = json!({ "rulesInForce": [[db, 1]], "contractProblems": [] });
    let mut agents = ["h1", "h16"].map(|node| Agent::new(&world, base, node));
    agents[0].confirm();
    let seconds = |seconds: std::ops::Range<u64>, agents: &[Agent; 2], of_first: &Value| {
        for second in seconds {
            set_time(&world, base + second);
            agents[0].report(of_first.clone());
            agents[1].report(rules.clone());
            if second % 10 == 0 {
                record(&world, base + second);
            }
        }
    };
    let is = |expected: [[u64; 2]; 2]| {
        let statement = statement(&world, "default", base);
        // Minutes before the record are unknown.
        let kept_and_broken = ["default:ptp", "default:db"].map(|name| {
            let [kept, broken, _] = minutes(&statement, name).unwrap();
            [kept, broken]
        });
        assert_eq!(kept_and_broken, expected, "{statement}");
    };
    let state = |name: &str| client.get(&format!("/v1/contracts/{name}")).json()["status"]["state"].clone();
    let effective = || client.get("/v1/status").json()["effective"].clone();
    seconds(0..201, &agents, &rules);
    assert_eq!((state("db"), effective()), (json!("enforced"), json!(2)));
    is([[2, 0], [2, 0]]);
    // A session that is not silent for a moment, with the rule of the latency contract installed.
    let begin = |agent: &mut Agent| {
        let again = json!({ "after": agent.epoch, "installed": [[ptp, 1]] });
        let begun = agent.client.post("/v1/agents/h1/session", &again).is(200).json();
        agent.epoch = begun["epoch"].as_u64().unwrap();
    };
    begin(&mut agents[0]);
    assert_eq!((state("ptp"), state("db"), effective()), (json!("enforced"), json!("admitted"), json!(1)));
    let shown = client.get("/v1/contracts/db").is(200);
    let status = shown.json()["status"].clone();
    assert_eq!((&status["reason"], status.get("effective")), (&json!("NOT_CONFIRMED"), None), "{status}");
    assert!(status["message"].as_str().unwrap().contains("the agent of h1"), "{status}");
    assert_eq!(shown.header("etag"), None, "its revision is that of another document");
    let listed = client.get("/v1/contracts?state=admitted").is(200).json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    // Its heartbeats name no rules for three seconds.
    seconds(201..204, &agents, &json!({ "contractProblems": [] }));
    assert_eq!((state("db"), effective()), (json!("admitted"), json!(1)));
    seconds(204..331, &agents, &rules);
    assert_eq!((state("db"), effective()), (json!("enforced"), json!(2)));
    assert!(client.get("/v1/contracts/db").header("etag").is_some());
    // Minute 3 has the new session.
    is([[4, 0], [3, 0]]);
    // A session that reports its rules in its first second, in the first seconds of minute 6: so it may have been in minute 5.
    seconds(331..361, &agents, &rules);
    begin(&mut agents[0]);
    seconds(361..511, &agents, &rules);
    is([[7, 0], [4, 0]]);
    // Heartbeats without rules, in minute 9.
    seconds(511..545, &agents, &rules);
    seconds(545..550, &agents, &json!({}));
    seconds(550..651, &agents, &rules);
    is([[9, 0], [5, 0]]);
    // Another program had changed rules in minute 11.
    seconds(651..676, &agents, &rules);
    agents[0].report(json!({ "repairs": ["qdisc of eth1 was removed"], "rulesInForce": [[db, 1]] }));
    seconds(676..781, &agents, &rules);
    is([[10, 0], [6, 0]]);
    // Sessions of a node that follow each other are a problem, with its name.
    let problems = |world: &World| world.client.get("/v1/status").json()["problems"].to_string();
    assert!(!problems(&world).contains("sessions within a minute"));
    (0..5).for_each(|_| begin(&mut agents[0]));
    assert!(problems(&world).contains("h1: at least 5 sessions within a minute"), "{}", problems(&world));
    set_time(&world, base + 850);
    assert!(!problems(&world).contains("sessions within a minute"));
}

#[test]
fn a_statement_begins_with_the_first_covered_moment_and_names_a_restart() {
    let (disk, scratch) = (Arc::default(), Arc::new(TempFolder::new("server")));
    let file = scratch.join("load");
    let base = now_s() / 60 * 60 + 120;
    let first = world(base + 23, &disk, scratch.clone(), Some(&file));
    run(&first, base, 24..=200, &[]);
    let whole = statement(&first, "default", base);
    let expected = (at(base + 23).to_string(), at(base + 180).to_string());
    assert_eq!((&whole["since"], &whole["until"]), (&json!(expected.0), &json!(expected.1)), "{whole}");
    let before = |whole: &Value| {
        whole["notCovered"].as_array().unwrap().iter().find(|part| part["to"] == whole["since"]).cloned()
    };
    assert_eq!(before(&whole).unwrap()["reason"], format!("before the record began on {}", expected.0), "{whole}");
    // Minute 3 is not decided when the controller ends.
    run(&first, base, 201..=245, &[]);
    first.end();
    let second = world(base + 307, &disk, scratch, Some(&file));
    run(&second, base, 308..=450, &[]);
    let whole = statement(&second, "default", base);
    assert_eq!((&whole["since"], &whole["until"]), (&json!(expected.0), &json!(at(base + 420).to_string())), "{whole}");
    let parts = whole["notCovered"].as_array().unwrap();
    let gap = parts.iter().find(|part| part["from"] == at(base + 180).to_string()).unwrap();
    assert_eq!(gap["to"], at(base + 307).to_string(), "{whole}");
    assert!(gap["reason"].as_str().unwrap().contains("the controller did not run"), "{whole}");
}

/// Catches: minutes of an earlier tenant in the statement of another one with its name, before they are deleted.
#[test]
fn a_tenant_has_no_minutes_of_an_earlier_one_with_its_name() {
    let base = now_s() / 60 * 60 + 120;
    let world = new_world(base);
    let client = &world.client;
    client.put("/v1/tenants/shop", &json!({})).is(201);
    client.put("/v1/contracts/shop:web", &contract("h1", "h16", "10Mbit")).is(201);
    let agents = [Agent::new(&world, base, "h1"), Agent::new(&world, base, "h16")];
    agents[0].confirm();
    let agents = [&agents[0], &agents[1]];
    run(&world, base, 0..=200, &agents);
    assert!(minutes(&statement(&world, "shop", base), "shop:web").is_some());
    client.delete("/v1/contracts/shop:web?force=true").is(204);
    agents[0].confirm();
    // The reservation is held until the last packets have left.
    while client.delete("/v1/tenants/shop").status == 409 {}
    client.put("/v1/tenants/shop", &json!({})).is(201);
    assert_eq!(statement(&world, "shop", base)["contracts"], json!([]), "before the next minute is decided");
    client.put("/v1/contracts/shop:api", &contract("h1", "h16", "10Mbit")).is(201);
    agents[0].confirm();
    run(&world, base, 201..=400, &agents);
    let statement = statement(&world, "shop", base);
    assert_eq!(minutes(&statement, "shop:web"), None, "{statement}");
    assert!(minutes(&statement, "shop:api").unwrap()[0] >= 1, "{statement}");
}

/// Catches: minutes of an earlier tenant in the file of a controller that did not lead when it was deleted.
#[test]
fn a_tenant_that_another_controller_created_again_has_no_minutes_of_an_earlier_one() {
    let base = now_s() / 60 * 60 + 120;
    let (disk, scratch) = (Arc::default(), Arc::new(TempFolder::new("server")));
    let files = ["first", "second"].map(|name| scratch.join(name));
    let create = |world: &World, name: &str| {
        world.client.put(&format!("/v1/contracts/shop:{name}"), &contract("h1", "h16", "10Mbit")).is(201);
    };
    let first = world(base, &disk, scratch.clone(), Some(&files[0]));
    first.client.put("/v1/tenants/shop", &json!({})).is(201);
    create(&first, "web");
    let history = |world: &World| -> Value {
        let path = format!("/v1/tenants/shop/history?from={}&to={}&step=60", at(base), at(base + 180));
        let history = world.client.get(&path).is(200).json();
        history["points"].as_array().unwrap().iter().map(|point| point["meanBps"].clone()).collect()
    };
    {
        let agent = Agent::new(&first, base, "h1");
        agent.confirm();
        run(&first, base, 1..=200, &[&agent]);
    }
    assert!(minutes(&statement(&first, "shop", base), "shop:web").is_some());
    assert_eq!(history(&first), json!([0, 0, 0]));
    first.end();
    let second = world(base + 300, &disk, scratch.clone(), Some(&files[1]));
    second.client.delete("/v1/contracts/shop:web?force=true").is(204);
    while second.client.delete("/v1/tenants/shop").status == 409 {}
    second.client.put("/v1/tenants/shop", &json!({})).is(201);
    // Another quota is not another tenant.
    create(&second, "api");
    second.client.put("/v1/tenants/shop", &json!({ "quota": { "contracts": 9 } })).is(200);
    second.end();
    let third = world(base + 400, &disk, scratch, Some(&files[0]));
    assert_eq!(statement(&third, "shop", base)["contracts"], json!([]));
    assert_eq!(history(&third), json!([null, null, null]), "the load of the earlier tenant");
    run(&third, base, 401..=600, &[]);
    let statement = statement(&third, "shop", base);
    assert_eq!(minutes(&statement, "shop:web"), None, "{statement}");
    assert!(minutes(&statement, "shop:api").is_some(), "{statement}");
}
