//! Links, ports and the packets on them: transport of packets from one node to the next.
//!
//! [`Fabric`] owns all of them, with the event queue and the packets themselves. A caller that puts a packet into the
//! fabric gets back the packet that was dropped there, if any.
//!
//! | file | content |
//! |---|---|
//! | `mod` | arrivals, first-come-first-served ports, counters |
//! | `prefetch` | prefetch of the next arrivals |
//! | `queued` | ports that hold their packets |
//! | `telemetry` | telemetry of first-come-first-served ports |
//! | `jitter` | nodes whose packets each take a time of their own: hold times and order |
//! | `jitter_queue` | the same packets as they enter there and leave |
//! | `failures` | failures of links, and losses of the packets there |
//! | `health` | health of links, and causes of losses |
//! | `packets` | packets, their telemetry and events, in the view of senders and receivers |
//! | `logical_process`, `boundary` | a fabric of which others simulate the rest: its own state, and packets handed over |
//! | `cut`, `peak_packets` | nodes of each part; number of packets in all parts |
//! | `fast_forward` | suspended parts of the network, and their counts for that time |
//! | `paths` | the paths between hosts, and packet delays there |
//! | `step` | steps of routes |
//! | `build` | the fabric of a scenario |
//! | `outcome` | counts at the end |

mod boundary;
mod build;
mod cut;
mod failures;
mod fast_forward;
mod health;
mod jitter;
mod jitter_queue;
mod logical_process;
mod outcome;
mod packets;
mod paths;
mod peak_packets;
mod prefetch;
mod queued;
mod step;
mod telemetry;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use wayleave_schemes::switches::AnySwitch;
use wayleave_topology::{Network, NodeId};
use wayleave_units::Rate;

use crate::clock::{self, Instant, LineSpeed};
use crate::events::EventQueue;
use crate::link::{Link, NextArrival, Port, PortState, Target};
use crate::packet::{Arena, Flags, Packet, PacketId};
use crate::port::{ForwardedQuery, Pool, QueuedPort};
use crate::recorder::Recorder;
use crate::router::{Attachment, Router};
use crate::stats::{Histogram, Levels};
use crate::telemetry::TelemetryArena;
use crate::trace::PacketEvent;

pub(crate) use cut::Cut;
pub(crate) use fast_forward::LinkCounts;
pub(crate) use health::{DropCause, Dropped, Health};
pub(crate) use logical_process::CrossingPacket;
use logical_process::LogicalProcess;
pub(crate) use paths::Direction;
pub(crate) use peak_packets::{Change, Total};
pub(crate) use prefetch::Prefetch;
pub(crate) use step::Step;
pub(crate) use telemetry::Stamper;

/// Counters of a queue.
#[derive(Clone, Debug, Default)]
struct QueueRecord {
    /// From coming to being sent, in ps; first-come-first-served ports leave out packets that find them idle.
    wait: Histogram,
    /// Bytes that a packet finds; first come, first served, they follow from the wait.
    found: Option<Box<Histogram>>,
    /// Queued ports: the most that was held, with the packet that came.
    peak: u32,
    /// First come, first served: the longest until a packet that came had left, in ps.
    longest: Instant,
    /// Packets that found no room, or were put out for others.
    drops: u64,
    /// Packets that were marked.
    marks: u64,
    /// Packets that a queued port sent at once: they neither waited nor found anything.
    immediate: u64,
}

/// The network while it runs.
#[derive(Debug)]
pub(crate) struct NetworkState {
    network: Arc<Network>,
    router: Router,
    /// Per node, where hosts are attached.
    attachments: Vec<Option<Attachment>>,
    /// Per link, the buffer of its port where it is first come first served.
    limits: Vec<u32>,
    /// The switches of shared services, in the order of their links.
    services: Vec<NodeId>,
    links: Vec<Link>,
    /// Per link.
    speeds: Vec<LineSpeed>,
    /// Per link.
    rates: Vec<Rate>,
    ports: Vec<QueuedPort>,
    /// Functions of the queues of queued ports beside queueing; each port knows the index of its first.
    switches: Vec<AnySwitch>,
    /// Of first-come-first-served ports that write telemetry.
    stampers: Vec<Stamper>,
    /// Per link, the number of its port's; [`NO_STAMPER`] if it has none.
    stamper_of: Vec<u32>,
    /// Per link.
    health: Vec<health::LinkHealth>,
    pools: Vec<Pool>,
    arena: Arena,
    events: EventQueue,
    /// Steps of all routes, one after the other.
    routes: Vec<Step>,
    /// No packet is larger.
    largest: u32,
    /// Samples that are not in their histograms yet.
    samples: Vec<Sample>,
    /// Per link, `stride` queues.
    records: Vec<QueueRecord>,
    stride: usize,
    telemetry: TelemetryArena,
    recorder: Option<Box<Recorder>>,
    /// Per link, what its port holds over time, if that is recorded.
    levels: Option<Vec<Levels>>,
    /// `true` if there is a recorder or port levels are recorded.
    is_watched: bool,
    /// Nodes whose packets each take a time of their own.
    jitter: Option<Box<jitter::Jitter>>,
    /// Packets put on links.
    hops: u64,
    /// Part that is simulated here, if others simulate the rest.
    part: Option<Box<LogicalProcess>>,
    /// The most packets that there were at once in all parts, at the end.
    pub(crate) peak_of_all: Option<u64>,
    /// Bytes of memory of the other parts, at the end.
    memory_elsewhere: u64,
}

/// A sample that is added to its histogram in batches.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// The number of its record.
    record: u32,
    kind: SampleKind,
    value: u64,
}

#[derive(Clone, Copy, Debug)]
enum SampleKind {
    /// Waiting time of a packet; first come, first served, plus its transmission time.
    Wait { own: Instant },
    /// Amount that a packet found.
    Found,
}

/// Result of an arrival at the end of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LinkArrival {
    /// A packet at a switch; it is in its next port.
    PassedOn,
    /// A packet at a switch, where this one was dropped, or another.
    Dropped(Dropped),
    /// A packet at its host.
    AtHost(PacketId),
    /// A packet at a switch that takes a time for it ([`Fabric::pass_on_later`]).
    Delayed(Target, PacketId),
    /// No packet: the event represents one that is released ([`Fabric::release`]), or is out of date.
    Nothing,
}

/// A packet that comes to a port.
#[derive(Clone, Copy, Debug)]
struct IncomingPacket {
    id: PacketId,
    size: u32,
    flags: Flags,
}

/// A port that writes no telemetry, or holds its packets and does it itself.
pub(crate) const NO_STAMPER: u32 = u32::MAX;

/// Number of samples that are counted together: 6 KiB.
const SAMPLES: usize = 256;

/// Bytes that a switch takes off a tagged packet: one 802.1Q tag.
const TAG: u32 = 4;

/// No frame is smaller on the wire: 64 B, and 20 B of preamble and gap (IEEE 802.3).
const SMALLEST_FRAME: u32 = 84;

impl NetworkState {
    /// The actor of a port that will be free; that of a packet's arrival is the link's number itself.
    #[inline]
    fn service_actor(&self, link: u32) -> u32 {
        self.links.len() as u32 + link
    }

    /// Handles an arrival at the end of a link. A packet that comes to a switch enters its next port.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, link: u32, now: Instant) -> LinkArrival {
        if let Port::Queued(port) = self.links[link as usize].port() {
            self.catch_up(link, port, now, ForwardedQuery::Arriving);
        }
        let state = &mut self.links[link as usize];
        let Some((id, packet)) = state.arrived(now, &mut self.arena) else { return LinkArrival::Nothing };
        let (next, target) = (state.remove_first(id, packet), state.target());
        if target != Target::Switch {
            self.schedule_arrival(next, link, now);
            return if target == Target::Host { LinkArrival::AtHost(id) } else { LinkArrival::Delayed(target, id) };
        }
        let step = next_step(packet, &self.routes);
        let coming = IncomingPacket { id, size: packet.size, flags: packet.flags };
        self.schedule_arrival(next, link, now);
        match self.enter_at_once(step, coming, now) {
            None => LinkArrival::PassedOn,
            Some(dropped) => LinkArrival::Dropped(dropped),
        }
    }

    /// Puts the event of the next arrival at the end of a link.
    #[inline(always)]
    fn schedule_arrival(&mut self, next: NextArrival, link: u32, now: Instant) {
        let due = match next {
            NextArrival::None => return,
            NextArrival::After(gap) => now + u64::from(gap),
            NextArrival::Far => self.links[link as usize].first_due(&self.arena),
        };
        self.events.put(due, link);
    }

    /// A packet has come to a switch that takes a time for it.
    #[cold]
    pub(crate) fn pass_on_later(&mut self, target: Target, id: PacketId, now: Instant) -> Option<Dropped> {
        let step = match target {
            Target::Service(service) => Step::new(service, 0),
            _ => self.next_step(id),
        };
        if let Target::Jitter(stage) = target {
            self.hold(stage, step, id, now);
            return None;
        }
        self.enter(step, id, now)
    }

    /// The step that a packet takes next; a switch takes a tag off.
    fn next_step(&mut self, id: PacketId) -> Step {
        next_step(self.arena.get_mut(id), &self.routes)
    }

    /// A packet comes to a port. Returns the packet that was dropped, this one or another, if one was.
    pub(crate) fn enter(&mut self, step: Step, id: PacketId, now: Instant) -> Option<Dropped> {
        let &Packet { size, flags, .. } = self.arena.get(id);
        self.enter_at_once(step, IncomingPacket { id, size, flags }, now)
    }

    #[inline(always)]
    fn enter_at_once(&mut self, step: Step, coming: IncomingPacket, now: Instant) -> Option<Dropped> {
        let link = step.link();
        match self.links[link as usize].port() {
            Port::Fifo => self.enter_fifo(link, coming, now),
            Port::Queued(port) => self.enter_queued(step, port, coming.id, now),
        }
    }

    #[inline(always)]
    fn enter_fifo(
        &mut self,
        link: u32,
        IncomingPacket { id, size, flags }: IncomingPacket,
        now: Instant,
    ) -> Option<Dropped> {
        let state = &mut self.links[link as usize];
        let speeds = &self.speeds;
        let transmission = state.transmission(size, || speeds[link as usize]);
        let before = state.free_at;
        let mut is_marked = false;
        match state.inspect((size, transmission), self.largest, now, &self.arena) {
            PortState::Idle => {
                state.immediate += 1;
                if state.immediate == u32::MAX {
                    count_immediate(state, &mut self.records[link as usize * self.stride]);
                }
            }
            found @ (PortState::Busy | PortState::BusyAbove) => {
                let record = link as usize * self.stride;
                let kind = SampleKind::Wait { own: transmission };
                self.samples.push(Sample { record: record as u32, kind, value: before - now });
                if self.samples.len() == SAMPLES {
                    count_samples(&mut self.samples, &mut self.records);
                }
                if found == PortState::BusyAbove && flags.has(Flags::ECN_CAPABLE) {
                    self.arena.get_mut(id).flags = flags.with(Flags::MARKED);
                    self.records[record].marks += 1;
                    is_marked = true;
                }
            }
            PortState::Full => return Some(self.refuse(link, 0, id, now)),
        }
        let (due, is_first) = state.append(id, transmission, now, &mut self.arena);
        state.hold(id, size);
        self.hops += 1;
        let is_away = state.leaves_part();
        if is_first && !is_away {
            self.events.put(due, link);
        }
        if flags.has(Flags::TELEMETRY) | is_away | self.is_watched {
            self.enter_specially(link, id, (before, is_marked), now);
        }
        None
    }

    /// Records a packet that a first-come-first-served port has taken, which would have been free at `before`. The
    /// record is for the trace, the port's levels, another part of the network, or the packet itself.
    #[cold]
    fn enter_specially(&mut self, link: u32, id: PacketId, (before, is_marked): (Instant, bool), now: Instant) {
        let Packet { size, flags, .. } = *self.arena.get(id);
        let state = &self.links[link as usize];
        let (departs, is_away) = (state.free_at, state.leaves_part());
        if is_marked {
            self.note(PacketEvent::Marked, (link, 0), id, now);
        }
        self.note(PacketEvent::Enqueued, (link, 0), id, now);
        self.level(link, size, before, now);
        self.note(PacketEvent::Departed, (link, 0), id, departs);
        if is_away {
            self.hand_over(link, now);
        }
        if flags.has(Flags::TELEMETRY) {
            self.ask(link, (before.max(now), id), now);
        }
    }

    #[inline]
    fn count(&mut self, sample: Sample) {
        self.samples.push(sample);
        if self.samples.len() == SAMPLES {
            self.flush_samples();
        }
    }

    /// The packets that found a first-come-first-served port idle join its histograms.
    #[cold]
    fn flush_immediate(&mut self, link: u32) {
        self.flush_samples();
        count_immediate(&mut self.links[link as usize], &mut self.records[link as usize * self.stride]);
    }

    /// Adds samples to their histograms.
    fn flush_samples(&mut self) {
        count_samples(&mut self.samples, &mut self.records);
    }

    /// A packet comes to a port that would be free at `free_at` without it: what it holds then, if that is recorded.
    #[inline]
    fn level(&mut self, link: u32, bytes: u32, free_at: Instant, now: Instant) {
        if self.levels.is_some() {
            self.record_level(link, bytes, free_at, now);
        }
    }

    #[cold]
    fn record_level(&mut self, link: u32, bytes: u32, free_at: Instant, now: Instant) {
        let mut held = clock::transmitted(free_at.saturating_sub(now), self.rates[link as usize]);
        if let Port::Queued(port) = self.links[link as usize].port() {
            held += self.ports[port as usize].waiting_bytes();
        }
        if let Some(levels) = self.levels.as_mut().map(|levels| &mut levels[link as usize]) {
            if held == 0 && free_at <= now {
                levels.set(free_at, 0);
            }
            levels.set(now, held + u64::from(bytes));
        }
    }

    /// For the trace, if there is one.
    #[inline]
    pub(crate) fn note(&mut self, event: PacketEvent, place: (u32, u8), id: PacketId, at: Instant) {
        if self.recorder.is_some() {
            self.record(event, place, id, at);
        }
    }

    #[cold]
    fn record(&mut self, event: PacketEvent, place: (u32, u8), id: PacketId, at: Instant) {
        let packet = self.arena.get(id);
        let mut tags = 0;
        if packet.flags.has(Flags::TAGGED) {
            // One for each switch that is left.
            let from = packet.route as usize + usize::from(packet.hop.wrapping_add(1));
            tags = self.routes[from..].iter().take_while(|&&step| step != Step::END).count() as u8;
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.note(event, place, packet, tags, at);
        }
    }

    /// Forgets what was counted so far: the warm-up is over.
    pub(crate) fn forget(&mut self, now: Instant) {
        self.catch_up_all(now);
        self.samples.clear();
        self.records.iter_mut().for_each(|record| *record = QueueRecord::default());
        for (link, &stamper) in self.links.iter_mut().zip(&self.stamper_of) {
            link.immediate = 0;
            let sent = link.forget_sent(now, &self.arena);
            if let Some(stamper) = self.stampers.get_mut(stamper as usize) {
                stamper.forget(sent);
            }
        }
        self.health.iter_mut().for_each(|health| health.lost_silently = 0);
    }
}

/// The step that a packet takes next; a switch takes a tag off.
#[inline(always)]
fn next_step(packet: &mut Packet, routes: &[Step]) -> Step {
    packet.hop = packet.hop.wrapping_add(1);
    // The packet without tag is padded again; a smaller one was counted without padding from the start.
    if packet.flags.has(Flags::TAGGED) && packet.size > SMALLEST_FRAME {
        packet.size = (packet.size - TAG).max(SMALLEST_FRAME);
    }
    match routes[packet.route as usize + usize::from(packet.hop)] {
        Step::END => Step::from_bits(packet.last_hop),
        step => step,
    }
}

/// The packets that found a port idle waited for nothing.
#[cold]
fn count_immediate(link: &mut Link, record: &mut QueueRecord) {
    record.wait.record_many(0, u64::from(std::mem::take(&mut link.immediate)));
}

/// Samples are kept for a moment and counted together: the histograms of all queues do not fit into the caches, and
/// accesses that do not depend on one another overlap.
#[inline(never)]
fn count_samples(samples: &mut Vec<Sample>, records: &mut [QueueRecord]) {
    for sample in samples.drain(..) {
        let record = &mut records[sample.record as usize];
        match sample.kind {
            SampleKind::Wait { own } => {
                // `longest` is no less than any wait so far, so it can only change if the total exceeds all of those. Mostly it does not, and a cache line
                // is not touched.
                let total = sample.value + own;
                if record.wait.max().is_none_or(|highest| total > highest) {
                    record.longest = record.longest.max(total);
                }
                record.wait.record(sample.value);
            }
            SampleKind::Found => record.found.get_or_insert_default().record(sample.value),
        }
    }
}
