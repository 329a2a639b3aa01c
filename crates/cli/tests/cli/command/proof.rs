//! `wayleave plan --proof`, and the checker that shares nothing with it; `wayleave diff`.

use std::process::Command;

use serde_json::{Value, json};

use crate::command::{file, wayleave};

fn example(file: &str) -> String {
    format!("{}/../../docs/examples/{file}", env!("CARGO_MANIFEST_DIR"))
}

/// A proof of an example, with its contracts.
fn proof(network: &str, contracts: &str, options: &str) -> Value {
    // A file of its own for each test and each proof: tests run side by side.
    let test = format!("{:?} {network} {options}", std::thread::current().name());
    let path = file("proof-of-contracts.json", test);
    let run = wayleave(&format!("plan -t {} -f {} {options} --proof {path}", example(network), example(contracts)));
    assert!(matches!(run.code, Some(0 | 3)), "{}", run.stderr);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// What the checker says, and its exit code; `None` where there is no Python.
fn check(proof: &Value) -> Option<(i32, String)> {
    let checker = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/check_proof.py");
    match Command::new("python3").arg(checker).arg(file("proof.json", proof.to_string())).output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            Some((output.status.code().unwrap_or(-1), text))
        }
        Err(error) => {
            wayleave_repo_checks::left_out("python3", error);
            None
        }
    }
}

#[test]
fn proofs_of_all_models_hold_before_an_independent_checker() {
    for (network, contracts, options) in [
        ("network.yaml", "contracts.yaml", ""),
        ("network.yaml", "contracts.yaml", "--shaping off"),
        ("network-fabric.yaml", "contracts-fabric.yaml", ""),
    ] {
        let proof = proof(network, contracts, options);
        let flows = proof["flows"].as_array().map_or(0, Vec::len);
        let Some((code, text)) = check(&proof) else { return };
        assert_eq!(code, 0, "{contracts} {options}: {text}");
        assert!(text.contains(&format!("{flows} flows: everything holds")), "{text}");
    }
}

/// Catches: a checker that believes what it reads. Each lie is one that would hide an overload.
#[test]
fn a_proof_that_was_tampered_with_is_rejected() {
    let honest = proof("network.yaml", "contracts.yaml", "");
    let place = |of: &str, key: &str, test: &dyn Fn(&Value) -> bool| {
        let position = honest[of].as_array().unwrap().iter().position(|item| test(&item[key]));
        position.unwrap_or_else(|| panic!("no such {of}"))
    };
    let queue = place("queues", "delay", &|delay| *delay != "0");
    let at = |rest: &str| format!("/queues/{queue}/{rest}");
    let lies = [
        (at("delay"), json!("1"), "packets may take longer than 1 ns"),
        (at("backlog"), json!("1"), "more may wait than 1 nanobits"),
        (at("budget_ns"), json!(1), "beyond its budget of 1 ns"),
        (at("buffer_bytes"), json!(1), "its buffer of 1 bytes"),
        (at("arrival"), json!([["0", "1"]]), "flows bring more than its arrival curve says"),
        (at("service"), json!([["1000000000000", "0"]]), "the queues above leave less"),
        ("/flows/0/burst_bytes".to_owned(), json!(1_000_000), "flows bring more"),
        ("/flows/0/rate".to_owned(), json!(2_000_000_000_u64), "flows bring more"),
        ("/flows/0/bound_ns".to_owned(), json!(1), "1 ns promised"),
        ("/flows/0/deadline_ns".to_owned(), json!(1), "1 ns asked for"),
        ("/flows/0/hops".to_owned(), json!([["no such link", 0]]), "the proof says nothing of queue 0 of no such link"),
    ];
    for (place, lie, expected) in lies {
        let mut tampered = honest.clone();
        *tampered.pointer_mut(&place).unwrap_or_else(|| panic!("{place}")) = lie;
        let Some((code, text)) = check(&tampered) else { return };
        assert_eq!(code, 4, "{place}: {text}");
        assert!(text.contains(expected), "{place}: {text}");
    }
}

#[test]
fn a_scheme_without_queues_proves_nothing() {
    let (network, contracts) = (example("network.yaml"), example("contracts.yaml"));
    let path = file("none.json", "");
    let run = wayleave(&format!("plan -t {network} -f {contracts} --scheme loko --proof {path}")).ends_with(2);
    assert!(
        run.stderr.contains("--proof states the curves of queues, and --scheme loko reserves none"),
        "{}",
        run.stderr
    );
}

#[test]
fn plans_that_differ_say_who_is_admitted_and_end_with_six() {
    let contracts = std::fs::read_to_string(example("contracts.yaml")).unwrap();
    let network = example("network.yaml");
    let plan = |contracts: &str| {
        let contracts = file("contracts.yaml", contracts);
        file("plan.json", wayleave(&format!("plan -t {network} -f {contracts} -o json")).stdout)
    };
    let (first, second) = (plan(&contracts), plan(&contracts.replace("name: video,", "name: film,")));
    let same = wayleave(&format!("diff {first} {first}")).ends_with(0);
    assert_eq!(same.stdout, "nothing differs\n");
    let text = wayleave(&format!("diff {first} {second}")).ends_with(6).stdout;
    assert!(text.starts_with("admitted now: film\nno longer admitted: video\n"), "{text}");
    let json = wayleave(&format!("diff {first} {second} -o json")).ends_with(6).json();
    assert_eq!((&json["compared"], &json["newly_admitted"]), (&json!("plan"), &json!(["film"])));
    let wrong = wayleave(&format!("diff {first} {network}")).ends_with(2);
    assert!(wrong.stderr.contains("network.yaml"), "{}", wrong.stderr);
}

/// The example of the documents: with contracts, both jobs take less than half of the time. Runs are exact, so are these figures.
#[test]
fn contracts_keep_jobs_apart() {
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
