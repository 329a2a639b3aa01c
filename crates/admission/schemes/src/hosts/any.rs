//! Enums that hold a host, a message, a timer or a broker of any scheme, and the parameters of one; written from `list.rs`.

use std::fmt;

use wayleave_scheme_api::{
    Broker, BrokerAction, BrokerInput, CustomBroker, CustomHost, CustomMessage, Described, Descriptor, Host,
    HostAction, HostInput, Incoming, Probe, ProbeAnswer,
};
use wayleave_topology::NodeId;
use wayleave_units::Time;

use super::HostScheme;
use super::table::{HostEntry, SchemeTypes};
use crate::brokers::{BrokerError, BrokerNetwork, IgnoredParam, SchemeBroker};

/// Returns the input of a host or broker with the messages and timers of its scheme; `None` if they are another scheme's.
macro_rules! own {
    ($input:expr, $scheme:ident, $timers:ident) => {
        $input.narrow(
            |message| if let AnyMessage::$scheme(message) = message { Some(message) } else { None },
            |timer| if let $timers::$scheme(timer) = timer { Some(timer) } else { None },
        )
    };
}

/// Writes [`HostSchemeConfig`], [`HOST_SCHEMES`], and the enums that hold hosts, messages, timers and brokers of any scheme.
macro_rules! hosts {
    (
        admission { $($admission:tt)* }
        transport { $($transport:tt)* }
        path { $($path:tt)* }
        host { $($(#[$meta:meta])* $module:ident::$scheme:ident,)+ }
        $($others:tt)*
    ) => {
        /// A host scheme with its parameters, as a scenario gives it.
        #[derive(Clone, Debug, PartialEq)]
        pub enum HostSchemeConfig {
            $(
                #[doc = concat!("See [`crate::host::", stringify!($module), "`].")]
                $(#[$meta])*
                $scheme(<crate::host::$module::$scheme as Described>::Params),
            )+
            /// One that is not in this repository, by the name under which the driver was given it.
            Custom(String),
        }

        /// The descriptors of all host schemes that can be chosen by name.
        pub const HOSTS: &[&Descriptor] = &[
            $($(#[$meta])* <crate::host::$module::$scheme as Described>::DESCRIPTOR,)+
        ];

        /// All schemes that can be chosen by name.
        pub(crate) const HOST_SCHEMES: &[HostEntry] = &[$($(#[$meta])* HostEntry::of::<crate::host::$module::$scheme>(),)+];

        impl HostSchemeConfig {
            pub(super) fn entry(&self) -> Option<&'static HostEntry> {
                match self {
                    $($(#[$meta])* Self::$scheme(_) => Some(const { &HostEntry::of::<crate::host::$module::$scheme>() }),)+
                    Self::Custom(_) => None,
                }
            }
        }

        impl AnyMessage {
            pub(super) fn entry(&self) -> Option<&'static HostEntry> {
                match self {
                    $($(#[$meta])* Self::$scheme(_) => Some(const { &HostEntry::of::<crate::host::$module::$scheme>() }),)+
                    Self::Custom(_) => None,
                }
            }
        }

        $(
            $(#[$meta])*
            impl SchemeTypes for crate::host::$module::$scheme {
                fn config(params: Self::Params) -> HostSchemeConfig {
                    HostSchemeConfig::$scheme(params)
                }

                fn params(config: &HostSchemeConfig) -> Self::Params {
                    if let HostSchemeConfig::$scheme(params) = config { params.clone() } else { Self::Params::default() }
                }

                fn any_broker(broker: Self::Broker) -> AnyBroker {
                    AnyBroker::$scheme(broker)
                }

                fn any_message(message: Self::Message) -> AnyMessage {
                    AnyMessage::$scheme(message)
                }

                fn message(message: &AnyMessage) -> Option<&Self::Message> {
                    if let AnyMessage::$scheme(message) = message { Some(message) } else { None }
                }
            }
        )+

        /// One machine's state, whichever scheme it follows.
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant, reason = "all machines of one run are of one variant")]
        pub enum AnyHost {
            $(
                #[doc = concat!("See [`crate::host::", stringify!($module), "`].")]
                $(#[$meta])*
                $scheme(crate::host::$module::$scheme),
            )+
            /// One that is not in this repository.
            Custom(Box<dyn CustomHost>),
        }

        /// Message between machines and brokers.
        #[derive(Clone, Debug)]
        pub enum AnyMessage {
            $(
                #[doc = concat!("See [`crate::host::", stringify!($module), "`].")]
                $(#[$meta])*
                $scheme(<crate::host::$module::$scheme as Host>::Message),
            )+
            /// Of a scheme that is not in this repository.
            Custom(CustomMessage),
        }

        /// Purpose of a machine's timer.
        #[derive(Clone, Copy, Debug)]
        pub enum AnyTimer {
            $(
                #[doc = concat!("See [`crate::host::", stringify!($module), "`].")]
                $(#[$meta])*
                $scheme(<crate::host::$module::$scheme as Host>::Timer),
            )+
            /// Of a scheme that is not in this repository.
            Custom(u64),
        }

        $(
            $(#[$meta])*
            impl From<crate::host::$module::$scheme> for AnyHost {
                fn from(host: crate::host::$module::$scheme) -> Self {
                    Self::$scheme(host)
                }
            }
        )+

        impl Host for AnyHost {
            type Message = AnyMessage;
            type Timer = AnyTimer;

            #[inline]
            fn on(
                &mut self,
                now: Time,
                input: HostInput<'_, AnyMessage, AnyTimer>,
                act: &mut impl FnMut(HostAction<AnyMessage, AnyTimer>),
            ) {
                match self {
                    $($(#[$meta])* Self::$scheme(host) => {
                        if let Some(input) = own!(input, $scheme, AnyTimer) {
                            host.on(now, input, &mut |action: HostAction<_, _>| act(action.widen(AnyMessage::$scheme, AnyTimer::$scheme)));
                        }
                    })+
                    Self::Custom(host) => {
                        if let Some(input) = own!(input, Custom, AnyTimer) {
                            host.on(now, input, &mut |action: HostAction<_, _>| act(action.widen(AnyMessage::Custom, AnyTimer::Custom)));
                        }
                    }
                }
            }

            fn answer(&mut self, now: Time, pair: Incoming, probe: &Probe) -> ProbeAnswer {
                match self {
                    $($(#[$meta])* Self::$scheme(scheme) => scheme.answer(now, pair, probe),)+
                    Self::Custom(host) => host.answer(now, pair, probe),
                }
            }
        }

        impl AnyHost {
            /// Another interval of measurement, where the scheme has one (Parley, Fig. 12: T).
            pub fn set_interval(&mut self, interval: Time) {
                match self {
                    $($(#[$meta])* Self::$scheme(scheme) => HostScheme::set_interval(scheme, interval),)+
                    Self::Custom(_) => {}
                }
            }
        }

        /// A broker, whichever scheme it belongs to.
        pub enum AnyBroker {
            $(
                #[doc = concat!("See [`crate::host::", stringify!($module), "`].")]
                $(#[$meta])*
                $scheme(<crate::host::$module::$scheme as HostScheme>::Broker),
            )+
            /// Of a scheme that is not in this repository.
            Custom(CustomBroker),
        }

        impl fmt::Debug for AnyBroker {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($(#[$meta])* Self::$scheme(broker) => broker.fmt(f),)+
                    Self::Custom(_) => f.write_str("Custom"),
                }
            }
        }

        /// Purpose of a broker's timer.
        #[derive(Clone, Copy, Debug)]
        pub enum AnyBrokerTimer {
            $(
                #[doc = concat!("See [`crate::host::", stringify!($module), "`].")]
                $(#[$meta])*
                $scheme(<<crate::host::$module::$scheme as HostScheme>::Broker as Broker>::Timer),
            )+
            /// Of a scheme that is not in this repository.
            Custom(u64),
        }

        impl AnyBroker {
            /// As [`SchemeBroker::set_policies`].
            ///
            /// # Errors
            /// If the terms cannot be kept; then the old ones stay.
            pub fn set_policies(&mut self, around: &BrokerNetwork<'_>) -> Result<(), BrokerError> {
                match self {
                    $($(#[$meta])* Self::$scheme(broker) => broker.set_policies(around),)+
                    Self::Custom(_) => Ok(()),
                }
            }

            /// As [`SchemeBroker::members`].
            pub fn members(&self, now: Time) -> Vec<NodeId> {
                match self {
                    $($(#[$meta])* Self::$scheme(broker) => broker.members(now),)+
                    Self::Custom(_) => Vec::new(),
                }
            }

            /// As [`SchemeBroker::leader`].
            pub fn leader(&self, now: Time) -> Option<NodeId> {
                match self {
                    $($(#[$meta])* Self::$scheme(broker) => broker.leader(now),)+
                    Self::Custom(_) => None,
                }
            }

            /// As [`SchemeBroker::ignored`].
            pub fn ignored(&self) -> IgnoredParam {
                match self {
                    $($(#[$meta])* Self::$scheme(broker) => broker.ignored(),)+
                    Self::Custom(_) => IgnoredParam::default(),
                }
            }
        }

        impl Broker for AnyBroker {
            type Message = AnyMessage;
            type Timer = AnyBrokerTimer;

            #[allow(irrefutable_let_patterns, reason = "brokers of the list have no timers, but for a toy")]
            fn on(
                &mut self,
                now: Time,
                input: BrokerInput<AnyMessage, AnyBrokerTimer>,
                act: &mut dyn FnMut(BrokerAction<AnyMessage, AnyBrokerTimer>),
            ) {
                match self {
                    $($(#[$meta])* Self::$scheme(broker) => {
                        if let Some(input) = own!(input, $scheme, AnyBrokerTimer) {
                            broker.on(now, input, &mut |action| act(action.widen(AnyMessage::$scheme, AnyBrokerTimer::$scheme)));
                        }
                    })+
                    Self::Custom(broker) => {
                        if let Some(input) = own!(input, Custom, AnyBrokerTimer) {
                            broker.on(now, input, &mut |action| act(action.widen(AnyMessage::Custom, AnyBrokerTimer::Custom)));
                        }
                    }
                }
            }
        }
    };
}

each_scheme!(hosts);
