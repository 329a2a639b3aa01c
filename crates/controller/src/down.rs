//! Why something is down.

use std::collections::BTreeSet;

/// Why something is down: somebody said so, or agents at its ends see no carrier. It is up when neither holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Down {
    said: Option<String>,
    /// Nodes.
    seen: BTreeSet<String>,
    /// Both in words.
    why: String,
}

impl Down {
    /// `None` if there is no reason.
    pub(crate) fn of(said: Option<String>, seen: BTreeSet<String>) -> Option<Self> {
        let carrier = || {
            let nodes = Vec::from_iter(seen.iter().map(String::as_str)).join(" and ");
            (!seen.is_empty()).then(|| format!("no carrier at {nodes}"))
        };
        let why = said.clone().or_else(carrier)?;
        Some(Self { said, seen, why })
    }

    /// The same, seen by one more node.
    pub(crate) fn seen_by(mut self, node: &str) -> Self {
        self.seen.insert(node.to_owned());
        Self::of(self.said, self.seen).unwrap_or_default()
    }

    /// The same without what a node saw; `None` if there is no reason left.
    pub(crate) fn not_seen_by(mut self, node: &str) -> Option<Self> {
        self.seen.remove(node);
        Self::of(self.said, self.seen)
    }

    pub(crate) fn said(&self) -> Option<&str> {
        self.said.as_deref()
    }

    pub(crate) fn seen(&self) -> &BTreeSet<String> {
        &self.seen
    }

    pub(crate) fn why(&self) -> &str {
        &self.why
    }
}
