//! Names of objects that begin with, or contain, what somebody has typed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Kind of a named object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum NameKind {
    /// A link, `from->to`.
    Link,
    /// A host.
    Host,
    /// A switch.
    Switch,
    /// A tenant.
    Tenant,
    /// A contract, `tenant:name`.
    Contract,
}

/// The name of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ObjectName {
    /// Kind of the object.
    pub kind: NameKind,
    /// Its name.
    pub name: String,
}

/// Names that fit a text: first those that begin with it, then those that contain it. At most 20.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Names {
    /// The names.
    pub items: Vec<ObjectName>,
    /// `true` if other names fit as well.
    pub more: bool,
}
