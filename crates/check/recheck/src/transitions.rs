//! Checks the budgets of every queue at all times, for all packets that can be in flight while contracts are added,
//! moved and removed.
//!
//! A flow is on a route from the moment at which its sender starts there until its last packet has left, which is no
//! later than its bound after the sender has stopped. Requirement at every moment: the flows that can have packets on
//! a link at that moment pass the check of its queues, each with its bucket as it was promised. The set on a link
//! grows only when a sender starts there, and fewer flows never take longer. So it is enough to check each link
//! before a departure if it has not been checked with all earlier arrivals, and at the end.
//!
//! The only input from the admission control are the routes and times of senders.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use wayleave_topology::LinkId;
use wayleave_units::Time;

use crate::check::{CheckProgress, LinkLoad, add_hop, bound_of, check_link, validate};
use crate::claim::{Claim, PromisedFlow};
use crate::report::RecheckReport;
use crate::violation::BrokenPromise;

/// A flow on one route.
#[derive(Clone, Debug)]
pub struct RouteLifetime {
    /// The flow, with this route.
    pub flow: PromisedFlow,
    /// Time when its sender starts there.
    pub from: Time,
    /// Time when its sender stops; `None`: not before the end.
    pub until: Option<Time>,
    /// If it has been moved: its stay on the route before, by its number. Where that route and this one begin alike, packets of both come from
    /// one bucket, and count once.
    pub previous: Option<usize>,
}

/// Results of the check.
#[derive(Clone, Debug, Default)]
pub struct Transitions {
    /// Number of checked sets of flows on a link.
    pub sets: usize,
    /// Number of departures of flows from a route.
    pub departures: usize,
    /// Violations.
    pub overbooked: Vec<Overbooked>,
}

/// More is on a link at once than its queues can take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overbooked {
    /// Since when.
    pub at: Time,
    /// The broken promise.
    pub violation: BrokenPromise,
    /// The flows that can have packets there.
    pub flows: Vec<String>,
}

impl fmt::Display for Overbooked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "from {:#} on, {}, with packets of {}", self.at, self.violation, self.flows.join(", "))
    }
}

/// A flow on a link.
pub(crate) struct Presence<'a> {
    pub(crate) flow: &'a PromisedFlow,
    pub(crate) hop: usize,
    /// From when on it counts, ns.
    pub(crate) from: u128,
    /// Time when its last packet has left, in ns; `None`: never.
    pub(crate) gone: Option<u128>,
}

/// Checks all links at all times; the flows of the claim itself are ignored.
///
/// # Panics
/// If the claim does not have one entry per link in `budgets` and in `max_frame`.
pub fn check_transitions(claim: &Claim<'_>, stays: &[RouteLifetime]) -> Transitions {
    check_transitions_watched(claim, stays, &mut |_, _| {})
}

/// Checks all links at all times; `progress` receives the number of completed links and the total, from any thread,
/// but never from two at once.
///
/// # Panics
/// As [`check_transitions`].
pub fn check_transitions_watched(
    claim: &Claim<'_>,
    stays: &[RouteLifetime],
    progress: &mut CheckProgress<'_>,
) -> Transitions {
    let (links, mut found) = presences(claim, stays);
    // Links are independent. Their results are combined in their order, for any order of threads.
    let links: Vec<_> = links.into_iter().collect();
    let progress = Mutex::new((0, progress));
    let over_time = |(link, presences): &(LinkId, Vec<Presence<'_>>)| {
        let mut found = Transitions::default();
        check_over_time(claim, *link, presences, &mut found);
        let (done, progress) = &mut *progress.lock().unwrap_or_else(PoisonError::into_inner);
        *done += 1;
        progress(*done, links.len() as u64);
        found
    };
    for on_link in links.par_iter().map(over_time).collect::<Vec<_>>() {
        found.sets += on_link.sets;
        found.overbooked.extend(on_link.overbooked);
    }
    found.overbooked.sort_by_key(|one| one.at);
    found
}

/// By link, the flows that can have packets there, and from when until when.
pub(crate) fn presences<'a>(
    claim: &Claim<'_>,
    stays: &'a [RouteLifetime],
) -> (BTreeMap<LinkId, Vec<Presence<'a>>>, Transitions) {
    let mut found = Transitions::default();
    let mut links: BTreeMap<LinkId, Vec<Presence<'_>>> = BTreeMap::new();
    // Time when each stay's last packet has left; `None` if it has no valid route, or remains.
    let mut left: Vec<Option<u128>> = Vec::with_capacity(stays.len());
    for RouteLifetime { flow, from, until, previous } in stays {
        left.push(None);
        if until.is_some_and(|until| until < *from) {
            // The sender stopped before its start.
            continue;
        }
        if let Err(violation) = validate(claim, flow) {
            found.overbooked.push(Overbooked { at: *from, violation, flows: vec![flow.name.clone()] });
            continue;
        }
        found.departures += usize::from(until.is_some());
        let gone = until.map(|until| u128::from(until.as_nanos()) + bound_of(claim, flow).bound_ns());
        let taken_over = previous.and_then(|number| Some((left.get(number).copied()??, common(&stays[number], flow))));
        if let Some(last) = left.last_mut() {
            *last = gone;
        }
        for (hop, one) in flow.route.hops.iter().enumerate().skip(flow.covered) {
            let before = taken_over.filter(|&(_, common)| hop < common).map(|(empty, _)| empty);
            let from = before.unwrap_or(u128::from(from.as_nanos()));
            if gone.is_none_or(|gone| from < gone) {
                links.entry(one.link).or_default().push(Presence { flow, hop, from, gone });
            }
        }
    }
    (links, found)
}

/// Returns the number of hops that a route has in common with that of an earlier stay, from the first on.
fn common(before: &RouteLifetime, flow: &PromisedFlow) -> usize {
    let pairs = before.flow.route.hops.iter().zip(&flow.route.hops);
    pairs.take_while(|(one, other)| one == other).count()
}

/// Checks the events on a link in the order of time: departures at a moment precede starts.
fn check_over_time(claim: &Claim<'_>, link: LinkId, presences: &[Presence<'_>], found: &mut Transitions) {
    let ends = presences.iter().enumerate().filter_map(|(index, one)| Some((one.gone?, false, index)));
    let starts = presences.iter().enumerate().map(|(index, one)| (one.from, true, index));
    let mut events: Vec<(u128, bool, usize)> = ends.chain(starts).collect();
    events.sort_unstable();
    let mut here: BTreeMap<usize, &Presence<'_>> = BTreeMap::new();
    let mut grown_at = None;
    for (_, is_start, index) in events {
        if is_start {
            here.insert(index, &presences[index]);
            grown_at = Some(presences[index].from);
        } else {
            if let Some(at) = grown_at.take() {
                check_now(claim, link, &here, at, found);
            }
            here.remove(&index);
        }
    }
    if let Some(at) = grown_at {
        check_now(claim, link, &here, at, found);
    }
}

fn check_now(
    claim: &Claim<'_>,
    link: LinkId,
    here: &BTreeMap<usize, &Presence<'_>>,
    at: u128,
    found: &mut Transitions,
) {
    found.sets += 1;
    let mut load = LinkLoad::default();
    for one in here.values() {
        add_hop(claim, one.flow, one.hop, &mut load);
    }
    let mut report = RecheckReport::default();
    check_link(claim, link, &load, &mut report);
    let names = || here.values().map(|one| one.flow.name.clone()).collect();
    let at = Time::from_nanos(u64::try_from(at).unwrap_or(u64::MAX));
    found.overbooked.extend(report.violations.into_iter().map(|violation| Overbooked {
        at,
        violation,
        flows: names(),
    }));
}

#[cfg(test)]
mod tests {
    use wayleave_topology::builders::{Cabling, build};
    use wayleave_topology::{Hop, Network, Route};
    use wayleave_units::{Bytes, Rate};

    use super::*;
    use crate::claim::{JitterTerm, PacketiserTerm};

    fn claim(network: &Network) -> Claim<'_> {
        Claim {
            network,
            budgets: vec![vec![Time::from_micros(50)]; network.links().len()],
            max_frame: vec![Bytes::new(1000); network.links().len()],
            packetiser: PacketiserTerm::Omitted,
            shaping: false,
            jitter: JitterTerm::Ordered,
            flows: Vec::new(),
            disjoint: Vec::new(),
            claimed_queues: Vec::new(),
            exact_claims: false,
        }
    }

    /// 3,000 B take 24 us at 1 Gbit/s, and the frame in front of them 8 us: two such flows do not fit into 50 us.
    fn stay(network: &Network, name: &str, from: u64, until: Option<u64>) -> RouteLifetime {
        let link = |name| network.find_link(name).unwrap();
        let hops = [link("h1->s1"), link("s1->h2")].map(|link| Hop { link, queue: 0 }).to_vec();
        let flow = PromisedFlow {
            name: name.to_owned(),
            from: network.find_node("h1").unwrap(),
            to: network.find_node("h2").unwrap(),
            route: Route { hops },
            covered: 0,
            rate: Rate::from_mbit(1),
            burst: Bytes::new(3000),
            deadline: Time::from_millis(1),
            promised_bound: Time::from_micros(100),
        };
        RouteLifetime { flow, from: Time::from_micros(from), until: until.map(Time::from_micros), previous: None }
    }

    #[test]
    fn a_flow_that_starts_before_the_last_packet_of_another_has_left_overbooks() {
        let network = build::star(2, Cabling::default()).unwrap();
        // The bound of the route is 100 us.
        let early =
            check_transitions(&claim(&network), &[stay(&network, "a", 0, Some(1000)), stay(&network, "b", 1099, None)]);
        assert_eq!((early.overbooked.len(), early.departures), (2, 1));
        let text = early.overbooked[0].to_string();
        assert!(text.starts_with("from 1.099 ms on") && text.ends_with("with packets of a, b"), "{text}");
        let in_time =
            check_transitions(&claim(&network), &[stay(&network, "a", 0, Some(1000)), stay(&network, "b", 1100, None)]);
        assert!(in_time.overbooked.is_empty());
        assert_eq!(in_time.sets, 4);
    }

    /// On the first hops, which the routes share, packets of a flow that moves come from one bucket.
    #[test]
    fn a_moved_flow_counts_once_on_links_that_it_keeps() {
        let network = build::star(2, Cabling::default()).unwrap();
        let moved = |previous| {
            let first = stay(&network, "a", 0, Some(1000));
            let again = RouteLifetime { previous, ..stay(&network, "a", 1000, Some(1010)) };
            check_transitions(&claim(&network), &[first, again]).overbooked.len()
        };
        assert_eq!((moved(None), moved(Some(0))), (2, 0));
        // It counts all the time: another one beside it is too much, whether it comes before or after the first has left.
        for (at, overbooked) in [(1050, 4), (1105, 2), (1110, 0)] {
            let again = RouteLifetime { previous: Some(0), ..stay(&network, "a", 1000, Some(1010)) };
            let stays = [stay(&network, "a", 0, Some(1000)), again, stay(&network, "b", at, None)];
            assert_eq!(check_transitions(&claim(&network), &stays).overbooked.len(), overbooked, "{at}");
        }
    }

    /// With one thread and with many the same is found, in the same order, and every link is counted.
    #[test]
    fn many_threads_check_links_with_the_result_of_one() {
        let network = build::star(2, Cabling::default()).unwrap();
        let stays: Vec<RouteLifetime> =
            (0..40).map(|number| stay(&network, &format!("f{number}"), number * 30, Some(number * 30 + 500))).collect();
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut steps = Vec::new();
            let found = pool.install(|| {
                check_transitions_watched(&claim(&network), &stays, &mut |done, total| steps.push((done, total)))
            });
            assert_eq!(steps, [(1, 2), (2, 2)]);
            found
        };
        let (one, many) = (with(1), with(4));
        assert!(one.overbooked.len() > 40 && one.overbooked == many.overbooked);
        assert_eq!((one.sets, one.departures), (many.sets, many.departures));
    }

    #[test]
    fn a_flow_stopped_before_its_start_occupies_no_link() {
        let network = build::star(2, Cabling::default()).unwrap();
        let stays = [stay(&network, "a", 50, Some(40)), stay(&network, "b", 45, None)];
        assert!(check_transitions(&claim(&network), &stays).overbooked.is_empty());
    }
}
