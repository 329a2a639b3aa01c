//! Usage of a tenant, against its quota.

use wayleave_contracts::{Contract, Endpoints, Quota};
use wayleave_units::{Bytes, Rate};

use crate::decision::QuotaShort;

/// Total demand of a tenant's contracts, in the contracts' own figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuotaUsage {
    /// bit/s.
    pub(crate) rate: u128,
    /// Bytes.
    pub(crate) burst: u128,
    /// Number of contracts.
    pub(crate) contracts: u64,
}

impl QuotaUsage {
    /// The sum of rates.
    pub fn rate(&self) -> Rate {
        Rate::from_bits_per_second(u64::try_from(self.rate).unwrap_or(u64::MAX))
    }

    /// The sum of bursts.
    pub fn burst(&self) -> Bytes {
        Bytes::new(u64::try_from(self.burst).unwrap_or(u64::MAX))
    }

    /// Returns the number of contracts.
    pub fn contracts(&self) -> u64 {
        self.contracts
    }

    /// Returns the usage of a contract. Every copy of a packet is counted: each has a reservation of its own. A
    /// minimum counts once for a pair, and once for every member of a hose or an objective, since each member may
    /// send at that rate. Best effort has no promise and counts nothing.
    pub(crate) fn of(contract: &Contract) -> Self {
        let times = |rate: Rate, count: usize| u128::from(rate.bits_per_second()) * count as u128;
        let (rate, burst) = match contract {
            Contract::Latency(terms) => {
                let copies = usize::from(terms.protection);
                (times(terms.rate, copies), u128::from(terms.burst.get()) * copies as u128)
            }
            Contract::Bandwidth(terms) => match &terms.between {
                Endpoints::Pair(..) => (times(terms.min, 1), 0),
                Endpoints::Hose(members) => (times(terms.min, members.len()), 0),
            },
            Contract::Objective(terms) => (times(terms.min, terms.members.len()), 0),
            Contract::BestEffort(_) => (0, 0),
        };
        Self { rate, burst, contracts: 1 }
    }

    pub(crate) fn add(&mut self, more: Self) {
        self.rate += more.rate;
        self.burst += more.burst;
        self.contracts += more.contracts;
    }

    pub(crate) fn subtract(&mut self, less: Self) {
        self.rate -= less.rate;
        self.burst -= less.burst;
        self.contracts -= less.contracts;
    }

    /// Returns the excess of this usage over a quota, if any.
    pub(crate) fn beyond(&self, quota: &Quota) -> Option<QuotaShort> {
        let over = |what, asked: u128, most: Option<u64>| {
            most.filter(|&most| asked > u128::from(most)).map(|most| QuotaShort { what, asked, most })
        };
        over("contracts", u128::from(self.contracts), quota.contracts)
            .or_else(|| over("rate", self.rate, quota.rate.map(Rate::bits_per_second)))
            .or_else(|| over("burst", self.burst, quota.burst.map(Bytes::get)))
    }
}
