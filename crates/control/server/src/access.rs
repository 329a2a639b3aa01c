//! Who may ask what: roles against the access that each route of the table asks for.

use wayleave_controller::{Id, Principal};

/// Who may use a route. What belongs to another tenant is hidden besides: it is as if it were not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everybody, without a token.
    Open,
    /// Everybody with a token.
    Any,
    /// Who reads: operators, readers, tenants what is theirs.
    Read,
    /// Who reads everything: operators, and readers that are not of one tenant.
    ReadAll,
    /// The same, and agents: what the network is made of.
    Map,
    /// Who changes contracts and VMs: operators, tenants what is theirs.
    Write,
    /// Operators.
    Operator,
    /// The agent of the node that the address names, and operators.
    Agent,
}

impl Access {
    /// Whether a role may use such a route at all.
    pub fn allows(self, role: &Principal) -> bool {
        match (self, role) {
            (_, Principal::Operator) | (Self::Open | Self::Any, _) => true,
            (Self::Read, Principal::Tenant { .. } | Principal::Reader { .. }) => true,
            (Self::ReadAll | Self::Map, Principal::Reader { tenant }) => tenant.is_none(),
            (Self::Write, Principal::Tenant { .. }) | (Self::Agent | Self::Map, Principal::Agent { .. }) => true,
            _ => false,
        }
    }

    /// Which tokens it admits, for messages.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Open | Self::Any => "everybody",
            Self::Read => "operators, tenants and readers",
            Self::ReadAll => "operators and readers of everything",
            Self::Map => "operators, readers of everything and agents",
            Self::Write => "operators and tenants",
            Self::Operator => "operators",
            Self::Agent => "agents",
        }
    }
}

/// The only tenant whose objects a role may know of; `None` if all.
pub(crate) fn tenant_of(role: &Principal) -> Option<&str> {
    match role {
        Principal::Tenant { tenant } | Principal::Reader { tenant: Some(tenant) } => Some(tenant),
        // An agent is shown no objects, only where all VMs are.
        Principal::Operator | Principal::Agent { .. } | Principal::Reader { tenant: None } => None,
    }
}

/// Whether a role may know of an object.
pub(crate) fn sees(role: &Principal, id: &Id) -> bool {
    tenant_of(role).is_none_or(|tenant| tenant == id.tenant)
}
