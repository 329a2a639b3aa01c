//! One module per published system, each a pure state machine: time is an argument, and nothing here reads a clock.
//!
//! Which ones there are, `list.rs` says, one line each; what they say of themselves, their descriptors
//! ([`wayleave_scheme_api::Descriptor`]), and `wayleave schemes` prints it.
//!
//! What the modules share stands beside them: [`routing`], the searches over the queue-level topology; [`costs`], what
//! they prefer; [`placement`], the ledger with its searches, pinned routes and refusals; [`protection`], disjoint routes;
//! [`refine`], the nearest request that would fit; [`transition`], when flows may start; [`standing`], what every admission scheme says about
//! what it admitted; [`stated`], decisions of before put in place again; [`registry`], those schemes by name; [`transports`], those of the packet path at hosts; [`switches`], those of ports;
//! [`hosts`], those of the hosts' limiters; [`brokers`], their brokers and the codec of their messages; [`usage`], usage reports of machines
//! to brokers; [`services`], the numbers of services; [`tune`], parameters of admission fitted to a mix of contracts.

#[macro_use]
mod choice;
#[macro_use]
mod list;

mod book;
pub mod brokers;
pub mod costs;
pub mod duplicates;
pub mod explanation;
#[cfg(test)]
mod fluid;
pub mod hosts;
pub mod placement;
mod power;
pub mod protection;
mod random;
pub mod refine;
pub mod registry;
pub mod routing;
pub mod services;
mod shortest;
pub mod standing;
pub mod stated;
pub mod survey;
pub mod switches;
pub mod transition;
pub mod transports;
pub mod tune;
pub mod usage;

each_scheme!(modules);

use wayleave_contracts::{Between, Contract, LatencyContract};
use wayleave_ledger::Model;
use wayleave_scheme_api::{Among, Request, ShareRequest};

/// What a scheme is asked for a contract: its token bucket as the model counts it.
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

/// What a scheme is asked for a contract of another kind; `None` for best effort, which nothing is reserved for, and for latency
/// contracts.
pub fn share_request(contract: &Contract) -> Option<ShareRequest> {
    match contract {
        Contract::Bandwidth(contract) => {
            let among = match &contract.between {
                Between::Pair(from, to) => Among::Pair(*from, *to),
                Between::Hose(members) => Among::Hose(members.clone()),
            };
            Some(ShareRequest { among, min: contract.min, within: contract.within })
        }
        Contract::Objective(contract) => {
            Some(ShareRequest { among: Among::Objective(contract.members.clone()), min: contract.min, within: None })
        }
        Contract::Latency(_) | Contract::BestEffort(_) => None,
    }
}
