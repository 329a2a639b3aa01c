//! Documents survive writing and reading, and codes have their documented values.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

use wayleave_protocol::contract::{Contract, ContractSpec};
use wayleave_protocol::problem::{Code, Problem};
use wayleave_protocol::tenant::{NewToken, Token};

const CONTRACT: &str = r#"{"id":"acme:ptp","name":"ptp","tenant":"acme","from":"web","to":"h2","rate":"1Mbit","burst":"300B","deadline":"2ms","priority":80,"match":{"protocol":"udp","destinationPort":319},"status":{"state":"pending","kind":"latency","reason":"WAITS","boundNs":1900000,"deadlineNs":2000000,"fromHost":"h1","toHost":"h2","routes":[{"hops":[{"link":"h1->s1","queue":0}],"boundNs":1900000}],"serial":7,"revision":12,"decision":3,"created":"2026-11-21T09:00:00Z","configured":2,"pendingReleases":1}}"#;

#[test]
fn a_contract_is_written_as_it_is_read() {
    let contract: Contract = serde_json::from_str(CONTRACT).unwrap();
    assert_eq!(serde_json::to_string(&contract).unwrap(), CONTRACT);
}

/// As a controller of before contracts of every kind writes it.
#[test]
fn a_contract_without_a_kind_is_a_latency_contract() {
    let contract: Contract = serde_json::from_str(&CONTRACT.replace(r#""kind":"latency","#, "")).unwrap();
    assert_eq!(serde_json::to_string(&contract).unwrap(), CONTRACT);
}

#[test]
fn members_are_the_ends_or_the_list() {
    let members = |text: &str| -> Vec<String> {
        let spec: ContractSpec = serde_json::from_str(text).unwrap();
        spec.members().into_iter().map(str::to_owned).collect()
    };
    assert_eq!(members(r#"{"from":"a","to":"b"}"#), ["a", "b"]);
    assert_eq!(members(r#"{"bandwidth":{"from":"a","to":"b","min":"1Mbit"}}"#), ["a", "b"]);
    assert_eq!(members(r#"{"bandwidth":{"hose":["a","b","c"],"min":"1Mbit"}}"#), ["a", "b", "c"]);
    assert_eq!(members(r#"{"bestEffort":{"members":["b","a"]}}"#), ["b", "a"]);
}

#[test]
fn requests_with_unknown_keys_are_refused() {
    let text = r#"{"from":"a","to":"b","rate":"1Mbit","burst":"300B","deadline":"2ms","prio":1}"#;
    assert!(serde_json::from_str::<ContractSpec>(text).unwrap_err().to_string().contains("prio"));
}

#[test]
fn every_code_has_its_own_text_and_a_status_of_failure() {
    for (index, code) in Code::ALL.iter().enumerate() {
        assert_eq!(Code::of(code.text()), Some(*code));
        assert!((400..600).contains(&code.status()), "{code}");
        assert!(!Code::ALL[..index].iter().any(|other| other.text() == code.text()));
    }
    let problem = Problem::new(Code::NoPath, "why");
    assert_eq!(
        serde_json::to_string(&problem).unwrap(),
        r#"{"type":"urn:wayleave:problem:no-path","title":"No route","status":409,"detail":"why","code":"NO_PATH"}"#
    );
}

#[test]
fn a_secret_is_not_in_debug_output() {
    let token: Token = serde_json::from_str(r#"{"id":"t1","role":"operator","label":"me","revision":1}"#).unwrap();
    let token = NewToken { token, secret: Some("wl_0123".to_owned()) };
    assert!(!format!("{token:?}").contains("wl_0123"));
    assert!(serde_json::to_string(&token).unwrap().contains("wl_0123"), "its owner is shown it");
}
