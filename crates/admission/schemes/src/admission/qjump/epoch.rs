//! The network epoch, the unit rate and the levels: integers, the epoch rounded up and rates rounded down.

use wayleave_units::{Rate, Time};

use super::Params;

/// ns in a second.
const SECOND: u128 = 1_000_000_000;

/// QJump's arithmetic for one network.
///
/// ```
/// use wayleave_schemes::admission::qjump::{Epoch, Params};
/// use wayleave_units::{Bytes, Rate, Time};
/// // Chameleon, section 2.1.1: 10 machines on each of 16 servers, packets of 300 B.
/// let params = Params { applications: 160, packet: Bytes::new(300), ..Params::default() };
/// let epoch = Epoch::new(&params, Rate::from_gbit(10));
/// assert_eq!(epoch.length(), Time::from_nanos(80_800));
/// assert_eq!(epoch.unit().to_string(), "29.70297Mbit");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    applications: u32,
    packet_bits: u64,
    epsilon: Time,
    rate: Rate,
}

/// A priority with its rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityLevel {
    /// f: 1 is the guaranteed one.
    pub factor: u32,
    /// Network epoch: minimum interval between two packets of an application.
    pub epoch: Time,
    /// The rate limit; `None` at the highest factor, n, which has none.
    pub limit: Option<Rate>,
    /// `true` if the epoch is also a bound of the latency: only at f = 1.
    pub is_guaranteed: bool,
}

impl Epoch {
    /// Of a network whose slowest link has this rate.
    pub fn new(params: &Params, rate: Rate) -> Self {
        let &Params { applications, packet, epsilon, .. } = params;
        Self { applications: applications.max(1), packet_bits: packet.bits().max(1), epsilon, rate }
    }

    /// R, that of the slowest link.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Returns the transmission time of one packet on the slowest link, rounded up.
    pub fn packet_time(&self) -> Time {
        self.sending(u128::from(self.packet_bits))
    }

    /// `2 n P / R`, rounded up.
    pub fn contention(&self) -> Time {
        self.sending(2 * u128::from(self.applications) * u128::from(self.packet_bits))
    }

    /// Returns the cumulative processing along the route.
    pub fn epsilon(&self) -> Time {
        self.epsilon
    }

    /// The network epoch, which is the bound of the latency.
    pub fn length(&self) -> Time {
        self.contention().checked_add(self.epsilon).unwrap_or(Time::MAX)
    }

    /// Returns the rate of one application: one packet per epoch.
    pub fn unit(&self) -> Rate {
        self.one_packet_in(self.length())
    }

    /// The level of a throughput factor, taken to be between 1 and n: packets as often as if only n / f hosts sent.
    pub fn level(&self, factor: u32) -> PriorityLevel {
        let factor = factor.clamp(1, self.applications);
        let bits = (2 * u128::from(self.applications) * u128::from(self.packet_bits)).div_ceil(u128::from(factor));
        let epoch = self.sending(bits).checked_add(self.epsilon).unwrap_or(Time::MAX);
        let is_highest = factor == self.applications && factor > 1;
        let limit = Some(self.one_packet_in(epoch)).filter(|_| !is_highest);
        PriorityLevel { factor, epoch, limit, is_guaranteed: factor == 1 }
    }

    /// The first level whose limit lets a rate through.
    pub fn level_for(&self, rate: Rate) -> PriorityLevel {
        let is_enough = |factor: u32| self.level(factor).limit.is_none_or(|limit| limit >= rate);
        let (mut low, mut high) = (1, self.applications);
        while low < high {
            let middle = low + (high - low) / 2;
            if is_enough(middle) { high = middle } else { low = middle + 1 }
        }
        self.level(low)
    }

    fn sending(&self, bits: u128) -> Time {
        let nanos = (bits * SECOND).div_ceil(u128::from(self.rate.bits_per_second().max(1)));
        Time::from_nanos(u64::try_from(nanos).map_or(Time::MAX.as_nanos(), |nanos| nanos.min(Time::MAX.as_nanos())))
    }

    fn one_packet_in(&self, epoch: Time) -> Rate {
        let rate = u128::from(self.packet_bits) * SECOND / u128::from(epoch.as_nanos().max(1));
        Rate::from_bits_per_second(
            u64::try_from(rate).map_or(Rate::MAX.bits_per_second(), |rate| rate.min(Rate::MAX.bits_per_second())),
        )
    }
}
