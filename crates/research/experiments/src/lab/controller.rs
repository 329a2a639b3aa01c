//! The controller of a lab, and the counters of its hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::thread::sleep;
use std::time::{Duration, Instant};

use wayleave_client::{Address, Error, Method, RequestError, Service, Text, encode, read_token, word};
use wayleave_contracts::{ContractKind, ContractRequest};
use wayleave_dataplane::host::Counters;
use wayleave_formats::write_orders;
use wayleave_lab::Lab;
use wayleave_lab::run::{DEFAULT_TENANT, Operator, ReportedContract};
use wayleave_protocol::contract::{Contract, Kind, Route};
use wayleave_protocol::decision::{Applied, ApplyReport, Outcome};
use wayleave_protocol::network::{Link, UpDown};
use wayleave_protocol::status::Status;
use wayleave_protocol::tenant::{Tenant, TenantSpec};
use wayleave_units::Time;

use super::ControlError;

/// Maximum time until agents have started.
const TIMEOUT: Duration = Duration::from_secs(90);
/// Between one look and the next.
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
    /// If some have not begun after 90 s.
    pub fn wait_for_agents(&self) -> Result<(), ControlError> {
        let (wanted, start) = (self.lab.plan().nodes.len() as u64, Instant::now());
        loop {
            let there = self.service.get::<Status>("/v1/status")?.agents.unwrap_or(0);
            if there >= wanted {
                return Ok(());
            }
            if start.elapsed() > TIMEOUT {
                let (place, waited) = (self.lab.folder().display(), TIMEOUT.as_secs());
                let why =
                    format!("only {there} of {wanted} nodes have an agent after {waited} s: see the logs in {place}");
                return Err(Error::Failed(why).into());
            }
            self.lab.stop().check()?;
            sleep(POLL_INTERVAL);
        }
    }

    /// Creates the tenants of contracts that the controller does not have, without quotas; returns their names.
    ///
    /// # Errors
    /// If it does not answer, or refuses a name.
    pub fn create_tenants(&self, orders: &[ContractRequest]) -> Result<Vec<String>, ControlError> {
        let existing: Vec<Tenant> = self.service.list("/v1/tenants", &[], usize::MAX)?;
        let is_missing = |name: &&str| *name != DEFAULT_TENANT && existing.iter().all(|tenant| tenant.name != *name);
        let missing: BTreeSet<&str> = orders.iter().filter_map(ContractRequest::tenant).filter(is_missing).collect();
        for name in &missing {
            let path = format!("/v1/tenants/{}", encode(name));
            self.service.send::<Tenant>(Method::Put, &path, &TenantSpec::default())?;
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
        let (_, report) = self.service.send_text::<ApplyReport>(Method::Post, "/v1/apply", response)?;
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

fn words(error: RequestError) -> String {
    Error::from(error).to_string()
}

impl Operator for LabController {
    fn contracts(&mut self) -> Result<Vec<ReportedContract>, String> {
        let all: Vec<Contract> = self.service.list("/v1/contracts", &[], usize::MAX).map_err(words)?;
        let shown = |contract: Contract| {
            let status = contract.status;
            let hops = |route: &Route| route.hops.iter().map(|hop| (hop.link.clone(), hop.queue)).collect();
            ReportedContract {
                id: contract.id,
                serial: status.serial,
                kind: kind(status.kind),
                state: word(&status.state),
                reason: status.reason,
                bound: Time::from_nanos(status.bound_ns.unwrap_or_default()),
                routes: status.routes.iter().map(hops).collect(),
            }
        };
        Ok(all.into_iter().map(shown).collect())
    }

    fn end(&mut self, id: &str) -> Result<(), String> {
        self.service.delete(&format!("/v1/contracts/{}", encode(id))).map_err(words)
    }

    fn pin(&mut self, id: &str, route: Option<&[(String, u8)]>) -> Result<(), String> {
        let path = format!("/v1/contracts/{}", encode(id));
        let mut spec = self.service.get::<Contract>(&path).map_err(words)?.spec;
        spec.route = route.map(|route| route.iter().map(|(link, queue)| format!("{link}:{queue}")).collect());
        let response = self.service.send::<Contract>(Method::Put, &path, &spec);
        response.map(|_| ()).map_err(words)
    }

    fn is_down(&mut self, link: &str) -> Result<bool, String> {
        let link = self.service.get::<Link>(&format!("/v1/links/{}", encode(link))).map_err(words)?;
        Ok(link.state == UpDown::Down)
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
