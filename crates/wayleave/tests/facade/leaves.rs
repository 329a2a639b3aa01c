//! A plan document is not trusted: every leaf of plans of all kinds is changed, and every change is refused or
//! reported, except for listed fields that promise nothing.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde_json::{Value, json};
use wayleave::{
    Contracts, Model, Network, PlanFile, PlanInput, Promises, ReleaseHold, SchemeOptions, Source, Watch, plan,
    read_plan,
};
use wayleave_adversary::derive;
use wayleave_formats::read_events;
use wayleave_units::Bytes;

use crate::{PlanOptions, printed};

/// Fields of a list of contracts that promise nothing. `refusals` are requests that are refused.
const NO_PROMISES: &[(&str, &str)] = &[
    ("wayleave", "the version that printed the document"),
    ("topology.name", "a label: the same network may be read from another file"),
    ("summary.decision_us.mean", "how long decisions took"),
    ("summary.decision_us.p50", "how long decisions took"),
    ("summary.decision_us.p99", "how long decisions took"),
    ("refusals[].tenant", "nothing is promised to a refused contract"),
    ("refusals[].from", "nothing is promised to a refused contract"),
    ("refusals[].to", "nothing is promised to a refused contract"),
    ("refusals[].rate_bps", "nothing is promised to a refused contract"),
    ("refusals[].burst_bytes", "nothing is promised to a refused contract"),
    ("refusals[].deadline_ns", "nothing is promised to a refused contract"),
    ("refusals[].kind", "nothing is promised to a refused contract"),
    ("refusals[].class", "nothing is promised to a refused contract"),
    ("refusals[].members", "nothing is promised to a refused contract"),
    ("refusals[].members[]", "nothing is promised to a refused contract"),
    ("refusals[].between", "nothing is promised to a refused contract"),
    ("refusals[].min_bps", "nothing is promised to a refused contract"),
    ("refusals[].message", "a text"),
    ("refusals[].activate_after_ns", "nothing is promised to a refused contract"),
    ("refusals[].binding", "why it is refused"),
    ("refusals[].binding.link", "why it is refused"),
    ("refusals[].binding.asked_bps", "why it is refused"),
    ("refusals[].binding.left_bps", "why it is refused"),
    ("refusals[].binding.fits_bps", "why it is refused"),
    ("refusals[].tried", "why it is refused"),
    ("refusals[].tried[].link", "why it is refused"),
    ("refusals[].tried[].queue", "why it is refused"),
    ("scheme.budgets_ns (larger)", "a further budget is that of a queue that no port has"),
    (
        "scheme.host_budgets_ns (larger)",
        "a further budget is that of a queue that no port has; the budgets themselves are derived",
    ),
    ("short_buffers[].needed_bytes (larger)", "one byte more is rounding; what is smaller is noticed"),
    ("scheme.reroute", "every move is derived; without rerouting there must be none"),
    ("scheme.paths", "charges and certainties that rest on it are derived; here they are the same"),
    ("scheme.hose_charge", "charges and certainties that rest on it are derived; here they are the same"),
    (
        "requests[].activate_after_ns of a share",
        "what does not fit during the time between is derived (`early_starts_of_shares_are_detected`); the rest is safe",
    ),
];

/// Further fields of a history. It is read without its contracts, so the requests are those stated in the plan.
const NO_PROMISES_OF_HISTORIES: &[(&str, &str)] = &[
    (
        "releases[].held_until_ns of a share",
        "how long its packets stay is derived: `early_starts_of_shares_are_detected`",
    ),
    ("requests[].at_ns", "the time of an event is an input"),
    ("refusals[].at_ns", "the time of an event is an input"),
    ("releases[].at_ns", "the time of an event is an input"),
    ("refusals[].within_ns", "nothing is promised to a refused contract"),
    ("refusals[].max_bps", "nothing is promised to a refused contract"),
    ("requests[].name", "with every mention of it, a name is only a name"),
    ("refusals[].name", "with every mention of it, a name is only a name"),
    ("requests[].tenant", "asked for"),
    ("requests[].rate_bps", "asked for; the reservation has to cover it"),
    ("requests[].burst_bytes", "asked for; the reservation has to cover it"),
    (
        "requests[].reserved.rate_bps (larger)",
        "a contract in frame bytes takes more on the wire; what stands is in its queues",
    ),
    (
        "requests[].reserved.burst_bytes (larger)",
        "a contract in frame bytes takes more on the wire; what stands is in its queues",
    ),
    ("requests[].deadline_ns", "asked for; the bound has to keep it"),
    ("requests[].min_bps", "asked for; links have to have room for it"),
    ("requests[].max_bps", "asked for"),
    ("requests[].within_ns", "asked for; the derived time has to keep it"),
    ("requests[].members", "asked for; a route has to join the members"),
    ("requests[].members[]", "asked for; a route has to join the members"),
];

/// Words that documents may have at a key, whether this one has them or not.
const WORDS: &[(&str, &[&str])] = &[
    ("decision", &["admitted", "refused", "released", "not-admitted"]),
    ("event", &["add", "change", "release"]),
    ("certainty", &["proven", "measured"]),
    ("kind", &["bandwidth", "objective", "best-effort", "queue", "propagation", "processing"]),
    ("class", &["guaranteed", "objective", "best effort"]),
    ("between", &["pair", "hose"]),
    ("objective", &["completion", "latency", "deadline"]),
    ("reason", &["RATE", "LATENCY", "NO_PATH"]),
    ("residual", &["full", "first-slope"]),
    ("compare", &["strict", "non-strict"]),
    ("jitter", &["any", "ordered"]),
    ("paths", &["one", "all"]),
    ("hose_charge", &["split", "every-path"]),
];

const NETWORK: &str = "
apiVersion: wayleave/v1
kind: Topology
metadata: { name: two-racks }
spec:
  builder: { kind: leaf-spine, leaves: 2, spines: 2, hosts: 2, rate: 10Gbit, delay: 1us, queues: 5, buffer: 45kB }
  classes: { latency: 2, guaranteed: 6, objective: 3, bestEffort: 1 }
";

const CONTRACTS: &str = "
apiVersion: wayleave/v1
kind: Contracts
spec:
  contracts:
    - { name: robot, tenant: plant, from: h1, to: h3, rate: 20Mbit, burst: 3kB, deadline: 40ms }
    - { name: camera, tenant: plant, from: h2, to: h3, rate: 200Mbit, burst: 9kB, deadline: 40ms, protection: 2 }
    - { name: late, from: h1, to: h4, rate: 20Mbit, burst: 3kB, deadline: 1us }
    - { name: copy, tenant: shop, bandwidth: { from: h1, to: h4, min: 500Mbit, within: 9ms } }
    - { name: move, bandwidth: { from: h2, to: h1, min: 200Mbit, max: 900Mbit } }
    - { name: db, tenant: shop, bandwidth: { hose: [h1, h2, h3], min: 400Mbit, within: 9ms, weight: 700 } }
    - { name: huge, bandwidth: { hose: [h1, h4], min: 9Gbit } }
    - { name: web, objective: { deadline: 20ms, members: [h1, h3, h4], weight: 300Mbit } }
    - { name: bulk, bestEffort: { members: [h2, h4] } }
";

/// The discrepancies of a document, or the reason why it is none.
pub(crate) fn noticed(text: &str, network: &Network, contracts: Option<&Contracts>) -> Vec<String> {
    let (source, model) = (Source::new("plan.json", text), Model::default());
    let plan = PlanFile::new(&source, &network.graph, &model).with_contracts(contracts);
    let read = match read_plan(&plan) {
        Ok(read) => read,
        Err(error) => return vec![error.to_string()],
    };
    let Promises::Stated(statement) = &read.promises else { panic!("a scheme with queues") };
    match derive(statement) {
        Ok(derivation) => derivation.discrepancies.iter().map(ToString::to_string).collect(),
        Err(error) => vec![error.to_string()],
    }
}

/// Calls a function with every leaf and every array of a value, by its path.
fn walk(value: &Value, path: &str, look: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| walk(value, &format!("{path}/{key}"), look));
        }
        Value::Array(items) => {
            look(path, value);
            items.iter().enumerate().for_each(|(index, value)| walk(value, &format!("{path}/{index}"), look));
        }
        leaf => look(path, leaf),
    }
}

/// The last key of a path that is no index.
fn key(path: &str) -> &str {
    path.rsplit('/').find(|part| part.parse::<usize>().is_err()).unwrap_or_default()
}

/// The path as the lists name it.
fn pattern(plan: &Value, path: &str) -> String {
    let mut pattern = String::new();
    for part in path.trim_start_matches('/').split('/') {
        match part.parse::<usize>() {
            Ok(_) => pattern += "[]",
            Err(_) if pattern.is_empty() => pattern += part,
            Err(_) => pattern += &format!(".{part}"),
        }
    }
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let Some(request) = parts.get(1).filter(|_| parts[0] == "requests").and_then(|at| at.parse::<usize>().ok()) else {
        return pattern;
    };
    let requests = &plan["requests"];
    let request = &requests[request];
    let is_share = |one: &Value| one["name"] == request["name"] && !one["kind"].is_null();
    let suffix = match requests.as_array().is_some_and(|all| all.iter().any(is_share)) {
        true if pattern.ends_with("activate_after_ns") || pattern.ends_with("held_until_ns") => " of a share",
        _ => "",
    };
    let pattern = pattern + suffix;
    match request["decision"].as_str() {
        Some("refused") => pattern.replacen("requests", "refusals", 1),
        Some("released" | "not-admitted") => pattern.replacen("requests", "releases", 1),
        _ => pattern,
    }
}

/// Returns the replacements of a leaf or an array.
fn changes(path: &str, value: &Value, words: &BTreeMap<String, BTreeSet<String>>) -> Vec<Value> {
    match value {
        Value::Number(number) => match number.as_u64() {
            Some(0) => vec![json!(1)],
            Some(whole) => [whole - 1, whole + 1, 0].into_iter().map(|one| json!(one)).collect(),
            None => vec![json!(number.as_f64().unwrap() + 0.5), json!(0)],
        },
        Value::String(word) => {
            let known = words.get(key(path)).into_iter().flatten().map(String::as_str);
            let legal = WORDS.iter().filter(|(at, _)| *at == key(path)).flat_map(|(_, words)| words.iter().copied());
            let others: BTreeSet<&str> = legal.chain(known.take(4)).filter(|other| other != word).collect();
            others.into_iter().map(|other| json!(other)).collect()
        }
        Value::Bool(flag) => vec![json!(!flag)],
        Value::Null => vec![json!(1), json!("RATE")],
        Value::Array(items) => {
            let mut all = Vec::new();
            if let [first, rest @ ..] = &items[..] {
                all.push(rest.to_vec());
                all.push(items[..items.len() - 1].to_vec());
                all.push([items.clone(), vec![items[items.len() - 1].clone()]].concat());
                all.push([vec![first.clone()], items.clone()].concat());
            }
            all.into_iter().map(Value::Array).collect()
        }
        Value::Object(_) => Vec::new(),
    }
}

/// Changes everything, and returns the changes that were not detected.
fn unnoticed(plan: &Value, network: &Network, contracts: Option<&Contracts>, exempt: &[&str]) -> (usize, Vec<String>) {
    let mut words: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut leaves = Vec::new();
    walk(plan, "", &mut |path, value| {
        if let Value::String(word) = value {
            words.entry(key(path).to_owned()).or_default().insert(word.clone());
        }
        leaves.push((path.to_owned(), value.clone()));
    });
    let mut forgeries = Vec::new();
    for (path, value) in leaves {
        let named = pattern(plan, &path);
        if exempt.contains(&named.as_str()) {
            continue;
        }
        for change in changes(&path, &value, &words) {
            let size = |value: &Value| value.as_array().map_or(value.as_u64(), |items| Some(items.len() as u64));
            if size(&change) > size(&value) && exempt.contains(&format!("{named} (larger)").as_str()) {
                continue;
            }
            forgeries.push((path.clone(), change.clone(), format!("{path} ({named}): {value} -> {change}")));
        }
    }
    let missed = forgeries.par_iter().filter(|(path, change, _)| {
        let mut forged = plan.clone();
        *forged.pointer_mut(path).unwrap() = change.clone();
        noticed(&forged.to_string(), network, contracts).is_empty()
    });
    (forgeries.len(), missed.map(|(_, _, words)| words.clone()).collect())
}

fn names(lists: &[&[(&'static str, &'static str)]]) -> Vec<&'static str> {
    lists.iter().flat_map(|list| list.iter().map(|(name, _)| *name)).collect()
}

/// Lists with rerouting, two routes, other schemes and every kind: decision and derivation agree.
#[test]
fn derivation_agrees_with_plans_of_lists() {
    let network = Network::open("fat-tree:k=4,queues=4").unwrap();
    for (scheme, key, value) in [
        ("chameleon", "reroute", "true"),
        ("chameleon", "routing", "least-delay"),
        ("chameleon", "reroute", "false"),
        ("silo", "", ""),
    ] {
        let mut options = SchemeOptions::named(scheme).unwrap();
        if !key.is_empty() {
            options = options.with(key, value).unwrap();
        }
        let contracts = Contracts::drawn(&network, 8, 3, 1_000, &mut Watch::none()).unwrap();
        let options = PlanOptions::default().with_scheme(options);
        let plan = printed(&network, PlanInput::Contracts(&contracts), &options);
        for contracts in [None, Some(&contracts)] {
            let noticed = noticed(&plan.to_string(), &network, contracts);
            assert_eq!(noticed, Vec::<String>::new(), "{scheme} {key} {value}");
        }
    }
}

#[test]
fn every_changed_leaf_of_a_plan_of_all_kinds_is_detected() {
    let network = Network::parse(&Source::new("network.yaml", NETWORK)).unwrap();
    let contracts = Contracts::parse_all_kinds(&[Source::new("contracts.yaml", CONTRACTS)], &network).unwrap();
    let options = PlanOptions::default().with_scheme(SchemeOptions::named("fabric").unwrap());
    let plan = printed(&network, PlanInput::Contracts(&contracts), &options);
    let decisions: Vec<&str> =
        plan["requests"].as_array().unwrap().iter().map(|one| one["decision"].as_str().unwrap()).collect();
    let (yes, no) = ("admitted", "refused");
    assert_eq!(decisions, [yes, yes, no, yes, yes, yes, no, yes, yes], "{plan:#}");
    assert!(!plan["short_buffers"].as_array().unwrap().is_empty(), "{plan:#}");
    assert_eq!(noticed(&plan.to_string(), &network, Some(&contracts)), Vec::<String>::new());
    let (tried, missed) = unnoticed(&plan, &network, Some(&contracts), &names(&[NO_PROMISES]));
    assert!(missed.is_empty(), "{} of {tried}:\n{}", missed.len(), missed.join("\n"));
    assert!(tried > 2_000, "{tried}");
}

const HISTORY_NETWORK: &str = "
apiVersion: wayleave/v1
kind: Topology
metadata: { name: three-ways }
spec:
  defaults: { rate: 10Gbit, delay: 1us, queues: 5, buffer: 200MB }
  classes: { latency: 2, guaranteed: 6, objective: 3, bestEffort: 1 }
  nodes:
    - { name: lA, kind: switch }
    - { name: lB, kind: switch }
    - { name: lC, kind: switch }
    - { name: s1, kind: switch }
    - { name: s2, kind: switch }
    - { name: s3, kind: switch }
    - { name: a1, kind: host }
    - { name: b1, kind: host }
    - { name: b2, kind: host }
    - { name: c1, kind: host }
    - { name: c2, kind: host }
  links:
    - { between: [lA, s1] }
    - { between: [lA, s2] }
    - { between: [lA, s3] }
    - { between: [lB, s1] }
    - { between: [lB, s2] }
    - { between: [lB, s3] }
    - { between: [lC, s1] }
    - { between: [lC, s2] }
    - { between: [lC, s3] }
    - { between: [a1, lA], rate: 40Gbit }
    - { between: [b1, lB], rate: 40Gbit }
    - { between: [b2, lB], rate: 40Gbit }
    - { between: [c1, lC], rate: 40Gbit }
    - { between: [c2, lC], rate: 40Gbit }
";

const EVENTS: &str = r#"
apiVersion: wayleave/v1
kind: Events
spec:
  events:
    - { at: 0s, add: { name: A, tenant: plant, from: a1, to: b1, rate: 4Gbit, burst: 9kB, deadline: 1s } }
    - { at: 0s, add: { name: E, from: a1, to: b1, rate: 4Gbit, burst: 9kB, deadline: 1s } }
    - { at: 0s, add: { name: G, from: a1, to: b1, rate: 2Gbit, burst: 9kB, deadline: 1s, route: ["a1->lA:0", "lA->s2:0", "s2->lB:0", "lB->b1:0"] } }
    - { at: 0s, add: { name: F, from: a1, to: b1, rate: 1Gbit, burst: 9kB, deadline: 1s, route: ["a1->lA:0", "lA->s3:0", "s3->lB:0", "lB->b1:0"] } }
    - { at: 1s, change: { name: E, from: a1, to: b1, rate: 5Gbit, burst: 9kB, deadline: 1s } }
    - { at: 1s, add: { name: D, from: a1, to: c1, rate: 8500Mbit, burst: 9kB, deadline: 1s } }
    - { at: 2s, add: { name: P, tenant: shop, bandwidth: { from: c2, to: b2, min: 300Mbit, within: 60ms, max: 1Gbit } } }
    - { at: 2s, add: { name: H, bandwidth: { hose: [b1, b2, c2], min: 100Mbit } } }
    - { at: 3s, change: { name: P, bandwidth: { from: c2, to: b2, min: 200Mbit, within: 60ms } } }
    - { at: 3s, add: { name: X, bandwidth: { from: c2, to: b2, min: 39Gbit } } }
    - { at: 4s, release: D }
    - { at: 4s, release: X }
    - { at: 5s, release: H }
    - { at: 6s, add: { name: D, from: a1, to: c1, rate: 1Gbit, burst: 9kB, deadline: 1s } }
"#;

/// A history in which a contract changes its route, another is moved and waits for the first, a third waits for the second, and
/// contracts of every kind come, change and end.
#[test]
fn every_changed_leaf_of_a_plan_of_events_is_detected() {
    let network = Network::parse(&Source::new("network.yaml", HISTORY_NETWORK)).unwrap();
    let network = network.with_buffers(None, Some(Bytes::new(200_000_000))).unwrap();
    let events = read_events(&Source::new("events.yaml", EVENTS), &network.graph).unwrap();
    let settings = [("reroute", "true"), ("budgets", "5ms,9ms"), ("host_budgets", "5ms"), ("guaranteed_budget", "8ms")];
    let scheme = SchemeOptions::named("fabric").unwrap();
    let scheme = settings.iter().fold(scheme, |scheme, (key, value)| scheme.with(key, value).unwrap());
    let plan =
        printed(&network, PlanInput::Events(&events, ReleaseHold::Bound), &PlanOptions::default().with_scheme(scheme));
    let moved = &plan["requests"][5];
    assert!(moved["moved"][0]["after_ns"].as_u64() > Some(0), "{moved:#}");
    assert!(moved["activate_after_ns"].as_u64() > moved["moved"][0]["after_ns"].as_u64(), "{moved:#}");
    assert!(plan["requests"][10]["held_until_ns"].as_u64() > plan["requests"][10]["at_ns"].as_u64());
    assert!(plan["requests"][6]["there_within_ns"].is_u64(), "{plan:#}");
    assert_eq!(noticed(&plan.to_string(), &network, None), Vec::<String>::new());
    let still: Value = {
        let mut still = plan.clone();
        still["scheme"]["reroute"] = json!(false);
        still
    };
    assert!(!noticed(&still.to_string(), &network, None).is_empty(), "moves without rerouting");
    let (tried, missed) = unnoticed(&plan, &network, None, &names(&[NO_PROMISES, NO_PROMISES_OF_HISTORIES]));
    assert!(missed.is_empty(), "{} of {tried}:\n{}", missed.len(), missed.join("\n"));
    assert!(tried > 3_000, "{tried}");
}

const STAR: &str = "
apiVersion: wayleave/v1
kind: Topology
metadata: { name: star }
spec:
  builder: { kind: star, hosts: 3, rate: 10Gbit, delay: 1us, queues: 5 }
  classes: { latency: 2, guaranteed: 6, objective: 3, bestEffort: 1 }
";

const ONE_AFTER_ANOTHER: &str = "
apiVersion: wayleave/v1
kind: Events
spec:
  events:
    - { at: 0s, add: { name: P, bandwidth: { from: h1, to: h2, min: 4Gbit } } }
    - { at: 1s, change: { name: P, bandwidth: { from: h1, to: h3, min: 4Gbit } } }
    - { at: 2s, release: P }
    - { at: 3s, add: { name: Q, bandwidth: { from: h1, to: h2, min: 4Gbit } } }
    - { at: 4s, release: Q }
";

/// New terms that start before packets of the earlier terms have left, and a minimum that is admitted before the
/// packets of an ended one have left.
#[test]
fn early_starts_of_shares_are_detected() {
    let network = Network::parse(&Source::new("network.yaml", STAR)).unwrap();
    let events = read_events(&Source::new("events.yaml", ONE_AFTER_ANOTHER), &network.graph).unwrap();
    let options = PlanOptions::default().with_scheme(SchemeOptions::named("fabric").unwrap());
    let plan = printed(&network, PlanInput::Events(&events, ReleaseHold::Bound), &options);
    assert!(plan["requests"][1]["activate_after_ns"].as_u64() > Some(0), "{plan:#}");
    assert_eq!(noticed(&plan.to_string(), &network, None), Vec::<String>::new());
    let with = |changes: &[(usize, &str, u64)]| {
        let mut forged = plan.clone();
        changes.iter().for_each(|&(at, key, value)| forged["requests"][at][key] = json!(value));
        noticed(&forged.to_string(), &network, None)
    };
    let second = 1_000_000_000;
    let early = with(&[(1, "activate_after_ns", 0)]);
    assert!(early.iter().any(|one| one.starts_with("from 1 s on, ")), "{early:?}");
    let early = with(&[(2, "held_until_ns", 2 * second), (3, "at_ns", 2 * second)]);
    assert!(early.iter().any(|one| one.starts_with("from 2 s on, ")), "{early:?}");
}

/// A session in which shares have ended is verified like any other.
#[test]
fn ended_shares_are_part_of_a_history() {
    let network = Network::parse(&Source::new("network.yaml", STAR)).unwrap();
    let events = read_events(&Source::new("events.yaml", ONE_AFTER_ANOTHER), &network.graph).unwrap();
    let options = PlanOptions::default().with_scheme(SchemeOptions::named("fabric").unwrap());
    let asked = PlanInput::Events(&events, ReleaseHold::Bound);
    let plan = plan(&network, asked, &options, &mut Watch::none()).unwrap();
    let Promises::Stated(statement) = plan.promises() else { panic!("a scheme with queues") };
    assert_eq!(derive(&statement).unwrap().discrepancies, []);
}
