//! Configuration of ports and hosts.

use std::num::{NonZeroU16, NonZeroU32};

use wayleave_contracts::{
    Bandwidth, BandwidthContract, Contract, Division, Match, PerDirection, Policy, PolicyLevel, Protocol, ServiceSpec,
};
use wayleave_schemes::host::scc;
use wayleave_schemes::host::ufab;
use wayleave_schemes::path::presto;
use wayleave_topology::Class;
use wayleave_units::{Bytes, Rate, Time};

use super::{Tenants, TenantsError, members};
use crate::{Discipline, Ecn, HostSchemeConfig, PortEcn, Routing, Scenario, SchemeOf, Sharing, StaticLimits};

/// Presto's flowcells, of one packet each: those of 64 kB are longer than the queue above which ports mark (docs/theory/fabric.md).
const CELL: Bytes = Bytes::new(1_460);
/// Time after which paths without answers are left out.
const SILENCE: Time = Time::from_millis(2);
/// A change of uFAB is repeated so often before it is given up.
const TRIES: u64 = 4;
/// Maximum time for which changes are remembered: the period after which switches count anew (10 s) is several times
/// longer.
const MAX_REMEMBERED: Time = Time::from_millis(2_000);
/// The largest filter of a queue.
const MAX_FILTER: Bytes = Bytes::new(1 << 22);
/// Number of round trips after which SCC's feedback comes: 300 us for the 70 us of its testbed.
const PERIOD: u64 = 5;

impl Tenants {
    /// Configures ports with all classes, the reservations, and the schemes that enforce each contract. The
    /// scenario's own settings for these are replaced.
    ///
    /// # Errors
    /// If a host's minima are more than its line.
    pub fn set_up(&self, scenario: &mut Scenario) -> Result<(), TenantsError> {
        let weights = Class::SHARING.iter().map(|&class| u32::from(self.classes.weight(class))).collect();
        let order = Discipline::StrictOverWeighted { strict: self.classes.latency, weights };
        scenario.network = self.network.clone();
        (scenario.switches.discipline, scenario.hosts.discipline) = (order.clone(), order);
        scenario.switches.ecn = self.marks();
        scenario.reserved = self
            .network
            .links()
            .zip(&self.links)
            .map(|((_, link), (_, residual))| link.rate.saturating_sub(residual.rate))
            .collect();
        scenario.routing = Routing::Flowcells(presto::Spreading { size: CELL, path_timeout: Some(SILENCE) });
        scenario.sharing = Some(self.share()?);
        Ok(())
    }

    /// Objectives and best effort are marked by the bytes of their own queue, as many as the line carries in a round trip.
    fn marks(&self) -> PortEcn {
        let fastest = self.network.links().map(|(_, link)| link.rate).max().unwrap_or(Rate::ZERO);
        let bytes = u128::from(fastest.bits_per_second()) * u128::from(self.round_trip().as_nanos()) / 8_000_000_000;
        let marks = Some(Ecn::above(Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))));
        let mut queues = vec![None; self.classes.queues()];
        for class in [Class::Objective, Class::BestEffort] {
            queues[usize::from(self.classes.queue_of(class))].clone_from(&marks);
        }
        PortEcn::PerQueue(queues)
    }

    fn share(&self) -> Result<Sharing, TenantsError> {
        let services = self.services();
        let network = &self.network;
        let policy = Policy::new(network, "tenants", PolicyLevel::Machine, Vec::new(), None, services);
        let policy = policy.map_err(|errors| {
            let faults: Vec<String> = errors.iter().map(|error| error.fault.to_string()).collect();
            TenantsError::Policy(faults.join("; "))
        })?;
        let named = |is_of: fn(&Contract) -> bool| -> Vec<String> {
            let of = self.sharing.iter().filter(|tenant| is_of(&tenant.contract));
            of.map(|tenant| tenant.contract.name().to_owned()).collect()
        };
        let unlimited = || HostSchemeConfig::StaticLimits(StaticLimits::default());
        let minima = named(|contract| matches!(contract, Contract::Bandwidth(_)));
        let objectives = named(|contract| matches!(contract, Contract::Objective(_)));
        let mut others = named(|contract| matches!(contract, Contract::BestEffort(_)));
        others.push(self.latency_service());
        let period = Time::from_nanos(self.round_trip().as_nanos().saturating_mul(PERIOD).max(1));
        let scc = || HostSchemeConfig::Scc(scc::Params::below_classes(period));
        // The first scheme handles traffic of no service, and may have brokers.
        let mut sharing = Sharing::new(if objectives.is_empty() { unlimited() } else { scc() }, policy);
        if !minima.is_empty() {
            sharing.other_schemes.push(SchemeOf { scheme: HostSchemeConfig::Ufab(self.ufab()), services: minima });
        }
        if !objectives.is_empty() {
            sharing.other_schemes.push(SchemeOf { scheme: unlimited(), services: others });
        }
        Ok(sharing)
    }

    /// uFAB beside other classes. Switches remember changes, which a sender repeats until it is answered, for longer than answers take: a change that is forgotten
    /// before is counted twice, and then minima are shared out of a line as if more were promised on it.
    fn ufab(&self) -> ufab::Settings {
        let usual = ufab::Settings::beside_other_classes();
        let latest = self.minima().iter().map(|minimum| minimum.within).max().unwrap_or(Time::ZERO);
        // Repeated changes come after `probeTimeoutRtts` base round trips each, and the last may be as late as a minimum.
        let tries = self.round_trip().as_nanos().saturating_mul(u64::from(usual.probe_timeout_rtts) * TRIES);
        let needed = tries.max(latest.as_nanos().saturating_mul(2)).min(MAX_REMEMBERED.as_nanos());
        let dedup_window = usual.dedup_window.max(Time::from_nanos(needed));
        // The filter has the same part of a bit for each probe, and the usual one is for a line of 100 Gbit/s.
        let fastest = self.network.links().map(|(_, link)| link.rate).max().unwrap_or(Rate::ZERO);
        let times = u128::from(dedup_window.as_nanos()) * u128::from(fastest.bits_per_second());
        let usual_times =
            u128::from(usual.dedup_window.as_nanos()) * u128::from(Rate::from_gbit(100).bits_per_second());
        let bytes = u128::from(usual.bloom_filter_size.get()) * times / usual_times.max(1);
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX).clamp(usual.bloom_filter_size.get(), MAX_FILTER.get());
        let target_utilization_percent = self.classes.target;
        ufab::Settings {
            excess_sharing: ufab::ExcessSharing::Weights,
            target_utilization_percent,
            dedup_window,
            bloom_filter_size: Bytes::new(bytes),
            ..usual
        }
    }

    /// A service of each contract, at its hosts, and one of all latency contracts.
    fn services(&self) -> Vec<ServiceSpec> {
        // No packet may belong to two services; the simulator goes by names, not by ports.
        let filter = |number: usize| {
            let port = NonZeroU16::new(u16::try_from(number + 1).unwrap_or(u16::MAX));
            Some(Match { protocol: Some(Protocol::TCP), destination_port: port, ..Match::default() })
        };
        let latency =
            ServiceSpec { name: self.latency_service(), filter: filter(self.sharing.len()), ..ServiceSpec::default() };
        let divisor = divisor(self.sharing.iter().map(|tenant| &tenant.contract));
        let weight = |contract: &BandwidthContract| {
            u32::try_from(contract.weight_in_thousandths() / divisor).unwrap_or(u32::MAX).max(1)
        };
        let of = |(number, tenant): (usize, &super::SharingTenant)| {
            let contract = &tenant.contract;
            let division = match contract {
                Contract::Objective(contract) => {
                    let all = contract.min.bits_per_second().saturating_mul(contract.members.len() as u64);
                    Some(Division { share: Rate::from_bits_per_second(all), objective: Some(contract.objective) })
                }
                _ => None,
            };
            // Both ends of a pair have its minimum in both directions: unused minima cost nothing.
            let bandwidth = match contract {
                Contract::Bandwidth(contract) => {
                    let weight = NonZeroU32::new(weight(contract));
                    let bandwidth = Bandwidth { min: Some(contract.min), max: contract.max, weight };
                    PerDirection { transmit: bandwidth, receive: bandwidth }
                }
                // Fixed limits hold for what is sent.
                Contract::BestEffort(contract) => PerDirection {
                    transmit: Bandwidth { max: contract.max, ..Bandwidth::default() },
                    ..PerDirection::default()
                },
                _ => PerDirection::default(),
            };
            ServiceSpec {
                name: contract.name().to_owned(),
                filter: filter(number),
                bandwidth,
                endpoints: members(contract),
                division,
                ..ServiceSpec::default()
            }
        };
        self.sharing.iter().enumerate().map(of).chain([latency]).collect()
    }
}

/// Returns the divisor of contract weights that makes the largest a valid service weight.
fn divisor<'a>(contracts: impl Iterator<Item = &'a Contract>) -> u64 {
    let weight = |contract: &Contract| match contract {
        Contract::Bandwidth(contract) => contract.weight_in_thousandths(),
        _ => 0,
    };
    contracts.map(weight).max().unwrap_or(0) / u64::from(u32::MAX) + 1
}
