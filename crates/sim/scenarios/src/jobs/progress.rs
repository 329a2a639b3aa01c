//! Progress of a job: operations that have begun and are over.
//!
//! A pure state machine. Its drivers carry out the steps that [`Progress::next`] returns and report their completion:
//! the simulator with packets and time, [`Graph::new`](super::Graph::new) without either.

use std::collections::{HashMap, VecDeque};

use super::{JobGraph, OperationAction, WaitUntil};

/// Step for a driver. Numbers are indices into the list of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationStep {
    /// This message leaves.
    Send(u32),
    /// This computation begins.
    Compute(u32),
}

/// State of all operations of a graph.
///
/// It also computes the ideal time, in which operations wait only for their dependencies: the longest chain of
/// operations, each with the minimum time from its driver. The unit is the driver's.
#[derive(Clone, Debug)]
pub struct JobProgress {
    /// Number of others that each operation still waits for.
    missing: Vec<u32>,
    /// Earliest possible start of each operation.
    earliest: Vec<u64>,
    is_over: Vec<bool>,
    /// Operations that begin now.
    ready: VecDeque<u32>,
    mailboxes: Vec<Mailbox>,
    /// Processors that compute, with the operations that wait for them.
    busy: HashMap<(u32, u8), VecDeque<u32>>,
    /// Computations whose turn it is.
    resumed: VecDeque<u32>,
    left: usize,
    longest: u64,
}

/// Messages that have arrived at a rank, and its pending receives.
#[derive(Clone, Debug, Default)]
struct Mailbox {
    /// Receives that have begun, in order.
    posted: VecDeque<u32>,
    /// Messages that are not received yet, in order, with their earliest possible arrival.
    arrived: VecDeque<(u32, u64)>,
}

impl JobProgress {
    /// Nothing has begun.
    pub fn new(graph: &JobGraph) -> Self {
        let missing = graph.waits_for().to_vec();
        let ready = (0..).zip(&missing).filter(|(_, missing)| **missing == 0).map(|(place, _)| place).collect();
        let count = missing.len();
        Self {
            missing,
            earliest: vec![0; count],
            is_over: vec![false; count],
            ready,
            mailboxes: vec![Mailbox::default(); graph.ranks() as usize],
            busy: HashMap::new(),
            resumed: VecDeque::new(),
            left: count,
            longest: 0,
        }
    }

    /// Returns the next step that begins now, until there is none. Receives need no driver.
    #[allow(clippy::should_implement_trait, reason = "it needs the graph, which it does not own")]
    pub fn next(&mut self, graph: &JobGraph) -> Option<OperationStep> {
        if let Some(place) = self.resumed.pop_front() {
            self.release(graph, place, WaitUntil::Begun, self.earliest[place as usize]);
            return Some(OperationStep::Compute(place));
        }
        loop {
            let place = self.ready.pop_front()?;
            let operation = graph.operations()[place as usize];
            if let OperationAction::Compute(_) = operation.action
                && let Some(waiting) = self.busy.get_mut(&(operation.rank, operation.cpu))
            {
                waiting.push_back(place);
                continue;
            }
            self.release(graph, place, WaitUntil::Begun, self.earliest[place as usize]);
            match operation.action {
                OperationAction::Send { .. } => return Some(OperationStep::Send(place)),
                OperationAction::Compute(_) => {
                    self.busy.insert((operation.rank, operation.cpu), VecDeque::new());
                    return Some(OperationStep::Compute(place));
                }
                OperationAction::Receive { .. } => self.receive(graph, place),
            }
        }
    }

    /// All of a message is at its receiver; alone it would have taken `ideal`.
    pub fn delivered(&mut self, graph: &JobGraph, message: u32, ideal: u64) {
        let OperationAction::Send { to, .. } = graph.operations()[message as usize].action else { return };
        let at = self.earliest[message as usize].saturating_add(ideal);
        let mailbox = &mut self.mailboxes[to as usize];
        match mailbox.posted.iter().position(|&receive| matches(graph, receive, message)) {
            None => mailbox.arrived.push_back((message, at)),
            Some(index) => {
                if let Some(receive) = mailbox.posted.remove(index) {
                    self.finish(graph, receive, at);
                }
            }
        }
    }

    /// A message is acknowledged, or a computation is over, which took `ideal` for itself.
    pub fn ended(&mut self, graph: &JobGraph, place: u32, ideal: u64) {
        let operation = graph.operations()[place as usize];
        let at = self.earliest[place as usize].saturating_add(ideal);
        if let OperationAction::Compute(_) = operation.action {
            let key = (operation.rank, operation.cpu);
            match self.busy.get_mut(&key).and_then(VecDeque::pop_front) {
                None => drop(self.busy.remove(&key)),
                Some(next) => {
                    self.earliest[next as usize] = self.earliest[next as usize].max(at);
                    self.resumed.push_back(next);
                }
            }
        }
        self.finish(graph, place, at);
    }

    /// Returns when an operation that has begun could have begun at the earliest.
    pub fn earliest(&self, operation: u32) -> u64 {
        self.earliest[operation as usize]
    }

    /// Returns `true` if all operations are over.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Returns the minimum time of the longest chain of operations that are over.
    pub fn longest(&self) -> u64 {
        self.longest
    }

    /// The first operation that is not over.
    pub(super) fn first_open(&self) -> Option<u32> {
        (0..).zip(&self.is_over).find(|(_, is_over)| !**is_over).map(|(place, _)| place)
    }

    /// Returns the first message that has arrived and is not received yet.
    pub(super) fn first_left(&self) -> Option<u32> {
        self.mailboxes.iter().flat_map(|mailbox| &mailbox.arrived).map(|(message, _)| *message).min()
    }

    fn receive(&mut self, graph: &JobGraph, receive: u32) {
        let rank = graph.operations()[receive as usize].rank;
        let mailbox = &mut self.mailboxes[rank as usize];
        match mailbox.arrived.iter().position(|&(message, _)| matches(graph, receive, message)) {
            None => mailbox.posted.push_back(receive),
            Some(index) => {
                if let Some((_, at)) = mailbox.arrived.remove(index) {
                    self.finish(graph, receive, at);
                }
            }
        }
    }

    fn finish(&mut self, graph: &JobGraph, place: u32, at: u64) {
        let at = at.max(self.earliest[place as usize]);
        self.is_over[place as usize] = true;
        self.left -= 1;
        self.longest = self.longest.max(at);
        self.release(graph, place, WaitUntil::Over, at);
    }

    /// An operation has begun or is over, at the earliest `at`: what waited for that alone is ready.
    fn release(&mut self, graph: &JobGraph, place: u32, moment: WaitUntil, at: u64) {
        for &(other, _) in graph.waiting_for(place).iter().filter(|(_, until)| *until == moment) {
            let other = other as usize;
            self.earliest[other] = self.earliest[other].max(at);
            self.missing[other] -= 1;
            if self.missing[other] == 0 {
                self.ready.push_back(other as u32);
            }
        }
    }
}

/// Returns `true` if a receive matches a message.
fn matches(graph: &JobGraph, receive: u32, message: u32) -> bool {
    let [receive, message] = [receive, message].map(|place| graph.operations()[place as usize]);
    let (OperationAction::Receive { from, tag, .. }, OperationAction::Send { tag: sent, .. }) =
        (receive.action, message.action)
    else {
        return false;
    };
    from.is_none_or(|from| from == message.rank) && tag.is_none_or(|tag| tag == sent)
}
