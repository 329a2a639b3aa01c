//! Chameleon, footnote 3: several n, and the best of them.

use std::ops::RangeInclusive;
use std::sync::Arc;

use wayleave_ledger::Model;
use wayleave_scheme_api::{Admission, Request};
use wayleave_topology::Network;

use super::{Params, Qjump};

/// The best n for some lists of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best {
    /// n; the smallest of those that are equally good.
    pub applications: u32,
    /// Flows admitted until the first refusal (Chameleon, section 5.1.2), over all lists together.
    pub admitted: u64,
}

/// Tries every n of a range: the one that admits most flows until the first refusal, over all lists together. `None` for an
/// empty range.
pub fn best(
    network: &Arc<Network>,
    model: Model,
    params: &Params,
    lists: &[Vec<Request>],
    range: RangeInclusive<u32>,
) -> Option<Best> {
    let of = |applications: u32| {
        let params = Params { applications, ..*params };
        let admitted = |list: &Vec<Request>| until_first_refusal(Qjump::new(network.clone(), model, params), list);
        Best { applications, admitted: lists.iter().map(admitted).sum() }
    };
    // Of equals the last is taken, so the smallest n comes last.
    range.rev().map(of).max_by_key(|best| best.admitted)
}

/// Returns the number of requests of a list that are admitted before the first refusal.
pub fn until_first_refusal(mut scheme: impl Admission, list: &[Request]) -> u64 {
    list.iter().take_while(|request| scheme.admit(request).is_ok()).count() as u64
}
