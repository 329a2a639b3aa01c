//! Encoding of a list of rates. Big-endian:
//!
//! | bytes | content |
//! |---|---|
//! | 0 to 3 | `WLRB` |
//! | 4 | version, 1 |
//! | 5 | subject: 1 machine demands, 2 machine limits, 3 rack demands, 4 rack limits |
//! | 6, 7 | zero |
//! | 8 to 11 | length of the message |
//! | 12 to 15 | epoch |
//! | 16 to 23 | serial |
//! | 24 to 27, 28 to 31 | rack, sender |
//! | 32 to 35 | age in ms |
//! | 36 to 39 | the first and the last service of the range |
//! | 40 to 45 | light demand, both directions |
//! | 46, 47 | zero |
//! | 8 B each | service, transmit, receive; by ascending service |
//! | last 4 | CRC-32 of all before |

use alloc::vec::Vec;

use wayleave_units::{Rate, Time};

use super::rate::{Round, code, rate};
use super::{RateList, RateSubject, ServiceRates};
use crc32fast::hash as crc32;

/// Number of bytes at the beginning of a message that determine its length in a stream; the last four are the length.
pub const PREFIX_BYTES: usize = 12;
/// Between prefix and entries.
pub const HEADER_BYTES: usize = 36;
/// Of one service.
pub const ENTRY_BYTES: usize = 8;
/// Behind the entries.
pub const TRAILER_BYTES: usize = 4;
/// The longest UDP payload that a network with an MTU of 1500 B does not cut into fragments: 1500 B without the headers of IPv6 (40 B) and
/// UDP (8 B).
pub const MAX_DATAGRAM: usize = 1452;

const MAGIC: [u8; 4] = *b"WLRB";
const VERSION: u8 = 1;
const MIN: usize = PREFIX_BYTES + HEADER_BYTES + TRAILER_BYTES;

/// Reason that bytes are no list of rates.
#[derive(thiserror::Error, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// They do not begin like one.
    #[error("not a broker message")]
    Magic,
    /// They are in a version that is not known here.
    #[error("this is version {0} of the brokers' messages, and version {VERSION} is known here")]
    Version(u8),
    /// The number of bytes differs from the stated length, or no list has this length.
    #[error("the message says that it has {stated} B, and {there} B are there")]
    Length {
        /// Stated length.
        stated: u64,
        /// Number of bytes.
        there: usize,
    },
    /// The bytes were changed in transit.
    #[error("the checksum is wrong: the message was changed on the way")]
    Checksum,
    /// A field has a value that no encoder writes.
    #[error("invalid {0} in a broker message")]
    Field(&'static str),
}

impl RateList {
    /// Its bytes. Demands are rounded up, limits down; demands without a rate are written as zero.
    pub fn encode(&self) -> Vec<u8> {
        let round = if self.subject.is_limits() { Round::Down } else { Round::Up };
        let mut bytes = Vec::with_capacity(self.encoded_len());
        bytes.extend(MAGIC);
        bytes.extend([VERSION, self.subject.code(), 0, 0]);
        // At most 65,536 services.
        bytes.extend((self.encoded_len() as u32).to_be_bytes());
        bytes.extend(self.epoch.to_be_bytes());
        bytes.extend(self.serial.to_be_bytes());
        bytes.extend(self.rack.to_be_bytes());
        bytes.extend(self.from.to_be_bytes());
        let age = self.age.as_nanos() / 1_000_000;
        bytes.extend(u32::try_from(age).unwrap_or(u32::MAX).to_be_bytes());
        bytes.extend(self.range.0.to_be_bytes());
        bytes.extend(self.range.1.to_be_bytes());
        let put_rate = |bytes: &mut Vec<u8>, rate, round| bytes.extend(&code(rate, round).to_be_bytes()[1..]);
        put_rate(&mut bytes, Some(self.light.0), Round::Up);
        put_rate(&mut bytes, Some(self.light.1), Round::Up);
        bytes.extend([0, 0]);
        let unlimited = |rate: Option<Rate>| rate.or((!self.subject.is_limits()).then_some(Rate::ZERO));
        for rates in &self.rates {
            bytes.extend(rates.service.to_be_bytes());
            put_rate(&mut bytes, unlimited(rates.transmit), round);
            put_rate(&mut bytes, unlimited(rates.receive), round);
        }
        let crc = crc32(&bytes);
        bytes.extend(crc.to_be_bytes());
        bytes
    }

    /// Decodes a list.
    ///
    /// # Errors
    /// [`DecodeError`], for all bytes that [`RateList::encode`] would not have written.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let stated = Self::length(bytes)?;
        let there = bytes.len();
        if there < MIN || stated != there as u64 || !(there - MIN).is_multiple_of(ENTRY_BYTES) {
            return Err(DecodeError::Length { stated, there });
        }
        let (covered, crc) = bytes.split_at(there - TRAILER_BYTES);
        if crc32(covered).to_be_bytes() != *crc {
            return Err(DecodeError::Checksum);
        }
        let mut reader = Reader(&covered[5..]);
        let subject = RateSubject::of(reader.take()).ok_or(DecodeError::Field("subject"))?;
        let zero = u16::from_be_bytes(reader.array());
        reader.array::<4>();
        let mut list = Self::new(subject, Vec::new());
        list.epoch = u32::from_be_bytes(reader.array());
        list.serial = u64::from_be_bytes(reader.array());
        list.rack = u32::from_be_bytes(reader.array());
        list.from = u32::from_be_bytes(reader.array());
        list.age = Time::from_millis(u64::from(u32::from_be_bytes(reader.array())));
        list.range = (u16::from_be_bytes(reader.array()), u16::from_be_bytes(reader.array()));
        list.light = (reader.demand()?, reader.demand()?);
        if zero != 0 || reader.array() != [0, 0] {
            return Err(DecodeError::Field("empty part"));
        }
        list.rates = reader.entries(subject, list.range)?.into_boxed_slice();
        Ok(list)
    }

    /// Returns the stated length of a message, from its first [`PREFIX_BYTES`].
    ///
    /// # Errors
    /// If it does not begin like a message, or states an impossible length.
    pub fn length(bytes: &[u8]) -> Result<u64, DecodeError> {
        let prefix: &[u8; PREFIX_BYTES] =
            bytes.first_chunk().ok_or(DecodeError::Length { stated: MIN as u64, there: bytes.len() })?;
        if prefix[..4] != MAGIC {
            return Err(DecodeError::Magic);
        }
        if prefix[4] != VERSION {
            return Err(DecodeError::Version(prefix[4]));
        }
        let stated = u32::from_be_bytes([prefix[8], prefix[9], prefix[10], prefix[11]]) as usize;
        let most = MIN + ENTRY_BYTES * (usize::from(u16::MAX) + 1);
        if !(MIN..=most).contains(&stated) {
            return Err(DecodeError::Length { stated: stated as u64, there: bytes.len() });
        }
        Ok(stated as u64)
    }
}

impl RateSubject {
    const ALL: [Self; 4] = [Self::MachineDemands, Self::MachineLimits, Self::RackDemands, Self::RackLimits];

    const fn code(self) -> u8 {
        self as u8 + 1
    }

    fn of(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|subject| subject.code() == code)
    }
}

/// Reads what is known to be there: the length was checked.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let (first, rest) = self.0.split_first_chunk().unwrap_or((&[0; N], &[]));
        self.0 = rest;
        *first
    }

    fn rate(&mut self) -> Result<Option<Rate>, DecodeError> {
        let [high, middle, low] = self.array();
        rate(u32::from_be_bytes([0, high, middle, low])).ok_or(DecodeError::Field("rate"))
    }

    fn demand(&mut self) -> Result<Rate, DecodeError> {
        self.rate()?.ok_or(DecodeError::Field("demand"))
    }

    fn entries(&mut self, subject: RateSubject, range: (u16, u16)) -> Result<Vec<ServiceRates>, DecodeError> {
        let mut entries: Vec<ServiceRates> = Vec::with_capacity(self.0.len() / ENTRY_BYTES);
        if range.0 > range.1 {
            return Err(DecodeError::Field("range"));
        }
        while !self.0.is_empty() {
            let service = u16::from_be_bytes(self.array());
            let (transmit, receive) = (self.rate()?, self.rate()?);
            if !subject.is_limits() && (transmit.is_none() || receive.is_none()) {
                return Err(DecodeError::Field("demand"));
            }
            let is_next = entries.last().is_none_or(|last| last.service < service);
            if !is_next || service < range.0 || service > range.1 {
                return Err(DecodeError::Field("order of services"));
            }
            entries.push(ServiceRates { service, transmit, receive });
        }
        Ok(entries)
    }
}
