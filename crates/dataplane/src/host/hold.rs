//! Where packets wait for the tokens of their contract, and where super-frames are cut into frames.
//!
//! ```text
//! endpoint ── tokens, nobody waits ────────────────────────────────> uplink
//!     │                                                                ^
//!     ├─ too few tokens ─> wl-shape (HTB, a class per contract) ─┐     │ tags
//!     └─ a super-frame ──> wl-split (TBF) ────────────────────────┴─> wl-hold: `held`
//! ```
//!
//! The bucket in the eBPF programs decides and is exact; the classes only hold packets back at the contract's rate. A packet that a
//! class lets go before the bucket has tokens for it is sent back to the class, which has been charged for it meanwhile. So what
//! leaves never exceeds the admitted curve, however inexact the discipline is (HTB lets a packet or two too many pass).
//! docs/decisions/081 has what was measured.
//!
//! `wl-shape` and `wl-split` are macvlans over `wl-hold`, one end of a pair whose other end is not used: a macvlan hands its packets to the
//! interface below at once, in the same order, where the program at the egress sees them; nothing is ever sent by `wl-hold`.

use std::collections::BTreeMap;

use wayleave_units::{Bytes, Rate, Time};

use super::waiting::{Holder, Shape, paced};
use super::{Host, HostProgram};
use crate::error::Error;
use crate::net::{Batch, Namespace, NetError, attach_egress, disable_ipv6, output};

/// The interface below, its unused peer, and the two above.
const LOWER: &str = "wl-hold";
const PEER: &str = "wl-hold-end";
const SHAPER: &str = "wl-shape";
const SPLITTER: &str = "wl-split";
/// The handle of the discipline: `WAITING` of bpf/host.c.
const HANDLE: u32 = 1;
/// The class of packets whose class is missing: slow, so that they do not come back to the program all the time.
const LOST: u32 = 0xffff;
/// Packets of a class that HTB may hold: more than the program lets wait.
const LENGTH: u32 = 100_000;
/// No frame is longer, with its tags.
const FRAME: u32 = 9_216;
/// Timers that fire late shall not cost rate: a class makes up for what it could not send in this time. As `LATENESS_PER_SECOND` of ports,
/// but longer, since a packet that leaves a class too early does no harm here.
const LATENESS: Time = Time::from_millis(1);
fn failed(error: NetError) -> Error {
    Error::Failed { doing: "making the place where packets wait".to_owned(), why: error.to_string() }
}

/// Whether an interface is in the namespace of this thread, and its index.
fn index(interface: &str) -> Option<u32> {
    nix::net::if_::if_nametoindex(interface).ok()
}

impl Host {
    /// From now on packets for which their contract has too few tokens wait, up to about this long, instead of being dropped; rules that are
    /// installed already have to be installed again. Super-frames are cut into frames. To be called in the network namespace of the host.
    ///
    /// What is there already, as an agent before has left it, is used again; nothing that waits there is lost.
    ///
    /// # Errors
    /// If the kernel has no macvlan or HTB, or refuses.
    pub fn hold(&mut self, longest: Time) -> Result<(), Error> {
        let here = Namespace::here();
        if [LOWER, SHAPER, SPLITTER].iter().any(|interface| index(interface).is_none()) {
            remove_interfaces(&here)?;
            make_interfaces(&here).map_err(failed)?;
        }
        let mut batch = Batch::tc();
        batch.extend(attach_egress(LOWER, &self.pinned(HostProgram::Held)));
        batch.line(splitting());
        if !has_root(&here)? {
            batch.line(format_args!("qdisc replace dev {SHAPER} root handle {HANDLE}: htb default {LOST:x}"));
            batch.line(class(LOST, Shape { rate: 1_000, burst: 1_600, overhead: 0 }));
        }
        batch.run(&here).map_err(failed)?;
        let (Some(ifindex), Some(splitter)) = (index(SHAPER), index(SPLITTER)) else {
            return Err(Error::Refused(format!("{SHAPER} and {SPLITTER} have gone again")));
        };
        self.holder = Some(Holder { ifindex, splitter, longest, classes: BTreeMap::new() });
        self.write_settings()
    }

    /// Takes the interfaces away where packets wait, with those that wait there.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn let_go(&mut self) -> Result<(), Error> {
        self.holder = None;
        self.write_settings()?;
        remove_interfaces(&Namespace::here())
    }

    /// Makes the class of a slot as its rule needs it.
    pub(super) fn write_class_of(&mut self, slot: u32, rate: Rate, burst: Bytes, overhead: u32) -> Result<(), Error> {
        let Some(holder) = &mut self.holder else { return Ok(()) };
        let late = u128::from(rate.bits_per_second()) * u128::from(LATENESS.as_nanos()) / 8_000_000_000;
        let burst = burst.get().min(u64::try_from(late).unwrap_or(u64::MAX)).max(1);
        let shape = Shape { rate: paced(rate), burst, overhead: overhead + 24 };
        if holder.classes.get(&slot) == Some(&shape) {
            return Ok(());
        }
        Batch::tc().extend([class(slot + 1, shape)]).run(&Namespace::here()).map_err(failed)?;
        holder.classes.insert(slot, shape);
        Ok(())
    }

    /// What waits in the class of a slot that has no rule any more is dropped.
    pub(super) fn remove_class_of(&mut self, slot: u32) -> Result<(), Error> {
        let Some(holder) = &mut self.holder else { return Ok(()) };
        holder.classes.remove(&slot);
        // Programs that have seen the rule send to the class until they have ended.
        self.is_stale = true;
        self.settle()?;
        // It is not there if another process has removed it, or made the interface again.
        let _ = Batch::tc()
            .extend([format!("class del dev {SHAPER} classid {HANDLE}:{:x}", slot + 1)])
            .run(&Namespace::here());
        Ok(())
    }
}

/// The line for `tc` that makes or changes a class. Numbers of classes are hexadecimal.
fn class(minor: u32, shape: Shape) -> String {
    let Shape { rate, burst, overhead } = shape;
    format!(
        "class replace dev {SHAPER} parent {HANDLE}: classid {HANDLE}:{minor:x} htb rate {rate}bps burst {burst} ceil {rate}bps \
         cburst {burst} mpu 84 overhead {overhead} quantum 1600"
    )
}

/// The line for `tc` that makes the splitter cut. A macvlan itself leaves super-frames to the interface below; TBF cuts what is longer than
/// its bucket. With what the size table adds every super-frame is, and what comes of it is not. It is so fast that nothing waits.
fn splitting() -> String {
    format!(
        "qdisc replace dev {SPLITTER} root handle 1: stab overhead {FRAME} linklayer ethernet tbf rate 400gbit burst {FRAME} limit 100m"
    )
}

fn has_root(here: &Namespace) -> Result<bool, Error> {
    let shown = output(here, "tc", &["qdisc", "show", "dev", SHAPER, "root"]).map_err(failed)?;
    Ok(shown.contains(&format!("qdisc htb {HANDLE}:")))
}

fn make_interfaces(here: &Namespace) -> Result<(), NetError> {
    let mut batch = Batch::ip();
    // No frame of an endpoint is larger than this, and super-frames are cut by the sizes of their segments.
    batch.line(format_args!("link add {LOWER} mtu 65535 arp off type veth peer name {PEER} mtu 65535 arp off"));
    batch.line(format_args!("link set dev {LOWER} up"));
    for above in [SHAPER, SPLITTER] {
        batch.line(format_args!(
            "link add {above} link {LOWER} mtu 65535 txqueuelen {LENGTH} arp off type macvlan mode private"
        ));
    }
    batch.run(here)?;
    for interface in [LOWER, PEER, SHAPER, SPLITTER] {
        disable_ipv6(here, interface)?;
    }
    let mut batch = Batch::ip();
    for interface in [PEER, SHAPER, SPLITTER] {
        batch.line(format_args!("link set dev {interface} up"));
    }
    batch.run(here)
}

/// What is left of them goes; those above go with the one below.
fn remove_interfaces(here: &Namespace) -> Result<(), Error> {
    for interface in [SHAPER, SPLITTER, LOWER] {
        if index(interface).is_some() {
            Batch::ip().extend([format!("link del dev {interface}")]).run(here).map_err(failed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_counts_what_is_on_the_wire() {
        let line = class(17, Shape { rate: 1_250_000, burst: 1_250, overhead: 32 });
        assert!(line.contains("classid 1:11 htb rate 1250000bps burst 1250"), "{line}");
        assert!(line.contains("mpu 84 overhead 32"), "{line}");
    }
}
