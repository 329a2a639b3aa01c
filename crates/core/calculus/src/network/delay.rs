//! The delay of a single server, given how long the servers before it delay at most.
//!
//! For FIFO it is the horizontal deviation between the aggregate and the service curve. For arbitrary multiplexing it is the longest
//! busy period of a strict service curve: the time at which the service curve has caught up with the arrival curve (Le Boudec and
//! Thiran, section 1.3.2).

use num_traits::{Signed, Zero};

use super::BoundError;
use super::propagation::{Multiplexing, Propagation};
use crate::{ArrivalCurve, Rational, ServiceCurve, horizontal_deviation};

/// The delay of a server, from those of the servers before it.
pub(crate) fn delay_of(state: &Propagation<'_>, server: usize) -> Result<Rational, BoundError> {
    let arrival = state.aggregate_at(server)?;
    let delay = match state.options.multiplexing {
        Multiplexing::Fifo => horizontal_deviation(&arrival, &state.network.servers()[server].service),
        Multiplexing::Arbitrary => busy_period(&arrival, &state.options.packetized_service(state.network, server)),
    };
    delay.ok_or(BoundError::Overload { server })
}

/// The longest time in ns until a service curve has caught up with an arrival curve; `None` if it never does. With a strict
/// service curve it bounds busy periods, and so delays in any order of service.
pub fn busy_period(arrival: &ArrivalCurve, service: &ServiceCurve) -> Option<Rational> {
    if arrival.is_zero() {
        return Some(Rational::zero());
    }
    let pairs = arrival.pieces().iter().flat_map(|bucket| service.pieces().iter().map(move |piece| (bucket, piece)));
    let crossings = pairs.filter_map(|(bucket, piece)| {
        let excess = &piece.rate - &bucket.rate;
        excess.is_positive().then(|| (&bucket.burst + &piece.debt) / excess)
    });
    crossings.min()
}
