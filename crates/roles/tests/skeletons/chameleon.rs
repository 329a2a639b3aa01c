//! Chameleon (CoNEXT 2020): admission with rerouting, and the tagger and shaper of the hosts.

use std::mem;

use wayleave_roles::{
    Absent, Admission, Broker, BrokerAction, BrokerId, BrokerInput, Bucket, Decision, Excess, Host, HostAction,
    HostInput, Limiter, Member, Move, Origin, Outgoing, PathIndex, PathUse, Peer, Refusal, Request,
};
use wayleave_topology::{FlowId, Hop, LinkId, NodeId, Route};
use wayleave_units::{Bytes, Rate, Time};

use crate::stack::{End, Layers, PAIR, PLAIN, Stack};
use crate::transports::Fixed;

/// What the controller and the taggers write (4.2.4).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Message {
    /// A tagging and shaping rule: tokens, and the stack of tags, which the driver keeps as a path of the pair.
    Rule { pair: Outgoing, rate: Rate, burst: Bytes, path: PathIndex, copy: Option<PathIndex> },
    /// A rule is in force: before, no reservation is released (design: the sender is confirmed switched).
    Confirmed,
}

/// Time to let what was moved leave its old route (`Decision::activate_after`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Activate;

/// The tagger and shaper.
#[derive(Default)]
pub(crate) struct Tagger {
    paths: Vec<PathIndex>,
}

impl Host for Tagger {
    type Message = Message;
    type Timer = Activate;

    fn on(
        &mut self,
        now: Time,
        input: HostInput<'_, Message, Activate>,
        act: &mut impl FnMut(HostAction<'_, Message, Activate>),
    ) {
        match input {
            // 4.2.2: a packet that no rule matches is dropped.
            HostInput::Opened { pair, .. } => {
                let nothing = Bucket { rate: Rate::ZERO, burst: Bytes::ZERO, excess: Excess::Drops };
                act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket: Some(nothing) });
            }
            HostInput::Message {
                from: Origin::Broker(controller),
                message: Message::Rule { pair, rate, burst, path, copy },
            } => {
                let bucket = Bucket { rate, burst, excess: Excess::Drops };
                act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket: Some(bucket) });
                act(HostAction::UsePath { pair, path, purpose: PathUse::Share, from: now });
                if let Some(path) = copy {
                    act(HostAction::UsePath { pair, path, purpose: PathUse::Copy, from: now });
                }
                let paths: Vec<_> = [Some(path), copy].into_iter().flatten().collect();
                for path in self.paths.drain(..).filter(|path| !paths.contains(path)) {
                    act(HostAction::LeavePath { pair, path });
                }
                self.paths = paths;
                act(HostAction::Send { to: Peer::Broker(controller), message: Message::Confirmed });
            }
            _ => {}
        }
    }
}

/// Admits everything; the second flow moves the first.
#[derive(Default)]
struct Controller {
    admitted: Vec<Route>,
}

impl Controller {
    fn route(&self) -> Route {
        let link = LinkId(self.admitted.len() as u32);
        Route { hops: vec![Hop { link, queue: 0 }] }
    }
}

impl Admission for Controller {
    fn admit(&mut self, request: &Request) -> Result<Decision, Refusal> {
        let route = self.route();
        let moved = |from: &Route| Move { flow: FlowId(0), from: from.clone(), to: route.clone(), placed: 0 };
        let moved: Vec<_> = self.admitted.first().map(moved).into_iter().collect();
        let activate_after = if moved.is_empty() { Time::ZERO } else { Time::from_millis(3) };
        self.admitted.push(route.clone());
        let flow = FlowId(self.admitted.len() as u32 - 1);
        Ok(Decision { flow, route, copies: Vec::new(), bound: request.deadline, moved, activate_after })
    }
    fn release(&mut self, flow: FlowId) -> Option<Route> {
        self.admitted.get_mut(flow.index()).map(mem::take)
    }
    fn change(&mut self, flow: FlowId, request: &Request) -> Option<Result<Decision, Refusal>> {
        self.release(flow)?;
        Some(self.admit(request))
    }
    fn would_admit(&mut self, _request: &Request) -> bool {
        true
    }
}

/// The controller's side towards the hosts: a rule waits until what made room for it is confirmed and has drained.
struct Southbound {
    waiting: Option<Message>,
    activate_after: Time,
}

impl Broker for Southbound {
    type Message = Message;
    type Timer = Activate;

    fn on(
        &mut self,
        now: Time,
        input: BrokerInput<Message, Activate>,
        act: &mut dyn FnMut(BrokerAction<Message, Activate>),
    ) {
        match input {
            BrokerInput::Message { message: Message::Confirmed, .. } if self.waiting.is_some() => {
                act(BrokerAction::Arm { at: now + self.activate_after, timer: Activate });
            }
            BrokerInput::Timer(Activate) => {
                if let Some(message) = self.waiting.take() {
                    act(BrokerAction::Send { to: Member::Host(NodeId(0)), message });
                }
            }
            _ => {}
        }
    }
}

fn request() -> Request {
    Request {
        from: NodeId(0),
        to: NodeId(1),
        rate: Rate::from_mbit(80),
        burst: Bytes::new(3_076),
        deadline: Time::from_millis(1),
        max_frame: None,
        route: None,
        protection: 1,
    }
}

fn rule(path: u32, copy: Option<u32>) -> Message {
    let Request { rate, burst, .. } = request();
    Message::Rule { pair: PAIR, rate, burst, path: PathIndex(path), copy: copy.map(PathIndex) }
}

#[test]
fn an_admitted_flow_passes_its_bucket_and_takes_its_route_and_nothing_else_leaves() {
    let mut controller = Controller::default();
    let first = controller.admit(&request()).unwrap();
    let second = controller.admit(&request()).unwrap();
    assert_eq!((first.moved.len(), second.moved.len()), (0, 1));

    let mut stack = Stack::new(Layers {
        flow: Fixed(14_600),
        tunnel: Absent,
        hosts: [Tagger::default(), Tagger::default()],
        path: Absent,
        reorder: Absent,
        ports: PLAIN,
    });
    let southbound = Southbound { waiting: Some(rule(0, Some(1))), activate_after: second.activate_after };
    stack.brokers.push(Box::new(southbound));
    stack.open();
    assert_eq!(stack.log(), ["Sender: pair limiter 0bit, 0B, Drops"]);
    assert_eq!(stack.carry(), None, "no rule matches");
    assert_eq!(stack.log().last().unwrap(), "pair limiter: 0bit drops");

    let message = rule(1, None);
    stack.tell(End::Sender, HostInput::Message { from: Origin::Broker(BrokerId(0)), message });
    stack.settle();
    assert_eq!(
        stack.log(),
        [
            "Sender: pair limiter 80Mbit, 3.076kB, Drops",
            "Sender: uses path 1 for Share from 0ns",
            "Sender: to Broker(BrokerId(0)) Confirmed",
        ]
    );
    stack.carry().unwrap();
    assert_eq!(
        stack.log(),
        [
            "transport: 1460 B of a window of 14600, urgency 1460",
            "tunnel: Queued, next InOrder",
            "pair limiter: 80Mbit lets through",
            "path: 1 of 1 in use, 0 copies",
            "NIC: class 3 with weight 1",
            "ports of path 1: mark No",
            "reordering buffer: delivers",
            "transport: hears of 0 B marked, window 14600",
        ]
    );
    stack.fire();
    let log = stack.log();
    assert_eq!(log[0], "timer: Activate of Broker(BrokerId(0)) at 3ms");
    assert_eq!(log[3..5], ["Sender: uses path 0 for Share from 3ms", "Sender: uses path 1 for Copy from 3ms"]);
    stack.carry().unwrap();
    assert!(stack.log().contains(&"path: 0 of 1 in use, 1 copies".to_owned()), "disjoint paths carry copies");
    stack.tell(End::Sender, HostInput::Message { from: Origin::Broker(BrokerId(0)), message: rule(0, None) });
    assert!(stack.log().contains(&"Sender: leaves path 1".to_owned()));
}
