//! Alerts of the rules for Prometheus, as the controller itself evaluates them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Urgency of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Guarantees are broken, or the controller cannot act.
    Critical,
    /// Somebody should look soon.
    Warning,
}

impl Severity {
    /// Returns the name in documents and in the rules for Prometheus.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
        }
    }
}

/// An alert that fires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Alert {
    /// Name of the rule.
    pub name: String,
    /// Urgency.
    pub severity: Severity,
    /// Time at which its condition was first met (RFC 3339), of an uninterrupted period; `null` if it is unknown.
    #[schema(required)]
    pub since: Option<String>,
    /// Description of the fault, in one sentence.
    pub summary: String,
    /// Remedy, or where to look.
    pub description: String,
    /// Condition in the language of Prometheus.
    pub expression: String,
    /// Labels of the alert, for example `node`.
    pub labels: BTreeMap<String, String>,
}

/// A rule that the controller cannot evaluate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnknownAlert {
    /// Name of the rule.
    pub name: String,
    /// Reason that its result is unknown.
    pub reason: String,
}

/// Alerts that fire now, critical ones first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Alerts {
    /// Alerts that fire.
    pub items: Vec<Alert>,
    /// Number of rules.
    pub rules: u64,
    /// Rules whose result is unknown.
    pub unknown: Vec<UnknownAlert>,
}
