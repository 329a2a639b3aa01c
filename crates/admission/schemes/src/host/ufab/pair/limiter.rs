//! The limiter of a pair: its part of the receiver's maximum, and of its sender's.

use wayleave_scheme_api::{HopWindow, HostAction, Limiter, MaxGrant, Outgoing};
use wayleave_units::Rate;

use super::super::{Action, bucket, maxima};
use super::{PairContext, SendingPair};

impl SendingPair {
    /// Returns the rate that the pair could use of maxima, in bit/s, if that is less than it may. It is twice its
    /// sending rate, so that it can grow, and at least its part of the minimum. A pair with a full limiter does not
    /// send less of its own accord.
    fn could_use(&self) -> Option<u64> {
        let limit = self.limit_rate();
        let sends =
            if self.wants { self.sends_less()? } else { self.in_use.iter().map(|&path| self.sends(path)).sum() };
        match limit {
            Some(0) if !self.wants => Some(0),
            Some(limit) if self.wants && sends.saturating_mul(2) >= limit => None,
            _ => Some(sends.saturating_mul(2).max(self.part())),
        }
    }

    /// Returns the part of the sender's maximum that the pair can use: none above what its receiver grants.
    pub(in crate::host::ufab) fn demand(&self) -> u64 {
        let bounds = self.could_use().into_iter().chain(self.allowance.bound());
        bounds.min().unwrap_or(u64::MAX)
    }

    /// Sets the level up to which the sender's maximum is divided; the pair requests this rate of its receiver.
    pub(in crate::host::ufab) fn level(&mut self, level: Option<u64>) {
        self.level = level;
        let wants = if self.is_limited() { self.could_use() } else { None };
        self.allowance.want(wants.into_iter().chain(level).min().unwrap_or(u64::MAX));
    }

    /// Returns `true` if the receiver grants parts of a maximum.
    pub(in crate::host::ufab) fn is_limited(&self) -> bool {
        self.limit_rate().is_some()
    }

    pub(super) fn limit_rate(&self) -> Option<u64> {
        self.allowance.limit(self.hose.receive.max.is_some())
    }

    /// The pair's limiter lets through what its receiver grants. The sender's own limiter is one of the class.
    pub(in crate::host::ufab) fn limit(&mut self, pair: Outgoing, act: &mut dyn FnMut(Action)) {
        let limit = self.limit_rate().map(|rate| Rate::from_bits_per_second(rate.max(1)));
        if limit != std::mem::replace(&mut self.limit, limit) {
            act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket: limit.map(bucket) });
        }
    }

    /// Sends a request for a part of the receiver's maximum if one is due. A pair that has had nothing to send for a round trip releases its part.
    pub(in crate::host::ufab) fn renew(&mut self, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        let has_ended = !self.wants && around.now.saturating_sub(self.ended_at) >= self.longest_round_trip();
        let releases = has_ended && self.limit_rate().is_some_and(|rate| rate > 0);
        if releases {
            self.allowance.release();
            self.level(self.level);
        }
        let lease = maxima::lease(self.longest_round_trip(), around.settings);
        let is_due = self.allowance.is_due(around.now, lease, self.longest_round_trip());
        self.limit(around.pair, act);
        if releases || is_due && self.wants {
            self.ask(around, act);
        }
    }

    /// Sends a probe that carries a request, and which ports do not count.
    pub(super) fn ask(&mut self, around: &mut PairContext<'_>, act: &mut dyn FnMut(Action)) {
        let Some(&path) = self.in_use.first() else { return };
        self.allowance.asked(around.now);
        let probe = self.candidate(around.settings);
        act(HostAction::SendProbe { pair: around.pair, path, probe, windows: vec![HopWindow::default()] });
    }

    /// The receiver has answered with the pair's part of its maximum.
    pub(super) fn granted(
        &mut self,
        grant: Option<MaxGrant>,
        around: &mut PairContext<'_>,
        act: &mut dyn FnMut(Action),
    ) {
        let had = self.limit_rate();
        let mut is_less = self.allowance.answered(around.now, grant);
        if !self.is_active() || !self.wants && had == Some(0) {
            is_less = self.limit_rate().is_some_and(|rate| rate > 0);
            self.allowance.release();
        }
        self.limit(around.pair, act);
        if is_less {
            self.ask(around, act);
        }
    }
}
