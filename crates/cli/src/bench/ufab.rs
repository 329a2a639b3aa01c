//! The fabric of uFAB's simulations (SIGCOMM 2022, 5.1 and 5.5) at half of its load: 512 servers, 100 Gbit/s.

use std::num::NonZeroU16;
use std::sync::Arc;

use wayleave_contracts::{Bandwidth, Match, PerDirection, Policy, PolicyLevel, Protocol, ServiceSpec};
use wayleave_scenarios::{
    Congestion, FlowArrivals, FlowEndpoints, FlowSizes, HostSchemeConfig, Reliable, Scenario, Sharing, Traffic,
    TransportConfig, Workload,
};
use wayleave_schemes::host::ufab::Settings;
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_topology::{Network, NodeId, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

/// Hosts of one tenant: one in every pod.
const TENANT_HOSTS: usize = 16;

/// Half of the line, below its shared part (95 %).
const MINIMUM: Rate = Rate::from_gbit(40);

/// Tenants of 16 hosts each, one in each pod, whose flows go between random hosts of the tenant.
pub(super) fn scenario(name: &str, duration: Time) -> Result<Scenario, String> {
    let network = Arc::new(fabric()?);
    let mut scenario = Scenario::new(name, network.clone(), duration);
    // Guests that always send as much as their window on the path permits: 1,000 packets are 120 us of the line.
    scenario.transport = TransportConfig {
        congestion: Congestion::fixed_window(1_000),
        initial_window: 1_000,
        ..TransportConfig::default()
    };
    let hosts: Vec<NodeId> = network.hosts().collect();
    let tenants = hosts.len() / TENANT_HOSTS;
    let members = |tenant: usize| -> Vec<NodeId> { hosts.iter().copied().skip(tenant).step_by(tenants).collect() };
    let service = |tenant: usize| {
        let bandwidth = Bandwidth { min: Some(MINIMUM), ..Bandwidth::default() };
        ServiceSpec {
            name: format!("tenant{tenant}"),
            filter: Some(Match {
                protocol: Some(Protocol::TCP),
                destination_port: NonZeroU16::new(tenant as u16 + 1),
                ..Match::default()
            }),
            endpoints: members(tenant),
            bandwidth: PerDirection { transmit: bandwidth, receive: bandwidth },
            ..ServiceSpec::default()
        }
    };
    let policy =
        Policy::new(&network, "tenants", PolicyLevel::Machine, Vec::new(), None, (0..tenants).map(service).collect());
    let policy = policy.map_err(|errors| format!("{errors:?}"))?;
    // A token of 2 Mbit/s, so that 16 bits count 100 Gbit/s; a full frame and its answer take 12 us over six links.
    let settings = Settings {
        unit_bandwidth: Rate::from_mbit(2),
        measurement_interval: Time::from_micros(12),
        ..Settings::default()
    };
    scenario.sharing = Some(Sharing::new(HostSchemeConfig::Ufab(settings), policy));
    let sizes = FlowSizes::published("web-search").ok_or("no sizes of flows")?;
    scenario.traffic = (0..tenants)
        .map(|tenant| {
            let name = format!("tenant{tenant}");
            let ends = FlowEndpoints::Random(members(tenant), members(tenant));
            let workload = Workload::Flows(Reliable::new(FlowArrivals::Load(0.5), Some(sizes.clone())));
            Traffic { queue: Some(0), service: Some(name.clone()), ..Traffic::new(&name, ends, workload) }
        })
        .collect();
    Ok(scenario)
}

/// 16 pods of 4 edge switches with 8 hosts each and 4 aggregation switches, joined twice, with 8 cores behind each of these: 1:1.
fn fabric() -> Result<Network, String> {
    let cabling = Cabling {
        rate: Rate::from_gbit(100),
        propagation: Time::from_micros(1),
        // 432 us of the line: more than the text's baselines need (Fig. 16); uFAB needs a fiftieth of this.
        switch_port: PortSpec::uniform(1, Bytes::new(5_400_000)),
        ..Cabling::default()
    };
    let spec = FatTree {
        k: 8,
        pods: Some(16),
        cores_per_aggregation: Some(8),
        parallel: 2,
        hosts_per_edge: Some(8),
        cabling,
        ..FatTree::default()
    };
    build::fat_tree(&spec).map_err(|error| error.to_string())
}
