//! Path selection of a pair (3.5): candidates are probed concurrently, and those that can serve its guarantee
//! qualify.

use wayleave_scheme_api::{IntHop, PathIndex};
use wayleave_topology::LinkId;
use wayleave_units::{Rate, Time};

use super::admission::{PathTerms, capacity, target};
use super::settings::Settings;
use crate::random::SplitMix;

/// Reason of a path search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchReason {
    /// The pair has none: it takes the best there is.
    Join,
    /// The pair sends on initial paths already: one that can serve the guarantee is better than one that came too late for it.
    Initial,
    /// This one does not answer: any other is better.
    Lost(PathIndex),
    /// This one cannot serve the guarantee: only one that can is better.
    Violated(PathIndex),
    /// There may be more on another than on this one.
    Better(PathIndex),
}

impl SearchReason {
    /// The path that would be left.
    pub(super) fn path(self) -> Option<PathIndex> {
        match self {
            Self::Join | Self::Initial => None,
            Self::Lost(path) | Self::Violated(path) | Self::Better(path) => Some(path),
        }
    }
}

/// Known state of a path that may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) path: PathIndex,
    /// The least of C - (Phi + phi) B_u over its links, in bit/s: it qualifies if that is not negative.
    pub(super) headroom: i128,
    /// The least of equation 2 over its links.
    pub(super) rate: u64,
}

impl Candidate {
    /// Computes a candidate from the ports' reports to a pair that they do not count yet. The links in `counted`,
    /// which the pair's paths share with this one, already count it. If hops do not name their links, only the last
    /// one is shared by a pair that has a path: it is the receiver's.
    pub(super) fn of(
        path: PathIndex,
        hops: &[IntHop],
        terms: PathTerms,
        counted: Option<&[LinkId]>,
        settings: &Settings,
    ) -> Self {
        let unit = i128::from(settings.unit_bandwidth.bits_per_second());
        let last = hops.len().saturating_sub(1);
        let is_counted = |at: usize, hop: &IntHop| match (counted, hop.link) {
            (None, _) => false,
            (Some(counted), Some(link)) => counted.contains(&link),
            (Some(_), None) => at == last,
        };
        let after = |at: usize, hop: &IntHop| hop.tokens + if is_counted(at, hop) { 0 } else { terms.tokens };
        let links = || hops.iter().enumerate();
        let headroom = links()
            .map(|(at, hop)| {
                i128::from(capacity(hop, settings.target_utilization_percent)) - i128::from(after(at, hop)) * unit
            })
            .min();
        let rate = links().map(|(at, hop)| rate(hop, after(at, hop), terms, settings)).min();
        Self { path, headroom: headroom.unwrap_or(0), rate: rate.unwrap_or(0) }
    }

    pub(super) fn qualifies(&self) -> bool {
        self.headroom >= 0
    }
}

/// Returns the least of C - Phi B_u over the links of a path that count the pair, in bit/s: guarantees fit if it is not negative.
pub(super) fn left(hops: &[IntHop], settings: &Settings) -> i128 {
    let unit = i128::from(settings.unit_bandwidth.bits_per_second());
    let of =
        |hop: &IntHop| i128::from(capacity(hop, settings.target_utilization_percent)) - i128::from(hop.tokens) * unit;
    hops.iter().map(of).min().unwrap_or(0)
}

/// Returns equation 2, with W/T for the sum of the rates; at least equation 1. It uses the current capacity, unlike
/// path qualification. It is by tokens even if weights share the capacity above them, because it compares paths.
fn rate(hop: &IntHop, tokens: u64, terms: PathTerms, settings: &Settings) -> u64 {
    let capacity = target(hop, settings.target_utilization_percent);
    let over = settings.summed_over(terms.round_trip).as_nanos().max(1);
    let rates = u128::from(hop.windows.get()) * 8_000_000_000 / u128::from(over);
    let used = u128::from(hop.tx.bits_per_second().max(1));
    let all = (rates * u128::from(capacity) / used).max(u128::from(capacity));
    let part = all * u128::from(terms.tokens) / u128::from(tokens.max(1));
    u64::try_from(part).unwrap_or(u64::MAX).min(capacity)
}

/// A running search, with its paths.
#[derive(Clone, Debug)]
pub(super) struct Search {
    pub(super) why: SearchReason,
    /// Distinguishes this search from others of the pair.
    pub(super) serial: u32,
    /// Paths that have not answered.
    pub(super) waiting: Vec<PathIndex>,
    /// Records of candidates that have answered, until they are compared.
    pub(super) answers: Vec<(PathIndex, Vec<IntHop>)>,
    pub(super) found: Vec<Candidate>,
    /// Initial paths whose first answer has no room for the pair.
    pub(super) unfit: Vec<PathIndex>,
}

impl Search {
    /// A search that waits for these paths.
    pub(super) fn new(why: SearchReason, serial: u32, waiting: Vec<PathIndex>) -> Self {
        Self { why, serial, waiting, answers: Vec::new(), found: Vec::new(), unfit: Vec::new() }
    }

    /// The path to take, if there is a good one: of those that qualify one at random, the more headroom the more likely ("randomly with a preference
    /// to the path with minimum bandwidth subscription", 3.5); otherwise, where any path is better than none, the one with the most.
    pub(super) fn choose(&self, random: &mut SplitMix) -> Option<PathIndex> {
        let good = || self.found.iter().filter(|candidate| candidate.qualifies());
        let most = || self.found.iter().max_by_key(|candidate| candidate.headroom).map(|candidate| candidate.path);
        match self.why {
            SearchReason::Better(_) => good().max_by_key(|candidate| candidate.rate).map(|candidate| candidate.path),
            SearchReason::Initial | SearchReason::Violated(_) => draw(good(), random),
            SearchReason::Join | SearchReason::Lost(_) => draw(good(), random).or_else(most),
        }
    }
}

pub(super) fn draw<'a>(good: impl Iterator<Item = &'a Candidate> + Clone, random: &mut SplitMix) -> Option<PathIndex> {
    // Bit/s above zero, so that a full path that qualifies can be drawn as well.
    let weight = |candidate: &Candidate| candidate.headroom.max(0) as f64 + 1.0;
    let mut left = random.unit() * good.clone().map(weight).sum::<f64>();
    let mut last = None;
    for candidate in good {
        last = Some(candidate.path);
        left -= weight(candidate);
        if left < 0.0 {
            break;
        }
    }
    last
}

/// Returns at most `most` different paths of a pair, drawn at random, except those in `without`.
pub(super) fn sample(paths: u32, most: u32, without: &[PathIndex], random: &mut SplitMix) -> Vec<PathIndex> {
    let mut all: Vec<PathIndex> = (0..paths).map(PathIndex).filter(|path| !without.contains(path)).collect();
    let count = all.len().min(most as usize);
    for at in 0..count {
        let other = at + random.below((all.len() - at) as u32) as usize;
        all.swap(at, other);
    }
    all.truncate(count);
    all
}

/// Returns the time of `count` base round trips.
pub(super) fn round_trips(of: Time, count: u32) -> Time {
    Time::from_nanos(of.as_nanos().saturating_mul(u64::from(count)))
}

/// Returns a rate as a number of tokens that a probe can carry (16 bits; G).
pub(super) fn tokens_of(rate: u64, unit: Rate) -> u64 {
    // Half a token more or less is rounded; who has no guarantee has one token, or it would never send.
    let unit = unit.bits_per_second().max(1);
    (rate.saturating_add(unit / 2) / unit).clamp(1, u64::from(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_units::Bytes;

    const TERMS: PathTerms = PathTerms { tokens: 1_000, weight: 1_000, round_trip: Time::from_micros(24), most: None };

    /// Returns a candidate whose links count these tokens, and report these link numbers, if any.
    fn candidate(tokens: &[u64], links: Option<&[u32]>, counted: Option<&[LinkId]>) -> Candidate {
        let hop = |(at, &tokens): (usize, &u64)| {
            let link = links.map(|links| LinkId(links[at]));
            IntHop { link, rate: Rate::from_gbit(10), tokens, ..IntHop::default() }
        };
        let hops: Vec<IntHop> = tokens.iter().enumerate().map(hop).collect();
        Candidate::of(PathIndex(0), &hops, TERMS, counted, &Settings::default())
    }

    /// 3.5: C of 9.5 Gbit/s carries 8,500 tokens and 1,000 more, and not one beyond.
    #[test]
    fn a_path_qualifies_if_every_link_keeps_all_guarantees() {
        assert_eq!(candidate(&[0, 8_500, 10], None, None).headroom, 0);
        assert!(candidate(&[0, 8_500, 10], None, None).qualifies() && !candidate(&[8_501, 0], None, None).qualifies());
        assert!(candidate(&[0, 9_500], None, Some(&[])).qualifies(), "the last link counts the pair already");
    }

    /// A pair that leaves a full link in the middle of its path is counted at the first and the last already: they have room for it, as they have now.
    #[test]
    fn links_shared_with_the_old_path_do_not_count_a_pair_twice() {
        let links = Some(&[1, 7, 3][..]);
        let counted = [1, 2, 3].map(LinkId);
        assert!(candidate(&[9_500, 8_500, 9_500], links, Some(&counted)).qualifies());
        assert!(!candidate(&[9_500, 8_501, 9_500], links, Some(&counted)).qualifies(), "the one that is new must fit");
        assert!(!candidate(&[9_501, 0, 0], links, Some(&counted)).qualifies(), "too much is there without it");
        assert!(!candidate(&[9_500, 8_500, 9_500], links, None).qualifies(), "who has no path is counted nowhere");
    }

    #[test]
    fn only_qualified_paths_are_drawn_and_those_with_more_headroom_more_often() {
        let found = [(0, 3_000_000), (1, 1_000_000), (2, -1)];
        let found = found.map(|(path, headroom)| Candidate { path: PathIndex(path), headroom, rate: 0 }).to_vec();
        let search = |why, found| Search { found, ..Search::new(why, 0, Vec::new()) };
        let mut random = SplitMix::new(1);
        let mut counts = [0; 3];
        for _ in 0..10_000 {
            let drawn = search(SearchReason::Join, found.clone()).choose(&mut random).unwrap();
            counts[drawn.index()] += 1;
        }
        assert!((7_300..7_700).contains(&counts[0]) && counts[2] == 0, "{counts:?}");
        let bad = vec![found[2]];
        let mut choose = |why| search(why, bad.clone()).choose(&mut random);
        assert_eq!(choose(SearchReason::Violated(PathIndex(0))), None, "it would only violate others");
        assert_eq!(choose(SearchReason::Lost(PathIndex(0))), Some(PathIndex(2)), "anything is better than a dead path");
    }

    #[test]
    fn the_best_of_several_is_the_one_with_the_largest_rate() {
        let idle = IntHop {
            rate: Rate::from_gbit(10),
            windows: Bytes::new(3_000),
            tx: Rate::from_gbit(1),
            tokens: 500,
            ..IntHop::default()
        };
        // Equation 2: 1000/1500 x 1 Gbit/s x 9.5/1; equation 1 gives an equal value.
        assert_eq!(Candidate::of(PathIndex(0), &[idle], TERMS, None, &Settings::default()).rate, 6_333_333_333);
    }

    #[test]
    fn samples_have_no_path_twice_and_not_the_old_path() {
        let mut random = SplitMix::new(9);
        for _ in 0..100 {
            let mut drawn = sample(8, 4, &[PathIndex(3)], &mut random);
            assert!(drawn.len() == 4 && !drawn.contains(&PathIndex(3)));
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn.len(), 4);
        }
        assert_eq!(sample(1, 4, &[PathIndex(0)], &mut random), []);
    }
}
