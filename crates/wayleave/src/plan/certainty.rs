//! Certainty of promises that were decided earlier: a hose that was proven is measured once other hoses share its links.

use std::collections::BTreeMap;

use serde::Serialize;
use wayleave_explain::DecidedShare;
use wayleave_scheme_api::{Admission, Certainty};
use wayleave_topology::ShareId;

use crate::session::Session;

/// Certainty of all shares when they were decided.
#[derive(Debug, Default)]
pub(super) struct Certainties {
    by_name: BTreeMap<String, (ShareId, Certainty)>,
}

/// A promise whose certainty is another one by now.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct ChangedCertainty<'a> {
    name: &'a str,
    from: &'static str,
    to: &'static str,
}

impl Certainties {
    /// Takes a decision; a refusal changes nothing.
    pub(super) fn decided(&mut self, decided: &DecidedShare<'_>) {
        if let Ok(Some(decision)) = decided.decision {
            self.by_name.insert(decided.contract.name().to_owned(), (decision.share, decision.certainty));
        }
    }

    /// Forgets a contract that has ended.
    pub(super) fn released(&mut self, name: &str) {
        self.by_name.remove(name);
    }

    /// Promises whose certainty has changed since they were decided, by name.
    pub(super) fn changed(&self, session: &Session) -> Vec<ChangedCertainty<'_>> {
        let changed = self.by_name.iter().filter_map(|(name, &(share, from))| {
            let to = session.scheme.certainty(share).filter(|&to| to != from)?;
            Some(ChangedCertainty { name, from: from.name(), to: to.name() })
        });
        changed.collect()
    }

    /// Certainty of a contract now, if it is another one than when it was decided.
    pub(super) fn now(&self, session: &Session, name: &str) -> Option<Certainty> {
        let &(share, from) = self.by_name.get(name)?;
        session.scheme.certainty(share).filter(|&now| now != from)
    }
}
