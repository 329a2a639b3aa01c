//! Tenants with their quotas, VMs, tokens.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The most that a tenant's contracts may add up to; what is not given is not limited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// Total of all rates, for example `10Gbit`; a minimum counts once for a pair, and for every member of a hose or an objective.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate: Option<String>,
    /// Total of all bursts, for example `1MB`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub burst: Option<String>,
    /// Maximum number of contracts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub contracts: Option<u64>,
}

/// A tenant as it is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantSpec {
    /// 1 to 63 of `[a-z0-9-]`. Not required if the address contains it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// Maximum resources of the tenant.
    #[serde(default)]
    pub quota: Quota,
}

/// A tenant that exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Tenant {
    /// Name of the tenant.
    pub name: String,
    /// Maximum resources of the tenant.
    pub quota: Quota,
    /// Resources in use.
    pub usage: Usage,
    /// The same as the ETag.
    pub revision: u64,
}

/// Total of all contracts of a tenant; every copy of a protected contract counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    /// The sum of rates and minima.
    pub rate: String,
    /// The sum of bursts.
    pub burst: String,
    /// Number of contracts.
    pub contracts: u64,
}

/// Choice of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// Any host, each as likely.
    Random,
    /// The host whose lines have most rate left.
    Fit,
}

/// Requested host of a VM: one of the two keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// On this host.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<String>,
    /// Choice by the controller.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub strategy: Option<Strategy>,
}

/// A VM as it is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VmSpec {
    /// Unique among the VMs of the tenant: 1 to 100 of `[A-Za-z0-9._-]`. Not required if the address contains it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// Owner; by default the tenant of the token, or `default`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tenant: Option<String>,
    /// Requested host; by default the best fit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub placement: Option<Placement>,
    /// MAC address of its interface, such as `02:00:5e:10:00:01`: of a single interface, and of no other VM. By
    /// default it keeps its present address, or gets one that the controller derives.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mac: Option<String>,
}

/// A VM that exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Vm {
    /// `tenant:name`.
    pub id: String,
    /// Name of the VM.
    pub name: String,
    /// Tenant that owns the VM.
    pub tenant: String,
    /// Host of the VM.
    pub host: String,
    /// The address of its interface.
    pub mac: String,
    /// The same as the ETag.
    pub revision: u64,
}

/// Role as which the holder of a token acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything.
    Operator,
    /// Everything of one tenant, and nothing of others.
    Tenant,
    /// The node that it runs on: its operations, confirmations and reports.
    Agent,
    /// Reads everything, or the objects of one tenant.
    Reader,
}

/// A token as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenSpec {
    /// Role as which its holder acts.
    pub role: Role,
    /// Tenant, for the role `tenant`; for the role `reader`, limits reads to the objects of this tenant.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tenant: Option<String>,
    /// Host or switch, for the role `agent`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<String>,
    /// Purpose of the token, at most 200 characters.
    #[serde(default)]
    pub label: String,
    /// Time at which it expires (RFC 3339); valid until it is deleted if absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expires: Option<String>,
    /// `URI:` or `DNS:` and a name that certificates of clients have (subject alternative name). Such a certificate acts as this token, which has
    /// no secret then.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub certificate: Option<String>,
}

/// An existing token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// Name of the token.
    pub id: String,
    /// Requested token.
    #[serde(flatten)]
    pub spec: TokenSpec,
    /// Revision of the token.
    pub revision: u64,
    /// Reason that no client can use this token, with a remedy; absent if there is none. Earlier versions accepted
    /// names that no certificate has, such as wildcards.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub warning: Option<String>,
}

/// A token that was just made.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewToken {
    /// Name and purpose of the token.
    #[serde(flatten)]
    pub token: Token,
    /// `wl_` and 64 hexadecimal digits. It is shown this once: the controller keeps only its SHA-256. A token for a certificate has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub secret: Option<String>,
}

impl std::fmt::Debug for NewToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewToken").field("token", &self.token).field("secret", &"not shown").finish()
    }
}
