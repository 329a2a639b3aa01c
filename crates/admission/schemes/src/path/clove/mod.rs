//! Clove: flowlets take the path with the least reported utilisation, or one by marks.
//!
//! N. Katta et al., "Clove: Congestion-Aware Load Balancing at the Virtual Edge", CoNEXT 2017. The paper is not among
//! the sources. This follows its abstract, its description in uFAB (SIGCOMM 2022, 2.2 and 5.1), a public
//! implementation for ns-3 ("ns-3" below), and its known definitions.
//!
//! A sender spreads its traffic to a destination over a few paths. Packets of a flow that follow each other closely
//! stay on one path; after a gap a flow may take another one. The choice has two forms. By utilisation (Clove-INT),
//! it is the path whose busiest link is used least, as switches write it into packets. By marks (Clove-ECN), it is
//! drawn by weights, of which a path loses a part when its packets were marked.
//!
//! | what | here |
//! |---|---|
//! | flowlets: one path until a gap | `choose_for` |
//! | by utilisation: the least of the paths' largest link utilisations | `path::Known`, `State::least_used` |
//! | by marks: a mark takes a third of a path's weight, at most once in 40 us, and gives it to the others | `State::on_mark` |
//! | paths are discovered; a few of them are used | `State::reset` |
//!
//! Deviations, and points that the texts leave open:
//! - The state of paths belongs to a pair (a service at a sender and one at a receiver) if hosts share, and otherwise
//!   to a flow; Clove keeps it for a destination host.
//! - Utilisation is the amount that a queue has sent between two records of a path that are at least
//!   [`Params::measurement_interval`] apart, over the capacity of its link: ports keep no average. Records arrive with
//!   acknowledgements. They also arrive with probes along each path once per [`Params::probe_interval`], since an unused path
//!   has no other records. Clove's own probes find paths, and are rarer. A pair alone has probes.
//! - A record older than [`Params::record_expiry`] counts as zero utilisation, so that a path is tried again, as in CONGA
//!   (SIGCOMM 2014, 3.3). So does a path without records. Of equal paths a flow keeps its own, and otherwise draws.
//! - So a path that fails silently appears unused. Paths that are known to have failed are not used.
//! - Its k paths are spread over the driver's list, so that on Clos networks they share few links (`number`). Clove
//!   inspects the switches along the path.
//! - The part of the weight that a mark takes is given to all other paths in equal parts; ns-3 can leave out those
//!   that were marked lately, and has mistakes there.
//! - Acknowledgements return marks, packet by packet, in place of a field of the other direction's packets.

mod path;

use wayleave_scheme_api::{
    Departure, Described, Descriptor, IntHop, LocalFlow, Parameters, Path, PathProbe, PathReport, Role, ValueKind,
    params, words,
};
use wayleave_units::Time;

use crate::random::{SplitMix, mix};
use crate::transports::PathScheme;
use path::KnownPath;

/// Descriptor of Clove.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "clove",
    title: "Clove",
    roles: &[Role::Path],
    summary: "Flowlets on the least utilised path, or on paths weighted by congestion marks",
    citation: "N. Katta and others, \"Clove: Congestion-Aware Load Balancing at the Virtual Edge\", CoNEXT 2017, from its abstract, uFAB (SIGCOMM 2022), 2.2, and an implementation for ns-3",
    guarantee: "packets arrive in order if the gap exceeds the difference between path delays",
    parameters: Params::LIST,
};

/// Criterion by which a flowlet chooses its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowletChoice {
    /// The path whose busiest link is used least.
    Utilisation,
    /// A path drawn by weights, which marks move.
    Marks,
}

words! {
    FlowletChoice {
        Utilisation = "utilisation", "The path whose busiest link is least utilised, as switches report in packets";
        Marks = "marks", "A random path by weights, which congestion marks reduce";
    }
}

params! {
    /// Clove's parameters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Idle time after which a flow may change its path.
        pub flowlet_gap: Time = Time::from_micros(200), "flowletGap", ValueKind::TIME, "uFAB, 2.2: 200us as Clove recommends, and 36us";
        /// Criterion by which a flowlet chooses its path.
        pub path_metric: FlowletChoice = FlowletChoice::Utilisation, "pathMetric", ValueKind::Word(FlowletChoice::WORDS), "uFAB, 2.2: by utilisation";
        /// Maximum number of paths that are used.
        pub paths: u32 = 4, "paths", ValueKind::Count { least: 1, most: 64 }, "Clove, from memory";
        /// Fraction of its weight that a path keeps after a mark.
        pub marked_weight: u8 = 67, "markedWeight", ValueKind::Hundredths { least: 1, most: 99 }, "the implementation for ns-3";
        /// Minimum time between two weight reductions of a path.
        pub reweight_interval: Time = Time::from_micros(40), "reweightInterval", ValueKind::Time { least: Time::ZERO, most: Time::MAX },
            "the implementation for ns-3";
        /// Minimum interval over which utilisation is measured.
        pub measurement_interval: Time = Time::from_micros(100), "measurementInterval", ValueKind::TIME, "ours: about four round trips of uFAB's testbed";
        /// Interval between two probes of a path; 0 disables probes.
        pub probe_interval: Time = Time::from_millis(1), "probeInterval", ValueKind::Time { least: Time::ZERO, most: Time::MAX }, "ours";
        /// Age at which a path's utilisation record expires.
        pub record_expiry: Time = Time::from_millis(10), "recordExpiry", ValueKind::TIME, "CONGA, SIGCOMM 2014, 3.3, from memory";
    }
}

/// Chooses the paths of a pair's flows, or of one flow.
///
/// ```
/// use wayleave_scheme_api::{Departure, Path};
/// use wayleave_schemes::path::clove::{Clove, Params};
/// use wayleave_units::Time;
///
/// let mut clove = Clove::new(&Params::default(), 1);
/// let departure = Departure { bytes: 1460, paths: 4 };
/// let chosen = clove.choose(Time::ZERO, departure);
/// assert_eq!(clove.choose(Time::from_micros(199), departure), chosen);
/// ```
// In a box, because what chooses a flow's paths lies in the hottest table of the simulator.
#[derive(Clone, Debug)]
pub struct Clove(Box<State>);

#[derive(Clone, Debug)]
struct State {
    params: Params,
    random: SplitMix,
    /// Number of paths in the driver's list; 0: unknown.
    listed: u32,
    /// Paths that are used.
    paths: Vec<KnownPath>,
    /// By number of a flow.
    flowlets: Vec<Flowlet>,
    /// Index of the used path that is probed next.
    probed: usize,
}

/// The latest flowlet of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Flowlet {
    last: Time,
    /// Index among the used paths; `None` before the first packet, and after the paths have changed.
    path: Option<usize>,
}

impl Clove {
    /// Nothing is known of any path; pairs and flows should not share a seed.
    pub fn new(params: &Params, seed: u64) -> Self {
        let random = SplitMix::new(mix(seed));
        let state = State { params: *params, random, listed: 0, paths: Vec::new(), flowlets: Vec::new(), probed: 0 };
        Self(Box::new(state))
    }
}

/// Returns the path of a place. The driver's list has one part for each place, with `each` paths. The list counts
/// like a number whose digits are the choices at each switch. Parts differ in the first digits. To make them also
/// differ in the last one, the index within a part advances with each 1 of the part's number. Of 2 x 2 x 2 choices,
/// the result is 000, 011, 101 and 110, or their opposites, which share no link between switches.
fn number(place: u32, each: u32, first: u32) -> u32 {
    place * each + (first + place.count_ones()) % each.max(1)
}

impl State {
    /// Starts to use some of `listed` paths.
    fn reset(&mut self, listed: u32) {
        self.listed = listed;
        let used = listed.min(self.params.paths).max(1);
        let each = listed / used;
        let first = self.random.below(each);
        self.paths = (0..used).map(|place| KnownPath::new(number(place, each, first))).collect();
        self.flowlets.iter_mut().for_each(|flowlet| flowlet.path = None);
        self.probed = 0;
    }

    fn note_paths(&mut self, listed: u32) {
        if listed != self.listed {
            self.reset(listed);
        }
    }

    /// The place of a path of the driver's list among those that are used.
    fn place(&self, number: u32) -> Option<usize> {
        self.paths.iter().position(|path| path.number == number)
    }

    /// The path of a packet of a flow.
    fn choose(&mut self, now: Time, flow: usize) -> u32 {
        if self.flowlets.len() <= flow {
            self.flowlets.resize(flow + 1, Flowlet::default());
        }
        let Flowlet { last, path } = self.flowlets[flow];
        let place = match path {
            Some(place) if now.saturating_sub(last) < self.params.flowlet_gap => place,
            path => match self.params.path_metric {
                FlowletChoice::Utilisation => self.least_used(now, path),
                FlowletChoice::Marks => self.draw(),
            },
        };
        self.flowlets[flow] = Flowlet { last: now, path: Some(place) };
        self.paths.get(place).map_or(0, |path| path.number)
    }

    /// The path that is used least; of equal ones that of before, or one of them at random.
    fn least_used(&mut self, now: Time, before: Option<usize>) -> usize {
        let used: Vec<f64> = self.paths.iter().map(|path| path.utilisation(now, self.params.record_expiry)).collect();
        let least = used.iter().copied().fold(f64::INFINITY, f64::min);
        let is_least = |place: usize| used.get(place).is_some_and(|&used| used <= least);
        if let Some(place) = before.filter(|&place| is_least(place)) {
            return place;
        }
        let equal: Vec<usize> = (0..used.len()).filter(|&place| is_least(place)).collect();
        equal.get(self.random.below(equal.len() as u32) as usize).copied().unwrap_or(0)
    }

    /// A path drawn by weights.
    fn draw(&mut self) -> usize {
        let all: f64 = self.paths.iter().map(|path| path.weight).sum();
        let mut left = self.random.unit() * all;
        let found = self.paths.iter().position(|path| {
            left -= path.weight;
            left < 0.0
        });
        found.unwrap_or(self.paths.len().saturating_sub(1))
    }

    /// Packets of a path were marked.
    fn on_mark(&mut self, now: Time, place: usize) {
        let others = self.paths.len().saturating_sub(1);
        let pause = self.params.reweight_interval;
        let Some(path) = self.paths.get_mut(place) else { return };
        if others == 0 || path.reduced_at.is_some_and(|at| now.saturating_sub(at) < pause) {
            return;
        }
        path.reduced_at = Some(now);
        let kept = path.weight * f64::from(self.params.marked_weight) / 100.0;
        let each = (path.weight - kept) / others as f64;
        for (at, path) in self.paths.iter_mut().enumerate() {
            path.weight = if at == place { kept } else { path.weight + each };
        }
    }
}

impl Described for Clove {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl PathScheme for Clove {
    const PER_PAIR: bool = true;

    fn begin(params: &Params, seed: u64) -> Self {
        Self::new(params, seed)
    }

    fn reads_telemetry(params: &Params) -> bool {
        params.path_metric == FlowletChoice::Utilisation
    }

    fn reads_marks(params: &Params) -> bool {
        params.path_metric == FlowletChoice::Marks
    }
}

impl Path for Clove {
    #[inline]
    fn choose(&mut self, now: Time, departure: Departure) -> u32 {
        self.choose_for(now, LocalFlow(0), departure)
    }

    #[inline]
    fn choose_for(&mut self, now: Time, flow: LocalFlow, departure: Departure) -> u32 {
        self.0.note_paths(departure.paths);
        self.0.choose(now, flow.index())
    }

    fn on_report(&mut self, now: Time, report: PathReport) {
        let state = &mut *self.0;
        if report.marked > 0
            && state.params.path_metric == FlowletChoice::Marks
            && let Some(place) = state.place(report.path)
        {
            state.on_mark(now, place);
        }
    }

    fn on_telemetry(&mut self, now: Time, path: u32, hops: &[IntHop]) {
        let state = &mut *self.0;
        if let Some(place) = state.place(path) {
            let Params { measurement_interval, record_expiry, .. } = state.params;
            state.paths[place].on_telemetry(now, hops, measurement_interval, record_expiry);
        }
    }

    fn probe(&mut self, _now: Time, paths: u32) -> Option<PathProbe> {
        let state = &mut *self.0;
        if state.params.probe_interval == Time::ZERO || state.params.path_metric != FlowletChoice::Utilisation {
            return None;
        }
        state.note_paths(paths);
        state.probed = (state.probed + 1) % state.paths.len().max(1);
        let path = state.paths.get(state.probed)?.number;
        // One after the other, so that each has its turn once in that time.
        let next = Time::from_nanos((state.params.probe_interval.as_nanos() / state.paths.len() as u64).max(1));
        Some(PathProbe { path, next })
    }

    fn on_paths_changed(&mut self, _now: Time) {
        self.0.listed = 0;
        // Packets still in flight on earlier paths belong to none of the current ones.
        self.0.paths.clear();
        self.0.flowlets.iter_mut().for_each(|flowlet| flowlet.path = None);
    }
}

#[cfg(test)]
mod tests;
