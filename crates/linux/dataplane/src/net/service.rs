//! One queue behind all ports of a switch: a low-cost switch, whose ports share a processor that is slower than they
//! are (Loko, CoNEXT 2019).
//!
//! It is a network namespace in front of the switch. Each cable ends at a front there, and a back leads to the
//! switch's own port. Frames from a cable pass one pair of interfaces with a rate and a buffer; frames from the
//! switch go to its cable at once.

use std::path::Path;

use wayleave_units::{Bytes, Rate};

use super::batch::ToolBatch;
use super::error::NetError;
use super::link::{attach_ingress, check_interface};
use super::namespace::Namespace;
use super::qdisc::PortQdisc;
use crate::error::Error;
use crate::programs::Pins;

/// The programs of a service, compiled.
static SERVICE: &[u8] = aya::include_bytes_aligned!("../../bpf/objects/service.o");
/// Both ends of the pair: frames wait in front of the first, and leave the second.
const QUEUE: &str = "queue";
const SERVED: &str = "served";

/// Service that all ports of a switch share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedPortService {
    /// Rate at which frames are served, in wire bytes: with their tags and 24 B around them.
    pub rate: Rate,
    /// Bytes of frames that wait.
    pub buffer: Bytes,
}

/// Interfaces that the frames of a port pass: the index of the back is that of the front plus one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServicePort<'a> {
    /// The interface towards the cable.
    pub front: &'a str,
    /// The interface towards the switch.
    pub back: &'a str,
}

impl SharedPortService {
    /// Begins to serve in a namespace in which the interfaces of all ports are, and up. `mtu` is that of the ports; programs are pinned in a folder of a bpf file
    /// system.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn begin(self, at: &Namespace, ports: &[ServicePort<'_>], mtu: u32, pins: &Path) -> Result<(), Error> {
        let pins = Pins::open(pins, SERVICE, |_| ())?;
        let mut ip = ToolBatch::ip();
        ip.line(format_args!(
            "link add {QUEUE} mtu {mtu} numtxqueues 1 numrxqueues 1 type veth peer name {SERVED} mtu {mtu} numtxqueues 1 numrxqueues 1"
        ));
        ip.extend([QUEUE, SERVED].map(|end| format!("link set dev {end} up")));
        ip.run(at).map_err(refused)?;
        let mut tc = ToolBatch::tc();
        let (rate, burst) = (self.rate.bits_per_second(), PortQdisc::burst_at(self.rate, Bytes::new(u64::from(mtu))));
        let (buffer, overhead) = (self.buffer.get(), PortQdisc::overhead(true));
        tc.line(format_args!(
            "qdisc replace dev {QUEUE} root tbf rate {rate} burst {burst} limit {buffer} overhead {overhead}"
        ));
        tc.extend(attach_ingress(SERVED, &pins.path("serve")));
        for ServicePort { front, back } in ports {
            check_interface(front).and_then(|()| check_interface(back)).map_err(refused)?;
            let program = pins.path("enter");
            for interface in [front, back] {
                tc.line(format_args!("qdisc replace dev {interface} clsact"));
            }
            tc.line(format_args!(
                "filter add dev {front} ingress pref 1 protocol all bpf object-pinned {} action mirred egress redirect dev {QUEUE}",
                program.display()
            ));
            tc.line(format_args!(
                "filter add dev {back} ingress pref 1 protocol all u32 match u32 0 0 action mirred egress redirect dev {front}"
            ));
        }
        tc.run(at).map_err(refused)
    }
}

fn refused(error: NetError) -> Error {
    Error::Refused(error.to_string())
}
