//! Decisions of a plan, restored: the result equals that of deciding again, or is an error.

use proptest::prelude::*;
use serde_json::{Value, json};
use wayleave::{
    Contracts, Error, Network, PlanOptions, SavedPlan, SchemeOptions, Session, Source, Watch, explain, explain_planned,
    plan,
};

fn open(network: &Network, options: &PlanOptions) -> Session {
    Session::open(network, options).unwrap()
}

/// The explanation of one contract by a plan.
fn by_plan(
    network: &Network,
    contracts: &Contracts,
    options: &PlanOptions,
    name: &str,
    plan: &str,
) -> Result<(String, Value), Error> {
    let session = open(network, options);
    let source = Source::new("plan.json", plan);
    let plan = SavedPlan::read(&source, &session)?;
    let explanation = explain_planned(session, contracts, name, &plan, &mut Watch::none())?;
    Ok((explanation.text()?, serde_json::to_value(&explanation)?))
}

fn options(scheme: &str, given: &[(&str, &str)]) -> PlanOptions {
    let scheme = SchemeOptions::named(scheme).unwrap();
    let scheme = given.iter().fold(scheme, |scheme, (key, value)| scheme.with(key, value).unwrap());
    PlanOptions::default().with_scheme(scheme)
}

/// Every third contract asks for two disjoint routes.
fn protected(network: &Network, seed: u64, count: usize) -> Contracts {
    let drawn = Contracts::drawn(network, 8, seed, count, &mut Watch::none()).unwrap();
    let mut text =
        "apiVersion: wayleave/v1\nkind: Contracts\nmetadata: { name: some }\nspec:\n  contracts:\n".to_owned();
    for (number, (_, one)) in drawn.iter().enumerate() {
        let node = |node| &network.graph.node(node).name;
        let more = if number % 3 == 0 { ", protection: 2" } else { "" };
        text += &format!(
            "    - {{ name: {}, from: {}, to: {}, rate: {}bit, burst: {}B, deadline: {}ns{more} }}\n",
            one.name,
            node(one.from),
            node(one.to),
            one.rate.bits_per_second(),
            one.burst.get(),
            one.deadline.as_nanos(),
        );
    }
    Contracts::parse(&[Source::new("contracts.yaml", text)], network).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn an_explanation_from_a_plan_equals_one_from_a_new_decision(
        seed in 1_u64..1000,
        count in 600_usize..1500,
        how in 0_usize..5,
        copies in any::<bool>(),
        at in any::<prop::sample::Index>(),
    ) {
        let options = match how {
            0 => options("chameleon", &[]),
            1 => options("chameleon", &[("routing", "least-delay")]),
            2 => options("chameleon", &[("reroute", "true")]),
            3 => options("chameleon", &[("reroute", "true"), ("routing", "least-delay")]),
            _ => options("silo", &[]),
        };
        let network = Network::open("fat-tree:k=4,queues=4").unwrap();
        let copies = copies && how < 4;
        let contracts = if copies { protected(&network, seed, count) } else { Contracts::drawn(&network, 8, seed, count, &mut Watch::none()).unwrap() };
        let printed = plan(&network, &contracts, &options, &mut Watch::none()).unwrap();
        let text = serde_json::to_string(&printed).unwrap();
        let refused: Vec<&str> = printed.refused().map(|(name, _)| name).collect();
        let all: Vec<&str> = contracts.iter().map(|(_, contract)| contract.name.as_str()).collect();
        for name in [*at.get(&all), if refused.is_empty() { all[count - 1] } else { *at.get(&refused) }] {
            let again = explain(&network, &contracts, name, &options, &mut Watch::none()).unwrap();
            let (shown, document) = by_plan(&network, &contracts, &options, name, &text).unwrap();
            prop_assert_eq!(shown, again.text().unwrap());
            prop_assert!(document == serde_json::to_value(&again).unwrap());
        }
    }
}

/// The error for a plan in which something was changed.
fn error_after(count: usize, change: impl Fn(&mut Value)) -> String {
    let network = Network::open("fat-tree:k=4").unwrap();
    let contracts = Contracts::drawn(&network, 8, 1, count, &mut Watch::none()).unwrap();
    let options = options("chameleon", &[("reroute", "true"), ("routing", "least-delay")]);
    let mut document = serde_json::to_value(plan(&network, &contracts, &options, &mut Watch::none()).unwrap()).unwrap();
    change(&mut document);
    let last = contracts.iter().last().unwrap().1.name.clone();
    match by_plan(&network, &contracts, &options, &last, &document.to_string()) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_plan_that_does_not_fit_is_refused_with_the_failing_element() {
    assert_eq!(error_after(400, |_| {}), "");
    let expect = |change: &dyn Fn(&mut Value), what: &str| {
        let error = error_after(400, change);
        assert!(error.starts_with("plan.json:") && error.contains(what), "{error}");
    };
    expect(
        &|plan| plan["scheme"]["routing"] = json!("scarcity"),
        "scheme.routing is \"scarcity\" in the plan and \"least-delay\" here",
    );
    expect(&|plan| plan["model"]["tags"] = json!(3), "model.tags is 3 in the plan and 6 here");
    expect(&|plan| plan["topology"]["links"] = json!(4), "topology.links is 4 in the plan and 96 here");
    expect(&|plan| plan["wayleave"] = json!("0.0.1"), "wayleave is \"0.0.1\" in the plan");
    expect(&|plan| plan["queues"][0]["buffer_bytes"] = json!(7), "a buffer of 7 B in the plan");
    expect(
        &|plan| drop(plan["requests"].as_array_mut().unwrap().pop()),
        "decides 399 requests, but the list has 400 contracts",
    );
    expect(&|plan| plan["requests"].as_array_mut().unwrap().swap(3, 4), "but the contract at this position is");
    expect(&|plan| plan["requests"][2]["rate_bps"] = json!(1), "has a different rate in the plan");
    expect(&|plan| plan["requests"][2]["reserved"]["burst_bytes"] = json!(1), "has a different burst on the wire");
    expect(&|plan| plan["requests"][2]["bound_ns"] = json!(1), "its bound is 1 ns in the plan");
    expect(&|plan| plan["requests"][2]["route"] = json!([]), "the route has no hops");
    expect(&|plan| plan["requests"][2]["decision"] = json!("released"), "expected a plan of contracts");
    expect(
        &|plan| plan["requests"][399]["bound_ns"] = json!(1),
        "gives a different result, its.bound_ns is 1 in the plan",
    );
}

#[test]
fn impossible_moves_are_refused() {
    let moves = |plan: &Value| {
        let requests = plan["requests"].as_array().unwrap();
        requests.iter().position(|one| !one["moved"].as_array().unwrap().is_empty()).unwrap()
    };
    let elsewhere = error_after(1200, |plan| {
        let at = moves(plan);
        let to = plan["requests"][at]["moved"][0]["to"].clone();
        plan["requests"][at]["moved"][0]["from"] = to;
    });
    assert!(elsewhere.contains("cannot be moved as planned"), "{elsewhere}");
    let nobody = error_after(1200, |plan| {
        let at = moves(plan);
        plan["requests"][at]["moved"][0]["name"] = json!("nobody");
    });
    assert!(nobody.contains("\"nobody\" is listed as moved, but was not admitted before"), "{nobody}");
}

#[test]
fn a_plan_that_exceeds_the_capacity_is_refused() {
    // All on the path of the first: for each queue it is checked that they fit.
    let network = Network::open("star:hosts=2").unwrap();
    let contract = |name: &str| {
        format!("    - {{ name: {name}, from: h1, to: h2, rate: 400Mbit, burst: 1500B, deadline: 20ms }}\n")
    };
    let head = "apiVersion: wayleave/v1\nkind: Contracts\nmetadata: { name: some }\nspec:\n  contracts:\n";
    let text = format!("{head}{}{}{}", contract("a"), contract("b"), contract("c"));
    let contracts = Contracts::parse(&[Source::new("contracts.yaml", text)], &network).unwrap();
    let options = PlanOptions::default();
    let mut document = serde_json::to_value(plan(&network, &contracts, &options, &mut Watch::none()).unwrap()).unwrap();
    let refused = document["requests"].as_array().unwrap().iter().position(|one| one["decision"] == "refused").unwrap();
    let mut admitted = document["requests"][0].clone();
    admitted["name"] = document["requests"][refused]["name"].clone();
    document["requests"][refused] = admitted;
    let session = open(&network, &options);
    let source = Source::new("plan.json", document.to_string());
    let saved = SavedPlan::read(&source, &session).unwrap();
    let mut session = session;
    let error = saved.restore(&mut session, &contracts, None, &mut Watch::none()).unwrap_err().to_string();
    assert!(error.contains("cannot have been admitted like this"), "{error}");
}
