//! In-band network telemetry: what a port writes into a packet that asks for it, and the probes that carry it.

use wayleave_topology::LinkId;
use wayleave_units::{Bytes, Rate, Time};

/// One port's record, of the queue that the packet was in (HPCC, SIGCOMM 2019, section 3.1; uFAB, SIGCOMM 2022, section 3.2 adds the last two).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntHop {
    /// The link, where the edge knows the path of the packet that came back. The edge chose the path in a topology
    /// that it knows (uFAB, 3.1, assumption ii), so nothing on the wire names the link.
    pub link: Option<LinkId>,
    /// Line rate of the link.
    pub rate: Rate,
    /// Waiting behind the packet in its queue when it left.
    pub queue: Bytes,
    /// Sent from that queue since the run began, without the packet.
    pub sent: Bytes,
    /// Time at which the packet left.
    pub at: Time,
    /// Phi: tokens of all active pairs on the link; zero where no scheme keeps them.
    pub tokens: u64,
    /// Sum of the weights of all active pairs on the link, by which what is above their tokens is shared; zero where no scheme keeps it.
    pub weights: u64,
    /// W: sum of the windows of all active pairs on the link; zero where no scheme keeps it.
    pub windows: Bytes,
    /// tx: what the queue has sent lately; zero where no scheme measures it.
    pub tx: Rate,
    /// In which of two periods, that take turns, the port has counted the pair of a probe. Meaningless without such a scheme.
    pub period: bool,
    /// Record of the class, where the queue shares its line with queues of other classes; `None`: all of the line is
    /// its own.
    pub class: Option<ClassHop>,
}

/// Record of a queue that is below others by strict priority and shares with others, by weights, the rate that those
/// above leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassHop {
    /// Rate that the weight of the queue gives it of the line beside all that is reserved above it: g R'. The
    /// controller sends it to the port, so it changes with admissions and not with load.
    pub guaranteed: Rate,
    /// Rate that the queue could have sent lately with constant demand: the rate that the queues above left, without
    /// the rate that the others below took, and never less than its weight's part of that. Zero where no scheme
    /// measures it.
    pub available: Rate,
    /// The queue's weight, and those of all queues that share with it.
    pub weights: (u32, u32),
    /// Sent from the queues above it since the run began.
    pub above: Bytes,
    /// Sent from the other queues that share with it.
    pub beside: Bytes,
}

impl ClassHop {
    /// Available rate, from the rates that the queues above and beside send: R - u - min(o, (1 - g) (R - u)).
    ///
    /// ```
    /// use wayleave_scheme_api::ClassHop;
    /// use wayleave_units::Rate;
    /// let hop = ClassHop { weights: (6, 10), ..ClassHop::default() };
    /// let available = |above, beside| hop.left_by(Rate::from_gbit(10), Rate::from_gbit(above), Rate::from_gbit(beside));
    /// assert_eq!(available(0, 0), Rate::from_gbit(10));
    /// assert_eq!(available(5, 1), Rate::from_gbit(4));
    /// assert_eq!(available(5, 4), Rate::from_gbit(3), "six tenths of what is left");
    /// ```
    pub fn left_by(&self, line: Rate, above: Rate, beside: Rate) -> Rate {
        let left = line.bits_per_second().saturating_sub(above.bits_per_second());
        let (own, all) = self.weights;
        let others = u128::from(left) * u128::from(all.saturating_sub(own)) / u128::from(all.max(1));
        let others = u64::try_from(others).unwrap_or(u64::MAX).min(beside.bits_per_second());
        Rate::from_bits_per_second(left.saturating_sub(others))
    }
}

/// Purpose of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeKind {
    /// The pair considers this path: ports report their sums and add nothing. Otherwise the test of a candidate, C at
    /// least (Phi + phi) B (uFAB, 3.5), would count the pair twice. On its path it is a probe without tokens and
    /// windows.
    Candidate,
    /// The pair is active on this path: ports count it (3.6).
    Active,
    /// The pair leaves this path, or has nothing to send: ports take it off their sums. Sent until it is answered
    /// (3.6).
    Finish,
}

/// The header of a probe (uFAB, G), without the records of the ports.
///
/// Ports keep sums and no pairs, so a sender gives them the amounts that they count for its pair, and those that they
/// are to count. A change can be lost on its path: it is repeated, with its number, until the other end has answered
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The pair: [`PairSpec::key`](crate::PairSpec::key).
    pub pair: u64,
    /// Its purpose.
    pub kind: ProbeKind,
    /// phi: the tokens that the sender has given to the pair; on the wire 16 bits (G, the table; 24 in the caption).
    pub tokens: u64,
    /// The tokens that the ports of this path count for the pair, as far as its sender knows.
    pub counted: u64,
    /// The weight of the pair in the rate above all tokens, in tokens as well; the tokens themselves where no other
    /// weight is set.
    pub weight: u64,
    /// The weight that the ports of this path count for the pair, as far as its sender knows.
    pub weight_counted: u64,
    /// A number for each change of the amounts that ports count, unchanged when a probe is repeated.
    pub change: u16,
    /// `true` if the sender does not know which ports have seen this change already.
    pub is_repeated: bool,
    /// The sender's part of the protocol that divides the receiver's maximum. The bits of appendix G have no place for it.
    pub request: MaxRequest,
}

/// A request for a part of the receiver's maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MaxRequest {
    /// The rate that the pair would use; `None`: any rate.
    pub wants: Option<Rate>,
    /// The rate that the pair is limited to when the probe leaves.
    pub holds: Rate,
    /// The number of the latest grant that the sender has received.
    pub seen: u32,
}

/// A part of the receiver's maximum, granted to one pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxGrant {
    /// The rate that the pair is limited to from now on.
    pub rate: Rate,
    /// Grants of a pair are numbered from 1, so that a sender ignores one that was overtaken.
    pub number: u32,
    /// The pair's part is larger, but other pairs still hold a portion.
    pub is_short: bool,
}

/// Part of a probe for one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopWindow {
    /// w: the pair's window at this link.
    pub window: Bytes,
    /// The window that the port counts for the pair, as far as its sender knows.
    pub counted: Bytes,
    /// [`IntHop::period`] as the port reported it last; `None`: it counts nothing of the pair.
    pub period: Option<bool>,
}

impl HopWindow {
    /// For a port that counts nothing of the pair yet.
    pub const fn new(window: Bytes) -> Self {
        Self { window, counted: Bytes::ZERO, period: None }
    }
}

/// A probe as a port sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeAt {
    /// Its header.
    pub probe: Probe,
    /// Its part for this port.
    pub window: HopWindow,
}

impl Probe {
    /// Of a pair that no port counts yet, with a weight as large as its tokens.
    pub const fn new(pair: u64, kind: ProbeKind, tokens: u64) -> Self {
        let request = MaxRequest { wants: None, holds: Rate::ZERO, seen: 0 };
        Self {
            pair,
            kind,
            tokens,
            counted: 0,
            weight: tokens,
            weight_counted: 0,
            change: 0,
            is_repeated: false,
            request,
        }
    }
}

/// Data that the receiving host adds to a probe when it sends it back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeAnswer {
    /// The tokens that it admits for the pair; `None` if it admits any number that the sender gives (uFAB, E,
    /// Algorithm 1, line 25).
    pub tokens: Option<u64>,
    /// The part of the receiver's maximum that the pair may use; `None`: the receiver has no maximum.
    pub grant: Option<MaxGrant>,
}

/// Outcome of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// The other end answered; all ports of the path have seen the probe.
    Answered(ProbeAnswer),
    /// A switch could not forward it, and reports that (uFAB, G: failure response). The ports up to there have seen
    /// it.
    Failed,
}
