//! Tenants and their VMs, as a controller keeps them.

use wayleave_packet_format::Mac;
use wayleave_units::{Bytes, Rate};

/// A tenant and how much it may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// See [`Named::Tenant`](crate::Named::Tenant).
    pub name: String,
    /// The most that its contracts may add up to.
    pub quota: Quota,
}

/// The most that a tenant's contracts may add up to; what is not given is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// All rates together.
    pub rate: Option<Rate>,
    /// All bursts together.
    pub burst: Option<Bytes>,
    /// How many.
    pub contracts: Option<u64>,
}

/// A VM of a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vm {
    /// Unique among the VMs of its tenant.
    pub name: String,
    /// Whose it is; the tenant `default` if not given.
    pub tenant: Option<String>,
    /// Where it runs, or who decides.
    pub placement: VmPlacement,
    /// The address of its interface; one that follows from its name if not given.
    pub mac: Option<Mac>,
}

/// Where a VM runs, or how a host is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VmPlacement {
    /// On the host of this name.
    Host(String),
    /// On any host, each as likely.
    Random,
    /// On a host where it fits well.
    Fit,
}
