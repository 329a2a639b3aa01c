//! Loko's printed numbers, derived from a benchmark table, and their use in admission.

use std::collections::BTreeSet;
use std::sync::Arc;

use wayleave_scheme_api::{Admission, Allocated, Refusal, RefusalCode, Request};
use wayleave_topology::builders::{Cabling, Chain, build};
use wayleave_topology::devices::{Measurement, PACKETS, PacketScenario, SoftwareSwitch, Table};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use super::*;
use crate::admitted::AdmittedSet;

/// Returns a benchmark table of the modelled Zodiac FX.
fn table(scenario: &PacketScenario) -> Table {
    let zodiac = SoftwareSwitch::ZODIAC_FX;
    let mut table = Table::default();
    for case in scenario.cases() {
        let delay = zodiac.service(&case) + zodiac.latency();
        table.enter(case, Measurement { throughput: zodiac.rate(&case), delay, buffer: zodiac.buffer(case.packet) });
    }
    table
}

fn model() -> ServiceModel {
    let scenario = PacketScenario::proof_of_concept();
    ServiceModel::of(&table(&scenario), &scenario).unwrap()
}

/// A value as the slides print it: two decimals, rounded half up.
fn hundredths(value: u128, unit: u128) -> u128 {
    (value * 100 + unit / 2) / unit
}

#[test]
fn the_printed_allocations_follow_from_steps_1_to_3() {
    let model = model();
    // R = 11.8 Mbit/s, T = 0.46 ms.
    assert_eq!((model.rate.bits_per_second() + 50_000) / 100_000, 118);
    assert_eq!(hundredths(model.processing.as_nanos().into(), 1_000_000), 46);
    assert_eq!(model.buffer, Bytes::new(8 * 306));
    let printed = |share| {
        let Allocation { rate, burst, delay } = Allocation::new(&model, share).unwrap();
        let rate = hundredths(rate.bits_per_second().into(), 1_000_000);
        (rate, hundredths(burst.get().into(), 1024), hundredths(delay.as_nanos().into(), 1_000_000))
    };
    // 11.84 is printed as 11.8.
    assert_eq!(printed(AcceptedRate::FullRate), (1184, 202, 186));
    assert_eq!(printed(AcceptedRate::FifthRate), (237, 232, 207));
}

/// Returns `true` if a number of packets of 306 B, R in 100 bit/s and T in us give every printed digit, with
/// `kilobyte` bytes in a kB.
fn agrees(packets: i64, r: i64, t: i64, kilobyte: i64) -> bool {
    // Everything in 1e-6 bit: 100 bit/s times us are 1e-4 bit.
    let rt = r * t * 100;
    let packet = 306 * 8 * 1_000_000;
    let printed = |bits: i64| (bits * 100 + kilobyte * 8 * 1_000_000 / 2) / (kilobyte * 8 * 1_000_000);
    let full = packets * packet - (rt - packet);
    let fifth = packets * packet - (rt - packet) / 5;
    // bit / (100 bit/s) is 0.01 s: in us.
    let delay = |bits: i64| t + bits / (100 * r);
    let in_ms = |us: i64| (us + 5) / 10;
    let rates = (r + 500) / 1_000 == 118 && (r / 5 + 50) / 100 == 237 && (t + 5) / 10 == 46;
    rates && [full, fifth].map(printed) == [202, 232] && [full, fifth].map(|bits| in_ms(delay(bits))) == [186, 207]
}

#[test]
fn eight_packets_is_the_only_buffer_that_gives_both_printed_rows() {
    let solutions = |kilobyte: i64| {
        let mut found = BTreeSet::new();
        for packets in 1..=40 {
            // Steps of 500 bit/s and 1 us over what is printed as 11.8 Mbit/s and 0.46 ms.
            for r in (117_500..118_500).step_by(5) {
                found.extend((455..465).filter(|&t| agrees(packets, r, t, kilobyte)).map(|t| (packets, r, t)));
            }
        }
        found
    };
    let found = solutions(1024);
    let packets: BTreeSet<i64> = found.iter().map(|&(packets, ..)| packets).collect();
    assert_eq!(packets, BTreeSet::from([8]));
    let rates = found.iter().map(|&(_, r, _)| r);
    assert_eq!((rates.clone().min(), rates.max()), (Some(118_250), Some(118_495)));
    let times = found.iter().map(|&(.., t)| t);
    assert_eq!((times.clone().min(), times.max()), (Some(461), Some(464)));
    assert!(agrees(8, 118_375, 462, 1024), "the model's");
    assert!(solutions(1000).is_empty());
}

#[test]
fn more_rate_leaves_less_burst_and_a_shorter_delay() {
    let model = model();
    let shares = (1..=100)
        .map(|percent| AcceptedRate::Rate(Rate::from_bits_per_second(model.rate.bits_per_second() * percent / 100)));
    let all: Vec<Allocation> = shares.map(|share| Allocation::new(&model, share).unwrap()).collect();
    assert!(all.windows(2).all(|pair| pair[0].rate < pair[1].rate && pair[0].burst > pair[1].burst));
    assert!(all.windows(2).all(|pair| pair[0].delay > pair[1].delay));
    for Allocation { rate, burst, delay } in all {
        let backlog = |burst: Bytes| burst.bits() as i128 * 1_000_000_000 + (rate * model.latency).nanobits();
        let buffer = model.buffer.bits() as i128 * 1_000_000_000;
        assert!(backlog(burst) <= buffer && backlog(burst + Bytes::new(1)) > buffer);
        assert!(delay >= model.processing);
    }
}

#[test]
fn impossible_allocations_are_refused_with_a_reason() {
    let model = model();
    let asked = Rate::from_mbit(12);
    assert_eq!(
        Allocation::new(&model, AcceptedRate::Rate(asked)),
        Err(AllocationError::Rate { asked, most: model.rate })
    );
    assert!(Allocation::new(&model, AcceptedRate::Rate(Rate::ZERO)).is_err());
    let tiny = ServiceModel { buffer: Bytes::new(300), ..model };
    let error = Allocation::new(&tiny, AcceptedRate::FullRate).unwrap_err();
    assert!(matches!(error, AllocationError::Buffer { comes, .. } if comes == Bytes::new(378)), "{error}");
}

#[test]
fn the_worst_case_of_a_scenario_is_taken_per_dimension() {
    let whole = PacketScenario::whole();
    let table = table(&whole);
    let ServiceModel { rate, processing, buffer, largest_packet, .. } = ServiceModel::of(&table, &whole).unwrap();
    // The smallest packets carry the fewest bits through, the largest take longest, and 25 small ones fill the buffer.
    let worst = table.worst(&whole).unwrap();
    assert_eq!([worst.throughput.1.packet, worst.buffer.1.packet], [PACKETS[0], PACKETS[0]]);
    assert_eq!((worst.delay.1.packet, largest_packet, buffer), (PACKETS[6], PACKETS[6], Bytes::new(1600)));
    assert!(rate < model().rate && processing > model().processing);
    for case in whole.cases() {
        let one = table.get(&case).unwrap();
        assert!(one.throughput >= rate && one.delay <= processing);
    }
}

/// Three switches in a line, two hosts each, 100 Mbit/s.
fn network() -> Arc<Network> {
    let cabling = Cabling { rate: Rate::from_mbit(100), ..Cabling::default() };
    Arc::new(build::line(&Chain { switches: 3, hosts_per_switch: 2, cabling }).unwrap())
}

fn loko(share: AcceptedRate, counting: SwitchAccounting) -> Loko {
    Loko::new(network(), Params { model: model(), share, services: Services::PerSwitch, counting }).unwrap()
}

fn request(from: &str, to: &str, kbit: u64, burst: u64) -> Request {
    let network = network();
    let node = |name| -> NodeId { network.find_node(name).unwrap() };
    Request {
        from: node(from),
        to: node(to),
        rate: Rate::from_bits_per_second(kbit * 1000),
        burst: Bytes::new(burst),
        deadline: Time::from_millis(20),
        max_frame: None,
        route: None,
        protection: 1,
    }
}

#[test]
fn the_published_guarantee_is_the_sum_of_d_and_bursts_do_not_grow() {
    let mut loko = loko(AcceptedRate::FullRate, SwitchAccounting::Published);
    let delay = loko.allocation().delay;
    let decision = loko.admit(&request("h1", "h6", 100, 306)).unwrap();
    assert_eq!(decision.bound, delay * 3);
    assert_eq!(loko.in_use(decision.route.hops[3]).burst, Bytes::new(306).into());
    // 2.02 KiB hold six bursts of 306 B and no seventh.
    let admitted = (0..10).filter(|_| loko.admit(&request("h3", "h4", 100, 306)).is_ok()).count();
    assert_eq!(admitted, 5);
    let refusal = loko.admit(&request("h1", "h6", 100, 306)).unwrap_err();
    let Refusal::Allocation { switch, limit, .. } = &refusal else { panic!("{refusal:?}") };
    assert_eq!(network().node(*switch).name, "s2");
    assert_eq!(*limit, Allocated::Burst { asked: Bytes::new(306), left: Bytes::new(2070 - 6 * 306) });
    assert_eq!(refusal.reason(), RefusalCode::Buffer);
}

#[test]
fn the_sound_guarantee_counts_lines_and_the_growth_of_bursts() {
    let mut loko = loko(AcceptedRate::FullRate, SwitchAccounting::Sound);
    let decision = loko.admit(&request("h1", "h6", 1000, 306)).unwrap();
    let terms = loko.terms(decision.flow);
    // One line and three times service and line.
    assert_eq!(terms.len(), 7);
    assert!(decision.bound > loko.allocation().delay * 3);
    let bursts: Vec<i128> =
        decision.route.hops[1..].iter().map(|&hop| loko.in_use(hop).burst.bytes_rounded_up()).collect();
    // 1 Mbit/s for 0.166 ms are 21 B; for the 1.86 ms of a switch and a line of 24.5 us 236 B more.
    assert_eq!(bursts, [327, 563, 799]);
    let rate = loko.admit(&request("h3", "h4", 11_000, 306)).unwrap_err();
    assert!(matches!(rate, Refusal::Allocation { limit: Allocated::Rate { .. }, .. }), "{rate:?}");
    assert_eq!(rate.reason(), RefusalCode::Rate);
    let slow = Request { deadline: Time::from_millis(5), ..request("h1", "h6", 10, 306) };
    assert!(matches!(loko.admit(&slow), Err(Refusal::TooSlow { bound, .. }) if bound == decision.bound));
    let large = Request { max_frame: Some(Bytes::new(307)), ..request("h1", "h6", 10, 306) };
    assert_eq!(loko.admit(&large), Err(Refusal::PacketTooLarge { frame: Bytes::new(307), most: Bytes::new(306) }));
}

#[test]
fn a_burst_reaches_a_service_with_the_tokens_earned_in_the_jitter_before() {
    let shaky = network().with_nodes(|node| node.jitter = Time::from_micros(800)).unwrap();
    let params = *loko_of_network().params();
    let mut shaken = Loko::new(Arc::new(shaky), params).unwrap();
    let decision = shaken.admit(&request("h1", "h6", 1000, 306)).unwrap();
    // 327 B as without jitter, and 1 Mbit/s for the 0.8 ms of the host and of the switch.
    assert_eq!(shaken.in_use(decision.route.hops[1]).burst.bytes_rounded_up(), 327 + 100 + 100);
}

#[test]
fn release_and_refused_changes_leave_no_reservation() {
    let mut loko = loko(AcceptedRate::FifthRate, SwitchAccounting::Sound);
    let empty = loko.uses();
    let first = loko.admit(&request("h1", "h6", 100, 306)).unwrap();
    let second = loko.admit(&request("h2", "h5", 70, 300)).unwrap();
    let full = loko.uses();
    assert!(matches!(loko.change(second.flow, &request("h2", "h5", 3_000, 300)), Some(Err(_))));
    assert_eq!(loko.uses(), full);
    let third = loko.change(second.flow, &request("h2", "h5", 80, 300)).unwrap().unwrap();
    assert_eq!(loko.flows().len(), 2);
    assert!(loko.release(first.flow).is_some() && loko.release(third.flow).is_some());
    assert_eq!(loko.uses(), empty);
}

impl Loko {
    fn uses(&self) -> Vec<ServiceUsage> {
        self.uses_for_tests().to_vec()
    }
}

#[test]
fn with_a_service_per_port_each_service_is_used_by_its_port_alone() {
    let params = Params {
        model: model(),
        share: AcceptedRate::FullRate,
        services: Services::PerPort,
        counting: SwitchAccounting::Sound,
    };
    let mut loko = Loko::new(network(), params).unwrap();
    let through = loko.admit(&request("h1", "h6", 100, 306)).unwrap();
    let local = loko.admit(&request("h1", "h2", 100, 306)).unwrap();
    assert_eq!([through.route.hops[1], local.route.hops[1]].map(|hop| loko.in_use(hop).flows), [1, 1]);
    let mut shared = loko_of_network();
    let through = shared.admit(&request("h1", "h6", 100, 306)).unwrap();
    shared.admit(&request("h1", "h2", 100, 306)).unwrap();
    assert_eq!(shared.in_use(through.route.hops[1]).flows, 2);
}

fn loko_of_network() -> Loko {
    loko(AcceptedRate::FullRate, SwitchAccounting::Sound)
}

#[test]
fn a_line_slower_than_the_service_is_refused_at_construction() {
    let cabling = Cabling { rate: Rate::from_mbit(10), ..Cabling::default() };
    let slow = Arc::new(build::star(3, cabling).unwrap());
    let params = Params {
        model: model(),
        share: AcceptedRate::FullRate,
        services: Services::PerSwitch,
        counting: SwitchAccounting::Sound,
    };
    assert!(matches!(Loko::new(slow, params), Err(LokoError::SlowLine { .. })));
}
