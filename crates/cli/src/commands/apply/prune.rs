//! Contracts that have the labels of a selector and that files no longer have.

use std::collections::BTreeSet;

use crate::client::specs::Document;
use serde_json::{Map, Value};
use wayleave_contracts::LabelSelector;
use wayleave_formats::{DocumentKind, Source, kind_of};
use wayleave_protocol::contract::{Contract, State};
use wayleave_protocol::decision::{Applied, Outcome};
use wayleave_protocol::status::About;

use super::changes::between;
use super::contracts::terms;
use super::item::Item;
use crate::client::{RequestError, Service, encode};
use crate::failure::Failure;

/// Contracts that are deleted once the files are applied.
pub(super) struct Prune {
    contracts: Vec<Contract>,
}

impl Prune {
    /// Searches contracts of the tenant that have the labels but are in no file. Nothing is changed.
    pub(super) fn plan(service: &Service, sources: &[Source], selector: &LabelSelector) -> Result<Self, Failure> {
        let about: About = service.get("/v1").map_err(Failure::from)?;
        let own = about.tenant.unwrap_or_else(|| "default".to_owned());
        let mut kept = BTreeSet::new();
        for source in sources {
            if matches!(kind_of(source), Some(DocumentKind::Policy | DocumentKind::Tenants)) {
                continue;
            }
            for spec in Document::of(source)?.specs()? {
                let tenant = spec.tenant.as_deref().unwrap_or(&own);
                let id = (tenant.to_owned(), spec.name.clone().unwrap_or_default());
                if !selector.chooses(&spec.labels) {
                    return Err(Failure::Usage(format!(
                        "contract {}:{} of {} lacks a label of -l {selector}: the next run with --prune would miss it. Add the label to the contract, or omit --prune",
                        id.0,
                        id.1,
                        source.name()
                    )));
                }
                kept.insert(id);
            }
        }
        let tenants: BTreeSet<&str> = match service.tenant() {
            Some(tenant) => BTreeSet::from([tenant]),
            None => kept.iter().map(|(tenant, _)| tenant.as_str()).collect(),
        };
        if tenants.is_empty() {
            return Err(Failure::Usage(
                "--prune: the files have no contracts, so the tenant is unknown: add --tenant NAME".to_owned(),
            ));
        }
        let labels = selector.to_string();
        let mut contracts: Vec<Contract> = Vec::new();
        for tenant in tenants {
            let filters = [("tenant", Some(tenant)), ("labels", Some(labels.as_str()))];
            match service.list::<Contract>("/v1/contracts", &filters, usize::MAX) {
                Ok(listed) => contracts.extend(listed),
                // The files create this tenant.
                Err(error) if error.is_not_found() && kept.iter().any(|(of, _)| of == tenant) => {}
                Err(error) => return Err(error.into()),
            }
        }
        contracts.retain(|contract| {
            let id = contract.id.split_once(':').unwrap_or(("", &contract.id));
            let is_kept = kept.contains(&(id.0.to_owned(), id.1.to_owned()));
            !is_kept && contract.status.state != State::Released && selector.chooses(&contract.spec.labels)
        });
        Ok(Self { contracts })
    }

    /// Returns what is to be deleted, by name.
    pub(super) fn ids(&self) -> Vec<String> {
        self.contracts.iter().map(|contract| contract.id.clone()).collect()
    }

    /// Deletes them, or shows what would be deleted.
    pub(super) fn execute(self, service: &Service, dry_run: bool) -> Vec<Item> {
        self.contracts.iter().map(|contract| delete(service, contract, dry_run)).collect()
    }
}

/// Deletes a contract, or shows its terms in a dry run.
fn delete(service: &Service, contract: &Contract, dry_run: bool) -> Item {
    let mut applied = Applied {
        id: contract.id.clone(),
        outcome: Outcome::Deleted,
        state: None,
        bound_ns: None,
        certainty: None,
        decision: None,
        error: None,
    };
    if dry_run {
        let none = Value::Object(Map::new());
        return Item { kind: "contract", applied, changes: between(Some(&terms(&contract.spec)), &none) };
    }
    match service.delete(&format!("/v1/contracts/{}", encode(&contract.id))) {
        Ok(()) => {}
        Err(error) if error.is_not_found() => applied.outcome = Outcome::Absent,
        Err(error) => (applied.outcome, applied.error) = (Outcome::Refused, Some(problem(error))),
    }
    Item { kind: "contract", applied, changes: Vec::new() }
}

/// Returns the controller's error, or the error that it was not reached.
fn problem(error: RequestError) -> wayleave_protocol::problem::Problem {
    match error {
        RequestError::Problem(problem, _) => *problem,
        RequestError::Failed(error) => {
            wayleave_protocol::problem::Problem::new(wayleave_protocol::problem::Code::Unavailable, error.to_string())
        }
    }
}
