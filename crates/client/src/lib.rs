//! How a controller is reached over HTTP: its address, the token, the certificates to trust, and what it means if that fails.
//!
//! The command line and the agents of nodes ask the same server; what both have to do alike is here, once. What is asked and what is done
//! with the answers is theirs.

mod address;
mod error;
mod path;
mod secret;

pub use address::{Address, CONNECT, url};
pub use error::{Error, connection};
pub use path::encode;
pub use secret::{key, read_token, token_in};
