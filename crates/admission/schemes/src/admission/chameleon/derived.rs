//! Default delay budgets of a port, derived from its link (docs/theory/admission.md, section 15).
//!
//! Chameleon's table (section 4.1.2) is for links of 1 Gbit/s with frames of 1500 B. Time on a link is measured in
//! largest frames: on a faster link all budgets shrink with the frame, on a slower link they grow only as far as a
//! frame, or a burst, needs.

use wayleave_ledger::Model;
use wayleave_topology::{Link, MAX_BUDGET, Network, NodeKind};
use wayleave_units::{Bytes, Rate, Time};

use super::table;

/// Rate and MTU for which the published table was chosen (section 5.1.1).
const PUBLISHED_RATE: Rate = Rate::from_gbit(1);
const PUBLISHED_MTU: Bytes = Bytes::new(1500);
/// Smallest budget, in half frames of the link: two frames of debt, one of its own, and a half for grown bursts.
const FIRST_HALF_FRAMES: u128 = 7;
/// Each lower queue has room for two more frames.
const STEP_HALF_FRAMES: u128 = 4;
/// Below a tenth of the published rate the whole table grows, so that the last queue still drains a buffer.
const SLOW: u128 = 10;
/// The first budget of a host at 1 Gbit/s (section 4.1.2).
const HOST: Time = Time::from_micros(500);
/// A host's second queue has room for bursts of this number of largest frames (78 kB), and for the debt.
const HOST_BURST_FRAMES: u128 = 50;
/// Ratio of further budgets of a host, as from the paper's 6 ms to its 24 ms.
const HOST_RATIO: u64 = 4;

/// Transmission time of the largest frame of a link, as a fraction: `bits / rate`.
#[derive(Clone, Copy)]
struct FrameTime {
    bits: u128,
    rate: u128,
    /// Bits of the largest frame for which the table was chosen.
    published_bits: u128,
}

impl FrameTime {
    fn of(model: &Model, link: &Link) -> Self {
        let published = model.max_frame.unwrap_or_else(|| model.overhead.largest_frame(PUBLISHED_MTU));
        Self {
            bits: u128::from(model.largest_frame(link).get()) * 8,
            rate: u128::from(link.rate.bits_per_second()),
            published_bits: u128::from(published.get()) * 8,
        }
    }

    /// Returns the time of a number of half frames, in ns, rounded up.
    fn half_frames(self, count: u128) -> u128 {
        (count * self.bits * 1_000_000_000).div_ceil(2 * self.rate)
    }

    /// Returns a time of the published table, in frames of this link, rounded up.
    fn scaled(self, time: Time) -> u128 {
        let published = u128::from(PUBLISHED_RATE.bits_per_second());
        (u128::from(time.as_nanos()) * self.bits * published).div_ceil(self.published_bits * self.rate)
    }

    /// Returns a time of the published table: shorter on faster links, and unchanged on slower ones.
    fn at_most(self, time: Time) -> u128 {
        self.scaled(time).min(u128::from(time.as_nanos()))
    }
}

/// Returns the default budgets of a port with `queues` queues for latency contracts, highest priority first.
///
/// At 1 Gbit/s and an MTU of 1500 B they are the published ones.
pub(super) fn by_link(network: &Network, model: &Model, link: &Link, queues: usize) -> Vec<Time> {
    let frame = FrameTime::of(model, link);
    let jitter = u128::from(network.node(link.from).jitter.as_nanos());
    let budgets = match network.node(link.from).kind {
        NodeKind::Switch => switch(frame, jitter, queues),
        NodeKind::Host => host(frame, jitter, queues),
    };
    budgets.into_iter().map(rounded).collect()
}

fn switch(frame: FrameTime, jitter: u128, queues: usize) -> Vec<u128> {
    let budget = |(queue, published): (u128, Time)| {
        let floor = jitter + frame.half_frames(FIRST_HALF_FRAMES + STEP_HALF_FRAMES * queue);
        floor.max(frame.at_most(published)).max(frame.scaled(published) / SLOW)
    };
    (0..).zip(table::published(queues)).map(budget).collect()
}

fn host(frame: FrameTime, jitter: u128, queues: usize) -> Vec<u128> {
    let usual = u128::from(HOST.as_nanos());
    let floor = jitter + frame.half_frames(FIRST_HALF_FRAMES);
    let first = match queues {
        // One queue for all bursts: it stays as long as the published one.
        0 | 1 => usual.max(floor),
        _ => frame.at_most(HOST).max(floor),
    };
    let second = usual.max(jitter + frame.half_frames(2 * HOST_BURST_FRAMES)).max(2 * first);
    let further = std::iter::successors(Some(second), |last| Some(last.saturating_mul(u128::from(HOST_RATIO))));
    std::iter::once(first).chain(further).take(queues).collect()
}

/// Rounds up to three digits, which people read and write, and not above the longest budget.
fn rounded(nanos: u128) -> Time {
    let digits = nanos.checked_ilog10().unwrap_or(0);
    let unit = 10_u128.pow(digits.saturating_sub(2));
    let nanos = nanos.next_multiple_of(unit).clamp(1, u128::from(MAX_BUDGET.as_nanos()));
    Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
