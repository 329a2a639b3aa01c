//! Schemes that are a folder and one line: what the command makes of them without a word about any of them. Their names
//! come from the registry, so that this file does not name them either.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use wayleave_scheme_api::{Descriptor, Role};
use wayleave_schemes::registry;

use crate::command::{contracts, file, wayleave};

/// The toy that is chosen by this role.
fn toy(role: Role) -> &'static Descriptor {
    let is_toy = |scheme: &&Descriptor| scheme.name.starts_with("toy-") && scheme.roles.first() == Some(&role);
    registry::all().find(is_toy).unwrap()
}

/// The name of a scheme as a key.
fn key(scheme: &Descriptor) -> String {
    let mut parts = scheme.name.split('-');
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |key, part| key + &part[..1].to_uppercase() + &part[1..])
}

#[test]
fn a_toy_admission_scheme_is_chosen_set_reported_and_explained() {
    let toy = toy(Role::Admission);
    let name = toy.name;
    let item = |number: u32| {
        format!("name: c{number}, from: h1, to: h{}, rate: 1Mbit, burst: 1500B, deadline: 5ms", number + 1)
    };
    let items: Vec<String> = (1..=5).map(item).collect();
    let list = file("toys.yaml", contracts(&items.iter().map(String::as_str).collect::<Vec<_>>()));
    let run = |command: &str, more: &str| {
        wayleave(&format!("{command} -t fat-tree:k=4 -f {list} --scheme {name} {more}")).ends_with(3)
    };
    let admitted = |plan: &Value| plan["summary"]["admitted"].as_u64().unwrap();
    let usual = run("plan", "-o json").json();
    assert_eq!((admitted(&usual), &usual["scheme"]["name"]), (3, &name.into()));
    assert_eq!(usual["scheme"]["bound_ns"], 1_000_000);
    assert_eq!(usual["requests"][0]["bound_ns"], 1_000_000);
    assert_eq!(usual["requests"][4]["reason"], "QUOTA");
    let first = toy.parameters[0].key;
    let fewer = run("plan", &format!("--{name}-{first} 2 --{name}-bound 2ms -o json")).json();
    assert_eq!((admitted(&fewer), &fewer["requests"][0]["bound_ns"]), (2, &2_000_000.into()));
    assert_eq!(fewer["scheme"][first], 2);
    let refused = run("explain c5", "").stdout;
    assert!(refused.contains("ll 3 places are taken"), "{refused}");
    let fits = wayleave(&format!("explain c1 -t fat-tree:k=4 -f {list} --scheme {name}")).ends_with(0).stdout;
    assert!(fits.contains("Places"), "{fits}");
    let late = wayleave(&format!("plan -t fat-tree:k=4 -f {list} --scheme {name} --{name}-{first} 0")).ends_with(2);
    assert!(late.stderr.contains("0 is not in 1..=1000"), "{}", late.stderr);
    let stray = wayleave(&format!("plan -t fat-tree:k=4 -f {list} --scheme silo --{name}-{first} 2")).ends_with(2);
    assert!(stray.stderr.contains(&format!("--{name}-{first} is an option of --scheme {name}")), "{}", stray.stderr);
}

/// The payload that arrives in a scenario with these keys in its spec, from one host to another for 10 ms.
fn arrives(spec: &str, traffic: &str) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let scenario = format!(
        "apiVersion: wayleave/v1\nkind: Scenario\nmetadata: {{ name: toys }}\nspec:\n  topology: star:hosts=2,rate=1Gbit\n  \
         duration: 10ms\n{spec}  traffic: [ {{ name: bulk, from: h1, to: h2, sizes: 100MB{traffic} }} ]\n"
    );
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("toys-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
    let _ = std::fs::remove_dir_all(&out);
    let path = file("toys-scenario.yaml", scenario);
    wayleave(&format!("sim {path} --out {}", out.display())).ends_with(0);
    let result = std::fs::read_to_string(out.join("runs/seed-1.json")).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    result["traffic"][0]["payload_bytes"].as_u64().unwrap()
}

#[test]
fn a_toy_transport_runs_with_the_parameters_of_a_scenario() {
    let toy = toy(Role::Transport);
    let first = toy.parameters[0].key;
    let with = |window: &str| {
        arrives(
            &format!("  transport: {{ congestion: {{ {}: {{ {first}: {window}, growthPercent: 0 }} }} }}\n", key(toy)),
            "",
        )
    };
    let (short, long) = (with("1"), with("20"));
    assert!(short > 0 && long > 2 * short, "{short}, {long}");
    let usual = arrives(&format!("  transport: {}\n", toy.name), "");
    assert!(usual > short, "{usual}");
}

#[test]
fn a_toy_host_scheme_limits_senders_to_the_rate_of_a_scenario() {
    let toy = toy(Role::Host);
    let first = toy.parameters[0].key;
    let machine = "machine: { services: [ { name: a } ] }";
    let with = |scheme: &str| arrives(&format!("  sharing: {{ scheme: {scheme}, {machine} }}\n"), ", service: a");
    let free = arrives("", "");
    let held = with(&format!("{{ {}: {{ {first}: 50Mbit }} }}", key(toy)));
    // 10 ms of 50 Mbit/s are 62.5 kB, and a bucket.
    assert!(held > 30_000 && held < 80_000 && free > 10 * held, "{held}, {free}");
    let usual = with(toy.name);
    assert!(usual > held && usual < free, "{usual}");
}

#[test]
fn a_toy_broker_divides_the_rate_of_a_scenario_among_the_machines() {
    let is_toy = |scheme: &&Descriptor| scheme.name.starts_with("toy-") && scheme.roles.contains(&Role::Broker);
    let toy = registry::all().find(is_toy).unwrap();
    let first = toy.parameters[0].key;
    let with = |more: &str| {
        let scheme = format!("{{ {}: {{ {first}: 200Mbit }} }}", key(toy));
        let machine = "machine: { services: [ { name: a } ] }";
        arrives(&format!("  sharing: {{ scheme: {scheme}, {machine}{more} }}\n"), ", service: a")
    };
    // Two machines have 100 Mbit/s each, from the first message of the broker on: 125 kB in 10 ms, and a bucket.
    let divided = with("");
    assert!(divided > 60_000 && divided < 200_000, "{divided}");
    // Its policies and events need brokers; from a stopped broker a machine receives nothing.
    let stopped = with(", events: [ { at: 0s, stop: fabric } ]");
    assert!(stopped > 3 * divided, "{stopped}, {divided}");
    let both = with(", events: [ { at: 0s, stop: fabric }, { at: 1ms, start: fabric } ]");
    assert!(both > 3 * divided, "nobody tells a broker that was started again who is there: {both}, {divided}");
}

#[test]
fn a_toy_marking_slows_ecn_capable_flows() {
    let toy = toy(Role::Switch);
    let first = toy.parameters[0].key;
    let with = |ecn: &str| arrives(&format!("  switches: {{ ecn: {ecn} }}\n  transport: dctcp\n"), "");
    let every = with(&format!("{{ {}: {{ {first}: 1 }} }}", key(toy)));
    let some = with(toy.name);
    let none = with("none");
    assert!(every < some && some <= none, "{every}, {some}, {none}");
}

#[test]
fn schemes_are_listed_with_their_parameters() {
    let list = wayleave("schemes").ends_with(0).stdout;
    for scheme in registry::all() {
        assert!(list.contains(&format!("  {} ", scheme.name)), "{}: {list}", scheme.name);
    }
    let all = wayleave("schemes -o json").ends_with(0).json();
    assert_eq!(all.as_array().unwrap().len(), registry::all().count());
    for scheme in registry::all() {
        let one = wayleave(&format!("schemes {}", scheme.name)).ends_with(0).stdout;
        for parameter in scheme.parameters {
            assert!(!parameter.source.is_empty(), "{}: {} has no source", scheme.name, parameter.key);
            assert!(one.contains("values "), "{one}");
        }
        for text in [scheme.citation, scheme.guarantee, scheme.summary] {
            assert!(!text.is_empty() && !text.ends_with('.'), "{}: {text}", scheme.name);
        }
    }
    let chameleon = wayleave("schemes chameleon").ends_with(0).stdout;
    for part in ["--host-budget", "see --default-budgets", "scarcity, or least-delay with --model published"] {
        assert!(chameleon.contains(part), "{part}: {chameleon}");
    }
    let wrong = wayleave("schemes chamelion").ends_with(2);
    assert!(wrong.stderr.contains("did you mean chameleon?"), "{}", wrong.stderr);
}
