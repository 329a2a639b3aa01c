//! Lost and late packets: hosts sample the packets that they send and receive, by numbers that are equal at both
//! ends, and this module matches the samples.
//!
//! A packet counts as lost only if it would have been reported by now: its receiver's reports have no gap from before
//! the packet was sent until long after. The place of the loss is known if the switches on the route report, too. A
//! delay is known only if both hosts share one clock or state the errors of their clocks.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use wayleave_protocol::agent::{Clock, SampledPackets, Samples};
use wayleave_units::Time;

use crate::load::Missed;

/// Time after which a missing report is final. Hosts report every second, and an agent without a report for 5 s is
/// silent; this is twice as long.
const TIMEOUT: Time = Time::from_millis(10_000);
/// Maximum time between the reports of sender and receiver about a packet, in either order, if the receiver is not
/// silent.
const LAG: Time = Time::from_millis(8_000);
/// Longest delay that agrees with the arrival of the reports of both ends: longer ones are errors of a clock, which its
/// host does not know.
const MAX_DELAY_NS: u64 = TIMEOUT.as_nanos() + LAG.as_nanos();
/// Maximum duration of a run of equal packets. Packets with equal numbers wait for reports together; a longer run is
/// given up as endless.
const LONGEST: Time = Time::from_millis(60_000);
/// Maximum number of different packets to a host that wait for reports. It bounds memory; further packets are not
/// tracked.
const MAX: usize = 50_000;
/// Maximum number of packets with one number that wait for reports.
const MAX_SAME: usize = 1_000;

/// State from the hosts' samples.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    receivers: BTreeMap<String, Receiver>,
    /// Outcomes of the packets of all contracts, also of deleted ones, in `packets`, `lost`, `timed` and `late`. They never fall.
    totals: SampledPackets,
    /// By sender and contract.
    results: BTreeMap<(String, u64), Outcome>,
    /// Packets lost since the last arrival, by sender and contract.
    lost_runs: BTreeMap<(String, u64), LostRun>,
    /// Lost and late packets since the last call of [`Follower::take_missed`], by contract and time of the sender's
    /// report.
    missed: BTreeMap<(u64, Time), Missed>,
}

/// Time after a late packet, or one that was lost in a row of them, in which it counts for the health of its contract: as
/// for late packets that receivers report (`--violation-clear-after`).
const RECENT: Time = Time::from_millis(60_000);
/// Number of sampled packets of a contract that have to be lost in a row before the contract counts as cut off.
const RUN: u64 = 10;

/// Packets of a contract that were lost in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LostRun {
    pub(crate) packets: u64,
    /// The node at which the last of them was seen last, if that is known.
    pub(crate) last_seen_at: Option<String>,
}

/// Outcome of the sampled packets of a contract. Delays are those since its bound last changed.
#[derive(Debug, Default)]
struct Outcome {
    packets: SampledPackets,
    bound: u64,
    /// Times of the last packet that was late, and of the last one that was lost.
    late_at: Option<Time>,
    lost_at: Option<Time>,
}

impl Outcome {
    /// Records the delay of a packet. Returns `true` if it was late; `None` if its delay is unknown.
    fn time(&mut self, now: Time, departure: &Departure, arrival: &Arrival) -> Option<bool> {
        let (delay, error) = delay(departure, arrival).filter(|&(delay, _)| delay <= MAX_DELAY_NS)?;
        if self.bound != departure.bound {
            (self.bound, self.late_at) = (departure.bound, None);
            let SampledPackets { timed, late, worst_ns, clock_error_ns, .. } = &mut self.packets;
            (*timed, *late, *worst_ns, *clock_error_ns) = (0, 0, 0, 0);
        }
        let is_late = delay > departure.bound.saturating_add(error);
        self.packets.timed += 1;
        self.packets.late += u64::from(is_late);
        self.packets.worst_ns = self.packets.worst_ns.max(delay);
        self.packets.clock_error_ns = self.packets.clock_error_ns.max(error);
        if is_late {
            self.late_at = Some(now);
        }
        Some(is_late)
    }
}

/// State of a host as the receiver of packets.
#[derive(Debug, Default)]
struct Receiver {
    reports: VecDeque<Report>,
    /// The number of its next report.
    next: Option<u64>,
    packets: HashMap<u64, Same>,
    /// Times at which packets are checked next, by number.
    due: VecDeque<(Time, u64)>,
}

/// Packets with one number, nearly always one.
#[derive(Debug)]
struct Same {
    first: Time,
    last: Time,
    /// `true` if the run is too long or has too many packets: its outcome is not counted.
    is_endless: bool,
    sent: Vec<Departure>,
    arrived: Vec<Arrival>,
}

impl Same {
    fn give_up(&mut self) {
        (self.is_endless, self.sent, self.arrived) = (true, Vec::new(), Vec::new());
    }
}

#[derive(Debug)]
struct Report {
    at: Time,
    level: u32,
    /// Nothing is missing in it, nor between it and the one before.
    is_whole: bool,
}

#[derive(Debug)]
struct Departure {
    from: Arc<str>,
    serial: u64,
    bound: u64,
    /// Switches on its route.
    via: Arc<[String]>,
    at: u64,
    clock: Arc<Clock>,
    reported_until: Time,
}

#[derive(Debug)]
struct Arrival {
    at: u64,
    clock: Arc<Clock>,
}

impl Receiver {
    fn on_samples(&mut self, now: Time, samples: &Samples) {
        let is_whole = !samples.is_incomplete && self.next == Some(samples.number);
        self.next = Some(samples.number.wrapping_add(1));
        self.reports.push_back(Report { at: now, level: samples.level, is_whole });
        let long_ago = |report: &Report| report.at + LONGEST + LAG < now;
        while self.reports.front().is_some_and(long_ago) {
            self.reports.pop_front();
        }
    }

    /// Something of its last report is not remembered.
    fn is_not_whole(&mut self) {
        if let Some(last) = self.reports.back_mut() {
            last.is_whole = false;
        }
    }

    /// Returns the packets with this number, for a new report; `None` if the maximum number of different packets
    /// already waits.
    fn same(&mut self, now: Time, number: u64) -> Option<&mut Same> {
        let is_full = self.packets.len() >= MAX;
        let same = match self.packets.entry(number) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(_) if is_full => return None,
            Entry::Vacant(free) => {
                self.due.push_back((now + TIMEOUT, number));
                free.insert(Same { first: now, last: now, is_endless: false, sent: Vec::new(), arrived: Vec::new() })
            }
        };
        same.last = now;
        if same.first + LONGEST <= now || same.sent.len().max(same.arrived.len()) >= MAX_SAME {
            same.give_up();
        }
        Some(same)
    }

    /// Removes and returns the packets without a recent report.
    fn expire(&mut self, now: Time) -> Vec<(u64, Same)> {
        let mut expired = Vec::new();
        while let Some((_, number)) = self.due.pop_front_if(|(due, _)| *due <= now) {
            let Entry::Occupied(same) = self.packets.entry(number) else { continue };
            // Packets that only arrived are remembered for longer: when a packet is lost, the switches are asked if
            // they have seen it.
            let timeout = if same.get().sent.is_empty() { TIMEOUT + TIMEOUT } else { TIMEOUT };
            let again = same.get().last + timeout;
            if again > now {
                self.due.push_back((again, number));
            } else {
                expired.push((number, same.remove()));
            }
        }
        expired
    }

    /// Returns `true` if a packet that its sender reported would have been reported by its receiver by now if it had
    /// arrived.
    fn would_have_reported(&self, number: u64, departure: &Departure) -> bool {
        let (reported_until, bound) = (departure.reported_until, Time::from_nanos(departure.bound));
        let from = Time::from_nanos(reported_until.as_nanos().saturating_sub(LAG.as_nanos()));
        let covers = self.reports.front().is_some_and(|first| first.at <= from)
            && self.reports.back().is_some_and(|last| last.at >= reported_until + bound + LAG);
        let chooses = |report: &Report| report.is_whole && number & ((1 << report.level.min(63)) - 1) == 0;
        covers && self.reports.iter().filter(|report| report.at >= from).all(chooses)
    }
}

/// Evidence of the sampled packets of a contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampledDelay {
    /// The longest delay under the bound, in nanoseconds; `None` if none is known.
    pub(crate) longest_ns: Option<u64>,
    /// The bound.
    pub(crate) bound_ns: u64,
    /// `true` if a packet exceeded the bound a short time ago by more than the error of the clocks.
    pub(crate) is_late: bool,
    /// Number of packets that were lost in a row until a short time ago: 0 for less than [`RUN`].
    pub(crate) lost: u64,
}

impl Follower {
    /// Processes the samples of a host, of whose sent packets the contracts are known.
    pub(crate) fn on_samples(&mut self, now: Time, node: &str, samples: &Samples) {
        let clock = Arc::new(samples.clock.clone());
        let receiver = self.receivers.entry(node.to_owned()).or_default();
        receiver.on_samples(now, samples);
        for &(number, at) in &samples.arrived {
            match receiver.same(now, number) {
                Some(same) => same.arrived.push(Arrival { at, clock: clock.clone() }),
                None => receiver.is_not_whole(),
            }
        }
        let from: Arc<str> = node.into();
        for sent in &samples.sent {
            let (serial, bound, via): (_, _, Arc<[String]>) = (sent.serial, sent.bound_ns, sent.via.clone().into());
            let receiver = self.receivers.entry(sent.to.clone()).or_default();
            for &(number, at) in &sent.packets {
                let (from, clock, via) = (from.clone(), clock.clone(), via.clone());
                if let Some(same) = receiver.same(now, number) {
                    same.sent.push(Departure { from, serial, bound, via, at, clock, reported_until: now });
                }
            }
        }
        self.expire(now);
    }

    /// Keeps only these contracts of a host.
    pub(crate) fn retain(&mut self, node: &str, is_there: impl Fn(u64) -> bool) {
        self.results.retain(|(from, serial), _| from != node || is_there(*serial));
        self.lost_runs.retain(|(from, serial), _| from != node || is_there(*serial));
    }

    /// Returns the outcome of a contract's packets; `None` if no outcome is known.
    pub(crate) fn of(&self, node: &str, serial: u64) -> Option<SampledPackets> {
        self.results.get(&(node.to_owned(), serial)).map(|outcome| outcome.packets.clone())
    }

    /// Returns the evidence of each contract by its serial number, over all senders.
    pub(crate) fn worst(&self, now: Time) -> HashMap<u64, SampledDelay> {
        let is_recent = |at: Option<Time>| at.is_some_and(|at| now <= at + RECENT);
        let mut worst: HashMap<u64, SampledDelay> = HashMap::new();
        for (key, outcome) in &self.results {
            let known = worst.entry(key.1).or_default();
            let timed = Some(outcome.packets.worst_ns).filter(|_| outcome.packets.timed > 0);
            (known.longest_ns, known.bound_ns) = (known.longest_ns.max(timed), outcome.bound);
            known.is_late |= is_recent(outcome.late_at);
            let lost = self.lost_runs.get(key).map_or(0, |run| run.packets);
            known.lost = known.lost.max(if lost >= RUN && is_recent(outcome.lost_at) { lost } else { 0 });
        }
        worst
    }

    /// Returns the contracts with packets that their senders have reported until this time, and whose outcome is not known yet.
    pub(crate) fn unsettled(&self, until: Time) -> BTreeSet<u64> {
        let packets = self.receivers.values().flat_map(|receiver| receiver.packets.values());
        let sent = packets.flat_map(|same| &same.sent).filter(|departure| departure.reported_until <= until);
        sent.map(|departure| departure.serial).collect()
    }

    /// Returns the lost and late packets since the last call, by the contract's serial number and the time of the
    /// sender's report.
    pub(crate) fn take_missed(&mut self) -> BTreeMap<(u64, Time), Missed> {
        std::mem::take(&mut self.missed)
    }

    /// Contracts of which every followed packet is lost now, by sender and number.
    pub(crate) fn cut_off(&self) -> impl Iterator<Item = (&str, u64, &LostRun)> {
        let long = self.lost_runs.iter().filter(|(_, run)| run.packets >= RUN);
        long.map(|((node, serial), run)| (node.as_str(), *serial, run))
    }

    /// Returns the outcome of the packets of all contracts, also of deleted ones.
    pub(crate) const fn totals(&self) -> &SampledPackets {
        &self.totals
    }

    fn expire(&mut self, now: Time) {
        let mut expired = Vec::new();
        for (node, receiver) in &mut self.receivers {
            expired.extend(receiver.expire(now).into_iter().map(|(number, same)| (node.clone(), number, same)));
        }
        for (node, number, same) in expired.iter().filter(|(_, _, same)| !same.is_endless) {
            self.settle(now, node, *number, same);
        }
    }

    /// Counts the outcome of packets with one number. Several of them cannot be distinguished: only the number of
    /// arrivals is known.
    fn settle(&mut self, now: Time, to: &str, number: u64, same: &Same) {
        let missing = same.sent.len().saturating_sub(same.arrived.len());
        let reported_until = |departure: &Departure| {
            self.receivers.get(to).is_some_and(|receiver| receiver.would_have_reported(number, departure))
        };
        if missing > 0 && !same.sent.iter().all(reported_until) {
            return;
        }
        for (at, departure) in same.sent.iter().enumerate() {
            let is_lost = at < missing;
            let place = if is_lost && same.sent.len() == 1 { self.place(number, departure) } else { None };
            let result = self.results.entry((departure.from.to_string(), departure.serial)).or_default();
            result.packets.packets += 1;
            result.packets.lost += u64::from(is_lost);
            if is_lost {
                result.lost_at = Some(now);
            }
            let run = self.lost_runs.entry((departure.from.to_string(), departure.serial)).or_default();
            *run = match is_lost {
                true => LostRun { packets: run.packets + 1, last_seen_at: place.clone() },
                false => LostRun::default(),
            };
            if let Some(place) = place {
                *result.packets.lost_behind.entry(place).or_default() += 1;
            }
            let is_late = match (same.sent.as_slice(), same.arrived.as_slice()) {
                ([_], [arrival]) => result.time(now, departure, arrival),
                _ => None,
            };
            let missed = Missed { lost: u64::from(is_lost), late: u64::from(is_late == Some(true)) };
            self.totals.packets += 1;
            self.totals.lost += missed.lost;
            self.totals.timed += u64::from(is_late.is_some());
            self.totals.late += missed.late;
            if missed != Missed::default() {
                self.missed.entry((departure.serial, departure.reported_until)).or_default().add(missed);
            }
        }
    }

    /// Returns the last observation of a lost packet, if it is certain.
    fn place(&self, number: u64, departure: &Departure) -> Option<String> {
        let mut last = departure.from.to_string();
        // A node in between may have seen the packet without reporting.
        let mut is_certain = !departure.via.is_empty();
        for node in departure.via.iter() {
            let switch = self.receivers.get(node);
            if switch.is_some_and(|switch| switch.packets.contains_key(&number)) {
                (last, is_certain) = (node.clone(), true);
            } else if !switch.is_some_and(|switch| switch.would_have_reported(number, departure)) {
                is_certain = false;
            } else {
                break;
            }
        }
        is_certain.then_some(last)
    }
}

/// Returns the delay of a packet and its maximum error, in ns.
fn delay(departure: &Departure, arrival: &Arrival) -> Option<(u64, u64)> {
    let (there, here) = (&departure.clock, &arrival.clock);
    if there.boot == here.boot {
        return Some((arrival.at.checked_sub(departure.at)?, 0));
    }
    let error = there.error_ns?.saturating_add(here.error_ns?);
    let (sent, came) = (departure.at.checked_add(there.ahead_ns)?, arrival.at.checked_add(here.ahead_ns)?);
    // `None` if it arrived before it was sent, by more than the stated errors of the clocks: the true errors are
    // larger.
    (came.saturating_add(error) >= sent).then(|| (came.saturating_sub(sent), error))
}

#[cfg(test)]
mod tests;
