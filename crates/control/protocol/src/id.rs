//! Identifiers of contracts and VMs: `tenant:name`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use wayleave_contracts::{NameError, Named};

/// The tenant of contracts and VMs that name none. It always exists.
pub const DEFAULT_TENANT: &str = "default";

/// A contract or a VM of a tenant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Id {
    /// Owner.
    pub tenant: String,
    /// Unique among the contracts, or the VMs, of the tenant.
    pub name: String,
}

impl Id {
    /// Returns the identity with this tenant and name.
    pub fn new(tenant: impl Into<String>, name: impl Into<String>) -> Self {
        Self { tenant: tenant.into(), name: name.into() }
    }

    /// Reads `tenant:name`, or `name` alone for this tenant.
    ///
    /// # Errors
    /// If a part is no such name.
    pub fn parse(text: &str, tenant: &str) -> Result<Self, NameError> {
        let (tenant, name) = text.split_once(':').unwrap_or((tenant, text));
        Named::Tenant.check(tenant)?;
        Named::Contract.check(name)?;
        Ok(Self::new(tenant, name))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.tenant, self.name)
    }
}

impl FromStr for Id {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::parse(text, DEFAULT_TENANT)
    }
}
