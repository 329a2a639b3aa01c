//! Decisions in sentences, tables and JSON: the terms of an admission, or the reason for a refusal, and requests that
//! would fit.
//!
//! The command line and the controller's server answer the same questions, so both use this crate. [`sentences`]
//! contains the sentences, [`shapes`] and [`RequestJson`] the JSON documents. [`Explained`] is the complete
//! explanation of one decision: as JSON with [`ExplanationJson`], for people with [`text::write`].
//!
//! Contracts of other kinds than latency have sentences and documents of their own ([`DecidedShare`],
//! [`ExplainedShare`]).
//!
//! Documents have the names of plans (`rate_bps`); [`camel_case`] gives them those of the REST interface (`rateBps`).
//!
//! The subject of a decision is a [`Context`]: the network, the model, the scheme, and the names of its contracts.

mod camel;
mod claim;
mod context;
pub mod curves;
mod decided;
mod event;
mod explanation;
pub mod human;
mod request;
mod schemes;
pub mod sentences;
pub mod shapes;
mod share;
mod shared;
pub mod table;
pub mod text;
mod waits;

pub use camel::camel_case;
pub use claim::{claim, claimed_shares, promised_share, share_times};
pub use context::{Context, Names};
pub use decided::DecidedContract;
pub use event::RequestEvent;
pub use explanation::{EarlierDecisions, Explained, ExplanationJson, NearestJson, Refused, inspect_links, nearest};
pub use request::{DecidedFlow, RequestJson};
pub use schemes::{GrantedShares, SettingsJson, ValueJson};
pub use share::{DecidedShare, ShareJson};
pub use shared::{ExplainedShare, NearestShare, SharedExplanation, assumption, write_share};
pub use waits::wait_for_tokens;
