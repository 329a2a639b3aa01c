//! `verify`: what is admitted holds, what is broken on purpose is caught, and every finding can be made again.

use crate::command::{contracts, file, requests, wayleave};

/// Four bursts of 20 kB into one port.
fn colliding(name: &str) -> String {
    let contract = |n: u32| format!("name: c{n}, from: h{n}, to: h5, rate: 5Mbit, burst: 20kB, deadline: 20ms");
    let items: Vec<String> = (1..=4).map(contract).collect();
    file(name, contracts(&items.iter().map(String::as_str).collect::<Vec<_>>()))
}

/// Budgets that leave room for them.
const STAR: &str = "-t star:hosts=5 --budgets 2ms,4ms --host-budget 2ms";

#[test]
fn every_promise_of_either_scheme_holds() {
    let list = requests("verify-k4.yaml", "fat-tree:k=4", 8, 400);
    for scheme in ["", "--reroute", "--scheme silo", "--model published"] {
        let run = wayleave(&format!("verify -t fat-tree:k=4 -f {list} {scheme} --effort quick -o json")).ends_with(0);
        let json = run.json();
        assert_eq!(json["summary"]["violations"], 0, "{scheme}");
        let contracts = json["contracts"].as_array().unwrap();
        assert!(contracts.len() > 50, "{scheme}: {} contracts", contracts.len());
        for contract in contracts {
            let (worst, bound) = (contract["worst_ps"].as_u64().unwrap(), contract["bound_ns"].as_u64().unwrap());
            assert!(worst > 0 && worst <= bound * 1000, "{contract}");
            assert!(contract["packets"].as_u64() > Some(0) && contract["drops"] == 0, "{contract}");
        }
    }
}

#[test]
fn colliding_bursts_come_close_to_the_calculated_delay() {
    let list = colliding("verify-close.yaml");
    let json = wayleave(&format!("verify {STAR} -f {list} --effort quick -o json")).ends_with(0).json();
    for contract in json["contracts"].as_array().unwrap() {
        let (worst, today) = (contract["worst_ps"].as_f64().unwrap(), contract["today_ns"].as_f64().unwrap());
        assert!(worst / today / 1e3 > 0.8, "{contract}");
    }
}

#[test]
fn a_plan_is_verified_like_its_contracts() {
    verify_as_planned("verify-plan", 2500, "");
}

/// By delay alone flows are moved into what others have just left: moves of one decision wait for one another.
#[test]
fn a_plan_with_chained_moves_is_verified_too() {
    verify_as_planned("verify-least-delay", 1500, "--routing least-delay");
}

#[track_caller]
fn verify_as_planned(name: &str, count: u32, routing: &str) {
    let list = requests(&format!("{name}.yaml"), "fat-tree:k=4", 8, count);
    let plan = wayleave(&format!("plan -t fat-tree:k=4 -f {list} --reroute {routing} -o json"));
    assert!(
        plan.json()["summary"]["moved"].as_u64() > Some(0),
        "no flow was moved: the test shows less than it should"
    );
    let plan = file(&format!("{name}.json"), plan.stdout);
    let options = "--effort quick -o json";
    let from_plan = wayleave(&format!("verify -t fat-tree:k=4 --plan {plan} {options}")).ends_with(0).json();
    // With the contracts at hand, the requests that the plan states are compared with them, too.
    let with_list = wayleave(&format!("verify -t fat-tree:k=4 --plan {plan} -f {list} {options}")).ends_with(0).json();
    assert_eq!(with_list["contracts"], from_plan["contracts"]);
    assert!(from_plan["derived"]["moves"].as_u64() > Some(0), "{}", from_plan["derived"]);
    assert_eq!(from_plan["derived"]["discrepancies"], serde_json::json!([]));
    let from_list =
        wayleave(&format!("verify -t fat-tree:k=4 -f {list} --reroute {routing} {options}")).ends_with(0).json();
    assert_eq!(from_list["derived"], from_plan["derived"]);
    let bounds = |json: &serde_json::Value| {
        let contracts = json["contracts"].as_array().unwrap().iter();
        let of = |contract: &serde_json::Value| ["name", "bound_ns", "today_ns"].map(|key| contract[key].to_string());
        contracts.map(of).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(bounds(&from_plan), bounds(&from_list));
}

#[test]
fn a_broken_promise_exits_with_four_and_a_replay_command() {
    let list = colliding("verify-broken.yaml");
    for fault in ["budget-halved", "shaper-off", "buffers-gone"] {
        let run = wayleave(&format!("verify {STAR} -f {list} --effort quick --inject {fault} -o json")).ends_with(4);
        let output = run.stderr.lines().find_map(|line| line.strip_prefix("  replay: wayleave ")).unwrap().to_owned();
        let json = run.json();
        let violation = &json["violations"][0];
        assert_eq!(violation["replay"], format!("wayleave {output}"));
        let again = wayleave(&output).ends_with(4).json();
        let same = again["violations"].as_array().unwrap().iter().find(|other| other["name"] == violation["name"]);
        assert_eq!(same.unwrap()["message"], violation["message"], "{fault}: {output}");
        assert_eq!(again["input_hash"], json["input_hash"]);
    }
}

#[test]
fn a_wrong_plan_exits_with_four_and_names_the_error() {
    let list = colliding("verify-believed.yaml");
    let plan = wayleave(&format!("plan {STAR} -f {list} -o json")).ends_with(0).stdout;
    let verify = |plan: String, options: &str| {
        let plan = file("verify-believed.json", plan);
        wayleave(&format!("verify -t star:hosts=5 --plan {plan} --effort quick {options}"))
    };
    verify(plan.clone(), &format!("-f {list}")).ends_with(0);
    let lower = plan.replacen("\"bound_ns\":4000000", "\"bound_ns\":1", 1);
    assert_ne!(lower, plan);
    let run = verify(lower, "").ends_with(4);
    assert!(
        run.stderr.contains("discrepancy: flow \"c1\" was guaranteed 1 ns, below its bound of 4 ms"),
        "{}",
        run.stderr
    );
    assert!(run.stdout.contains("recomputed independently: 1 discrepancy"), "{}", run.stdout);
    // The requests of contracts are in their file.
    let wider = plan.replacen("\"burst_bytes\":20000", "\"burst_bytes\":20001", 1);
    let run = verify(wider, &format!("-f {list}")).ends_with(4);
    assert!(run.stderr.contains("\"c1\": the plan states bursts of 20.001 kB, the contract 20 kB"), "{}", run.stderr);
    let quiet = plan.replacen("\"best_effort\":true", "\"best_effort\":false", 1);
    let run = verify(quiet, "").ends_with(2);
    assert!(run.stderr.contains("the plan assumes --best-effort off, but here --best-effort on"), "{}", run.stderr);
    let first = plan.lines().find(|line| line.contains("\"name\":\"c1\"")).unwrap();
    let twice = plan.replacen(first, &format!("{first}\n{first}"), 1);
    let run = verify(twice, "").ends_with(2);
    assert!(run.stderr.contains("\"c1\" is admitted twice"), "{}", run.stderr);
}

#[test]
fn a_fault_is_caught_by_the_documented_check_or_has_a_reason() {
    let document =
        std::fs::read_to_string(format!("{}/../../docs/theory/verification.md", env!("CARGO_MANIFEST_DIR"))).unwrap();
    // So narrow that 900 requests are enough for moves.
    let narrow = "fat-tree:k=4,rate=200Mbit,buffer=30kB";
    let list = requests("verify-faults.yaml", narrow, 8, 900);
    let plan = wayleave(&format!("plan -t {narrow} -f {list} --reroute -o json"));
    let plan = file("verify-faults.json", plan.stdout);
    for (fault, noticed_by) in [
        ("priorities-swapped", "packets"),
        ("delay-understated", "derivation"),
        ("frame-omitted", "derivation"),
        ("burst-larger", "derivation"),
        ("rate-larger", "derivation"),
        ("move-forgotten", "derivation"),
        ("transitions-overlap", "derivation"),
    ] {
        let command = format!("verify -t {narrow} --plan {plan} --effort quick --inject {fault} -o json");
        let json = wayleave(&command).ends_with(4).json();
        assert_eq!(json["broken"], serde_json::json!({ "fault": fault, "noticed_by": noticed_by }));
        let row = document.lines().find(|line| line.starts_with(&format!("| `{fault}`"))).unwrap_or_default();
        assert!(row.contains(noticed_by), "{row}");
    }
    for (fault, why) in [("jitter-omitted", "has jitter"), ("duplication-off", "no contract is protected")] {
        let command = format!("verify -t {narrow} --plan {plan} --effort quick --inject {fault}");
        let run = wayleave(&command).ends_with(5);
        // Nothing was tried, and that is no crash.
        wayleave(&format!("{command} -o json")).ends_with(5).json();
        assert!(run.stderr.contains(&format!("--inject {fault} has no effect here: ")) && run.stderr.contains(why));
    }
    // Silo's budgets are far from used up by one small contract.
    let light =
        file("verify-light.yaml", contracts(&["name: c1, from: h1, to: h2, rate: 1Mbit, burst: 300B, deadline: 9ms"]));
    let run =
        wayleave(&format!("verify -t star:hosts=2 -f {light} --scheme silo --inject buffers-gone --effort quick"));
    assert!(run.ends_with(5).stderr.contains("--inject buffers-gone was not detected"));
}

#[test]
fn the_search_targets_the_named_contract() {
    let list = colliding("verify-flow.yaml");
    let run = wayleave(&format!("verify {STAR} -f {list} --effort quick --flow c3")).ends_with(0);
    assert!(run.stdout.lines().nth(1).unwrap().starts_with("c3 "), "{}", run.stdout);
    let run = wayleave(&format!("verify {STAR} -f {list} --flow c5")).ends_with(2);
    assert!(run.stderr.contains("no contract \"c5\" is admitted; did you mean \"c"), "{}", run.stderr);
}

#[test]
fn contradictory_options_are_refused() {
    let list = colliding("verify-nonsense.yaml");
    let plan = file("verify-nonsense.json", wayleave(&format!("plan {STAR} -f {list} -o json")).stdout);
    for (arguments, expected) in [
        (format!("{STAR} -f {list} --replay chasing:9,1"), "no guarantee 9"),
        (format!("{STAR} -f {list} --replay chasing,1"), "is not an attack: PATTERN,SEED[,SHIFTS] is expected"),
        (format!("-t star:hosts=6 --plan {plan}"), "the plan is for star with 5 hosts"),
        (format!("-t star:hosts=5 --plan {list}"), "is not a plan of `wayleave plan -o json`"),
        (format!("-t star:hosts=5 --plan {plan} --scheme silo"), "cannot be used with"),
        ("-t star:hosts=5".to_owned(), "--file"),
    ] {
        let run = wayleave(&format!("verify {arguments}")).ends_with(2);
        assert!(run.stderr.contains(expected), "{arguments}: {}", run.stderr);
    }
}

/// Four latency contracts, six minima, two objectives and best effort, all to one host.
fn every_kind() -> String {
    let latency = |number: usize| {
        format!("    - {{ name: l{number}, from: h{number}, to: h13, rate: 1Gbit, burst: 24kB, deadline: 3ms }}\n")
    };
    let minimum = |number: usize| {
        format!("    - {{ name: g{number}, bandwidth: {{ from: h{}, to: h13, min: 508Mbit }} }}\n", number + 4)
    };
    let mut text =
        "apiVersion: wayleave/v1\nkind: Contracts\nmetadata: { name: all }\nspec:\n  contracts:\n".to_owned();
    text.extend((1..=4).map(latency).chain((1..=6).map(minimum)));
    text += "    - { name: search, objective: { goal: completion, members: [h11, h13], weight: 600Mbit } }\n";
    text += "    - { name: bulk, bestEffort: { members: [h12, h13] } }\n";
    file("verify-kinds.yaml", text)
}

/// A maximum that no traffic reached is not held, but not tested; a longer run tests all but the smallest.
#[test]
fn a_maximum_that_no_traffic_reached_is_not_tested() {
    for (max, code, tested) in [("64kbit", 7, 0), ("10Mbit", 0, 3)] {
        let item = format!("name: bulk, bestEffort: {{ members: [h1, h2, h3], max: {max} }}");
        let list = file(&format!("verify-max-{max}.yaml"), contracts(&[item.as_str()]));
        let run = wayleave(&format!("verify -t star:hosts=3,rate=1Gbit -f {list} --effort quick")).ends_with(code);
        let is_named = run.stdout.contains("3 maxima not tested: with unlimited demand, bulk at h")
            && run.stdout.contains(" sent 0 % of its maximum");
        assert_eq!(is_named, tested == 0, "{}", run.stdout);
        assert_eq!(run.stdout.contains("all guarantees held"), tested == 3, "{}", run.stdout);
        let json = wayleave(&format!("verify -t star:hosts=3,rate=1Gbit -f {list} --effort quick -o json")).json();
        let maxima = json["classes"]["maxima"].as_array().unwrap();
        assert_eq!(maxima.iter().filter(|maximum| maximum["tested"] == true).count(), tested, "{json}");
    }
}

#[test]
fn promises_of_every_kind_hold_and_faults_of_classes_are_caught() {
    let command = format!(
        "verify -t star:hosts=13,rate=10Gbit,delay=4us,queues=8,buffer=500kB -f {} --effort quick",
        every_kind()
    );
    let json = wayleave(&format!("{command} -o json")).ends_with(0).json();
    assert_eq!(json["classes"]["violations"].as_array().map(Vec::len), Some(0), "{json}");
    assert!(
        json["classes"]["promises"] == 6 && json["classes"]["untested_weights"] == 6 && json["classes"]["runs"] == 8,
        "{json}"
    );
    let links = json["classes"]["links"].as_array().unwrap();
    assert_eq!(
        links.iter().filter(|attack| attack["link"] == "s1->h13").count(),
        3,
        "the link with most minima: {json}"
    );
    let minima = json["classes"]["minima"].as_array().unwrap();
    assert!(minima.iter().all(|minimum| minimum["attack"].as_str().unwrap().contains(" on s1->h13")), "{json}");
    let farthest = json["classes"]["farthest_from_part_per_mille"].as_u64().unwrap();
    assert!(farthest < 150, "six pairs meet at h13: {json}");
    let text = wayleave(&command).ends_with(0);
    assert!(text.stdout.contains("of the classes below latency") && text.stdout.contains("g1"), "{}", text.stdout);
    for fault in ["weights-reversed", "residual-forgotten", "steps-unlimited", "class-leaked"] {
        let run = wayleave(&format!("{command} --inject {fault}")).ends_with(4);
        let seen = if fault == "steps-unlimited" { "unexpected, but not guaranteed" } else { "guarantee violated: " };
        assert!(run.stderr.contains(seen), "{fault}: {}", run.stderr);
    }
}

/// Ports may have more queues than the classes use, at hosts and at switches.
#[test]
fn queues_that_no_class_uses_stay_empty() {
    let list = file(
        "verify-few-queues.yaml",
        "apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n    - { name: a, bandwidth: { hose: [h1, h2, h3], min: 100Mbit } }\n    \
         - { name: l, from: h1, to: h2, rate: 10Mbit, burst: 3kB, deadline: 5ms }\n",
    );
    for builder in ["{ kind: star, hosts: 3, rate: 1Gbit }", "{ kind: star, hosts: 3, rate: 1Gbit, hostQueues: 8 }"] {
        let network = file(
            "verify-few-queues-network.yaml",
            format!(
                "apiVersion: wayleave/v1\nkind: Topology\nmetadata: {{ name: t }}\nspec: {{ classes: {{ latency: 2 }}, builder: {builder} }}\n"
            ),
        );
        wayleave(&format!("plan -t {network} -f {list}")).ends_with(0);
        let verified = wayleave(&format!("verify -t {network} -f {list} --effort quick")).ends_with(0);
        assert!(verified.stdout.contains("all guarantees held"), "{}", verified.stdout);
    }
}

/// With buffers of 3 kB and round trips of 4 ms packets are dropped, and a minimum is late by half of its time more.
/// The plan states that its certainty is unknown.
#[test]
fn minima_behind_small_buffers_are_unknown() {
    let list = file(
        "verify-small-buffers.yaml",
        "apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n    - { name: a, bandwidth: { from: h1, to: h4, min: 10Mbit } }\n    \
         - { name: b, bandwidth: { from: h2, to: h4, min: 15Mbit } }\n    \
         - { name: c, bandwidth: { hose: [h1, h2, h3, h4], min: 15Mbit } }\n",
    );
    let on = |buffer: &str| format!("-t star:hosts=4,rate=100Mbit,delay=1ms --buffer {buffer} -f {list}");
    let plan = wayleave(&format!("plan {} -o json", on("3kB"))).ends_with(0).json();
    let short = plan["short_buffers"].as_array().unwrap();
    assert_eq!(
        short.iter().map(|one| one["link"].as_str().unwrap()).collect::<Vec<_>>(),
        ["s1->h1", "s1->h2", "s1->h3", "s1->h4"]
    );
    let text = wayleave(&format!("plan {}", on("3kB"))).ends_with(0).stdout;
    assert!(text.contains("buffers of 4 ports may be too small for the minima"), "{text}");
    let verified = wayleave(&format!("verify {} --effort quick", on("3kB"))).ends_with(7);
    assert!(
        verified.stderr.contains("2 contracts missed a minimum or a weight that is not guaranteed"),
        "{}",
        verified.stderr
    );
    let large = wayleave(&format!("plan {} -o json", on("400kB"))).ends_with(0).json();
    assert!(large["short_buffers"].is_null(), "{large}");
    wayleave(&format!("verify {} --effort quick", on("400kB"))).ends_with(0);
}

/// The plan's figures for minima and objectives are derived again, sent, and held against the contracts.
#[test]
fn a_plan_with_every_kind_is_verified() {
    let list = every_kind();
    let on = "-t star:hosts=13,rate=10Gbit,delay=4us,queues=8,buffer=500kB";
    let text = wayleave(&format!("plan {on} -f {list} -o json")).ends_with(0).stdout;
    let plan = file("verify-kinds.json", &text);
    let command = format!("verify {on} --effort quick -o json");
    let admitted = wayleave(&format!("{command} -f {list}")).ends_with(0).json();
    for given in [format!("--plan {plan}"), format!("--plan {plan} -f {list}")] {
        let output = wayleave(&format!("{command} {given}")).ends_with(0).json();
        assert_eq!((&output["classes"], &output["derived"]), (&admitted["classes"], &admitted["derived"]), "{given}");
        assert!(output["derived"]["shares"].as_u64() > Some(2), "{output}");
    }
    let broken = wayleave(&format!("{command} --plan {plan} --inject weights-reversed")).ends_with(4);
    assert!(broken.stderr.contains("guarantee violated: "), "{}", broken.stderr);

    let mut output: serde_json::Value = serde_json::from_str(&text).unwrap();
    let requests = output["requests"].as_array_mut().unwrap();
    let pair = requests.iter_mut().find(|one| one["between"] == "pair").unwrap();
    pair["min_bps"] = 9_900_000_000_u64.into();
    let greedy = file("verify-kinds-greedy.json", output.to_string());
    let run = wayleave(&format!("{command} --plan {greedy}")).ends_with(4);
    assert!(run.stderr.contains("discrepancy: the guaranteed class of "), "{}", run.stderr);
    let run = wayleave(&format!("{command} --plan {greedy} -f {list}")).ends_with(4);
    assert!(run.stderr.contains("the plan states a minimum of 9.9 Gbit/s, the contract "), "{}", run.stderr);
}

/// Catches: a check of shares in the end of a plan only, and one that takes times of minima from the plan.
#[test]
fn shares_and_times_of_minima_are_derived_after_every_event() {
    let events = file(
        "verify-shares.yaml",
        "apiVersion: wayleave/v1\nkind: Events\nspec:\n  events:\n\
         \x20   - { at: 0ns, add: { name: a, bandwidth: { from: h1, to: h2, min: 3Gbit, within: 3ms } } }\n\
         \x20   - { at: 1ms, add: { name: l, from: h1, to: h2, rate: 1Gbit, burst: 3kB, deadline: 5ms } }\n\
         \x20   - { at: 2ms, change: { name: a, bandwidth: { from: h1, to: h2, min: 1Gbit, within: 3ms } } }\n\
         \x20   - { at: 3ms, add: { name: b, bandwidth: { hose: [h1, h2, h3], min: 100Mbit, within: 3ms } } }\n",
    );
    let on = "-t star:hosts=4,rate=10Gbit,delay=4us,queues=8,buffer=500kB";
    let planned = |options: &str| {
        let plan = wayleave(&format!("plan {on} --events {events} --recheck -o json {options}")).ends_with(0);
        assert!(plan.stderr.contains("sound, all guarantees hold"), "{}", plan.stderr);
        plan.stdout
    };
    let text = planned("");
    let verified = |name: &str, plan: &serde_json::Value| {
        let plan = file(name, plan.to_string());
        wayleave(&format!("verify {on} --effort quick --plan {plan}"))
    };
    let plan: serde_json::Value = serde_json::from_str(&text).unwrap();
    verified("verify-shares.json", &plan).ends_with(0);
    // Another budget is that of the plan.
    let other = serde_json::from_str(&planned("--fabric-guaranteed-budget 400us")).unwrap();
    verified("verify-shares-other.json", &other).ends_with(0);
    // Too much at first, and no longer in the end.
    let mut greedy = plan.clone();
    greedy["requests"][0]["min_bps"] = 5_000_000_000_u64.into();
    let run = verified("verify-shares-greedy.json", &greedy).ends_with(4);
    let output = "after \"l\" was admitted, the guaranteed class of h1->s1 has 5 Gbit/s reserved, above the limit of 4.59 Gbit/s";
    assert!(run.stderr.contains(output), "{}", run.stderr);
    // A minimum of a pair, and one of a hose, that are available later than the plan states.
    for (number, name) in [(2, "a"), (3, "b")] {
        let mut early = plan.clone();
        let time = early["requests"][number]["there_within_ns"].as_u64().unwrap();
        early["requests"][number]["there_within_ns"] = (time - 1).into();
        let run = verified("verify-shares-early.json", &early).ends_with(4);
        assert!(
            run.stderr.contains(&format!("the minimum of {name} is stated to be reached within")),
            "{}",
            run.stderr
        );
    }
    // Budgets below what packets wait for.
    let mut short = plan.clone();
    short["scheme"]["guaranteed_budget_ns"] = 20_000_u64.into();
    let run = verified("verify-shares-short.json", &short).ends_with(4);
    assert!(run.stderr.contains("above the 20 us assumed for minima with a time"), "{}", run.stderr);
}

#[test]
fn a_fault_of_classes_needs_contracts_of_other_kinds() {
    let list = colliding("verify-classless.yaml");
    let run = wayleave(&format!("verify {STAR} -f {list} --effort quick --inject class-leaked")).ends_with(2);
    assert!(run.stderr.contains("minima, objectives or best effort"), "{}", run.stderr);
}

/// A host that only sends has a latency contract, and is among the senders that fill links beside minima, without acknowledgements.
#[test]
fn hosts_without_a_return_path_are_verified() {
    let network = file(
        "verify-one-way-network.yaml",
        "apiVersion: wayleave/v1\nkind: Topology\nmetadata: { name: t }\nspec:\n  classes: {}\n  \
         nodes: [ { name: s1, kind: switch }, { name: h1, kind: host }, { name: h2, kind: host }, { name: h3, kind: host } ]\n  \
         links:\n    - { between: [h1, s1], rate: 1Gbit }\n    - { between: [h2, s1], rate: 1Gbit }\n    - { from: h3, to: s1, rate: 1Gbit }\n",
    );
    let list = file(
        "verify-one-way.yaml",
        "apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n    - { name: a, bandwidth: { hose: [h1, h2], min: 100Mbit } }\n    \
         - { name: l, from: h3, to: h1, rate: 10Mbit, burst: 3kB, deadline: 5ms }\n    \
         - { name: o, objective: { goal: completion, members: [h1, h2], weight: 10Mbit } }\n",
    );
    let verified = wayleave(&format!("verify -t {network} -f {list} --effort quick")).ends_with(0);
    assert!(verified.stdout.contains("2 guarantees of the classes below latency"), "{}", verified.stdout);
}

/// Catches: promises that count as held though no traffic tested them, and a verdict beside nothing that was tested.
#[test]
fn only_tested_promises_of_classes_hold() {
    let on = "verify -t star:hosts=3,rate=1Gbit --effort quick";
    let verify = |name: &str, items: &[&str], code| {
        let list = file(&format!("verify-tested-{name}.yaml"), contracts(items));
        let run = wayleave(&format!("{on} -f {list}")).ends_with(code);
        assert_eq!(run.stdout.contains("all guarantees held"), code == 0, "{name}: {}", run.stdout);
        (run.stdout, wayleave(&format!("{on} -f {list} -o json")).json())
    };
    // A line of 1 Gbit/s carries 950 Mbit/s of classes.
    let (text, _) = verify("line", &["name: m, bandwidth: { from: h1, to: h3, min: 300Mbit, max: 880Mbit }"], 7);
    assert!(text.contains("1 maximum not tested") || text.contains("2 maxima not tested"), "{text}");
    verify("margin", &["name: m, bandwidth: { from: h1, to: h3, min: 300Mbit, max: 500Mbit }"], 0);
    let pair = |from: &str, terms: &str| format!("name: {from}, bandwidth: {{ from: {from}, to: h3, {terms} }}");
    for (name, terms) in [
        ("small", ["min: 100Mbit, weight: 1", "min: 100Mbit, weight: 300"]),
        // 28 % less by minima, and the windows of the other contract may take a frame more in each round trip.
        ("near", ["min: 100Mbit, weight: 300", "min: 100Mbit, weight: 100"]),
        ("capped", ["min: 10Mbit, max: 20Mbit, weight: 100", "min: 100Mbit, max: 200Mbit, weight: 300"]),
    ] {
        let items = [pair("h1", terms[0]), pair("h2", terms[1])];
        let (_, json) = verify(name, &[&items[0], &items[1]], 7);
        assert_eq!(json["classes"]["untested_weights"], 2, "{name}: {json}");
    }
    let objective = "name: o, objective: { deadline: 20ms, members: [h1, h3], weight: 100Mbit }";
    let (text, json) = verify("objective", &[objective], 7);
    assert!(text.contains("objectives are not tested") && text.contains("nothing was tested"), "{text}");
    assert!(json["classes"]["largest_lag_per_mille"].is_null(), "{json}");
    verify("best-effort", &["name: b, bestEffort: { members: [h1, h2, h3] }"], 7);
}

/// Catches: an attack on latency contracts that is reported as a test of all contracts.
#[test]
fn what_an_option_leaves_out_is_named() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples");
    let on = format!("verify -t {examples}/network-fabric.yaml -f {examples}/contracts-fabric.yaml --effort quick");
    for (option, reason, code) in [
        ("--replay together,1", "--replay makes one attack on latency contracts", 0),
        ("--flow robot", "--flow tests latency contracts only", 0),
        ("--inject budget-halved", "--inject budget-halved is a fault of latency contracts", 4),
    ] {
        let run = wayleave(&format!("{on} {option}")).ends_with(code);
        let expected = format!("5 contracts of classes below latency not tested: {reason}");
        assert!(run.stdout.contains(&expected), "{option}: {}", run.stdout);
        let json = wayleave(&format!("{on} {option} -o json")).ends_with(code).json();
        assert_eq!(json["untested_classes"]["reason"], reason, "{option}");
        assert!(json["summary"]["stopped"] == false && json["classes"].is_null(), "{json}");
    }
    let run = wayleave(&format!("{on} --replay together,1 --inject max-ignored")).ends_with(2);
    assert!(run.stderr.contains("--inject max-ignored about classes below"), "{}", run.stderr);
    let run = wayleave(&format!("{on} --replay together,1")).ends_with(0);
    assert!(run.stdout.contains("no violations in this attack; other attacks were not made"), "{}", run.stdout);
}

/// Contracts without a weight share by their minima.
#[test]
fn implied_weights_are_tested_alone_and_beside_given_ones() {
    let on = "verify -t star:hosts=3,rate=1Gbit,delay=20us --effort usual";
    let pair = |from: &str, terms: &str| format!("name: {from}, bandwidth: {{ from: {from}, to: h3, {terms} }}");
    for (name, terms, injected) in
        [("implied", ["min: 100Mbit", "min: 200Mbit"], 5), ("beside", ["min: 100Mbit, weight: 300", "min: 100Mbit"], 4)]
    {
        let items = [pair("h1", terms[0]), pair("h2", terms[1])];
        let list = file(&format!("verify-weights-{name}.yaml"), contracts(&[&items[0], &items[1]]));
        let json = wayleave(&format!("{on} -f {list} -o json")).ends_with(0).json();
        assert_eq!(json["classes"]["untested_weights"], 0, "{name}: {json}");
        assert!(json["classes"]["farthest_from_part_per_mille"].as_u64() < Some(150), "{name}: {json}");
        let run = wayleave(&format!("{on} -f {list} --inject weight-ignored")).ends_with(injected);
        assert_eq!(
            run.stderr.contains("its fair share by minimum and weight"),
            injected == 4,
            "{name}: {}",
            run.stderr
        );
    }
}
