//! `plan --events`: contracts that come, change and go.

use serde_json::Value;

use crate::command::{file, wayleave};

fn contract(name: &str, to: &str, mbit: u32) -> String {
    format!("{{ name: {name}, from: h1, to: {to}, rate: {mbit}Mbit, burst: 1500B, deadline: 2ms }}")
}

/// Replays on a star of four hosts; the decisions, and the whole document.
fn replay(name: &str, events: &[String], options: &str) -> (Vec<String>, Value) {
    let events: String = events.iter().map(|event| format!("    - {{ {event} }}\n")).collect();
    let events = file(name, format!("apiVersion: wayleave/v1\nkind: Events\nspec:\n  events:\n{events}"));
    let run = wayleave(&format!("plan -t star:hosts=4 --events {events} -o json --recheck {options}"));
    assert!(run.stderr.contains("sound"), "{}", run.stderr);
    let plan = run.json();
    let decision = |request: &Value| request["decision"].as_str().unwrap().to_owned();
    (plan["requests"].as_array().unwrap().iter().map(decision).collect(), plan)
}

#[test]
fn a_released_reservation_is_held_until_its_packets_have_arrived() {
    let events = [
        format!("at: 0ns, add: {}", contract("a", "h2", 900)),
        "at: 1ms, release: a".to_owned(),
        // The bound of its route is 600 us.
        format!("at: 1599us, add: {}", contract("b", "h2", 900)),
        format!("at: 1600us, add: {}", contract("c", "h2", 900)),
    ];
    let (decisions, plan) = replay("replay-hold.yaml", &events, "");
    assert_eq!(decisions, ["admitted", "released", "refused", "admitted"]);
    assert_eq!(plan["requests"][1]["held_until_ns"], 1_600_000);
    assert_eq!((&plan["requests"][2]["event"], &plan["requests"][2]["at_ns"]), (&"add".into(), &1_599_000.into()));
    let (decisions, _) = replay("replay-no-hold.yaml", &events, "--release-hold none");
    assert_eq!(decisions, ["admitted", "released", "admitted", "refused"]);
    let (published, _) = replay("replay-published.yaml", &events, "--model published");
    assert_eq!(published, decisions);
}

#[test]
fn a_change_that_does_not_fit_keeps_the_old_terms() {
    let events = [
        format!("at: 0ns, add: {}", contract("a", "h2", 600)),
        format!("at: 1ms, change: {}", contract("a", "h2", 1100)),
        format!("at: 2ms, add: {}", contract("b", "h3", 500)),
        format!("at: 3ms, change: {}", contract("a", "h2", 300)),
        format!("at: 9ms, add: {}", contract("c", "h3", 500)),
    ];
    let (decisions, plan) = replay("replay-change.yaml", &events, "");
    assert_eq!(decisions, ["admitted", "refused", "refused", "admitted", "admitted"]);
    assert!(plan["requests"][1]["message"].as_str().unwrap().ends_with("the contract keeps its present terms."));
    let queues = plan["queues"].as_array().unwrap();
    let uplink = queues.iter().find(|queue| queue["link"] == "h1->s1").unwrap();
    assert_eq!((&uplink["flows"], &uplink["inputs"][0]["rate_bps"]), (&2.into(), &800_000_000.into()));
}

#[test]
fn a_contract_admitted_while_old_packets_are_in_flight_starts_after_them() {
    let events = [
        format!("at: 0ns, add: {}", contract("a", "h2", 600)),
        // Does not fit beside the old terms: takes their place.
        format!("at: 1ms, change: {}", contract("a", "h2", 500)),
        format!("at: 1200us, add: {}", contract("b", "h3", 100)),
    ];
    let (_, plan) = replay("replay-settle.yaml", &events, "");
    assert_eq!(plan["requests"][1]["activate_after_ns"], 600_000);
    assert_eq!(plan["requests"][2]["activate_after_ns"], 400_000);
}

#[test]
fn a_plan_states_when_old_terms_end_and_verify_follows_it() {
    let events = [
        format!("at: 0ns, add: {}", contract("a", "h2", 500)),
        format!("at: 0ns, add: {}", contract("b", "h2", 100)),
        // Does not fit beside the old terms: those end at once, and the new ones start when their packets have left.
        format!("at: 1ms, change: {}", contract("a", "h2", 600)),
        // Fits beside the old terms, and waits for the packets of the others, too: until then the old ones stay in
        // force.
        format!("at: 1200us, change: {}", contract("b", "h2", 150)),
    ];
    let (_, plan) = replay("replay-old-terms.yaml", &events, "");
    let key = |request: usize, key: &str| plan["requests"][request][key].as_u64();
    assert_eq!((key(0, "old_terms_end_after_ns"), key(2, "old_terms_end_after_ns")), (None, Some(0)));
    assert_eq!((key(3, "old_terms_end_after_ns"), key(3, "activate_after_ns")), (Some(400_000), Some(400_000)));
    let verify = |plan: String| {
        let plan = file("replay-old-terms.json", plan);
        wayleave(&format!("verify -t star:hosts=4 --plan {plan} --effort quick"))
    };
    let text = plan.to_string();
    verify(text.clone()).ends_with(0);
    let late = verify(text.replace("\"old_terms_end_after_ns\":0", "\"old_terms_end_after_ns\":600000")).ends_with(4);
    assert!(late.stderr.contains("before packets have left: from 1.6 ms on"), "{}", late.stderr);
    assert!(late.stderr.contains("with packets of a (present until 1.6 ms)"), "{}", late.stderr);
}

#[test]
fn a_refused_contract_can_be_changed_into_one_that_fits() {
    let events = [
        format!("at: 0ns, add: {}", contract("a", "h2", 1600)),
        format!("at: 1ms, change: {}", contract("a", "h2", 600)),
        "at: 2ms, release: a".to_owned(),
        "at: 9ms, release: b".to_owned(),
    ];
    let events_with_b = [&[format!("at: 0ns, add: {}", contract("b", "h2", 1600))], &events[..]].concat();
    let (decisions, plan) = replay("replay-again.yaml", &events_with_b, "");
    assert_eq!(decisions, ["refused", "refused", "admitted", "released", "not-admitted"]);
    assert_eq!(plan["summary"]["released"], 1);
    assert!(plan["queues"].as_array().unwrap().iter().all(|queue| queue["flows"] == 0));
}

#[test]
fn the_table_shows_the_times_of_events() {
    let events = file(
        "replay-table.yaml",
        format!(
            "apiVersion: wayleave/v1\nkind: Events\nspec:\n  events:\n    - {{ at: 5us, add: {} }}\n    - {{ at: 7us, release: a }}\n",
            contract("a", "h2", 600)
        ),
    );
    let run = wayleave(&format!("plan -t star:hosts=4 --events {events}")).ends_with(0);
    assert!(run.stdout.contains("5 us add") && run.stdout.contains("held until 607 us"), "{}", run.stdout);
    assert!(run.stdout.contains("1 admitted, 0 refused, 1 released"), "{}", run.stdout);
}
