//! Contracts of a lab without a controller: a scheme decides them here.

use wayleave::{Network, PlanOptions, SchemeOptions, Session};
use wayleave_contracts::{BucketDemand, ContractRequest};
use wayleave_explain::sentences;
use wayleave_lab::Lab;
use wayleave_lab::run::{OfferedContract, PlannedContract, PlannedContracts};
use wayleave_ledger::Model;
use wayleave_protocol::decision::{Applied, Outcome};
use wayleave_protocol::problem::{Code, Problem};
use wayleave_scheme_api::Decision;
use wayleave_schemes::admitted::AdmittedSet;

use crate::failure::Failure;

/// Decides latency contracts in their order, and configures the hosts of the lab; also returns refused contracts.
///
/// # Errors
/// If the lab has a controller, the scheme cannot be set up on its network, or the kernel refuses.
pub(crate) fn plan_lab(
    lab: &Lab,
    (orders, promised): (&[ContractRequest], &[OfferedContract]),
    model: Model,
    scheme: SchemeOptions,
) -> Result<(PlannedContracts, Vec<Applied>), Failure> {
    let network = Network::new("lab", lab.network().clone());
    let mut session = Session::open(&network, &PlanOptions::default().with_model(model).with_scheme(scheme))?;
    let (mut admitted, mut refused): (Vec<(&OfferedContract, BucketDemand, Decision)>, _) = (Vec::new(), Vec::new());
    for (order, promised) in orders.iter().zip(promised) {
        let Some(terms) = order.as_latency() else { continue };
        let verdict = session.admit(terms);
        let request = &verdict.request;
        match verdict.decision {
            Ok(decision) => {
                // Contracts that were moved for it are on another route now, with another bound.
                let demand = BucketDemand { rate: request.rate, burst: request.burst, max_frame: request.max_frame };
                admitted.push((promised, demand, decision));
            }
            Err(refusal) => {
                let why = sentences::refusal(lab.network(), terms, &refusal);
                refused.push(Applied {
                    id: promised.id.clone(),
                    outcome: Outcome::Refused,
                    state: None,
                    bound_ns: None,
                    certainty: None,
                    decision: None,
                    error: Some(Problem::new(Code::of(refusal.reason().code()).unwrap_or(Code::Policy), why)),
                });
            }
        }
    }
    let contracts = admitted.iter().filter_map(|(promised, demand, decision)| {
        // Current placement: later contracts may have moved the flow.
        let held = session.scheme().held(decision.flow)?;
        Some(PlannedContract { promised, demand: *demand, route: held.route, bound: held.bound })
    });
    let contracts: Vec<PlannedContract<'_>> = contracts.collect();
    Ok((PlannedContracts::begin(lab, &contracts)?, refused))
}
