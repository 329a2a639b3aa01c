//! The nearest request that would fit: the largest burst, the largest rate, the smallest deadline.
//!
//! Each is found by bisection over the scheme's own decision, so it holds for any scheme, with or without rerouting:
//! the value found was admitted, and one step more was refused.

use wayleave_scheme_api::{Admission, Request};
use wayleave_units::{Bytes, Rate, Time};

/// Values that would be admitted instead, each alone with everything else as asked; `None` if no value helps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NearestRequest {
    /// The largest burst, in whole bytes.
    pub burst: Option<Bytes>,
    /// The largest rate, in whole bit/s.
    pub rate: Option<Rate>,
    /// The smallest deadline, in whole ns.
    pub deadline: Option<Time>,
    /// The largest number of disjoint routes below what was asked.
    pub protection: Option<u8>,
}

/// Searches around a refused request; the scheme is left as it was.
pub fn nearest(scheme: &mut impl Admission, request: &Request) -> NearestRequest {
    let mut try_admit = |request: &Request| scheme.would_admit(request);
    let least_burst = request.max_frame.map_or(1, Bytes::get);
    let burst = largest(least_burst, request.burst.get(), |bytes| {
        try_admit(&Request { burst: Bytes::new(bytes), ..request.clone() })
    });
    let rate = largest(1, request.rate.bits_per_second(), |rate| {
        try_admit(&Request { rate: Rate::from_bits_per_second(rate), ..request.clone() })
    });
    let longest = wayleave_contracts::MAX_DEADLINE.as_nanos();
    let deadline = smallest(request.deadline.as_nanos(), longest, |nanos| {
        try_admit(&Request { deadline: Time::from_nanos(nanos), ..request.clone() })
    });
    let fewer = (1..request.protection).rev();
    let protection = fewer.into_iter().find(|&routes| try_admit(&Request { protection: routes, ..request.clone() }));
    NearestRequest {
        burst: burst.map(Bytes::new),
        rate: rate.map(Rate::from_bits_per_second),
        deadline: deadline.map(Time::from_nanos),
        protection,
    }
}

/// A value in `least..refused` that is admitted while the next is refused.
fn largest(least: u64, refused: u64, mut admitted: impl FnMut(u64) -> bool) -> Option<u64> {
    if least >= refused || !admitted(least) {
        return None;
    }
    let (mut low, mut high) = (least, refused);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if admitted(middle) { low = middle } else { high = middle }
    }
    Some(low)
}

/// A value in `refused..=most` that is admitted while the one before is refused.
fn smallest(refused: u64, most: u64, mut admitted: impl FnMut(u64) -> bool) -> Option<u64> {
    if refused >= most || !admitted(most) {
        return None;
    }
    let (mut low, mut high) = (refused, most);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if admitted(middle) { high = middle } else { low = middle }
    }
    Some(high)
}
