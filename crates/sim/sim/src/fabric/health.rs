//! Whether links work, and why packets are lost.

use crate::packet::PacketId;

/// A packet that goes no further; whoever gets it takes it out of the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) id: PacketId,
    pub(crate) cause: DropCause,
}

/// Why a packet goes no further. A switch can tell the sender of a probe about [`LinkDown`](Self::LinkDown) and
/// [`NoRoute`](Self::NoRoute).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropCause {
    /// Its queue, or the buffer of its switch, was full.
    QueueFull,
    /// A more urgent packet took its place.
    PushedOut,
    /// It came to the port of a link that is known to be down.
    LinkDown,
    /// It was on a link that failed, or waited for one, and everybody knows of the failure.
    LostOnLink,
    /// It came to, was on, or waited for a link that failed, and nobody knows of it.
    Silent,
    /// No path leads to its destination.
    NoRoute,
}

/// Whether a link works, and who knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Health {
    #[default]
    Up,
    /// Everybody knows: paths avoid it.
    Down,
    /// Nobody knows.
    SilentlyDown,
}

/// The health of a link, and what went wrong because of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkHealth {
    pub(super) state: Health,
    /// Packets lost by silent failures since the warm-up ended.
    pub(super) lost_silently: u64,
}
