//! Bytes that the hosts of the four tenants send in a simulation, by contract and interval, for a replay.

use std::collections::BTreeMap;

use wayleave::{Error, Network};
use wayleave_sim::Outcome;
use wayleave_sim::stats::Series;

use super::fabric::{BIN, DURATION, TOPOLOGY, internal, scenario};

/// Picoseconds of a nanosecond.
const PS: u64 = 1_000;

/// Bytes on the wire in each interval of a simulation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replay {
    /// By host, then by contract.
    hosts: BTreeMap<String, BTreeMap<String, Vec<u64>>>,
}

impl Replay {
    /// Returns the bytes that a host sends for each contract in a second of the replay. Each second shows the rates of
    /// one interval; after the last interval, the first one follows.
    pub(crate) fn sent(&self, host: &str, second: usize) -> impl Iterator<Item = (&str, u64)> {
        let seconds = 1_000_000_000 / BIN.as_nanos();
        let contracts = self.hosts.get(host).into_iter().flatten();
        contracts.filter_map(move |(name, bytes)| {
            let interval = bytes.get(second.checked_rem(bytes.len())?)?;
            Some((name.as_str(), interval.saturating_mul(seconds)))
        })
    }

    fn add(&mut self, host: &str, contract: &str, series: &Series) {
        let contracts = self.hosts.entry(host.to_owned()).or_default();
        let bytes = contracts.entry(contract.to_owned()).or_default();
        bytes.resize((DURATION.as_nanos() / BIN.as_nanos()) as usize, 0);
        for (sum, bin) in bytes.iter_mut().zip(series.bins(DURATION.as_nanos() * PS)) {
            *sum += bin.amount;
        }
    }
}

/// Simulates the four tenants; `None` if `goes_on` has returned `false` before the end.
///
/// # Errors
/// None on this network; other errors would be mistakes here.
pub(crate) fn simulate(goes_on: &(dyn Fn() -> bool + Sync)) -> Result<Option<Replay>, Error> {
    let network = Network::build(TOPOLOGY)?.with_classes()?;
    let (tenants, scenario) = scenario(&network)?;
    let outcome: Outcome = wayleave_sim::run(&scenario, 1, |_| goes_on()).map_err(internal)?;
    if !goes_on() {
        return Ok(None);
    }
    let (mut replay, name) = (Replay::default(), |node| network.graph.node(node).name.as_str());
    for (traffic, result) in scenario.traffic.iter().zip(&outcome.traffic) {
        let contract = traffic.name.split(' ').next().unwrap_or_default();
        let Some(tenant) = tenants.latency().iter().find(|tenant| tenant.contract.name == contract) else { continue };
        // Counted at their arrival, microseconds later.
        if let Some(series) = &result.throughput {
            replay.add(name(tenant.contract.from), contract, series);
        }
    }
    for service in outcome.sharing.iter().flat_map(|sharing| &sharing.services) {
        let is_contract = tenants.sharing().iter().any(|tenant| tenant.contract.name() == service.name);
        for machine in service.machines.iter().filter(|_| is_contract) {
            if let Some(series) = &machine.transmit {
                replay.add(name(machine.host), &service.name, series);
            }
        }
    }
    Ok(Some(replay))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tenant_sends_at_most_the_rate_of_its_host_and_the_rates_change() {
        let replay = simulate(&|| true).unwrap().unwrap();
        assert_eq!(replay.hosts.len(), 16);
        let of = |host: &str, contract: &str| -> Vec<u64> {
            let second = |second| replay.sent(host, second).find(|(name, _)| *name == contract).map(|(_, bytes)| bytes);
            (0..48).map(|at| second(at).unwrap_or(0)).collect()
        };
        for contract in ["db", "search", "index", "bulk"] {
            let bytes = of("h1", contract);
            assert!(bytes.iter().collect::<std::collections::BTreeSet<_>>().len() > 2, "{contract}: {bytes:?}");
            assert_eq!(bytes[..24], bytes[24..], "{contract} repeats after 24 intervals");
        }
        // A 20 Mbit/s contract with a burst of 3,000 B.
        let robot: u64 = of("h1", "robot1")[..24].iter().sum();
        assert!((24 * 1_000_000..=24 * 2_600_000).contains(&robot), "{robot} B in 24 s at 20 Mbit/s");
        for second in 0..24 {
            let all: u64 = replay.sent("h1", second).map(|(_, bytes)| bytes).sum();
            // Bursts of half a millisecond at 10 Gbit/s are whole packets.
            assert!(all <= 1_250_000_000 + 2_000 * 9 * 1_538, "{second}: {all} B");
        }
        assert!(simulate(&|| false).unwrap().is_none());
    }
}
