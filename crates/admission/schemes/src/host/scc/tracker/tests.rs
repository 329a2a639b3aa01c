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

/// Returns all messages that a host's report triggers.
fn reported(
    tracker: &mut Tracker,
    at: Time,
    host: u32,
    (division, sum): (ClassId, u64),
    answer: ReplyRequest,
) -> Vec<(u32, Message)> {
    let mut reported = Vec::new();
    tracker.on_report(at, NodeId(host), (division, sum), answer, &mut |host, message| reported.push((host.0, message)));
    reported
}

/// Returns the answer to a host's report.
fn report(tracker: &mut Tracker, at: Time, host: u32, sum: u64) -> Option<Message> {
    let all = reported(tracker, at, host, (A, sum), ReplyRequest::Wanted);
    all.into_iter().find_map(|(to, message)| (to == host).then_some(message))
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
    assert_eq!(reported(&mut tracker, ms(10), 1, (A, 7), ReplyRequest::Needless), []);
    assert_eq!(report(&mut tracker, ms(10), 2, 1), scale(8, 1), "who wants no answer counts too");
    assert_eq!(reported(&mut tracker, ms(10), 1, (ClassId(9), 7), ReplyRequest::Wanted), [], "no such division");
}

#[test]
fn a_tracker_that_has_just_started_sends_nothing() {
    let mut tracker = tracker();
    tracker.on(ms(100), BrokerInput::Started, &mut |_| panic!("nothing to do"));
    assert_eq!(report(&mut tracker, ms(101), 1, 100), None);
    assert_eq!(report(&mut tracker, ms(104), 2, 300), None);
    assert_eq!(report(&mut tracker, ms(105), 1, 100), scale(400, 100));
}

/// Catches: hosts that begin together, where the first know of no others and take the whole share each until their
/// next report.
#[test]
fn a_host_is_notified_again_if_the_sum_has_more_than_doubled() {
    let mut tracker = tracker();
    let mut report = |host, sum, answer| reported(&mut tracker, ms(10), host, (A, sum), answer);
    let scale = |sum, own| scale(sum, own).unwrap();
    assert_eq!(report(1, 100, ReplyRequest::Wanted), [(1, scale(100, 100))]);
    assert_eq!(report(2, 100, ReplyRequest::Wanted), [(2, scale(200, 100))], "twice as much is not told again");
    assert_eq!(report(3, 1, ReplyRequest::Needless), [(1, scale(201, 100))], "it follows another tracker, and counts");
    assert_eq!(
        report(4, 202, ReplyRequest::Wanted),
        [(4, scale(403, 202)), (1, scale(403, 100)), (2, scale(403, 100))]
    );
    assert_eq!(report(1, 0, ReplyRequest::Wanted), [(1, scale(303, 0))]);
    assert_eq!(
        report(4, 9_000, ReplyRequest::Wanted),
        [(4, scale(9_101, 9_000)), (2, scale(9_101, 100))],
        "1 wants nothing"
    );
}

#[test]
fn a_silent_host_is_forgotten() {
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
