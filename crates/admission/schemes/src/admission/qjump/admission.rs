//! The admission role: a share of the epoch, if one is left and an epoch is soon enough.

use std::sync::Arc;

use wayleave_contracts::BucketDemand;
use wayleave_ledger::Model;
use wayleave_scheme_api::{Admission, Binding, Decision, Handover, Refusal, Request};
use wayleave_topology::{FlowId, Hop, LinkId, Network, Route};
use wayleave_units::{Bytes, Rate, Time};

use super::{Epoch, Params, Reading};
use crate::flow_table::{self, Entry, FlowTable, HasFlowTable};
use crate::path::ecmp::PerFlow;
use crate::shortest::{ShortestPaths, identity};

/// Name, in reports, of the term `2 n P / R`: the most that all applications together can put ahead of a packet.
pub(super) const CONTENTION: &str = "contention";

/// Name, in reports, of the term for the cumulative processing along the route.
pub(super) const EPSILON: &str = "epsilon";

/// The term of the network epochs for which the shaper may keep a burst waiting, in reports.
pub(super) const SHAPER: &str = "shaper";

/// Among more shortest paths than these none is drawn; a fat tree of 16 ports has 64.
const MAX_PATHS: usize = 64;

/// QJump's admission control.
///
/// ```
/// use std::sync::Arc;
/// use wayleave_ledger::Model;
/// use wayleave_scheme_api::{Admission, Request};
/// use wayleave_schemes::admission::qjump::{Params, Qjump};
/// use wayleave_topology::builders::{FatTree, build};
/// use wayleave_units::{Bytes, Rate, Time};
///
/// let network = Arc::new(build::fat_tree(&FatTree::default())?);
/// let host = |name| network.find_node(name).ok_or("no such host");
/// let (from, to) = (host("h1")?, host("h16")?);
/// let mut qjump = Qjump::new(network.clone(), Model::default(), Params::default());
/// let request = Request {
///     from,
///     to,
///     rate: Rate::from_mbit(1),
///     burst: Bytes::new(1500),
///     deadline: Time::from_millis(1),
///     max_frame: None,
///     route: None,
///     protection: 1,
/// };
/// // 2 n P / R + epsilon at 1 Gbit/s.
/// assert_eq!(qjump.admit(&request).unwrap().bound, Time::from_micros(772));
/// assert_eq!(qjump.shares_left(), 31);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Qjump {
    network: Arc<Network>,
    model: Model,
    params: Params,
    pub(super) epoch: Epoch,
    pub(super) book: FlowTable<Share>,
    taken: u64,
    /// Per link, the shares of the flows on it.
    on_link: Vec<u64>,
}

/// Share of the epoch that an admitted flow holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    shares: u64,
    pub(super) epochs: u64,
}

/// Route, share and bound of a request that fits.
struct Fit {
    route: Route,
    share: Share,
    bound: Time,
}

impl Qjump {
    /// With nothing admitted.
    pub fn new(network: Arc<Network>, model: Model, params: Params) -> Self {
        let slowest = network.links().map(|(_, link)| link.rate).min().unwrap_or(Rate::MAX);
        let epoch = Epoch::new(&params, slowest);
        let on_link = vec![0; network.links().len()];
        Self { network, model, params, epoch, book: FlowTable::new(), taken: 0, on_link }
    }

    /// Returns the parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The epoch of this network.
    pub fn epoch(&self) -> &Epoch {
        &self.epoch
    }

    /// Returns the number of shares that are still free.
    pub fn shares_left(&self) -> u64 {
        self.shares() - self.taken
    }

    /// Returns the total number of shares.
    pub fn shares(&self) -> u64 {
        u64::from(self.params.applications.max(1))
    }

    /// Returns the number of shares of an admitted flow.
    pub fn shares_of(&self, flow: FlowId) -> Option<u64> {
        Some(self.book.get(flow)?.more.shares)
    }

    fn fit(&self, request: &Request) -> Result<Fit, Refusal> {
        if request.protection > 1 {
            return Err(Refusal::NoProtection { scheme: "qjump" });
        }
        let route = self.route(request)?;
        if let Some(frame) = request.max_frame.filter(|&frame| frame > self.params.packet) {
            return Err(Refusal::PacketTooLarge { frame, most: self.params.packet });
        }
        let takes = self.synchronised_round(&route);
        let epoch = self.epoch.length();
        if takes > epoch {
            return Err(Refusal::ShortRound { takes, round: epoch });
        }
        let unit = self.epoch.unit();
        let several = request.rate.bits_per_second().div_ceil(unit.bits_per_second().max(1)).max(1);
        let shares = match self.params.reading {
            Reading::Refused if request.rate > unit => {
                return Err(Refusal::RateCap { asked: request.rate, most: unit });
            }
            Reading::Refused | Reading::Flat => 1,
            Reading::Charged => several,
        };
        let an_epoch = self.params.packet.get().max(1).saturating_mul(shares);
        let epochs = request.burst.get().div_ceil(an_epoch).max(1);
        let bound = times(epoch, epochs);
        if bound > request.deadline {
            return Err(Refusal::Rounds { rounds: epochs, bound, deadline: request.deadline });
        }
        if shares > self.shares_left() {
            return Err(Refusal::Shares { asked: shares, left: self.shares_left(), all: self.shares() });
        }
        if let Some(binding) = self.overflow(&route, shares) {
            return Err(Refusal::Blocked { route, binding, others: Vec::new() });
        }
        Ok(Fit { route, share: Share { shares, epochs }, bound })
    }

    /// The pinned route, or one of the shortest by a hash of the flow; the highest queue everywhere.
    fn route(&self, request: &Request) -> Result<Route, Refusal> {
        let is_open = |&link: &LinkId| self.model.contract_queues(&self.network, self.network.link(link)) > 0;
        if let Some(pinned) = &request.route {
            let queues = |hop: &Hop| u8::from(is_open(&hop.link));
            let wrong = pinned.hops.iter().find(|hop| hop.queue >= queues(hop));
            return match wrong {
                Some(hop) => Err(Refusal::NoSuchQueue { link: hop.link, queue: hop.queue, queues: queues(hop) }),
                None => Ok(pinned.clone()),
            };
        }
        let paths = ShortestPaths::new(&self.network, request.from, request.to).first(MAX_PATHS);
        let open: Vec<Vec<LinkId>> = paths.into_iter().filter(|links| links.iter().all(is_open)).collect();
        let drawn = PerFlow::new(identity(request)).path(open.len() as u32);
        let links = open.into_iter().nth(drawn as usize).ok_or(Refusal::Disconnected)?;
        if let Some(limit) = self.model.max_switches().filter(|&limit| links.len() > limit as usize + 1) {
            return Err(Refusal::TooManySwitches { limit });
        }
        Ok(Route { hops: links.into_iter().map(|link| Hop { link, queue: 0 }).collect() })
    }

    /// Returns the delay of a packet along a route if every application sends one packet at the same moment. The
    /// packet waits for n - 1 others once. At every hop it is transmitted, behind a frame of lower priority if there
    /// can be one.
    fn synchronised_round(&self, route: &Route) -> Time {
        let others = times(self.epoch.packet_time(), self.shares() - 1);
        let hop = |hop: &Hop| {
            let link = self.network.link(hop.link);
            let below = match self.network.queues(hop.link).len() {
                0 | 1 => Bytes::ZERO,
                _ => self.model.largest_frame(link),
            };
            let node = self.network.node(link.from);
            // Jitter in any order counts once: a packet that waits a second time for another has gained on it before, while
            // the other was late.
            sending(self.params.packet + below, link.rate) + link.propagation + node.processing + node.jitter
        };
        route.hops.iter().map(hop).fold(others, |sum, time| sum.checked_add(time).unwrap_or(Time::MAX))
    }

    /// The first queue on a route that could overflow: what takes at most an epoch to arrive was sent within one, so of every
    /// share there are at most two packets in the network, one of its bucket and one that it has earned.
    fn overflow(&self, route: &Route, shares: u64) -> Option<Binding> {
        route.hops.iter().find_map(|hop| {
            let buffer = self.network.queues(hop.link).first()?.buffer;
            let packets = (self.on_link[hop.link.index()] + shares).saturating_mul(2);
            let backlog = Bytes::new(self.params.packet.get().saturating_mul(packets));
            let binding = Binding::Buffer { link: hop.link, queue: hop.queue, backlog, buffer };
            Some(binding).filter(|_| backlog > buffer)
        })
    }

    fn take(&mut self, route: &Route, shares: u64) {
        self.taken += shares;
        route.hops.iter().for_each(|hop| self.on_link[hop.link.index()] += shares);
    }

    fn give_back(&mut self, route: &Route, shares: u64) {
        self.taken -= shares;
        route.hops.iter().for_each(|hop| self.on_link[hop.link.index()] -= shares);
    }

    /// Returns the traffic that the shaper lets through.
    fn shaped(&self, request: &Request, share: Share) -> BucketDemand {
        let most = Rate::from_bits_per_second(self.epoch.unit().bits_per_second().saturating_mul(share.shares));
        let packets = Bytes::new(self.params.packet.get().saturating_mul(share.shares));
        let max_frame = request.max_frame.map_or(self.params.packet, |frame| frame.min(self.params.packet));
        BucketDemand { rate: request.rate.min(most), burst: request.burst.min(packets), max_frame: Some(max_frame) }
    }
}

impl Admission for Qjump {
    fn admit(&mut self, request: &Request) -> Result<Decision, Refusal> {
        let Fit { route, share, bound } = self.fit(request)?;
        self.take(&route, share.shares);
        let flow = self.book.enter(Entry {
            route: route.clone(),
            demand: self.shaped(request, share),
            deadline: request.deadline,
            bound,
            released: self.epoch.length(),
            more: share,
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

impl HasFlowTable for Qjump {
    type More = Share;

    fn entry(&self, flow: FlowId) -> Option<&Entry<Share>> {
        self.book.get(flow)
    }

    fn remove_flow(&mut self, flow: FlowId) -> Option<Entry<Share>> {
        let entry = self.book.remove(flow)?;
        self.give_back(&entry.route, entry.more.shares);
        Some(entry)
    }

    fn put_back(&mut self, flow: FlowId, entry: Entry<Share>) {
        self.take(&entry.route, entry.more.shares);
        self.book.put_back(flow, entry);
    }
}

pub(super) fn times(time: Time, count: u64) -> Time {
    Time::from_nanos(time.as_nanos().saturating_mul(count).min(Time::MAX.as_nanos()))
}

/// Returns the transmission time of `bytes`, rounded up.
fn sending(bytes: Bytes, rate: Rate) -> Time {
    wayleave_units::Amount::from(bytes).time_at(rate).map_or(Time::MAX, |time| time.min(Time::MAX))
}
