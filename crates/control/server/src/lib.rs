//! The controller of Wayleave as a server: REST in front, a ledger on disk behind, the state machine of crate
//! `controller` between.
//!
//! ```text
//! connections ─ http::dispatch ─> handlers ── reads ──> view      records on disk, ready to be read
//!                                    │                   ^
//!                                    └─ jobs ─> engine ──┘        one thread: batch, controller, commit, then answers
//! ```
//!
//! - [`Server`] is the whole; [`Options`] configure it. [`Local`] is the server without sockets, for one process.
//! - `http::routes` is the single table of routes and their access; the router, the checks and the OpenAPI document
//!   are derived from it.
//! - `fair` has a queue for each account, so that an account with many requests delays only its own: `queue` for jobs
//!   of the engine, `reads` for reads without the engine.
//! - `http::door` accepts connections and answers `/healthz`, from the progress of all other threads that `alive`
//!   tracks.
//! - `engine` owns controller and ledger. Nothing is answered or shown before it is on disk.
//! - `history` keeps events, decisions and the audit, in the commits of the changes that they describe.
//! - `view` is the readers' copy of the state. Readers never wait for the engine.
//! - `layers` are the tiers, pods and racks of the network; `ui` is the dashboard, made by `make ui`.
//! - `trial` makes a second controller, for dry runs and what-if.

pub mod access;
mod account;
mod agent_figures;
mod agent_text;
mod alert_counters;
mod alert_watch;
mod alerts;
mod answer;
mod audit;
mod caveat;
mod certificate_name;
mod checks;
mod clock;
pub mod cluster;
mod cluster_metrics;
mod cluster_role;
mod copy_of;
mod counts;
mod detail_metrics;
pub mod disk;
mod down_counts;
mod engine;
mod explain;
mod exposition;
mod fair;
mod first_of;
mod handlers;
mod history;
mod http;
mod limits;
mod links;
mod listing;
mod liveness;
mod load;
mod local;
mod log;
mod logger;
mod loss_tracking;
mod measure;
mod metrics;
pub mod notify;
mod packet_metrics;
mod past;
mod pulse;
mod queue;
mod read_guard;
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
pub use limits::ServerLimits;
pub use local::Local;
pub use logger::flush as flush_log;
pub use run::{LogFormat, log, run};
pub use server::{LoadClock, Options, Server};

/// Of this program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
