//! Window of a pair on a path: proportional shares (equation 1), the windows of equation 3, and the two stages of
//! admission (3.4).
//!
//! A link that also serves other classes has two capacities. The admitted capacity, C' = eta g R', decides shares,
//! initial windows and path qualification: lent capacity cannot be promised. The current capacity, A, is filled by
//! equation 3. It is at least C', and at most eta of the line. On such a link a window rises by at most a step per
//! answer. Otherwise the low rate after a burst of the classes above would be taken for a free line.

use wayleave_packet_format::probe::rounded;
use wayleave_scheme_api::IntHop;
use wayleave_units::{Bytes, Rate, Time};

use super::settings::{
    ExcessSharing, FullWindowRate, QueueEstimate, Settings, WindowGrowth, WindowIncrease, WindowUnit,
};

/// Terms of a pair on a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathTerms {
    /// phi.
    pub(super) tokens: u64,
    /// Weight of its part above all tokens; only ratios count.
    pub(super) weight: u64,
    /// T: the round trip without queues.
    pub(super) round_trip: Time,
    /// Rate that its limiters let through, in bit/s.
    pub(super) most: Option<u64>,
}

impl PathTerms {
    /// Returns the amount that the guarantee carries in a base round trip: phi B_u T.
    pub(super) fn guaranteed(&self, unit: Rate) -> u64 {
        bytes(self.guarantee(unit).unsigned_abs(), self.round_trip)
    }

    /// Returns the guarantee, phi B_u, in bit/s.
    pub(super) fn guarantee(&self, unit: Rate) -> i128 {
        i128::from(unit.bits_per_second()) * i128::from(self.tokens)
    }
}

/// Traffic that a pair sent on a path since the last answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    pub(super) bytes: u64,
    pub(super) elapsed: Time,
}

/// Reports of a link's ports, from the view of one pair; in bytes of a base round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct View {
    /// A T; C T where the line is not shared with other classes.
    product: u64,
    /// r T (equation 1), of the admitted capacity.
    share: u64,
    /// w of equation 3; what a link counts may be more than the product, what a pair may have in flight is not.
    fair: u64,
}

/// One link of a path.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    /// While the window grows towards that of equation 3.
    ramp: Option<u64>,
    /// Window that the link counts.
    window: u64,
    /// q of the last answer.
    queue: u64,
}

/// Of one pair on one path.
#[derive(Clone, Debug, Default)]
pub(super) struct Admission {
    links: Vec<Link>,
    /// Maximum amount in flight.
    window: u64,
    /// The pair sends less than it may.
    rests: bool,
    /// Sending rate between the last two answers, in bit/s.
    sends: u64,
    /// r T of the last answer: the window with which it resumes.
    share: u64,
    /// Rate that it may send although its window is full, in bit/s.
    floor: u64,
}

/// Maximum factor on the tokens of other pairs. A pair that another link holds back counts for more than it sends;
/// otherwise the other pairs would not get the capacity that it leaves. With up to this multiple of their tokens it
/// leaves them all of that capacity.
const MAX: u64 = 4;

/// No window is smaller, so that a pair can always send something: a frame of 1,500 B in a hundred round trips.
const MIN: u64 = 15;

fn bytes(bits_per_second: u128, time: Time) -> u64 {
    u64::try_from(bits_per_second * u128::from(time.as_nanos()) / 8_000_000_000).unwrap_or(u64::MAX)
}

/// `of * part / whole`.
fn part(of: u64, part: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(of) * u128::from(part) / u128::from(whole.max(1))).unwrap_or(u64::MAX)
}

/// Scales bytes per `from` to bytes per `to`.
fn scale(bytes: u64, from: Time, to: Time) -> u64 {
    part(bytes, to.as_nanos(), from.as_nanos())
}

/// C, or C' where the line is shared with other classes: what is shared out of a link by admission.
pub(super) fn capacity(hop: &IntHop, target_percent: u8) -> u64 {
    let line = hop.class.map_or(hop.rate, |class| class.guaranteed.min(hop.rate));
    part(line.bits_per_second(), u64::from(target_percent), 100)
}

/// Returns the current rate of the class on a line: the whole line if there is no other class.
fn line(hop: &IntHop) -> u64 {
    let class = hop.class.map(|class| class.available.max(class.guaranteed));
    class.map_or(hop.rate, |class| class.min(hop.rate)).bits_per_second()
}

/// A: what is filled of a link now; C where the line is not shared with other classes.
pub(super) fn target(hop: &IntHop, target_percent: u8) -> u64 {
    part(line(hop), u64::from(target_percent), 100)
}

/// Returns what the limiters of a pair let through in a base round trip, and a quarter more.
fn limited(terms: PathTerms) -> u64 {
    terms.most.map_or(u64::MAX, |most| bytes(u128::from(most) * 5 / 4, terms.round_trip))
}

/// Returns the maximum number of bandwidth-delay products that a link counts for a pair.
fn most(settings: &Settings) -> u64 {
    match settings.window_unit {
        WindowUnit::Rates => MAX,
        WindowUnit::AsPrinted => 1,
    }
}

/// Returns the amount that a link drains from a queue in a base round trip beside A, in bytes: (1 - eta) / eta A T.
fn headroom(hop: &IntHop, terms: PathTerms, settings: &Settings) -> u64 {
    let beside = line(hop) - target(hop, settings.target_utilization_percent);
    bytes(u128::from(beside), terms.round_trip)
}

/// Returns the maximum rise of a window per answer on a link that may seem free for other reasons than windows. Such
/// reasons are the end of a burst of a class above, or capacity lent to this class. Returns `None` if only equation 3
/// limits the window.
fn rise(hop: &IntHop, view: &View, terms: PathTerms, settings: &Settings) -> Option<u64> {
    hop.class?;
    match settings.window_increase {
        WindowIncrease::Guaranteed => Some(terms.guaranteed(settings.unit_bandwidth)),
        WindowIncrease::Share => Some(terms.guaranteed(settings.unit_bandwidth).max(view.share)),
        WindowIncrease::Free => None,
    }
}

impl View {
    fn of(hop: &IntHop, queue: u64, counted: u64, terms: PathTerms, settings: &Settings) -> Self {
        let of = |rate| bytes(u128::from(rate), terms.round_trip);
        let product = of(target(hop, settings.target_utilization_percent));
        let share = portion(of(capacity(hop, settings.target_utilization_percent)), hop, terms, settings);
        let windows = scale(hop.windows.get(), settings.summed_over(terms.round_trip), terms.round_trip).max(counted);
        let load = bytes(u128::from(hop.tx.bits_per_second()), terms.round_trip).saturating_add(queue);
        let fair = match settings.excess_sharing {
            ExcessSharing::Minima => part(portion(windows, hop, terms, settings), product, load),
            ExcessSharing::Weights => portion(part(windows, product, load), hop, terms, settings),
        };
        Self { product, share, fair: fair.min(product.saturating_mul(most(settings))) }
    }
}

/// Returns a pair's part of the amount that all pairs of a link may have in a base round trip, in bytes. It is in
/// proportion to tokens; or it is the pair's own tokens plus a part, by weights, of the amount above all tokens. If
/// there is nothing above, both are equal. In both cases the parts of all pairs add up to `all`.
fn portion(all: u64, hop: &IntHop, terms: PathTerms, settings: &Settings) -> u64 {
    // If a false positive has left the pair out, it counts itself.
    let tokens = hop.tokens.max(terms.tokens);
    let minima = PathTerms { tokens, ..terms }.guaranteed(settings.unit_bandwidth);
    match settings.excess_sharing {
        ExcessSharing::Weights if all > minima => {
            let above = part(all - minima, terms.weight, hop.weights.max(terms.weight));
            terms.guaranteed(settings.unit_bandwidth).saturating_add(above)
        }
        _ => part(all, terms.tokens, tokens),
    }
}

impl Admission {
    /// Scenario-1: a pair joins a path.
    pub(super) fn join(terms: PathTerms, settings: &Settings) -> Self {
        let window = terms.guaranteed(settings.unit_bandwidth).max(MIN);
        let ramp = settings.latency_bound.then_some(window);
        let links = vec![Link { ramp, window, queue: u64::MAX }];
        Self { links, window, share: window, ..Self::default() }
    }

    /// Records that the pair has nothing more to send: it rests, and its rate is zero.
    pub(super) fn ends(&mut self) {
        (self.rests, self.sends) = (true, 0);
    }

    /// Lets the pair resume. After a pause of a round trip or more (`is_late`) it is in Scenario-2: its window does not exceed its
    /// share, and grows in steps.
    pub(super) fn resumes(&mut self, is_late: bool, settings: &Settings) {
        self.rests = false;
        if is_late && settings.latency_bound {
            self.window = self.window.min(self.share).max(MIN);
            for link in &mut self.links {
                link.ramp = Some(self.window);
            }
        }
    }

    /// Returns `true` if the pair sends less than it may, and less than its share.
    pub(super) fn rests(&self) -> bool {
        self.rests
    }

    /// Returns its recent sending rate, in bit/s.
    pub(super) fn sends(&self) -> u64 {
        self.sends
    }

    /// Returns the rate that its window carries, in bit/s.
    pub(super) fn rate(&self, terms: PathTerms) -> u64 {
        part(self.window.saturating_mul(8), 1_000_000_000, terms.round_trip.as_nanos())
    }

    /// Returns the rate that it may send although its window is full, in bit/s: its minimum, or its share of the
    /// admitted capacity if that is less.
    pub(super) fn floor(&self) -> u64 {
        self.floor
    }

    /// Returns the maximum amount in flight.
    pub(super) fn window(&self) -> Bytes {
        Bytes::new(self.window)
    }

    /// Returns the windows that the links are to count, in path order, rounded to values that a probe can carry.
    pub(super) fn counted(&self, round_trip: Time, settings: &Settings) -> Vec<Bytes> {
        let scaled = |window| scale(window, round_trip, settings.summed_over(round_trip));
        self.links.iter().map(|link| Bytes::new(rounded(scaled(link.window)))).collect()
    }

    /// Computes the windows from an answer.
    pub(super) fn answered(&mut self, hops: &[IntHop], usage: Usage, terms: PathTerms, settings: &Settings) {
        // At first all links of the path start with the state of the first one.
        let usual = self.links.last().copied().unwrap_or_default();
        self.links.resize(hops.len().max(1), usual);
        let views: Vec<View> = (self.links.iter_mut().zip(hops))
            .map(|(link, hop)| {
                let before = std::mem::replace(&mut link.queue, hop.queue.get());
                let queue = match settings.queue_estimate {
                    QueueEstimate::Standing => before.min(link.queue).saturating_sub(headroom(hop, terms, settings)),
                    QueueEstimate::AsPrinted => link.queue,
                };
                View::of(hop, queue, link.window, terms, settings)
            })
            .collect();
        let share = views.iter().map(|view| view.share).min().unwrap_or(self.window);
        self.share = share;
        self.stage(share, usage, &views, terms, settings);
        let is_shared =
            settings.full_window_rate == FullWindowRate::Minimum && hops.iter().any(|hop| hop.class.is_some());
        let sure = if is_shared { terms.guaranteed(settings.unit_bandwidth).min(share) } else { 0 };
        self.floor = part(sure.saturating_mul(8), 1_000_000_000, terms.round_trip.as_nanos());
        let mut window = u64::MAX;
        for ((link, view), hop) in self.links.iter_mut().zip(&views).zip(hops) {
            link.ramp = link.ramp.filter(|&ramp| ramp < view.fair);
            let most = rise(hop, view, terms, settings).map_or(u64::MAX, |step| link.window.saturating_add(step));
            link.window = link.ramp.unwrap_or(view.fair).min(most).max(MIN);
            // Its share and no more, so that it can do no harm when it wants more at once.
            let is_held = self.rests && settings.latency_bound;
            window = window.min(if is_held { link.window.min(view.share) } else { link.window.min(view.product) });
        }
        // The limiter holds back a pair whose limit is small, and its rate may rise without an answer that ports count.
        self.window = window.min(limited(terms).max(2 * settings.probe_every.get())).max(MIN);
    }

    /// Scenario-2: a pair that sends less than its share of the path begins at its share when its demand grows, and
    /// all grow in steps.
    ///
    /// While such a pair rests, links continue to count the window of equation 3 for it. Their counts have to follow
    /// the load; otherwise other pairs would get no more than their proportional share of a link that is not full.
    /// When its demand grows, links count its true window.
    fn stage(&mut self, share: u64, usage: Usage, views: &[View], terms: PathTerms, settings: &Settings) {
        let nanos = usage.elapsed.as_nanos().max(1);
        self.sends = part(usage.bytes.saturating_mul(8), 1_000_000_000, nanos);
        let sent = part(usage.bytes, terms.round_trip.as_nanos(), nanos);
        // A pair that its limiter holds back would appear to have a small demand. Links would then count its share in
        // place of the window of equation 3.
        let rests = sent < share && sent.saturating_mul(2) < self.window.min(limited(terms));
        let wakes = std::mem::replace(&mut self.rests, rests) && !rests;
        for (link, view) in self.links.iter_mut().zip(views) {
            if rests {
                link.ramp = None;
            } else if wakes && settings.latency_bound {
                link.ramp = Some(view.share.min(share));
            }
            let step = match settings.startup {
                WindowGrowth::Guaranteed => terms.guaranteed(settings.unit_bandwidth).min(view.share),
                WindowGrowth::AsPrinted => view.share,
            };
            link.ramp = link.ramp.map(|ramp| ramp.saturating_add(step));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Time = Time::from_micros(24);

    /// Windows as bytes, as in the text's equation.
    fn printed() -> Settings {
        Settings { window_unit: WindowUnit::AsPrinted, ..Settings::default() }
    }

    fn hop(tokens: u64, windows: u64, tx_mbit: u64, queue: u64) -> IntHop {
        IntHop {
            rate: Rate::from_gbit(10),
            tokens,
            windows: Bytes::new(windows),
            tx: Rate::from_mbit(tx_mbit),
            queue: Bytes::new(queue),
            ..IntHop::default()
        }
    }

    fn view(hop: &IntHop) -> View {
        let terms = PathTerms { tokens: 1_000, weight: 1_000, round_trip: T, most: None };
        View::of(hop, hop.queue.get(), 0, terms, &printed())
    }

    /// The fixed points of equation 3 at 10 Gbit/s and 24 us: a quarter of the tokens, W of 28,500 B, tx of 9.5 Gbit/s.
    #[test]
    fn windows_follow_equation_3() {
        assert_eq!(view(&hop(4_000, 28_500, 9_500, 0)), View { product: 28_500, share: 7_125, fair: 7_125 });
        assert_eq!(view(&hop(4_000, 28_500, 9_500, 28_500)).fair, 3_562);
        assert_eq!(view(&hop(4_000, 28_500, 4_750, 0)).fair, 14_250, "half of the line is not used");
        assert_eq!(view(&hop(1_000, 1_000_000, 0, 0)).fair, 28_500, "never more than the product");
    }

    /// A pair with twice the round trip of another has twice its window, so both have the same rate.
    #[test]
    fn rates_and_not_windows_are_shared_by_tokens() {
        let settings = Settings::default();
        // Two pairs at 4.75 Gbit/s: 59,375 B in 100 us each.
        let hop = hop(2_000, 118_750, 9_500, 0);
        let fair = |micros| {
            let terms = PathTerms { tokens: 1_000, weight: 1_000, round_trip: Time::from_micros(micros), most: None };
            View::of(&hop, 0, 0, terms, &settings).fair
        };
        assert_eq!((fair(24), fair(48)), (14_250, 28_500));
        let link = Link { window: 14_250, ..Link::default() };
        let admission = Admission { links: vec![link], ..Admission::default() };
        // Rounded down to a value that a probe can carry.
        assert_eq!(admission.counted(T, &settings), [Bytes::new(59_360)]);
    }

    /// 10 Gbit/s, of which 9.5 are filled, and 24 us: minima of 1 and 3 Gbit/s, 3,000 and 9,000 B, and 16,500 B above them by weights of 2 and 1.
    #[test]
    fn capacity_above_minima_is_shared_by_weights() {
        let settings = Settings { excess_sharing: ExcessSharing::Weights, ..printed() };
        let hop = IntHop { weights: 3, ..hop(4_000, 28_500, 9_500, 0) };
        let view =
            |tokens, weight| View::of(&hop, 0, 0, PathTerms { tokens, weight, round_trip: T, most: None }, &settings);
        let (first, second) = (view(1_000, 2), view(3_000, 1));
        assert_eq!(first, View { product: 28_500, share: 3_000 + 11_000, fair: 3_000 + 11_000 });
        assert_eq!((second.share, second.fair), (9_000 + 5_500, 9_000 + 5_500));
        // Half of the line is not used: all may have twice as much.
        let idle = IntHop { tx: Rate::from_mbit(4_750), ..hop };
        let fair =
            View::of(&idle, 0, 0, PathTerms { tokens: 1_000, weight: 2, round_trip: T, most: None }, &settings).fair;
        // 3,000 B and two thirds of 45,000 are more than the line carries.
        assert_eq!(fair, 28_500);
        // If minima fill the line, the pairs share the line by minima.
        let full = IntHop { tokens: 19_000, ..hop };
        let fair =
            View::of(&full, 0, 0, PathTerms { tokens: 1_000, weight: 2, round_trip: T, most: None }, &settings).fair;
        assert_eq!(fair, 28_500 / 19);
        // Weights as large as minima are no weights.
        let same = IntHop { weights: 4_000, ..hop };
        let fair =
            View::of(&same, 0, 0, PathTerms { tokens: 1_000, weight: 1_000, round_trip: T, most: None }, &settings)
                .fair;
        assert_eq!(fair, 28_500 / 4);
    }

    fn answered(admission: &mut Admission, hop: IntHop, bytes: u64) -> u64 {
        let terms = PathTerms { tokens: 500, weight: 500, round_trip: T, most: None };
        let usage = Usage { bytes, elapsed: T };
        admission.answered(&[hop], usage, terms, &printed());
        admission.window().get()
    }

    /// Scenario-1: 500 Mbit/s are 1,500 B in 24 us; another 1,500 B with each round trip, until equation 3 gives less.
    #[test]
    fn a_pair_that_joins_grows_in_steps_of_its_guarantee() {
        let terms = PathTerms { tokens: 500, weight: 500, round_trip: T, most: None };
        let mut admission = Admission::join(terms, &printed());
        assert_eq!(admission.window().get(), 1_500);
        assert_eq!(answered(&mut admission, hop(500, 1_500, 500, 0), 1_500), 3_000);
        assert_eq!(answered(&mut admission, hop(500, 3_000, 1_000, 0), 3_000), 4_500);
        // Half of the tokens of a full link: equation 3 gives 14,250 B, and the steps continue.
        assert_eq!(answered(&mut admission, hop(1_000, 28_500, 9_500, 0), 4_500), 6_000);
        assert_eq!(answered(&mut admission, hop(1_000, 8_000, 9_500, 0), 6_000), 4_000, "then equation 3 is used");
        assert_eq!(answered(&mut admission, hop(1_000, 10_000, 9_500, 0), 4_000), 5_000);
    }

    /// Scenario-2: who sends little may have its share in flight and no more; when it wants more it begins there.
    #[test]
    fn an_idle_pair_keeps_its_share_and_resumes_with_it() {
        let terms = PathTerms { tokens: 500, weight: 500, round_trip: T, most: None };
        let mut admission = Admission {
            links: vec![Link { window: 20_000, ..Link::default() }],
            window: 20_000,
            ..Admission::default()
        };
        let idle = hop(1_000, 40_000, 1_000, 0);
        assert_eq!(answered(&mut admission, idle, 100), 14_250, "r T");
        assert_eq!(admission.counted(T, &printed()), [Bytes::new(28_496)], "and links count what equation 3 gives");
        assert_eq!(answered(&mut admission, idle, 14_250), 14_250 + 1_500);
        assert_eq!(admission.counted(T, &printed()), [Bytes::new(15_744)]);
        let without = Settings { latency_bound: false, ..printed() };
        admission.answered(&[idle], Usage { bytes: 100, elapsed: T }, terms, &without);
        assert_eq!(admission.window().get(), 28_500, "uFAB' gives all at once");
    }

    #[test]
    fn a_window_is_never_zero() {
        let mut admission = Admission::join(PathTerms { tokens: 1, weight: 1, round_trip: T, most: None }, &printed());
        assert_eq!(answered(&mut admission, hop(1 << 40, 1, 10_000, 1 << 40), 0), MIN);
    }
}
