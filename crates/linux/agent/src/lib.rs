//! Agents: what the controller decides, carried out on hosts and switches.
//!
//! Chameleon (CoNEXT 2020), section 3.5: agents on the hosts tag and shape what VMs send, as the controller tells them. The conversation
//! with the controller is [`machine::Agent`], without a socket or a clock; here are the clock, the socket and the node.
//!
//! | module | what |
//! |---|---|
//! | [`machine`] | the agent as a pure state machine, what every driver has to do, and the suite that checks it |
//! | [`run`] | the agents of a process: their threads, locks and ends |
//! | [`controller_client`] | requests to the controller over HTTP |
//! | [`worker`] | the loop of a node |
//! | [`environment`] | the network, what is down, where VMs are |
//! | [`resolve`] | from the names of a rule to interfaces, addresses and tags |
//! | [`best_effort`] | routes of packets that no contract covers |
//! | [`host`], [`switch`] | what drives a node, over [`plane`] and `dataplane::switch` |
//! | [`linux`] | the data plane of a Linux host |
//! | [`endpoints`] | interfaces that come and go |
//! | [`down`] | taking everything away |
//! | [`interfaces`], [`probe`] | interfaces and what is behind them; the frames that probes are |
//! | [`checks`] | probes of a check: sent as if an endpoint had sent them, and seen at interfaces |
//! | [`samples`] | which packets the controller is told of, so that it knows which were lost or late |
//! | [`shares`] | contracts of other kinds than latency: what their pairs may send, and what agents tell one another of it |
//! | [`rule_store`] | what has to be known after a restart |
//!
//! What is installed is in the kernel, and stays there when the agent ends, is killed, or does not reach the controller.

pub mod best_effort;
pub mod checks;
pub mod controller_client;
pub mod endpoints;
pub mod environment;
pub mod host;
pub mod host_dataplane;
pub mod interfaces;
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

pub use node::Node;
pub use options::{NodeOptions, Options, ReadTopology, delays};
pub use run::{links, ports, remembered};
