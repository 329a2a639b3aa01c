//! Parts of an order beyond its contract: names, times, packets.

use std::num::NonZeroU16;

use wayleave_contracts::{
    ContractRequest, LatencyContract, Match, MatchError, NameError, Named, OrderError, Priority, Protocol,
};
use wayleave_topology::builders::{FatTree, build};
use wayleave_units::{Bytes, Rate, Time, WallTime};

fn order() -> ContractRequest {
    let network = build::fat_tree(&FatTree::default()).unwrap();
    let mut hosts = network.hosts();
    let contract = LatencyContract {
        tenant: Some("acme".into()),
        ..LatencyContract::new(
            "ptp-1",
            hosts.next().unwrap(),
            hosts.next().unwrap(),
            Rate::from_mbit(1),
            Bytes::new(1500),
            Time::from_millis(2),
        )
    };
    ContractRequest::plain(contract, &["web", "db"])
}

fn port(number: u16) -> Option<NonZeroU16> {
    NonZeroU16::new(number)
}

#[test]
fn a_plain_order_is_valid() {
    assert_eq!(order().validate(), Ok(()));
    assert_eq!(order().priority.get(), 50);
    assert_eq!(Priority::new(100), Some(Priority::MAX));
    assert_eq!(Priority::new(101), None);
}

#[test]
fn names_unusable_in_an_address_are_refused_in_their_field() {
    let named = |name: &str, tenant: &str| {
        let mut order = order();
        let terms = order.as_latency_mut().unwrap();
        (terms.name, terms.tenant) = (name.to_owned(), Some(tenant.to_owned()));
        order.validate().map_err(|error| error.field())
    };
    assert_eq!(named("A.b_c-9", "a-9"), Ok(()));
    assert_eq!(named(&"n".repeat(100), &"t".repeat(63)), Ok(()));
    for name in ["", "a b", "a:b", "ä", "a/b", &"n".repeat(101)] {
        assert_eq!(named(name, "acme"), Err("name"), "{name}");
    }
    for tenant in ["", "ACME", "a.b", "a_b", &"t".repeat(64)] {
        assert_eq!(named("a", tenant), Err("tenant"), "{tenant}");
    }
    let error = NameError { of: Named::Tenant, name: "ACME".into() };
    assert_eq!(error.to_string(), "this is not a name of a tenant: expected 1 to 63 characters of [a-z0-9-]");
}

#[test]
fn a_contract_ends_after_it_starts() {
    let at = |nanos| Some(WallTime::from_nanos(nanos));
    let timed = |starts, ends| ContractRequest { starts, ends, ..order() }.validate();
    assert_eq!(timed(at(5), at(6)), Ok(()));
    assert_eq!(timed(at(5), None), Ok(()));
    assert_eq!(timed(None, at(5)), Ok(()));
    for ends in [4, 5] {
        let error = timed(at(5), at(ends)).unwrap_err();
        assert!(matches!(error, OrderError::EndsFirst { .. }));
        assert_eq!(error.field(), "ends");
    }
}

#[test]
fn two_vms_on_one_host_need_no_contract() {
    let mut order = order();
    let terms = order.as_latency_mut().unwrap();
    terms.to = terms.from;
    let error = order.validate().unwrap_err();
    assert_eq!(error.to_string(), "web and db are on the same host: traffic inside one host needs no contract");
    // The contract itself reports a repeated name.
    order.members[1] = order.members[0].clone();
    assert_eq!(order.validate(), Ok(()));
}

#[test]
fn a_match_selects_possible_packets() {
    let tcp = Match { protocol: Some(Protocol::TCP), ..Match::default() };
    let address = |text: &str| Some(text.parse().unwrap());
    for good in [
        tcp,
        Match { destination_port: port(443), ..tcp },
        Match { source_address: address("10.0.0.1"), ..Match::default() },
        Match { source_address: address("10.0.0.1"), destination_address: address("10.0.0.2"), ..tcp },
        Match { protocol: Some(Protocol::new(47)), ..Match::default() },
    ] {
        assert_eq!(good.validate(), Ok(()), "{good:?}");
        assert_eq!(ContractRequest { matching: Some(good), ..order() }.validate(), Ok(()));
    }
    assert_eq!(Match::default().validate(), Err(MatchError::Empty));
    let no_protocol = Match { source_port: port(1), ..Match::default() };
    assert_eq!(no_protocol.validate(), Err(MatchError::Port { field: "sourcePort", protocol: None }));
    let icmp = Match { protocol: Some(Protocol::ICMP), destination_port: port(1), ..Match::default() };
    assert_eq!(icmp.validate(), Err(MatchError::Port { field: "destinationPort", protocol: Some(Protocol::ICMP) }));
    let mixed = Match { source_address: address("::1"), destination_address: address("10.0.0.2"), ..tcp };
    assert_eq!(mixed.validate(), Err(MatchError::Families));
    let order = ContractRequest { matching: Some(mixed), ..order() };
    assert_eq!(order.validate().unwrap_err().field(), "match");
}

#[test]
fn protocols_are_names_or_numbers_with_equal_meaning() {
    let read = |text: &str| text.parse::<Protocol>().ok();
    assert_eq!(read("tcp"), read("6"));
    assert_eq!(read("47").map(|protocol| protocol.to_string()), Some("47".to_owned()));
    assert_eq!(read("17").map(|protocol| protocol.to_string()), Some("udp".to_owned()));
    for wrong in ["", "256", "-1", "+6", "TCP", "http", "6 "] {
        assert_eq!(read(wrong), None, "{wrong}");
    }
}
