//! Contracts of every kind in one list.

use wayleave::{
    Contracts, Document, EntryKind, Network, PlanInput, PlanOptions, PolicyMinima, ReleaseHold, RequestTable,
    SavedPlan, SchemeOptions, Session, Source, Watch, decide, explain, explain_in, explain_planned, plan, recheck,
    recheck_shares,
};
use wayleave_contracts::BandwidthContract;
use wayleave_explain::table::TableLayout;
use wayleave_scheme_api::{Admission, Refusal, ShareMembers, ShareRequest};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_units::Rate;

fn example(name: &str) -> String {
    format!("{}/../../schemas/examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn opened(scheme: &str) -> (Session, Contracts) {
    let network = Network::open(&example("topology-classes.yaml")).unwrap();
    let contracts = Contracts::read_all_kinds(&[example("contracts-kinds.yaml")], &network).unwrap();
    let options = PlanOptions::default().with_scheme(SchemeOptions::named(scheme).unwrap());
    (Session::open(&network, &options).unwrap(), contracts)
}

fn document(scheme: &str) -> (Session, serde_json::Value) {
    let (mut session, contracts) = opened(scheme);
    let mut text = Vec::new();
    let mut document = Document::begin(&mut text, &session).unwrap();
    let asked = PlanInput::Contracts(&contracts);
    let outcome = decide(&mut session, asked, &mut document, &mut Watch::none()).unwrap();
    document.end(&session, &outcome.summary).unwrap();
    (session, serde_json::from_slice(&text).unwrap())
}

#[test]
fn a_plan_has_every_kind_in_order_with_its_certainty() {
    let (session, plan) = document("fabric");
    let requests = plan["requests"].as_array().unwrap();
    let given = |key: &str| requests.iter().map(|one| one[key].as_str().unwrap_or("-")).collect::<Vec<_>>();
    assert_eq!(given("name"), ["ptp", "copy", "db", "search", "backup", "bulk"]);
    assert_eq!(given("kind"), ["-", "bandwidth", "bandwidth", "objective", "objective", "best-effort"]);
    assert_eq!(given("certainty"), ["-", "proven", "proven", "proven", "proven", "-"]);
    assert_eq!(plan["summary"]["admitted"], 6);
    assert!(recheck(&session.context(), &mut Watch::none()).unwrap().is_sound());
    assert_eq!(recheck_shares(&session.context(), &mut Watch::none()), []);
}

#[test]
fn a_scheme_for_latency_contracts_names_the_one_for_other_kinds() {
    let (_, plan) = document("chameleon");
    assert_eq!(plan["summary"]["by_reason"]["POLICY"], 4);
    let message = plan["requests"][1]["message"].as_str().unwrap();
    assert!(message.contains("use --scheme fabric"), "{message}");
}

#[test]
fn the_table_shows_the_certainty_of_promises() {
    let (mut session, contracts) = opened("fabric");
    let mut table = RequestTable::new(TableLayout::default(), false, false);
    let asked = PlanInput::Contracts(&contracts);
    let outcome = decide(&mut session, asked, &mut table, &mut Watch::none()).unwrap();
    let mut text = Vec::new();
    table.write(&mut text, &session, &outcome.summary).unwrap();
    let text = String::from_utf8(text).unwrap();
    let row = text.lines().find(|line| line.starts_with("db")).unwrap();
    assert!(row.contains("h1, h5, h9") && row.contains("proven"), "{text}");
    assert!(text.contains("matrix"), "{text}");
}

/// A reservation without a request is found by the derivation.
#[test]
fn a_share_without_an_admission_is_found() {
    let (mut session, _) = opened("fabric");
    let host = |name: &str| session.network().find_node(name).unwrap();
    let members = vec![host("h1"), host("h5")];
    let request =
        |mbit| ShareRequest { among: ShareMembers::Hose(members.clone()), min: Rate::from_mbit(mbit), within: None };
    session.scheme_mut().admit_share(&request(5_000)).unwrap();
    assert_eq!(recheck_shares(&session.context(), &mut Watch::none()), []);
    assert!(session.scheme_mut().admit_share(&request(200)).is_err());
    let latency = wayleave_scheme_api::Request {
        from: members[0],
        to: members[1],
        rate: Rate::from_gbit(3),
        burst: wayleave_units::Bytes::new(1_562),
        deadline: wayleave_units::Time::from_millis(50),
        max_frame: None,
        route: None,
        protection: 1,
    };
    assert!(session.scheme_mut().admit(&latency).is_err(), "minima need 9.8 of 10 Gbit/s");
    let placement = session.scheme_mut().queues_mut().unwrap();
    let found = placement.least_delay(&wayleave_schemes::routing::RouteQuery::of(&wayleave_scheme_api::Request {
        rate: Rate::from_mbit(1),
        ..latency.clone()
    }));
    placement.reserve(&latency, found.unwrap());
    let broken = recheck_shares(&session.context(), &mut Watch::none());
    assert!(broken.iter().any(|one| one.to_string().contains("the guaranteed class of h1->")), "{broken:?}");
}

const EVENTS: &str = "
apiVersion: wayleave/v1
kind: Events
spec:
  events:
    - { at: 0ns, add: { name: a, bandwidth: { from: h1, to: h2, min: 3Gbit } } }
    - { at: 1ms, add: { name: b, bandwidth: { hose: [h1, h2], min: 3Gbit } } }
    - { at: 2ms, change: { name: a, bandwidth: { from: h1, to: h2, min: 6Gbit } } }
    - { at: 3ms, change: { name: a, bandwidth: { from: h1, to: h2, min: 2Gbit } } }
    - { at: 4ms, change: { name: b, bandwidth: { hose: [h1, h2], min: 3Gbit } } }
    - { at: 5ms, add: { name: c, from: h1, to: h2, rate: 1Mbit, burst: 300B, deadline: 5ms } }
    - { at: 6ms, release: a }
    - { at: 7ms, release: b }
    - { at: 8ms, release: c }
    - { at: 9ms, add: { name: d, bestEffort: { members: [h1, h2] } } }
";

/// 5.1 Gbit/s on a host's link: a change that does not fit leaves the old terms, and everything is free in the end, bit for bit.
#[test]
fn contracts_of_every_kind_are_added_changed_and_removed() {
    let network = Network::open(&example("topology-classes.yaml")).unwrap();
    let events = wayleave_formats::read_events(&Source::new("events.yaml", EVENTS), &network.graph).unwrap();
    assert!(events.has_other_kinds());
    let options = PlanOptions::default().with_scheme(SchemeOptions::named("fabric").unwrap());
    let mut session = Session::open(&network, &options).unwrap();
    let mut text = Vec::new();
    let mut document = Document::begin(&mut text, &session).unwrap();
    let asked = PlanInput::Events(&events, ReleaseHold::Bound);
    let outcome = decide(&mut session, asked, &mut document, &mut Watch::none()).unwrap();
    document.end(&session, &outcome.summary).unwrap();
    let plan: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let given = |key: &str| -> Vec<String> {
        plan["requests"].as_array().unwrap().iter().map(|one| one[key].as_str().unwrap_or("-").to_owned()).collect()
    };
    let decisions = [
        "admitted", "refused", "refused", "admitted", "admitted", "admitted", "released", "released", "released",
        "admitted",
    ];
    assert_eq!(given("decision"), decisions);
    assert_eq!(given("event")[..3], ["add", "add", "change"]);
    assert_eq!(plan["requests"][2]["at_ns"], 2_000_000);
    let held = plan["requests"][6]["held_until_ns"].as_u64().unwrap();
    assert!(held > 6_000_000 && held < 7_000_000, "{held}: until its last packets have left");
    let empty = Session::open(&network, &options).unwrap();
    // Reservations of contracts that ended last are held until their last packets have left.
    for flow in session.scheme().flows() {
        session.scheme_mut().release(flow);
    }
    let shares: Vec<_> = session.ledger().unwrap().shares().map(|(id, _)| id).collect();
    shares.into_iter().for_each(|share| assert!(session.scheme_mut().release_share(share)));
    assert!(session.ledger() == empty.ledger());
}

#[test]
fn a_change_cannot_change_the_kind_of_a_contract() {
    let network = Network::open("star:hosts=3").unwrap();
    let text = EVENTS.replace(
        "{ at: 1ms, add: { name: b,",
        "{ at: 1ms, change: { name: a, bestEffort: { members: [h1, h2] } } }\n    - { at: 1ms, add: { name: b,",
    );
    let errors = wayleave_formats::read_events(&Source::new("e.yaml", text), &network.graph).unwrap_err().to_string();
    assert!(errors.contains("of another kind"), "{errors}");
}

/// Each kind's admission or refusal is explained, and resuming from a plan gives an equal explanation.
#[test]
fn every_kind_is_explained_with_and_without_a_plan() {
    let (mut session, contracts) = opened("fabric");
    let network = session.to_network();
    let options = PlanOptions::default().with_scheme(SchemeOptions::named("fabric").unwrap());
    let planned = plan(&network, &contracts, &options, &mut Watch::none()).unwrap();
    assert_eq!(planned.entries().len(), 6);
    assert!(
        planned
            .entries()
            .iter()
            .any(|one| matches!(&one.kind(), EntryKind::DecidedShare { decision: Ok(Some(_)), .. }))
    );
    let saved = Source::new("plan.json", serde_json::to_string(&planned).unwrap());
    for (name, words) in [
        ("ptp", "admitted"),
        ("copy", "senders respect their congestion window"),
        ("db", "packets take shortest paths"),
        ("search", "share links by these weights"),
        ("bulk", "no guarantee"),
    ] {
        let text =
            explain(&network, &contracts, name, &options, &mut Watch::none()).unwrap().text().unwrap().to_lowercase();
        assert!(text.contains(words), "{name}: {text}");
        let again = Session::open(&network, &options).unwrap();
        let by_plan = SavedPlan::read(&saved, &again).unwrap();
        let by_plan = explain_planned(again, &contracts, name, &by_plan, &mut Watch::none()).unwrap();
        assert_eq!(by_plan.text().unwrap().to_lowercase(), text);
    }
    // A plan's statement about a share is not trusted.
    let other = Source::new("plan.json", saved.text().replace("\"proven\"", "\"measured\""));
    let again = Session::open(&network, &options).unwrap();
    let by_plan = SavedPlan::read(&other, &again).unwrap();
    let error = explain_planned(again, &contracts, "bulk", &by_plan, &mut Watch::none()).err().unwrap().to_string();
    assert!(error.contains("certainty"), "{error}");
    // A refusal: the link, the required capacity, the reservations there, and the request that would fit.
    let (h1, h9) = (network.graph.find_node("h1").unwrap(), network.graph.find_node("h9").unwrap());
    let request = ShareRequest { among: ShareMembers::Pair(h1, h9), min: Rate::from_gbit(4), within: None };
    session.scheme_mut().admit_share(&request).unwrap();
    let text = explain_in(session, &contracts, "db", &mut Watch::none()).unwrap().text().unwrap();
    assert!(text.contains("refused, RATE") && text.contains("Nearest request that would fit"), "{text}");
}

const POLICY: &str = "
apiVersion: wayleave/v1
kind: Policy
metadata: { name: machines }
spec:
  level: machine
  services:
    - { name: web, match: { protocol: tcp, destinationPort: 80 }, min: 3Gbit }
";

/// Policies are refused for contracts, and contracts for policies, by one sum: 5.1 Gbit/s on a host's link.
#[test]
fn policies_and_contracts_are_checked_against_each_other() {
    let (mut session, _) = opened("fabric");
    let network = session.to_network();
    let read = |text: &str| wayleave_formats::read_policy(&Source::new("p.yaml", text), &network.graph).unwrap().policy;
    let before = session.ledger().unwrap().clone();
    let pair = |mbit| {
        BandwidthContract::pair(
            "copy",
            network.graph.find_node("h1").unwrap(),
            network.graph.find_node("h9").unwrap(),
            Rate::from_mbit(mbit),
        )
    };
    let mut minima = PolicyMinima::default();
    minima.hold(&mut session, &read(POLICY)).unwrap();
    let (refused, _) = session.admit_share(&pair(2_101).into());
    assert!(matches!(refused, Err(Refusal::ClassRate { fits, .. }) if fits == Rate::from_mbit(2_100)), "{refused:?}");
    session.admit_share(&pair(2_100).into()).0.unwrap();
    assert_eq!(recheck_shares(&session.context(), &mut Watch::none()), []);
    // The other way round: the contract is there first. Nothing is held of a policy that is refused.
    let (mut session, _) = opened("fabric");
    session.admit_share(&pair(2_200).into()).0.unwrap();
    let held = session.ledger().unwrap().clone();
    let short = PolicyMinima::default().hold(&mut session, &read(POLICY)).unwrap_err();
    assert_eq!((short.left, short.more), (Rate::from_mbit(2_900), Rate::from_mbit(3_000)));
    assert!(short.link.starts_with("h1->") && short.to_string().contains("left there"), "{short}");
    assert!(*session.ledger().unwrap() == held && held != before);
    // Policies of one level add up; of several levels the largest counts, since they are about the same packets.
    let (mut session, _) = opened("fabric");
    let mut minima = PolicyMinima::default();
    minima.hold(&mut session, &read(POLICY)).unwrap();
    assert!(minima.hold(&mut session, &read(&POLICY.replace("3Gbit", "2.2Gbit"))).is_err());
    minima.hold(&mut session, &read(&POLICY.replace("3Gbit", "2Gbit"))).unwrap();
}
