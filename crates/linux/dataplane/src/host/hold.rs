//! Queues in which packets wait for the tokens of their contract, and in which super-frames are cut into frames.
//!
//! ```text
//! endpoint ── enough tokens ───────────────────────────────────────> uplink
//!     │                                                                ^
//!     ├─ too few tokens ─> wl-shape (HTB, classes per contract) ─┐     │ tags
//!     └─ a super-frame ──> wl-split (TBF) ────────────────────────┴─> wl-hold: `held`
//! ```
//!
//! The bucket in the eBPF programs decides and is exact; the classes only hold packets back at the contract's rate. A
//! packet that a class releases before the bucket has tokens for it is sent back to the class, which has already been
//! charged for it. So the output never exceeds the admitted curve, however inexact the discipline is (HTB lets a
//! packet or two too many pass). docs/decisions/081 has the measurements.
//!
//! Packets of a contract leave in order of arrival. So the class of a contract has two leaves, and lends its rate to
//! the first as long as that has packets: packets that were sent back wait in it, before all that came after them. A
//! leaf has to have a rate of its own, so once a minute a packet of the second leaf can be early; the program numbers
//! those that it sends back, and keeps their order.
//!
//! `wl-shape` and `wl-split` are macvlans over `wl-hold`, one end of a pair whose other end is not used. A macvlan
//! hands its packets at once and in order to the interface below, where the program at the egress sees them;
//! `wl-hold` never transmits anything.

use std::collections::BTreeMap;

use wayleave_units::{Bytes, Rate, Time};

use wayleave_packet_format::paced;

use super::waiting::{Holder, Shape};
use super::{Host, HostProgram};
use crate::error::Error;
use crate::net::{
    Attached, HtbClass, HtbClasses, Interface, Namespace, NetError, QdiscParams, ToolBatch, attach_egress,
    disable_ipv6, interfaces, is_about,
};

/// The interface below, its unused peer, and the two above.
const LOWER: &str = "wl-hold";
const PEER: &str = "wl-hold-end";
const SHAPER: &str = "wl-shape";
const SPLITTER: &str = "wl-split";
/// The handle of the discipline: `WAITING` of bpf/host.c.
const HANDLE: u16 = 1;
/// The bits of the leaves' numbers: packets that left too early, and after them all others. `EARLY` and `QUEUE` of bpf/host.c.
const LEAVES: [u16; 2] = [0x8000, 0x4000];
/// Slots of which the classes have numbers: `SLOTS` of bpf/host.c.
const SLOTS: u16 = 0x3fff;
/// The class of packets whose class is missing: slow, so that they do not come back to the program all the time.
const LOST: u16 = 0xffff;
const UNASSIGNED: Shape = Shape { rate: 1_000, burst: 1_600, overhead: 0 };
/// Packets of a class that HTB may hold: more than the program lets wait.
const LENGTH: u32 = 100_000;
/// Wire size of the shortest frame, and the approximate size of a full one: the amounts that a class may send at its
/// turn.
const SHORTEST: u16 = 84;
const FULL: u32 = 1_600;
/// Upper bound on the length of a frame, with its tags and the kernel's rounding: `ETH_MAX_MTU` is 65,535 B. (Where
/// it was 9,216 B, super-frames of larger frames were dropped.)
const FRAME: u32 = 70_000;
/// Timers that fire late must not reduce the rate: a class makes up for the amount that it could not send in this
/// time. As `LATENESS_PER_SECOND` of ports, but longer, since a packet that leaves a class too early does no harm
/// here.
const LATENESS: Time = Time::from_millis(1);
/// No frame of an endpoint is larger than this, and super-frames are cut by the sizes of their segments.
const MTU: u32 = 65_535;
/// Bytes a second: so fast that nothing waits.
const FASTEST: u64 = 50_000_000_000;

fn failed(error: NetError) -> Error {
    Error::Failed { doing: "creating the shaper".to_owned(), why: error.to_string() }
}

fn refused(error: std::io::Error) -> Error {
    Error::failed("creating the shaper class of a contract", error)
}

/// Returns the index of an interface, if it is in the namespace of this thread.
fn index(interface: &str) -> Option<u32> {
    nix::net::if_::if_nametoindex(interface).ok()
}

impl Host {
    /// From now on packets for which their contract has too few tokens wait, up to about this long, instead of being
    /// dropped; rules that are installed already have to be reinstalled. Super-frames are cut into frames. To be
    /// called in the network namespace of the host.
    ///
    /// Interfaces and queues of an earlier agent are reused; no packet that waits there is lost.
    ///
    /// # Errors
    /// If the kernel has no macvlan or HTB, or refuses.
    pub fn hold(&mut self, longest: Time) -> Result<(), Error> {
        let here = Namespace::current();
        if [LOWER, SHAPER, SPLITTER].iter().any(|interface| index(interface).is_none()) {
            remove_interfaces(&here)?;
            make_interfaces(&here).map_err(failed)?;
        }
        enable(&here).map_err(failed)?;
        let mut batch = ToolBatch::tc();
        batch.extend(attach_egress(LOWER, &self.pinned(HostProgram::Held)));
        batch.line(splitting());
        if !has_root(&here)? {
            // HTB with the same handle cannot be changed, so another discipline replaces the existing one first.
            batch.line(format_args!("qdisc replace dev {SHAPER} root pfifo"));
            batch.line(format_args!("qdisc replace dev {SHAPER} root handle {HANDLE}: htb default {LOST:x}"));
        }
        batch.run(&here).map_err(failed)?;
        let (Some(ifindex), Some(splitter)) = (index(SHAPER), index(SPLITTER)) else {
            return Err(Error::Refused(format!("{SHAPER} and {SPLITTER} have disappeared")));
        };
        let mut kernel = HtbClasses::open().map_err(refused)?;
        kernel.set(ifindex, &class(LOST, UNASSIGNED)).map_err(refused)?;
        self.holder = Some(Holder { kernel, ifindex, splitter, longest, classes: BTreeMap::new() });
        self.write_settings()
    }

    /// Returns the fault of the waiting queues, if there is one; then [`Host::hold`] rebuilds them, and rules have to
    /// be reinstalled.
    pub fn hold_problem(&self, there: &Attached) -> Option<String> {
        let holder = self.holder.as_ref()?;
        if index(SHAPER) != Some(holder.ifindex) || index(SPLITTER) != Some(holder.splitter) || index(LOWER).is_none() {
            return Some(format!("{SHAPER}, {SPLITTER} or {LOWER} was missing"));
        }
        let [shaper, splitter] = [SHAPER, SPLITTER].map(|name| there.interface(name));
        if !shaper.is_some_and(is_shaper) || !splitter.is_some_and(is_splitter) {
            return Some(format!("the queues of {SHAPER} or {SPLITTER} had been changed"));
        }
        let is_usable = |name: &&str| there.interface(name).is_some_and(|one| one.is_up && one.mtu == u64::from(MTU));
        if let Some(name) = [LOWER, PEER, SHAPER, SPLITTER].iter().find(|name| !is_usable(name)) {
            return Some(format!("{name} was down, or its MTU had been changed"));
        }
        None
    }

    /// The contracts whose classes are not as they were made; their rules have to be installed again.
    pub fn lost_classes(&mut self, there: &Attached) -> Vec<u64> {
        let (Some(holder), Some(found)) = (&mut self.holder, there.interface(SHAPER)) else { return Vec::new() };
        let is_there = |slot: u32, shape: Shape| {
            let minor = minor(slot).unwrap_or(LOST);
            let of = |minor: u16| found.leaves.get(&(u32::from(HANDLE) << 16 | u32::from(minor)));
            of(minor).is_some_and(|found| found.is(&class(minor, shape)))
                && leaves(minor, shape).iter().all(|leaf| of(leaf.handle.1).is_some_and(|found| found.is_below(leaf)))
        };
        let before = holder.classes.len();
        holder.classes.retain(|&slot, shape| is_there(slot, *shape));
        if holder.classes.len() == before {
            return Vec::new();
        }
        let lost = self.slots.iter().filter(|(_, (slot, _))| !holder.classes.contains_key(slot));
        lost.map(|(&serial, _)| serial).collect()
    }

    /// Returns the interface at whose egress packets continue after their wait; `None` if packets do not wait.
    pub fn holding_interface(&self) -> Option<&'static str> {
        self.holder.as_ref().filter(|_| index(LOWER).is_some()).map(|_| LOWER)
    }

    /// The interface with a class for each contract, where packets wait.
    pub fn waiting_interface(&self) -> Option<&'static str> {
        self.holder.as_ref().filter(|_| index(SHAPER).is_some()).map(|_| SHAPER)
    }

    /// Returns the maximum waiting time; `None` if packets do not wait.
    pub fn holding(&self) -> Option<Time> {
        self.holder.as_ref().map(|holder| holder.longest)
    }

    /// Takes the interfaces away where packets wait, with those that wait there.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn release_hold(&mut self) -> Result<(), Error> {
        self.holder = None;
        self.write_settings()?;
        remove_interfaces(&Namespace::current())
    }

    /// Makes the classes of a slot as its rule needs them.
    pub(super) fn write_class_of(&mut self, slot: u32, rate: Rate, burst: Bytes, overhead: u32) -> Result<(), Error> {
        let Some(holder) = &mut self.holder else { return Ok(()) };
        let late = u128::from(rate.bits_per_second()) * u128::from(LATENESS.as_nanos()) / 8_000_000_000;
        let burst = burst.get().min(u64::try_from(late).unwrap_or(u64::MAX)).max(1);
        let shape = Shape { rate: paced(rate), burst, overhead: overhead + 24 };
        if holder.classes.get(&slot) == Some(&shape) {
            return Ok(());
        }
        let minor = minor(slot).ok_or_else(|| Error::Refused(format!("HTB has no class for slot {slot}")))?;
        for class in [class(minor, shape)].iter().chain(&leaves(minor, shape)) {
            holder.kernel.set(holder.ifindex, class).map_err(refused)?;
        }
        holder.classes.insert(slot, shape);
        Ok(())
    }

    /// Removes the class of a slot that has no rule any more. Packets that wait in the class are dropped.
    pub(super) fn remove_class_of(&mut self, slot: u32) -> Result<(), Error> {
        let Some(holder) = &mut self.holder else { return Ok(()) };
        holder.classes.remove(&slot);
        // Programs that have seen the rule send to the class until they have ended.
        self.is_stale = true;
        self.settle()?;
        if let (Some(holder), Some(minor)) = (&mut self.holder, minor(slot)) {
            for class in LEAVES.map(|leaf| minor | leaf).into_iter().chain([minor]) {
                // The interface may be another one, or gone: then the class is, too.
                let _ = holder.kernel.remove(holder.ifindex, (HANDLE, class));
            }
        }
        Ok(())
    }
}

/// The number of the class of a slot; its leaves have the same with a bit of [`LEAVES`].
fn minor(slot: u32) -> Option<u16> {
    u16::try_from(slot + 1).ok().filter(|&minor| minor <= SLOTS)
}

/// A class as the kernel wants it.
fn class(minor: u16, Shape { rate, burst, overhead }: Shape) -> HtbClass {
    let overhead = u16::try_from(overhead).unwrap_or(u16::MAX);
    HtbClass {
        handle: (HANDLE, minor),
        parent: 0,
        priority: 0,
        rate,
        ceiling: rate,
        burst,
        ceiling_burst: burst,
        overhead,
        least: SHORTEST,
        quantum: FULL,
    }
}

/// The leaves of a class. HTB wants a rate for each: the least one, so that what they send is lent by the class.
fn leaves(minor: u16, shape: Shape) -> [HtbClass; 2] {
    [0, 1].map(|at| HtbClass {
        handle: (HANDLE, minor | LEAVES[at]),
        parent: minor,
        priority: at as u32,
        rate: 1,
        burst: 0,
        ceiling: FASTEST,
        ceiling_burst: FASTEST / 1_000,
        ..class(minor, shape)
    })
}

/// Returns the line for `tc` that makes the splitter cut. A macvlan itself leaves super-frames to the interface
/// below; TBF cuts packets that are longer than its bucket. The size table adds an amount by which every super-frame
/// is longer, and no resulting frame is.
fn splitting() -> String {
    format!(
        "qdisc replace dev {SPLITTER} root handle 1: stab overhead {FRAME} linklayer ethernet tbf rate 400gbit burst {FRAME} limit 100m"
    )
}

/// Returns `true` if this is the interface with the classes of contracts.
fn is_shaper(found: &Interface) -> bool {
    let root = found.discipline(HANDLE).filter(|one| one.is_root());
    let is_default =
        root.is_some_and(|one| matches!(one.given, QdiscParams::Htb { default } if default == u32::from(LOST)));
    let handle = u32::from(HANDLE) << 16 | u32::from(LOST);
    let has_lost = found.leaves.get(&handle).is_some_and(|leaf| leaf.is(&class(LOST, UNASSIGNED)));
    let is_alone = found.disciplines.iter().all(|one| one.is_root() || one.kind == "clsact");
    is_default && has_lost && is_alone && found.length == LENGTH
}

/// Returns `true` if this is the interface that cuts super-frames.
fn is_splitter(found: &Interface) -> bool {
    let root = found.discipline(1).filter(|one| one.is_root());
    root.is_some_and(|one| {
        let burst = u64::from(FRAME) * 1_000_000_000 / FASTEST;
        let is_fast =
            matches!(&one.given, QdiscParams::Tbf(tbf) if tbf.rate == FASTEST && is_about(tbf.burst_ns, burst));
        one.table == i32::try_from(FRAME).ok() && is_fast
    })
}

fn has_root(here: &Namespace) -> Result<bool, Error> {
    let found = here.run(interfaces).map_err(failed)?.map_err(refused)?;
    Ok(found.get(SHAPER).is_some_and(is_shaper))
}

fn make_interfaces(here: &Namespace) -> Result<(), NetError> {
    let mut batch = ToolBatch::ip();
    batch.line(format_args!("link add {LOWER} mtu {MTU} arp off type veth peer name {PEER} mtu {MTU} arp off"));
    for above in [SHAPER, SPLITTER] {
        batch.line(format_args!(
            "link add {above} link {LOWER} mtu {MTU} txqueuelen {LENGTH} arp off type macvlan mode private"
        ));
    }
    batch.run(here)?;
    for interface in [LOWER, PEER, SHAPER, SPLITTER] {
        disable_ipv6(here, interface)?;
    }
    Ok(())
}

/// They take every frame.
fn enable(here: &Namespace) -> Result<(), NetError> {
    let mut batch = ToolBatch::ip();
    for interface in [LOWER, PEER] {
        batch.line(format_args!("link set dev {interface} mtu {MTU} up"));
    }
    for interface in [SHAPER, SPLITTER] {
        batch.line(format_args!("link set dev {interface} mtu {MTU} txqueuelen {LENGTH} up"));
    }
    batch.run(here)
}

/// Removes the remaining interfaces; the upper ones are removed with the lower one.
fn remove_interfaces(here: &Namespace) -> Result<(), Error> {
    for interface in [SHAPER, SPLITTER, LOWER] {
        if index(interface).is_some() {
            ToolBatch::ip().extend([format!("link del dev {interface}")]).run(here).map_err(failed)?;
        }
    }
    Ok(())
}
