//! Results of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use wayleave_units::Time;

use super::flows::Flows;
use super::operator::ReportedContract;
use super::shares::ShareReport;
use crate::sentinel::Stalls;
use crate::traffic::{Arrival, Bounds, FlowReport};

/// Something that was done to the network while contracts sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkAction {
    /// A contract was given another route.
    Reroute,
    /// Contracts that were given a route may go anywhere again.
    Free,
    /// A cable was cut, and reported down.
    Cut,
    /// The action had no effect.
    Nothing,
}

/// An action and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionResult {
    /// Kind of the action.
    pub kind: NetworkAction,
    /// The contract, or one of the links of the cable.
    pub what: String,
    /// Contracts that got other routes, with their bounds there.
    pub moved: Vec<(String, Time)>,
    /// Contracts that were interrupted: they were pending, and their packets went best effort.
    pub stopped: BTreeSet<String>,
    /// Contracts that were not kept then.
    pub degraded: usize,
    /// Time at which that was over, in nanoseconds of the calendar's clock.
    pub ended: u64,
    /// From the deed until every contract was enforced again, or known not to be kept.
    pub took: Duration,
    /// Reason for which the action had no effect.
    pub failed: Option<String>,
}

impl ActionResult {
    /// Returns `true` if a contract had no promise when a packet was sent: its route was broken, or it had to stop.
    fn breaks(&self, contract: &str, sent: u64) -> bool {
        (self.began()..=self.ended).contains(&sent) && self.interrupts(contract)
    }

    /// Returns `true` if a contract had no promise for some time.
    fn interrupts(&self, contract: &str) -> bool {
        let is_cut = self.kind == NetworkAction::Cut && self.promised(contract).is_some();
        is_cut || self.stopped.contains(contract)
    }

    /// In nanoseconds of the calendar's clock.
    fn began(&self) -> u64 {
        self.ended.saturating_sub(u64::try_from(self.took.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Returns the bound of a contract on its other route, if it got one.
    fn promised(&self, contract: &str) -> Option<Time> {
        self.moved.iter().find(|(moved, _)| moved == contract).map(|&(_, bound)| bound)
    }

    pub(super) fn failed(why: String) -> Self {
        Self {
            kind: NetworkAction::Nothing,
            what: String::new(),
            ended: 0,
            moved: Vec::new(),
            stopped: BTreeSet::new(),
            degraded: 0,
            took: Duration::ZERO,
            failed: Some(why),
        }
    }
}

/// Packets that did not arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// The bucket did not let them pass.
    pub shaped: u64,
    /// Everything else: queues, and cables that were cut.
    pub network: u64,
}

/// Outcome of a contract's packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractReport {
    /// The contract as it was before.
    pub contract: ReportedContract,
    /// Its state in the end.
    pub state: String,
    /// Number of times that it was moved.
    pub moved: usize,
    /// Maximum time for which its packets wait for tokens on their host, if its sender ignores its bucket. The
    /// promise counts from the end of this wait, and delays from the sender: this is added to the bounds of its
    /// packets.
    pub waits: Time,
    /// Its packets.
    pub flow: FlowReport,
    /// Packets that did not arrive.
    pub losses: Losses,
    /// Packets later than the bound while a processor stalled for long enough.
    pub excused: u64,
    /// Packets later than the bound that were sent while nothing was promised: between a cut and its repair by another route, or while
    /// the contract was stopped.
    pub unpromised: u64,
    /// Packets later than the bound.
    pub violations: u64,
}

impl ContractReport {
    /// The longest that it was promised: other routes have other bounds.
    pub fn bound(&self) -> Time {
        self.flow.bounds.as_ref().map_or(self.contract.bound, Bounds::longest)
    }
}

/// Results of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunReport {
    /// `true` if it had its full duration: it was not stopped by the user.
    pub is_whole: bool,
    /// By contract, in the order of the file.
    pub contracts: Vec<ContractReport>,
    /// Contracts that sent nothing, because their bucket is too small for a packet that carries its time of sending.
    pub silent: Vec<String>,
    /// Throughput of the members of contracts of other kinds.
    pub shares: Vec<ShareReport>,
    /// Best effort.
    pub floods: Vec<FlowReport>,
    /// Actions of the run.
    pub actions: Vec<ActionResult>,
    /// Stalls of processors.
    pub stalls: Stalls,
}

impl RunReport {
    /// Packets of contracts that came later than promised, those apart for which the machine accounts.
    pub fn violations(&self) -> u64 {
        self.contracts.iter().map(|one| one.violations).sum()
    }

    /// Packets of contracts that were lost behind their shapers, of contracts that were promised something all the time: the proof knows of no
    /// queue that is full.
    pub fn lost(&self) -> u64 {
        let is_interrupted =
            |one: &&ContractReport| self.actions.iter().any(|action| action.interrupts(&one.contract.id));
        self.contracts.iter().filter(|one| !is_interrupted(one)).map(|one| one.losses.network).sum()
    }

    /// Returns the number of contracts of which no packet was observed: nothing is known of their bounds.
    pub fn untested(&self) -> usize {
        self.contracts.iter().filter(|one| one.flow.worst().is_none()).count() + self.silent.len()
    }

    /// Returns the number of pairs of members that got less than their minimum.
    pub fn short(&self) -> usize {
        self.shares.iter().map(|one| one.short().len()).sum()
    }

    /// Returns the number of times that a contract was moved.
    pub fn moves(&self) -> usize {
        self.actions.iter().map(|action| action.moved.len()).sum()
    }
}

pub(super) fn of(
    flows: &Flows,
    reports: Vec<FlowReport>,
    stalls: &Stalls,
    after: &[ReportedContract],
    shaped: &BTreeMap<u64, u64>,
    actions: Vec<ActionResult>,
) -> RunReport {
    let (mut contracts, mut floods) = (Vec::new(), Vec::new());
    for (contract, mut flow) in flows.contracts.iter().zip(reports) {
        let Some(contract) = contract else {
            floods.push(flow);
            continue;
        };
        let shaped = shaped.get(&contract.serial).copied().unwrap_or(0).min(flow.lost());
        if let Some(bounds) = &mut flow.bounds {
            for (action, promised) in actions.iter().filter_map(|one| Some((one, one.promised(&contract.id)?))) {
                bounds.change(action.began(), action.ended, promised + flows.wait(&contract.id));
            }
        }
        let (excused, others) = flow.late_by_stalls(stalls);
        let (unpromised, others): (Vec<Arrival>, Vec<Arrival>) =
            others.into_iter().partition(|late| actions.iter().any(|action| action.breaks(&contract.id, late.sent)));
        let state = after.iter().find(|one| one.id == contract.id).map_or("released", |one| one.state.as_str());
        contracts.push(ContractReport {
            state: state.to_owned(),
            moved: actions.iter().filter(|action| action.promised(&contract.id).is_some()).count(),
            waits: flows.wait(&contract.id),
            losses: Losses { shaped, network: flow.lost() - shaped },
            excused: excused.len() as u64,
            unpromised: unpromised.len() as u64,
            violations: others.len() as u64,
            contract: contract.clone(),
            flow,
        });
    }
    let shares = Vec::new();
    RunReport {
        is_whole: true,
        contracts,
        shares,
        silent: flows.silent.clone(),
        floods,
        actions,
        stalls: stalls.clone(),
    }
}
