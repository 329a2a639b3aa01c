//! Valid contracts, and their reservations.

use wayleave_contracts::{Accounting, BucketDemand, ContractError, LatencyContract, MAX_PROTECTION, WireOverhead};
use wayleave_topology::builders::{Cabling, build};
use wayleave_topology::{Hop, Network, Route};
use wayleave_units::{Bytes, Rate, Time};

fn network() -> Network {
    build::star(3, Cabling::default()).unwrap()
}

fn contract(network: &Network) -> LatencyContract {
    LatencyContract::new(
        "ptp",
        network.find_node("h1").unwrap(),
        network.find_node("h2").unwrap(),
        Rate::from_mbit(1),
        Bytes::new(1000),
        Time::from_millis(2),
    )
}

const SIX_TAGS: WireOverhead = WireOverhead::Counted { tags: 6 };

#[test]
fn a_full_frame_with_six_tags_is_1562_wire_bytes() {
    assert_eq!(SIX_TAGS.largest_frame(Bytes::new(1500)), Bytes::new(1562));
}

#[test]
fn a_100_byte_frame_with_six_tags_costs_48_percent() {
    let network = network();
    let frame = LatencyContract { accounting: Accounting::Frame { min_frame: Bytes::new(100) }, ..contract(&network) };
    let expected =
        BucketDemand { rate: Rate::from_bits_per_second(1_480_000), burst: Bytes::new(1480), max_frame: None };
    assert_eq!(frame.demand(SIX_TAGS), expected);
    assert_eq!(frame.demand(WireOverhead::Ignored).burst, Bytes::new(1000));
    assert_eq!(contract(&network).demand(SIX_TAGS).burst, Bytes::new(1000));
}

#[test]
fn frames_below_the_ethernet_minimum_cost_84_bytes() {
    let network = network();
    let burst = |tags, bytes| {
        let accounting = Accounting::Frame { min_frame: Bytes::new(bytes) };
        LatencyContract { accounting, ..contract(&network) }.demand(WireOverhead::Counted { tags }).burst.get()
    };
    // 1,000 B are fifty frames of 20 B, or a thousand of 1 B.
    assert_eq!([burst(6, 20), burst(2, 20), burst(0, 20), burst(6, 1)], [4_200, 4_200, 4_200, 84_000]);
    // 24 B of tags fill 36 B up to 60 B, 8 B 52 B: larger ones have nothing but the overhead.
    assert_eq!([burst(6, 35), burst(6, 36)], [2_400, 2_334]);
    assert_eq!([burst(2, 51), burst(2, 52), burst(2, 100)], [1_648, 1_616, 1_320]);
    let small = LatencyContract {
        accounting: Accounting::Frame { min_frame: Bytes::new(10) },
        max_frame: Some(Bytes::new(20)),
        ..contract(&network)
    };
    assert_eq!(small.demand(SIX_TAGS).max_frame, Some(Bytes::new(84)));
}

#[test]
fn a_demand_in_frames_is_rounded_up() {
    let network = network();
    let accounting = Accounting::Frame { min_frame: Bytes::new(999) };
    assert_eq!(LatencyContract { accounting, ..contract(&network) }.demand(SIX_TAGS).burst, Bytes::new(1049));
}

#[test]
fn every_impossible_field_is_named() {
    let network = network();
    let base = contract(&network);
    let switch = network.find_node("s1").unwrap();
    let big = Some(Bytes::new(1001));
    let hop = |link: &str, queue| Hop { link: network.find_link(link).unwrap(), queue };
    let cases: Vec<(LatencyContract, &str)> = vec![
        (LatencyContract { name: String::new(), ..base.clone() }, "name"),
        (LatencyContract { name: "a\nb".into(), ..base.clone() }, "name"),
        (LatencyContract { from: switch, ..base.clone() }, "from"),
        (LatencyContract { to: switch, ..base.clone() }, "to"),
        (LatencyContract { to: base.from, ..base.clone() }, "to"),
        (LatencyContract { rate: Rate::ZERO, ..base.clone() }, "rate"),
        (LatencyContract { burst: Bytes::ZERO, ..base.clone() }, "burst"),
        (LatencyContract { max_frame: big, ..base.clone() }, "burst"),
        (LatencyContract { accounting: Accounting::Frame { min_frame: Bytes::new(1001) }, ..base.clone() }, "burst"),
        (LatencyContract { accounting: Accounting::Frame { min_frame: Bytes::ZERO }, ..base.clone() }, "minFrame"),
        (LatencyContract { deadline: Time::ZERO, ..base.clone() }, "deadline"),
        (LatencyContract { deadline: Time::from_millis(100_001), ..base.clone() }, "deadline"),
        (LatencyContract { route: Some(Route { hops: vec![hop("h1->s1", 0)] }), ..base.clone() }, "route"),
        (LatencyContract { protection: 0, ..base.clone() }, "protection"),
        (LatencyContract { protection: MAX_PROTECTION + 1, ..base.clone() }, "protection"),
        (
            LatencyContract {
                route: Some(Route { hops: vec![hop("h1->s1", 0), hop("s1->h2", 0)] }),
                protection: 2,
                ..base.clone()
            },
            "protection",
        ),
    ];
    for (contract, field) in cases {
        assert_eq!(contract.validate(&network).as_ref().map_err(ContractError::field), Err(field), "{contract:?}");
    }
    assert_eq!(base.validate(&network), Ok(()));
}
