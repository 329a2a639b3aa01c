//! A division at one host: the sum of its tunnels' reference weights, the tracker's answer, and the resulting weights
//! (equation 4).

use wayleave_scheme_api::BrokerId;

use super::message::ReplyRequest;
use super::params::Params;

/// Last answer of the tracker, equation 3 as a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scale {
    /// W_d.
    share: u64,
    /// Sum of the reference weights at other hosts.
    others: u64,
}

/// A division at one host.
#[derive(Clone, Debug)]
pub(super) struct Division {
    /// W_d by the policy, until the tracker sends another one.
    share: u64,
    /// Number of hosts that it can send from.
    hosts: u64,
    /// Its trackers, the first to follow first.
    trackers: Vec<BrokerId>,
    /// Index of the tracker that is followed.
    leader: usize,
    /// Reports without an answer, of the tracker that is followed.
    unanswered: u32,
    /// Reports since the last answer of any.
    silent: u32,
    scale: Option<Scale>,
    /// The sum of the reference weights here.
    own: u128,
    /// As it was reported last.
    reported: u64,
}

impl Division {
    pub(super) fn new(share: u64, hosts: usize, trackers: Vec<BrokerId>) -> Self {
        let hosts = (hosts as u64).max(1);
        Self { share, hosts, trackers, leader: 0, unanswered: 0, silent: 0, scale: None, own: 0, reported: 0 }
    }

    /// Returns W_d by the policy.
    pub(super) fn share(&self) -> u64 {
        self.share
    }

    /// A tunnel would like another weight than before.
    pub(super) fn change(&mut self, before: u64, after: u64) {
        self.own = self.own - u128::from(before) + u128::from(after);
    }

    /// Returns the sum of the reference weights here.
    pub(super) fn own(&self) -> u64 {
        u64::try_from(self.own).unwrap_or(u64::MAX)
    }

    /// Returns `true` if there is something to report: a sum, or that the sum has become zero.
    pub(super) fn has_report(&self) -> bool {
        self.own > 0 || self.reported > 0
    }

    /// Returns the trackers to report to now, and if each is to answer. A tracker that is silent for too long is
    /// replaced.
    pub(super) fn report(&mut self, params: &Params) -> impl Iterator<Item = (BrokerId, ReplyRequest)> + '_ {
        if self.own > 0 {
            self.unanswered += 1;
            self.silent = self.silent.saturating_add(1);
        }
        if self.unanswered > params.tracker_timeout {
            self.unanswered = 1;
            self.leader = (self.leader + 1) % self.trackers.len().max(1);
        }
        self.reported = self.own();
        let leader = self.leader;
        let answer = move |place| if place == leader { ReplyRequest::Wanted } else { ReplyRequest::Needless };
        self.trackers.iter().enumerate().map(move |(place, &tracker)| (tracker, answer(place)))
    }

    /// Stores a tracker's answer, which replaces the last one.
    pub(super) fn on_scale(&mut self, from: BrokerId, (share, sum, own): (u64, u64, u64)) {
        if self.trackers.get(self.leader) == Some(&from) {
            self.unanswered = 0;
        }
        self.silent = 0;
        self.scale = Some(Scale { share, others: sum.saturating_sub(own) });
    }

    /// Returns the weight of a tunnel with this reference weight, in bit/s: lambda W'. Returns `None` if the
    /// reference weight is zero; the tunnel then keeps its weight. The last answer remains valid while reports are
    /// unanswered, for the time that it takes to find another tracker. A host that becomes active again has not asked
    /// yet, and begins with its last answer.
    pub(super) fn weight(&self, reference: u64, params: &Params) -> Option<u64> {
        if reference == 0 {
            return None;
        }
        let rounds = params.tracker_timeout.saturating_mul(1 + self.trackers.len() as u32);
        let (share, others) = match self.scale {
            Some(scale) if self.silent <= rounds => (scale.share, scale.others),
            _ => (self.unscaled(), 0),
        };
        Some(scaled(share, reference, self.own.saturating_add(others.into())))
    }

    /// Returns the initial weight of a tunnel that has not reported a reference weight yet; it reports one with its
    /// first packet.
    pub(super) fn first_weight(&self) -> u64 {
        self.unscaled()
    }

    /// Returns a host's part of the share while it has no information on others: an equal part. More would be too
    /// much if all hosts begin together.
    fn unscaled(&self) -> u64 {
        self.scale.map_or(self.share, |scale| scale.share) / self.hosts
    }
}

/// `share reference / sum`; never more than the share, also where the sum does not have the reference yet.
fn scaled(share: u64, reference: u64, sum: u128) -> u64 {
    let part = u128::from(share) * u128::from(reference) / sum.max(reference.into()).max(1);
    u64::try_from(part).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
