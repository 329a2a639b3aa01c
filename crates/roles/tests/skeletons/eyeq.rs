//! EyeQ (NSDI 2013; Parley, 3.2.1), and PicNIC' as uFAB's evaluation uses it (2.2): the same with weighted queues.

use wayleave_roles::{
    Absent, Arrivals, Bucket, Excess, Host, HostAction, HostInput, Incoming, Limiter, Origin, Peer, Probe, ProbeKind,
    Weighted,
};
use wayleave_units::{Bytes, Rate, Time};

use crate::stack::{ARRIVING, KEY, Layers, PLAIN, Stack};
use crate::transports::Fixed;

/// R: what a receiver lets every sender of a class send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feedback {
    rate: Rate,
}

/// T, 200 us (Parley, 3.2.1): the meters compute R anew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meters;

/// The machine shaper. A meter halves R where it should follow y(t) and beta.
pub(crate) struct Eyeq {
    rate: Rate,
    /// Received since the last feedback; one goes out for every 10 kB (Parley, 3.2.1).
    unanswered: Bytes,
    marked: Bytes,
    sample: Bytes,
}

impl Eyeq {
    const PERIOD: Time = Time::from_micros(200);

    fn new() -> Self {
        Self { rate: Rate::from_gbit(8), unanswered: Bytes::ZERO, marked: Bytes::ZERO, sample: Bytes::new(1_000) }
    }

    /// What arrived, and whether it is time to tell the sender.
    fn meter(&mut self, pair: Incoming, arrivals: Arrivals) -> Option<(Peer, Feedback)> {
        self.unanswered += arrivals.bytes;
        self.marked += arrivals.marked;
        if self.unanswered < self.sample {
            return None;
        }
        self.unanswered = Bytes::ZERO;
        Some((Peer::Sender(pair), Feedback { rate: self.rate }))
    }
}

impl Host for Eyeq {
    type Message = Feedback;
    type Timer = Meters;

    fn on(
        &mut self,
        now: Time,
        input: HostInput<'_, Feedback, Meters>,
        act: &mut impl FnMut(HostAction<'_, Feedback, Meters>),
    ) {
        match input {
            HostInput::Started => act(HostAction::Arm { at: now + Self::PERIOD, timer: Meters }),
            HostInput::ClassSet { class, transmit, .. } => {
                act(HostAction::SetWeight { of: Weighted::Class(class), weight: transmit.weight });
            }
            HostInput::Received { pair, arrivals } => {
                if let Some((to, message)) = self.meter(pair, arrivals) {
                    act(HostAction::Send { to, message });
                }
            }
            HostInput::Message { from: Origin::Receiver(pair), message } => {
                let bucket = Bucket { rate: message.rate, burst: Bytes::new(64_000), excess: Excess::Waits };
                act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket: Some(bucket) });
            }
            HostInput::Timer(Meters) => {
                if self.marked > Bytes::ZERO {
                    self.rate = Rate::from_bits_per_second(self.rate.bits_per_second() / 2);
                }
                act(HostAction::Arm { at: now + Self::PERIOD, timer: Meters });
            }
            _ => {}
        }
    }
}

#[test]
fn a_receiver_limits_its_sender() {
    let mut stack = Stack::new(Layers {
        flow: Fixed(14_600),
        tunnel: Absent,
        hosts: [Eyeq::new(), Eyeq::new()],
        path: Absent,
        reorder: Absent,
        ports: PLAIN,
    });
    stack.share.weight = 4;
    stack.open();
    assert_eq!(stack.log(), ["Sender: class weight 4", "Receiver: class weight 4"]);
    stack.carry().unwrap();
    assert_eq!(
        stack.log(),
        [
            "transport: 1460 B of a window of 14600, urgency 1460",
            "tunnel: Queued, next InOrder",
            "path: 0 of 2 in use, 0 copies",
            "NIC: class 3 with weight 4",
            "ports of path 0: mark No",
            "reordering buffer: delivers",
            "Receiver: to Sender(Incoming(7)) Feedback { rate: Rate(8000000000) }",
            "Sender: pair limiter 8Gbit, 64kB, Waits",
            "transport: hears of 0 B marked, window 14600",
        ]
    );
    stack.carry().unwrap();
    assert!(stack.log().contains(&"pair limiter: 8Gbit lets through".to_owned()));
    let probe = Probe { pair: KEY, kind: ProbeKind::Active, tokens: 4 };
    let answer = stack.layers.hosts[1].answer(stack.now, ARRIVING, &probe);
    assert_eq!(answer.tokens, None, "who has no answer to probes admits everything");
    stack.fire();
    assert_eq!(stack.log(), ["timer: Meters of Host(Sender) at 200us"]);
}
