//! One machine, input by input.

use wayleave_contracts::Direction;
use wayleave_scheme_api::{
    Arrivals, Bucket, ClassId, Demand, ExcessAction, Host, HostInput, Incoming, Limiter, MessageOrigin, Outgoing,
    PairSpec, PathIndex, Share,
};
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

use super::super::{ClassUsage, Eyeq, Feedback, LineParams, MeteredUsage, Params, Staleness, Timer};
use crate::fluid::{self, done, random_input, random_rate};
use crate::random::SplitMix;

type Done = fluid::HostRecord<Feedback, Timer>;

struct Machine {
    shaper: Eyeq,
    done: Vec<Done>,
}

impl Machine {
    fn new(params: Params) -> Self {
        Self { shaper: Eyeq::new(LineParams::both(Rate::from_gbit(10)), params).unwrap(), done: Vec::new() }
    }

    fn handle(&mut self, at_micros: u64, input: HostInput<'_, Feedback, Timer>) -> &[Done] {
        self.done.clear();
        let done_now = &mut self.done;
        self.shaper.on(Time::from_micros(at_micros), input, &mut |action| done_now.push(done(action)));
        &self.done
    }

    fn receive(&mut self, at_micros: u64, bytes: u64) -> Vec<Rate> {
        let arrivals = Arrivals { bytes: Bytes::new(bytes), ..Arrivals::default() };
        let done = self.handle(at_micros, HostInput::Received { pair: Incoming(0), arrivals });
        let rate = |done: &Done| if let Done::Send(_, feedback) = done { Some(feedback.rate) } else { None };
        done.iter().filter_map(rate).collect()
    }
}

fn spec(class: u32) -> PairSpec {
    PairSpec {
        class: ClassId(class),
        peer_class: ClassId(class),
        peer: NodeId(1),
        key: 0,
        paths: 1,
        round_trip: Time::from_micros(40),
    }
}

fn feedback(gbit: u64) -> HostInput<'static, Feedback, Timer> {
    HostInput::Message { from: MessageOrigin::Receiver(Outgoing(0)), message: Feedback { rate: Rate::from_gbit(gbit) } }
}

#[test]
fn one_feedback_goes_out_for_every_ten_kilobytes() {
    let mut machine = Machine::new(Params::default());
    machine.handle(0, HostInput::IncomingOpened { pair: Incoming(0), spec: spec(1) });
    let sent: Vec<usize> = (0..20).map(|packet| machine.receive(packet, 1_500).len()).collect();
    assert_eq!(sent.iter().sum::<usize>(), 3);
    // After 10.5, 21 and 30 kB.
    assert_eq!((sent[6], sent[13], sent[19]), (1, 1, 1));
    assert_eq!(machine.receive(30, 35_000), [Rate::from_gbit(9)], "several packets at once: one feedback");
}

#[test]
fn the_released_feedback_is_also_sent_after_a_tenth_of_a_millisecond() {
    let mut machine = Machine::new(Params { staleness: Staleness::Timed, ..Params::default() });
    machine.handle(0, HostInput::IncomingOpened { pair: Incoming(0), spec: spec(1) });
    assert_eq!(machine.receive(100, 1_500).len(), 0);
    assert_eq!(machine.receive(101, 1_500).len(), 1);
    assert_eq!(machine.receive(201, 1_500).len(), 0);
    // The sample of 10 kB is counted beside it, and begins the time anew.
    assert_eq!(machine.receive(201, 9_000).len(), 1);
    assert_eq!(machine.receive(301, 1_500).len(), 0);
}

#[test]
fn feedback_sets_a_limiter_once_per_rate_and_silence_lifts_it() {
    let mut machine = Machine::new(Params::default());
    machine.handle(0, HostInput::Opened { pair: Outgoing(0), spec: spec(1) });
    let epoch = match machine.handle(0, feedback(2)) {
        [Done::Arm(at, Timer::Silence { epoch, .. }), Done::Bucket(Limiter::Pair(Outgoing(0)), Some(bucket))] => {
            let expected = Bucket { rate: Rate::from_gbit(2), burst: Bytes::new(64_000), excess: ExcessAction::Waits };
            assert_eq!((*at, *bucket), (Time::from_millis(1_000), expected));
            *epoch
        }
        other => panic!("{} actions", other.len()),
    };
    assert!(machine.handle(600_000, feedback(2)).is_empty());
    let silence = || HostInput::Timer(Timer::Silence { pair: Outgoing(0), epoch });
    let again = machine.handle(1_000_000, silence());
    assert!(matches!(again, [Done::Arm(at, _)] if *at == Time::from_millis(1_600)));
    let lifted = machine.handle(1_600_000, silence());
    assert!(matches!(lifted, [Done::Bucket(Limiter::Pair(Outgoing(0)), None)]));
}

#[test]
fn the_timer_of_a_closed_pair_does_not_affect_its_successor() {
    let mut machine = Machine::new(Params::default());
    machine.handle(0, HostInput::Opened { pair: Outgoing(0), spec: spec(1) });
    machine.handle(0, feedback(2));
    machine.handle(1, HostInput::Closed { pair: Outgoing(0) });
    assert!(machine.handle(2, feedback(3)).is_empty(), "a message for a pair that has closed");
    machine.handle(3, HostInput::Opened { pair: Outgoing(0), spec: spec(1) });
    machine.handle(4, feedback(4));
    let old = HostInput::Timer(Timer::Silence { pair: Outgoing(0), epoch: 1 });
    assert!(machine.handle(2_000_000, old).is_empty());
}

#[test]
fn a_maximum_and_a_broker_limit_both_apply_and_the_smaller_wins() {
    let params = Params { class_bursts: vec![(ClassId(1), Bytes::new(2_500_000))], ..Params::default() };
    let mut machine = Machine::new(params);
    let share = Share { max: Some(Rate::from_gbit(3)), ..Share::BEST_EFFORT };
    let root = |done: &[Done]| match done {
        [Done::Bucket(Limiter::Class(ClassId(1)), bucket)] => bucket.map(|bucket| (bucket.rate, bucket.burst)),
        other => panic!("{} actions", other.len()),
    };
    let set = HostInput::ClassSet { class: ClassId(1), transmit: share, receive: share };
    assert_eq!(root(machine.handle(0, set)), Some((Rate::from_gbit(3), Bytes::new(2_500_000))));
    let mut allow = |direction, rate| {
        let mut actions = Vec::new();
        machine.shaper.set_capacity(ClassId(1), direction, rate, &mut |action| actions.push(done(action)));
        (actions, machine.shaper.class_state(ClassId(1)).unwrap())
    };
    let (done, standing) = allow(Direction::Transmit, Some(Rate::from_gbit(1)));
    assert_eq!(root(&done).unwrap().0, Rate::from_gbit(1));
    assert_eq!(standing.transmit_limit, Some(Rate::from_gbit(1)));
    let (done, standing) = allow(Direction::Receive, Some(Rate::from_gbit(2)));
    assert_eq!(
        (done.len(), standing.receive_capacity, standing.sender_rate),
        (0, Rate::from_gbit(2), Rate::from_gbit(2))
    );
    assert_eq!(allow(Direction::Transmit, Some(Rate::from_gbit(1))).0.len(), 0, "nothing new");
    let (done, _) = allow(Direction::Transmit, None);
    assert_eq!(root(&done).unwrap().0, Rate::from_gbit(3));
    let (_, standing) = allow(Direction::Receive, None);
    assert_eq!(standing.receive_capacity, Rate::from_gbit(3));
    let gone = machine.handle(9, HostInput::ClassGone { class: ClassId(1) });
    assert!(matches!(gone, [Done::Bucket(Limiter::Class(ClassId(1)), None)]));
}

#[test]
fn meters_report_how_often_they_limited_senders() {
    let mut machine = Machine::new(Params::default());
    assert_eq!(machine.shaper.metered(ClassId(1)), None);
    machine.handle(0, HostInput::IncomingOpened { pair: Incoming(0), spec: spec(1) });
    // 1 Gbit/s: R stays at C. Then twice C for two intervals, which halves R: held from the end of the first on.
    let mut at = 0;
    for bytes in [25_000, 25_000, 450_000, 450_000, 25_000] {
        machine.receive(at, bytes);
        at += 200;
        machine.handle(at, HostInput::Timer(Timer::Interval));
    }
    assert_eq!(machine.shaper.metered(ClassId(1)), Some(MeteredUsage { intervals: 5, held: 2 }));
    machine.handle(at + 200, HostInput::Timer(Timer::Interval));
    assert_eq!(machine.shaper.metered(ClassId(1)).unwrap().intervals, 5, "nothing arrived");
}

#[test]
fn usage_counts_from_the_start() {
    let mut machine = Machine::new(Params::default());
    assert_eq!(machine.shaper.usage(ClassId(1)), None);
    machine.handle(0, HostInput::Opened { pair: Outgoing(0), spec: spec(1) });
    machine.handle(0, HostInput::IncomingOpened { pair: Incoming(0), spec: spec(1) });
    for _ in 0..3 {
        machine.handle(1, HostInput::Sent { pair: Outgoing(0), path: PathIndex(0), bytes: Bytes::new(1_538) });
        machine.receive(1, 84);
    }
    machine.handle(200, HostInput::Timer(Timer::Interval));
    machine.handle(300, HostInput::Demand { pair: Outgoing(0), demand: Demand::Ends });
    machine.handle(300, HostInput::Closed { pair: Outgoing(0) });
    let expected = ClassUsage { sent: Bytes::new(4_614), received: Bytes::new(252) };
    assert_eq!(machine.shaper.usage(ClassId(1)), Some(expected));
}

#[test]
fn intervals_begin_with_the_first_byte_and_follow_the_parameter() {
    let mut machine = Machine::new(Params::default());
    machine.handle(0, HostInput::IncomingOpened { pair: Incoming(0), spec: spec(1) });
    let arm = |done: &[Done]| match done {
        [Done::Arm(at, Timer::Interval)] => Some(*at),
        _ => None,
    };
    let arrivals = Arrivals { bytes: Bytes::new(100), ..Arrivals::default() };
    let first = machine.handle(70, HostInput::Received { pair: Incoming(0), arrivals });
    assert_eq!(arm(first), Some(Time::from_micros(270)));
    machine.shaper.set_interval(Time::from_millis(1));
    assert_eq!(arm(machine.handle(270, HostInput::Timer(Timer::Interval))), Some(Time::from_micros(1_270)));
    assert_eq!(arm(machine.handle(1_270, HostInput::Timer(Timer::Interval))), Some(Time::from_micros(2_270)));
}

/// Pairs close with messages in flight, classes leave while they send, minima exceed everything, and parts contain
/// each other. The test claims that nothing panics, and that every rate sent or set is one that a line can have.
#[test]
fn no_input_in_any_order_causes_a_panic_or_an_impossible_rate() {
    let parents = [(0, 1), (1, 0), (2, 3), (3, 3)].map(|(part, of)| (ClassId(part), ClassId(of)));
    for seed in 0..300 {
        let mut random = SplitMix::new(seed);
        let parents = if seed % 2 == 0 { parents.to_vec() } else { Vec::new() };
        let mut machine =
            Machine::new(Params { parents, sender_weights: vec![(ClassId(1), u32::MAX)], ..Params::default() });
        let mut now = 0;
        for _ in 0..400 {
            now += u64::from(random.below(400));
            let timer = |random: &mut SplitMix| match random.below(3) {
                0 => Timer::Silence { pair: Outgoing(random.below(5)), epoch: random.below(20) },
                _ => Timer::Interval,
            };
            let input = random_input(&mut random, |random| Feedback { rate: random_rate(random) }, timer);
            for done in machine.handle(now, input) {
                if let Done::Send(_, Feedback { rate }) = done {
                    assert!(*rate >= Rate::from_mbit(1) && *rate <= Rate::MAX, "seed {seed}: {rate}");
                }
            }
            for class in machine.shaper.classes().collect::<Vec<_>>() {
                let standing = machine.shaper.class_state(class).unwrap();
                assert!(standing.receive_capacity <= Rate::from_gbit(9), "seed {seed}: {standing:?}");
                assert!(standing.sender_rate <= Rate::from_gbit(9), "seed {seed}: {standing:?}");
            }
        }
    }
}
