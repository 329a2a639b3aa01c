//! Requests of a run to a controller, and waiting until no operation is pending.
//!
//! A wait ends early if the user asks to stop, or if only contracts of an exited agent are pending.

use std::collections::{BTreeMap, BTreeSet};
use std::thread::sleep;
use std::time::{Duration, Instant};

use wayleave_contracts::ContractKind as Kind;
use wayleave_units::Time;

use super::actions::ActionResult;
use crate::error::LabError;
use crate::stop::StopRequest;

/// Tenant of contracts that name none.
pub const DEFAULT_TENANT: &str = "default";
/// Maximum time in which agents enforce all contracts.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);
/// Poll interval for exited programs.
const INSPECTION_INTERVAL: Duration = Duration::from_secs(1);
/// Duration of a wait after which it is reported.
const REPORTED_AFTER: Duration = Duration::from_secs(3);
/// Poll interval for the contracts.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A contract as the controller shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedContract {
    /// `tenant:name`.
    pub id: String,
    /// Its number.
    pub serial: u64,
    /// Kind of its promise.
    pub kind: Kind,
    /// `enforced`, `pending` and so on.
    pub state: String,
    /// Reason code, if it is degraded or pending.
    pub reason: Option<String>,
    /// Reason as a sentence.
    pub message: Option<String>,
    /// No packet takes longer, by proof.
    pub bound: Time,
    /// Its routes, link by link with the queue in front of each.
    pub routes: Vec<Vec<(String, u8)>>,
}

impl ReportedContract {
    /// Returns `true` if its state will not change soon by itself.
    fn is_settled(&self) -> bool {
        // Agents that have not confirmed yet may still do so: those that start together take seconds.
        let is_late = self.reason.as_deref() == Some("UNCONFIRMED");
        let is_coming = matches!(self.state.as_str(), "pending" | "admitted");
        !is_coming && !is_late && !self.is_silent()
    }

    /// Returns `true` if its guarantee is in effect. Traffic that is sent for comparison, as best effort, is compared
    /// with its deadline all the time.
    pub(super) fn is_in_effect(&self) -> bool {
        matches!(self.state.as_str(), "enforced" | "violated" | "best effort")
    }

    /// Returns the state with its reason, such as `degraded (SILENT: the agent of h1 has sent no heartbeat for 10 s)`.
    pub(super) fn explained(&self) -> String {
        let parts: Vec<&str> = [&self.reason, &self.message].into_iter().flatten().map(String::as_str).collect();
        if parts.is_empty() { self.state.clone() } else { format!("{} ({})", self.state, parts.join(": ")) }
    }

    /// Returns `true` if its agent is silent. A machine at its limit may delay agents for some time.
    fn is_silent(&self) -> bool {
        self.reason.as_deref() == Some("SILENT")
    }
}

/// Requests of a run to a controller, and to the agents of its hosts.
pub trait Operator {
    /// Every contract that was admitted.
    ///
    /// # Errors
    /// A message, if the controller does not answer.
    fn contracts(&mut self) -> Result<Vec<ReportedContract>, String>;

    /// Ends a contract; that there is none is no error.
    ///
    /// # Errors
    /// A message, if the controller does not do it.
    fn end(&mut self, id: &str) -> Result<(), String>;

    /// Pins a contract to this route, link by link with the queue in front of each; `None` allows any route.
    ///
    /// # Errors
    /// A message, if the controller refuses.
    fn pin(&mut self, id: &str, route: Option<&[(String, u8)]>) -> Result<(), String>;

    /// Returns `true` if the controller counts a link as down: agents notify it when the carrier is lost, and when it
    /// is back.
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

/// Progress of a run.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// An action was done, or had no effect.
    Action(&'a ActionResult),
    /// The run waits for agents; the sentence names the contract and the maximum time.
    Waiting(String),
}

/// Inputs of a wait: requests to stop, exited programs of the lab, and the receiver of progress.
pub(super) struct Watch<'a> {
    pub(super) stop: &'a StopRequest,
    pub(super) exited: &'a dyn Fn() -> Vec<String>,
    pub(super) report: &'a mut dyn FnMut(RunEvent<'_>),
}

/// Waits until no operation is pending; returns the contracts then.
pub(super) fn settled(operator: &mut dyn Operator, watch: &mut Watch<'_>) -> Result<Vec<ReportedContract>, LabError> {
    settling(operator, &mut BTreeSet::new(), watch)
}

/// Waits until no operation is pending; also adds the contracts that were pending in the time to `stopped`.
pub(super) fn settling(
    operator: &mut dyn Operator,
    stopped: &mut BTreeSet<String>,
    watch: &mut Watch<'_>,
) -> Result<Vec<ReportedContract>, LabError> {
    let (start, mut inspect_at, mut is_reported) = (Instant::now(), Instant::now(), false);
    loop {
        let all = operator.contracts().map_err(LabError::Request)?;
        stopped.extend(all.iter().filter(|one| one.state == "pending").map(|one| one.id.clone()));
        let (now, is_silent) = (Instant::now(), all.iter().all(|one| one.is_settled() || one.is_silent()));
        let Some(contract) = all.iter().find(|contract| !contract.is_settled()) else { return Ok(all) };
        // A silent agent is a result of the run, and the measurements are kept. One that has exited is not awaited.
        if is_silent
            && (now - start > TIMEOUT || now >= inspect_at && (watch.exited)().iter().any(|name| is_agent(name)))
        {
            return Ok(all);
        }
        if now - start > TIMEOUT {
            let (id, state, waited) = (&contract.id, contract.explained(), TIMEOUT.as_secs());
            return Err(LabError::Request(format!(
                "contract {id} is still {state} after {waited} s: see the agents' logs in the lab's directory"
            )));
        }
        if now >= inspect_at {
            inspect_at = now + INSPECTION_INTERVAL;
        }
        if now - start > REPORTED_AFTER && !is_reported {
            is_reported = true;
            let (id, state, most) = (&contract.id, contract.explained(), TIMEOUT.as_secs());
            (watch.report)(RunEvent::Waiting(format!("waiting for agents, {most} s at most: {id} is {state}")));
        }
        watch.stop.check()?;
        sleep(POLL_INTERVAL);
    }
}

/// Returns `true` if a program of a lab is an agent.
fn is_agent(program: &str) -> bool {
    program.starts_with("agent-")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::run) fn contract(id: &str, state: &str, reason: Option<&str>) -> ReportedContract {
        ReportedContract {
            id: id.to_owned(),
            serial: 1,
            kind: Kind::Latency,
            state: state.to_owned(),
            reason: reason.map(str::to_owned),
            message: None,
            bound: Time::from_millis(1),
            routes: Vec::new(),
        }
    }

    /// Replies of a controller, the last one repeatedly.
    pub(in crate::run) struct Replies(pub(in crate::run) Vec<Result<Vec<ReportedContract>, String>>);

    impl Operator for Replies {
        fn contracts(&mut self) -> Result<Vec<ReportedContract>, String> {
            if self.0.len() > 1 { self.0.remove(0) } else { self.0[0].clone() }
        }

        fn end(&mut self, _: &str) -> Result<(), String> {
            Ok(())
        }

        fn pin(&mut self, _: &str, _: Option<&[(String, u8)]>) -> Result<(), String> {
            Ok(())
        }

        fn is_down(&mut self, _: &str) -> Result<bool, String> {
            Ok(false)
        }

        fn shaped(&mut self) -> Result<BTreeMap<u64, u64>, String> {
            Ok(BTreeMap::new())
        }
    }

    #[test]
    fn contracts_are_not_settled_while_agents_may_still_report() {
        let is_settled = |reason| contract("default:a", "degraded", Some(reason)).is_settled();
        assert_eq!(["FAILURE", "UNFIT", "UNCONFIRMED", "SILENT"].map(is_settled), [true, true, false, false]);
        assert_eq!(
            [("enforced", true), ("pending", false)].map(|(state, _)| contract("default:a", state, None).is_settled()),
            [true, false]
        );
    }

    #[test]
    fn an_exited_agent_is_not_awaited_and_a_request_to_stop_ends_the_wait() {
        let silent = || Ok(vec![contract("default:a", "degraded", Some("SILENT"))]);
        let (stop, mut report) = (StopRequest::default(), |_: RunEvent<'_>| {});
        let exited = || vec!["agent-h1".to_owned()];
        let mut watch = Watch { stop: &stop, exited: &exited, report: &mut report };
        let mut replies = Replies(vec![silent(), Err("the agent was awaited".to_owned())]);
        assert_eq!(settled(&mut replies, &mut watch).unwrap()[0].state, "degraded");
        stop.ask();
        let none = || vec!["controller".to_owned()];
        let mut watch = Watch { stop: &stop, exited: &none, report: &mut report };
        assert!(matches!(settled(&mut Replies(vec![silent()]), &mut watch), Err(LabError::Stopped)));
    }
}
