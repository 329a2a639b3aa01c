//! The broker role: a broker adds up over hosts and divides among them.
//!
//! - **Parley's rack broker** (3.2.2, 5.2) receives the usage of (machine, service), the capacity of the uplinks, and
//!   its limits from the fabric broker. It sends capacities to machines, usage to the other brokers of the rack, and
//!   as leader usage to the fabric broker.
//! - **Parley's fabric broker** (3.2.3, 5.3) receives the usage of (rack, service) and sends limits to racks.
//! - **SCC's division tracker** (III-B) receives the reference weights of tunnels and sends the scale factor to the
//!   hosts of the division.
//!
//! A broker may run on a machine of its own or on every machine of a rack (Parley, 5.2); its division reaches a host
//! only as a message. It is allowed to fail: hosts fall back by a timer (Parley, 5.2: 5 s, 5.3: 50 s), and so does a
//! broker that receives nothing from the one above it. So no input reports failures.
//!
//! Admission is no broker: it decides once, where brokers divide again and again. The controller of Chameleon still
//! has the address of a broker, because hosts write to it.

use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use crate::ids::BrokerId;

/// Member of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Member {
    /// The [`Host`](crate::Host) role of a machine, which receives the message from
    /// [`MessageOrigin::Broker`](crate::MessageOrigin::Broker).
    Host(NodeId),
    /// A broker.
    Broker(BrokerId),
}

/// Leadership of a broker in its group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leadership {
    /// Another broker leads, or none.
    #[default]
    Follower,
    /// It leads: it reports upwards (Parley, 5.3), or is the tracker of its division (SCC, III-B). Two leaders at
    /// once are possible for some time, so the messages of a leader replace and never add.
    Leader,
}

/// Events at a broker.
#[derive(Clone, Debug)]
pub enum BrokerInput<M, T> {
    /// It begins to work, as a follower. The first input, given once.
    Started,
    /// It leads, or does not any more, where the driver finds leaders. Parley's rack brokers find theirs by the
    /// senders of the messages that arrive, and do not need this input.
    Elected(Leadership),
    /// The capacity that it divides, from now on (Parley, 3.2.2: the capacity of the rack's uplinks, taken as one
    /// link).
    Capacity {
        /// Out of its group.
        transmit: Rate,
        /// Into it.
        receive: Rate,
    },
    /// A message arrives.
    Message {
        /// Sender.
        from: Member,
        /// Content.
        message: M,
    },
    /// A timer fires: once, not before its time, and without a possibility to cancel it.
    Timer(T),
}

/// Action that a broker asks for. The driver executes the actions in the order in which they are given.
#[derive(Clone, Debug)]
pub enum BrokerAction<M, T> {
    /// Sends a message. It may be lost.
    Send {
        /// Receiver.
        to: Member,
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

impl<M, T> BrokerInput<M, T> {
    /// The same input with the messages and timers of one of several schemes; `None` if they are another's.
    pub fn narrow<N, U>(
        self,
        message: impl FnOnce(M) -> Option<N>,
        timer: impl FnOnce(T) -> Option<U>,
    ) -> Option<BrokerInput<N, U>> {
        Some(match self {
            Self::Started => BrokerInput::Started,
            Self::Elected(leadership) => BrokerInput::Elected(leadership),
            Self::Capacity { transmit, receive } => BrokerInput::Capacity { transmit, receive },
            Self::Message { from, message: incoming } => BrokerInput::Message { from, message: message(incoming)? },
            Self::Timer(token) => BrokerInput::Timer(timer(token)?),
        })
    }
}

impl<M, T> BrokerAction<M, T> {
    /// Returns this action with the messages and timers of the whole; the reverse of [`BrokerInput::narrow`].
    pub fn widen<N, U>(self, message: impl FnOnce(M) -> N, timer: impl FnOnce(T) -> U) -> BrokerAction<N, U> {
        match self {
            Self::Send { to, message: incoming } => BrokerAction::Send { to, message: message(incoming) },
            Self::Arm { at, timer: token } => BrokerAction::Arm { at, timer: timer(token) },
        }
    }
}

/// Divides among hosts. It works in milliseconds to minutes, so it may be a trait object.
///
/// ```
/// use wayleave_scheme_api::{Broker, BrokerAction, BrokerInput};
/// use wayleave_units::{Rate, Time};
///
/// /// Answers every rate that is asked for with half of it.
/// struct Half;
///
/// impl Broker for Half {
///     type Message = Rate;
///     type Timer = ();
///
///     fn on(&mut self, _: Time, input: BrokerInput<Rate, ()>, act: &mut dyn FnMut(BrokerAction<Rate, ()>)) {
///         if let BrokerInput::Message { from, message } = input {
///             let half = Rate::from_bits_per_second(message.bits_per_second() / 2);
///             act(BrokerAction::Send { to: from, message: half });
///         }
///     }
/// }
/// let _: Box<dyn Broker<Message = Rate, Timer = ()>> = Box::new(Half);
/// ```
pub trait Broker {
    /// Messages between hosts and brokers of the scheme; the type that its hosts have.
    type Message;

    /// Purpose of a timer.
    type Timer: Copy;

    /// Handles an event. `act` is called with every action to be taken, and never calls back into the broker.
    fn on(
        &mut self,
        now: Time,
        input: BrokerInput<Self::Message, Self::Timer>,
        act: &mut dyn FnMut(BrokerAction<Self::Message, Self::Timer>),
    );
}
