//! The simulated network, and the known properties of every promise's path through it.

use std::collections::HashMap;
use std::sync::Arc;

use wayleave_scenarios::SharedService;
use wayleave_topology::{LinkId, MAX_QUEUES, Network, NodeKind, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

use crate::attack::FrameSizes;
use crate::claim::{AdmittedClaim, Background, ClaimError, Promise};
use crate::fill::FillRoutes;

/// No frame is smaller on the wire: 64 B, and 20 B of preamble and gap (IEEE 802.3). Tags take the place of padding.
pub(crate) const SMALLEST_FRAME: u64 = 84;

/// One tag a switch, which takes it off (Chameleon, section 3.3).
const TAG: u64 = 4;

/// A claim with all data that do not depend on the schedule of senders.
pub(crate) struct Stage<'c> {
    pub(crate) claim: &'c AdmittedClaim,
    /// With a queue for background below those of hosts.
    pub(crate) network: Arc<Network>,
    pub(crate) paths: Vec<PromisePath>,
    /// Per link that promises use: which, with the number of the hop.
    pub(crate) on_link: HashMap<LinkId, Vec<(usize, usize)>>,
    pub(crate) fill: FillRoutes,
    /// Per promise: the protected contract that it is a route of.
    pub(crate) group_of: Vec<Option<usize>>,
}

/// Path of one promise.
pub(crate) struct PromisePath {
    pub(crate) hops: Vec<Stop>,
}

/// One queue on it.
pub(crate) struct Stop {
    pub(crate) link: LinkId,
    pub(crate) queue: u8,
    pub(crate) rate: Rate,
    /// ns from the last bit on the link to the next queue, with all jitter.
    pub(crate) latency: i64,
    /// Variation of a packet's delay before it enters the queue, in ns; 0 if all packets take the maximum.
    pub(crate) jitter: i64,
}

/// A contract that shares a queue, or a line, with a victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Joiner {
    pub(crate) promise: usize,
    /// The hop of the victim where they meet first.
    pub(crate) at: usize,
    /// The corresponding hop of its own path.
    pub(crate) own: usize,
}

impl<'c> Stage<'c> {
    pub(crate) fn new(claim: &'c AdmittedClaim) -> Result<Self, ClaimError> {
        claim.validate()?;
        let network = match &claim.background {
            Background::Dropped => claim.network.clone(),
            Background::Saturating { .. } => {
                let with_room = claim.network.with_ports(add_lowest_queue).map_err(ClaimError::Network)?;
                Arc::new(with_room)
            }
        };
        let of_promise = |promise: &Promise| promise_path(&network, &claim.services, &promise.route.hops);
        let paths: Vec<PromisePath> = claim.promises.iter().map(of_promise).collect();
        let mut on_link: HashMap<LinkId, Vec<(usize, usize)>> = HashMap::new();
        for (promise, path) in paths.iter().enumerate() {
            for (hop, stop) in path.hops.iter().enumerate() {
                on_link.entry(stop.link).or_default().push((promise, hop));
            }
        }
        let fill = FillRoutes::new(claim, &network);
        let mut group_of = vec![None; paths.len()];
        for (group, protected) in claim.protected.iter().enumerate() {
            protected.routes.iter().for_each(|&route| group_of[route] = Some(group));
        }
        Ok(Self { claim, network, paths, on_link, fill, group_of })
    }

    /// Returns `true` if a node on a promise's path may delay packets for different times.
    pub(crate) fn has_jitter(&self) -> bool {
        self.paths.iter().flat_map(|path| &path.hops).any(|stop| stop.jitter > 0)
    }

    /// Returns the packet size of a promise, in bytes; `None` if its burst has no room for a packet with its tags.
    pub(crate) fn frame(&self, promise: usize, frames: FrameSizes) -> Option<u64> {
        let terms = &self.claim.promises[promise];
        // Copies over several routes are of one size.
        let longest = self.routes(&promise).iter().map(|&route| self.paths[route].hops.len()).max().unwrap_or(0);
        let tags = TAG * (longest as u64).saturating_sub(1);
        let carried = self.routes(&promise).iter().map(|&route| self.claim.promises[route].frame).min();
        let largest = carried.unwrap_or(terms.frame).min(terms.burst).get();
        let frame = match frames {
            FrameSizes::Largest => largest,
            FrameSizes::Smallest => largest.min(SMALLEST_FRAME),
        };
        Some(frame).filter(|&frame| frame > tags)
    }

    /// The promises that are about the same packets as this one, itself among them.
    pub(crate) fn routes<'a>(&'a self, promise: &'a usize) -> &'a [usize] {
        match self.group_of[*promise] {
            Some(group) => &self.claim.protected[group].routes,
            None => std::slice::from_ref(promise),
        }
    }

    /// Returns the time of the first frame from the first queue to that of a hop without delays, in ns.
    pub(crate) fn reach(&self, promise: usize, hop: usize, frame: u64) -> i64 {
        self.paths[promise].hops[..hop].iter().map(|stop| sending(frame, stop.rate) + stop.latency).sum()
    }

    /// All that pass a link; where ports share one service, all that pass its switch.
    fn sharing(&self, link: LinkId) -> impl Iterator<Item = &(usize, usize)> {
        let switch = self.network.link(link).from;
        let links = match self.claim.services.iter().any(|service| service.switch == switch) {
            true => self.network.links_from(switch).to_vec(),
            false => vec![link],
        };
        links.into_iter().filter_map(|link| self.on_link.get(&link)).flatten()
    }

    /// All that share a line with the victim, or a service, and can delay it there.
    pub(crate) fn joiners(&self, victim: usize) -> Vec<Joiner> {
        // A lower queue blocks by one frame, which the background does as well.
        let lower_too = self.claim.background == Background::Dropped;
        let mut seen = vec![false; self.paths.len()];
        seen[victim] = true;
        let mut joiners = Vec::new();
        for (at, stop) in self.paths[victim].hops.iter().enumerate() {
            for &(promise, own) in self.sharing(stop.link) {
                let may = lower_too || self.paths[promise].hops[own].queue <= stop.queue;
                if may && !seen[promise] {
                    seen[promise] = true;
                    joiners.push(Joiner { promise, at, own });
                }
            }
        }
        joiners
    }
}

fn promise_path(network: &Network, services: &[SharedService], hops: &[wayleave_topology::Hop]) -> PromisePath {
    let stop = |hop: &wayleave_topology::Hop| {
        let link = network.link(hop.link);
        // The simulator adds the processing of a sending host behind its port, which is equivalent.
        let inside = [(link.from, NodeKind::Host), (link.to, NodeKind::Switch)]
            .into_iter()
            .filter(|&(node, kind)| network.node(node).kind == kind)
            .map(|(node, _)| network.node(node).processing + network.node(node).jitter)
            .sum();
        let service = services.iter().find(|service| service.switch == link.from);
        let jitter = if service.is_some() { Time::ZERO } else { network.node(link.from).jitter };
        let rate = service.map_or(link.rate, |service| service.rate.min(link.rate));
        let processing = service.map_or(Time::ZERO, |service| service.processing);
        let latency = nanos(link.propagation + inside + processing);
        Stop { link: hop.link, queue: hop.queue, rate, latency, jitter: nanos(jitter) }
    };
    PromisePath { hops: hops.iter().map(stop).collect() }
}

/// The topology leaves the queues of hosts to contracts; a lower one is added for traffic without a contract.
fn add_lowest_queue(kind: NodeKind, mtu: Bytes, port: &mut PortSpec) {
    if kind == NodeKind::Host
        && port.queues.len() < MAX_QUEUES
        && let Some(&last) = port.queues.last()
    {
        // Dropped packets are soon retransmitted, so a larger buffer is useless.
        let buffer = Bytes::new(8 * (mtu.get() + 62));
        port.queues.push(wayleave_topology::PortQueue { buffer, ..last });
    }
}

/// Returns the time of a line for these bytes, in ns, rounded up.
pub(crate) fn sending(bytes: u64, rate: Rate) -> i64 {
    let time = (u128::from(bytes) * 8_000_000_000).div_ceil(u128::from(rate.bits_per_second().max(1)));
    i64::try_from(time).unwrap_or(i64::MAX / 1024)
}

/// ns as a signed number; times are far below what it holds.
pub(crate) fn nanos(time: wayleave_units::Time) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX / 1024)
}
