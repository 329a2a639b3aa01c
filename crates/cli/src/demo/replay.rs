//! Bytes that the hosts of the four tenants send in a simulation, by contract and interval, for a replay.

use std::collections::BTreeMap;

use wayleave::{Error, Network};
use wayleave_sim::Outcome;
use wayleave_sim::stats::Series;
use wayleave_topology::NodeId;

use super::fabric::{BIN, DURATION, TOPOLOGY, internal, scenario};

/// Picoseconds of a nanosecond.
const PS: u64 = 1_000;

/// Bytes on the wire in each interval of a simulation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replay {
    /// By host, then by contract.
    hosts: BTreeMap<String, BTreeMap<String, Vec<u64>>>,
    /// Of contracts, by link, for the links of hosts in both directions: host, then link.
    links: BTreeMap<String, BTreeMap<String, Vec<u64>>>,
}

impl Replay {
    /// Returns the bytes that a host sends for each contract in a second of the replay. Each second shows the rates of
    /// one interval; after the last interval, the first one follows.
    pub(crate) fn sent(&self, host: &str, second: usize) -> impl Iterator<Item = (&str, u64)> {
        in_second(self.hosts.get(host), second)
    }

    /// Returns the bytes of contracts on the links of a host, in both directions.
    pub(crate) fn on_links(&self, host: &str, second: usize) -> impl Iterator<Item = (&str, u64)> {
        in_second(self.links.get(host), second)
    }

    /// Adds what a host sends for a contract, or, without one, what it receives.
    fn add(&mut self, network: &wayleave_topology::Network, host: NodeId, contract: Option<&str>, bytes: &[u64]) {
        let name = network.node(host).name.as_str();
        let add = |of: &mut BTreeMap<String, BTreeMap<String, Vec<u64>>>, key: &str| {
            let sums = of.entry(name.to_owned()).or_default().entry(key.to_owned()).or_default();
            sums.resize(bytes.len().max(sums.len()), 0);
            sums.iter_mut().zip(bytes).for_each(|(sum, bytes)| *sum += bytes);
        };
        // A host of this network has one cable.
        let is_own = |link: &wayleave_topology::Link| match contract {
            Some(_) => link.from == host,
            None => link.to == host,
        };
        if let Some((_, link)) = network.links().find(|(_, link)| is_own(link)) {
            add(&mut self.links, &link.name);
        }
        if let Some(contract) = contract {
            add(&mut self.hosts, contract);
        }
    }
}

fn in_second(bytes: Option<&BTreeMap<String, Vec<u64>>>, second: usize) -> impl Iterator<Item = (&str, u64)> {
    let seconds = 1_000_000_000 / BIN.as_nanos();
    bytes.into_iter().flatten().filter_map(move |(name, bytes)| {
        let interval = bytes.get(second.checked_rem(bytes.len())?)?;
        Some((name.as_str(), interval.saturating_mul(seconds)))
    })
}

/// Returns the bytes of each interval, at most `most`.
fn intervals(series: &Series, most: u64) -> Vec<u64> {
    series.bins(DURATION.as_nanos() * PS).map(|bin| bin.amount.min(most)).collect()
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
    let (mut replay, graph) = (Replay::default(), &network.graph);
    for (traffic, result) in scenario.traffic.iter().zip(&outcome.traffic) {
        let contract = traffic.name.split(' ').next().unwrap_or_default();
        let Some(tenant) = tenants.latency().iter().find(|tenant| tenant.contract.name == contract) else { continue };
        // Counted at their arrival, microseconds later. An interval is replayed as a second, in which a contract sends its
        // rate: the burst that a bucket allows in an interval would be 2,000 bursts.
        let most = tenant.contract.rate.bits_per_second() / 8 * BIN.as_nanos() / 1_000_000_000;
        if let Some(series) = &result.throughput {
            let bytes = intervals(series, most);
            replay.add(graph, tenant.contract.from, Some(contract), &bytes);
            replay.add(graph, tenant.contract.to, None, &bytes);
        }
    }
    for service in outcome.sharing.iter().flat_map(|sharing| &sharing.services) {
        let is_contract = tenants.sharing().iter().any(|tenant| tenant.contract.name() == service.name);
        for machine in service.machines.iter().filter(|_| is_contract) {
            if let Some(series) = &machine.transmit {
                replay.add(graph, machine.host, Some(&service.name), &intervals(series, u64::MAX));
            }
            if let Some(series) = &machine.receive {
                replay.add(graph, machine.host, None, &intervals(series, u64::MAX));
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
        let robot = of("h1", "robot1");
        assert!(robot.iter().all(|&bytes| bytes <= 2_500_000), "20 Mbit/s: {robot:?}");
        assert!(robot[..24].iter().sum::<u64>() > 24 * 1_000_000, "{robot:?}");
        for second in 0..24 {
            let all: u64 = replay.sent("h1", second).map(|(_, bytes)| bytes).sum();
            // Bursts of half a millisecond at 10 Gbit/s are whole packets.
            assert!(all <= 1_250_000_000 + 2_000 * 9 * 1_538, "{second}: {all} B");
            let links: BTreeMap<&str, u64> = replay.on_links("h1", second).collect();
            assert_eq!(links.keys().copied().collect::<Vec<_>>(), ["h1->pod1-edge1", "pod1-edge1->h1"]);
            assert_eq!(links["h1->pod1-edge1"], all);
        }
        assert!(simulate(&|| false).unwrap().is_none());
    }
}
