//! Contracts over disjoint routes, from the file to the packets.

use serde_json::Value;

use crate::command::{contracts, file, wayleave};

const K4: &str = "-t fat-tree:k=4";

fn list(name: &str, items: &[&str]) -> String {
    file(name, contracts(items))
}

const ROBOT: &str = "name: robot, from: h1, to: h16, rate: 2Mbit, burst: 1500B, deadline: 3ms, protection: 2";

fn names(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

#[test]
fn a_plan_has_every_route_and_their_shared_elements() {
    let list = list("protection-plan.yaml", &[ROBOT]);
    let run = wayleave(&format!("plan {K4} -f {list} --recheck -o json")).ends_with(0);
    assert!(run.stderr.contains("2 flows recomputed independently: sound"), "{}", run.stderr);
    let request = &run.json()["requests"][0];
    assert_eq!((&request["protection"], request["copies"].as_array().unwrap().len()), (&2.into(), 1));
    assert_eq!(names(&request["shared"]), ["h1->pod1-edge1", "pod1-edge1", "pod4-edge2", "pod4-edge2->h16"]);
    let copy = &request["copies"][0];
    let sum =
        |terms: &Value| terms.as_array().unwrap().iter().map(|term| term["delay_ns"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(
        (Some(sum(&copy["terms"])), sum(&request["terms"])),
        (copy["bound_ns"].as_u64(), request["bound_ns"].as_u64().unwrap())
    );
    let table = wayleave(&format!("plan {K4} -f {list}")).ends_with(0).stdout;
    assert_eq!(table.matches("pod1-edge1").count(), 2, "{table}");
}

#[test]
fn an_explanation_lists_survived_and_fatal_failures() {
    let list = list("protection-explain.yaml", &[ROBOT]);
    let text = wayleave(&format!("explain robot {K4} -f {list}")).ends_with(0).stdout.replace("\n  ", " ");
    for part in [
        "Each packet is sent over 2 disjoint routes",
        "Survives any single failure of a link or switch between pod1-edge1 and pod4-edge2; not of h1->pod1-edge1 (h1 has one link), \
         nor of pod1-edge1, nor of pod4-edge2, nor of pod4-edge2->h16 (h16 has one link).",
        "End-to-end delay bound on every route",
        "Route 2",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn too_few_routes_are_refused_with_the_cut_and_the_feasible_number() {
    let contract = ROBOT.replace("protection: 2", "protection: 3");
    let list = list("protection-cut.yaml", &[&contract]);
    let run = wayleave(&format!("plan {K4} -f {list} -o json")).ends_with(3);
    assert!(run.stderr.contains("protection-cut.yaml:5:95: 3 disjoint routes were requested"), "{}", run.stderr);
    let request = &run.json()["requests"][0];
    assert_eq!((&request["reason"], &request["disjoint"]["most"]), (&"NO_PATH".into(), &2.into()));
    assert_eq!(names(&request["disjoint"]["cut"]), ["pod1-edge1->pod1-agg1", "pod1-edge1->pod1-agg2"]);
    let text = wayleave(&format!("explain robot {K4} -f {list}")).ends_with(3).stdout;
    assert!(text.contains("protection: 2                largest that fits (requested: 3)"), "{text}");
    let nearest = &wayleave(&format!("explain robot {K4} -f {list} -o json")).ends_with(3).json()["nearest"];
    assert_eq!(nearest["protection"], 2);
}

#[test]
fn a_refused_second_copy_is_reported_as_the_second() {
    let contract = ROBOT.replace("rate: 2Mbit", "rate: 600Mbit");
    let list = list("protection-room.yaml", &[&contract]);
    let request = &wayleave(&format!("plan {K4} -f {list} -o json")).ends_with(3).json()["requests"][0];
    assert_eq!((&request["reason"], &request["copy"]), (&"RATE".into(), &2.into()));
    assert_eq!(
        (&request["binding"]["link"], &request["binding"]["left_bps"]),
        (&"h1->pod1-edge1".into(), &400_000_000.into())
    );
    let silo = wayleave(&format!("plan {K4} -f {list} --scheme silo -o json")).ends_with(3).json();
    assert_eq!(silo["requests"][0]["reason"], "POLICY");
}

#[test]
fn cuts_lose_no_packets_of_protected_contracts_but_do_without_duplicates() {
    let alone = "name: alone, from: h3, to: h14, rate: 2Mbit, burst: 1500B, deadline: 3ms";
    let list = list("protection-verify.yaml", &[ROBOT, alone]);
    let json = wayleave(&format!("verify {K4} -f {list} --effort quick --cut all -o json")).ends_with(0).json();
    let robot = &json["contracts"][0];
    // Four cables and three switches on each of two routes; each for itself, and once while all send.
    assert_eq!((&robot["protected"]["cuts"], &robot["protected"]["lost"]), (&28.into(), &0.into()));
    assert!(json["contracts"][2]["protected"].is_null());
    assert_eq!((&json["contracts"][1]["name"], &json["summary"]["contracts"]), (&"robot, route 2".into(), &2.into()));
    let plan = file("protection-plan.json", wayleave(&format!("plan {K4} -f {list} -o json")).ends_with(0).stdout);
    let of_plan = wayleave(&format!("verify {K4} --plan {plan} --effort quick --cut all -o json")).ends_with(0).json();
    assert_eq!((&of_plan["contracts"], &of_plan["input_hash"]), (&json["contracts"], &json["input_hash"]));
    let table = wayleave(&format!("verify {K4} -f {list} --effort quick --cut 3")).ends_with(0).stdout;
    assert!(table.contains("1 protected contract, cut ") && table.contains("no packet lost"), "{table}");
    let none = wayleave(&format!("verify {K4} -f {list} --effort quick --cut none")).ends_with(7).stdout;
    assert!(none.contains("1 protected contract not tested: no failure was tried"), "{none}");
    let off = wayleave(&format!("verify {K4} -f {list} --effort quick --inject duplication-off")).ends_with(4);
    assert!(
        off.stderr.contains("no copy of a packet arrived, although one of its routes was intact"),
        "{}",
        off.stderr
    );
    let replay = off.stderr.lines().find_map(|line| line.trim().strip_prefix("replay: wayleave ")).unwrap();
    wayleave(replay).ends_with(4);
}

#[test]
fn a_protected_contract_is_added_changed_and_released_as_a_unit() {
    let event = |at: &str, what: &str| format!("    - {{ at: {at}, {what} }}\n");
    let events = [
        event("0ns", &format!("add: {{ {} }}", ROBOT.replace("2Mbit", "300Mbit"))),
        event("1ms", "add: { name: other, from: h1, to: h9, rate: 440Mbit, burst: 1500B, deadline: 3ms }"),
        event("2ms", &format!("change: {{ {} }}", ROBOT.replace("2Mbit", "200Mbit"))),
        event("9ms", "add: { name: third, from: h1, to: h9, rate: 440Mbit, burst: 1500B, deadline: 3ms }"),
        event("20ms", "release: robot"),
        event("40ms", "add: { name: last, from: h1, to: h5, rate: 440Mbit, burst: 1500B, deadline: 3ms }"),
    ];
    let text = format!("apiVersion: wayleave/v1\nkind: Events\nspec:\n  events:\n{}", events.concat());
    let events = file("protection-events.yaml", text);
    let run = wayleave(&format!("plan {K4} --events {events} -o json --recheck")).ends_with(3);
    assert!(run.stderr.contains("sound"), "{}", run.stderr);
    let json = run.json();
    let decisions: Vec<&str> =
        json["requests"].as_array().unwrap().iter().map(|request| request["decision"].as_str().unwrap()).collect();
    // Two copies of 300 Mbit/s leave 400 on the host's link, two of 200 leave 600.
    assert_eq!(decisions, ["admitted", "refused", "admitted", "admitted", "released", "admitted"]);
}
