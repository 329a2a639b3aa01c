//! Shortfalls of guarantees, and the hosts' part of a run's outcome.

use wayleave_scheme_api::ClassId;

use super::account::SharingOutcome;
use super::pair::Pair;
use super::slot::PairSlot;
use super::state::Hosts;
use crate::clock::Instant;
use crate::fabric::NetworkState;
use crate::flows::Flows;
use crate::packet::{FRAMING, HEADERS};

impl Hosts {
    /// The warm-up is over.
    pub(crate) fn forget(&mut self, now: Instant) {
        self.account.forget();
        if let Some(promises) = &mut self.promises {
            promises.end_warmup(now);
        }
    }

    /// Records a packet that has left as in flight on its path. `sent` is the count of its pair there, with the
    /// packet.
    #[inline]
    pub(crate) fn note_flight(&mut self, slot: PairSlot, path: u8, sent: u64, fabric: &NetworkState) {
        if let Some(promises) = &mut self.promises {
            let Some(pair) = self.pairs.get(slot as usize) else { return };
            // Others have windows as well (SCC), which no bound of the guaranteed class counts.
            if !promises.is_guaranteed(pair.to_place) {
                return;
            }
            let pair_path = (slot, pair.epoch, path);
            promises.sent(pair_path, sent, || fabric.links_along(&pair.forward, u32::from(path)));
        }
    }

    /// Returns the interval at which shortfalls of guarantees are measured, if they are.
    pub(crate) fn measures_guarantees(&self) -> Option<Instant> {
        self.account.measures_guarantees()
    }

    /// An interval ends: what guarantees owed and missed in it.
    pub(crate) fn measure_guarantees(&mut self, flows: &Flows, now: Instant) {
        let waiting = self.waiting(flows);
        self.account.measure_guarantees(&self.sharing.machine, &waiting, now);
    }

    /// Returns the unsent demand, per host and class: of traffic from there, and of traffic to there. Bytes on the
    /// wire.
    fn waiting(&self, flows: &Flows) -> Vec<[u64; 2]> {
        let mut waiting = vec![[0_u64; 2]; self.is_here.len()];
        let mut add = |pair: &Pair, bytes: u64| {
            for (place, pair_path) in [(pair.from_place, 0), (pair.to_place, 1)] {
                let sum = &mut waiting[place as usize][pair_path];
                *sum = sum.saturating_add(bytes);
            }
        };
        for flow in flows.iter().filter(|flow| flow.is_open()) {
            if let Some(pair) = self.pairs.get(flow.pair as usize) {
                add(pair, flow.sender.unsent(HEADERS + FRAMING));
            }
        }
        for pair in &self.pairs {
            add(pair, self.hosts[pair.sender as usize].stack.held(pair.outgoing.0));
        }
        waiting
    }

    /// Returns the result of sharing at the end.
    pub(crate) fn outcome(mut self, flows: &Flows, end: Instant) -> SharingOutcome {
        if self.measures_guarantees().is_some() {
            self.measure_guarantees(flows, end);
        }
        self.count_open_tunnels();
        let Some(mut promises) = self.promises.take() else { return self.account.outcome(Vec::new()) };
        let named = |class| self.services.name(ClassId(class)).map(str::to_owned);
        let carried = std::mem::take(&mut promises.carried).outcome(end, named);
        let (in_flight, lags) = promises.outcome(end);
        SharingOutcome { in_flight, carried, ..self.account.outcome(lags) }
    }
}
