//! Simulation of one fabric for a moment: four tenants with contracts of four kinds on one network, their promises,
//! and the service that each got under the worst behaviour of the others. For comparison, the same tenants without
//! promises.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use wayleave_contracts::{
    BandwidthContract, BestEffortContract, Contract, Endpoints, FlowObjective, LatencyContract, ObjectiveContract,
    Policy, PolicyLevel,
};
use wayleave_explain::human::{Human, count};
use wayleave_scenarios::{
    Bursts, Congestion, Discipline, Ecn, FabricSettings, FlowArrivals, FlowEndpoints, FlowSizes, HostSchemeConfig,
    Minimum, PortEcn, Reliable, Routing, Scenario, StaticLimits, Tenants, Traffic, TransportConfig, Workload,
};
use wayleave_sim::Outcome;
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

use super::write;
use wayleave::Error;
use wayleave::Network;
use wayleave_report::page::TenantReport;
use wayleave_report::plot::axis::Axis;
use wayleave_report::plot::{Dot, Join, Plot, PlotLine};
use wayleave_report::svg::{self, FigureBackground, Position};

/// 16 hosts at 10 Gbit/s, with queues for all kinds.
pub(super) const TOPOLOGY: &str = "fat-tree:k=4,rate=10Gbit,delay=1us,queues=8";
/// Hoses change their pattern every 4 ms.
pub(super) const DURATION: Time = Time::from_millis(12);
/// Length of the intervals in which arriving traffic is counted.
pub(super) const BIN: Time = Time::from_micros(500);
/// Flows of the division that has many.
const LATENCY_CONTRACTS: usize = 500;
/// Members of the hose.
const MEMBERS: usize = 8;
const HOSE: Rate = Rate::from_mbit(1_500);
const WEIGHTS: [(&str, u64); 2] = [("search", 600), ("index", 300)];
/// DCTCP's threshold at 10 Gbit/s: 65 packets (SIGCOMM 2010, section 3.4).
const THRESHOLD: Bytes = Bytes::new(97_500);

/// Result of the demo.
pub(crate) struct FabricDemo {
    /// Tenant, promise, what it got, what it got where nothing is promised.
    rows: Vec<[String; 4]>,
    lines: Vec<PlotLine>,
    is_kept: bool,
}

/// Observations of a run.
struct Seen {
    late: usize,
    lost: u64,
    /// Of its deadline.
    slowest: f64,
    /// Of any member of the hose.
    lag: Time,
    /// In Gbit/s: both divisions, best effort.
    divisions: [f64; 2],
    best: f64,
    /// Arriving traffic of each tenant in Gbit/s, for each interval.
    series: Vec<PlotLine>,
}

/// The four tenants of the demo, for a controller.
pub(crate) struct FourTenants {
    /// Network with classes.
    pub(crate) network: Arc<wayleave_topology::Network>,
    /// Contracts of all tenants; those without a tenant are the default tenant's.
    pub(crate) contracts: Vec<Contract>,
    /// Options of the scheme `fabric` that admit them: [`budgets`].
    pub(crate) scheme_options: [&'static str; 4],
}

/// Returns the four tenants with their network.
///
/// # Errors
/// None on this network; other errors would be mistakes here.
pub(crate) fn four_tenants() -> Result<FourTenants, Error> {
    let network = Network::build(TOPOLOGY)?.with_classes()?.graph;
    let contracts = contracts(&network.hosts().collect::<Vec<_>>());
    let scheme_options = ["--fabric-budgets", "10us,20us,40us,80us,160us", "--fabric-host-budgets", "80us"];
    Ok(FourTenants { network, contracts, scheme_options })
}

/// Returns the scenario of the tenants with their contracts, and the traffic beyond their normal load.
pub(super) fn scenario(network: &Network) -> Result<(Tenants, Scenario), Error> {
    let hosts: Vec<NodeId> = network.graph.hosts().collect();
    let (tenants, refused) = Tenants::admit(&network.graph, &contracts(&hosts), &budgets()).map_err(internal)?;
    if !refused.is_empty() {
        return Err(internal(format!("the demo's own contracts do not fit: {}", refused.join(", "))));
    }
    let mut scenario = Scenario::new("four tenants", Arc::clone(tenants.network()), DURATION);
    tenants.set_up(&mut scenario).map_err(internal)?;
    (scenario.record.promises, scenario.record.series) = (true, Some(BIN));
    scenario.traffic = tenants.senders(DURATION, Bursts::Long, &std::collections::BTreeSet::new());
    scenario.traffic.extend(misbehaviour(&tenants, &hosts));
    Ok((tenants, scenario))
}

/// Lets four tenants loose on one network, with their contracts and without.
///
/// # Errors
/// None on this network; other errors would be mistakes here.
pub(crate) fn fabric_demo() -> Result<FabricDemo, Error> {
    let network = Network::build(TOPOLOGY)?.with_classes()?;
    let (tenants, scenario) = scenario(&network)?;
    let without = without_promises(&scenario)?;
    let run = |scenario: &Scenario| {
        let outcome = wayleave_sim::run(scenario, 1, |_| true).map_err(internal)?;
        Ok::<Seen, Error>(seen(&tenants, scenario, &outcome))
    };
    let (kept, unkept) = (run(&scenario)?, run(&without)?);
    let within = tenants.minima().iter().map(|Minimum { within, .. }| *within).max().unwrap_or_default();
    let is_kept = kept.late == 0 && kept.lost == 0 && kept.lag <= within;
    let rows = rows(tenants.latency().len(), within, &kept, &unkept);
    Ok(FabricDemo { rows, lines: kept.series, is_kept })
}

/// Short budgets, as in the experiment of one fabric: latency contracts ask for fractions of a millisecond.
fn budgets() -> FabricSettings {
    let micros = |all: &[u64]| all.iter().map(|&micros| Time::from_micros(micros)).collect::<Vec<_>>();
    let (switches, hosts) = (micros(&[10, 20, 40, 80, 160]), micros(&[80]));
    FabricSettings { budgets: Some(switches), host_budgets: Some(hosts), ..FabricSettings::default() }
}

pub(super) fn internal(error: impl ToString) -> Error {
    Error::Internal(error.to_string())
}

fn contracts(hosts: &[NodeId]) -> Vec<Contract> {
    let latency = |(number, &from): (usize, &NodeId)| {
        let kinds = [("robot", 20, 3_000, 200, 5), ("camera", 100, 6_000, 500, 7)];
        kinds.map(|(name, mbit, burst, micros, ahead)| {
            Contract::Latency(LatencyContract {
                tenant: Some("plant".to_owned()),
                max_frame: Some(Bytes::new(1_500)),
                ..LatencyContract::new(
                    format!("{name}{}", number + 1),
                    from,
                    hosts[(number + ahead) % hosts.len()],
                    Rate::from_mbit(mbit),
                    Bytes::new(burst),
                    Time::from_micros(micros),
                )
            })
        })
    };
    let named = |name: &str, tenant: &str| (name.to_owned(), Some(tenant.to_owned()));
    let (name, tenant) = named("db", "shop");
    let members = hosts.iter().copied().step_by(hosts.len() / MEMBERS).collect();
    let weight: Option<NonZeroU32> = None;
    let hose = BandwidthContract {
        name,
        tenant,
        between: Endpoints::Hose(members),
        min: HOSE,
        max: None,
        weight,
        within: None,
    };
    let objective = |(name, mbit): (&str, u64)| {
        let (name, tenant) = named(name, "web");
        let aim = if name == "search" { FlowObjective::Deadline } else { FlowObjective::Completion };
        let deadline = (aim == FlowObjective::Deadline).then(|| Time::from_millis(20));
        let min = Rate::from_mbit(mbit);
        Contract::Objective(ObjectiveContract { name, tenant, objective: aim, deadline, members: hosts.to_vec(), min })
    };
    let bulk = BestEffortContract { name: "bulk".to_owned(), tenant: None, members: hosts.to_vec(), max: None };
    let first = hosts.iter().enumerate().flat_map(latency);
    first.chain([Contract::Bandwidth(hose)]).chain(WEIGHTS.map(objective)).chain([Contract::BestEffort(bulk)]).collect()
}

/// Returns traffic beyond the tenants' normal load: a crowd in one division, and bursts of best effort from seven
/// hosts to one.
fn misbehaviour(tenants: &Tenants, hosts: &[NodeId]) -> Vec<Traffic> {
    let of = |name: &str| tenants.sharing().iter().find(|tenant| tenant.contract.name() == name);
    let more = |name: &str, service: &str, pairs: Vec<(NodeId, NodeId)>, sizes: Option<Bytes>| {
        let (queue, transport) = tenants.carriage(&of(service)?.contract);
        let arrivals = sizes.map_or(FlowArrivals::Once, |_| FlowArrivals::Every(Time::from_millis(1)));
        let mut flows = Reliable::new(arrivals, sizes.map(FlowSizes::Fixed));
        flows.transport = Some(transport);
        let mut traffic = Traffic::new(name, FlowEndpoints::Pairs(pairs), Workload::Flows(flows));
        (traffic.service, traffic.queue) = (Some(service.to_owned()), Some(queue));
        Some(traffic)
    };
    let latency_contracts = (0..LATENCY_CONTRACTS).map(|number| {
        let (from, ahead) = (number % hosts.len(), 1 + number * 7 % (hosts.len() - 1));
        (hosts[from], hosts[(from + ahead) % hosts.len()])
    });
    let bursts = hosts[1..8].iter().map(|&host| (host, hosts[0])).collect();
    let all = [
        more("crowd", "index", latency_contracts.collect(), None),
        more("bursts", "bulk", bursts, Some(Bytes::new(20_000))),
    ];
    all.into_iter().flatten().collect()
}

/// The same tenants on ports with one queue: everything by DCTCP, paths by a hash.
fn without_promises(scenario: &Scenario) -> Result<Scenario, Error> {
    let mut plain = scenario.clone();
    (plain.switches.discipline, plain.hosts.discipline) = (Discipline::Fifo, Discipline::Fifo);
    plain.switches.ecn = PortEcn::from(Ecn::above(THRESHOLD));
    plain.routing = Routing::ecmp();
    plain.reserved.clear();
    if let Some(sharing) = &mut plain.sharing {
        sharing.scheme = HostSchemeConfig::StaticLimits(StaticLimits::default());
        sharing.other_schemes.clear();
        // No tenant shares by weight.
        let mut services = sharing.machine.services().to_vec();
        services.iter_mut().for_each(|service| service.division = None);
        let policy = Policy::new(&plain.network, "tenants", PolicyLevel::Machine, Vec::new(), None, services);
        sharing.machine = policy.map_err(|_| internal("the demo's tenants without divisions are not a policy"))?;
    }
    for traffic in &mut plain.traffic {
        traffic.queue = Some(0);
        if let Workload::Flows(flows) = &mut traffic.workload {
            flows.transport = Some(TransportConfig { congestion: Congestion::dctcp(), ..TransportConfig::default() });
        }
    }
    Ok(plain)
}

fn seen(tenants: &Tenants, scenario: &Scenario, outcome: &Outcome) -> Seen {
    let (mut late, mut lost, mut slowest) = (std::collections::BTreeSet::new(), 0, 0.0_f64);
    for flow in &outcome.flows {
        let name = scenario.traffic[flow.traffic].name.split(' ').next().unwrap_or_default();
        let Some(tenant) = tenants.latency().iter().find(|tenant| tenant.contract.name == name) else { continue };
        let part = flow.delay.max().unwrap_or(0) as f64 / 1e3 / tenant.contract.deadline.as_nanos() as f64;
        slowest = slowest.max(part);
        lost += flow.drops;
        if part > 1.0 || flow.drops > 0 {
            late.insert(name);
        }
    }
    let seconds = outcome.counted.as_nanos() as f64 / 1e9;
    let services = outcome.sharing.iter().flat_map(|sharing| &sharing.services);
    let (mut lag, mut got, mut series) = (0, std::collections::BTreeMap::new(), Vec::new());
    for service in services {
        let received: u64 = service.machines.iter().map(|machine| machine.received.get()).sum();
        got.insert(service.name.clone(), received as f64 * 8.0 / seconds / 1e9);
        let lags = service.machines.iter().filter_map(|machine| Some(machine.receive_lag.as_ref()?.longest()));
        lag = lags.max().unwrap_or(0).max(lag);
        let mut all = vec![0.0; (DURATION.as_nanos() / BIN.as_nanos()) as usize];
        for machine in service.machines.iter().filter_map(|machine| machine.receive.as_ref()) {
            for (sum, bin) in all.iter_mut().zip(machine.bins(DURATION.as_nanos() * 1_000)) {
                *sum += bin.amount as f64 * 8.0 / BIN.as_nanos() as f64;
            }
        }
        if received > 0 {
            let point = |(at, &rate): (usize, &f64)| Dot::at((at as f64 + 0.5) * BIN.as_nanos() as f64 / 1e6, rate);
            let points = all.iter().enumerate().map(point).collect();
            series.push(PlotLine { name: service_text(&service.name).to_owned(), points });
        }
    }
    let rate = |name: &str| got.get(name).copied().unwrap_or(0.0);
    Seen {
        late: late.len(),
        lost,
        slowest,
        lag: Time::from_nanos(lag.div_ceil(1_000)),
        divisions: WEIGHTS.map(|(name, _)| rate(name)),
        best: rate("bulk"),
        series,
    }
}

/// A service in the picture.
fn service_text(service: &str) -> &str {
    match service {
        "latency" => "plant: latency contracts",
        "db" => "shop: a hose, at least 1.5 Gbit/s at each of 8 hosts",
        "search" => "web: search, at least 9.6 Gbit/s",
        "index" => "web: index, at least 4.8 Gbit/s, with 500 more flows",
        "bulk" => "best effort: no contract",
        other => other,
    }
}

fn rows(contracts: usize, within: Time, kept: &Seen, unkept: &Seen) -> Vec<[String; 4]> {
    let row = |tenant: &str, promised: String, of: &dyn Fn(&Seen) -> String| {
        [tenant.to_owned(), promised, of(kept), of(unkept)]
    };
    vec![
        row("plant", format!("{contracts} contracts: every packet within 0.2 or 0.5 ms"), &|seen| match seen.late {
            0 => format!("all on time; the slowest packet took {:.0} % of its deadline", 100.0 * seen.slowest),
            late => format!(
                "{late} violated, {} lost; the slowest packet took {:.1} times its deadline",
                count(seen.lost, "packet"),
                seen.slowest
            ),
        }),
        row(
            "shop",
            format!(
                "{} Gbit/s to and from each of {MEMBERS} hosts, within {} of new demand",
                HOSE.bits_per_second() as f64 / 1e9,
                within.up()
            ),
            &|seen| match seen.lag <= within {
                true => format!("lags by at most {}", seen.lag.up()),
                false => format!("lags by up to {}: too late", seen.lag.up()),
            },
        ),
        row("web", "search at least 9.6 Gbit/s, index at least 4.8 Gbit/s with 500 more flows".to_owned(), &|seen| {
            let [search, index] = seen.divisions;
            format!("{search:.1} and {index:.1} Gbit/s")
        }),
        row("none", "no guarantee".to_owned(), &|seen| format!("{:.0} Gbit/s", seen.best)),
    ]
}

fn plot(lines: Vec<PlotLine>) -> Plot {
    let highest = lines.iter().flat_map(|line| &line.points).map(|dot| dot.y).fold(0.0, f64::max);
    let (x, y) = (Axis::linear(DURATION.as_nanos() as f64 / 1e6), Axis::linear(highest));
    Plot {
        description: "Gbit/s over time, for each tenant.".to_owned(),
        x_marks: x.marks.iter().map(|mark| format!("{mark}")).collect(),
        x_name: "ms; the hose turns to one of its hosts from 4 to 8 ms".to_owned(),
        y_marks: y.marks.iter().map(|mark| format!("{mark}")).collect(),
        y_name: "Gbit/s".to_owned(),
        ..Plot::new("one-fabric", "Throughput of four tenants on one network", (x, y), Join::Straight, lines)
    }
}

fn picture(lines: Vec<PlotLine>) -> String {
    let plot = plot(lines);
    let side = FigureBackground::File.side();
    let size = (plot.width + 2.0 * side, plot.height() + side);
    let figure = svg::figure(&plot.id, size, FigureBackground::File, &plot.title, &plot.description);
    svg::file(&figure.child(svg::moved(Position { x: side, y: side / 2.0 }, plot.parts())))
}

impl FabricDemo {
    /// Returns the promise and the service of each tenant; lines have at most 100 columns.
    pub(crate) fn rows(&self) -> &[[String; 4]] {
        &self.rows
    }

    /// The heads of [`Self::rows`].
    pub(crate) const HEADS: [&str; 4] =
        ["tenant", "guaranteed", "measured under worst-case load from the others", "measured without guarantees"];

    /// Returns `true` if every promise of a bound was kept.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Writes the arrivals over time into a folder, and returns the path.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn write(&self, folder: &Path) -> Result<String, Error> {
        write(folder, "one-fabric.svg", &picture(self.lines.clone()))
    }

    /// Setting of the simulation.
    pub(crate) const SETTING: &'static str =
        "Four tenants on one network: a fat tree of 16 hosts at 10 Gbit/s, for 12 ms";

    /// Returns the part of the page.
    pub(crate) fn report(&self) -> TenantReport {
        let figure = plot(self.lines.clone()).draw();
        TenantReport { setting: Self::SETTING, heads: Self::HEADS, rows: self.rows.clone(), figure }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_tenants_get_their_promises_and_would_not_without_admission() {
        let demo = fabric_demo().unwrap();
        assert!(demo.is_kept(), "{:?}", demo.rows());
        let [plant, shop, ..] = demo.rows() else { panic!("{:?}", demo.rows()) };
        assert!(plant[2].starts_with("all on time") && plant[2] != plant[3], "{plant:?}");
        assert!(shop[2].starts_with("lags by at most") && shop[3].ends_with("too late"), "{shop:?}");
        assert!(
            picture(demo.lines.clone()).starts_with("<?xml") && picture(demo.lines.clone()).contains("best effort")
        );
    }
}
