//! Tenants with their quotas, VMs, tokens.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The most that a tenant's contracts may add up to; what is not given is not limited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// All rates together, for example `10Gbit`; a minimum counts once for a pair, and for every member of a hose or an objective.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate: Option<String>,
    /// All bursts together, for example `1MB`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub burst: Option<String>,
    /// How many.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub contracts: Option<u64>,
}

/// A tenant as it is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantSpec {
    /// 1 to 63 of `[a-z0-9-]`. Not needed where the address says it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// What it may have at most.
    #[serde(default)]
    pub quota: Quota,
}

/// A tenant that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Tenant {
    /// Its name.
    pub name: String,
    /// What it may have at most.
    pub quota: Quota,
    /// What it has.
    pub usage: Usage,
    /// The same as the ETag.
    pub revision: u64,
}

/// What all contracts of a tenant ask for together; every copy of a protected contract counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    /// The sum of rates and minima.
    pub rate: String,
    /// The sum of bursts.
    pub burst: String,
    /// How many.
    pub contracts: u64,
}

/// How a host is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// Any host, each as likely.
    Random,
    /// The host whose lines have most rate left.
    Fit,
}

/// Where a VM should be: one of both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// On this host.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<String>,
    /// Where the controller puts it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub strategy: Option<Strategy>,
}

/// A VM as it is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VmSpec {
    /// Unique among the VMs of the tenant: 1 to 100 of `[A-Za-z0-9._-]`. Not needed where the address says it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// Whose it is; the tenant of the token, or `default`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tenant: Option<String>,
    /// Where it should be; by fit if not given.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub placement: Option<Placement>,
    /// The address of its interface, such as `02:00:5e:10:00:01`: of a single interface, and no other VM's. What it has, or one that the
    /// controller derives, if not given.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mac: Option<String>,
}

/// A VM that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Vm {
    /// `tenant:name`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub tenant: String,
    /// Where it is.
    pub host: String,
    /// The address of its interface.
    pub mac: String,
    /// The same as the ETag.
    pub revision: u64,
}

/// As whom the holder of a token acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything.
    Operator,
    /// Everything of one tenant, and nothing of others.
    Tenant,
    /// The node that it runs on: its operations, confirmations and reports.
    Agent,
    /// Reads; everything, or what is of one tenant.
    Reader,
}

/// A token as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenSpec {
    /// As whom its holder acts.
    pub role: Role,
    /// Whose, for the role `tenant`; for the role `reader`, only what is of this tenant is seen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tenant: Option<String>,
    /// Which host or switch, for the role `agent`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<String>,
    /// What it is for, at most 200 characters.
    #[serde(default)]
    pub label: String,
    /// When it is good no longer (RFC 3339); good until it is deleted if not given.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expires: Option<String>,
    /// `URI:` or `DNS:` and a name that certificates of clients have (subject alternative name). Such a certificate acts as this token, which has
    /// no secret then.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub certificate: Option<String>,
}

/// A token that is there, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// What it is called.
    pub id: String,
    /// What was asked.
    #[serde(flatten)]
    pub spec: TokenSpec,
    /// Its revision.
    pub revision: u64,
    /// Reason for which nobody can act as this token, and what to do; absent if there is none. Earlier versions accepted names that no certificate
    /// has, such as wildcards.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub warning: Option<String>,
}

/// A token that was just made.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewToken {
    /// What it is called, and what it is for.
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
