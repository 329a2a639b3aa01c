//! Fixed limits: a token bucket for each class that has a maximum, and one for each pair, which never change.
//!
//! V. Jeyakumar et al., "Flexible Network Bandwidth and Latency Provisioning in the Datacenter" (Parley, 2014):
//! section 6.3 names fixed caps as EyeQ's only remedy if the core is congested ("would have to cap each of the ten
//! instances"). Section 4 limits 100 senders like this for Fig. 9. This baseline is not work-conserving: no class
//! gets the unused share of another.
//!
//! | text | here |
//! |---|---|
//! | 6.3: a cap for each instance | the class's `max`, as a root limiter |
//! | 4, Fig. 9: "rate limited to 1/100th of the desired load" | `pair`, the same for every pair |
//! | 4, Fig. 9: "a maximum burst size of 64kB" | `burst` |
//!
//! Deviations: none. Minima and weights are ignored, and so are maxima of received traffic: receivers send no
//! feedback.

mod params;
#[cfg(test)]
mod tests;

use std::convert::Infallible;

use wayleave_scheme_api::{
    Bucket, Described, Descriptor, ExcessAction, Host, HostAction, HostInput, Limiter, Parameters, Role,
};
use wayleave_units::{Rate, Time};

pub use params::Params;

use crate::brokers::NoBroker;
use crate::hosts::{HostBuildError, HostScheme, HostSetup};

/// Descriptor of fixed limits.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "static-limits",
    title: "fixed limits",
    roles: &[Role::Host],
    summary: "Constant rate limits: the maximum of each sending service, and one limit for each pair",
    citation: "V. Jeyakumar and others, \"Flexible Network Bandwidth and Latency Provisioning in the Datacenter\" (Parley, 2014), sections 4 and 6.3",
    guarantee: "no service sends more than its maximum; unused capacity is not redistributed",
    parameters: Params::LIST,
};

impl Described for StaticLimits {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl HostScheme for StaticLimits {
    type Broker = NoBroker<Infallible>;

    fn build(_: &mut HostSetup<'_>, params: &Params) -> Result<Self, HostBuildError> {
        Ok(Self::new(*params))
    }

    fn not_carried_out(_: &Params) -> &'static [&'static str] {
        &["transmit.min", "transmit.weight", "receive.min", "receive.max", "receive.weight"]
    }

    fn wire_bytes(never: &Infallible) -> usize {
        match *never {}
    }
}

/// One machine.
///
/// ```
/// use wayleave_scheme_api::{ClassId, Host, HostAction, HostInput, Share};
/// use wayleave_schemes::host::static_limits::{Params, StaticLimits};
/// use wayleave_units::{Rate, Time};
///
/// let mut host = StaticLimits::new(Params::default());
/// let transmit = Share { max: Some(Rate::from_gbit(3)), ..Share::BEST_EFFORT };
/// let mut limits = Vec::new();
/// host.on(Time::ZERO, HostInput::ClassSet { class: ClassId(0), transmit, receive: transmit }, &mut |action| {
///     if let HostAction::SetBucket { bucket: Some(bucket), .. } = action {
///         limits.push(bucket.rate);
///     }
/// });
/// assert_eq!(limits, [Rate::from_gbit(3)]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StaticLimits {
    params: Params,
}

impl StaticLimits {
    /// A machine with these limits for each pair.
    pub fn new(params: Params) -> Self {
        Self { params }
    }

    fn bucket(&self, rate: Rate) -> Bucket {
        Bucket { rate, burst: self.params.burst, excess: ExcessAction::Waits }
    }
}

impl Host for StaticLimits {
    type Message = Infallible;
    type Timer = Infallible;

    fn on(
        &mut self,
        _: Time,
        input: HostInput<'_, Infallible, Infallible>,
        act: &mut impl FnMut(HostAction<Infallible, Infallible>),
    ) {
        match input {
            HostInput::ClassSet { class, transmit, .. } => {
                let bucket = transmit.max.map(|max| self.bucket(max));
                act(HostAction::SetBucket { limiter: Limiter::Class(class), bucket });
            }
            HostInput::Opened { pair, .. } if self.params.pair_rate.is_some() => {
                let bucket = self.params.pair_rate.map(|rate| self.bucket(rate));
                act(HostAction::SetBucket { limiter: Limiter::Pair(pair), bucket });
            }
            _ => {}
        }
    }
}
