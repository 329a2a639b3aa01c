//! All shares that are held at a moment, while contracts come and go.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::ToPrimitive;
use wayleave_topology::{Class, Classes, LinkId, Network, NodeKind, Route, ShortBuffer};
use wayleave_units::{Bytes, Rate, Time};

use super::figures::{Place, WorstLoad};
use super::load::{Holding, LinkAndBundleLoad, Load};
use super::paths::Lengths;
use super::placed::{NetworkStates, SharesOn};
use super::promise::{BrokenShare, PromisedShare, StatedCertainty};
use super::times::{LatencyLoad, ShareTimeInputs, ShareTimes, reserved};
use crate::claim::Claim;

/// Minima and weights on each link, beside the reservations of latency contracts, while contracts are added and
/// removed.
pub struct HeldShares<'n> {
    network: &'n Network,
    classes: Classes,
    waiting: Option<ShareTimeInputs>,
    places: NetworkStates<'n>,
    links: Vec<Load>,
    bundles: Vec<Load>,
    latency: Vec<LatencyLoad>,
    shares: BTreeMap<u64, Held>,
    added: u64,
}

/// A share, and where it counts.
struct Held {
    share: PromisedShare,
    /// A fault since links were closed: then it counts nowhere.
    fault: Option<BrokenShare>,
}

/// The place of a share among those that are held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddedShare {
    number: u64,
    links: Vec<LinkId>,
}

impl AddedShare {
    /// The links on which the share counted when it was added, acknowledgements included.
    pub fn links(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.links.iter().copied()
    }
}

impl<'n> HeldShares<'n> {
    /// Nothing yet, with all links open. Times are not derived.
    pub fn new(network: &'n Network, classes: Classes) -> Self {
        let places = NetworkStates::new(network, &BTreeSet::new(), Lengths::default(), 0);
        Self::with(network, classes, None, places)
    }

    /// No share yet, beside the latency contracts of a claim; with `times`, times are derived as well.
    pub fn beside(claim: &Claim<'n>, classes: &Classes, closed: &BTreeSet<LinkId>, times: Option<&ShareTimes>) -> Self {
        let waiting = times.map(|times| ShareTimeInputs::new(claim, times));
        let lengths = waiting.as_ref().map_or_else(Lengths::default, |waiting| waiting.lengths(claim.network));
        let least = classes.round_trip.map_or(0, Time::as_nanos);
        let places = NetworkStates::new(claim.network, closed, lengths, least);
        let latency = reserved(claim);
        Self { latency, ..Self::with(claim.network, *classes, waiting, places) }
    }

    fn with(
        network: &'n Network,
        classes: Classes,
        waiting: Option<ShareTimeInputs>,
        places: NetworkStates<'n>,
    ) -> Self {
        let links = network.links().len();
        Self {
            network,
            classes,
            waiting,
            places,
            links: vec![Load::default(); links],
            bundles: vec![Load::default()],
            latency: vec![LatencyLoad::default(); links],
            shares: BTreeMap::new(),
            added: 0,
        }
    }

    /// Closes these links, opens all others, and derives all shares again. Shares that have a fault now (no path, or a route over a
    /// closed link) count nowhere, and [`HeldShares::broken`] names them.
    pub fn close(&mut self, closed: &BTreeSet<LinkId>) {
        let lengths = self.waiting.as_ref().map_or_else(Lengths::default, |waiting| waiting.lengths(self.network));
        let least = self.classes.round_trip.map_or(0, Time::as_nanos);
        self.places = NetworkStates::new(self.network, closed, lengths, least);
        self.links.fill(Load::default());
        self.bundles = vec![Load::default()];
        for (number, mut held) in std::mem::take(&mut self.shares) {
            held.fault = match self.places.of(&held.share) {
                Ok(on) => {
                    self.apply(&on, Load::add);
                    None
                }
                Err(fault) => Some(fault),
            };
            self.shares.insert(number, held);
        }
        self.follow_splits();
    }

    /// Adds a share and returns its place, which [`HeldShares::remove`] takes.
    ///
    /// # Errors
    /// If its route joins other hosts or takes a closed link, or if two members have no path: then nothing is added.
    pub fn add(&mut self, share: &PromisedShare) -> Result<AddedShare, BrokenShare> {
        let on = self.enter(share)?;
        Ok(AddedShare { number: self.added, links: self.links_of(&on) })
    }

    /// Adds a share and returns what it puts where.
    pub(crate) fn enter(&mut self, share: &PromisedShare) -> Result<SharesOn, BrokenShare> {
        let on = self.places.of(share);
        self.follow_splits();
        let on = on?;
        self.apply(&on, Load::add);
        self.added += 1;
        self.shares.insert(self.added, Held { share: share.clone(), fault: None });
        Ok(on)
    }

    /// Removes a share: everything is as if it had never come.
    pub fn remove(&mut self, added: &AddedShare) {
        if let Some(held) = self.shares.remove(&added.number)
            && held.fault.is_none()
            && let Ok(on) = self.places.of(&held.share)
        {
            self.apply(&on, Load::remove);
        }
    }

    fn links_of(&self, on: &SharesOn) -> Vec<LinkId> {
        let mut links = Vec::new();
        for (place, ..) in &on.on {
            match place {
                Place::Bundle(bundle) => links.extend(self.places.bundles.links(*bundle)),
                Place::Link(link) => links.push(*link),
            }
        }
        links.sort_unstable();
        links.dedup();
        links
    }

    /// Gives bundles that were split off the load of the whole one.
    fn follow_splits(&mut self) {
        for parent in self.places.bundles.parents_since(self.bundles.len()) {
            self.bundles.push(self.bundles[parent as usize].clone());
        }
    }

    fn apply(&mut self, on: &SharesOn, change: impl Fn(&mut Load, &Holding, &WorstLoad)) {
        self.follow_splits();
        for (place, holding, worst) in &on.on {
            let load = match place {
                Place::Bundle(bundle) => &mut self.bundles[*bundle as usize],
                Place::Link(link) => &mut self.links[link.index()],
            };
            change(load, holding, worst);
        }
    }

    /// A latency contract reserves this rate on its route.
    pub fn reserve(&mut self, route: &Route, rate: Rate) {
        for hop in &route.hops {
            if let Some(all) = self.latency.get_mut(hop.link.index()) {
                all.rate += u128::from(rate.bits_per_second());
            }
        }
    }

    /// A latency contract gives up this rate on its route.
    pub fn free(&mut self, route: &Route, rate: Rate) {
        for hop in &route.hops {
            if let Some(all) = self.latency.get_mut(hop.link.index()) {
                all.rate = all.rate.saturating_sub(u128::from(rate.bits_per_second()));
            }
        }
    }

    /// Returns all that was promised and does not hold: faults of shares, then by link, then certainties, then waiting times.
    pub fn broken(&mut self) -> Vec<BrokenShare> {
        let mut broken: Vec<BrokenShare> = self.shares.values().filter_map(|held| held.fault.clone()).collect();
        let links: Vec<LinkId> = self.network.links().map(|(link, _)| link).collect();
        links.iter().for_each(|&link| broken.extend(self.sums(link)));
        let beyond: Vec<LinkId> = links.iter().copied().filter(|&link| self.is_unproven(link)).collect();
        broken.extend(self.certainties(&beyond));
        broken.extend(links.into_iter().filter_map(|link| self.waits(link)));
        broken
    }

    /// Returns what was promised on this link and does not hold.
    pub fn broken_on(&mut self, link: LinkId) -> Vec<BrokenShare> {
        let mut broken = self.sums(link);
        if self.is_unproven(link) {
            broken.extend(self.certainties(&[link]));
        }
        broken.extend(self.waits(link));
        broken
    }

    fn load(&self, link: LinkId) -> LinkAndBundleLoad<'_> {
        let bundle = self.places.bundle_of(link).map(|bundle| &self.bundles[bundle as usize]);
        LinkAndBundleLoad(&self.links[link.index()], bundle)
    }

    fn sums(&self, link: LinkId) -> Vec<BrokenShare> {
        broken_sums(self.network, &self.classes, link, self.latency[link.index()].rate, &self.load(link))
    }

    fn is_unproven(&self, link: LinkId) -> bool {
        let load = self.load(link);
        load.proven() && load.may_exceed_charge()
    }

    /// Returns the shares that are stated as proven and may use one of these links, each once.
    fn certainties(&mut self, beyond: &[LinkId]) -> Vec<BrokenShare> {
        if beyond.is_empty() {
            return Vec::new();
        }
        let mut places = BTreeMap::new();
        for &link in beyond.iter().rev() {
            places.insert(Place::Link(link), link);
            if let Some(bundle) = self.places.bundle_of(link) {
                places.insert(Place::Bundle(bundle), link);
            }
        }
        let mut broken = Vec::new();
        for held in self.shares.values().filter(|held| held.fault.is_none()) {
            if held.share.certainty != Some(StatedCertainty::Proven) {
                continue;
            }
            let Ok(on) = self.places.of(&held.share) else { continue };
            let guaranteed = on.on.iter().filter(|(_, holding, _)| holding.is_guaranteed());
            if let Some(&link) = guaranteed.filter_map(|(place, ..)| places.get(place)).min() {
                let link = self.network.link(link).name.clone();
                broken.push(BrokenShare::Certainty { share: held.share.name.clone(), link });
            }
        }
        broken
    }

    fn waits(&mut self, link: LinkId) -> Option<BrokenShare> {
        if self.waiting.is_none() || !self.load(link).timed() {
            return None;
        }
        let (senders, trip) = (self.load(link).senders(), self.trip(link));
        let waiting = self.waiting.as_ref()?;
        waiting.broken(self.network, &self.classes, link, &self.latency[link.index()], senders, trip)
    }

    /// Returns the longest round trip of minima that may use a link, ns.
    fn trip(&mut self, link: LinkId) -> u64 {
        let load = self.load(link);
        let (trip, alone) = (load.trip(), load.alone());
        if !alone {
            return trip;
        }
        let longest = self.places.longest_over(link);
        self.follow_splits();
        trip.max(longest)
    }

    /// Returns the buffers of switch ports that may be too small for the queued traffic of minima, by link; none if
    /// times are not derived.
    pub fn short_buffers(&mut self) -> Vec<ShortBuffer> {
        let network = self.network;
        let of_switch = network.links().filter(|(_, link)| network.node(link.from).kind == NodeKind::Switch);
        of_switch.filter_map(|(link, _)| self.short_buffer(link)).collect()
    }

    fn short_buffer(&mut self, link: LinkId) -> Option<ShortBuffer> {
        let queue = self.classes.queue_of(Class::Guaranteed);
        let buffer = self.network.queues(link).get(usize::from(queue))?.buffer;
        let senders = self.load(link).senders();
        if senders == 0 || self.waiting.is_none() {
            return None;
        }
        let trip = self.trip(link);
        let load = self.load(link);
        let minima = (load.charged() + load.acknowledged()).ceil().to_integer().to_u128().unwrap_or(u128::MAX);
        let (waiting, latency) = (self.waiting.as_ref()?, &self.latency[link.index()]);
        let queue = waiting.longest_queue(self.network, &self.classes, link, latency, (senders, trip, minima));
        let needed = queue.map_or(Bytes::MAX, |bytes| Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX)));
        (needed > buffer).then_some(ShortBuffer { link, buffer, needed })
    }

    /// Returns the fault if the time of a minimum exceeds the stated one.
    pub(crate) fn late(&self, share: &PromisedShare, on: &SharesOn) -> Option<BrokenShare> {
        let (waiting, stated) = self.waiting.as_ref().zip(share.there_within)?;
        let derived = Time::from_nanos(u64::try_from(waiting.there_within(share, on)).unwrap_or(u64::MAX));
        (stated < derived).then(|| BrokenShare::Time { share: share.name.clone(), stated, derived })
    }
}

/// Compares the load of a link with its remaining capacity.
pub(crate) fn broken_sums(
    network: &Network,
    classes: &Classes,
    link: LinkId,
    latency: u128,
    load: &LinkAndBundleLoad<'_>,
) -> Vec<BrokenShare> {
    let line = u128::from(network.link(link).rate.bits_per_second());
    let left = line.saturating_sub(latency);
    let weight = |class| u128::from(classes.weight(class));
    let weights: u128 = Class::SHARING.into_iter().map(weight).sum();
    let most = |class, percent: u8| {
        let (num, den) = (left * weight(class) * u128::from(percent), 100 * weights);
        BigRational::new(BigInt::from(num), BigInt::from(den))
    };
    let name = || network.link(link).name.clone();
    let floor = |value: &BigRational| value.floor().to_integer().to_u128().unwrap_or(0);
    let ceil = |value: &BigRational| value.ceil().to_integer().to_u128().unwrap_or(u128::MAX);
    let mut broken = Vec::new();
    let minima = most(Class::Guaranteed, classes.promise);
    let filled = most(Class::Guaranteed, classes.target);
    if load.exceeds(&minima) {
        let (promised, most) = (ceil(&load.charged()), floor(&minima));
        broken.push(BrokenShare::Class { link: name(), class: Class::Guaranteed, promised, most });
    } else if load.exceeds_with_acknowledgements(&filled) {
        let promised = ceil(&(load.charged() + load.acknowledged()));
        broken.push(BrokenShare::Acknowledgements { link: name(), promised, most: floor(&filled) });
    }
    let weights = most(Class::Objective, classes.promise);
    let promised = load.objectives();
    if BigRational::from_integer(promised.into()) > weights {
        broken.push(BrokenShare::Class { link: name(), class: Class::Objective, promised, most: floor(&weights) });
    }
    broken
}
