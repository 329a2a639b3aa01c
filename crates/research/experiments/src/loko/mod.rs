//! Loko's evaluation: A. Van Bemten and others, CoNEXT 2019, from its slides.
//!
//! | slide | here |
//! |---|---|
//! | "proof-of-concept implementation and evaluation": R, T, the two allocations | `zodiac_fx.rs` |
//! | "remember! SoA was failing!": OK, late, lost | `comparison.rs` |
//! | burst multiplier | `burst.rs` |
//! | "scalability analysis" | `scalability.rs` |
//!
//! The experiments are those of [`low_cost`](crate::low_cost), on simulated switches. All of them have its one set of choices, where the
//! slides print none: a line of switches with two hosts each, links of 100 Mbit/s, flows of 50 to 400 kbit/s with bursts of one or
//! two packets of 306 B within 40 ms. Only the scalability analysis changes
//! the length of the line, and leaves the deadline out.

pub(crate) mod burst;
pub(crate) mod comparison;
pub(crate) mod scalability;
pub(crate) mod zodiac_fx;

use crate::data::{Axis, Figure, Form, Panel, Series};
use crate::run::Run;

/// The line of all figures but the scalability analysis.
const SWITCHES: u64 = 4;

/// The slides print no number of runs.
fn few_seeds(run: &Run) -> Vec<u64> {
    run.seeds(3, 3)
}

fn panel(name: &str, title: &str, axes: (Axis, Axis), form: Form, series: Vec<Series>) -> Panel {
    Panel::new(name, title, (axes.0, axes.1), form, series)
}

/// Adds the settings of every figure with flows.
fn settings(figure: Figure) -> Figure {
    figure
        .with("switches", "the simulated Zodiac FX at the proof of concept's scenario, two hosts each, in a line; links at 100 Mbit/s")
        .with("flows", "random hosts, 50 to 400 kbit/s, bursts of one or two packets of 306 B, deadline 40 ms")
        .with("Loko", "full rate, one service a switch")
}
