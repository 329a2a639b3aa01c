//! Output-port networks in the JSON of Saihu (Tsai, Tabatabaee, Plassart and Le Boudec, 2023), an interface to several
//! tools for worst-case delays.
//!
//! Read are `network` (name, packetizer, multiplexing, units), `servers` (a maximum of rate-latency functions, and a
//! capacity) and `flows` (a minimum of token buckets, a path, packet lengths). What is ours: a flow may have `paths`, a
//! list of paths that form a tree, instead of `path` (multicast). Saihu's other format, physical networks in XML, is not read.
//!
//! Units are Saihu's: a prefix and `s`, `m` (minutes) or `h`; `b` (bits) or `B` (bytes); or `bps`, `Bps`, `bpm` and so on. A
//! number without a unit has that of the object, of the network, or s, b and bps. All of them are read exactly.

mod network;
mod units;
mod write;

pub use network::{PortNetworkFile, read_port_network};
pub use write::write_port_network;
