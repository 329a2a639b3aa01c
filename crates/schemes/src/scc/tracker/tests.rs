use super::*;

const A: ClassId = ClassId(1);

fn tracker() -> Tracker {
    Tracker {
        params: Params::default(),
        shares: BTreeMap::from([(A, 1_000)]),
        divisions: BTreeMap::new(),
        started: Time::ZERO,
        swept: Time::ZERO,
    }
}

fn ms(count: u64) -> Time {
    Time::from_millis(count)
}

fn report(tracker: &mut Tracker, at: Time, host: u32, sum: u64) -> Option<Message> {
    tracker.on_report(at, NodeId(host), (A, sum), Answer::Wanted)
}

fn scale(sum: u64, own: u64) -> Option<Message> {
    Some(Message::Scale { division: A, share: 1_000, sum, own })
}

#[test]
fn the_last_report_of_every_host_counts() {
    let mut tracker = tracker();
    for (host, sum, all) in [(1, 100, 100), (2, 300, 400), (1, 50, 350), (2, 0, 50), (1, 0, 0)] {
        assert_eq!(report(&mut tracker, ms(10), host, sum), scale(all, sum));
    }
    assert_eq!(tracker.on_report(ms(10), NodeId(1), (A, 7), Answer::Needless), None);
    assert_eq!(report(&mut tracker, ms(10), 2, 1), scale(8, 1), "who wants no answer counts too");
    assert_eq!(tracker.on_report(ms(10), NodeId(1), (ClassId(9), 7), Answer::Wanted), None, "no such division");
}

#[test]
fn a_tracker_that_has_just_started_says_nothing() {
    let mut tracker = tracker();
    tracker.on(ms(100), BrokerInput::Started, &mut |_| panic!("nothing to do"));
    assert_eq!(report(&mut tracker, ms(101), 1, 100), None);
    assert_eq!(report(&mut tracker, ms(104), 2, 300), None);
    assert_eq!(report(&mut tracker, ms(105), 1, 100), scale(400, 100));
}

#[test]
fn who_is_silent_is_forgotten() {
    let mut tracker = tracker();
    report(&mut tracker, ms(10), 1, 100);
    assert_eq!(report(&mut tracker, ms(15), 2, 300), scale(400, 300), "five reports may be lost");
    assert_eq!(tracker.members(ms(15)), [NodeId(1), NodeId(2)]);
    assert_eq!(report(&mut tracker, ms(16), 2, 300), scale(300, 300));
    assert_eq!(tracker.members(ms(16)), [NodeId(2)]);
}

#[test]
fn sums_never_overflow() {
    let mut tracker = tracker();
    report(&mut tracker, ms(10), 1, u64::MAX);
    assert_eq!(report(&mut tracker, ms(10), 2, u64::MAX), scale(u64::MAX, u64::MAX));
    assert_eq!(report(&mut tracker, ms(10), 1, 1), scale(u64::MAX, 1));
    assert_eq!(report(&mut tracker, ms(10), 2, 1), scale(2, 1));
}
