//! Division of a receiver's maximum among its senders, which the text does not define.
//!
//! A sender requests a rate with its probes. The receiver divides its maximum by max-min fairness and answers with a
//! grant, which is the rate of the pair's limiter. Tokens cannot measure it: Algorithm 1 admits "anything" if a pair
//! has slightly less than its part, so the sum of tokens exceeds the minimum for a part of the time.
//!
//! **Invariant.** The limiters of all pairs to a receiver together never exceed its maximum. This also holds while
//! requests and grants are in flight, overtake each other or are lost. The receiver has a [`Ledger`] of each pair:
//! the rate that its sender has reported to hold, and all grants that it may have received since. It grants no more
//! than the remainder. A larger part is free once the reduced pair has confirmed, so a reduction is confirmed at
//! once. Grants are leases: a sender stops using a grant that is not renewed within half of the lease, and the
//! receiver takes it back after the whole lease. An answer may be in flight for the other half.

use wayleave_scheme_api::{MaxGrant, MaxRequest};
use wayleave_units::{Rate, Time};

use super::search::round_trips;
use super::settings::Settings;

/// A lease in time-outs of a probe at least, so that a lost probe ends none.
const LEASE: u32 = 8;

/// A reduction by less than this part is confirmed by the next probe that leaves anyway.
const SMALL: u64 = 32;

/// Returns the time after which a receiver takes a grant back. Its sender uses it for half of that, and renews it after a fifth.
pub(super) fn lease(round_trip: Time, settings: &Settings) -> Time {
    settings.dedup_window.max(round_trips(round_trip, settings.probe_timeout_rtts.saturating_mul(LEASE)))
}

/// Returns the level up to which requests can be granted out of a maximum: the sum of the lesser of each request and
/// the level is the maximum. If all requests fit, the largest one could grow up to the level.
pub(super) fn level(max: u64, demands: &mut [u64]) -> u64 {
    demands.sort_unstable();
    let mut left = max;
    for (at, &demand) in demands.iter().enumerate() {
        let equal = left / (demands.len() - at) as u64;
        if demand >= equal {
            return equal;
        }
        left -= demand;
    }
    left.saturating_add(demands.last().copied().unwrap_or_default())
}

/// The receiver's record of one pair.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    wants: u64,
    /// The number of the last grant.
    number: u32,
    /// The last grant that the sender has reported to have seen, and the rate that it reported to hold, in bit/s.
    confirmed: (u32, u64),
    /// Later grants that no later one exceeds.
    open: Vec<(u32, u64)>,
    /// The end of the lease.
    until: Time,
}

impl Ledger {
    /// Returns the rate that the sender may use at most, in bit/s.
    pub(super) fn held(&self, now: Time) -> u64 {
        let rates = self.open.iter().chain([&self.confirmed]).map(|&(_, rate)| rate);
        rates.max().filter(|_| now < self.until).unwrap_or_default()
    }

    /// Returns the rate that the sender wants, in bit/s; `u64::MAX`: any rate.
    pub(super) fn wanted(&self, now: Time) -> u64 {
        if now < self.until { self.wants } else { 0 }
    }

    /// Records a request. One that was overtaken by a later one reports what the sender does not hold any more.
    pub(super) fn request(&mut self, now: Time, request: &MaxRequest, lease: Time) {
        self.wants = request.wants.map_or(u64::MAX, Rate::bits_per_second);
        if request.seen >= self.confirmed.0 {
            self.confirmed = (request.seen, request.holds.bits_per_second());
            self.open.retain(|&(number, _)| number > request.seen);
        }
        self.until = now + lease;
    }

    /// Grants the pair its part: up to `level`, and no more than `left`, which other pairs leave.
    pub(super) fn grant(&mut self, level: u64, left: u64) -> MaxGrant {
        let target = self.wants.min(level);
        let rate = target.min(left);
        self.number += 1;
        self.open.retain(|&(_, earlier)| earlier > rate);
        self.open.push((self.number, rate));
        MaxGrant { rate: Rate::from_bits_per_second(rate), number: self.number, is_short: rate < target }
    }
}

/// The maximum of the receiver, as its sender knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReceiverGrant {
    /// The receiver has not answered yet.
    #[default]
    Unknown,
    /// It has no maximum.
    Unlimited,
    /// The pair may use this rate, in bit/s.
    Rate(u64),
}

/// The sender's side of one pair.
#[derive(Clone, Debug, Default)]
pub(super) struct Allowance {
    granted: ReceiverGrant,
    /// The rate that the pair wants, in bit/s; `u64::MAX`: any rate.
    wants: u64,
    seen: u32,
    is_short: bool,
    /// The last grant.
    renewed_at: Time,
    /// The last probe that carried a request and nothing else, and the number of them since the pair is short.
    asked_at: Time,
    tries: u32,
}

impl Allowance {
    /// Returns the rate of the pair's limiter in bit/s, if it has one. `is_limited`: the class has maxima at its receivers.
    pub(super) fn limit(&self, is_limited: bool) -> Option<u64> {
        match self.granted {
            ReceiverGrant::Unknown => is_limited.then_some(0),
            ReceiverGrant::Unlimited => None,
            ReceiverGrant::Rate(rate) => Some(rate),
        }
    }

    /// Returns the request that a probe carries.
    pub(super) fn request(&self) -> MaxRequest {
        let wants = Some(self.wants).filter(|&wants| wants < u64::MAX).map(Rate::from_bits_per_second);
        let holds = Rate::from_bits_per_second(self.limit(false).unwrap_or_default());
        MaxRequest { wants, holds, seen: self.seen }
    }

    /// Returns the rate that the receiver bounds the pair to, if it wants more.
    pub(super) fn bound(&self) -> Option<u64> {
        self.limit(false).filter(|&rate| rate < self.wants && !self.is_short)
    }

    /// The pair wants this rate from now on.
    pub(super) fn want(&mut self, wants: u64) {
        self.wants = wants;
    }

    /// Takes the receiver's answer. Returns `true` if it is to be confirmed at once.
    pub(super) fn answered(&mut self, now: Time, grant: Option<MaxGrant>) -> bool {
        let Some(MaxGrant { rate, number, is_short }) = grant else {
            self.granted = ReceiverGrant::Unlimited;
            return false;
        };
        if number <= self.seen {
            return false;
        }
        let had = self.limit(false).unwrap_or_default();
        let rate = rate.bits_per_second();
        self.tries = if is_short && rate <= had { self.tries } else { 0 };
        (self.granted, self.seen, self.is_short, self.renewed_at) = (ReceiverGrant::Rate(rate), number, is_short, now);
        rate < had - had / SMALL
    }

    /// Sets the pair's use to zero from now on. A grant in flight is recorded and not used.
    pub(super) fn release(&mut self) {
        if self.limit(false).is_some() {
            (self.granted, self.is_short) = (ReceiverGrant::Rate(0), false);
        }
    }

    /// A lease that was not renewed ends. Returns `true` if a probe is due that carries a request: while others hold what the pair waits for, after 1, 2, 4
    /// and then every 8 round trips; and to renew the lease.
    pub(super) fn is_due(&mut self, now: Time, lease: Time, round_trip: Time) -> bool {
        let ReceiverGrant::Rate(rate) = self.granted else { return false };
        let age = now.saturating_sub(self.renewed_at);
        if rate > 0 && age >= Time::from_nanos(lease.as_nanos() / 2) {
            self.granted = ReceiverGrant::Rate(0);
        }
        let since = now.saturating_sub(self.asked_at.max(self.renewed_at));
        let renew = Time::from_nanos(lease.as_nanos() / 5);
        let waits = if self.is_short { round_trips(round_trip, 1 << self.tries.min(3)).min(renew) } else { renew };
        since >= waits
    }

    /// A request leaves with a probe of its own.
    pub(super) fn asked(&mut self, now: Time) {
        self.asked_at = now;
        self.tries = self.tries.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    const MAX: u64 = 2_000_000_000;
    const T: Time = Time::from_micros(24);

    #[test]
    fn a_level_is_max_min_fair() {
        let of = |max, demands: &[u64]| level(max, &mut demands.to_vec());
        assert_eq!(of(600, &[u64::MAX; 3]), 200);
        assert_eq!(of(600, &[u64::MAX, 100, u64::MAX]), 250, "what one leaves goes to the others");
        assert_eq!(of(600, &[0, u64::MAX]), 600);
        assert_eq!(of(600, &[100, 200]), 500, "the second could have 500");
        assert_eq!(of(600, &[]), 600);
    }

    /// The first of two pairs has everything, and the second what the first has confirmed to have given up.
    #[test]
    fn a_new_pair_gets_the_confirmed_free_capacity() {
        let mut ledgers = [Ledger::default(), Ledger::default()];
        let any = MaxRequest::default();
        let ask = |ledgers: &mut [Ledger; 2], at: usize, request: MaxRequest| {
            ledgers[at].request(Time::ZERO, &request, Time::from_millis(5));
            let level = level(MAX, &mut ledgers.each_ref().map(|ledger| ledger.wanted(Time::ZERO)));
            let left = MAX - ledgers[1 - at].held(Time::ZERO);
            ledgers[at].grant(level, left)
        };
        let grant = |rate, number, is_short| MaxGrant { rate: Rate::from_bits_per_second(rate), number, is_short };
        assert_eq!(ask(&mut ledgers, 0, any), grant(MAX, 1, false));
        assert_eq!(ask(&mut ledgers, 1, any), grant(0, 1, true), "the first one holds everything");
        let full = MaxRequest { holds: Rate::from_bits_per_second(MAX), seen: 1, ..any };
        assert_eq!(ask(&mut ledgers, 0, full), grant(MAX / 2, 2, false));
        assert_eq!(ask(&mut ledgers, 1, MaxRequest { seen: 1, ..any }), grant(0, 2, true), "it has not confirmed");
        let half = MaxRequest { holds: Rate::from_bits_per_second(MAX / 2), seen: 2, ..any };
        assert_eq!(ask(&mut ledgers, 0, half), grant(MAX / 2, 3, false));
        assert_eq!(ask(&mut ledgers, 0, full), grant(MAX / 2, 4, false), "overtaken");
        assert_eq!(ask(&mut ledgers, 1, MaxRequest { seen: 2, ..any }), grant(MAX / 2, 3, false));
    }

    /// A message in flight: its pair, its arrival time, and a request or a grant.
    type Message = (usize, Time, Result<MaxRequest, MaxGrant>);

    /// Requests and grants of a receiver's pairs over a network that delays, reorders and loses them.
    struct World {
        random: SplitMix,
        now: Time,
        pairs: Vec<(Ledger, Allowance, bool)>,
        messages: Vec<Message>,
        /// Per mille.
        loss: u32,
        /// Maximum delay, in ns: answers are in flight for less than half of the lease.
        delay: u32,
    }

    impl World {
        const LEASE: Time = Time::from_millis(5);

        fn post(&mut self, pair: usize, body: Result<MaxRequest, MaxGrant>) {
            let delay = Time::from_nanos(u64::from(5_000 + self.random.below(self.delay)));
            if self.random.below(1_000) >= self.loss {
                self.messages.push((pair, self.now + delay, body));
            }
        }

        fn ask(&mut self, pair: usize) {
            self.pairs[pair].1.asked(self.now);
            let request = self.pairs[pair].1.request();
            self.post(pair, Ok(request));
        }

        fn arrive(&mut self, (pair, _, body): Message) {
            match body {
                Ok(request) => {
                    self.pairs[pair].0.request(self.now, &request, Self::LEASE);
                    let mut demands: Vec<u64> = self.pairs.iter().map(|pair| pair.0.wanted(self.now)).collect();
                    let others = self.pairs.iter().enumerate().filter(|(other, _)| *other != pair);
                    let held: u64 = others.map(|(_, other)| other.0.held(self.now)).sum();
                    let grant = self.pairs[pair].0.grant(level(MAX, &mut demands), MAX.saturating_sub(held));
                    self.post(pair, Err(grant));
                }
                Err(grant) => {
                    let (_, allowance, wants) = &mut self.pairs[pair];
                    let mut confirms = allowance.answered(self.now, Some(grant));
                    if !*wants {
                        confirms = allowance.limit(true).is_some_and(|rate| rate > 0);
                        allowance.release();
                    }
                    if confirms {
                        self.ask(pair);
                    }
                }
            }
        }

        fn limits(&self) -> u64 {
            self.pairs.iter().filter_map(|pair| pair.1.limit(true)).sum()
        }

        /// Lets time pass in steps of 32 us. `churn`: pairs begin, end, and want other rates.
        fn pass(&mut self, steps: u32, churn: bool) -> u64 {
            let mut most = 0;
            for _ in 0..steps {
                self.now += Time::from_micros(32);
                while let Some(at) = self.messages.iter().position(|message| message.1 <= self.now) {
                    let message = self.messages.swap_remove(at);
                    self.arrive(message);
                    most = most.max(self.limits());
                }
                for pair in 0..self.pairs.len() {
                    if churn && self.random.below(200) == 0 {
                        let wants = self.random.below(3) > 0;
                        let rate =
                            if self.random.below(2) > 0 { u64::MAX } else { u64::from(self.random.below(500_000_000)) };
                        let (_, allowance, was) = &mut self.pairs[pair];
                        *was = wants;
                        allowance.want(if wants { rate } else { 0 });
                        if !wants {
                            allowance.release();
                        }
                        // A pair that becomes silent sends nothing.
                        if self.random.below(3) > 0 {
                            self.ask(pair);
                        }
                    }
                    let (_, allowance, wants) = &mut self.pairs[pair];
                    if allowance.is_due(self.now, Self::LEASE, T) && *wants {
                        self.ask(pair);
                    }
                }
                most = most.max(self.limits());
            }
            most
        }
    }

    /// For any demands, losses, delays and reordering, the limiters never exceed the maximum. Afterwards they use all
    /// of the maximum, in equal parts.
    #[test]
    fn limiters_never_exceed_the_maximum_together() {
        for seed in 0..60 {
            let mut random = SplitMix::new(seed);
            let count = 2 + random.below(12) as usize;
            let loss = [0, 0, 20, 300][random.below(4) as usize];
            let pairs = vec![(Ledger::default(), Allowance::default(), false); count];
            let mut world = World { random, now: Time::ZERO, pairs, messages: Vec::new(), loss, delay: 2_400_000 };
            let most = world.pass(3_000, true);
            assert!(most <= MAX, "seed {seed}: {most} bit/s of {count} pairs, {loss} per mille lost");
            assert!(most > MAX / 2, "seed {seed}: {most} bit/s only");
            (world.loss, world.delay) = (0, 100_000);
            for pair in 0..count {
                world.pairs[pair].2 = true;
                world.pairs[pair].1.want(u64::MAX);
                world.ask(pair);
            }
            let most = world.pass(3_000, false);
            assert!(most <= MAX, "seed {seed}: {most} bit/s");
            for (at, pair) in world.pairs.iter().enumerate() {
                let rate = pair.1.limit(true).unwrap();
                let equal = MAX / count as u64;
                assert!(rate.abs_diff(equal) <= equal / 20, "seed {seed}: pair {at} has {rate} of {equal} bit/s");
            }
        }
    }
}
