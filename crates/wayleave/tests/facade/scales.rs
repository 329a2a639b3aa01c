//! Faults of classes on networks of every scale: each is detected, or reported as undetected.
//!
//! `SCALES=all cargo test -p wayleave --test facade -- scales --nocapture` prints a table of the detected faults (docs/theory/verification.md).

use std::num::NonZeroU32;
use std::sync::Arc;

use wayleave::{ClassFaultOutcome, verify_kinds};
use wayleave_adversary::{ClassFault, Effort};
use wayleave_contracts::{
    BandwidthContract, BestEffortContract, Contract, FlowObjective, LatencyContract, ObjectiveContract,
};
use wayleave_scenarios::{FabricSettings, Tenants};
use wayleave_topology::builders::{Cabling, build};
use wayleave_topology::{Classes, NodeId, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

/// Rates in Mbit/s and delays of links.
const SCALES: [(u64, Time); 7] = [
    (10, Time::from_micros(1)),
    (10, Time::from_millis(5)),
    (1_000, Time::from_micros(500)),
    (1_000, Time::from_millis(50)),
    (10_000, Time::from_micros(4)),
    (100_000, Time::from_micros(1)),
    (400_000, Time::from_micros(1)),
];

/// Faults that are not noticed, with the reason.
const NOT_NOTICED: &[(u64, Time, ClassFault, &str)] = &[
    (10, Time::from_micros(1), ClassFault::StepsUnlimited, FEW_PAIRS),
    (10, Time::from_millis(5), ClassFault::StepsUnlimited, FEW_PAIRS),
    (10_000, Time::from_micros(4), ClassFault::StepsUnlimited, FEW_PAIRS),
    (10, Time::from_micros(1), ClassFault::WeightIgnored, WHOLE_FRAMES),
    (1_000, Time::from_micros(500), ClassFault::ResidualForgotten, STILL_FITS),
    (10_000, Time::from_micros(4), ClassFault::ResidualForgotten, STILL_FITS),
];

const FEW_PAIRS: &str = "windows of so few pairs stay within the bound without the rule";
const WHOLE_FRAMES: &str = "a frame in a round trip is a large part of the line";
const STILL_FITS: &str = "the minima that were promised too much still fit beside the latency contracts";

/// Scales of the short form; `SCALES=all` runs all.
const SHORT: [u64; 1] = [10_000];

/// A star on which all hosts send to the last one: latency contracts with two fifths of its link, pairs and a hose
/// with minima, weights and a maximum, an objective, best effort.
fn tenants(rate: u64, delay: Time) -> Tenants {
    let buffer = Bytes::new(500_000_000);
    let cabling = Cabling {
        rate: Rate::from_mbit(rate),
        propagation: delay,
        switch_port: PortSpec::uniform(8, buffer),
        host_port: PortSpec::uniform(1, buffer),
        ..Cabling::default()
    };
    let network = Arc::new(build::star(9, cabling).unwrap().with_classes(Classes::default()).unwrap());
    let hosts: Vec<NodeId> = network.hosts().collect();
    let (to, part) = (hosts[8], |percent: u64| Rate::from_bits_per_second(rate * 1_000_000 * percent / 100));
    let mut all: Vec<Contract> = (0..2)
        .map(|number| {
            Contract::Latency(LatencyContract {
                max_frame: Some(Bytes::new(1_500)),
                ..LatencyContract::new(
                    format!("l{number}"),
                    hosts[number],
                    to,
                    part(20),
                    Bytes::new(6_000),
                    Time::from_millis(2_000),
                )
            })
        })
        .collect();
    for (number, weight) in [(2, 100), (3, 300)] {
        let pair = BandwidthContract::pair(&format!("g{number}"), hosts[number], to, part(10));
        all.push(Contract::Bandwidth(BandwidthContract { weight: NonZeroU32::new(weight), ..pair }));
    }
    let hose = BandwidthContract::hose("capped", &[hosts[4], hosts[5], to], part(4));
    all.push(Contract::Bandwidth(BandwidthContract { max: Some(part(8)), ..hose }));
    all.push(Contract::Objective(ObjectiveContract {
        name: "search".to_owned(),
        tenant: None,
        objective: FlowObjective::Completion,
        deadline: None,
        members: vec![hosts[6], to],
        min: part(9),
    }));
    let members = vec![hosts[7], to];
    all.push(Contract::BestEffort(BestEffortContract { name: "bulk".to_owned(), tenant: None, members, max: None }));
    let settings = FabricSettings::default();
    let (tenants, refused) = Tenants::admit(&network, &all, &settings).unwrap();
    assert!(refused.iter().all(|name| name.starts_with('l')), "{rate} Mbit/s, {delay}: {refused:?}");
    tenants
}

#[test]
fn every_fault_at_every_scale_is_detected_or_reported() {
    let mut wrong = Vec::new();
    let is_long = std::env::var("SCALES").is_ok();
    for (rate, delay) in SCALES.into_iter().filter(|(rate, _)| is_long || SHORT.contains(rate)) {
        let tenants = tenants(rate, delay);
        let whole = verify_kinds(&tenants, &Effort::QUICK, None, &[]).unwrap();
        let mut row = format!("| {}, {delay} | {} not tested |", Rate::from_mbit(rate), whole.untested());
        if !whole.is_sound() {
            wrong.push(format!("{rate} Mbit/s, {delay}: {:?}", whole.breaches()));
        }
        for fault in ClassFault::ALL {
            let broken = verify_kinds(&tenants, &Effort::QUICK, Some(fault), &[]).unwrap();
            let (noticed, untested) = (broken.noticed().unwrap(), broken.untested());
            let is_known = NOT_NOTICED.iter().any(|&(r, d, f, _)| (r, d, f) == (rate, delay, fault));
            row += match noticed {
                ClassFaultOutcome::ByPackets => " noticed |",
                ClassFaultOutcome::NoEffect => " no effect |",
                ClassFaultOutcome::ByNobody => " not noticed |",
            };
            if noticed == ClassFaultOutcome::ByNobody && untested == 0 && !is_known {
                wrong.push(format!("{rate} Mbit/s, {delay}: {} is not noticed", fault.name()));
            }
        }
        println!("{row}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
