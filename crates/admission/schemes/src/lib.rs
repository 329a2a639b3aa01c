//! One module per published system, each a pure state machine: time is an argument, and nothing here reads a clock.
//!
//! `list.rs` lists the schemes, one line each. Each has a descriptor ([`wayleave_scheme_api::Descriptor`]), which
//! `wayleave schemes` prints.
//!
//! Schemes are in folders by role: [`admission`], [`transport`], [`path`], [`host`] and [`switch`]. Shared modules:
//!
//! | module | content |
//! |---|---|
//! | [`routing`], [`costs`] | searches over the queue-level topology, and their costs |
//! | [`placement`], [`protection`], [`suggest`] | the ledger with its searches, pinned routes and refusals; disjoint routes; the nearest request that would fit |
//! | [`transition`] | when flows may start |
//! | [`admitted`], [`reservations`], [`replay`] | reports of every admission scheme about admitted flows; reservations by path; earlier decisions restored |
//! | [`registry`], [`transports`], [`switches`], [`hosts`] | schemes by name, for each role |
//! | [`brokers`], [`usage_report`] | coordinators of hosts with their messages as bytes, and the reports of hosts |
//! | [`services`] | numbers of services |
//! | [`tune`] | parameters of admission fitted to a mix of contracts |

#[macro_use]
mod choice;
#[macro_use]
mod list;

pub mod admitted;
pub mod brokers;
pub mod costs;
pub mod duplicates;
pub mod explanation;
mod flow_table;
#[cfg(test)]
mod fluid;
mod held;
pub mod hosts;
pub mod placement;
mod power;
pub mod protection;
mod random;
pub mod registry;
pub mod replay;
pub mod reservations;
pub mod routing;
pub mod services;
mod shortest;
mod sparse;
pub mod suggest;
pub mod switches;
pub mod transition;
pub mod transports;
pub mod tune;
pub mod usage_report;

each_scheme!(modules);

use wayleave_contracts::{Contract, Endpoints, LatencyContract};
use wayleave_ledger::Model;
use wayleave_scheme_api::{Request, ShareMembers, ShareRequest};

/// Returns a scheme's request for a latency contract: its token bucket as the model counts it.
pub fn request(contract: &LatencyContract, model: &Model) -> Request {
    let demand = contract.demand(model.overhead);
    Request {
        from: contract.from,
        to: contract.to,
        rate: demand.rate,
        burst: demand.burst,
        deadline: contract.deadline,
        max_frame: demand.max_frame,
        route: contract.route.clone(),
        protection: contract.protection,
    }
}

/// Returns a scheme's request for a contract of another kind. Returns `None` for latency contracts and for best
/// effort, which reserves nothing.
pub fn share_request(contract: &Contract) -> Option<ShareRequest> {
    match contract {
        Contract::Bandwidth(contract) => {
            let among = match &contract.between {
                Endpoints::Pair(from, to) => ShareMembers::Pair(*from, *to),
                Endpoints::Hose(members) => ShareMembers::Hose(members.clone()),
            };
            Some(ShareRequest { among, min: contract.min, within: contract.within })
        }
        Contract::Objective(contract) => Some(ShareRequest {
            among: ShareMembers::Objective(contract.members.clone()),
            min: contract.min,
            within: None,
        }),
        Contract::Latency(_) | Contract::BestEffort(_) => None,
    }
}
