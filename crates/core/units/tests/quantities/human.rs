//! Quantities as people read them.

use wayleave_units::{Bytes, Human, Rate, Time};

#[test]
fn four_digits_are_kept_and_the_rest_is_rounded_to_the_safe_side() {
    let bound = Time::from_nanos(100_000_001);
    assert_eq!((bound.up().as_str(), bound.down().as_str()), ("100.1ms", "100ms"));
    assert_eq!(Time::from_nanos(7).up(), "7ns");
    assert_eq!(Time::ZERO.up(), "0ns");
    assert_eq!(Rate::from_bits_per_second(123_456_789).down(), "123.4Mbit");
    assert_eq!(Bytes::new(97_000).up(), "97kB");
}
