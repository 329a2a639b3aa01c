//! The control law of one tunnel (III-B): from shares of marks to a rate.
//!
//! What is kept is the root y of the tunnel's **level**, the rate for each unit of weight. A period whose share of marked bytes is F makes of it
//!
//! ```text
//! y <- y + step (1 - F) - y cut F            R = W y^2 (1 - relief F)
//! ```
//!
//! All tunnels of a bottleneck that see the same marks come to the same y, and so to rates in proportion to their weights (docs/scc.md
//! has the proof). Both terms are linear in F, so F may be measured on any number of packets: a tunnel of less than a packet in a period
//! finds the same y in the mean. The relief passes with its marks: it keeps the queue near its threshold, which a rate that only follows y would
//! cross in ever wider swings. Why this form and not that of DCTCP: decision 067.

use super::params::{Law, Params};

/// One, as roots and levels count.
pub(super) const ONE: u64 = 1 << 32;

/// One, as shares of marks count.
pub(super) const WHOLE: u64 = 1 << 16;

/// Below this average of marks, a 64th, a path counts as free.
const FREE: u64 = WHOLE / 64;

/// Above this average of marks, a 16th, others want the path too, so its level says what can be had even if the tunnel does not ask for it.
const CONTENDED: u64 = WHOLE / 16;

/// On a free path the root grows by a 16th of itself in a period, so the rate by an 8th.
const FREE_GROWTH: u64 = 16;

/// After so many fully marked periods in a row, which a queue near its threshold does not last, the root falls by an eighth each,
/// so the rate by nearly a quarter.
const PRESSED: u32 = 5;
const PRESSED_CUT: u64 = 8;

/// Longer pauses than this many of its own count as this many.
const MOST_PERIODS: u64 = 4;

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
        let all = u128::from(bytes) + u128::from(lost);
        let bad = u128::from(marked.min(bytes)) + u128::from(lost);
        let marks = (bad * u128::from(WHOLE)).checked_div(all)? as u64;
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
enum Phase {
    /// Nothing is known of its path: its rate doubles until the first mark, as that of DCTCP does.
    Starting,
    /// It follows the marks.
    Steady,
    /// It was idle, and comes back to the level it had: for so many more periods it does not give way, so that those do that took its share.
    Returning(u32),
}

/// Where a tunnel stands in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    /// Its weight in bit/s.
    pub(super) weight: u64,
    /// No rate is lower, in bit/s.
    pub(super) floor: u64,
    /// The rate of the host's line.
    pub(super) line: u64,
}

/// The law's state of one tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Control {
    root: u64,
    /// The share of marks of the last period.
    marks: u64,
    /// Its average.
    alpha: u64,
    /// Fully marked periods in a row.
    pressed: u32,
    phase: Phase,
}

impl Control {
    /// A tunnel begins with its weight, which is a rate.
    pub(super) fn new() -> Self {
        Self { root: ONE, marks: 0, alpha: 0, pressed: 0, phase: Phase::Starting }
    }

    /// The rate in bit/s.
    pub(super) fn rate(&self, terms: Terms, params: &Params) -> u64 {
        let level = (u128::from(self.root) * u128::from(self.root)) >> 32;
        let rate = u64::try_from((u128::from(terms.weight) * level) >> 32).unwrap_or(u64::MAX).min(terms.line);
        let relief = match (params.law, self.phase) {
            (Law::Weighted, Phase::Steady) => u64::from(params.relief_percent) * self.marks,
            _ => 0,
        };
        (rate - part(rate, relief, 100 * WHOLE)).max(terms.floor)
    }

    /// The tunnel was idle for long and sends again.
    pub(super) fn wake(&mut self, periods: u32) {
        if self.phase == Phase::Steady {
            self.phase = Phase::Returning(periods);
        }
    }

    /// The other end has said nothing for long: the rate is halved.
    pub(super) fn halve(&mut self) {
        self.root = part(self.root, 70, 99).max(1);
    }

    /// A feedback arrives, so many periods after the one before.
    pub(super) fn on_period(&mut self, period: Period, periods: u64, usage: Use, terms: Terms, params: &Params) {
        let before = self.root;
        match params.law {
            Law::Weighted => self.by_weight(period, periods.clamp(1, MOST_PERIODS), usage, params),
            Law::AsPrinted => self.as_printed(period, usage, terms),
        }
        self.marks = period.marks;
        self.alpha = self.alpha - (self.alpha >> params.smoothing) + (period.marks >> params.smoothing);
        // A rate that cannot change any more must not leave its level behind it. That of a small weight may be below the floor: it
        // is what the weight will be multiplied with when it grows.
        let [least, most] = [terms.floor, terms.line].map(|rate| root_of(rate, terms.weight));
        self.root = self.root.max(least.min(before)).min(most.max(1));
    }

    fn by_weight(&mut self, Period { marks, loss }: Period, periods: u64, usage: Use, params: &Params) {
        self.pressed = if marks == WHOLE { self.pressed.saturating_add(1) } else { 0 };
        if loss == Loss::Some {
            // What is lost is worse than what is marked: DCTCP halves.
            self.phase = Phase::Steady;
            return self.halve();
        }
        match self.phase {
            Phase::Starting if marks == 0 => {
                if usage == Use::Full {
                    self.root = part(self.root, 99, 70);
                }
                return;
            }
            Phase::Starting => {
                self.phase = Phase::Steady;
                self.alpha = WHOLE;
                return self.halve();
            }
            Phase::Returning(left) => {
                self.phase = left.checked_sub(1).map_or(Phase::Steady, Phase::Returning);
                return;
            }
            Phase::Steady => {}
        }
        let step = ONE / 100 * u64::from(params.step_percent);
        let grown = match usage {
            Use::Partial if self.alpha < CONTENDED => 0,
            Use::Full | Use::Partial => part(step, WHOLE - marks, WHOLE),
        };
        let cut = match self.pressed {
            0..=PRESSED => part(self.root, u64::from(params.cut_percent) * marks, 100 * WHOLE),
            _ => self.root / PRESSED_CUT,
        };
        let change = |of: u64| of.saturating_mul(periods);
        self.root = self.root.saturating_add(change(grown)).saturating_sub(change(cut)).max(1);
    }

    /// Equations 1 and 2, where the weight is a part of the line.
    fn as_printed(&mut self, Period { marks, .. }: Period, usage: Use, Terms { weight, line, .. }: Terms) {
        let level = part(self.root, self.root, ONE);
        let by = |alpha: u64| part(part(level, weight, line), alpha, WHOLE);
        let level = match (marks, usage) {
            (0, Use::Full) => level.saturating_add(by(WHOLE)),
            (0, Use::Partial) => level,
            (marks, _) => level.saturating_sub(by(marks)),
        };
        self.root = (u128::from(level) << 32).isqrt().max(1) as u64;
    }
}

/// `of numerator / denominator`.
fn part(of: u64, numerator: u64, denominator: u64) -> u64 {
    let whole = u128::from(of) * u128::from(numerator) / u128::from(denominator.max(1));
    u64::try_from(whole).unwrap_or(u64::MAX)
}

/// The root of the level at which a weight has a rate.
fn root_of(rate: u64, weight: u64) -> u64 {
    let level = (u128::from(rate) << 64) / u128::from(weight.max(1));
    u64::try_from(level.isqrt()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
