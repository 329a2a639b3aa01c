//! `wayleave tune`: methods beside one another, bounds that hold, and options that plan takes.

use crate::command::{contracts, file, wayleave};

const SMALL: &str = "-t fat-tree:k=4 --candidates 5 --train 1 --judge 1 --list 2";

#[test]
fn no_method_passes_what_link_rates_let_in_and_plan_takes_the_options() {
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
