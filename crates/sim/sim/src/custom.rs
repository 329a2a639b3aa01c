//! Custom schemes that are not in this repository: the caller of a scenario run provides them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use wayleave_scenarios::{HostSchemeConfig, Scenario, ScenarioError, SharingError};
use wayleave_scheme_api::{BrokerId, CustomBroker, CustomHost, PairSpec, Path, Switch, Tunnel};
use wayleave_schemes::brokers::{BrokerNetwork, BrokerSetup, BrokerSpec};
use wayleave_schemes::switches::AnySwitch;
use wayleave_topology::{LinkId, Network, NodeId};
use wayleave_units::Rate;

/// A scheme of the hosts from outside: what a scenario calls
/// [`HostSchemeConfig::Custom`](wayleave_scenarios::HostSchemeConfig::Custom). [`DynRole`](wayleave_scheme_api::DynRole) makes its hosts
/// and brokers what is asked for here.
pub trait CustomScheme: Send + Sync {
    /// The role of one machine.
    fn host(&self, place: &HostPlace<'_>) -> Box<dyn CustomHost>;

    /// The tunnel of a pair that leaves `from`, if the scheme has tunnels.
    fn tunnel(&self, _from: NodeId, _pair: &PairSpec) -> Option<Box<dyn Tunnel + Send>> {
        None
    }

    /// Returns the path scheme for the packets of a pair, if its flows do not choose for themselves.
    fn path(&self, _from: NodeId, _pair: &PairSpec) -> Option<Box<dyn Path + Send>> {
        None
    }

    /// Returns the functions beside queueing of a queue of the port that sends on this link, 0 the highest; `None`
    /// leaves the queue as configured in the scenario. Called once for each queue, before the run.
    fn switch(&self, _link: LinkId, _queue: u8) -> Option<Box<dyn Switch + Send>> {
        None
    }

    /// The brokers that it needs, which are numbered from [`HostPlace::first_broker`] on.
    fn brokers(&self, _around: &BrokerNetwork<'_>) -> Vec<BrokerSpec> {
        Vec::new()
    }

    /// The broker of a seat, each time that it is started.
    fn broker(&self, _setup: &BrokerSetup<'_>) -> Option<CustomBroker> {
        None
    }
}

/// Location of a host of a scheme.
#[derive(Clone, Copy, Debug)]
pub struct HostPlace<'a> {
    /// The network.
    pub network: &'a Network,
    /// The machine.
    pub node: NodeId,
    /// Rate of its links for sending, at most the policy's peak.
    pub transmit: Rate,
    /// Rate of its links for receiving, at most the policy's peak.
    pub receive: Rate,
    /// The number of the scheme's first broker.
    pub first_broker: BrokerId,
}

/// Makes the switch role of a queue of the port that sends on this link, 0 the highest; `None` leaves the queue as
/// configured in the scenario. It is called once for each queue, before the run.
pub type SwitchFactory<'a> = dyn Fn(LinkId, u8) -> Option<Box<dyn Switch + Send>> + Sync + 'a;

/// Custom parts of a run beside its scenario. Custom roles are called through a pointer, which is slower than
/// compiled-in schemes.
///
/// ```
/// use wayleave_scheme_api::{Mark, QueueState, Switch};
/// use wayleave_sim::Custom;
/// use wayleave_units::Time;
///
/// /// Marks every packet.
/// struct Always;
///
/// impl Switch for Always {
///     fn on_arrival(&mut self, _now: Time, _queue: QueueState, _bytes: u32) -> Mark {
///         Mark::Congestion
///     }
/// }
///
/// let in_queue_0 = |_link, queue| (queue == 0).then(|| Box::new(Always) as Box<dyn Switch + Send>);
/// let custom = Custom { switch: Some(&in_queue_0), ..Custom::default() };
/// ```
#[derive(Clone, Default)]
pub struct Custom<'a> {
    /// Schemes of hosts, by the names that the scenario uses.
    pub schemes: BTreeMap<String, Arc<dyn CustomScheme>>,
    /// Functions of port queues beside queueing; they take precedence over the switch roles of schemes.
    pub switch: Option<&'a SwitchFactory<'a>>,
}

impl Custom<'_> {
    /// The switch role of a queue, if it has one from outside.
    pub(crate) fn switch(&self, link: LinkId, queue: u8) -> Option<AnySwitch> {
        let own = self.switch.and_then(|make| make(link, queue));
        let role = own.or_else(|| self.schemes.values().find_map(|scheme| scheme.switch(link, queue)));
        role.map(AnySwitch::custom)
    }

    /// Every scheme that a scenario names is there.
    pub(crate) fn check(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        let schemes = scenario.sharing.iter().flat_map(|sharing| sharing.schemes());
        for scheme in schemes {
            if let HostSchemeConfig::Custom(name) = scheme
                && !self.schemes.contains_key(name)
            {
                let known = self.schemes.keys().cloned().collect();
                let error = SharingError::UnknownScheme { name: name.clone(), known };
                return Err(ScenarioError::Sharing(error));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Custom<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Custom").field("schemes", &self.schemes.keys()).finish_non_exhaustive()
    }
}
