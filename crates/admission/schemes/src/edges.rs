//! The schemes of the edge, one enum for each role: a driver keeps the machines and brokers of any scheme side by side,
//! and passes their messages and timers on without looking into them. The enums are written from `list.rs`, and so is
//! that of what a scenario says: a scheme with its parameters.

use std::fmt;

use wayleave_contracts::{Policy, Service};
use wayleave_scheme_api::{
    Broker, BrokerAction, BrokerInput, CustomBroker, CustomHost, CustomMessage, Described, Descriptor, Given, Host,
    HostAction, HostInput, Incoming, PairSpec, Parameter, Parameters, Probe, ProbeAnswer, Tunnel, Value,
};
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use crate::brokers::{
    BrokerError, BrokerNetwork, BrokerSeat, BrokerSeats, BrokerSetup, BrokerTimes, Ignored, SchemeBroker,
};
use crate::custom::AnyTunnel;
use crate::host::eyeq::Line;
pub use crate::no_host::NoHost;
use crate::services::Services;
use crate::switches::Ecn;

/// Ethernet header and FCS (18 B), preamble and gap (20 B), IPv4 header (20 B).
pub const NETWORK_HEADERS: usize = 58;

/// A UDP header.
pub const UDP: usize = 8;

/// A frame of the smallest size, 64 B, with preamble and gap (IEEE 802.3).
const SMALLEST_FRAME: usize = 84;

/// What a host's machine is constructed from.
pub struct HostSetup<'a> {
    /// Its links, at most the policy's peak.
    pub line: Line,
    /// The policy of machines.
    pub policy: &'a Policy,
    /// The numbers of services.
    pub services: &'a Services,
    /// The host.
    pub node: NodeId,
    /// The scheme's brokers.
    pub brokers: BrokerSeats<'a>,
    /// The hosts of its rack, itself included.
    pub rack: &'a [NodeId],
    /// Which policies everybody has.
    pub epoch: u32,
    /// Draws a time below an interval, so that machines do not march in step.
    pub phase: &'a mut dyn FnMut(Time) -> Time,
}

/// What the tunnel of a pair is constructed from.
#[derive(Clone, Copy, Debug)]
pub struct TunnelSetup<'a> {
    /// The policy of machines.
    pub policy: &'a Policy,
    /// The numbers of services.
    pub services: &'a Services,
    /// The host that sends.
    pub from: NodeId,
    /// The rate of its line.
    pub line: Rate,
    /// The pair.
    pub pair: &'a PairSpec,
}

impl std::error::Error for NoHost {}

/// A host scheme of the list.
pub trait HostScheme: Described + Host + Sized {
    /// Whether services of machines may have parts.
    const HAS_PARTS: bool = false;
    /// Whether it measures in an interval that can change.
    const HAS_INTERVAL: bool = false;
    /// Whether it has brokers.
    const HAS_BROKERS: bool = false;
    /// Whether its brokers enforce the policies of racks and of the fabric, and have a program of their own.
    const ENFORCES_LEVELS: bool = false;
    /// Whether it divides capacities that it is told, where others find out what there is.
    const DIVIDES_CAPACITY: bool = false;
    /// Whether pairs have tunnels.
    const HAS_TUNNELS: bool = false;

    /// Its brokers; [`NoBroker`](crate::brokers::NoBroker) where there are none.
    type Broker: SchemeBroker<Message = Self::Message>;

    /// Its tunnels; [`Absent`](wayleave_scheme_api::Absent) where there are none.
    type Tunnel: Tunnel + fmt::Debug;

    /// The machine of a host.
    ///
    /// # Errors
    /// What does not fit.
    fn build(setup: &mut HostSetup<'_>, params: &Self::Params) -> Result<Self, NoHost>;

    /// The brokers that a network needs, in the order of their numbers.
    fn brokers(_around: &BrokerNetwork<'_>, _params: &Self::Params) -> Vec<BrokerSeat> {
        Vec::new()
    }

    /// The broker of a seat, each time that it is started.
    ///
    /// # Errors
    /// If it has nothing to divide.
    fn broker(_setup: &BrokerSetup<'_>, _params: &Self::Params) -> Result<Self::Broker, BrokerError> {
        Err(no_brokers())
    }

    /// The tunnel of a pair that leaves a host; `None`: it has none, and its limiter holds its flows back.
    fn tunnel(_setup: &TunnelSetup<'_>, _params: &Self::Params) -> Option<Self::Tunnel> {
        None
    }

    /// Whether the terms of a service are those that the scheme knows.
    ///
    /// # Errors
    /// What is missing, or not known.
    fn check_service(service: &Service) -> Result<(), String> {
        match service.division {
            Some(_) => Err(format!(
                "scheme {} knows no shares: give min, max and weight, or take scheme scc",
                Self::DESCRIPTOR.name
            )),
            None => Ok(()),
        }
    }

    /// Terms of a service of machines for which it has no use, as `transmit.min`.
    fn not_carried_out(_params: &Self::Params) -> &'static [&'static str] {
        &[]
    }

    /// How often machines and brokers speak to each other.
    fn broker_times(_params: &Self::Params) -> BrokerTimes {
        BrokerTimes::default()
    }

    /// Whether parameters fit together; each by itself is in range.
    ///
    /// # Errors
    /// What does not.
    fn check(_params: &Self::Params) -> Result<(), String> {
        Ok(())
    }

    /// Another interval of measurement, where the scheme has one (Parley, Fig. 12: T).
    fn set_interval(&mut self, _interval: Time) {}

    /// What the queues of switches do for it, if its scenario says nothing else of them.
    fn core(_params: &Self::Params) -> Option<Ecn> {
        None
    }

    /// Bytes of a message's packet with all headers, preamble and gap; a smallest frame is more.
    fn wire_bytes(message: &Self::Message) -> usize;
}

/// Writes [`EdgeScheme`], and [`AnyEdge`] with its messages and timers, and how each call reaches the scheme that is meant.
macro_rules! edges {
    (
        admission { $($admission:tt)* }
        transport { $($transport:tt)* }
        path { $($path:tt)* }
        host { $($(#[$meta:meta])* $module:ident::$scheme:ident,)+ }
        $($others:tt)*
    ) => {
        /// Who sets the limiters, as a scenario says it.
        #[derive(Clone, Debug, PartialEq)]
        pub enum EdgeScheme {
            $(
                #[doc = concat!("See [`crate::host::", stringify!($module), "`].")]
                $(#[$meta])*
                $scheme(<crate::host::$module::$scheme as Described>::Params),
            )+
            /// One that is not in this repository, by the name under which the driver was given it.
            Custom(String),
        }

        /// All that can be chosen by name.
        pub const HOSTS: &[&Descriptor] = &[
            $($(#[$meta])* <crate::host::$module::$scheme as Described>::DESCRIPTOR,)+
        ];

        impl EdgeScheme {
            /// As it stands in files.
            pub fn name(&self) -> &'static str {
                match self {
                    $($(#[$meta])* Self::$scheme(_) => <crate::host::$module::$scheme as Described>::DESCRIPTOR.name,)+
                    Self::Custom(_) => "custom",
                }
            }

            /// The one of this name, with what was said of its parameters; `None` if there is no such one, or a value is
            /// not of its parameter's kind.
            pub fn of(name: &str, given: &Given) -> Option<Self> {
                $(
                    $(#[$meta])*
                    if name == <crate::host::$module::$scheme as Described>::DESCRIPTOR.name {
                        return Parameters::with(given).ok().map(Self::$scheme);
                    }
                )+
                None
            }

            /// Its parameters with their values.
            pub fn settings(&self) -> Vec<(&'static Parameter, Value)> {
                match self {
                    $($(#[$meta])* Self::$scheme(params) => params.settings(),)+
                    Self::Custom(_) => Vec::new(),
                }
            }

            /// Whether its parameters are in range.
            ///
            /// # Errors
            /// The first that is not, and its value.
            pub fn check(&self) -> Result<(), (&'static Parameter, Value)> {
                match self {
                    $($(#[$meta])* Self::$scheme(params) => params.check(),)+
                    Self::Custom(_) => Ok(()),
                }
            }

            /// Whether its brokers enforce the policies of racks and of the fabric, and have a program of their own.
            pub fn enforces_levels(&self) -> bool {
                match self {
                    $($(#[$meta])* Self::$scheme(_) => <crate::host::$module::$scheme as HostScheme>::ENFORCES_LEVELS,)+
                    Self::Custom(_) => false,
                }
            }

            /// Whether the terms of a service are those that it knows.
            ///
            /// # Errors
            /// What is missing, or not known.
            pub fn check_service(&self, service: &Service) -> Result<(), String> {
                match self {
                    $($(#[$meta])* Self::$scheme(_) => <crate::host::$module::$scheme as HostScheme>::check_service(service),)+
                    Self::Custom(_) => Ok(()),
                }
            }

            /// Terms of a service of machines for which it has no use, as `transmit.min`.
            pub fn not_carried_out(&self) -> &'static [&'static str] {
                match self {
                    $($(#[$meta])* Self::$scheme(params) => {
                        <crate::host::$module::$scheme as HostScheme>::not_carried_out(params)
                    })+
                    Self::Custom(_) => &[],
                }
            }

            /// The tunnel of a pair that leaves a host, if it has one. Those of a scheme that is not in this repository its driver
            /// makes.
            pub fn tunnel(&self, setup: &TunnelSetup<'_>) -> Option<AnyTunnel> {
                match self {
                    $($(#[$meta])* Self::$scheme(params) => {
                        <crate::host::$module::$scheme as HostScheme>::tunnel(setup, params).map(AnyTunnel::$scheme)
                    })+
                    Self::Custom(_) => None,
                }
            }

            /// Whether it has brokers.
            pub fn has_brokers(&self) -> bool {
                match self {
                    $($(#[$meta])* Self::$scheme(_) => <crate::host::$module::$scheme as HostScheme>::HAS_BROKERS,)+
                    Self::Custom(_) => false,
                }
            }

            /// The brokers that a network needs. Those of a scheme that is not in this repository its driver knows.
            pub fn brokers(&self, around: &BrokerNetwork<'_>) -> Vec<BrokerSeat> {
                match self {
                    $($(#[$meta])* Self::$scheme(params) => {
                        <crate::host::$module::$scheme as HostScheme>::brokers(around, params)
                    })+
                    Self::Custom(_) => Vec::new(),
                }
            }

            /// Whether its parameters fit together, if each is in range.
            ///
            /// # Errors
            /// What does not fit.
            pub fn check_together(&self) -> Result<(), String> {
                match self {
                    $($(#[$meta])* Self::$scheme(params) => <crate::host::$module::$scheme as HostScheme>::check(params),)+
                    Self::Custom(_) => Ok(()),
                }
            }

            /// How often machines and its brokers speak to each other.
            pub fn broker_times(&self) -> BrokerTimes {
                match self {
                    $($(#[$meta])* Self::$scheme(params) => {
                        <crate::host::$module::$scheme as HostScheme>::broker_times(params)
                    })+
                    Self::Custom(_) => BrokerTimes::default(),
                }
            }

            /// The broker of a seat, as it starts.
            ///
            /// # Errors
            /// If it has nothing to divide, or its driver has to construct it.
            pub fn broker(&self, setup: &BrokerSetup<'_>) -> Result<AnyBroker, BrokerError> {
                match self {
                    $($(#[$meta])* Self::$scheme(params) => {
                        <crate::host::$module::$scheme as HostScheme>::broker(setup, params).map(AnyBroker::$scheme)
                    })+
                    Self::Custom(_) => Err(no_brokers()),
                }
            }

            /// What the queues of switches do for it, if its scenario says nothing else of them.
            pub fn core(&self) -> Option<Ecn> {
                match self {
                    $($(#[$meta])* Self::$scheme(params) => <crate::host::$module::$scheme as HostScheme>::core(params),)+
                    Self::Custom(_) => None,
                }
            }

            /// Whether services of machines may have parts.
            pub fn has_parts(&self) -> bool {
                match self {
                    $($(#[$meta])* Self::$scheme(_) => <crate::host::$module::$scheme as HostScheme>::HAS_PARTS,)+
                    Self::Custom(_) => true,
                }
            }

            /// Whether it divides capacities that it is told: of a class, what is sure and not what is lent.
            pub fn divides_capacity(&self) -> bool {
                match self {
                    $($(#[$meta])* Self::$scheme(_) => <crate::host::$module::$scheme as HostScheme>::DIVIDES_CAPACITY,)+
                    Self::Custom(_) => false,
                }
            }

            /// Whether it measures in an interval that can change.
            pub fn has_interval(&self) -> bool {
                match self {
                    $($(#[$meta])* Self::$scheme(_) => <crate::host::$module::$scheme as HostScheme>::HAS_INTERVAL,)+
                    Self::Custom(_) => false,
                }
            }

            /// The machine of a host.
            ///
            /// # Errors
            /// What does not fit; of a scheme that is not in this repository that its driver has to construct it.
            pub fn host(&self, setup: &mut HostSetup<'_>) -> Result<AnyEdge, NoHost> {
                match self {
                    $($(#[$meta])* Self::$scheme(params) => {
                        <crate::host::$module::$scheme as HostScheme>::build(setup, params).map(AnyEdge::$scheme)
                    })+
                    Self::Custom(name) => Err(NoHost(format!("{name} is not in the list"))),
                }
            }
        }

        /// One machine's state, whichever scheme it follows.
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant, reason = "all machines of one run are of one variant")]
        pub enum AnyEdge {
            $(
                #[doc = concat!("See [`crate::host::", stringify!($module), "`].")]
                $(#[$meta])*
                $scheme(crate::host::$module::$scheme),
            )+
            /// One that is not in this repository.
            Custom(Box<dyn CustomHost>),
        }

        /// What machines and brokers write to one another.
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

        /// What a machine's timer is for.
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
            impl From<crate::host::$module::$scheme> for AnyEdge {
                fn from(edge: crate::host::$module::$scheme) -> Self {
                    Self::$scheme(edge)
                }
            }
        )+

        impl Host for AnyEdge {
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
                    $($(#[$meta])* Self::$scheme(scheme) => {
                        // What another scheme wrote is nothing to this one.
                        let input = input.narrow(
                            |message| if let AnyMessage::$scheme(message) = message { Some(message) } else { None },
                            |timer| if let AnyTimer::$scheme(timer) = timer { Some(timer) } else { None },
                        );
                        if let Some(input) = input {
                            let act = &mut |action: HostAction<_, _>| {
                                act(action.widen(AnyMessage::$scheme, AnyTimer::$scheme));
                            };
                            scheme.on(now, input, act);
                        }
                    })+
                    Self::Custom(host) => {
                        let input = input.narrow(
                            |message| if let AnyMessage::Custom(message) = message { Some(message) } else { None },
                            |timer| if let AnyTimer::Custom(timer) = timer { Some(timer) } else { None },
                        );
                        if let Some(input) = input {
                            let act = &mut |action: HostAction<_, _>| {
                                act(action.widen(AnyMessage::Custom, AnyTimer::Custom));
                            };
                            host.on(now, input, act);
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

        impl AnyEdge {
            /// Another interval of measurement, where the scheme has one (Parley, Fig. 12: T).
            pub fn set_interval(&mut self, interval: Time) {
                match self {
                    $($(#[$meta])* Self::$scheme(scheme) => HostScheme::set_interval(scheme, interval),)+
                    Self::Custom(_) => {}
                }
            }
        }

        impl AnyMessage {
            /// Bytes on the wire of its packet, with headers, preamble and gap.
            pub fn wire_bytes(&self) -> u32 {
                let bytes = match self {
                    $($(#[$meta])* Self::$scheme(message) => {
                        <crate::host::$module::$scheme as HostScheme>::wire_bytes(message)
                    })+
                    Self::Custom(message) => return message.wire_bytes,
                };
                u32::try_from(bytes.max(SMALLEST_FRAME)).unwrap_or(u32::MAX)
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

        /// What a broker's timer is for.
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
            pub fn ignored(&self) -> Ignored {
                match self {
                    $($(#[$meta])* Self::$scheme(broker) => broker.ignored(),)+
                    Self::Custom(_) => Ignored::default(),
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
                // What another scheme wrote is not for this one.
                match self {
                    $($(#[$meta])* Self::$scheme(broker) => {
                        let input = input.narrow(
                            |message| if let AnyMessage::$scheme(message) = message { Some(message) } else { None },
                            |timer| if let AnyBrokerTimer::$scheme(timer) = timer { Some(timer) } else { None },
                        );
                        if let Some(input) = input {
                            broker.on(now, input, &mut |action| {
                                act(action.widen(AnyMessage::$scheme, AnyBrokerTimer::$scheme));
                            });
                        }
                    })+
                    Self::Custom(broker) => {
                        let input = input.narrow(
                            |message| if let AnyMessage::Custom(message) = message { Some(message) } else { None },
                            |timer| if let AnyBrokerTimer::Custom(timer) = timer { Some(timer) } else { None },
                        );
                        if let Some(input) = input {
                            broker.on(now, input, &mut |action| {
                                act(action.widen(AnyMessage::Custom, AnyBrokerTimer::Custom));
                            });
                        }
                    }
                }
            }
        }
    };
}

each_scheme!(edges);

fn no_brokers() -> BrokerError {
    BrokerError("the scheme has no brokers".to_owned())
}
