//! The cheapest queues along the quietest way: a search by the cost of scarce resources in a few microseconds.
//!
//! A search by cost over the whole queue-level topology looks at hundreds of queues where fast ones are scarce. Most of
//! the choice can be made in two steps: of the short ways between two hosts the one whose links are least used up, and
//! along that way the queues of least cost that meet the deadline (exactly, by label setting). If the ledger has no room
//! there, the next quiet way follows. What this misses is left to the caller's complete search.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wayleave_ledger::{Input, Ledger};
use wayleave_topology::{LinkId, Route};
use wayleave_units::Time;

use super::dead_end::is_dead_end;
use super::graph::{Graph, Level};
use super::last_links::Denial;
use super::least_delay::LeastDelay;
use super::ways::Ways;
use super::{Found, Query, hop};
use crate::costs::{Prices, Scarcity, Tariff, whole};

/// The search, with its memory.
#[derive(Clone, Debug)]
pub struct Quiet {
    ways: Ways,
    prices: Prices,
    offers: Vec<Offer>,
    /// Per link: what it was priced at, and in which search.
    priced: Vec<(u32, f64)>,
    search: u32,
    labels: Vec<Label>,
    open: BinaryHeap<(Reverse<u64>, Reverse<u64>, u32)>,
    /// What the last flow was denied at its ends, if it was stuck there.
    denials: Vec<Denial>,
}

/// What a search has come to.
#[derive(Clone, Debug)]
pub enum Quietest {
    /// A route.
    Found(Found),
    /// The quietest ways have no room.
    NoRoom,
    /// There is no route at all: the flow is stuck at its ends.
    Stuck,
}

/// A way from host to host, and what its links cost.
#[derive(Clone, Copy, Debug)]
struct Offer {
    price: f64,
    up: LinkId,
    down: LinkId,
    /// Its number among the ways between their switches.
    way: u32,
}

/// A queue that was chosen for the first so many links of a way.
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
/// So many ways are tried; where none of them has room, a complete search is needed anyhow.
const TRIES: usize = 4;

impl Quiet {
    /// For a ledger's network.
    pub fn new(ledger: &Ledger, scarcity: Scarcity) -> Self {
        Self {
            ways: Ways::default(),
            prices: Prices::new(ledger, scarcity),
            offers: Vec::new(),
            priced: vec![(0, 0.0); ledger.network().links().len()],
            search: 0,
            labels: Vec::new(),
            open: BinaryHeap::new(),
            denials: Vec::new(),
        }
    }

    /// A route in time that the ledger has room for, by the quietest way that has one.
    pub fn search(&mut self, graph: &mut Graph, ledger: &Ledger, query: &Query) -> Quietest {
        graph.prepare(ledger.network(), query.to);
        self.gather(graph, ledger, query);
        let mut links = Vec::new();
        for number in 0..TRIES {
            // Mostly the first way has room, and nothing else is to be asked.
            if number == 1 {
                graph.prepare_waits(ledger.network(), query.from);
                if is_dead_end((graph, ledger, query), &mut self.denials) {
                    return Quietest::Stuck;
                }
            }
            let quietest = self.offers.iter().enumerate().min_by(|(_, a), (_, b)| a.price.total_cmp(&b.price));
            let Some((at, offer)) = quietest.map(|(at, offer)| (at, *offer)) else { return Quietest::NoRoom };
            let graph = &*graph;
            let ends = ends(graph, offer.up, offer.down);
            let way = &self.ways.between(graph, ledger.network(), ends)[offer.way as usize];
            links.clear();
            links.push(offer.up.0);
            links.extend_from_slice(way);
            links.push(offer.down.0);
            if let Some(found) = self.cheapest_queues((graph, ledger, query), &links) {
                return Quietest::Found(found);
            }
            self.offers.swap_remove(at);
        }
        Quietest::NoRoom
    }

    /// Hands what the last flow was denied to a search that is spared.
    pub fn spare(&mut self, search: &mut LeastDelay) {
        search.take_denials(&mut self.denials);
    }

    /// All short ways with rate to spare.
    fn gather(&mut self, graph: &Graph, ledger: &Ledger, query: &Query) {
        let network = ledger.network();
        self.offers.clear();
        self.search = self.search.wrapping_add(1);
        let Self { ways, prices, offers, priced, search, .. } = self;
        let mut price = |link: LinkId| {
            let (at, known) = &mut priced[link.index()];
            if *at != *search {
                (*at, *known) = (*search, price(prices, ledger, query, link));
            }
            *known
        };
        for &up in network.links_to_switches(query.from) {
            for &down in network.links_into(query.to) {
                let outer = price(up) + price(down);
                if outer == f64::INFINITY {
                    continue;
                }
                for (number, way) in (0..).zip(ways.between(graph, network, ends(graph, up, down))) {
                    let price = outer + way.iter().map(|&link| price(LinkId(link))).sum::<f64>();
                    if price < f64::INFINITY {
                        offers.push(Offer { price, up, down, way: number });
                    }
                }
            }
        }
    }

    /// The queues of least cost along a way that meet the deadline and let the flow in.
    fn cheapest_queues(&mut self, (graph, ledger, query): (&Graph, &Ledger, &Query), links: &[u32]) -> Option<Found> {
        let prefers = Prefers::of(&self.prices, ledger, query, links);
        let (rests, costs) = floors(&mut self.prices, (graph, ledger, query), prefers, links)?;
        let mut least_waited = [u64::MAX; MAX_LINKS];
        self.labels.clear();
        self.open.clear();
        let start = Label { cost: 0, waited: 0, delay: graph.start(query.from), parent: NONE, place: 0, queue: 0 };
        let mut at = Some((NONE, start));
        while let Some((parent, before)) = at {
            let place = before.place as usize;
            if place == links.len() {
                return Some(self.found(links, parent, before.delay));
            }
            let (link, edge) = (LinkId(links[place]), graph.edge(links[place]));
            let waited = before.waited;
            let tariff = self.prices.of(ledger, link);
            for level in graph.levels(edge) {
                let delay = before.delay + level.budget + edge.constant;
                if delay + rests[place + 1] > query.deadline.as_nanos() {
                    break;
                }
                let price = prefers.price(tariff, query, level, waited);
                let label = Label {
                    cost: before.cost + price,
                    waited: waited + level.budget,
                    delay,
                    parent,
                    place: before.place + 1,
                    queue: level.queue,
                };
                let id = self.labels.len() as u32;
                self.open.push((Reverse(label.cost + costs[place + 1]), Reverse(label.delay), id));
                self.labels.push(label);
            }
            at = self.next(ledger, query, links, &mut least_waited);
        }
        None
    }

    /// The cheapest label that no other makes needless and that its queue lets in.
    fn next(
        &mut self,
        ledger: &Ledger,
        query: &Query,
        links: &[u32],
        least_waited: &mut [u64; MAX_LINKS],
    ) -> Option<(u32, Label)> {
        while let Some((_, _, id)) = self.open.pop() {
            let label = self.labels[id as usize];
            let place = label.place as usize - 1;
            // They come by cost, so only what has waited less than all before is of use.
            if label.waited >= least_waited[place] {
                continue;
            }
            let (input, waited) = match (place.checked_sub(1), label.parent) {
                (Some(previous), parent) if parent != NONE => {
                    (Input::link(LinkId(links[previous])), self.labels[parent as usize].waited)
                }
                _ => (Input::LOCAL, 0),
            };
            if query.fits(ledger, LinkId(links[place]), label.queue, input, Time::from_nanos(waited)) {
                least_waited[place] = label.waited;
                return Some((id, label));
            }
        }
        None
    }

    fn found(&self, links: &[u32], last: u32, delay: u64) -> Found {
        let mut hops = Vec::with_capacity(links.len());
        let mut at = last;
        while at != NONE {
            let label = self.labels[at as usize];
            hops.push(hop(LinkId(links[label.place as usize - 1]), label.queue));
            at = label.parent;
        }
        hops.reverse();
        Found { route: Route { hops }, delay: Time::from_nanos(delay) }
    }
}

/// Which queues of a way a flow takes, among those that let it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prefers {
    /// Those of least cost in scarce resources.
    Plenty,
    /// The fastest.
    Speed,
}

impl Prefers {
    fn of(prices: &Prices, ledger: &Ledger, query: &Query, links: &[u32]) -> Self {
        let line = links.first().map_or(0, |&first| ledger.network().link(LinkId(first)).rate.bits_per_second());
        let is_large = query.rate.bits_per_second() as f64 >= prices.scarcity().large * line as f64;
        if is_large { Self::Speed } else { Self::Plenty }
    }

    /// What it costs to enter a queue after having waited so long (ns).
    fn price(self, tariff: Tariff<'_>, query: &Query, level: &Level, waited: u64) -> u64 {
        match self {
            Self::Speed => level.budget,
            Self::Plenty => {
                let burst = query.burst_after(Time::from_nanos(waited)).nanobits() as f64;
                whole(tariff.of_queue(level.queue, query.rate.bits_per_second() as f64, burst))
            }
        }
    }
}

/// Longer ways are left to other searches.
const MAX_LINKS: usize = 64;

type Floors = ([u64; MAX_LINKS + 1], [u64; MAX_LINKS + 1]);

/// From each place of a way on: the least that remains of delay (ns) and of cost.
fn floors(
    prices: &mut Prices,
    (graph, ledger, query): (&Graph, &Ledger, &Query),
    prefers: Prefers,
    links: &[u32],
) -> Option<Floors> {
    let (mut rests, mut costs) = ([0; MAX_LINKS + 1], [0; MAX_LINKS + 1]);
    if links.len() > MAX_LINKS {
        return None;
    }
    let mut waited = 0;
    for (place, &link) in links.iter().enumerate() {
        let edge = graph.edge(link);
        let levels = graph.levels(edge);
        rests[place] = graph.fastest(link);
        let tariff = prices.of(ledger, LinkId(link));
        let cheapest = levels.iter().map(|level| prefers.price(tariff, query, level, waited)).min();
        costs[place] = cheapest?;
        waited += levels.first()?.budget;
    }
    for place in (0..links.len()).rev() {
        rests[place] += rests[place + 1];
        costs[place] += costs[place + 1];
    }
    Some((rests, costs))
}

/// What tells a quiet link from a busy one; infinite where the flow cannot go.
fn price(prices: &mut Prices, ledger: &Ledger, query: &Query, link: LinkId) -> f64 {
    if !query.carries(ledger, link) || !ledger.has_rate(link, query.rate) {
        return f64::INFINITY;
    }
    let tariff = prices.of(ledger, link);
    tariff.of_rate(query.rate.bits_per_second() as f64) + tariff.pressure()
}

/// The switches behind a host's link and before another's.
fn ends(graph: &Graph, up: LinkId, down: LinkId) -> (u32, u32) {
    (graph.edge(up.0).head_switch, graph.tail_switch(down.0))
}
