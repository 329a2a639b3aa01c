//! uFAB-C, the informative core: every link reports the tokens and windows of its active pairs, beside its load.
//!
//! S. Wang et al., "Predictable vFabric on Informative Data Plane", SIGCOMM 2022, sections 3.2, 3.6 and 4.2. The edge
//! is [`crate::host::ufab`].
//!
//! A queue has two registers, Phi (tokens) and W (windows), and no table of pairs. Probes carry the values to count;
//! a Bloom filter decides if they have been seen.
//!
//! | text | here |
//! |---|---|
//! | 3.6: Phi and W; "if not \[seen\], it will add" | [`UfabCore`], `count` |
//! | 3.6: finish probes take a pair off | `count` |
//! | 4.2: a Bloom filter of two banks, 20 KB | `bloom` |
//! | 4.2: every 10 s pairs without a probe are cleaned | `pairExpiry` |
//! | 3.2: tx, q, C | tx: `Meter`; q and C: the port |
//! | one fabric: a class's rates on a line | [`ClassHop`](wayleave_scheme_api::ClassHop): measured in the same interval as tx |
//!
//! # Gaps in the text, and their treatment
//!
//! In the printed form a pair that has been seen is ignored, so W and Phi keep their values from when pairs joined.
//! Windows that change never reach W, and equation 3 ends at the geometric mean of W and the bandwidth-delay product.
//! A finish probe subtracts its own values, independent of the added ones. A bit cannot leave a Bloom filter, so a
//! pair that returns is ignored. A finish probe that is repeated, because its answer was lost, subtracts its tokens
//! twice. [`RegisterRule::AsPrinted`] does all that. By default ([`RegisterRule::Changes`]):
//!
//! - A probe carries the values that the port is to count for its pair, and the values that it counts already. The
//!   sender knows the latter from the last answer. The port adds the difference, and needs no memory of pairs.
//! - The filter is applied to *changes*, by the number that every change of a pair has, on any path (paths of a pair
//!   meet at the last port). It is applied only to repeated probes, because those may have been here before. So a
//!   false positive of the filter affects only a change that was lost and repeated.
//! - Two generations of the filter take turns ([`Params::dedup_window`]), so that entries leave; each has the 20 KB of
//!   the text. A sender stops repeating before a generation is forgotten.
//! - Cleaning: a second pair of registers counts, in each period of 10 s, the pairs whose probes arrived. A record
//!   names the period in which the pair is counted, by one bit. The sender returns that bit with its next probe, so
//!   the port knows if the pair has to be counted whole or by the difference. At the end of a period these registers
//!   become Phi and W. So the values of silent pairs, and every error, disappear one period later.
//!
//! Beside Phi there is a sum of weights, for networks in which the capacity above minima is not shared by minima
//! ([`crate::host::ufab`], `excessSharing`). Packets have no field for this sum: `wayleave_packet_format::probe` and the
//! registers in eBPF are those of the text.
//!
//! Deviations: the rate of a queue is measured between probes that are at least [`Params::measurement_interval`] apart, and not
//! by timers. W, tx and q are whole here; a packet has them in the units of `wayleave_packet_format::probe`.

mod bloom;
#[cfg(test)]
mod tests;

use wayleave_scheme_api::{
    Described, Descriptor, IntHop, Mark, Parameters, ProbeAt, ProbeKind, QueueState, Role, Switch, ValueKind, params,
    words,
};
use wayleave_units::{Bytes, Rate, Time};

use crate::random::mix;
use crate::switches::SwitchScheme;
use bloom::Generations;

/// Descriptor of the core.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "ufab-core",
    title: "uFAB-C",
    roles: &[Role::Switch],
    summary: "Ports report the tokens and windows of all active pairs; they mark nothing",
    citation: "S. Wang and others, \"Predictable vFabric on Informative Data Plane\", SIGCOMM 2022, sections 3.6 and 4.2",
    guarantee: "nothing by itself; sums that are exact as long as probes are answered",
    parameters: Params::LIST,
};

/// Update rule of Phi and W.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterRule {
    /// Probes carry changes.
    Changes,
    /// A pair that was seen is ignored.
    AsPrinted,
}

words! {
    RegisterRule {
        Changes = "changes", "Probes carry changes, so sums follow the windows and survive losses";
        AsPrinted = "as-printed", "A pair that was seen is ignored, and a finish subtracts its own value (section 3.6)";
    }
}

params! {
    /// Parameters of the core.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Update rule of the sums of tokens and windows.
        pub registers: RegisterRule = RegisterRule::Changes, "registers", ValueKind::Word(RegisterRule::WORDS), "ours; 3.6 is as-printed";
        /// Of the Bloom filter: of each of its two generations.
        pub bloom_filter_size: Bytes = Bytes::new(20_480), "bloomFilterSize", ValueKind::Bytes { least: Bytes::new(16), most: Bytes::new(1 << 24) }, "4.2";
        /// Minimum time for which the filter remembers a change.
        pub dedup_window: Time = Time::from_millis(5), "dedupWindow", ValueKind::TIME, "ours: 20,000 probes of a link of 100 Gbit/s, one for 4 kB, take 6.6 ms";
        /// Time without a probe after which a pair is not counted any more.
        pub pair_expiry: Time = Time::from_millis(10_000), "pairExpiry", ValueKind::TIME, "4.2";
        /// In which the rate of a queue is measured, at least.
        pub measurement_interval: Time = Time::from_micros(24), "measurementInterval", ValueKind::TIME, "ours: a base round trip of the testbed (5.1)";
    }
}

/// The sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    tokens: u64,
    weights: u64,
    windows: u64,
}

impl Sums {
    fn of(tokens: u64, weight: u64, window: Bytes) -> Self {
        Self { tokens, weights: weight, windows: window.get() }
    }

    fn add(&mut self, more: Self) {
        self.tokens = self.tokens.saturating_add(more.tokens);
        self.weights = self.weights.saturating_add(more.weights);
        self.windows = self.windows.saturating_add(more.windows);
    }

    /// Subtracts counts, at most down to zero: a pair may have been cleaned.
    fn take(&mut self, less: Self) {
        self.tokens = self.tokens.saturating_sub(less.tokens);
        self.weights = self.weights.saturating_sub(less.weights);
        self.windows = self.windows.saturating_sub(less.windows);
    }
}

/// The rate of a queue.
#[derive(Clone, Copy, Debug, Default)]
struct Meter {
    since: Time,
    sent: u64,
    rate: Rate,
}

impl Meter {
    fn read(&mut self, now: Time, sent: u64, interval: Time) -> Rate {
        let elapsed = now.saturating_sub(self.since);
        if elapsed >= interval && elapsed > Time::ZERO {
            let bits = u128::from(sent.saturating_sub(self.sent)) * 8_000_000_000 / u128::from(elapsed.as_nanos());
            self.rate = Rate::from_bits_per_second(u64::try_from(bits).unwrap_or(u64::MAX)).min(Rate::MAX);
            (self.since, self.sent) = (now, sent);
        }
        self.rate
    }
}

/// State of the ports of one queue.
#[derive(Debug)]
struct State {
    params: Params,
    /// Phi and W.
    sums: Sums,
    /// Of the pairs whose probes came in this period.
    fresh: Sums,
    /// Bit of the current period, and its start.
    period: bool,
    period_since: Time,
    seen: Generations,
    seen_since: Time,
    /// The filter may know changes of the period before.
    has_just_turned: bool,
    meter: Meter,
    /// Of the queues above, and of those that share with this one.
    above: Meter,
    beside: Meter,
}

/// One queue of a port.
///
/// ```
/// use wayleave_scheme_api::{HopWindow, IntHop, Probe, ProbeAt, ProbeKind, Switch};
/// use wayleave_schemes::switch::ufab_core::{Params, UfabCore};
/// use wayleave_units::{Bytes, Time};
/// let mut core = UfabCore::new(Params::default());
/// let probe = Probe::new(1, ProbeKind::Active, 500);
/// let mut hop = IntHop::default();
/// core.on_telemetry(Time::ZERO, Some(&ProbeAt { probe, window: HopWindow::new(Bytes::new(3_000)) }), &mut hop);
/// assert_eq!((hop.tokens, hop.windows), (500, Bytes::new(3_000)));
/// ```
#[derive(Debug)]
pub struct UfabCore(Box<State>);

impl UfabCore {
    /// A queue that counts nothing yet.
    pub fn new(params: Params) -> Self {
        let filter = usize::try_from(params.bloom_filter_size.get()).unwrap_or(usize::MAX);
        Self(Box::new(State {
            params,
            sums: Sums::default(),
            fresh: Sums::default(),
            period: false,
            period_since: Time::ZERO,
            seen: Generations::new(filter),
            seen_since: Time::ZERO,
            has_just_turned: false,
            meter: Meter::default(),
            above: Meter::default(),
            beside: Meter::default(),
        }))
    }
}

impl State {
    /// Removes the counts of silent pairs.
    fn clean(&mut self, now: Time) {
        let periods = periods_since(self.period_since, now, self.params.pair_expiry);
        if periods > 0 {
            // After two periods, no pair has sent a probe for a whole period.
            self.sums = if periods == 1 { self.fresh } else { Sums::default() };
            self.fresh = Sums::default();
            self.period ^= periods % 2 == 1;
            self.period_since = after(self.period_since, self.params.pair_expiry, periods);
            self.has_just_turned = true;
        }
        let remember = match self.params.registers {
            RegisterRule::Changes => self.params.dedup_window,
            RegisterRule::AsPrinted => self.params.pair_expiry,
        };
        let turns = periods_since(self.seen_since, now, remember);
        match turns {
            0 => return,
            1 => self.seen.turn(),
            _ => self.seen.clear(),
        }
        self.seen_since = after(self.seen_since, remember, turns);
        // An entry leaves with the second turn.
        self.has_just_turned = now.saturating_sub(self.period_since).as_nanos() < remember.as_nanos().saturating_mul(2);
    }

    /// A probe of a pair that is, or was, active. The period in which it is counted.
    fn count(&mut self, at: &ProbeAt) -> bool {
        let ProbeAt { probe, window } = at;
        let before = Sums::of(probe.counted, probe.weight_counted, window.counted);
        let after = match probe.kind {
            ProbeKind::Active => Sums::of(probe.tokens, probe.weight, window.window),
            _ => Sums::default(),
        };
        // Finds if a repeated change has been here, and in which period.
        let change = |period: bool| mix(probe.pair ^ mix(u64::from(probe.change) << 1 | u64::from(period)));
        let now = self.period;
        if probe.is_repeated {
            if self.seen.contains(change(now)) {
                return now;
            }
            if self.has_just_turned && self.seen.contains(change(!now)) {
                return !now;
            }
        }
        self.seen.insert(change(now));
        if window.period.is_some() {
            self.sums.take(before);
        }
        if window.period == Some(now) {
            self.fresh.take(before);
        }
        self.sums.add(after);
        self.fresh.add(after);
        now
    }

    /// The same as it is printed.
    fn count_as_printed(&mut self, at: &ProbeAt) {
        let ProbeAt { probe, window } = at;
        let added = Sums::of(probe.tokens, probe.weight, window.window);
        if probe.kind == ProbeKind::Finish {
            self.sums.take(added);
            self.fresh.take(added);
            return;
        }
        let key = mix(probe.pair);
        if !self.seen.contains(key) {
            self.sums.add(added);
        }
        if !self.seen.is_current(key) {
            self.fresh.add(added);
            self.seen.insert(key);
        }
    }
}

/// Returns the number of whole periods that have passed.
fn periods_since(since: Time, now: Time, period: Time) -> u64 {
    now.saturating_sub(since).as_nanos() / period.as_nanos().max(1)
}

fn after(since: Time, period: Time, periods: u64) -> Time {
    since + Time::from_nanos(period.as_nanos().saturating_mul(periods))
}

impl Described for UfabCore {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl SwitchScheme for UfabCore {
    const WRITES_TELEMETRY: bool = true;
    const MARKS: bool = false;

    fn begin(params: &Params, _: Rate, _: u64) -> Self {
        Self::new(*params)
    }
}

impl Switch for UfabCore {
    #[inline]
    fn on_arrival(&mut self, _: Time, _: QueueState, _: u32) -> Mark {
        Mark::No
    }

    fn on_telemetry(&mut self, now: Time, probe: Option<&ProbeAt>, hop: &mut IntHop) {
        let state = &mut *self.0;
        state.clean(now);
        hop.period = state.period;
        if let Some(at) = probe.filter(|at| at.probe.kind != ProbeKind::Candidate) {
            match state.params.registers {
                RegisterRule::Changes => hop.period = state.count(at),
                RegisterRule::AsPrinted => state.count_as_printed(at),
            }
        }
        (hop.tokens, hop.weights) = (state.sums.tokens, state.sums.weights);
        hop.windows = Bytes::new(state.sums.windows);
        let interval = state.params.measurement_interval;
        hop.tx = state.meter.read(now, hop.sent.get(), interval);
        if let Some(class) = &mut hop.class {
            let above = state.above.read(now, class.above.get(), interval);
            let beside = state.beside.read(now, class.beside.get(), interval);
            class.available = class.left_by(hop.rate, above, beside);
        }
    }
}
