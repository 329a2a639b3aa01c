//! One room per published system, each a pure state machine: time is an argument, and nothing here reads a clock.
//!
//! | room | system | role |
//! |---|---|---|
//! | [`chameleon`] | Chameleon (CoNEXT 2020): queue-level routing with rerouting | admission |
//! | [`silo`] | Silo (SIGCOMM 2015), as Chameleon's evaluation describes it | admission |
//! | [`qjump`] | QJump (NSDI 2015): one packet an epoch in the highest priority | admission |
//! | [`loko`] | Loko (CoNEXT 2019): one shared service a switch, measured | admission |
//! | [`newreno`] | NewReno (RFC 5681, 6582) | flow |
//! | [`cubic`] | CUBIC (RFC 9438) | flow |
//! | [`dctcp`] | DCTCP (SIGCOMM 2010, RFC 8257) | flow |
//! | [`ecmp`] | equal-cost multi-path, per flow and per packet | path |
//! | [`flowlet`] | flowlets (CCR 2007) with random choice (NSDI 2017) | path |
//! | [`presto`] | Presto (SIGCOMM 2015): flowcells, and the receiver's reordering buffer | path |
//! | [`duplicates`] | removal of copies (IEEE 802.1CB-2017), for Chameleon's disjoint routes | host |
//! | [`elasticswitch`] | ElasticSwitch (SIGCOMM 2013): guarantees partitioned among pairs, more without congestion | host |
//! | [`static_limits`] | fixed token buckets (Parley, 2014, sections 4 and 6.3) | host |
//! | [`eyeq`] | EyeQ (NSDI 2013), as Parley's machine shaper: receivers tell senders their rates | host |
//! | [`parley`] | Parley (2014): machine shaper, rack and fabric brokers | host, broker |
//! | [`ecn`] | marks by threshold (DCTCP) and random early detection | switch |
//!
//! What the rooms share stands beside them: [`routing`], the searches over the queue-level topology; [`costs`], what
//! they prefer; [`placement`], the ledger with its searches, pinned routes and refusals; [`protection`], disjoint routes;
//! [`refine`], the nearest request that would fit; [`standing`], what every admission scheme says about what it admitted;
//! [`registry`], those schemes by name; [`transports`], those of the packet path; [`edges`], those of
//! the hosts' limiters; [`custom`], tunnels and the paths of pairs; [`tune`], parameters of admission fitted to a mix of contracts.

mod book;
pub mod chameleon;
pub mod costs;
pub mod cubic;
pub mod custom;
pub mod dctcp;
pub mod duplicates;
pub mod ecmp;
pub mod ecn;
pub mod edges;
pub mod elasticswitch;
pub mod eyeq;
pub mod flowlet;
#[cfg(test)]
mod fluid;
pub mod loko;
pub mod newreno;
pub mod parley;
pub mod placement;
pub mod presto;
pub mod protection;
pub mod qjump;
mod random;
pub mod refine;
pub mod registry;
pub mod routing;
mod shortest;
pub mod silo;
pub mod standing;
pub mod static_limits;
pub mod survey;
pub mod transports;
pub mod tune;

use wayleave_contracts::Contract;
use wayleave_ledger::Model;
use wayleave_roles::Request;

/// What a scheme is asked for a contract: its token bucket as the model counts it.
pub fn request(contract: &Contract, model: &Model) -> Request {
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
