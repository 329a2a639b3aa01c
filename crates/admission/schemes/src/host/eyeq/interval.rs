//! The end of an interval: what every class wants and gets, in both directions.

use wayleave_scheme_api::HostAction;
use wayleave_sharing::{EstimatorParams, UsageObservation};
use wayleave_units::{Bytes, Rate, Time};

use super::class::{Activity, Receive, Transmit};
use super::meter::utilisation;
use super::{Action, Clock, Eyeq, Timer};

impl Eyeq {
    /// An interval is over.
    pub(super) fn interval(&mut self, now: Time, act: &mut impl FnMut(Action)) {
        let Clock::Running { since } = self.clock else { return };
        let elapsed = now.saturating_sub(since);
        self.note_activity(now);
        self.share_receive(now, elapsed);
        self.share_transmit(now, elapsed, act);
        self.retire(now, act);
        self.clock = if self.active.is_empty() {
            Clock::Stopped
        } else {
            act(HostAction::Arm { at: now + self.params.interval, timer: Timer::Interval });
            Clock::Running { since: now }
        };
    }

    fn note_activity(&mut self, now: Time) {
        for &place in &self.active {
            let class = &mut self.classes[place];
            if class.transmit.sent > 0 || class.receive.meter.counted() > Bytes::ZERO {
                class.activity = Activity::Active { last: now };
            }
        }
    }

    /// The meters' capacities and rates.
    fn share_receive(&mut self, now: Time, elapsed: Time) {
        for &place in &self.active {
            let Receive { meter, metered, demand, .. } = &mut self.classes[place].receive;
            let limit = Some(meter.capacity());
            let usage = utilisation(meter.counted().get(), elapsed);
            if meter.counted() > Bytes::ZERO {
                metered.intervals += 1;
                metered.held += u64::from(!fills(meter.rate(), meter.capacity()));
            }
            self.receive.want(place, demand.observe(now, UsageObservation { usage, limit }));
        }
        self.receive.share_out();
        for &place in &self.active {
            let capacity = self.receive.ceiling(place);
            let meter = &mut self.classes[place].receive.meter;
            meter.set_capacity(capacity);
            meter.finish(elapsed);
        }
    }

    /// The root limiters.
    fn share_transmit(&mut self, now: Time, elapsed: Time, act: &mut impl FnMut(Action)) {
        let line = self.transmit.capacity();
        let sent = self.active.iter().map(|&place| self.classes[place].transmit.sent).sum();
        let fullness = fullness(utilisation(sent, elapsed), line);
        for &place in &self.active {
            let demand = self.classes[place].transmit.observe(now, elapsed, fullness);
            self.transmit.want(place, demand);
        }
        self.transmit.share_out();
        for at in 0..self.active.len() {
            let place = self.active[at];
            self.classes[place].transmit.limit = self.transmit.limit(place).filter(|&limit| limit < line);
            self.set_root(place, act);
        }
    }

    /// Classes that have moved nothing for long share no more.
    fn retire(&mut self, now: Time, act: &mut impl FnMut(Action)) {
        let mut at = 0;
        while let Some(&place) = self.active.get(at) {
            match self.classes[place].activity {
                Activity::Active { last } if now.saturating_sub(last) < self.params.idle => at += 1,
                _ => {
                    self.active.swap_remove(at);
                    self.rest(place, act);
                }
            }
        }
    }

    pub(super) fn rest(&mut self, place: usize, act: &mut impl FnMut(Action)) {
        self.transmit.want(place, Rate::ZERO);
        self.receive.want(place, Rate::ZERO);
        let capacity = self.receive.potential(place);
        let class = &mut self.classes[place];
        let unseen = self.params.estimator();
        class.activity = Activity::Idle;
        class.receive.meter.reset(capacity);
        class.receive.demand = unseen.clone();
        class.transmit.demand = unseen;
        class.transmit.limit = None;
        self.begin_anew(place);
        self.set_root(place, act);
    }
}

/// Load of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineUse {
    Full,
    Spare,
}

fn fullness(used: Rate, line: Rate) -> LineUse {
    if fills(used, line) { LineUse::Full } else { LineUse::Spare }
}

/// A capacity counts as full as a limit does in [`EstimatorParams`], from 90 % on.
fn fills(used: Rate, capacity: Rate) -> bool {
    let percent = u128::from(EstimatorParams::RACK.full_percent);
    u128::from(used.bits_per_second()) * 100 >= u128::from(capacity.bits_per_second()) * percent
}

impl Transmit {
    /// Returns the estimated demand of the class after an interval.
    fn observe(&mut self, now: Time, elapsed: Time, line: LineUse) -> Rate {
        let usage = utilisation(std::mem::take(&mut self.sent), elapsed);
        let root = self.bucket.map(|bucket| bucket.rate);
        // It has waited all the time for a full line: its usage is limited by the line.
        let held = line == LineUse::Full && !self.waiting.paused && !self.waiting.is_empty();
        let limit = root.or(held.then_some(usage));
        let demand = self.demand.observe(now, UsageObservation { usage, limit });
        self.waiting.paused = self.waiting.is_empty();
        match self.waiting.most() {
            Some(most) => demand.min(most.max(usage)),
            None => demand,
        }
    }
}
