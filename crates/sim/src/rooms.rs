//! TEMPORARY stand-ins until schemes::transports is there.
use wayleave_policy::*;
use wayleave_units::{Bytes, Rate, Time};

#[derive(Debug)]
pub(crate) enum AnyFlow { Fixed(u64), Dctcp { window: f64, threshold: f64, alpha: f64, end: u64, acked: u64, marked: u64, segment: u64 } }
impl AnyFlow {
    pub(crate) fn dctcp(start: &FlowStart) -> Self {
        Self::Dctcp { window: start.initial_window as f64, threshold: 1e18, alpha: 1.0, end: 0, acked: 0, marked: 0, segment: u64::from(start.segment) }
    }
}
impl Flow for AnyFlow {
    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) {
        if let Self::Dctcp { window, threshold, alpha, end, acked, marked, segment } = self {
            *acked += ack.newly; *marked += ack.marked;
            if ack.acknowledged >= *end {
                let f = if *acked > 0 { *marked as f64 / *acked as f64 } else { 0.0 };
                *alpha = *alpha * (15.0/16.0) + f / 16.0;
                if *marked > 0 { *window = (*window * (1.0 - *alpha / 2.0)).max(*segment as f64); *threshold = *window; }
                *acked = 0; *marked = 0; *end = ack.sent;
            }
            if ack.limit == Limit::Window && ack.phase == Phase::Open {
                if *window < *threshold { *window += ack.newly as f64 } else { *window += (*segment * ack.newly) as f64 / *window }
            }
        }
    }
    fn on_loss(&mut self, _now: Time, loss: Loss) {
        if let Self::Dctcp { window, threshold, segment, .. } = self {
            *threshold = (*window / 2.0).max(2.0 * *segment as f64);
            *window = if matches!(loss, Loss::Timeout { .. }) { *segment as f64 } else { *threshold };
        }
    }
    fn window(&self) -> u64 { match self { Self::Fixed(w) => *w, Self::Dctcp { window, .. } => *window as u64 } }
}
#[derive(Debug)]
pub(crate) struct AnyPath(pub(crate) u32);
impl Path for AnyPath { fn choose(&mut self, _now: Time, d: Departure) -> u32 { self.0 % d.paths } }
#[derive(Debug)]
pub(crate) enum AnyMarking { None, Threshold(Bytes) }
impl AnyMarking {
    pub(crate) fn none() -> Self { Self::None }
    pub(crate) fn threshold(t: Bytes) -> Self { Self::Threshold(t) }
    pub(crate) fn red(_: Bytes, _: Bytes, _: f64, _: f64, _: Rate, _: u64) -> Self { Self::None }
}
impl Switch for AnyMarking {
    fn on_arrival(&mut self, _now: Time, queue: QueueState, _bytes: u32) -> Mark {
        match self { Self::Threshold(t) if queue.queued > *t => Mark::Congestion, _ => Mark::No }
    }
}
#[derive(Debug)]
pub(crate) struct Reorder;
