//! Figures of a switch from the times of probes. Pure.

use wayleave_units::{Bytes, Rate, Time};

use crate::traffic::ProbeResult;

/// A burst of packets, from when the switch was idle: all that were sent, in their order.
pub(super) type Burst = [ProbeResult];

/// Returns the longest delay.
pub(super) fn slowest(burst: &Burst) -> Option<Time> {
    let delays = burst.iter().filter_map(|one| Some(one.received?.saturating_sub(one.sent)));
    delays.max().map(Time::from_nanos)
}

/// Returns the rate at which packets leave while others wait: from the first arrival to the last, rounded down.
/// `None` below three packets.
pub(super) fn rate(received: &[u64], packet: Bytes) -> Option<Rate> {
    let (first, last) = (received.first()?, received.last()?);
    let nanos = u128::from(last.checked_sub(*first).filter(|&nanos| nanos > 0)?);
    let bits = u128::from(packet.bits()) * (received.len() as u128 - 1);
    (received.len() > 2)
        .then(|| Rate::from_bits_per_second(u64::try_from(bits * 1_000_000_000 / nanos).unwrap_or(u64::MAX)))
}

/// The same of the whole, of its first half, and of its second one, whichever is least: what a switch sends at first, as with a bucket that was full, lasts no longer.
pub(super) fn lasting(received: &[u64], packet: Bytes) -> Option<Rate> {
    let (first, second) = received.split_at(received.len() / 2);
    [received, first, second].into_iter().filter_map(|part| rate(part, packet)).min()
}

/// The least T for which all packets have left as early as a service of this rate behind a delay of T would have sent them, counted from the first one's start: with R and T the
/// service curve lies below everything that was seen. `received` in order, from several ports if they were loaded at once.
pub(super) fn lag(begin: u64, received: &[u64], packet: Bytes, rate: Rate) -> Time {
    let own = |number: usize| {
        let bits = u128::from(packet.bits()) * (number as u128 + 1);
        u64::try_from(bits * 1_000_000_000 / u128::from(rate.bits_per_second().max(1))).unwrap_or(u64::MAX)
    };
    let lag = |(number, &at): (usize, &u64)| at.saturating_sub(begin).saturating_sub(own(number));
    Time::from_nanos(received.iter().enumerate().map(lag).max().unwrap_or(0))
}

/// Returns the minimum number of packets of a lossless burst that were in the switch at once: all, without those that
/// had left when the last one arrived there. It arrives when the sender's line has carried all; `transit` is the
/// minimum delay through an idle switch.
pub(super) fn held(burst: &Burst, packet: Bytes, line: Rate, transit: Time) -> usize {
    let (Some(first), Some(last)) = (burst.first(), burst.last()) else { return 0 };
    let bits = u128::from(packet.bits()) * burst.len() as u128;
    let carried = u64::try_from(bits * 1_000_000_000 / u128::from(line.bits_per_second().max(1))).unwrap_or(u64::MAX);
    let there = last.sent.max(first.sent.saturating_add(carried)).saturating_add(transit.as_nanos());
    burst.iter().filter(|one| one.received.is_none_or(|at| at > there)).count()
}

/// Returns the times of arrival, in order.
pub(super) fn arrivals<'a>(bursts: impl IntoIterator<Item = &'a Vec<ProbeResult>>) -> Vec<u64> {
    let mut all: Vec<u64> = bursts.into_iter().flatten().filter_map(|one| one.received).collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Bytes = Bytes::new(1250);
    const MILLI: u64 = 1_000_000;

    fn burst(times: &[(u64, u64)]) -> Vec<ProbeResult> {
        times.iter().map(|&(sent, received)| ProbeResult { sent, received: Some(received) }).collect()
    }

    /// 10 Mbit/s serve a packet in 1 ms, behind a delay of 0.3 ms, and a pause of 2 ms before the third.
    fn paused() -> Vec<u64> {
        [13, 23, 53, 63, 73].map(|tenths| tenths * MILLI / 10).to_vec()
    }

    #[test]
    fn a_rate_is_measured_from_back_to_back_packets() {
        assert_eq!(rate(&[MILLI, 2 * MILLI, 3 * MILLI], PACKET), Some(Rate::from_bits_per_second(10_000_000)));
        assert_eq!(rate(&[MILLI, 2 * MILLI], PACKET), None);
        assert_eq!(rate(&[MILLI; 3], PACKET), None);
    }

    #[test]
    fn an_initial_burst_does_not_count_as_the_sustained_rate() {
        let first: Vec<u64> = (0..10).map(|number| number * MILLI / 2).collect();
        let then = (1..=10).map(|number| 9 * MILLI / 2 + number * MILLI);
        let seen: Vec<u64> = first.iter().copied().chain(then).collect();
        assert!(rate(&seen, PACKET).unwrap() > Rate::from_bits_per_second(13_000_000));
        assert_eq!(lasting(&seen, PACKET), Some(Rate::from_bits_per_second(10_000_000)));
    }

    #[test]
    fn a_service_curve_is_below_all_observations_and_touches_one() {
        let rate = Rate::from_bits_per_second(10_000_000);
        let seen = paused();
        let lag = lag(0, &seen, PACKET, rate);
        assert_eq!(lag, Time::from_nanos(2_300_000));
        // R (t - T), as the bits that have left by then.
        let service = |at: u64| at.saturating_sub(lag.as_nanos()) / 100;
        let left = |number: usize| (number as u64 + 1) * PACKET.bits();
        assert!(seen.iter().enumerate().all(|(number, &at)| service(at) <= left(number)));
        assert!(seen.iter().enumerate().any(|(number, &at)| service(at) == left(number)));
    }

    #[test]
    fn packets_that_left_before_the_last_arrival_are_not_held() {
        // Four packets take 0.4 ms on a line of 100 Mbit/s.
        let line = Rate::from_bits_per_second(100_000_000);
        let seen = burst(&[(0, MILLI / 10), (1, MILLI), (2, 2 * MILLI), (3, 3 * MILLI)]);
        assert_eq!(held(&seen, PACKET, line, Time::ZERO), 3);
        // The line carries them in time, and the last was sent late.
        let late = burst(&[(0, MILLI / 10), (1, MILLI), (2, 2 * MILLI), (3 * MILLI / 2, 3 * MILLI)]);
        assert_eq!(held(&late, PACKET, line, Time::ZERO), 2);
        assert_eq!(held(&late, PACKET, line, Time::from_millis(1)), 1);
    }

    #[test]
    fn arrivals_of_several_ports_are_in_order_and_exclude_lost_packets() {
        let mut one = burst(&[(0, 5), (1, 9)]);
        one.push(ProbeResult { sent: 2, received: None });
        assert_eq!(arrivals(&[one.clone(), burst(&[(0, 7)])]), [5, 7, 9]);
        assert_eq!(slowest(&one), Some(Time::from_nanos(8)));
    }
}
