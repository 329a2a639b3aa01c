//! Tenants and their VMs, as a controller keeps them.

use wayleave_packet_format::Mac;
use wayleave_units::{Bytes, Rate};

/// A tenant and its quota.
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
    /// Maximum number.
    pub contracts: Option<u64>,
}

/// A VM of a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vm {
    /// Unique among the VMs of its tenant.
    pub name: String,
    /// Tenant of the VM; the tenant `default` if absent.
    pub tenant: Option<String>,
    /// Host, or method of choosing one.
    pub placement: VmPlacement,
    /// The address of its interface; one that follows from its name if not given.
    pub mac: Option<Mac>,
}

/// Host of a VM, or method of choosing one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VmPlacement {
    /// On the host of this name.
    Host(String),
    /// On any host, each as likely.
    Random,
    /// On a host where it fits well.
    Fit,
}
