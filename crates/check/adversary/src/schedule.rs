//! Start times of all bursts.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_scenarios::PacketOrder;
use wayleave_topology::LinkId;

use crate::attack::{Attack, BurstTiming, JitterDraw, PhaseTarget};
use crate::claim::Background;
use crate::stage::{Joiner, Stage, Stop, nanos, sending};

/// Maximum number of bursts of a contract in one run.
const MAX_BURSTS: i64 = 4;

/// A burst, and the tokens that its bucket earns afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Burst {
    pub(crate) promise: usize,
    /// ns; any number, also below zero.
    pub(crate) start: i64,
    pub(crate) then: AfterBurst,
}

/// Traffic after a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterBurst {
    /// A frame whenever one has been earned.
    Rate,
    /// Nothing, until the bucket is full.
    Pause,
}

impl Stage<'_> {
    /// The bursts of an attack. Those of one instant are sent in this order, so a victim comes last.
    pub(crate) fn schedule(&self, attack: &Attack) -> Vec<Burst> {
        let once = |(promise, start)| Burst { promise, start, then: AfterBurst::Rate };
        match attack.timing {
            BurstTiming::Together => {
                (0..self.paths.len()).map(|promise| once((promise, self.own_shift(attack, promise)))).collect()
            }
            BurstTiming::Random => self.random_phases(attack).into_iter().enumerate().map(once).collect(),
            BurstTiming::Repeated => self.repeated(attack),
            BurstTiming::Colliding { victim } => self.aimed(attack, victim, Aim::Alone),
            BurstTiming::Chasing { victim } => self.aimed(attack, victim, Aim::Delayed),
            BurstTiming::Squeezing { victim } => self.aimed(attack, victim, Aim::Squeezed),
        }
    }

    fn own_shift(&self, attack: &Attack, promise: usize) -> i64 {
        attack.shift(PhaseTarget::Promise(promise))
    }

    /// Returns the longest stated delay, in ns.
    pub(crate) fn longest(&self) -> i64 {
        self.claim.promises.iter().map(|promise| nanos(promise.limit())).max().unwrap_or(0)
    }

    /// Bursts that are spread too far never meet, so every other seed halves the window.
    fn window(&self, seed: u64) -> i64 {
        (self.longest() >> (seed % 6)).max(1)
    }

    fn random_phases(&self, attack: &Attack) -> Vec<i64> {
        let mut rng = ChaCha8Rng::seed_from_u64(attack.seed);
        let window = self.window(attack.seed);
        let phase = |promise| rng.random_range(0..window) + self.own_shift(attack, promise);
        (0..self.paths.len()).map(phase).collect()
    }

    fn repeated(&self, attack: &Attack) -> Vec<Burst> {
        let window = self.longest();
        let mut bursts = Vec::new();
        for (promise, phase) in self.random_phases(attack).into_iter().enumerate() {
            let terms = &self.claim.promises[promise];
            // One ns more, so that rounding to the simulator's ps never makes it early.
            let period = sending(terms.burst.get(), terms.rate) + 1;
            let more = ((window - phase) / period).clamp(0, MAX_BURSTS - 1);
            for number in 0..=more {
                let then = if number == more { AfterBurst::Rate } else { AfterBurst::Pause };
                bursts.push(Burst { promise, start: phase + number * period, then });
            }
        }
        bursts
    }

    /// Returns bursts in which all contracts that meet the victim arrive there with it.
    fn aimed(&self, attack: &Attack, victim: usize, aim: Aim) -> Vec<Burst> {
        let joiners = self.joiners(victim);
        let mut bursts = Vec::new();
        let Some(frame) = self.frame(victim, attack.frames) else { return bursts };
        // Bytes of its own burst that precede the victim's last packet.
        let before = self.claim.promises[victim].burst.get().saturating_sub(frame);
        let mut involved: BTreeSet<usize> = joiners.iter().map(|joiner| joiner.promise).chain([victim]).collect();
        let is_late = attack.held_up == JitterDraw::Late;
        // Arrival time of the victim's last packet at the queue, in ns after its release. The delay of its host
        // before the first queue equals the delay behind it, unless packets take different times there.
        let own_jitter = self.paths[victim].hops.first().filter(|_| is_late).map_or(0, |stop| stop.jitter);
        let mut arrival = own_jitter;
        for (at, stop) in self.paths[victim].hops.iter().enumerate() {
            let groups = self.groups(joiners.iter().filter(|joiner| joiner.at == at));
            for (input, group) in &groups {
                let gained = if is_late { self.gained(stop, *input) } else { 0 };
                let arrives = arrival + gained + attack.shift(PhaseTarget::JoiningAt(at));
                let squeezed = match input {
                    Some(input) if aim == Aim::Squeezed => self.squeezed(attack, *input, group, arrives, &mut involved),
                    _ => Vec::new(),
                };
                if squeezed.is_empty() {
                    bursts.extend(self.together(attack, *input, group, arrives));
                }
                bursts.extend(squeezed);
            }
            let held = if is_late { stop.jitter } else { 0 };
            arrival += self.wait(at, stop, before, &groups, (aim, held)) + sending(frame, stop.rate) + stop.latency;
            arrival -= if at == 0 { own_jitter } else { 0 };
        }
        bursts.push(Burst {
            promise: victim,
            start: attack.shift(PhaseTarget::Promise(victim)),
            then: AfterBurst::Rate,
        });
        bursts
    }

    /// Returns the additional delay that contracts may have if they are to enter a queue with a late packet, compared
    /// with full jitter for all packets.
    fn gained(&self, stop: &Stop, input: Option<LinkId>) -> i64 {
        match (self.claim.order, input) {
            (PacketOrder::Free, Some(_)) => stop.jitter,
            // A host's own take nothing at its first queue.
            (PacketOrder::Free, None) | (PacketOrder::Kept, Some(_)) => 0,
            (PacketOrder::Kept, None) => -stop.jitter,
        }
    }

    /// The whole group has come over its line at this moment.
    fn together(&self, attack: &Attack, input: Option<LinkId>, group: &Group, arrives: i64) -> Vec<Burst> {
        let burst = |joiner: &Joiner| {
            let frame = self.frame(joiner.promise, attack.frames)?;
            let before = match input {
                Some(input) => {
                    let rest = group.bytes.saturating_sub(frame);
                    self.reach(joiner.promise, joiner.own, frame) + sending(rest, self.network.link(input).rate)
                }
                None => 0,
            };
            let start = arrives - before + self.own_shift(attack, joiner.promise);
            Some(Burst { promise: joiner.promise, start, then: AfterBurst::Rate })
        };
        group.members.iter().filter_map(burst).collect()
    }

    /// Returns bursts of a group that is held up on its line by the bursts of all others there. The tokens earned in
    /// this time have arrived over the line, in consecutive frames, at this moment. Empty if there are no others.
    fn squeezed(
        &self,
        attack: &Attack,
        input: LinkId,
        group: &Group,
        arrives: i64,
        involved: &mut BTreeSet<usize>,
    ) -> Vec<Burst> {
        let lowest = group.members.iter().map(|joiner| self.paths[joiner.promise].hops[joiner.own - 1].queue).max();
        let sharers = self.on_link.get(&input).into_iter().flatten();
        let others: Vec<(usize, usize)> = sharers
            .copied()
            .filter(|&(promise, own)| {
                Some(self.paths[promise].hops[own].queue) <= lowest && !involved.contains(&promise)
            })
            .collect();
        involved.extend(others.iter().map(|&(promise, _)| promise));
        let line = self.network.link(input).rate;
        let terms = |promise: usize| &self.claim.promises[promise];
        let held_up = sending(others.iter().map(|&(promise, _)| terms(promise).burst.get()).sum(), line);
        if held_up == 0 {
            return Vec::new();
        }
        let rate: u64 = group.members.iter().map(|joiner| terms(joiner.promise).rate.bits_per_second()).sum();
        // Bytes that arrive while the group waits; those that arrive during its transmission are sent after the
        // moment.
        let grown = u128::from(rate) * u128::from(held_up.unsigned_abs()) / 8_000_000_000;
        let clump = group.bytes.saturating_add(u64::try_from(grown).unwrap_or(u64::MAX));
        let latency = group.members.first().map_or(0, |joiner| self.paths[joiner.promise].hops[joiner.own - 1].latency);
        let begins = arrives - latency - sending(clump, line) - held_up;
        // The others first: in one queue they are first served.
        let members = group.members.iter().map(|joiner| (joiner.promise, joiner.own - 1));
        let burst = |(promise, own): (usize, usize)| {
            let reach = self.reach(promise, own, self.frame(promise, attack.frames)?);
            Some(Burst { promise, start: begins - reach + self.own_shift(attack, promise), then: AfterBurst::Rate })
        };
        others.into_iter().chain(members).filter_map(burst).collect()
    }

    /// Returns the assumed waiting time of the victim's last packet at a queue of its route.
    fn wait(
        &self,
        at: usize,
        stop: &Stop,
        own: u64,
        groups: &BTreeMap<Option<LinkId>, Group>,
        (aim, held): (Aim, i64),
    ) -> i64 {
        let local = if at == 0 { own } else { 0 };
        if aim == Aim::Alone {
            return sending(local, stop.rate);
        }
        let all: u64 = groups.values().map(|group| group.bytes).sum();
        // While the longest group arrives over its line, an equal amount is sent, except for groups that are held up
        // until all have arrived.
        let longest = groups.iter().filter(|(input, _)| input.is_some()).map(|(_, group)| group.bytes).max();
        let held = u128::from(stop.rate.bits_per_second()) * u128::from(held.unsigned_abs()) / 8_000_000_000;
        let longest = longest.unwrap_or(0).saturating_sub(u64::try_from(held).unwrap_or(u64::MAX));
        let sent = if at == 0 { 0 } else { longest.min(all) };
        let blocking = match &self.claim.background {
            Background::Dropped => 0,
            Background::Saturating { largest } => largest.get(stop.link.index()).map_or(0, |frame| frame.get()),
        };
        sending(all - sent + local + blocking, stop.rate)
    }

    /// Groups contracts by their line, on which they delay each other.
    fn groups<'a>(&self, joiners: impl Iterator<Item = &'a Joiner>) -> BTreeMap<Option<LinkId>, Group> {
        let mut groups: BTreeMap<Option<LinkId>, Group> = BTreeMap::new();
        for &joiner in joiners {
            let before = joiner.own.checked_sub(1);
            let input = before.map(|before| self.paths[joiner.promise].hops[before].link);
            let group = groups.entry(input).or_default();
            group.bytes += self.claim.promises[joiner.promise].burst.get();
            group.members.push(joiner);
        }
        groups
    }
}

/// Assumed delays of the victim's last packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aim {
    /// Undelayed.
    Alone,
    /// Delayed by the joining contracts.
    Delayed,
    /// Delayed by joining contracts that arrive squeezed.
    Squeezed,
}

/// Joiners that come over one line.
#[derive(Default)]
struct Group {
    bytes: u64,
    members: Vec<Joiner>,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wayleave_topology::builders::{Cabling, build};
    use wayleave_topology::{Hop, Route};
    use wayleave_units::{Bytes, Rate, Time};

    use super::*;
    use crate::claim::{AdmittedClaim, Promise};

    /// From `h1` with 1,000 B, and from `h2` and `h3` with `burst`, to `h4`, all in one queue at 1 Gbit/s.
    fn claim(burst: u64) -> AdmittedClaim {
        let network = Arc::new(build::star(4, Cabling::default()).unwrap());
        let promise = |host: u64, burst: u64| {
            let names = [format!("h{host}->s1"), "s1->h4".to_owned()];
            let hops = names.iter().map(|name| Hop { link: network.find_link(name).unwrap(), queue: 0 });
            Promise {
                name: format!("from {host}"),
                route: Route { hops: hops.collect() },
                rate: Rate::from_mbit(8),
                burst: Bytes::new(burst),
                frame: Bytes::new(1000),
                bound: Time::from_millis(2),
                today: None,
            }
        };
        let promises = vec![promise(1, 1000), promise(2, burst), promise(3, burst)];
        AdmittedClaim::new(network.clone(), Background::Dropped, promises)
    }

    #[test]
    fn the_last_packet_of_every_burst_arrives_with_that_of_the_victim() {
        let claim = claim(5000);
        let stage = Stage::new(&claim).unwrap();
        // 1,000 B take 8 us, so those with four frames more begin 32 us before the victim, which is the last of its
        // instant.
        let bursts = stage.schedule(&Attack::new(BurstTiming::Colliding { victim: 0 }, 1));
        let starts: Vec<(usize, i64)> = bursts.iter().map(|burst| (burst.promise, burst.start)).collect();
        assert_eq!(starts, [(1, -32_000), (2, -32_000), (0, 0)]);
    }

    #[test]
    fn a_contract_that_repeats_its_burst_waits_until_its_bucket_is_full() {
        let claim = claim(1000);
        let stage = Stage::new(&claim).unwrap();
        for seed in 0..6 {
            let bursts = stage.schedule(&Attack::new(BurstTiming::Repeated, seed));
            for promise in 0..3 {
                let own: Vec<&Burst> = bursts.iter().filter(|burst| burst.promise == promise).collect();
                // 1,000 B at 8 Mbit/s are earned in 1 ms.
                assert!(own.windows(2).all(|pair| pair[1].start - pair[0].start >= 1_000_000), "seed {seed}");
                let (last, before) = own.split_last().unwrap();
                assert!(
                    last.then == AfterBurst::Rate && before.iter().all(|burst| burst.then == AfterBurst::Pause),
                    "seed {seed}"
                );
            }
        }
        let all: usize = (0..6).map(|seed| stage.schedule(&Attack::new(BurstTiming::Repeated, seed)).len()).sum();
        assert!(all > 6 * 3, "nobody repeats a burst");
    }
}
