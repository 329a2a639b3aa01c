//! The queueing disciplines and classes that interfaces have in the kernel, read by messages (rtnetlink(7)).

use std::collections::BTreeMap;
use std::io;

use super::filters::Filter;
use super::htb::{HtbClass, TICK_NS};
use super::netlink::{Netlink, find, long, number, short};

/// include/uapi/linux/rtnetlink.h
const GET_DISCIPLINE: u16 = 38;
const GET_CLASS: u16 = 42;
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
const STAB: u16 = 8;
/// `TC_H_ROOT` of include/uapi/linux/pkt_sched.h
const ROOT: u32 = 0xffff_ffff;
const STAB_BASE: u16 = 1;
const TBF_PARAMETERS: u16 = 1;
const TBF_RATE64: u16 = 4;
const HTB_PARAMETERS: u16 = 1;
const HTB_GLOBAL: u16 = 2;
const HTB_RATE64: u16 = 6;
const HTB_CEIL64: u16 = 7;
/// Bytes of `struct tcmsg` and of `struct tc_ratespec`.
const HEAD: usize = 20;
const SPEC: usize = 12;

/// A discipline of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Discipline {
    pub(crate) ifindex: u32,
    pub(crate) handle: u32,
    pub(crate) parent: u32,
    /// As `tc` calls it.
    pub(crate) kind: String,
    /// Its parameters, where they are known here.
    pub(crate) given: QdiscParams,
    /// Bytes that its size table adds to every frame.
    pub(crate) table: Option<i32>,
}

/// Parameters of a discipline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum QdiscParams {
    Tbf(Tbf),
    /// The class of packets that name none.
    Htb {
        default: u32,
    },
    /// Bytes, or packets.
    Fifo {
        limit: u32,
    },
    Other,
}

/// A token bucket filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tbf {
    /// Bytes a second.
    pub(crate) rate: u64,
    /// Bytes that each frame takes more than it has.
    pub(crate) overhead: u16,
    /// Bytes that may wait.
    pub(crate) limit: u32,
    /// Transmission time of its burst, in ns.
    pub(crate) burst_ns: u64,
}

/// A class of HTB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub(crate) handle: u32,
    pub(crate) parent: u32,
    /// Bytes a second that it is sure of, and at most.
    pub(crate) rate: u64,
    pub(crate) ceiling: u64,
    pub(crate) overhead: u16,
    /// Transmission times of its bursts at these rates, in ns.
    pub(crate) burst_ns: u64,
    pub(crate) ceiling_burst_ns: u64,
    pub(crate) quantum: u32,
    pub(crate) priority: u32,
}

/// An interface.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interface {
    pub(crate) mtu: u64,
    /// Packets that a discipline holds which was given no limit.
    pub(crate) length: u32,
    pub(crate) is_up: bool,
    pub(crate) disciplines: Vec<Discipline>,
    /// Classes of HTB, by handle.
    pub(crate) leaves: BTreeMap<u32, Leaf>,
    pub(crate) filters: Vec<Filter>,
}

impl Interface {
    /// The discipline with this major number.
    pub(crate) fn discipline(&self, major: u16) -> Option<&Discipline> {
        self.disciplines.iter().find(|one| one.handle == u32::from(major) << 16)
    }
}

impl Discipline {
    /// Returns `true` if it is the root discipline.
    pub(crate) const fn is_root(&self) -> bool {
        self.parent == ROOT
    }

    fn read(body: &[u8]) -> Option<Self> {
        let (ifindex, handle, parent) = (number(body, 4)?, number(body, 8)?, number(body, 12)?);
        let attributes = body.get(HEAD..)?;
        let kind = find(attributes, KIND)?;
        let kind = String::from_utf8_lossy(kind.strip_suffix(&[0]).unwrap_or(kind)).into_owned();
        let given = find(attributes, OPTIONS).and_then(|options| given(&kind, options)).unwrap_or(QdiscParams::Other);
        // `struct tc_sizespec`: two bytes, two more, and the overhead.
        let table = find(attributes, STAB).and_then(|table| number(find(table, STAB_BASE)?, 4));
        Some(Self { ifindex, handle, parent, kind, given, table: table.map(u32::cast_signed) })
    }
}

fn given(kind: &str, options: &[u8]) -> Option<QdiscParams> {
    match kind {
        "tbf" => {
            // `struct tc_tbf_qopt`: the rate, the peak rate, limit, burst.
            let parameters = find(options, TBF_PARAMETERS)?;
            let rate = find(options, TBF_RATE64).and_then(|rate| long(rate, 0));
            let ticks = u64::from(number(parameters, 2 * SPEC + 4)?);
            Some(QdiscParams::Tbf(Tbf {
                rate: rate.or_else(|| number(parameters, 8).map(u64::from))?,
                overhead: short(parameters, 2)?,
                limit: number(parameters, 2 * SPEC)?,
                burst_ns: ticks * TICK_NS,
            }))
        }
        // `struct tc_htb_glob`: version, quantum, default.
        "htb" => Some(QdiscParams::Htb { default: number(find(options, HTB_GLOBAL)?, 8)? }),
        "bfifo" | "pfifo" => Some(QdiscParams::Fifo { limit: number(options, 0)? }),
        _ => None,
    }
}

impl Leaf {
    fn read(body: &[u8]) -> Option<Self> {
        let (handle, parent, attributes) = (number(body, 8)?, number(body, 12)?, body.get(HEAD..)?);
        if find(attributes, KIND)? != b"htb\0" {
            return None;
        }
        let options = find(attributes, OPTIONS)?;
        // `struct tc_htb_opt`: rate, ceiling, their bursts, quantum, level, priority.
        let parameters = find(options, HTB_PARAMETERS)?;
        let of = |wide: u16, at: usize| match find(options, wide) {
            Some(rate) => long(rate, 0),
            None => number(parameters, at + 8).map(u64::from),
        };
        Some(Self {
            handle,
            parent,
            rate: of(HTB_RATE64, 0)?,
            ceiling: of(HTB_CEIL64, SPEC)?,
            overhead: short(parameters, 2)?,
            burst_ns: u64::from(number(parameters, 2 * SPEC)?) * TICK_NS,
            ceiling_burst_ns: u64::from(number(parameters, 2 * SPEC + 4)?) * TICK_NS,
            quantum: number(parameters, 2 * SPEC + 8)?,
            priority: number(parameters, 2 * SPEC + 16)?,
        })
    }

    /// Returns `true` if it is this class, at the root.
    pub(crate) fn is(&self, class: &HtbClass) -> bool {
        let [burst, ceiling_burst] = class.bursts_ns();
        (self.rate, self.ceiling, self.overhead, self.quantum)
            == (class.rate, class.ceiling, class.overhead, class.quantum)
            && is_about(self.burst_ns, burst)
            && is_about(self.ceiling_burst_ns, ceiling_burst)
    }

    /// Returns `true` if it is this class below another one.
    pub(crate) fn is_below(&self, class: &HtbClass) -> bool {
        (self.parent & 0xffff, self.priority) == (u32::from(class.parent), class.priority) && self.is(class)
    }
}

/// Returns `true` if two times differ only by the rounding of the kernel and `tc`.
pub(crate) const fn is_about(one: u64, other: u64) -> bool {
    one.abs_diff(other) <= 4 * TICK_NS + other / 1_000
}

/// All disciplines in the network namespace of this thread.
pub(crate) fn disciplines() -> io::Result<Vec<Discipline>> {
    let bodies = Netlink::open()?.list(GET_DISCIPLINE, &[0; HEAD])?;
    Ok(bodies.iter().filter_map(|body| Discipline::read(body)).collect())
}

/// The classes of HTB of an interface, by their handles.
pub(crate) fn classes(ifindex: u32) -> io::Result<BTreeMap<u32, Leaf>> {
    let mut body = [0; HEAD];
    body[4..8].copy_from_slice(&ifindex.to_ne_bytes());
    let bodies = Netlink::open()?.list(GET_CLASS, &body)?;
    Ok(bodies.iter().filter_map(|body| Leaf::read(body)).map(|leaf| (leaf.handle, leaf)).collect())
}
