//! Reading and writing of topologies, contracts, events, scenarios, benchmark tables and output-port networks. All
//! parsing of files that people write is in this crate.
//!
//! Files have a well-known shape (`apiVersion`, `kind`, `metadata`, `spec`), in YAML or JSON; contracts also in CSV.
//! Errors are returned as [`InputErrors`]: up to [`MAX_PROBLEMS`] problems. Each has a file, line and column, the
//! expected form, the nearest known word, and the source line with a caret.
//!
//! ```
//! use wayleave_formats::{Source, parse_builder, read_contracts};
//! let network = parse_builder("star:hosts=9")?.network;
//! let text = "
//! apiVersion: wayleave/v1
//! kind: Contracts
//! spec:
//!   contracts:
//!     - { name: ptp-1, from: h1, to: h9, rate: 10mbps, burst: 300B, deadline: 2ms }
//! ";
//! let errors = read_contracts(&Source::new("contracts.yaml", text), &network).unwrap_err();
//! assert_eq!(
//!     errors.to_string(),
//!     r#"contracts.yaml:6:46: "10mbps" can mean bits or bytes (Linux tc and people differ): write 10Mbit if bits per second are meant
//!    6 |     - { name: ptp-1, from: h1, to: h9, rate: 10mbps, burst: 300B, deadline: 2ms }
//!      |                                              ^^^^^^
//!   in contract "ptp-1""#
//! );
//! # Ok::<(), wayleave_formats::InputErrors>(())
//! ```
//!
//! Examples of every kind are in `schemas/examples/`.
//!
//! Implementation: `tree` parses text into values with positions, `fields` reads a mapping against its known keys,
//! and one module per kind interprets the values. The JSON Schemas in `schemas/` describe the same shapes; a test
//! compares them with the keys that are read here.

mod agent;
mod benchmark;
mod columns;
mod containerlab;
mod contracts;
mod csv_field;
mod document;
mod events;
mod excerpt;
mod fields;
mod foreign;
mod gml;
mod goal;
mod graph;
mod graphml;
mod hpcc;
mod htsim;
mod interfaces;
mod links_csv;
mod listing;
mod location;
mod messages;
mod mininet;
mod names;
mod nodelink;
mod opening;
mod policy;
mod problem;
mod quote;
mod renamed;
mod rows;
mod saihu;
mod scenario;
#[cfg(test)]
mod shapes;
mod signatures;
mod sizes;
mod sndlib;
mod source;
mod syntax;
mod tenants;
mod topology;
mod tree;
#[cfg(test)]
mod tree_tests;
mod write;
mod xml;

pub use agent::{
    AgentBridge, AgentCredential, AgentEndpoint, AgentFile, AgentNode, ExcessPackets, UnmatchedPackets, read_agent,
};
pub use benchmark::{parse_device_scenario, read_benchmark, write_benchmark};
pub use contracts::{
    Addressed, ContractField, ContractItems, ContractList, MixedList, OrderList, VmLocations, WrittenBody,
    WrittenContract, WrittenList, read_contracts, read_contracts_of_all_kinds, read_order, read_orders, read_written,
};
pub use csv_field::csv_field;
pub use document::{API_VERSION, DocumentKind, kind_of, name_of};
pub use events::{EventList, read_events};
pub use goal::{read_goal, write_goal_binary, write_goal_text};
pub use graph::{
    DelayUnit, GraphFormat, HostSelector, ImportOptions, Imported, MAX_HOSTS_PER_NODE, RateUnit, Remark, read_network,
    write_graph,
};
pub use hpcc::{read_hpcc_flows, read_hpcc_topology};
pub use htsim::{read_htsim_flows, read_htsim_topology};
pub use interfaces::read_interfaces;
pub use listing::{FIRST_LINE, Listing, document as contracts_document, listing_as_document, located, read_listing};
pub use location::SourceLocation;
pub use opening::MAX_TEXT;
pub use policy::{PolicyFile, read_policy};
pub use problem::{InputErrors, MAX_PROBLEMS, Problem, ProblemKind};
pub use renamed::{KEY_WARNINGS, RenamedKey, renamed_keys};
pub use saihu::{PhysicalNetwork, PortNetworkFile, read_port_network, write_physical_network, write_port_network};
pub use scenario::{Grid, Run, ScenarioFile, beside, read_scenario, scenario_schema, with_grid};
pub use sizes::read_flow_sizes;
pub use source::Source;
pub use tenants::{TenantList, read_tenants};
pub use topology::{Topology, parse_builder, read_topology};
pub use write::{write_contracts, write_contracts_of_all_kinds, write_order, write_orders, write_topology};
