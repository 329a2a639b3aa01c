//! Sources of packets that are not acknowledged.

use std::sync::Arc;

use rand::Rng;
use wayleave_scenarios::{OnOff, PacketKind};
use wayleave_schemes::transports::AnyPath;
use wayleave_units::{Bytes, Rate};

use crate::clock::{self, Instant, PS_PER_SECOND};
use crate::fabric::{NetworkState, Step};
use crate::random;
use crate::router::PathSetId;
use crate::schedule::Schedule;

/// No frame is smaller on the wire: 64 B and 20 B of preamble and gap (IEEE 802.3).
const SMALLEST_FRAME: u32 = 84;

/// Source of packets of one pair of hosts, or on one route.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) destination: SourceDestination,
    /// Choice of a path for each packet, if not all take one.
    pub(crate) spreading: Option<Box<AnyPath>>,
    frame: u32,
    stop: Instant,
    sequence: u32,
    timing: Timing,
    /// Activity, if it is not always active: its times are those of this schedule's clock.
    schedule: Option<Arc<Schedule>>,
}

/// Route of a source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceDestination {
    pub(crate) first: Step,
    pub(crate) route: u32,
    pub(crate) last_hop: Step,
    /// Index of its statistics.
    pub(crate) flow: u32,
    pub(crate) is_tagged: bool,
    /// The set that its path is of, with its number there; none if its route is fixed.
    pub(crate) paths: Option<(PathSetId, u32)>,
    /// The set of its copies, if it has any.
    pub(crate) copies: Option<u32>,
}

impl SourceDestination {
    /// Takes this path of a set, if there is one.
    pub(crate) fn take(&mut self, set: PathSetId, path: u32, fabric: &NetworkState) {
        let Some(route) = fabric.start(set, path) else { return };
        self.route = route;
        if let Some((first, last_hop)) = fabric.own_ends(set, path) {
            (self.first, self.last_hop) = (first, last_hop);
        }
    }
}

/// Timing of the next packet.
#[derive(Clone, Debug)]
enum Timing {
    /// A burst, then ticks.
    Bucket { full_frames: u32, rest: u32, ticks: Ticks },
    /// Ticks only.
    Constant(Ticks),
    /// Ticks, and when the packet of the present one leaves: up to `jitter` later, and not before the one in front.
    Jittered { ticks: Ticks, jitter: Instant, next: Instant },
    /// Ticks of the time that was spent being on.
    OnOff { ticks: Ticks, periods: Periods },
    /// Exponential gaps with this mean in ps.
    Poisson { next: Instant, mean: f64 },
}

/// Instants at equal distances that need not be whole ps, each rounded up: no drift, and never too early.
#[derive(Clone, Copy, Debug)]
struct Ticks {
    whole: Instant,
    /// In units of 1/rate ps.
    part: u64,
    step_whole: Instant,
    step_part: u64,
    rate: u64,
}

impl Ticks {
    /// The first tick comes when `first` bytes have been earned since `start`, the others after `bytes` each.
    fn new(start: Instant, first: u32, bytes: u32, rate: Rate) -> Self {
        let rate = rate.bits_per_second().max(1);
        let split = |bytes: u32| {
            let time = u128::from(bytes) * 8 * u128::from(PS_PER_SECOND);
            let rate = u128::from(rate);
            (u64::try_from(time / rate).unwrap_or(u64::MAX / 4), (time % rate) as u64)
        };
        let ((whole, part), (step_whole, step_part)) = (split(first), split(bytes));
        Self { whole: start.saturating_add(whole), part, step_whole, step_part, rate }
    }

    /// One for each frame, beginning at random within the first interval.
    fn in_phase(start: Instant, frame: u32, rate: Rate, rng: &mut impl Rng) -> Self {
        let interval = clock::transmission(u64::from(frame), rate);
        let phase = (random::unit(rng) * interval as f64) as Instant;
        Self::new(start.saturating_add(phase), 0, frame, rate)
    }

    fn at(&self) -> Instant {
        self.whole + u64::from(self.part > 0)
    }

    fn advance(&mut self) {
        self.whole = self.whole.saturating_add(self.step_whole);
        self.part += self.step_part;
        if self.part >= self.rate {
            self.part -= self.rate;
            self.whole += 1;
        }
    }
}

/// Successive periods of being on. An amount earned in one that makes no frame counts in the next, so that the mean
/// rate is exact.
#[derive(Clone, Copy, Debug)]
struct Periods {
    means: OnOff,
    /// Start and end of the present period.
    on: Instant,
    until: Instant,
    /// Time spent being on before it.
    before: Instant,
}

impl Periods {
    /// Advances to the period in which the on-time reaches `spent`.
    fn reach(&mut self, spent: Instant, rng: &mut impl Rng) {
        while self.before + (self.until - self.on) <= spent && self.until < FAR {
            self.before += self.until - self.on;
            self.on =
                self.until.saturating_add(random::exponential(rng, clock::from_time(self.means.off) as f64)).min(FAR);
            self.until = self.on.saturating_add(random::exponential(rng, clock::from_time(self.means.on) as f64));
        }
    }

    /// Returns the time at which the on-time reaches `spent`, within the present period.
    fn real(&self, spent: Instant) -> Instant {
        self.on.saturating_add(spent.saturating_sub(self.before))
    }
}

/// A time beyond every run: half of the clock's range.
const FAR: Instant = Instant::MAX / 2;

/// A packet that leaves now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Emission {
    pub(crate) sequence: u32,
    pub(crate) bytes: u32,
}

impl Source {
    /// That begins at `start`, which counts the time of being active where it is switched.
    pub(crate) fn new(
        destination: SourceDestination,
        kind: PacketKind,
        frame: Bytes,
        start: Instant,
        stop: Instant,
        rng: &mut impl Rng,
    ) -> Self {
        let frame = u32::try_from(frame.get()).unwrap_or(u32::MAX).max(1);
        let timing = match kind {
            PacketKind::TokenBucket { rate, burst, .. } => {
                let burst = u32::try_from(burst.get()).unwrap_or(u32::MAX);
                let (full_frames, left) = (burst / frame, burst % frame);
                // The rest of the burst is worth a frame of its own, or saves time for the next one.
                let rest = if left >= SMALLEST_FRAME { left } else { 0 };
                let first = if rest > 0 { frame } else { frame - left };
                Timing::Bucket { full_frames, rest, ticks: Ticks::new(start, first, frame, rate) }
            }
            PacketKind::ConstantRate { rate } => Timing::Constant(Ticks::in_phase(start, frame, rate, rng)),
            PacketKind::Jittered { rate, jitter } => {
                let (ticks, jitter) = (Ticks::in_phase(start, frame, rate, rng), clock::from_time(jitter));
                Timing::Jittered { ticks, jitter, next: ticks.at().saturating_add(random::uniform(rng, jitter)) }
            }
            PacketKind::OnOff(period) => {
                let ticks = Ticks::new(0, frame, frame, period.rate);
                let mut periods = Periods { means: period, on: start, until: start, before: 0 };
                periods.reach(ticks.at(), rng);
                Timing::OnOff { ticks, periods }
            }
            PacketKind::Poisson { rate } => {
                let mean = clock::transmission(u64::from(frame), rate) as f64;
                Timing::Poisson { next: start.saturating_add(random::exponential(rng, mean)), mean }
            }
        };
        Self { destination, spreading: None, frame, stop, sequence: 0, timing, schedule: None }
    }

    /// Returns this source with an activity schedule. Its start counts the active time.
    pub(crate) fn switched(self, schedule: Option<Arc<Schedule>>) -> Self {
        Self { schedule, ..self }
    }

    /// Returns this source with packets that take several paths.
    pub(crate) fn spread(self, spreading: Option<AnyPath>) -> Self {
        Self { spreading: spreading.map(Box::new), ..self }
    }

    /// Returns the time at which the next packet leaves; `None` if there is none.
    pub(crate) fn next_at(&self, start: Instant) -> Option<Instant> {
        let at = match &self.timing {
            Timing::Bucket { full_frames: 0, rest: 0, ticks } | Timing::Constant(ticks) => ticks.at(),
            Timing::Bucket { .. } => start,
            Timing::OnOff { ticks, periods } => periods.real(ticks.at()),
            Timing::Poisson { next, .. } | Timing::Jittered { next, .. } => *next,
        };
        let at = self.schedule.as_ref().map_or(at, |schedule| schedule.real(at));
        Some(at).filter(|&at| at < self.stop)
    }

    /// The packet that is due; the next one's time is [`Self::next_at`] afterwards.
    pub(crate) fn emit(&mut self, rng: &mut impl Rng) -> Emission {
        let mut bytes = self.frame;
        match &mut self.timing {
            Timing::Bucket { full_frames, .. } if *full_frames > 0 => *full_frames -= 1,
            Timing::Bucket { rest, .. } if *rest > 0 => bytes = std::mem::take(rest),
            Timing::Bucket { ticks, .. } | Timing::Constant(ticks) => ticks.advance(),
            Timing::Jittered { ticks, jitter, next } => {
                ticks.advance();
                *next = ticks.at().saturating_add(random::uniform(rng, *jitter)).max(*next);
            }
            Timing::OnOff { ticks, periods } => {
                ticks.advance();
                periods.reach(ticks.at(), rng);
            }
            Timing::Poisson { next, mean } => *next = next.saturating_add(random::exponential(rng, *mean)),
        }
        self.sequence = self.sequence.wrapping_add(1);
        Emission { sequence: self.sequence.wrapping_sub(1), bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_scenarios::StartPhase;

    fn source(kind: PacketKind, frame: u64, stop: Instant) -> Source {
        let (first, last_hop) = (Step::END, Step::END);
        let destination =
            SourceDestination { first, route: 0, last_hop, flow: 0, is_tagged: false, paths: None, copies: None };
        Source::new(destination, kind, Bytes::new(frame), 0, stop, &mut random::generator(1, 0))
    }

    fn emissions(mut source: Source) -> Vec<(Instant, u32)> {
        let mut rng = random::generator(1, 0);
        std::iter::from_fn(|| source.next_at(0).map(|at| (at, source.emit(&mut rng).bytes))).collect()
    }

    #[test]
    fn a_token_bucket_sends_its_burst_at_once_and_then_one_frame_per_earned_frame() {
        let kind =
            PacketKind::TokenBucket { rate: Rate::from_mbit(1), burst: Bytes::new(2_500), phase: StartPhase::Together };
        // 1,000 B are earned in 8 ms.
        let sent = emissions(source(kind, 1_000, 20_000_000_000));
        assert_eq!(sent, [(0, 1_000), (0, 1_000), (0, 500), (8_000_000_000, 1_000), (16_000_000_000, 1_000)]);
    }

    #[test]
    fn tokens_left_of_a_burst_below_a_frame_shorten_the_first_wait() {
        let kind =
            PacketKind::TokenBucket { rate: Rate::from_mbit(1), burst: Bytes::new(1_050), phase: StartPhase::Together };
        let sent = emissions(source(kind, 1_000, 16_000_000_000));
        assert_eq!(sent, [(0, 1_000), (7_600_000_000, 1_000), (15_600_000_000, 1_000)]);
    }

    /// A packet of 1,000 B at 1 Mbit/s is due every 8 ms; a jitter of 20 ms lets packets wait for those in front.
    #[test]
    fn jitter_delays_each_packet_within_its_bound_and_keeps_their_order() {
        let rate = Rate::from_mbit(1);
        let plain = emissions(source(PacketKind::ConstantRate { rate }, 1_000, 80_000_000_000_000));
        for ms in [4, 20] {
            let jitter = wayleave_units::Time::from_millis(ms);
            let sent = emissions(source(PacketKind::Jittered { rate, jitter }, 1_000, 80_000_000_000_000));
            let delays: Vec<u64> = plain.iter().zip(&sent).map(|(due, left)| left.0 - due.0).collect();
            assert!(sent.is_sorted_by_key(|packet| packet.0), "{ms} ms");
            assert!(plain.len().abs_diff(sent.len()) <= 3 && delays.len() > 9_990, "{ms} ms: {}", delays.len());
            assert!(delays.iter().all(|&delay| delay < ms * 1_000_000_000), "{ms} ms");
            if ms == 4 {
                // No packet waits for another one: uniform, with a mean of 2 ms and a deviation of the mean of 0.6 %.
                let mean = delays.iter().sum::<u64>() as f64 / delays.len() as f64;
                assert!((mean / 2e9 - 1.0).abs() < 0.03, "{mean} ps");
            }
        }
    }

    #[test]
    fn ticks_do_not_drift_and_are_never_early() {
        // 8 bits at 3 bit/s: 8/3 s.
        let mut ticks = Ticks::new(0, 0, 1, Rate::from_bits_per_second(3));
        let mut next = || {
            let at = ticks.at();
            ticks.advance();
            at
        };
        assert_eq!([next(), next(), next(), next()], [0, 2_666_666_666_667, 5_333_333_333_334, 8_000_000_000_000]);
    }
}
