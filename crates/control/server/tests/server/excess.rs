//! Counters that show more than the rules of contracts let through.

use std::sync::Arc;

use serde_json::{Value, json};
use wayleave_controller::{EnforcedBy, Timeouts};
use wayleave_server::disk::Memory;
use wayleave_server::{LoadClock, Options};
use wayleave_units::Time;

use crate::common::{World, classed, contract, options};
use crate::load::{Agent, SECOND, at, counted, new_world, now_s, record, run, set_time};
use wayleave_repo_checks::TempFolder;

/// A host whose agent counts contracts.
struct Host<'a> {
    world: &'a World,
    base: u64,
    agent: &'a Agent<'a>,
    sent: u64,
}

impl Host<'_> {
    /// Reports counters every second at this rate, and records every ten seconds. `more` is part of each report.
    fn send(
        &mut self,
        seconds: std::ops::RangeInclusive<u64>,
        serial: &Value,
        bps: u64,
        is_stated: bool,
        more: &Value,
    ) {
        for second in seconds {
            set_time(self.world, self.base + second);
            self.sent += bps / 8;
            let mut report = more.clone();
            report["traffic"] = json!([counted(serial, self.sent)]);
            let links = json!({ "readNs": second * SECOND, "counters": [] });
            report["links"] = if is_stated { links } else { Value::Null };
            self.agent.report(report);
            if second % 10 == 0 {
                record(self.world, self.base + second);
            }
        }
    }
}

fn status(world: &World, name: &str) -> Value {
    world.client.get(&format!("/v1/contracts/{name}")).is(200).json()["status"].clone()
}

fn problems(world: &World) -> String {
    world.client.get("/v1/status").is(200).json()["problems"].to_string()
}

/// Catches: a contract that counts as enforced, and whose minutes count as kept, while its sender's counters show six times
/// its rate.
#[test]
fn a_contract_is_not_enforced_while_its_counters_show_more_than_its_rule_lets_through() {
    let base = now_s() / 60 * 60 + 120;
    let world = new_world(base);
    world.client.put("/v1/contracts/a", &contract("h1", "h16", "20Mbit")).is(201);
    let serial = status(&world, "a")["serial"].clone();
    let (sender, receiver) = (Agent::new(&world, base, "h1"), Agent::new(&world, base, "h16"));
    sender.confirm();
    let mut host = Host { world: &world, base, agent: &sender, sent: 0 };
    let none = json!({});
    let mut send = |seconds: std::ops::RangeInclusive<u64>, bps, is_stated| {
        for second in seconds.step_by(10) {
            receiver.report(json!({}));
            for second in (second..second + 10).step_by(2) {
                host.send(second..=second + 1, &serial, bps, is_stated, &none);
                receiver.report(json!({}));
            }
        }
    };
    let is_fine = || {
        let status = status(&world, "a");
        assert_eq!((&status["state"], problems(&world).contains("rules let through")), (&json!("enforced"), false));
    };
    // Twenty-two million bits per second are explained by errors of the readings.
    send(1..=50, 22_000_000, true);
    is_fine();
    // Without times of readings, the rate may be wrong.
    send(51..=100, 120_000_000, false);
    is_fine();
    // A point before the third one may have traffic of an earlier rule.
    send(101..=120, 120_000_000, true);
    is_fine();
    send(121..=130, 120_000_000, true);
    let shown = world.client.get("/v1/contracts/a").is(200);
    let contract = shown.json()["status"].clone();
    assert_eq!((&contract["state"], &contract["reason"]), (&json!("admitted"), &json!("RATE_EXCEEDED")), "{contract}");
    let message = contract["message"].as_str().unwrap();
    assert!(message.contains("the counters of h1 showed 120") && message.contains("at most 22.21 Mbit/s"), "{message}");
    assert_eq!(shown.header("etag"), None, "its revision is that of another document");
    assert!(problems(&world).contains("h1: the counters of contract default:a show more than"), "{}", problems(&world));
    let counts = world.client.get("/v1/status").is(200).json();
    assert_eq!((&counts["contracts"]["admitted"], &counts["contracts"]["enforced"]), (&json!(1), &json!(0)));
    let health = world.client.get("/v1/health?level=unknown").is(200).json();
    assert_eq!(health["items"][0]["id"], "default:a", "{health}");
    // Every reader names it: answers to a change that changes nothing, explanations, agents and alerts.
    assert_eq!(contract.get("effective"), None, "{contract}");
    let again = world.client.put("/v1/contracts/a", &self::contract("h1", "h16", "20Mbit")).is(200);
    assert_eq!((&again.json()["status"], again.header("etag")), (&contract, None));
    let document = json!({ "apiVersion": "wayleave/v1", "kind": "Contracts", "spec": { "contracts": [
        { "name": "a", "from": "h1", "to": "h16", "rate": "20Mbit", "burst": "3000B", "deadline": "5ms" }] } });
    let applied = world.client.post("/v1/apply", &document).is(200).json();
    assert_eq!(applied["items"][0]["state"], "admitted", "{applied}");
    let tenant = world.client.token(json!({ "role": "tenant", "tenant": "default" }));
    let path = "/v1/contracts/a/explanation";
    let explained = tenant.get(path).is(200).json();
    assert_eq!(explained["contract"]["status"]["reason"], "RATE_EXCEEDED", "{explained}");
    let text = String::from_utf8(tenant.send("GET", path, &[("accept", "text/plain")], b"").is(200).body).unwrap();
    assert!(text.starts_with("contract default:a: admitted"), "{text}");
    // An operator reads it beside the proof, which assumes that the rule is in force.
    let explained = world.client.get(path).is(200).json();
    assert_eq!(explained["status"]["reason"], "RATE_EXCEEDED", "{explained}");
    let proof = world.client.send("GET", path, &[("accept", "text/plain")], b"").is(200).body;
    let stated = format!("State\n  admitted (RATE_EXCEEDED): {message}\n\n");
    for text in [text, String::from_utf8(proof).unwrap()] {
        assert!(text.contains(&stated), "{text}");
    }
    let agents = world.client.get("/v1/agents?problems=true").is(200).json();
    assert_eq!(agents["items"].as_array().unwrap().len(), 1, "{agents}");
    let problem = agents["items"][0]["problems"][0].as_str().unwrap();
    assert!(problem.starts_with("the counters of contract default:a show more"), "{agents}");
    let alerts = world.client.get("/v1/alerts").is(200).json();
    assert!(alerts["items"].to_string().contains("WayleaveRateExceeded"), "{alerts}");
    let metrics = String::from_utf8(world.client.get("/metrics").is(200).body).unwrap();
    assert!(metrics.contains("wayleave_contracts_rate_exceeded 1"), "{metrics}");
    let csv = String::from_utf8(world.client.get("/v1/contracts?format=csv").is(200).body).unwrap();
    assert!(csv.contains("admitted,RATE_EXCEEDED"), "{csv}");
    // It stays so while nothing is known, and until a point is within the bound.
    send(131..=150, 120_000_000, false);
    assert_eq!(status(&world, "a")["state"], "admitted");
    send(151..=170, 20_000_000, true);
    is_fine();
    // Another rate is another rule.
    send(171..=200, 120_000_000, true);
    assert_eq!(status(&world, "a")["reason"], "RATE_EXCEEDED");
    world.client.put("/v1/contracts/a", &self::contract("h1", "h16", "120Mbit")).is(200);
    sender.confirm();
    send(201..=210, 120_000_000, true);
    is_fine();
    send(211..=390, 20_000_000, true);
    let month = at(base).to_string()[..7].to_owned();
    let statement = world.client.get(&format!("/v1/tenants/default/statement?month={month}")).is(200).json();
    let minutes = &statement["contracts"][0]["minutes"];
    // Minutes 1 to 3 have an excess.
    assert_eq!((&minutes["kept"], &minutes["broken"]), (&json!(2), &json!(0)), "{statement}");
    // In minute 3, the changed contract was not confirmed for a moment.
    let exceeded = json!({ "reason": "rate-above-rule", "minutes": 2 });
    assert!(statement["contracts"][0]["unknown"].as_array().unwrap().contains(&exceeded), "{statement}");
    let event = &statement["contracts"][0]["events"][0];
    assert_eq!((&event["kind"], &event["at"]), (&json!("unknown"), &json!(at(base + 60).to_string())), "{statement}");
    assert!(event["text"].as_str().unwrap().starts_with("the counters of h1 showed "), "{statement}");
    world.client.delete("/v1/contracts/a?force=true").is(204);
    run(&world, base, 391..=400, &[]);
    assert!(!problems(&world).contains("rules let through"), "{}", problems(&world));
}

/// Catches: a minimum that is accused of more than its minimum.
#[test]
fn a_minimum_may_send_more_unless_it_has_a_maximum() {
    let base = now_s() / 60 * 60 + 120;
    let scratch = Arc::new(TempFolder::new("server"));
    let options = options(Box::new(Memory::default()), &scratch, EnforcedBy::Hosts);
    let mut setup = classed(EnforcedBy::Hosts);
    setup.timing = Timeouts { silent_after: Time::from_millis(3_600_000), ..setup.timing };
    let world = World::of(Options { setup, load_clock: LoadClock::Caller(Some(at(base))), ..options }, scratch);
    let agents = ["h1", "h2", "h3"].map(|node| Agent::new(&world, base, node));
    for (name, max, is_named) in [("open", Value::Null, false), ("limited", json!("300Mbit"), true)] {
        let mut terms = json!({ "hose": ["h1", "h2", "h3"], "min": "100Mbit" });
        if !max.is_null() {
            terms["max"] = max;
        }
        let path = format!("/v1/contracts/{name}");
        world.client.put(&path, &json!({ "bandwidth": terms })).is(201);
        let shown = status(&world, name);
        let serial = &shown["serial"];
        let rules = json!({ "rulesInForce": [[serial, shown["configured"]]], "contractProblems": [] });
        agents.iter().for_each(|agent| agent.report(rules.clone()));
        assert_eq!(status(&world, name)["state"], "enforced", "{name}");
        let base = base + if is_named { 1_000 } else { 0 };
        let mut host = Host { world: &world, base, agent: &agents[0], sent: 0 };
        // Twice the maximum, as rates of pairs are set one after the other.
        host.send(1..=40, serial, 600_000_000, true, &rules);
        assert_eq!(status(&world, name)["state"], "enforced", "{name}");
        host.send(41..=80, serial, 3_000_000_000, true, &rules);
        assert_eq!(status(&world, name)["state"] == "admitted", is_named, "{name}");
        assert_eq!(problems(&world).contains("h1: the counters of contract default:limited"), is_named);
    }
}
