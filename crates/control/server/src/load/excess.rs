//! Contracts of which counters show more than their rules let through: a rule is not in force, or the counters are wrong.
//!
//! A token bucket of rate r and burst b lets through at most r t + b in a time t. The times of readings have errors, so
//! intervals that adjoin last at most [`TIME_ERROR`] longer than stated: 11 % of the rate over ten seconds. Each run of
//! intervals that adjoin has a burst of its own. Counters without a time of reading prove nothing, as those of version 0.2.0:
//! reports may wait at the agent for longer than their readings are apart.
//!
//! Counters that went back may return to their old values, which is no traffic: such a point proves nothing, and evidence begins
//! anew. A point may have traffic of an earlier rule with a higher rate, and so may the first interval of the next point. So only
//! the third excess by one version of a rule ([`PROOF`]) is evidence. Minima without a maximum have no upper bound. A host
//! whose reports [lack](Missing) what the comparison needs leaves the minutes of its contracts unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use wayleave_contracts::{Contract, Endpoints, Excess as ExcessPackets, MIN_MAXIMUM, WireOverhead};
use wayleave_controller::Id;
use wayleave_topology::NodeId;

use super::limit::READ_ERROR;
use super::reading::BAND;
use super::series::SLOT_S;
use super::suspicion::{Missing, Suspicion};
use super::window::Window;
use crate::caveat::{Excess, ExcessContracts};
use crate::listing::contracts;
use crate::rendered::ContractObject;

/// Maximum error of the length of a run. [`BAND`] limits the error of a clock, and the time between the stated time and the
/// reading: a report that is sent later is ignored.
const TIME_ERROR: Duration = BAND.saturating_add(READ_ERROR);
/// Points of one version of a rule that show more than it lets through, before its contract counts as not enforced.
const PROOF: u8 = 3;
/// Length of a point.
const POINT: Duration = Duration::from_secs(SLOT_S);
/// Largest token bucket of a pair of hosts in a contract with a maximum (`MAX_BURST` and `MAX_FRAMES` in the agent).
const PAIR_BURST_BYTES: u128 = 64_000;

/// Maximum number of contracts that a problem names.
const NAMES: usize = 4;

/// Token buckets of a contract at a host together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Buckets {
    rate_bps: u128,
    burst_bits: u128,
}

impl Buckets {
    /// Returns the buckets at a host that sends; `None` if its rule has no upper bound.
    fn of(contract: &Contract, overhead: WireOverhead) -> Option<Self> {
        match contract {
            // Packets above the rate belong to another class.
            Contract::Latency(terms) if terms.excess == ExcessPackets::Demote => None,
            Contract::Latency(terms) => {
                let demand = terms.demand(overhead);
                let (rate, burst) = (demand.rate.bits_per_second(), demand.burst.get());
                Some(Self { rate_bps: rate.into(), burst_bits: u128::from(burst) * 8 })
            }
            Contract::Bandwidth(terms) => {
                let max = u128::from(terms.max?.bits_per_second());
                let pairs = match &terms.between {
                    Endpoints::Pair(..) => 1,
                    Endpoints::Hose(members) => members.len().saturating_sub(1).max(1) as u128,
                };
                // An agent divides the maximum among its pairs, none of which is below a floor. It sets their rates one after
                // the other, so a sum may have rates from before and after a division.
                let floors = max.min(pairs * u128::from(MIN_MAXIMUM.bits_per_second()));
                let rate_bps = if pairs == 1 { max } else { 2 * (max + floors) };
                Some(Self { rate_bps, burst_bits: pairs * PAIR_BURST_BYTES * 8 })
            }
            Contract::Objective(_) | Contract::BestEffort(_) => None,
        }
    }

    /// Returns the most traffic of a period, in bits.
    fn max_bits(self, covered: Duration, runs: u32) -> u128 {
        let time = covered + TIME_ERROR * runs;
        self.rate_bps * time.as_nanos() / 1_000_000_000 + self.burst_bits * u128::from(runs)
    }
}

/// Returns `true` if the traffic of a period can be compared with a rule.
fn is_known(window: &Window) -> bool {
    window.mean_bps().is_some() && !window.has_arrivals && !window.has_new_start
}

fn excess(buckets: Buckets, host: NodeId, window: &Window) -> Option<Excess> {
    let max = buckets.max_bits(window.covered, window.runs);
    let mean_bps = window.mean_bps().filter(|_| is_known(window) && u128::from(window.bits) > max)?;
    // One figure for a rule: that of a whole point, which is the lowest.
    let max_bps = buckets.max_bits(POINT, 1) * 1_000_000_000 / POINT.as_nanos();
    Some(Excess { host, covered: window.covered, mean_bps, max_bps: u64::try_from(max_bps).unwrap_or(u64::MAX) })
}

/// A rule with an excess.
#[derive(Clone, Debug)]
struct Suspect {
    id: Arc<Id>,
    version: u64,
    points: u8,
    excess: Excess,
}

/// Contracts of a host whose reports lack something.
#[derive(Clone, Debug, Default)]
pub(super) struct Uncompared {
    /// Points in a row.
    points: u8,
    missing: BTreeSet<Missing>,
    /// Names of the first contracts.
    names: Vec<Arc<Id>>,
    /// Number of contracts.
    count: usize,
}

impl Uncompared {
    /// Returns a problem of the host.
    pub(super) fn problem(&self) -> String {
        let clauses: Vec<&str> = self.missing.iter().map(|missing| missing.clause()).collect();
        let names = self.names.iter().map(ToString::to_string).collect();
        // A restart begins counters anew, so it cannot be the remedy.
        let advice = match self.missing.iter().all(|missing| matches!(missing, Missing::Interval | Missing::Growth)) {
            true => "this ends half a minute after a restart of its agent; otherwise check the clock of the host",
            false => "restart its agent, or upgrade it",
        };
        format!(
            "its reports {}: minutes of {} are unknown; {advice}",
            clauses.join(", and "),
            contracts(names, self.count)
        )
    }
}

/// Rules with an excess, and hosts that leave it unknown.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExcessTracker {
    /// By the serial number of the contract.
    suspects: BTreeMap<u64, Suspect>,
    uncompared: BTreeMap<NodeId, Uncompared>,
}

impl ExcessTracker {
    /// Begins a point.
    pub(super) fn begin_point(&mut self) {
        // A host that lacked nothing in the last point.
        self.uncompared.retain(|_, host| host.count > 0);
        self.uncompared
            .values_mut()
            .for_each(|host| *host = Uncompared { points: host.points, ..Uncompared::default() });
    }

    /// Takes the counters of a contract at its hosts since the last point. Returns the reason for which they cannot be
    /// compared with its rule.
    pub(crate) fn on_point<'a>(
        &mut self,
        contract: &ContractObject,
        overhead: WireOverhead,
        mut window: impl FnMut(NodeId) -> Option<&'a Window>,
        hosts: &BTreeSet<NodeId>,
    ) -> Option<Suspicion> {
        let contract = contract.recorded();
        let grant = contract.grant();
        let version = grant.versions().0?;
        let has_new_start = hosts.iter().any(|&host| window(host).is_some_and(|window| window.has_new_start));
        let is_obsolete = |suspect: &Suspect| suspect.version != version || (has_new_start && suspect.points < PROOF);
        if self.suspects.get(&grant.serial).is_some_and(is_obsolete) {
            self.suspects.remove(&grant.serial);
        }
        let buckets = Buckets::of(&grant.order.contract, overhead).filter(|_| contract.is_effective())?;
        let found = hosts.iter().filter_map(|&host| excess(buckets, host, window(host)?));
        match (found.max_by_key(|found| found.mean_bps), self.suspects.get_mut(&grant.serial)) {
            (Some(excess), None) => {
                self.suspects.insert(grant.serial, Suspect { id: grant.id.clone(), version, points: 1, excess });
            }
            // The figures do not change any more once they are evidence.
            (Some(excess), Some(suspect)) if suspect.points < PROOF => {
                (suspect.points, suspect.excess) = (suspect.points + 1, excess);
            }
            (None, Some(suspect)) if window(suspect.excess.host).is_some_and(is_known) => {
                self.suspects.remove(&grant.serial);
            }
            _ => {}
        }
        let (host, missing) = hosts.iter().find_map(|&host| Some((host, Missing::of(window(host))?)))?;
        let uncompared = self.uncompared.entry(host).or_default();
        if uncompared.count == 0 {
            uncompared.points = uncompared.points.saturating_add(1);
        }
        uncompared.count += 1;
        uncompared.missing.insert(missing);
        if uncompared.names.len() < NAMES {
            uncompared.names.push(grant.id.clone());
        }
        Some(Suspicion::Incomplete(host, missing))
    }

    /// Forgets all contracts but these.
    pub(crate) fn retain(&mut self, exists: impl Fn(u64) -> bool) {
        self.suspects.retain(|serial, _| exists(*serial));
    }

    /// Returns the contracts with an excess, by serial number.
    pub(super) fn suspects(&self) -> impl Iterator<Item = (u64, Suspicion)> {
        self.suspects.iter().map(|(serial, suspect)| (*serial, Suspicion::Excess(suspect.excess.clone())))
    }

    /// Returns the hosts whose reports have lacked something in two points: in the first point of a contract, its counters
    /// are not complete.
    pub(super) fn uncompared(&self) -> impl Iterator<Item = (NodeId, &Uncompared)> {
        self.uncompared.iter().filter(|(_, host)| host.points > 1 && host.count > 0).map(|(node, host)| (*node, host))
    }

    /// Returns the contracts that count as not enforced.
    pub(crate) fn proven(&self) -> ExcessContracts {
        let proven = self.suspects.iter().filter(|(_, suspect)| suspect.points >= PROOF);
        proven.map(|(&serial, suspect)| (serial, (suspect.id.clone(), suspect.excess.clone()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_contracts::{BandwidthContract, LatencyContract};
    use wayleave_topology::builders::{Cabling, build};
    use wayleave_units::{Bytes, Rate, Time};

    fn hosts() -> Vec<NodeId> {
        build::star(4, Cabling::default()).unwrap().hosts().collect()
    }

    fn latency(excess: ExcessPackets) -> Contract {
        let (from, to) = (hosts()[0], hosts()[1]);
        let (rate, burst, deadline) = (Rate::from_mbit(20), Bytes::new(3_000), Time::from_millis(5));
        Contract::Latency(LatencyContract { excess, ..LatencyContract::new("a", from, to, rate, burst, deadline) })
    }

    fn minimum(members: usize, max: Option<Rate>) -> Contract {
        let between = match hosts()[..members] {
            [from, to] => Endpoints::Pair(from, to),
            ref members => Endpoints::Hose(members.to_vec()),
        };
        let (name, min) = ("a".to_owned(), Rate::from_mbit(1));
        Contract::Bandwidth(BandwidthContract { name, tenant: None, between, min, max, weight: None, within: None })
    }

    /// Traffic of `runs` runs of five seconds, with a last interval that is not known.
    fn window(bits: u64, runs: u32) -> Window {
        let mut window = Window::default();
        for _ in 0..runs {
            window.add(bits / u64::from(runs), Duration::from_secs(2), 0);
            window.add(0, Duration::from_secs(3), 0);
            window.interrupt();
        }
        window
    }

    /// 20 Mbit/s for 5 s and 1.1 s, and 3,000 B: 122 Mbit and 24 kbit. A maximum of 50 Mbit/s for three pairs has floors of
    /// 192 kbit/s, which is twice 50.192 Mbit/s at most, and buckets of 64,000 B.
    #[test]
    fn a_rule_lets_through_its_rate_and_a_burst_for_each_run() {
        assert_eq!(MIN_MAXIMUM, Rate::from_bits_per_second(64_000), "the figures below have it");
        let max = Some(Rate::from_mbit(50));
        for (contract, runs, expected) in [
            (latency(ExcessPackets::Wait), 1, Some(122_024_000)),
            (latency(ExcessPackets::Drop), 2, Some(244_048_000)),
            (latency(ExcessPackets::Demote), 1, None),
            (minimum(2, max), 1, Some(305_512_000)),
            (minimum(4, max), 1, Some(100_384_000 * 61 / 10 + 3 * 512_000)),
            (minimum(2, None), 1, None),
            (minimum(4, None), 1, None),
        ] {
            let buckets = Buckets::of(&contract, WireOverhead::Counted { tags: 6 });
            assert_eq!(buckets.is_some(), expected.is_some(), "{contract:?}");
            let (Some(buckets), Some(expected)) = (buckets, expected) else { continue };
            assert_eq!(excess(buckets, hosts()[0], &window(expected, runs)), None, "{contract:?}");
            let above = excess(buckets, hosts()[0], &window(expected + u64::from(runs), runs)).unwrap();
            // In a message, a rule has one figure: that of ten seconds.
            let max_bps = buckets.max_bits(POINT, 1) / 10;
            assert_eq!(u128::from(above.max_bps), max_bps, "{contract:?}");
            let text = above.text(&build::star(4, Cabling::default()).unwrap());
            let over = format!("on average over {} s,", 5 * runs);
            assert!(text.contains(&over), "the measured time, not that of a point: {text}");
        }
    }

    /// Catches: the advice to restart an agent whose counters began anew because it was restarted.
    #[test]
    fn a_gap_of_counters_is_not_mended_by_a_restart() {
        for (missing, advises) in
            [(Missing::Interval, false), (Missing::Growth, false), (Missing::Counters, true), (Missing::ReadTime, true)]
        {
            let (missing, names) = (BTreeSet::from([missing]), vec![Arc::new(Id::new("acme", "a"))]);
            let problem = Uncompared { points: 2, missing, names, count: 1 }.problem();
            assert_eq!(problem.contains("restart its agent, or"), advises, "{problem}");
        }
    }

    #[test]
    fn traffic_without_times_of_readings_or_of_a_short_time_is_no_excess() {
        let buckets = Buckets { rate_bps: 1, burst_bits: 1 };
        let of = |window: &Window| excess(buckets, hosts()[0], window).is_some();
        let mut short = Window::default();
        short.add(1 << 40, Duration::from_millis(4_999), 0);
        let mut arrivals = window(1 << 40, 1);
        assert_eq!((of(&short), of(&arrivals)), (false, true));
        arrivals.on_arrival();
        assert!(!of(&arrivals));
    }
}
