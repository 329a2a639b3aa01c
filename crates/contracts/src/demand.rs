//! What has to be reserved for a contract: its token bucket in wire bytes.

use wayleave_units::{Bytes, Rate};
use wayleave_wire::Demand;

use crate::{Accounting, Contract};

/// What a frame occupies on the wire beyond its own bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireOverhead {
    /// Preamble, delimiter and gap (20 B), FCS (4 B) and 4 B for each tag of the longest stack.
    Counted {
        /// The longest tag stack.
        tags: u32,
    },
    /// None: bytes are counted as the publications do, for comparison with their numbers.
    Ignored,
}

impl WireOverhead {
    const PREAMBLE_AND_GAP: u64 = 20;
    const FCS: u64 = 4;
    const ETHERNET_HEADER: u64 = 14;
    const TAG: u64 = 4;

    /// Wire bytes that a frame (header and payload, without FCS) has on top of its own.
    pub const fn per_frame(self) -> Bytes {
        match self {
            Self::Counted { tags } => Bytes::new(Self::PREAMBLE_AND_GAP + Self::FCS + Self::TAG * tags as u64),
            Self::Ignored => Bytes::ZERO,
        }
    }

    /// The wire size of the largest frame of a link with this MTU: 1562 B for 1500 B and six tags.
    ///
    /// Without overhead it is the MTU with header and FCS, 1518 B for 1500 B.
    pub const fn largest_frame(self, mtu: Bytes) -> Bytes {
        match self {
            Self::Counted { .. } => Bytes::new(mtu.get() + Self::ETHERNET_HEADER + self.per_frame().get()),
            Self::Ignored => Bytes::new(mtu.get() + Self::ETHERNET_HEADER + Self::FCS),
        }
    }
}

impl Contract {
    /// The token bucket that bounds this contract's traffic on the wire.
    ///
    /// A contract in frame bytes grows by the overhead of its smallest frame: in any window at most
    /// `(burst + rate t) / min_frame` frames are sent, and each adds the overhead (a 100 B frame with six tags: 48 %).
    /// Both are rounded up.
    pub fn demand(&self, overhead: WireOverhead) -> Demand {
        let per_frame = overhead.per_frame().get();
        match self.accounting {
            Accounting::Frame { min_frame } if per_frame > 0 => {
                let grow = |bytes: u64| grown(bytes, per_frame, min_frame.get());
                Demand {
                    rate: Rate::from_bits_per_second(grow(self.rate.bits_per_second())),
                    burst: Bytes::new(grow(self.burst.get())),
                    max_frame: self.max_frame.map(|frame| frame + overhead.per_frame()),
                }
            }
            _ => Demand { rate: self.rate, burst: self.burst, max_frame: self.max_frame },
        }
    }
}

/// `value * (1 + overhead / frame)`, rounded up; past `u64` it stays at the largest value, which no link carries.
fn grown(value: u64, overhead: u64, frame: u64) -> u64 {
    let product = u128::from(value) * u128::from(frame + overhead);
    u64::try_from(product.div_ceil(u128::from(frame))).unwrap_or(u64::MAX)
}
