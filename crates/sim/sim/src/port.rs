//! Ports that choose: several queues, another order than first come first served, or a shared buffer.
//!
//! Such a port holds its packets until it sends them. One that chooses at once has an event at the time when it is free again,
//! while it sends and something waits; one that chooses late has none. A port that finds itself idle sends at once.

use std::num::NonZeroU32;

use wayleave_scheme_api::ClassHop;
use wayleave_units::{Bytes, Rate};

use crate::clock::Instant;
use crate::packet::{Arena, NO_PACKET, PacketId};

mod remaining;
pub(crate) use remaining::Remaining;

/// The most queues of a port.
pub(crate) const MAX_QUEUES: usize = wayleave_topology::MAX_QUEUES;

/// One queue: a list of packets.
#[derive(Clone, Copy, Debug)]
struct Queue {
    head: PacketId,
    tail: PacketId,
    bytes: u32,
    limit: u32,
    /// Sent from it since the run began, in bytes on the wire, for telemetry; the warm-up does not reset it.
    sent: u64,
}

const NO_QUEUE: Queue = Queue { head: NO_PACKET, tail: NO_PACKET, bytes: 0, limit: 0, sent: 0 };

/// Time at which a port chooses the packet that it sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SelectionTime {
    /// At the end of a transmission, by a scheduled event.
    AtOnce,
    /// On a query of its state. A packet that comes at the very instant at which the line is free can still be
    /// chosen. Packets arrive at switches before ports choose.
    AfterArrivals,
    /// On a query of its state, but a packet that comes at that instant is too late. Sources send after ports have
    /// chosen.
    BeforeSources,
}

/// Origin of a query of a port's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForwardedQuery {
    /// A packet comes to the port.
    Entering,
    /// A packet arrives at the other end of the link.
    Arriving,
    /// A query after all ports have chosen.
    Everything,
}

/// Order in which queues are served.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    /// The highest that is not empty; also first come first served, with one queue.
    Strict,
    /// Deficit round robin, below some queues by strict priority if there are any.
    Deficit(Box<Deficit>),
    /// One queue, whose packets are chosen by the remaining sizes of their flows.
    SmallestRemaining(Box<Remaining>),
}

/// Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995): the queue whose turn it is, and the credit of each.
/// Queues above come first, by strict priority: their packets cost those below no credit, only time.
#[derive(Clone, Debug)]
pub(crate) struct Deficit {
    quantum: [u32; MAX_QUEUES],
    credit: [u32; MAX_QUEUES],
    turn: usize,
    /// One bit for each queue that goes before all weights.
    strict: u8,
    /// R': of the line, what is not reserved in the queues above.
    residual: Rate,
}

impl Deficit {
    /// Creates the state below `strict` strict queues. A weight of 1 is one largest frame, so that every turn sends
    /// at least one packet (their section 4).
    pub(crate) fn new(strict: u8, weights: &[u32], largest_frame: u32, residual: Rate) -> Self {
        let first = usize::from(strict).min(MAX_QUEUES - 1);
        let mut quantum = [largest_frame; MAX_QUEUES];
        for (quantum, &weight) in quantum[first..].iter_mut().zip(weights) {
            *quantum = weight.max(1).saturating_mul(largest_frame);
        }
        Self { quantum, credit: [0; MAX_QUEUES], turn: 0, strict: (1 << first) - 1, residual }
    }

    /// Returns the port's report on a queue's class. Returns `None` for a queue above all weights, or if there are no
    /// weights.
    fn class(&self, queue: u8, queues: &[Queue]) -> Option<ClassHop> {
        let first = self.strict.trailing_ones() as usize;
        let at = usize::from(queue);
        if first == 0 || at < first {
            return None;
        }
        let sum = |queues: &[Queue]| queues.iter().map(|queue| queue.sent).sum::<u64>();
        let all = self.quantum[first..queues.len()].iter().sum::<u32>();
        let own = self.quantum[at];
        let residual = u128::from(self.residual.bits_per_second()) * u128::from(own) / u128::from(all.max(1));
        Some(ClassHop {
            guaranteed: Rate::from_bits_per_second(u64::try_from(residual).unwrap_or(0)),
            available: Rate::ZERO,
            weights: (own, all),
            above: Bytes::new(sum(&queues[..first])),
            beside: Bytes::new(sum(&queues[first..]) - queues[at].sent),
        })
    }
}

/// A buffer that the ports of a switch share (dynamic threshold; Choudhury and Hahne, 1998).
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub(crate) total: u64,
    pub(crate) used: u64,
    pub(crate) alpha: f64,
}

impl Pool {
    /// Returns the present maximum of one queue.
    fn threshold(&self) -> u64 {
        (self.alpha * self.total.saturating_sub(self.used) as f64) as u64
    }
}

/// Switch roles of the queues of a port.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Roles {
    /// The place of queue 0's among all; those of the other queues follow.
    pub(crate) first: u32,
    /// One bit for each queue that writes telemetry into packets that ask for it.
    pub(crate) stamps: u8,
    /// One bit for each queue whose role sees packets that cannot be marked, too.
    pub(crate) sees_all: u8,
}

impl Roles {
    /// The place of a queue's role.
    #[inline]
    pub(crate) fn place(self, queue: u8) -> usize {
        self.first as usize + usize::from(queue)
    }

    #[inline]
    pub(crate) fn stamps(self, queue: u8) -> bool {
        self.stamps & (1 << queue) != 0
    }

    #[inline]
    pub(crate) fn sees_all(self, queue: u8) -> bool {
        self.sees_all & (1 << queue) != 0
    }
}

/// Identity of a shared buffer, counted from 1, so that `None` needs no more space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolId(NonZeroU32);

impl PoolId {
    /// The buffer at this place.
    pub(crate) fn of(place: usize) -> Self {
        Self(NonZeroU32::MIN.saturating_add(u32::try_from(place).unwrap_or(u32::MAX)))
    }

    /// Its place.
    #[inline]
    pub(crate) fn place(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// A port with queues. Its first cache line has the fields that every packet needs, with the first queue.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct QueuedPort {
    order: Order,
    /// Functions of its queues beside queueing.
    pub(crate) roles: Roles,
    /// The shared buffer, if it has none of its own.
    pub(crate) pool: Option<PoolId>,
    /// The size and the queue of the packet that is being sent, or was last.
    sending_bytes: u32,
    sending_from: u8,
    /// One bit for each queue that is not empty.
    waiting: u8,
    /// `true` if an event is scheduled for the time when the port is free.
    pub(crate) is_scheduled: bool,
    /// Time at which it chooses.
    pub(crate) choice: SelectionTime,
    /// `true` if it is up.
    pub(crate) is_up: bool,
    count: u8,
    queues: [Queue; MAX_QUEUES],
}

// A packet at a port with one queue touches one cache line.
const _: () = assert!(std::mem::offset_of!(QueuedPort, queues) + size_of::<Queue>() <= 64);

impl QueuedPort {
    /// With a limit for each of its queues.
    pub(crate) fn new(limits: &[u32], order: Order, pool: Option<PoolId>, roles: Roles) -> Self {
        let mut queues = [NO_QUEUE; MAX_QUEUES];
        for (queue, &limit) in queues.iter_mut().zip(limits) {
            queue.limit = limit;
        }
        let count = limits.len().clamp(1, MAX_QUEUES) as u8;
        Self {
            order,
            roles,
            pool,
            sending_bytes: 0,
            sending_from: 0,
            waiting: 0,
            is_scheduled: false,
            choice: SelectionTime::AtOnce,
            is_up: true,
            count,
            queues,
        }
    }

    /// The queue used for the one that a packet requests.
    #[inline]
    pub(crate) fn queue(&self, asked: u8) -> u8 {
        asked.min(self.count - 1)
    }

    /// Returns the bytes that a queue holds, including its packet in transmission.
    #[inline]
    pub(crate) fn held(&self, queue: u8, is_sending: bool) -> u32 {
        let sending = if is_sending && self.sending_from == queue { self.sending_bytes } else { 0 };
        self.queues[usize::from(queue)].bytes + sending
    }

    /// Bytes that wait in all queues.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.queues.iter().map(|queue| u64::from(queue.bytes)).sum()
    }

    /// Returns `true` if another packet fits into a buffer of the queue's own.
    #[inline]
    pub(crate) fn has_room(&self, queue: u8, bytes: u32, held: u32) -> bool {
        self.is_up && u64::from(held) + u64::from(bytes) <= u64::from(self.queues[usize::from(queue)].limit)
    }

    /// The same in a buffer that ports share.
    #[inline(never)]
    pub(crate) fn fits_shared_buffer(&self, bytes: u32, held: u32, pool: &Pool) -> bool {
        let more = u64::from(bytes);
        self.is_up && u64::from(held) + more <= pool.threshold() && pool.used + more <= pool.total
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    #[inline]
    pub(crate) fn is_queue_empty(&self, queue: u8) -> bool {
        self.waiting & (1 << queue) == 0
    }

    pub(crate) fn is_by_remaining(&self) -> bool {
        matches!(self.order, Order::SmallestRemaining(_))
    }

    /// Notes what is being sent.
    #[inline]
    pub(crate) fn send(&mut self, queue: u8, bytes: u32) {
        (self.sending_from, self.sending_bytes) = (queue, bytes);
        self.queues[usize::from(queue)].sent += u64::from(bytes);
    }

    /// Nothing is being sent any more.
    pub(crate) fn finish_sending(&mut self) {
        (self.sending_from, self.sending_bytes) = (0, 0);
    }

    /// Sent from a queue since the run began, in bytes on the wire.
    pub(crate) fn sent(&self, queue: u8) -> u64 {
        self.queues[usize::from(queue)].sent
    }

    /// Returns the state of a queue's class for packets that request telemetry.
    pub(crate) fn class(&self, queue: u8) -> Option<ClassHop> {
        match &self.order {
            Order::Deficit(deficit) => deficit.class(queue, &self.queues[..usize::from(self.count)]),
            Order::Strict | Order::SmallestRemaining(_) => None,
        }
    }

    /// The size of the packet that was sent last.
    pub(crate) fn last_sent(&self) -> u32 {
        self.sending_bytes
    }

    /// Puts a packet at the end of a queue.
    #[inline]
    pub(crate) fn push(&mut self, queue: u8, id: PacketId, bytes: u32, arena: &mut Arena) {
        let list = &mut self.queues[usize::from(queue)];
        if let Order::SmallestRemaining(waiting) = &mut self.order {
            waiting.push(id, arena.get(id));
        } else if list.head == NO_PACKET {
            list.head = id;
        } else {
            arena.get_mut(list.tail).next = id;
        }
        list.tail = id;
        list.bytes += bytes;
        self.waiting |= 1 << queue;
    }

    /// Takes the packet that is next, with its queue, and since when it waits.
    #[inline(always)]
    pub(crate) fn pop(&mut self, arena: &Arena) -> Option<(u8, PacketId, Instant)> {
        if self.waiting == 0 {
            return None;
        }
        let queue = match &mut self.order {
            Order::Strict => self.waiting.trailing_zeros() as u8,
            Order::Deficit(deficit) => deficit.next(self.waiting, &self.queues[..usize::from(self.count)], arena),
            Order::SmallestRemaining(_) => return self.pop_least(arena),
        };
        let list = &mut self.queues[usize::from(queue)];
        let id = list.head;
        let packet = arena.get(id);
        list.head = packet.next;
        list.bytes -= packet.size;
        if list.head == NO_PACKET {
            self.waiting &= !(1 << queue);
        }
        Some((queue, id, packet.due))
    }

    /// By remaining size: takes the packet whose flow has least left.
    #[inline(never)]
    fn pop_least(&mut self, arena: &Arena) -> Option<(u8, PacketId, Instant)> {
        let Order::SmallestRemaining(waiting) = &mut self.order else { return None };
        let id = waiting.pop()?;
        let packet = arena.get(id);
        self.queues[0].bytes -= packet.size;
        self.waiting = u8::from(!waiting.is_empty());
        Some((0, id, packet.due))
    }

    /// Adds suspended time to the packets in it. Not if the order is by remaining size.
    pub(crate) fn delay(&self, by: Instant, arena: &mut Arena) {
        self.queues.iter().filter(|queue| queue.bytes > 0).for_each(|queue| arena.delay(queue.head, by));
    }

    /// By remaining size: takes the packet whose flow has the most left, if that is more than `urgency` and no less than `bytes`
    /// become free; it makes room for another.
    pub(crate) fn make_room(&mut self, urgency: u32, bytes: u32, arena: &Arena) -> Option<PacketId> {
        let Order::SmallestRemaining(waiting) = &mut self.order else { return None };
        let (worst, id) = waiting.least_urgent()?;
        let freed = arena.get(id).size;
        if worst <= urgency || freed < bytes {
            return None;
        }
        waiting.pop_least_urgent();
        self.queues[0].bytes -= freed;
        self.waiting = u8::from(!waiting.is_empty());
        Some(id)
    }
}

impl Deficit {
    /// The queue that is next of those that wait: one bit for each, and at least one.
    #[inline(never)]
    fn next(&mut self, waiting: u8, queues: &[Queue], arena: &Arena) -> u8 {
        match waiting & self.strict {
            0 => self.choose(queues, arena),
            strict => strict.trailing_zeros() as u8,
        }
    }

    /// The queue whose first packet is next; at least one must hold a packet, and none that goes before all weights.
    fn choose(&mut self, queues: &[Queue], arena: &Arena) -> u8 {
        loop {
            let turn = self.turn;
            match queues[turn].head {
                // Credit is not saved up while there is nothing to send.
                NO_PACKET => self.credit[turn] = 0,
                head => {
                    let size = arena.get(head).size;
                    if let Some(left) = self.credit[turn].checked_sub(size) {
                        self.credit[turn] = left;
                        return turn as u8;
                    }
                }
            }
            self.turn = (turn + 1) % queues.len();
            self.credit[self.turn] = self.credit[self.turn].saturating_add(self.quantum[self.turn]);
        }
    }
}
