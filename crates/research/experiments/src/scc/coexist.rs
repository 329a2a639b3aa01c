//! The three applications on the networks of section VI: leaves and spines, traffic between all hosts.

use std::sync::Arc;

use wayleave_scenarios::{Buffering, FlowEndpoints, FlowSizes, Routing, Scenario};
use wayleave_schemes::path::presto;
use wayleave_topology::builders::{Cabling, LeafSpine, build};
use wayleave_topology::{Network, NodeId, NodeKind, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

use super::readings::Metrics;
use super::systems::{System, equal_tenants};
use super::testbed::{SWITCH_BUFFER, propagation, scenario};
use super::workloads::{Application, DeadlineFlows, published, wire};
use crate::data::Figure;
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;

/// "the average bandwidth requirement of each class is 300 Mbps" (VI), of every host.
const DEMAND: Rate = Rate::from_mbit(300);

/// "load is calculated based on network core load" (VI-D): 300 Mbit/s of 1 Gbit/s are 30 % of an uplink of 10 Gbit/s, which 30 hosts share.
const CORE_DEMAND: Rate = Rate::from_mbit(100);

/// Distribution of flow sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sizes {
    DataMining,
    WebSearch,
    MapReduce,
}

impl Sizes {
    pub(super) const ALL: [Self; 3] = [Self::DataMining, Self::WebSearch, Self::MapReduce];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::DataMining => "data-mining",
            Self::WebSearch => "web-search",
            Self::MapReduce => "mapreduce",
        }
    }

    /// Returns the sizes.
    fn flows(self) -> Result<FlowSizes, Failed> {
        FlowSizes::published(self.name()).ok_or_else(|| Failed::Broken("no such flow sizes".to_owned()))
    }

    /// Returns the deadlines in per cent that no system keeps.
    pub(super) fn unavoidable(self, deadlines: DeadlineFlows) -> f64 {
        self.flows().map_or(f64::NAN, |sizes| deadlines.unavoidable(&sizes))
    }

    /// Mean completion time in ms of flows that have a link of 1 Gbit/s to themselves.
    pub(super) fn alone_ms(self) -> f64 {
        const STEPS: u32 = 10_000;
        let Ok(sizes) = self.flows() else { return f64::NAN };
        let time = |step: u32| wire(sizes.quantile((f64::from(step) + 0.5) / f64::from(STEPS))) as f64 * 8.0 / 1e6;
        (0..STEPS).map(time).sum::<f64>() / f64::from(STEPS)
    }

    /// Returns the duration of a run: 100 s if the mean flow has 7.47 MB, as a host begins five of them per second.
    fn duration(self, run: &Run) -> Time {
        let full = if self == Self::DataMining { 100_000 } else { 5_000 };
        Time::from_millis(run.choose(full, 1_000))
    }
}

/// Network of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NetworkCase {
    /// Leaves and two spines; 90 % of the links of hosts.
    Clos,
    /// Twice as many leaves and spines.
    LargerClos,
    /// Racks of 30 hosts with one uplink, 3:1; all traffic leaves its rack, and takes 90 % of its uplink.
    Oversubscribed,
}

impl NetworkCase {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Clos => "leaves and spines",
            Self::LargerClos => "twice as many",
            Self::Oversubscribed => "3:1",
        }
    }

    /// Returns the rate of each application from each host, on the wire.
    const fn demand(self) -> Rate {
        match self {
            Self::Clos | Self::LargerClos => DEMAND,
            Self::Oversubscribed => CORE_DEMAND,
        }
    }
}

/// Network, traffic and system of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) place: NetworkCase,
    pub(super) system: System,
    pub(super) sizes: Sizes,
    pub(super) applications: Vec<Application>,
    pub(super) deadlines: DeadlineFlows,
}

/// "edge links is 1 Gbps and core links is 10 Gbps", "250 KB buffering and maximum end-to-end RTT of 300 usec". The size is not given.
pub(super) fn network(place: NetworkCase, run: &Run) -> Result<Network, Failed> {
    let (edge, core) = (Rate::from_gbit(1), Rate::from_gbit(10));
    let cabling = Cabling {
        rate: edge,
        propagation: propagation(&[edge, core, core, edge]),
        // A queue for each application, where there are queues.
        switch_port: PortSpec::uniform(3, SWITCH_BUFFER),
        host_port: PortSpec::uniform(3, SWITCH_BUFFER),
        ..Cabling::default()
    };
    let (leaves, hosts_per_leaf, spines) = match place {
        NetworkCase::Clos => run.choose((4, 16, 2), (2, 4, 2)),
        NetworkCase::LargerClos => run.choose((8, 16, 4), (4, 4, 4)),
        // As few as make 90 % of an uplink.
        NetworkCase::Oversubscribed => run.choose((4, 30, 1), (2, 30, 1)),
    };
    build::leaf_spine(&LeafSpine { leaves, spines, hosts_per_leaf, parallel: 1, uplink_rate: Some(core), cabling })
        .map_err(Failed::broken)
}

/// All hosts, with their racks.
fn hosts(network: &Network) -> Vec<(NodeId, NodeId)> {
    let nodes = network.nodes().filter(|(_, node)| node.kind == NodeKind::Host);
    nodes.filter_map(|(host, _)| Some((host, network.link(*network.links_from(host).first()?).to))).collect()
}

/// Returns the senders and receivers of flows.
fn ends(place: NetworkCase, hosts: &[(NodeId, NodeId)]) -> FlowEndpoints<NodeId> {
    let all = || hosts.iter().map(|&(host, _)| host).collect();
    match place {
        NetworkCase::Clos | NetworkCase::LargerClos => FlowEndpoints::Random(all(), all()),
        NetworkCase::Oversubscribed => {
            let to_others = |&(from, rack): &(NodeId, NodeId)| {
                hosts.iter().filter(move |&&(_, other)| other != rack).map(move |&(to, _)| (from, to))
            };
            FlowEndpoints::Pairs(hosts.iter().flat_map(to_others).collect())
        }
    }
}

/// Runs every case with every seed. Figures that share cases share what was kept of them.
pub(super) fn gather(run: &Run, cases: &[Case], seeds: &[u64]) -> Result<Vec<Vec<Metrics>>, Failed> {
    let runs = format!("SCC, {:?}, {:?}", run.effort, Sizes::ALL.map(|sizes| sizes.duration(run)));
    run.gather(&runs, (cases, seeds), |case, seed| {
        one(run.simulator(), case, &Arc::new(network(case.place, run)?), case.sizes.duration(run), seed)
    })
}

fn one(
    simulator: &Simulator,
    case: &Case,
    network: &Arc<Network>,
    duration: Time,
    seed: u64,
) -> Result<Metrics, Failed> {
    simulator.run(&of_case(case, network, duration)?, seed).map(|outcome| Metrics::of(&outcome))
}

/// Returns the scenario of a case.
pub(super) fn of_case(case: &Case, network: &Arc<Network>, duration: Time) -> Result<Scenario, Failed> {
    let hosts = hosts(network);
    let demand = case.place.demand().bits_per_second();
    let mut run = scenario("coexistence", network, duration);
    run.switches.buffering = Buffering::EachQueue(SWITCH_BUFFER);
    run.routing = Routing::Flowcells(presto::Spreading { size: Bytes::new(64 * 1_024), path_timeout: None });
    let share = Rate::from_bits_per_second(demand * hosts.len() as u64);
    let ends = ends(case.place, &hosts);
    let mbit = demand as f64 / 1e6 * hosts.len() as f64;
    let traffic = |&application: &Application| published(application, (case.sizes.name(), &ends, case.deadlines), mbit);
    run.traffic = case.applications.iter().flat_map(traffic).collect();
    let tenants = equal_tenants(&case.applications, share);
    case.system.carry(&mut run, &tenants)?;
    Ok(run)
}

/// Adds the settings of all figures of these networks.
pub(super) fn settings(figure: Figure, run: &Run, place: NetworkCase) -> Figure {
    let mut network = run.choose("4 leaves of 16 hosts, 2 spines", "2 leaves of 4 hosts, 2 spines").to_owned();
    network.push_str(match place {
        NetworkCase::Clos => "",
        NetworkCase::LargerClos => "; again with twice as many leaves and spines",
        NetworkCase::Oversubscribed => {
            run.choose("; 4 racks of 30 hosts with one uplink", "; 2 racks of 30 hosts with one uplink")
        }
    });
    let times = Sizes::ALL.map(|sizes| format!("{} for {}", sizes.duration(run), sizes.name())).join(", ");
    figure
        .with("network", format!("{network}, 1 Gbit/s to hosts, 10 Gbit/s beyond; base round trip 300 us"))
        .with("ports", "marks above 20 packets, 250 kB of buffer")
        .with("applications", "300 Mbit/s of each from every host on the wire, to random hosts, Poisson; 100 Mbit/s and to other racks where there is one uplink")
        .with("deadlines", "of flows up to 200 kB, exponential, 30 ms on average, at least 3 ms")
        .with("routing", "Presto's flowcells of 64 kB, with and without SCC")
        .with("divisions", "equal shares, as much as the application sends")
        .with("time", format!("{times}, of which the first tenth does not count"))
}

/// Returns the notes for readers of these figures.
pub(super) fn notes() -> Vec<String> {
    vec![
        "The text gives neither the size of the network nor the deadlines' mean: 4 leaves of 16 hosts with 2 spines, and 30 ms, were chosen. \"MapReduce\" is a study of jobs (Chen and others, \
         2011), and how they become flows is not said; here it is Facebook's Hadoop traffic (Roy and others, 2015). Of the data-mining sizes 60 % are below 3 kB here, where the text says \
         80 % below 2 kB."
            .to_owned(),
        "\"Class-I traffic belongs to deadline-sensitive small message application\": flows of DS up to 200 kB have deadlines here and in Figs. 8a and 9, and none of them misses its deadline on a \
         link of its own."
            .to_owned(),
        "An effect \"up to\" some number holds if it is between half of it and twice it: 40 % is 20 to 80 %, 3.2x is 2.1x to 5.4x.".to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Effort;

    /// Catches: applications that send nothing, or whose metrics are not found.
    #[test]
    fn every_application_has_its_metric() {
        for place in [NetworkCase::Clos, NetworkCase::LargerClos, NetworkCase::Oversubscribed] {
            let network = Arc::new(network(place, &Run::new(Effort::Quick)).unwrap());
            let applications = Application::ALL.to_vec();
            let deadlines = DeadlineFlows::SmallMessages;
            let case = Case { place, system: System::Direct, sizes: Sizes::WebSearch, applications, deadlines };
            let metrics = one(&Simulator::default(), &case, &network, Time::from_millis(200), 1).unwrap();
            // A flow takes at least a base round trip (0.3 ms), and one that is counted has ended within the run.
            assert!((0.3..200.0).contains(&metrics.completion), "{metrics:?}");
            assert!((0.0..=100.0).contains(&metrics.missed), "{metrics:?}");
            assert!((300.0..200_000.0).contains(&metrics.round_trip[0]), "{metrics:?}");
        }
    }
}
