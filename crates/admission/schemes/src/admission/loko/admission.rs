//! The admission role: sums of rates and bursts at every service, against what it was allocated.

use std::sync::Arc;

use wayleave_contracts::BucketDemand;
use wayleave_scheme_api::{Admission, Allocated, Decision, Handover, Refusal, Request};
use wayleave_topology::{FlowId, Hop, LinkId, Network, NodeId, NodeKind, Route};
use wayleave_units::{Amount, Bytes, Rate, Time};

use super::{AcceptedRate, Allocation, AllocationError, ServiceModel};
use crate::admitted::Term;
use crate::flow_table::{self, Entry, FlowTable, HasFlowTable};
use crate::shortest::ShortestPaths;

/// Name, in reports, of the term for the time that a line takes for everything that can arrive at once.
pub(super) const LINE: &str = "line";

/// The term of a switch's service, its D, in reports.
pub(super) const SERVICE: &str = "service";

/// More shortest paths than these are not tried.
const MAX_PATHS: usize = 64;

/// Step 0: what shares a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Services {
    /// All ports of a switch: a processor behind an integrated switch.
    #[default]
    PerSwitch,
    /// Each port has its own: switches that forward at line rate.
    PerPort,
}

/// Method of adding up reservations at a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SwitchAccounting {
    /// Bursts as they have grown along the route, and lines beside services.
    #[default]
    Sound,
    /// Bursts as they were asked for, and services alone, as the slides do.
    Published,
}

/// Loko's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Steps 1 and 2.
    pub model: ServiceModel,
    /// Step 3.
    pub share: AcceptedRate,
    /// Step 0.
    pub services: Services,
    /// Method of adding up reservations at a switch.
    pub counting: SwitchAccounting,
}

/// Reason why Loko cannot be set up for a network.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum LokoError {
    /// The allocation is impossible.
    #[error("{0}")]
    Allocation(AllocationError),
    /// A line would be the bottleneck, and not the service that was measured.
    #[error(
        "{link} has {rate:#}, but a switch serves {service:#}: Loko requires links that are at least as fast as a switch"
    )]
    SlowLine {
        /// The link.
        link: String,
        /// Its rate.
        rate: Rate,
        /// R.
        service: Rate,
    },
}

/// Usage of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceUsage {
    /// The sum of rates, bit/s.
    pub rate: u64,
    /// The sum of bursts.
    pub burst: Amount,
    /// Number of flows.
    pub flows: u32,
}

/// Loko's admission control.
pub struct Loko {
    pub(super) network: Arc<Network>,
    pub(super) params: Params,
    allocation: Allocation,
    /// Usage per node or per link, depending on [`Services`].
    uses: Vec<ServiceUsage>,
    pub(super) book: FlowTable<GrownBursts>,
}

/// Burst of a flow at every service along its route.
type GrownBursts = Vec<Amount>;

struct Fit {
    route: Route,
    bursts: GrownBursts,
    bound: Time,
}

impl Loko {
    /// With nothing admitted.
    ///
    /// # Errors
    /// If the share cannot be allocated, or a line is slower than the service.
    pub fn new(network: Arc<Network>, params: Params) -> Result<Self, LokoError> {
        let allocation = Allocation::new(&params.model, params.share).map_err(LokoError::Allocation)?;
        let service = params.model.rate;
        if let Some((_, slow)) = network.links().find(|(_, link)| link.rate < service) {
            return Err(LokoError::SlowLine { link: slow.name.clone(), rate: slow.rate, service });
        }
        let uses = vec![ServiceUsage::default(); network.nodes().len() + network.links().len()];
        Ok(Self { network, params, allocation, uses, book: FlowTable::new() })
    }

    /// The network.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// Returns the parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the allocation of every service.
    pub fn allocation(&self) -> &Allocation {
        &self.allocation
    }

    /// Returns the usage of the service that a hop passes: of the switch that the link leaves, or of its port.
    pub fn in_use(&self, hop: Hop) -> ServiceUsage {
        self.uses[self.service(hop)]
    }

    fn service(&self, hop: Hop) -> usize {
        match self.params.services {
            Services::PerSwitch => self.network.link(hop.link).from.index(),
            Services::PerPort => self.network.nodes().len() + hop.link.index(),
        }
    }

    fn fit(&self, request: &Request) -> Result<Fit, Refusal> {
        if request.protection > 1 {
            return Err(Refusal::NoProtection { scheme: "loko" });
        }
        let most = self.params.model.largest_packet;
        if let Some(frame) = request.max_frame.filter(|&frame| frame > most) {
            return Err(Refusal::PacketTooLarge { frame, most });
        }
        if let Some(pinned) = &request.route {
            return self.along(pinned.clone(), request);
        }
        let paths = ShortestPaths::new(&self.network, request.from, request.to).first(MAX_PATHS);
        let mut refusal = Refusal::Disconnected;
        for (number, links) in paths.into_iter().enumerate() {
            let route = Route { hops: links.into_iter().map(|link| Hop { link, queue: 0 }).collect() };
            match self.along(route, request) {
                Ok(fit) => return Ok(fit),
                Err(first) if number == 0 => refusal = first,
                Err(_) => {}
            }
        }
        Err(refusal)
    }

    /// Checks if a request fits along a route.
    fn along(&self, route: Route, request: &Request) -> Result<Fit, Refusal> {
        let mut burst = Amount::from(request.burst);
        let mut bursts = Vec::new();
        for &hop in &route.hops {
            if self.is_switch(hop) {
                let switch = self.network.link(hop.link).from;
                // Variable processing may reorder packets, so they may reach the service closer together.
                let jitter = match self.params.counting {
                    SwitchAccounting::Sound => self.network.node(switch).jitter,
                    SwitchAccounting::Published => Time::ZERO,
                };
                let entering = burst + request.rate * jitter;
                if let Some(limit) = self.shortage(hop, request.rate, entering) {
                    return Err(Refusal::Allocation { switch, limit, route });
                }
                bursts.push(entering);
            }
            if self.params.counting == SwitchAccounting::Sound {
                let delay: Time = self.of_hop(hop).map(|term| term.time()).sum();
                burst += request.rate * delay;
            }
        }
        let bound = self.terms_of(&route).map(|term| term.time()).sum();
        if bound > request.deadline {
            return Err(Refusal::TooSlow { route, bound, deadline: request.deadline });
        }
        Ok(Fit { route, bursts, bound })
    }

    fn is_switch(&self, hop: Hop) -> bool {
        self.network.node(self.network.link(hop.link).from).kind == NodeKind::Switch
    }

    fn shortage(&self, hop: Hop, rate: Rate, burst: Amount) -> Option<Allocated> {
        let (held, Allocation { rate: most, burst: largest, .. }) = (self.in_use(hop), self.allocation);
        let left = most.bits_per_second() - held.rate.min(most.bits_per_second());
        if rate.bits_per_second() > left {
            return Some(Allocated::Rate { asked: rate, left: Rate::from_bits_per_second(left) });
        }
        let left = Amount::from(largest) - held.burst;
        // The remainder is rounded down.
        let whole = left.nanobits().max(0) / Amount::from(Bytes::new(1)).nanobits();
        (burst > left).then(|| Allocated::Burst {
            asked: Bytes::new(u64::try_from(burst.bytes_rounded_up()).unwrap_or(u64::MAX)),
            left: Bytes::new(u64::try_from(whole).unwrap_or(0)),
        })
    }

    pub(super) fn terms_of(&self, route: &Route) -> impl Iterator<Item = Term> {
        route.hops.iter().flat_map(|&hop| self.of_hop(hop))
    }

    /// Returns the terms that a hop adds to the bound: its service, its line, and the fixed part.
    fn of_hop(&self, hop: Hop) -> impl Iterator<Item = Term> + use<> {
        let link = self.network.link(hop.link);
        let is_switch = self.is_switch(hop);
        let service = Some(Term::OwnOfNode(SERVICE, link.from, self.allocation.delay)).filter(|_| is_switch);
        // Everything that the first switch accepts of a host's bursts may come at once; behind a service packets come one by one.
        let ahead = if is_switch { self.params.model.largest_packet } else { self.allocation.burst };
        let line = Amount::from(ahead).time_at(link.rate).unwrap_or(Time::MAX);
        let node = self.network.node(link.from);
        let own = [
            Term::Processing(link.from, node.processing + node.jitter),
            Term::OwnOfLink(LINE, hop.link, line),
            Term::Propagation(hop.link, link.propagation),
        ];
        let is_sound = self.params.counting == SwitchAccounting::Sound;
        let own = own.into_iter().filter(move |&term| is_sound && term.time() > Time::ZERO);
        service.into_iter().chain(own)
    }

    fn take(&mut self, route: &Route, rate: Rate, bursts: &GrownBursts) {
        self.at_services(route, bursts, |held, burst| {
            held.rate += rate.bits_per_second();
            held.burst += burst;
            held.flows += 1;
        });
    }

    fn give_back(&mut self, entry: &Entry<GrownBursts>) {
        let rate = entry.demand.rate.bits_per_second();
        self.at_services(&entry.route, &entry.more, |held, burst| {
            held.rate -= rate;
            held.burst -= burst;
            held.flows -= 1;
        });
    }

    fn at_services(&mut self, route: &Route, bursts: &GrownBursts, change: impl Fn(&mut ServiceUsage, Amount)) {
        let passed: Vec<Hop> = route.hops.iter().copied().filter(|&hop| self.is_switch(hop)).collect();
        for (hop, &burst) in passed.into_iter().zip(bursts) {
            let service = self.service(hop);
            change(&mut self.uses[service], burst);
        }
    }

    /// The largest share of any service that is in use, of its rate and of its burst, in thousandths.
    pub fn fullest(&self) -> (u64, u64) {
        let Allocation { rate, burst, .. } = self.allocation;
        let of_rate = |held: &ServiceUsage| held.rate * 1000 / rate.bits_per_second().max(1);
        let of_burst =
            |held: &ServiceUsage| (held.burst.nanobits() * 1000 / Amount::from(burst).nanobits().max(1)) as u64;
        (self.uses.iter().map(of_rate).max().unwrap_or(0), self.uses.iter().map(of_burst).max().unwrap_or(0))
    }

    #[cfg(test)]
    pub(super) fn uses_for_tests(&self) -> &[ServiceUsage] {
        &self.uses
    }

    /// Returns the switch or port of every service in use, with its usage.
    pub fn in_use_by_switch(&self) -> impl Iterator<Item = (NodeId, Option<LinkId>, ServiceUsage)> + '_ {
        let nodes = self.network.nodes().len();
        let used = self.uses.iter().enumerate().filter(|(_, held)| held.flows > 0);
        used.map(move |(service, &held)| match service.checked_sub(nodes) {
            None => (NodeId(service as u32), None, held),
            Some(link) => {
                let link = LinkId(link as u32);
                (self.network.link(link).from, Some(link), held)
            }
        })
    }
}

impl Admission for Loko {
    fn admit(&mut self, request: &Request) -> Result<Decision, Refusal> {
        let Fit { route, bursts, bound } = self.fit(request)?;
        self.take(&route, request.rate, &bursts);
        let largest = self.params.model.largest_packet;
        let max_frame = Some(request.max_frame.unwrap_or(largest));
        let flow = self.book.enter(Entry {
            route: route.clone(),
            demand: BucketDemand { rate: request.rate, burst: request.burst, max_frame },
            deadline: request.deadline,
            bound,
            released: bound,
            more: bursts,
        });
        Ok(Decision { flow, route, bound, copies: Vec::new(), moved: Vec::new(), handover: Handover::New })
    }

    fn release(&mut self, flow: FlowId) -> Option<Route> {
        self.remove_flow(flow).map(|entry| entry.route)
    }

    fn change(&mut self, flow: FlowId, request: &Request) -> Option<Result<Decision, Refusal>> {
        flow_table::change(self, flow, request)
    }

    fn would_admit(&mut self, request: &Request) -> bool {
        self.fit(request).is_ok()
    }
}

impl HasFlowTable for Loko {
    type More = GrownBursts;

    fn entry(&self, flow: FlowId) -> Option<&Entry<GrownBursts>> {
        self.book.get(flow)
    }

    fn remove_flow(&mut self, flow: FlowId) -> Option<Entry<GrownBursts>> {
        let entry = self.book.remove(flow)?;
        self.give_back(&entry);
        Some(entry)
    }

    fn put_back(&mut self, flow: FlowId, entry: Entry<GrownBursts>) {
        self.take(&entry.route, entry.demand.rate, &entry.more);
        self.book.put_back(flow, entry);
    }
}
