//! The host role: division of the traffic that the machines at the edge send and receive.
//!
//! One value for each machine, on both sides of its traffic: it sets limiters, windows and weights of the traffic
//! that leaves, and reports to the senders of the traffic that arrives. It never sees a packet. The driver counts
//! bytes, keeps the buckets and queues that the actions describe, and carries messages, probes and timers.
//!
//! Amounts are **wire bytes**, as a shaper charges them. Payload is the amount that the [`Flow`](crate::Flow) role
//! counts.
//!
//! - **Chameleon** (4.2.2 to 4.2.4) receives pairs, and rules from the controller; sets a bucket that drops, a path,
//!   copies on disjoint paths.
//! - **EyeQ** (NSDI 2013), and PicNIC' as uFAB 2.2 uses it, receive classes, pairs, arrivals with marks, feedback and
//!   timers; set pair buckets and weights, and send feedback.
//! - **Parley's machine shaper** (3.2.1, 5.1, 5.2) receives the inputs of EyeQ, and capacities from a broker; acts as
//!   EyeQ does, sets root buckets, and reports usage.
//! - **ElasticSwitch** (SIGCOMM 2013) receives classes, pairs at both ends, bytes sent, marks and losses; sets pair
//!   buckets, and sends guarantees to the other end.
//! - **uFAB-E** (3.3 to 3.5, 4.1, E, F) receives classes, pairs at both ends, demand, bytes sent, returned probes and
//!   timers; sets windows, weights and paths, and sends probes.
//! - **SCC's underlay control** (III-B) receives pairs (its tunnels), marks, reference weights, scale factors and
//!   timers; sets buckets and weights of tunnels, and sends feedback and reports.
//!
//! # Time and messages
//! A timer fires once, not before its time, and cannot be cancelled. A token that means nothing any more is ignored,
//! so it carries the data that distinguish an old timer from a new one. Messages may be lost and may overtake one
//! another. Nothing polls: a host with ten thousand pairs works only for those with an event.

use alloc::vec::Vec;

use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

use crate::ids::{BrokerId, ClassId, Incoming, Outgoing, PathIndex};
use crate::telemetry::{HopWindow, IntHop, Probe, ProbeAnswer, ProbeOutcome};

/// Entitlement of a class at one host in one direction (Parley, 3.1; the hose of uFAB, 3.1, and of ElasticSwitch is
/// `min`; a division's share, SCC, I, is `weight`).
///
/// ```
/// use wayleave_scheme_api::Share;
/// use wayleave_units::Rate;
/// let hose = Share { min: Rate::from_mbit(500), ..Share::BEST_EFFORT };
/// assert_eq!((hose.max, hose.weight), (None, 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// It gets at least this while it has something to send.
    pub min: Rate,
    /// It gets at most this; `None` is as much as there is.
    pub max: Option<Rate>,
    /// Weight in the division of the rest; only ratios count.
    pub weight: u32,
}

impl Share {
    /// No guarantee, no limit, weight 1 (the defaults of Parley, 3.1).
    pub const BEST_EFFORT: Self = Self { min: Rate::ZERO, max: None, weight: 1 };
}

/// Facts that a host learns of a pair when it opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairSpec {
    /// Its class at this end.
    pub class: ClassId,
    /// Its class at the other end: a pair between two services is guaranteed the less of both (Parley, 3.1).
    pub peer_class: ClassId,
    /// The host at the other end.
    pub peer: NodeId,
    /// The same number at both ends and in probes: what a switch knows the pair by (uFAB, 3.6).
    pub key: u64,
    /// Number of candidate paths; at least 1. Until the first [`HostAction::UsePath`] all of them are in use.
    pub paths: u32,
    /// Round trip of the first path without queues (T of uFAB, 3.4). Those of other paths come with
    /// [`HostInput::ProbeReturned`].
    pub round_trip: Time,
}

/// Begin or end of a pair's demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Its first packet waits.
    Begins,
    /// Its last packet has left.
    Ends,
}

/// Change of a list of candidate paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathsChange {
    /// Some were added behind the others, which stay what they were (Chameleon, 3.4: the new route is ready before the
    /// old one is left). They are not in use.
    Added,
    /// Every index means something else: windows are forgotten, and all paths are in use until the host chooses
    /// otherwise.
    Replaced,
}

/// Arrivals of a pair since the report before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// All bytes.
    pub bytes: Bytes,
    /// Of these, with a congestion mark (beta of Parley, 3.2.1; alpha of SCC, III-B).
    pub marked: Bytes,
    /// Missing from the sequence (Seawall and ElasticSwitch, where switches do not mark).
    pub lost: Bytes,
}

/// Receiver of a host's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// The receiving host of a pair that leaves here, which receives the message from [`MessageOrigin::Sender`].
    Receiver(Outgoing),
    /// The sending host of a pair that arrives here, which receives the message from [`MessageOrigin::Receiver`].
    Sender(Incoming),
    /// A broker, a tracker or the controller, which receives the message from [`Member::Host`](crate::Member::Host).
    Broker(BrokerId),
}

/// Sender of a message to a host. A message between the two ends of a pair names the pair here, in the reader's
/// numbers, so that no message has to carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageOrigin {
    /// The sending host of a pair that arrives here.
    Sender(Incoming),
    /// The receiving host of a pair that leaves here.
    Receiver(Outgoing),
    /// A broker, a tracker or the controller.
    Broker(BrokerId),
}

/// Events at a host.
#[derive(Clone, Debug)]
pub enum HostInput<'a, M, T> {
    /// The machine begins to work. The first input, given once; periodic timers begin here.
    Started,
    /// A class comes to this host, or has other terms from now on (Parley, 3.1: at any time).
    ClassSet {
        /// The class.
        class: ClassId,
        /// Its share of the traffic that it sends from here.
        transmit: Share,
        /// Its share of the traffic that it receives here.
        receive: Share,
    },
    /// A class leaves this host; its pairs have closed.
    ClassGone {
        /// The class.
        class: ClassId,
    },
    /// Something will be sent to a new destination. Nothing has left yet.
    Opened {
        /// Its number from now on.
        pair: Outgoing,
        /// Known facts of the pair.
        spec: PairSpec,
    },
    /// A pair has ended, or nothing was sent for so long that the driver forgets it. The number may be used again.
    Closed {
        /// The pair.
        pair: Outgoing,
    },
    /// A pair begins to have something to send, or has sent it all (uFAB, 4.1: probes go only while there is demand).
    Demand {
        /// The pair.
        pair: Outgoing,
        /// Begin or end.
        demand: Demand,
    },
    /// Bytes left for the network: one packet, or several since the last time (uFAB, 4.1: L_w; E: tx of a pair;
    /// ElasticSwitch: demand).
    Sent {
        /// Of which pair.
        pair: Outgoing,
        /// On which path.
        path: PathIndex,
        /// Amount.
        bytes: Bytes,
    },
    /// A pair's candidate paths are others than before.
    PathsChanged {
        /// The pair.
        pair: Outgoing,
        /// Number of paths; at least 1.
        paths: u32,
        /// Effect on the old ones.
        change: PathsChange,
    },
    /// A tunnel has computed how much it would like, W' of SCC, III-B. Only ratios within a division count.
    ReferenceWeight {
        /// The tunnel.
        pair: Outgoing,
        /// In the unit of its division.
        weight: u64,
        /// Rate that it needs whatever its weight; zero if it needs none.
        floor: Rate,
    },
    /// A probe is back, or is known to be lost on a failed link (uFAB, 3.2; G). A probe that stays away without a word
    /// is found by a timer (4.1: 8 base round trips).
    ProbeReturned {
        /// Of which pair.
        pair: Outgoing,
        /// Along which path it went.
        path: PathIndex,
        /// Its header, as it was sent.
        probe: Probe,
        /// Answer of the other end.
        outcome: ProbeOutcome,
        /// Records that the ports of the path wrote, the first first.
        hops: &'a [IntHop],
        /// Round trip of the path without queues: of a full frame and of its answer on the path of the same number. A driver of real hosts
        /// takes the least one that it has measured.
        round_trip: Time,
    },
    /// A pair will send to a class here.
    IncomingOpened {
        /// Its number from now on.
        pair: Incoming,
        /// Known facts of the pair; `class` is the receiving one.
        spec: PairSpec,
    },
    /// A pair that arrived here has ended.
    IncomingClosed {
        /// The pair.
        pair: Incoming,
    },
    /// Bytes arrived: one packet, or several since the last time.
    Received {
        /// Of which pair.
        pair: Incoming,
        /// Amounts.
        arrivals: Arrivals,
    },
    /// A message arrives.
    Message {
        /// Sender.
        from: MessageOrigin,
        /// Content.
        message: M,
    },
    /// A timer fires.
    Timer(T),
}

/// Traffic that is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limiter {
    /// One pair (EyeQ's per-destination limiters; an SCC tunnel, III-B; a Chameleon rule, 4.2.3).
    Pair(Outgoing),
    /// All that a class sends from this host: the root limiter (Parley, 3.2.1, Fig. 10).
    Class(ClassId),
}

/// A token bucket in wire bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Rate of tokens.
    pub rate: Rate,
    /// Largest number of tokens. A new bucket is full; one that replaces another keeps its tokens, up to this.
    pub burst: Bytes,
    /// Treatment of a packet without tokens.
    pub excess: ExcessAction,
}

/// Treatment of a packet that finds too few tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExcessAction {
    /// It waits, and its sender is held back (Parley, 2: no drops on the transmit side).
    Waits,
    /// It is dropped (Chameleon, 4.2.3). A bucket of rate and burst zero that drops lets nothing out (4.2.2: a packet
    /// that no rule matches).
    Drops,
}

/// Owner of a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighted {
    /// A class at this host's weighted fair queues (uFAB, 4.1; PicNIC').
    Class(ClassId),
    /// A pair: its tunnel ([`Tunnel::on_weight`](crate::Tunnel::on_weight)) and the transports of its flows
    /// ([`Flow::on_weight`](crate::Flow::on_weight)) receive the weight (W of SCC, III-B; weighted Swift, uFAB 2.2).
    Pair(Outgoing),
    /// The turns of a pair's tunnel at its host's interface. Without such a weight they follow that of the pair.
    Turns(Outgoing),
}

/// Packets that a path in use carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathUse {
    /// A part of the packets: the [`Path`](crate::Path) role spreads them over all paths that share.
    Share,
    /// A copy of every packet; the receiving host delivers the first and drops the others (Chameleon, 3.3 and 4.2.2).
    Copy,
}

/// Action that a host asks for. The driver executes the actions in the order in which they are given.
#[derive(Clone, Debug)]
pub enum HostAction<M, T> {
    /// Sets a token bucket, replacing the one before. `None` lifts the limit (Parley, 3.2.2: who asks for less than its
    /// share is not limited).
    SetBucket {
        /// The traffic that it limits.
        limiter: Limiter,
        /// The traffic that it lets through.
        bucket: Option<Bucket>,
    },
    /// Sets how much of a pair may be in flight on a path. `None` lifts the limit; zero holds everything back (uFAB,
    /// 3.4).
    SetWindow {
        /// Of which pair.
        pair: Outgoing,
        /// On which path (uFAB, F: a pair may use several).
        path: PathIndex,
        /// Wire bytes.
        window: Option<Bytes>,
    },
    /// Sets the rate at which a pair may send on a path although its window is full: what it was promised does not wait for answers. Zero
    /// takes it away, and so does a window of zero.
    SetFloor {
        /// Of which pair.
        pair: Outgoing,
        /// On which path.
        path: PathIndex,
        /// Of wire bytes.
        rate: Rate,
    },
    /// Sets a weight.
    SetWeight {
        /// Owner.
        of: Weighted,
        /// At least 1; only ratios count.
        weight: u32,
    },
    /// Takes a path into use, or changes what it is used for. The first time, all that were in use by default are left.
    UsePath {
        /// Of which pair.
        pair: Outgoing,
        /// The path.
        path: PathIndex,
        /// Purpose.
        purpose: PathUse,
        /// No data goes there before this time, so that packets in flight on the path before can arrive (uFAB, 3.5;
        /// Chameleon 3.4).
        from: Time,
    },
    /// Takes a path out of use. A pair without a path holds its packets back.
    LeavePath {
        /// Of which pair.
        pair: Outgoing,
        /// The path.
        path: PathIndex,
    },
    /// Sends a probe along a candidate path, whether it is in use or not (uFAB, 3.5). It comes back as
    /// [`HostInput::ProbeReturned`], or not at all.
    SendProbe {
        /// Of which pair.
        pair: Outgoing,
        /// Along which path.
        path: PathIndex,
        /// Its header.
        probe: Probe,
        /// Windows for each hop's port, the first first; the last is also for all hops behind it (w of uFAB, 3.6).
        /// Never empty.
        windows: Vec<HopWindow>,
    },
    /// Sends a message. It may be lost.
    Send {
        /// Receiver.
        to: Peer,
        /// Content.
        message: M,
    },
    /// Arms a timer.
    Arm {
        /// Time at which it fires; not before now.
        at: Time,
        /// Its purpose.
        timer: T,
    },
}

impl<'a, M, T> HostInput<'a, M, T> {
    /// The same input with the messages and timers of a part: for a host that has another one within it (Parley's shaper
    /// has EyeQ's), or for one of several. `None` if its message or timer is not the part's.
    pub fn narrow<N, U>(
        self,
        message: impl FnOnce(M) -> Option<N>,
        timer: impl FnOnce(T) -> Option<U>,
    ) -> Option<HostInput<'a, N, U>> {
        Some(match self {
            Self::Message { from, message: incoming } => HostInput::Message { from, message: message(incoming)? },
            Self::Timer(token) => HostInput::Timer(timer(token)?),
            Self::Started => HostInput::Started,
            Self::ClassSet { class, transmit, receive } => HostInput::ClassSet { class, transmit, receive },
            Self::ClassGone { class } => HostInput::ClassGone { class },
            Self::Opened { pair, spec } => HostInput::Opened { pair, spec },
            Self::Closed { pair } => HostInput::Closed { pair },
            Self::Demand { pair, demand } => HostInput::Demand { pair, demand },
            Self::Sent { pair, path, bytes } => HostInput::Sent { pair, path, bytes },
            Self::PathsChanged { pair, paths, change } => HostInput::PathsChanged { pair, paths, change },
            Self::ReferenceWeight { pair, weight, floor } => HostInput::ReferenceWeight { pair, weight, floor },
            Self::ProbeReturned { pair, path, probe, outcome, hops, round_trip } => {
                HostInput::ProbeReturned { pair, path, probe, outcome, hops, round_trip }
            }
            Self::IncomingOpened { pair, spec } => HostInput::IncomingOpened { pair, spec },
            Self::IncomingClosed { pair } => HostInput::IncomingClosed { pair },
            Self::Received { pair, arrivals } => HostInput::Received { pair, arrivals },
        })
    }
}

impl<M, T> HostAction<M, T> {
    /// Returns this action with the messages and timers of the whole; the reverse of [`HostInput::narrow`].
    pub fn widen<N, U>(self, message: impl FnOnce(M) -> N, timer: impl FnOnce(T) -> U) -> HostAction<N, U> {
        match self {
            Self::Send { to, message: incoming } => HostAction::Send { to, message: message(incoming) },
            Self::Arm { at, timer: token } => HostAction::Arm { at, timer: timer(token) },
            Self::SetBucket { limiter, bucket } => HostAction::SetBucket { limiter, bucket },
            Self::SetWindow { pair, path, window } => HostAction::SetWindow { pair, path, window },
            Self::SetFloor { pair, path, rate } => HostAction::SetFloor { pair, path, rate },
            Self::SetWeight { of, weight } => HostAction::SetWeight { of, weight },
            Self::UsePath { pair, path, purpose, from } => HostAction::UsePath { pair, path, purpose, from },
            Self::LeavePath { pair, path } => HostAction::LeavePath { pair, path },
            Self::SendProbe { pair, path, probe, windows } => HostAction::SendProbe { pair, path, probe, windows },
        }
    }
}

/// The host role of a scheme: state of one machine.
///
/// ```
/// use wayleave_scheme_api::{Bucket, ExcessAction, Host, HostAction, HostInput, Limiter};
/// use wayleave_units::{Bytes, Rate, Time};
///
/// /// Gives every pair the same bucket.
/// struct Equal(Bucket);
///
/// impl Host for Equal {
///     type Message = ();
///     type Timer = ();
///
///     fn on(&mut self, _: Time, input: HostInput<'_, (), ()>, act: &mut impl FnMut(HostAction<(), ()>)) {
///         if let HostInput::Opened { pair, .. } = input {
///             act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket: Some(self.0) });
///         }
///     }
/// }
/// let _ = Equal(Bucket { rate: Rate::from_mbit(100), burst: Bytes::new(15_000), excess: ExcessAction::Waits });
/// ```
pub trait Host {
    /// Messages between hosts and brokers of the scheme; one type for all of them.
    type Message;

    /// Purpose of a timer.
    type Timer: Copy;

    /// Handles an event. `act` is called with every action to be taken, and never calls back into the host.
    fn on(
        &mut self,
        now: Time,
        input: HostInput<'_, Self::Message, Self::Timer>,
        act: &mut impl FnMut(HostAction<Self::Message, Self::Timer>),
    );

    /// Answers a probe that arrives here, at once; what the ports wrote goes back with the answer (uFAB, 3.2; the
    /// receiver's admission of tokens, E, Algorithm 1). An answer and not an action: there is exactly one to each
    /// probe.
    fn answer(&mut self, _now: Time, _pair: Incoming, _probe: &Probe) -> ProbeAnswer {
        ProbeAnswer::default()
    }
}
