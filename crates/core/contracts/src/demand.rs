//! Reserved demand of a contract: its token bucket in wire bytes.

use wayleave_packet_format::{BucketDemand, wire_bytes};
use wayleave_units::{Bytes, Rate};

use crate::{Accounting, LatencyContract};

const SECONDS_A_DAY: u128 = 86_400;

/// Reason why no traffic conforms to a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// The burst is below the smallest frame.
    Burst {
        /// The burst on the wire.
        burst: Bytes,
        /// The smallest frame on the wire.
        frame: Bytes,
    },
    /// The rate is below one frame a day.
    Rate {
        /// The rate on the wire.
        rate: Rate,
        /// The contract's largest frame, or the smallest of all.
        frame: Bytes,
    },
}

/// Overhead of a frame on the wire beyond its own bytes.
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

    /// Returns the wire bytes of a frame (header and payload, without FCS) with the longest stack of tags, as the
    /// shaper charges them. Tags are pushed by the host before its interface pads a frame to Ethernet's smallest, 64
    /// B with FCS; a switch that pops one pads the frame again. So a padded frame is 84 B on every wire, and no frame
    /// grows on its route.
    ///
    /// ```
    /// use wayleave_contracts::WireOverhead;
    /// use wayleave_units::Bytes;
    /// let six = WireOverhead::Counted { tags: 6 };
    /// assert_eq!(six.on_the_wire(Bytes::new(100)), Bytes::new(148));
    /// assert_eq!(six.on_the_wire(Bytes::new(20)), Bytes::new(84));
    /// ```
    pub fn on_the_wire(self, frame: Bytes) -> Bytes {
        match self {
            Self::Counted { tags } => {
                wire_bytes(usize::try_from(frame.get()).unwrap_or(usize::MAX >> 8), tags as usize)
            }
            Self::Ignored => frame,
        }
    }

    /// Wire bytes that a frame (header and payload, without FCS) has on top of its own, if it is not padded.
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

impl LatencyContract {
    /// The token bucket that bounds this contract's traffic on the wire.
    ///
    /// A contract in frame bytes grows as its smallest frame does: no frame has more wire bytes for each of its own, so in any
    /// window at most `(burst + rate t) / min_frame` times its wire size is sent (a 100 B frame with six tags: 148 B for
    /// 100 B; one of 20 B: 84 B for 20 B). Both are rounded up.
    pub fn demand(&self, overhead: WireOverhead) -> BucketDemand {
        match (self.accounting, overhead) {
            (Accounting::Frame { min_frame }, WireOverhead::Counted { .. }) => {
                let grow = |bytes: u64| grown(bytes, overhead.on_the_wire(min_frame).get(), min_frame.get());
                BucketDemand {
                    rate: Rate::from_bits_per_second(grow(self.rate.bits_per_second())),
                    burst: Bytes::new(grow(self.burst.get())),
                    max_frame: self.max_frame.map(|frame| overhead.on_the_wire(frame)),
                }
            }
            _ => BucketDemand { rate: self.rate, burst: self.burst, max_frame: self.max_frame },
        }
    }

    /// Returns the reason why no frame, or none a day, conforms to the contract; `None` if frames do.
    ///
    /// ```
    /// use wayleave_contracts::{LatencyContract, Unusable, WireOverhead};
    /// use wayleave_topology::builders::{Cabling, build};
    /// use wayleave_units::Bytes;
    /// let network = build::star(2, Cabling::default())?;
    /// let contract = wayleave_contracts::RequestMix::new(&network, 1, 1).next().ok_or("no contract")?;
    /// let of = |burst| LatencyContract { burst: Bytes::new(burst), max_frame: None, ..contract.clone() };
    /// let unusable = |burst| of(burst).unusable(WireOverhead::Counted { tags: 6 });
    /// assert_eq!(unusable(83), Some(Unusable::Burst { burst: Bytes::new(83), frame: Bytes::new(84) }));
    /// assert_eq!(unusable(84), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unusable(&self, overhead: WireOverhead) -> Option<Unusable> {
        let demand = self.demand(overhead);
        let smallest = overhead.on_the_wire(Bytes::new(1));
        if demand.burst < smallest {
            return Some(Unusable::Burst { burst: demand.burst, frame: smallest });
        }
        let frame = demand.max_frame.unwrap_or(smallest).max(smallest);
        let a_day = u128::from(demand.rate.bits_per_second()) * SECONDS_A_DAY;
        (a_day < u128::from(frame.get()) * 8).then_some(Unusable::Rate { rate: demand.rate, frame })
    }
}

/// `value * wire / frame`, rounded up; past `u64` it stays at the largest value, which no link carries.
fn grown(value: u64, wire: u64, frame: u64) -> u64 {
    let product = u128::from(value) * u128::from(wire);
    u64::try_from(product.div_ceil(u128::from(frame))).unwrap_or(u64::MAX)
}
