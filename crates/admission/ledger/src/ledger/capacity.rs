//! Capacity of links by class: the rate that is reserved and the rate that one more contract could still reserve.
//! Every view of a link takes its figures from here.

use wayleave_topology::{Class, LinkId};
use wayleave_units::{Bytes, Rate, Time};

use super::Ledger;

/// Rate of a link for one class of contracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Rate that the contracts of the class hold.
    pub reserved: Rate,
    /// Rate that one more contract of the class could get at most; zero on a closed link. Delays and buffers may allow less.
    pub available: Rate,
    /// Rate that the class could hold beside the present holdings of other classes, on open and closed links alike;
    /// at least `reserved`.
    pub limit: Rate,
}

impl Capacity {
    /// Returns the reserved part of the limit in millionths, rounded up; zero if nothing is reserved.
    pub fn used_ppm(&self) -> u64 {
        let (reserved, limit) = (u128::from(self.reserved.bits_per_second()), self.limit.bits_per_second().max(1));
        u64::try_from((reserved * 1_000_000).div_ceil(u128::from(limit))).unwrap_or(u64::MAX)
    }
}

impl Ledger {
    /// Returns the capacity of a link for a class; `None` for best effort, and for minima and weights where no queues are theirs.
    pub fn capacity(&self, link: LinkId, class: Class) -> Option<Capacity> {
        let (reserved, left) = match class {
            Class::Latency => {
                let port = self.port(link);
                let left = u64::try_from(port.rate - port.reserved - port.shared).unwrap_or(0);
                (self.reserved(link), Rate::from_bits_per_second(left))
            }
            Class::BestEffort => return None,
            Class::Guaranteed | Class::Objective if !self.has_shares() => return None,
            Class::Guaranteed | Class::Objective => (self.promised_to(link, class), self.left_once_open(link, class)),
        };
        let limit = Rate::from_bits_per_second(reserved.bits_per_second().saturating_add(left.bits_per_second()));
        let available = if self.is_closed(link) { Rate::ZERO } else { left };
        Some(Capacity { reserved, available, limit })
    }

    /// Returns the longest wait of packets of minima in front of a link; `None` if no minimum may use it, or without bound.
    pub fn share_wait(&self, link: LinkId) -> Option<Time> {
        let shares = self.shares.as_ref()?;
        let total = shares.total(link);
        if total.pairs() == 0 {
            return None;
        }
        shares.links[link.index()].wait(&self.residual(link), &total)
    }

    /// Returns the largest backlog of minima in front of a link; `None` if no minimum may use it, or without bound.
    pub fn share_backlog(&self, link: LinkId) -> Option<Bytes> {
        let shares = self.shares.as_ref()?;
        let (pairs, link_shares) = (shares.total(link).pairs(), &shares.links[link.index()]);
        if pairs == 0 {
            return None;
        }
        let carried = crate::shares::rate(link_shares.charges.carried);
        link_shares.link.longest_queue(&self.residual(link), pairs, carried)
    }
}
