//! Where the ends of a contract are.

use wayleave_topology::{Network, NodeId};

/// Who knows on which hosts the VMs of tenants are. What is no VM is looked for among the network's nodes.
///
/// A [`Network`] knows no VMs, so with it every end is a host.
pub trait VmLocations {
    /// The host on which a VM is.
    fn host_of(&self, tenant: Option<&str>, name: &str) -> Option<NodeId> {
        let _ = (tenant, name);
        None
    }

    /// The VMs that somebody who writes contracts of this tenant may know of, to find the nearest name.
    fn names(&self, tenant: Option<&str>) -> Vec<String> {
        let _ = tenant;
        Vec::new()
    }
}

impl VmLocations for Network {}

/// What is said about a contract outside its text: by the address that a request goes to, or by who sends it.
///
/// It may then be left out of the text. If it stands there, it has to be the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Addressed<'a> {
    /// Whose contract it is.
    pub tenant: Option<&'a str>,
    /// What it is called.
    pub name: Option<&'a str>,
}
