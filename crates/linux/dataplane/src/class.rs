//! Mapping of a queue to the class of a port's queueing discipline that serves it.

/// The handle of the discipline that has one class for each queue: `2:` (below the shaper `1:`).
pub const MAJOR: u16 = 2;

/// Returns the value of `skb->priority` for a queue, 0 the highest: the class `2:1` for queue 0, `2:2` for queue 1,
/// and so on.
pub const fn priority(queue: u8) -> u32 {
    (MAJOR as u32) << 16 | (1 + queue as u32)
}
