//! The queues of a port: a rate, and strict priorities below it.
//!
//! A token bucket filter (TBF) lets packets leave at the rate of the link, and takes them from hierarchical token buckets (HTB) whose
//! leaves differ in nothing but priority. So a packet that TBF holds is the packet on the wire: nothing overtakes it, and everything
//! behind it is ordered by priority alone. HTB is used as a priority scheduler because it is on nearly every kernel, and its
//! `skb->priority` chooses the class without a filter. Measured on a saturated port at 10 Mbit/s: the delay of the highest priority is at
//! most 1.2 times the time of one frame.

use wayleave_units::{Bytes, Rate};

use super::disciplines::{Interface, QdiscParams, is_about};
use super::error::NetError;
use crate::class::MAJOR;

/// The most queues of a port: the priorities of HTB (`TC_HTB_NUMPRIO` of the kernel).
pub const MAX_CLASSES: usize = 8;
/// Bytes of a frame beyond the payload of its link (MTU): header and tags, and a reserve.
const AROUND: u64 = 100;
/// Size of the shortest frame on the wire: it is padded to 60 B, and 24 B are around it.
const SHORTEST: u32 = 84;
/// Delay of a kernel timer up to which no rate is lost, as parts of a second: the bucket of TBF holds the amount at
/// its rate in this time (333 us), beside a frame. The amount beyond a frame lets the second frame of a burst leave
/// an idle port too early, so it is no larger. On a busy machine with two cores, 0.3 ms keep 99.5 % of 10 Mbit/s and
/// no two frames leave together. With nothing beside the frame 11 % of the rate were lost, and with 2 ms a fifth of
/// all frames left together with the one before (docs/decisions/049).
const LATENESS_PER_SECOND: u64 = 3_000;
/// Maximum limit of a bfifo (32 bits), where a host's own memory is the limit.
const MAX_BUFFER: u64 = 64_000_000;
/// Leaves never wait for their own rate: one that has tokens comes before all priorities of those that have none. Nor
/// for their ceiling: without a bucket of its own every packet would stop its leaf for a moment, and a leaf that
/// resumes loses the rest of its turn (measured: weights of 6:3:1 gave 1:1:1).
const UNLIMITED: &str = "rate 100gbit burst 100mb cburst 100mb";
/// `UNLIMITED` as the kernel reports it: bytes per second, and the duration of such a burst.
const UNLIMITED_RATE: u64 = 12_500_000_000;
const UNLIMITED_BURST_NS: u64 = 8_388_608;
/// Limit of TBF itself: more than all queues below it together.
const ALL: u32 = 10_000_000;
/// Disciplines to which programs are attached: these hold no packets.
const HOOKS: [&str; 2] = ["clsact", "ingress"];
/// The major number of the shaper.
const SHAPER: u16 = 1;
/// The highest rate of a port in bit/s: that of the leaves, which must never wait for their own.
const FASTEST: u64 = 8 * UNLIMITED_RATE;

/// The queues of one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortQdisc {
    /// The rate of the link.
    pub rate: Rate,
    /// Size of each queue, highest priority first.
    pub queues: Vec<Bytes>,
    /// Weights of the last queues: they share what the others leave, in turns (deficit round robin), where these are in strict priority.
    pub weights: Vec<u16>,
    /// Bytes of a packet on the wire that the kernel does not count in its length.
    pub overhead: u32,
    /// The largest payload of a frame (MTU). A bucket that holds less than a frame lets none of that size through.
    pub mtu: Bytes,
}

impl PortQdisc {
    /// Returns the bytes on the wire around a frame: preamble, checksum and gap (24 B). The kernel keeps the first
    /// VLAN tag of a packet beside it, so a port whose packets leave with tags has 4 B more.
    pub const fn overhead(is_tagged: bool) -> u32 {
        if is_tagged { 28 } else { 24 }
    }

    /// Returns the lines for `tc` that give the interface these queues, in place of any others. Packets that wait
    /// there are dropped.
    ///
    /// # Errors
    /// As [`Self::lines`].
    pub fn rebuild(&self, interface: &str) -> Result<Vec<String>, NetError> {
        // HTB with the same handle cannot be changed, so another discipline replaces the existing one first.
        let mut lines = vec![format!("qdisc replace dev {interface} root pfifo")];
        lines.extend(self.lines(interface)?);
        Ok(lines)
    }

    /// The lines for `tc` that give these queues to an interface that has none.
    ///
    /// # Errors
    /// If there is no queue, or more than eight, or the rate is above 100 Gbit/s.
    pub fn lines(&self, interface: &str) -> Result<Vec<String>, NetError> {
        let count = self.queues.len();
        if !(1..=MAX_CLASSES).contains(&count) {
            return Err(NetError::Queues { given: count, most: MAX_CLASSES });
        }
        if self.rate.bits_per_second() > FASTEST {
            return Err(NetError::Rate { given: self.rate, most: Rate::from_bits_per_second(FASTEST) });
        }
        let (rate, burst) = (self.rate.bits_per_second(), self.burst());
        let mut lines = vec![
            format!(
                "qdisc replace dev {interface} root handle 1: tbf rate {rate} burst {burst} limit {ALL} mpu {SHORTEST} overhead {}",
                self.overhead
            ),
            // Packets without a class are best effort: the last one.
            format!("qdisc replace dev {interface} parent 1:1 handle {MAJOR}: htb default {count}"),
        ];
        for (queue, buffer) in self.queues.iter().enumerate() {
            let (minor, limit) = (queue + 1, buffer.get().min(MAX_BUFFER));
            let (priority, quantum) = self.order(queue);
            lines.push(format!(
                "class replace dev {interface} parent {MAJOR}: classid {MAJOR}:{minor} htb {UNLIMITED} quantum {quantum} prio {priority}"
            ));
            lines.push(format!(
                "qdisc replace dev {interface} parent {MAJOR}:{minor} handle 1{minor}: bfifo limit {limit}"
            ));
        }
        Ok(lines)
    }

    /// Returns the priority of a queue, and the amount that it sends at its turn among those of its priority.
    fn order(&self, queue: usize) -> (usize, u32) {
        let first = self.queues.len().saturating_sub(self.weights.len());
        // A queue sends a frame at its turn for each unit of its weight, so that no turn is lost.
        let turn = u32::try_from(self.mtu.get().saturating_add(AROUND)).unwrap_or(u32::MAX);
        match queue.checked_sub(first).and_then(|at| self.weights.get(at)) {
            Some(&weight) => (first, turn.saturating_mul(u32::from(weight.max(1)))),
            None => (queue, turn),
        }
    }

    /// Bytes that may leave at once.
    const fn burst(&self) -> u64 {
        Self::burst_at(self.rate, self.mtu)
    }

    /// Returns the burst at this rate: a frame, and the amount that a late timer would lose.
    pub(super) const fn burst_at(rate: Rate, mtu: Bytes) -> u64 {
        mtu.get().saturating_add(AROUND) + rate.bits_per_second() / 8 / LATENESS_PER_SECOND
    }

    /// Returns `true` if an interface has exactly these queues.
    pub(crate) fn is(&self, found: &Interface) -> bool {
        let shaper = found.discipline(SHAPER).filter(|one| one.is_root()).map(|one| &one.given);
        let order = found.discipline(MAJOR).filter(|one| one.parent == handle(SHAPER, 1)).map(|one| &one.given);
        let is_default = |given: &&QdiscParams| matches!(given, QdiscParams::Htb { default } if *default as usize == self.queues.len());
        let beside = [SHAPER, MAJOR].map(|major| handle(major, 0));
        let others =
            found.disciplines.iter().filter(|one| !HOOKS.contains(&one.kind.as_str()) && !beside.contains(&one.handle));
        shaper.is_some_and(|given| self.is_shaper(given))
            && order.filter(is_default).is_some()
            && others.count() == self.queues.len()
            && found.leaves.len() == self.queues.len()
            && (0..self.queues.len()).all(|queue| self.has_queue(found, queue))
    }

    fn is_shaper(&self, given: &QdiscParams) -> bool {
        let QdiscParams::Tbf(tbf) = given else { return false };
        let rate = self.rate.bits_per_second() / 8;
        let burst = (self.burst() + u64::from(self.overhead)).saturating_mul(1_000_000_000) / rate.max(1);
        (tbf.rate, u32::from(tbf.overhead), tbf.limit) == (rate, self.overhead, ALL) && is_about(tbf.burst_ns, burst)
    }

    fn has_queue(&self, found: &Interface, queue: usize) -> bool {
        // `lines` makes no more than MAX_CLASSES.
        let (minor, (priority, quantum)) = (queue as u16 + 1, self.order(queue));
        let class = handle(MAJOR, minor);
        // The handle of the queue is 1 and its number, as hexadecimal digits.
        let fifo = found.discipline(0x10 + minor).filter(|one| one.parent == class && one.kind == "bfifo");
        let limit = self.queues.get(queue).map(|buffer| buffer.get().min(MAX_BUFFER));
        let has_limit = fifo
            .is_some_and(|one| matches!(one.given, QdiscParams::Fifo { limit: is } if Some(u64::from(is)) == limit));
        let is_leaf = found.leaves.get(&class).is_some_and(|leaf| {
            (leaf.rate, leaf.ceiling) == (UNLIMITED_RATE, UNLIMITED_RATE)
                && (leaf.priority as usize, leaf.quantum) == (priority, quantum)
                && leaf.burst_ns.min(leaf.ceiling_burst_ns) >= UNLIMITED_BURST_NS - UNLIMITED_BURST_NS / 1_000
        });
        has_limit && is_leaf
    }

    /// Returns the queue whose counters `tc` lists under this handle, as `lines` chose it.
    pub(super) fn queue_of_handle(handle: &str) -> Option<usize> {
        let minor: usize = handle.strip_suffix(':')?.strip_prefix('1')?.parse().ok()?;
        minor.checked_sub(1).filter(|&queue| queue < MAX_CLASSES)
    }
}

/// A handle as the kernel writes it.
const fn handle(major: u16, minor: u16) -> u32 {
    (major as u32) << 16 | minor as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(queues: usize) -> PortQdisc {
        let queues = vec![Bytes::new(97_000); queues];
        PortQdisc { rate: Rate::from_mbit(10), queues, weights: Vec::new(), overhead: 28, mtu: Bytes::new(1_500) }
    }

    /// Catches: a bucket smaller than a frame, which lets no such frame through; by hand 9,500 + 100 + 100,000,000 / 8 / 3,000.
    #[test]
    fn the_bucket_and_the_quantum_hold_the_largest_frame() {
        let port = PortQdisc { rate: Rate::from_mbit(100), mtu: Bytes::new(9_500), weights: vec![2], ..port(2) };
        let lines = port.lines("p1").unwrap();
        assert!(lines[0].contains(" burst 13766 "), "{}", lines[0]);
        assert!(lines[2].contains(" quantum 9600 ") && lines[4].contains(" quantum 19200 "), "{lines:#?}");
    }

    /// Catches: a port of 400 Gbit/s that forwards at the 100 of its leaves.
    #[test]
    fn a_rate_above_that_of_leaf_classes_is_refused() {
        let at = |gbit| PortQdisc { rate: Rate::from_gbit(gbit), ..port(2) }.lines("p1");
        assert!(at(100).is_ok());
        let error = at(400).unwrap_err().to_string();
        assert!(error.contains("400 Gbit/s") && error.contains("100 Gbit/s"), "{error}");
    }

    #[test]
    fn a_port_bursts_for_two_milliseconds_of_its_rate_and_orders_its_queues() {
        let lines = port(3).lines("p1").unwrap();
        assert_eq!(
            lines[0],
            "qdisc replace dev p1 root handle 1: tbf rate 10000000 burst 2016 limit 10000000 mpu 84 overhead 28"
        );
        assert!(lines[1].ends_with("htb default 3"), "{}", lines[1]);
        assert!(lines[6].contains("classid 2:3") && lines[6].ends_with("prio 2"), "{}", lines[6]);
        assert_eq!(lines.len(), 8);
    }

    #[test]
    fn the_last_queues_share_by_their_weights_below_the_others() {
        let lines = PortQdisc { weights: vec![6, 3, 1], ..port(5) }.lines("p1").unwrap();
        let ends = [
            "quantum 1600 prio 0",
            "quantum 1600 prio 1",
            "quantum 9600 prio 2",
            "quantum 4800 prio 2",
            "quantum 1600 prio 2",
        ];
        for (queue, end) in ends.iter().enumerate() {
            assert!(lines[2 + 2 * queue].ends_with(end), "{}", lines[2 + 2 * queue]);
        }
    }

    #[test]
    fn queues_are_found_by_their_handles() {
        assert_eq!(PortQdisc::queue_of_handle("11:"), Some(0));
        assert_eq!(PortQdisc::queue_of_handle("18:"), Some(7));
        for handle in ["1:", "2:", "ffff:", "19:", "10:"] {
            assert_eq!(PortQdisc::queue_of_handle(handle), None, "{handle}");
        }
    }

    #[test]
    fn more_queues_than_priorities_are_refused() {
        for queues in [0, 9] {
            let error = port(queues).lines("p1").unwrap_err().to_string();
            assert!(error.contains(&format!("a port has {queues} queues: expected 1 to 8")), "{error}");
        }
    }
}
