//! The controller of a lab, and the counters of its hosts.

use std::collections::BTreeMap;

use wayleave_api::contract::Contract;
use wayleave_api::network::Consequences;
use wayleave_api::network::{ElementState, UpDown};
use wayleave_client::{Address, read_token};
use wayleave_dataplane::host::Counters;
use wayleave_lab::Lab;
use wayleave_lab::run::{Operator, Shown};
use wayleave_units::Time;

use crate::client::wire::Method;
use crate::client::{Service, Trouble, encode, target};
use crate::failure::Failure;

/// Asks as the lab's operator.
pub(super) struct LabController<'a> {
    pub(super) service: Service,
    lab: &'a Lab,
}

impl<'a> LabController<'a> {
    pub(super) fn of(lab: &'a Lab) -> Result<Self, Failure> {
        let Some(url) = lab.server() else {
            let why = "this lab has no controller: it was set up with --no-controller, or the controller has ended";
            return Err(Failure::Usage(why.to_owned()));
        };
        let address = Address { url, token: Some(read_token(&lab.token_file())?), ca: None };
        Ok(Self { service: target::of_address(address, None)?, lab })
    }
}

fn words(trouble: Trouble) -> String {
    Failure::from(trouble).to_string()
}

impl Operator for LabController<'_> {
    fn contracts(&mut self) -> Result<Vec<Shown>, String> {
        let all: Vec<Contract> = self.service.list("/v1/contracts", &[], usize::MAX).map_err(words)?;
        let shown = |contract: Contract| {
            let status = contract.status;
            let links = |route: &wayleave_api::contract::Route| route.hops.iter().map(|hop| hop.link.clone()).collect();
            Shown {
                id: contract.id,
                serial: status.serial,
                state: crate::client::show::word(&status.state),
                message: status.message,
                bound: Time::from_nanos(status.bound_ns),
                routes: status.routes.iter().map(links).collect(),
            }
        };
        Ok(all.into_iter().map(shown).collect())
    }

    fn report(&mut self, link: &str, down: Option<&str>) -> Result<(), String> {
        let state = if down.is_some() { UpDown::Down } else { UpDown::Up };
        let state = ElementState { state, reason: down.map(str::to_owned) };
        let path = format!("/v1/links/{}/state", encode(link));
        let told = self.service.send::<Consequences>(Method::Put, &path, &state);
        told.map(|_| ()).map_err(words)
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
