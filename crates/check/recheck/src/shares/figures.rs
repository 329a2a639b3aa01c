//! Loads of one hose or objective on each link, at a minimum of 1.

use std::collections::BTreeMap;

use wayleave_topology::{LinkId, NodeId};

use super::groups::{Bundles, View};
use super::part::Part;
use super::transport::{Lane, by_one_side, dearest};

/// Links on which a load counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// All links of a bundle.
    Bundle(u32),
    /// One link.
    Link(LinkId),
}

/// Largest load of members with a minimum of 1 on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorstLoad {
    /// The size of the largest matching.
    pub(crate) full: u64,
    /// The optimum of even splits: numerator and denominator.
    pub(crate) even: (u128, u64),
    /// Ordered pairs that may use the link.
    pub(crate) pairs: u64,
}

impl WorstLoad {
    fn larger(self, other: Self) -> Self {
        // Denominators are at most 2^62, numerators that times the number of members: in u128 for up to 2^4 members; beyond, by quotients.
        let (one, two) = (self.even, other.even);
        let is_larger = match (one.0.checked_mul(u128::from(two.1)), two.0.checked_mul(u128::from(one.1))) {
            (Some(one), Some(two)) => one >= two,
            _ => {
                let whole = |(num, den): (u128, u64)| (num / u128::from(den), num % u128::from(den));
                let ((a, b), (c, d)) = (whole(one), whole(two));
                (a, b * u128::from(two.1)) >= (c, d * u128::from(one.1))
            }
        };
        Self {
            full: self.full.max(other.full),
            even: if is_larger { one } else { two },
            pairs: self.pairs.max(other.pairs),
        }
    }
}

/// A share's worst loads and lengths.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShareFigures {
    /// Loads by place; each place occurs once.
    pub(crate) on: Vec<(Place, WorstLoad)>,
    /// The longest round trip of a pair, ns.
    pub(crate) trip: u64,
    /// The largest sum of budgets of an allowed path, ns.
    pub(crate) budget: u64,
    /// `true` if two members have no allowed path.
    pub(crate) apart: bool,
}

impl ShareFigures {
    /// Keeps the larger load of each link.
    pub(crate) fn include(&mut self, other: Self) {
        if self.on.is_empty() {
            self.on = other.on;
        } else {
            let mut on: BTreeMap<Place, WorstLoad> = std::mem::take(&mut self.on).into_iter().collect();
            for (place, worst) in other.on {
                on.entry(place).and_modify(|known| *known = known.larger(worst)).or_insert(worst);
            }
            self.on = on.into_iter().collect();
        }
        self.trip = self.trip.max(other.trip);
        self.budget = self.budget.max(other.budget);
        self.apart |= other.apart;
    }
}

/// Members by their groups.
struct Side {
    groups: Vec<u32>,
    members: Vec<Vec<NodeId>>,
    /// Number of members of each group.
    sizes: Vec<u64>,
}

impl Side {
    fn of(view: &View<'_>, members: &[NodeId]) -> Self {
        let mut sorted: Vec<(u32, NodeId)> = members.iter().map(|&host| (view.groups.group(host), host)).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let mut side = Self { groups: Vec::new(), members: Vec::new(), sizes: Vec::new() };
        for same in sorted.chunk_by(|one, other| one.0 == other.0) {
            side.groups.push(same[0].0);
            side.members.push(same.iter().map(|&(_, host)| host).collect());
            side.sizes.push(same.len() as u64);
        }
        side
    }

    /// All ordered pairs of places of groups between which members send.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let places = 0..self.groups.len();
        let all = places.clone().flat_map(move |from| places.clone().map(move |to| (from, to)));
        all.filter(|&(from, to)| from != to || self.sizes[from] > 1)
    }

    fn receivers(&self, from: usize, to: usize) -> u64 {
        self.sizes[to] - u64::from(from == to)
    }
}

/// Looks up the paths of all pairs of these members.
pub(crate) fn learn(view: &mut View<'_>, bundles: &mut Bundles, members: &[NodeId]) {
    let side = Side::of(view, members);
    side.pairs().for_each(|(from, to)| view.learn(side.groups[from], side.groups[to], bundles));
}

/// Scratch: by bundle, the pairs of groups that may use it.
#[derive(Default)]
pub(crate) struct Crossings {
    of: Vec<Vec<Crossing>>,
    used: Vec<u32>,
}

impl Crossings {
    fn push(&mut self, bundle: u32, crossing: Crossing) {
        let of = &mut self.of[bundle as usize];
        if of.is_empty() {
            self.used.push(bundle);
        }
        of.push(crossing);
    }
}

/// A pair of groups on a bundle.
#[derive(Clone, Copy)]
struct Crossing {
    from: u32,
    to: u32,
    part: Part,
}

/// Links of hosts of one group, by place: the largest part of a pair, and the number of pairs that may use it.
type Own = Vec<(Part, u64)>;

fn note(own: &mut Own, place: u32, part: Part, pairs: u64) {
    assert_ne!(place, u32::MAX, "allowed paths begin and end with links of their own hosts");
    let place = place as usize;
    if own.len() <= place {
        own.resize(place + 1, (Part::ZERO, 0));
    }
    let known = &mut own[place];
    known.0 = if part.exceeds(known.0) { part } else { known.0 };
    known.1 += pairs;
}

/// Derives the load that members may put on links in one state of the network. [`learn`] must have processed the
/// members.
pub(crate) fn figures(
    view: &mut View<'_>,
    bundles: &Bundles,
    members: &[NodeId],
    crossings: &mut Crossings,
) -> ShareFigures {
    crossings.of.resize_with(bundles.count(), Vec::new);
    let side = Side::of(view, members);
    let count = side.groups.len();
    let mut found = ShareFigures::default();
    let mut trips = vec![0; count * count];
    let (mut outs, mut intos) = (vec![Own::new(); count], vec![Own::new(); count]);
    for (from, to) in side.pairs() {
        let Some(facts) = view.facts(side.groups[from], side.groups[to], bundles) else {
            found.apart = true;
            continue;
        };
        trips[from * count + to] = facts.trip;
        found.budget = found.budget.max(facts.budget);
        for &(bundle, part) in &facts.bundles {
            crossings.push(bundle, Crossing { from: from as u32, to: to as u32, part });
        }
        facts.out.iter().for_each(|&(place, part)| note(&mut outs[from], place, part, side.receivers(from, to)));
        facts.into.iter().for_each(|&(place, part)| note(&mut intos[to], place, part, side.receivers(to, from)));
    }
    let there_and_back = |(from, to): (usize, usize)| trips[from * count + to].saturating_add(trips[to * count + from]);
    found.trip = side.pairs().map(there_and_back).max().unwrap_or(0);
    let mut places = Places { of: vec![[usize::MAX; 2]; count] };
    for bundle in crossings.used.drain(..) {
        let of = &mut crossings.of[bundle as usize];
        found.on.push((Place::Bundle(bundle), places.worst(&side, of)));
        of.clear();
    }
    for (place, members) in side.members.iter().enumerate() {
        for &member in members {
            let [out, into] = view.groups.own(member);
            own_links(out, &outs[place], &mut found);
            own_links(into, &intos[place], &mut found);
        }
    }
    found
}

/// A host's own link has this host at one end: at most one pair of any matching uses it.
fn own_links(links: &[LinkId], own: &Own, found: &mut ShareFigures) {
    for (&link, &(part, pairs)) in links.iter().zip(own).filter(|(_, (_, pairs))| *pairs > 0) {
        let worst = WorstLoad { full: 1, even: (u128::from(part.num()), part.den()), pairs };
        found.on.push((Place::Link(link), worst));
    }
}

/// Scratch: by group, its place among senders and receivers of the bundle at hand.
struct Places {
    of: Vec<[usize; 2]>,
}

impl Places {
    /// Solves both programs for one bundle.
    fn worst(&mut self, side: &Side, crossings: &[Crossing]) -> WorstLoad {
        let (mut send, mut receive) = (Vec::new(), Vec::new());
        let mut pairs = 0;
        let mut place_of = |group: u32, end: usize, capacities: &mut Vec<u64>| {
            let place = &mut self.of[group as usize][end];
            if *place == usize::MAX {
                *place = capacities.len();
                capacities.push(side.sizes[group as usize]);
            }
            *place
        };
        let mut lanes = Vec::with_capacity(crossings.len());
        for &Crossing { from, to, .. } in crossings {
            pairs += side.sizes[from as usize] * side.receivers(from as usize, to as usize);
            let lane = Lane { from: place_of(from, 0, &mut send), to: place_of(to, 1, &mut receive), weight: 1 };
            lanes.push(lane);
        }
        for crossing in crossings {
            (self.of[crossing.from as usize][0], self.of[crossing.to as usize][1]) = (usize::MAX, usize::MAX);
        }
        let full = match lanes.len() == send.len() * receive.len() {
            // All pairs of groups have a lane: lanes can be filled until one side is exhausted.
            true => send.iter().sum::<u64>().min(receive.iter().sum()),
            false => u64::try_from(dearest(&send, &receive, &lanes).bound).unwrap_or(u64::MAX),
        };
        let even = match crossings.windows(2).all(|two| two[0].part == two[1].part) {
            true => (u128::from(full) * u128::from(crossings[0].part.num()), crossings[0].part.den()),
            false => {
                let parts: Vec<Part> = crossings.iter().map(|crossing| crossing.part).collect();
                let (weights, common) = Part::weights(&parts);
                lanes.iter_mut().zip(weights).for_each(|(lane, weight)| lane.weight = weight);
                let bound = by_one_side(&send, &receive, &lanes);
                (bound.unwrap_or_else(|| dearest(&send, &receive, &lanes).bound), common)
            }
        };
        WorstLoad { full, even: lowest_terms(even), pairs }
    }
}

fn lowest_terms((num, den): (u128, u64)) -> (u128, u64) {
    let (mut one, mut other) = (u128::from(den), num);
    while other > 0 {
        (one, other) = (other, one % other);
    }
    (num / one, (u128::from(den) / one) as u64)
}
