//! Closed loops of requests: their pending answers, and the next steps.

use rand::Rng;
use wayleave_scenarios::{Endpoint, FlowSizes, Rpc, RpcServer};

use crate::clock::{self, Instant};
use crate::random;

/// All loops of a traffic.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) answer: FlowSizes,
    /// Mean of the pause, in ps.
    pub(crate) think_time: Instant,
    chain: u32,
    fan_out: u32,
    /// Servers to draw from, unless every loop has one server.
    servers: Option<Vec<Endpoint>>,
    pub(crate) loops: Vec<Loop>,
}

/// One loop, which has one request with all its steps in progress at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loop {
    pub(crate) client: Endpoint,
    server: Endpoint,
    /// Start of the request.
    pub(crate) began: Instant,
    pub(crate) deadline: Instant,
    /// Steps that are not over.
    steps: u32,
    /// Answers of this step that are not there.
    missing: u32,
    /// Payload of answers.
    bytes: u64,
    /// Time that the steps before this one would have taken alone.
    ideal: Instant,
    /// Time that the longest of the present step's requests would have taken alone, with its answer.
    longest: Instant,
    /// The same for the shortest, without the time that its answer takes on the client's link.
    shortest: Instant,
    /// Time of this step's answers on the client's link.
    transfer: Instant,
}

/// Successor of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterReply {
    /// Other answers of its step.
    Answers,
    /// Another step.
    Step,
    /// The request is complete: the payload of all its answers, and the time that it would have taken alone.
    End { bytes: u64, ideal: Instant },
}

impl Calls {
    /// `pairs` are the loops of a traffic whose servers are kept; otherwise `clients` have some each, and draw from
    /// `servers`.
    pub(crate) fn kept(rpc: &Rpc, pairs: impl IntoIterator<Item = (Endpoint, Endpoint)>) -> Self {
        Self::new(rpc, None, pairs)
    }

    /// Every client has its loops, and draws from the servers.
    pub(crate) fn drawn(rpc: &Rpc, clients: &[Endpoint], servers: &[Endpoint]) -> Self {
        let loops = clients.iter().flat_map(|&client| (0..rpc.outstanding).map(move |_| (client, client)));
        Self::new(rpc, Some(servers.to_vec()), loops)
    }

    fn new(rpc: &Rpc, servers: Option<Vec<Endpoint>>, loops: impl IntoIterator<Item = (Endpoint, Endpoint)>) -> Self {
        debug_assert_eq!(servers.is_some(), rpc.server == RpcServer::Drawn);
        let idle = |(client, server)| Loop {
            client,
            server,
            began: 0,
            deadline: 0,
            steps: 0,
            missing: 0,
            bytes: 0,
            ideal: 0,
            longest: 0,
            shortest: Instant::MAX,
            transfer: 0,
        };
        Self {
            answer: rpc.answer.clone(),
            think_time: clock::from_time(rpc.think_time),
            chain: rpc.chain,
            fan_out: rpc.fan_out,
            servers,
            loops: loops.into_iter().map(idle).collect(),
        }
    }

    /// Returns `true` if several answers share the client's link.
    pub(crate) fn fans_out(&self) -> bool {
        self.fan_out > 1
    }

    /// A request of a loop begins.
    pub(crate) fn begin(&mut self, index: u32, now: Instant, deadline: Instant) {
        let Some(state) = self.loops.get_mut(index as usize) else { return };
        (state.began, state.deadline) = (now, deadline);
        (state.steps, state.bytes, state.ideal) = (self.chain, 0, 0);
    }

    /// A step begins: its servers, all different.
    pub(crate) fn step(&mut self, index: u32, rng: &mut impl Rng) -> Vec<Endpoint> {
        let Some(state) = self.loops.get_mut(index as usize) else { return Vec::new() };
        (state.longest, state.shortest, state.transfer) = (0, Instant::MAX, 0);
        let mut drawn = Vec::new();
        match &self.servers {
            None => drawn.push(state.server),
            Some(servers) => {
                // A scenario that was validated has enough of them.
                let others = servers.iter().filter(|server| server.host != state.client.host).count();
                while drawn.len() < others.min(self.fan_out as usize) {
                    let server = servers[random::below(rng, servers.len() as u32) as usize];
                    if server.host != state.client.host && !drawn.contains(&server) {
                        drawn.push(server);
                    }
                }
            }
        }
        state.missing = drawn.len() as u32;
        drawn
    }

    /// Handles an answer with this payload. Alone it would have taken `ideal` with its request, of which `transfer`
    /// on the client's link.
    pub(crate) fn answered(&mut self, index: u32, bytes: u64, ideal: Instant, transfer: Instant) -> AfterReply {
        let Some(state) = self.loops.get_mut(index as usize) else { return AfterReply::Answers };
        state.bytes += bytes;
        state.longest = state.longest.max(ideal);
        state.shortest = state.shortest.min(ideal.saturating_sub(transfer));
        state.transfer += transfer;
        state.missing = state.missing.saturating_sub(1);
        if state.missing > 0 {
            return AfterReply::Answers;
        }
        // All answers have to pass the client's link, and none arrives before the time of the shortest path.
        state.ideal += state.longest.max(state.shortest.saturating_add(state.transfer));
        state.steps = state.steps.saturating_sub(1);
        if state.steps > 0 {
            return AfterReply::Step;
        }
        AfterReply::End { bytes: state.bytes, ideal: state.ideal }
    }
}
