//! When every burst begins.

use std::collections::BTreeMap;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_topology::LinkId;

use crate::attack::{Attack, Timing, Who};
use crate::claim::Background;
use crate::stage::{Joiner, Stage, nanos, sending};

/// How often a contract bursts at most in one run.
const MOST_BURSTS: i64 = 4;

/// A burst, and what its bucket earns afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Burst {
    pub(crate) promise: usize,
    /// ns; any number, also below zero.
    pub(crate) start: i64,
    pub(crate) then: Then,
}

/// What comes after a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// A frame whenever one has been earned.
    Rate,
    /// Nothing, until the bucket is full.
    Pause,
}

impl Stage<'_> {
    /// The bursts of an attack. Those of one instant are sent in this order, so a victim comes last.
    pub(crate) fn schedule(&self, attack: &Attack) -> Vec<Burst> {
        let once = |(promise, start)| Burst { promise, start, then: Then::Rate };
        match attack.timing {
            Timing::Together => (0..self.ways.len()).map(|promise| once((promise, self.own_shift(attack, promise)))).collect(),
            Timing::Random => self.random_phases(attack).into_iter().enumerate().map(once).collect(),
            Timing::Repeated => self.repeated(attack),
            Timing::Colliding { victim } => self.aimed(attack, victim, Way::Alone),
            Timing::Chasing { victim } => self.aimed(attack, victim, Way::Delayed),
        }
    }

    fn own_shift(&self, attack: &Attack, promise: usize) -> i64 {
        attack.shift(Who::Promise(promise))
    }

    /// The longest that anybody is said to take, in ns.
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
        (0..self.ways.len()).map(phase).collect()
    }

    fn repeated(&self, attack: &Attack) -> Vec<Burst> {
        let window = self.longest();
        let mut bursts = Vec::new();
        for (promise, phase) in self.random_phases(attack).into_iter().enumerate() {
            let terms = &self.claim.promises[promise];
            // One ns more, so that rounding to the simulator's ps never makes it early.
            let period = sending(terms.burst.get(), terms.rate) + 1;
            let more = ((window - phase) / period).clamp(0, MOST_BURSTS - 1);
            for number in 0..=more {
                let then = if number == more { Then::Rate } else { Then::Pause };
                bursts.push(Burst { promise, start: phase + number * period, then });
            }
        }
        bursts
    }

    /// Everybody who meets the victim arrives there with it.
    fn aimed(&self, attack: &Attack, victim: usize, way: Way) -> Vec<Burst> {
        let joiners = self.joiners(victim);
        let mut bursts = Vec::new();
        let Some(frame) = self.frame(victim, attack.frames) else { return bursts };
        let own_burst = self.claim.promises[victim].burst.get();
        // When the victim's last packet comes to the queue, in ns after its release.
        let mut arrival = 0;
        for (at, stop) in self.ways[victim].hops.iter().enumerate() {
            let groups = self.groups(joiners.iter().filter(|joiner| joiner.at == at));
            let by_hop = attack.shift(Who::JoiningAt(at));
            for (input, group) in &groups {
                for joiner in &group.members {
                    let Some(frame) = self.frame(joiner.promise, attack.frames) else { continue };
                    let start = match input {
                        // The whole group has come over its line when the victim's last packet comes.
                        Some(input) => {
                            let line = self.network.link(*input).rate;
                            let rest = group.bytes.saturating_sub(frame);
                            arrival - self.reach(joiner.promise, joiner.own, frame) - sending(rest, line)
                        }
                        None => arrival,
                    };
                    let start = start + by_hop + attack.shift(Who::Promise(joiner.promise));
                    bursts.push(Burst { promise: joiner.promise, start, then: Then::Rate });
                }
            }
            arrival += self.wait(at, stop, own_burst, &groups, way) + sending(frame, stop.rate) + stop.latency;
        }
        bursts.push(Burst { promise: victim, start: attack.shift(Who::Promise(victim)), then: Then::Rate });
        bursts
    }

    /// How long the victim's last packet is taken to wait at a queue of its route.
    fn wait(&self, at: usize, stop: &crate::stage::Stop, own: u64, groups: &BTreeMap<Option<LinkId>, Group>, way: Way) -> i64 {
        let local = if at == 0 { own } else { 0 };
        if way == Way::Alone {
            return sending(local, stop.rate);
        }
        let all: u64 = groups.values().map(|group| group.bytes).sum();
        // While the longest group comes over its line, as much is sent.
        let longest = groups.iter().filter(|(input, _)| input.is_some()).map(|(_, group)| group.bytes).max();
        let sent = if at == 0 { 0 } else { longest.unwrap_or(0).min(all) };
        let blocking = match &self.claim.background {
            Background::Dropped => 0,
            Background::Saturating { largest } => largest.get(stop.link.index()).map_or(0, |frame| frame.get()),
        };
        sending(all - sent + local + blocking, stop.rate)
    }

    /// Those who come over one line delay one another on it.
    fn groups<'a>(&self, joiners: impl Iterator<Item = &'a Joiner>) -> BTreeMap<Option<LinkId>, Group> {
        let mut groups: BTreeMap<Option<LinkId>, Group> = BTreeMap::new();
        for &joiner in joiners {
            let before = joiner.own.checked_sub(1);
            let input = before.map(|before| self.ways[joiner.promise].hops[before].link);
            let group = groups.entry(input).or_default();
            group.bytes += self.claim.promises[joiner.promise].burst.get();
            group.members.push(joiner);
        }
        groups
    }
}

/// How the victim's last packet is taken to travel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Alone,
    Delayed,
}

/// Joiners that come over one line.
#[derive(Default)]
struct Group {
    bytes: u64,
    members: Vec<Joiner>,
}
