//! Guarantees: the share of each end's hoses that its pairs get, and the messages about it between both ends.

use wayleave_scheme_api::{ClassId, HostAction, Incoming, Outgoing, Peer, Share};
use wayleave_sharing::{DemandEstimator, EstimatorParams, UsageObservation};
use wayleave_units::{Rate, Time};

use super::partition::partition;
use super::rate::Entitlement;
use super::{Action, Activity, Class, Clock, ElasticSwitch, Message, Receiving, SendingPair, Timer};

impl ElasticSwitch {
    /// A class's minimum, as far as the line can keep all of them beside its headroom.
    pub(super) fn hose(&self, class: ClassId, of: fn(&Class) -> Share) -> u64 {
        let minimum = |class: &Class| u128::from(of(class).min.bits_per_second());
        let wanted = self.classes.get(&class).map_or(0, minimum);
        let all: u128 = self.classes.values().map(minimum).sum();
        let keep = u128::from(100 - self.params.headroom_percent.min(100));
        let there = u128::from(self.line.bits_per_second()) * keep / 100;
        let kept = if all > there { wanted * there / all } else { wanted };
        u64::try_from(kept).unwrap_or(u64::MAX)
    }

    /// Returns the entitlement of a pair. A pair without a guarantee still has a minimum weight.
    pub(super) fn entitled(&self, sending: &SendingPair) -> Entitlement {
        let units = self.classes.get(&sending.class).map_or(1, |class| class.transmit.weight.max(1));
        let least = self.params.least.bits_per_second().saturating_mul(units.into());
        let weight = sending.guarantee.max(Rate::from_bits_per_second(least).min(self.line));
        Entitlement { guarantee: sending.guarantee, weight, line: self.line }
    }

    /// Divides a class's hose among what it sends.
    pub(super) fn divide_outgoing(&mut self, class: ClassId) {
        let hose = self.hose(class, |class| class.transmit);
        let Some(pairs) = self.classes.get(&class).map(|class| &class.outgoing) else { return };
        let line = self.line;
        let (sending, bounds) = (&mut self.sending, &mut self.bounds);
        bounds.clear();
        bounds.extend(pairs.iter().map(|pair| {
            let pair = sending.get(pair.index()).and_then(Option::as_ref);
            pair.map_or(0, |pair| pair.demand(line).min(pair.granted.unwrap_or(line)).bits_per_second())
        }));
        partition(hose, bounds, &mut self.parts);
        for (pair, &part) in pairs.iter().zip(&self.parts) {
            if let Some(Some(pair)) = sending.get_mut(pair.index()) {
                pair.offered = Rate::from_bits_per_second(part);
                pair.guarantee = pair.offered.min(pair.granted.unwrap_or(line)).min(pair.demand(line));
            }
        }
    }

    /// Divides a class's hose among what it receives; the parts are in the order of its pairs.
    pub(super) fn divide_incoming(&mut self, class: ClassId) {
        let hose = self.hose(class, |class| class.receive);
        let Some(pairs) = self.classes.get(&class).map(|class| &class.incoming) else { return };
        let receiving = &self.receiving;
        self.bounds.clear();
        self.bounds.extend(pairs.iter().map(|pair| {
            let pair = receiving.get(pair.index()).and_then(Option::as_ref);
            pair.map_or(0, |pair| pair.bound.bits_per_second())
        }));
        partition(hose, &self.bounds, &mut self.parts);
    }

    /// Sends a pair that arrives here its current share.
    pub(super) fn grant(&mut self, pair: Incoming, act: &mut impl FnMut(Action)) {
        let Some(&Some(Receiving { class, .. })) = self.receiving.get(pair.index()) else { return };
        self.divide_incoming(class);
        let pairs = self.classes.get(&class).map(|class| &class.incoming);
        let place = pairs.and_then(|pairs| pairs.iter().position(|&other| other == pair));
        if let Some(&part) = place.and_then(|place| self.parts.get(place)) {
            let message = Message::Grant { part: Rate::from_bits_per_second(part) };
            act(HostAction::Send { to: Peer::Sender(pair), message });
        }
    }

    /// Partitions the hoses again, and notifies both ends of every pair.
    pub(super) fn partition_all(&mut self, now: Time, act: &mut impl FnMut(Action)) {
        let Clock::Running { since } = self.partitions else { return };
        let elapsed = now.saturating_sub(since);
        self.retire(now);
        let classes: Vec<ClassId> = self.classes.keys().copied().collect();
        for class in classes {
            let outgoing = self.classes.get(&class).map_or_else(Vec::new, |class| class.outgoing.clone());
            for &pair in &outgoing {
                self.observe(now, pair, elapsed);
            }
            self.divide_outgoing(class);
            for pair in outgoing {
                self.offer(pair, act);
            }
            self.divide_incoming(class);
            let incoming = self.classes.get(&class).map_or([].as_slice(), |class| &class.incoming);
            for (&pair, &part) in incoming.iter().zip(&self.parts) {
                let message = Message::Grant { part: Rate::from_bits_per_second(part) };
                act(HostAction::Send { to: Peer::Sender(pair), message });
            }
        }
        self.partitions = self.again(now, self.params.partition_period, Timer::Partition, act);
    }

    pub(super) fn observe(&mut self, now: Time, pair: Outgoing, elapsed: Time) {
        let estimator = EstimatorParams { period: self.params.partition_period, ..EstimatorParams::RACK };
        let Some(Some(sending)) = self.sending.get_mut(pair.index()) else { return };
        let usage = rate_of(std::mem::take(&mut sending.sent), elapsed);
        let limit = Some(sending.rate.rate());
        sending.demand.get_or_insert(DemandEstimator::new(estimator)).observe(now, UsageObservation { usage, limit });
    }

    pub(super) fn offer(&mut self, pair: Outgoing, act: &mut impl FnMut(Action)) {
        let line = self.line;
        let Some(Some(sending)) = self.sending.get_mut(pair.index()) else { return };
        sending.rate.guarantee(sending.guarantee);
        let message = Message::Offer { part: sending.offered, demand: sending.demand(line) };
        act(HostAction::Send { to: Peer::Receiver(pair), message });
        self.set_limit(pair, act);
    }

    /// Pairs that have moved nothing for long take no part.
    pub(super) fn retire(&mut self, now: Time) {
        let idle = self.params.idle;
        let rests = |activity: &mut Activity| match *activity {
            Activity::Active { last } if now.saturating_sub(last) < idle => false,
            _ => {
                *activity = Activity::Idle;
                true
            }
        };
        for class in self.classes.values_mut() {
            let (sending, receiving) = (&mut self.sending, &mut self.receiving);
            class.outgoing.retain(|pair| match sending.get_mut(pair.index()) {
                Some(Some(pair)) => !rests(&mut pair.activity),
                _ => false,
            });
            class.incoming.retain(|pair| match receiving.get_mut(pair.index()) {
                Some(Some(pair)) => !rests(&mut pair.activity),
                _ => false,
            });
        }
    }
}

/// Returns the amount sent in a time, as a rate.
fn rate_of(bytes: u64, elapsed: Time) -> Rate {
    let bits = u128::from(bytes) * 8_000_000_000 / u128::from(elapsed.as_nanos().max(1));
    u64::try_from(bits).map_or(Rate::MAX, |bits| Rate::from_bits_per_second(bits).min(Rate::MAX))
}
