//! State of a group relative to a time: two equal states have the same future, shifted in time.
//!
//! The future of a group depends only on its senders, its receivers, the interfaces that send for it, the packets on
//! its links and its events. It shares no port with other flows, nothing in it is random ([`super::scope`]), and
//! simultaneous events are ordered by their actors. Times are compared relative to the time of the state, segments
//! relative to the first that is not acknowledged. A time that only matters while it is ahead counts as 0 once it is
//! past.

use super::member::Member;
use super::parts::Parts;
use crate::clock::Instant;
use crate::flows::{Flow, FlowState};
use crate::hosts::NO_PAIR;
use crate::packet::{Block, Kind, Packet};
use crate::transport::Control;

/// State of a group. Only states of the same group can be compared.
#[derive(Clone, Debug)]
pub(super) struct State {
    words: Vec<u64>,
    controls: Vec<Control>,
}

impl State {
    /// Returns the state of flows and of their links at a time, or the reason why it is not compared.
    pub(super) fn of(
        members: &[Member],
        links: &[u32],
        parts: &mut Parts<'_>,
        now: Instant,
    ) -> Result<Self, &'static str> {
        let mut state = Self { words: Vec::new(), controls: Vec::with_capacity(members.len()) };
        for member in members {
            state.add_flow(&parts.flows[member.slot], now)?;
        }
        for &link in links {
            let is_plain = parts.interfaces.on(link).is_none_or(|interface| interface.add_state(now, &mut state.words));
            if !is_plain {
                return Err("hosts share among classes");
            }
            state.words.push(parts.fabric.free_at(link).saturating_sub(now));
        }
        state.add_packets(members, parts, now)?;
        state.add_events(links, parts, now);
        Ok(state)
    }

    /// Checks if the group repeats itself: it was in this state, and is in the later one after each flow has
    /// acknowledged these numbers of segments. The error is the difference.
    pub(super) fn is_repeated_by(&self, later: &Self, segments: &[u32]) -> Result<(), &'static str> {
        let controls = self.controls.iter().zip(&later.controls).zip(segments);
        if self.words != later.words {
            return Err("the state does not repeat itself");
        }
        for ((before, later), &segments) in controls {
            if !before.is_repeated_by(later, segments) {
                return Err("windows change");
            }
        }
        Ok(())
    }

    fn add_flow(&mut self, flow: &Flow, now: Instant) -> Result<(), &'static str> {
        if flow.pair != NO_PAIR || flow.is_tunnelled || flow.supply.is_some() || flow.reorder.is_some() {
            return Err("something beside congestion control limits a flow");
        }
        let sender = flow.sender.state();
        let ahead = flow.receiver.in_order().and_then(|expected| expected.checked_sub(sender.acknowledged));
        let Some(ahead) = ahead else { return Err("losses are being repaired") };
        let state = match flow.state {
            FlowState::Waiting => 0,
            FlowState::Ready => 1,
            FlowState::Blocked | FlowState::Acked | FlowState::Free => return Err("a flow makes no progress"),
        };
        self.words.extend([state, u64::from(ahead), u64::from(flow.granted), u64::from(flow.in_transit)]);
        let control = flow.sender.add_state(flow.local(now), &mut self.words);
        self.controls.push(control?);
        Ok(())
    }

    /// Adds the packets of the group. A packet on a link is due later than now, and first-come-first-served ports
    /// have packets only there. Slots of former packets are skipped: those were due before.
    fn add_packets(&mut self, members: &[Member], parts: &Parts<'_>, now: Instant) -> Result<(), &'static str> {
        let mut packets: Vec<[u64; 6]> = Vec::new();
        let mut counts = vec![0; members.len()];
        for id in 0..parts.fabric.peak_packets() as u32 {
            let packet = parts.fabric.packet(id);
            if packet.due <= now {
                continue;
            }
            let Ok(place) = members.binary_search_by_key(&packet.flow, |member: &Member| member.slot) else {
                continue;
            };
            counts[place] += 1;
            let first = parts.flows[packet.flow].sender.state().acknowledged;
            packets.push(words_of(packet, place, first, now)?);
        }
        let are_all = counts.iter().zip(members).all(|(&count, member)| count == parts.flows[member.slot].in_transit);
        if !are_all {
            return Err("packets are not on links");
        }
        packets.sort_unstable();
        self.words.extend(packets.into_iter().flatten());
        Ok(())
    }

    /// Times at which packets arrive and interfaces have turns. Alarms of flows follow from their timers: one that rings early changes nothing.
    fn add_events(&mut self, links: &[u32], parts: &mut Parts<'_>, now: Instant) {
        let count = parts.fabric.links();
        let is_ours = |actor: u32| actor < 2 * count && links.binary_search(&(actor % count)).is_ok();
        let mut events = parts.fabric.take_events(is_ours);
        events.sort_unstable();
        for (at, actor) in events {
            self.words.extend([at - now, u64::from(actor)]);
            parts.fabric.schedule(at, actor);
        }
    }
}

/// A packet, relative to a time and to the first segment of its flow that is not acknowledged. The place of its flow comes first.
fn words_of(packet: &Packet, place: usize, first: u32, now: Instant) -> Result<[u64; 6], &'static str> {
    let relative = |sequence: u32| u64::from(sequence.wrapping_sub(first));
    let expected = match packet.kind {
        Kind::Data => 0,
        Kind::Ack if packet.extra.block() == Block::default() => relative(packet.extra.expected()),
        Kind::Ack => return Err("losses are being repaired"),
        _ => return Err("something beside flows sends packets"),
    };
    let what = [packet.kind as u8, packet.flags.bits(), packet.path, packet.hop];
    Ok([
        place as u64,
        packet.due - now,
        // An acknowledgement has the time at which its segment was sent, which is past.
        now.wrapping_sub(packet.sent),
        relative(packet.sequence) << 32 | expected,
        u64::from(u32::from_le_bytes(what)) << 32 | u64::from(packet.size),
        u64::from(packet.route),
    ])
}
