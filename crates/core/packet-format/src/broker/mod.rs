//! What brokers write to one another: rates of services, in one form for every purpose (Parley, 2014, sections 5.2, 5.3 and 6.2).
//!
//! Section 6.2 counts 8 B for a service: 4 B for its number and 4 B for its utilisation as a floating-point number. Here 8 B hold both
//! directions: 2 B for the number and 3 B for each rate ([`codec`](self), `rate.rs`), so that 40 machines with 1,000 services each
//! stay below the 3 Mbit/s of that section.
//!
//! A list speaks of all services of a range, also of those that it does not name. So a long list goes in several datagrams, each of
//! which means something without the others, and whatever is lost is replaced by the next one.

mod codec;
mod rate;

#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::vec::Vec;

use wayleave_units::{Rate, Time};

pub use codec::{DecodeError, ENTRY_BYTES, HEADER_BYTES, MAX_DATAGRAM, PREFIX_BYTES, TRAILER_BYTES};
pub use rate::{LARGEST, rounded_down, rounded_up};

/// What a list of rates is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// What services want at a machine: from its rack broker to those of the rack's other machines (Parley, 5.2).
    MachineDemands,
    /// What services may have at a machine: from a rack broker to its machine.
    MachineLimits,
    /// What services want in a rack: from its leader to the fabric broker (Parley, 5.3).
    RackDemands,
    /// What services may have in a rack: from the fabric broker to the leader, and from the leader to its rack.
    RackLimits,
}

impl Subject {
    /// Whether it is about limits, which may be absent and are rounded down.
    pub const fn is_limits(self) -> bool {
        matches!(self, Self::MachineLimits | Self::RackLimits)
    }
}

/// A rate for each direction, seen from the machine or the rack. `None` is no limit; a demand is always a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceRates {
    /// The service, by the number that all brokers of one epoch have for it.
    pub service: u16,
    /// Of what it sends.
    pub transmit: Option<Rate>,
    /// Of what it receives.
    pub receive: Option<Rate>,
}

/// A list of rates, from somebody at some time.
///
/// ```
/// use wayleave_units::{Rate, Time};
/// use wayleave_packet_format::broker::{RateList, ServiceRates, Subject};
/// let wants = ServiceRates { service: 3, transmit: Some(Rate::from_gbit(6)), receive: Some(Rate::ZERO) };
/// let list = RateList { epoch: 1, serial: 7, rack: 0, from: 4, ..RateList::new(Subject::MachineDemands, vec![wants]) };
/// assert_eq!(RateList::decode(&list.encode()), Ok(list));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateList {
    /// What it is about.
    pub subject: Subject,
    /// Of the policies: what the numbers of services mean.
    pub epoch: u32,
    /// Grows with every round of the same sender, also when the sender was restarted. The parts of one list have the same.
    pub serial: u64,
    /// The rack, by its switch.
    pub rack: u32,
    /// The machine that sends it; 0 for the fabric broker.
    pub from: u32,
    /// How long the sender has known it: an interval, since clocks of machines are not compared. Whole milliseconds, rounded down.
    pub age: Time,
    /// The services of which it speaks, the first and the last. Who is not listed wants nothing, or has no limit.
    pub range: (u16, u16),
    /// What all services together want that are too small to be listed, of the whole sender.
    pub light: (Rate, Rate),
    /// By ascending numbers.
    pub rates: Box<[ServiceRates]>,
}

impl RateList {
    /// A list about all services, from nobody. The rates are ordered by number; of two for one service the first is kept.
    pub fn new(subject: Subject, mut rates: Vec<ServiceRates>) -> Self {
        rates.sort_by_key(|rates| rates.service);
        rates.dedup_by_key(|rates| rates.service);
        Self {
            subject,
            epoch: 0,
            serial: 0,
            rack: 0,
            from: 0,
            age: Time::ZERO,
            range: (0, u16::MAX),
            light: (Rate::ZERO, Rate::ZERO),
            rates: rates.into_boxed_slice(),
        }
    }

    /// The rates of a service. `None`: the list does not speak of it.
    pub fn of(&self, service: u16) -> Option<(Option<Rate>, Option<Rate>)> {
        if service < self.range.0 || service > self.range.1 {
            return None;
        }
        let unlisted = (!self.subject.is_limits()).then_some(Rate::ZERO);
        let found = self.rates.binary_search_by_key(&service, |rates| rates.service).ok();
        Some(found.map_or((unlisted, unlisted), |place| (self.rates[place].transmit, self.rates[place].receive)))
    }

    /// Length of its encoding.
    pub fn encoded_len(&self) -> usize {
        PREFIX_BYTES + HEADER_BYTES + self.rates.len() * ENTRY_BYTES + TRAILER_BYTES
    }

    /// The same list in parts whose encodings are at most so long; each has one entry at least. Their ranges are those of the
    /// list, one after the other.
    pub fn parts(self, longest: usize) -> Vec<Self> {
        let entries = longest.saturating_sub(PREFIX_BYTES + HEADER_BYTES + TRAILER_BYTES) / ENTRY_BYTES;
        let entries = entries.max(1);
        if self.rates.len() <= entries {
            return alloc::vec![self];
        }
        let mut parts = Vec::new();
        let mut first = self.range.0;
        let mut chunks = self.rates.chunks(entries).peekable();
        while let Some(chunk) = chunks.next() {
            // The next part begins with a service that is above those of this one.
            let last = chunks.peek().and_then(|next| next.first()).map_or(self.range.1, |next| next.service - 1);
            parts.push(Self { range: (first, last), rates: chunk.into(), ..self });
            first = last.saturating_add(1);
        }
        parts
    }
}
