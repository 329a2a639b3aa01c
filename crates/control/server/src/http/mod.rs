//! HTTP: from requests to handlers and back.

pub(crate) mod call;
pub(crate) mod condition;
pub(crate) mod connection_limit;
pub(crate) mod csv;
pub(crate) mod dispatch;
pub(crate) mod health_listener;
pub(crate) mod listen;
pub(crate) mod openapi;
pub(crate) mod operation;
pub(crate) mod page;
pub(crate) mod peer;
pub(crate) mod query;
pub(crate) mod route;
pub(crate) mod routes;
mod schema;
pub(crate) mod tls;
pub(crate) mod write_timeout;
