//! The systems that the text compares, and one scenario under each of them.

use wayleave_contracts::{Division, FlowObjective, PerDirection, Policy, PolicyLevel, ServiceSpec};
use wayleave_scenarios::{
    Congestion, Discipline, HostSchemeConfig, Routing, Scenario, Sharing, TransportConfig, Workload,
};
use wayleave_schemes::host::scc;
use wayleave_schemes::transport::pfabric;
use wayleave_units::Rate;

use super::workloads::Application;
use crate::failed::Failed;
use crate::policies::{self, service};

/// Systems that isolate objectives, or do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum System {
    /// Nothing: each application has the transport of its objective, and they meet in the queues ("direct coexistence").
    Direct,
    /// SCC over the same transports.
    Scc,
    /// SCC without in-tunnel scheduling: transports receive the marks of tunnels.
    SccTransports,
    /// SCC over DCTCP for all of them.
    SccOverDctcp,
    /// Direct coexistence, with LS in a queue of switches that goes first.
    DirectFirst,
    /// SCC, with LS in a queue of switches that goes first.
    SccFirst,
    /// Direct coexistence, with a queue for each application at every port and equal weights (deficit round robin): what a fair share alone does.
    Weighted,
    /// pFabric, whose first class is that of deadlines.
    Pfabric,
}

impl System {
    /// In legends and statements.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Scc => "SCC",
            Self::SccTransports => "SCC without in-tunnel scheduling",
            Self::SccOverDctcp => "SCC over DCTCP",
            Self::DirectFirst => "direct, LS in a higher queue",
            Self::SccFirst => "SCC, LS in a higher queue",
            Self::Weighted => "weighted queues",
            Self::Pfabric => "pFabric",
        }
    }

    /// Returns the number of queues that ports need.
    pub(super) const fn queues(self) -> usize {
        match self {
            Self::Weighted => Application::ALL.len(),
            _ => 2,
        }
    }

    /// Returns the congestion control of an application's flows.
    fn congestion(self, application: Application) -> Congestion {
        match (self, application) {
            (Self::Pfabric, Application::Deadline) => Congestion::pfabric(),
            (Self::Pfabric, _) => Congestion::Pfabric(pfabric::Params { class: 1, ..pfabric::Params::default() }),
            (Self::SccOverDctcp, _) | (_, Application::Latency) => Congestion::dctcp(),
            (_, Application::Deadline) => Congestion::d2tcp(),
            (_, Application::Completion) => Congestion::l2dct(),
        }
    }

    /// Puts a scenario under it: the traffic of each of these divisions has the division's name.
    pub(super) fn carry(self, run: &mut Scenario, divisions: &[Tenant]) -> Result<(), Failed> {
        self.carry_with(run, divisions, |_| ())
    }

    /// As [`Self::carry`], with other parameters of SCC.
    pub(super) fn carry_with(
        self,
        run: &mut Scenario,
        divisions: &[Tenant],
        change: impl FnOnce(&mut scc::Params),
    ) -> Result<(), Failed> {
        for traffic in &mut run.traffic {
            // Long flows of a division are a traffic of their own.
            let name = traffic.name.split(' ').next().unwrap_or_default();
            let division = divisions.iter().find(|division| division.name == name);
            let (Some(division), Workload::Flows(flows)) = (division, &mut traffic.workload) else { continue };
            let congestion = self.congestion(division.application);
            flows.transport = Some(TransportConfig { congestion, ..TransportConfig::default() });
            if !matches!(self, Self::Direct | Self::DirectFirst | Self::Weighted | Self::Pfabric) {
                traffic.service = Some(division.name.to_owned());
            }
            if self == Self::Weighted {
                traffic.queue = Some(division.application.place());
            }
            if matches!(self, Self::DirectFirst | Self::SccFirst) {
                traffic.queue = Some(u8::from(division.application != Application::Latency));
            }
        }
        if matches!(self, Self::DirectFirst | Self::SccFirst) {
            run.switches.discipline = Discipline::StrictPriority;
        }
        let scheduling = match self {
            Self::Direct | Self::DirectFirst => return Ok(()),
            Self::Weighted => {
                let discipline = Discipline::DeficitRoundRobin { weights: vec![1; Application::ALL.len()] };
                (run.switches.discipline, run.hosts.discipline) = (discipline.clone(), discipline);
                return Ok(());
            }
            Self::Pfabric => {
                run.switches.discipline = Discipline::SmallestRemainingFirst;
                run.hosts.discipline = Discipline::SmallestRemainingFirst;
                run.routing = Routing::spraying();
                return Ok(());
            }
            Self::SccTransports => scc::TunnelScheduling::Transports,
            Self::Scc | Self::SccFirst | Self::SccOverDctcp => scc::TunnelScheduling::Tunnel,
        };
        let mut params = scc::Params { scheduling, ..scc::Params::default() };
        change(&mut params);
        run.sharing = Some(Sharing::new(HostSchemeConfig::Scc(params), policy(run, divisions)?));
        Ok(())
    }
}

/// A tenant's flows of one objective: a division.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tenant {
    /// Also of its traffic.
    pub(super) name: &'static str,
    pub(super) application: Application,
    /// Under SCC.
    pub(super) share: Rate,
}

/// Share of each division beside two others at a single bottleneck: the rate of its application.
pub(super) const SHARE: Rate = Rate::from_mbit(300);

/// Share of each of two divisions at a single bottleneck of 1 Gbit/s. Shares on a link should add up to its rate (docs/theory/scc.md,
/// "Shares").
pub(super) const HALF: Rate = Rate::from_mbit(500);

/// One tenant for each application, with this share each, for all of its hosts together.
pub(super) fn equal_tenants(applications: &[Application], share: Rate) -> Vec<Tenant> {
    applications.iter().map(|&application| Tenant { name: application.name(), application, share }).collect()
}

/// Returns the policy that configures the divisions at hosts.
fn policy(run: &Scenario, divisions: &[Tenant]) -> Result<Policy, Failed> {
    let service = |(port, tenant): (u16, &Tenant)| {
        let objective = match tenant.application {
            Application::Latency => FlowObjective::Latency,
            Application::Deadline => FlowObjective::Deadline,
            Application::Completion => FlowObjective::Completion,
        };
        ServiceSpec {
            division: Some(Division { share: tenant.share, objective: Some(objective) }),
            ..service(tenant.name, port, PerDirection::default())
        }
    };
    let services = (1..).zip(divisions).map(service).collect();
    policies::policy(&run.network, PolicyLevel::Machine, None, services)
}
