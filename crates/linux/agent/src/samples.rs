//! Sampling of the packets that a host reports to the controller: some of those that it sends and of those that
//! arrive.

use std::collections::BTreeMap;

use wayleave_dataplane::clock::Clock;
use wayleave_dataplane::host::PacketSample;
use wayleave_protocol::agent::{self, Samples, SentPackets};
use wayleave_units::Time;

use crate::host_dataplane::NotedPackets;

/// Default maximum number of packets that a node reports per second: the controller of a thousand nodes receives
/// fifty thousand, and remembers each for ten seconds.
pub const FOLLOW: u32 = 50;
/// Divisor of the maximum: below `maximum / FEW` for `WHILE` seconds, twice as many packets are chosen. The threshold
/// is below half of the maximum, or the level would oscillate.
const FEW: u32 = 5;
/// Number of seconds before the sampling rate rises: traffic that pauses must not fill the buffer when it resumes.
const WHILE: u32 = 10;
/// The last bits of a packet's number that may choose.
const MAX_BITS: u32 = 31;

/// Number of bits by which packets are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SamplingShift {
    bits: u32,
    /// Seconds in a row in which there were few.
    few: u32,
}

impl SamplingShift {
    /// Returns the level after a second in which `count` packets were chosen, where at most `most` are reported.
    #[must_use]
    pub fn after(self, count: usize, most: u32) -> Self {
        let Self { bits, few } = self;
        let (many, least) = (most.max(1) as usize, (most / FEW).max(1) as usize);
        match count {
            count if count > many => Self { bits: (bits + 1 + (count / many).ilog2()).min(MAX_BITS), few: 0 },
            count if count >= least || bits == 0 => Self { bits, few: 0 },
            _ if few + 1 < WHILE => Self { bits, few: few + 1 },
            _ => Self { bits: bits - 1, few: 0 },
        }
    }

    /// Returns the number of bits.
    pub fn bits(self) -> u32 {
        self.bits
    }
}

/// State of a node's packet sampling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SamplingRule {
    level: SamplingShift,
    /// By the most bits by which any of those were chosen that are read next.
    bits: u32,
    /// Number of packets that could not be noted.
    missed: u64,
    /// Maximum number of packets reported per second.
    most: u32,
}

impl SamplingRule {
    /// Begins with 0 bits; `missed` packets could not be noted before. At most `most` are reported per second.
    pub fn since(missed: u64, most: u32) -> Self {
        Self { missed, most, ..Self::default() }
    }

    /// Processes the samples of the last second; `missed` is the total that could not be noted so far. Also returns
    /// the new number of bits, if it changes.
    pub fn next(&mut self, samples: Vec<PacketSample>, missed: u64) -> (NotedPackets, Option<u32>) {
        let is_incomplete = std::mem::replace(&mut self.missed, missed) != missed;
        let (before, after) = (self.level, self.level.after(samples.len(), self.most));
        self.level = after;
        // Packets between the reading and the change were chosen by the previous level.
        let level = std::mem::replace(&mut self.bits, before.bits().max(after.bits())).max(before.bits());
        (
            NotedPackets { samples, level, is_incomplete, most: self.most },
            (after.bits() != before.bits()).then_some(after.bits()),
        )
    }
}

/// Returns the report. `receiver` returns the host to which the packets of a contract go, and the nodes on their
/// route; contracts that it does not know are left out.
pub fn sample_report(
    number: u64,
    noted: NotedPackets,
    clock: &Clock,
    receiver: impl Fn(u64) -> Option<(String, Vec<String>)>,
) -> Samples {
    let NotedPackets { mut samples, mut level, is_incomplete, most } = noted;
    // Too many are no reason to forget any that are chosen: fewer are chosen afterwards.
    while samples.len() > most as usize && level < MAX_BITS {
        level += 1;
        samples.retain(|sample| sample.number & ((1 << level) - 1) == 0);
    }
    let mut sent: BTreeMap<(u64, Time), Vec<(u64, u64)>> = BTreeMap::new();
    let mut arrived = Vec::new();
    for PacketSample { number, at, sent: what } in samples {
        match what {
            Some(what) => sent.entry((what.serial, what.bound)).or_default().push((number, at.as_nanos())),
            None => arrived.push((number, at.as_nanos())),
        }
    }
    let sent = sent.into_iter().filter_map(|((serial, bound), packets)| {
        let (to, via) = receiver(serial)?;
        Some(SentPackets { serial, to, via, bound_ns: bound.as_nanos(), packets })
    });
    let clock = agent::Clock {
        boot: clock.boot.clone(),
        ahead_ns: clock.ahead.as_nanos(),
        error_ns: clock.error.map(Time::as_nanos),
    };
    Samples { number, level, is_incomplete, clock, sent: sent.collect(), arrived }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_dataplane::host::Sent;

    #[test]
    fn the_sampling_rate_falls_with_load_and_settles() {
        let mut level = SamplingShift::default();
        // 8,000 packets a second, of which each bit chooses half.
        level = level.after(8_000, FOLLOW);
        let bits = level.bits();
        assert!((10..=50).contains(&(8_000 >> bits)), "{level:?} at once");
        for _ in 0..100 {
            level = level.after(8_000 >> level.bits(), FOLLOW);
        }
        assert_eq!(level.bits(), bits);
        let seconds = (0..).take_while(|_| {
            level = level.after(0, FOLLOW);
            level.bits() > 0
        });
        assert_eq!(seconds.count(), (WHILE * bits) as usize - 1, "a pause does not undo it");
    }

    #[test]
    fn a_report_states_the_highest_sampling_level_of_its_packets() {
        let at = |number| PacketSample { number, at: Time::ZERO, sent: None };
        let many = || vec![at(4); FOLLOW as usize + 1];
        let mut choice = SamplingRule::since(3, FOLLOW);
        let (noted, level) = choice.next(many(), 3);
        assert_eq!((noted.level, noted.is_incomplete, level), (0, false, Some(1)));
        let (noted, level) = choice.next(many(), 4);
        assert_eq!((noted.level, noted.is_incomplete, level), (1, true, Some(2)), "one could not be noted");
        for second in 1..=WHILE {
            let (noted, level) = choice.next(Vec::new(), 4);
            assert_eq!((noted.level, noted.is_incomplete, level), (2, false, (second == WHILE).then_some(1)));
        }
        assert_eq!(choice.next(Vec::new(), 4).0.level, 2, "the first of them were chosen by two bits still");
        assert_eq!(choice.next(Vec::new(), 4).0.level, 1);
    }

    #[test]
    fn samples_are_reported_by_contract_and_sampling_is_reduced_under_load() {
        let at = Time::from_micros;
        let sample = |number, serial: u64| {
            let bound = Time::from_millis(serial);
            PacketSample { number, at: at(number), sent: (serial > 0).then_some(Sent { serial, bound }) }
        };
        let clock = Clock { boot: "a".to_owned(), ahead: at(9), error: None };
        let receiver = |serial: u64| (serial != 3).then(|| (format!("h{serial}"), vec!["s1".to_owned()]));
        let noted = |samples| NotedPackets { samples, level: 2, is_incomplete: false, most: FOLLOW };
        let samples = vec![sample(4, 1), sample(8, 0), sample(12, 2), sample(16, 1), sample(20, 3)];
        let all = sample_report(7, noted(samples), &clock, receiver);
        assert_eq!((all.number, all.level, all.is_incomplete, all.clock.ahead_ns), (7, 2, false, 9_000));
        assert_eq!(all.arrived, [(8, 8_000)]);
        let sent: Vec<_> = all.sent.iter().map(|one| (one.serial, one.to.as_str(), one.packets.len())).collect();
        assert_eq!(sent, [(1, "h1", 2), (2, "h2", 1)], "where 3 goes is not known");
        let many = (0..8 * FOLLOW as usize as u64).map(|number| sample(4 * number, 0)).collect();
        let many = sample_report(8, noted(many), &clock, receiver);
        assert_eq!(
            (many.level, many.arrived.len(), many.is_incomplete),
            (5, FOLLOW as usize, false),
            "of four hundred each eighth"
        );
        assert!(many.arrived.iter().all(|(number, _)| number % 32 == 0));
    }
}
