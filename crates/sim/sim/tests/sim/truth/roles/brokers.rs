//! Stop and restart of a broker.

use wayleave_contracts::ContentionPoint;
use wayleave_scenarios::{BrokerAt, SharingChange, SharingEvent};
use wayleave_scheme_api::{Broker, BrokerAction, BrokerInput, CustomBroker, CustomMessage, Leadership, Member};
use wayleave_sim::{BrokerLocation, BrokerSpec};
use wayleave_topology::NodeId;
use wayleave_units::Time;

use super::{Parts, diamond, of, run_with, scenario, script};
use crate::truth::networks::once;

const BEAT: Time = Time::from_micros(100);

/// Writes to a host at every beat of a timer that it arms repeatedly. All its timers are alike, so it cannot
/// distinguish one of an earlier start by itself.
struct Beat(NodeId);

impl Broker for Beat {
    type Message = CustomMessage;
    type Timer = u64;

    fn on(
        &mut self,
        now: Time,
        input: BrokerInput<CustomMessage, u64>,
        act: &mut dyn FnMut(BrokerAction<CustomMessage, u64>),
    ) {
        match input {
            BrokerInput::Started => {}
            BrokerInput::Timer(_) => {
                act(BrokerAction::Send { to: Member::Host(self.0), message: CustomMessage::new((), 84) })
            }
            _ => return,
        }
        act(BrokerAction::Arm { at: now + BEAT, timer: 0 });
    }
}

/// Catches: timers that a broker armed before it was stopped and that its successor receives; a broker started five
/// times would beat six times per interval.
#[test]
fn a_restarted_broker_receives_no_timers_of_its_earlier_start() {
    let diamond = diamond(2);
    let (to, at) = (diamond.left[0], BrokerLocation::Host(diamond.left[1]));
    let messages = |starts: u64| {
        let mut scenario = scenario(&diamond.network, 10);
        let event = |micros, what| SharingEvent { at: Time::from_micros(micros), what };
        let restart = |number: u64| {
            [SharingChange::Stops(BrokerAt::Fabric), SharingChange::Starts(BrokerAt::Fabric)]
                .map(|what| event(1_050 + 10 * number, what))
        };
        scenario.sharing.as_mut().unwrap().events = (0..starts).flat_map(restart).collect();
        let pairs = [(diamond.left[0], diamond.right[0])];
        scenario.traffic = vec![of("a", once("flow", &pairs, 1_460))];
        let mut parts = Parts::new(|_| script(|_, _, _| {}));
        let broker_spec = BrokerSpec { point: Some(ContentionPoint::Fabric), at, leadership: Leadership::Follower };
        let broker = move || -> CustomBroker { Box::new(Beat(to)) };
        parts.broker = Some((broker_spec, Box::new(broker)));
        run_with(&scenario, parts, 1).sharing.unwrap().messages.sent
    };
    // One in each of a hundred intervals; the last one is at the end of the run.
    let usual = messages(0);
    assert!((99..=100).contains(&usual), "{usual}");
    // A start moves the beat, so it costs one at most.
    let again = messages(5);
    assert!((usual - 1..=usual).contains(&again), "{again} messages instead of {usual}");
}
