//! Schemes of the packet path by name: one enum for each role, so that calls are static and states stand side by side.
//!
//! To add one: a variant, its line in each `match`, and its constructor.

use wayleave_policy::{Ack, Departure, Flow, FlowStart, Loss, Mark, Path, QueueState, Switch};
use wayleave_units::{Bytes, Rate, Time};

use crate::cubic::Cubic;
use crate::dctcp::{self, Dctcp};
use crate::ecmp::{FlowHash, Spray};
use crate::ecn::{self, Red, Threshold};
use crate::flowlet::Flowlet;
use crate::newreno::NewReno;
use crate::presto::Presto;

/// Congestion control, whichever it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AnyFlow {
    /// A window in bytes that never changes.
    Fixed(u64),
    /// See [`crate::newreno`].
    NewReno(NewReno),
    /// See [`crate::cubic`].
    Cubic(Cubic),
    /// See [`crate::dctcp`].
    Dctcp(Dctcp),
}

impl AnyFlow {
    /// NewReno.
    pub fn newreno(start: &FlowStart) -> Self {
        Self::NewReno(NewReno::new(start))
    }

    /// CUBIC.
    pub fn cubic(start: &FlowStart) -> Self {
        Self::Cubic(Cubic::new(start))
    }

    /// DCTCP with its usual parameters.
    pub fn dctcp(start: &FlowStart) -> Self {
        Self::Dctcp(Dctcp::new(start, dctcp::Params::default()))
    }
}

impl Flow for AnyFlow {
    #[inline]
    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        match self {
            Self::Fixed(_) => {}
            Self::NewReno(flow) => flow.on_ack(now, ack),
            Self::Cubic(flow) => flow.on_ack(now, ack),
            Self::Dctcp(flow) => flow.on_ack(now, ack),
        }
    }

    fn on_loss(&mut self, now: Time, loss: Loss) {
        match self {
            Self::Fixed(_) => {}
            Self::NewReno(flow) => flow.on_loss(now, loss),
            Self::Cubic(flow) => flow.on_loss(now, loss),
            Self::Dctcp(flow) => flow.on_loss(now, loss),
        }
    }

    #[inline]
    fn window(&self) -> u64 {
        match self {
            Self::Fixed(window) => *window,
            Self::NewReno(flow) => flow.window(),
            Self::Cubic(flow) => flow.window(),
            Self::Dctcp(flow) => flow.window(),
        }
    }
}

/// A choice of paths, whichever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyPath {
    /// See [`crate::ecmp`].
    PerFlow(FlowHash),
    /// See [`crate::ecmp`].
    PerPacket(Spray),
    /// See [`crate::flowlet`].
    Flowlet(Flowlet),
    /// See [`crate::presto`].
    Flowcells(Presto),
}

impl AnyPath {
    /// The number of the flowcell of the packet that was sent last; zero where there are none.
    #[inline]
    pub fn cell(&self) -> u32 {
        if let Self::Flowcells(path) = self { path.flowcell() } else { 0 }
    }
}

impl Path for AnyPath {
    #[inline]
    fn choose(&mut self, now: Time, departure: Departure) -> u32 {
        match self {
            Self::PerFlow(path) => path.choose(now, departure),
            Self::PerPacket(path) => path.choose(now, departure),
            Self::Flowlet(path) => path.choose(now, departure),
            Self::Flowcells(path) => path.choose(now, departure),
        }
    }
}

/// A port's marking, whichever it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AnyMarking {
    /// None.
    None,
    /// See [`crate::ecn`].
    Threshold(Threshold),
    /// See [`crate::ecn`].
    Red(Red),
}

impl AnyMarking {
    /// Marks packets that find more than this.
    pub fn threshold(threshold: Bytes) -> Self {
        Self::Threshold(Threshold { above: threshold })
    }

    /// Random early detection.
    pub fn red(min: Bytes, max: Bytes, probability: f64, weight: f64, rate: Rate, seed: u64) -> Self {
        Self::Red(Red::new(ecn::Params { min, max, probability, weight, rate }, seed))
    }
}

impl Switch for AnyMarking {
    #[inline]
    fn on_arrival(&mut self, now: Time, queue: QueueState, bytes: u32) -> Mark {
        match self {
            Self::None => Mark::No,
            Self::Threshold(marking) => marking.on_arrival(now, queue, bytes),
            Self::Red(marking) => marking.on_arrival(now, queue, bytes),
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! What the tests of the rooms share.

    use wayleave_policy::{Limit, Phase};

    use super::*;

    /// A flow without end.
    pub(crate) fn start(segment: u32, window: u64) -> FlowStart {
        FlowStart {
            segment,
            initial_window: window,
            max_window: 100_000_000,
            size: None,
            deadline: None,
            weight: 1,
        }
    }

    /// An acknowledgement of so much, of a sender that its window holds back.
    pub(crate) fn acked(newly: u64) -> Ack<'static> {
        Ack {
            newly,
            marked: 0,
            acknowledged: newly,
            sent: 1_000_000,
            in_flight: 0,
            remaining: None,
            round_trip: Some(Time::from_micros(100)),
            host_delay: None,
            limit: Limit::Window,
            phase: Phase::Open,
            telemetry: &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_flow_stays_small() {
        assert!(size_of::<AnyFlow>() <= 96, "{}", size_of::<AnyFlow>());
        assert!(size_of::<AnyPath>() <= 40, "{}", size_of::<AnyPath>());
    }
}
