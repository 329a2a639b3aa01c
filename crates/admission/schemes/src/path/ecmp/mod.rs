//! Equal-cost multi-path: the path of a flow is drawn by a hash.
//!
//! C. Hopps, "Analysis of an Equal-Cost Multi-Path Algorithm", RFC 2992 (2000).
//!
//! A flow's hash picks one of the equal regions of the hash's range, one for each path. Its packets stay in order,
//! and large flows may meet on one path while another is empty.
//!
//! | text | here |
//! |---|---|
//! | RFC 2992, section 2: hash-threshold | [`PerFlow`] |
//!
//! Deviations: RFC 2992 leaves the hash open (it proposes a CRC-16 of the header). Here it is a mix of 64 bits of a
//! flow's identity, which the driver defines. Choices are made at the sender for the whole path.

use wayleave_scheme_api::{Departure, Described, Descriptor, Parameters, Path, Role, params};
use wayleave_units::Time;

use crate::random::{mix, share};
use crate::transports::PathScheme;

/// Descriptor of ECMP.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "flow",
    title: "ECMP",
    roles: &[Role::Path],
    summary: "One of the equal-cost paths for each flow, selected by a hash",
    citation: "C. Hopps, \"Analysis of an Equal-Cost Multi-Path Algorithm\", RFC 2992 (2000)",
    guarantee: "packets of a flow arrive in order; no guarantee about load",
    parameters: Params::LIST,
};

params! {
    /// ECMP has no parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {}
}

/// One path per flow, by a hash.
///
/// ```
/// use wayleave_scheme_api::{Departure, Path};
/// use wayleave_schemes::path::ecmp::PerFlow;
/// use wayleave_units::Time;
///
/// let mut path = PerFlow::new(42);
/// let departure = Departure { bytes: 1460, paths: 4 };
/// let chosen = path.choose(Time::ZERO, departure);
/// assert!(chosen < 4);
/// assert_eq!(path.choose(Time::from_millis(1), departure), chosen);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerFlow {
    hash: u32,
}

impl PerFlow {
    /// Creates the hash of a flow with this identity: all that distinguishes flows, such as ports and addresses, and
    /// a seed.
    pub fn new(identity: u64) -> Self {
        Self { hash: (mix(identity) >> 32) as u32 }
    }

    /// Returns the path, out of `paths`.
    #[inline]
    pub fn path(self, paths: u32) -> u32 {
        share(self.hash, paths)
    }
}

impl Described for PerFlow {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl PathScheme for PerFlow {
    fn begin(_: &Params, seed: u64) -> Self {
        Self::new(seed)
    }
}

impl Path for PerFlow {
    #[inline]
    fn receives_reports(&self) -> bool {
        false
    }

    #[inline]
    fn choose(&mut self, _now: Time, departure: Departure) -> u32 {
        self.path(departure.paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOWS: u64 = 60_000;

    #[test]
    fn every_path_gets_its_share_of_flows() {
        for paths in [2_u32, 3, 4, 16] {
            let mut counts = vec![0_u64; paths as usize];
            for flow in 0..FLOWS {
                counts[PerFlow::new(flow).path(paths) as usize] += 1;
            }
            let fair = FLOWS / u64::from(paths);
            // Five standard deviations of a binomial count are less.
            assert!(counts.iter().all(|&count| count.abs_diff(fair) < 700), "{counts:?}");
        }
    }

    #[test]
    fn adding_or_removing_the_last_path_moves_half_of_all_flows() {
        // RFC 2992, section 3: of N regions that become N + 1, the i-th keeps (N + 1 - i) / (N (N + 1)), in sum 1/2.
        for paths in [2, 4, 9] {
            let moved = (0..FLOWS).map(PerFlow::new).filter(|flow| flow.path(paths) != flow.path(paths + 1)).count();
            assert!(moved.abs_diff(FLOWS as usize / 2) < 700, "{paths}: {moved}");
        }
    }

    #[test]
    fn the_regions_of_two_paths_are_the_halves_of_the_range() {
        for (hash, path) in [(0, 0), (0x7fff_ffff, 0), (0x8000_0000, 1), (u32::MAX, 1)] {
            assert_eq!(PerFlow { hash }.path(2), path, "{hash:x}");
            assert_eq!(PerFlow { hash }.path(1), 0, "{hash:x}");
        }
    }
}
