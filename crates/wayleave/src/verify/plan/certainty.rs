//! Certainties of minima and weights, as in a ledger that receives equal shares in equal order.
//!
//! `wayleave-recheck` derives that a promise marked as proven is proven. This module also detects weaker certainties,
//! and compares each one at the moment of its decision.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wayleave_adversary::Discrepancy;
use wayleave_ledger::{HoseCharge, Ledger, Model};
use wayleave_recheck::{PromisedShare, StatedCertainty};
use wayleave_scheme_api::Certainty;
use wayleave_topology::{Network, ShareId};
use wayleave_units::Time;

use super::compared::stated;
use super::document::{ChangedCertainty, Entry};
use super::shares::{is_possible, share};

/// Shares as they come, change and go.
pub(super) struct Certainties {
    /// `None` where queues are not divided among classes.
    ledger: Option<Ledger>,
    /// By name, the share and the word of its decision.
    present: BTreeMap<String, (ShareId, Certainty)>,
    /// Shares that have ended and are held until a time, ns.
    due: BTreeSet<(u64, ShareId)>,
}

impl Certainties {
    /// Returns a ledger without shares; hoses are charged as in the scheme of the plan.
    pub(super) fn new(network: &Arc<Network>, model: &Model, charge: HoseCharge) -> Self {
        let none = vec![Vec::new(); network.links().len()];
        let ledger = Ledger::new(network.clone(), *model, none).ok();
        let ledger = ledger.map(|ledger| ledger.with_shares(Time::ZERO, charge)).filter(Ledger::has_shares);
        Self { ledger, present: BTreeMap::new(), due: BTreeSet::new() }
    }

    /// Adds an admitted contract, and compares its stated certainty.
    pub(super) fn decided(&mut self, entry: &Entry, promised: Option<&PromisedShare>, found: &mut Vec<Discrepancy>) {
        self.free(entry.at_ns);
        let given = entry.share.certainty.as_deref().unwrap_or("none");
        let derived = self.take(&entry.name, promised);
        let name = |certainty: Option<Certainty>| certainty.map_or("none", Certainty::name);
        if given != name(derived) {
            found.push(stated(&entry.name, "its certainty", given, name(derived)));
        }
        let given = entry.share.there_within_certainty.as_deref().unwrap_or("none");
        let is_timed = entry.share.there_within_ns.is_some();
        let derived = name(derived.filter(|_| is_timed).map(|_| Certainty::OF_TIMES));
        if given != derived {
            found.push(stated(&entry.name, "the certainty of its time", given, derived));
        }
    }

    fn take(&mut self, name: &str, promised: Option<&PromisedShare>) -> Option<Certainty> {
        let before = self.present.remove(name);
        let ledger = self.ledger.as_mut()?;
        before.into_iter().for_each(|(id, _)| _ = ledger.release_share(id));
        // A route that is none has no place in a ledger; the recheck names it.
        let promised = promised.filter(|promised| is_possible(ledger.network(), promised))?;
        let id = ledger.reserve_share(share(promised))?;
        let certainty = certainty(ledger, id)?;
        self.present.insert(name.to_owned(), (id, certainty));
        Some(certainty)
    }

    /// Takes the end of a contract.
    pub(super) fn released(&mut self, entry: &Entry) {
        self.free(entry.at_ns);
        if let Some((id, _)) = self.present.remove(&entry.name) {
            self.due.insert((entry.held_until_ns.unwrap_or(entry.at_ns), id));
        }
    }

    fn free(&mut self, now: u64) {
        while let Some(&(at, id)) = self.due.first().filter(|&&(at, _)| at <= now) {
            self.due.remove(&(at, id));
            self.ledger.as_mut().map(|ledger| ledger.release_share(id));
        }
    }

    /// Compares the certainties that have changed until the end.
    pub(super) fn end(&mut self, now: u64, given: &[ChangedCertainty], found: &mut Vec<Discrepancy>) {
        self.free(now);
        let words = |one: &ChangedCertainty| format!("{}: from {} to {}", one.name, one.from, one.to);
        let given: Vec<String> = given.iter().map(words).collect();
        let changed = self.present.iter().filter_map(|(name, &(id, before))| {
            let now = certainty(self.ledger.as_ref()?, id).filter(|&now| now != before)?;
            Some(format!("{name}: from {} to {}", before.name(), now.name()))
        });
        let changed: Vec<String> = changed.collect();
        if given != changed {
            found.push(stated("changed_certainty", "its entries", given.join(", "), changed.join(", ")));
        }
    }
}

fn certainty(ledger: &Ledger, id: ShareId) -> Option<Certainty> {
    let is_proven = ledger.is_proven(ledger.share(id)?);
    Some(if is_proven { Certainty::Proven } else { Certainty::Measured })
}

/// The certainty that a plan states for its end.
pub(super) fn stated_in_the_end(entry: Option<&str>) -> Option<StatedCertainty> {
    match entry? {
        "proven" => Some(StatedCertainty::Proven),
        "measured" => Some(StatedCertainty::Measured),
        _ => None,
    }
}
