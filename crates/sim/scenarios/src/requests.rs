//! Closed loops of requests and their answers.

use wayleave_units::Time;

use crate::FlowSizes;

/// A closed loop: requests are answered, and the next one leaves after a pause of exponential length.
///
/// A request is `chain` steps one after the other. Each step sends `fan_out` requests at once, and ends when the last
/// of their answers has arrived. The whole request is counted, with one time from the first byte to the last.
///
/// ```
/// use wayleave_scenarios::{FlowSizes, Rpc, RpcServer};
/// use wayleave_units::Bytes;
///
/// // Partition and aggregate: a query to eight workers, then a query to eight others.
/// let answer = FlowSizes::Fixed(Bytes::new(20_000));
/// let query = Rpc { server: RpcServer::Drawn, chain: 2, fan_out: 8, ..Rpc::new(answer) };
/// assert_eq!((query.outstanding, query.chain * query.fan_out), (1, 16));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rpc {
    /// Number of concurrent requests: of every pair, or of every client if servers are drawn. At least 1.
    pub outstanding: u32,
    /// From the server back to the client.
    pub answer: FlowSizes,
    /// Mean of the pause.
    pub think_time: Time,
    /// Server of the requests.
    pub server: RpcServer,
    /// Steps, at least 1.
    pub chain: u32,
    /// Requests in each step, to different servers; at least 1.
    pub fan_out: u32,
}

/// Server of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RpcServer {
    /// Always the receiver of the pair; one step with one request.
    Kept,
    /// For each request one of the receivers is drawn, other than the client. The ends are
    /// [`Ends::AllToAll`](crate::FlowEndpoints::AllToAll) or [`Ends::Random`](crate::FlowEndpoints::Random).
    Drawn,
}

impl Rpc {
    /// One request at a time between each pair, without pause.
    pub fn new(answer: FlowSizes) -> Self {
        Self { outstanding: 1, answer, think_time: Time::ZERO, server: RpcServer::Kept, chain: 1, fan_out: 1 }
    }
}
