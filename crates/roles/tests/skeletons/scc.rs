//! SCC: underlay control and tracker, the tunnel of a division, and its transports.

use wayleave_roles::{
    Absent, Broker, BrokerAction, BrokerId, BrokerInput, Bucket, Entry, Excess, Flow, FlowStart, Host, HostAction,
    HostInput, Incoming, Leadership, Limiter, LocalFlow, Mark, Member, Origin, Outgoing, Peer, QueueState, Slot,
    Switch, Tunnel, TunnelAck, TunnelPacket, TunnelQueue, Turn, Weighted,
};
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

use crate::stack::{Layers, Stack, flow_start};
use crate::transports::{D2tcp, Dctcp, L2dct, Pfabric};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Message {
    /// The share of marked bytes of a tunnel, from its receiver (III-B).
    Marked { percent: u64 },
    /// W', to the tracker.
    Reference { weight: u64 },
    /// lambda = W_d / sum W' (equation 3), as a fraction.
    Scale { share: u64, sum: u64 },
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Timer {
    /// The destination host periodically sends feedback (III-B).
    Feedback { pair: Incoming },
    /// The tracker periodically sends the scale factor (III-B).
    Scale,
}

/// The underlay control of one machine; one tunnel.
struct Underlay {
    rate: Rate,
    reference: Option<(Outgoing, u64)>,
    bytes: Bytes,
    marked: Bytes,
}

impl Underlay {
    fn new() -> Self {
        Self { rate: Rate::from_gbit(1), reference: None, bytes: Bytes::ZERO, marked: Bytes::ZERO }
    }
}

impl Host for Underlay {
    type Message = Message;
    type Timer = Timer;

    fn on(
        &mut self,
        now: Time,
        input: HostInput<'_, Message, Timer>,
        act: &mut impl FnMut(HostAction<'_, Message, Timer>),
    ) {
        match input {
            HostInput::Opened { pair, .. } => {
                let bucket = Bucket { rate: self.rate, burst: Bytes::new(15_000), excess: Excess::Waits };
                act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket: Some(bucket) });
            }
            HostInput::IncomingOpened { pair, .. } => {
                act(HostAction::Arm { at: now + Time::from_micros(300), timer: Timer::Feedback { pair } });
            }
            HostInput::ReferenceWeight { pair, weight } => {
                self.reference = Some((pair, weight));
                act(HostAction::Send { to: Peer::Broker(BrokerId(0)), message: Message::Reference { weight } });
            }
            HostInput::Received { arrivals, .. } => {
                self.bytes += arrivals.bytes;
                self.marked += arrivals.marked;
            }
            HostInput::Timer(Timer::Feedback { pair }) => {
                let percent = 100 * self.marked.get() / self.bytes.get().max(1);
                act(HostAction::Send { to: Peer::Sender(pair), message: Message::Marked { percent } });
            }
            HostInput::Message { from: Origin::Receiver(pair), message: Message::Marked { percent } } => {
                let factor = if percent > 0 { 100 - percent / 2 } else { 110 };
                let rate = Rate::from_bits_per_second(self.rate.bits_per_second() / 100 * factor);
                let bucket = Bucket { rate, burst: Bytes::new(15_000), excess: Excess::Waits };
                act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket: Some(bucket) });
            }
            HostInput::Message { from: Origin::Broker(_), message: Message::Scale { share, sum } } => {
                if let Some((pair, weight)) = self.reference {
                    let weight = (weight * share / sum) as u32;
                    act(HostAction::SetWeight { of: Weighted::Pair(pair), weight });
                }
            }
            _ => {}
        }
    }
}

/// The division tracker; the other tunnel of its division has weight 100.
#[derive(Default)]
struct Tracker {
    leadership: Leadership,
    sum: u64,
}

impl Broker for Tracker {
    type Message = Message;
    type Timer = Timer;

    fn on(&mut self, now: Time, input: BrokerInput<Message, Timer>, act: &mut dyn FnMut(BrokerAction<Message, Timer>)) {
        match input {
            BrokerInput::Elected(leadership) => {
                self.leadership = leadership;
                act(BrokerAction::Arm { at: now + Time::from_micros(100), timer: Timer::Scale });
            }
            BrokerInput::Message { message: Message::Reference { weight }, .. } => self.sum = weight + 100,
            BrokerInput::Timer(Timer::Scale) if self.leadership == Leadership::Leader => {
                let message = Message::Scale { share: 300, sum: self.sum };
                act(BrokerAction::Send { to: Member::Host(NodeId(0)), message });
            }
            _ => {}
        }
    }
}

/// The private control of a deadline division (Algorithm 1).
#[derive(Debug, Default)]
pub(crate) struct Private {
    flows: Vec<(LocalFlow, FlowStart)>,
    rate: Option<Rate>,
    weight: u32,
}

impl Tunnel for Private {
    fn on_open(&mut self, _now: Time, flow: LocalFlow, start: &FlowStart) {
        self.flows.push((flow, *start));
    }
    fn on_close(&mut self, _now: Time, flow: LocalFlow) {
        self.flows.retain(|(open, _)| *open != flow);
    }
    /// III-C: a queue of 100 packets for transports that rely on drops.
    fn on_arrival(&mut self, _now: Time, packet: TunnelPacket, queue: TunnelQueue) -> Entry {
        assert!(self.flows.iter().any(|(flow, _)| *flow == packet.flow));
        if queue.packets < 100 { Entry::Queued } else { Entry::Dropped }
    }
    /// Algorithm 2: shortest flow first.
    fn next(&mut self, _now: Time) -> Turn {
        let shortest = self.flows.iter().min_by_key(|(_, start)| start.size);
        shortest.map_or(Turn::InOrder, |(flow, _)| Turn::Of(*flow))
    }
    /// III-C: what the network marked is taken off, and the queue of the tunnel marks.
    fn on_ack(&mut self, _now: Time, _flow: LocalFlow, ack: TunnelAck, queue: TunnelQueue) -> u64 {
        if queue.packets > 5 { ack.newly } else { 0 }
    }
    /// Algorithm 1, steps 1 to 3: sum of M / delta, in kbit/s.
    fn on_slot(&mut self, now: Time) -> Option<Slot> {
        let rate = |start: &FlowStart| {
            let left = start.deadline.unwrap().saturating_sub(now).as_nanos().max(1);
            start.size.unwrap() * 8 * 1_000_000 / left
        };
        let weight = self.flows.iter().map(|(_, start)| rate(start)).sum();
        Some(Slot { weight, next: now + Time::from_millis(1) })
    }
    fn on_rate(&mut self, _now: Time, rate: Option<Rate>) {
        self.rate = rate;
    }
    fn on_weight(&mut self, _now: Time, weight: u32) {
        self.weight = weight;
    }
}

/// Marks everything, or nothing.
#[derive(Clone, Copy)]
struct Threshold(Bytes);

impl Switch for Threshold {
    fn on_arrival(&mut self, _now: Time, queue: QueueState, _bytes: u32) -> Mark {
        if queue.queued > self.0 { Mark::Congestion } else { Mark::No }
    }
}

fn stack<F: Flow>(flow: F) -> Stack<F, Private, Underlay, Absent, Threshold, Absent> {
    let mut stack = Stack::new(Layers {
        flow,
        tunnel: Private::default(),
        hosts: [Underlay::new(), Underlay::new()],
        path: Absent,
        reorder: Absent,
        ports: [[Threshold(Bytes::new(30_000)); 2]; 2],
    });
    stack.brokers = vec![Box::new(Tracker::default())];
    stack.queued = [Bytes::new(60_000); 2];
    stack.open();
    stack.tell_broker(BrokerId(0), BrokerInput::Elected(Leadership::Leader));
    assert_eq!(stack.log(), ["Sender: pair limiter 1Gbit, 15kB, Waits"]);
    stack
}

#[test]
fn the_network_slows_the_tunnel_and_the_tunnel_alone_slows_its_transport() {
    let mut stack = stack(Dctcp { window: 14_600 });
    stack.carry().unwrap();
    assert_eq!(
        stack.log(),
        [
            "transport: 1460 B of a window of 14600, urgency 1460",
            "tunnel: would like weight 1168, next slot at 1ms",
            "Sender: to Broker(BrokerId(0)) Reference { weight: 1168 }",
            "tunnel: Queued, next Of(LocalFlow(5))",
            "pair limiter: 1Gbit lets through",
            "path: 0 of 2 in use, 0 copies",
            "NIC: class 3 with weight 1",
            "ports of path 0: mark Congestion",
            "reordering buffer: delivers",
            "transport: hears of 0 B marked, window 16060",
        ]
    );
    stack.fire();
    assert_eq!(
        stack.log(),
        [
            "timer: Scale of Broker(BrokerId(0)) at 100us",
            "broker 0: to Host(NodeId(0)) Scale { share: 300, sum: 1268 }",
            "Sender: pair weight 276",
        ]
    );
    stack.fire();
    assert_eq!(
        stack.log(),
        [
            "timer: Feedback { pair: Incoming(7) } of Host(Receiver) at 300us",
            "Receiver: to Sender(Incoming(7)) Marked { percent: 100 }",
            "Sender: pair limiter 500Mbit, 15kB, Waits",
        ]
    );
    let tunnel = &stack.layers.tunnel;
    assert_eq!((tunnel.rate, tunnel.weight), (Some(Rate::from_mbit(500)), 276));
}

/// What a transport hears and does when the network has marked its packet, with this many packets in the tunnel.
fn heard<F: Flow>(flow: F, packets: u32) -> String {
    let mut stack = stack(flow);
    stack.tunnel_queue = TunnelQueue { bytes: Bytes::new(1_538 * u64::from(packets)), packets };
    stack.carry().unwrap();
    stack.log().pop().unwrap()
}

#[test]
fn every_transport_of_the_evaluation_runs_in_a_tunnel() {
    let start = flow_start();
    assert_eq!(heard(Dctcp { window: 14_600 }, 6), "transport: hears of 1460 B marked, window 7300");
    assert_eq!(heard(D2tcp::new(&start), 0), "transport: hears of 0 B marked, window 14600");
    assert_eq!(heard(D2tcp::new(&start), 6), "transport: hears of 1460 B marked, window 7300");
    assert_eq!(heard(L2dct { window: 14_600 }, 0), "transport: hears of 0 B marked, window 16060");
    assert_eq!(heard(Pfabric::default(), 0), "transport: hears of 0 B marked, window 18000");
}

#[test]
fn a_full_tunnel_drops() {
    let mut stack = stack(Dctcp { window: 14_600 });
    stack.tunnel_queue.packets = 100;
    assert_eq!(stack.carry(), None);
    assert_eq!(stack.log().last().unwrap(), "tunnel: Dropped, next Of(LocalFlow(5))");
}
