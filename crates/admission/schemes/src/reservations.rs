//! Paths that a request could take, and the obstacles on each, for the explanation of refusals by `explain`.
//!
//! The shortest paths of equal length are inspected (as in rerouting, Chameleon, section 4.1.3). On a given path the
//! best queues are found exactly: access depends on the delay so far, and a smaller one is never worse. So for every
//! number of broken promises only the least delay so far has to be kept.

use wayleave_ledger::{Ledger, PortInput};
use wayleave_scheme_api::Binding;
use wayleave_topology::{Hop, LinkId, Route};
use wayleave_units::{Bytes, Time};

use crate::placement::Placement;
use crate::routing::RouteQuery;
use crate::shortest::ShortestPaths;

/// The shortest paths between two hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortestPathSurvey {
    /// Number of paths; the maximum value means at least that number.
    pub total: usize,
    /// The first of them.
    pub paths: Vec<PathTried>,
}

/// One path, link by link, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathTried {
    /// The links, in order from the source.
    pub links: Vec<LinkId>,
    /// The best that its queues offer.
    pub outcome: PathOutcome,
}

/// Best outcome on a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathOutcome {
    /// Room, in time: these queues.
    Open {
        /// The queues.
        route: Route,
        /// The end-to-end bound.
        bound: Time,
    },
    /// No queues in time break fewer promises than these.
    Blocked {
        /// The queues.
        route: Route,
        /// The end-to-end bound.
        bound: Time,
        /// Promises that they break, from the source on.
        bindings: Vec<Binding>,
    },
    /// Even its fastest queues take longer than the deadline.
    TooSlow {
        /// The sum of its least budgets and its constants.
        fastest: Time,
    },
    /// Contracts may use no queue of this link.
    NoQueue {
        /// The first such link.
        link: LinkId,
    },
    /// A link does not carry the request's frames.
    FrameTooLarge {
        /// The first such link.
        link: LinkId,
        /// The largest frame that it carries.
        largest: Bytes,
    },
    /// It passes more switches than a tag stack has tags.
    TooManySwitches {
        /// The tags.
        limit: u32,
    },
}

/// Inspects the first `limit` shortest paths of a query.
pub fn paths(placement: &Placement, query: &RouteQuery, limit: usize) -> ShortestPathSurvey {
    let network = placement.network();
    let shortest = ShortestPaths::new(network, query.from, query.to);
    let tried = |links: Vec<LinkId>| PathTried { outcome: best_of_path(placement, query, &links), links };
    ShortestPathSurvey { total: shortest.count(), paths: shortest.first(limit).into_iter().map(tried).collect() }
}

/// Returns the outcome of the best queues of a path.
pub(crate) fn best_of_path(placement: &Placement, query: &RouteQuery, links: &[LinkId]) -> PathOutcome {
    let ledger = placement.ledger();
    if let Some(&link) = links.iter().find(|&&link| ledger.budgets(link).len() == 0) {
        return PathOutcome::NoQueue { link };
    }
    let is_too_large = |largest: Bytes| query.max_frame.is_some_and(|frame| frame > largest);
    if let Some(&link) = links.iter().find(|&&link| is_too_large(ledger.largest_frame(link))) {
        return PathOutcome::FrameTooLarge { link, largest: ledger.largest_frame(link) };
    }
    if let Some(limit) = ledger.model().max_switches().filter(|&limit| links.len() > limit as usize + 1) {
        return PathOutcome::TooManySwitches { limit };
    }
    let choices = choices(ledger, query, links);
    let mut in_time = choices.iter().map(|route| (route, placement.bound(route)));
    match in_time.find(|(_, bound)| *bound <= query.deadline) {
        None => {
            let fastest = choices.iter().map(|route| placement.bound(route)).min();
            PathOutcome::TooSlow { fastest: fastest.unwrap_or(Time::MAX) }
        }
        Some((route, bound)) => {
            let (route, bindings) = (route.clone(), placement.bindings(query, route));
            if bindings.is_empty() {
                PathOutcome::Open { route, bound }
            } else {
                PathOutcome::Blocked { route, bound, bindings }
            }
        }
    }
}

/// Fastest choice of queues on the first hops of a path that breaks a given number of promises.
#[derive(Clone, Copy)]
struct Label {
    /// In the queues so far: what the burst has grown by.
    waited: Time,
    /// The queue of the last hop.
    queue: u8,
    /// `true` if that queue's promise breaks, or that of a queue below.
    breaks: bool,
}

/// For every number of broken promises that is possible, fewest first, the queues of least delay.
fn choices(ledger: &Ledger, query: &RouteQuery, links: &[LinkId]) -> Vec<Route> {
    // Per hop, by broken promises; the first row is before the first hop.
    let mut rows: Vec<Vec<Option<Label>>> = vec![vec![Some(Label { waited: Time::ZERO, queue: 0, breaks: false })]];
    let mut input = PortInput::LOCAL;
    for &link in links {
        let before = rows.last().map_or(&[][..], Vec::as_slice);
        let mut row: Vec<Option<Label>> = vec![None; before.len() + 1];
        for (broken, label) in before.iter().enumerate().filter_map(|(broken, label)| Some((broken, label.as_ref()?))) {
            let burst = query.burst_after(ledger, label.waited);
            for (queue, budget) in (0u8..).zip(ledger.budgets(link)) {
                let breaks = !ledger.fits(link, queue, input, query.rate, burst);
                let waited = label.waited + budget;
                let best = &mut row[broken + usize::from(breaks)];
                if best.is_none_or(|best| waited < best.waited) {
                    *best = Some(Label { waited, queue, breaks });
                }
            }
        }
        rows.push(row);
        input = PortInput::link(link);
    }
    (0..=links.len()).filter_map(|broken| trace(&rows, links, broken)).collect()
}

/// The route that ends in the label with this many broken promises.
fn trace(rows: &[Vec<Option<Label>>], links: &[LinkId], mut broken: usize) -> Option<Route> {
    let mut hops = Vec::with_capacity(links.len());
    for (row, &link) in rows.iter().skip(1).zip(links).rev() {
        let label = row.get(broken).copied().flatten()?;
        hops.push(Hop { link, queue: label.queue });
        broken -= usize::from(label.breaks);
    }
    hops.reverse();
    Some(Route { hops })
}
