//! Locations of the ends of a contract.

use wayleave_topology::{Network, NodeId};

/// Lookup of the hosts of tenants' VMs. A name that is no VM is searched among the network's nodes.
///
/// A [`Network`] knows no VMs, so with it every end is a host.
pub trait VmLocations {
    /// The host on which a VM is.
    fn host_of(&self, tenant: Option<&str>, name: &str) -> Option<NodeId> {
        let _ = (tenant, name);
        None
    }

    /// Returns the VMs that an author of this tenant's contracts may know, to find the nearest name.
    fn names(&self, tenant: Option<&str>) -> Vec<String> {
        let _ = tenant;
        Vec::new()
    }
}

impl VmLocations for Network {}

/// Properties of a contract outside its text: from the URL of a request, or from its sender.
///
/// They may then be left out of the text. If the text contains them, they must be equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Addressed<'a> {
    /// Tenant of the contract.
    pub tenant: Option<&'a str>,
    /// Name of the contract.
    pub name: Option<&'a str>,
}
