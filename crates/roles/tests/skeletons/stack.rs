//! A driver for one packet: two hosts, two paths of two ports each, the layers as generics.
//!
//! It is the least that can drive the roles: buckets are full, queues hold what the test says, nothing is ever lost.

use std::collections::VecDeque;
use std::fmt::Debug;

use wayleave_roles::{
    Absent, Ack, Arrivals, Broker, BrokerAction, BrokerId, BrokerInput, Bucket, ClassId, Demand, Departure, Entry,
    Excess, Flow, FlowStart, Host, HostAction, HostInput, Incoming, IntHop, Limit, Limiter, LocalFlow, Mark, Member,
    Origin, Outgoing, PairSpec, Path, PathIndex, PathReport, PathUse, Peer, Phase, Probe, ProbeOutcome, QueueState,
    RouteFacts, Share, Switch, Tunnel, TunnelAck, TunnelPacket, TunnelQueue, Turn, Weighted,
};
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

/// Payload of a full packet, and what it is on the wire.
pub(crate) const SEGMENT: u32 = 1460;
pub(crate) const WIRE: u32 = 1538;
pub(crate) const RTT: Time = Time::from_micros(24);
pub(crate) const LINE: Rate = Rate::from_gbit(10);
/// The pair as its sender, its receiver and the switches call it: three numbers, so that mixing them up shows.
pub(crate) const PAIR: Outgoing = Outgoing(0);
pub(crate) const ARRIVING: Incoming = Incoming(7);
pub(crate) const KEY: u64 = 99;
pub(crate) const CLASS: ClassId = ClassId(3);
pub(crate) const FLOW: LocalFlow = LocalFlow(5);
const PATHS: u32 = 2;

/// Which of both hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Sender,
    Receiver,
}

impl End {
    const fn node(self) -> NodeId {
        NodeId(self as u32)
    }

    const fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

/// What the receiving host does before a transport sees a packet (Presto's reordering buffer).
pub(crate) trait Reorder {
    fn on_packet(&mut self, now: Time, path: PathIndex) -> &'static str;
}

impl Reorder for Absent {
    fn on_packet(&mut self, _now: Time, _path: PathIndex) -> &'static str {
        "delivers"
    }
}

/// The layers of a system.
pub(crate) struct Layers<F, T, H, P, S, R> {
    pub(crate) flow: F,
    pub(crate) tunnel: T,
    pub(crate) hosts: [H; 2],
    pub(crate) path: P,
    pub(crate) reorder: R,
    /// By path and hop.
    pub(crate) ports: [[S; 2]; PATHS as usize],
}

/// What hosts have set.
struct Controls {
    pair: Option<Bucket>,
    class: Option<Bucket>,
    class_weight: u32,
    windows: [Option<Bytes>; PATHS as usize],
    in_use: Vec<(PathIndex, PathUse, Time)>,
    steered: bool,
}

enum Letter<M> {
    ToHost { to: End, from: Origin, message: M },
    ToBroker { to: BrokerId, from: Member, message: M },
    Probe { path: PathIndex, probe: Probe, windows: Vec<Bytes> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Host(End),
    Broker(BrokerId),
}

type BoxedBroker<H> = Box<dyn Broker<Message = <H as Host>::Message, Timer = <H as Host>::Timer>>;

/// The driver.
pub(crate) struct Stack<F, T, H: Host, P, S, R> {
    pub(crate) layers: Layers<F, T, H, P, S, R>,
    pub(crate) brokers: Vec<BoxedBroker<H>>,
    /// What every port of a path holds when a packet comes.
    pub(crate) queued: [Bytes; PATHS as usize],
    /// What the tunnel holds beside the packet.
    pub(crate) tunnel_queue: TunnelQueue,
    pub(crate) now: Time,
    pub(crate) start: FlowStart,
    pub(crate) share: Share,
    log: Vec<String>,
    controls: [Controls; 2],
    mail: VecDeque<Letter<H::Message>>,
    timers: Vec<(Time, Owner, H::Timer)>,
}

impl<F, T, H, P, S, R> Stack<F, T, H, P, S, R>
where
    F: Flow,
    T: Tunnel,
    H: Host,
    H::Message: Debug,
    H::Timer: Debug,
    P: Path,
    S: Switch,
    R: Reorder,
{
    pub(crate) fn new(layers: Layers<F, T, H, P, S, R>) -> Self {
        let controls = || Controls {
            pair: None,
            class: None,
            class_weight: 1,
            windows: [None; PATHS as usize],
            in_use: (0..PATHS).map(|path| (PathIndex(path), PathUse::Share, Time::ZERO)).collect(),
            steered: false,
        };
        Self {
            layers,
            brokers: Vec::new(),
            queued: [Bytes::ZERO; PATHS as usize],
            tunnel_queue: TunnelQueue::default(),
            now: Time::ZERO,
            start: flow_start(),
            share: Share::BEST_EFFORT,
            log: Vec::new(),
            controls: [controls(), controls()],
            mail: VecDeque::new(),
            timers: Vec::new(),
        }
    }

    /// What was logged since the last time.
    pub(crate) fn log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }

    /// Hosts and brokers start, the class is set, the pair opens.
    pub(crate) fn open(&mut self) {
        for broker in 0..self.brokers.len() {
            self.tell_broker(BrokerId(broker as u32), BrokerInput::Started);
        }
        let share = self.share;
        for end in [End::Sender, End::Receiver] {
            self.tell(end, HostInput::Started);
            self.tell(end, HostInput::ClassSet { class: CLASS, transmit: share, receive: share });
        }
        let spec = |peer: End| PairSpec {
            class: CLASS,
            peer_class: CLASS,
            peer: peer.node(),
            key: KEY,
            paths: PATHS,
            round_trip: RTT,
        };
        self.tell(End::Receiver, HostInput::IncomingOpened { pair: ARRIVING, spec: spec(End::Sender) });
        self.tell(End::Sender, HostInput::Opened { pair: PAIR, spec: spec(End::Receiver) });
        self.settle();
    }

    /// The flow's only packet goes all the way, and its acknowledgement comes back; `None` where it stays behind.
    pub(crate) fn carry(&mut self) -> Option<()> {
        let payload = self.leave_transport();
        let packet = TunnelPacket { flow: FLOW, bytes: WIRE - SEGMENT + payload, remaining: self.start.size };
        self.pass_tunnel(packet)?;
        let path = self.pass_limiters(packet.bytes)?;
        let sent = HostInput::Sent { pair: PAIR, path, bytes: Bytes::new(packet.bytes.into()) };
        self.layers.flow.on_send(self.now, payload);
        self.tell(End::Sender, sent);
        self.settle();
        let (mark, hops) = self.cross(path, packet.bytes);
        self.arrive(path, packet.bytes, mark);
        self.acknowledge(path, payload, mark, &hops);
        Some(())
    }

    fn leave_transport(&mut self) -> u32 {
        let Self { layers, now, start, .. } = self;
        layers.flow.on_route(*now, RouteFacts { hops: 3, round_trip: RTT });
        layers.tunnel.on_open(*now, FLOW, start);
        let payload = layers.flow.payload(SEGMENT);
        let (window, urgency) = (layers.flow.window(), layers.flow.urgency(start.size.unwrap()));
        assert!(window >= u64::from(payload), "the window holds the packet back");
        self.log.push(format!("transport: {payload} B of a window of {window}, urgency {urgency}"));
        self.tell(End::Sender, HostInput::Demand { pair: PAIR, demand: Demand::Begins });
        self.begin_slot();
        self.settle();
        payload
    }

    /// The tunnel's decision slot.
    fn begin_slot(&mut self) {
        if let Some(slot) = self.layers.tunnel.on_slot(self.now) {
            self.log.push(format!("tunnel: would like weight {}, next slot at {}", slot.weight, slot.next));
            self.tell(End::Sender, HostInput::ReferenceWeight { pair: PAIR, weight: slot.weight });
        }
    }

    fn pass_tunnel(&mut self, packet: TunnelPacket) -> Option<()> {
        let tunnel = &mut self.layers.tunnel;
        let entry = tunnel.on_arrival(self.now, packet, self.tunnel_queue);
        let turn = tunnel.next(self.now);
        self.log.push(format!("tunnel: {entry:?}, next {turn:?}"));
        if entry != Entry::Queued {
            return None;
        }
        match turn {
            Turn::InOrder => {}
            Turn::Of(flow) => assert_eq!(flow, FLOW, "no other flow is here"),
            Turn::NotBefore(at) => self.now = at,
        }
        self.layers.tunnel.on_departure(self.now, packet);
        Some(())
    }

    /// The pair's bucket, its path and window, the root limiter, and the weighted queues.
    fn pass_limiters(&mut self, bytes: u32) -> Option<PathIndex> {
        let controls = &self.controls[End::Sender as usize];
        pass("pair limiter", controls.pair, bytes, &mut self.log)?;
        let share = || controls.in_use.iter().filter(|(_, purpose, _)| *purpose == PathUse::Share);
        let chosen = match share().count() {
            0 => {
                self.log.push("path: none in use".to_owned());
                return None;
            }
            1 => 0,
            paths => {
                let departure = Departure { bytes, paths: paths as u32 };
                self.layers.path.choose_for(self.now, FLOW, departure) as usize
            }
        };
        let &(path, _, from) = share().nth(chosen).expect("the path role chooses one of those it was given");
        if from > self.now {
            self.log.push(format!("path: {} from {from}", path.0));
            self.now = from;
        }
        let copies = controls.in_use.len() - share().count();
        self.log.push(format!("path: {} of {} in use, {copies} copies", path.0, share().count()));
        if let Some(window) = controls.windows[path.index()] {
            let verdict = if window < Bytes::new(bytes.into()) { "holds back" } else { "lets through" };
            self.log.push(format!("window: {window} {verdict}"));
            if verdict == "holds back" {
                return None;
            }
        }
        pass("root limiter", controls.class, bytes, &mut self.log)?;
        self.log.push(format!("NIC: class {} with weight {}", CLASS.0, controls.class_weight));
        Some(path)
    }

    /// The ports of the path.
    fn cross(&mut self, path: PathIndex, bytes: u32) -> (Mark, Vec<IntHop>) {
        self.now += Time::from_micros(12);
        let queue = QueueState { queued: self.queued[path.index()], idle_since: None };
        let (now, mut mark) = (self.now, Mark::No);
        let mut hops = Vec::new();
        for port in &mut self.layers.ports[path.index()] {
            if port.on_arrival(now, queue, bytes) == Mark::Congestion {
                mark = Mark::Congestion;
            }
            let mut hop = IntHop { rate: LINE, queue: queue.queued, at: now, ..IntHop::default() };
            port.on_telemetry(now, None, &mut hop);
            hops.push(hop);
        }
        self.log.push(format!("ports of path {}: mark {mark:?}", path.0));
        (mark, hops)
    }

    fn arrive(&mut self, path: PathIndex, bytes: u32, mark: Mark) {
        let said = self.layers.reorder.on_packet(self.now, path);
        self.log.push(format!("reordering buffer: {said}"));
        let bytes = Bytes::new(bytes.into());
        let marked = if mark == Mark::Congestion { bytes } else { Bytes::ZERO };
        let arrivals = Arrivals { bytes, marked, lost: Bytes::ZERO };
        self.tell(End::Receiver, HostInput::Received { pair: ARRIVING, arrivals });
        self.settle();
    }

    fn acknowledge(&mut self, path: PathIndex, payload: u32, mark: Mark, hops: &[IntHop]) {
        self.now += Time::from_micros(12);
        let Self { layers, now, log, .. } = self;
        let newly = u64::from(payload);
        let remaining = self.start.size.map(|size| size - newly);
        let network = if mark == Mark::Congestion { newly } else { 0 };
        let told = TunnelAck { newly, marked: network, remaining };
        let marked = layers.tunnel.on_ack(*now, FLOW, told, self.tunnel_queue);
        assert!(marked <= newly, "more is marked than was acknowledged");
        let ack = Ack {
            newly,
            marked,
            acknowledged: newly,
            sent: newly,
            in_flight: 0,
            remaining,
            round_trip: Some(RTT),
            host_delay: Some(Time::from_micros(2)),
            limit: Limit::Window,
            phase: Phase::Open,
            telemetry: hops,
        };
        layers.flow.on_ack(*now, &ack);
        layers.path.on_report(*now, PathReport { path: path.0, bytes: newly, marked: network, round_trip: Some(RTT) });
        layers.path.on_telemetry(*now, path.0, hops);
        layers.tunnel.on_close(*now, FLOW);
        let window = layers.flow.window();
        log.push(format!("transport: hears of {marked} B marked, window {window}"));
        self.tell(End::Sender, HostInput::Demand { pair: PAIR, demand: Demand::Ends });
        self.settle();
    }

    /// The earliest timer fires.
    pub(crate) fn fire(&mut self) {
        let first = self.timers.iter().enumerate().min_by_key(|(_, (at, ..))| *at).expect("a timer is armed").0;
        let (at, owner, timer) = self.timers.remove(first);
        self.now = self.now.max(at);
        self.log.push(format!("timer: {timer:?} of {owner:?} at {at}"));
        match owner {
            Owner::Host(end) => self.tell(end, HostInput::Timer(timer)),
            Owner::Broker(broker) => self.tell_broker(broker, BrokerInput::Timer(timer)),
        }
        self.settle();
    }

    /// Delivers messages and probes until there are none.
    pub(crate) fn settle(&mut self) {
        for _ in 0..100 {
            match self.mail.pop_front() {
                None => return,
                Some(Letter::ToHost { to, from, message }) => self.tell(to, HostInput::Message { from, message }),
                Some(Letter::ToBroker { to, from, message }) => {
                    self.tell_broker(to, BrokerInput::Message { from, message });
                }
                Some(Letter::Probe { path, probe, windows }) => self.probe(path, &probe, &windows),
            }
        }
        panic!("messages go round and round");
    }

    /// A probe goes through the ports of its path and comes back with the receiver's answer.
    fn probe(&mut self, path: PathIndex, probe: &Probe, windows: &[Bytes]) {
        let mut hops = Vec::new();
        for (hop, port) in self.layers.ports[path.index()].iter_mut().enumerate() {
            let windows = *windows.get(hop).or(windows.last()).expect("a probe has a window");
            let queue = self.queued[path.index()];
            let mut hop = IntHop { rate: LINE, queue, at: self.now, windows, ..IntHop::default() };
            port.on_telemetry(self.now, Some(probe), &mut hop);
            hops.push(hop);
        }
        let answer = self.layers.hosts[End::Receiver as usize].answer(self.now, ARRIVING, probe);
        let outcome = ProbeOutcome::Answered(answer);
        let input = HostInput::ProbeReturned { pair: PAIR, path, kind: probe.kind, outcome, hops: &hops };
        let sums: Vec<_> = hops.iter().map(|hop| (hop.tokens, hop.windows.get())).collect();
        self.log.push(format!("probe: {:?} on path {} finds {sums:?}, {answer:?}", probe.kind, path.0));
        self.tell(End::Sender, input);
    }

    pub(crate) fn tell_broker(&mut self, to: BrokerId, input: BrokerInput<H::Message, H::Timer>) {
        let Self { brokers, mail, timers, log, now, .. } = self;
        brokers[to.index()].on(*now, input, &mut |action| match action {
            BrokerAction::Arm { at, timer } => timers.push((at, Owner::Broker(to), timer)),
            BrokerAction::Send { to: member, message } => {
                log.push(format!("broker {}: to {member:?} {message:?}", to.0));
                mail.push_back(match member {
                    Member::Host(node) => {
                        let end = if node == End::Sender.node() { End::Sender } else { End::Receiver };
                        Letter::ToHost { to: end, from: Origin::Broker(to), message }
                    }
                    Member::Broker(other) => Letter::ToBroker { to: other, from: Member::Broker(to), message },
                });
            }
        });
    }

    pub(crate) fn tell(&mut self, end: End, input: HostInput<'_, H::Message, H::Timer>) {
        let Self { layers: Layers { hosts, flow, tunnel, .. }, controls, mail, timers, log, now, .. } = self;
        let controls = &mut controls[end as usize];
        hosts[end as usize].on(*now, input, &mut |action| match action {
            HostAction::Arm { at, timer } => timers.push((at, Owner::Host(end), timer)),
            HostAction::Send { to, message } => {
                log.push(format!("{end:?}: to {to:?} {message:?}"));
                mail.push_back(match to {
                    Peer::Receiver(PAIR) => Letter::ToHost { to: end.other(), from: Origin::Sender(ARRIVING), message },
                    Peer::Sender(ARRIVING) => Letter::ToHost { to: end.other(), from: Origin::Receiver(PAIR), message },
                    Peer::Broker(broker) => Letter::ToBroker { to: broker, from: Member::Host(end.node()), message },
                    Peer::Receiver(_) | Peer::Sender(_) => panic!("{to:?} is no pair of this host"),
                });
            }
            HostAction::SendProbe { pair, path, probe, windows } => {
                assert_eq!(pair, PAIR);
                mail.push_back(Letter::Probe { path, probe, windows: windows.to_vec() });
            }
            HostAction::SetBucket { limiter: Limiter::Pair(_), bucket } => {
                log.push(format!("{end:?}: pair limiter {}", words(bucket)));
                controls.pair = bucket;
                tunnel.on_rate(*now, bucket.map(|bucket| bucket.rate));
            }
            HostAction::SetBucket { limiter: Limiter::Class(_), bucket } => {
                log.push(format!("{end:?}: root limiter {}", words(bucket)));
                controls.class = bucket;
            }
            HostAction::SetWindow { path, window, .. } => {
                log.push(format!("{end:?}: window of path {} {window:?}", path.0));
                controls.windows[path.index()] = window;
            }
            HostAction::SetWeight { of: Weighted::Class(_), weight } => {
                log.push(format!("{end:?}: class weight {weight}"));
                controls.class_weight = weight;
            }
            HostAction::SetWeight { of: Weighted::Pair(_), weight } => {
                log.push(format!("{end:?}: pair weight {weight}"));
                tunnel.on_weight(*now, weight);
                flow.on_weight(*now, weight);
            }
            HostAction::UsePath { path, purpose, from, .. } => {
                log.push(format!("{end:?}: uses path {} for {purpose:?} from {from}", path.0));
                controls.use_path(path, purpose, from);
            }
            HostAction::LeavePath { path, .. } => {
                log.push(format!("{end:?}: leaves path {}", path.0));
                controls.in_use.retain(|(used, ..)| *used != path);
            }
        });
    }
}

impl Controls {
    fn use_path(&mut self, path: PathIndex, purpose: PathUse, from: Time) {
        if !self.steered {
            self.steered = true;
            self.in_use.clear();
        }
        self.in_use.retain(|(used, ..)| *used != path);
        self.in_use.push((path, purpose, from));
        self.in_use.sort_unstable_by_key(|(path, ..)| *path);
    }
}

/// A full bucket lets a packet through or does not.
fn pass(name: &str, bucket: Option<Bucket>, bytes: u32, log: &mut Vec<String>) -> Option<()> {
    let Some(bucket) = bucket else { return Some(()) };
    let fits = bucket.burst >= Bytes::new(bytes.into());
    let verdict = match (fits, bucket.excess) {
        (true, _) => "lets through",
        (false, Excess::Waits) => "holds back",
        (false, Excess::Drops) => "drops",
    };
    log.push(format!("{name}: {} {verdict}", bucket.rate));
    fits.then_some(())
}

fn words(bucket: Option<Bucket>) -> String {
    bucket.map_or("off".to_owned(), |Bucket { rate, burst, excess }| format!("{rate}, {burst}, {excess:?}"))
}

/// A flow of one full packet with a deadline.
pub(crate) fn flow_start() -> FlowStart {
    FlowStart {
        segment: SEGMENT,
        initial_window: 14_600,
        max_window: 1_000_000,
        size: Some(SEGMENT.into()),
        deadline: Some(Time::from_millis(10)),
        weight: 1,
    }
}

/// Ports without a role.
pub(crate) const PLAIN: [[Absent; 2]; 2] = [[Absent; 2]; 2];
