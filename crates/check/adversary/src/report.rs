//! Observations and violations.

use std::fmt;

use wayleave_sim::stats::Histogram;
use wayleave_units::Time;

use crate::attack::Attack;
use crate::claim::AdmittedClaim;
use crate::run::{LossRule, PromiseObservation, ProtectionObservation};

/// The outcome of a verification.
#[derive(Clone, Debug, Default)]
pub struct Verification {
    /// One for each promise, in the order of the claim.
    pub findings: Vec<PromiseFinding>,
    /// Violations; for each promise and kind, the worst. Those of attacked promises come first.
    pub violations: Vec<AttackViolation>,
    /// Runs of the simulator.
    pub runs: u64,
    /// Packets put on links in all of them.
    pub packet_hops: u64,
    /// One for each protected contract, in the order of the claim.
    pub protected: Vec<ProtectedFinding>,
    /// Packets that were lost where nothing was promised: of contracts with one route, or with none that was left.
    pub unprotected_losses: u64,
    /// Planned number of runs, if the verification was stopped before all were made.
    pub stopped_of: Option<u64>,
}

/// Observations about one protected contract while links and switches failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProtectedFinding {
    /// Runs in which at least one of its routes failed, and at least one was left.
    pub cuts: u64,
    /// Packets that were handed up in these.
    pub packets: u64,
    /// Packets of which no copy arrived.
    pub lost: u64,
}

/// The worst that was seen of one promise.
#[derive(Clone, Debug, Default)]
pub struct PromiseFinding {
    /// The longest that a packet took, in ps, from release to the last bit at the receiver.
    pub delay_ps: u64,
    /// Of all packets in all runs, in ps, from release to the last bit at the receiver.
    pub delays: Histogram,
    /// The attack that did it; `None` if no packet arrived.
    pub attack: Option<Attack>,
    /// Packets that arrived, in all runs.
    pub packets: u64,
    /// Packets that found no room in a buffer, in all runs.
    pub drops: u64,
}

/// Something that should not be.
#[derive(Clone, Debug)]
pub struct AttackViolation {
    /// Number of the promise in the claim.
    pub promise: usize,
    /// The breach.
    pub breach: Breach,
    /// Attack that reproduces it.
    pub attack: Attack,
}

/// Kind of a breach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breach {
    /// A packet took longer than was promised.
    Late {
        /// In ps.
        delay_ps: u64,
        /// The promise.
        bound: Time,
    },
    /// A packet exceeded the calculus for the present set: the promise still holds, the proof does not.
    Unproven {
        /// In ps.
        delay_ps: u64,
        /// Delay by the calculus.
        today: Time,
    },
    /// Packets found no room in a buffer.
    Dropped {
        /// Number in one run.
        packets: u64,
    },
    /// Packets of which no copy arrived, though one of their routes was whole.
    Lost {
        /// Number in one run.
        packets: u64,
    },
}

impl PromiseFinding {
    /// The longest that a packet took, rounded up to whole ns.
    pub fn delay(&self) -> Time {
        in_time(self.delay_ps)
    }
}

/// ps in whole ns, rounded up.
pub(crate) fn in_time(ps: u64) -> Time {
    Time::from_nanos(ps.div_ceil(1_000))
}

impl Breach {
    const fn kind(self) -> u8 {
        match self {
            Self::Late { .. } => 0,
            Self::Unproven { .. } => 1,
            Self::Dropped { .. } => 2,
            Self::Lost { .. } => 3,
        }
    }

    const fn size(self) -> u64 {
        match self {
            Self::Late { delay_ps, .. } | Self::Unproven { delay_ps, .. } => delay_ps,
            Self::Dropped { packets } | Self::Lost { packets } => packets,
        }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Late { delay_ps, bound } => {
                write!(f, "a packet took {:#}, above the guaranteed {bound:#}", in_time(delay_ps))
            }
            Self::Unproven { delay_ps, today } => {
                write!(f, "a packet took {:#}, above the current bound of {today:#}", in_time(delay_ps))
            }
            Self::Dropped { packets: 1 } => f.write_str("a packet was dropped at a full buffer"),
            Self::Dropped { packets } => write!(f, "{packets} packets were dropped at full buffers"),
            Self::Lost { packets: 1 } => {
                f.write_str("no copy of a packet arrived, although one of its routes was intact")
            }
            Self::Lost { packets } => {
                write!(f, "no copy of {packets} packets arrived, although one of their routes was intact")
            }
        }
    }
}

impl Verification {
    pub(crate) fn new(claim: &AdmittedClaim) -> Self {
        Self {
            findings: vec![PromiseFinding::default(); claim.promises.len()],
            protected: vec![ProtectedFinding::default(); claim.protected.len()],
            ..Self::default()
        }
    }

    /// Returns `true` if all promises held.
    pub fn is_sound(&self) -> bool {
        self.violations.is_empty()
    }

    /// The promise that came closest to its limit: `None` if nothing arrived at all.
    pub fn closest(&self, claim: &AdmittedClaim) -> Option<usize> {
        let seen = (0..self.findings.len()).filter(|&number| self.findings[number].delay_ps > 0);
        seen.max_by(|&a, &b| self.share(claim, a).total_cmp(&self.share(claim, b)))
    }

    /// Returns the worst observed delay of a promise, relative to the present delay by the calculus (or to the
    /// promise).
    pub fn share(&self, claim: &AdmittedClaim, promise: usize) -> f64 {
        let limit = claim.promises[promise].limit().as_nanos().max(1);
        self.findings[promise].delay_ps as f64 / (limit as f64 * 1e3)
    }

    /// Adds what a run shows.
    pub(crate) fn add(&mut self, claim: &AdmittedClaim, seen: &[PromiseObservation], attack: &Attack) {
        for seen in seen {
            let finding = &mut self.findings[seen.promise];
            finding.delays.merge(&seen.delays);
            finding.packets += seen.packets;
            let drops = if seen.loses == LossRule::Nothing { seen.drops } else { 0 };
            finding.drops += drops;
            if seen.packets > 0 && (seen.delay_ps > finding.delay_ps || finding.attack.is_none()) {
                finding.delay_ps = seen.delay_ps;
                finding.attack = Some(attack.clone());
            }
            let promise = &claim.promises[seen.promise];
            let is_beyond = |limit: Time| u128::from(seen.delay_ps) > u128::from(limit.as_nanos()) * 1_000;
            if is_beyond(promise.bound) {
                self.violate(seen.promise, Breach::Late { delay_ps: seen.delay_ps, bound: promise.bound }, attack);
            } else if let Some(today) = promise.today.filter(|&today| is_beyond(today)) {
                self.violate(seen.promise, Breach::Unproven { delay_ps: seen.delay_ps, today }, attack);
            }
            if drops > 0 {
                self.violate(seen.promise, Breach::Dropped { packets: drops }, attack);
            }
            if seen.loses == LossRule::WhatFails {
                self.unprotected_losses += seen.drops;
            }
        }
    }

    /// Adds what a run with failures shows of protected contracts.
    pub(crate) fn add_protected(&mut self, claim: &AdmittedClaim, kept: &[ProtectionObservation], attack: &Attack) {
        for kept in kept {
            if kept.is_any_left {
                let finding = &mut self.protected[kept.group];
                finding.cuts += u64::from(kept.is_any_cut);
                finding.packets += kept.packets;
                finding.lost += kept.lost;
                if kept.lost > 0 {
                    let promise = claim.protected[kept.group].routes[0];
                    self.violate(promise, Breach::Lost { packets: kept.lost }, attack);
                }
            } else {
                self.unprotected_losses += kept.lost;
            }
        }
    }

    /// Sorts the violations: those of the attacked contract are most informative, so they come first.
    pub(crate) fn sorted(mut self) -> Self {
        // The sort is stable.
        self.violations.sort_by_key(|violation| violation.attack.victim() != Some(violation.promise));
        self
    }

    fn violate(&mut self, promise: usize, breach: Breach, attack: &Attack) {
        let same = |known: &&mut AttackViolation| known.promise == promise && known.breach.kind() == breach.kind();
        match self.violations.iter_mut().find(same) {
            Some(known) if known.breach.size() >= breach.size() => {}
            Some(known) => (known.breach, known.attack) = (breach, attack.clone()),
            None => self.violations.push(AttackViolation { promise, breach, attack: attack.clone() }),
        }
    }
}
