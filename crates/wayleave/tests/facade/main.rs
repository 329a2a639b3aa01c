//! The library as a program uses it: no terminal, no command.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test helper that fails should say where")]

mod budgets;
mod churn;
mod kinds;
mod leaves;
mod planned;
mod random_fabrics;
mod random_packets;
mod scales;

use std::num::NonZeroUsize;

use serde_json::Value;
use wayleave::{
    Attack, Batch, Cancel, Contracts, Document, Effort, EntryKind, Error, Fault, FaultOutcome, Model, Network, Plan,
    PlanFile, PlanInput, PlanOptions, ProgressStep, Promises, ReleaseHold, RunSelection, SchemeOptions, Session,
    Source, SweepOptions, Threads, VerifyOptions, Watch, decide, explain, plan, read_plan, sweep, verify,
};
use wayleave_formats::read_events;
use wayleave_repo_checks::TempFolder;

const SWEEP: &str = "
apiVersion: wayleave/v1
kind: Scenario
metadata: { name: loads }
spec:
  topology: star:hosts=4
  duration: 2ms
  traffic: [{ name: web, load: 0.3, sizes: web-search }]
  sweep: { seeds: [1, 2], vary: { traffic.web.load: [0.2, 0.4] } }
";

fn fat_tree(count: usize) -> (Network, Contracts) {
    let network = Network::open("fat-tree:k=4").unwrap();
    let contracts = Contracts::drawn(&network, 8, 1, count, &mut Watch::none()).unwrap();
    (network, contracts)
}

/// Returns the output of `wayleave plan -o json`.
fn printed(network: &Network, asked: PlanInput<'_>, options: &PlanOptions) -> Value {
    let mut session = Session::open(network, options).unwrap();
    let mut text = Vec::new();
    let mut document = Document::begin(&mut text, &session).unwrap();
    let outcome = decide(&mut session, asked, &mut document, &mut Watch::none()).unwrap();
    document.end(&session, &outcome.summary).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// Returns the plan after a round trip through text: a parsed number may differ from the written one by its last bit.
fn serialised(plan: &Plan) -> Value {
    serde_json::from_str(&serde_json::to_string(plan).unwrap()).unwrap()
}

/// Without how long decisions took.
fn timeless(mut plan: Value) -> Value {
    plan["summary"]["decision_us"] = Value::Null;
    plan
}

#[test]
fn a_plan_serialises_to_the_output_of_the_command() {
    let (network, contracts) = fat_tree(700);
    let mut refused = 0;
    for scheme in ["chameleon", "silo", "qjump"] {
        let scheme = SchemeOptions::named(scheme).unwrap();
        let options = PlanOptions::default().with_scheme(scheme);
        let plan = plan(&network, &contracts, &options, &mut Watch::none()).unwrap();
        assert!(plan.admitted().count() > 0);
        refused += plan.refused().count();
        let printed = printed(&network, PlanInput::Contracts(&contracts), &options);
        assert!(timeless(serialised(&plan)) == timeless(printed), "{options:?}");
    }
    assert!(refused > 0, "no refusal was compared");
}

#[test]
fn events_are_planned_in_their_order() {
    let network = Network::open("star:hosts=3").unwrap();
    let text = "
apiVersion: wayleave/v1
kind: Events
spec:
  events:
    - { at: 0s, add: { name: a, from: h1, to: h2, rate: 1Mbit, burst: 300B, deadline: 2ms } }
    - { at: 0s, add: { name: b, from: h1, to: h2, rate: 1Mbit, burst: 300B, deadline: 1us } }
    - { at: 1s, release: a }
    - { at: 2s, release: b }
";
    let events = read_events(&Source::new("events.yaml", text), &network.graph).unwrap();
    let (options, asked) = (PlanOptions::default(), PlanInput::Events(&events, ReleaseHold::Bound));
    let plan = plan(&network, asked, &options, &mut Watch::none()).unwrap();
    let held = |entry: &wayleave::PlanEntry| match entry.kind() {
        EntryKind::Released { held_until, .. } => *held_until,
        _ => panic!("{} was not released", entry.name()),
    };
    assert!(plan.entries()[0].decision().unwrap().is_ok());
    let reasons: Vec<_> = plan.refused().collect();
    assert!(matches!(reasons[..], [("b", reason)] if !reason.is_empty()), "{reasons:?}");
    assert!(held(&plan.entries()[2]).is_some() && held(&plan.entries()[3]).is_none());
    assert_eq!(timeless(serialised(&plan)), timeless(printed(&network, asked, &options)));
}

/// Reads the statements, with or without the contracts.
fn read(text: &str, network: &Network, contracts: Option<&Contracts>) -> Result<Promises, Error> {
    let (source, model) = (Source::new("plan.json", text), Model::default());
    let plan = PlanFile::new(&source, &network.graph, &model).with_contracts(contracts);
    Ok(read_plan(&plan)?.promises)
}

#[test]
fn promises_of_a_plan_are_equal_in_memory_and_in_its_document() {
    let (network, contracts) = fat_tree(40);
    let plan = plan(&network, &contracts, &PlanOptions::default(), &mut Watch::none()).unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    let here = plan.promises().claim().unwrap();
    for contracts in [None, Some(&contracts)] {
        let read = read(&text, &network, contracts).unwrap();
        assert_eq!(read.claim().unwrap().promises, here.promises);
        let nothing = VerifyOptions::default().with_replay("together,1".parse::<Attack>().unwrap());
        assert_eq!(verify(&read, &nothing, &mut Watch::none()).unwrap().discrepancies(), []);
    }
    assert!(plan.recheck().unwrap().is_sound());
}

/// The plan of an auditor: every contract twice, every bound a nanosecond, no background.
#[test]
fn a_modified_plan_is_refused() {
    let (network, contracts) = fat_tree(10);
    let plan = plan(&network, &contracts, &PlanOptions::default(), &mut Watch::none()).unwrap();
    let document = serde_json::to_value(&plan).unwrap();
    let error = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut changed = document.clone();
        change(&mut changed);
        read(&changed.to_string(), &network, Some(&contracts)).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let given = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut changed = document.clone();
        change(&mut changed);
        let promises = read(&changed.to_string(), &network, Some(&contracts)).unwrap();
        let quick = VerifyOptions::default().with_replay("together,1".parse::<Attack>().unwrap());
        let verified = verify(&promises, &quick, &mut Watch::none()).unwrap();
        assert!(!verified.is_sound());
        verified.discrepancies().iter().map(|one| format!("{one}\n")).collect::<String>()
    };
    let name = document["requests"][0]["name"].as_str().unwrap().to_owned();
    let twice = |plan: &mut serde_json::Value| {
        let first = plan["requests"][0].clone();
        plan["requests"].as_array_mut().unwrap().push(first);
    };
    assert!(error(&twice).contains(&format!("plan.json: \"{name}\" is admitted twice")), "{}", error(&twice));
    let quiet = |plan: &mut serde_json::Value| plan["model"]["best_effort"] = false.into();
    assert!(
        error(&quiet).contains("the plan assumes --best-effort off, but here --best-effort on"),
        "{}",
        error(&quiet)
    );
    let long = |plan: &mut serde_json::Value| plan["queues"][0]["budget_ns"] = u64::MAX.into();
    assert!(error(&long).contains("has a budget of more than 10 s"), "{}", error(&long));
    let nanosecond = |plan: &mut serde_json::Value| plan["requests"][0]["bound_ns"] = 1.into();
    assert!(given(&nanosecond).contains(&format!("flow \"{name}\" was guaranteed 1 ns, below its bound")));
    let later = |plan: &mut serde_json::Value| plan["requests"][0]["deadline_ns"] = 99_000_000_000_u64.into();
    assert!(given(&later).contains(&format!("\"{name}\": the plan states a deadline of 99 s, the contract")));
    let term = |plan: &mut serde_json::Value| plan["requests"][0]["terms"][0]["delay_ns"] = 7.into();
    assert!(given(&term).contains(&format!("the bound of \"{name}\" is not the sum of its delay terms: 7 ns")));
    let missing = |plan: &mut serde_json::Value| drop(plan["requests"].as_array_mut().unwrap().remove(0));
    let text = given(&missing);
    assert!(text.contains(&format!("contract \"{name}\" is missing")), "{text}");
    assert!(text.contains(" by the routes: a move is missing"), "{text}");
}

#[test]
fn a_fault_breaks_a_promise_and_its_attack_breaks_it_again() {
    let network = Network::open("star:hosts=5").unwrap();
    let row = |host: u8| format!("c{host},h{host},h5,5Mbit,20kB,20ms\n");
    let rows: String = (1..5).map(row).collect();
    let source = Source::new("c.csv", format!("name,from,to,rate,burst,deadline\n{rows}"));
    let contracts = Contracts::parse(&[source], &network).unwrap();
    let scheme = SchemeOptions::default().with("budgets", "2ms,4ms").unwrap().with("host_budgets", "2ms").unwrap();
    let plan = plan(&network, &contracts, &PlanOptions::default().with_scheme(scheme), &mut Watch::none()).unwrap();
    assert_eq!(plan.admitted().count(), 4);
    let promises = plan.promises();
    let options = VerifyOptions::default().with_effort(Effort::QUICK);
    assert!(verify(&promises, &options, &mut Watch::none()).unwrap().is_sound());
    let broken = options.clone().with_fault(Fault::ShaperOff);
    let verified = verify(&promises, &broken, &mut Watch::none()).unwrap();
    assert_eq!(verified.noticed(), Some(FaultOutcome::ByPackets));
    let attack = verified.report.violations.first().unwrap().attack.clone();
    assert_eq!(verified.replay(&attack), format!("wayleave verify --replay {attack}"));
    assert!(!verify(&promises, &broken.with_replay(attack), &mut Watch::none()).unwrap().is_sound());
    let noticed = |fault| {
        let verified = verify(&promises, &options.clone().with_fault(fault), &mut Watch::none()).unwrap();
        (verified.noticed().unwrap(), verified.no_effect)
    };
    assert_eq!(noticed(Fault::CalculusLow), (FaultOutcome::ByDerivation, None));
    assert_eq!(noticed(Fault::MoveForgotten), (FaultOutcome::ByNobody, Some("no flow was moved")));
    let alone = "no contract is protected, so no packet is duplicated";
    assert_eq!(noticed(Fault::DuplicationOff), (FaultOutcome::ByNobody, Some(alone)));
}

/// A scheme without statements about queues is tested by packets, and a fault in such statements has no effect.
#[test]
fn a_scheme_without_queues_has_nothing_to_derive() {
    let network = Network::open("star:hosts=3").unwrap();
    let source = Source::new("c.csv", "name,from,to,rate,burst,deadline\nc,h1,h2,1Mbit,300B,20ms\n");
    let contracts = Contracts::parse(&[source], &network).unwrap();
    let scheme = SchemeOptions::named("qjump").unwrap();
    let plan = plan(&network, &contracts, &PlanOptions::default().with_scheme(scheme), &mut Watch::none()).unwrap();
    assert_eq!(plan.admitted().count(), 1);
    let options = VerifyOptions::default().with_effort(Effort::QUICK).with_fault(Fault::CalculusLow);
    let verified = verify(&plan.promises(), &options, &mut Watch::none()).unwrap();
    assert!(verified.derived.is_none() && verified.noticed() == Some(FaultOutcome::ByNobody));
    assert_eq!(verified.no_effect, Some("this scheme states no queue delays that could be wrong"));
}

#[test]
fn progress_counts_every_contract_and_a_cancelled_plan_is_not_complete() {
    let (network, contracts) = fat_tree(30);
    let (cancel, mut last) = (Cancel::default(), 0);
    let mut stop_at_ten = |step: ProgressStep<'_>| {
        if let ProgressStep::Items { done, total } = step {
            assert_eq!((done, total), (last + 1, 30));
            last = done;
            if done == 10 {
                cancel.cancel();
            }
        }
    };
    let asked = PlanInput::Contracts(&contracts);
    let plan = plan(&network, asked, &PlanOptions::default(), &mut Watch::new(&mut stop_at_ten, &cancel)).unwrap();
    assert_eq!((plan.entries().len(), plan.outcome().is_complete), (10, false));
}

#[test]
fn errors_of_a_text_have_a_place() {
    let network = Network::open("star:hosts=3").unwrap();
    let source = Source::new("c.csv", "name,from,to,rate,burst,deadline\na,h1,hx,1Mbit,300B,2ms\n");
    let error = Contracts::parse(&[source], &network).unwrap_err();
    assert!(error.is_input());
    let location = error.problems()[0].location().unwrap();
    assert_eq!(location.line, 2);
    let (_, contracts) = fat_tree(1);
    let error =
        explain(&network, &contracts, "nobody", &PlanOptions::default(), &mut Watch::none()).map(|_| ()).unwrap_err();
    assert!(matches!(&error, Error::Usage(message) if message.contains("nobody")), "{error}");
}

#[test]
fn a_sweep_is_stopped_resumed_and_equal_for_any_number_of_threads() {
    let batch = || Batch::parse(&Source::new("loads.yaml", SWEEP), "loads.yaml", &RunSelection::default()).unwrap();
    let folder = TempFolder::new("sweep");
    let on = |threads: usize| SweepOptions::default().with_threads(Threads::Given(NonZeroUsize::new(threads).unwrap()));
    let options = |threads: usize| on(threads).with_folder(folder.to_path_buf()).with_resume(true);
    let run = |threads: usize, cancel: &Cancel| {
        let mut there = None;
        let mut watch = |step: ProgressStep<'_>| {
            if let ProgressStep::Resumed { there: known, .. } = step {
                there = Some(known);
            }
        };
        let sweep = sweep(batch(), &options(threads), &mut Watch::new(&mut watch, cancel)).unwrap();
        (sweep, there)
    };
    let stopped = Cancel::default();
    stopped.cancel();
    let (partial, there) = run(2, &stopped);
    assert_eq!((partial.complete(), partial.is_partial(), there), (0, true, Some(0)));
    let (whole, there) = run(2, &Cancel::default());
    assert_eq!((whole.complete(), whole.is_partial(), there), (4, false, Some(0)));
    let (again, there) = run(1, &Cancel::default());
    assert_eq!((again.results(), there, again.hops()), (whole.results(), Some(4), 0));
    let alone = sweep(batch(), &on(1), &mut Watch::none()).unwrap();
    assert_eq!(alone.results(), whole.results());
    assert!(folder.join("report.html").is_file());
}
