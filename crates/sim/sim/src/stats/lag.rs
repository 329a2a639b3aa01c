//! Lag of a service behind a promised rate while there was demand: the latency of its rate-latency service curve (Le
//! Boudec and Thiran, "Network Calculus", 2001, section 1.3).

/// Bits of a byte times ps of a second.
const BITS_PS: i128 = 8 * 1_000_000_000_000;

/// The least time that makes "in every window of length t, while there is demand, at least rate (t - time)" true of
/// the arrivals.
///
/// The debt grows with the rate and shrinks with arrivals. Its largest rise between two times of one period of
/// demand, divided by the rate, is that time. So every window is covered, with a constant amount of work for each
/// arrival.
///
/// ```
/// use wayleave_sim::stats::Lag;
///
/// // 8 Gbit/s are 1,000 B in a microsecond.
/// let mut lag = Lag::new(8_000_000_000);
/// lag.begin(0);
/// // 1,000 B came after 3 us, then 9,000 B at once, and 5 us later 1,000 B.
/// lag.arrive(3_000_000, 1_000);
/// lag.arrive(3_000_000, 9_000);
/// lag.arrive(8_000_000, 1_000);
/// lag.end(8_000_000);
/// assert_eq!(lag.longest(), 5_000_000, "what came early is no credit for later windows");
/// ```
#[derive(Clone, Debug)]
pub struct Lag {
    /// In bit/s.
    rate: u64,
    /// Time until which the debt was counted; `None` without demand.
    since: Option<u64>,
    /// Debt, and its minimum in this period.
    owed: i128,
    least: i128,
    worst: i128,
    arrived: u64,
}

impl Lag {
    /// Of this rate in bit/s.
    pub fn new(rate: u64) -> Self {
        Self { rate, since: None, owed: 0, least: 0, worst: 0, arrived: 0 }
    }

    /// There is demand from now on.
    pub fn begin(&mut self, now_ps: u64) {
        if self.since.is_none() {
            (self.since, self.owed, self.least) = (Some(now_ps), 0, 0);
        }
    }

    /// There is none any more.
    pub fn end(&mut self, now_ps: u64) {
        self.grow(now_ps);
        self.since = None;
    }

    /// Bytes arrive.
    #[inline]
    pub fn arrive(&mut self, now_ps: u64, bytes: u64) {
        self.arrived += bytes;
        self.grow(now_ps);
        self.owed -= i128::from(bytes) * BITS_PS;
        self.least = self.least.min(self.owed);
    }

    fn grow(&mut self, now_ps: u64) {
        if let Some(since) = self.since {
            self.owed += i128::from(self.rate) * i128::from(now_ps.saturating_sub(since));
            self.since = Some(now_ps.max(since));
            self.worst = self.worst.max(self.owed - self.least);
        }
    }

    /// Forgets the debt until now: the warm-up is over.
    pub fn forget(&mut self, now_ps: u64) {
        self.grow(now_ps);
        (self.owed, self.least, self.worst, self.arrived) = (0, 0, 0, 0);
    }

    /// The time, in ps, rounded up; zero without a rate.
    pub fn longest(&self) -> u64 {
        let rate = i128::from(self.rate.max(1));
        u64::try_from((self.worst + rate - 1) / rate).unwrap_or(u64::MAX)
    }

    /// Bytes that arrived in all, with and without demand.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt as _, SeedableRng};

    /// By the definition: every pair of times.
    fn by_definition(rate: u64, arrivals: &[(u64, u64)], end: u64) -> u64 {
        let got = |from: u64, to: u64| {
            let within = |&&(at, _): &&(u64, u64)| at > from && at < to;
            arrivals.iter().filter(within).map(|arrival| arrival.1).sum::<u64>()
        };
        // Windows begin after an arrival and end before one.
        let times = || arrivals.iter().map(|arrival| arrival.0).chain([0, end]);
        let lag = |from: u64, to: u64| {
            let served = i128::from(got(from, to)) * BITS_PS / i128::from(rate);
            u64::try_from(i128::from(to - from) - served).unwrap_or(0)
        };
        times().flat_map(|to| times().filter(move |&from| from <= to).map(move |from| lag(from, to))).max().unwrap()
    }

    #[test]
    fn the_lag_is_the_maximum_of_all_windows() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        for _ in 0..200 {
            let (mut now, mut arrivals) = (0, Vec::new());
            for _ in 0..random.random_range(1..20) {
                now += random.random_range(1..3_000_000);
                arrivals.push((now, random.random_range(1..3_000)));
            }
            let mut lag = Lag::new(8_000_000_000);
            lag.begin(0);
            arrivals.iter().for_each(|&(at, bytes)| lag.arrive(at, bytes));
            let end = now + random.random_range(1..3_000_000);
            lag.end(end);
            assert_eq!(lag.longest(), by_definition(8_000_000_000, &arrivals, end), "{arrivals:?}");
        }
    }

    #[test]
    fn without_demand_there_is_no_lag() {
        let mut lag = Lag::new(8_000_000_000);
        lag.arrive(1_000_000_000, 100);
        lag.begin(1_000_000_000);
        lag.end(1_002_000_000);
        lag.arrive(9_000_000_000, 100);
        lag.begin(9_000_000_000);
        lag.end(9_001_000_000);
        assert_eq!((lag.longest(), lag.arrived()), (2_000_000, 200));
    }
}
