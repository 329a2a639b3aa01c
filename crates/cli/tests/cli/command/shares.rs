//! Minima and weights on networks that are no trees of tiers: what cannot be kept is refused, and the recheck agrees.

use crate::command::{Run, file, wayleave};

const CLASSES: &str = "classes: { latency: 5, guaranteed: 6, objective: 3, bestEffort: 1 }";

/// A topology with classes: hosts with the switch that each is at, and cables between switches with their rate and delay.
fn topology(name: &str, hosts: &[(&str, &str)], cables: &[(&str, &str, &str, &str)]) -> String {
    let mut text = format!(
        "apiVersion: wayleave/v1\nkind: Topology\nmetadata: {{ name: {name} }}\nspec:\n  {CLASSES}\n  nodes:\n"
    );
    let mut switches: Vec<&str> = hosts.iter().map(|(_, at)| *at).collect();
    switches.extend(cables.iter().flat_map(|(a, b, ..)| [*a, *b]));
    switches.sort_unstable();
    switches.dedup();
    switches.iter().for_each(|switch| text += &format!("    - {{ name: {switch}, kind: switch }}\n"));
    hosts.iter().for_each(|(host, _)| text += &format!("    - {{ name: {host}, kind: host }}\n"));
    text += "  links:\n";
    for (host, at) in hosts {
        text += &format!("    - {{ between: [{host}, {at}], rate: 10Gbit, delay: 1us }}\n");
    }
    for (a, b, rate, delay) in cables {
        text += &format!("    - {{ between: [{a}, {b}], rate: {rate}, delay: {delay} }}\n");
    }
    file(&format!("{name}.yaml"), text)
}

fn contracts(name: &str, contracts: &[&str]) -> String {
    let lines: String = contracts.iter().map(|one| format!("    - {{ {one} }}\n")).collect();
    file(
        &format!("{name}-contracts.yaml"),
        format!("apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n{lines}"),
    )
}

/// Decision of each request: `admitted`, or the code of its refusal.
fn decisions(run: &Run) -> Vec<String> {
    let plan = run.json();
    let requests = plan["requests"].as_array().unwrap();
    let word = |key: &serde_json::Value| key.as_str().unwrap_or_default().to_owned();
    requests
        .iter()
        .map(|one| if one["reason"].is_null() { word(&one["decision"]) } else { word(&one["reason"]) })
        .collect()
}

fn plan(arguments: &str) -> Run {
    let run = wayleave(&format!("plan {arguments} -o json"));
    assert!(run.stderr.contains("sound, all guarantees hold"), "{}", run.stderr);
    run
}

/// One link of 10 Gbit/s between two switches with hosts: 5.1 Gbit/s of minima and 2.55 of weights can be promised there.
#[test]
fn a_line_of_two_switches_promises_no_more_than_its_link_carries() {
    let line =
        topology("line", &[("h1", "s1"), ("h2", "s1"), ("h3", "s2"), ("h4", "s2")], &[("s1", "s2", "10Gbit", "1us")]);
    let list = contracts(
        "line",
        &[
            "name: o1, objective: { goal: completion, members: [h1, h3], weight: 2Gbit }",
            "name: o2, objective: { goal: completion, members: [h2, h4], weight: 2Gbit }",
            "name: p, bandwidth: { from: h1, to: h3, min: 5Gbit }",
            "name: ho, bandwidth: { hose: [h2, h4], min: 5Gbit }",
            "name: small, bandwidth: { hose: [h2, h4], min: 100Mbit }",
        ],
    );
    let run = plan(&format!("-t {line} -f {list}")).ends_with(3);
    assert_eq!(decisions(&run), ["admitted", "RATE", "admitted", "RATE", "admitted"]);
    assert!(
        run.json()["requests"]
            .as_array()
            .unwrap()
            .iter()
            .all(|one| one["certainty"].as_str().is_none_or(|word| word == "proven"))
    );
}

#[test]
fn members_on_islands_have_no_path() {
    let islands = topology("islands", &[("h1", "s1"), ("h2", "s2")], &[]);
    let list = contracts(
        "islands",
        &[
            "name: ho, bandwidth: { hose: [h1, h2], min: 100Mbit, within: 5ms }",
            "name: ob, objective: { goal: completion, members: [h1, h2], weight: 100Mbit }",
            "name: p, bandwidth: { from: h1, to: h2, min: 1Mbit }",
        ],
    );
    assert_eq!(decisions(&plan(&format!("-t {islands} -f {list}"))), ["NO_PATH"; 3]);
}

/// The route with the fewest links has one of 50 ms; another with more links is fast.
#[test]
fn the_round_trip_is_that_of_the_route_and_not_of_the_fastest_path() {
    let cables = [("s1", "s2", "10Gbit", "50ms"), ("s1", "s3", "10Gbit", "1us"), ("s3", "s2", "10Gbit", "1us")];
    let network = topology("rtt", &[("h1", "s1"), ("h2", "s2")], &cables);
    let list = contracts(
        "rtt",
        &[
            "name: early, bandwidth: { from: h1, to: h2, min: 1Gbit, within: 3ms }",
            "name: late, bandwidth: { from: h1, to: h2, min: 1Gbit, within: 201ms }",
            "name: untimed, bandwidth: { from: h1, to: h2, min: 1Gbit }",
        ],
    );
    let run = plan(&format!("-t {network} -f {list} --fabric-guaranteed-budget 5s"));
    let requests = run.json()["requests"].clone();
    assert_eq!(decisions(&run)[0], "LATENCY");
    assert_eq!(requests[2]["certainty"], "proven");
    let list = contracts("rtt", &["name: early, bandwidth: { from: h1, to: h2, min: 1Gbit, within: 3ms }"]);
    assert_eq!(decisions(&plan(&format!("-t {network} -f {list}"))), ["LATENCY"]);
}

/// Of two parallel cables a pair with a time takes the fast one, also where the slow one has more room.
#[test]
fn pairs_with_a_delay_bound_take_the_fast_one_of_parallel_cables() {
    let hosts = [("h1", "s1"), ("h3", "s1"), ("h2", "s2"), ("h4", "s2")];
    let network = topology("parallel", &hosts, &[("s1", "s2", "10Gbit", "1us"), ("s1", "s2", "10Gbit", "20ms")]);
    let list = contracts(
        "parallel",
        &[
            "name: p1, bandwidth: { from: h1, to: h2, min: 1Gbit, within: 3ms }",
            "name: p2, bandwidth: { from: h3, to: h4, min: 1Gbit, within: 3ms }",
            "name: ho, bandwidth: { hose: [h1, h2], min: 1Gbit, within: 3ms }",
        ],
    );
    let run = plan(&format!("-t {network} -f {list}"));
    assert_eq!(decisions(&run), ["admitted", "admitted", "LATENCY"]);
    let link = |at: usize| run.json()["requests"][at]["route"][1]["link"].clone();
    assert_eq!((link(0), link(1)), ("s1->s2".into(), "s1->s2".into()));
}

/// An impossible set that exists for a short time only: it is refused when it is asked for, and the recheck covers
/// every moment.
#[test]
fn sets_in_the_middle_of_a_list_of_events_are_checked() {
    let hosts = [("h1", "s1"), ("h3", "s1"), ("h2", "s2"), ("h4", "s2")];
    let network = topology("dumbbell", &hosts, &[("s1", "s2", "1Gbit", "1us")]);
    let add = |at: &str, what: &str| format!("    - {{ at: {at}, add: {{ {what} }} }}\n");
    let mut events = "apiVersion: wayleave/v1\nkind: Events\nspec:\n  events:\n".to_owned();
    events += &add("0ns", "name: obj, objective: { goal: completion, members: [h1, h2], weight: 200Mbit }");
    events += &add("1ms", "name: obj2, objective: { goal: completion, members: [h3, h4], weight: 200Mbit }");
    events += &add("2ms", "name: p, bandwidth: { from: h1, to: h2, min: 400Mbit }");
    events += &add("2ms", "name: ho, bandwidth: { hose: [h3, h4], min: 400Mbit }");
    events += "    - { at: 5s, release: p }\n";
    events += &add("6s", "name: again, bandwidth: { from: h3, to: h4, min: 500Mbit }");
    let events = file("dumbbell-events.yaml", events);
    let run = plan(&format!("-t {network} --events {events}"));
    assert_eq!(decisions(&run), ["admitted", "RATE", "admitted", "RATE", "released", "admitted"]);
    assert!(run.stderr.contains("every minimum and weight fits at every moment"), "{}", run.stderr);
    let held = run.json()["requests"][4]["held_until_ns"].as_u64().unwrap();
    assert!(held > 5_000_000_000 && held < 5_100_000_000, "until its last packets have left: {held}");
    assert_eq!(run.json()["requests"][2]["activate_after_ns"], 0);
}

/// Hoses that may meet on one link of several: the first was proven when it was decided, and is not in the end.
#[test]
fn a_plan_lists_promises_that_are_no_longer_proven() {
    let hoses: Vec<String> = [[1, 5, 9], [2, 6, 10], [1, 7, 11], [2, 8, 12]]
        .iter()
        .enumerate()
        .map(|(number, [a, b, c])| format!("name: hose{number}, bandwidth: {{ hose: [h{a}, h{b}, h{c}], min: 1Gbit }}"))
        .collect();
    let list = contracts("hoses", &hoses.iter().map(String::as_str).collect::<Vec<_>>());
    let network = "apiVersion: wayleave/v1\nkind: Topology\nmetadata: { name: tree }\nspec:\n  builder: { kind: fat-tree, k: 4, rate: 10Gbit, delay: 1us, queues: 8 }\n";
    let network = file("tree.yaml", format!("{network}  {CLASSES}\n"));
    let run = plan(&format!("-t {network} -f {list}"));
    let first = run.json()["changed_certainty"][0].clone();
    assert_eq!((&first["name"], &first["from"], &first["to"]), (&"hose0".into(), &"proven".into(), &"measured".into()));
    let run = plan(&format!("-t {network} -f {list} --fabric-hose-charge every-path"));
    assert!(run.json()["changed_certainty"].is_null());
    let table = wayleave(&format!("plan -t {network} -f {list}")).ends_with(0);
    let rows: Vec<&str> = table.stdout.lines().filter(|line| line.starts_with("hose")).collect();
    assert!(rows.len() == 4 && rows.iter().all(|row| row.contains("  measured  ")), "{}", table.stdout);
    assert_eq!(table.stdout.matches("not guaranteed)").count(), 4, "{}", table.stdout);
}
