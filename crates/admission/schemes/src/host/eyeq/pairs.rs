//! Pairs: feedback to senders, and the limiters that it sets.

use wayleave_scheme_api::{Arrivals, Bucket, ExcessAction, HostAction, Incoming, Limiter, Outgoing, PairSpec, Peer};
use wayleave_units::{Rate, Time};

use crate::sparse;
use super::class::{Backlog, Receiving, SendingPair};
use super::{Action, Eyeq, Feedback, Timer};

impl Eyeq {
    /// Counts arrivals of a class; a sample of them triggers feedback of R to the sender.
    #[inline]
    pub(super) fn receive(&mut self, now: Time, pair: Incoming, arrivals: Arrivals, act: &mut impl FnMut(Action)) {
        let Some(Some(receiving)) = self.receiving.get_mut(pair.index()) else { return };
        let (place, weight, last_sent) = (receiving.class, receiving.weight, receiving.last_sent);
        self.wake(now, place, act);
        let receive = &mut self.classes[place].receive;
        receive.total += arrivals.bytes;
        receive.meter.count(arrivals);
        receive.unsampled = receive.unsampled.saturating_add(arrivals.bytes.get());
        let sample = self.params.sample.get().max(1);
        let sampled = receive.unsampled >= sample;
        let rate = receive.meter.rate().bits_per_second().saturating_mul(weight);
        if sampled || self.params.staleness.is_stale(last_sent, rate, now.saturating_sub(receive.last_sent_at)) {
            receive.last_sent_at = now;
            if sampled {
                receive.unsampled %= sample;
            }
            if let Some(Some(receiving)) = self.receiving.get_mut(pair.index()) {
                receiving.last_sent = rate;
            }
            let message = Feedback { rate: Rate::from_bits_per_second(rate).min(Rate::MAX) };
            act(HostAction::Send { to: Peer::Sender(pair), message });
        }
    }

    /// Handles a receiver's feedback: the rate that a pair may send.
    pub(super) fn on_feedback(&mut self, now: Time, pair: Outgoing, rate: Rate, act: &mut impl FnMut(Action)) {
        let Some(Some(sending)) = self.sending.get_mut(pair.index()) else { return };
        sending.last_feedback = now;
        if sending.limit.is_none() {
            let timer = Timer::Silence { pair, epoch: sending.epoch };
            act(HostAction::Arm { at: now + self.params.silence, timer });
        }
        self.limit_pair(pair, Some(rate), act);
    }

    /// Sets the limiter of a pair, if it is another than before.
    pub(super) fn limit_pair(&mut self, pair: Outgoing, limit: Option<Rate>, act: &mut impl FnMut(Action)) {
        let Some(Some(sending)) = self.sending.get_mut(pair.index()) else { return };
        if sending.limit == limit {
            return;
        }
        if sending.demand == Backlog::Something {
            let waiting = &mut self.classes[sending.class].transmit.waiting;
            // The new one first: the class has not paused.
            waiting.add(limit);
            waiting.remove(sending.limit);
        }
        sending.limit = limit;
        let bucket = limit.map(|rate| Bucket { rate, burst: self.params.pair_burst, excess: ExcessAction::Waits });
        act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket });
    }

    /// A pair begins to have something to send, or has sent it all.
    pub(super) fn set_backlog(&mut self, pair: Outgoing, demand: Backlog) {
        let Some(Some(sending)) = self.sending.get_mut(pair.index()) else { return };
        let waiting = &mut self.classes[sending.class].transmit.waiting;
        match (std::mem::replace(&mut sending.demand, demand), demand) {
            (Backlog::Nothing, Backlog::Something) => waiting.add(sending.limit),
            (Backlog::Something, Backlog::Nothing) => waiting.remove(sending.limit),
            _ => {}
        }
    }

    pub(super) fn open(&mut self, now: Time, pair: Outgoing, spec: &PairSpec) {
        let class = self.place(spec.class);
        self.epochs = self.epochs.wrapping_add(1);
        // It is about to send, and no receiver limits it.
        let sending =
            SendingPair { class, demand: Backlog::Something, limit: None, last_feedback: now, epoch: self.epochs };
        sparse::set(&mut self.sending, pair.index(), sending);
        self.classes[class].transmit.waiting.add(None);
    }

    pub(super) fn open_incoming(&mut self, pair: Incoming, spec: &PairSpec) {
        let class = self.place(spec.class);
        let weight = self.params.weight_of(spec.peer_class);
        let receiving = Receiving { class, weight, last_sent: self.receive.capacity().bits_per_second() };
        sparse::set(&mut self.receiving, pair.index(), receiving);
    }

    /// Lifts a limiter that has received no feedback for too long.
    pub(super) fn silence(&mut self, now: Time, pair: Outgoing, epoch: u32, act: &mut impl FnMut(Action)) {
        let Some(&Some(sending)) = self.sending.get(pair.index()) else { return };
        if sending.epoch != epoch || sending.limit.is_none() {
            return;
        }
        let at = sending.last_feedback + self.params.silence;
        if at > now {
            act(HostAction::Arm { at, timer: Timer::Silence { pair, epoch } });
        } else {
            self.limit_pair(pair, None, act);
        }
    }
}
