//! The schemes of the edge, one enum for each role: a driver keeps the machines and brokers of any scheme side by side,
//! and passes their messages and timers on without looking into them.
//!
//! To add a room: a line in `edges!` below, and the size of its messages in [`AnyMessage::wire_bytes`]; for a broker a
//! variant of [`AnyBroker`].

use std::fmt;

use wayleave_roles::{
    Broker, BrokerAction, BrokerInput, CustomBroker, CustomHost, CustomMessage, Host, HostAction, HostInput, Incoming,
    Probe, ProbeAnswer,
};
use wayleave_units::Time;

use crate::elasticswitch::ElasticSwitch;
use crate::eyeq::Eyeq;
use crate::parley::{FabricBroker, Message, Pool, RackBroker, Shaper};
use crate::static_limits::StaticLimits;

/// Ethernet header and FCS (18 B), preamble and gap (20 B), IPv4 header (20 B).
const NETWORK_HEADERS: usize = 58;

/// ElasticSwitch's messages hold two rates, or a count and a flag.
const TWO_RATES: usize = 16;

/// A UDP header.
const UDP: usize = 8;

/// A frame of the smallest size, 64 B, with preamble and gap (IEEE 802.3).
const SMALLEST_FRAME: usize = 84;

/// Declares [`AnyEdge`] with its messages and timers, and how each call reaches the room that is meant.
macro_rules! edges {
    ($($(#[$meta:meta])* $room:ident,)+) => {
        /// One machine's state, whichever scheme it follows.
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant, reason = "all machines of one run are of one variant")]
        pub enum AnyEdge {
            $($(#[$meta])* $room($room),)+
            /// One that is not in this repository.
            Custom(Box<dyn CustomHost>),
        }

        /// What machines and brokers write to one another.
        #[derive(Clone, Debug)]
        pub enum AnyMessage {
            $($(#[$meta])* $room(<$room as Host>::Message),)+
            /// Of a scheme that is not in this repository.
            Custom(CustomMessage),
        }

        /// What a machine's timer is for.
        #[derive(Clone, Copy, Debug)]
        pub enum AnyTimer {
            $($(#[$meta])* $room(<$room as Host>::Timer),)+
            /// Of a scheme that is not in this repository.
            Custom(u64),
        }

        $(impl From<$room> for AnyEdge {
            fn from(edge: $room) -> Self {
                Self::$room(edge)
            }
        })+

        impl Host for AnyEdge {
            type Message = AnyMessage;
            type Timer = AnyTimer;

            #[inline]
            fn on(
                &mut self,
                now: Time,
                input: HostInput<'_, AnyMessage, AnyTimer>,
                act: &mut impl FnMut(HostAction<'_, AnyMessage, AnyTimer>),
            ) {
                match self {
                    $(Self::$room(room) => {
                        // What another scheme wrote is nothing to this one.
                        let input = input.narrow(
                            |message| if let AnyMessage::$room(message) = message { Some(message) } else { None },
                            |timer| if let AnyTimer::$room(timer) = timer { Some(timer) } else { None },
                        );
                        if let Some(input) = input {
                            room.on(now, input, &mut |action| act(action.widen(AnyMessage::$room, AnyTimer::$room)));
                        }
                    })+
                    Self::Custom(host) => {
                        let input = input.narrow(
                            |message| if let AnyMessage::Custom(message) = message { Some(message) } else { None },
                            |timer| if let AnyTimer::Custom(timer) = timer { Some(timer) } else { None },
                        );
                        if let Some(input) = input {
                            let act = &mut |action: HostAction<'_, _, _>| {
                                act(action.widen(AnyMessage::Custom, AnyTimer::Custom));
                            };
                            host.on(now, input, act);
                        }
                    }
                }
            }

            fn answer(&mut self, now: Time, pair: Incoming, probe: &Probe) -> ProbeAnswer {
                match self {
                    $(Self::$room(room) => room.answer(now, pair, probe),)+
                    Self::Custom(host) => host.answer(now, pair, probe),
                }
            }
        }
    };
}

edges! {
    /// See [`crate::static_limits`].
    StaticLimits,
    /// See [`crate::eyeq`].
    Eyeq,
    /// See [`crate::elasticswitch`].
    ElasticSwitch,
    /// See [`crate::parley`].
    Shaper,
}

impl AnyEdge {
    /// Another interval of measurement, where the scheme has one (Parley, Fig. 12: T).
    pub fn set_interval(&mut self, interval: Time) {
        match self {
            Self::Eyeq(eyeq) => eyeq.set_interval(interval),
            Self::Shaper(shaper) => shaper.set_interval(interval),
            Self::StaticLimits(_) | Self::ElasticSwitch(_) | Self::Custom(_) => {}
        }
    }
}

impl AnyMessage {
    /// Bytes on the wire of its packet, with headers, preamble and gap. Rates are in IP packets of their own (Parley,
    /// 3.2.1), brokers write datagrams (5.2); the fabric broker's RPC (5.3) is taken for one as well.
    pub fn wire_bytes(&self) -> u32 {
        let bytes = match self {
            Self::StaticLimits(never) => match *never {},
            Self::Eyeq(feedback) => Message::Feedback(*feedback).encoded_len() + NETWORK_HEADERS,
            Self::Custom(message) => return message.wire_bytes,
            Self::ElasticSwitch(_) => TWO_RATES + UDP + NETWORK_HEADERS,
            Self::Shaper(message @ Message::Feedback(_)) => message.encoded_len() + NETWORK_HEADERS,
            Self::Shaper(message) => message.encoded_len() + UDP + NETWORK_HEADERS,
        };
        u32::try_from(bytes.max(SMALLEST_FRAME)).unwrap_or(u32::MAX)
    }
}

/// A broker of any level and scheme.
pub enum AnyBroker {
    /// See [`RackBroker`].
    Rack(Box<RackBroker>),
    /// See [`FabricBroker`].
    Fabric(Box<FabricBroker>),
    /// Of a scheme that is not in this repository.
    Custom(CustomBroker),
}

impl fmt::Debug for AnyBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rack(broker) => broker.fmt(f),
            Self::Fabric(broker) => broker.fmt(f),
            Self::Custom(_) => f.write_str("Custom"),
        }
    }
}

impl AnyBroker {
    /// Other terms for the same services and members, where the broker divides a pool.
    pub fn set_pool(&mut self, pool: Pool) {
        match self {
            Self::Rack(broker) => broker.set_pool(pool),
            Self::Fabric(broker) => broker.set_pool(pool),
            Self::Custom(_) => {}
        }
    }
}

impl Broker for AnyBroker {
    type Message = AnyMessage;
    type Timer = AnyTimer;

    fn on(
        &mut self,
        now: Time,
        input: BrokerInput<AnyMessage, AnyTimer>,
        act: &mut dyn FnMut(BrokerAction<AnyMessage, AnyTimer>),
    ) {
        // What another scheme wrote is not for this one.
        match self {
            Self::Custom(broker) => {
                let input = input.narrow(
                    |message| if let AnyMessage::Custom(message) = message { Some(message) } else { None },
                    |timer| if let AnyTimer::Custom(timer) = timer { Some(timer) } else { None },
                );
                if let Some(input) = input {
                    broker.on(now, input, &mut |action| act(action.widen(AnyMessage::Custom, AnyTimer::Custom)));
                }
            }
            Self::Rack(broker) => parley(&mut **broker, now, input, act),
            Self::Fabric(broker) => parley(&mut **broker, now, input, act),
        }
    }
}

/// Parley's brokers write as its shapers do, and have no timers.
fn parley(
    broker: &mut dyn Broker<Message = Message, Timer = std::convert::Infallible>,
    now: Time,
    input: BrokerInput<AnyMessage, AnyTimer>,
    act: &mut dyn FnMut(BrokerAction<AnyMessage, AnyTimer>),
) {
    let message = |message| if let AnyMessage::Shaper(message) = message { Some(message) } else { None };
    if let Some(input) = input.narrow(message, |_| None) {
        broker.on(now, input, &mut |action| act(action.widen(AnyMessage::Shaper, |never| match never {})));
    }
}
