//! The paths between hosts, and packet delays there without queueing.

use wayleave_topology::{LinkId, NodeId, Route};
use wayleave_units::Rate;

use super::{NetworkState, Step};
use crate::clock::{self, Instant};
use crate::ideal::PortUse;
use crate::link::Target;
use crate::packet::{ACKNOWLEDGEMENT, FRAMING, HEADERS, PacketId};
use crate::router::PathSetId;

/// Paths of packets from one host to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direction {
    pub(crate) first: Step,
    pub(crate) paths: PathSetId,
    pub(crate) last_hop: Step,
}

impl NetworkState {
    /// Returns the number of paths of a set: zero if nothing joins its ends now.
    #[inline]
    pub(crate) fn path_count(&self, set: PathSetId) -> u32 {
        self.router.count(set)
    }

    /// Returns the start of a path in the table of routes.
    #[inline]
    pub(crate) fn start(&self, set: PathSetId, path: u32) -> Option<u32> {
        self.router.start(set, path)
    }

    /// Returns `true` if a link counts as up.
    pub(crate) fn is_up(&self, link: LinkId) -> bool {
        self.router.is_up(link)
    }

    /// Paths avoid a link from now on, or use it; after [`Fabric::refresh_paths`].
    pub(crate) fn set_link(&mut self, link: LinkId, is_up: bool) {
        self.router.set_link(link, is_up);
    }

    /// After changes: all paths are found again.
    pub(crate) fn refresh_paths(&mut self) {
        self.router.refresh(&mut self.routes);
    }

    /// Adds a route with its own queues. Returns its first step, and the index of the others.
    pub(crate) fn add_route(&mut self, route: &Route) -> (Step, u32) {
        let mut steps = route.hops.iter().map(|hop| Step::new(hop.link.0, hop.queue));
        let first = steps.next().unwrap_or(Step::END);
        let start = self.routes.len() as u32;
        self.routes.extend(steps);
        self.routes.push(Step::END);
        (first, start)
    }

    /// Returns the direction along one route that never changes.
    pub(crate) fn fixed(&mut self, (first, route): (Step, u32)) -> Direction {
        Direction { first, paths: self.router.fixed(route), last_hop: Step::END }
    }

    /// Returns the direction from one host to another in a queue; `None` if one of them has no link to send or to
    /// receive on.
    pub(crate) fn direction(&mut self, from: NodeId, to: NodeId, queue: u8) -> Option<Direction> {
        if let (Some(source), Some(sink)) = (self.attachment(from), self.attachment(to)) {
            return Some(Direction {
                first: Step::new(source.up.0, queue),
                paths: self.router.paths(source.switch, sink.switch, queue, &mut self.routes),
                last_hop: Step::new(sink.down.0, queue),
            });
        }
        let (&up, &down) = (self.network.links_from(from).first()?, self.network.links_into(to).first()?);
        let (first, last_hop) = (Step::new(up.0, queue), Step::new(down.0, queue));
        let paths = self.router.paths(from, to, queue, &mut self.routes);
        let (first, last_hop) = self.router.ends(paths, 0).unwrap_or((first, last_hop));
        Some(Direction { first, paths, last_hop })
    }

    /// The first and the last step of a path.
    #[inline]
    pub(crate) fn ends(&self, direction: &Direction, path: u32) -> (Step, Step) {
        self.router.ends(direction.paths, path).unwrap_or((direction.first, direction.last_hop))
    }

    /// The first and the last step of a path of a set, if its paths differ in these.
    pub(crate) fn own_ends(&self, set: PathSetId, path: u32) -> Option<(Step, Step)> {
        self.router.ends(set, path)
    }

    /// Returns `true` if paths from one host to another have first and last links of their own.
    pub(crate) fn has_several_links(&self, from: NodeId, to: NodeId) -> bool {
        self.router.has_several_links(from, to)
    }

    /// Returns the route from a switch to a host, in a queue: its first step, the index of the others, and the last
    /// one.
    pub(crate) fn path_from_switch(&mut self, at: NodeId, to: NodeId, queue: u8) -> Option<(Step, u32, Step)> {
        let network = self.network.clone();
        let downs = network.links_from_switches(to).iter();
        let paths: Vec<(u32, u32, Step)> = downs
            .filter_map(|&down| {
                if !self.router.is_up(down) {
                    return None;
                }
                let paths = self.router.paths(at, network.link(down).from, queue, &mut self.routes);
                let route = self.router.start(paths, 0)?;
                Some((self.hops_of(route), route, Step::new(down.0, queue)))
            })
            .collect();
        let &(_, route, last_hop) = paths.iter().min_by_key(|&&(hops, ..)| hops)?;
        let first = match self.routes[route as usize] {
            Step::END => last_hop,
            step => step,
        };
        Some((first, route, last_hop))
    }

    /// The switch at whose port a packet is; `None` at a host.
    pub(crate) fn switch_of_packet(&self, id: PacketId) -> Option<NodeId> {
        let packet = self.arena.get(id);
        if packet.hop == u8::MAX {
            return None;
        }
        let step = match self.routes[packet.route as usize + usize::from(packet.hop)] {
            Step::END => Step::from_bits(packet.last_hop),
            step => step,
        };
        Some(self.network.link(LinkId(step.link())).from)
    }

    /// Links between switches of a route.
    pub(crate) fn hops_of(&self, route: u32) -> u32 {
        self.routes[route as usize..].iter().take_while(|&&step| step != Step::END).count() as u32
    }

    /// The links of one path.
    pub(crate) fn links_along(&self, direction: &Direction, path: u32) -> Vec<u32> {
        let start = self.router.start(direction.paths, path).unwrap_or(u32::MAX);
        let (first, last_hop) = self.ends(direction, path);
        self.links_of(first, start, last_hop)
    }

    /// The links of a route that begins there in the table of routes, with its first and its last hop.
    pub(crate) fn links_of(&self, first: Step, start: u32, last_hop: Step) -> Vec<u32> {
        let mut links = Vec::new();
        let (mut step, mut at) = (first, start as usize);
        while let Some(link) = self.links.get(step.link() as usize) {
            links.push(step.link());
            match link.target() {
                Target::Host => break,
                Target::Switch | Target::Jitter(_) => {}
                Target::Service(service) => links.push(service),
            }
            step = match self.routes.get(at) {
                Some(&next) if next != Step::END => next,
                _ => last_hop,
            };
            at += 1;
        }
        links
    }

    /// Returns the number of paths from one host to another in queue 0, and the round-trip time of a full frame and a
    /// small answer on the first ones without queueing.
    pub(crate) fn path_between(&mut self, from: NodeId, to: NodeId) -> (u32, Instant) {
        let (Some(forward), Some(reverse)) = (self.direction(from, to, 0), self.direction(to, from, 0)) else {
            return (1, 0);
        };
        (self.path_count(forward.paths).max(1), self.frame_and_answer(&forward, &reverse))
    }

    /// Returns the time of a full frame in one direction and a small answer in the other, without queueing.
    pub(crate) fn frame_and_answer(&self, forward: &Direction, reverse: &Direction) -> Instant {
        self.base_round_trip(forward, reverse, 0)
    }

    /// Returns the time of a full frame on a path and a small answer on the reverse path of the same number, without queueing.
    pub(crate) fn base_round_trip(&self, forward: &Direction, reverse: &Direction, path: u32) -> Instant {
        let mtu = self.network.link(LinkId(forward.first.link())).mtu.get();
        let frame = u32::try_from(mtu).unwrap_or(u32::MAX).saturating_add(FRAMING);
        self.duration(forward, path, frame) + self.duration(reverse, path, ACKNOWLEDGEMENT)
    }

    /// Returns the time of a segment of this payload and its acknowledgement, without queueing.
    pub(crate) fn round_trip(&self, forward: &Direction, reverse: &Direction, payload: u32) -> Instant {
        self.duration(forward, 0, payload + HEADERS + FRAMING) + self.duration(reverse, 0, ACKNOWLEDGEMENT)
    }

    /// The rate of the slowest of these links.
    pub(crate) fn slowest(&self, links: &[u32]) -> Rate {
        links.iter().map(|&link| self.rates[link as usize]).min().unwrap_or(Rate::MAX)
    }

    /// Returns the time of a packet on a path.
    fn duration(&self, direction: &Direction, path: u32, bytes: u32) -> Instant {
        let one = |link: u32| self.links[link as usize].latency + self.transmission(link, bytes);
        self.links_along(direction, path).into_iter().map(one).sum()
    }

    #[inline]
    fn transmission(&self, link: u32, bytes: u32) -> Instant {
        self.links[link as usize].transmission(bytes, || self.speeds[link as usize])
    }

    /// Returns the time of this payload in segments of this size, without queueing: the last packet leaves the
    /// slowest link when all have passed there.
    pub(crate) fn alone(&self, forward: &Direction, segment: u32, bytes: u64) -> Instant {
        let count = bytes.div_ceil(u64::from(segment)).max(1);
        let last = (bytes - (count - 1) * u64::from(segment)) as u32 + HEADERS + FRAMING;
        let first = if count > 1 { segment + HEADERS + FRAMING } else { last };
        let links = self.links_along(forward, 0);
        let latencies: Instant = links.iter().map(|&number| self.links[number as usize].latency).sum();
        let mut prefetch = 0;
        let mut behind: Instant = links.iter().map(|&number| self.transmission(number, last)).sum();
        let mut longest = 0;
        for &number in &links {
            behind -= self.transmission(number, last);
            let passing =
                (count - 1).saturating_mul(self.transmission(number, first)) + self.transmission(number, last);
            longest = longest.max(prefetch + passing + behind);
            prefetch += self.transmission(number, first);
        }
        latencies + longest
    }

    /// Returns how a message of this payload uses its sender's and its receiver's port. It is over with its last bit at the receiver.
    ///
    /// Segments may take several paths, so the first one on a port may be any of them.
    pub(crate) fn port_uses(&self, forward: &Direction, segment: u32, bytes: u64) -> [PortUse; 2] {
        let count = bytes.div_ceil(u64::from(segment)).max(1);
        let last = (bytes - (count - 1) * u64::from(segment)) as u32 + HEADERS + FRAMING;
        let full = segment + HEADERS + FRAMING;
        let links = self.links_along(forward, 0);
        let between = |links: &[u32]| -> Instant {
            links.iter().map(|&link| self.links[link as usize].latency + self.transmission(link, last.min(full))).sum()
        };
        [0, links.len().saturating_sub(1)].map(|at| {
            let Some(&link) = links.get(at) else { return PortUse { port: u32::MAX, before: 0, busy: 0, after: 0 } };
            PortUse {
                port: link,
                before: between(&links[..at]),
                busy: (count - 1).saturating_mul(self.transmission(link, full)) + self.transmission(link, last),
                after: self.links[link as usize].latency + between(&links[at + 1..]),
            }
        })
    }

    /// Returns how long an acknowledgement takes if nothing delays it.
    pub(crate) fn acknowledgement(&self, reverse: &Direction) -> Instant {
        self.duration(reverse, 0, ACKNOWLEDGEMENT)
    }

    /// Returns the time of this payload on the last link of a path, in segments of this size.
    pub(crate) fn last_transfer(&self, forward: &Direction, segment: u32, bytes: u64) -> Instant {
        let Some(&last) = self.links_along(forward, 0).last() else { return 0 };
        let wire = bytes + bytes.div_ceil(u64::from(segment)).max(1) * u64::from(HEADERS + FRAMING);
        clock::transmission(wire, self.rates[last as usize])
    }

    /// Returns the time of a frame along a route to its last port, without queueing.
    pub(crate) fn transit(&self, first: Step, route: u32, last_hop: Step, bytes: u32) -> Instant {
        let mut time = 0;
        let mut step = first;
        let mut at = route as usize;
        while !self.is_last(step) {
            time += self.transmission(step.link(), bytes) + self.links[step.link() as usize].latency;
            step = match self.routes.get(at) {
                Some(&next) if next != Step::END => next,
                _ => last_hop,
            };
            at += 1;
        }
        time
    }

    fn is_last(&self, step: Step) -> bool {
        step == Step::END || self.links[step.link() as usize].target() == Target::Host
    }
}
