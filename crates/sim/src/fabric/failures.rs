//! Links that fail, with or without anybody being told, and why packets are lost.

use super::Fabric;
use crate::clock::Instant;
use crate::link::Port;
use crate::packet::PacketId;
use crate::recorder;
use crate::trace::Event;

/// A packet that goes no further; whoever gets it takes it out of the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) id: PacketId,
    pub(crate) cause: DropCause,
}

/// Why a packet goes no further. A switch can tell the sender of a probe about [`LinkDown`](Self::LinkDown) and
/// [`NoRoute`](Self::NoRoute).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropCause {
    /// Its queue, or the buffer of its switch, was full.
    QueueFull,
    /// A more urgent packet took its place.
    PushedOut,
    /// It came to the port of a link that is known to be down.
    LinkDown,
    /// It was on a link that failed, or waited for one, and everybody knows of the failure.
    LostOnLink,
    /// It came to, was on, or waited for a link that failed, and nobody knows of it.
    Silent,
    /// No path leads to its destination.
    NoRoute,
}

/// Whether a link works, and who knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Health {
    #[default]
    Up,
    /// Everybody knows: paths avoid it.
    Down,
    /// Nobody knows.
    SilentlyDown,
}

/// The health of a link, and what went wrong because of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkHealth {
    pub(super) state: Health,
    /// Packets lost by silent failures since the warm-up ended.
    pub(super) lost_silently: u64,
}

impl Fabric {
    /// A link fails; `to` says who knows. What is on it and what waits for it is lost: the caller drops it. A failure
    /// that is known stays known.
    pub(crate) fn fail(&mut self, link: u32, to: Health, now: Instant) -> Vec<Dropped> {
        let health = &mut self.health[link as usize];
        if health.state != Health::Down {
            health.state = to;
        }
        let is_silent = health.state == Health::SilentlyDown;
        let state = &mut self.links[link as usize];
        let mut gone = Vec::new();
        state.clear(now, &self.arena, |id| gone.push(id));
        match state.port() {
            Port::Fifo => state.limit = 0,
            Port::Queued(number) => {
                let port = &mut self.ports[number as usize];
                port.is_up = false;
                let sending = port.last_sent();
                let mut freed = if port.is_scheduled { u64::from(sending) } else { 0 };
                while let Some((_, id)) = port.pop(&mut self.arena) {
                    freed += u64::from(self.arena.get(id).size);
                    gone.push(id);
                }
                port.finish_sending();
                if let Some(pool) = port.pool {
                    let pool = &mut self.pools[pool as usize];
                    pool.used = pool.used.saturating_sub(freed);
                }
            }
        }
        for &id in &gone {
            self.note(Event::Lost, (link, 0), id, now);
        }
        let cause = if is_silent { DropCause::Silent } else { DropCause::LostOnLink };
        if is_silent {
            self.health[link as usize].lost_silently += gone.len() as u64;
        }
        gone.into_iter().map(|id| Dropped { id, cause }).collect()
    }

    /// A link works again. Returns whether that is news: nobody knew of a silent failure.
    pub(crate) fn repair(&mut self, link: u32) -> bool {
        let limit = self.limits[link as usize];
        let state = &mut self.links[link as usize];
        match state.port() {
            Port::Fifo => state.limit = limit,
            Port::Queued(number) => self.ports[number as usize].is_up = true,
        }
        std::mem::take(&mut self.health[link as usize].state) != Health::SilentlyDown
    }

    /// A port does not take a packet: it is full, or its link is down.
    #[cold]
    pub(super) fn refuse(&mut self, link: u32, queue: u8, id: PacketId, now: Instant) -> Dropped {
        let health = &mut self.health[link as usize];
        let cause = match health.state {
            Health::Up => DropCause::QueueFull,
            Health::Down => DropCause::LinkDown,
            Health::SilentlyDown => DropCause::Silent,
        };
        if cause == DropCause::Silent {
            // No counter of the port shows it.
            health.lost_silently += 1;
            self.note(Event::Lost, (link, queue), id, now);
        } else {
            self.records[link as usize * self.stride + usize::from(queue)].drops += 1;
            self.note(recorder::FULL, (link, queue), id, now);
        }
        Dropped { id, cause }
    }
}
