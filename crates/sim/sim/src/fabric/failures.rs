//! Links that fail, with or without notification.

use super::NetworkState;
use super::health::{DropCause, Dropped, Health};
use crate::clock::Instant;
use crate::link::Port;
use crate::packet::PacketId;
use crate::port::ForwardedQuery;
use crate::recorder;
use crate::trace::PacketEvent;

impl NetworkState {
    /// Fails a link; `to` is its new state, known or silent. Returns the packets on the link or queued for it, which
    /// the caller drops. A failure that is known stays known.
    pub(crate) fn fail(&mut self, link: u32, to: Health, now: Instant) -> Vec<Dropped> {
        let health = &mut self.health[link as usize];
        if health.state != Health::Down {
            health.state = to;
        }
        let is_silent = health.state == Health::SilentlyDown;
        if let Port::Queued(port) = self.links[link as usize].port() {
            self.catch_up(link, port, now, ForwardedQuery::Everything);
        }
        let state = &mut self.links[link as usize];
        let mut gone = Vec::new();
        state.clear(now, &self.arena, |id| gone.push(id));
        match state.port() {
            Port::Fifo => {
                state.limit = 0;
                if let Some(stamper) = self.stampers.get_mut(self.stamper_of[link as usize] as usize) {
                    stamper.clear();
                }
            }
            Port::Queued(number) => {
                let port = &mut self.ports[number as usize];
                port.is_up = false;
                let sending = port.last_sent();
                let mut freed = if port.is_scheduled { u64::from(sending) } else { 0 };
                while let Some((_, id, _)) = port.pop(&self.arena) {
                    freed += u64::from(self.arena.get(id).size);
                    gone.push(id);
                }
                port.finish_sending();
                if let Some(pool) = port.pool {
                    let pool = &mut self.pools[pool.place()];
                    pool.used = pool.used.saturating_sub(freed);
                }
            }
        }
        for &id in &gone {
            self.note(PacketEvent::Lost, (link, 0), id, now);
        }
        let cause = if is_silent { DropCause::Silent } else { DropCause::LostOnLink };
        if is_silent {
            self.health[link as usize].lost_silently += gone.len() as u64;
        }
        gone.into_iter().map(|id| Dropped { id, cause }).collect()
    }

    /// Repairs a link. Returns `true` if the failure was known: a silent one was not.
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
            self.note(PacketEvent::Lost, (link, queue), id, now);
        } else {
            self.records[link as usize * self.stride + usize::from(queue)].drops += 1;
            self.note(recorder::FULL, (link, queue), id, now);
        }
        Dropped { id, cause }
    }
}
