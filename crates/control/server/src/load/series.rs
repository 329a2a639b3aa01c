//! Histories in memory: an hour in points of ten seconds for each link, each tenant, and the contracts that send most.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use wayleave_topology::LinkId;

use super::point::Point;

/// Seconds of a point in memory.
pub(crate) const SLOT_S: u64 = 10;
/// Points of a series in memory: an hour.
pub(crate) const SLOTS: usize = 360;
/// Seconds of a point on disk.
pub(crate) const MINUTE_S: u64 = 60;
/// Points of a minute.
pub(crate) const SLOTS_OF_MINUTE: u64 = 6;
/// Maximum number of contracts with a history: those that send most.
pub(crate) const MAX_CONTRACTS: usize = 1_000;

/// Owner of a history.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SeriesKey {
    Link(LinkId),
    /// Name, and the serial number up to which contracts are of an earlier tenant with this name.
    Tenant(String, u64),
    /// Serial number, which no other contract ever has.
    Contract(u64),
}

/// Points of one owner up to the last slot.
#[derive(Debug, Default)]
struct Series {
    points: VecDeque<Point>,
    /// Last slot in which something was known.
    known: u64,
    /// Recent rate, which decays: contracts with the lowest are replaced first.
    score: u64,
}

/// All histories in memory. Times are slots of [`SLOT_S`] since 1970.
#[derive(Debug, Default)]
pub(crate) struct Histories {
    /// The last slot; `None` before the first.
    last: Option<u64>,
    series: BTreeMap<SeriesKey, Series>,
    contracts: usize,
}

impl Histories {
    /// Returns the last slot.
    pub(crate) fn last(&self) -> Option<u64> {
        self.last
    }

    /// Appends the points of a slot. Owners without a point, and slots between the last one and this one, are unknown.
    /// A slot that is not after the last one is ignored: the clock went back.
    pub(crate) fn push(&mut self, slot: u64, points: Vec<(SeriesKey, Point)>) {
        let skipped = match self.last {
            Some(last) if slot <= last => return,
            Some(last) => slot - last - 1,
            None => 0,
        };
        self.last = Some(slot);
        let unknown = usize::try_from(skipped).unwrap_or(SLOTS).min(SLOTS) + 1;
        for series in self.series.values_mut() {
            series.points.extend(std::iter::repeat_n(Point::UNKNOWN, unknown));
            series.score -= series.score / 64;
        }
        let mut new_contracts = Vec::new();
        for (key, point) in points {
            match self.series.get_mut(&key) {
                Some(series) => series.set(slot, point),
                None if matches!(key, SeriesKey::Contract(_)) => {
                    if point.mean().is_some_and(|mean| mean > 0) {
                        new_contracts.push((key, point));
                    }
                }
                None => self.insert(slot, key, point),
            }
        }
        self.insert_contracts(slot, new_contracts);
        self.series.retain(|_, series| {
            series.points.drain(..series.points.len().saturating_sub(SLOTS));
            slot - series.known < SLOTS as u64
        });
        self.contracts = self.series.keys().filter(|key| matches!(key, SeriesKey::Contract(_))).count();
    }

    fn insert(&mut self, slot: u64, key: SeriesKey, point: Point) {
        let mut series = Series { points: VecDeque::from([Point::UNKNOWN]), known: slot, score: 0 };
        series.set(slot, point);
        self.series.insert(key, series);
    }

    /// Adds contracts, in place of those with lower rates where there is no room.
    fn insert_contracts(&mut self, slot: u64, mut new: Vec<(SeriesKey, Point)>) {
        new.sort_by_key(|(key, point)| (Reverse(point.mean()), key.clone()));
        let mut room = MAX_CONTRACTS.saturating_sub(self.contracts);
        let mut kept: Vec<(u64, SeriesKey)> = if new.len() > room {
            let contracts = self.series.iter().filter(|(key, _)| matches!(key, SeriesKey::Contract(_)));
            contracts.map(|(key, series)| (series.score, key.clone())).collect()
        } else {
            Vec::new()
        };
        kept.sort_by(|one, other| other.cmp(one));
        for (key, point) in new {
            if room > 0 {
                room -= 1;
            } else {
                // Twice the rate, so that contracts of nearly equal rates do not replace each other again and again.
                let Some((score, lowest)) = kept.pop() else { return };
                if point.mean().unwrap_or(0) / 2 < score.max(1) {
                    return;
                }
                self.series.remove(&lowest);
            }
            self.insert(slot, key, point);
        }
    }

    /// Returns the owners of histories.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &SeriesKey> {
        self.series.keys()
    }

    /// Returns the first slot of a history.
    pub(crate) fn first(&self, key: &SeriesKey) -> Option<u64> {
        let length = self.series.get(key)?.points.len() as u64;
        Some((self.last? + 1).saturating_sub(length))
    }

    /// Returns the first slot of a history in which something was measured.
    pub(crate) fn first_known(&self, key: &SeriesKey) -> Option<u64> {
        let known = self.series.get(key)?.points.iter().position(|point| point.mean().is_some())?;
        Some(self.first(key)? + known as u64)
    }

    /// Returns the load of a slot.
    pub(crate) fn slot(&self, key: &SeriesKey, slot: u64) -> Point {
        let at = || self.series.get(key)?.at(self.last?, slot);
        at().unwrap_or(Point::UNKNOWN)
    }

    /// Returns the load of a minute since 1970.
    pub(crate) fn minute(&self, key: &SeriesKey, minute: u64) -> Point {
        let (Some(last), Some(series)) = (self.last, self.series.get(key)) else { return Point::UNKNOWN };
        let first = minute.saturating_mul(SLOTS_OF_MINUTE);
        let slot = |at: u64| series.at(last, first + at).unwrap_or(Point::UNKNOWN);
        let points: [Point; SLOTS_OF_MINUTE as usize] = std::array::from_fn(|at| slot(at as u64));
        Point::of_all(&points)
    }
}

impl Series {
    /// Returns the point of a slot, if it is known; `last` is the slot of the last point.
    fn at(&self, last: u64, slot: u64) -> Option<Point> {
        let back = usize::try_from(last.checked_sub(slot)?).ok()?;
        self.points.get(self.points.len().checked_sub(back + 1)?).copied()
    }

    fn set(&mut self, slot: u64, point: Point) {
        if let Some(last) = self.points.back_mut() {
            *last = point;
        }
        if point.mean().is_some() {
            self.known = slot;
        }
        self.score = self.score.max(point.mean().unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_repo_checks::Random;

    fn known(rate: u64) -> Point {
        Point::new(Some(rate), Some(rate), Some(1), 0)
    }

    /// The reference keeps every point of every slot in a map, and forgets nothing.
    #[test]
    fn histories_equal_a_map_of_all_points_for_random_gaps_owners_and_clock_steps() {
        for seed in 1..60 {
            let mut random = Random::new(seed);
            let (mut histories, mut reference) = (Histories::default(), BTreeMap::new());
            let owners = [SeriesKey::Link(LinkId(1)), SeriesKey::Tenant("a".to_owned(), 3), SeriesKey::Contract(7)];
            let mut slot = 1_000;
            for step in 0..500 {
                match random.below(40) {
                    0 => slot += random.below(400),
                    1 => slot -= random.below(10),
                    _ => slot += 1,
                }
                let is_new = histories.last().is_none_or(|last| slot > last);
                let mut points = Vec::new();
                for owner in &owners {
                    if !random.one_in(4) {
                        points.push((owner.clone(), known(1 + random.below(1_000))));
                    }
                }
                if is_new {
                    reference.extend(points.iter().map(|(owner, point)| ((owner.clone(), slot), *point)));
                }
                histories.push(slot, points);
                let last = histories.last().unwrap();
                for owner in &owners {
                    // The whole hour from time to time, and the last points always.
                    let length = if step % 100 == 99 { SLOTS as u64 } else { 3 };
                    for at in last + 1 - length..=last + 2 {
                        let expected = reference.get(&(owner.clone(), at)).copied().unwrap_or(Point::UNKNOWN);
                        assert_eq!(histories.slot(owner, at), expected, "seed {seed} slot {at} of {last}");
                    }
                    assert_eq!(histories.slot(owner, last - SLOTS as u64), Point::UNKNOWN);
                }
            }
        }
    }

    #[test]
    fn only_the_contracts_that_send_most_have_a_history() {
        let mut histories = Histories::default();
        let contract = SeriesKey::Contract;
        let all = |rate: u64| (0..100_000).map(move |serial| (contract(serial), known(serial * rate))).collect();
        histories.push(1, all(1_000));
        assert_eq!(histories.keys().count(), MAX_CONTRACTS);
        assert!(histories.keys().all(|key| *key >= contract(99_000)));
        // Nearly equal rates replace nothing; a far higher one replaces the lowest.
        histories.push(2, vec![(contract(5), known(99_000_001)), (contract(6), known(1_000_000_000))]);
        assert_eq!((histories.keys().count(), histories.first(&contract(5))), (MAX_CONTRACTS, None));
        assert_eq!((histories.first(&contract(6)), histories.first(&contract(99_000))), (Some(2), None));
        // An idle contract has none.
        histories.push(3, vec![(contract(8), known(0))]);
        assert_eq!(histories.first(&contract(8)), None);
        // Nothing is kept of an owner that was unknown for an hour.
        histories.push(3 + SLOTS as u64, Vec::new());
        assert_eq!(histories.keys().count(), 0);
    }
}
