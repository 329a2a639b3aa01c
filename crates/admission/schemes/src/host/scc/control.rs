//! The control law of one tunnel (III-B): from shares of marks to a rate.
//!
//! What is kept is the tunnel's **level** x: its rate for each unit of weight. A period whose share of marked bytes is F makes of it
//!
//! ```text
//! x <- x + step m (1 - F) - (cut x + brake b) F      R = W x (1 - relief F)
//! m = 1 from x = 1 on, 1 / x below, 4 at most;       b = x - 1 from x = 1 on, 1 at most
//! ```
//!
//! All tunnels of a bottleneck that see the same marks come to the same level, and so to rates in proportion to their weights (docs/theory/scc.md
//! has the proof). F enters linearly, so it may be measured on any number of packets: a tunnel of less than a packet in a period finds the
//! same level in the mean. The relief passes with its marks: it keeps the queue near its threshold, which a rate that only follows its level would
//! cross in ever wider swings. Why this form and not that of DCTCP: docs/theory/scc.md, "Control law".

use wayleave_units::Time;

use super::params::FRAME;
use super::params::{Params, RateLaw};

/// One, as levels count.
pub(super) const ONE: u64 = 1 << 32;

/// One, as shares of marks count.
pub(super) const WHOLE: u64 = 1 << 16;

/// Number of periods without marks on any arrival at the receiver's host after which steps grow (docs/theory/scc.md, "Choice of the
/// growth"): a queue near its threshold seldom pauses that long. The host decides and not the tunnel: a tunnel of few packets would find its
/// path free by chance, and get more than others.
const CLEAR: u64 = 12;

/// Number of such periods after which the path counts as free, and steps of a weight may be too small for it.
const FREE: u64 = 32;

/// Above this average of marks, a 16th, other tunnels compete for the path too. The level then shows the available
/// rate even if the tunnel does not use it.
const CONTENDED: u64 = WHOLE / 16;

/// On a free path the level grows by a 32nd of itself in a period, if that is more.
const FREE_GROWTH: u64 = 32;

/// No step is more than this part of the level: where the weights on a link are many times its rate, steps of a weight are too much for it.
const MAX_GROWTH: u64 = 8;

/// Number of fully marked periods in a row after which the level falls by a quarter, and again as soon as the effect
/// can show. A queue near its threshold is not marked that long.
const PRESSED: u32 = 16;
/// By a quarter.
const PRESSED_CUT: u64 = 4;

/// Approximate number of periods until a feedback shows the effect of a change: losses before that belong to the
/// previous rate.
const SETTLING: u32 = 5;

/// Maximum factor on the step of a tunnel below its weight, which is inverse to its level.
const MAX_BELOW: u64 = 4;

/// Feedbacks that are on average less than this many periods apart count in proportion to their time.
const DENSE: u64 = 4;

/// No feedback counts more than four.
const MAX_COUNTS: u64 = 4 << 8;

/// Feedback on a tunnel for a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    /// The share of marked bytes, in parts of 65,536.
    marks: u64,
    /// Bytes that arrived or were lost.
    bytes: u64,
    /// Number of periods, or of round trips if these are longer, without marks and losses on any arrival at the
    /// receiver's host.
    clear: u64,
    /// Presence of losses.
    loss: Loss,
}

/// Presence of losses in a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    None,
    Some,
}

impl Period {
    /// Creates a period from its arrived, marked and lost bytes, and from the number of periods in which nothing was
    /// marked at the receiver's host. Returns `None` if nothing was sent.
    pub(super) fn of((bytes, marked, lost): (u64, u64, u64), clear: u64) -> Option<Self> {
        let all = u128::from(bytes) + u128::from(lost);
        let bad = u128::from(marked.min(bytes)) + u128::from(lost);
        let marks = (bad * u128::from(WHOLE)).checked_div(all)? as u64;
        let loss = if lost > 0 { Loss::Some } else { Loss::None };
        Some(Self { marks, bytes: bytes.saturating_add(lost), clear, loss })
    }

    /// Returns the bytes that arrived or were lost.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Use of a tunnel's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TunnelUse {
    /// The full rate.
    Full,
    /// Less.
    Partial,
}

/// Phase of a tunnel's search for its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing is known of its path: its rate doubles until the first mark, as that of DCTCP does, and falls back to its weight.
    Starting,
    /// It follows the marks.
    Steady,
    /// It was idle, and returns to its previous level: it does not yield for this number of periods, so that the
    /// tunnels that took its share do.
    Returning(u32),
}

/// Weight and rate limits of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TunnelTerms {
    /// Its weight in bit/s.
    pub(super) weight: u64,
    /// No rate is lower, in bit/s.
    pub(super) floor: u64,
    /// Rate in bit/s that it has whatever its level; its level may be lower.
    pub(super) needed: u64,
    /// The rate of the host's line.
    pub(super) line: u64,
}

/// The law's state of one tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TunnelControl {
    level: u64,
    /// The share of marks of the last period.
    marks: u64,
    /// Its average.
    alpha: u64,
    /// Fully marked periods in a row.
    pressed: u32,
    /// Number of further feedbacks during which the level is not halved again.
    settling: u32,
    /// Average time between two feedbacks, in ns.
    interval: u64,
    phase: Phase,
}

impl TunnelControl {
    /// A tunnel begins with its weight, which is a rate.
    pub(super) fn new(interval: Time) -> Self {
        let interval = interval.as_nanos();
        Self { level: ONE, marks: 0, alpha: 0, pressed: 0, settling: 0, interval, phase: Phase::Starting }
    }

    /// The rate in bit/s.
    pub(super) fn rate(&self, terms: TunnelTerms, params: &Params) -> u64 {
        let rate = part(terms.weight, self.level, ONE).min(terms.line);
        let relief = match (params.rate_law, self.phase) {
            (RateLaw::Weighted, Phase::Steady) => u64::from(params.marked_slack_percent) * self.marks,
            _ => 0,
        };
        // The relief is for the observed queue, which has changed before a sparse tunnel receives its next feedback.
        let relief =
            part(relief, params.feedback_period.as_nanos(), self.interval.max(params.feedback_period.as_nanos()));
        (rate - part(rate, relief, 100 * WHOLE)).max(terms.floor).max(terms.needed)
    }

    /// Resumes a tunnel that was idle for long.
    pub(super) fn wake(&mut self, periods: u32) {
        if self.phase == Phase::Steady {
            self.phase = Phase::Returning(periods);
        }
    }

    /// Halves the rate after a long time without feedback.
    pub(super) fn give_up_half(&mut self, terms: TunnelTerms) {
        let before = self.level;
        self.halve();
        self.keep_to(terms, before);
    }

    fn halve(&mut self) {
        self.level = (self.level / 2).max(1);
    }

    /// Bounds the level when the rate cannot change any more. The rate of a small weight may be below the floor: its
    /// level then applies when the weight grows.
    fn keep_to(&mut self, terms: TunnelTerms, before: u64) {
        let [least, most] = [terms.floor, terms.line.saturating_mul(2)].map(|rate| level_of(rate, terms.weight));
        self.level = self.level.max(least.min(before)).min(most.max(1));
    }

    /// Processes a feedback that arrives `elapsed` after the one before.
    pub(super) fn on_period(
        &mut self,
        period: Period,
        elapsed: Time,
        usage: TunnelUse,
        terms: TunnelTerms,
        params: &Params,
    ) {
        let before = self.level;
        let counts = self.counts(elapsed, own_period(params.feedback_period, terms.weight), params.feedback_period);
        match params.rate_law {
            RateLaw::Weighted => {
                self.by_weight(period, counts, usage, params);
                if usage == TunnelUse::Partial {
                    // A tunnel that uses less than its rate does not cause the marks; it may keep its weight.
                    self.level = self.level.max(before.min(ONE));
                }
            }
            RateLaw::AsPrinted => self.as_printed(period, usage, terms),
        }
        self.marks = period.marks;
        self.alpha = self.alpha - (self.alpha >> params.smoothing) + (period.marks >> params.smoothing);
        self.keep_to(terms, before);
    }

    /// Returns the weight of a feedback after this time, in parts of 256. If feedbacks are about as far apart as the
    /// queue's swings are long, they arrive more often in good times than in bad ones. Only in proportion to their
    /// time do they show the mean. Feedbacks that are further apart are like random samples. Their time counts if
    /// they are rarer than the tunnel's weight implies.
    fn counts(&mut self, elapsed: Time, own: Time, period: Time) -> u64 {
        let elapsed = elapsed.as_nanos();
        let counts = match self.interval {
            interval if interval < DENSE * period.as_nanos() => ((elapsed << 8) / interval.max(1)).min(MAX_COUNTS),
            _ => ((elapsed << 8) / own.as_nanos().max(1)).max(1 << 8),
        };
        self.interval = (self.interval - self.interval / 64).saturating_add(elapsed / 64).max(period.as_nanos());
        counts
    }

    fn by_weight(&mut self, Period { marks, loss, clear, .. }: Period, counts: u64, usage: TunnelUse, params: &Params) {
        self.pressed = if marks == WHOLE { self.pressed.saturating_add(1) } else { 0 };
        self.settling = self.settling.saturating_sub(1);
        if loss == Loss::Some {
            // A loss is worse than a mark: DCTCP halves, once for each window.
            self.phase = Phase::Steady;
            if self.settling == 0 {
                self.settling = SETTLING;
                self.halve();
            }
            return;
        }
        match self.phase {
            Phase::Starting if marks == 0 => {
                if usage == TunnelUse::Full {
                    self.level = self.level.saturating_mul(2);
                }
                return;
            }
            Phase::Starting => {
                // Others are there: then its weight is its due, and what it has above that would take it long to give back (docs/theory/scc.md, "Control law"). A weight that is
                // too much by itself is found out by and by.
                self.phase = Phase::Steady;
                self.alpha = WHOLE;
                self.level = self.level.min(ONE);
                return;
            }
            Phase::Returning(left) => {
                self.phase = left.checked_sub(1).map_or(Phase::Steady, Phase::Returning);
                return;
            }
            Phase::Steady => {}
        }
        // A tunnel below its weight recovers faster: if the weights fit on the link, the weight is its due.
        let below = part(ONE, ONE, self.level.max(ONE / MAX_BELOW)).max(ONE);
        let unit = ONE / 100 * u64::from(params.increase_factor_percent);
        let step = part(unit, below, ONE);
        let grown = match usage {
            TunnelUse::Partial if self.alpha < CONTENDED => 0,
            TunnelUse::Full if clear >= CLEAR && params.max_increase_steps > 1 => {
                let free = if clear >= FREE { self.level / FREE_GROWTH } else { 0 };
                let steps = (clear - CLEAR + 1).min(params.max_increase_steps.into());
                step.max(unit.saturating_mul(steps)).max(free)
            }
            TunnelUse::Full | TunnelUse::Partial => part(step.min(self.level / MAX_GROWTH), WHOLE - marks, WHOLE),
        };
        let brake = part(
            self.level.saturating_sub(ONE).min(ONE),
            u64::from(params.overshoot_backoff_percent) * marks,
            100 * WHOLE,
        );
        let cut = brake
            + match self.pressed {
                pressed if pressed <= PRESSED || pressed % SETTLING != 0 => {
                    part(self.level, u64::from(params.decrease_factor_percent) * marks, 100 * WHOLE)
                }
                _ => self.level / PRESSED_CUT,
            };
        // However long it took: the rate at most doubles, and halves.
        let change = |of: u64, most: u64| part(of, counts, 1 << 8).min(most);
        let (grown, cut) = (change(grown, self.level), change(cut, self.level / 2));
        self.level = self.level.saturating_add(grown).saturating_sub(cut).max(1);
    }

    /// Equations 1 and 2, where the weight is a part of the line.
    fn as_printed(
        &mut self,
        Period { marks, .. }: Period,
        usage: TunnelUse,
        TunnelTerms { weight, line, .. }: TunnelTerms,
    ) {
        let by = |alpha: u64| part(part(self.level, weight, line), alpha, WHOLE);
        self.level = match (marks, usage) {
            (0, TunnelUse::Full) => self.level.saturating_add(by(WHOLE)),
            (0, TunnelUse::Partial) => self.level,
            (marks, _) => self.level.saturating_sub(by(marks)).max(1),
        };
    }
}

/// The time in which a weight sends a packet, at least a period.
pub(super) fn own_period(period: Time, weight: u64) -> Time {
    Time::from_nanos(part(8 * FRAME, 1_000_000_000, weight)).max(period)
}

/// `of numerator / denominator`.
fn part(of: u64, numerator: u64, denominator: u64) -> u64 {
    let whole = u128::from(of) * u128::from(numerator) / u128::from(denominator.max(1));
    u64::try_from(whole).unwrap_or(u64::MAX)
}

/// The level at which a weight has a rate.
fn level_of(rate: u64, weight: u64) -> u64 {
    part(rate, ONE, weight)
}

#[cfg(test)]
mod tests;
