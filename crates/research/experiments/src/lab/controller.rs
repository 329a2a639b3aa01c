//! The controller of a lab, and the counters of its hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use wayleave_client::{Address, Error, Method, RequestError, Service, Text, encode, read_token, word};
use wayleave_contracts::{ContractKind, ContractRequest};
use wayleave_dataplane::host::Counters;
use wayleave_explain::human::count;
use wayleave_formats::write_orders;
use wayleave_lab::run::{DEFAULT_TENANT, Operator, ReportedContract};
use wayleave_lab::{Lab, LabName};
use wayleave_protocol::contract::{Contract, Kind, Route};
use wayleave_protocol::decision::{Applied, ApplyReport, Outcome};
use wayleave_protocol::network::{Agent, Link, ObservedState};
use wayleave_protocol::status::Status;
use wayleave_protocol::tenant::{Tenant, TenantSpec};
use wayleave_units::Time;

use super::ControlError;

/// Maximum time until agents have started.
const TIMEOUT: Duration = Duration::from_secs(90);
/// Poll interval for agents that have exited.
const INSPECTION_INTERVAL: Duration = Duration::from_secs(1);
/// Program of the controller in a lab.
const CONTROLLER: &str = "controller";
/// Poll interval for agents.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Asks as the lab's operator.
pub struct LabController {
    service: Service,
    lab: Lab,
}

impl LabController {
    /// Of a lab that is up.
    ///
    /// # Errors
    /// If it has no controller, or its token cannot be read.
    pub fn of(lab: &Lab) -> Result<Self, ControlError> {
        let Some(url) = lab.server() else {
            let why = "this lab has no controller: it was set up with --no-controller, or the controller has ended";
            return Err(Error::Usage(why.to_owned()).into());
        };
        let address = Address { url, token: Some(read_token(&lab.token_file())?), ..Address::default() };
        Ok(Self { service: Service::http(address, None)?, lab: lab.clone() })
    }

    /// Waits until every node has an agent that listens: those of a lab begin together, and each loads its programs.
    ///
    /// # Errors
    /// If the program of a node has exited, or a node has no agent after 90 s.
    pub fn wait_for_agents(&self) -> Result<(), ControlError> {
        let (wanted, start) = (self.lab.plan().nodes.len() as u64, Instant::now());
        let mut inspect_at = start + INSPECTION_INTERVAL;
        loop {
            let status = self.service.get::<Status>("/v1/status").map_err(|error| self.explained(error))?;
            let there = status.agents.unwrap_or(0);
            if there >= wanted {
                return Ok(());
            }
            if Instant::now() >= inspect_at {
                inspect_at = Instant::now() + INSPECTION_INTERVAL;
                self.check_agents(start.elapsed() > TIMEOUT)?;
            }
            self.lab.stop().check()?;
            sleep(POLL_INTERVAL);
        }
    }

    /// Checks that nodes without a connected agent may still get one: their programs run, and it is not late.
    fn check_agents(&self, is_late: bool) -> Result<(), ControlError> {
        let exited = self.lab.exited()?;
        if !is_late && exited.is_empty() {
            return Ok(());
        }
        let all = self.service.list::<Agent>("/v1/agents", &[], usize::MAX).map_err(|error| self.explained(error))?;
        let is_connected = |node: &str| all.iter().any(|one| one.node == node && one.session.open == Some(true));
        let missing = self.lab.plan().nodes.iter().filter(|node| !is_connected(&node.ports.name));
        let log = |program: &str| self.lab.log(program);
        let missing: Vec<_> = missing.map(|node| (node.ports.name.clone(), node.agent())).collect();
        match without_agents(&self.lab.plan().name, &missing, &exited, is_late, &log) {
            Some(why) => Err(Error::Failed(why).into()),
            None => Ok(()),
        }
    }

    /// Returns the error of a request, with a remedy for labs: their controller has no other address.
    fn explained(&self, error: RequestError) -> Error {
        let error = match (error.problem().is_some(), Error::from(error)) {
            (true, error) | (false, error @ Error::Usage(_)) => return error,
            (false, Error::Failed(message)) => message,
        };
        let has_exited = self.lab.exited().is_ok_and(|ended| ended.iter().any(|name| name == CONTROLLER));
        Error::Failed(unreachable(&self.lab.plan().name, &error, &self.lab.log(CONTROLLER), has_exited))
    }

    /// Creates the tenants of contracts that the controller does not have, without quotas; returns their names.
    ///
    /// # Errors
    /// If it does not answer, or refuses a name.
    pub fn create_tenants(&self, orders: &[ContractRequest]) -> Result<Vec<String>, ControlError> {
        let existing: Vec<Tenant> =
            self.service.list("/v1/tenants", &[], usize::MAX).map_err(|error| self.explained(error))?;
        let is_missing = |name: &&str| *name != DEFAULT_TENANT && existing.iter().all(|tenant| tenant.name != *name);
        let missing: BTreeSet<&str> = orders.iter().filter_map(ContractRequest::tenant).filter(is_missing).collect();
        for name in &missing {
            let path = format!("/v1/tenants/{}", encode(name));
            let created = self.service.send::<Tenant>(Method::Put, &path, &TenantSpec::default());
            created.map_err(|error| self.explained(error))?;
        }
        Ok(missing.into_iter().map(str::to_owned).collect())
    }

    /// Offers contracts to the controller; those that it refused.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn offer(&self, orders: &[ContractRequest]) -> Result<Vec<Applied>, ControlError> {
        let text = write_orders(orders, self.lab.network(), "lab run");
        let response = Text { media: "application/yaml", text };
        let applied = self.service.send_text::<ApplyReport>(Method::Post, "/v1/apply", response);
        let (_, report) = applied.map_err(|error| self.explained(error))?;
        Ok(report.items.into_iter().filter(|item| item.outcome == Outcome::Refused).collect())
    }
}

fn kind(kind: Kind) -> ContractKind {
    match kind {
        Kind::Latency => ContractKind::Latency,
        Kind::Bandwidth => ContractKind::Bandwidth,
        Kind::Objective => ContractKind::Objective,
        Kind::BestEffort => ContractKind::BestEffort,
    }
}

/// Returns the sentence about a controller that does not answer. Of the client's message, the first line is kept: the
/// others are about options of other commands.
fn unreachable(lab: &LabName, message: &str, log: &Path, has_exited: bool) -> String {
    let (first, log) = (message.lines().next().unwrap_or_default(), log.display());
    let first = first.split(". Is the server running").next().unwrap_or(first);
    let state = if has_exited { "has exited" } else { "does not answer" };
    format!(
        "the controller of lab {lab} {state} ({first}): its log is {log}; `wayleave lab down --name {lab}` and `lab up` create the lab again"
    )
}

/// Returns the sentence about nodes without an agent, given with the programs that drive them; `None` if these
/// programs still run and have time.
fn without_agents(
    lab: &LabName,
    missing: &[(String, String)],
    exited: &[String],
    is_late: bool,
    log: &dyn Fn(&str) -> PathBuf,
) -> Option<String> {
    const SHOWN: usize = 5;
    let has_exited = |program: &String| exited.contains(program);
    let shown: Vec<&(String, String)> = missing.iter().filter(|(_, program)| is_late || has_exited(program)).collect();
    let node = |(node, program): &&(String, String)| {
        let state = if has_exited(program) { "has exited" } else { "runs but is not connected" };
        format!("{node} ({program} {state}, its log is {})", log(program).display())
    };
    let more = shown.len().saturating_sub(SHOWN);
    let names: Vec<String> = shown.iter().take(SHOWN).map(node).collect();
    let more = if more > 0 { format!(" and {}", count(more, "more node")) } else { String::new() };
    (!names.is_empty()).then(|| {
        format!(
            "no agent is connected for {}{more}; `wayleave lab down --name {lab}` and `lab up` create the lab again",
            names.join(", ")
        )
    })
}

impl Operator for LabController {
    fn contracts(&mut self) -> Result<Vec<ReportedContract>, String> {
        let all: Vec<Contract> =
            self.service.list("/v1/contracts", &[], usize::MAX).map_err(|error| self.explained(error).to_string())?;
        let shown = |contract: Contract| {
            let status = contract.status;
            let hops = |route: &Route| route.hops.iter().map(|hop| (hop.link.clone(), hop.queue)).collect();
            ReportedContract {
                id: contract.id,
                serial: status.serial,
                kind: kind(status.kind),
                state: word(&status.state),
                reason: status.reason,
                message: status.message,
                bound: Time::from_nanos(status.bound_ns.unwrap_or_default()),
                routes: status.routes.iter().map(hops).collect(),
            }
        };
        Ok(all.into_iter().map(shown).collect())
    }

    fn end(&mut self, id: &str) -> Result<(), String> {
        self.service.delete(&format!("/v1/contracts/{}", encode(id))).map_err(|error| self.explained(error).to_string())
    }

    fn pin(&mut self, id: &str, route: Option<&[(String, u8)]>) -> Result<(), String> {
        let path = format!("/v1/contracts/{}", encode(id));
        let mut spec = self.service.get::<Contract>(&path).map_err(|error| self.explained(error).to_string())?.spec;
        spec.route = route.map(|route| route.iter().map(|(link, queue)| format!("{link}:{queue}")).collect());
        let response = self.service.send::<Contract>(Method::Put, &path, &spec);
        response.map(|_| ()).map_err(|error| self.explained(error).to_string())
    }

    fn is_down(&mut self, link: &str) -> Result<bool, String> {
        let link = self
            .service
            .get::<Link>(&format!("/v1/links/{}", encode(link)))
            .map_err(|error| self.explained(error).to_string())?;
        Ok(link.state == ObservedState::Down)
    }

    fn shaped(&mut self) -> Result<BTreeMap<u64, u64>, String> {
        let mut shaped = BTreeMap::new();
        for host in self.lab.plan().hosts() {
            let counters = Counters::watch(&self.lab.pins().join(&host.ports.name));
            let counters = counters.map_err(|error| format!("host {}: {error}", host.ports.name))?;
            shaped.extend(counters.contracts.into_iter().map(|(serial, of)| (serial, of.shaped)));
        }
        Ok(shaped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_agents_are_named_with_their_logs_and_a_remedy() {
        let name = LabName::new("at3").unwrap();
        let log = |program: &str| PathBuf::from(format!("/run/at3/{program}.log"));
        let missing = [("h1", "agent-h1"), ("s1", "agent-switches")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        let exited = ["agent-h1".to_owned()];
        let of = |exited: &[String], is_late| without_agents(&name, &missing, exited, is_late, &log);
        assert_eq!(of(&[], false), None, "agents that run have time");
        let early = of(&exited, false).unwrap();
        assert!(early.contains("h1 (agent-h1 has exited, its log is /run/at3/agent-h1.log)"), "{early}");
        assert!(early.contains("lab down --name at3") && !early.contains("s1"), "{early}");
        let late = of(&exited, true).unwrap();
        assert!(late.contains("s1 (agent-switches runs but is not connected"), "{late}");
        let many: Vec<_> = (1..=6).map(|at| (format!("h{at}"), format!("agent-h{at}"))).collect();
        let all = without_agents(&name, &many, &[], true, &log).unwrap();
        assert!(all.contains("agent-h5.log) and 1 more node;"), "{all}");
    }

    #[test]
    fn a_controller_that_is_gone_is_explained_for_labs() {
        let (name, log) = (LabName::new("at3").unwrap(), Path::new("/run/at3/controller.log"));
        let message =
            "connection refused: http://127.0.0.1:1. Is the server running? `wayleave serve` starts it\n  --server";
        let text = unreachable(&name, message, log, true);
        assert_eq!(
            text,
            "the controller of lab at3 has exited (connection refused: http://127.0.0.1:1): its log is \
             /run/at3/controller.log; `wayleave lab down --name at3` and `lab up` create the lab again"
        );
    }
}
