//! What flows are credited with for time that is skipped and not simulated.

use super::{FlowRecord, Tally};

/// What was counted of a flow until a time.
#[derive(Clone, Debug)]
pub(crate) struct FlowCounts(FlowRecord);

impl Tally {
    /// What was counted of a flow until now.
    pub(crate) fn counts_of(&self, flow: u32) -> FlowCounts {
        FlowCounts(self.flows[flow as usize].clone())
    }

    /// Flows that are counted there have sent and received so many more segments, which looked like those that came since an earlier
    /// time. `payload`: of all of them.
    pub(crate) fn credit(&mut self, flow: u32, earlier: &FlowCounts, (segments, payload): (u64, u64)) {
        let record = &mut self.flows[flow as usize];
        let before = &earlier.0;
        let seen = record.delivered.saturating_sub(before.delivered).max(1);
        let scaled = |now: u64, before: u64| {
            let more = u128::from(now.saturating_sub(before)) * u128::from(segments) / u128::from(seen);
            u64::try_from(more).unwrap_or(u64::MAX)
        };
        record.delay.repeat_since(&before.delay, (segments, record.delay.count_since(&before.delay)));
        record.sent_bytes += scaled(record.delivered_bytes, before.delivered_bytes);
        record.delivered_bytes += scaled(record.delivered_bytes, before.delivered_bytes);
        record.sent += segments;
        record.delivered += segments;
        record.payload += payload;
        let (rare, rare_before) = (&mut record.rare, &before.rare);
        for (count, before) in [
            (&mut rare.drops, rare_before.drops),
            (&mut rare.again, rare_before.again),
            (&mut rare.duplicates, rare_before.duplicates),
            (&mut rare.timeouts, rare_before.timeouts),
            (&mut rare.marked, rare_before.marked),
        ] {
            *count += scaled(*count, before);
        }
    }
}
