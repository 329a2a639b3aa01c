//! Requests of a run to a controller, and waiting until no operation is pending.

use std::collections::{BTreeMap, BTreeSet};
use std::thread::sleep;
use std::time::{Duration, Instant};

use wayleave_contracts::ContractKind as Kind;
use wayleave_units::Time;

use crate::error::LabError;
use crate::stop::StopRequest;

/// Tenant of contracts that name none.
pub const DEFAULT_TENANT: &str = "default";
/// Maximum time in which agents enforce all contracts.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);
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

/// Waits until no operation is pending; returns the contracts then.
pub(super) fn settled(operator: &mut dyn Operator, stop: &StopRequest) -> Result<Vec<ReportedContract>, LabError> {
    settling(operator, &mut BTreeSet::new(), stop)
}

/// Waits until no operation is pending; also adds the contracts that were pending in the time to `stopped`.
pub(super) fn settling(
    operator: &mut dyn Operator,
    stopped: &mut BTreeSet<String>,
    stop: &StopRequest,
) -> Result<Vec<ReportedContract>, LabError> {
    let start = Instant::now();
    loop {
        let all = operator.contracts().map_err(LabError::Controller)?;
        stopped.extend(all.iter().filter(|one| one.state == "pending").map(|one| one.id.clone()));
        match all.iter().find(|contract| !contract.is_settled()) {
            None => return Ok(all),
            // Its agent has ended: that is a result of the run, and the measurements are kept.
            Some(contract) if contract.is_silent() && start.elapsed() > TIMEOUT => return Ok(all),
            Some(contract) if start.elapsed() > TIMEOUT => {
                return Err(LabError::Controller(format!(
                    "contract {} is still {} after {} s: see the agents' logs in the lab's directory",
                    contract.id,
                    contract.state,
                    TIMEOUT.as_secs()
                )));
            }
            Some(_) => {
                stop.check()?;
                sleep(POLL_INTERVAL);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contracts_are_not_settled_while_agents_may_still_report() {
        let contract = |state: &str, reason: Option<&str>| ReportedContract {
            id: "default:a".to_owned(),
            serial: 1,
            kind: Kind::Latency,
            state: state.to_owned(),
            reason: reason.map(str::to_owned),
            bound: Time::ZERO,
            routes: Vec::new(),
        };
        let is_settled = |reason| contract("degraded", Some(reason)).is_settled();
        assert_eq!(["FAILURE", "UNFIT", "UNCONFIRMED", "SILENT"].map(is_settled), [true, true, false, false]);
        assert_eq!(
            [("enforced", true), ("pending", false)].map(|(state, _)| contract(state, None).is_settled()),
            [true, false]
        );
    }
}
