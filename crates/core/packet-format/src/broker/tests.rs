//! The codec against its own words: everything comes back, everything else is an error.

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;
use wayleave_units::{Rate, Time};

use super::rate::{Round, code, rate};
use super::*;
use crc32fast::hash as crc32;

fn any_rate() -> impl Strategy<Value = Rate> {
    (0..=u64::MAX, 0_u32..64).prop_map(|(bits, shift)| Rate::from_bits_per_second(bits >> shift))
}

fn any_list() -> impl Strategy<Value = RateList> {
    let subject = prop_oneof![
        Just(RateSubject::MachineDemands),
        Just(RateSubject::MachineLimits),
        Just(RateSubject::RackDemands),
        Just(RateSubject::RackLimits)
    ];
    let entry = (any::<u16>(), proptest::option::of(any_rate()), proptest::option::of(any_rate()));
    let numbers = (any::<u32>(), any::<u64>(), any::<u32>(), any::<u32>(), any::<u32>());
    (subject, proptest::collection::vec(entry, 0..300), numbers, any_rate(), any_rate()).prop_map(
        |(subject, entries, (epoch, serial, rack, from, age), one, other)| {
            let (up, down) = (rounded_up, rounded_down);
            let rates = entries.into_iter().map(|(service, transmit, receive)| match subject.is_limits() {
                true => ServiceRates { service, transmit: transmit.map(down), receive: receive.map(down) },
                false => {
                    let demand = |rate: Option<Rate>| Some(up(rate.unwrap_or(Rate::ZERO)));
                    ServiceRates { service, transmit: demand(transmit), receive: demand(receive) }
                }
            });
            let (age, light) = (Time::from_millis(u64::from(age)), (up(one), up(other)));
            RateList { epoch, serial, rack, from, age, light, ..RateList::new(subject, rates.collect()) }
        },
    )
}

proptest! {
    #[test]
    fn encoded_messages_are_decoded_back(list in any_list()) {
        let bytes = list.encode();
        prop_assert_eq!(bytes.len(), list.encoded_len());
        prop_assert_eq!(RateList::length(&bytes), Ok(bytes.len() as u64));
        prop_assert_eq!(RateList::decode(&bytes), Ok(list));
    }

    #[test]
    fn a_changed_bit_or_a_missing_end_is_an_error(list in any_list(), at in any::<prop::sample::Index>(), bit in 0_u8..8) {
        let bytes = list.encode();
        let mut changed = bytes.clone();
        changed[at.index(bytes.len())] ^= 1_u8 << bit;
        prop_assert!(RateList::decode(&changed).is_err());
        prop_assert!(RateList::decode(&bytes[..at.index(bytes.len())]).is_err());
    }

    #[test]
    fn any_bytes_are_an_error_or_a_canonical_message(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), seal in any::<bool>()) {
        // With a valid frame around them, the fields are checked.
        if seal && bytes.len() >= 52 {
            let end = bytes.len() - 4;
            bytes[..6].copy_from_slice(b"WLRB\x01\x03");
            bytes[8..12].copy_from_slice(&((end + 4) as u32).to_be_bytes());
            let crc = crc32(&bytes[..end]);
            bytes[end..].copy_from_slice(&crc.to_be_bytes());
        }
        if let Ok(list) = RateList::decode(&bytes) {
            prop_assert_eq!(list.encode(), bytes);
        }
    }

    #[test]
    fn the_parts_of_a_message_have_the_content_of_the_whole(list in any_list(), longest in 60_usize..1500) {
        let parts = list.clone().parts(longest);
        prop_assert!(parts.iter().all(|part| part.encoded_len() <= longest));
        let services = list.rates.iter().map(|rates| rates.service);
        for service in services.chain([0, 1, u16::MAX]) {
            let stated: Vec<_> = parts.iter().filter_map(|part| part.of(service)).collect();
            prop_assert_eq!(stated, vec![list.of(service).unwrap()]);
        }
    }

    #[test]
    fn a_rate_is_off_by_a_kilobit_or_four_parts_in_a_million_at_most(wanted in any_rate()) {
        let (down, up) = (rounded_down(wanted), rounded_up(wanted));
        let wanted = wanted.min(LARGEST);
        prop_assert!(down <= wanted && wanted <= up);
        prop_assert!((up.bits_per_second() - down.bits_per_second()) <= (wanted.bits_per_second() >> 18).max(1000));
        for round in [Round::Up, Round::Down] {
            prop_assert_eq!(rate(code(Some(up), round)), Some(Some(up)));
        }
    }
}

#[test]
fn the_checksum_is_that_of_ethernet() {
    // The check value of CRC-32/ISO-HDLC.
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
}

#[test]
fn no_limit_and_the_largest_rate_are_different() {
    assert_eq!(code(None, Round::Down), 0xff_ffff);
    assert_eq!(code(Some(Rate::from_bits_per_second(u64::MAX)), Round::Up), 0xff_fffe);
    assert_eq!(rate(0xff_fffe), Some(Some(LARGEST)));
    // Half as many bits with a shift could be written with less of one.
    assert_eq!(rate(1 << 19 | 1), None);
}

#[test]
fn forty_machines_with_a_thousand_services_send_less_than_section_6_2_allows() {
    let wants =
        |service| ServiceRates { service, transmit: Some(Rate::from_gbit(1)), receive: Some(Rate::from_gbit(1)) };
    let parts = RateList::new(RateSubject::MachineDemands, (0..1000).map(wants).collect()).parts(MAX_DATAGRAM);
    // UDP, IPv4, Ethernet with checksum, preamble and gap.
    let wire: usize = parts.iter().map(|part| part.encoded_len() + 8 + 20 + 38).sum();
    let bits_per_second = wire * 8 * 39;
    assert_eq!((parts.len(), bits_per_second), (6, 2_716_896));
    assert!(bits_per_second < 3_000_000);
}

#[test]
fn errors_name_the_cause() {
    let bytes = RateList::new(RateSubject::RackLimits, Vec::new()).encode();
    let changed = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        RateList::decode(&bytes).unwrap_err()
    };
    assert_eq!(changed(0, b'X'), DecodeError::Magic);
    assert_eq!(changed(4, 2), DecodeError::Version(2));
    assert_eq!(changed(11, 60), DecodeError::Length { stated: 60, there: 52 });
    assert_eq!(changed(20, 1), DecodeError::Checksum);
    assert_eq!(RateList::decode(&[]), Err(DecodeError::Length { stated: 52, there: 0 }));
}
