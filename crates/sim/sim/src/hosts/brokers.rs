//! Brokers of all schemes: their seats, states and timers.

use wayleave_scheme_api::BrokerId;
use wayleave_schemes::brokers::{BrokerLocation, BrokerNetwork, BrokerSpec, BrokerSpecs};
use wayleave_schemes::hosts::{AnyBroker, AnyBrokerTimer};

use super::roles::Scheme;
use super::timers::Timers;

/// All brokers, scheme by scheme, in the order in which each scheme lists its own.
#[derive(Debug, Default)]
pub(super) struct Brokers {
    pub(super) specs: Vec<BrokerSpec>,
    /// State of each seat.
    pub(super) states: Vec<State>,
    /// The number of each scheme's first broker.
    first: Vec<u32>,
    /// Timers that are armed, each with the start of its broker that armed it.
    timers: Timers<(u64, AnyBrokerTimer)>,
}

/// The broker of a seat while it lives.
#[derive(Debug)]
pub(super) struct State {
    pub(super) scheme: u8,
    pub(super) broker: Option<AnyBroker>,
    /// Number of times that it was started.
    pub(super) starts: u64,
}

impl Brokers {
    /// Creates the seats of all schemes; no broker runs yet.
    pub(super) fn new(schemes: &[Scheme], around: &BrokerNetwork<'_>) -> Self {
        let mut brokers = Self::default();
        for (number, scheme) in schemes.iter().enumerate() {
            brokers.first.push(brokers.specs.len() as u32);
            brokers.specs.extend(scheme.brokers(around));
            let state = || State { scheme: number as u8, broker: None, starts: 0 };
            brokers.states.resize_with(brokers.specs.len(), state);
        }
        brokers
    }

    /// Returns the seats of a scheme.
    pub(super) fn of(&self, scheme: usize) -> BrokerSpecs<'_> {
        let first = self.first.get(scheme).copied().unwrap_or(0);
        let end = self.first.get(scheme + 1).map_or(self.specs.len(), |&end| end as usize);
        BrokerSpecs { first: BrokerId(first), specs: self.specs.get(first as usize..end).unwrap_or_default() }
    }

    /// The scheme of a broker.
    pub(super) fn scheme(&self, broker: BrokerId) -> Option<u8> {
        self.states.get(broker.index()).map(|state| state.scheme)
    }

    /// Returns the location of a broker; `None` if there is no such broker.
    pub(super) fn location(&self, broker: BrokerId) -> Option<BrokerLocation> {
        self.specs.get(broker.index()).map(|spec| spec.at)
    }

    fn starts(&self, broker: BrokerId) -> u64 {
        self.states.get(broker.index()).map_or(0, |state| state.starts)
    }

    /// A place for a timer that a broker arms.
    pub(super) fn keep_timer(&mut self, broker: BrokerId, timer: AnyBrokerTimer) -> u32 {
        self.timers.keep((self.starts(broker), timer))
    }

    /// Takes a timer that fires, and frees its slot. Returns `None` if it was armed before its broker was started
    /// again.
    pub(super) fn take_timer(&mut self, broker: BrokerId, place: u32) -> Option<AnyBrokerTimer> {
        let (starts, timer) = self.timers.take(place);
        (self.starts(broker) == starts).then_some(timer)
    }
}
