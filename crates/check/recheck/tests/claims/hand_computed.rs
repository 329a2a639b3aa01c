//! Cases with their arithmetic beside them: t in ns, data in bits, so that 1 Gbit/s is a slope of 1 and a frame of
//! 1500 B is 12000 bits.

use num_rational::BigRational;
use wayleave_contracts::WireOverhead;
use wayleave_recheck::{BrokenPromise, JitterTerm, PacketiserTerm, check};
use wayleave_units::{Bytes, Rate, Time};

use crate::build::{Sender, Star, claim, down, sender, uplink};

fn exactly(numerator: u64, denominator: u64) -> Option<BigRational> {
    Some(BigRational::new(numerator.into(), denominator.into()))
}

/// One flow on one uplink: 3000 B and 100 Mbit/s.
fn lone() -> [Sender; 1] {
    [sender(0, 0, 100, 3000)]
}

#[test]
fn one_queue_delays_by_the_blocking_frame_and_the_burst() {
    let network = Star::gigabit(1).build();
    let claim = claim(&network, &lone());
    let report = check(&claim);
    let found = report.queue(uplink(&network, 0), 0).unwrap();
    // beta = t - 12000 reaches the burst of 24000 at t = 36000; alpha - beta is highest where beta begins, at
    // t = 12000: 24000 + 0.1 * 12000 = 25200 bits = 3150 B.
    assert_eq!(found.delay_ns, exactly(36_000, 1));
    assert_eq!(found.backlog_bytes, exactly(3_150, 1));
    assert_eq!(found.flows, 1);
}

#[test]
fn a_packetiser_costs_one_more_frame() {
    let network = Star::gigabit(1).build();
    let mut claim = claim(&network, &lone());
    claim.packetiser = PacketiserTerm::Subtracted;
    let report = check(&claim);
    let found = report.queue(uplink(&network, 0), 0).unwrap();
    // beta = t - 24000: 24000 + 24000; 24000 + 0.1 * 24000 = 26400 bits.
    assert_eq!(found.delay_ns, exactly(48_000, 1));
    assert_eq!(found.backlog_bytes, exactly(3_300, 1));
}

#[test]
fn a_lower_priority_waits_for_the_burst_and_the_rate_above() {
    let network = Star::gigabit(1).build();
    let high = sender(0, 0, 200, 1500);
    let low = Sender { uplink_queue: 1, ..sender(0, 0, 100, 3000) };
    let report = check(&claim(&network, &[low, high]));
    let found = |queue| report.queue(uplink(&network, 0), queue).unwrap();
    assert_eq!(found(0).delay_ns, exactly(24_000, 1));
    // beta_1 = t - (12000 + 0.2 t) - 12000 = 0.8 t - 24000, positive from 30000 on; it reaches 24000 at 60000.
    // Backlog at 30000: 24000 + 0.1 * 30000 = 27000 bits = 3375 B.
    assert_eq!(found(1).delay_ns, exactly(60_000, 1));
    assert_eq!(found(1).backlog_bytes, exactly(3_375, 1));
}

/// 5000 B and 80 Mbit/s; behind an uplink's budget of 100 us the burst is 5000 B + 1000 B = 48000 bits.
fn shaped(host: usize, queue: u8) -> Sender {
    sender(host, queue, 80, 5000)
}

#[test]
fn one_shaped_input_of_equal_rate_costs_two_frames() {
    let network = Star::gigabit(1).build();
    let mut claim = claim(&network, &[shaped(0, 0)]);
    let report = check(&claim);
    // alpha = min(12000 + t, 48000 + 0.08 t) and beta = t - 12000 rise side by side: delay 24000, backlog 24000 bits.
    assert_eq!(down(&claim, &report, 0).delay_ns, exactly(24_000, 1));
    assert_eq!(down(&claim, &report, 0).backlog_bytes, exactly(3_000, 1));
    // Without shaping: 48000 + 12000; 48000 + 0.08 * 12000 = 48960 bits.
    claim.shaping = false;
    let report = check(&claim);
    assert_eq!(down(&claim, &report, 0).delay_ns, exactly(60_000, 1));
    assert_eq!(down(&claim, &report, 0).backlog_bytes, exactly(6_120, 1));
}

#[test]
fn two_shaped_inputs_are_worst_at_their_knee() {
    let network = Star::gigabit(2).build();
    let claim = claim(&network, &[shaped(0, 0), shaped(1, 0)]);
    let report = check(&claim);
    // The knee: 12000 + t = 48000 + 0.08 t at t = 36000 / 0.92 = 900000/23. Until then alpha = 24000 + 2 t, so that
    // delay = backlog = 24000 + 2 t + 12000 - t = 36000 + 900000/23 = 1728000/23; in bytes an eighth of this.
    assert_eq!(down(&claim, &report, 0).delay_ns, exactly(1_728_000, 23));
    assert_eq!(down(&claim, &report, 0).backlog_bytes, exactly(216_000, 23));
}

#[test]
fn two_flows_of_one_input_share_its_cap() {
    let network = Star::gigabit(1).build();
    let claim = claim(&network, &[shaped(0, 0), shaped(0, 0)]);
    let report = check(&claim);
    assert_eq!(down(&claim, &report, 0).delay_ns, exactly(24_000, 1));
}

#[test]
fn a_slow_link_barely_loads_a_fast_one() {
    let network = Star::new(&[Rate::from_mbit(100)], Rate::from_gbit(1)).build();
    let claim = claim(&network, &[shaped(0, 0)]);
    let report = check(&claim);
    // alpha = 12000 + 0.1 t: worst at once, 12000 + 12000; backlog at t = 12000: 12000 + 1200 = 13200 bits.
    assert_eq!(down(&claim, &report, 0).delay_ns, exactly(24_000, 1));
    assert_eq!(down(&claim, &report, 0).backlog_bytes, exactly(1_650, 1));
}

#[test]
fn a_fast_link_delivers_the_burst_to_a_slow_one_almost_at_once() {
    let network = Star::new(&[Rate::from_gbit(10)], Rate::from_gbit(1)).build();
    let claim = claim(&network, &[shaped(0, 0)]);
    let report = check(&claim);
    // The knee: 12000 + 10 t = 48000 + 0.08 t at t = 36000 / 9.92 = 112500/31. There the delay is
    // 12000 + 10 t + 12000 - t = 24000 + 1012500/31 = 1756500/31. Backlog at t = 12000: 48000 + 960 bits.
    assert_eq!(down(&claim, &report, 0).delay_ns, exactly(1_756_500, 31));
    assert_eq!(down(&claim, &report, 0).backlog_bytes, exactly(6_120, 1));
}

#[test]
fn the_cap_is_the_largest_frame_of_the_input_and_blocking_that_of_the_output() {
    let network = Star::gigabit(1).build();
    let mut claim = claim(&network, &[shaped(0, 0)]);
    claim.max_frame[uplink(&network, 0).index()] = Bytes::new(500);
    let report = check(&claim);
    // 4000 + 12000.
    assert_eq!(down(&claim, &report, 0).delay_ns, exactly(16_000, 1));
}

#[test]
fn shaping_above_delays_the_service_below_by_the_whole_burst() {
    let network = Star::gigabit(3).build();
    // The third sends 500 B + 1000 B = 12000 bits, which its cap does not touch.
    let claim = claim(&network, &[shaped(0, 0), shaped(1, 0), sender(2, 1, 80, 500)]);
    let report = check(&claim);
    // Until the knee t - 12000 - 2 (12000 + t) stays below zero; then t - 12000 - 2 (48000 + 0.08 t)
    // = 0.84 t - 108000, which reaches 12000 at 120000 / 0.84 = 1000000/7.
    assert_eq!(down(&claim, &report, 1).delay_ns, exactly(1_000_000, 7));
}

#[test]
fn a_service_of_two_slopes_is_followed_past_its_knee() {
    let network = Star::new(&[Rate::from_mbit(100), Rate::from_gbit(10)], Rate::from_gbit(1)).build();
    // At the downlink: 5750 B + 20 Mbit/s * 100 us = 48000 bits, and 58750 B + 100 Mbit/s * 100 us = 480000 bits.
    let claim = claim(&network, &[sender(0, 0, 20, 5750), sender(1, 1, 100, 58_750)]);
    let report = check(&claim);
    // alpha_0 = min(12000 + 0.1 t, 48000 + 0.02 t), knee at 450000. beta_1 = 0.9 t - 24000 up to 381000 there, then
    // slope 0.98. alpha_1 = min(12000 + 10 t, 480000 + 0.1 t), knee at 468000 / 9.9 = 520000/11, where it is
    // 5332000/11. Served at 450000 + (5332000/11 - 381000) / 0.98 = 450000 + 57050000/539; less 520000/11 that is
    // 3560000/7.
    assert_eq!(down(&claim, &report, 1).delay_ns, exactly(3_560_000, 7));
}

#[test]
fn jitter_of_the_node_before_a_link_is_added_to_its_delay() {
    let us = Time::from_micros;
    let star = Star { host: (Time::ZERO, us(5)), switch: (Time::ZERO, us(7)), ..Star::gigabit(1) };
    let network = star.build();
    let claim = claim(&network, &[shaped(0, 0)]);
    let report = check(&claim);
    // 40000 + 12000 + 5000; and 24000 + 7000 as for one shaped input.
    assert_eq!(report.queue(uplink(&network, 0), 0).unwrap().delay_ns, exactly(57_000, 1));
    assert_eq!(down(&claim, &report, 0).delay_ns, exactly(31_000, 1));
}

#[test]
fn jitter_in_any_order_adds_the_delay_of_packets_that_arrived_later() {
    let us = Time::from_micros;
    let star = Star { switch: (Time::ZERO, us(7)), ..Star::gigabit(2) };
    let network = star.build();
    let mut claim = claim(&network, &[sender(0, 0, 100, 3000), sender(1, 0, 100, 3000)]);
    claim.jitter = JitterTerm::Any;
    let report = check(&claim);
    // Each line brings 12000 + t up to 22000 / 0.9 = 24444.4 ns, where its bucket of 34000 bits takes over. Beyond 7000 ns the
    // delay is largest at that knee: 12000 + 7000 + 68000 + 0.2 * 220000 / 9 - 220000 / 9, and 7000 more.
    assert_eq!(down(&claim, &report, 0).delay_ns, exactly(94_000 * 9 - 176_000, 9));
    // With jitter beyond the knee: 12000 + 30000 + 68000 + 0.2 * 30000 - 30000, and 30000 more.
    let late = Star { switch: (Time::ZERO, us(30)), ..star }.build();
    claim.network = &late;
    let report = check(&claim);
    assert_eq!(down(&claim, &report, 0).delay_ns, exactly(116_000, 1));
}

#[test]
fn a_fully_reserved_link_is_stable_and_one_more_bit_is_not() {
    let network = Star::gigabit(1).build();
    let mut low = Sender { uplink_queue: 1, ..sender(0, 0, 400, 1500) };
    let full = check(&claim(&network, &[sender(0, 0, 600, 1500), low]));
    // 0.4 t - 24000 reaches 12000 at 90000.
    let found = full.queue(uplink(&network, 0), 1).unwrap();
    assert_eq!(found.delay_ns, exactly(90_000, 1));
    assert!(full.is_sound(), "{full}");

    low.rate = Rate::from_bits_per_second(400_000_001);
    let over = check(&claim(&network, &[sender(0, 0, 600, 1500), low]));
    let found = over.queue(uplink(&network, 0), 1).unwrap();
    assert_eq!((&found.delay_ns, &found.backlog_bytes), (&None, &None));
    assert!(over.violations.iter().any(|found| matches!(found, BrokenPromise::LinkRate { .. })));
}

#[test]
fn a_queue_without_residual_service_has_no_bound_even_for_a_burst() {
    let network = Star::gigabit(1).build();
    let low = Sender { uplink_queue: 1, rate: Rate::ZERO, ..sender(0, 0, 0, 100) };
    let report = check(&claim(&network, &[sender(0, 0, 1000, 1500), low]));
    let found = report.queue(uplink(&network, 0), 1).unwrap();
    assert_eq!(found.delay_ns, None);
    // Its 100 B stay where they are.
    assert_eq!(found.backlog_bytes, exactly(100, 1));
}

#[test]
fn a_rate_without_a_burst_still_waits_for_the_blocking_frame() {
    let network = Star::gigabit(1).build();
    let report = check(&claim(&network, &[sender(0, 0, 100, 0)]));
    // alpha = 0.1 t: the bit that comes right after t = 0 is served from 12000 on.
    assert_eq!(report.queue(uplink(&network, 0), 0).unwrap().delay_ns, exactly(12_000, 1));
}

#[test]
fn a_jumbo_frame_blocks_for_its_whole_length() {
    let network = Star::gigabit(1).build();
    let mut claim = claim(&network, &[sender(0, 0, 1, 1562)]);
    let jumbo = WireOverhead::Counted { tags: 6 }.largest_frame(Bytes::new(9000));
    claim.max_frame[uplink(&network, 0).index()] = jumbo;
    let report = check(&claim);
    // 9062 B + 1562 B.
    assert_eq!(report.queue(uplink(&network, 0), 0).unwrap().delay_ns, exactly(84_992, 1));
}

#[test]
fn the_bound_of_a_flow_is_its_budgets_and_each_constant_once() {
    let us = Time::from_micros;
    let star = Star {
        host: (us(3), us(50)),
        switch: (us(7), us(50)),
        sink: (us(40), us(50)),
        propagation: us(2),
        ..Star::gigabit(1)
    };
    let network = star.build();
    let report = check(&claim(&network, &lone()));
    let found = &report.flows[0];
    // The uplink's 100 us and the downlink's 5 ms; two links; the source host and the switch, not the destination.
    // Jitter is inside the queues.
    assert_eq!((found.queueing_ns, found.propagation_ns, found.processing_ns), (5_100_000, 4_000, 10_000));
    assert_eq!(found.bound_ns(), 5_114_000);
}
