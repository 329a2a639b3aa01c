//! Policies of services, and the minima that are held for them beside those of contracts.
//!
//! What all policies need of a link is one share of it in the guaranteed class, in the ledger of contracts: so a contract is refused where services need
//! the rate, and a policy where contracts have it (docs/decisions/078).

use std::collections::{BTreeMap, BTreeSet};

use wayleave_contracts::{LinkMinima, LinkNeed, Policy, PolicyShort};
use wayleave_ledger::{Ledger, ReservedShare, ShareDenial};
use wayleave_topology::{Class, Hop, LinkId, Network, Route, ShareId};
use wayleave_units::Rate;

use crate::scheme_ledger::{NO_OWNER, SchemeLedger};

/// A policy that is kept.
#[derive(Clone, Debug)]
pub struct PolicyState {
    /// Content of the policy.
    pub policy: Policy,
    /// Its revision.
    pub revision: u64,
}

/// All policies, by name, with the shares held for them.
#[derive(Clone, Default)]
pub(crate) struct Policies {
    by_name: BTreeMap<String, PolicyState>,
    held: BTreeMap<LinkId, ShareId>,
}

impl Policies {
    pub(crate) fn get(&self, name: &str) -> Option<&PolicyState> {
        self.by_name.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &PolicyState)> {
        self.by_name.iter().map(|(name, state)| (name.as_str(), state))
    }

    /// The policies for which shares are held, in words.
    pub(crate) fn by_share(&self, network: &Network) -> BTreeMap<ShareId, String> {
        let mut words: BTreeMap<ShareId, String> = BTreeMap::new();
        for (name, state) in self.iter() {
            let needs = state.policy.needs(network).into_iter().filter(|need| need.min > Rate::ZERO);
            let links: BTreeSet<LinkId> = needs.flat_map(|need| need.links).collect();
            for share in links.iter().filter_map(|link| self.held.get(link)) {
                let words = words.entry(*share).or_default();
                let comma = if words.is_empty() { "" } else { ", " };
                *words += &format!("{comma}policy {name}");
            }
        }
        words
    }

    /// Keeps a policy that was kept before, without asking whether it fits; [`Policies::hold`] has to follow.
    pub(crate) fn insert(&mut self, policy: Policy, revision: u64) {
        self.by_name.insert(policy.name().to_owned(), PolicyState { policy, revision });
    }

    /// Stores a policy, in place of one with its name, if all its minima fit beside contracts.
    ///
    /// # Errors
    /// The first link that has too little left; nothing has changed then.
    pub(crate) fn put(&mut self, book: &mut SchemeLedger, policy: Policy, revision: u64) -> Result<(), PolicyShort> {
        self.release_holds(book);
        let network = book.ledger().network().clone();
        let mut minima = LinkMinima::default();
        for (_, other) in self.iter().filter(|(name, _)| *name != policy.name()) {
            minima.add(&other.policy, &network);
        }
        // The needs of other policies are held first, so that the error reports what they leave for this policy.
        self.hold_all(book, &minima);
        let short = minima.add(&policy, &network).into_iter().find_map(|need| short(book.ledger(), &policy, &need));
        self.release_holds(book);
        if short.is_none() {
            self.insert(policy, revision);
        }
        self.hold(book);
        short.map_or(Ok(()), Err)
    }

    /// Keeps a policy no longer; whether there was one.
    pub(crate) fn remove(&mut self, book: &mut SchemeLedger, name: &str) -> bool {
        let was_there = self.by_name.remove(name).is_some();
        self.release_holds(book);
        self.hold(book);
        was_there
    }

    /// Holds the minima of all policies. Returns `true` if the ledger holds shares.
    pub(crate) fn hold(&mut self, book: &mut SchemeLedger) -> bool {
        let network = book.ledger().network().clone();
        let mut minima = LinkMinima::default();
        for (_, state) in self.iter() {
            minima.add(&state.policy, &network);
        }
        self.hold_all(book, &minima);
        book.ledger().has_shares()
    }

    fn hold_all(&mut self, book: &mut SchemeLedger, minima: &LinkMinima) {
        for (link, min) in minima.iter() {
            if let Some(share) = book.put_share_back(share(book.ledger(), link, min), NO_OWNER) {
                self.held.insert(link, share);
            }
        }
    }

    fn release_holds(&mut self, book: &mut SchemeLedger) {
        for (_, share) in std::mem::take(&mut self.held) {
            book.release_share(share);
        }
    }
}

/// Returns a minimum on a link, for any sender.
fn share(ledger: &Ledger, link: LinkId, min: Rate) -> ReservedShare {
    let queue = ledger.network().classes().map_or(0, |classes| classes.queue_of(Class::Guaranteed));
    ReservedShare::Pair { min, route: Route { hops: vec![Hop { link, queue }] }, is_timed: false }
}

/// Returns the shortage of a link for a policy, if there is one. A link that is down is checked as if it were up,
/// since it is to be restored.
fn short(ledger: &Ledger, policy: &Policy, need: &LinkNeed) -> Option<PolicyShort> {
    let &LinkNeed { link, more, .. } = need;
    if more == Rate::ZERO {
        return None;
    }
    let left = match ledger.share_denial_once_open(&share(ledger, link, more))? {
        ShareDenial::Rate { left, .. } => left,
        ShareDenial::NoPath { .. } | ShareDenial::Closed(_) | ShareDenial::Delay { .. } => Rate::ZERO,
    };
    Some(PolicyShort::new(policy, need, left, ledger.network()))
}
