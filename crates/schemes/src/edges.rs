//! The schemes of the edge, one enum for the host role: a driver keeps the machines of any scheme side by side, and
//! passes their messages and timers on without looking into them.
//!
//! To add a room: a line in `edges!` below, and the size of its messages in [`AnyMessage::wire_bytes`].

use wayleave_policy::{Host, HostAction, HostInput};
use wayleave_units::Time;

use crate::static_limits::StaticLimits;

/// Declares [`AnyEdge`] with its messages and timers, and how each call reaches the room that is meant.
macro_rules! edges {
    ($($(#[$meta:meta])* $room:ident,)+) => {
        /// One machine's state, whichever scheme it follows.
        #[derive(Debug)]
        pub enum AnyEdge {
            $($(#[$meta])* $room($room),)+
        }

        /// What machines and brokers write to one another.
        #[derive(Clone, Debug)]
        pub enum AnyMessage {
            $($(#[$meta])* $room(<$room as Host>::Message),)+
        }

        /// What a machine's timer is for.
        #[derive(Clone, Copy, Debug)]
        pub enum AnyTimer {
            $($(#[$meta])* $room(<$room as Host>::Timer),)+
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
                        #[allow(unreachable_patterns, reason = "with one room there is nobody else")]
                        let message = |message| match message {
                            AnyMessage::$room(message) => Some(message),
                            _ => None,
                        };
                        #[allow(unreachable_patterns, reason = "with one room there is nobody else")]
                        let timer = |timer| match timer {
                            AnyTimer::$room(timer) => Some(timer),
                            _ => None,
                        };
                        // What another scheme wrote is nothing to this one.
                        if let Some(input) = unwrapped(input, message, timer) {
                            room.on(now, input, &mut |action| {
                                act(wrapped(action, AnyMessage::$room, AnyTimer::$room));
                            });
                        }
                    })+
                }
            }
        }
    };
}

edges! {
    /// See [`crate::static_limits`].
    StaticLimits,
}

impl AnyMessage {
    /// Bytes on the wire of its packet, with headers, preamble and gap.
    pub fn wire_bytes(&self) -> u32 {
        match *self {
            Self::StaticLimits(never) => match never {},
        }
    }
}

/// An input with the messages and timers of one room, if it has them.
fn unwrapped<M, T, N, U>(
    input: HostInput<'_, M, T>,
    message_of: impl FnOnce(M) -> Option<N>,
    timer_of: impl FnOnce(T) -> Option<U>,
) -> Option<HostInput<'_, N, U>> {
    Some(match input {
        HostInput::Started => HostInput::Started,
        HostInput::ClassSet { class, transmit, receive } => HostInput::ClassSet { class, transmit, receive },
        HostInput::ClassGone { class } => HostInput::ClassGone { class },
        HostInput::Opened { pair, spec } => HostInput::Opened { pair, spec },
        HostInput::Closed { pair } => HostInput::Closed { pair },
        HostInput::Demand { pair, demand } => HostInput::Demand { pair, demand },
        HostInput::Sent { pair, path, bytes } => HostInput::Sent { pair, path, bytes },
        HostInput::PathsChanged { pair, paths, change } => HostInput::PathsChanged { pair, paths, change },
        HostInput::ReferenceWeight { pair, weight } => HostInput::ReferenceWeight { pair, weight },
        HostInput::ProbeReturned { pair, path, kind, outcome, hops } => {
            HostInput::ProbeReturned { pair, path, kind, outcome, hops }
        }
        HostInput::IncomingOpened { pair, spec } => HostInput::IncomingOpened { pair, spec },
        HostInput::IncomingClosed { pair } => HostInput::IncomingClosed { pair },
        HostInput::Received { pair, arrivals } => HostInput::Received { pair, arrivals },
        HostInput::Message { from, message } => HostInput::Message { from, message: message_of(message)? },
        HostInput::Timer(timer) => HostInput::Timer(timer_of(timer)?),
    })
}

/// An action with the messages and timers of all rooms.
fn wrapped<'a, M, T, N, U>(
    action: HostAction<'a, M, T>,
    message_of: impl FnOnce(M) -> N,
    timer_of: impl FnOnce(T) -> U,
) -> HostAction<'a, N, U> {
    match action {
        HostAction::SetBucket { limiter, bucket } => HostAction::SetBucket { limiter, bucket },
        HostAction::SetWindow { pair, path, window } => HostAction::SetWindow { pair, path, window },
        HostAction::SetWeight { of, weight } => HostAction::SetWeight { of, weight },
        HostAction::UsePath { pair, path, purpose, from } => HostAction::UsePath { pair, path, purpose, from },
        HostAction::LeavePath { pair, path } => HostAction::LeavePath { pair, path },
        HostAction::SendProbe { pair, path, probe, windows } => HostAction::SendProbe { pair, path, probe, windows },
        HostAction::Send { to, message } => HostAction::Send { to, message: message_of(message) },
        HostAction::Arm { at, timer } => HostAction::Arm { at, timer: timer_of(timer) },
    }
}
