//! Contracts as they are written, for who hands them on to a controller that knows the network.

use wayleave_contracts::{ContractKind, Labels, Match};

use super::field::ContractField;

/// A contract as it is written: its keys and values are known, and what they mean was not looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenContract {
    /// What is written for each field that has one text.
    pub texts: Vec<(ContractField, String)>,
    /// The hops of a pinned route.
    pub route: Option<Vec<String>>,
    /// Which packets it is for.
    pub matching: Option<Match>,
    /// Words to find it by.
    pub labels: Labels,
    /// What stands under the key of its kind, if it is not about latency.
    pub body: Option<WrittenBody>,
}

/// What is written under `bandwidth`, `objective` or `bestEffort`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenBody {
    /// What it is about.
    pub kind: ContractKind,
    /// What is written under each key that has one text.
    pub texts: Vec<(&'static str, String)>,
    /// The members, with their key: `hose` or `members`.
    pub members: Option<(&'static str, Vec<String>)>,
}

impl WrittenBody {
    /// What is written under a key.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.texts.iter().find(|(known, _)| *known == key).map(|(_, text)| text.as_str())
    }
}

impl WrittenContract {
    /// What is written for a field.
    pub fn text(&self, field: ContractField) -> Option<&str> {
        self.texts.iter().find(|(known, _)| *known == field).map(|(_, text)| text.as_str())
    }
}
