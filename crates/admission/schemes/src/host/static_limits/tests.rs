use wayleave_scheme_api::{ClassId, Outgoing, PairSpec, Share};
use wayleave_topology::NodeId;
use wayleave_units::Bytes;

use super::*;

const GIGABIT: Rate = Rate::from_gbit(1);

fn limits(params: Params, input: HostInput<'_, Infallible, Infallible>) -> Vec<(Limiter, Option<Bucket>)> {
    let mut limits = Vec::new();
    StaticLimits::new(params).on(Time::ZERO, input, &mut |action| match action {
        HostAction::SetBucket { limiter, bucket } => limits.push((limiter, bucket)),
        other => panic!("{other:?}"),
    });
    limits
}

fn opened() -> HostInput<'static, Infallible, Infallible> {
    let spec = PairSpec {
        class: ClassId(0),
        peer_class: ClassId(0),
        peer: NodeId(1),
        key: 1,
        paths: 1,
        round_trip: Time::from_micros(10),
    };
    HostInput::Opened { pair: Outgoing(7), spec }
}

#[test]
fn a_class_without_a_maximum_loses_its_previous_limit() {
    let of = |max| {
        let transmit = Share { max, ..Share::BEST_EFFORT };
        let input = HostInput::ClassSet { class: ClassId(2), transmit, receive: Share::BEST_EFFORT };
        limits(Params::default(), input)
    };
    let bucket = Bucket { rate: GIGABIT, burst: Bytes::new(64_000), excess: ExcessAction::Waits };
    assert_eq!(of(Some(GIGABIT)), [(Limiter::Class(ClassId(2)), Some(bucket))]);
    assert_eq!(of(None), [(Limiter::Class(ClassId(2)), None)]);
}

#[test]
fn every_pair_of_figure_9_has_the_same_bucket() {
    // 90 % of 100 Mbit/s, by 100 senders.
    let rate = Rate::from_bits_per_second(900_000);
    let params = Params { pair_rate: Some(rate), ..Params::default() };
    let bucket = Bucket { rate, burst: Bytes::new(64_000), excess: ExcessAction::Waits };
    assert_eq!(limits(params, opened()), [(Limiter::Pair(Outgoing(7)), Some(bucket))]);
    assert!(limits(Params::default(), opened()).is_empty());
}
