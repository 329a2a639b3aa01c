//! The controller of Wayleave as a server: REST in front, a ledger on disk behind, the state machine of crate `controller` between.
//!
//! ```text
//! connections ─ http::dispatch ─> handlers ── reads ──> view      what is on disk, ready to be answered
//!                                    │                   ^
//!                                    └─ jobs ─> engine ──┘        one thread: batch, controller, commit, then answers
//! ```
//!
//! - [`Server`] is the whole; [`Options`] say with what. [`Local`] is the same without sockets, for one process.
//! - `http::routes` is the one table of what there is and who may use it; the router, the checks and the OpenAPI document are made of it.
//! - `fair` has a line for each account, so that an account that asks for much waits for its own requests: `queue` of what the engine does,
//!   `reads` of what is read without it.
//! - `http::door` accepts connections and answers `/healthz`, with what `alive` knows of the progress of all others.
//! - `engine` owns controller and ledger. Nothing is answered or shown before it is on disk.
//! - `history` keeps events, decisions and the audit, in the commits of what they are about.
//! - `view` is what readers see. They never wait for the engine.
//! - `layers` are the tiers, pods and racks of the network; `ui` is the dashboard, made by `make ui`.
//! - `trial` makes a second controller, for dry runs and what-if.

pub mod access;
mod account;
mod agent_text;
mod answer;
mod audit;
mod certificate_name;
mod checks;
mod clock;
pub mod cluster;
mod cluster_metrics;
mod cluster_role;
mod copy_of;
pub mod disk;
mod engine;
mod explain;
mod fair;
mod first_of;
mod handlers;
mod history;
mod http;
mod limits;
mod links;
mod liveness;
mod local;
mod log;
mod logger;
mod loss_tracking;
mod measure;
mod metrics;
pub mod notify;
mod past;
mod pulse;
mod queue;
mod read_view;
mod reads;
mod render;
mod rendered;
mod replica_follower;
mod run;
pub mod secret;
mod server;
mod state;
mod tiers;
mod traffic;
mod trial;
mod ui;
mod view_update;
mod work;

pub use crate::http::openapi::document as openapi;
pub use crate::http::tls::TlsFiles;
pub use handlers::what_if::what_if;
pub use limits::Limits;
pub use local::Local;
pub use logger::flush as flush_log;
pub use run::{LogFormat, log, run};
pub use server::{Options, Server};

/// Of this program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
