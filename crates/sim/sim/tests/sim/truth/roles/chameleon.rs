//! A skeleton of Chameleon's tagger and shaper (CoNEXT 2020, 4.2.2 to 4.2.4): nothing leaves before a rule comes from the
//! controller, which then sets a bucket that drops, and two disjoint paths that every packet takes.

use std::sync::{Arc, Mutex};

use wayleave_scenarios::{Element, ElementChange, FlowEndpoints, Outage, PacketKind, Traffic};
use wayleave_scheme_api::{
    Broker, BrokerAction, BrokerInput, Bucket, CustomBroker, DynRole, ExcessAction, HostAction, HostInput, Leadership,
    Limiter, Member, Outgoing, PathIndex, PathUse, Peer,
};
use wayleave_sim::BrokerLocation;
use wayleave_units::{Bytes, Rate, Time};

use super::{Parts, broker_spec, diamond, of, run_with, scenario, script};
use crate::truth::networks::{FRAME, flow};

const RATE: Rate = Rate::from_mbit(100);

/// Answers a host that asks for a rule, after a delay.
struct Controller {
    waiting: Option<Member>,
    confirmed: Arc<Mutex<u32>>,
}

const ASKS: u64 = 1;
const RULE: u64 = 2;
const CONFIRMED: u64 = 3;

impl Broker for Controller {
    type Message = u64;
    type Timer = u64;

    fn on(&mut self, now: Time, input: BrokerInput<u64, u64>, act: &mut dyn FnMut(BrokerAction<u64, u64>)) {
        match input {
            BrokerInput::Message { from, message: ASKS } => {
                self.waiting = Some(from);
                act(BrokerAction::Arm { at: now + Time::from_millis(1), timer: 0 });
            }
            BrokerInput::Timer(0) => {
                if let Some(to) = self.waiting.take() {
                    act(BrokerAction::Send { to, message: RULE });
                }
            }
            BrokerInput::Message { message: CONFIRMED, .. } => *self.confirmed.lock().unwrap() += 1,
            _ => {}
        }
    }
}

/// Catches: packets that leave without a rule, timers of brokers that never fire, copies that are delivered twice, lost
/// with their path, or counted as drops.
#[test]
fn packets_wait_for_their_rule_and_then_use_both_paths() {
    let diamond = diamond(2);
    let mut scenario = scenario(&diamond.network, 20);
    let kind = PacketKind::ConstantRate { rate: RATE };
    let ends = FlowEndpoints::Pairs(vec![(diamond.left[0], diamond.right[0])]);
    let mut traffic = Traffic::packets("contract", ends, kind, Bytes::new(FRAME));
    traffic.service = Some("a".to_owned());
    scenario.traffic = vec![traffic];
    let confirmed = Arc::new(Mutex::new(0));
    let broker = diamond.left[1];
    let parts = || {
        let confirmed = confirmed.clone();
        let mut parts = Parts::new(|place| {
            let controller = place.first_broker;
            script(move |now, input, act| match input {
                HostInput::Opened { pair, .. } => {
                    let nothing = Bucket { rate: Rate::ZERO, burst: Bytes::ZERO, excess: ExcessAction::Drops };
                    act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket: Some(nothing) });
                    act(HostAction::Send { to: Peer::Broker(controller), message: ASKS });
                }
                HostInput::Message { message: RULE, .. } => {
                    let pair = Outgoing(0);
                    let bucket = Bucket { rate: RATE, burst: Bytes::new(2 * FRAME), excess: ExcessAction::Drops };
                    act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket: Some(bucket) });
                    let mut take = |path, purpose| act(HostAction::UsePath { pair, path, purpose, from: now });
                    take(PathIndex(0), PathUse::Share);
                    take(PathIndex(1), PathUse::Copy);
                    act(HostAction::Send { to: Peer::Broker(controller), message: CONFIRMED });
                }
                _ => {}
            })
        });
        let controller = Box::new(move || -> CustomBroker {
            let controller = Controller { waiting: None, confirmed: confirmed.clone() };
            Box::new(DynRole::new(controller, |_: &u64| 84))
        });
        parts.broker = Some((broker_spec(BrokerLocation::Host(broker), Leadership::Follower), controller));
        parts
    };
    let whole = run_with(&scenario, parts(), 1);
    let packets = flow(&whole, 0);
    // One packet in 123 us: those of the first ms are dropped, and one or two more, since the bucket that replaces the
    // empty one has no tokens yet. All others come, each once.
    assert!((8..=11).contains(&packets.drops), "{}", packets.drops);
    assert!(packets.sent - packets.drops - packets.delivered <= 1);
    assert_eq!((packets.duplicates, *confirmed.lock().unwrap()), (0, 1));
    assert_eq!(whole.sharing.as_ref().unwrap().messages.sent, 3, "asked, told, confirmed");

    for path in [0, 1] {
        let what = Element::Link(diamond.to_spine[path]);
        let mut cut = scenario.clone();
        cut.outages = vec![Outage { at: Time::from_millis(10), what, change: ElementChange::FailsSilently }];
        let outcome = run_with(&cut, parts(), 1);
        let packets = flow(&outcome, 0);
        assert!((8..=11).contains(&packets.drops), "{} with path {path} cut", packets.drops);
        assert!(packets.sent - packets.drops - packets.delivered <= 1, "path {path}");
        let lost: u64 = outcome.links.iter().map(|link| link.lost_silently).sum();
        assert!(lost > 70, "{lost} copies");
    }
}

/// Catches: segments whose copies disturb their sender.
#[test]
fn segments_over_two_paths_arrive_once_without_a_time_out_after_a_failure() {
    let diamond = diamond(1);
    let mut scenario = scenario(&diamond.network, 20);
    let pairs = [(diamond.left[0], diamond.right[0])];
    scenario.traffic = vec![of("a", crate::truth::networks::once("flow", &pairs, 2_000 * 1460))];
    let what = Element::Link(diamond.to_spine[0]);
    scenario.outages = vec![Outage { at: Time::from_micros(500), what, change: ElementChange::FailsSilently }];
    let parts = Parts::new(|_| {
        script(|now, input, act| {
            if let HostInput::Opened { pair, .. } = input {
                let mut take = |path, purpose| act(HostAction::UsePath { pair, path, purpose, from: now });
                take(PathIndex(0), PathUse::Share);
                take(PathIndex(1), PathUse::Copy);
            }
        })
    });
    let outcome = run_with(&scenario, parts, 1);
    assert_eq!(outcome.traffic[0].completions.finished(), 1);
    let flow = flow(&outcome, 0);
    assert_eq!((flow.timeouts, flow.duplicates), (0, 0));
    assert_eq!(flow.payload, Bytes::new(2_000 * 1460));
}
