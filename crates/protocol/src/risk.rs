//! Promises, those first that are broken or nearest to it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::contract::{Kind, State};

/// How sure it is that a promise is kept now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// It is not: the contract is `degraded` or `violated`.
    Broken,
    /// A packet that was followed took at least 90 % of the bound, and no longer than the bound and the errors of the clocks.
    Near,
    /// It is admitted, and not in force yet: others have to move first, its time has not come, or its sender has not confirmed its terms.
    Waiting,
    /// It was measured and not proven (`certainty` is `measured`).
    Measured,
    /// It is kept.
    Kept,
}

impl Level {
    /// All, the worst first.
    pub const ALL: [Self; 5] = [Self::Broken, Self::Near, Self::Waiting, Self::Measured, Self::Kept];

    /// As it appears in interfaces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::Near => "near",
            Self::Waiting => "waiting",
            Self::Measured => "measured",
            Self::Kept => "kept",
        }
    }
}

/// A contract that promises something, and how sure it is that the promise is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Risk {
    /// `tenant:name`.
    pub id: String,
    /// How sure it is.
    pub level: Level,
    /// What it promises.
    pub kind: Kind,
    /// The state of the contract.
    pub state: State,
    /// Why it is in that state: a stable code.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// The same for people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<String>,
    /// Of a contract of another kind than latency: `proven` or `measured`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub certainty: Option<String>,
    /// No packet takes longer, by proof.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bound_ns: Option<u64>,
    /// No packet may take longer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deadline_ns: Option<u64>,
    /// The longest delay of a packet that agents have seen; absent if they have followed none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub worst_ns: Option<u64>,
    /// A minimum rate, or a weight as a rate.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub min: Option<String>,
    /// The hosts that send and receive, or those of the members; at most four.
    pub hosts: Vec<String>,
    /// How many hosts those are altogether.
    pub members: u64,
    /// From 0 to 100: the higher, the longer it is kept when something fails.
    pub priority: u8,
}

/// A page of promises, the worst first. Best-effort contracts promise nothing and are not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Risks {
    /// Those of this page: by level, then broken ones by priority, then by what is left between the bound and the deadline.
    pub items: Vec<Risk>,
    /// How many there are of each level, on all pages together.
    pub levels: BTreeMap<String, u64>,
    /// `after` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
}
