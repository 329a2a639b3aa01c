//! `wayleave tune`: methods beside one another, bounds that hold, and options that plan takes.

use crate::command::{contracts, file, wayleave};

const SMALL: &str = "-t fat-tree:k=4 --candidates 5 --train 1 --judge 1 --list 2";

#[test]
fn no_method_exceeds_the_link_rates_and_plan_accepts_the_options() {
    let json = wayleave(&format!("tune {SMALL} --scenario 1 -o json")).ends_with(0).json();
    let methods = json["methods"].as_array().unwrap();
    assert!(methods.len() >= 4);
    let mean = |method: &serde_json::Value, key: &str| method[key]["mean"].as_f64().unwrap();
    let most = json["mostUntilRefusal"][0].as_f64().unwrap();
    let (flows, rate) =
        (json["mostOfList"]["flows"].as_f64().unwrap(), json["mostOfList"]["rateBps"].as_f64().unwrap());
    for method in methods {
        assert!(mean(method, "untilRefusal") <= most, "{method}");
        assert!(mean(method, "flows") <= flows && mean(method, "rateBps") <= rate, "{method}");
    }
    let recommended = methods.iter().find(|method| method["name"] == json["recommended"]).unwrap();
    assert!(methods.iter().all(|method| mean(method, "untilRefusal") <= mean(recommended, "untilRefusal")));
    let list =
        file("tune-plan.yaml", contracts(&["name: a, from: h1, to: h9, rate: 1Mbit, burst: 300B, deadline: 9ms"]));
    for method in methods {
        let options = method["options"].as_str().unwrap();
        wayleave(&format!("plan -t fat-tree:k=4 -f {list} {options}")).ends_with(0);
    }
}

#[test]
fn own_contracts_are_a_mix() {
    let item = |n: u32| {
        format!("name: c{n}, from: h{}, to: h{}, rate: 120Mbit, burst: 3kB, deadline: 9ms", n % 8 + 1, n % 7 + 9)
    };
    let items: Vec<String> = (0..200).map(item).collect();
    let list = file("tune-own.yaml", contracts(&items.iter().map(String::as_str).collect::<Vec<_>>()));
    let run = wayleave(&format!("tune {SMALL} -f {list}")).ends_with(0);
    assert!(run.stdout.contains("tune-own.yaml on fat-tree") && run.stdout.contains("* recommended"), "{}", run.stdout);
    assert!(!run.stdout.contains("CPS"), "{}", run.stdout);
    let empty = wayleave(&format!("tune {SMALL} -f {list} --scenario 3")).ends_with(2);
    assert!(empty.stderr.contains("--scenario"), "{}", empty.stderr);
}

/// A list that wants more objectives than the usual weights allow: weights are shifted, and `plan` admits as many with them.
#[test]
fn weights_of_classes_are_fitted_to_contracts_of_every_kind() {
    let mut text =
        "apiVersion: wayleave/v1\nkind: Contracts\nmetadata: { name: all }\nspec:\n  contracts:\n".to_owned();
    text.extend((1..=20).map(|n| {
        format!("    - {{ name: o{n}, objective: {{ goal: completion, members: [h1, h2, h3], weight: 20Mbit }} }}\n")
    }));
    text.extend(
        (1..=4).map(|n| {
            format!("    - {{ name: g{n}, bandwidth: {{ from: h1, to: h2, min: 20Mbit, within: {n}0ms }} }}\n")
        }),
    );
    text += "    - { name: ptp, from: h1, to: h2, rate: 1Mbit, burst: 300B, deadline: 20ms }\n";
    let list = file("tune-kinds.yaml", text);
    let topology = |classes: &str| {
        format!(
            "apiVersion: wayleave/v1\nkind: Topology\nmetadata: {{ name: star }}\nspec:\n  builder: {{ kind: star, hosts: 4, queues: 8, delay: 1us, buffer: 500kB }}\n  {classes}\n"
        )
    };
    let usual = file("tune-usual.yaml", topology("classes: {}"));
    let command = format!("tune -t {usual} -f {list} --objective flows --candidates 20 --train 1 --judge 2 -o json");
    let json = wayleave(&command).ends_with(0).json();
    assert_eq!(json["recommended"], "tuned", "{json}");
    let tuned = json["methods"].as_array().unwrap().iter().find(|method| method["name"] == "tuned").unwrap();
    let (classes, options) = (tuned["classes"].as_str().unwrap(), tuned["options"].as_str().unwrap());
    let divided = file("tune-divided.yaml", topology(classes));
    let admitted = |network: &str, options: &str| {
        let plan = wayleave(&format!("plan -t {network} -f {list} {options} --recheck -o json"));
        plan.json()["summary"]["admitted"].as_u64().unwrap()
    };
    let with = admitted(&divided, options);
    assert!(with > admitted(&usual, ""), "{with} with {classes}");
    assert_eq!(Some(with as f64), tuned["flows"]["mean"].as_f64(), "{tuned}");
}
