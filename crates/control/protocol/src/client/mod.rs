//! How a controller is reached over HTTP: its address, the token, the certificates to trust, and error messages that say what to do.
//!
//! The command line and the agents of nodes share it. Requests and what is done with the answers are theirs.

mod address;
mod error;
mod path;
mod secret;

pub use address::{Address, CONNECT, OwnCertificate, Stamp, url};
pub use error::{Error, connection};
pub use path::encode;
pub use secret::{key, read_password, read_token, token_in};
