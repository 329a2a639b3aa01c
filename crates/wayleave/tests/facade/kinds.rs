//! Contracts of every kind in one list.

use wayleave::{
    Asked, Cancel, Contracts, Document, Model, Network, RequestTable, SchemeOptions, Session, Silent, decide, recheck,
    recheck_shares,
};
use wayleave_explain::table::Layout;
use wayleave_roles::{Admission, Among, ShareRequest};
use wayleave_schemes::standing::Standing;
use wayleave_units::Rate;

fn example(name: &str) -> String {
    format!("{}/../../schemas/examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn opened(scheme: &str) -> (Session, Contracts) {
    let network = Network::open(&example("topology-classes.yaml")).unwrap();
    let contracts = Contracts::read_all_kinds(&[example("contracts-kinds.yaml")], &network).unwrap();
    let options = SchemeOptions::named(scheme).unwrap();
    (Session::open(&network, Model::default(), options).unwrap(), contracts)
}

fn document(scheme: &str) -> (Session, serde_json::Value) {
    let (mut session, contracts) = opened(scheme);
    let mut text = Vec::new();
    let mut document = Document::begin(&mut text, &session).unwrap();
    let asked = Asked::Contracts(&contracts);
    let outcome = decide(&mut session, asked, &mut document, &mut Silent, &Cancel::default()).unwrap();
    document.end(&session, &outcome.summary).unwrap();
    (session, serde_json::from_slice(&text).unwrap())
}

#[test]
fn a_plan_has_every_kind_in_its_order_and_says_how_much_is_known() {
    let (session, plan) = document("fabric");
    let requests = plan["requests"].as_array().unwrap();
    let said = |key: &str| requests.iter().map(|one| one[key].as_str().unwrap_or("-")).collect::<Vec<_>>();
    assert_eq!(said("name"), ["ptp", "copy", "db", "search", "backup", "bulk"]);
    assert_eq!(said("kind"), ["-", "bandwidth", "bandwidth", "objective", "objective", "best-effort"]);
    assert_eq!(said("certainty"), ["-", "proven", "measured", "proven", "proven", "-"]);
    assert_eq!(plan["summary"]["admitted"], 6);
    assert!(recheck(&session.context()).unwrap().is_sound());
    assert_eq!(recheck_shares(&session.context()), []);
}

#[test]
fn a_scheme_for_latency_contracts_says_who_admits_the_others() {
    let (_, plan) = document("chameleon");
    assert_eq!(plan["summary"]["by_reason"]["POLICY"], 4);
    let message = plan["requests"][1]["message"].as_str().unwrap();
    assert!(message.contains("take --scheme fabric"), "{message}");
}

#[test]
fn the_table_says_what_is_measured_only() {
    let (mut session, contracts) = opened("fabric");
    let mut table = RequestTable::new(Layout::default(), false, false);
    let asked = Asked::Contracts(&contracts);
    let outcome = decide(&mut session, asked, &mut table, &mut Silent, &Cancel::default()).unwrap();
    let mut text = Vec::new();
    table.write(&mut text, &session, &outcome.summary).unwrap();
    let text = String::from_utf8(text).unwrap();
    let row = text.lines().find(|line| line.starts_with("db")).unwrap();
    assert!(row.contains("h1, h5, h9") && row.contains("measured"), "{text}");
    assert!(text.contains("is no guarantee") || text.contains("no guarantee"), "{text}");
}

/// What was reserved without asking is found by who derives it again.
#[test]
fn a_share_that_nobody_admitted_is_found() {
    let (mut session, _) = opened("fabric");
    let host = |name: &str| session.network.find_node(name).unwrap();
    let members = vec![host("h1"), host("h5")];
    let request = |mbit| ShareRequest { among: Among::Hose(members.clone()), min: Rate::from_mbit(mbit), within: None };
    session.scheme.admit_share(&request(5_000)).unwrap();
    assert_eq!(recheck_shares(&session.context()), []);
    assert!(session.scheme.admit_share(&request(200)).is_err());
    let latency = wayleave_roles::Request {
        from: members[0],
        to: members[1],
        rate: Rate::from_gbit(3),
        burst: wayleave_units::Bytes::new(1_562),
        deadline: wayleave_units::Time::from_millis(50),
        max_frame: None,
        route: None,
        protection: 1,
    };
    assert!(session.scheme.admit(&latency).is_err(), "minima need 9.8 of 10 Gbit/s");
    let placement = session.scheme.queues_mut().unwrap();
    let found = placement.least_delay(&wayleave_schemes::routing::Query::of(&wayleave_roles::Request {
        rate: Rate::from_mbit(1),
        ..latency.clone()
    }));
    placement.reserve(&latency, found.unwrap());
    let broken = recheck_shares(&session.context());
    assert!(broken.iter().any(|one| one.to_string().contains("the guaranteed class of h1->")), "{broken:?}");
}
