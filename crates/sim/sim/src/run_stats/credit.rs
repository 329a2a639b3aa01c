//! Credits of flows for time that is skipped and not simulated.

use super::{FlowRecord, RunStats};
use crate::packet::{FRAMING, HEADERS};

/// Statistics of a flow until a time.
#[derive(Clone, Debug)]
pub(crate) struct FlowCounts(FlowRecord);

/// Segments that count as sent and received.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Credit {
    pub(crate) segments: u64,
    /// On the wire.
    pub(crate) bytes: u64,
    pub(crate) payload: u64,
}

impl Credit {
    /// Adds `segments` segments of this payload each.
    pub(crate) fn add(&mut self, segments: u64, payload: u32) {
        self.segments += segments;
        self.bytes += segments * u64::from(payload + HEADERS + FRAMING);
        self.payload += segments * u64::from(payload);
    }
}

impl RunStats {
    /// Returns the statistics of a flow until now.
    pub(crate) fn counts_of(&self, flow: u32) -> FlowCounts {
        FlowCounts(self.flows[flow as usize].clone())
    }

    /// Credits flows with segments that count as sent and received, with the delays of those that arrived since an
    /// earlier time. Nothing was lost, marked or retransmitted.
    pub(crate) fn credit(&mut self, flow: u32, earlier: &FlowCounts, credit: Credit) {
        let record = &mut self.flows[flow as usize];
        let Credit { segments, bytes, payload } = credit;
        record.delay.repeat_since(&earlier.0.delay, (segments, record.delay.count_since(&earlier.0.delay)));
        record.sent_bytes += bytes;
        record.delivered_bytes += bytes;
        record.sent += segments;
        record.delivered += segments;
        record.payload += payload;
    }
}
