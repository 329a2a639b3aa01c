//! Messages between the controller, the agents of nodes and clients: the documents of the REST interface `/v1`, as
//! the OpenAPI document describes them.
//!
//! No decisions are made here. Quantities are texts as in files (`"10Mbit"`, `"500us"`), and numbers where programs
//! compute with them; a number has its unit at the end of its name (`boundNs`). A key without a value is absent; a
//! figure that the controller does not know is `null`.
//!
//! | module | content |
//! |---|---|
//! | [`contract`] | a contract as in a file, with its status |
//! | [`tenant`] | tenants with their quotas, VMs, tokens |
//! | [`network`] | hosts, nodes, links, queues, and their states |
//! | [`policy`] | policies of services, and their reservations |
//! | [`decision`] | decisions, and lists of results |
//! | [`event`] | events for watchers |
//! | [`what_if`] | what-if queries and their results |
//! | [`health`] | health of contracts, the worst first |
//! | [`topology_summary`] | the network by tier, in groups of nodes and of links |
//! | [`name`] | names that fit a text |
//! | [`alert`] | alerts that fire, by the rules for Prometheus |
//! | [`load`] | measured load of links, its history, flows, and the monthly statement |
//! | [`traffic`] | counters of contracts, the largest senders first |
//! | [`timeline`] | events over time, and snapshots of the state after an event |
//! | [`audit`] | the audit log: changes and refused requests |
//! | [`check`] | probes through a network, and their observations
//! | [`agent`] | messages between the controller and the agents of nodes |
//! | [`status`] | status of the controller |
//! | [`problem`] | errors (RFC 9457) |

pub mod agent;
pub mod alert;
pub mod audit;
pub mod check;
pub mod contract;
pub mod decision;
pub mod event;
pub mod health;
mod id;
pub mod load;
pub mod name;
pub mod network;
pub mod policy;
pub mod problem;
pub mod status;
pub mod tenant;
pub mod timeline;
pub mod topology_summary;
pub mod traffic;
pub mod what_if;

pub use id::{DEFAULT_TENANT, Id};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct List<T> {
    /// In the order of their names or numbers.
    pub items: Vec<T>,
    /// `after` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub next: Option<String>,
}

/// The answer of `/explanation`: its names are those of `wayleave explain -o json`, and no schema restricts them.
pub type Explanation = serde_json::Value;
