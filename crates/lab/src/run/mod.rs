//! A run: contracts that the lab's controller admits, the worst traffic that they allow, and what became of every packet.
//!
//! The controller is asked over its REST interface like by anybody else; what of it a run needs is [`Operator`].

mod flows;
mod orders;
mod report;
mod script;
mod ways;

use std::collections::{BTreeMap, BTreeSet};
use std::thread::sleep;
use std::time::{Duration, Instant};

use wayleave_units::{Rate, Time};

use crate::error::LabError;
use crate::sentinel::Sentinel;
use crate::traffic::Traffic;
use crate::up::Lab;

pub use flows::{Promised, Sends};
pub use orders::{DEFAULT_TENANT, FIRST_PORT, matched};
pub use report::{Action, ContractReport, Deed, Losses, RunReport};

use flows::Flows;
use script::Script;

/// How long agents may take until all contracts are enforced.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between one look at the contracts and the next.
const LOOK: Duration = Duration::from_millis(50);

/// A contract as the controller shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// `tenant:name`.
    pub id: String,
    /// Its number.
    pub serial: u64,
    /// `enforced`, `pending` and so on.
    pub state: String,
    /// The code of why, if it is degraded or pending.
    pub reason: Option<String>,
    /// No packet takes longer, by proof.
    pub bound: Time,
    /// Each of its routes, link by link with the queue in front of it.
    pub routes: Vec<Vec<(String, u8)>>,
}

impl Shown {
    /// A contract that was not admitted.
    fn asked(promised: &Promised) -> Self {
        let (id, state) = (promised.id.clone(), "best effort".to_owned());
        Self { id, serial: 0, state, reason: None, bound: promised.deadline, routes: Vec::new() }
    }

    /// Whether nothing more will happen to it by itself soon.
    fn is_settled(&self) -> bool {
        // Agents that have not confirmed yet may still do so: those that start together take seconds.
        let is_late = self.reason.as_deref() == Some("UNCONFIRMED");
        !matches!(self.state.as_str(), "pending" | "admitted") && !is_late
    }
}

/// What a run asks of a controller, and of the agents of its hosts.
pub trait Operator {
    /// Every contract that was admitted.
    ///
    /// # Errors
    /// A message, if the controller does not answer.
    fn contracts(&mut self) -> Result<Vec<Shown>, String>;

    /// Ends a contract; that there is none is no error.
    ///
    /// # Errors
    /// A message, if the controller does not do it.
    fn end(&mut self, id: &str) -> Result<(), String>;

    /// Gives a contract this route, link by link with the queue in front of it; without one, any route.
    ///
    /// # Errors
    /// A message, if the controller refuses.
    fn pin(&mut self, id: &str, route: Option<&[(String, u8)]>) -> Result<(), String>;

    /// Whether the controller takes a link for down: agents tell it when the carrier is gone, and when it is back.
    ///
    /// # Errors
    /// A message, if the controller does not answer.
    fn is_down(&mut self, link: &str) -> Result<bool, String>;

    /// Packets of each contract that its sender's host has dropped, by serial number: those that the bucket did not let pass.
    ///
    /// # Errors
    /// A message, if a host's counters cannot be read.
    fn shaped(&mut self) -> Result<BTreeMap<u64, u64>, String>;
}

/// What happens in a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// How long contracts send.
    pub lasts: Duration,
    /// From one instant at which all contracts send their bursts to the next.
    pub period: Time,
    /// How often a contract is given another route while it sends.
    pub reroutings: usize,
    /// A cable between switches that is really cut, if any: this one, or the one that most contracts use.
    pub cut: Option<Cut>,
    /// Every host sends so much best-effort traffic to another one.
    pub flood: Option<Rate>,
    /// A contract whose sender ignores its bucket, and the rate that it sends.
    pub adversary: Option<(String, Rate)>,
    /// The same traffic without any contract, to see what contracts are good for.
    pub is_plain: bool,
}

impl RunOptions {
    /// Contracts send, and nothing else happens; bursts come every half second.
    pub const fn lasting(lasts: Duration) -> Self {
        let period = Time::from_millis(500);
        Self { lasts, period, reroutings: 0, cut: None, flood: None, adversary: None, is_plain: false }
    }
}

/// Which cable is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The one that most contracts use.
    Busiest,
    /// The one of this link.
    Link(String),
}

/// Runs contracts that were admitted.
///
/// # Errors
/// If the controller or a namespace cannot be used, or the contracts are not enforced in time.
pub fn run(
    lab: &Lab,
    operator: &mut dyn Operator,
    promised: &[Promised],
    options: &RunOptions,
    on_action: &mut dyn FnMut(&Action),
) -> Result<RunReport, LabError> {
    let before = if options.is_plain { withdrawn(operator, promised)? } else { settled(operator)? };
    let flows = Flows::plan(lab.plan(), promised, &before, options)?;
    let shaped_before = operator.shaped().map_err(LabError::Controller)?;
    let sentinel = Sentinel::start()?;
    let traffic = Traffic::start(flows.specs.clone())?;
    let (start, mut script) = (Instant::now(), Script::new(options));
    let mut actions = Vec::new();
    while let Some(due) = script.due(start) {
        sleep(due.saturating_duration_since(Instant::now()));
        // What fails is no reason to lose what was measured until then.
        let action = script.act(lab, operator).unwrap_or_else(Action::failed);
        on_action(&action);
        actions.push(action);
    }
    sleep((start + options.lasts).saturating_duration_since(Instant::now()));
    let reports = traffic.stop();
    let stalls = sentinel.stop();
    script.mend(lab, operator).map_err(LabError::Controller)?;
    let after = if options.is_plain { before } else { settled(operator)? };
    let mut shaped = operator.shaped().map_err(LabError::Controller)?;
    for (serial, before) in shaped_before {
        shaped.entry(serial).and_modify(|count| *count = count.saturating_sub(before));
    }
    Ok(report::of(&flows, reports, &stalls, &after, &shaped, actions))
}

/// Ends contracts of an earlier run, and waits until their packets have left; what is asked without any promise.
fn withdrawn(operator: &mut dyn Operator, promised: &[Promised]) -> Result<Vec<Shown>, LabError> {
    for one in promised {
        operator.end(&one.id).map_err(LabError::Controller)?;
    }
    let start = Instant::now();
    loop {
        let all = operator.contracts().map_err(LabError::Controller)?;
        match all.iter().find(|shown| promised.iter().any(|one| one.id == shown.id)) {
            None => return Ok(promised.iter().map(Shown::asked).collect()),
            Some(shown) if start.elapsed() > PATIENCE => {
                let waited = PATIENCE.as_secs();
                return Err(LabError::Controller(format!("contract {} is still there after {waited} s", shown.id)));
            }
            Some(_) => sleep(LOOK),
        }
    }
}

/// Waits until nothing is under way; the contracts then.
fn settled(operator: &mut dyn Operator) -> Result<Vec<Shown>, LabError> {
    settling(operator, &mut BTreeSet::new())
}

/// The same; also which contracts were pending on the way.
fn settling(operator: &mut dyn Operator, stopped: &mut BTreeSet<String>) -> Result<Vec<Shown>, LabError> {
    let start = Instant::now();
    loop {
        let all = operator.contracts().map_err(LabError::Controller)?;
        stopped.extend(all.iter().filter(|one| one.state == "pending").map(|one| one.id.clone()));
        match all.iter().find(|contract| !contract.is_settled()) {
            None => return Ok(all),
            Some(contract) if start.elapsed() > PATIENCE => {
                return Err(LabError::Controller(format!(
                    "contract {} is still {} after {} s: look at the logs of the agents in the lab's folder",
                    contract.id,
                    contract.state,
                    PATIENCE.as_secs()
                )));
            }
            Some(_) => sleep(LOOK),
        }
    }
}
