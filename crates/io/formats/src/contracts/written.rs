//! Contracts as written, for programs that pass them to a controller, which knows the network.

use wayleave_contracts::{ContractKind, Labels, Match};

use super::field::ContractField;

/// A contract as written: its keys and values are known, and their meaning was not checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenContract {
    /// Text of each field that has a single text.
    pub texts: Vec<(ContractField, String)>,
    /// The hops of a pinned route.
    pub route: Option<Vec<String>>,
    /// Packets to which it applies.
    pub matching: Option<Match>,
    /// Words to find it by.
    pub labels: Labels,
    /// Value of the key of its kind, if it is not about latency.
    pub body: Option<WrittenBody>,
}

/// Value of `bandwidth`, `objective` or `bestEffort`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenBody {
    /// Its kind.
    pub kind: ContractKind,
    /// Text of each key that has a single text.
    pub texts: Vec<(&'static str, String)>,
    /// The members, with their key: `hose` or `members`.
    pub members: Option<(&'static str, Vec<String>)>,
}

impl WrittenBody {
    /// Returns the text of a key.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.texts.iter().find(|(known, _)| *known == key).map(|(_, text)| text.as_str())
    }
}

impl WrittenContract {
    /// Returns the text of a field.
    pub fn text(&self, field: ContractField) -> Option<&str> {
        self.texts.iter().find(|(known, _)| *known == field).map(|(_, text)| text.as_str())
    }
}
