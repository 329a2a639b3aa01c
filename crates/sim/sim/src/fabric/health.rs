//! Health of links, and causes of packet losses.

use crate::packet::PacketId;

/// A dropped packet; the receiver of this value removes it from the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) id: PacketId,
    pub(crate) cause: DropCause,
}

/// Reason why a packet is dropped. A switch can notify the sender of a probe of [`LinkDown`](Self::LinkDown) and
/// [`NoRoute`](Self::NoRoute).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropCause {
    /// Its queue, or the buffer of its switch, was full.
    QueueFull,
    /// A more urgent packet took its place.
    PushedOut,
    /// It came to the port of a link that is known to be down.
    LinkDown,
    /// It was on a link that failed, or waited for one, and the failure is known.
    LostOnLink,
    /// It came to, was on, or waited for a link whose failure is not known.
    Silent,
    /// No path leads to its destination.
    NoRoute,
}

/// State of a link, and visibility of its failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Health {
    #[default]
    Up,
    /// The failure is known: paths avoid it.
    Down,
    /// The failure is not known.
    SilentlyDown,
}

/// Health of a link, and its losses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkHealth {
    pub(super) state: Health,
    /// Packets lost by silent failures since the warm-up ended.
    pub(super) lost_silently: u64,
}
