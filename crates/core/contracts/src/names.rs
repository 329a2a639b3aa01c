//! Permitted names of tenants, contracts and VMs.
//!
//! Names appear in addresses (`tenant:name`), in logs and on command lines, so they are short and plain. All readers of
//! files hold to them: a file that can be planned can be applied.

use std::fmt;

/// The longest name of a contract or VM.
pub const MAX_NAME: usize = 100;
/// The longest name of a tenant.
pub const MAX_TENANT: usize = 63;

/// Kind of a named object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A contract: letters, digits, `.`, `_`, `-`.
    Contract,
    /// A VM: as for contracts.
    Vm,
    /// A service of a policy: as for contracts.
    Service,
    /// A policy: as for contracts.
    Policy,
    /// A tenant: lower-case letters, digits, `-`.
    Tenant,
}

impl Named {
    /// Checks a name.
    ///
    /// ```
    /// use wayleave_contracts::Named;
    /// assert!(Named::Contract.check("ptp-1.backup").is_ok());
    /// assert!(Named::Contract.check("..").is_err());
    /// assert!(Named::Tenant.check("ACME").unwrap_err().to_string().contains("[a-z0-9-]"));
    /// ```
    ///
    /// # Errors
    /// If it is empty, too long or has other characters.
    pub fn check(self, name: &str) -> Result<(), NameError> {
        let (most, accepted): (usize, fn(u8) -> bool) = match self {
            Self::Tenant => (MAX_TENANT, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'),
            _ => (MAX_NAME, |byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)),
        };
        // Clients and proxies take these two out of an address (RFC 3986, section 5.2.4): nothing of that name could be asked for.
        let is_path = matches!(name, "." | "..");
        let good = (1..=most).contains(&name.len()) && name.bytes().all(accepted) && !is_path;
        if good { Ok(()) } else { Err(NameError { of: self, name: name.to_owned() }) }
    }
}

/// A name that cannot be used in an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameError {
    /// Kind of the object to be named.
    pub of: Named,
    /// The name.
    pub name: String,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, most, characters) = match self.of {
            Named::Contract => ("a contract", MAX_NAME, "[A-Za-z0-9._-]"),
            Named::Vm => ("a VM", MAX_NAME, "[A-Za-z0-9._-]"),
            Named::Service => ("a service", MAX_NAME, "[A-Za-z0-9._-]"),
            Named::Policy => ("a policy", MAX_NAME, "[A-Za-z0-9._-]"),
            Named::Tenant => ("a tenant", MAX_TENANT, "[a-z0-9-]"),
        };
        // The name itself is not repeated: it may be long, and messages show its place.
        if matches!(self.name.as_str(), "." | "..") {
            return write!(f, "this is no name of {what}: `.` and `..` have a meaning in addresses");
        }
        write!(f, "this is not a name of {what}: expected 1 to {most} characters of {characters}")
    }
}

impl std::error::Error for NameError {}
