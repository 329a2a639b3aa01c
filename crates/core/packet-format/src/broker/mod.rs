//! Messages between brokers: rates of services, in one format for every purpose (Parley, 2014, sections 5.2, 5.3 and
//! 6.2).
//!
//! Section 6.2 counts 8 B for a service: 4 B for its number and 4 B for its utilisation as a floating-point number.
//! Here 8 B hold both directions: 2 B for the number and 3 B for each rate ([`codec`](self), `rate.rs`), so that 40
//! machines with 1,000 services each stay below the 3 Mbit/s of that section.
//!
//! A list covers all services of a range, including those that it does not name. So a long list is sent in several
//! datagrams, each of which is meaningful alone, and a lost one is superseded by the next.

mod codec;
mod rate;

#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::vec::Vec;

use wayleave_units::{Rate, Time};

pub use codec::{DecodeError, ENTRY_BYTES, HEADER_BYTES, MAX_DATAGRAM, PREFIX_BYTES, TRAILER_BYTES};
pub use rate::{LARGEST, rounded_down, rounded_up};

/// Subject of a list of rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateSubject {
    /// Demands of services at a machine: from its rack broker to those of the rack's other machines (Parley, 5.2).
    MachineDemands,
    /// Limits of services at a machine: from a rack broker to its machine.
    MachineLimits,
    /// Demands of services in a rack: from its leader to the fabric broker (Parley, 5.3).
    RackDemands,
    /// Limits of services in a rack: from the fabric broker to the leader, and from the leader to its rack.
    RackLimits,
}

impl RateSubject {
    /// Returns `true` if its rates are limits, which may be absent and are rounded down.
    pub const fn is_limits(self) -> bool {
        matches!(self, Self::MachineLimits | Self::RackLimits)
    }
}

/// A rate for each direction, seen from the machine or the rack. `None` is no limit; a demand is always a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceRates {
    /// The service, by the number that all brokers of one epoch have for it.
    pub service: u16,
    /// Rate of sent traffic.
    pub transmit: Option<Rate>,
    /// Rate of received traffic.
    pub receive: Option<Rate>,
}

/// A list of rates, with its sender and its age.
///
/// ```
/// use wayleave_units::{Rate, Time};
/// use wayleave_packet_format::broker::{RateList, ServiceRates, RateSubject};
/// let wants = ServiceRates { service: 3, transmit: Some(Rate::from_gbit(6)), receive: Some(Rate::ZERO) };
/// let list = RateList { epoch: 1, serial: 7, rack: 0, from: 4, ..RateList::new(RateSubject::MachineDemands, vec![wants]) };
/// assert_eq!(RateList::decode(&list.encode()), Ok(list));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateList {
    /// Subject of the list.
    pub subject: RateSubject,
    /// Of the policies: what the numbers of services mean.
    pub epoch: u32,
    /// Number that grows with every round of a sender, also across restarts. All parts of one list have one number.
    pub serial: u64,
    /// The rack, by its switch.
    pub rack: u32,
    /// The machine that sends it; 0 for the fabric broker.
    pub from: u32,
    /// Time for which the sender has known the rates: an interval, since clocks of machines are not compared. Whole
    /// milliseconds, rounded down.
    pub age: Time,
    /// The first and the last service covered. A service that is not listed has no demand, or no limit.
    pub range: (u16, u16),
    /// Total demand of all services of the sender that are too small to be listed.
    pub light: (Rate, Rate),
    /// By ascending numbers.
    pub rates: Box<[ServiceRates]>,
}

impl RateList {
    /// Creates a list about all services, without a sender. The rates are ordered by number; of two for one service
    /// the first is kept.
    pub fn new(subject: RateSubject, mut rates: Vec<ServiceRates>) -> Self {
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

    /// Returns the rates of a service. `None`: the list does not cover it.
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

    /// Splits the list into parts whose encodings have at most `longest` bytes; each has at least one entry. Their
    /// ranges form the range of the list, in order.
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
