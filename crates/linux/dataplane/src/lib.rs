//! The Linux data plane: eBPF programs that classify, charge, tag and forward packets, and what loads and feeds them.
//!
//! | | |
//! |---|---|
//! | [`host`] | rules, buckets, endpoints and best-effort routes of a host |
//! | [`switch`] | what a switch is told, from the topology, and what drives it |
//! | [`net`] | network namespaces, links, the queues of ports |
//! | [`frames`] | frames for people, and files of them |
//! | [`programs`] | the programs themselves: loaded, pinned, found again; the forwarding table of switches |
//! | [`class`] | in which class of a port's queueing discipline a queue is |
//! | [`doctor`] | what a machine has and lacks for all of this |
//! | [`test_run`], [`sandbox`], [`measure`] | programs run on given frames in a place apart, for tests; what they cost, and how exact they are |
//!
//! The programs are C (`bpf/*.c`), compiled by `make bpf` and shipped (`bpf/objects`): users need no compiler. What they do is
//! specified by the models in `wire` and by `schemes::duplicates`; tests hold them against each other, packet by packet.
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
