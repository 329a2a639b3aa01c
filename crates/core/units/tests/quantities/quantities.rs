//! Texts that a quantity accepts, refuses and prints.

use proptest::prelude::*;
use wayleave_units::{Amount, Bytes, ParseUnitErrorKind, Rate, Time};

#[test]
fn documented_forms_are_read_exactly() {
    assert_eq!("10Gbit".parse(), Ok(Rate::from_gbit(10)));
    assert_eq!("10Gbit/s".parse(), Ok(Rate::from_gbit(10)));
    assert_eq!("2.5 Mbit".parse(), Ok(Rate::from_bits_per_second(2_500_000)));
    assert_eq!("500us".parse(), Ok(Time::from_micros(500)));
    assert_eq!("500µs".parse(), Ok(Time::from_micros(500)));
    assert_eq!("1.5ms".parse(), Ok(Time::from_micros(1_500)));
    assert_eq!("97kB".parse(), Ok(Bytes::new(97_000)));
    assert_eq!("64KiB".parse(), Ok(Bytes::new(65_536)));
    assert_eq!("0.5KiB".parse(), Ok(Bytes::new(512)));
}

#[test]
fn an_ambiguous_unit_is_refused_with_the_correct_form() {
    for text in ["10mbps", "10Mbps", "10gbps", "10Gbps", "10kbps"] {
        let error = text.parse::<Rate>().unwrap_err();
        assert!(matches!(error.kind, ParseUnitErrorKind::AmbiguousUnit(_)), "{text}: {error}");
        assert!(error.to_string().contains("bit if bits per second"), "{error}");
    }
    assert!("10kb".parse::<Bytes>().unwrap_err().to_string().contains("10kB"));
}

#[test]
fn invalid_text_is_refused_with_the_expected_form() {
    let kind = |text: &str| text.parse::<Time>().unwrap_err().kind;
    assert_eq!(kind(""), ParseUnitErrorKind::NoNumber);
    assert_eq!(kind("ms"), ParseUnitErrorKind::NoNumber);
    for text in ["1.", ".5ms", "1.ms", "1.2.3ms", "1..2ms", "."] {
        assert_eq!(kind(text), ParseUnitErrorKind::BadPoint, "{text}");
    }
    assert_eq!(
        "1.5.2Mbit".parse::<Rate>().unwrap_err().to_string(),
        "\"1.5.2Mbit\" has a misplaced decimal point: expected a rate such as 10Gbit, 2.5Mbit/s or 500kbit"
    );
    assert_eq!(kind("5"), ParseUnitErrorKind::NoUnit);
    assert_eq!(kind("-5ms"), ParseUnitErrorKind::Negative);
    assert_eq!(kind("5MS"), ParseUnitErrorKind::UnknownUnit(Some("ms")));
    assert_eq!(kind("5mss"), ParseUnitErrorKind::UnknownUnit(Some("ms")));
    assert_eq!(kind("5parsec"), ParseUnitErrorKind::UnknownUnit(None));
    assert_eq!(kind("0.5ns"), ParseUnitErrorKind::TooFine("ns"));
    assert_eq!(kind("100000001s"), ParseUnitErrorKind::TooLarge("100000000s".into()));
    assert_eq!(kind(&"9".repeat(400)), ParseUnitErrorKind::NoUnit);
    assert!(matches!(kind(&("9".repeat(400) + "s")), ParseUnitErrorKind::TooLarge(_)));
}

#[test]
fn an_amount_rounds_up() {
    let amount = Rate::from_mbit(1) * Time::from_nanos(8_001);
    assert_eq!(amount.bytes_rounded_up(), 2);
    assert_eq!(amount.time_at(Rate::from_mbit(3)), Some(Time::from_nanos(2_667)));
    assert_eq!(amount.time_at(Rate::ZERO), None);
    assert_eq!(Amount::from(Bytes::new(97_000)).to_string(), "97kB");
}

proptest! {
    #[test]
    fn printed_quantities_are_parsed_back(nanos in 0..=Time::MAX.as_nanos(), rate in 0..=Rate::MAX.bits_per_second(), bytes in 0..=Bytes::MAX.get()) {
        prop_assert_eq!(Time::from_nanos(nanos).to_string().parse(), Ok(Time::from_nanos(nanos)));
        prop_assert_eq!(Rate::from_bits_per_second(rate).to_string().parse(), Ok(Rate::from_bits_per_second(rate)));
        prop_assert_eq!(Bytes::new(bytes).to_string().parse(), Ok(Bytes::new(bytes)));
    }

    #[test]
    fn no_text_causes_a_panic(text in "\\PC{0,30}|[0-9.]{0,30}[a-zA-Z/]{0,6}") {
        let _ = (text.parse::<Time>(), text.parse::<Rate>(), text.parse::<Bytes>());
    }
}
