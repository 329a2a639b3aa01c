//! The control law of one tunnel (III-B): from shares of marks to a rate.
//!
//! What is kept is the **level** x: the rate for each unit of weight, `R = W x`. A period whose share of marked bytes is F makes of it
//!
//! ```text
//! x <- x + step (1 - F) - x F alpha / 2        alpha <- alpha + g (F - alpha)
//! ```
//!
//! so a period without marks adds `step W` to the rate, one with nothing but marks takes `alpha / 2` off it, and one
//! between them does both in part. All tunnels of a bottleneck that see the same marks come to the same level, and so to rates in
//! proportion to their weights (docs/scc.md has the proof). That needs an F which is right in the mean also for a tunnel of
//! less than a packet in a period: what nothing was heard of changes nothing, and alpha is the average before this period, so
//! that it does not depend on the packet that it is multiplied with.

use super::params::{Law, Params};

/// One, as levels count.
pub(super) const ONE: u64 = 1 << 32;

/// One, as shares of marks count.
const WHOLE: u64 = 1 << 16;

/// Below this average of marks, a 64th, a path counts as free: after fifty periods without a mark at the most.
const FREE: u64 = WHOLE / 64;

/// Above this average of marks, a 16th, others want the path too, so its level says what can be had even if the tunnel does not ask for it.
const CONTENDED: u64 = WHOLE / 16;

/// What happened to a tunnel in a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    /// The share of marked bytes, in parts of 65,536.
    marks: u64,
    /// Whether something was lost.
    loss: Loss,
}

/// Whether something was lost in a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    None,
    Some,
}

impl Period {
    /// Of so many bytes, of which so many were marked, and so many lost beside. `None`: nothing was sent.
    pub(super) fn of(bytes: u64, marked: u64, lost: u64) -> Option<Self> {
        let all = bytes.saturating_add(lost);
        let bad = marked.min(bytes).saturating_add(lost);
        let marks = (u128::from(bad) * u128::from(WHOLE)).checked_div(u128::from(all))? as u64;
        Some(Self { marks, loss: if lost > 0 { Loss::Some } else { Loss::None } })
    }
}

/// Whether a tunnel sends what it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// All of it.
    Full,
    /// Less.
    Partial,
}

/// How a tunnel looks for its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing is known of its path: it doubles until the first mark, as DCTCP does.
    Starting,
    /// It follows the marks.
    Steady,
    /// It was idle, and comes back to the level it had: for so many more periods it does not give way, so that those do that took its share.
    Returning(u32),
}

/// The law's state of one tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Control {
    level: u64,
    alpha: u64,
    phase: Phase,
}

/// Where the law has to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    /// In bit/s.
    pub(super) floor: u64,
    /// The rate of the host's line.
    pub(super) line: u64,
}

impl Control {
    /// A tunnel begins with its weight, which is a rate.
    pub(super) fn new() -> Self {
        Self { level: ONE, alpha: WHOLE, phase: Phase::Starting }
    }

    /// The rate for a weight, both in bit/s.
    pub(super) fn rate(&self, weight: u64, range: Range) -> u64 {
        let rate = (u128::from(weight) * u128::from(self.level)) >> 32;
        u64::try_from(rate).unwrap_or(u64::MAX).min(range.line).max(range.floor)
    }

    /// The tunnel was idle for long and sends again.
    pub(super) fn wake(&mut self, periods: u32) {
        if self.phase == Phase::Steady {
            self.phase = Phase::Returning(periods);
        }
    }

    /// The other end has said nothing for long: the rate is halved.
    pub(super) fn halve(&mut self) {
        self.level = (self.level / 2).max(1);
    }

    /// A feedback arrives.
    pub(super) fn on_period(&mut self, period: Period, weight: u64, usage: Use, range: Range, params: &Params) {
        let level = self.level;
        match params.law {
            Law::Weighted => self.by_weight(period, usage, params),
            Law::AsPrinted => self.as_printed(period, weight, usage, range),
        }
        let before = self.alpha;
        self.alpha = before - (before >> params.smoothing) + (period.marks >> params.smoothing);
        // A rate that cannot change any more must not leave its level behind it. That of a small weight may be below the floor: it
        // is what the weight will be multiplied with when it grows.
        let [least, most] = [range.floor, range.line].map(|rate| level_of(rate, weight));
        self.level = self.level.max(least.min(level)).min(most.max(1));
    }

    fn by_weight(&mut self, Period { marks, loss }: Period, usage: Use, params: &Params) {
        match self.phase {
            Phase::Starting if marks == 0 => {
                if usage == Use::Full {
                    self.level = self.level.saturating_mul(2);
                }
                return;
            }
            Phase::Starting => {
                self.alpha = WHOLE;
                self.phase = Phase::Steady;
            }
            Phase::Steady if marks == 0 && self.alpha < FREE && usage == Use::Full => {
                self.phase = Phase::Starting;
                return;
            }
            Phase::Returning(periods) if loss == Loss::None => {
                self.phase = periods.checked_sub(1).map_or(Phase::Steady, Phase::Returning);
                return;
            }
            Phase::Returning(_) => self.phase = Phase::Steady,
            Phase::Steady => {}
        }
        // What is lost is worse than what is marked: DCTCP halves.
        let alpha = if loss == Loss::Some { WHOLE } else { self.alpha };
        let cut = u128::from(self.level) * u128::from(marks) * u128::from(alpha) / (2 * u128::from(WHOLE * WHOLE));
        let step = ONE / 100 * u64::from(params.step_percent);
        let grown = match usage {
            Use::Partial if self.alpha < CONTENDED => 0,
            Use::Full | Use::Partial => step / WHOLE * (WHOLE - marks),
        };
        self.level = self.level.saturating_add(grown).saturating_sub(cut as u64).max(1);
    }

    /// Equations 1 and 2, where the weight is a part of the line.
    fn as_printed(&mut self, Period { marks, .. }: Period, weight: u64, usage: Use, range: Range) {
        let part = |of: u64| {
            let change = u128::from(self.level) * u128::from(weight) * u128::from(of);
            u64::try_from(change / u128::from(range.line.max(1)) / u128::from(WHOLE)).unwrap_or(u64::MAX)
        };
        if marks > 0 {
            self.level = self.level.saturating_sub(part(self.alpha)).max(1);
        } else if usage == Use::Full {
            self.level = self.level.saturating_add(part(WHOLE));
        }
    }
}

/// The level at which a weight has a rate.
fn level_of(rate: u64, weight: u64) -> u64 {
    u64::try_from((u128::from(rate) << 32) / u128::from(weight.max(1))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
