//! Authorization: roles against the access that each route of the API requires.

use wayleave_controller::{Id, Principal};

/// Access to a route. Objects of another tenant are hidden as well: the answer is as if they did not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteAccess {
    /// Every client, without a token.
    Open,
    /// Every client with a token.
    Any,
    /// Readers: operators, readers, and tenants for their own objects.
    Read,
    /// Readers of everything: operators, and readers that are not limited to one tenant.
    ReadAll,
    /// Readers of everything, and agents: elements of the network.
    Map,
    /// Writers of contracts and VMs: operators, and tenants for their own objects.
    Write,
    /// Operators.
    Operator,
    /// The agent of the node that the address names, and operators.
    Agent,
}

impl RouteAccess {
    /// Returns `true` if a role may use such a route at all.
    pub fn allows(self, role: &Principal) -> bool {
        match (self, role) {
            (_, Principal::Operator) | (Self::Open | Self::Any, _) => true,
            (Self::Read, Principal::Tenant { .. } | Principal::Reader { .. }) => true,
            (Self::ReadAll | Self::Map, Principal::Reader { tenant }) => tenant.is_none(),
            (Self::Write, Principal::Tenant { .. }) | (Self::Agent | Self::Map, Principal::Agent { .. }) => true,
            _ => false,
        }
    }

    /// Returns the admitted tokens, for messages.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Open | Self::Any => "everybody",
            Self::Read => "operators, tenants and readers",
            Self::ReadAll => "operators and readers of all tenants",
            Self::Map => "operators, readers of all tenants and agents",
            Self::Write => "operators and tenants",
            Self::Operator => "operators",
            Self::Agent => "operators and agents",
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

/// Returns `true` if a role may see an object.
pub(crate) fn sees(role: &Principal, id: &Id) -> bool {
    tenant_of(role).is_none_or(|tenant| tenant == id.tenant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_all_roles_that_a_route_admits() {
        use RouteAccess::{Agent, Map, Operator, Read, ReadAll, Write};
        let roles = [
            (Principal::Operator, "operators"),
            (Principal::Tenant { tenant: String::new() }, "tenants"),
            (Principal::Agent { node: String::new() }, "agents"),
            (Principal::Reader { tenant: None }, "readers"),
        ];
        for access in [Agent, Map, Operator, Read, ReadAll, Write] {
            let text = access.description().replace("readers of all tenants", "readers");
            for (role, name) in &roles {
                assert_eq!(text.contains(name), access.allows(role), "{name}: {text}");
            }
        }
    }
}
