//! Receivers of an endpoint's broadcasts (ARP, DHCP, neighbours and routers of IPv6), and packets that do not match
//! the endpoint's declaration.

use std::net::IpAddr;

use wayleave_packet_format::Mac;

use super::Host;
use crate::error::Error;
use crate::layout::{self, MAX_MEMBERS};

/// Reason for which packets of an endpoint are wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpoofKind {
    /// Dropped: another Ethernet address than the endpoint's.
    Address,
    /// It has no contract: the contracts of the endpoint list the source addresses of its packets, and this is none
    /// of those.
    Source,
}

/// Packets of an endpoint that are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpoofReport {
    /// The endpoint's interface.
    pub ifindex: u32,
    /// Reason for which they are wrong.
    pub why: SpoofKind,
    /// The Ethernet address that they were sent with.
    pub mac: Mac,
    /// Their source address, if they are IP packets.
    pub source: Option<IpAddr>,
    /// Number of packets.
    pub packets: u64,
}

impl Host {
    /// Sets the receivers of this endpoint's broadcasts. Copies are sent in the order of the list: receivers on this
    /// host first, then those with the fewest tags on their routes. Receivers beyond [`Host::MAX_MEMBERS`] get no
    /// copy.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set_group(&mut self, ifindex: u32, members: &[Mac]) -> Result<(), Error> {
        let failed = |error| Error::failed("writing a broadcast group", error);
        let after = layout::group(members);
        let before = self.groups.get(&ifindex);
        if before.is_some_and(|before| layout::members_of(before) == layout::members_of(&after)) {
            return Ok(());
        }
        let is_there = before.is_some();
        self.settle()?;
        // Replacing an entry frees the old one.
        self.is_stale = is_there;
        self.groups.insert(ifindex, after).map_err(failed)
    }

    /// Maximum number of receivers of a broadcast.
    pub const MAX_MEMBERS: usize = MAX_MEMBERS;

    /// Removes all receivers of the endpoint's broadcasts.
    pub(super) fn remove_group(&mut self, ifindex: u32) -> Result<(), Error> {
        self.is_stale = true;
        self.groups.remove(&ifindex).map_err(|error| Error::failed("removing a broadcast group", error))
    }

    /// Packets that are not what they should be, since the pins were made; of very many kinds only the latest.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn spoof_reports(&self) -> Result<Vec<SpoofReport>, Error> {
        let failed = |error| Error::failed("reading spoofing counters", error);
        let entries = self.spoofed.iter().map(|entry| entry.map_err(failed));
        let mut spoofed =
            entries.filter_map(|entry| entry.map(|(key, packets)| spoof_report(&key, packets)).transpose());
        let mut all = spoofed.by_ref().collect::<Result<Vec<_>, _>>()?;
        all.sort_unstable();
        Ok(all)
    }
}

fn spoof_report(key: &[u8; layout::SPOOFED], packets: u64) -> Option<SpoofReport> {
    let (ifindex, mac) = (layout::u32_at(key, 0), Mac::new(std::array::from_fn(|byte| key[4 + byte])));
    let why = match key[10] {
        1 => SpoofKind::Address,
        2 => SpoofKind::Source,
        _ => return None,
    };
    let source = match key[11] {
        4 => Some(IpAddr::from(<[u8; 4]>::try_from(&key[24..28]).ok()?)),
        6 => Some(IpAddr::from(<[u8; 16]>::try_from(&key[12..28]).ok()?)),
        _ => None,
    };
    Some(SpoofReport { ifindex, why, mac, source, packets })
}
