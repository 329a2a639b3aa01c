//! Schemes that are not in this repository: whoever runs a scenario gives them by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use wayleave_roles::{BrokerId, CustomBroker, CustomHost, PairSpec, Path, Tunnel};
use wayleave_scenarios::{EdgeScheme, Scenario, ScenarioError, SharingError};
use wayleave_topology::{Network, NodeId};
use wayleave_units::Rate;

/// A scheme of the hosts from outside: what a scenario calls
/// [`EdgeScheme::Custom`](wayleave_scenarios::EdgeScheme::Custom). [`Plugged`](wayleave_roles::Plugged) makes its hosts
/// and brokers what is asked for here.
pub trait CustomScheme: Send + Sync {
    /// The role of one machine.
    fn host(&self, place: &HostPlace<'_>) -> Box<dyn CustomHost>;

    /// The tunnel of a pair that leaves `from`, if the scheme has tunnels.
    fn tunnel(&self, _from: NodeId, _pair: &PairSpec) -> Option<Box<dyn Tunnel + Send>> {
        None
    }

    /// What spreads the packets of a pair over its paths, if its flows do not choose for themselves.
    fn path(&self, _from: NodeId, _pair: &PairSpec) -> Option<Box<dyn Path + Send>> {
        None
    }

    /// Its brokers, which are numbered from [`HostPlace::first_broker`] on.
    fn brokers(&self, _network: &Network) -> Vec<BrokerSetup> {
        Vec::new()
    }
}

/// Where a host of a scheme stands.
#[derive(Clone, Copy, Debug)]
pub struct HostPlace<'a> {
    /// The network.
    pub network: &'a Network,
    /// The machine.
    pub node: NodeId,
    /// What its links carry, at most the policy's peak.
    pub transmit: Rate,
    /// The same, of what it receives.
    pub receive: Rate,
    /// The number of the scheme's first broker.
    pub first_broker: BrokerId,
}

/// One broker of a scheme.
pub struct BrokerSetup {
    /// Its machine: messages are packets. `None`: beside the network, where they take no time.
    pub host: Option<NodeId>,
    /// Itself.
    pub broker: CustomBroker,
    /// Whether it is told that it leads its group.
    pub leads: bool,
}

impl fmt::Debug for BrokerSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrokerSetup").field("host", &self.host).field("leads", &self.leads).finish_non_exhaustive()
    }
}

/// What a run is given beside its scenario.
#[derive(Clone, Default)]
pub struct Custom {
    /// Schemes of hosts, by the names that the scenario uses.
    pub schemes: BTreeMap<String, Arc<dyn CustomScheme>>,
}

impl Custom {
    /// Every scheme that a scenario names is there.
    pub(crate) fn check(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        let schemes = scenario.sharing.iter().flat_map(|sharing| sharing.schemes());
        for scheme in schemes {
            if let EdgeScheme::Custom(name) = scheme
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

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Custom").field("schemes", &self.schemes.keys()).finish_non_exhaustive()
    }
}
