//! A constant window: no congestion control at all.
//!
//! Not from a publication. It shows what a network does to a known load, and is the least that a transport can be.

use wayleave_scheme_api::{Ack, Described, Descriptor, Flow, FlowStart, Loss, Parameters, Role, ValueKind, params};
use wayleave_units::Time;

use crate::transports::{Congestion, Transport};

/// Descriptor of the fixed window.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "fixed",
    title: "fixed window",
    roles: &[Role::Transport],
    summary: "A constant window",
    citation: "none: the absence of congestion control",
    guarantee: "nothing",
    parameters: Params::LIST,
};

params! {
    /// The fixed window's parameter.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Window in full packets.
        pub window: u32 = 1, "window", ValueKind::Count { least: 1, most: u32::MAX as u64 }, "required", {
            example: "10", missing: "a fixed window needs its length in packets", noun: "a fixed window",
        };
    }
}

/// A window in bytes that never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed(
    /// The window.
    pub u64,
);

impl Described for Fixed {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl Transport for Fixed {
    const MARKS_OPTIONAL: bool = true;

    fn begin(start: &FlowStart, params: &Params) -> Self {
        Self(u64::from(params.window) * u64::from(start.segment))
    }
}

impl Flow for Fixed {
    #[inline]
    fn receives_routes(&self) -> bool {
        false
    }

    fn on_ack(&mut self, _: Time, _: &Ack<'_>) {}

    fn on_loss(&mut self, _: Time, _: Loss) {}

    #[inline]
    fn window(&self) -> u64 {
        self.0
    }
}

impl Congestion {
    /// Returns a window of `window` full packets that never changes.
    pub const fn fixed_window(window: u32) -> Self {
        Self::Fixed(Params { window })
    }
}
