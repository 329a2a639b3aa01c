//! ElasticSwitch (SIGCOMM 2013): guarantee partitioning between both ends, and rate allocation by congestion.

use wayleave_roles::{Absent, Arrivals, Bucket, Excess, Host, HostAction, HostInput, Limiter, Origin, Peer, Share};
use wayleave_units::{Bytes, Rate, Time};

use crate::stack::{ARRIVING, CLASS, End, Layers, PLAIN, Stack};
use crate::transports::Fixed;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Message {
    /// The sender's part of its hose for this pair (guarantee partitioning).
    Offered { rate: Rate },
    /// The lesser of both ends' parts: the pair's guarantee.
    Guaranteed { rate: Rate },
    /// Something of the pair was marked or lost (rate allocation).
    Congested,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Never;

/// Divides its hose by the number of pairs; without congestion a pair gets twice its guarantee.
#[derive(Default)]
struct Layer {
    hose: Rate,
    guarantee: Rate,
    outgoing: u64,
    incoming: u64,
}

impl Host for Layer {
    type Message = Message;
    type Timer = Never;

    fn on(
        &mut self,
        _now: Time,
        input: HostInput<'_, Message, Never>,
        act: &mut impl FnMut(HostAction<'_, Message, Never>),
    ) {
        let part = |of: Rate, pairs: u64| Rate::from_bits_per_second(of.bits_per_second() / pairs);
        let mut limit = |pair, rate| {
            let bucket = Some(Bucket { rate, burst: Bytes::new(15_000), excess: Excess::Waits });
            act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket });
        };
        match input {
            HostInput::ClassSet { transmit, .. } => self.hose = transmit.min,
            HostInput::IncomingOpened { .. } => self.incoming += 1,
            HostInput::Opened { pair, .. } => {
                self.outgoing += 1;
                let message = Message::Offered { rate: part(self.hose, self.outgoing) };
                act(HostAction::Send { to: Peer::Receiver(pair), message });
            }
            HostInput::Message { from: Origin::Sender(pair), message: Message::Offered { rate } } => {
                let rate = rate.min(part(self.hose, self.incoming));
                act(HostAction::Send { to: Peer::Sender(pair), message: Message::Guaranteed { rate } });
            }
            HostInput::Message { from: Origin::Receiver(pair), message: Message::Guaranteed { rate } } => {
                self.guarantee = rate;
                limit(pair, rate + rate);
            }
            HostInput::Message { from: Origin::Receiver(pair), message: Message::Congested } => {
                limit(pair, self.guarantee);
            }
            HostInput::Received { pair, arrivals: Arrivals { marked, lost, .. } } if marked + lost > Bytes::ZERO => {
                act(HostAction::Send { to: Peer::Sender(pair), message: Message::Congested });
            }
            _ => {}
        }
    }
}

#[test]
fn a_pair_is_guaranteed_the_less_of_both_ends_and_falls_back_to_it_when_packets_are_lost() {
    let mut stack = Stack::new(Layers {
        flow: Fixed(14_600),
        tunnel: Absent,
        hosts: [Layer::default(), Layer { incoming: 1, ..Layer::default() }],
        path: Absent,
        reorder: Absent,
        ports: PLAIN,
    });
    stack.share.min = Rate::from_gbit(2);
    stack.open();
    assert_eq!(
        stack.log(),
        [
            "Sender: to Receiver(Outgoing(0)) Offered { rate: Rate(2000000000) }",
            "Receiver: to Sender(Incoming(7)) Guaranteed { rate: Rate(1000000000) }",
            "Sender: pair limiter 2Gbit, 15kB, Waits",
        ]
    );
    stack.carry().unwrap();
    assert_eq!(stack.log()[2], "pair limiter: 2Gbit lets through");
    let arrivals = Arrivals { lost: Bytes::new(1_538), ..Arrivals::default() };
    stack.tell(End::Receiver, HostInput::Received { pair: ARRIVING, arrivals });
    stack.settle();
    assert_eq!(stack.log(), ["Receiver: to Sender(Incoming(7)) Congested", "Sender: pair limiter 1Gbit, 15kB, Waits"]);
    let richer = Share { min: Rate::from_gbit(8), ..stack.share };
    stack.tell(End::Sender, HostInput::ClassSet { class: CLASS, transmit: richer, receive: richer });
    assert_eq!(stack.layers.hosts[0].hose, Rate::from_gbit(8));
}
