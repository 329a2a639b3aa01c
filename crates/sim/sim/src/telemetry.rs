//! Data that only few packets carry, stored separately so that packets stay within a cache line: telemetry, the
//! headers of probes, and the counts that the windows of pairs get back.

use wayleave_scheme_api::{HopWindow, IntHop, Probe, ProbeAnswer, ProbeAt, ProbeOutcome};

/// The stacks of all packets that carry any.
#[derive(Debug, Default)]
pub(crate) struct TelemetryArena {
    stacks: Vec<Stack>,
    free: Vec<u32>,
}

/// Data of one packet.
#[derive(Debug, Default)]
struct Stack {
    hops: Vec<IntHop>,
    /// Amount that its pair had sent on its path, including the packet: returned with its answer.
    sent: Option<u64>,
    header: Option<Header>,
}

/// The header of a probe.
#[derive(Debug)]
struct Header {
    probe: Probe,
    /// Its fields for each hop's port; the last also applies to later hops.
    windows: Vec<HopWindow>,
    outcome: Option<ProbeOutcome>,
}

impl TelemetryArena {
    /// The number of an empty stack; none has number zero.
    pub(crate) fn open(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.stacks.push(Stack::default());
            self.stacks.len() as u32
        })
    }

    /// The stack of a probe.
    pub(crate) fn open_probe(&mut self, probe: Probe, windows: Vec<HopWindow>) -> u32 {
        let number = self.open();
        if let Some(stack) = self.at(number) {
            stack.header = Some(Header { probe, windows, outcome: None });
        }
        number
    }

    fn place(stack: u32) -> usize {
        (stack as usize).wrapping_sub(1)
    }

    fn at(&mut self, stack: u32) -> Option<&mut Stack> {
        self.stacks.get_mut(Self::place(stack))
    }

    /// One port's record.
    pub(crate) fn push(&mut self, stack: u32, hop: IntHop) {
        if let Some(stack) = self.at(stack) {
            stack.hops.push(hop);
        }
    }

    /// Returns the collected records.
    pub(crate) fn get(&self, stack: u32) -> &[IntHop] {
        self.stacks.get(Self::place(stack)).map_or(&[], |stack| stack.hops.as_slice())
    }

    /// A probe as the next port sees it.
    pub(crate) fn probe(&self, stack: u32) -> Option<ProbeAt> {
        let stack = self.stacks.get(Self::place(stack))?;
        let header = stack.header.as_ref()?;
        let window = header.windows.get(stack.hops.len()).or(header.windows.last());
        Some(ProbeAt { probe: header.probe, window: window.copied().unwrap_or_default() })
    }

    /// Records the outcome of a probe: its answer, or a failure on its path.
    pub(crate) fn settle(&mut self, stack: u32, outcome: ProbeOutcome) {
        if let Some(header) = self.at(stack).and_then(|stack| stack.header.as_mut()) {
            header.outcome = Some(outcome);
        }
    }

    /// The header of a probe that is back, with its outcome.
    pub(crate) fn outcome(&self, stack: u32) -> Option<(Probe, ProbeOutcome)> {
        let header = self.stacks.get(Self::place(stack))?.header.as_ref()?;
        let answered = ProbeOutcome::Answered(ProbeAnswer::default());
        Some((header.probe, header.outcome.unwrap_or(answered)))
    }

    /// Sets the count that the packet's answer has to bring back.
    pub(crate) fn set_sent(&mut self, stack: u32, sent: u64) {
        if let Some(stack) = self.at(stack) {
            stack.sent = Some(sent);
        }
    }

    /// Returns the count that an answer brings back.
    pub(crate) fn sent(&self, stack: u32) -> Option<u64> {
        self.stacks.get(Self::place(stack))?.sent
    }
    /// The stack is not needed any more; its memory is used again.
    pub(crate) fn close(&mut self, stack: u32) {
        if let Some(kept) = self.stacks.get_mut(Self::place(stack)) {
            kept.hops.clear();
            (kept.sent, kept.header) = (None, None);
            self.free.push(stack);
        }
    }
}
