//! Agents: they carry out the controller's decisions on hosts and switches.
//!
//! Chameleon (CoNEXT 2020), section 3.5: agents on the hosts tag and shape what VMs send, as the controller instructs
//! them. The conversation with the controller is [`machine::Agent`], without a socket or a clock; here are the clock,
//! the socket and the node.
//!
//! | module | contents |
//! |---|---|
//! | [`machine`] | the agent as a pure state machine, the requirements on every driver, and the suite that checks them |
//! | [`run`] | the agents of a process: their threads, locks and ends |
//! | [`controller_client`] | requests to the controller over HTTP |
//! | [`worker`] | the loop of a node |
//! | [`environment`] | the network, failed elements, locations of VMs |
//! | [`resolve`] | from the names of a rule to interfaces, addresses and tags |
//! | [`best_effort`] | routes of packets that no contract covers |
//! | [`host`], [`switch`] | drivers of a node, over [`host_dataplane`] and `dataplane::switch` |
//! | [`linux`] | the data plane of a Linux host |
//! | [`endpoints`] | interfaces that come and go |
//! | [`uninstall`] | removal of everything installed |
//! | [`interfaces`], [`probe`] | interfaces and the links or endpoints behind them; the frames of probes |
//! | `link_report` | counters of links for reports |
//! | [`checks`] | probes of a check: sent as if by an endpoint, and seen at interfaces |
//! | [`samples`] | sampled packets that are reported to the controller, so that it knows which were lost or late |
//! | [`shares`] | contracts of other kinds than latency: the rates of their pairs, and the messages between agents about them |
//! | [`rule_store`] | state that must survive a restart |
//!
//! Everything installed is in the kernel, and stays there when the agent ends, is killed, or does not reach the
//! controller.

pub mod best_effort;
pub mod checks;
pub mod controller_client;
pub mod endpoints;
pub mod environment;
pub mod host;
pub mod host_dataplane;
pub mod interfaces;
mod link_report;
pub mod linux;
pub mod machine;
mod node;
mod notifier;
mod options;
pub mod probe;
pub mod resolve;
mod rights;
pub mod rule_store;
pub mod run;
pub mod samples;
pub mod shares;
mod spoofing;
pub mod switch;
pub mod uninstall;
pub mod warnings;
pub mod worker;

pub use node::NodeDriver;
pub use options::{NodeOptions, Options, ReadTopology, delays};
pub use run::{links, ports, remembered};
