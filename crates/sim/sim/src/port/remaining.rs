//! A queue whose packets are ordered by the remaining sizes of their flows (pFabric, SIGCOMM 2013, section 4.2).

use std::collections::BTreeMap;

use crate::packet::{Packet, PacketId};

/// Packets by urgency and by flow, so that no choice scans all of them: a full port has hundreds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remaining {
    /// Packets that came, ever: the number of the next.
    arrivals: u64,
    /// By the remaining sizes of their flows, and in order of arrival among equals.
    by_urgency: BTreeMap<(u32, u64), (u32, PacketId)>,
    /// Of each flow in order of arrival, with its remaining size.
    by_flow: BTreeMap<(u32, u64), (u32, PacketId)>,
}

impl Remaining {
    pub(super) fn push(&mut self, id: PacketId, packet: &Packet) {
        let (arrival, urgency) = (self.arrivals, packet.urgency());
        self.arrivals += 1;
        self.by_urgency.insert((urgency, arrival), (packet.flow, id));
        self.by_flow.insert((packet.flow, arrival), (urgency, id));
    }

    /// Takes the earliest packet of the flow with the least left: a flow is not reordered.
    pub(super) fn pop(&mut self) -> Option<PacketId> {
        let &(flow, _) = self.by_urgency.first_key_value()?.1;
        let (&(_, arrival), &(urgency, id)) = self.by_flow.range((flow, 0)..).next()?;
        self.by_urgency.remove(&(urgency, arrival));
        self.by_flow.remove(&(flow, arrival));
        Some(id)
    }

    /// The packet whose flow has the most left, the latest of those: it makes room for another.
    pub(super) fn least_urgent(&self) -> Option<(u32, PacketId)> {
        let (&(urgency, _), &(_, id)) = self.by_urgency.last_key_value()?;
        Some((urgency, id))
    }

    /// Takes that packet.
    pub(super) fn pop_least_urgent(&mut self) {
        if let Some(((_, arrival), (flow, _))) = self.by_urgency.pop_last() {
            self.by_flow.remove(&(flow, arrival));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_urgency.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Arena, Kind, KindFields};
    use wayleave_repo_checks::Random;

    /// The choices as pFabric states them, by a scan over every queued packet.
    #[derive(Default)]
    struct Stated(Vec<(u32, u32, PacketId)>);

    impl Stated {
        fn pop(&mut self) -> Option<PacketId> {
            let flow = self.0.iter().min_by_key(|(urgency, ..)| *urgency)?.1;
            let at = self.0.iter().position(|&(_, of, _)| of == flow)?;
            Some(self.0.remove(at).2)
        }

        fn pop_least_urgent(&mut self) -> Option<PacketId> {
            let most = self.0.iter().map(|&(urgency, ..)| urgency).max()?;
            let at = self.0.iter().rposition(|&(urgency, ..)| urgency == most)?;
            Some(self.0.remove(at).2)
        }
    }

    #[test]
    fn the_next_packet_and_the_evicted_one_follow_the_rules() {
        let mut random = Random::new(7);
        let mut arena = Arena::new();
        let (mut queue, mut stated) = (Remaining::default(), Stated::default());
        for _ in 0..20_000 {
            match random.below(5) {
                0 | 1 => {
                    let (flow, left) = (random.below(6) as u32, random.below(8));
                    let packet = Packet {
                        flow,
                        kind: Kind::Data,
                        size: 1_500,
                        extra: KindFields::data(left, 0),
                        ..Packet::default()
                    };
                    let urgency = packet.urgency();
                    let id = arena.insert(packet);
                    queue.push(id, arena.get(id));
                    stated.0.push((urgency, flow, id));
                }
                2 => assert_eq!(queue.pop(), stated.pop()),
                _ if random.below(3) == 0 => {
                    let worst = queue.least_urgent();
                    queue.pop_least_urgent();
                    assert_eq!(worst.map(|(_, id)| id), stated.pop_least_urgent());
                }
                _ => assert_eq!(queue.is_empty(), stated.0.is_empty()),
            }
        }
    }
}
