//! Contracts as a controller reads them: one alone or a file, with ends that are VMs, priority, times and match.

use crate::common::{assert_problems, contracts, contracts_yaml, csv, star, terms};
use wayleave_contracts::{ContractRequest, Match, Priority, Protocol};
use wayleave_formats::ProblemKind::{
    BadValue, Contradiction, DuplicateName, Empty, Impossible, MissingKey, Syntax, UnknownKey, UnknownName, WrongKind,
    WrongType,
};
use wayleave_formats::{
    Addressed, InputErrors, OrderList, Source, VmLocations, read_order, read_orders, write_order, write_orders,
};
use wayleave_topology::NodeId;

/// acme has web on h1, mail on h1 and db on h2; others have nothing, but h3 as a VM on h9.
struct Vms;

impl VmLocations for Vms {
    fn host_of(&self, tenant: Option<&str>, name: &str) -> Option<NodeId> {
        let host = match (tenant, name) {
            (Some("acme"), "web" | "mail") => "h1",
            (Some("acme"), "db") => "h2",
            (None, "h3") => "h9",
            _ => return None,
        };
        star().find_node(host)
    }

    fn names(&self, tenant: Option<&str>) -> Vec<String> {
        let names = if tenant == Some("acme") { vec!["web", "mail", "db"] } else { vec![] };
        names.into_iter().map(str::to_owned).collect()
    }
}

const ADDRESS: Addressed<'static> = Addressed { tenant: Some("acme"), name: Some("ptp-1") };

fn one(text: &str) -> Result<ContractRequest, InputErrors> {
    read_order(&Source::new("body", text), &star(), &Vms, Addressed::default())
}

fn addressed(text: &str) -> Result<ContractRequest, InputErrors> {
    read_order(&Source::new("body", text), &star(), &Vms, ADDRESS)
}

fn list(text: &str) -> Result<OrderList, InputErrors> {
    read_orders(&Source::new("contracts.yaml", text), &star(), &Vms, Addressed::default())
}

/// Terms with a bit more.
fn with(more: &str) -> String {
    terms("a").replace(" }", &format!(", {more} }}"))
}

const FULL: &str = r#"{"tenant": "acme", "name": "ptp-1", "from": "web", "to": "db", "rate": "1Mbit", "burst": "1500B",
 "deadline": "2ms", "priority": 80, "starts": "2026-11-21T08:00:00Z", "ends": "2026-11-21T10:00:00.5+01:00",
 "match": {"protocol": "tcp", "sourceAddress": "10.0.0.1", "sourcePort": 1, "destinationAddress": "10.0.0.2",
 "destinationPort": 65535}, "protection": 2, "accounting": "frame", "minFrame": "64B", "maxFrame": "1500B"}"#;

#[test]
fn a_single_contract_has_all_written_values() {
    let order = one(FULL).unwrap_or_else(|errors| panic!("{errors}"));
    let star = star();
    assert_eq!((order.from(), order.to()), ("web", "db"));
    let terms = order.as_latency().unwrap();
    assert_eq!(terms.from, star.find_node("h1").unwrap());
    assert_eq!(terms.to, star.find_node("h2").unwrap());
    assert_eq!(order.tenant(), Some("acme"));
    assert_eq!(terms.protection, 2);
    assert_eq!(order.priority, Priority::new(80).unwrap());
    assert_eq!(order.starts.unwrap().to_string(), "2026-11-21T08:00:00Z");
    assert_eq!(order.ends.unwrap().to_string(), "2026-11-21T09:00:00.5Z");
    let matching = order.matching.unwrap();
    assert_eq!(matching.protocol, Some(Protocol::TCP));
    assert_eq!(matching.source_address.unwrap().to_string(), "10.0.0.1");
    assert_eq!(matching.destination_port.unwrap().get(), 65535);
}

#[test]
fn absent_keys_have_their_defaults() {
    let order = one(&terms("a")).unwrap();
    assert_eq!(order, ContractRequest::plain(order.contract.clone(), &["h1", "h2"]));
    assert_eq!((order.priority.get(), order.tenant()), (50, None));
}

#[test]
fn a_vm_has_precedence_over_a_host_with_its_name() {
    let order = one(&terms("a").replace("h2", "h3")).unwrap();
    assert_eq!(order.as_latency().unwrap().to, star().find_node("h9").unwrap());
    // Another tenant has no such VM, and means the host.
    let order = one(&with("tenant: acme").replace("h2", "h3")).unwrap();
    assert_eq!(order.as_latency().unwrap().to, star().find_node("h3").unwrap());
    // A network as the places knows hosts only.
    let text = terms("a").replace("h2", "web");
    let read = read_order(&Source::new("body", text), &star(), &star(), Addressed::default());
    assert_problems(read, &[(UnknownName, "1:26", "there is no VM and no host \"web\"")]);
}

#[test]
fn the_address_of_a_request_supplies_absent_names_and_must_match_the_text() {
    let body = "{ from: web, to: db, rate: 1Mbit, burst: 1500B, deadline: 2ms }";
    let order = addressed(body).unwrap();
    assert_eq!((order.name(), order.tenant()), ("ptp-1", Some("acme")));
    assert!(addressed(FULL).is_ok(), "the same in both is no contradiction");
    let other = format!("{{ name: ptp-2, tenant: guests, {}", &body[2..]);
    assert_problems(
        addressed(&other),
        &[
            (Contradiction, "1:9", "the name is \"ptp-2\" here, but \"ptp-1\" in the request .. omit name here"),
            (Contradiction, "1:24", "the tenant is \"guests\""),
            (UnknownName, "1:38", "no host \"web\""),
            (UnknownName, "1:47", "no host \"db\""),
        ],
    );
    let nameless = body.replace("web", "h1").replace("db", "h2");
    assert_problems(one(&nameless), &[(MissingKey, "1:1", "needs the key \"name\"")]);
}

#[test]
fn errors_of_one_contract_have_line_column_and_a_suggestion() {
    let text = "{\n  \"name\": \"a\",\n  \"form\": \"h1\",\n  \"to\": \"h2\",\n  \"rate\": \"10mbps\",\n  \"burst\": \"1500B\",\n  \"deadline\": \"2ms\"\n}";
    assert_problems(
        one(text),
        &[(UnknownKey, "3:3", "did you mean \"from\"?"), (BadValue, "5:11", "write 10Mbit if bits per second")],
    );
    let shown = one(&with("tenant: acme").replace("h2", "dbb")).unwrap_err().to_string();
    assert_eq!(
        shown,
        "body:1:26: there is no VM and no host \"dbb\", did you mean \"db\"?
   1 | { name: a, from: h1, to: dbb, rate: 1Mbit, burst: 1500B, deadline: 2ms, tenant: acme }
     |                          ^^^"
    );
    assert_problems(
        one(&with("tenant: acme").replace("h2", "cache")),
        &[(UnknownName, "1:26", "the tenant's VMs are web, mail, db; the network has 9 hosts")],
    );
}

#[test]
fn a_text_that_is_no_contract_is_refused_with_the_expected_form() {
    assert_problems(one(""), &[(Empty, "1:1", "expected a contract")]);
    assert_problems(one("null"), &[(Empty, "1:1", "expected a contract")]);
    assert_problems(one("[1]"), &[(WrongType, "1:1", "a contract is expected here, not a list")]);
    assert_problems(one("{\"name\": \"a\", "), &[(Syntax, "1:14", "")]);
    assert_problems(one(&contracts_yaml(&[&terms("a")])), &[(WrongKind, "1:1", "a whole document .. omit")]);
}

#[test]
fn names_fit_into_addresses() {
    let text = terms("\"a b\"").replace(" }", ", tenant: ACME }");
    assert_problems(
        one(&text),
        &[(BadValue, "1:9", "[A-Za-z0-9._-]"), (BadValue, "1:84", "1 to 63 characters of [a-z0-9-]")],
    );
}

#[test]
fn two_vms_on_one_host_are_reported() {
    let text = with("tenant: acme").replace("from: h1, to: h2", "from: web, to: mail");
    assert_problems(one(&text), &[(Impossible, "1:27", "web and mail are on the same host")]);
    assert_problems(one(&terms("a").replace("h2", "h1")), &[(Impossible, "1:26", "from and to are both h1")]);
    assert_problems(one(&terms("a").replace("h2", "s1")), &[(Impossible, "1:26", "a switch")]);
}

#[test]
fn priority_times_and_match_are_checked_by_plan_as_well() {
    // The added text, its wrong part, and the message.
    for (more, wrong, kind, words) in [
        ("priority: 101", "101", BadValue, "whole number from 0 to 100"),
        ("priority: high", "high", BadValue, "\"high\" is not a priority"),
        ("starts: 2026-11-21T08:00:00", "2026", BadValue, "add Z for UTC"),
        ("starts: tomorrow", "tomorrow", BadValue, "2026-11-21T08:00:00Z"),
        ("starts: 2026-11-21T08:00:00Z, ends: 2026-11-21T08:59:00+01:00", "2026", Impossible, "is not after"),
        ("match: {}", "{}", Impossible, "the match is empty"),
        ("match: tcp", "tcp", WrongType, "a match is expected here, not text"),
        ("match: { protocl: tcp }", "protocl", UnknownKey, "did you mean \"protocol\""),
        ("match: { protocol: tpc }", "tpc", BadValue, "did you mean \"tcp\"? .. a number from 0 to 255"),
        ("match: { destinationPort: 443 }", "443", Impossible, "add protocol: tcp, udp or sctp"),
        ("match: { protocol: icmp, sourcePort: 443 }", "443", Impossible, "nothing for protocol icmp"),
        ("match: { protocol: tcp, sourcePort: 0 }", "0 }", BadValue, "a port from 1 to 65535"),
        ("match: { sourceAddress: 10.0.0 }", "10.", BadValue, "an IP address such as 10.0.0.1"),
        (
            "match: { sourceAddress: 10.0.0.1, destinationAddress: \"::1\" }",
            "\"::1",
            Impossible,
            "one address is IPv4 and the other IPv6",
        ),
    ] {
        let text = with(more);
        let column = 1 + text.rfind(wrong).unwrap();
        assert_problems(one(&text), &[(kind, &format!("1:{column}"), words)]);
        let document = contracts_yaml(&[&text]);
        assert_problems(contracts(&document), &[(kind, &format!("5:{}", column + 6), words)]);
    }
}

#[test]
fn plan_ignores_keys_for_the_controller() {
    let plain = contracts(&contracts_yaml(&[&terms("a")])).unwrap();
    let more = with("priority: 7, starts: 2026-11-21T08:00:00Z, match: { protocol: 47 }");
    let list = contracts(&contracts_yaml(&[&more])).unwrap();
    assert_eq!(list.contracts(), plain.contracts());
    assert_eq!(list.locate(0, "match").column, 128);
}

#[test]
fn csv_has_columns_for_priority_and_times() {
    let text =
        "name,from,to,rate,burst,deadline,priority,starts,ends\na,h1,h2,1Mbit,1500B,2ms,7,2026-11-21T08:00:00Z,\n";
    assert_eq!(csv(text).unwrap().contracts().len(), 1);
    let read = |text: &str| read_orders(&Source::new("a.csv", text), &star(), &Vms, Addressed::default());
    let list = read(text).unwrap();
    assert_eq!(list.orders()[0].priority.get(), 7);
    assert_eq!(list.orders()[0].starts.unwrap().to_string(), "2026-11-21T08:00:00Z");
    assert_problems(
        read(&text.replace("ends", "match")),
        &[(UnknownKey, "1:50", "cannot be a column .. YAML or JSON")],
    );
    assert_problems(read(&text.replace(",7,", ",x,")), &[(BadValue, "2:25", "is not a priority")]);
}

#[test]
fn names_are_unique_for_each_tenant() {
    let of = |tenant: &str| with(&format!("tenant: {tenant}"));
    let text = contracts_yaml(&[&of("acme"), &of("guests"), &terms("a")]);
    assert_eq!(list(&text).unwrap().orders().len(), 3);
    assert_problems(list(&contracts_yaml(&[&of("acme"), &of("acme")])), &[(DuplicateName, "6:15", "on line 5")]);
    // The tenant may be known from the sender.
    let given = Addressed { tenant: Some("acme"), name: None };
    let read = |items: &[&str]| read_orders(&Source::new("x.yaml", contracts_yaml(items)), &star(), &Vms, given);
    let vms = terms("b").replace("h1", "web").replace("h2", "db");
    assert_eq!(read(&[&vms]).unwrap().orders()[0].tenant(), Some("acme"));
    assert_problems(read(&[&terms("a"), &of("acme")]), &[(DuplicateName, "6:15", "on line 5")]);
    assert_problems(read(&[&of("guests")]), &[(Contradiction, "5:86", "\"acme\" in the request")]);
}

#[test]
fn a_later_finding_is_shown_where_the_order_was_read() {
    let list = list(&contracts_yaml(&[&with("priority: 7")])).unwrap();
    let shown = list.finding(0, "priority", "too low").to_string();
    assert!(shown.starts_with("contracts.yaml:5:88: too low") && shown.ends_with("in contract \"a\""), "{shown}");
}

#[test]
fn orders_are_read_back_as_they_were_written() {
    let star = star();
    let full = one(FULL).unwrap();
    let orders = vec![
        full.clone(),
        one(&terms("a")).unwrap(),
        one(&with("route: [\"h1->s1:0\", \"s1->h2:3\"], match: { sourceAddress: \"fe80::1\" }, priority: 0")
            .replace("name: a", "name: b"))
        .unwrap(),
        ContractRequest {
            matching: Some(Match { protocol: Some(Protocol::new(47)), ..Match::default() }),
            ..one(&terms("c")).unwrap()
        },
    ];
    let text = write_orders(&orders, &star, "x");
    assert_eq!(list(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}")).into_orders(), orders);
    let text = write_order(&full, &star);
    assert_eq!(one(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}")), full);
}

#[test]
fn the_example_of_a_controller_is_read_by_it_and_by_plan() {
    let folder = format!("{}/../../../schemas/examples", env!("CARGO_MANIFEST_DIR"));
    let source = |name: &str| Source::read(format!("{folder}/{name}")).unwrap();
    let network = wayleave_formats::read_topology(&source("topology-links.yaml")).unwrap().network;
    let list = source("contracts-controller.yaml");
    let orders = read_orders(&list, &network, &network, Addressed::default()).unwrap();
    assert_eq!(orders.orders()[1].matching.unwrap().destination_port.unwrap().get(), 873);
    let planned = wayleave_formats::read_contracts(&list, &network).unwrap();
    let contracts: Vec<_> = orders.orders().iter().map(|order| order.as_latency().unwrap().clone()).collect();
    assert_eq!(planned.contracts(), contracts);
}

#[test]
fn labels_are_read_and_written_for_contracts_of_every_kind_and_have_bounds() {
    let star = star();
    let hose = "{ name: db, bandwidth: { hose: [h1, h2, h3], min: 1Mbit }, labels: { app: shop, 'tier/1': db } }";
    let orders = vec![one(&with("labels: { app: web, empty: '' }")).unwrap(), one(hose).unwrap()];
    assert_eq!(orders[1].labels.get("tier/1").map(String::as_str), Some("db"));
    let text = write_orders(&orders, &star, "x");
    assert_eq!(list(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}")).into_orders(), orders);
    for (labels, messages) in [
        ("[app]", "not a mapping"),
        ("{ 'a b': c }", "`a b` is not a label key"),
        ("{ a: 'b c' }", "the value of label a is invalid"),
        ("{ a: 1, a: 2 }", "twice"),
        ("{ a: [b] }", ""),
    ] {
        let errors = one(&with(&format!("labels: {labels}"))).unwrap_err().to_string();
        assert!(errors.contains(messages), "{labels}: {errors}");
    }
    let many: Vec<String> = (0..17).map(|number| format!("l{number}: a")).collect();
    let errors = one(&with(&format!("labels: {{ {} }}", many.join(", ")))).unwrap_err().to_string();
    assert!(errors.contains("17 labels: expected at most 16"), "{errors}");
}
