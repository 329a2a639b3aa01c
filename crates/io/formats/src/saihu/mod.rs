//! Output-port networks in the JSON of Saihu (Tsai, Tabatabaee, Plassart and Le Boudec, 2023), an interface to
//! several tools for worst-case delays.
//!
//! Read are `network` (name, packetizer, multiplexing, units), `servers` (a maximum of rate-latency functions, and a
//! capacity) and `flows` (a minimum of token buckets, a path, packet lengths). Our extension: a flow may have
//! `paths`, a list of paths that form a tree, instead of `path` (multicast).
//!
//! Its other format, physical networks in the XML of WoPANets, is read and written as well: `network` (name,
//! technology), `station` and `switch`, `link`, and `flow` with a leaky bucket and targets. A port of a node becomes
//! the server `NODE-PORT`, as Saihu converts it; a flow with several targets becomes several flows.
//!
//! Units are Saihu's: a prefix and `s`, `m` (minutes) or `h`; `b` (bits) or `B` (bytes); or `bps`, `Bps`, `bpm` and
//! so on. A number without a unit has that of the object, of the network, or s, b and bps. All of them are read
//! exactly.

mod network;
mod parts;
mod physical;
mod read;
mod units;
mod write;
mod write_physical;

pub use parts::PortNetworkFile;
pub use read::read_port_network;
pub use write::write_port_network;
pub use write_physical::{PhysicalNetwork, write_physical_network};
