//! `wayleave plan --proof`, and the checker that shares nothing with it; `wayleave diff`.

use std::process::Command;

use serde_json::{Value, json};

use crate::run::{file, wayleave};

fn example(file: &str) -> String {
    format!("{}/../../docs/examples/{file}", env!("CARGO_MANIFEST_DIR"))
}

/// The proof of an example, with the plan that it proves.
fn proof_and_plan(network: &str, contracts: &str, options: &str) -> (Value, Value) {
    // A file of its own for each test and each proof: tests run side by side.
    let test = format!("{:?} {network} {contracts} {options}", std::thread::current().name());
    let path = file("proof-of-contracts.json", test);
    let (network, contracts) = (example(network), example(contracts));
    let run = wayleave(&format!("plan -t {network} -f {contracts} {options} --proof {path} -o json"));
    assert!(matches!(run.code, Some(0 | 3)), "{}", run.stderr);
    (serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap(), run.json())
}

/// Returns the exit code of the checker and its output. Leaves the test out without Python.
fn check(proof: &Value, plan: Option<&Value>) -> (i32, String) {
    check_text(proof.to_string(), plan)
}

fn check_text(proof: String, plan: Option<&Value>) -> (i32, String) {
    let checker = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/check_proof.py");
    let plan = plan.map(|plan| file("plan-of-proof.json", plan.to_string()));
    let output = Command::new("python3").args(["-B", checker, &file("proof.json", proof)]).args(plan).output();
    let output = output.unwrap_or_else(|error| wayleave_repo_checks::leave_out("python3", error));
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    (output.status.code().unwrap_or(-1), text)
}

pub(crate) fn proofs_of_all_models_pass_an_independent_checker() {
    for (network, contracts, options) in [
        ("network.yaml", "contracts.yaml", ""),
        ("network.yaml", "contracts.yaml", "--shaping off"),
        ("network.yaml", "protected.yaml", ""),
        ("network-fabric.yaml", "contracts-fabric.yaml", ""),
        ("network-fabric.yaml", "contracts-fabric.yaml", "--fabric-paths all"),
    ] {
        let (proof, plan) = proof_and_plan(network, contracts, options);
        let count = |of: &str| proof[of].as_array().map_or(0, Vec::len);
        let (code, text) = check(&proof, Some(&plan));
        assert_eq!(code, 0, "{contracts} {options}: {text}");
        let (flows, shares) = (count("flows"), count("shares"));
        assert!(
            text.contains(&format!("{flows} flows and {shares} shares: everything that is stated as proven holds")),
            "{text}"
        );
        assert!(!text.contains("not checked"), "{text}");
    }
}

/// A hose whose hosts choose paths is no theorem, and without a list the omissions of the proof would be unknown.
pub(crate) fn the_checker_lists_unproven_statements() {
    let (mut fabric, _) = proof_and_plan("network-fabric.yaml", "contracts-fabric.yaml", "");
    share(&mut fabric, "db")["certainty"] = json!("measured");
    let (code, text) = check(&fabric, None);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("not checked: completeness"), "{text}");
    assert!(text.contains("not proven: hose db is measured"), "{text}");
}

/// A change of a valid proof, the exit code and a part of the checker's output.
type Forgery = (&'static str, fn(&mut Value), i32, &'static str);

/// Latency contracts (`network.yaml`): robot from h1 and video from h2, both to h5.
const LATENCY: &[Forgery] = &[
    ("a ghost flow hides another", ghost, 2, "(ghost).rate: -300000000 is no integer from 1"),
    ("empty hops", |p| p["flows"][0]["hops"] = json!([]), 2, "flows[0] (robot).hops: 0 items"),
    ("an empty proof", empty, 1, "contracts: the list is empty"),
    ("an empty document", |p| *p = json!({}), 2, "no key proof"),
    ("a list", |p| *p = json!([]), 2, "proof: not an object"),
    ("version 1", |p| p["proof"] = json!(1), 2, "proof.proof: 1 is not one of 2"),
    ("version true", |p| p["proof"] = json!(true), 2, "true is not one of 2"),
    (
        "negative propagation",
        |p| p["links"][0]["propagation_ns"] = json!(-1),
        2,
        "propagation_ns: -1 is no integer from 0",
    ),
    (
        "negative processing",
        |p| p["nodes"][0]["processing_ns"] = json!(-1),
        2,
        "processing_ns: -1 is no integer from 0",
    ),
    ("negative jitter", jitter, 2, "jitter_ns: -1000 is no integer from 0"),
    ("negative spread", |p| p["links"][0]["spread_ns"] = json!(-1), 2, "spread_ns: -1 is no integer from 0"),
    (
        "a spread without jitter",
        |p| p["links"][0]["spread_ns"] = json!(1),
        1,
        "a spread of 1 ns, with a jitter of 0 ns",
    ),
    ("a negative budget", |p| p["queues"][0]["budget_ns"] = json!(-1), 2, "budget_ns: -1 is no integer from 0"),
    (
        "a largest frame of 0",
        |p| p["links"][0]["max_frame_bytes"] = json!(0),
        2,
        "max_frame_bytes: 0 is no integer from 64",
    ),
    ("a line of 0", |p| p["links"][0]["rate"] = json!(0), 2, "rate: 0 is no integer from 1"),
    ("a flow without a rate", |p| p["flows"][0]["rate"] = json!(0), 2, "(robot).rate: 0 is no integer from 1"),
    ("a flow without a burst", |p| p["flows"][0]["burst_bytes"] = json!(0), 2, "(robot).burst_bytes: 0 is no integer"),
    ("true for a number", |p| p["flows"][0]["burst_bytes"] = json!(true), 2, "burst_bytes: true is no integer"),
    ("text for a number", |p| p["flows"][0]["rate"] = json!("1"), 2, "rate: \"1\" is no integer"),
    ("null for a number", |p| p["flows"][0]["bound_ns"] = Value::Null, 2, "bound_ns: null is no integer"),
    ("a number for a flag", |p| p["shaping"] = json!(1), 2, "shaping: 1 is neither true nor false"),
    ("a number for a fraction", |p| p["queues"][0]["delay"] = json!(1), 2, "delay: 1 is no fraction"),
    ("a negative fraction", |p| p["queues"][0]["delay"] = json!("-1"), 2, "delay: \"-1\" is no fraction"),
    ("a fraction by 0", |p| p["queues"][0]["delay"] = json!("1/0"), 2, "delay: \"1/0\" is no fraction"),
    ("a power", |p| p["queues"][0]["backlog"] = json!("1e9999999"), 2, "backlog: \"1e9999999\" is no fraction"),
    ("NaN as text", |p| p["queues"][0]["delay"] = json!("nan"), 2, "delay: \"nan\" is no fraction"),
    ("no bound", |p| p["queues"][0]["delay"] = Value::Null, 1, "it has no bound"),
    ("no arrival curve", |p| p["queues"][0]["arrival"] = json!([]), 2, "arrival: 0 items"),
    ("an unknown key", |p| p["flows"][0]["note"] = json!(""), 2, "flows[0] (robot): unknown key \"note\""),
    ("a missing key", |p| drop(p["flows"][0].as_object_mut().unwrap().remove("deadline_ns")), 2, "no key deadline_ns"),
    ("a flow twice", |p| twice(&mut p["flows"]), 2, "proof.flows: robot is there 2 times"),
    ("a link twice", |p| twice(&mut p["links"]), 2, "is there 2 times"),
    ("a node twice", |p| twice(&mut p["nodes"]), 2, "is there 2 times"),
    ("a queue twice", |p| twice(&mut p["queues"]), 2, "is there 2 times"),
    ("a contract twice", |p| twice(&mut p["contracts"]), 2, "robot is there 2 times"),
    (
        "a flow is left out",
        |p| drop(p["flows"].as_array_mut().unwrap().remove(0)),
        1,
        "contract robot: the proof has neither",
    ),
    ("a contract is left out", leave_out, 1, "contract robot: the proof has 0 of its 1 routes"),
    (
        "a contract that is not listed",
        |p| p["contracts"] = json!(["robot"]),
        1,
        "contract video: it is not in the proof's list",
    ),
    ("the route ends early", early, 1, "flow robot: the route ends at leaf2, not at h5"),
    (
        "the route starts elsewhere",
        |p| p["flows"][0]["from"] = json!("h2"),
        1,
        "flow robot: h1->leaf1 does not leave h2",
    ),
    ("the flow ends elsewhere", |p| p["flows"][0]["to"] = json!("h6"), 1, "the route ends at h5, not at h6"),
    ("a link that the route needs is closed", |p| p["links"][0]["open"] = json!(false), 1, "is closed"),
    (
        "a switch as a host",
        |p| p["nodes"][0]["kind"] = json!("router"),
        2,
        "kind: \"router\" is not one of host, switch",
    ),
    (
        "a reverse of another cable",
        |p| p["links"][0]["reverse"] = json!("h1->leaf1"),
        1,
        "is not the other direction of its cable",
    ),
    ("no shaping", |p| p["shaping"] = json!(false), 1, "shaping: False in the proof, and True in the plan"),
    ("a smaller network", |p| drop(p["nodes"].as_array_mut().unwrap().pop()), 2, "is no node of the proof"),
    (
        "changes its terms",
        |p| p["flows"][0]["deadline_ns"] = json!(3_000_000),
        1,
        "deadline_ns is 3000000 in the proof, and 2000000",
    ),
    (
        "a smaller burst",
        |p| p["flows"][0]["burst_bytes"] = json!(1),
        1,
        "burst_bytes is 1 in the proof, and 1500 in the plan",
    ),
    ("a larger burst", |p| p["flows"][0]["burst_bytes"] = json!(1_000_000), 1, "flows bring more"),
    ("a larger rate", |p| p["flows"][0]["rate"] = json!(2_000_000_000_u64), 1, "flows bring more"),
    ("a smaller bound", |p| p["flows"][0]["bound_ns"] = json!(1), 1, "1 ns promised"),
    ("a smaller deadline", |p| p["flows"][0]["deadline_ns"] = json!(1), 1, "1 ns asked for"),
    (
        "an unknown queue",
        |p| p["flows"][0]["hops"] = json!([["no such link", 0]]),
        1,
        "nothing of queue 0 of no such link",
    ),
    ("a shorter delay", |p| p["queues"][0]["delay"] = json!("1"), 1, "packets may take longer than 1 ns"),
    ("a smaller backlog", |p| p["queues"][0]["backlog"] = json!("1"), 1, "more may wait than 1 nanobits"),
    ("a shorter budget", |p| p["queues"][0]["budget_ns"] = json!(1), 1, "beyond its budget of 1 ns"),
    ("a smaller buffer", |p| p["queues"][0]["buffer_bytes"] = json!(1), 1, "its buffer of 1 bytes"),
    (
        "a lower arrival curve",
        |p| p["queues"][0]["arrival"] = json!([["0", "1"]]),
        1,
        "flows bring more than its arrival curve",
    ),
    (
        "a higher service curve",
        |p| p["queues"][0]["service"] = json!([["1000000000000", "0"]]),
        1,
        "the queues above leave less",
    ),
];

/// Its negative rate and burst take away what video brings.
fn ghost(proof: &mut Value) {
    let mut flow = proof["flows"][1].clone();
    for (key, value) in [
        ("name", json!("ghost")),
        ("contract", json!("video")),
        ("rate", json!(-300_000_000)),
        ("burst_bytes", json!(-20_000)),
    ] {
        flow[key] = value;
    }
    proof["flows"].as_array_mut().unwrap().push(flow);
}

fn empty(proof: &mut Value) {
    for key in ["contracts", "flows", "queues", "links", "nodes"] {
        proof[key] = json!([]);
    }
}

/// Jitter below 0 would serve earlier.
fn jitter(proof: &mut Value) {
    proof["nodes"].as_array_mut().unwrap().iter_mut().for_each(|node| node["jitter_ns"] = json!(-1000));
}

fn twice(items: &mut Value) {
    let first = items[0].clone();
    items.as_array_mut().unwrap().push(first);
}

/// Robot's flow, its place in the list of contracts, and the queues that only robot uses.
fn leave_out(proof: &mut Value) {
    proof["flows"].as_array_mut().unwrap().remove(0);
    proof["contracts"] = json!(["video"]);
    let hops = proof["flows"][0]["hops"].clone();
    let used = |queue: &Value| hops.as_array().unwrap().contains(&json!([queue["link"], queue["queue"]]));
    proof["queues"].as_array_mut().unwrap().retain(used);
}

fn early(proof: &mut Value) {
    drop(proof["flows"][0]["hops"].as_array_mut().unwrap().pop());
}

/// Minima and weights (`network-fabric.yaml`): the hose db and the pair copy, the objectives search and index.
const MINIMA: &[Forgery] = &[
    ("no classes", |p| p["classes"] = Value::Null, 1, "shares need classes"),
    ("a promise above 100 %", |p| p["classes"]["promise"] = json!(101), 2, "promise: 101 is no integer from 1 to 100"),
    ("no minima", |p| p["minima"] = json!([]), 1, "minima: states [] are there"),
    (
        "a link is left out",
        |p| drop(p["minima"][0]["links"].as_array_mut().unwrap().remove(0)),
        1,
        "the proof states no loads there",
    ),
    ("a load is left out", no_load, 1, "no load is stated, and it may use the link"),
    ("a load twice", load_twice, 2, "share 0 is there 2 times"),
    ("a share that does not exist", |p| hose(p)["share"] = json!(99), 1, "share 99 may not use it"),
    ("a smaller load", |p| hose(p)["load"] = json!("1"), 1, "its load is 1500000000 bit/s, not 1"),
    ("no cover", |p| drop(hose(p).as_object_mut().unwrap().remove("cover")), 1, "hose db: its load has no cover"),
    (
        "an empty cover",
        |p| hose(p)["cover"]["senders"] = json!([]),
        1,
        "cover: not every pair that may use the link is covered",
    ),
    ("a cover of strangers", |p| hose(p)["cover"]["senders"] = json!(["h2"]), 1, "cover: h2 are no members"),
    ("a host twice in a cover", |p| hose(p)["cover"]["senders"] = json!(["h1", "h1"]), 2, "h1 is there 2 times"),
    (
        "prices of 0",
        |p| hose(p)["prices"]["senders"] = json!({}),
        1,
        "prices: not every pair that may use the link is covered",
    ),
    ("a negative price", |p| hose(p)["prices"]["senders"]["h1"] = json!("-1"), 2, "h1: \"-1\" is no fraction"),
    ("less is charged", |p| p["minima"][0]["links"][0]["guaranteed"] = json!(1), 1, "and 1 are charged"),
    (
        "fewer weights are charged",
        |p| all(p, "objective", &json!(1)),
        1,
        "objective: weights are 900000000 bit/s, and 1 are charged",
    ),
    (
        "more is charged than there is",
        |p| all(p, "guaranteed", &json!(9_000_000_000_u64)),
        1,
        "are promised, and no more than",
    ),
    (
        "less is reserved for latency",
        |p| all(p, "latency", &json!(0)),
        1,
        "latency contracts reserve 20000000 bit/s there, not 0",
    ),
    (
        "a proven hose as measured",
        |p| share(p, "db")["certainty"] = json!("measured"),
        1,
        "certainty is measured in the proof, and proven in the plan",
    ),
    (
        "proven beyond the charge",
        beyond,
        1,
        "hose db, pair copy: stated as proven, and shares may bring 4000000000 bit/s",
    ),
    (
        "a proven pair as measured",
        |p| share(p, "copy")["certainty"] = json!("measured"),
        1,
        "certainty is measured in the proof, and proven",
    ),
    ("a hose with fewer members", |p| drop(members(p, "db").pop()), 1, "a hose of h1, h4, h6, h8 was asked for"),
    ("a member twice", |p| members(p, "db").push(json!("h1")), 2, "h1 is there 2 times"),
    (
        "a member that is no host",
        |p| members(p, "search").push(json!("leaf1")),
        1,
        "objective search: leaf1: no host of the proof",
    ),
    (
        "a smaller minimum",
        |p| share(p, "copy")["rate"] = json!(1),
        1,
        "rate is 1 in the proof, and 1000000000 in the plan",
    ),
    (
        "a shorter route",
        |p| drop(share(p, "copy")["route"].as_array_mut().unwrap().pop()),
        1,
        "pair copy: route: the route ends at leaf2",
    ),
    (
        "even splits instead of a choice",
        |p| share(p, "db")["paths"] = json!("all"),
        1,
        "hose db: paths: all in the proof, and one in the plan",
    ),
    (
        "an unknown kind",
        |p| share(p, "copy")["kind"] = json!("tunnel"),
        2,
        "kind: \"tunnel\" is not one of pair, link, hose, objective",
    ),
    (
        "a cable is cut",
        |p| close(p, "leaf1->spine1"),
        1,
        "minima: states ['all_up'] are there, and ['all_up', 'now'] are needed",
    ),
    ("an island", island, 1, "hose db: no path leads from h1 to h4"),
    ("a flow below the latency class", |p| p["flows"][0]["hops"][1][1] = json!(6), 1, "queue 6 of leaf1->spine1"),
];

fn share<'p>(proof: &'p mut Value, contract: &str) -> &'p mut Value {
    proof["shares"].as_array_mut().unwrap().iter_mut().find(|share| share["contract"] == contract).unwrap()
}

fn members<'p>(proof: &'p mut Value, contract: &str) -> &'p mut Vec<Value> {
    share(proof, contract)["members"].as_array_mut().unwrap()
}

fn loads(proof: &mut Value) -> &mut Vec<Value> {
    let links = proof["minima"][0]["links"].as_array_mut().unwrap();
    links.iter_mut().find(|link| link["link"] == "h1->leaf1").unwrap()["loads"].as_array_mut().unwrap()
}

/// The load of db on h1's link.
fn hose(proof: &mut Value) -> &mut Value {
    &mut loads(proof)[0]
}

/// Even splits and the largest hose would come to 4 Gbit/s as well.
fn beyond(proof: &mut Value) {
    share(proof, "db")["certainty"] = json!("proven");
    all(proof, "guaranteed", &json!(3_500_000_000_u64));
}

fn no_load(proof: &mut Value) {
    let links = proof["minima"][0]["links"].as_array_mut().unwrap();
    let loads = links.iter_mut().filter_map(|link| link["loads"].as_array_mut()).find(|loads| loads.len() > 1);
    drop(loads.unwrap().pop());
}

fn load_twice(proof: &mut Value) {
    let load = hose(proof).clone();
    loads(proof).push(load);
}

fn all(proof: &mut Value, key: &str, value: &Value) {
    proof["minima"][0]["links"].as_array_mut().unwrap().iter_mut().for_each(|link| link[key] = value.clone());
}

fn close(proof: &mut Value, name: &str) {
    let links = proof["links"].as_array_mut().unwrap();
    links.iter_mut().find(|link| link["name"] == name).unwrap()["open"] = json!(false);
}

/// Without the links of h1.
fn island(proof: &mut Value) {
    proof["links"].as_array_mut().unwrap().retain(|link| link["from"] != "h1" && link["to"] != "h1");
}

/// Catches: a checker that trusts the proof. Each forgery would hide an overload, or a contract.
pub(crate) fn every_forgery_of_a_proof_is_refused() {
    let mut accepted = Vec::new();
    for (network, contracts, forgeries) in
        [("network.yaml", "contracts.yaml", LATENCY), ("network-fabric.yaml", "contracts-fabric.yaml", MINIMA)]
    {
        let (honest, plan) = proof_and_plan(network, contracts, "");
        for (what, forge, code, expected) in forgeries {
            let mut forged = honest.clone();
            forge(&mut forged);
            assert_ne!(forged, honest, "{what} changes nothing");
            let (found, text) = check(&forged, Some(&plan));
            let is_refused = !text.contains("Traceback") && !text.contains("holds");
            if found != *code || !text.contains(expected) || !is_refused {
                accepted.push(format!("{what}: exit code {found}, {text}"));
            }
        }
    }
    assert!(accepted.is_empty(), "{}", accepted.join("\n"));
}

/// Texts that no JSON library of Rust writes.
pub(crate) fn text_that_is_no_proof_is_refused() {
    let (honest, _) = proof_and_plan("network.yaml", "contracts.yaml", "");
    let text = honest.to_string();
    for (from, to, expected) in [
        ("\"rate\":2000000,", "\"rate\":NaN,", "NaN is no integer"),
        ("\"rate\":2000000,", "\"rate\":-Infinity,", "-Infinity is no integer"),
        ("\"rate\":2000000,", "\"rate\":2e6,", "2e6 is no integer"),
        ("\"rate\":2000000,", "\"rate\":9000000,\"rate\":2000000,", "the key \"rate\" is there 2 times"),
        ("\"rate\":2000000,", "\"rate\":,", "Expecting value"),
    ] {
        let forged = text.replacen(from, to, 1);
        assert_ne!(forged, text);
        let (code, printed) = check_text(forged, None);
        assert!(code == 2 && printed.contains(expected) && !printed.contains("Traceback"), "{to}: {code} {printed}");
    }
    let (code, printed) = check_text("[".repeat(100_000), None);
    assert!(code == 2 && !printed.contains("Traceback"), "{code} {printed}");
}

/// A line of two switches: all shares meet on its one cable, and hosts that choose paths have one. There a proof needs no luck.
pub(crate) fn loads_on_a_line_are_certified_by_covers_of_the_smaller_side() {
    let network = file(
        "line.yaml",
        "apiVersion: wayleave/v1\nkind: Topology\nspec:\n  builder: { kind: line, switches: 2, hosts: 3, rate: 10Gbit, queues: 8 }\n  classes: { latency: 5, guaranteed: 6, objective: 3, bestEffort: 1 }\n",
    );
    let contracts = file(
        "line-contracts.yaml",
        "apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n    - { name: ho, bandwidth: { hose: [h1, h2, h3, h4], min: 1Gbit } }\n",
    );
    let path = file("line-proof.json", "");
    wayleave(&format!("plan -t {network} -f {contracts} --proof {path}"));
    let proof: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for (link, side) in [("s1->s2", "receivers"), ("s2->s1", "senders")] {
        let links = proof["minima"][0]["links"].as_array().unwrap();
        let load = &links.iter().find(|loads| loads["link"] == link).unwrap()["loads"][0];
        assert_eq!((&load["load"], &load["cover"][side]), (&json!("1000000000"), &json!(["h4"])), "{link}");
        assert_eq!(load["prices"][side], json!({ "h4": "1" }), "{link}");
    }
}

pub(crate) fn a_scheme_without_queues_proves_nothing() {
    let (network, contracts) = (example("network.yaml"), example("contracts.yaml"));
    let path = file("none.json", "");
    let run = wayleave(&format!("plan -t {network} -f {contracts} --scheme loko --proof {path}")).ends_with(2);
    assert!(
        run.stderr.contains("--proof states the curves of queues, and --scheme loko reserves none"),
        "{}",
        run.stderr
    );
}

pub(crate) fn a_comparison_of_plans_lists_changed_admissions_and_exits_with_six() {
    let contracts = std::fs::read_to_string(example("contracts.yaml")).unwrap();
    let network = example("network.yaml");
    let plan = |contracts: &str| {
        let contracts = file("contracts.yaml", contracts);
        file("plan.json", wayleave(&format!("plan -t {network} -f {contracts} -o json")).stdout)
    };
    let (first, second) = (plan(&contracts), plan(&contracts.replace("name: video,", "name: film,")));
    let same = wayleave(&format!("diff {first} {first}")).ends_with(0);
    assert_eq!(same.stdout, "no differences\n");
    let text = wayleave(&format!("diff {first} {second}")).ends_with(6).stdout;
    assert!(text.starts_with("admitted now: film\nno longer admitted: video\n"), "{text}");
    let json = wayleave(&format!("diff {first} {second} -o json")).ends_with(6).json();
    assert_eq!((&json["compared"], &json["newly_admitted"]), (&json!("plan"), &json!(["film"])));
    let wrong = wayleave(&format!("diff {first} {network}")).ends_with(2);
    assert!(wrong.stderr.contains("network.yaml"), "{}", wrong.stderr);
}

/// The example of the documents: with contracts, both jobs take less than half of the time. Runs are exact, so are these figures.
pub(crate) fn contracts_keep_jobs_apart() {
    let run = |name: &str| wayleave(&format!("sim {} -o json", example(name))).ends_with(0);
    let (together, apart) = (run("scenario-jobs.yaml"), run("scenario-jobs-apart.yaml"));
    let mean = |run: &Value, traffic: usize| run["runs"][0]["traffic"][traffic]["chain_ps"]["mean"].as_f64().unwrap();
    let (before, after) = (together.json(), apart.json());
    for traffic in [0, 1] {
        let (before, after) = (mean(&before, traffic), mean(&after, traffic));
        assert!(after * 2.0 < before, "{before} {after}");
    }
    let paths = [together, apart].map(|run| file("run.json", run.stdout));
    let text = wayleave(&format!("diff {} {}", paths[0], paths[1])).ends_with(6).stdout;
    assert!(text.contains("traffic train"), "{text}");
}
