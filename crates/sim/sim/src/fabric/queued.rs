//! Ports that hold their packets until they send them: several queues, another order, a shared buffer, telemetry.
//!
//! The next packet of such a port depends on the arrivals until the line is free. A port with an event at that time
//! ([`Fabric::serve`]) chooses then. Most ports need none: the choice is not visible before its packet arrives at the
//! other end of the link. It is therefore made later ([`Fabric::catch_up`]), when that arrival is due, or when
//! another packet comes. Both give the same choice.

use wayleave_scheme_api::{Mark, QueueState, Switch};
use wayleave_units::Bytes;

use super::{DropCause, Dropped, IncomingPacket, NetworkState, Sample, SampleKind, Step};
use crate::clock::{self, Instant};
use crate::link::Port;
use crate::packet::{Flags, NO_PACKET, Packet, PacketId};
use crate::port::{ForwardedQuery, SelectionTime};
use crate::trace::{DropReason, PacketEvent};

impl NetworkState {
    /// A packet comes to a port that holds its packets. Returns the packet that was dropped, this one or another, if one was.
    #[inline(never)]
    pub(super) fn enter_queued(&mut self, step: Step, number: u32, id: PacketId, now: Instant) -> Option<Dropped> {
        let link = step.link();
        self.catch_up(link, number, now, ForwardedQuery::Entering);
        let &Packet { size, flags, .. } = self.arena.get(id);
        let coming = IncomingPacket { id, size, flags };
        let free_at = self.links[link as usize].free_at;
        let is_sending = free_at > now;
        let port = &self.ports[number as usize];
        let queue = port.queue(step.queue());
        let mut held = port.held(queue, is_sending);
        let mut evicted = None;
        let has_room = match port.pool {
            None => port.has_room(queue, size, held),
            Some(pool) => port.fits_shared_buffer(size, held, &self.pools[pool.place()]),
        };
        let is_special = flags.has(Flags::ECN_CAPABLE) | port.roles.sees_all(queue) | port.pool.is_some();
        if !has_room {
            let Some(worst) = self.make_room((link, number), queue, coming, now) else {
                return Some(self.refuse(link, queue, id, now));
            };
            held -= self.arena.get(worst).size;
            evicted = Some(Dropped { id: worst, cause: DropCause::PushedOut });
        }
        if is_special | self.is_watched {
            self.accept_specially((link, number), queue, (coming, held), now);
        }
        let record = link as usize * self.stride + usize::from(queue);
        let port = &mut self.ports[number as usize];
        if !is_sending && port.is_empty() && !port.is_scheduled {
            self.records[record].immediate += 1;
            self.send(link, number, queue, id, now);
            return evicted;
        }
        let packet = self.arena.get_mut(id);
        packet.due = now;
        packet.next = NO_PACKET;
        port.push(queue, id, size, &mut self.arena);
        let is_at_once = port.choice == SelectionTime::AtOnce;
        let peak = &mut self.records[record].peak;
        *peak = (*peak).max(held + size);
        self.count(Sample { record: record as u32, kind: SampleKind::Found, value: u64::from(held) });
        if is_at_once {
            self.schedule_service(link, now);
        }
        evicted
    }

    /// Accepts a packet that finds `held` bytes in its queue and that needs special handling: by the queue's switch
    /// role, a shared buffer, the trace, or the port's levels.
    #[inline(never)]
    fn accept_specially(
        &mut self,
        (link, number): (u32, u32),
        queue: u8,
        (IncomingPacket { id, size, flags }, held): (IncomingPacket, u32),
        now: Instant,
    ) {
        let free_at = self.links[link as usize].free_at;
        let port = &self.ports[number as usize];
        if let Some(pool) = port.pool {
            self.pools[pool.place()].used += u64::from(size);
        }
        let is_capable = flags.has(Flags::ECN_CAPABLE);
        if is_capable || port.roles.sees_all(queue) {
            let idle_since = (free_at <= now && held == 0).then(|| clock::to_time(free_at));
            let found = QueueState { queued: Bytes::new(u64::from(held)), idle_since };
            let mark = self.switches[port.roles.place(queue)].on_arrival(clock::to_time(now), found, size);
            if is_capable && mark == Mark::Congestion {
                self.arena.get_mut(id).flags = flags.with(Flags::MARKED);
                self.records[link as usize * self.stride + usize::from(queue)].marks += 1;
            }
        }
        if self.is_watched {
            self.note(PacketEvent::Enqueued, (link, queue), id, now);
            self.level(link, size, free_at, now);
        }
    }

    /// By remaining size: a packet that has no room puts out another one, which is returned.
    #[cold]
    fn make_room(
        &mut self,
        (link, number): (u32, u32),
        queue: u8,
        IncomingPacket { id, size, .. }: IncomingPacket,
        now: Instant,
    ) -> Option<PacketId> {
        let port = &mut self.ports[number as usize];
        if !port.is_up {
            return None;
        }
        let urgency = self.arena.get(id).urgency();
        let worst = port.make_room(urgency, size, &self.arena)?;
        if let Some(pool) = port.pool {
            let pool = &mut self.pools[pool.place()];
            pool.used = pool.used.saturating_sub(u64::from(self.arena.get(worst).size));
        }
        self.records[link as usize * self.stride + usize::from(queue)].drops += 1;
        self.note(PacketEvent::Dropped(DropReason::PushedOut), (link, queue), worst, now);
        Some(worst)
    }

    /// Puts the event of a port that is busy and has more to send.
    #[inline]
    pub(crate) fn schedule_service(&mut self, link: u32, now: Instant) {
        let actor = self.service_actor(link);
        let state = &self.links[link as usize];
        let Port::Queued(port) = state.port() else { return };
        let port = &mut self.ports[port as usize];
        if !port.is_scheduled && port.choice == SelectionTime::AtOnce {
            port.is_scheduled = true;
            self.events.put(state.free_at.max(now), actor);
        }
    }

    /// A port that chooses late makes the choices that were due. All that has come to it before is there.
    #[inline(always)]
    pub(super) fn catch_up(&mut self, link: u32, number: u32, now: Instant, who: ForwardedQuery) {
        let port = &self.ports[number as usize];
        if port.is_empty() || port.choice == SelectionTime::AtOnce {
            return;
        }
        let until = match (port.choice, who) {
            (SelectionTime::AfterArrivals, ForwardedQuery::Entering) | (_, ForwardedQuery::Arriving) => now,
            (_, ForwardedQuery::Entering | ForwardedQuery::Everything) => now + 1,
        };
        if self.links[link as usize].free_at < until {
            self.send_until(link, number, until);
        }
    }

    /// Sends all packets of a port before a time.
    #[inline(never)]
    fn send_until(&mut self, link: u32, number: u32, until: Instant) {
        loop {
            let free_at = self.links[link as usize].free_at;
            if free_at >= until || !self.send_next(link, number, free_at) {
                return;
            }
        }
    }

    /// All ports make the choices that were due until now.
    pub(crate) fn catch_up_all(&mut self, now: Instant) {
        for link in 0..self.links() {
            if let Port::Queued(number) = self.links[link as usize].port() {
                self.catch_up(link, number, now, ForwardedQuery::Everything);
            }
        }
    }

    /// The event of a port that is free again: it sends the next packet.
    pub(crate) fn serve(&mut self, link: u32, now: Instant) {
        let Port::Queued(number) = self.links[link as usize].port() else { return };
        let port = &mut self.ports[number as usize];
        port.is_scheduled = false;
        if let Some(pool) = port.pool {
            let pool = &mut self.pools[pool.place()];
            pool.used = pool.used.saturating_sub(u64::from(port.last_sent()));
            port.finish_sending();
        }
        self.send_next(link, number, now);
    }

    /// Sends the next packet of a port whose line is free. Returns `true` if a packet waited.
    #[inline(always)]
    fn send_next(&mut self, link: u32, number: u32, now: Instant) -> bool {
        let Some((queue, id, since)) = self.ports[number as usize].pop(&self.arena) else { return false };
        let record = (link as usize * self.stride + usize::from(queue)) as u32;
        self.count(Sample { record, kind: SampleKind::Wait { own: 0 }, value: now - since });
        self.send(link, number, queue, id, now);
        true
    }

    /// An idle port sends a packet.
    #[inline(always)]
    fn send(&mut self, link: u32, number: u32, queue: u8, id: PacketId, now: Instant) {
        let &Packet { size, flags, .. } = self.arena.get(id);
        if flags.has(Flags::TELEMETRY) {
            self.stamp_queued((link, number), queue, id, now);
        }
        let port = &mut self.ports[number as usize];
        let has_more = port.choice == SelectionTime::AtOnce && (!port.is_empty() || port.pool.is_some());
        port.send(queue, size);
        let state = &mut self.links[link as usize];
        let speeds = &self.speeds;
        let transmission = state.transmission(size, || speeds[link as usize]);
        let (due, is_first) = state.append(id, transmission, now, &mut self.arena);
        self.hops += 1;
        let is_away = state.leaves_part();
        if is_first && !is_away {
            self.events.put(due, link);
        }
        if is_away | self.is_watched {
            self.send_specially(link, queue, id, now);
        }
        if has_more {
            self.schedule_service(link, now);
        }
    }

    /// A packet that asks for telemetry is about to be sent.
    #[inline(never)]
    fn stamp_queued(&mut self, (link, number): (u32, u32), queue: u8, id: PacketId, now: Instant) {
        let port = &self.ports[number as usize];
        if port.roles.stamps(queue) {
            let requests = (u64::from(port.held(queue, false)), port.sent(queue), port.class(queue));
            let role = port.roles.place(queue);
            self.stamp((link, role), requests, id, now);
        }
    }

    /// Reports a packet that a port has sent to the trace, or to another part of the network.
    #[cold]
    fn send_specially(&mut self, link: u32, queue: u8, id: PacketId, now: Instant) {
        let state = &self.links[link as usize];
        let (departs, is_away) = (state.free_at, state.leaves_part());
        self.note(PacketEvent::Departed, (link, queue), id, departs);
        if is_away {
            self.hand_over(link, now);
        }
    }
}
