//! Packet spraying: a path is drawn again for every packet.
//!
//! A. Dixit, P. Prakash, Y. C. Hu, R. R. Kompella, "On the Impact of Packet Spraying in Data Center Networks",
//! INFOCOM 2013.
//!
//! Spraying evens the load out and reorders packets.
//!
//! | text | here |
//! |---|---|
//! | INFOCOM 2013: each packet to a random path | [`PerPacket`] |
//!
//! Deviations: choices are made at the sender for the whole path.

use wayleave_scheme_api::{Departure, Described, Descriptor, Parameters, Path, Role, params};
use wayleave_units::Time;

use crate::random::{SplitMix, mix};
use crate::transports::PathScheme;

/// Descriptor of packet spraying.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "packet",
    title: "packet spraying",
    roles: &[Role::Path],
    summary: "A random path for each packet",
    citation: "A. Dixit, P. Prakash, Y. C. Hu, R. R. Kompella, \"On the Impact of Packet Spraying in Data Center Networks\", INFOCOM 2013",
    guarantee: "equal load on all paths on average; packets may arrive out of order",
    parameters: Params::LIST,
};

params! {
    /// Packet spraying has no parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {}
}

/// A random path for every packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerPacket {
    random: SplitMix,
}

impl PerPacket {
    /// Draws from this seed; flows should not share one.
    pub fn new(seed: u64) -> Self {
        Self { random: SplitMix::new(mix(seed)) }
    }
}

impl Described for PerPacket {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl PathScheme for PerPacket {
    fn begin(_: &Params, seed: u64) -> Self {
        Self::new(seed)
    }
}

impl Path for PerPacket {
    #[inline]
    fn receives_reports(&self) -> bool {
        false
    }

    #[inline]
    fn choose(&mut self, _now: Time, departure: Departure) -> u32 {
        self.random.below(departure.paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(paths: u32) -> Departure {
        Departure { bytes: 1460, paths }
    }

    #[test]
    fn packets_are_sprayed_evenly_and_reproducibly_by_seed() {
        let mut spray = PerPacket::new(7);
        let mut again = spray;
        let mut counts = [0_u32; 4];
        for _ in 0..40_000 {
            let path = spray.choose(Time::ZERO, of(4));
            assert_eq!(again.choose(Time::ZERO, of(4)), path);
            counts[path as usize] += 1;
        }
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 450), "{counts:?}");
        assert_ne!(PerPacket::new(8), PerPacket::new(7));
    }
}
