//! Settings of the edge.

use wayleave_scheme_api::{ValueKind, params, words};
use wayleave_units::{Bytes, Rate, Time};

use crate::switch::ufab_core::RegisterRule;

/// Growth of a pair's window in a round trip while it ramps up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowGrowth {
    /// The amount that its guarantee carries in a base round trip.
    Guaranteed,
    /// By its part of the bandwidth-delay product.
    AsPrinted,
}

words! {
    WindowGrowth {
        Guaranteed = "guaranteed", "Its guarantee: the total never exceeds the line rate in a round trip";
        AsPrinted = "as-printed", "Its share of the line (3.4, Scenario-1), the whole line for the first of many";
    }
}

/// Time at which a pair with several paths begins to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialPath {
    /// On an initial path of the path monitor, while candidates are probed.
    AtOnce,
    /// After its candidates have answered.
    Probed,
}

words! {
    InitialPath {
        AtOnce = "at-once", "On a path of the path monitor (4.1), while candidates are probed: it moves if that path has no room";
        Probed = "probed", "On one of the candidates that have answered (3.5): nothing is sent for a round trip";
    }
}

/// Maximum rise of a pair's window per answer on a link that serves other classes as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowIncrease {
    /// The amount that its guarantee carries in a base round trip.
    Guaranteed,
    /// Its part of the admitted capacity.
    Share,
    /// Up to the window of equation 3.
    Free,
}

words! {
    WindowIncrease {
        Guaranteed = "guaranteed", "By what its guarantee carries in a base round trip at most";
        Share = "share", "By its part of the capacity that was admitted at most";
        Free = "free", "As far as equation 3 allows: too far after a burst of a higher class";
    }
}

/// Rate that a pair may send when its window is full, on a path with links that serve other classes as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullWindowRate {
    /// Its minimum.
    Minimum,
    /// Nothing.
    Nothing,
}

words! {
    FullWindowRate {
        Minimum = "minimum", "Its minimum: a window waits for answers while a class above sends, and what was promised cannot wait";
        Nothing = "nothing", "Nothing: a pair loses the time in which classes above send";
    }
}

/// Sharing of the capacity above all minima.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExcessSharing {
    /// By minima.
    Minima,
    /// By the weights of services.
    Weights,
}

words! {
    ExcessSharing {
        Minima = "minima", "By minima (3.3): weights of services mean nothing";
        Weights = "weights", "By the weights of services, above their minima";
    }
}

/// Sharing of a host's interface among its classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassWeights {
    /// Their minima.
    Minimum,
    /// One of eight weights, each twice the one below.
    AsPrinted,
}

words! {
    ClassWeights {
        Minimum = "minimum", "By their minima, to 1 kbit/s";
        AsPrinted = "as-printed", "By the weights of eight queues (4.1), each twice the one below: minima up to 2.4 Gbit/s got a third on a full interface of 6 Gbit/s";
    }
}

/// Queue value in equation 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueEstimate {
    /// The lesser of two answers in a row, less the amount that the headroom drains in a round trip.
    Standing,
    /// That of this answer.
    AsPrinted,
}

words! {
    QueueEstimate {
        Standing = "standing", "The lesser of two answers in a row, beyond what the headroom of the line drains in a base round trip";
        AsPrinted = "as-printed", "As the probe finds it (3.4, equation 3)";
    }
}

/// Quantity of windows that links add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowUnit {
    /// The amount that they carry in a fixed time.
    Rates,
    /// Their bytes.
    AsPrinted,
}

words! {
    WindowUnit {
        Rates = "rates", "What windows carry in 100 us, so that rates are shared by tokens whatever their round trips";
        AsPrinted = "as-printed", "Their bytes (3.4, equation 3), so that a pair with twice the round trip gets half of the rate";
    }
}

/// Part of a pair whose demand is below its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnusedTokens {
    /// Its full part.
    Kept,
    /// Its sending rate.
    AsPrinted,
}

words! {
    UnusedTokens {
        Kept = "kept", "Its part all the same, so that it can grow at once (E, text and comment of line 7)";
        AsPrinted = "as-printed", "What it sends (E, Algorithm 1, line 7 without its comment)";
    }
}

params! {
    /// Settings of uFAB.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Settings {
        /// B_u: the bandwidth of one token.
        pub unit_bandwidth: Rate = Rate::from_mbit(1), "unitBandwidth", ValueKind::RATE, "ours: 16 bits of tokens are 65 Gbit/s (G)";
        /// eta: how much of a line is shared out, in steps of 0.01.
        pub target_utilization_percent: u8 = 95, "targetUtilization", ValueKind::Hundredths { least: 1, most: 100 }, "3.3, footnote 5";
        /// L_w: number of bytes for which one probe is sent.
        pub probe_every: Bytes = Bytes::new(4_000), "probeEvery", ValueKind::BYTES, "5.4";
        /// Between two assignments of tokens to pairs.
        pub token_period: Time = Time::from_micros(32), "tokenPeriod", ValueKind::TIME, "5.1";
        /// Number of paths that a pair uses at once.
        pub paths: u32 = 1, "paths", ValueKind::Count { least: 1, most: 256 }, "6; F: several";
        /// Count pairs in path discovery at receivers, and let a pair with one path probe it before it begins.
        /// Without this, hosts that turn to one receiver together begin with all of their hoses.
        pub admit_before_send: bool = false, "admitBeforeSend", ValueKind::Flag, "ours; 3.4: it begins at once";
        /// Path on which a pair with several paths begins to send.
        pub initial_path: InitialPath = InitialPath::AtOnce, "initialPath", ValueKind::Word(InitialPath::WORDS), "4.1; 3.5 is probed";
        /// Maximum number of paths of a pair that are probed in a search.
        pub candidate_paths: u32 = 4, "candidatePaths", ValueKind::Count { least: 1, most: 256 }, "ours; 3.5: a few";
        /// N: after a move its host moves no pair for 1 to N round trips, drawn at random.
        pub migration_backoff: u32 = 10, "migrationBackoff", ValueKind::Count { least: 1, most: 1_000_000 }, "5.6";
        /// Number of round trips for which a path must miss the guarantee before the pair leaves it.
        pub violation_rtts: u32 = 5, "violationRtts", ValueKind::Count { least: 1, most: 1_000_000 }, "3.5";
        /// Time for which another path must be better before the pair moves there.
        pub migration_hold_time: Time = Time::from_millis(30_000), "migrationHoldTime", ValueKind::TIME, "3.5";
        /// Number of base round trips after which a probe counts as lost.
        pub probe_timeout_rtts: u32 = 8, "probeTimeoutRtts", ValueKind::Count { least: 1, most: 1_000_000 }, "4.1";
        /// Number of base round trips without data after which a pair takes no part.
        pub idle_rtts: u32 = 16, "idleRtts", ValueKind::Count { least: 1, most: 1_000_000 }, "ours; 3.6 states no time";
        /// Let a pair that moves send nothing for a round trip, so that nothing is reordered.
        pub in_order: bool = false, "inOrder", ValueKind::Flag, "3.5";
        /// Ramp up windows in two stages, which bounds latency; without it this is uFAB'.
        pub latency_bound: bool = true, "latencyBound", ValueKind::Flag, "3.4; uFAB' in 5.2";
        /// Growth of windows in the first stage.
        pub startup: WindowGrowth = WindowGrowth::Guaranteed, "startup", ValueKind::Word(WindowGrowth::WORDS), "ours; 3.4 is as-printed";
        /// Maximum rise of windows per answer on links that serve other classes as well.
        pub window_increase: WindowIncrease = WindowIncrease::Share, "windowIncrease", ValueKind::Word(WindowIncrease::WORDS), "ours";
        /// Rate that pairs may send when their windows are full, on paths with links that serve other classes as
        /// well.
        pub full_window_rate: FullWindowRate = FullWindowRate::Minimum, "fullWindowRate", ValueKind::Word(FullWindowRate::WORDS), "ours";
        /// Sharing of the capacity above all minima.
        pub excess_sharing: ExcessSharing = ExcessSharing::Minima, "excessSharing", ValueKind::Word(ExcessSharing::WORDS), "3.3: by minima";
        /// Sharing of a host's interface among its classes.
        pub class_weights: ClassWeights = ClassWeights::Minimum, "classWeights", ValueKind::Word(ClassWeights::WORDS), "ours; 4.1 is as-printed";
        /// Queue value in equation 3.
        pub queue_estimate: QueueEstimate = QueueEstimate::Standing, "queueEstimate", ValueKind::Word(QueueEstimate::WORDS), "ours; 3.4 is as-printed";
        /// Quantity of windows that links add up.
        pub window_unit: WindowUnit = WindowUnit::Rates, "windowUnit", ValueKind::Word(WindowUnit::WORDS), "ours; 3.4 is as-printed";
        /// Part of a pair whose demand is below its part.
        pub unused_tokens: UnusedTokens = UnusedTokens::Kept, "unusedTokens", ValueKind::Word(UnusedTokens::WORDS), "E: the text; line 7 is as-printed";
        /// Sums of tokens and windows at switches.
        pub registers: RegisterRule = RegisterRule::Changes, "registers", ValueKind::Word(RegisterRule::WORDS), "ours; 3.6 is as-printed";
        /// Of the Bloom filters at switches.
        pub bloom_filter_size: Bytes = Bytes::new(20_480), "bloomFilterSize", ValueKind::Bytes { least: Bytes::new(16), most: Bytes::new(1 << 24) }, "4.2";
        /// Minimum time for which switches remember a change; a pair repeats a change for four fifths of this time.
        pub dedup_window: Time = Time::from_millis(5), "dedupWindow", ValueKind::TIME, "ours: 20,000 probes of a link of 100 Gbit/s, one for 4 kB, take 6.6 ms";
        /// Time without a probe after which switches do not count a pair any more.
        pub pair_expiry: Time = Time::from_millis(10_000), "pairExpiry", ValueKind::TIME, "4.2";
        /// In which switches measure rates, at least.
        pub measurement_interval: Time = Time::from_micros(24), "measurementInterval", ValueKind::TIME, "ours: a base round trip of the testbed (5.1)";
    }
}

/// Time for which links add up the amounts that windows carry, if they add up rates. It is a unit: any other gives
/// equal results.
const UNIT: Time = Time::from_micros(100);

impl Settings {
    /// Returns settings for links that serve other classes as well, with minima promised to hoses that may all turn
    /// to one host.
    pub fn beside_other_classes() -> Self {
        Self { admit_before_send: true, ..Self::default() }
    }

    /// The time to which windows of a base round trip are scaled when links add them up.
    pub(super) fn summed_over(&self, round_trip: Time) -> Time {
        match self.window_unit {
            WindowUnit::Rates => UNIT,
            WindowUnit::AsPrinted => round_trip,
        }
    }

    /// Returns the time after which an unanswered change is given up. It is shorter than the switches' memory of the
    /// change; otherwise they would count the change twice. The difference is for the last probe to arrive.
    pub(super) fn give_up(&self) -> Time {
        Time::from_nanos(self.dedup_window.as_nanos() / 5 * 4)
    }

    /// Returns the parameters of the switches.
    pub(super) fn core(&self) -> crate::switch::ufab_core::Params {
        crate::switch::ufab_core::Params {
            registers: self.registers,
            bloom_filter_size: self.bloom_filter_size,
            dedup_window: self.dedup_window,
            pair_expiry: self.pair_expiry,
            measurement_interval: self.measurement_interval,
        }
    }
}
