//! Verifications that are cancelled: what no run tested is not reported as held.

use wayleave::{
    Attack, Cancel, Contracts, Effort, FaultOutcome, LeftOutClasses, LeftOutReason, Network, NoProgress, PlanOptions,
    Promises, SchemeOptions, VerifyOptions, VerifyReport, Watch, plan, verify, verify_kinds,
};
use wayleave_adversary::{ClassFault, Fault};
use wayleave_explain::table::TableLayout;
use wayleave_scenarios::Tenants;

fn example(name: &str) -> String {
    format!("{}/../../schemas/examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Returns promises of every kind.
fn promises() -> (Promises, Tenants) {
    let network = Network::open(&example("topology-classes.yaml")).unwrap();
    let contracts = Contracts::read_all_kinds(&[example("contracts-kinds.yaml")], &network).unwrap();
    let options = PlanOptions::default().with_scheme(SchemeOptions::named("fabric").unwrap());
    let plan = plan(&network, &contracts, &options, &mut Watch::none()).unwrap();
    (plan.promises(), plan.tenants().unwrap().unwrap())
}

fn cancelled() -> Cancel {
    let cancel = Cancel::default();
    cancel.cancel();
    cancel
}

fn text(verified: &VerifyReport) -> String {
    let mut text = Vec::new();
    verified.write_text(&mut text, TableLayout::default(), true).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_cancelled_verification_holds_nothing_with_and_without_a_replay() {
    let (promises, _) = promises();
    let quick = VerifyOptions::default().with_effort(Effort::QUICK);
    let attack: Attack = "together,1".parse().unwrap();
    for options in [quick.clone(), quick.clone().with_replay(attack)] {
        let verified = verify(&promises, &options, &mut Watch::new(&mut NoProgress, &cancelled())).unwrap();
        assert!(verified.is_stopped() && verified.report.runs == 0, "{options:?}");
        assert_eq!(verified.untested(), 1, "{options:?}");
        let text = text(&verified);
        assert!(text.contains("no violations until the stop, ") && !text.contains("held"), "{text}");
        assert!(text.contains("relative to the current bound: not observed"), "{text}");
        let mut json = Vec::new();
        verified.write_json(&mut json, "t").unwrap();
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert!(json["summary"]["mean_share_of_calculus"].is_null(), "{json}");
    }
    let whole = verify(&promises, &quick, &mut Watch::none()).unwrap();
    assert!(!whole.is_stopped() && text(&whole).contains("all guarantees held"));
    // A fault that no run has shown is not detected; the command reports the stop first.
    let broken = quick.with_fault(Fault::ShaperOff);
    let verified = verify(&promises, &broken, &mut Watch::new(&mut NoProgress, &cancelled())).unwrap();
    assert!(verified.is_stopped() && verified.noticed() == Some(FaultOutcome::ByNobody));
}

#[test]
fn cancelled_runs_of_classes_test_no_promise() {
    let (_, tenants) = promises();
    let whole = verify_kinds(&tenants, &Effort::QUICK, None, &[], &mut Watch::none()).unwrap();
    let mut watch = (NoProgress, cancelled());
    let stopped = verify_kinds(&tenants, &Effort::QUICK, None, &[], &mut Watch::new(&mut watch.0, &watch.1)).unwrap();
    assert!(stopped.is_stopped() && !whole.is_stopped());
    let minima = tenants.minima().len();
    assert!(minima > 0 && stopped.untested() >= minima + tenants.maxima().len(), "{}", stopped.untested());
    assert!(stopped.untested() > whole.untested());
    let mut text = Vec::new();
    stopped.write_text(&mut text, TableLayout::default()).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("0 runs: no violations until the stop, ") && !text.contains("held"), "{text}");
}

#[test]
fn classes_that_were_left_out_are_named_with_the_reason() {
    let (promises, tenants) = promises();
    let options =
        VerifyOptions::default().with_effort(Effort::QUICK).with_replay("together,1".parse::<Attack>().unwrap());
    let mut verified = verify(&promises, &options, &mut Watch::none()).unwrap();
    let contracts = tenants.sharing().len();
    verified.left_out = Some(LeftOutClasses::new(contracts, LeftOutReason::Replay));
    let shown = text(&verified);
    let expected = format!("{contracts} contracts of classes below latency not tested: --replay makes one attack");
    assert!(shown.contains(&expected), "{shown}");
    assert!(shown.contains("no violations in this attack; other attacks were not made"), "{shown}");
    let mut json = Vec::new();
    verified.write_json(&mut json, "t").unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["untested_classes"]["contracts"], contracts);
    verified.left_out = Some(LeftOutClasses::new(contracts, LeftOutReason::Stopped));
    assert!(verified.is_stopped());
}

/// Catches: a fault of maxima whose runs are too short on a slow line to show an excess that the run without a fault
/// could show.
#[test]
fn an_ignored_maximum_is_detected_wherever_the_maximum_is_tested() {
    let pair = |max: &str| format!("bandwidth: {{ from: h1, to: h3, min: 1Mbit, max: {max} }}");
    // The burst of best effort hides an excess in short runs.
    let best_effort = "bestEffort: { members: [h1, h2, h3], max: 80Mbit }".to_owned();
    // A window that begins with 1 Mbit/s reaches 600 Mbit/s after 0.2 s, but the first run lasts 0.1 s. Classes fill 950
    // Mbit/s of the line, which is 1 % above 940 Mbit/s: a test needs 10 %.
    let cases = [
        ("10Mbit", pair("8500kbit"), 0),
        ("1Gbit", pair("600Mbit"), 0),
        ("100Mbit", best_effort, 0),
        ("1Gbit", pair("940Mbit"), 2),
    ];
    for (rate, terms, untested) in cases {
        let network = Network::open(&format!("star:hosts=3,rate={rate},queues=8")).unwrap();
        let list =
            format!("apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n    - {{ name: m, {terms} }}\n");
        let network = network.with_classes().unwrap();
        let contracts = Contracts::parse_all_kinds(&[wayleave::Source::new("c.yaml", list)], &network).unwrap();
        let options = PlanOptions::default().with_scheme(SchemeOptions::named("fabric").unwrap());
        let tenants = plan(&network, &contracts, &options, &mut Watch::none()).unwrap().tenants().unwrap().unwrap();
        let verify = |fault| verify_kinds(&tenants, &Effort::QUICK, fault, &[], &mut Watch::none()).unwrap();
        let (whole, broken) = (verify(None), verify(Some(ClassFault::MaxIgnored)));
        assert!(whole.is_sound(), "{rate} {terms}: {:?}", whole.breaches());
        // Sent and received: two of each pair.
        assert_eq!(whole.untested_maxima(), untested, "{rate} {terms}");
        assert_eq!(broken.is_sound(), untested > 0, "{rate} {terms}");
    }
}
