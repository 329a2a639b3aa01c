//! Flowlets: after a pause a flow may take another path without reordering.
//!
//! S. Kandula, D. Katabi, S. Sinha, A. Berger, "Dynamic Load Balancing Without Packet Reordering", CCR 37(2), 2007
//! (FLARE); E. Vanini, R. Pan, M. Alizadeh, P. Taheri, T. Edsall, "Let It Flow: Resilient Asymmetric Load Balancing
//! with Flowlet Switching", NSDI 2017 (LetFlow).
//!
//! Packets of a flow that follow each other closely stay on one path. A packet that leaves after a gap may take any
//! path: if the gap is longer than the difference of the paths' delays, it cannot overtake. The path of a new flowlet
//! is drawn at random. Flowlets on slow paths end sooner, because acknowledgements pause, and so the load shifts by
//! itself.
//!
//! | text | here |
//! |---|---|
//! | FLARE: a packet may change path if the gap is at least delta, the paths' difference in delay | the gap |
//! | LetFlow: a random path for each flowlet | `choose` |
//!
//! Deviations: LetFlow finds gaps in the switch, with a table of hashed flows whose collisions and ageing make gaps
//! up to twice as long. Here the sender finds them exactly, and chooses for the whole path.

use wayleave_scheme_api::{Departure, Described, Descriptor, Parameters, Path, Role, ValueKind, params};
use wayleave_units::Time;

use crate::random::{SplitMix, mix};
use crate::transports::PathScheme;

/// Descriptor of flowlet switching.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "flowlet",
    title: "flowlets",
    roles: &[Role::Path],
    summary: "A random path for each burst of packets (flowlet)",
    citation: "S. Kandula, D. Katabi, S. Sinha, A. Berger, \"Dynamic Load Balancing Without Packet Reordering\", CCR 37(2), 2007; E. Vanini, R. Pan, M. Alizadeh, P. Taheri, T. Edsall, \"Let It Flow: Resilient Asymmetric Load Balancing with Flowlet Switching\", NSDI 2017",
    guarantee: "packets arrive in order if the gap exceeds the difference between path delays",
    parameters: Params::LIST,
};

params! {
    /// Parameters of a flowlet.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Idle time after which a flow may change its path.
        pub gap: Time = Time::from_micros(500), "gap", ValueKind::TIME, "required", {
            example: "50us", noun: "flowlets need a gap",
        };
    }
}

/// A random path for each flowlet of one flow.
///
/// ```
/// use wayleave_scheme_api::{Departure, Path};
/// use wayleave_schemes::path::flowlet::Flowlet;
/// use wayleave_units::Time;
///
/// let mut path = Flowlet::new(Time::from_micros(500), 1);
/// let departure = Departure { bytes: 1460, paths: 4 };
/// let chosen = path.choose(Time::ZERO, departure);
/// assert_eq!(path.choose(Time::from_micros(499), departure), chosen);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flowlet {
    gap: Time,
    last: Time,
    random: SplitMix,
    /// `None` before the first packet, and after the paths have changed.
    path: Option<u32>,
}

impl Flowlet {
    /// A packet after a gap of at least this begins a flowlet; flows should not share a seed.
    pub fn new(gap: Time, seed: u64) -> Self {
        Self { gap, last: Time::ZERO, random: SplitMix::new(mix(seed)), path: None }
    }
}

impl Described for Flowlet {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl PathScheme for Flowlet {
    fn begin(params: &Params, seed: u64) -> Self {
        Self::new(params.gap, seed)
    }
}

impl Path for Flowlet {
    #[inline]
    fn receives_reports(&self) -> bool {
        false
    }

    #[inline]
    fn choose(&mut self, now: Time, departure: Departure) -> u32 {
        let is_close = now.saturating_sub(self.last) < self.gap;
        self.last = now;
        match self.path {
            Some(path) if is_close && path < departure.paths => path,
            _ => *self.path.insert(self.random.below(departure.paths)),
        }
    }

    fn on_paths_changed(&mut self, _now: Time) {
        self.path = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Time = Time::from_micros(100);

    fn of(paths: u32) -> Departure {
        Departure { bytes: 1460, paths }
    }

    /// Returns the number of path changes between packets that leave this far apart.
    fn changes(apart: u64) -> u32 {
        let mut flowlet = Flowlet::new(GAP, 3);
        let mut last = flowlet.choose(Time::ZERO, of(4));
        let mut changes = 0;
        for packet in 1..4000 {
            let path = flowlet.choose(Time::from_nanos(packet * apart), of(4));
            changes += u32::from(path != last);
            last = path;
        }
        changes
    }

    #[test]
    fn without_a_gap_the_path_stays() {
        assert_eq!(changes(1), 0);
        assert_eq!(changes(GAP.as_nanos() - 1), 0);
    }

    #[test]
    fn a_gap_draws_a_path_which_is_another_in_three_of_four_cases() {
        for apart in [GAP.as_nanos(), 10 * GAP.as_nanos()] {
            let changes = changes(apart);
            assert!(changes.abs_diff(3000) < 150, "{changes}");
        }
    }

    #[test]
    fn with_a_gap_of_zero_every_packet_is_sprayed() {
        let mut flowlet = Flowlet::new(Time::ZERO, 3);
        let drawn: Vec<u32> = (0..64).map(|_| flowlet.choose(Time::ZERO, of(4))).collect();
        assert!((0..4).all(|path| drawn.contains(&path)), "{drawn:?}");
    }

    #[test]
    fn a_removed_path_is_left_at_once() {
        for seed in 0..20 {
            let mut flowlet = Flowlet::new(GAP, seed);
            flowlet.choose(Time::ZERO, of(8));
            assert!(flowlet.choose(Time::from_nanos(1), of(2)) < 2, "seed {seed}");
        }
    }

    #[test]
    fn changed_paths_begin_a_new_flowlet() {
        let mut flowlet = Flowlet::new(GAP, 3);
        let mut drawn = Vec::new();
        for _ in 0..64 {
            drawn.push(flowlet.choose(Time::ZERO, of(4)));
            flowlet.on_paths_changed(Time::ZERO);
        }
        assert!((0..4).all(|path| drawn.contains(&path)), "{drawn:?}");
    }
}
