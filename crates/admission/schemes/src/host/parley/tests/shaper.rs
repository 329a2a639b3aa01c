//! One machine with hand-written inputs.

use wayleave_packet_format::broker::{RateList, RateSubject, ServiceRates};
use wayleave_scheme_api::{
    Arrivals, BrokerId, ClassId, Host, HostAction, HostInput, Incoming, Limiter, MessageOrigin, Outgoing, PairSpec,
    PathIndex, Peer, Share,
};
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

use super::super::*;
use super::rack::{SECOND, gbit, network};
use crate::host::eyeq::LineParams;
use crate::usage_report::ServiceUsageReport;

const CLASS: ClassId = ClassId(1);
const BROKER: BrokerId = BrokerId(0);

fn handle(shaper: &mut Shaper, now: Time, input: HostInput<'_, Message, Timer>) -> Vec<String> {
    let mut log = Vec::new();
    shaper.on(now, input, &mut |action| {
        log.push(match action {
            HostAction::SetBucket { limiter: Limiter::Class(class), bucket } => {
                format!("{class:?} {:?}", bucket.map(|bucket| bucket.rate))
            }
            HostAction::Send { to: Peer::Broker(to), message: Message::Report(report) } => {
                format!("{to:?} {:?} {:?}", report.services, report.limits)
            }
            HostAction::Arm { at, timer } => format!("{timer:?} at {at}"),
            other => format!("{other:?}"),
        });
    });
    log
}

fn shaper() -> (Shaper, Vec<NodeId>) {
    let hosts: Vec<NodeId> = network(2, 2, 1).hosts().collect();
    let place = ShaperPlace { broker: BROKER, rack: hosts[..2].to_vec(), epoch: 1, phase: Time::ZERO };
    let mut shaper =
        Shaper::new(LineParams::both(gbit(10)), crate::host::eyeq::Params::default(), Params::PUBLISHED, place)
            .unwrap();
    handle(&mut shaper, Time::ZERO, HostInput::Started);
    let share = Share { max: Some(gbit(9)), ..Share::BEST_EFFORT };
    handle(&mut shaper, Time::ZERO, HostInput::ClassSet { class: CLASS, transmit: share, receive: share });
    (shaper, hosts)
}

fn limits(serial: u64, transmit: Rate) -> Message {
    let rates = ServiceRates { service: 1, transmit: Some(transmit), receive: Some(gbit(2)) };
    Message::Rates(RateList { epoch: 1, serial, ..RateList::new(RateSubject::MachineLimits, vec![rates]) })
}

#[test]
fn usage_across_uplinks_is_reported_separately() {
    let (mut shaper, hosts) = shaper();
    let round_trip = Time::from_micros(20);
    let spec = |peer| PairSpec { class: CLASS, peer_class: CLASS, peer, key: 0, paths: 1, round_trip };
    for (pair, peer) in [(0, hosts[1]), (1, hosts[3])] {
        handle(&mut shaper, Time::ZERO, HostInput::Opened { pair: Outgoing(pair), spec: spec(peer) });
        handle(&mut shaper, Time::ZERO, HostInput::IncomingOpened { pair: Incoming(pair), spec: spec(peer) });
        let bytes = Bytes::new(1000 + u64::from(pair));
        handle(&mut shaper, SECOND, HostInput::Sent { pair: Outgoing(pair), path: PathIndex(0), bytes });
        let arrivals = Arrivals { bytes: Bytes::new(50), ..Arrivals::default() };
        handle(&mut shaper, SECOND, HostInput::Received { pair: Incoming(pair), arrivals });
    }
    let [ServiceUsageReport { class, total, uplink, .. }] = *shaper.usage() else { panic!() };
    assert_eq!((class, total, uplink), (CLASS, [2001, 100].map(Bytes::new), [1001, 50].map(Bytes::new)));
    let log = handle(&mut shaper, SECOND, HostInput::Timer(Timer::Report));
    assert!(log[0].starts_with("BrokerId(0) [ServiceUsageReport") && log[0].ends_with("Some([])"), "{log:?}");
    assert_eq!(log[1], "Report at 2s");
}

#[test]
fn without_a_broker_a_machine_applies_its_own_policy_after_the_time_out() {
    let (mut shaper, _) = shaper();
    let receive = |shaper: &mut Shaper, now, message| {
        handle(shaper, now, HostInput::Message { from: MessageOrigin::Broker(BROKER), message })
    };
    assert_eq!(receive(&mut shaper, SECOND, limits(7, gbit(3))), ["ClassId(1) Some(Rate(3000000000))"]);
    assert_eq!(shaper.eyeq().class_state(CLASS).unwrap().receive_capacity, gbit(2));
    // Old words, those of others and those of other policies change nothing.
    assert_eq!(receive(&mut shaper, SECOND, limits(6, gbit(1))), [""; 0]);
    let from = MessageOrigin::Broker(BrokerId(5));
    assert_eq!(handle(&mut shaper, SECOND, HostInput::Message { from, message: limits(9, gbit(1)) }), [""; 0]);
    for second in 2..6 {
        assert_eq!(handle(&mut shaper, SECOND * second, HostInput::Timer(Timer::Report)).len(), 2);
    }
    let log = handle(&mut shaper, SECOND * 6, HostInput::Timer(Timer::Report));
    assert_eq!(log[0], "ClassId(1) Some(Rate(9000000000))");
    assert_eq!((shaper.limits(), log.len()), (&[][..], 3));
    // Messages of a broker that begins again with smaller numbers are accepted.
    assert_eq!(receive(&mut shaper, SECOND * 7, limits(1, gbit(4))), ["ClassId(1) Some(Rate(4000000000))"]);
    let none =
        Message::Rates(RateList { epoch: 1, serial: 2, ..RateList::new(RateSubject::MachineLimits, Vec::new()) });
    assert_eq!(receive(&mut shaper, SECOND * 8, none), ["ClassId(1) Some(Rate(9000000000))"]);
}
