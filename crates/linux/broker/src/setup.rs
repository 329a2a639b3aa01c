//! The setup on which all brokers of a network have to agree.

use std::collections::HashMap;
use std::fmt;

use wayleave_contracts::{ContentionPoint, Policy, PolicyLevel};
use wayleave_scheme_api::{BrokerId, Value};
use wayleave_schemes::brokers::{BrokerError, BrokerNetwork, BrokerSetup, BrokerSpec, BrokerSpecs, BrokerTimes};
use wayleave_schemes::hosts::{AnyBroker, HostSchemeConfig};
use wayleave_schemes::services::{Policies, Services, TooManyServices};
use wayleave_topology::{Network, NodeId};
use wayleave_units::WallTime;

/// A network, its policies, and the scheme with its parameters.
#[derive(Clone, Debug)]
pub struct BrokerConfig {
    network: Network,
    machine: Option<Policy>,
    rack: Option<Policy>,
    fabric: Option<Policy>,
    services: Services,
    hosts: Vec<NodeId>,
    scheme: HostSchemeConfig,
    /// The brokers that the scheme asks for, in the order of their numbers.
    specs: Vec<BrokerSpec>,
    numbers: HashMap<NodeId, BrokerId>,
    /// Version of the policies: brokers of different epochs ignore each other.
    pub epoch: u32,
}

/// Reason for which a setup is invalid.
#[derive(Clone, Debug, PartialEq)]
pub enum SetupError {
    /// Two policies are for the same level: which one holds?
    TwoOfALevel {
        /// The level.
        level: PolicyLevel,
        /// Their names.
        names: [String; 2],
    },
    /// They name too many services.
    Services(TooManyServices),
    /// The scheme has no brokers.
    NoBrokers {
        /// Its name.
        scheme: &'static str,
    },
    /// A parameter of the scheme is out of range.
    Range {
        /// The scheme.
        scheme: &'static str,
        /// The parameter.
        key: &'static str,
        /// Invalid value.
        value: Value,
    },
    /// Parameters of the scheme do not fit together.
    Together(String),
    /// A service has terms that the scheme does not know, or needs others.
    Terms {
        /// The service.
        service: String,
        /// Reason.
        why: String,
    },
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TwoOfALevel { level, names: [one, other] } => {
                let level = level.name();
                write!(
                    f,
                    "\"{one}\" and \"{other}\" are both policies of level {level}: brokers accept one policy for each level"
                )
            }
            Self::Services(error) => error.fmt(f),
            Self::NoBrokers { scheme } => write!(f, "scheme {scheme} has no brokers"),
            Self::Range { scheme, key, value } => write!(f, "{key} of {scheme}: {value} is out of range"),
            Self::Together(why) => f.write_str(why),
            Self::Terms { service, why } => write!(f, "service {service}: {why}"),
        }
    }
}

impl std::error::Error for SetupError {}

impl BrokerConfig {
    /// Of a network, at most one policy of each level, and a scheme with its parameters.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn new(
        network: Network,
        policies: Vec<Policy>,
        scheme: HostSchemeConfig,
        epoch: u32,
    ) -> Result<Self, SetupError> {
        let [mut machine, mut rack, mut fabric] = [const { None::<Policy> }; 3];
        for policy in policies {
            let slot = match policy.level() {
                PolicyLevel::Machine => &mut machine,
                PolicyLevel::Rack => &mut rack,
                PolicyLevel::Fabric => &mut fabric,
            };
            if let Some(other) = slot {
                let names = [other.name().to_owned(), policy.name().to_owned()];
                return Err(SetupError::TwoOfALevel { level: policy.level(), names });
            }
            *slot = Some(policy);
        }
        check(&scheme)?;
        let policies = Policies { machine: machine.as_ref(), rack: rack.as_ref(), fabric: fabric.as_ref() };
        for service in policies.iter().flat_map(Policy::services) {
            let terms = scheme.check_service(service);
            terms.map_err(|why| SetupError::Terms { service: service.name.clone(), why })?;
        }
        let services = Services::new(policies).map_err(SetupError::Services)?;
        let hosts: Vec<NodeId> = network.hosts().collect();
        let around = BrokerNetwork { network: &network, policies, services: &services, hosts: &hosts, today: None };
        let specs = scheme.brokers(&around);
        let numbers = BrokerSpecs { first: FIRST, specs: &specs }.by_host();
        Ok(Self { network, machine, rack, fabric, services, hosts, scheme, specs, numbers, epoch })
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The policies.
    pub fn policies(&self) -> Policies<'_> {
        Policies { machine: self.machine.as_ref(), rack: self.rack.as_ref(), fabric: self.fabric.as_ref() }
    }

    /// The numbers of services.
    pub fn services(&self) -> &Services {
        &self.services
    }

    /// The scheme, with its parameters.
    pub fn scheme(&self) -> &HostSchemeConfig {
        &self.scheme
    }

    /// Returns the intervals at which machines and brokers communicate.
    pub fn times(&self) -> BrokerTimes {
        self.scheme.broker_times()
    }

    /// All brokers of the network.
    pub fn broker_specs(&self) -> BrokerSpecs<'_> {
        BrokerSpecs { first: FIRST, specs: &self.specs }
    }

    /// The broker of a machine.
    pub fn broker_of(&self, machine: NodeId) -> Option<BrokerId> {
        self.numbers.get(&machine).copied()
    }

    /// The broker of the fabric.
    pub fn fabric_broker(&self) -> Option<BrokerId> {
        self.broker_specs().find(|spec| spec.point == Some(ContentionPoint::Fabric))
    }

    /// The network as brokers see it on a day.
    pub fn around(&self, today: Option<WallTime>) -> BrokerNetwork<'_> {
        let (network, policies, services) = (&self.network, self.policies(), &self.services);
        BrokerNetwork { network, policies, services, hosts: &self.hosts, today }
    }

    /// A broker that begins, with the policies of an epoch; its messages are numbered from `serial` on.
    ///
    /// # Errors
    /// If there is no such broker, or it has nothing to divide.
    pub fn broker(
        &self,
        number: BrokerId,
        epoch: u32,
        serial: u64,
        today: Option<WallTime>,
    ) -> Result<AnyBroker, BrokerError> {
        let spec = self.specs.get(number.index()).ok_or_else(|| BrokerError("no such broker".to_owned()))?;
        let (around, all) = (self.around(today), self.broker_specs());
        self.scheme.broker(&BrokerSetup { around, all, spec: *spec, epoch, serial })
    }

    /// Returns the number of the policies' scheduled changes before `now`: when it grows, the terms have changed.
    pub fn changes(&self, now: WallTime) -> usize {
        let times = self.policies().iter().flat_map(Policy::change_times);
        times.filter(|&at| at <= now).count()
    }

    /// The rack of a host: the first switch that it is attached to.
    pub fn rack_of(&self, host: NodeId) -> Option<NodeId> {
        self.network.switches().find(|&switch| ContentionPoint::Rack(switch).holds(&self.network, host))
    }

    /// The hosts of a rack.
    pub fn machines(&self, rack: NodeId) -> Vec<NodeId> {
        self.network.hosts().filter(|&host| ContentionPoint::Rack(rack).holds(&self.network, host)).collect()
    }
}

/// The number of the first broker.
const FIRST: BrokerId = BrokerId(0);

fn check(scheme: &HostSchemeConfig) -> Result<(), SetupError> {
    let name = scheme.name();
    if !scheme.enforces_levels() {
        return Err(SetupError::NoBrokers { scheme: name });
    }
    scheme.check().map_err(|(parameter, value)| SetupError::Range { scheme: name, key: parameter.key, value })?;
    scheme.check_together().map_err(SetupError::Together)
}
