//! Parley (2014): machine shaper, a rack broker on every machine (5.2), a fabric broker (5.3).

use wayleave_roles::{
    Absent, Broker, BrokerAction, BrokerId, BrokerInput, Bucket, ClassId, Excess, Host, HostAction, HostInput,
    Leadership, Limiter, Member, Origin, Peer, Share,
};
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

use crate::stack::{CLASS, Layers, PLAIN, Stack};
use crate::transports::Fixed;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Message {
    /// R(t), from a receiver to a sender (3.2.1).
    Feedback { rate: Rate },
    /// What a service sent and received at a machine: to its rack broker, and from there to the others (5.2).
    Usage { class: ClassId, sent: Bytes, received: Bytes },
    /// The hose of a service at a machine (3.2.2).
    Capacity { class: ClassId, transmit: Rate, receive: Rate },
    /// What a service uses in a rack: from the leader to the fabric broker (5.3).
    RackUsage { class: ClassId, sent: Bytes },
    /// What a service may use in a rack (3.2.3).
    RackLimit { class: ClassId, transmit: Rate },
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Timer {
    /// T_rack, 1 s: a machine reports.
    Report,
    /// T^t_rack, 5 s: nothing was heard from the rack broker since `heard` messages.
    RackSilent { heard: u32 },
    /// T_fabric, 10 s: the leader reports.
    Fabric,
    /// T^t_fabric, 50 s: nothing was heard from the fabric broker since `heard` messages.
    FabricSilent { heard: u32 },
}

struct Shaper {
    broker: BrokerId,
    fixed: Share,
    /// C of the rate meter (3.2.1).
    meter: Rate,
    sent: Bytes,
    received: Bytes,
    heard: u32,
}

impl Shaper {
    fn new(broker: u32) -> Self {
        Self {
            broker: BrokerId(broker),
            fixed: Share::BEST_EFFORT,
            meter: Rate::from_gbit(5),
            sent: Bytes::ZERO,
            received: Bytes::ZERO,
            heard: 0,
        }
    }
}

fn bucket(rate: Rate) -> Bucket {
    // Section 7: the burst is configurable; above the size of RPCs that have to be fast.
    Bucket { rate, burst: Bytes::new(250_000), excess: Excess::Waits }
}

impl Host for Shaper {
    type Message = Message;
    type Timer = Timer;

    fn on(
        &mut self,
        now: Time,
        input: HostInput<'_, Message, Timer>,
        act: &mut impl FnMut(HostAction<'_, Message, Timer>),
    ) {
        match input {
            HostInput::Started => act(HostAction::Arm { at: now + Time::from_millis(1_000), timer: Timer::Report }),
            HostInput::ClassSet { class, transmit, .. } => {
                self.fixed = transmit;
                act(HostAction::SetBucket { limiter: Limiter::Class(class), bucket: transmit.max.map(bucket) });
            }
            HostInput::Sent { bytes, .. } => self.sent += bytes,
            HostInput::Received { pair, arrivals } => {
                self.received += arrivals.bytes;
                let message = Message::Feedback { rate: self.meter };
                act(HostAction::Send { to: Peer::Sender(pair), message });
            }
            HostInput::Message { from: Origin::Receiver(pair), message: Message::Feedback { rate } } => {
                act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket: Some(bucket(rate)) });
            }
            HostInput::Message { from: Origin::Broker(_), message: Message::Capacity { class, transmit, receive } } => {
                self.heard += 1;
                self.meter = receive;
                act(HostAction::SetBucket { limiter: Limiter::Class(class), bucket: Some(bucket(transmit)) });
                let timer = Timer::RackSilent { heard: self.heard };
                act(HostAction::Arm { at: now + Time::from_millis(5_000), timer });
            }
            HostInput::Timer(Timer::Report) => {
                let message = Message::Usage { class: CLASS, sent: self.sent, received: self.received };
                act(HostAction::Send { to: Peer::Broker(self.broker), message });
            }
            HostInput::Timer(Timer::RackSilent { heard }) if heard == self.heard => {
                let bucket = self.fixed.max.map(bucket);
                act(HostAction::SetBucket { limiter: Limiter::Class(CLASS), bucket });
            }
            _ => {}
        }
    }
}

/// One of the rack brokers; divides the uplink equally between both machines.
struct Rack {
    host: NodeId,
    other: BrokerId,
    uplink: Rate,
    limit: Option<Rate>,
    leadership: Leadership,
    sent: Bytes,
    heard: u32,
}

impl Rack {
    fn new(index: u32) -> Self {
        Self {
            host: NodeId(index),
            other: BrokerId(1 - index),
            uplink: Rate::ZERO,
            limit: None,
            leadership: Leadership::Follower,
            sent: Bytes::ZERO,
            heard: 0,
        }
    }

    /// What its own machine may send.
    fn capacity(&self, class: ClassId) -> BrokerAction<Message, Timer> {
        let half = Rate::from_bits_per_second(self.uplink.bits_per_second() / 2);
        let transmit = self.limit.map_or(half, |limit| limit.min(half));
        let message = Message::Capacity { class, transmit, receive: half };
        BrokerAction::Send { to: Member::Host(self.host), message }
    }
}

impl Broker for Rack {
    type Message = Message;
    type Timer = Timer;

    fn on(&mut self, now: Time, input: BrokerInput<Message, Timer>, act: &mut dyn FnMut(BrokerAction<Message, Timer>)) {
        match input {
            BrokerInput::Elected(leadership) => {
                self.leadership = leadership;
                if leadership == Leadership::Leader {
                    act(BrokerAction::Arm { at: now + Time::from_millis(10_000), timer: Timer::Fabric });
                }
            }
            BrokerInput::Capacity { transmit, .. } => self.uplink = transmit,
            BrokerInput::Message { from, message: Message::Usage { class, sent, received } } => {
                self.sent += sent;
                if let Member::Host(_) = from {
                    let message = Message::Usage { class, sent, received };
                    act(BrokerAction::Send { to: Member::Broker(self.other), message });
                }
                act(self.capacity(class));
            }
            BrokerInput::Message { message: Message::RackLimit { class, transmit }, .. } => {
                self.limit = Some(transmit);
                self.heard += 1;
                act(self.capacity(class));
                let timer = Timer::FabricSilent { heard: self.heard };
                act(BrokerAction::Arm { at: now + Time::from_millis(50_000), timer });
            }
            BrokerInput::Timer(Timer::Fabric) if self.leadership == Leadership::Leader => {
                let message = Message::RackUsage { class: CLASS, sent: self.sent };
                act(BrokerAction::Send { to: Member::Broker(BrokerId(2)), message });
            }
            BrokerInput::Timer(Timer::FabricSilent { heard }) if heard == self.heard => {
                self.limit = None;
                act(self.capacity(CLASS));
            }
            _ => {}
        }
    }
}

struct Fabric;

impl Broker for Fabric {
    type Message = Message;
    type Timer = Timer;

    fn on(&mut self, _: Time, input: BrokerInput<Message, Timer>, act: &mut dyn FnMut(BrokerAction<Message, Timer>)) {
        if let BrokerInput::Message { from, message: Message::RackUsage { class, sent } } = input {
            let transmit = if sent > Bytes::ZERO { Rate::from_gbit(2) } else { Rate::from_gbit(80) };
            act(BrokerAction::Send { to: from, message: Message::RackLimit { class, transmit } });
        }
    }
}

#[test]
fn limits_come_from_the_receiver_the_rack_and_the_fabric_and_go_when_a_broker_is_silent() {
    let mut stack = Stack::new(Layers {
        flow: Fixed(14_600),
        tunnel: Absent,
        hosts: [Shaper::new(0), Shaper::new(1)],
        path: Absent,
        reorder: Absent,
        ports: PLAIN,
    });
    stack.brokers = vec![Box::new(Rack::new(0)), Box::new(Rack::new(1)), Box::new(Fabric)];
    stack.share.max = Some(Rate::from_gbit(9));
    stack.open();
    for rack in [BrokerId(0), BrokerId(1)] {
        let uplinks = BrokerInput::Capacity { transmit: Rate::from_gbit(8), receive: Rate::from_gbit(8) };
        stack.tell_broker(rack, uplinks);
    }
    stack.tell_broker(BrokerId(0), BrokerInput::Elected(Leadership::Leader));
    assert_eq!(stack.log(), ["Sender: root limiter 9Gbit, 250kB, Waits", "Receiver: root limiter 9Gbit, 250kB, Waits"]);
    stack.carry().unwrap();
    let log = stack.log();
    assert_eq!(log[3..5], ["root limiter: 9Gbit lets through", "NIC: class 3 with weight 1"]);
    assert_eq!(log[8], "Sender: pair limiter 5Gbit, 250kB, Waits");

    stack.fire();
    assert_eq!(
        stack.log(),
        [
            "timer: Report of Host(Sender) at 1s",
            "Sender: to Broker(BrokerId(0)) Usage { class: ClassId(3), sent: Bytes(1538), received: Bytes(0) }",
            "broker 0: to Broker(BrokerId(1)) Usage { class: ClassId(3), sent: Bytes(1538), received: Bytes(0) }",
            "broker 0: to Host(NodeId(0)) Capacity { class: ClassId(3), transmit: Rate(4000000000), receive: Rate(4000000000) }",
            "broker 1: to Host(NodeId(1)) Capacity { class: ClassId(3), transmit: Rate(4000000000), receive: Rate(4000000000) }",
            "Sender: root limiter 4Gbit, 250kB, Waits",
            "Receiver: root limiter 4Gbit, 250kB, Waits",
        ]
    );
    stack.fire();
    assert_eq!(stack.log()[0], "timer: Report of Host(Receiver) at 1s");
    // Both reports led to a message from each rack broker: the older of two timers is out of date and does nothing.
    for expected in ["heard: 1", "heard: 1"] {
        stack.fire();
        let log = stack.log();
        assert!(log.len() == 1 && log[0].contains(expected), "{log:?}");
    }
    stack.fire();
    assert_eq!(stack.log()[1], "Receiver: root limiter 9Gbit, 250kB, Waits");
    stack.fire();
    assert_eq!(stack.log()[1], "Sender: root limiter 9Gbit, 250kB, Waits");

    stack.fire();
    let log = stack.log();
    assert_eq!(log[0], "timer: Fabric of Broker(BrokerId(0)) at 10s");
    assert_eq!(log.last().unwrap(), "Sender: root limiter 2Gbit, 250kB, Waits");
    stack.fire();
    assert_eq!(stack.log()[0], "timer: RackSilent { heard: 3 } of Host(Sender) at 15s");
    stack.fire();
    let log = stack.log();
    assert_eq!(log[0], "timer: FabricSilent { heard: 1 } of Broker(BrokerId(0)) at 60s");
    assert_eq!(log.last().unwrap(), "Sender: root limiter 4Gbit, 250kB, Waits");
}
