//! Connections of pairs: a limited number of flows at once, and flows that wait for a connection.

use std::collections::VecDeque;

use crate::clock::Instant;

/// The connections of all pairs of a traffic.
#[derive(Debug)]
pub(crate) struct Connections {
    /// Of each pair.
    most: u32,
    pairs: Vec<Pair>,
}

#[derive(Clone, Debug, Default)]
struct Pair {
    busy: u32,
    waiting: VecDeque<ArrivedFlow>,
}

/// A flow that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArrivedFlow {
    pub(crate) at: Instant,
    /// Payload.
    pub(crate) bytes: u64,
    /// From its arrival on; [`crate::transport::NEVER`] without one.
    pub(crate) deadline: Instant,
}

impl Connections {
    pub(crate) fn new(most: u32, pairs: usize) -> Self {
        Self { most, pairs: vec![Pair::default(); pairs] }
    }

    /// A flow arrives: whether it has a connection. If not, it waits.
    pub(crate) fn take(&mut self, pair: u32, flow: ArrivedFlow) -> bool {
        let pair = &mut self.pairs[pair as usize];
        if pair.busy < self.most {
            pair.busy += 1;
            return true;
        }
        pair.waiting.push_back(flow);
        false
    }

    /// A flow has ended: the one that has its connection now, if one waits.
    pub(crate) fn leave(&mut self, pair: u32) -> Option<ArrivedFlow> {
        let pair = &mut self.pairs[pair as usize];
        let next = pair.waiting.pop_front();
        pair.busy -= u32::from(next.is_none());
        next
    }

    /// Returns the flows that wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = ArrivedFlow> {
        self.pairs.iter().flat_map(|pair| pair.waiting.iter().copied())
    }
}
