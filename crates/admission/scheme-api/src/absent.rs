//! The layer that is not there.

use core::convert::Infallible;

use wayleave_units::Time;

use crate::host::{Host, HostAction, HostInput};
use crate::path::{Departure, Path};
use crate::switch::{Mark, QueueState, Switch};
use crate::tunnel::Tunnel;

/// Takes the place of a host, tunnel, path or switch role that a scheme does not have. It has no size, and its
/// methods compile to nothing.
///
/// ```
/// use wayleave_scheme_api::{NoRole, Departure, Path};
/// use wayleave_units::Time;
/// assert_eq!(size_of::<NoRole>(), 0);
/// assert_eq!(NoRole.choose(Time::ZERO, Departure { bytes: 1460, paths: 4 }), 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoRole;

/// Neither limits nor sends anything.
impl Host for NoRole {
    type Message = Infallible;
    type Timer = Infallible;

    fn on(
        &mut self,
        _now: Time,
        _input: HostInput<'_, Infallible, Infallible>,
        _act: &mut impl FnMut(HostAction<Infallible, Infallible>),
    ) {
    }
}

/// A queue in order of arrival, without limits.
impl Tunnel for NoRole {}

/// Always the first path.
impl Path for NoRole {
    fn choose(&mut self, _now: Time, _departure: Departure) -> u32 {
        0
    }
}

/// Never marks.
impl Switch for NoRole {
    fn on_arrival(&mut self, _now: Time, _queue: QueueState, _bytes: u32) -> Mark {
        Mark::No
    }
}
