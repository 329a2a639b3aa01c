//! Inputs and options of a transport beside its window: routes, weights, probes of less than a segment.

use std::sync::{Arc, Mutex};

use wayleave_scenarios::{Buffering, Congestion, Element, ElementChange, Outage};
use wayleave_scheme_api::{
    Ack, Descriptor, Flow, FlowStart, HostAction, HostInput, Loss, Outgoing, PathIndex, PathUse, Role, RouteFacts,
    Weighted,
};
use wayleave_schemes::transports::{CustomFlow, CustomTransport, SharedTransport};
use wayleave_units::Time;

use super::{Parts, diamond, of, run_with, scenario, script};
use crate::truth::networks::{FRAME, assert_near, endless, flow, once, star};

const SKELETON: Descriptor = Descriptor {
    name: "skeleton",
    title: "a skeleton",
    roles: &[Role::Transport],
    summary: "A window that nothing changes, and probes after time-outs",
    citation: "pFabric, SIGCOMM 2013, section 4.3",
    guarantee: "nothing",
    parameters: &[],
};

/// Inputs that all flows received.
#[derive(Debug, Default)]
struct Received {
    routes: Vec<RouteFacts>,
    weights: Vec<u32>,
    probes: u32,
    answered: u32,
}

#[derive(Debug)]
struct Skeleton(Arc<Mutex<Received>>);

impl CustomTransport for Skeleton {
    fn descriptor(&self) -> &'static Descriptor {
        &SKELETON
    }
    fn begin(&self, start: &FlowStart) -> Box<dyn CustomFlow> {
        Box::new(Probing { received: self.0.clone(), segment: start.segment, timeouts: 0 })
    }
}

/// pFabric's host: after two time-outs in a row one byte goes, until an acknowledgement comes (the paper has five).
#[derive(Debug)]
struct Probing {
    received: Arc<Mutex<Received>>,
    segment: u32,
    timeouts: u32,
}

impl Flow for Probing {
    fn on_route(&mut self, _: Time, route: RouteFacts) {
        self.received.lock().unwrap().routes.push(route);
    }
    fn on_weight(&mut self, _: Time, weight: u32) {
        self.received.lock().unwrap().weights.push(weight);
    }
    fn on_send(&mut self, _: Time, bytes: u32) {
        self.received.lock().unwrap().probes += u32::from(bytes < self.segment);
    }
    fn on_ack(&mut self, _: Time, ack: &Ack<'_>) {
        self.timeouts = 0;
        self.received.lock().unwrap().answered += u32::from(ack.newly == 0);
    }
    fn on_loss(&mut self, _: Time, loss: Loss) {
        self.timeouts += u32::from(matches!(loss, Loss::Timeout { .. }));
    }
    fn window(&self) -> u64 {
        20 * u64::from(self.segment)
    }
    fn payload(&self, segment: u32) -> u32 {
        if self.timeouts >= 2 { 1 } else { segment }
    }
}

fn skeleton(received: &Arc<Mutex<Received>>) -> Congestion {
    Congestion::Custom(SharedTransport(Arc::new(Skeleton(received.clone()))))
}

/// Catches: a probe that counts as its segment, one that is never repeated, and a flow that never stops probing. The
/// link is down for 100 ms silently: time-outs of 10, 20, 40 and 80 ms expire, of which the first two send segments.
#[test]
fn probes_of_one_byte_replace_segments_until_one_is_acknowledged() {
    let star = star(&[super::LINE; 2], 1_000);
    let received = Arc::new(Mutex::new(Received::default()));
    let mut scenario = scenario(&star.network, 1_000);
    scenario.sharing = None;
    scenario.transport.congestion = skeleton(&received);
    scenario.traffic = vec![once("flow", &[(star.hosts[0], star.hosts[1])], 2_000 * 1_460)];
    let outage = |at, change| Outage { at: Time::from_millis(at), what: Element::Link(star.down[1]), change };
    scenario.outages = vec![outage(1, ElementChange::FailsSilently), outage(101, ElementChange::Works)];
    let outcome = wayleave_sim::run(&scenario, 1, |_| true).unwrap();
    assert_eq!(outcome.traffic[0].completions.finished(), 1);
    let flow = flow(&outcome, 0);
    assert_eq!(flow.payload.get(), 2_000 * 1_460, "probes carry no payload that counts");
    let received = received.lock().unwrap();
    assert!((1..=3).contains(&received.probes) && received.answered == 1, "{received:?}");
    assert!(flow.timeouts >= 3, "{}", flow.timeouts);
}

/// Catches: flows that are not notified of their route, or whose pair's weight stays with the host.
#[test]
fn flows_receive_their_route_and_the_weight_of_their_pair() {
    let diamond = diamond(1);
    let received = Arc::new(Mutex::new(Received::default()));
    let mut scenario = scenario(&diamond.network, 5);
    scenario.transport.congestion = skeleton(&received);
    scenario.traffic = vec![of("a", once("flow", &[(diamond.left[0], diamond.right[0])], 5_000 * 1_460))];
    let parts = Parts::new(|_| {
        script(|now, input, act| match input {
            HostInput::Opened { pair, .. } => {
                act(HostAction::SetWeight { of: Weighted::Pair(pair), weight: 3 });
                act(HostAction::Arm { at: Time::from_millis(1), timer: u64::from(pair.0) });
            }
            HostInput::Timer(pair) => {
                let pair = Outgoing(pair as u32);
                act(HostAction::UsePath { pair, path: PathIndex(1), purpose: PathUse::Share, from: now });
                act(HostAction::SetWeight { of: Weighted::Pair(pair), weight: 7 });
            }
            _ => {}
        })
    });
    let outcome = run_with(&scenario, parts, 1);
    assert!(flow(&outcome, 0).sent * FRAME > 0);
    let received = received.lock().unwrap();
    // The pair has its weight when its first flow joins.
    assert_eq!(received.weights, [3, 7]);
    // Four links there; 8 us of propagation and the transmissions of a frame there and of its answer back.
    let round_trip = Time::from_nanos((4 * (1_230_400 + 67_200 + 2_000_000)) / 1_000);
    let facts = RouteFacts { hops: 4, round_trip, slowest: super::LINE };
    assert_eq!(received.routes, [facts; 2]);
}

/// Catches weights that do not reach the windows of a pair's flows from its host. Three services of one port of 10
/// Gbit/s have the weights 1, 2 and 5, sent 1 ms after they begin; a share is within 15 % of its weight's.
#[test]
fn swift_flows_share_by_the_weights_of_their_pairs() {
    let star = star(&[super::LINE; 4], 5_000);
    let mut scenario = scenario(&star.network, 200);
    scenario.warmup = Time::from_millis(50);
    scenario.switches.buffering = Buffering::Unlimited;
    scenario.transport.congestion = Congestion::swift();
    scenario.traffic = (0..3).map(|at| of("a", endless(&format!("f{at}"), star.hosts[at], star.hosts[3]))).collect();
    let senders = star.hosts.clone();
    let parts = Parts::new(move |place| {
        let weight = senders.iter().position(|&host| host == place.node).and_then(|at| [1, 2, 5].get(at).copied());
        script(move |_, input, act| match input {
            HostInput::Opened { pair, .. } => {
                act(HostAction::Arm { at: Time::from_millis(1), timer: u64::from(pair.0) });
            }
            HostInput::Timer(pair) => {
                let of = Weighted::Pair(Outgoing(pair as u32));
                act(HostAction::SetWeight { of, weight: weight.unwrap_or(1) });
            }
            _ => {}
        })
    });
    let outcome = run_with(&scenario, parts, 1);
    let shares = [0, 1, 2].map(|traffic| flow(&outcome, traffic).delivered as f64 * FRAME as f64 * 8.0 / 150e6);
    println!("{shares:.3?} Gbit/s");
    for (share, weight) in shares.iter().zip([1.0, 2.0, 5.0]) {
        assert_near(*share, 10.0 * weight / 8.0, 0.15, "the share of a weight");
    }
}
