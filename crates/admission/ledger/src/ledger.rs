//! The ledger: ports with their queues, flows with their routes; check, reserve, release.

use std::sync::Arc;

use wayleave_contracts::BucketDemand;
use wayleave_topology::{FlowId, Hop, LinkId, MAX_BUDGET, Network, Route};
use wayleave_units::{Amount, Bytes, Rate, Time};

use crate::error::LedgerError;
use crate::kernel::AMOUNT_LIMIT;
use crate::kernel::fast::{self, KneeTime, Load, Service, Tolerance};
use crate::kernel::lines::{self, Bucket, Line};
use crate::model::{Model, Shaping};
use crate::port::{Gate, Port, PortInput, Queue, Share};
use crate::shares::Shares;
use crate::utilisation::AllGauges;

mod capacity;
mod link_state;
mod load;
mod prefetch;
mod shares;

pub use capacity::Capacity;

/// The reservation of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Its token bucket.
    pub demand: BucketDemand,
    /// Its route.
    pub route: Route,
    /// Grows with every placement: the flow with the smallest was placed least recently.
    pub placed: u64,
}

/// Reservations of all flows, by queue and link.
///
/// ```
/// use std::sync::Arc;
/// use wayleave_contracts::BucketDemand;
/// use wayleave_ledger::{PortInput, Ledger, Model};
/// use wayleave_topology::builders::{Cabling, build};
/// use wayleave_topology::{Hop, Route};
/// use wayleave_units::{Bytes, Rate, Time};
///
/// let network = Arc::new(build::star(2, Cabling::default())?);
/// let budget = |count| vec![Time::from_millis(1); count];
/// let model = Model::default();
/// let budgets = network.links().map(|(_, link)| budget(model.contract_queues(&network, link))).collect();
/// let mut ledger = Ledger::new(network.clone(), model, budgets)?;
/// let up = network.find_link("h1->s1").ok_or("no such link")?;
/// let demand = BucketDemand { rate: Rate::from_mbit(10), burst: Bytes::new(1000), max_frame: None };
/// assert_eq!(ledger.denial(up, 0, PortInput::LOCAL, demand.rate, demand.burst.into()), None);
/// let flow = ledger.reserve(demand, Route { hops: vec![Hop { link: up, queue: 0 }] });
/// assert_eq!(ledger.release(flow).map(|reservation| reservation.demand), Some(demand));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ledger {
    network: Arc<Network>,
    model: Model,
    pub(crate) gates: Vec<Gate>,
    /// Per queue, as [`Self::queues`].
    tolerances: Vec<Tolerance>,
    gauges: AllGauges,
    ports: Vec<Port>,
    queues: Vec<Queue>,
    flows: Vec<Option<Reservation>>,
    vacant: Vec<FlowId>,
    /// Per link, in order of placement.
    on_link: Vec<Vec<(u64, FlowId)>>,
    placements: u64,
    /// Number of times that links were closed or opened.
    turns: u32,
    /// Promises to the classes below the latency queues, if the ledger holds them.
    shares: Option<Box<Shares>>,
}

impl Ledger {
    /// An empty ledger; `budgets` holds, for every link, the delay budget of each queue that contracts may use.
    ///
    /// # Errors
    /// If a link gets more budgets than it has queues for contracts ([`Model::contract_queues`]; with fewer, the lower
    /// queues stay unused), or a budget that no queue can have.
    pub fn new(network: Arc<Network>, model: Model, budgets: Vec<Vec<Time>>) -> Result<Self, LedgerError> {
        let mut ports = Vec::with_capacity(network.links().len());
        let (mut queues, mut gauges) = (Vec::new(), AllGauges::default());
        for ((_, link), budgets) in network.links().zip(budgets.into_iter().chain(std::iter::repeat(Vec::new()))) {
            let usable = model.contract_queues(&network, link);
            let impossible = |&(_, budget): &(usize, &Time)| *budget == Time::ZERO || *budget > MAX_BUDGET;
            if let Some((queue, &budget)) = budgets.iter().enumerate().find(impossible) {
                return Err(LedgerError::Budget { link: link.name.clone(), queue, budget });
            }
            if budgets.len() > usable {
                return Err(LedgerError::Budgets { link: link.name.clone(), queues: usable, budgets: budgets.len() });
            }
            ports.push(Port::new(&network, &model, link, queues.len() as u32, budgets.len() as u8));
            let buffers = network.port(link.port).queues.iter().map(|queue| queue.buffer);
            let service = ports.last().map_or(Service { rate: 0, debt: 0 }, Port::service);
            let spread = ports.last().map_or(0, |port| port.spread);
            let queue = |(budget, buffer)| Queue::new(budget, buffer, service, spread);
            queues.extend(budgets.into_iter().zip(buffers).map(queue));
            if let Some(port) = ports.last_mut() {
                port.gauges = gauges.push(&queues[port.first as usize..]);
            }
        }
        let links = ports.len();
        Ok(Self {
            gates: ports.iter().map(Port::gate).collect(),
            tolerances: queues.iter().map(Queue::tolerance).collect(),
            gauges,
            network,
            model,
            ports,
            queues,
            flows: Vec::new(),
            vacant: Vec::new(),
            on_link: vec![Vec::new(); links],
            placements: 0,
            turns: 0,
            shares: None,
        })
    }

    /// The network.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The delay budgets of a link's contract queues, highest priority first.
    pub fn budgets(&self, link: LinkId) -> impl ExactSizeIterator<Item = Time> {
        self.queues_of(link).iter().map(|queue| Time::from_nanos(queue.budget as u64))
    }

    /// The delay budget of one queue.
    pub fn budget(&self, hop: Hop) -> Time {
        Time::from_nanos(self.queues_of(hop.link)[usize::from(hop.queue)].budget as u64)
    }

    /// The reservation of a flow, or `None` if there is no such flow.
    pub fn flow(&self, flow: FlowId) -> Option<&Reservation> {
        self.flows.get(flow.index())?.as_ref()
    }

    /// All flows.
    pub fn flows(&self) -> impl Iterator<Item = (FlowId, &Reservation)> {
        let numbered = self.flows.iter().enumerate();
        numbered.filter_map(|(index, flow)| Some((FlowId(index as u32), flow.as_ref()?)))
    }

    /// The flows on a link, least recently placed first, each with when it was placed.
    pub fn flows_on(&self, link: LinkId) -> &[(u64, FlowId)] {
        &self.on_link[link.index()]
    }

    /// Returns `true` if a flow of `rate` and `burst`, entering `queue` of `link` from `input`, would keep the delay
    /// budget and the buffer of that queue and of every lower one that holds flows. The burst is as grown on its
    /// route to the node.
    pub fn fits(&self, link: LinkId, queue: u8, input: PortInput, rate: Rate, burst: Amount) -> bool {
        let gate = self.gates[link.index()];
        if rate.bits_per_second() > gate.spare {
            return false;
        }
        let burst = entering(gate, rate, burst);
        if gate.timed && !self.leaves_shares_in_time(link, rate, burst) {
            return false;
        }
        if self.certainly_fits(gate, queue, rate, burst) {
            return true;
        }
        let port = &self.ports[link.index()];
        let rate = i128::from(rate.bits_per_second());
        let queues = self.queues_of(link);
        let target = &queues[usize::from(queue)];
        let burst = burst.nanobits();
        if target.load.burst + burst > AMOUNT_LIMIT {
            return false;
        }
        if gate.quick
            && let Some(load) = self.joined(link, target, input, rate, burst)
        {
            return self.fits_fast(queues, usize::from(queue), load);
        }
        self.fits_lines(queues, usize::from(queue), port, input, rate, burst)
    }

    /// `true` if the tolerances alone show that a flow fits; `false` leaves the question open.
    fn certainly_fits(&self, gate: Gate, queue: u8, rate: Rate, burst: Amount) -> bool {
        let Ok(burst) = i64::try_from(burst.nanobits()) else { return false };
        let rate = rate.bits_per_second();
        let tolerances = &self.tolerances[gate.first as usize..][..usize::from(gate.count)];
        let (here, below) = (&tolerances[usize::from(queue)], &tolerances[usize::from(queue) + 1..]);
        gate.quick && here.certainly_within(rate, burst) && below.iter().all(|lower| lower.certainly_above(rate, burst))
    }

    fn fits_fast(&self, queues: &[Queue], target: usize, joined: Load) -> bool {
        let comparison = self.model.comparison;
        let Queue { service, buffer, .. } = queues[target];
        if !fast::keeps(&joined, service, queues[target].wait(), buffer, comparison) {
            return false;
        }
        let mut service = service.below(&joined);
        for queue in &queues[target + 1..] {
            if queue.flows > 0 && !fast::keeps(&queue.load, service, queue.wait(), queue.buffer, comparison) {
                return false;
            }
            service = service.below(&queue.load);
        }
        true
    }

    fn fits_lines(
        &self,
        queues: &[Queue],
        target: usize,
        port: &Port,
        input: PortInput,
        rate: i128,
        burst: i128,
    ) -> bool {
        let mut service = vec![Line { rate: port.rate, offset: port.debt }];
        for (index, queue) in queues.iter().enumerate() {
            let extra = (index == target).then_some((input, rate, burst));
            let arrival = lines::arrival(self.buckets(port, queue, extra));
            let kept = || lines::keeps(&arrival, &service, queue.wait(), queue.buffer, self.model.comparison);
            if index >= target && !kept() {
                return false;
            }
            service = lines::residual(&service, &arrival, self.model.residual);
        }
        true
    }

    /// The buckets that enter a queue, with one more flow if given.
    fn buckets<'a>(
        &'a self,
        port: &'a Port,
        queue: &'a Queue,
        extra: Option<(PortInput, i128, i128)>,
    ) -> impl Iterator<Item = Bucket> + 'a {
        let is_new = extra.filter(|(input, ..)| queue.share(*input).is_err());
        let known = queue.shares.iter().map(move |share| match extra {
            Some((input, rate, burst)) if input == share.input => (input, share.rate + rate, share.burst + burst),
            _ => (share.input, share.rate, share.burst),
        });
        known.chain(is_new).map(|(input, rate, burst)| Bucket { rate, burst, line: self.line(port, input) })
    }

    /// The line that bounds an input of a queue of a port: `frame + rate t`, and the traffic that comes while the
    /// jitter lasts.
    fn line(&self, port: &Port, input: PortInput) -> Option<Line> {
        let link = input.as_link().filter(|_| self.model.shaping == Shaping::InputLinks)?;
        let feeding = &self.ports[link.index()];
        Some(Line { rate: feeding.rate, offset: feeding.frame }.earlier_by(port.spread))
    }

    /// The load of a queue with one more flow, or `None` where an input would never leave its line.
    pub(crate) fn joined(
        &self,
        link: LinkId,
        queue: &Queue,
        input: PortInput,
        rate: i128,
        burst: i128,
    ) -> Option<Load> {
        let port = &self.ports[link.index()];
        debug_assert!(port.uniform);
        let knee = match self.line(port, input) {
            None => queue.load.knee,
            Some(line) => {
                let (r, b) = queue.share(input).map_or((0, 0), |at| (queue.shares[at].rate, queue.shares[at].burst));
                queue.load.knee.max(KneeTime::of_input(r + rate, b + burst, line.rate, line.offset)?)
            }
        };
        Some(Load { rate: queue.load.rate + rate, burst: queue.load.burst + burst, knee })
    }

    /// Returns `true` if [`Self::fits`] may be `true` for some input. A `false` is certain, a `true` is not.
    pub fn might_fit(&self, link: LinkId, queue: u8, rate: Rate, burst: Amount) -> bool {
        // With more inputs than this the latest possible knee takes longer to find than it saves.
        const MANY_INPUTS: usize = 16;
        let port = &self.ports[link.index()];
        if !self.has_rate(link, rate) {
            return false;
        }
        let gate = self.gates[link.index()];
        let burst = entering(gate, rate, burst);
        let queues = self.queues_of(link);
        let target = &queues[usize::from(queue)];
        if !gate.quick || target.shares.len() > MANY_INPUTS || self.certainly_fits(gate, queue, rate, burst) {
            return true;
        }
        let (rate, burst) = (i128::from(rate.bits_per_second()), burst.nanobits());
        // The later the knee the smaller the delay.
        let joins = |share: &Share| match self.line(port, share.input) {
            Some(line) => KneeTime::of_input(share.rate + rate, share.burst + burst, line.rate, line.offset),
            None => Some(KneeTime::ZERO),
        };
        let fresh = KneeTime::of_input(rate, burst, port.slowest_input.rate, port.slowest_input.offset);
        let mut knees = target.shares.iter().map(joins).chain([fresh]);
        let Some(latest) = knees.try_fold(target.load.knee, |latest, knee| Some(latest.max(knee?))) else {
            return true;
        };
        let load = Load { rate: target.load.rate + rate, burst: target.load.burst + burst, knee: latest };
        target.load.burst + burst <= AMOUNT_LIMIT && self.fits_fast(queues, usize::from(queue), load)
    }

    /// Reserves a route without asking whether it fits: that is the scheme's to know.
    pub fn reserve(&mut self, demand: BucketDemand, route: Route) -> FlowId {
        let placed = self.next_placement();
        let flow = self.reserve_as(&demand, &route, placed);
        self.flows[flow.index()] = Some(Reservation { demand, route, placed });
        flow
    }

    fn reserve_as(&mut self, demand: &BucketDemand, route: &Route, placed: u64) -> FlowId {
        let flow = self.vacant.pop().unwrap_or(FlowId(self.flows.len() as u32));
        if flow.index() == self.flows.len() {
            self.flows.push(None);
        }
        self.occupy(flow, demand, route, placed);
        flow
    }

    /// Puts back a reservation of an earlier ledger, or of a flow that has ended, in its place of the order.
    pub fn reserve_again(&mut self, earlier: Reservation) -> FlowId {
        let placed = earlier.placed;
        self.placements = self.placements.max(placed);
        let flow = self.reserve_as(&earlier.demand, &earlier.route, placed);
        self.flows[flow.index()] = Some(earlier);
        flow
    }

    /// Takes back what a flow has reserved; `None` if there is no such flow.
    pub fn release(&mut self, flow: FlowId) -> Option<Reservation> {
        let reservation = self.flows.get_mut(flow.index())?.take()?;
        self.vacate(flow, &reservation);
        self.vacant.push(flow);
        Some(reservation)
    }

    /// Reserves a new route for a flow beside its old one; [`Self::leave`] takes the old one back.
    pub fn also_reserve(&mut self, flow: FlowId, route: Route) -> Option<Reservation> {
        let demand = self.flow(flow)?.demand;
        let placed = self.next_placement();
        self.occupy(flow, &demand, &route, placed);
        let new = Reservation { demand, route, placed };
        self.flows[flow.index()].replace(new)
    }

    /// Takes back a route that a flow held beside its present one.
    pub fn leave(&mut self, flow: FlowId, old: &Reservation) {
        self.vacate(flow, old);
    }

    /// Puts a flow back to an earlier reservation, in its earlier place of the order.
    pub fn restore(&mut self, flow: FlowId, earlier: Reservation) {
        if let Some(present) = self.flows.get_mut(flow.index()).and_then(Option::take) {
            self.vacate(flow, &present);
        }
        self.occupy(flow, &earlier.demand, &earlier.route, earlier.placed);
        self.vacant.retain(|&vacant| vacant != flow);
        if let Some(slot) = self.flows.get_mut(flow.index()) {
            *slot = Some(earlier);
        }
    }

    /// Limits the frames that are promised to a flow to this size. The reservation does not change.
    pub fn limit_frame(&mut self, flow: FlowId, largest: Bytes) {
        if let Some(Some(reservation)) = self.flows.get_mut(flow.index()) {
            let demand = &mut reservation.demand;
            demand.max_frame = Some(demand.max_frame.map_or(largest, |frame| frame.min(largest)));
        }
    }

    fn next_placement(&mut self) -> u64 {
        self.placements += 1;
        self.placements
    }

    fn occupy(&mut self, flow: FlowId, demand: &BucketDemand, route: &Route, placed: u64) {
        let mut walk = Walk::new(demand);
        for &hop in &route.hops {
            let (input, burst) = walk.enter(self, hop);
            let rate = i128::from(demand.rate.bits_per_second());
            self.ports[hop.link.index()].reserved += rate;
            let at = self.queue_index(hop);
            self.queues[at].add(input, rate, burst);
            self.refresh_knee(hop.link, at, input);
            self.refresh_port(hop);
            let (list, entry) = (&mut self.on_link[hop.link.index()], (placed, flow));
            // Nearly always the last one, so the others need not be searched.
            let is_last = list.last().is_none_or(|&last| last < entry);
            let place = if is_last { list.len() } else { list.partition_point(|&other| other < entry) };
            list.insert(place, entry);
        }
    }

    fn vacate(&mut self, flow: FlowId, reservation: &Reservation) {
        let Reservation { demand, route, placed } = reservation;
        self.fetch_route(route);
        let mut walk = Walk::new(demand);
        for &hop in &route.hops {
            let (input, burst) = walk.enter(self, hop);
            let rate = i128::from(demand.rate.bits_per_second());
            let port = &mut self.ports[hop.link.index()];
            port.reserved -= rate;
            port.releases = port.releases.wrapping_add(1);
            let at = self.queue_index(hop);
            self.queues[at].subtract(input, rate, burst);
            self.rescan_knee(hop.link, at);
            self.refresh_port(hop);
            let list = &mut self.on_link[hop.link.index()];
            if let Ok(place) = list.binary_search(&(*placed, flow)) {
                list.remove(place);
            }
        }
    }

    /// After an addition only the input that grew can have moved the knee.
    fn refresh_knee(&mut self, link: LinkId, at: usize, input: PortInput) {
        let queue = &self.queues[at];
        let (Some(line), Ok(share)) = (self.line(&self.ports[link.index()], input), queue.share(input)) else { return };
        let share = queue.shares[share];
        let knee = KneeTime::of_input(share.rate, share.burst, line.rate, line.offset);
        match knee {
            Some(knee) => self.queues[at].load.knee = queue.load.knee.max(knee),
            None => self.rescan_knee(link, at),
        }
    }

    fn rescan_knee(&mut self, link: LinkId, at: usize) {
        let (port, queue) = (&self.ports[link.index()], &self.queues[at]);
        let knee = |share: &Share| match self.line(port, share.input) {
            Some(line) => KneeTime::of_input(share.rate, share.burst, line.rate, line.offset),
            None => Some(KneeTime::ZERO),
        };
        let endless = queue.shares.iter().any(|share| knee(share).is_none());
        let latest = queue.shares.iter().filter_map(knee).fold(KneeTime::ZERO, KneeTime::max);
        let queue = &mut self.queues[at];
        let port = &mut self.ports[link.index()];
        port.endless = port.endless + u8::from(endless) - u8::from(queue.endless);
        (queue.load.knee, queue.endless) = (latest, endless);
    }

    /// Applies a change in one queue to the service of the queues below, and to the tolerances of all of them.
    fn refresh_port(&mut self, hop: Hop) {
        let port = &mut self.ports[hop.link.index()];
        let queues = &mut self.queues[port.first as usize..][..usize::from(port.count)];
        port.changes = port.changes.wrapping_add(1);
        let turned = self.gates[hop.link.index()].quick != port.gate().quick;
        let changed = usize::from(hop.queue);
        let mut service = queues[changed].service;
        for queue in &mut queues[changed..] {
            queue.service = service;
            service = service.below(&queue.load);
        }
        // The choice of the kernel concerns the whole port.
        self.refresh_gate(hop.link, if turned { 0 } else { changed });
    }

    /// Computes the figures that every check reads, for the queues from the `from`-th down.
    fn refresh_gate(&mut self, link: LinkId, from: usize) {
        let gate = self.ports[link.index()].gate();
        self.gates[link.index()] = gate;
        let (first, count) = (gate.first as usize, usize::from(gate.count));
        for at in from..count {
            let queue = &self.queues[first + at];
            self.tolerances[first + at] = queue.tolerance();
            self.gauges.set((gate.gauges, gate.count), at, queue, gate.quick);
        }
    }

    fn queue_index(&self, hop: Hop) -> usize {
        self.gates[hop.link.index()].first as usize + usize::from(hop.queue)
    }

    pub(crate) fn queues_of(&self, link: LinkId) -> &[Queue] {
        let gate = &self.gates[link.index()];
        &self.queues[gate.first as usize..][..usize::from(gate.count)]
    }

    /// Returns `true` if the constant-time kernel applies to a link.
    pub(crate) fn is_quick(&self, link: LinkId) -> bool {
        self.gates[link.index()].quick
    }

    pub(crate) fn port(&self, link: LinkId) -> &Port {
        &self.ports[link.index()]
    }

    /// The largest frame of a link on the wire.
    pub fn largest_frame(&self, link: LinkId) -> Bytes {
        self.model.largest_frame(self.network.link(link))
    }
}

/// The burst that enters a queue of a flow that comes to the node with this one: jitter that keeps no order lets what
/// came in a longer time enter at once.
pub(crate) fn entering(gate: Gate, rate: Rate, burst: Amount) -> Amount {
    burst + rate * Time::from_nanos(gate.spread)
}

/// A flow along its route: the input that it comes from, and its burst as grown by the budgets of the queues before
/// (budgets, not today's delays, so that later flows change nothing).
struct Walk {
    rate: Rate,
    input: PortInput,
    burst: Amount,
}

impl Walk {
    fn new(demand: &BucketDemand) -> Self {
        Self { rate: demand.rate, input: PortInput::LOCAL, burst: demand.burst.into() }
    }

    /// The input that the next hop is entered from, and the burst (nanobits) that enters it: as grown along the
    /// route, and by the jitter of this node where it keeps no order.
    fn enter(&mut self, ledger: &Ledger, hop: Hop) -> (PortInput, i128) {
        let gate = ledger.gates[hop.link.index()];
        let entered = (self.input, entering(gate, self.rate, self.burst).nanobits());
        self.input = PortInput::link(hop.link);
        self.burst = ledger.model.grown(self.burst, self.rate, ledger.budget(hop));
        entered
    }
}

impl Reservation {
    /// The links of its route.
    pub fn links(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.route.hops.iter().map(|hop| hop.link)
    }
}

impl PartialEq for Ledger {
    /// Equal if every queue of every port is, bit for bit, with any history.
    fn eq(&self, other: &Self) -> bool {
        let reserved = |ledger: &Self| ledger.ports.iter().map(|port| port.reserved).collect::<Vec<_>>();
        self.model == other.model
            && reserved(self) == reserved(other)
            && self.queues == other.queues
            && self.same_shares(other)
    }
}
