//! Send times of a flow. Pure: time is an argument.

use super::flow::{LabFlow, LabLoad};

/// Nanobits of a bit.
const NANO: u128 = 1_000_000_000;
/// Maximum time for which a constant rate makes up when the sender could not run.
const MEMORY_NS: u64 = 500_000_000;

/// The sender's side of a flow.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// Single packets at equal intervals. The sender makes up for missed ones, as far back as `memory`.
    Steady { due: u64, interval: u64, memory: u64 },
    /// As much as a token bucket lets pass.
    Bucket(Bucket),
    /// Trains of `packets`, of which `left` are still to be sent; then none while the bucket fills.
    Trains { due: u64, left: u64, packets: u64, fill: u64 },
    /// Nothing by itself.
    Silent,
}

/// The token bucket of a contract, as its sender keeps it. Amounts are nanobits: a rate in bit/s times nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    rate: u128,
    burst: u128,
    /// Tokens that a packet costs.
    cost: u128,
    tokens: u128,
    /// Time for which `tokens` is valid.
    last: u64,
    /// The first instant.
    begins: u64,
    /// From one instant to the next.
    period: u64,
    /// Time in which an empty bucket fills.
    fill: u64,
}

impl Source {
    pub(super) fn new(spec: &LabFlow, begins: u64) -> Self {
        let cost = u128::from(spec.wire_bytes() * 8) * NANO;
        let time = |amount: u128, rate: u128| u64::try_from(amount.div_ceil(rate)).unwrap_or(u64::MAX);
        match spec.load {
            LabLoad::Constant { rate } => {
                let interval = time(cost, u128::from(rate.bits_per_second()).max(1));
                Self::Steady { due: begins, interval, memory: MEMORY_NS }
            }
            LabLoad::Requests { every } => Self::Steady { due: begins, interval: every.as_nanos().max(1), memory: 0 },
            LabLoad::Answers { .. } => Self::Silent,
            LabLoad::Trains { rate, burst } => {
                let (rate, burst) = (u128::from(rate.bits_per_second()).max(1), u128::from(burst.bits()) * NANO);
                let packets = u64::try_from(burst / cost).unwrap_or(u64::MAX);
                Self::Trains { due: begins, left: packets, packets, fill: time(burst, rate) }
            }
            LabLoad::Bursts { rate, burst, period } => {
                let (rate, burst) = (u128::from(rate.bits_per_second()).max(1), u128::from(burst.bits()) * NANO);
                let fill = time(burst, rate);
                let period = period.as_nanos().max(fill.saturating_mul(2)).max(1);
                Self::Bucket(Bucket { rate, burst, cost, tokens: burst, last: begins, begins, period, fill })
            }
        }
    }

    /// The earliest time from `now` on at which the next packet may go; `None` for never.
    pub(super) fn next(&self, now: u64) -> Option<u64> {
        match self {
            Self::Steady { due, .. } => Some((*due).max(now)),
            Self::Bucket(bucket) => bucket.next(now),
            // The shaper drops every packet that is larger than the bucket.
            Self::Silent | Self::Trains { packets: 0, .. } => None,
            Self::Trains { due, .. } => Some((*due).max(now)),
        }
    }

    /// A packet was handed to the kernel between these times.
    pub(super) fn sent(&mut self, before: u64, after: u64) {
        match self {
            Self::Steady { due, interval, memory } => {
                *due = (*due).max(before.saturating_sub(*memory)).saturating_add(*interval)
            }
            Self::Bucket(bucket) => bucket.sent(before, after),
            Self::Trains { due, left, packets, fill } => {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    // The bucket fills from the last packet on, so it is full before the next train.
                    (*left, *due) = (*packets, after.saturating_add(*fill));
                }
            }
            Self::Silent => {}
        }
    }
}

impl Bucket {
    fn next(&self, now: u64) -> Option<u64> {
        // The shaper drops every packet that is larger than the bucket.
        if self.cost > self.burst {
            return None;
        }
        let wait = u64::try_from(self.cost.saturating_sub(self.tokens).div_ceil(self.rate)).ok()?;
        let ready = self.last.saturating_add(wait).max(self.begins).max(now);
        let instant = self.begins + (ready - self.begins).div_ceil(self.period).saturating_mul(self.period);
        // The bucket has to be full at an instant: who would send in the time before it waits.
        let must_wait = ready < instant && ready.saturating_add(self.fill) > instant;
        Some(if must_wait { instant } else { ready })
    }

    /// The bucket fills from `after` on, so that however long the kernel took, the shaper has at least these tokens.
    fn sent(&mut self, before: u64, after: u64) {
        let gained = u128::from(before.saturating_sub(self.last)) * self.rate;
        self.tokens = self.burst.min(self.tokens + gained).saturating_sub(self.cost);
        self.last = after;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::net::Ipv4Addr;

    use wayleave_dataplane::net::VethEnd;
    use wayleave_topology::NodeId;
    use wayleave_units::{Bytes, Rate, Time};

    use super::*;
    use crate::plan::EndpointPlan;

    const MS: u64 = 1_000_000;

    pub(crate) fn spec(load: LabLoad) -> LabFlow {
        let end = VethEnd { namespace: String::new(), interface: String::new(), ifindex: 1, mac: None, mtu: 1500 };
        let endpoint = EndpointPlan {
            id: "a:b".to_owned(),
            host: NodeId(0),
            address: Ipv4Addr::LOCALHOST,
            inside: end.clone(),
            outside: end,
            mac: [0; 6],
        };
        // 1000 B on the wire.
        LabFlow {
            name: "f".to_owned(),
            from: endpoint.clone(),
            to: endpoint,
            port: 1,
            source_port: None,
            payload: 910,
            overhead: 48,
            load,
            bound: None,
        }
    }

    /// Returns the times of packets before `until`, if the kernel takes `busy` for each.
    fn times(load: LabLoad, until: u64, busy: u64) -> Vec<u64> {
        let mut source = Source::new(&spec(load), 0);
        let (mut times, mut now) = (Vec::new(), 0);
        while let Some(at) = source.next(now).filter(|&at| at < until) {
            times.push(at);
            now = at + busy;
            source.sent(at, now);
        }
        times
    }

    fn bursts(burst: u64, period_ms: u64) -> LabLoad {
        // 1 Mbit/s: a packet of 1000 B every 8 ms.
        LabLoad::Bursts { rate: Rate::from_mbit(1), burst: Bytes::new(burst), period: Time::from_millis(period_ms) }
    }

    #[test]
    fn bursts_are_followed_by_the_rate_and_silence_until_the_bucket_is_full() {
        let times = times(bursts(3000, 80), 160 * MS, 0);
        let expected = [0, 0, 0, 8, 16, 24, 32, 40, 48, 56, 80, 80, 80, 88, 96, 104, 112, 120, 128, 136];
        assert_eq!(times, expected.map(|ms| ms * MS));
    }

    #[test]
    fn the_shaper_never_lacks_tokens_for_any_kernel_delay() {
        for busy in [0, 7_000, 900_000, 20 * MS] {
            let times = times(bursts(5000, 100), 2_000 * MS, busy);
            // Packets arrive at the shaper at the end of their calls at the latest, at the start at the earliest.
            for (first, &start) in times.iter().enumerate() {
                for (index, &end) in times.iter().enumerate().skip(first) {
                    let span = u128::from((end).saturating_sub(start + if index == first { 0 } else { busy }));
                    let sent = (index - first + 1) as u128 * 8000 * NANO;
                    assert!(sent <= 5000 * 8 * NANO + span * 1_000_000, "{busy}: {first} to {index}");
                }
            }
        }
    }

    #[test]
    fn a_period_too_short_for_the_bucket_is_raised() {
        assert_eq!(times(bursts(2000, 1), 64 * MS, 0), times(bursts(2000, 32), 64 * MS, 0));
    }

    #[test]
    fn a_packet_larger_than_the_bucket_is_never_sent() {
        assert_eq!(times(bursts(999, 80), u64::MAX, 0), [0; 0]);
    }

    #[test]
    fn a_train_is_sent_at_once_and_the_next_when_its_bucket_is_full() {
        let load = LabLoad::Trains { rate: Rate::from_mbit(1), burst: Bytes::new(3999) };
        // Three packets of 1000 B; a bucket of 3999 B fills in 32 ms, less 8 us.
        let fill = 31_992_000;
        assert_eq!(times(load, 2 * fill, 0), [0, 0, 0, fill, fill, fill]);
        let expected =
            [0, 1, 2, 3 + 32, 4 + 32, 5 + 32].map(|ms: u64| (ms * MS).saturating_sub(if ms > 30 { 8_000 } else { 0 }));
        assert_eq!(times(load, 40 * MS, MS), expected, "it fills from the end of the last packet on");
        assert_eq!(times(LabLoad::Trains { rate: Rate::from_mbit(1), burst: Bytes::new(999) }, u64::MAX, 0), [0; 0]);
    }

    #[test]
    fn a_missed_request_is_not_made_up_for_and_answers_wait() {
        let load = LabLoad::Requests { every: Time::from_millis(47) };
        assert_eq!(times(load, 100 * MS, 0), [0, 47 * MS, 94 * MS]);
        let mut source = Source::new(&spec(load), 0);
        source.sent(200 * MS, 200 * MS);
        assert_eq!(source.next(200 * MS), Some(247 * MS));
        assert_eq!(times(LabLoad::Answers { to: 0 }, u64::MAX, 0), [0; 0]);
    }

    #[test]
    fn a_constant_rate_makes_up_for_missed_packets() {
        let load = LabLoad::Constant { rate: Rate::from_mbit(1) };
        assert_eq!(times(load, 24 * MS, 0), [0, 8 * MS, 16 * MS]);
        let mut source = Source::new(&spec(load), 0);
        source.sent(100 * MS, 100 * MS);
        assert_eq!(source.next(100 * MS), Some(100 * MS), "it is 92 ms behind");
        source.sent(9_000 * MS, 9_000 * MS);
        let Source::Steady { due, .. } = source else { panic!("a constant rate") };
        assert_eq!(due, 8_508 * MS, "what is older than half a second is forgotten");
    }
}
