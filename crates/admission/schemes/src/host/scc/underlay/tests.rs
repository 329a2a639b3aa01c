use wayleave_scheme_api::{PairSpec, PathIndex};
use wayleave_topology::NodeId;

use super::*;

const A: ClassId = ClassId(1);
const PAIR: Outgoing = Outgoing(0);

fn us(count: u64) -> Time {
    Time::from_micros(count)
}

fn host() -> Scc {
    one_of(1)
}

/// Returns one of `hosts` hosts.
fn one_of(hosts: usize) -> Scc {
    let divisions = BTreeMap::from([(A, Division::new(400_000_000, hosts, vec![BrokerId(0)]))]);
    Scc::new(HostLocation { line: Rate::from_gbit(1), divisions, phase: us(10) }, Params::default())
}

fn handle(host: &mut Scc, now: Time, input: HostInput<'_, Message, Timer>) -> Vec<HostAction<Message, Timer>> {
    let mut actions = Vec::new();
    host.on(now, input, &mut |action| {
        actions.push(match action {
            HostAction::Send { to, message } => HostAction::Send { to, message },
            HostAction::Arm { at, timer } => HostAction::Arm { at, timer },
            HostAction::SetBucket { limiter, bucket } => HostAction::SetBucket { limiter, bucket },
            HostAction::SetWeight { of, weight } => HostAction::SetWeight { of, weight },
            HostAction::SetWindow { pair, path, window } => HostAction::SetWindow { pair, path, window },
            other => panic!("{other:?}"),
        });
    });
    actions
}

fn spec() -> PairSpec {
    let round_trip = us(300);
    PairSpec { class: A, peer_class: A, peer: NodeId(9), key: 1, paths: 1, round_trip }
}

fn rate(host: &Scc) -> u64 {
    host.tunnel(PAIR).unwrap().0.bits_per_second()
}

fn send(host: &mut Scc, now: Time) {
    let bytes = Bytes::new(1_538);
    handle(host, now, HostInput::Sent { pair: PAIR, path: PathIndex(0), bytes });
}

fn feed(host: &mut Scc, now: Time, marked: u64) {
    let message = Message::Feedback { bytes: 1_538, marked, lost: 0, clear: Time::ZERO };
    handle(host, now, HostInput::Message { from: MessageOrigin::Receiver(PAIR), message });
}

#[test]
fn a_new_tunnel_has_the_host_part_of_the_share_until_the_tracker_answers() {
    let mut host = one_of(10);
    let actions = handle(&mut host, us(0), HostInput::Opened { pair: PAIR, spec: spec() });
    assert!(matches!(actions[0], HostAction::SetWeight { weight: 40_000, .. }), "{actions:?}");
    assert_eq!(rate(&host), 40_000_000);
    let actions = handle(&mut host, us(1), HostInput::ReferenceWeight { pair: PAIR, weight: 5, floor: Rate::ZERO });
    let reports = |actions: &[HostAction<Message, Timer>]| {
        let is_report = |action: &&HostAction<_, _>| {
            matches!(action, HostAction::Send { to: Peer::Broker(_), message: Message::Report { sum: 5, .. } })
        };
        actions.iter().filter(is_report).count()
    };
    assert_eq!(reports(&actions), 1, "the first is reported at once");
    let scale = Message::Scale { division: A, share: 400_000_000, sum: 20, own: 5 };
    handle(&mut host, us(400), HostInput::Message { from: MessageOrigin::Broker(BrokerId(0)), message: scale });
    assert_eq!(host.tunnel(PAIR).unwrap().1, Rate::from_mbit(100), "a quarter of what all want");
    assert_eq!(reports(&handle(&mut host, us(1_000), HostInput::Timer(Timer::Report))), 1);
    handle(&mut host, us(1_500), HostInput::Closed { pair: PAIR });
    assert_eq!(reports(&handle(&mut host, us(2_000), HostInput::Timer(Timer::Report))), 0, "a last report of nothing");
    assert!(handle(&mut host, us(3_000), HostInput::Timer(Timer::Report)).is_empty(), "and no timer");
}

#[test]
fn a_receiver_reports_arrivals_once_a_period_and_nothing_without_arrivals() {
    let mut host = host();
    let pair = Incoming(0);
    handle(&mut host, us(0), HostInput::IncomingOpened { pair, spec: spec() });
    let arrivals = |marked| Arrivals { bytes: Bytes::new(100), marked: Bytes::new(marked), lost: Bytes::ZERO };
    let actions = handle(&mut host, us(0), HostInput::Received { pair, arrivals: arrivals(0) });
    assert!(matches!(actions[..], [HostAction::Arm { at, .. }] if at == us(300)));
    assert!(handle(&mut host, us(9), HostInput::Received { pair, arrivals: arrivals(100) }).is_empty());
    let timer = || HostInput::Timer(Timer::Feedback(pair, 1));
    let actions = handle(&mut host, us(300), timer());
    let expected = Message::Feedback { bytes: 200, marked: 100, lost: 0, clear: us(291) };
    assert!(matches!(actions[0], HostAction::Send { to: Peer::Sender(_), message } if message == expected));
    assert!(handle(&mut host, us(600), timer()).is_empty());
    // Another pair with the same number: the timer of the old one means nothing.
    handle(&mut host, us(700), HostInput::Received { pair, arrivals: arrivals(0) });
    handle(&mut host, us(700), HostInput::IncomingOpened { pair, spec: spec() });
    handle(&mut host, us(800), HostInput::Received { pair, arrivals: arrivals(0) });
    assert!(handle(&mut host, us(1_000), timer()).is_empty());
}

/// Catches: a path that counts as free for a tunnel by chance, while others at the same host see marks.
#[test]
fn a_receiver_reports_the_time_without_marks_on_any_tunnel() {
    let mut host = host();
    let arrivals = |marked| Arrivals { bytes: Bytes::new(100), marked: Bytes::new(marked), lost: Bytes::ZERO };
    for pair in [Incoming(0), Incoming(1)] {
        handle(&mut host, us(0), HostInput::IncomingOpened { pair, spec: spec() });
    }
    handle(&mut host, us(0), HostInput::Received { pair: Incoming(0), arrivals: arrivals(0) });
    handle(&mut host, us(100), HostInput::Received { pair: Incoming(1), arrivals: arrivals(100) });
    let actions = handle(&mut host, us(300), HostInput::Timer(Timer::Feedback(Incoming(0), 1)));
    let is_reported = |action: &HostAction<Message, Timer>| matches!(action, HostAction::Send { message: Message::Feedback { marked: 0, clear, .. }, .. } if *clear == us(200));
    assert!(actions.iter().any(is_reported), "{actions:?}");
}

/// Catches: a tunnel whose window holds it back, and that counts as one which does not want its rate: below its weight it would not be cut, and have more
/// than others. Of 20 packets that may be in flight, two and then all are.
#[test]
fn a_tunnel_at_its_window_uses_its_rate() {
    let mut levels = Vec::new();
    for packets in [2, 19] {
        let mut host = host();
        handle(&mut host, us(0), HostInput::Opened { pair: PAIR, spec: spec() });
        let sending = host.sending[0].as_mut().unwrap();
        assert_eq!(sending.in_flight.window, 30_000, "400 Mbit/s for 300 us, twice");
        // Nothing was sent for long, and most of its rate was unused.
        feed(&mut host, us(3_000), 1_538);
        for _ in 0..packets {
            send(&mut host, us(6_000));
        }
        feed(&mut host, us(6_000), 1_538);
        levels.push(rate(&host));
    }
    assert!(levels[0] > levels[1], "{levels:?}");
}

/// Catches: windows that do not follow rates, and one for the first path only.
#[test]
fn a_tunnel_has_at_most_a_round_trip_and_a_period_of_its_rate_in_flight() {
    let mut host = host();
    let windows = |actions: &[HostAction<Message, Timer>]| -> Vec<(u32, u64)> {
        let window = |action: &HostAction<Message, Timer>| match action {
            HostAction::SetWindow { path, window, .. } => Some((path.0, window.unwrap().get())),
            _ => None,
        };
        actions.iter().filter_map(window).collect()
    };
    let opened = HostInput::Opened { pair: PAIR, spec: PairSpec { paths: 2, ..spec() } };
    assert_eq!(windows(&handle(&mut host, us(0), opened)), [(0, 30_000), (1, 30_000)]);
    let scale = Message::Scale { division: A, share: 400_000_000, sum: 20, own: 5 };
    handle(&mut host, us(1), HostInput::ReferenceWeight { pair: PAIR, weight: 5, floor: Rate::ZERO });
    let actions =
        handle(&mut host, us(2), HostInput::Message { from: MessageOrigin::Broker(BrokerId(0)), message: scale });
    assert_eq!(windows(&actions), [(0, 7_500), (1, 7_500)], "100 Mbit/s for 600 us");
    // Catches: windows that bind all the time where feedback comes more often than a round trip.
    host.params.feedback_period = us(100);
    let opened = HostInput::Opened { pair: PAIR, spec: spec() };
    assert_eq!(windows(&handle(&mut host, us(3), opened)), [(0, 30_000)], "400 Mbit/s for two round trips");
}

#[test]
fn without_feedback_a_sending_tunnel_halves_every_ten_periods() {
    let mut host = host();
    handle(&mut host, us(0), HostInput::Opened { pair: PAIR, spec: spec() });
    feed(&mut host, us(0), 1_538);
    feed(&mut host, us(300), 0);
    let begin = rate(&host);
    for at in (300..=3_300).step_by(100) {
        send(&mut host, us(at));
    }
    assert_eq!(rate(&host), begin, "ten periods may be lost");
    send(&mut host, us(3_400));
    assert_eq!(rate(&host), begin / 2);
    for at in (3_500..1_000_000).step_by(100) {
        send(&mut host, us(at));
    }
    assert_eq!(rate(&host), 500_000, "the floor");
    // It resumes when feedback returns.
    for at in (1_000_000..1_100_000).step_by(300) {
        send(&mut host, us(at));
        feed(&mut host, us(at), 0);
    }
    assert!(rate(&host) > 10_000_000, "{}", rate(&host));
}

/// Catches: messages that wait for the host's interface by the weight of their tunnel, and a floor that outlasts its flows.
#[test]
fn a_floor_holds_at_the_limiter_and_at_the_interface() {
    let mut host = one_of(10);
    handle(&mut host, us(0), HostInput::Opened { pair: PAIR, spec: spec() });
    let mut turns = |weight, mbit| {
        let floor = Rate::from_mbit(mbit);
        let actions = handle(&mut host, us(1), HostInput::ReferenceWeight { pair: PAIR, weight, floor });
        let turns = actions.iter().find_map(|action| match action {
            HostAction::SetWeight { of: Weighted::Turns(_), weight } => Some(*weight),
            _ => None,
        });
        (rate(&host), turns)
    };
    assert_eq!(turns(5, 0), (40_000_000, None), "a tenth of the share");
    // The shares of the host are less than its line, so its floor is enough weight.
    assert_eq!(turns(5, 200), (200_000_000, Some(200_000)));
    assert_eq!(turns(5, 200), (200_000_000, None), "nothing changes");
    assert_eq!(turns(5, 0), (40_000_000, Some(40_000)));
    host.shares = 3_000_000_000;
    let floor = Rate::from_mbit(200);
    let actions = handle(&mut host, us(2), HostInput::ReferenceWeight { pair: PAIR, weight: 5, floor });
    let is_enough = |action: &HostAction<Message, Timer>| {
        matches!(action, HostAction::SetWeight { of: Weighted::Turns(_), weight: 600_000 })
    };
    assert!(actions.iter().any(is_enough), "three times as much beside shares of three lines: {actions:?}");
}
