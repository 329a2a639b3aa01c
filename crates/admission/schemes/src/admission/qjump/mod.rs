//! QJump: every application sends at most one packet per network epoch, in the highest priority.
//!
//! M. P. Grosvenor, M. Schwarzkopf, I. Gog, R. N. M. Watson, A. W. Moore, S. Hand, J. Crowcroft, "Queues don't matter
//! when you can JUMP them!", NSDI 2015, as far as Chameleon (CoNEXT 2020, sections 2.1.1, 5.1.1 and 5.1.3) describes
//! it, and the levels as that paper defines them.
//!
//! The number of applications (n) and their packet size (P) are fixed at the start. If each of them sends a packet at
//! once, all to one destination, the last packet waits for n packets. The network epoch is twice that time, because
//! hosts have no common clock, plus the processing along the route. An application that sends one packet per epoch
//! never waits longer than an epoch.
//!
//! | text | here |
//! |---|---|
//! | network epoch `2 n P / R + epsilon` | [`Epoch::length`] |
//! | unit rate `P / (2 n P / R + epsilon)` | [`Epoch::unit`] |
//! | levels: factor f assumes n' = n / f hosts, more throughput and no bound | [`Epoch::level`] |
//! | at most n applications | [`Qjump`], the shares |
//! | Chameleon, footnote 3: the best n of several | [`best`] |
//!
//! Parameters, with the defaults of Chameleon, section 5.1.1: n = 32, P = 1500 B, epsilon = 4 us. R is the slowest
//! link of the network.
//!
//! Points that the texts leave open, with the readings that are offered:
//! - A flow that asks for more than the unit rate. [`Reading::Refused`]: it is refused, as in section 2.1.1.
//!   [`Reading::Charged`]: it takes the shares that it needs, as if it were several applications. [`Reading::Flat`]: it
//!   takes one share at any rate, and its shaper limits it to the unit rate, so only its latency is promised, not its
//!   rate. That comes closest to Fig. 8a, on which section 5.1.3 comments "QJump is blocked to a maximum of n = 32
//!   flows".
//! - A burst of more than a packet. An application sends P bytes per epoch. A burst of b bytes therefore takes
//!   `ceil(b / P)` epochs from the shaper to the last bit (with s shares, `ceil(b / (s P))`), and has to meet the
//!   deadline. The shaper is a token bucket that holds P and earns P per epoch, so several small packets count as
//!   one.
//! - The route. QJump prescribes none; packets take one of the shortest paths, by a hash of the flow (ECMP).
//! - Bytes. P uses the model's byte count; a full frame with tags has more than 1500 wire bytes.
//!
//! Deviations:
//! - The formula leaves out that switches store every packet before they forward it, and that a frame of lower
//!   priority is finished first. If all of that for one packet of each application takes longer than an epoch, the
//!   promise would be wrong. Such a request is refused ([`wayleave_scheme_api::Refusal::ShortRound`]). This matters
//!   for n close to the number of hops.
//! - The texts do not cover buffers. A queue refuses a flow if it could have to hold more than its buffer (two
//!   packets of every share on it).
//! - Only level f = 1 keeps a deadline, so only that level admits contracts. The others are computed, and named in
//!   refusals for the rate.
//! - The proof is the paper's, not network calculus: `recheck` derives nothing again, and `verify` tests it.

mod admission;
mod admitted;
mod epoch;
mod explanation;
mod params;
mod sweep;

pub use admission::Qjump;
pub use epoch::{Epoch, PriorityLevel};
pub use params::{Params, Reading};
pub use sweep::{Best, best, until_first_refusal};

use wayleave_scheme_api::{Described, Descriptor, Parameters, Refusal, Role};
use wayleave_topology::Network;

use crate::registry::{AdmissionScheme, BuildError, SchemeInputs};

/// Descriptor of QJump.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "qjump",
    title: "QJump",
    roles: &[Role::Admission],
    summary: "One packet per epoch for each of n applications, at the highest priority (NSDI 2015)",
    citation: "M. P. Grosvenor, M. Schwarzkopf, I. Gog, R. N. M. Watson, A. W. Moore, S. Hand, J. Crowcroft, \"Queues \
               don't matter when you can JUMP them!\", NSDI 2015; parameters as in Chameleon (CoNEXT 2020), section 5.1.1",
    guarantee: "the delay of a packet is at most one network epoch, or one epoch per packet of its burst",
    parameters: Params::LIST,
};

impl Described for Qjump {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl AdmissionScheme for Qjump {
    fn build(setup: &SchemeInputs<'_>, params: Params) -> Result<Self, BuildError> {
        Ok(Self::new(setup.network.clone(), setup.model, params))
    }

    fn refusal_words(_: &Network, refusal: &Refusal) -> Option<String> {
        explanation::refusal(refusal)
    }
}

#[cfg(test)]
mod tests;
