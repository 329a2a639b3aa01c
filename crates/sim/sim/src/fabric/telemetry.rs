//! Telemetry of ports that are first come, first served: a packet that asks for it gets it when its first bit leaves.
//!
//! Such a port puts packets on the link as they come ([`crate::link`]) and has no event when one leaves. Only for a
//! packet that asks and has to wait there is one.

use std::collections::VecDeque;

use wayleave_scheme_api::{ClassHop, IntHop, Switch};
use wayleave_topology::LinkId;
use wayleave_units::Bytes;

use super::NetworkState;
use crate::clock::{self, Instant};
use crate::packet::PacketId;

/// State of a port for packets that request telemetry.
#[derive(Debug)]
pub(crate) struct Stamper {
    /// The place of its switch role.
    role: usize,
    /// Amount sent when the warm-up ended; the link's counts begin there.
    before: u64,
    /// Waiting packets that request telemetry: departure time, packet, and the amount that had come before since the
    /// warm-up.
    waiting: VecDeque<(Instant, PacketId, u64)>,
}

impl Stamper {
    pub(crate) fn new(role: usize) -> Self {
        Self { role, before: 0, waiting: VecDeque::new() }
    }

    /// All that waits is lost.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Restarts the link's counts now, after `sent`.
    pub(super) fn forget(&mut self, sent: u64) {
        self.before += sent;
        self.waiting.iter_mut().for_each(|(_, _, taken)| *taken = taken.saturating_sub(sent));
    }
}

impl NetworkState {
    /// A packet that asks for telemetry has come to a port, the last one, and leaves at this time.
    #[cold]
    pub(super) fn ask(&mut self, link: u32, (leaves, id): (Instant, PacketId), now: Instant) {
        let taken = self.links[link as usize].taken() - u64::from(self.arena.get(id).size);
        let Some(stamper) = self.stampers.get_mut(self.stamper_of[link as usize] as usize) else { return };
        if leaves <= now {
            self.write(link, id, taken, now);
            return;
        }
        stamper.waiting.push_back((leaves, id, taken));
        if stamper.waiting.len() == 1 {
            let actor = self.service_actor(link);
            self.events.put(leaves, actor);
        }
    }

    /// The event of a port at which packets that ask wait.
    pub(crate) fn answer_waiting(&mut self, link: u32, now: Instant) {
        let place = self.stamper_of[link as usize] as usize;
        let Some(stamper) = self.stampers.get_mut(place) else { return };
        // After a failure the list is empty, or has only later packets.
        if let Some(&(leaves, id, taken)) = stamper.waiting.front()
            && leaves == now
        {
            stamper.waiting.pop_front();
            let next = stamper.waiting.front().map(|next| next.0);
            self.write(link, id, taken, now);
            if let Some(at) = next {
                let actor = self.service_actor(link);
                self.events.put(at, actor);
            }
        }
    }

    /// A port writes its state into a packet that begins to leave it, before which `taken` had come.
    fn write(&mut self, link: u32, id: PacketId, taken: u64, now: Instant) {
        let stamper = &self.stampers[self.stamper_of[link as usize] as usize];
        let (role, sent) = (stamper.role, stamper.before + taken);
        let behind = self.links[link as usize].taken() - taken - u64::from(self.arena.get(id).size);
        self.stamp((link, role), (behind, sent, None), id, now);
    }

    /// Writes the state of a link's port and its switch role into a packet: the amount behind the packet, the amount
    /// sent before, and the state of other classes.
    pub(super) fn stamp(
        &mut self,
        (link, role): (u32, usize),
        (behind, sent, class): (u64, u64, Option<ClassHop>),
        id: PacketId,
        now: Instant,
    ) {
        let stack = self.arena.get(id).extra.telemetry();
        let probe = self.telemetry.probe(stack);
        let at = clock::to_time(now);
        let mut hop = IntHop {
            link: Some(LinkId(link)),
            rate: self.rates[link as usize],
            queue: Bytes::new(behind),
            sent: Bytes::new(sent),
            at,
            windows: probe.map_or(Bytes::ZERO, |at| at.window.window),
            class,
            ..IntHop::default()
        };
        self.switches[role].on_telemetry(at, probe.as_ref(), &mut hop);
        self.telemetry.push(stack, hop);
    }
}
