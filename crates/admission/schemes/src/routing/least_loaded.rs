//! The cheapest queues along the least loaded path: a search by the cost of scarce resources in a few microseconds.
//!
//! A search by cost over the whole queue-level topology visits hundreds of queues if fast ones are scarce. Most of
//! the choice can be made in two steps. The first picks, of the short paths between two hosts, the one whose links
//! have the most left. The second finds the queues of least cost along that path that meet the deadline (exactly, by
//! label setting). If the ledger has no room there, the next path by load follows. The caller's complete search
//! covers the remaining cases.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wayleave_ledger::{Ledger, PortInput};
use wayleave_topology::{LinkId, Route};
use wayleave_units::Time;

use super::endpoint_bottleneck::is_dead_end;
use super::exclusions::Denial;
use super::graph::{Edge, QueueGraph};
use super::least_delay::LeastDelay;
use super::paths::SwitchPaths;
use super::{FoundRoute, RouteQuery, hop};
use crate::costs::{Prices, QueueCosts, Scarcity};

/// The search, with its memory.
#[derive(Clone, Debug)]
pub struct LeastLoaded {
    switch_paths: SwitchPaths,
    prices: Prices,
    offers: Vec<PathOffer>,
    /// Price of each link of the paths between two switches.
    priced: Vec<f64>,
    /// Path along which queues are chosen.
    links: Vec<u32>,
    places: Vec<PathLink>,
    labels: Vec<Label>,
    open: BinaryHeap<(Reverse<u64>, Reverse<u64>, u32)>,
    /// Denials of the last flow at its ends, if it was stuck there.
    denials: Vec<Denial>,
}

/// Result of a search.
#[derive(Clone, Debug)]
pub enum LeastLoadedResult {
    /// A route.
    Found(FoundRoute),
    /// The least loaded paths have no room.
    NoRoom,
    /// There is no route at all: the flow is stuck at its ends.
    Stuck,
}

/// A path from host to host, and the price of its links.
#[derive(Clone, Copy, Debug)]
struct PathOffer {
    price: f64,
    up: LinkId,
    down: LinkId,
    /// Its number among the paths between their switches.
    path: u32,
}

/// A link of the path for which queues are chosen.
#[derive(Clone, Copy, Debug)]
struct PathLink {
    link: LinkId,
    edge: Edge,
    /// From here to the end: the least that remains of delay (ns) and of cost.
    rest: u64,
    cost: u64,
    /// Minimum waiting time of a flow when it arrives here, ns, and the costs of the queues then.
    waited: u64,
    costs: QueueCosts,
    /// The least that a label which was let in here has waited, ns. They come by cost, so those behind it are of use
    /// only if they have waited less.
    least_waited: u64,
}

/// A queue that was chosen for a first part of a path.
#[derive(Clone, Copy, Debug)]
struct Label {
    cost: u64,
    /// Budgets so far, ns.
    waited: u64,
    /// Budgets and constants so far, ns.
    delay: u64,
    parent: u32,
    place: u32,
    queue: u8,
}

const NONE: u32 = u32::MAX;
/// Maximum number of paths that are tried. If none has room, a complete search is needed anyhow.
const TRIES: usize = 4;

impl LeastLoaded {
    /// For a ledger's network.
    pub fn new(ledger: &Ledger, scarcity: Scarcity) -> Self {
        Self {
            switch_paths: SwitchPaths::default(),
            prices: Prices::new(ledger, scarcity),
            offers: Vec::new(),
            priced: Vec::new(),
            links: Vec::new(),
            places: Vec::new(),
            labels: Vec::new(),
            open: BinaryHeap::new(),
            denials: Vec::new(),
        }
    }

    /// Searches for a route in time with room in the ledger, along the least loaded path that has one.
    pub fn search(&mut self, graph: &mut QueueGraph, ledger: &Ledger, query: &RouteQuery) -> LeastLoadedResult {
        let network = ledger.network();
        ledger.fetch(network.links_to_switches(query.from).iter().chain(network.links_into(query.to)).copied());
        graph.prepare(network, query.to);
        self.gather(graph, ledger, query);
        let mut links = std::mem::take(&mut self.links);
        let quietest = self.search_stored_paths((graph, ledger, query), &mut links);
        self.links = links;
        quietest
    }

    /// Searches along one path after the other.
    fn search_stored_paths(
        &mut self,
        (graph, ledger, query): (&mut QueueGraph, &Ledger, &RouteQuery),
        links: &mut Vec<u32>,
    ) -> LeastLoadedResult {
        for number in 0..TRIES {
            // Usually the first path has room, and no check is necessary.
            if number == 1 {
                graph.prepare_waits(ledger.network(), query.from);
                if is_dead_end((graph, ledger, query), &mut self.denials) {
                    return LeastLoadedResult::Stuck;
                }
            }
            let quietest = self.offers.iter().enumerate().min_by(|(_, a), (_, b)| a.price.total_cmp(&b.price));
            let Some((at, offer)) = quietest.map(|(at, offer)| (at, *offer)) else { return LeastLoadedResult::NoRoom };
            let graph = &*graph;
            links.clear();
            links.push(offer.up.0);
            links.extend(
                self.switch_paths.between(graph, ledger.network(), ends(graph, offer.up, offer.down)).path(offer.path),
            );
            links.push(offer.down.0);
            ledger.fetch(links[1..links.len() - 1].iter().map(|&link| LinkId(link)));
            if let Some(found) = self.cheapest_queues((graph, ledger, query), links) {
                return LeastLoadedResult::Found(found);
            }
            self.offers.swap_remove(at);
        }
        LeastLoadedResult::NoRoom
    }

    /// Brings the prices of links up to date that have just changed: now what they follow from is in a cache.
    pub fn refresh(&mut self, ledger: &Ledger, route: &Route) {
        for hop in &route.hops {
            self.prices.refresh(ledger, hop.link);
        }
    }

    /// Hands what the last flow was denied to a search that is spared.
    pub fn spare(&mut self, search: &mut LeastDelay) {
        search.take_denials(&mut self.denials);
    }

    /// Collects all short paths with rate to spare.
    fn gather(&mut self, graph: &QueueGraph, ledger: &Ledger, query: &RouteQuery) {
        let network = ledger.network();
        let Self { switch_paths, prices, offers, priced, .. } = self;
        offers.clear();
        let rate = query.rate.bits_per_second() as f64;
        let takes_all = query.closed.is_none() && query.max_frame.is_none();
        let mut price = |link: LinkId| {
            let is_open = ledger.has_rate(link, query.rate) && (takes_all || query.carries(ledger, link));
            if is_open { prices.of_link(ledger, link, rate) } else { f64::INFINITY }
        };
        for &up in network.links_to_switches(query.from) {
            for &down in network.links_into(query.to) {
                let outer = price(up) + price(down);
                if outer == f64::INFINITY {
                    continue;
                }
                let between = switch_paths.between(graph, network, ends(graph, up, down));
                priced.clear();
                priced.extend(between.links.iter().map(|&link| price(LinkId(link))));
                let mut number = 0;
                between.sums(priced, |sum| {
                    let price = outer + sum;
                    if price < f64::INFINITY {
                        offers.push(PathOffer { price, up, down, path: number });
                    }
                    number += 1;
                });
            }
        }
    }

    /// Returns the queues of least cost along a path that meet the deadline and admit the flow.
    fn cheapest_queues(
        &mut self,
        (graph, ledger, query): (&QueueGraph, &Ledger, &RouteQuery),
        links: &[u32],
    ) -> Option<FoundRoute> {
        let prefers = Prefers::of(&self.prices, ledger, query, links);
        self.prefetch((graph, ledger, query), prefers, links)?;
        self.labels.clear();
        self.open.clear();
        let start = Label { cost: 0, waited: 0, delay: graph.start(query.from), parent: NONE, place: 0, queue: 0 };
        let mut at = Some((NONE, start));
        while let Some((parent, before)) = at {
            if before.place as usize == links.len() {
                return Some(self.found(links, parent, before.delay));
            }
            self.open_queues((graph, ledger, query), prefers, parent, before);
            at = self.next(ledger, query);
        }
        None
    }

    /// Opens the queues of the link behind a label, but for those that would come too late, and those that would be
    /// needless when their turn comes: a label that is no dearer and has waited no longer is there already.
    fn open_queues(
        &mut self,
        (graph, ledger, query): (&QueueGraph, &Ledger, &RouteQuery),
        prefers: Prefers,
        parent: u32,
        before: Label,
    ) {
        let Some((place, behind)) = self.places[before.place as usize..].split_first() else { return };
        let (rest, cost) = behind.first().map_or((0, 0), |next| (next.rest, next.cost));
        let is_of_use = |budget: u64| {
            let delay = before.delay + budget + place.edge.constant;
            delay + rest <= query.deadline.as_nanos() && before.waited + budget < place.least_waited
        };
        let levels = graph.levels(place.edge);
        if !levels.first().is_some_and(|fastest| is_of_use(fastest.budget)) {
            return;
        }
        let costs = if before.waited == place.waited {
            place.costs
        } else {
            prefers.costs(&mut self.prices, (graph, ledger, query), place.link, place.edge, before.waited)
        };
        for level in levels.iter().take_while(|level| is_of_use(level.budget)) {
            let label = Label {
                cost: before.cost + costs[usize::from(level.queue)],
                waited: before.waited + level.budget,
                delay: before.delay + level.budget + place.edge.constant,
                parent,
                place: before.place + 1,
                queue: level.queue,
            };
            let id = self.labels.len() as u32;
            self.open.push((Reverse(label.cost + cost), Reverse(label.delay), id));
            self.labels.push(label);
        }
    }

    /// The cheapest label that no other makes needless and that its queue lets in.
    fn next(&mut self, ledger: &Ledger, query: &RouteQuery) -> Option<(u32, Label)> {
        while let Some((_, _, id)) = self.open.pop() {
            let label = self.labels[id as usize];
            let at = label.place as usize - 1;
            let place = self.places[at];
            if label.waited >= place.least_waited {
                continue;
            }
            let (input, waited) = match at.checked_sub(1) {
                Some(previous) => {
                    (PortInput::link(self.places[previous].link), self.labels[label.parent as usize].waited)
                }
                None => (PortInput::LOCAL, 0),
            };
            if query.fits(ledger, place.link, label.queue, input, Time::from_nanos(waited)) {
                self.places[at].least_waited = label.waited;
                return Some((id, label));
            }
        }
        None
    }

    /// Fills in the places of a path. Returns `None` if it is too long, or contracts have no queue on one of its
    /// links.
    fn prefetch(
        &mut self,
        (graph, ledger, query): (&QueueGraph, &Ledger, &RouteQuery),
        prefers: Prefers,
        links: &[u32],
    ) -> Option<()> {
        self.places.clear();
        if links.len() > MAX_LINKS {
            return None;
        }
        let mut waited = 0;
        for &link in links {
            let edge = graph.edge(link);
            let levels = graph.levels(edge);
            let costs = prefers.costs(&mut self.prices, (graph, ledger, query), LinkId(link), edge, waited);
            let cost = levels.iter().map(|level| costs[usize::from(level.queue)]).min()?;
            let (link, rest) = (LinkId(link), graph.fastest(link));
            self.places.push(PathLink { link, edge, rest, cost, waited, costs, least_waited: u64::MAX });
            waited += levels.first()?.budget;
        }
        let (mut rest, mut cost) = (0, 0);
        for place in self.places.iter_mut().rev() {
            rest += place.rest;
            cost += place.cost;
            (place.rest, place.cost) = (rest, cost);
        }
        Some(())
    }

    fn found(&self, links: &[u32], last: u32, delay: u64) -> FoundRoute {
        let mut hops = Vec::with_capacity(links.len());
        let mut at = last;
        while at != NONE {
            let label = self.labels[at as usize];
            hops.push(hop(LinkId(links[label.place as usize - 1]), label.queue));
            at = label.parent;
        }
        hops.reverse();
        FoundRoute { route: Route { hops }, delay: Time::from_nanos(delay) }
    }
}

/// Preference among the queues of a path that admit a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prefers {
    /// Queues of least cost in scarce resources.
    Plenty,
    /// The fastest.
    Speed,
}

impl Prefers {
    fn of(prices: &Prices, ledger: &Ledger, query: &RouteQuery, links: &[u32]) -> Self {
        let line = links.first().map_or(0, |&first| ledger.network().link(LinkId(first)).rate.bits_per_second());
        let is_large = query.rate.bits_per_second() as f64 >= prices.scarcity().large * line as f64;
        if is_large { Self::Speed } else { Self::Plenty }
    }

    /// Returns the cost of entering each of a link's queues after this waiting time (ns).
    fn costs(
        self,
        prices: &mut Prices,
        (graph, ledger, query): (&QueueGraph, &Ledger, &RouteQuery),
        link: LinkId,
        edge: Edge,
        waited: u64,
    ) -> QueueCosts {
        match self {
            Self::Speed => {
                let mut costs = QueueCosts::default();
                for level in graph.levels(edge) {
                    costs[usize::from(level.queue)] = level.budget;
                }
                costs
            }
            Self::Plenty => {
                let burst = query.burst_after(ledger, Time::from_nanos(waited)).nanobits() as f64;
                prices.of_queues(ledger, link, query.rate.bits_per_second() as f64, burst)
            }
        }
    }
}

/// Maximum number of links of a path; longer ones are left to other searches.
const MAX_LINKS: usize = 64;

/// The switches behind a host's link and before another's.
fn ends(graph: &QueueGraph, up: LinkId, down: LinkId) -> (u32, u32) {
    (graph.edge(up.0).head_switch, graph.tail_switch(down.0))
}
