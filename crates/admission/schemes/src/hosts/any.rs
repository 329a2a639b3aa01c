//! Enums that hold a host, a message, a timer or a broker of any scheme, and the parameters of one, written from `list.rs`; and the table of host schemes,
//! through which they call the functions of their scheme.

use std::fmt;

use wayleave_contracts::ServiceSpec;
use wayleave_scheme_api::{
    Broker, BrokerAction, BrokerInput, CustomBroker, CustomHost, CustomMessage, CustomTunnel, Described, Descriptor,
    Host, HostAction, HostInput, Incoming, ParamValues, Parameter, Parameters, Probe, ProbeAnswer, Value,
};
use wayleave_topology::NodeId;
use wayleave_units::Time;

use super::{HostBuildError, HostScheme, HostSetup, TunnelSetup, no_brokers};
use crate::brokers::{
    BrokerCodec, BrokerDecodeError, BrokerError, BrokerNetwork, BrokerSetup, BrokerSpec, BrokerTimes, IgnoredParam,
    SchemeBroker,
};
use crate::switches::Ecn;
use crate::usage_report::{Limited, UsageReport};

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

/// A frame of the smallest size, 64 B, with preamble and gap (IEEE 802.3).
const SMALLEST_FRAME: usize = 84;

/// An entry of [`HOST_SCHEMES`]: properties and constructors of one host scheme.
pub(crate) struct HostEntry {
    pub(crate) descriptor: &'static Descriptor,
    has_parts: bool,
    has_interval: bool,
    has_brokers: bool,
    pub(crate) enforces_levels: bool,
    divides_capacity: bool,
    config: fn(&ParamValues) -> Option<HostSchemeConfig>,
    settings: fn(&HostSchemeConfig) -> Vec<(&'static Parameter, Value)>,
    check: fn(&HostSchemeConfig) -> Result<(), (&'static Parameter, Value)>,
    check_together: fn(&HostSchemeConfig) -> Result<(), String>,
    check_service: fn(&ServiceSpec) -> Result<(), String>,
    not_carried_out: fn(&HostSchemeConfig) -> &'static [&'static str],
    broker_times: fn(&HostSchemeConfig) -> BrokerTimes,
    core: fn(&HostSchemeConfig) -> Option<Ecn>,
    host: fn(&HostSchemeConfig, &mut HostSetup<'_>) -> Result<AnyHost, HostBuildError>,
    tunnel: fn(&HostSchemeConfig, &TunnelSetup<'_>) -> Option<CustomTunnel>,
    brokers: fn(&HostSchemeConfig, &BrokerNetwork<'_>) -> Vec<BrokerSpec>,
    broker: fn(&HostSchemeConfig, &BrokerSetup<'_>) -> Result<AnyBroker, BrokerError>,
    decode: fn(&[u8]) -> Result<AnyMessage, BrokerDecodeError>,
    length: fn(&[u8]) -> Result<Option<usize>, BrokerDecodeError>,
    from_report: fn(UsageReport) -> Option<AnyMessage>,
    encode: fn(&AnyMessage) -> Option<Vec<u8>>,
    sender: fn(&AnyMessage) -> Option<NodeId>,
    limits: fn(&AnyMessage) -> Option<Vec<Limited>>,
    wire_bytes: fn(&AnyMessage) -> Option<usize>,
}

impl HostEntry {
    pub(super) const fn of<S: SchemeTypes>() -> Self {
        Self {
            descriptor: S::DESCRIPTOR,
            has_parts: S::HAS_PARTS,
            has_interval: S::HAS_INTERVAL,
            has_brokers: S::HAS_BROKERS,
            enforces_levels: S::ENFORCES_LEVELS,
            divides_capacity: S::DIVIDES_CAPACITY,
            config: |given| Parameters::with(given).ok().map(S::config),
            settings: |config| S::params(config).settings(),
            check: |config| S::params(config).check(),
            check_together: |config| S::check(&S::params(config)),
            check_service: S::check_service,
            not_carried_out: |config| S::not_carried_out(&S::params(config)),
            broker_times: |config| S::broker_times(&S::params(config)),
            core: |config| S::core(&S::params(config)),
            host: |config, setup| S::build(setup, &S::params(config)).map(Into::into),
            tunnel: |config, setup| S::tunnel(setup, &S::params(config)),
            brokers: |config, around| S::brokers(around, &S::params(config)),
            broker: |config, setup| S::broker(setup, &S::params(config)).map(S::any_broker),
            decode: |bytes| S::Broker::decode(bytes).map(S::any_message),
            length: S::Broker::length,
            from_report: |report| S::Broker::from_report(report).map(S::any_message),
            encode: |message| S::Broker::encode(S::message(message)?),
            sender: |message| S::Broker::sender(S::message(message)?),
            limits: |message| S::Broker::limits(S::message(message)?),
            wire_bytes: |message| S::message(message).map(S::wire_bytes),
        }
    }
}

/// Conversions between the types of one scheme and those of all schemes.
pub(super) trait SchemeTypes: HostScheme + Into<AnyHost> {
    fn config(params: Self::Params) -> HostSchemeConfig;

    /// Returns the parameters, or the defaults if `config` is of another scheme.
    fn params(config: &HostSchemeConfig) -> Self::Params;

    fn any_broker(broker: Self::Broker) -> AnyBroker;

    fn any_message(message: Self::Message) -> AnyMessage;

    fn message(message: &AnyMessage) -> Option<&Self::Message>;
}

/// Calls a function of a scheme's entry. Schemes that are not in this repository have none: their drivers construct them.
impl HostSchemeConfig {
    /// Returns the scheme of this name with these parameters; `None` if there is no such scheme, or a value is not of its parameter's kind.
    pub fn of(name: &str, given: &ParamValues) -> Option<Self> {
        HOST_SCHEMES.iter().find(|entry| entry.descriptor.name == name).and_then(|entry| (entry.config)(given))
    }

    /// Returns the name in files.
    pub fn name(&self) -> &'static str {
        self.entry().map_or("custom", |entry| entry.descriptor.name)
    }

    /// Returns the parameters with their values.
    pub fn settings(&self) -> Vec<(&'static Parameter, Value)> {
        self.entry().map_or_else(Vec::new, |entry| (entry.settings)(self))
    }

    /// Checks that each parameter is in range.
    ///
    /// # Errors
    /// The first that is not, and its value.
    pub fn check(&self) -> Result<(), (&'static Parameter, Value)> {
        self.entry().map_or(Ok(()), |entry| (entry.check)(self))
    }

    /// Checks that the parameters fit together, if each is in range.
    ///
    /// # Errors
    /// The conflict.
    pub fn check_together(&self) -> Result<(), String> {
        self.entry().map_or(Ok(()), |entry| (entry.check_together)(self))
    }

    /// Checks that the scheme knows the terms of a service.
    ///
    /// # Errors
    /// The term that is missing or unknown.
    pub fn check_service(&self, service: &ServiceSpec) -> Result<(), String> {
        self.entry().map_or(Ok(()), |entry| (entry.check_service)(service))
    }

    /// As [`HostScheme::not_carried_out`].
    pub fn not_carried_out(&self) -> &'static [&'static str] {
        self.entry().map_or(&[], |entry| (entry.not_carried_out)(self))
    }

    /// As [`HostScheme::HAS_PARTS`].
    pub fn has_parts(&self) -> bool {
        self.entry().is_none_or(|entry| entry.has_parts)
    }

    /// As [`HostScheme::HAS_INTERVAL`].
    pub fn has_interval(&self) -> bool {
        self.entry().is_some_and(|entry| entry.has_interval)
    }

    /// As [`HostScheme::HAS_BROKERS`].
    pub fn has_brokers(&self) -> bool {
        self.entry().is_some_and(|entry| entry.has_brokers)
    }

    /// As [`HostScheme::ENFORCES_LEVELS`].
    pub fn enforces_levels(&self) -> bool {
        self.entry().is_some_and(|entry| entry.enforces_levels)
    }

    /// As [`HostScheme::DIVIDES_CAPACITY`].
    pub fn divides_capacity(&self) -> bool {
        self.entry().is_some_and(|entry| entry.divides_capacity)
    }

    /// As [`HostScheme::core`].
    pub fn core(&self) -> Option<Ecn> {
        self.entry().and_then(|entry| (entry.core)(self))
    }

    /// Constructs the machine of a host.
    ///
    /// # Errors
    /// If parameters and host do not fit, or if the scheme is not in the list.
    pub fn host(&self, setup: &mut HostSetup<'_>) -> Result<AnyHost, HostBuildError> {
        let unlisted = || Err(HostBuildError(format!("{} is not in the list", self.name())));
        self.entry().map_or_else(unlisted, |entry| (entry.host)(self, setup))
    }

    /// Constructs the tunnel of a pair that leaves a host; `None` if its scheme has no tunnels.
    pub fn tunnel(&self, setup: &TunnelSetup<'_>) -> Option<CustomTunnel> {
        self.entry().and_then(|entry| (entry.tunnel)(self, setup))
    }

    /// Returns the brokers that a network needs.
    pub fn brokers(&self, around: &BrokerNetwork<'_>) -> Vec<BrokerSpec> {
        self.entry().map_or_else(Vec::new, |entry| (entry.brokers)(self, around))
    }

    /// Constructs the broker of a seat, each time that it starts.
    ///
    /// # Errors
    /// If it has nothing to divide, or if the scheme is not in the list.
    pub fn broker(&self, setup: &BrokerSetup<'_>) -> Result<AnyBroker, BrokerError> {
        self.entry().map_or_else(|| Err(no_brokers()), |entry| (entry.broker)(self, setup))
    }

    /// As [`HostScheme::broker_times`].
    pub fn broker_times(&self) -> BrokerTimes {
        self.entry().map_or_else(BrokerTimes::default, |entry| (entry.broker_times)(self))
    }

    /// Decodes a message of the scheme's brokers.
    ///
    /// # Errors
    /// If the bytes are no message.
    pub fn decode(&self, bytes: &[u8]) -> Result<AnyMessage, BrokerDecodeError> {
        self.entry().map_or_else(|| Err(no_messages()), |entry| (entry.decode)(bytes))
    }

    /// As [`BrokerCodec::length`].
    ///
    /// # Errors
    /// If no message begins like this.
    pub fn length(&self, begin: &[u8]) -> Result<Option<usize>, BrokerDecodeError> {
        self.entry().map_or_else(|| Err(no_messages()), |entry| (entry.length)(begin))
    }

    /// As [`BrokerCodec::from_report`].
    pub fn from_report(&self, report: UsageReport) -> Option<AnyMessage> {
        self.entry().and_then(|entry| (entry.from_report)(report))
    }
}

impl AnyMessage {
    /// Returns the size on the wire of the packet that carries the message, with headers, preamble and gap.
    pub fn wire_bytes(&self) -> u32 {
        match self {
            Self::Custom(message) => message.wire_bytes,
            _ => {
                let bytes = self.entry().and_then(|entry| (entry.wire_bytes)(self)).unwrap_or(0);
                u32::try_from(bytes.max(SMALLEST_FRAME)).unwrap_or(u32::MAX)
            }
        }
    }

    /// As [`BrokerCodec::encode`].
    pub fn encode(&self) -> Option<Vec<u8>> {
        self.entry().and_then(|entry| (entry.encode)(self))
    }

    /// As [`BrokerCodec::sender`].
    pub fn sender(&self) -> Option<NodeId> {
        self.entry().and_then(|entry| (entry.sender)(self))
    }

    /// As [`BrokerCodec::limits`].
    pub fn limits(&self) -> Option<Vec<Limited>> {
        self.entry().and_then(|entry| (entry.limits)(self))
    }
}

fn no_messages() -> BrokerDecodeError {
    BrokerDecodeError("brokers of a scheme that is not in the list have no messages here".to_owned())
}
