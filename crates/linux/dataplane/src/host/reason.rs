//! Outcomes of packets.

/// Outcome of a packet; `enum reason` of bpf/maps.h, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PacketOutcome {
    /// Sent within its contract.
    Guaranteed,
    /// Sent without a contract, in the lowest class.
    BestEffort,
    /// Delivered to another endpoint of this host.
    Local,
    /// Dropped: the bucket of its contract was too low.
    Shaped,
    /// Dropped: larger than the largest frame of its contract, than the links of its route take, or a super-frame where nothing cuts it into frames.
    Oversized,
    /// Dropped: an endpoint has sent a VLAN tag, which only the host may push.
    Forged,
    /// Dropped: its sender's address is not the endpoint's.
    Spoofed,
    /// Dropped: it is shorter than its headers declare, or its headers are invalid.
    Malformed,
    /// Dropped: it is a multicast or broadcast that hosts do not need to find each other, or there were too many of
    /// these.
    Multicast,
    /// Dropped: there is no route to its receiver.
    NoRoute,
    /// Dropped: it belongs to no contract, and only contracts are served.
    Unmatched,
    /// Dropped: the interface at which it came is no endpoint's.
    NoEndpoint,
    /// Dropped: the kernel had no room to push its tags.
    Failed,
    /// Delivered to an endpoint, from the network.
    Delivered,
    /// Dropped: another copy came before.
    Duplicate,
    /// Dropped: it came from the network with a tag that does not belong there.
    Tagged,
    /// From the network for the host itself, or for an address that is not here.
    ToHost,
    /// Passed without a check for duplicates: there is no room for another filter.
    Unfiltered,
    /// Has to wait for the tokens of its contract; it is counted again when it is sent.
    Delayed,
    /// Dropped: as many packets of its contract wait as may.
    QueueFull,
    /// Dropped: its contract was withdrawn while it waited.
    Withdrawn,
    /// A super-frame, which was cut into frames; each of these is counted by itself.
    Split,
    /// Asked all (ARP, DHCP, neighbours and routers of IPv6), and copied to those whom it may concern; each copy is counted by itself.
    Carried,
    /// Chosen to be followed, but not noted: the buffer is full of notes that have not been read.
    Unsampled,
}

impl PacketOutcome {
    /// All, in order.
    pub const ALL: [Self; 24] = [
        Self::Guaranteed,
        Self::BestEffort,
        Self::Local,
        Self::Shaped,
        Self::Oversized,
        Self::Forged,
        Self::Spoofed,
        Self::Malformed,
        Self::Multicast,
        Self::NoRoute,
        Self::Unmatched,
        Self::NoEndpoint,
        Self::Failed,
        Self::Delivered,
        Self::Duplicate,
        Self::Tagged,
        Self::ToHost,
        Self::Unfiltered,
        Self::Delayed,
        Self::QueueFull,
        Self::Withdrawn,
        Self::Split,
        Self::Carried,
        Self::Unsampled,
    ];

    /// In one word, for tables and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Guaranteed => "guaranteed",
            Self::BestEffort => "best-effort",
            Self::Local => "local",
            Self::Shaped => "shaped",
            Self::Oversized => "oversized",
            Self::Forged => "forged",
            Self::Spoofed => "spoofed",
            Self::Malformed => "malformed",
            Self::Multicast => "multicast",
            Self::NoRoute => "no-route",
            Self::Unmatched => "unmatched",
            Self::NoEndpoint => "no-endpoint",
            Self::Failed => "failed",
            Self::Delivered => "delivered",
            Self::Duplicate => "duplicate",
            Self::Tagged => "tagged",
            Self::ToHost => "to-host",
            Self::Unfiltered => "unfiltered",
            Self::Delayed => "delayed",
            Self::QueueFull => "queue-full",
            Self::Withdrawn => "withdrawn",
            Self::Split => "split",
            Self::Carried => "carried",
            Self::Unsampled => "unsampled",
        }
    }
}
