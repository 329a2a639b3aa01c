//! A toy: every pair that leaves a machine is held to the same rate. It shows what the least host scheme has, and that its
//! folder and one line are all.

use std::convert::Infallible;

use wayleave_scheme_api::{
    Bucket, Described, Descriptor, ExcessAction, Host, HostAction, HostInput, Limiter, Parameters, Role, ValueKind,
    params,
};
use wayleave_units::{Bytes, Rate, Time};

use crate::brokers::NoBroker;
use crate::hosts::{HostBuildError, HostScheme, HostSetup};

/// Descriptor of the toy.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "toy-cap",
    title: "toy cap",
    roles: &[Role::Host],
    summary: "A constant rate limit for every pair",
    citation: "none: a toy",
    guarantee: "nothing",
    parameters: Params::LIST,
};

params! {
    /// The toy's parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Rate limit of each pair.
        pub rate: Rate = Rate::from_mbit(100), "rate", ValueKind::RATE, "ours";
        /// Burst of each token bucket.
        pub burst: Bytes = Bytes::new(10_000), "burst", ValueKind::BYTES, "ours";
    }
}

/// One machine.
#[derive(Clone, Copy, Debug)]
pub struct ToyCap {
    params: Params,
}

impl Described for ToyCap {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl HostScheme for ToyCap {
    type Broker = NoBroker<Infallible>;

    fn build(_: &mut HostSetup<'_>, params: &Params) -> Result<Self, HostBuildError> {
        Ok(Self { params: *params })
    }

    fn wire_bytes(never: &Infallible) -> usize {
        match *never {}
    }
}

impl Host for ToyCap {
    type Message = Infallible;
    type Timer = Infallible;

    fn on(
        &mut self,
        _: Time,
        input: HostInput<'_, Infallible, Infallible>,
        act: &mut impl FnMut(HostAction<Infallible, Infallible>),
    ) {
        if let HostInput::Opened { pair, .. } = input {
            let bucket = Bucket { rate: self.params.rate, burst: self.params.burst, excess: ExcessAction::Waits };
            act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket: Some(bucket) });
        }
    }
}
