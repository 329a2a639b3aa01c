//! Ports that hold their packets until they send them: several queues, another order, a shared buffer, telemetry.
//!
//! What such a port sends next depends on what has come until the line is free. A port with an event at that time
//! ([`Fabric::serve`]) chooses then. Most ports need none: nobody sees the choice before its packet arrives at the other end of
//! the link, so it is made up for ([`Fabric::catch_up`]) when that is due, or when another packet comes. Both choose the same.

use wayleave_roles::{Mark, QueueState, Switch};
use wayleave_units::Bytes;

use super::{DropCause, Dropped, Fabric, Sample, SampleKind};
use crate::clock::{self, Instant};
use crate::link::Port;
use crate::packet::{Flags, NO_PACKET, PacketId};
use crate::port::{Asking, Choice};
use crate::trace::{DropReason, Event};

impl Fabric {
    #[inline(never)]
    pub(super) fn enter_queued(
        &mut self,
        link: u32,
        number: u32,
        asked: u8,
        id: PacketId,
        now: Instant,
    ) -> Option<Dropped> {
        self.catch_up(link, number, now, Asking::Entering);
        let state = &self.links[link as usize];
        let is_sending = state.free_at > now;
        let port = &mut self.ports[number as usize];
        let queue = port.queue(asked);
        let size = self.arena.get(id).size;
        let mut held = port.held(queue, is_sending);
        let pool = port.pool.map(|pool| &self.pools[pool.place()]);
        let mut evicted = None;
        if !port.has_room(queue, size, held, pool) {
            let urgency = self.arena.get(id).urgency();
            if port.is_up
                && let Some(worst) = port.make_room(urgency, size, &self.arena)
            {
                let freed = self.arena.get(worst).size;
                held -= freed;
                if let Some(pool) = port.pool {
                    let pool = &mut self.pools[pool.place()];
                    pool.used = pool.used.saturating_sub(u64::from(freed));
                }
                evicted = Some(Dropped { id: worst, cause: DropCause::PushedOut });
                self.records[link as usize * self.stride + usize::from(queue)].drops += 1;
                self.note(Event::Dropped(DropReason::PushedOut), (link, queue), worst, now);
            } else {
                return Some(self.refuse(link, queue, id, now));
            }
        }
        self.accept(link, number, queue, id, held, now);
        evicted
    }

    /// A packet for which there is room.
    fn accept(&mut self, link: u32, port: u32, queue: u8, id: PacketId, held: u32, now: Instant) {
        let free_at = self.links[link as usize].free_at;
        let is_sending = free_at > now;
        let record = link as usize * self.stride + usize::from(queue);
        let packet = self.arena.get_mut(id);
        let size = packet.size;
        packet.due = now;
        packet.next = NO_PACKET;
        let is_capable = packet.flags.has(Flags::ECN_CAPABLE);
        let roles = self.ports[port as usize].roles;
        if is_capable || roles.sees_all(queue) {
            let idle_since = (!is_sending && held == 0).then(|| clock::to_time(free_at));
            let found = QueueState { queued: Bytes::new(u64::from(held)), idle_since };
            let mark = self.switches[roles.place(queue)].on_arrival(clock::to_time(now), found, size);
            if is_capable && mark == Mark::Congestion {
                packet.flags = packet.flags.with(Flags::MARKED);
                self.records[record].marks += 1;
            }
        }
        if self.is_watched {
            self.note(Event::Enqueued, (link, queue), id, now);
            self.level(link, size, free_at, now);
        }
        let state = &mut self.ports[port as usize];
        let is_at_once = state.choice == Choice::AtOnce;
        if let Some(pool) = state.pool {
            self.pools[pool.place()].used += u64::from(size);
        }
        if !is_sending && state.is_empty() && !state.is_scheduled {
            self.records[record].immediate += 1;
            self.send(link, port, queue, id, now);
            return;
        }
        state.push(queue, id, size, &mut self.arena);
        self.records[record].peak = self.records[record].peak.max(held + size);
        self.count(Sample { record: record as u32, kind: SampleKind::Found, value: u64::from(held) });
        if is_at_once {
            self.schedule_service(link, now);
        }
    }

    /// Puts the event of a port that is busy and has more to send.
    #[inline]
    pub(crate) fn schedule_service(&mut self, link: u32, now: Instant) {
        let actor = self.service_actor(link);
        let state = &self.links[link as usize];
        let Port::Queued(port) = state.port() else { return };
        let port = &mut self.ports[port as usize];
        if !port.is_scheduled && port.choice == Choice::AtOnce {
            port.is_scheduled = true;
            self.events.put(state.free_at.max(now), actor);
        }
    }

    /// A port that chooses late makes the choices that were due. All that has come to it before is there.
    #[inline]
    pub(super) fn catch_up(&mut self, link: u32, number: u32, now: Instant, who: Asking) {
        let port = &self.ports[number as usize];
        if port.is_empty() {
            return;
        }
        let until = match (port.choice, who) {
            (Choice::AtOnce, _) => return,
            (Choice::AfterArrivals, Asking::Entering) | (_, Asking::Arriving) => now,
            (Choice::BeforeSources, Asking::Entering) | (_, Asking::Everything) => now + 1,
        };
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
                self.catch_up(link, number, now, Asking::Everything);
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

    /// A port whose line is free sends the next packet, if one waits. Whether one did.
    fn send_next(&mut self, link: u32, number: u32, now: Instant) -> bool {
        let Some((queue, id)) = self.ports[number as usize].pop(&self.arena) else { return false };
        let waited = now - self.arena.get(id).due;
        let record = (link as usize * self.stride + usize::from(queue)) as u32;
        self.count(Sample { record, kind: SampleKind::Wait { own: 0 }, value: waited });
        self.send(link, number, queue, id, now);
        true
    }

    /// An idle port sends a packet.
    #[inline(always)]
    fn send(&mut self, link: u32, number: u32, queue: u8, id: PacketId, now: Instant) {
        let packet = self.arena.get(id);
        let (size, asks) = (packet.size, packet.flags.has(Flags::TELEMETRY));
        let port = &mut self.ports[number as usize];
        let has_more = port.choice == Choice::AtOnce && (!port.is_empty() || port.pool.is_some());
        if asks && port.roles.stamps(queue) {
            let said = (u64::from(port.held(queue, false)), port.sent(queue), port.class(queue));
            let role = port.roles.place(queue);
            self.stamp((link, role), said, id, now);
        }
        self.ports[number as usize].send(queue, size);
        let state = &mut self.links[link as usize];
        let speeds = &self.speeds;
        let transmission = state.transmission(size, || speeds[link as usize]);
        let (due, is_first) = state.append(id, transmission, now, &mut self.arena);
        let (departs, is_away) = (state.free_at, state.is_away());
        self.hops += 1;
        self.note(Event::Departed, (link, queue), id, departs);
        if is_away {
            self.hand_over(link, now);
        } else if is_first {
            self.events.put(due, link);
        }
        if has_more {
            self.schedule_service(link, now);
        }
    }
}
