//! Parameters of the machine shaper. "Released" is EyeQ's own implementation of its paper, which Parley's authors name
//! (5.1, footnote 1); values from there are facts of that program, not of Parley's text.

use wayleave_scheme_api::{ClassId, words};
use wayleave_sharing::{DemandEstimator, EstimatorParams};
use wayleave_units::{Bytes, Rate, Time};

/// The control equation's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterParams {
    /// Gain of the control equation, in per cent; 0.5 (Parley, Table 1: alpha).
    pub alpha_percent: u8,
    /// R is never below this: 1 Mbit/s (EyeQ's paper, and its program at first; the last release has 10, so that no class can be held below
    /// 10 Mbit/s for each of its senders).
    pub floor: Rate,
    /// Effect of congestion marks on the advertised rate R.
    pub marks: Marks,
    /// K of [`Marks::Released`]; 45 kB (released). Fig. 12 of Parley comes out with 80 kB, the threshold of its switches' marks (Table 1).
    pub mark_bytes: Bytes,
    /// By 2 to the minus this beta of [`Marks::Printed`] follows the fraction of marked bytes, once an interval: 4, that is 1/16 (DCTCP, SIGCOMM
    /// 2010, g). With 0 it is that of the interval alone.
    pub smoothing: u8,
}

impl Default for MeterParams {
    fn default() -> Self {
        Self {
            alpha_percent: 50,
            floor: Rate::from_mbit(1),
            marks: Marks::Printed,
            mark_bytes: Bytes::new(45_000),
            smoothing: 4,
        }
    }
}

/// Effect of congestion marks on the advertised rate R.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// By half of beta, smoothed, as the equation is printed (Parley, 3.2.1). EyeQ's program has this form too, and does not compile it.
    Printed,
    /// As EyeQ's program is compiled: `y += 8 K (1 + beta) / T` before the equation, with the interval's own beta, and y at most 3 C.
    Released,
}

words! {
    Marks {
        Printed = "printed", "R is reduced by half of the smoothed fraction of marked packets";
        Released = "released", "An interval with marks counts K to 2 K additional bytes, by its fraction of marked packets";
    }
}

/// A machine's line in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineParams {
    /// Rate that it can send.
    pub transmit: Rate,
    /// Rate that it can receive.
    pub receive: Rate,
}

impl LineParams {
    /// The same rate in both directions.
    pub const fn both(rate: Rate) -> Self {
        Self { transmit: rate, receive: rate }
    }
}

/// Feedback of R to a sender in addition to the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staleness {
    /// Never: samples alone, as in the text.
    Sampled,
    /// With the first packet after R has become twice or half of the sender's last feedback.
    Doubled,
    /// With the first packet of the class 100 us after its last feedback (released).
    Timed,
}

words! {
    Staleness {
        Sampled = "sampled", "Never";
        Doubled = "doubled", "When R has doubled or halved since the last feedback";
        Timed = "timed", "With the first packet of a class 100 us or more after its last feedback";
    }
}

/// After this time without a feedback of the class, the next packet triggers one (released).
const FEEDBACK_INTERVAL: Time = Time::from_micros(100);

impl Staleness {
    /// Returns `true` if a sender needs new feedback, given its last rate, the current rate and the time since the
    /// class's last feedback.
    #[inline]
    pub(super) fn is_stale(self, last_sent: u64, rate: u64, since: Time) -> bool {
        match self {
            Self::Sampled => false,
            Self::Doubled => rate / 2 >= last_sent || last_sent / 2 >= rate,
            Self::Timed => since > FEEDBACK_INTERVAL,
        }
    }
}

/// EyeQ's parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// The control equation's.
    pub meter: MeterParams,
    /// Between two computations of R, and the interval in which arrivals are measured; 200 us (Parley, Table 1: T).
    pub interval: Time,
    /// One feedback for this much that a class receives; 10 kB (Parley, 3.2.1).
    pub sample: Bytes,
    /// Feedback in addition to the samples. The text has samples alone, which reach slow senders rarely: a sender
    /// that received a small R during a brief overload sends little. It is then not sampled and stays slow. Ours:
    /// twice or half; the released program has a time.
    pub staleness: Staleness,
    /// Share of the line that the meters divide, in per cent; 90 (released: 9 of 10 Gbit/s). Parley gives no value. A
    /// meter with the whole line could detect an overload only by marks, because arrivals never exceed the line.
    pub receive_percent: u8,
    /// The burst of the limiter of a destination; 64 kB (Parley, 4: the limiters of Fig. 9).
    pub pair_burst: Bytes,
    /// The burst of the root limiter of a class; 64 kB as well. Section 7: above the size of RPCs that have to be fast.
    pub class_burst: Bytes,
    /// Other bursts of single classes (section 7: more for classes that are sensitive to latency).
    pub class_bursts: Vec<(ClassId, Bytes)>,
    /// The weights of classes as senders (3.2.1: `w_sender`); 1 for all others, 0 counts as 1.
    pub sender_weights: Vec<(ClassId, u32)>,
    /// A class and the class of which it is a part (3.2.1, Fig. 5: `service:user`).
    pub parents: Vec<(ClassId, ClassId)>,
    /// A limiter without feedback for this long is lifted; 1 s (released: the time-out of feedback).
    pub silence: Time,
    /// A class that moves nothing for this long shares no more; 10 ms (released).
    pub idle: Time,
    /// Half-life of the estimated demand of a class above its usage; 1 ms, five intervals. Ours.
    pub decay: Time,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            meter: MeterParams::default(),
            interval: Time::from_micros(200),
            sample: Bytes::new(10_000),
            staleness: Staleness::Doubled,
            receive_percent: 90,
            pair_burst: Bytes::new(64_000),
            class_burst: Bytes::new(64_000),
            class_bursts: Vec::new(),
            sender_weights: Vec::new(),
            parents: Vec::new(),
            silence: Time::from_millis(1_000),
            idle: Time::from_millis(10),
            decay: Time::from_millis(1),
        }
    }
}

impl Params {
    /// Of a class that has not been seen, in one direction.
    pub(super) fn estimator(&self) -> DemandEstimator {
        DemandEstimator::new(EstimatorParams { period: self.decay, ..EstimatorParams::RACK })
    }

    /// The burst of a class's root limiter.
    pub(super) fn burst_of(&self, class: ClassId) -> Bytes {
        find(&self.class_bursts, class).unwrap_or(self.class_burst)
    }

    /// Returns the weight of a sending class, a factor on R.
    pub(super) fn weight_of(&self, sender: ClassId) -> u64 {
        find(&self.sender_weights, sender).unwrap_or(1).max(1).into()
    }
}

fn find<T: Copy>(table: &[(ClassId, T)], class: ClassId) -> Option<T> {
    table.iter().find(|&&(of, _)| of == class).map(|&(_, value)| value)
}
