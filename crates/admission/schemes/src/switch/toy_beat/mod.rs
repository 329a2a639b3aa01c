//! A toy: one packet in a fixed number is marked, at any queue length. It shows that port functions beside queueing
//! are a folder and one line as well.

use wayleave_scheme_api::{Described, Descriptor, Mark, Parameters, QueueState, Role, Switch, ValueKind, params};
use wayleave_units::{Rate, Time};

use crate::switches::SwitchScheme;

/// Descriptor of the toy.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "toy-beat",
    title: "toy beat",
    roles: &[Role::Switch],
    summary: "Marks every n-th packet",
    citation: "none: a toy",
    guarantee: "nothing",
    parameters: Params::LIST,
};

params! {
    /// The toy's parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Number of packets per mark.
        pub packets: u32 = 10, "packets", ValueKind::Count { least: 1, most: 1000 }, "ours";
        /// Number of packets before the first mark.
        pub spared: u32 = 0, "spared", ValueKind::COUNT, "ours";
    }
}

/// The toy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToyBeat {
    packets: u32,
    left: u32,
}

impl Described for ToyBeat {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl SwitchScheme for ToyBeat {
    fn begin(params: &Params, _: Rate, _: u64) -> Self {
        Self { packets: params.packets, left: params.spared.saturating_add(params.packets) }
    }
}

impl Switch for ToyBeat {
    fn on_arrival(&mut self, _: Time, _: QueueState, _: u32) -> Mark {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return Mark::No;
        }
        self.left = self.packets;
        Mark::Congestion
    }
}
