//! Transport of reliable flows.

use wayleave_schemes::transports::Congestion;
use wayleave_units::{Bytes, Time};

/// Transport of reliable flows.
#[derive(Clone, Debug, PartialEq)]
pub struct TransportConfig {
    /// Congestion control.
    pub congestion: Congestion,
    /// Layer-3 size of a full packet: payload and 40 B of headers (IPv4 and TCP).
    pub mtu: Bytes,
    /// Initial window in full packets (RFC 6928: 10).
    pub initial_window: u32,
    /// The shortest retransmission time-out.
    pub min_timeout: Time,
    /// The retransmission time-out before the first sample of the round trip (RFC 6298, section 2.1: 1 s).
    pub first_timeout: Time,
    /// The longest window in full packets (what the receiver can buffer).
    pub max_window: u32,
    /// Spreading of segments over the round trip.
    pub pacing: Pacing,
}

/// Pacing of segments within the window. Congestion control with a rate of its own applies the rate in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// They do.
    #[default]
    Off,
    /// They are spread: 1.25 windows in a smoothed round trip (RFC 9002, section 7.7). The first window, before there is
    /// a sample of the round trip, is not.
    Window,
}

impl Default for TransportConfig {
    fn default() -> Self {
        Self {
            congestion: Congestion::newreno(),
            mtu: Bytes::new(1500),
            initial_window: 10,
            // 1 s in RFC 6298; datacenter practice is milliseconds (DCTCP, section 4: 10 ms).
            min_timeout: Time::from_millis(10),
            first_timeout: Time::from_millis(1_000),
            max_window: 10_000,
            pacing: Pacing::Off,
        }
    }
}
