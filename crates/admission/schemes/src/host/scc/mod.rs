//! SCC: tenants share a network by weights, and the flows of each are served by its objective.
//!
//! C. Tian et al., "Multi-Tenant Multi-Objective Bandwidth Allocation in Datacenters Using Stacked Congestion Control".
//!
//! A division is all flows of a tenant with one objective; a tunnel, what it sends from one host to another. The underlay shares links
//! among tunnels by their weights, the tracker divides the share of a division among its tunnels, and private control in each tunnel
//! serves its flows. docs/theory/scc.md is for operators.
//!
//! | text | here |
//! |---|---|
//! | underlay congestion control, III-B: feedback, rates | [`Scc`], `control` |
//! | tracker, III-B: equations 3 and 4, and its loss | [`Tracker`], `division` |
//! | private congestion control, III-C and IV | [`tunnel`] |
//! | marking at 20 packets, II-B | [`Params::mark_packets`] |
//!
//! Deviations, and what the text leaves open:
//! - Equations 1 and 2 never share by weight; they are [`RateLaw::AsPrinted`]. The default is `control`'s (docs/theory/scc.md, "Control law").
//! - Weights are rates, also W_d, so that Algorithms 1 and 3 can compare them with what flows need. Tunnels receive them in kbit/s.
//! - All trackers of a division receive the reports of all hosts, so that there is no election (docs/theory/scc.md, "Trackers").
//! - A tunnel has its rate for a round trip and a period in flight at most, and receivers report the time without marks.
//! - A tunnel begins with its weight as its rate. Its level is kept while it is idle.
//! - Feedback that stays away for ten periods halves the rate.
//! - Traffic of no service is a division without an objective.

mod control;
mod division;
mod message;
mod params;
mod tracker;
pub mod tunnel;
mod underlay;

use std::collections::BTreeMap;

use wayleave_contracts::{PerDirection, ServiceSpec};
use wayleave_scheme_api::{ClassId, CustomTunnel, Described, Descriptor, Parameters, Role};
use wayleave_units::{Bytes, Rate, Time};

pub use message::{Message, ReplyRequest};
pub use params::{LatencyFloor, MissedDeadline, Params, RateLaw, SparePolicy, TunnelScheduling};
pub use tracker::Tracker;
pub use tunnel::PrivateControl;
pub use underlay::{Scc, Timer};
pub use wayleave_contracts::FlowObjective;

use crate::brokers::{BrokerError, BrokerNetwork, BrokerSetup, BrokerSpec, BrokerTimes};
use crate::hosts::{HostBuildError, HostScheme, HostSetup, NETWORK_HEADERS, TunnelSetup, UDP};
use crate::services::Services;
use crate::switches::Ecn;
use division::Division;
use params::FRAME;
use underlay::HostLocation;

/// Descriptor of SCC.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "scc",
    title: "SCC",
    roles: &[Role::Host, Role::Broker, Role::Tunnel],
    summary: "SCC: divisions share by weights, and their tunnels serve latency, deadlines or completion times",
    citation: "C. Tian and others, \"Multi-Tenant Multi-Objective Bandwidth Allocation in Datacenters Using Stacked Congestion Control\", INFOCOM 2017",
    guarantee: "a division that wants it gets its share of each full link, in proportion to the weights of its tunnels there",
    parameters: Params::LIST,
};

impl Described for Scc {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl HostScheme for Scc {
    const HAS_BROKERS: bool = true;

    type Broker = Tracker;

    fn build(setup: &mut HostSetup<'_>, params: &Params) -> Result<Self, HostBuildError> {
        let shares = tracker::shares(Some(setup.policy), setup.services, params);
        let divisions = shares.into_iter().map(|(class, share)| (class, division(setup, class, share, params)));
        let divisions: BTreeMap<ClassId, Division> = divisions.collect();
        let phase = (setup.phase)(params.report_interval);
        Ok(Self::new(HostLocation { line: setup.line.transmit, divisions, phase }, params.clone()))
    }

    /// A tracker at every host; a division uses those of its first source hosts.
    fn brokers(around: &BrokerNetwork<'_>, _: &Params) -> Vec<BrokerSpec> {
        around.hosts.iter().map(|&host| BrokerSpec::alone_at(host)).collect()
    }

    fn broker(setup: &BrokerSetup<'_>, params: &Params) -> Result<Tracker, BrokerError> {
        Ok(Tracker::new(setup, params))
    }

    fn tunnel(setup: &TunnelSetup<'_>, params: &Params) -> Option<CustomTunnel> {
        let terms = setup.services.name(setup.pair.class).and_then(|name| {
            let service = setup.policy.services().iter().find(|service| service.name == name)?;
            service.division
        });
        let share = terms.map_or(params.best_effort, |division| division.share);
        let objective = terms.and_then(|division| division.objective);
        Some(Box::new(PrivateControl::new(objective, share, setup.line, params)))
    }

    fn check_service(service: &ServiceSpec) -> Result<(), String> {
        match service.division {
            None => Err("scheme scc divides the network by shares: give one, as in share: 300Mbit".to_owned()),
            Some(division) if division.share == Rate::ZERO => Err("its share is 0: it must be above zero".to_owned()),
            Some(_) if service.bandwidth != PerDirection::default() || !service.changes.is_empty() => {
                Err("scheme scc knows share and objective: leave min, max, weight and changes out".to_owned())
            }
            Some(_) => Ok(()),
        }
    }

    fn broker_times(params: &Params) -> BrokerTimes {
        let timeout = Time::from_nanos(params.report_interval.as_nanos().saturating_mul(params.tracker_timeout.into()));
        BrokerTimes { interval: params.report_interval, timeout, connection: timeout }
    }

    /// Marking at 20 packets (II-B).
    fn core(params: &Params) -> Option<Ecn> {
        Some(Ecn::above(Bytes::new(FRAME * u64::from(params.mark_packets))))
    }

    fn wire_bytes(message: &Message) -> usize {
        message.encoded_len() + UDP + NETWORK_HEADERS
    }
}

/// A division, as a host knows it.
fn division(setup: &HostSetup<'_>, class: ClassId, share: u64, params: &Params) -> Division {
    let named = |name: &str| setup.policy.services().iter().find(|service| service.name == name);
    let endpoints = setup.services.name(class).and_then(named).map_or(&[][..], |service| &service.endpoints);
    let hosts =
        if endpoints.is_empty() || class == Services::OTHER { setup.brokers.specs.len() } else { endpoints.len() };
    Division::new(share, hosts, tracker::tracker_specs(setup.brokers, endpoints, params))
}
