//! Which packets a host tells the controller of: some of those that it sends and of those that arrive.

use std::collections::BTreeMap;

use wayleave_dataplane::clock::Clock;
use wayleave_dataplane::host::Sample;
use wayleave_protocol::agent::{self, Samples, SentPackets};
use wayleave_units::Time;

use crate::plane::Noted;

/// So many packets a second a host tells of; beyond, half as many are chosen. A report of as many is some 20 kB.
const MANY: usize = 500;
/// With fewer, twice as many are chosen. Less than half of the other, or it would go to and fro.
const FEW: usize = 100;
/// So many are told at most.
const MOST: usize = 2 * MANY;
/// The last bits of a packet's number that may choose.
const MOST_BITS: u32 = 31;

/// By how many bits packets are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level(u32);

impl Level {
    /// What to choose by after a second in which so many were chosen.
    #[must_use]
    pub fn after(self, count: usize) -> Self {
        match count {
            count if count > MANY => Self((self.0 + 1).min(MOST_BITS)),
            count if count < FEW => Self(self.0.saturating_sub(1)),
            _ => self,
        }
    }

    /// How many bits.
    pub fn bits(self) -> u32 {
        self.0
    }
}

/// How a node chooses the packets that it notes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    level: Level,
    /// By the most bits by which any of those were chosen that are read next.
    bits: u32,
    /// How many could not be noted.
    missed: u64,
}

impl Choice {
    /// From now on, by no bits; so many could not be noted before.
    pub fn since(missed: u64) -> Self {
        Self { missed, ..Self::default() }
    }

    /// These were noted in the last second, and so many could not be so far. Also how many bits choose from now on, if that changes.
    pub fn next(&mut self, samples: Vec<Sample>, missed: u64) -> (Noted, Option<u32>) {
        let is_incomplete = std::mem::replace(&mut self.missed, missed) != missed;
        let (before, after) = (self.level, self.level.after(samples.len()));
        self.level = after;
        // What came between the reading and the change was chosen as before.
        let level = std::mem::replace(&mut self.bits, before.bits().max(after.bits())).max(before.bits());
        (Noted { samples, level, is_incomplete }, (after != before).then_some(after.bits()))
    }
}

/// What is told. `receiver` names the host to which the packets of a contract go, and the nodes on their way; of what it does not know nothing is told.
pub fn told(
    number: u64,
    noted: Noted,
    clock: &Clock,
    receiver: impl Fn(u64) -> Option<(String, Vec<String>)>,
) -> Samples {
    let Noted { mut samples, level, is_incomplete } = noted;
    let is_incomplete = is_incomplete || samples.len() > MOST;
    samples.truncate(MOST);
    let mut sent: BTreeMap<(u64, Time), Vec<(u64, u64)>> = BTreeMap::new();
    let mut arrived = Vec::new();
    for Sample { number, at, sent: what } in samples {
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
    fn fewer_packets_are_chosen_while_there_are_many_and_it_settles() {
        let mut level = Level::default();
        // 8,000 packets a second, of which each bit chooses half.
        for _ in 0..20 {
            level = level.after(8_000 >> level.bits());
        }
        assert_eq!(level, Level(4));
        assert_eq!(level.after(8_000 >> 4), level);
        for _ in 0..20 {
            level = level.after(0);
        }
        assert_eq!(level, Level(0));
    }

    #[test]
    fn a_report_says_the_most_bits_by_which_its_packets_were_chosen() {
        let at = |number| Sample { number, at: Time::ZERO, sent: None };
        let many = || vec![at(4); MANY + 1];
        let mut choice = Choice::since(3);
        let (noted, level) = choice.next(many(), 3);
        assert_eq!((noted.level, noted.is_incomplete, level), (0, false, Some(1)));
        let (noted, level) = choice.next(many(), 3);
        assert_eq!((noted.level, level), (1, Some(2)), "nearly all of them by one bit");
        let (noted, level) = choice.next(Vec::new(), 4);
        assert_eq!((noted.level, noted.is_incomplete, level), (2, true, Some(1)), "one could not be noted");
        let (noted, _) = choice.next(Vec::new(), 4);
        assert_eq!((noted.level, noted.is_incomplete), (2, false), "the first of them by two bits still");
        assert_eq!(choice.next(Vec::new(), 4).0.level, 1);
    }

    #[test]
    fn packets_are_told_by_contract_and_too_many_make_a_report_incomplete() {
        let at = Time::from_micros;
        let sample = |number, serial: u64| {
            let bound = Time::from_millis(serial);
            Sample { number, at: at(number), sent: (serial > 0).then_some(Sent { serial, bound }) }
        };
        let clock = Clock { boot: "a".to_owned(), ahead: at(9), error: None };
        let receiver = |serial: u64| (serial != 3).then(|| (format!("h{serial}"), vec!["s1".to_owned()]));
        let noted = |samples| Noted { samples, level: 2, is_incomplete: false };
        let samples = vec![sample(4, 1), sample(8, 0), sample(12, 2), sample(16, 1), sample(20, 3)];
        let all = told(7, noted(samples), &clock, receiver);
        assert_eq!((all.number, all.level, all.is_incomplete, all.clock.ahead_ns), (7, 2, false, 9_000));
        assert_eq!(all.arrived, [(8, 8_000)]);
        let sent: Vec<_> = all.sent.iter().map(|one| (one.serial, one.to.as_str(), one.packets.len())).collect();
        assert_eq!(sent, [(1, "h1", 2), (2, "h2", 1)], "where 3 goes is not known");
        let many = told(8, noted(vec![sample(4, 0); MOST + 1]), &clock, receiver);
        assert_eq!((many.arrived.len(), many.is_incomplete), (MOST, true));
    }
}
