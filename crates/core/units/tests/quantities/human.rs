//! Quantities for people.

use wayleave_units::{Amount, Bytes, Human, Rate, Time, count, plural, readable};

#[test]
fn four_digits_are_kept_and_the_rest_is_rounded_to_the_safe_side() {
    let bound = Time::from_nanos(100_000_001);
    assert_eq!((bound.up().as_str(), bound.down().as_str()), ("100.1 ms", "100 ms"));
    assert_eq!(Time::from_nanos(7).up(), "7 ns");
    assert_eq!(Time::ZERO.up(), "0 ns");
    assert_eq!(Rate::from_bits_per_second(123_456_789).down(), "123.4 Mbit/s");
    assert_eq!(Rate::ZERO.down(), "0 bit/s");
    assert_eq!(Bytes::new(97_000).up(), "97 kB");
    assert_eq!(Bytes::new(12_345).up(), "12.35 kB");
}

#[test]
fn the_alternate_form_is_exact_and_can_be_read_again() {
    let rate = Rate::from_bits_per_second(698_000_001);
    assert_eq!((format!("{rate:#}"), format!("{rate}")), ("698.000001 Mbit/s".to_owned(), "698.000001Mbit".to_owned()));
    assert_eq!(format!("{rate:#}").parse(), Ok(rate));
    assert_eq!(format!("{:#}", Time::from_micros(804)).parse(), Ok(Time::from_micros(804)));
    assert_eq!(format!("{:#}", Bytes::new(1_500)), "1.5 kB");
    assert_eq!(format!("{:#}", Amount::from(Bytes::new(84))), "84 B");
}

#[test]
fn text_of_files_becomes_readable_and_other_text_stays() {
    assert_eq!(["1.5Gbit", "2500us", "84B"].map(readable), ["1.5 Gbit/s", "2.5 ms", "84 B"]);
    assert_eq!(["12", "acme", "10mbps", ""].map(readable), ["12", "acme", "10mbps", ""]);
}

#[test]
fn nouns_have_the_form_of_their_number() {
    let forms = [(0, "flow"), (1, "flow"), (2, "flow"), (1, "switch"), (2, "switch"), (1, "entry"), (3, "entry")];
    let texts: Vec<String> = forms.map(|(number, noun)| count(number, noun)).into();
    assert_eq!(texts, ["0 flows", "1 flow", "2 flows", "1 switch", "2 switches", "1 entry", "3 entries"]);
    assert_eq!((plural(&1, "key"), plural(&2, "key")), ("key".into(), "keys".into()));
}
