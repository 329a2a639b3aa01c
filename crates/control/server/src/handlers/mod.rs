//! Handlers of all routes.

pub(crate) mod agents;
pub(crate) mod apply;
pub(crate) mod audit;
pub(crate) mod backups;
pub(crate) mod batch;
pub(crate) mod change;
pub(crate) mod checks;
pub(crate) mod contracts;
pub(crate) mod decisions;
pub(crate) mod elements;
pub(crate) mod events;
pub(crate) mod flows;
pub(crate) mod health;
pub(crate) mod lists;
pub(crate) mod load_history;
pub(crate) mod network;
pub(crate) mod policies;
pub(crate) mod statement;
pub(crate) mod status;
pub(crate) mod tenants;
pub(crate) mod timeline;
pub(crate) mod tokens;
pub(crate) mod topology_summary;
pub(crate) mod traffic;
pub(crate) mod vms;
pub(crate) mod what_if;
