//! Counters of the interfaces of a namespace, as the kernel has them.

use std::collections::BTreeMap;
use std::io;

use nix::time::{ClockId, clock_gettime};

use super::netlink::{Netlink, find, long, number};

/// include/uapi/linux/rtnetlink.h
const GET_LINK: u16 = 18;
const GET_DISCIPLINE: u16 = 38;
/// include/uapi/linux/if_link.h
const NAME: u16 = 3;
const STATS: u16 = 23;
/// Bytes of `struct ifinfomsg` and of `struct tcmsg`.
const LINK_HEAD: usize = 16;
const DISCIPLINE_HEAD: usize = 20;
/// `TCA_STATS2` and `TCA_STATS_QUEUE`; `drops` of `struct gnet_stats_queue`.
const DISCIPLINE_STATS: u16 = 7;
const QUEUE_STATS: u16 = 3;
const QUEUE_DROPS: usize = 8;
/// `TC_H_ROOT` of include/uapi/linux/pkt_sched.h.
const ROOT: u32 = 0xffff_ffff;

/// Frames of an interface in one direction since it was created. As include/uapi/linux/if_link.h demands of drivers,
/// bytes are those of Ethernet frames without the frame check sequence. A virtual interface counts what it is given: a
/// frame below 60 B without padding, and merged packets as one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounters {
    /// Frames.
    pub packets: u64,
    /// Bytes of the frames.
    pub bytes: u64,
    /// Frames that were dropped: before they were sent, by the queues and by the driver; or after they were received.
    pub dropped: u64,
}

/// Counters of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceCounters {
    /// Its index.
    pub index: u32,
    /// Frames that it sent.
    pub sent: FrameCounters,
    /// Frames that it received.
    pub received: FrameCounters,
}

/// Counters of all interfaces, read at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterReading {
    /// Time of the reading, in ns since the start of the kernel.
    pub read_ns: u64,
    /// Counters by the name of the interface.
    pub interfaces: BTreeMap<String, InterfaceCounters>,
}

impl CounterReading {
    /// Reads the counters of the caller's network namespace.
    ///
    /// # Errors
    /// If the kernel does not list them.
    pub fn now() -> io::Result<Self> {
        let mut netlink = Netlink::open()?;
        let links = netlink.list(GET_LINK, &[0; LINK_HEAD])?;
        let time = clock_gettime(ClockId::CLOCK_BOOTTIME)?;
        let nanos = |part: i64| u64::try_from(part).unwrap_or(0);
        let read_ns = nanos(time.tv_sec()) * 1_000_000_000 + nanos(time.tv_nsec());
        let disciplines = netlink.list(GET_DISCIPLINE, &[0; DISCIPLINE_HEAD])?;
        let drops: BTreeMap<u32, u64> = disciplines.iter().filter_map(|body| root_drops(body)).collect();
        let interfaces = links.iter().filter_map(|body| interface(body, &drops)).collect();
        Ok(Self { read_ns, interfaces })
    }
}

/// Returns the interface and the drops of a root discipline, which counts those of all disciplines below it.
fn root_drops(body: &[u8]) -> Option<(u32, u64)> {
    let (index, parent) = (number(body, 4)?, number(body, 12)?);
    let stats = find(body.get(DISCIPLINE_HEAD..)?, DISCIPLINE_STATS)?;
    let drops = number(find(stats, QUEUE_STATS)?, QUEUE_DROPS)?;
    (parent == ROOT).then_some((index, u64::from(drops)))
}

fn interface(body: &[u8], drops: &BTreeMap<u32, u64>) -> Option<(String, InterfaceCounters)> {
    let index = number(body, 4)?;
    let attributes = body.get(LINK_HEAD..)?;
    let name = find(attributes, NAME)?;
    let name = String::from_utf8_lossy(name).trim_end_matches('\0').to_owned();
    let stats = find(attributes, STATS)?;
    // `struct rtnl_link_stats64`: packets, bytes, errors and drops, each received and sent; `rx_missed_errors` is the
    // 16th.
    let at = |place: usize| long(stats, place * 8);
    let received = FrameCounters { packets: at(0)?, bytes: at(2)?, dropped: at(6)?.saturating_add(at(15)?) };
    let queued = drops.get(&index).copied().unwrap_or(0);
    let sent = FrameCounters { packets: at(1)?, bytes: at(3)?, dropped: at(7)?.saturating_add(queued) };
    Some((name, InterfaceCounters { index, sent, received }))
}

#[cfg(test)]
mod tests {
    use super::super::netlink::attribute;
    use super::*;

    #[test]
    fn counters_are_read_from_the_places_of_the_kernel() {
        let stats: Vec<u8> = (0..24_u64).flat_map(|place| (100 + place).to_ne_bytes()).collect();
        let mut body = vec![0; LINK_HEAD];
        body[4..8].copy_from_slice(&7_u32.to_ne_bytes());
        body.extend(attribute(NAME, b"up1\0"));
        body.extend(attribute(STATS, &stats));
        let mut discipline = vec![0; DISCIPLINE_HEAD];
        discipline[4..8].copy_from_slice(&7_u32.to_ne_bytes());
        discipline[12..16].copy_from_slice(&ROOT.to_ne_bytes());
        let queue = [1_u32, 2, 3, 4, 5].into_iter().flat_map(u32::to_ne_bytes).collect::<Vec<_>>();
        discipline.extend(attribute(DISCIPLINE_STATS, &attribute(QUEUE_STATS, &queue)));
        assert_eq!(root_drops(&discipline), Some((7, 3)));
        let received = FrameCounters { packets: 100, bytes: 102, dropped: 106 + 115 };
        let sent = FrameCounters { packets: 101, bytes: 103, dropped: 107 + 3 };
        let counters = InterfaceCounters { index: 7, sent, received };
        assert_eq!(interface(&body, &BTreeMap::from([(7, 3)])), Some(("up1".to_owned(), counters)));
        for length in 0..body.len() {
            assert_eq!(interface(&body[..length], &BTreeMap::new()), None, "{length}");
        }
        // A discipline below another one counts nothing that its root does not.
        discipline[12..16].copy_from_slice(&1_u32.to_ne_bytes());
        assert_eq!(root_drops(&discipline), None);
    }

    #[test]
    fn the_kernel_counts_the_loopback() {
        let (one, other) = (CounterReading::now().unwrap(), CounterReading::now().unwrap());
        assert!(one.read_ns > 0 && other.read_ns >= one.read_ns);
        assert!(one.interfaces.get("lo").is_some_and(|lo| lo.index > 0), "{:?}", one.interfaces.keys());
    }
}
