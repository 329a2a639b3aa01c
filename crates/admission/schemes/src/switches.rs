//! Port functions beside queueing, for every scheme: calls are static, and the states of queues are stored side by
//! side without boxes. The enums are written from `list.rs`, and so is the enum of a scenario's choice: a scheme with
//! its parameters.
//!
//! A scheme that is not in this repository is the variant `Custom`: a trait object, whose calls are dynamic.

use std::fmt;
use std::sync::Arc;

use wayleave_scheme_api::{
    Described, Descriptor, IntHop, Mark, ParamValues, Parameter, Parameters, ProbeAt, QueueState, Switch, Value,
};
use wayleave_units::{Bytes, Rate, Time};

/// A marking scheme of the list.
pub trait SwitchScheme: Described + Switch + Sized {
    /// `true` if it writes into records of telemetry, so that its port has to make them.
    const WRITES_TELEMETRY: bool = false;
    /// `true` if it marks packets; a port calls other schemes for no packet.
    const MARKS: bool = true;

    /// For a queue of a port that sends at this rate; queues should not share a seed.
    fn begin(params: &Self::Params, rate: Rate, seed: u64) -> Self;

    /// For schemes that do nothing but mark what finds more than this: plain ports do it themselves.
    fn threshold(_params: &Self::Params) -> Option<Bytes> {
        None
    }

    /// Returns the conflict between parameters that are each in range.
    fn conflict(_params: &Self::Params) -> Option<String> {
        None
    }
}

/// A marking scheme that is not in this repository.
pub trait CustomSwitches: fmt::Debug + Send + Sync {
    /// Returns the descriptor of the scheme.
    fn descriptor(&self) -> &'static Descriptor;

    /// For a queue of a port that sends at this rate.
    fn begin(&self, rate: Rate, seed: u64) -> Box<dyn Switch + Send>;
}

shared!(SharedSwitches, CustomSwitches, "Somebody else's marking scheme, which all queues share.");

/// Writes [`Ecn`] and [`AnySwitch`], and the dispatch of each call to its scheme.
macro_rules! switches {
    (
        admission { $($admission:tt)* }
        transport { $($transport:tt)* }
        path { $($path:tt)* }
        host { $($host:tt)* }
        switch { $($(#[$meta:meta])* $module:ident::$scheme:ident,)+ }
    ) => {
        choice! {
            /// Marking of packets whose transports understand marks, as configured in a scenario.
            Ecn, SharedSwitches, SWITCHES;
            $($(#[$meta])* switch::$module::$scheme,)+
        }

        impl Ecn {
            /// For a queue of a port that sends at this rate; queues should not share a seed.
            pub fn switch(&self, rate: Rate, seed: u64) -> AnySwitch {
                match self {
                    $($(#[$meta])* Self::$scheme(params) => {
                        AnySwitch::$scheme(<crate::switch::$module::$scheme as SwitchScheme>::begin(params, rate, seed))
                    })+
                    Self::Custom(custom) => AnySwitch::custom(custom.0.begin(rate, seed)),
                }
            }

            /// The size above which it marks, if it does nothing else.
            pub fn threshold_only(&self) -> Option<Bytes> {
                match self {
                    $($(#[$meta])* Self::$scheme(params) => {
                        <crate::switch::$module::$scheme as SwitchScheme>::threshold(params)
                    })+
                    Self::Custom(_) => None,
                }
            }

            /// Returns `true` if it marks packets at all.
            pub fn marks(&self) -> bool {
                match self {
                    $($(#[$meta])* Self::$scheme(_) => <crate::switch::$module::$scheme as SwitchScheme>::MARKS,)+
                    Self::Custom(_) => true,
                }
            }

            /// Returns the conflict between its parameters that are each in range.
            pub fn conflict(&self) -> Option<String> {
                match self {
                    $($(#[$meta])* Self::$scheme(params) => {
                        <crate::switch::$module::$scheme as SwitchScheme>::conflict(params)
                    })+
                    Self::Custom(_) => None,
                }
            }
        }

        /// Functions of one queue of a port beside queueing, for any scheme.
        #[derive(Debug)]
        pub enum AnySwitch {
            /// Nothing: no packet is marked, and records of telemetry stay as the port writes them.
            None,
            $(
                #[doc = concat!("See [`crate::switch::", stringify!($module), "`].")]
                $(#[$meta])*
                $scheme(crate::switch::$module::$scheme),
            )+
            /// A scheme from outside of this crate: a virtual call for each packet.
            Custom(CustomSwitch),
        }

        $(
            $(#[$meta])*
            impl From<crate::switch::$module::$scheme> for AnySwitch {
                fn from(switch: crate::switch::$module::$scheme) -> Self {
                    Self::$scheme(switch)
                }
            }
        )+

        impl AnySwitch {
            /// Returns `true` if it has to see records of telemetry that no packet requested from the port.
            pub fn writes_telemetry(&self) -> bool {
                match self {
                    Self::None => false,
                    $($(#[$meta])* Self::$scheme(_) => <crate::switch::$module::$scheme as SwitchScheme>::WRITES_TELEMETRY,)+
                    Self::Custom(_) => true,
                }
            }
        }

        impl Switch for AnySwitch {
            #[inline]
            fn on_arrival(&mut self, now: Time, queue: QueueState, bytes: u32) -> Mark {
                match self {
                    Self::None => Mark::No,
                    $($(#[$meta])* Self::$scheme(switch) => switch.on_arrival(now, queue, bytes),)+
                    Self::Custom(switch) => switch.0.on_arrival(now, queue, bytes),
                }
            }

            fn on_telemetry(&mut self, now: Time, probe: Option<&ProbeAt>, hop: &mut IntHop) {
                match self {
                    Self::None => {}
                    $($(#[$meta])* Self::$scheme(switch) => switch.on_telemetry(now, probe, hop),)+
                    Self::Custom(switch) => switch.0.on_telemetry(now, probe, hop),
                }
            }
        }
    };
}

each_scheme!(switches);

/// A switch role that this crate does not know.
pub struct CustomSwitch(pub Box<dyn Switch + Send>);

impl fmt::Debug for CustomSwitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CustomSwitch")
    }
}

impl AnySwitch {
    /// A scheme from outside.
    pub fn custom(switch: Box<dyn Switch + Send>) -> Self {
        Self::Custom(CustomSwitch(switch))
    }

    /// Returns `true` if it has to see packets whose transports understand no marks. Marking schemes need not; the
    /// needs of a custom scheme are not known.
    pub fn sees_everything(&self) -> bool {
        matches!(self, Self::Custom(_))
    }
}

// The state of a queue is in one of the simulator's hottest tables: about a cache line.
const _: () = assert!(size_of::<AnySwitch>() <= 72);
