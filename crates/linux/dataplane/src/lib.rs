//! The Linux data plane: eBPF programs that classify, charge, tag and forward packets, and the code that loads and
//! configures them.
//!
//! | | |
//! |---|---|
//! | [`host`] | rules, buckets, endpoints and best-effort routes of a host |
//! | [`switch`] | the plan of a switch, from the topology, and its driver |
//! | [`net`] | network namespaces, links, the queues of ports |
//! | [`frames`] | readable descriptions of frames, and files of frames |
//! | [`programs`] | the programs themselves: loaded, pinned, found again; the forwarding table of switches |
//! | [`class`] | the class of a port's queueing discipline for each queue |
//! | [`doctor`] | check of a machine for all features that this needs |
//! | [`test_run`], [`sandbox`], [`measure`] | programs run on given frames in isolation, for tests; their cost and exactness |
//!
//! The programs are C (`bpf/*.c`), compiled by `make bpf` and shipped (`bpf/objects`): users need no compiler. The
//! models in `wayleave_packet_format` and `wayleave_schemes::duplicates` specify them; tests compare both, packet by packet.
//!
//! Follows Chameleon (CoNEXT 2020), sections 3.4, 4.2 and 5.3; docs/operate/dataplane.md lists the deviations.

pub mod class;
pub mod clock;
pub mod doctor;
mod error;
pub mod frames;
pub mod host;
mod layout;
pub mod measure;
pub mod net;
pub mod programs;
mod samples;
pub mod sandbox;
pub mod switch;
mod sys;
mod table;
pub mod test_run;

pub use error::Error;
