//! The schemes of the packet path, one enum for each role: calls are static, and the states of flows, of their paths
//! and of queues stand side by side without boxes. Only schemes from outside of this crate are boxed.
//!
//! To add a scheme module: a line in `flows!`, `paths!` or `switches!` below, and a constructor where `new` takes more than one
//! argument.

use std::fmt;

use wayleave_roles::{
    Ack, Departure, Flow, FlowStart, IntHop, LocalFlow, Loss, Mark, Path, PathReport, Probe, QueueState, RouteFacts,
    Switch,
};
use wayleave_units::{Bytes, Rate, Time};

use crate::cubic::Cubic;
use crate::dctcp::Dctcp;
use crate::ecmp::{PerFlow, PerPacket};
use crate::ecn::{Red, RedParams, Threshold};
use crate::flowlet::Flowlet;
use crate::newreno::NewReno;
use crate::presto::Flowcells;

/// Declares [`AnyFlow`], and how each call reaches the room that is meant.
macro_rules! flows {
    ($($(#[$meta:meta])* $room:ident => $new:ident,)+) => {
        /// Congestion control of one flow, whichever it is.
        ///
        /// ```
        /// use wayleave_roles::{Flow, FlowStart};
        /// use wayleave_schemes::transports::AnyFlow;
        ///
        /// let start = FlowStart {
        ///     segment: 1460, initial_window: 14_600, max_window: 1_460_000, size: None, deadline: None, weight: 1,
        /// };
        /// assert_eq!(AnyFlow::dctcp(&start).window(), 14_600);
        /// assert_eq!(AnyFlow::Fixed(30_000).window(), 30_000);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum AnyFlow {
            /// A window that never changes, in bytes.
            Fixed(u64),
            $($(#[$meta])* $room($room),)+
        }

        impl AnyFlow {
            $($(#[$meta])*
            pub fn $new(start: &FlowStart) -> Self {
                Self::$room($room::new(start))
            })+
        }

        impl Flow for AnyFlow {
            fn on_route(&mut self, now: Time, route: RouteFacts) {
                match self { Self::Fixed(_) => {} $(Self::$room(flow) => flow.on_route(now, route),)+ }
            }

            #[inline]
            fn hears_routes(&self) -> bool {
                match self { Self::Fixed(_) => false, $(Self::$room(flow) => flow.hears_routes(),)+ }
            }

            fn on_weight(&mut self, now: Time, weight: u32) {
                match self { Self::Fixed(_) => {} $(Self::$room(flow) => flow.on_weight(now, weight),)+ }
            }

            #[inline]
            fn on_send(&mut self, now: Time, bytes: u32) {
                match self { Self::Fixed(_) => {} $(Self::$room(flow) => flow.on_send(now, bytes),)+ }
            }

            #[inline]
            fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
                match self { Self::Fixed(_) => {} $(Self::$room(flow) => flow.on_ack(now, ack),)+ }
            }

            fn on_loss(&mut self, now: Time, loss: Loss) {
                match self { Self::Fixed(_) => {} $(Self::$room(flow) => flow.on_loss(now, loss),)+ }
            }

            #[inline]
            fn window(&self) -> u64 {
                match self { Self::Fixed(window) => *window, $(Self::$room(flow) => flow.window(),)+ }
            }

            #[inline]
            fn pacing(&self) -> Option<Rate> {
                match self { Self::Fixed(_) => None, $(Self::$room(flow) => flow.pacing(),)+ }
            }

            #[inline]
            fn payload(&self, segment: u32) -> u32 {
                match self { Self::Fixed(_) => segment, $(Self::$room(flow) => flow.payload(segment),)+ }
            }

            #[inline]
            fn urgency(&self, remaining: u64) -> u64 {
                match self { Self::Fixed(_) => remaining, $(Self::$room(flow) => flow.urgency(remaining),)+ }
            }
        }
    };
}

flows! {
    /// See [`crate::newreno`].
    NewReno => newreno,
    /// See [`crate::cubic`].
    Cubic => cubic,
    /// See [`crate::dctcp`].
    Dctcp => dctcp,
}

/// Declares [`AnyPath`], and how each call reaches the room that is meant.
macro_rules! paths {
    ($($(#[$meta:meta])* $room:ident,)+) => {
        /// How one flow chooses its paths, whichever way it is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum AnyPath {
            $($(#[$meta])* $room($room),)+
        }

        $(impl From<$room> for AnyPath {
            fn from(path: $room) -> Self {
                Self::$room(path)
            }
        })+

        impl Path for AnyPath {
            #[inline]
            fn choose(&mut self, now: Time, departure: Departure) -> u32 {
                match self { $(Self::$room(path) => path.choose(now, departure)),+ }
            }

            #[inline]
            fn choose_for(&mut self, now: Time, flow: LocalFlow, departure: Departure) -> u32 {
                match self { $(Self::$room(path) => path.choose_for(now, flow, departure)),+ }
            }

            #[inline]
            fn hears_reports(&self) -> bool {
                match self { $(Self::$room(path) => path.hears_reports()),+ }
            }

            fn on_report(&mut self, now: Time, report: PathReport) {
                match self { $(Self::$room(path) => path.on_report(now, report)),+ }
            }

            fn on_telemetry(&mut self, now: Time, path: u32, hops: &[IntHop]) {
                match self { $(Self::$room(room) => room.on_telemetry(now, path, hops)),+ }
            }

            fn on_paths_changed(&mut self, now: Time) {
                match self { $(Self::$room(path) => path.on_paths_changed(now)),+ }
            }
        }
    };
}

paths! {
    /// See [`crate::ecmp`].
    PerFlow,
    /// See [`crate::ecmp`].
    PerPacket,
    /// See [`crate::flowlet`].
    Flowlet,
    /// See [`crate::presto`].
    Flowcells,
}

impl AnyPath {
    /// The flowcell of the packet whose path was chosen last; 0 where there are none.
    #[inline]
    pub fn cell(&self) -> u32 {
        if let Self::Flowcells(path) = self { path.cell() } else { 0 }
    }
}

/// Declares [`AnySwitch`], and how each call reaches the scheme module that is meant.
macro_rules! switches {
    ($($(#[$meta:meta])* $module:ident,)+) => {
        /// What one queue of a port does beside queueing, whichever scheme it follows.
        #[derive(Debug)]
        pub enum AnySwitch {
            /// Nothing: no packet is marked, and records of telemetry stay as the port writes them.
            None,
            $($(#[$meta])* $module($module),)+
            /// A scheme from outside of this crate: a virtual call for each packet.
            Custom(CustomSwitch),
        }

        $(impl From<$module> for AnySwitch {
            fn from(switch: $module) -> Self {
                Self::$module(switch)
            }
        })+

        impl Switch for AnySwitch {
            #[inline]
            fn on_arrival(&mut self, now: Time, queue: QueueState, bytes: u32) -> Mark {
                match self {
                    Self::None => Mark::No,
                    $(Self::$module(switch) => switch.on_arrival(now, queue, bytes),)+
                    Self::Custom(switch) => switch.0.on_arrival(now, queue, bytes),
                }
            }

            fn on_telemetry(&mut self, now: Time, probe: Option<&Probe>, hop: &mut IntHop) {
                match self {
                    Self::None => {}
                    $(Self::$module(switch) => switch.on_telemetry(now, probe, hop),)+
                    Self::Custom(switch) => switch.0.on_telemetry(now, probe, hop),
                }
            }
        }
    };
}

switches! {
    /// See [`crate::ecn`].
    Threshold,
    /// See [`crate::ecn`].
    Red,
}

/// A switch role that this crate does not know.
pub struct CustomSwitch(pub Box<dyn Switch + Send>);

impl fmt::Debug for CustomSwitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CustomSwitch")
    }
}

impl AnySwitch {
    /// Marks packets that find more than this (DCTCP).
    pub fn threshold(threshold: Bytes) -> Self {
        Self::Threshold(Threshold(threshold))
    }

    /// Random early detection: see [`RedParams`].
    pub fn red(min: Bytes, max: Bytes, probability: f64, weight: f64, rate: Rate, seed: u64) -> Self {
        Self::Red(Red::new(RedParams { min, max, probability, weight, rate }, seed))
    }

    /// A scheme from outside.
    pub fn custom(switch: Box<dyn Switch + Send>) -> Self {
        Self::Custom(CustomSwitch(switch))
    }

    /// Whether it has to see packets whose transports understand no marks, and records of telemetry that nobody asked
    /// the port for. Marking schemes need neither; what a scheme from outside needs is not known.
    pub fn sees_everything(&self) -> bool {
        matches!(self, Self::Custom(_))
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! What the tests of several rooms share: flows in segments of 1,000 B.

    use wayleave_roles::{Limit, Phase};

    use super::*;

    /// Payload of a full packet, in bytes.
    pub(crate) const SEGMENT: u64 = 1000;

    /// A flow without end with this initial window, in segments.
    pub(crate) fn start(initial: u64) -> FlowStart {
        FlowStart {
            segment: SEGMENT as u32,
            initial_window: initial * SEGMENT,
            max_window: 100_000 * SEGMENT,
            size: None,
            deadline: None,
            weight: 1,
        }
    }

    /// An acknowledgement of so many segments, to a sender that its window holds back. Nothing else is outstanding.
    pub(crate) fn acked(segments: u64) -> Ack<'static> {
        Ack {
            newly: segments * SEGMENT,
            marked: 0,
            acknowledged: 50 * SEGMENT,
            sent: 50 * SEGMENT,
            in_flight: 0,
            remaining: None,
            round_trip: None,
            host_delay: None,
            limit: Limit::Window,
            phase: Phase::Open,
            telemetry: &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_flow_is_a_cache_line_and_that_of_a_queue_too() {
        // They lie in the simulator's hottest tables.
        assert_eq!(size_of::<AnyFlow>(), 64);
        assert_eq!(size_of::<AnyPath>(), 40);
        assert!(size_of::<AnySwitch>() <= 72, "{}", size_of::<AnySwitch>());
    }
}
