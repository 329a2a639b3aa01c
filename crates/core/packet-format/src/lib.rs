//! Formats on the wire between a host and the network, as pure models: no clock, no socket.
//!
//! | | |
//! |---|---|
//! | [`Tag`], [`Stack`] | the VLAN tags that steer a packet (Chameleon, CoNEXT 2020, section 3.4) |
//! | [`ParsedFrame`] | a parsed frame: addresses, five-tuple |
//! | [`Classifier`], [`PacketSelector`] | the contract of a packet (section 4.2.2) |
//! | [`BucketDemand`] | demand of a flow on the wire |
//! | [`TokenBucket`] | the shaper's arithmetic (section 4.2.3), in nanobits |
//! | [`Mac`] | addresses, including defaults of VMs |
//! | [`QueueLimit`] | limits of the packets that wait on their host for tokens |
//! | [`probe`] | the probes of uFAB and their responses, to the bit |
//! | [`broker`] | messages between brokers: rates of services (Parley, 2014, section 6.2) |
//!
//! The data plane's eBPF programs implement these in C; tests of crate `dataplane` compare both, packet by packet.
#![no_std]

extern crate alloc;

pub mod broker;
mod bucket;
mod classifier;
mod demand;
mod frame;
mod mac;
pub mod probe;
mod tag;
mod waiting;

pub use bucket::TokenBucket;
pub use classifier::{Classifier, PacketSelector};
pub use demand::BucketDemand;
pub use frame::{Family, ParseError, ParsedFrame, Ports};
pub use mac::{Mac, ParseMacError, mac_of};
pub use tag::{MAX_TAGS, SEQUENCE_TYPE, Stack, TAG_TYPE, Tag, TagError, is_tag_type, wire_bytes};
pub use waiting::{LONGEST_WAIT, QueueLimit, paced};
