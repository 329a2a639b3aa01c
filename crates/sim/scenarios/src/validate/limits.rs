//! Limits of scenarios.

use wayleave_units::{Bytes, Time};

/// The most links, packet sources and flows with a fixed place in the event queue of the simulator, whose keys have 22
/// bits for them.
pub const MAX_ACTORS: u64 = (1 << 22) - 1;

/// The longest time from the start of a packet on a link to its arrival at the next port: an event of the simulator is
/// at most 2.19 s ahead of the present.
pub const MAX_HOP: Time = Time::from_millis(2_000);

/// Overhead of Ethernet on a layer-3 packet: 14 B of header, 4 B of FCS, 8 B of preamble and 12 B of gap (IEEE
/// 802.3).
pub const WIRE_OVERHEAD: Bytes = Bytes::new(38);

/// The most tags of 4 B that a packet carries (Chameleon, section 3.3: one a hop, six in a fat tree).
pub(super) const MAX_TAGS: Bytes = Bytes::new(24);
