//! Packets of pairs at their hosts: the stack admits, counts and answers them, and machines are notified.
//!
//! Tokens and room in windows are taken when a flow or a packet is let go, one segment at a time: what a flow was granted
//! and does not send goes back. So nothing that waits behind the interface can be overtaken in the buckets.

use wayleave_scheme_api::{
    Arrivals, ClassId, Departure, Host, HostInput, IntHop, LocalFlow, Path, PathIndex, PathReport,
};
use wayleave_schemes::hosts::{AnyMessage, AnyTimer};
use wayleave_stack::{ClassStep, FlowQueries as StackFlows, PairBacklog};
use wayleave_units::Bytes;

use super::action::Action;
use super::slot::{HostId, NO_PAIR, PairSlot};
use super::state::{self, Hosts, Stack};
use super::timers::HostTimer;
use crate::clock::{self, Instant};
use crate::fabric::{NetworkState, Step};
use crate::flows::{Flow, FlowSlot, Flows};
use crate::packet::{Flags, Kind, Packet, PacketId};

/// Time for which a window waits for answers before its packets in flight count as lost, in ps: the shortest usual
/// retransmission time-out in datacenters (DCTCP, SIGCOMM 2010, section 4: 10 ms).
const SILENCE: Instant = 10_000_000_000;

/// Next step of a class.
type NextOfClass = ClassStep<FlowSlot, (PacketId, Step)>;

/// Flow or packet that waits at a host.
pub(crate) type HostWaitQueue = PairBacklog<FlowSlot, (PacketId, Step)>;

/// View of flows for a host's stack.
pub(crate) struct SendQuery<'a> {
    flows: &'a mut Flows,
    fabric: &'a NetworkState,
    now: Instant,
}

impl StackFlows<FlowSlot, (PacketId, Step)> for SendQuery<'_> {
    fn next_bytes(&self, flow: FlowSlot) -> Option<u32> {
        let flow = &self.flows[flow];
        flow.can_send(self.fabric, self.now).then(|| flow.next_bytes())
    }

    fn choose(&mut self, what: HostWaitQueue, departure: Departure) -> u32 {
        let flow = match what {
            PairBacklog::Flow(flow) => flow,
            PairBacklog::Packet((id, _), _) => match self.fabric.packet(id) {
                packet if packet.kind == Kind::Data => packet.flow,
                // A source keeps to one path.
                packet => return packet.flow % departure.paths.max(1),
            },
        };
        self.flows[flow].path.choose(clock::to_time(self.now), departure)
    }

    fn local(&self, what: HostWaitQueue) -> LocalFlow {
        let flow = match what {
            PairBacklog::Flow(flow) => flow,
            PairBacklog::Packet((id, _), _) => match self.fabric.packet(id) {
                packet if packet.kind == Kind::Data => packet.flow,
                // The sources of a pair count as one flow.
                _ => return LocalFlow(0),
            },
        };
        LocalFlow(self.flows[flow].local)
    }
}

/// Event that a pair or a class waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitReason {
    /// A pair, until this time, or for an event.
    Pair(PairSlot, Option<Instant>),
    /// A class of a host, until this time.
    Class(HostId, u32, Instant),
    /// A class of the host that a pair leaves, until this time.
    ClassOf(PairSlot, ClassId, Instant),
}

impl<'a> SendQuery<'a> {
    pub(crate) fn new(flows: &'a mut Flows, fabric: &'a NetworkState, now: Instant) -> Self {
        Self { flows, fabric, now }
    }
}

impl Hosts {
    /// The stack of a pair's host, and its number there.
    pub(crate) fn stack(&mut self, slot: PairSlot) -> Option<(&mut Stack, u32)> {
        let pair = self.pairs.get(slot as usize)?;
        Some((&mut self.hosts[pair.sender as usize].stack, pair.outgoing.0))
    }

    /// The stack of a host.
    pub(crate) fn stack_at(&mut self, host: HostId) -> &mut Stack {
        &mut self.hosts[host as usize].stack
    }

    /// Sends a segment of a flow: the grant beyond its size is returned. Returns the count that its answer has to
    /// bring back.
    #[cold]
    pub(crate) fn charge(&mut self, flow: &mut Flow, bytes: u32, path: u8, now: Instant) -> Option<u64> {
        let (slot, granted) = (flow.pair, std::mem::take(&mut flow.granted));
        if granted > bytes
            && let Some((stack, pair)) = self.stack(slot)
        {
            stack.put_back(pair, granted, bytes);
        }
        self.left(slot, bytes, granted, path, now)
    }

    /// Records bytes of a pair that leave its host, for which `granted` had been granted. Returns the count that
    /// their answer has to bring back.
    pub(crate) fn left(&mut self, slot: PairSlot, bytes: u32, granted: u32, path: u8, now: Instant) -> Option<u64> {
        let pair = &mut self.pairs[slot as usize];
        pair.used_at = now;
        let (sender, scheme, outgoing) = (pair.sender, pair.scheme, pair.outgoing);
        self.account.sent(pair, bytes, now);
        if pair.path.replace(path).is_some_and(|before| before != path) {
            self.account.moved(pair);
        }
        let path = PathIndex(u32::from(path));
        let sent = self.hosts[sender as usize].stack.sent(outgoing.0, path, bytes, granted, now);
        let bytes = Bytes::new(u64::from(bytes));
        self.notify(sender, scheme, HostInput::Sent { pair: outgoing, path, bytes }, now);
        sent
    }

    /// A packet of a pair arrives.
    #[cold]
    pub(crate) fn arrived(&mut self, slot: PairSlot, packet: &Packet, fabric: &mut NetworkState, now: Instant) {
        let incoming = self.incoming(slot, fabric, now);
        let pair = &mut self.pairs[slot as usize];
        pair.used_at = now;
        let (receiver, scheme) = (pair.receiver, pair.scheme);
        let bytes = Bytes::new(u64::from(packet.size));
        let arrivals = Arrivals {
            bytes,
            marked: if packet.flags.has(Flags::MARKED) { bytes } else { Bytes::ZERO },
            lost: Bytes::new(std::mem::take(&mut pair.lost)),
        };
        self.account.received(pair, packet.size, now);
        if let Some(promises) = &mut self.promises {
            promises.received(pair.to_place, packet.size, now);
            let (from, to, class, ..) = pair.key;
            let (first, _) = fabric.ends(&pair.forward, u32::from(packet.path));
            let links = || fabric.links_of(first, packet.route, Step::from_bits(packet.last_hop));
            promises.carried.arrived((slot, pair.epoch), (from, to, class), (packet.route, packet.size, now), links);
        }
        self.notify(receiver, scheme, HostInput::Received { pair: incoming, arrivals }, now);
    }

    /// Returns `true` if a source's packet may be queued.
    pub(crate) fn has_place(&self, slot: PairSlot, bytes: u32) -> bool {
        let pair = &self.pairs[slot as usize];
        let queued = self.hosts[pair.sender as usize].stack.queued(pair.outgoing.0);
        queued + u64::from(bytes) <= self.sharing.packet_queue.get()
    }

    /// The packet of its tunnel that a pair could send now if it had its turn at the interface, its bytes and the weight of
    /// the pair's turns.
    pub(crate) fn next_of_tunnel(&mut self, slot: PairSlot, sending: &SendQuery<'_>) -> Option<(Step, u32, u32)> {
        let pair = self.pairs.get(slot as usize)?;
        let weight = pair.turns.unwrap_or(pair.weight);
        let (stack, pair) = self.stack(slot)?;
        let ((_, first), bytes) = stack.next_of_tunnel(pair, sending.now, sending)?;
        Some((first, bytes, weight))
    }

    /// Returns the next step of a class, and its pair; any pair of the host if the step concerns none.
    pub(crate) fn serve(
        &mut self,
        host: HostId,
        class: u32,
        mut sending: SendQuery<'_>,
    ) -> Option<(NextOfClass, PairSlot)> {
        let host = self.hosts.get_mut(host as usize)?;
        let step = host.stack.serve(ClassId(class), sending.now, &mut sending);
        let slot = match step {
            ClassStep::Go(pair, ..) | ClassStep::Drop(pair, ..) | ClassStep::PairWaits(pair, _) => {
                host.outgoing[pair as usize]
            }
            ClassStep::Waits(_) | ClassStep::Idle => {
                host.outgoing.iter().copied().find(|&slot| slot != NO_PAIR).unwrap_or(NO_PAIR)
            }
        };
        Some((step, slot))
    }

    /// A pair or a class waits.
    pub(crate) fn wait(&mut self, wait: WaitReason, fabric: &mut NetworkState, now: Instant) {
        let (at, what) = match wait {
            WaitReason::Pair(slot, Some(at)) => (at, HostTimer::Pair(slot)),
            WaitReason::Pair(slot, None) => return self.watch_window(slot, fabric, now),
            WaitReason::Class(host, class, at) => (at, HostTimer::Class(host, class)),
            WaitReason::ClassOf(slot, class, at) => (at, HostTimer::Class(self.pairs[slot as usize].sender, class.0)),
        };
        self.timer_queue.arm(at, what, fabric, now);
    }

    /// Passes an input to a machine; its actions are queued after the pending ones.
    pub(super) fn notify(
        &mut self,
        host: HostId,
        scheme: u8,
        input: HostInput<'_, AnyMessage, AnyTimer>,
        now: Instant,
    ) {
        let Self { hosts, actions, .. } = self;
        hosts[host as usize].roles[usize::from(scheme)].on(state::time(now), input, &mut |action| {
            actions.push_back(Action::Host(host, scheme, action));
        });
    }

    /// Passes an acknowledgement's report on a path to the pair's path scheme.
    pub(crate) fn report_path(&mut self, slot: PairSlot, report: PathReport, hops: &[IntHop], now: Instant) {
        let Some((stack, pair)) = self.stack(slot) else { return };
        let path = report.path;
        stack.on_path_report(pair, report, now);
        if !hops.is_empty() {
            stack.on_path_telemetry(pair, path, hops, now);
        }
    }

    /// Handles the answer to a packet, which carries the count that its pair had sent on its path. Returns `true` if
    /// the pair may continue.
    #[cold]
    pub(crate) fn window_answered(&mut self, slot: PairSlot, path: u8, sent: u64, now: Instant) -> bool {
        if let Some(promises) = &mut self.promises
            && let Some(pair) = self.pairs.get(slot as usize)
        {
            promises.answered((slot, pair.epoch, path), sent);
        }
        let path = PathIndex(u32::from(path));
        self.stack(slot).is_some_and(|(stack, pair)| stack.answered(pair, path, sent, now))
    }

    /// Handles a time-out of a pair's transport: packets in flight will not be answered. Returns `true` if the pair
    /// may continue.
    #[cold]
    pub(crate) fn forget_in_flight(&mut self, slot: PairSlot) -> bool {
        if let Some(promises) = &mut self.promises
            && let Some(pair) = self.pairs.get(slot as usize)
        {
            promises.forget(slot, pair.epoch);
        }
        self.stack(slot).is_some_and(|(stack, pair)| stack.forget_in_flight(pair))
    }

    /// Schedules a check of a pair that a window holds back, in case its answers are lost.
    fn watch_window(&mut self, slot: PairSlot, fabric: &mut NetworkState, now: Instant) {
        // A pair may have hundreds of windows: they are not looked through again while it is watched.
        if self.pairs.get(slot as usize).is_none_or(|pair| pair.is_watched) {
            return;
        }
        let Some((stack, pair)) = self.stack(slot) else { return };
        let Some(since) = stack.waits_for_answers(pair) else { return };
        let pair = &mut self.pairs[slot as usize];
        pair.is_watched = true;
        let epoch = pair.epoch;
        let at = since.saturating_add(SILENCE).max(now);
        self.timer_queue.arm(at, HostTimer::Silence(slot, epoch), fabric, now);
    }

    /// Checks a window that has been silent. Returns `true` if the pair may continue, because packets in flight count
    /// as lost.
    pub(crate) fn on_silence(&mut self, slot: PairSlot, epoch: u32, fabric: &mut NetworkState, now: Instant) -> bool {
        let pair = &mut self.pairs[slot as usize];
        if pair.epoch != epoch {
            return false;
        }
        pair.is_watched = false;
        let Some((stack, pair)) = self.stack(slot) else { return false };
        match stack.waits_for_answers(pair) {
            Some(since) if since.saturating_add(SILENCE) <= now => self.forget_in_flight(slot),
            Some(_) => {
                self.watch_window(slot, fabric, now);
                false
            }
            None => false,
        }
    }
}
