//! The model once more, by enumeration: all paths, all choices of senders and receivers. Only for a handful of hosts.

use std::collections::{BTreeMap, BTreeSet};

use num_rational::Ratio;
use wayleave_recheck::{BrokenShare, HeldShare, HoseCharge, PromisedShare, StatedCertainty};
use wayleave_topology::{Class, LinkId, Network, NodeId, NodeKind};
use wayleave_units::Time;

use super::scene::Scene;

pub(crate) type Number = Ratio<i128>;

/// A formula of the model that is got wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    PairsOnce,
    FullWithoutMatching,
    EvenAsFull,
    EvenBySenders,
    LargestLeftOut,
    EveryPathAsChosen,
    HosesNotAcknowledged,
    PairsNotAcknowledged,
    OneReturnPath,
    ObjectivesAsHoses,
    ObjectiveWeight,
    Target,
    Latency,
    ClosedIgnored,
    OpenOnly,
    HostsForward,
    FastestPath,
    OwnRoundTrip,
    LowerLimit,
    LinkAlone,
    Processing,
    Windows,
    PairsAtOnce,
    Bursts,
    Turns,
    Budgets,
    Receivers,
    TokenPeriod,
    OneRoundTrip,
    Certainty,
}

impl Fault {
    pub(crate) const ALL: [Self; 30] = [
        Self::PairsOnce,
        Self::FullWithoutMatching,
        Self::EvenAsFull,
        Self::EvenBySenders,
        Self::LargestLeftOut,
        Self::EveryPathAsChosen,
        Self::HosesNotAcknowledged,
        Self::PairsNotAcknowledged,
        Self::OneReturnPath,
        Self::ObjectivesAsHoses,
        Self::ObjectiveWeight,
        Self::Target,
        Self::Latency,
        Self::ClosedIgnored,
        Self::OpenOnly,
        Self::HostsForward,
        Self::FastestPath,
        Self::OwnRoundTrip,
        Self::LowerLimit,
        Self::LinkAlone,
        Self::Processing,
        Self::Windows,
        Self::PairsAtOnce,
        Self::Bursts,
        Self::Turns,
        Self::Budgets,
        Self::Receivers,
        Self::TokenPeriod,
        Self::OneRoundTrip,
        Self::Certainty,
    ];
}

type Path = Vec<LinkId>;

/// The allowed paths of one state of the network.
struct State<'a> {
    network: &'a Network,
    closed: BTreeSet<LinkId>,
    fault: Fault,
}

impl State<'_> {
    /// All paths with the fewest links, by depth-first search over all simple paths.
    fn allowed(&self, from: NodeId, to: NodeId) -> Vec<Path> {
        let mut all = Vec::new();
        self.extend(&mut vec![from], &mut Vec::new(), to, &mut all);
        let fewest = all.iter().map(Vec::len).min().unwrap_or(0);
        all.retain(|path| path.len() == fewest);
        all
    }

    fn extend(&self, nodes: &mut Vec<NodeId>, path: &mut Path, to: NodeId, all: &mut Vec<Path>) {
        let at = nodes[nodes.len() - 1];
        if at == to {
            return all.push(path.clone());
        }
        if nodes.len() > 1 && self.network.node(at).kind == NodeKind::Host && self.fault != Fault::HostsForward {
            return;
        }
        for &link in self.network.links_from(at) {
            let next = self.network.link(link).to;
            if !self.closed.contains(&link) && !nodes.contains(&next) {
                nodes.push(next);
                path.push(link);
                self.extend(nodes, path, to, all);
                path.pop();
                nodes.pop();
            }
        }
    }

    /// By link: the part of a pair's packets if every node splits evenly.
    fn parts(&self, from: NodeId, to: NodeId) -> BTreeMap<LinkId, Number> {
        let paths = self.allowed(from, to);
        let mut next: BTreeMap<NodeId, BTreeSet<LinkId>> = BTreeMap::new();
        for &link in paths.iter().flatten() {
            next.entry(self.network.link(link).from).or_default().insert(link);
        }
        let mut parts = BTreeMap::new();
        for path in &paths {
            let degree = |link: &LinkId| next[&self.network.link(*link).from].len() as i128;
            let probability = path.iter().fold(Number::from_integer(1), |part, link| part / degree(link));
            path.iter().for_each(|&link| *parts.entry(link).or_insert(Number::from_integer(0)) += probability);
        }
        parts
    }
}

/// Gives each sender in turn no receiver, or one that is free.
fn best(weights: &[Vec<Number>], from: usize, taken: &mut Vec<bool>) -> Number {
    let Some(row) = weights.get(from) else { return Number::from_integer(0) };
    let mut most = best(weights, from + 1, taken);
    for to in 0..row.len() {
        if !taken[to] {
            taken[to] = true;
            most = most.max(row[to] + best(weights, from + 1, taken));
            taken[to] = false;
        }
    }
    most
}

#[derive(Clone, Debug, Default)]
struct OnLink {
    pairs: i128,
    answers: i128,
    even: Number,
    every: i128,
    chosen_full: i128,
    chosen_even: Number,
    largest: i128,
    objectives: i128,
    senders: i128,
    trip: i128,
    alone: bool,
    timed: bool,
    proven: Vec<usize>,
}

/// Figures of one share.
#[derive(Default)]
struct Derived {
    on: BTreeMap<LinkId, (i128, Number, i128)>,
    answers: BTreeSet<LinkId>,
    trip: i128,
    budget: i128,
    receivers: i128,
}

pub(crate) struct Reference<'a> {
    scene: &'a Scene,
    fault: Fault,
    states: Vec<State<'a>>,
}

impl<'a> Reference<'a> {
    pub(crate) fn new(scene: &'a Scene, fault: Fault) -> Self {
        let state = |closed: &BTreeSet<LinkId>| State { network: &scene.network, closed: closed.clone(), fault };
        let mut states = vec![state(&BTreeSet::new()), state(&scene.closed)];
        match fault {
            Fault::ClosedIgnored => states.truncate(1),
            Fault::OpenOnly => {
                states.remove(0);
            }
            _ => {}
        }
        Self { scene, fault, states }
    }

    fn link_trip(&self, link: LinkId) -> i128 {
        let of = self.scene.network.link(link);
        let bits = i128::from(self.scene.max_frame[link.index()].get()) * 8 * 1_000_000_000;
        let transmission = Number::new(bits, i128::from(of.rate.bits_per_second())).ceil().to_integer();
        let entered = self.scene.network.node(of.to);
        let processing = if entered.kind == NodeKind::Switch { entered.processing.as_nanos() } else { 0 };
        let processing = if self.fault == Fault::Processing { 0 } else { processing };
        transmission + i128::from(of.propagation.as_nanos()) + i128::from(processing)
    }

    fn path_trip(&self, path: &Path) -> i128 {
        let start = path
            .first()
            .map_or(0, |&link| self.scene.network.node(self.scene.network.link(link).from).processing.as_nanos());
        i128::from(start) + path.iter().map(|&link| self.link_trip(link)).sum::<i128>()
    }

    fn slowest(&self, paths: &[Path]) -> i128 {
        let trips = paths.iter().map(|path| self.path_trip(path));
        if self.fault == Fault::FastestPath { trips.min() } else { trips.max() }.unwrap_or(0)
    }

    fn budget(&self, link: LinkId) -> i128 {
        i128::from(self.scene.times.budgets[link.index()].as_nanos())
    }

    fn least_trip(&self) -> i128 {
        let limit = self.scene.network.classes().unwrap().round_trip.filter(|_| self.fault != Fault::LowerLimit);
        i128::from(limit.map_or(0, Time::as_nanos))
    }

    fn derive(&self, share: &PromisedShare) -> Result<Derived, BrokenShare> {
        let network = &self.scene.network;
        let mut derived = Derived { trip: self.least_trip(), receivers: 1, ..Derived::default() };
        let one = (1, Number::from_integer(1), 1);
        match &share.held {
            HeldShare::Pair(from, to, route) => {
                let path: Path = route.hops.iter().map(|hop| hop.link).collect();
                if let Some(&closed) = path.iter().find(|link| self.scene.closed.contains(link)) {
                    let link = network.link(closed).name.clone();
                    return Err(BrokenShare::Closed { share: share.name.clone(), link });
                }
                let Some((answers, backward)) = self.backward(&path, *to, *from) else {
                    return Err(self.no_path(share, *to, *from));
                };
                derived.answers = answers;
                derived.trip = derived.trip.max(self.path_trip(&path) + backward);
                derived.budget = path.iter().map(|&link| self.budget(link)).sum();
                derived.on = path.into_iter().map(|link| (link, one)).collect();
            }
            HeldShare::Link(link) => {
                let ends = network.link(*link);
                derived.answers = self.backward(&vec![*link], ends.to, ends.from).unwrap_or_default().0;
                derived.trip = derived.trip.max(self.longest_over(*link));
                derived.budget = self.budget(*link);
                derived.on.insert(*link, one);
            }
            HeldShare::Hose { members, .. } | HeldShare::Objective(members) => {
                for state in &self.states {
                    self.members(state, share, members, &mut derived)?;
                }
                derived.receivers = members.len() as i128 - 1;
            }
        }
        if self.fault == Fault::Receivers {
            derived.receivers = 1;
        }
        Ok(derived)
    }

    fn no_path(&self, share: &PromisedShare, from: NodeId, to: NodeId) -> BrokenShare {
        let name = |node| self.scene.network.node(node).name.clone();
        BrokenShare::NoPath { share: share.name.clone(), from: name(from), to: name(to) }
    }

    fn backward(&self, path: &Path, from: NodeId, to: NodeId) -> Option<(BTreeSet<LinkId>, i128)> {
        let (mut all, mut longest) = (BTreeSet::new(), 0);
        for state in &self.states {
            let reverse =
                |&link: &LinkId| state.network.reverse(link).filter(|backward| !state.closed.contains(backward));
            let backward: Path = path.iter().rev().filter_map(reverse).collect();
            all.extend(backward.iter().copied());
            if backward.len() == path.len() {
                longest = longest.max(self.path_trip(&backward));
            } else {
                let allowed = state.allowed(from, to);
                if allowed.is_empty() {
                    return None;
                }
                longest = longest.max(self.slowest(&allowed));
                all.extend(allowed.into_iter().flatten().filter(|_| self.fault != Fault::OneReturnPath));
            }
        }
        Some((all, longest))
    }

    fn longest_over(&self, link: LinkId) -> i128 {
        let hosts: Vec<NodeId> = self.scene.network.hosts().collect();
        let mut longest = 0;
        for state in self.states.iter().filter(|_| self.fault != Fault::LinkAlone) {
            for (&from, &to) in hosts.iter().flat_map(|from| hosts.iter().map(move |to| (from, to))) {
                let forward = if from == to { Vec::new() } else { state.allowed(from, to) };
                if forward.iter().flatten().any(|&one| one == link) {
                    longest = longest.max(self.slowest(&forward) + self.slowest(&state.allowed(to, from)));
                }
            }
        }
        longest
    }

    fn members(
        &self,
        state: &State<'_>,
        share: &PromisedShare,
        members: &[NodeId],
        derived: &mut Derived,
    ) -> Result<(), BrokenShare> {
        let count = members.len();
        let mut weights: BTreeMap<LinkId, Vec<Vec<Number>>> = BTreeMap::new();
        let none = || vec![vec![Number::from_integer(0); count]; count];
        for (i, &from) in members.iter().enumerate() {
            for (j, &to) in members.iter().enumerate().filter(|&(j, _)| i != j) {
                let forward = state.allowed(from, to);
                if forward.is_empty() {
                    return Err(self.no_path(share, from, to));
                }
                derived.trip = derived.trip.max(self.slowest(&forward) + self.slowest(&state.allowed(to, from)));
                let budget = |path: &Path| path.iter().map(|&link| self.budget(link)).sum();
                derived.budget = derived.budget.max(forward.iter().map(budget).max().unwrap_or(0));
                for (link, part) in state.parts(from, to) {
                    weights.entry(link).or_insert_with(none)[i][j] = part;
                }
            }
        }
        let one = |part: &Number| if *part > Number::from_integer(0) { Number::from_integer(1) } else { *part };
        for (link, parts) in weights {
            let uses: Vec<Vec<Number>> = parts.iter().map(|row| row.iter().map(one).collect()).collect();
            let pairs: Number = uses.iter().flatten().sum();
            let mut full = best(&uses, 0, &mut vec![false; count]);
            let mut even = best(&parts, 0, &mut vec![false; count]);
            match self.fault {
                Fault::FullWithoutMatching => full = uses.iter().filter_map(|row| row.iter().max()).sum(),
                Fault::EvenAsFull => even = full,
                Fault::EvenBySenders => even = parts.iter().filter_map(|row| row.iter().max()).sum(),
                _ => {}
            }
            let on = derived.on.entry(link).or_default();
            *on = (on.0.max(full.to_integer()), on.1.max(even), on.2.max(pairs.to_integer()));
        }
        Ok(())
    }

    /// Everything that does not hold.
    pub(crate) fn broken(&self) -> Vec<BrokenShare> {
        let scene = self.scene;
        let mut links = vec![OnLink::default(); scene.network.links().len()];
        let (mut broken, mut late) = (Vec::new(), Vec::new());
        for (number, share) in scene.shares.iter().enumerate() {
            match self.derive(share) {
                Ok(derived) => {
                    self.add(number, share, &derived, &mut links);
                    late.extend(self.late(share, &derived));
                }
                Err(fault) => broken.push(fault),
            }
        }
        let mut unproven: BTreeMap<usize, LinkId> = BTreeMap::new();
        for (id, _) in scene.network.links() {
            let on = &links[id.index()];
            broken.extend(self.sums(id, on));
            let actual = Number::from_integer(on.pairs + on.every + on.chosen_full) + on.even;
            if actual > self.charged(on) && self.fault != Fault::Certainty {
                on.proven.iter().for_each(|&share| {
                    unproven.entry(share).or_insert(id);
                });
            }
            broken.extend(on.timed.then(|| self.waits(id, on)).flatten());
        }
        for (share, link) in unproven {
            let link = scene.network.link(link).name.clone();
            broken.push(BrokenShare::Certainty { share: scene.shares[share].name.clone(), link });
        }
        broken.extend(late);
        broken
    }

    fn add(&self, number: usize, share: &PromisedShare, derived: &Derived, links: &mut [OnLink]) {
        let min = i128::from(share.min.bits_per_second());
        for (&link, &(full, even, pairs)) in &derived.on {
            let on = &mut links[link.index()];
            match &share.held {
                HeldShare::Objective(_) => {
                    on.objectives += if self.fault == Fault::ObjectivesAsHoses { min * full } else { min };
                    continue;
                }
                HeldShare::Hose { charge: HoseCharge::EvenSplits, .. } => on.even += even * min,
                HeldShare::Hose { charge: HoseCharge::EveryPath, .. } if self.fault != Fault::EveryPathAsChosen => {
                    on.every += full * min;
                }
                HeldShare::Hose { .. } => {
                    on.chosen_full += full * min;
                    on.chosen_even += even * min;
                    on.largest = on.largest.max(min);
                }
                _ if self.fault == Fault::PairsOnce => on.pairs = on.pairs.max(min),
                _ => on.pairs += min,
            }
            on.senders += pairs;
            on.trip = on.trip.max(derived.trip);
            on.timed |= share.there_within.is_some();
            on.alone |= matches!(share.held, HeldShare::Link(_));
            if share.certainty == Some(StatedCertainty::Proven) {
                on.proven.push(number);
            }
        }
        for link in &derived.answers {
            links[link.index()].answers += Number::new(min, 10).ceil().to_integer();
        }
    }

    fn charged(&self, on: &OnLink) -> Number {
        let largest = if self.fault == Fault::LargestLeftOut { 0 } else { on.largest };
        let chosen = Number::from_integer(on.chosen_full).min(on.chosen_even + largest);
        Number::from_integer(on.pairs + on.every) + on.even + chosen
    }

    /// Rates and grown bursts (nanobits) of latency contracts.
    fn latency(&self, link: LinkId) -> (i128, i128) {
        let (mut rates, mut bursts) = (0, 0);
        for flow in self.scene.flows.iter().filter(|_| self.fault != Fault::Latency) {
            if let Some(hop) = flow.route.hops.iter().position(|hop| hop.link == link) {
                let rate = i128::from(flow.rate.bits_per_second());
                let waited = if self.fault == Fault::Bursts { 0 } else { hop as i128 * 20_000 };
                rates += rate;
                bursts += i128::from(flow.burst.get()) * 8_000_000_000 + rate * waited;
            }
        }
        (rates, bursts)
    }

    fn sums(&self, link: LinkId, on: &OnLink) -> Vec<BrokenShare> {
        let of = self.scene.network.link(link);
        let left = (i128::from(of.rate.bits_per_second()) - self.latency(link).0).max(0);
        // Of 6 and 3 tenths.
        let promise = i128::from(self.scene.network.classes().unwrap().promise);
        let part = |percent: i128, weight: i128| Number::new(left * percent * weight, 1_000);
        let guaranteed = part(promise, 6);
        let objective = part(promise, if self.fault == Fault::ObjectiveWeight { 6 } else { 3 });
        let filled = part(if self.fault == Fault::Target { 100 } else { 95 }, 6);
        let whole = |value: Number| u128::try_from(value.to_integer()).unwrap();
        let name = || of.name.clone();
        let charged = self.charged(on);
        let hoses = match self.fault {
            Fault::HosesNotAcknowledged => Number::from_integer(0),
            _ => (charged - on.pairs) / 10,
        };
        let answers = if self.fault == Fault::PairsNotAcknowledged { 0 } else { on.answers };
        let with = charged + hoses + answers;
        let mut broken = Vec::new();
        if charged > guaranteed {
            let (promised, most) = (whole(charged.ceil()), whole(guaranteed.floor()));
            broken.push(BrokenShare::Class { link: name(), class: Class::Guaranteed, promised, most });
        } else if with > filled {
            let (promised, most) = (whole(with.ceil()), whole(filled.floor()));
            broken.push(BrokenShare::Acknowledgements { link: name(), promised, most });
        }
        if Number::from_integer(on.objectives) > objective {
            let (promised, most) = (on.objectives as u128, whole(objective.floor()));
            broken.push(BrokenShare::Class { link: name(), class: Class::Objective, promised, most });
        }
        broken
    }

    /// The formulas of docs/theory/admission.md, section 14, with the weights 6, 3 and 1 and a target of 95 %.
    fn waits(&self, link: LinkId, on: &OnLink) -> Option<BrokenShare> {
        let of = self.scene.network.link(link);
        let (rates, bursts) = self.latency(link);
        let (line, budget) = (i128::from(of.rate.bits_per_second()), self.scene.times.budgets[link.index()]);
        let broken = |wait| Some(BrokenShare::Wait { link: of.name.clone(), wait, budget });
        let left = line - rates;
        if left <= 0 {
            return broken(None);
        }
        let frame = i128::from(self.scene.max_frame[link.index()].get()) * 8_000_000_000;
        let jitter = i128::from(self.scene.network.node(of.from).jitter.as_nanos());
        let debt = 2 * frame + line * jitter + bursts;
        let turns = Number::from_integer(3 * frame + frame + frame + frame) + Number::new(frame * 4, 6);
        let turns = if self.fault == Fault::Turns { Number::from_integer(0) } else { turns };
        let (eta, g) = (Number::new(95, 100), Number::new(6, 10));
        let trip = if self.fault == Fault::OwnRoundTrip { self.least_trip() } else { on.trip };
        let rising = if self.fault == Fault::Windows { 1 } else { 2 };
        let flight = eta * (g * (rising * left) + line) * trip;
        let senders = if self.fault == Fault::PairsAtOnce { 1 } else { on.senders };
        let wait = ((flight + senders * frame) / g + debt + turns) / left;
        let wait = Time::from_nanos(u64::try_from(wait.ceil().to_integer()).unwrap());
        if wait > budget { broken(Some(wait)) } else { None }
    }

    fn late(&self, share: &PromisedShare, derived: &Derived) -> Option<BrokenShare> {
        let stated = share.there_within?;
        let largest = i128::from(self.scene.max_frame.iter().max()?.get());
        let frames = Number::new(largest * 8_000_000_000 * derived.receivers, i128::from(share.min.bits_per_second()));
        let trips = if self.fault == Fault::OneRoundTrip { 1 } else { 2 };
        let budget = if self.fault == Fault::Budgets { 0 } else { derived.budget };
        let period = i128::from(self.scene.times.token_period.as_nanos());
        let period = if self.fault == Fault::TokenPeriod { 0 } else { period };
        let derived = budget + trips * derived.trip + period + frames.ceil().to_integer();
        let derived = Time::from_nanos(u64::try_from(derived).unwrap());
        (stated < derived).then(|| BrokenShare::Time { share: share.name.clone(), stated, derived })
    }
}
