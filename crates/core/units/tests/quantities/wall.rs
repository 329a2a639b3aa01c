//! Dates and times of RFC 3339, in both directions.

use proptest::prelude::*;
use wayleave_units::{ParseWallTimeErrorKind as Kind, WallTime};

fn nanos(text: &str) -> u64 {
    text.parse::<WallTime>().unwrap_or_else(|error| panic!("{error}")).as_nanos()
}

fn refused(text: &str) -> Kind {
    text.parse::<WallTime>().unwrap_err().kind
}

#[test]
fn known_points_of_time_have_their_seconds() {
    for (text, seconds) in [
        ("1970-01-01T00:00:00Z", 0),
        ("1972-03-01T00:00:00Z", 68_256_000),
        ("2000-02-29T12:00:00Z", 951_825_600),
        ("2009-02-13T23:31:30Z", 1_234_567_890),
        ("2100-03-01T00:00:00Z", 4_107_542_400),
        ("1969-12-31T23:30:00-00:30", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("2026-11-21t09:00:00+01:00", 1_795_248_000),
    ] {
        assert_eq!(nanos(text), seconds * 1_000_000_000, "{text}");
    }
}

#[test]
fn fractions_are_exact_and_printed_as_short_as_possible() {
    assert_eq!(nanos("1970-01-01T00:00:00.000000001Z"), 1);
    assert_eq!(nanos("1970-01-01T00:00:00.5Z"), 500_000_000);
    assert_eq!(nanos("1970-01-01T00:00:00.500000000000Z"), 500_000_000);
    assert_eq!(WallTime::from_nanos(1_050_000_000).to_string(), "1970-01-01T00:00:01.05Z");
    assert_eq!(WallTime::from_nanos(2_000_000_000).to_string(), "1970-01-01T00:00:02Z");
    assert_eq!(WallTime::from_nanos(u64::MAX).to_string(), "2554-07-21T23:34:33.709551615Z");
}

#[test]
fn an_invalid_time_is_refused_with_a_reason() {
    for (text, kind) in [
        ("", Kind::Form),
        ("tomorrow", Kind::Form),
        ("2026-11-21", Kind::Form),
        ("2026/11/21T08:00:00Z", Kind::Form),
        ("2026-11-21T08:00:00", Kind::NoZone),
        ("2026-11-21T08:00:00+1", Kind::Form),
        ("2026-11-21T08:00:00+0100", Kind::Form),
        ("2026-11-21T08:00:00.Z", Kind::Form),
        ("2026-11-21T08:00:00+24:00", Kind::NoSuchTime),
        ("2026-02-29T08:00:00Z", Kind::NoSuchTime),
        ("2100-02-29T08:00:00Z", Kind::NoSuchTime),
        ("2026-13-01T08:00:00Z", Kind::NoSuchTime),
        ("2026-00-01T08:00:00Z", Kind::NoSuchTime),
        ("2026-11-21T24:00:00Z", Kind::NoSuchTime),
        ("2026-11-21T08:00:60Z", Kind::NoSuchTime),
        ("2026-11-21T08:00:00.0000000001Z", Kind::TooFine),
        ("1969-12-31T23:59:59Z", Kind::OutOfRange),
        ("0000-01-01T00:00:00Z", Kind::OutOfRange),
        ("9999-12-31T23:59:59Z", Kind::OutOfRange),
        ("é026-11-21T08:00:00Z", Kind::Form),
    ] {
        assert_eq!(refused(text), kind, "{text}");
    }
    let error = "2026-11-21T08:00:00".parse::<WallTime>().unwrap_err().to_string();
    assert!(error.contains("time zone") && error.contains("add Z"), "{error}");
}

proptest! {
    #[test]
    fn every_time_is_parsed_back_as_printed(nanos: u64) {
        let time = WallTime::from_nanos(nanos);
        prop_assert_eq!(time.to_string().parse::<WallTime>(), Ok(time));
    }

    #[test]
    fn a_later_time_sorts_later_as_text(a: u64, b: u64) {
        let (a, b) = (a / 1_000_000_000 * 1_000_000_000, b / 1_000_000_000 * 1_000_000_000);
        let text = |nanos| WallTime::from_nanos(nanos).to_string();
        prop_assert_eq!(a.cmp(&b), text(a).cmp(&text(b)));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
        let _ = text.parse::<WallTime>();
    }
}
