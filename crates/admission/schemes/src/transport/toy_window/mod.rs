//! A toy: a window that grows by a fixed part of the acknowledged amount, and begins again after a loss. It shows the
//! minimum that a transport needs: its folder and one line.

use wayleave_scheme_api::{Ack, Described, Descriptor, Flow, FlowStart, Loss, Parameters, Role, ValueKind, params};
use wayleave_units::Time;

use crate::transports::Transport;

/// Descriptor of the toy.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "toy-window",
    title: "toy window",
    roles: &[Role::Transport],
    summary: "A window that grows with acknowledgements and restarts after a loss",
    citation: "none: a toy",
    guarantee: "nothing",
    parameters: Params::LIST,
};

params! {
    /// The toy's parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Initial window in full packets.
        pub first: u32 = 2, "first", ValueKind::Count { least: 1, most: 1_000 }, "ours";
        /// Percentage of the acknowledged amount that is added to the window.
        pub growth: u8 = 50, "growthPercent", ValueKind::Percent { least: 0, most: 100 }, "ours";
    }
}

/// The toy, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToyWindow {
    first: u64,
    window: u64,
    most: u64,
    growth: u8,
}

impl Described for ToyWindow {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl Transport for ToyWindow {
    fn begin(start: &FlowStart, params: &Params) -> Self {
        let most = start.max_window.max(1);
        let first = (u64::from(params.first) * u64::from(start.segment)).min(most);
        Self { first, window: first, most, growth: params.growth }
    }
}

impl Flow for ToyWindow {
    fn on_ack(&mut self, _: Time, ack: &Ack<'_>) {
        let more = ack.newly / 100 * u64::from(self.growth);
        self.window = self.window.saturating_add(more).min(self.most);
    }

    fn on_loss(&mut self, _: Time, _: Loss) {
        self.window = self.first;
    }

    fn window(&self) -> u64 {
        self.window
    }
}
