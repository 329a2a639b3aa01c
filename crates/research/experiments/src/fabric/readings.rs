//! Results read from a run.

use std::collections::BTreeSet;

use wayleave_sim::stats::Lag;
use wayleave_sim::{Outcome, ServiceShare};
use wayleave_topology::{Classes, NodeKind};
use wayleave_units::{Rate, Time};

use super::shares::shares;
use super::systems::{BIN, Case, DEAD, PATTERN, Set, System, set};
use super::tenants::{Admitted, BEST_EFFORT, DIVISIONS, HOSES, LATENCY};
use crate::checkpoint::stored;
use crate::failed::Failed;
use crate::simulator::Simulator;

/// Results of all tenants in a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct TenantReadings {
    /// Number of requested latency contracts, number of admitted ones, and number of those with a late or lost
    /// packet.
    pub(super) asked: f64,
    pub(crate) admitted: f64,
    pub(crate) broken: f64,
    /// Of all their packets, the longest time as a part of its deadline; how many were lost.
    pub(crate) slowest: f64,
    pub(super) lost: f64,
    /// Number of hoses at hosts, number of those with a lag beyond the bound, the longest lag and the bound, in ms.
    pub(crate) hoses: f64,
    pub(crate) short: f64,
    pub(crate) lag: f64,
    pub(super) theta: f64,
    /// Promise to each hose, in Gbit/s.
    pub(super) hose: f64,
    /// Traffic of each division over its weight, in Gbit/s, in the second half of the run.
    pub(super) divisions: Vec<f64>,
    /// Due traffic of each division over its weight, by the weights of its tunnels on their paths; empty without
    /// tunnels.
    pub(super) due: Vec<f64>,
    /// Mean utilisation of the busiest tenth of the links between switches and to hosts.
    pub(crate) busiest: f64,
    /// Of best effort: Gbit/s, and ms in which 99 of 100 messages arrive.
    pub(super) best: f64,
    pub(super) messages: f64,
    /// Gbit/s that arrived in all.
    pub(super) all: f64,
    /// Maximum amount in flight, relative to its bound.
    pub(super) in_flight: f64,
    /// Latency contracts whose only route leads over the switch that dies.
    pub(super) cut: f64,
    /// Arriving traffic of hoses, objectives, best effort and latency contracts, in Gbit/s, in each interval.
    pub(super) kinds: Vec<[f64; 4]>,
}

stored!(TenantReadings {
    asked,
    admitted,
    broken,
    slowest,
    lost,
    hoses,
    short,
    lag,
    theta,
    hose,
    divisions,
    due,
    busiest,
    best,
    messages,
    all,
    in_flight,
    cut,
    kinds
});

/// Runs a case.
pub(super) fn seen(simulator: &Simulator, case: Case, seed: u64) -> Result<TenantReadings, Failed> {
    let set = set(case, seed)?;
    let tunnels = case.system == System::OneFabric;
    let outcome = simulator.run(&set.scenario, seed)?;
    let mut seen = TenantReadings {
        asked: set.stage.asked.len() as f64,
        admitted: set.admitted.len() as f64,
        ..TenantReadings::default()
    };
    latency(&mut seen, &set, &outcome);
    minima(&mut seen, &set, &outcome);
    divisions(&mut seen, &set, &outcome);
    if !tunnels {
        seen.due.clear();
    }
    seen.kinds = kinds(&outcome);
    rest(&mut seen, &set, &outcome);
    Ok(seen)
}

fn latency(seen: &mut TenantReadings, set: &Set, outcome: &Outcome) {
    let fails = set.scenario.outages.first().map(|outage| outage.at);
    let mut broken = BTreeSet::new();
    for flow in &outcome.flows {
        let Some(number) = set.contract_of.get(flow.traffic).copied().flatten() else { continue };
        let traffic = &set.scenario.traffic[flow.traffic];
        let deadline = set.admitted[number].contract.deadline.as_nanos() as f64 * 1e3;
        let slowest = flow.delay.max().unwrap_or(0) as f64 / deadline;
        seen.slowest = seen.slowest.max(slowest);
        // Packets lost in a dead switch break no promise of a contract without protection. If a hash chooses the
        // paths, it is unknown which contracts are affected.
        let may_be_cut = is_cut(set, &set.admitted[number]);
        let lost = if fails.is_some_and(|at| traffic.start >= at) && may_be_cut { 0 } else { flow.drops };
        seen.lost += lost as f64;
        if slowest > 1.0 || lost > 0 {
            broken.insert(number);
        }
    }
    seen.broken = broken.len() as f64;
    if fails.is_some() {
        seen.cut =
            set.admitted.iter().filter(|contract| contract.route.is_some() && is_cut(set, contract)).count() as f64;
    }
}

/// Returns `true` if the failing switch may be on the path of a contract.
fn is_cut(set: &Set, contract: &Admitted) -> bool {
    let network = &set.stage.network;
    let touches = |link| network.node(network.link(link).to).name == DEAD;
    contract.route.as_ref().is_none_or(|route| route.hops.iter().any(|hop| touches(hop.link)))
}

/// Reads the traffic of divisions over their weights, and their due traffic.
fn divisions(seen: &mut TenantReadings, set: &Set, outcome: &Outcome) {
    let Some(sharing) = &outcome.sharing else { return };
    let half = set.scenario.duration.saturating_sub(set.scenario.record.carried_from);
    let shares = shares(
        &DIVISIONS.map(|(name, ..)| name),
        &sharing.carried,
        (&set.stage.network, &outcome.links),
        half.as_nanos() as f64 / 1e9,
    );
    let gbit = |bytes: &f64, weight: u64| bytes * 8.0 / half.as_nanos() as f64 / weight as f64;
    let over_weights =
        |all: &[f64]| all.iter().zip(DIVISIONS).map(|(bytes, (_, weight, _))| gbit(bytes, weight)).collect();
    (seen.divisions, seen.due) = (over_weights(&shares.got), over_weights(&shares.due));
}

/// Returns the arriving traffic of each kind of tenants, for each interval.
fn kinds(outcome: &Outcome) -> Vec<[f64; 4]> {
    let mut all = vec![[0.0; 4]; (outcome.simulated.as_nanos() / BIN.as_nanos()) as usize];
    let kind = |name: &str| match name {
        LATENCY => 3,
        _ if HOSES.contains(&name) => 0,
        _ if DIVISIONS.iter().any(|division| division.0 == name) => 1,
        _ => 2,
    };
    let of = |service: &ServiceShare, all: &mut Vec<[f64; 4]>| {
        for series in service.machines.iter().filter_map(|machine| machine.receive.as_ref()) {
            let bins = series.bins(outcome.simulated.as_nanos() * 1_000);
            for (sum, bin) in all.iter_mut().zip(bins) {
                sum[kind(&service.name)] += bin.amount as f64 * 8.0 / BIN.as_nanos() as f64;
            }
        }
    };
    for service in outcome.sharing.iter().flat_map(|sharing| &sharing.services) {
        of(service, &mut all);
    }
    all
}

fn minima(seen: &mut TenantReadings, set: &Set, outcome: &Outcome) {
    let link = set.stage.shared_link(Classes::default());
    let pairs = set.stage.hosts.len() as u64 - 1;
    let least = Rate::from_bits_per_second(set.hose.bits_per_second() / pairs);
    // A packet waits at each link; the rest comes once.
    let wait = |residual| link.longest_wait(residual, pairs).unwrap_or(Time::MAX).as_nanos();
    let longest = set.residuals.iter().map(wait).max().unwrap_or(0);
    let once = set.residuals.iter().filter_map(|residual| {
        let all = link.lateness(residual, pairs, least, Time::from_micros(32))?.as_nanos();
        Some(all - wait(residual))
    });
    let hops = if set.stage.network.switches().count() > 1 { 6 } else { 2 };
    let theta = hops * longest + once.max().unwrap_or(0);
    seen.theta = theta as f64 / 1e6;
    seen.hose = set.hose.bits_per_second() as f64 / 1e9;
    let Some(sharing) = &outcome.sharing else { return };
    let of_hoses = sharing.services.iter().filter(|service| HOSES.contains(&service.name.as_str()));
    let lags: Vec<u64> = of_hoses
        .flat_map(|service| &service.machines)
        .filter_map(|machine| machine.receive_lag.as_ref())
        .map(Lag::longest)
        .collect();
    seen.hoses = lags.len() as f64;
    seen.short = lags.iter().filter(|&&lag| lag > theta * 1_000).count() as f64;
    seen.lag = lags.iter().max().copied().unwrap_or(0) as f64 / 1e9;
    let minima = Rate::from_bits_per_second(set.hose.bits_per_second() * HOSES.len() as u64);
    let held = |link_id: wayleave_topology::LinkId| {
        let residual = set.residuals.get(link_id.index())?;
        Some(link.held(residual, pairs * HOSES.len() as u64, minima)?.nanobits() as f64 / 8e9)
    };
    let is_switch = |link: wayleave_topology::LinkId| {
        let network = &set.stage.network;
        network.node(network.link(link).from).kind == NodeKind::Switch
    };
    let parts = sharing.in_flight.iter().filter(|(link, _)| is_switch(*link));
    let parts = parts.filter_map(|(link, bytes)| Some(bytes.get() as f64 / held(*link)?));
    seen.in_flight = parts.fold(0.0, f64::max);
}

fn rest(seen: &mut TenantReadings, set: &Set, outcome: &Outcome) {
    let seconds = outcome.counted.as_nanos() as f64 / 1e9;
    let gbit = |bytes: f64| bytes * 8.0 / seconds / 1e9;
    if let Some(sharing) = &outcome.sharing {
        let machines = sharing.service(BEST_EFFORT).map_or(&[][..], |service| &service.machines);
        seen.best = gbit(machines.iter().map(|machine| machine.received.get() as f64).sum());
    }
    seen.all = gbit(outcome.flows.iter().map(|flow| flow.delivered_bytes.get() as f64).sum());
    let mut used: Vec<f64> = outcome.links.iter().map(|link| link.utilisation).collect();
    used.sort_by(|one, other| other.total_cmp(one));
    used.truncate((used.len() / 10).max(1));
    seen.busiest = used.iter().sum::<f64>() / used.len() as f64;
    let messages = set.scenario.traffic.iter().position(|traffic| traffic.name == "best messages");
    let times = messages.map(|at| outcome.traffic[at].completions.times());
    seen.messages = times.and_then(|times| times.percentile(99.0)).map_or(f64::NAN, |ps| ps as f64 / 1e9);
    debug_assert!(set.scenario.duration >= PATTERN);
}
