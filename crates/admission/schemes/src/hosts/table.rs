//! The table of host schemes.

use wayleave_contracts::ServiceSpec;
use wayleave_scheme_api::{CustomTunnel, Descriptor, ParamValues, Parameter, Parameters, Value};
use wayleave_topology::NodeId;

use super::any::{AnyBroker, AnyHost, AnyMessage, HOST_SCHEMES, HostSchemeConfig};
use super::{HostBuildError, HostScheme, HostSetup, TunnelSetup, no_brokers};
use crate::brokers::{
    BrokerCodec, BrokerDecodeError, BrokerError, BrokerNetwork, BrokerSetup, BrokerSpec, BrokerTimes,
};
use crate::switches::Ecn;
use crate::usage_report::{Limited, UsageReport};

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
