//! Names of things for roles. Every index is dense, so that a scheme keeps its state in vectors and never hashes on
//! the packet path; the driver does the numbering.

/// A class that shares a host's line with others: a service (Parley, 3.1), a virtual machine (EyeQ), a virtual fabric
/// (uFAB, 3.1), a division (SCC, I). One number in the whole network, because brokers and trackers add up over hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u32);

/// A pair, seen from its sending host: what a limiter, a window or a tunnel belongs to. A pair of virtual machines
/// (uFAB, 3.1; ElasticSwitch), a service and a destination (Parley, 3.2.1), a tunnel (SCC, III-A), a tagging rule
/// (Chameleon, 4.2.2). Each host numbers its own, and uses a number again when the pair has closed.
///
/// The receiving host calls the same pair [`Incoming`], with a number of its own: a limiter cannot be set where packets
/// arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Outgoing(pub u32);

/// A pair, seen from its receiving host; the sending host calls it [`Outgoing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incoming(pub u32);

/// One of a pair's candidate paths: an index into the list that the driver keeps for the pair. It ends its life when
/// the list changes ([`HostInput::PathsChanged`](crate::HostInput::PathsChanged)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathIndex(pub u32);

/// A flow of a transport, at its sending host. Used again when the flow has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalFlow(pub u32);

/// Coordinator of hosts: a rack or fabric broker (Parley, 3.2), the tracker of a division (SCC, III-B), a controller
/// (Chameleon, 3.5). One number in the whole network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BrokerId(pub u32);

impl ClassId {
    /// As an index into a vector with one entry per class.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Outgoing {
    /// As an index into a vector with one entry per pair that leaves this host.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Incoming {
    /// As an index into a vector with one entry per pair that arrives at this host.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl PathIndex {
    /// As an index into a vector with one entry per path of a pair.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl LocalFlow {
    /// As an index into a vector with one entry per flow.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl BrokerId {
    /// As an index into a vector with one entry per broker.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
