//! Virtual machines: several endpoints of tenants at one host.

use std::fmt;

use wayleave_topology::NodeId;

/// A virtual machine at a host. It sends and receives through the host's link, and is an endpoint of its own: what it
/// sends to another endpoint is a pair of its own wherever hosts [share](crate::Sharing).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioVm {
    /// Unique in its scenario, also among nodes.
    pub name: String,
    /// Host at which it runs.
    pub host: NodeId,
    /// Service that its traffic is charged to if the traffic names none: its tenant's.
    pub service: Option<String>,
}

/// Sender or receiver: a host itself, or one of its virtual machines.
///
/// ```
/// use wayleave_scenarios::{Endpoint, ScenarioVm};
/// use wayleave_topology::NodeId;
///
/// let vms = [ScenarioVm { name: "db".to_owned(), host: NodeId(7), service: None }];
/// assert_eq!(Endpoint::of_vm(&vms, 0), Some(Endpoint { host: NodeId(7), number: 1 }));
/// assert_eq!(Endpoint::from(NodeId(7)), Endpoint { host: NodeId(7), number: 0 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    /// Host whose link it uses.
    pub host: NodeId,
    /// 0 is the host itself; a virtual machine has its place in [`Scenario::vms`](crate::Scenario::vms), counted from 1.
    pub number: u32,
}

impl Endpoint {
    /// The virtual machine at a place of a list, counted from 0.
    pub fn of_vm(vms: &[ScenarioVm], index: usize) -> Option<Self> {
        let vm = vms.get(index)?;
        Some(Self { host: vm.host, number: u32::try_from(index).ok()?.checked_add(1)? })
    }

    /// Its place in the list of virtual machines, if it is one.
    pub fn vm(self) -> Option<usize> {
        (self.number as usize).checked_sub(1)
    }
}

impl From<NodeId> for Endpoint {
    fn from(host: NodeId) -> Self {
        Self { host, number: 0 }
    }
}

/// Error of a virtual machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VmError {
    /// It has no name.
    NoName,
    /// A node or another virtual machine has its name.
    TakenName,
    /// It is at a switch.
    NotAtAHost {
        /// The switch.
        node: String,
    },
    /// Its service is one that no policy has.
    Service {
        /// Its name.
        service: String,
    },
}

impl VmError {
    /// The key that it is about.
    pub(crate) fn key(&self) -> &'static str {
        match self {
            Self::NoName | Self::TakenName => "name",
            Self::NotAtAHost { .. } => "host",
            Self::Service { .. } => "service",
        }
    }
}

impl fmt::Display for VmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoName => write!(f, "a virtual machine needs a name"),
            Self::TakenName => write!(f, "the name is already used by a node or another virtual machine"),
            Self::NotAtAHost { node } => write!(f, "{node} is a switch: virtual machines are at hosts"),
            Self::Service { service } => write!(f, "no policy of sharing has a service {service}"),
        }
    }
}

impl std::error::Error for VmError {}
