//! Where telemetry stands while its packet is on the way: beside the packets, so that they stay within a cache line.

use wayleave_policy::IntHop;

/// No telemetry.
pub(crate) const NO_TELEMETRY: u32 = u32::MAX;

/// The stacks of all packets that collect telemetry.
#[derive(Debug, Default)]
pub(crate) struct TelemetryArena {
    stacks: Vec<Vec<IntHop>>,
    free: Vec<u32>,
}

impl TelemetryArena {
    /// An empty stack.
    pub(crate) fn open(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.stacks.push(Vec::new());
            (self.stacks.len() - 1) as u32
        })
    }

    /// One port's record.
    pub(crate) fn push(&mut self, stack: u32, hop: IntHop) {
        if let Some(stack) = self.stacks.get_mut(stack as usize) {
            stack.push(hop);
        }
    }

    /// What was collected.
    pub(crate) fn get(&self, stack: u32) -> &[IntHop] {
        self.stacks.get(stack as usize).map_or(&[], Vec::as_slice)
    }

    /// The stack is not needed any more; its memory is used again.
    pub(crate) fn close(&mut self, stack: u32) {
        if let Some(hops) = self.stacks.get_mut(stack as usize) {
            hops.clear();
            self.free.push(stack);
        }
    }
}
