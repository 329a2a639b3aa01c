//! The testbed of Fig. 10, its tenants, and the results read from a run.

use std::sync::Arc;

use wayleave_contracts::{Policy, PolicyLevel, ServiceSpec};
use wayleave_scenarios::{Buffering, Endpoint, FlowArrivals, FlowEndpoints, Reliable, Scenario, Traffic, Workload};
use wayleave_topology::builders::testbeds;
use wayleave_topology::{Link, LinkSpec, Network, NetworkBuilder, NodeId, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

use super::systems::System;
use crate::data::Figure;
use crate::failed::Failed;
use crate::policies::{self, minimum, service};

/// Buffer shared by all ports of a switch. The text does not state it; queues of 2.2 ms at 10 Gbit/s (Fig. 12b) take
/// 2.75 MB of one port.
const BUFFER: Bytes = Bytes::new(22_000_000);

/// The longest round trip of the idle testbed, between pods (2.2).
pub(super) const ROUND_TRIP: Time = Time::from_micros(24);

/// The testbed with links of this rate: 10 Gbit/s, and 100 Gbit/s in section 5.4.
pub(super) fn network(rate: Rate) -> Result<Arc<Network>, Failed> {
    testbeds::ufab(rate).map(Arc::new).map_err(Failed::broken)
}

/// Returns the network with another rate of the links to these hosts: a host that drains more slowly than its line holds packets back,
/// which then wait at the last switch.
pub(super) fn drained(network: &Network, hosts: &[NodeId], rate: Rate) -> Result<Arc<Network>, Failed> {
    let mut builder = NetworkBuilder::default();
    for (_, node) in network.nodes() {
        builder.add(node.clone()).map_err(Failed::broken)?;
    }
    for (id, link) in network.links() {
        let &Link { from, to, propagation, mtu, .. } = link;
        let rate = if hosts.contains(&to) { rate } else { link.rate };
        let port = PortSpec { queues: network.queues(id).to_vec() };
        builder.add_link(LinkSpec { from, to, rate, propagation, mtu, port }).map_err(Failed::broken)?;
    }
    Ok(Arc::new(builder.build()))
}

/// S1 to S8: the first four are in the first pod.
pub(super) fn servers(network: &Network) -> Vec<NodeId> {
    network.hosts().collect()
}

/// A tenant, which has a virtual fabric.
#[derive(Clone, Debug)]
pub(super) struct Tenant {
    pub(super) name: String,
    /// Of its hose at each of its hosts, to send and to receive.
    pub(super) min: Rate,
    /// Hosts of the tenant.
    pub(super) hosts: Vec<NodeId>,
}

/// Returns the hosts' policy for the tenants.
pub(super) fn policy(network: &Network, tenants: &[Tenant]) -> Result<Policy, Failed> {
    let service = |(port, tenant): (u16, &Tenant)| ServiceSpec {
        endpoints: tenant.hosts.clone(),
        ..service(&tenant.name, port, minimum(Some(tenant.min)))
    };
    let services = (1..).zip(tenants).map(service).collect();
    policies::policy(network, PolicyLevel::Machine, None, services)
}

/// Returns a run of tenants under a system, still without traffic. Results are recorded in intervals of `bin`.
pub(super) fn scenario(
    name: &str,
    network: &Arc<Network>,
    system: System,
    tenants: &[Tenant],
    (duration, bin): (Time, Time),
) -> Result<Scenario, Failed> {
    let mut run = Scenario::new(name, network.clone(), duration);
    run.switches.buffering = Buffering::Shared { total: BUFFER, alpha: 1.0 };
    run.record.series = Some(bin);
    system.share(&mut run, policy(network, tenants)?);
    Ok(run)
}

/// Flows of a tenant.
pub(super) fn flows(tenant: &str, ends: impl Into<FlowEndpoints<Endpoint>>, reliable: Reliable) -> Traffic {
    let mut traffic = Traffic::new(tenant, ends, Workload::Flows(reliable));
    traffic.service = Some(tenant.to_owned());
    traffic
}

/// One flow of a tenant that always has something to send, from a time on.
pub(super) fn endless(tenant: &str, from: NodeId, to: NodeId, start: Time) -> Traffic {
    let reliable = Reliable::new(FlowArrivals::Once, None);
    Traffic { start, ..flows(tenant, FlowEndpoints::Pairs(vec![(from, to)]), reliable) }
}

/// Adds the settings of every figure of the testbed.
pub(super) fn settings(figure: Figure) -> Figure {
    figure
        .with("network", "the testbed of Fig. 10 at 10 Gbit/s, base round trip 24 us between pods, 22 MB of buffer a switch")
        .with("uFAB", "95 % of a line shared out, a probe for each MTU, tokens every 32 us (4.1, 5.1); the other parameters as they are by default")
        .with("PicNIC'+WCC+Clove", "Swift with weights; flowlet gap 36 us, by utilisation; the other parameters as they are by default")
        .with("ElasticSwitch+Clove", "DCTCP, marks above 80 kB, periods of 500 us, hold 2 ms; flowlet gap 36 us")
        .with("transport", "uFAB's windows alone under uFAB, otherwise as each system says")
}
