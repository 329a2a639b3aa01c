//! The general test, on curves made of integer lines.
//!
//! A sum of token buckets, each capped by a line rate, is a concave curve whose pieces have integer rates and offsets
//! (only the knees between them are fractions). The residual of a convex curve of integer lines is again one, so
//! strict priority never leaves the integers.

use super::fast::KneeTime;
use crate::model::{Comparison, Residual};

/// One piece of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// bit/s.
    pub(crate) rate: i128,
    /// nanobits: added to an arrival curve's piece, subtracted from a service curve's.
    pub(crate) offset: i128,
}

impl Line {
    /// The traffic that passes in a time that is longer by `spread` ns.
    pub(crate) fn earlier_by(self, spread: i128) -> Self {
        Self { offset: self.offset + self.rate * spread, ..self }
    }
}

/// A token bucket and the line that it arrives by, if any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    pub(crate) rate: i128,
    pub(crate) burst: i128,
    pub(crate) line: Option<Line>,
}

/// A concave arrival curve: its pieces with the knee at which each begins. Empty without traffic.
///
/// Many fast inputs can add up to a rate beyond any line, so products with a piece saturate: the curve is the least of
/// its pieces, and a piece that is too large only ever refuses. The knees are those of single inputs.
pub(crate) type Arrival = Vec<(KneeTime, Line)>;
/// A convex service curve: the maximum of zero and its pieces, rates strictly increasing. Empty for no service.
pub(crate) type ServiceLines = Vec<Line>;

/// The sum of the buckets, each capped by its line.
pub(crate) fn arrival(buckets: impl Iterator<Item = Bucket>) -> Arrival {
    let mut start = Line { rate: 0, offset: 0 };
    let mut any = false;
    let mut changes: Vec<(KneeTime, Line)> = Vec::new();
    for Bucket { rate, burst, line } in buckets {
        any = true;
        let bucket = Line { rate, offset: burst };
        let (first, second) = match line {
            Some(line) if line.offset < burst => (line, bucket),
            Some(line) => (bucket, line),
            None => (bucket, bucket),
        };
        start.rate += first.rate;
        start.offset += first.offset;
        // The second piece takes over only if it is flatter.
        if second.rate < first.rate {
            let knee = KneeTime { num: second.offset - first.offset, den: first.rate - second.rate };
            changes.push((knee, Line { rate: second.rate - first.rate, offset: second.offset - first.offset }));
        }
    }
    if !any {
        return Vec::new();
    }
    changes.sort_by(|(a, _), (b, _)| (a.num * b.den).cmp(&(b.num * a.den)));
    let mut pieces = vec![(KneeTime::ZERO, start)];
    let mut at = start;
    for (knee, change) in changes {
        at.rate += change.rate;
        at.offset += change.offset;
        // Of inputs that bend at the same time the last one has the piece.
        match pieces.last_mut() {
            Some(last) if last.0.num * knee.den == knee.num * last.0.den => last.1 = at,
            _ => pieces.push((knee, at)),
        }
    }
    pieces
}

/// The service that `arrival` leaves of `service`.
pub(crate) fn residual(service: &[Line], arrival: &[(KneeTime, Line)], mode: Residual) -> ServiceLines {
    if arrival.is_empty() {
        return service.to_vec();
    }
    let mut pieces: ServiceLines = Vec::with_capacity(service.len() + arrival.len());
    let (mut s, mut a) = (0, 0);
    while let (Some(beta), Some((_, alpha))) = (service.get(s), arrival.get(a)) {
        let piece = Line { rate: beta.rate - alpha.rate, offset: beta.offset + alpha.offset };
        if piece.rate > 0 {
            // A piece that reaches zero no earlier than the next one never shows.
            while pieces.last().is_some_and(|last| last.offset * piece.rate >= piece.offset * last.rate) {
                pieces.pop();
            }
            pieces.push(piece);
        }
        let next_service = service.get(s + 1).map(|next| service_knee(beta, next));
        let next_arrival = arrival.get(a + 1).map(|&(knee, _)| knee);
        match (next_service, next_arrival) {
            (Some(x), Some(y)) => match (x.num * y.den).cmp(&(y.num * x.den)) {
                std::cmp::Ordering::Less => s += 1,
                std::cmp::Ordering::Greater => a += 1,
                std::cmp::Ordering::Equal => (s, a) = (s + 1, a + 1),
            },
            (Some(_), None) => s += 1,
            (None, Some(_)) => a += 1,
            (None, None) => break,
        }
    }
    if mode == Residual::FirstSlope {
        pieces.truncate(1);
    }
    pieces
}

fn service_knee(before: &Line, after: &Line) -> KneeTime {
    KneeTime { num: after.offset - before.offset, den: after.rate - before.rate }
}

/// Returns `true` if the queue keeps `budget` (ns) and `buffer` (nanobits). An empty queue keeps anything.
pub(crate) fn keeps(
    arrival: &[(KneeTime, Line)],
    service: &[Line],
    budget: i128,
    buffer: i128,
    comparison: Comparison,
) -> bool {
    let Some((_, last)) = arrival.last() else { return true };
    is_stable(last, service)
        && delay_holds(arrival, service, budget, comparison)
        && backlog_holds(arrival, service, buffer, comparison)
}

/// Returns `true` if the service can carry the long-term rate.
fn is_stable(last: &Line, service: &[Line]) -> bool {
    service.last().is_some_and(|service| last.rate <= service.rate)
}

/// `service(t + budget) - arrival(t)` is convex, so it is nowhere negative if it is not at zero nor at any kink.
fn delay_holds(arrival: &[(KneeTime, Line)], service: &[Line], budget: i128, comparison: Comparison) -> bool {
    let shifted_knees = service.windows(2).filter_map(|pair| {
        let KneeTime { num, den } = service_knee(&pair[0], &pair[1]);
        Some(KneeTime { num: num - budget * den, den }).filter(|knee| knee.num > 0)
    });
    arrival_kinks(arrival).chain(shifted_knees).all(|KneeTime { num, den }| {
        comparison.holds(arrival_at(arrival, num, den), service_at(service, num + budget * den, den))
    })
}

/// `service(t) + buffer - arrival(t)` is convex as well.
fn backlog_holds(arrival: &[(KneeTime, Line)], service: &[Line], buffer: i128, comparison: Comparison) -> bool {
    let knees = service.windows(2).map(|pair| service_knee(&pair[0], &pair[1]));
    let latency = service.first().map(|first| KneeTime { num: first.offset, den: first.rate });
    arrival_kinks(arrival).chain(knees).chain(latency).all(|KneeTime { num, den }| {
        comparison.holds(arrival_at(arrival, num, den), service_at(service, num, den) + buffer * den)
    })
}

fn arrival_kinks(arrival: &[(KneeTime, Line)]) -> impl Iterator<Item = KneeTime> {
    arrival.iter().map(|&(knee, _)| knee)
}

/// The curve at `num / den`, times `den`.
fn arrival_at(arrival: &[(KneeTime, Line)], num: i128, den: i128) -> i128 {
    let piece = |(_, line): &(KneeTime, Line)| line.rate.saturating_mul(num).saturating_add(line.offset * den);
    arrival.iter().map(piece).min().unwrap_or(0)
}

/// The curve at `num / den`, times `den`.
fn service_at(service: &[Line], num: i128, den: i128) -> i128 {
    service.iter().map(|line| line.rate * num - line.offset * den).max().unwrap_or(0).max(0)
}
