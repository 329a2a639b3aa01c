//! The plumbing under the data plane: namespaces, virtual links, the queues of a port.
//!
//! Most settings are made by `ip -batch` and `tc -batch`: many lines in one process. The classes of contracts are
//! made by messages to the kernel, since there are many and they are created individually. Attachments of interfaces
//! are read by messages, which contain more than `tc` shows. Programs run inside a namespace by `setns` of the thread
//! that starts them. `ip netns exec` and `ip -n` would mount a new /sys there, and hide the pins below it.

mod attached;
mod batch;
mod capture;
mod carrier;
mod counters;
mod disciplines;
mod error;
mod filters;
mod htb;
mod injector;
mod interface_counters;
mod link;
mod names;
mod namespace;
mod netlink;
mod pass;
mod qdisc;
mod service;

pub(crate) use attached::interfaces;
pub use attached::{Attached, Hook};
pub use batch::{ToolBatch, output};
pub use capture::{Capture, Captured};
pub use carrier::{LinkWatch, with_carrier};
pub use counters::{QueueCounters, queue_counters};
pub(crate) use disciplines::{Interface, QdiscParams, is_about};
pub use error::NetError;
pub use htb::{HtbClass, HtbClasses};
pub use injector::Injector;
pub use interface_counters::{CounterReading, FrameCounters, InterfaceCounters};
pub(crate) use link::disable_ipv6;
pub use link::{
    VLAN_ROOM, VethEnd, attach_egress, attach_ingress, attach_pass, check_interface, create_veth, mtu, plain_packets,
};
pub use namespace::Namespace;
pub use pass::pin_pass;
pub use qdisc::{MAX_CLASSES, PortQdisc};
pub use service::{ServicePort, SharedPortService};
