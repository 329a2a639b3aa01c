//! The complete verification: patterns for all, then for single contracts, then a search.

use std::collections::BTreeSet;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use crate::attack::{Attack, BurstTiming, CrossTraffic, FrameSizes, JitterDraw, PhaseTarget};
use crate::claim::{AdmittedClaim, ClaimError};
use crate::effort::Effort;
use crate::report::Verification;
use crate::run::{PromiseObservation, RunObservations, StopCheck};
use crate::stage::{Stage, sending};

/// Contracts that are attacked for one whose routes are cut: such runs are several, and longer.
const VICTIMS_PER_CUT: usize = 4;

/// Number of search steps that are tried from one place, side by side. It does not depend on the number of
/// processors, and so neither does the result.
const STEPS: usize = 8;

/// Number of runs for each thread between two evaluations: large enough that no thread waits long for the others, and
/// small enough that the results fit the memory.
const RUNS_PER_THREAD: usize = 4;

/// Attacks a claim, and reports the worst observation about each promise.
///
/// `chosen` is the promise for the search; without it, those closest to their limits. `progress` receives the number
/// of completed runs and the total, and stops the verification by returning `false`.
///
/// # Errors
/// If the claim cannot be simulated.
///
/// # Panics
/// If there is no promise `chosen`.
pub fn verify(
    claim: &AdmittedClaim,
    effort: &Effort,
    chosen: Option<usize>,
    progress: impl FnMut(u64, u64) -> bool,
) -> Result<Verification, ClaimError> {
    verify_until(claim, effort, chosen, &|| false, progress)
}

/// Attacks a claim as [`verify`] does. It also ends, within a step of the simulator, as soon as `is_stopped` returns
/// `true`; runs that are not complete then are not counted.
///
/// # Errors
/// As [`verify`].
///
/// # Panics
/// As [`verify`].
pub fn verify_until(
    claim: &AdmittedClaim,
    effort: &Effort,
    chosen: Option<usize>,
    is_stopped: StopCheck<'_>,
    progress: impl FnMut(u64, u64) -> bool,
) -> Result<Verification, ClaimError> {
    assert!(chosen.is_none_or(|chosen| chosen < claim.promises.len()), "no such guarantee");
    let stage = Stage::new(claim)?;
    let report = Verification::new(claim);
    let mut campaign = Campaign { stage, effort, report, is_stopped, progress, total: 0, done: 0 };
    if !claim.promises.is_empty() {
        campaign.conduct(chosen)?;
    }
    Ok(campaign.report.sorted())
}

/// Makes one attack again; bit for bit the same as when it was made first, with the same claim and effort.
///
/// # Errors
/// If the claim cannot be simulated, or the attack is on a promise that is not there.
pub fn replay(claim: &AdmittedClaim, effort: &Effort, attack: &Attack) -> Result<Verification, ClaimError> {
    replay_until(claim, effort, attack, &|| false)
}

/// Makes one attack again as [`replay`] does, and ends without an observation as soon as `is_stopped` returns `true`.
///
/// # Errors
/// As [`replay`].
pub fn replay_until(
    claim: &AdmittedClaim,
    effort: &Effort,
    attack: &Attack,
    is_stopped: StopCheck<'_>,
) -> Result<Verification, ClaimError> {
    let stage = Stage::new(claim)?;
    let mut report = Verification::new(claim);
    let Some(shown) = stage.run(attack, effort.packet_hops, is_stopped)? else {
        report.stopped_of = Some(1);
        return Ok(report);
    };
    (report.runs, report.packet_hops) = (1, shown.hops);
    report.add(claim, &shown.seen, attack);
    report.add_protected(claim, &shown.kept, attack);
    Ok(report.sorted())
}

/// A running verification.
struct Campaign<'a, P> {
    stage: Stage<'a>,
    effort: &'a Effort,
    report: Verification,
    is_stopped: StopCheck<'a>,
    progress: P,
    total: u64,
    done: u64,
}

/// Decision to continue or to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Continues,
    Stops,
}

/// The longest that a packet of a promise took, in ps.
fn delay_ps(seen: &[PromiseObservation], promise: usize) -> u64 {
    seen.iter().filter(|seen| seen.promise == promise).map(|seen| seen.delay_ps).max().unwrap_or(0)
}

impl<P: FnMut(u64, u64) -> bool> Campaign<'_, P> {
    fn conduct(&mut self, chosen: Option<usize>) -> Result<(), ClaimError> {
        let promises = self.stage.claim.promises.len();
        let patterns = self.patterns();
        let victims = self.effort.victims.min(promises);
        let searched = if chosen.is_some() { 1 } else { self.effort.searched.min(promises) };
        let cuts = self.cuts();
        let aimed = self.aimed(0).len();
        let searches = searched * (self.effort.rounds as usize + aimed);
        self.total = (patterns.len() + cuts.len() + aimed * victims + searches) as u64;
        let all: Vec<Attack> = patterns.into_iter().chain(cuts).collect();
        if self.make(&all)? == Next::Stops {
            return Ok(());
        }
        let aimed: Vec<Attack> =
            self.closest(chosen, victims).into_iter().flat_map(|victim| self.aimed(victim)).collect();
        if self.make(&aimed)? == Next::Stops {
            return Ok(());
        }
        for victim in self.closest(chosen, searched) {
            if self.search(victim)? == Next::Stops {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns attacks on all promises at once.
    fn patterns(&self) -> Vec<Attack> {
        let seed = self.effort.seed;
        let together = Attack::new(BurstTiming::Together, seed);
        let small = Attack { frames: FrameSizes::Smallest, ..together.clone() };
        let quiet = Attack { cross_traffic: CrossTraffic::Quiet, ..together.clone() };
        let mut patterns = vec![together, small, quiet];
        for number in 0..u64::from(self.effort.seeds) {
            let seed = seed.wrapping_add(number);
            patterns.push(Attack::new(BurstTiming::Random, seed));
            patterns.push(Attack::new(BurstTiming::Repeated, seed));
            if self.stage.has_jitter() {
                let drawn = |timing| Attack { held_up: JitterDraw::Drawn, ..Attack::new(timing, seed) };
                patterns.extend([BurstTiming::Together, BurstTiming::Random, BurstTiming::Repeated].map(drawn));
            }
        }
        patterns
    }

    /// Returns failures while all send, and while one protected contract is attacked: of many contracts some, from
    /// all parts of the list.
    fn cuts(&self) -> Vec<Attack> {
        let mut cuts = self.stage.cut_all(self.effort);
        let all = self.stage.claim.protected.len();
        let most = if self.effort.cuts == u32::MAX { all } else { (self.effort.victims / VICTIMS_PER_CUT).max(1) };
        for number in 0..all.min(most) {
            cuts.extend(self.stage.cut_one(number * all / all.min(most), self.effort));
        }
        cuts
    }

    /// Attacks on one.
    fn aimed(&self, victim: usize) -> Vec<Attack> {
        let seed = self.effort.seed;
        let chasing = Attack::new(BurstTiming::Chasing { victim }, seed);
        let small = Attack { frames: FrameSizes::Smallest, ..chasing.clone() };
        let mut aimed = vec![
            chasing,
            Attack::new(BurstTiming::Squeezing { victim }, seed),
            Attack::new(BurstTiming::Colliding { victim }, seed),
            small,
        ];
        if self.stage.has_jitter() {
            let late = aimed.iter().map(|attack| Attack { held_up: JitterDraw::Late, ..attack.clone() });
            aimed.extend(late.collect::<Vec<_>>());
        }
        aimed
    }

    /// The chosen one, then those that came closest to their limits.
    fn closest(&self, chosen: Option<usize>, count: usize) -> Vec<usize> {
        let claim = self.stage.claim;
        let mut others: Vec<usize> = (0..claim.promises.len()).filter(|&number| Some(number) != chosen).collect();
        // Equal ones in the order of the claim: the sort is stable.
        others.sort_by(|&a, &b| self.report.share(claim, b).total_cmp(&self.report.share(claim, a)));
        chosen.into_iter().chain(others).take(count).collect()
    }

    /// Makes attacks, on as many processors as there are.
    fn make(&mut self, attacks: &[Attack]) -> Result<Next, ClaimError> {
        self.watched(attacks, |_, _| {})
    }

    /// Runs attacks; `each` receives the observations of each one, in their order.
    fn watched(
        &mut self,
        attacks: &[Attack],
        mut each: impl FnMut(&Attack, &[PromiseObservation]),
    ) -> Result<Next, ClaimError> {
        // Conclusions from a run depend on those before it, so all are evaluated in order, whichever ended first.
        for some in attacks.chunks(RUNS_PER_THREAD * rayon::current_num_threads()) {
            let (stage, most, is_stopped) = (&self.stage, self.effort.packet_hops, self.is_stopped);
            let shown: Vec<Result<Option<RunObservations>, ClaimError>> =
                some.par_iter().with_max_len(1).map(|attack| stage.run(attack, most, is_stopped)).collect();
            for (attack, shown) in some.iter().zip(shown) {
                // Runs that others of the list overtook are complete, and count.
                let Some(shown) = shown? else { continue };
                each(attack, &shown.seen);
                if self.take(attack, &shown) == Next::Stops {
                    return Ok(self.stopped());
                }
            }
            if is_stopped() {
                return Ok(self.stopped());
            }
        }
        Ok(Next::Continues)
    }

    /// Records that runs are left out.
    fn stopped(&mut self) -> Next {
        self.report.stopped_of = Some(self.total).filter(|&total| self.done < total);
        Next::Stops
    }

    fn take(&mut self, attack: &Attack, shown: &RunObservations) -> Next {
        self.report.runs += 1;
        self.report.packet_hops += shown.hops;
        self.report.add(self.stage.claim, &shown.seen, attack);
        self.report.add_protected(self.stage.claim, &shown.kept, attack);
        self.done += 1;
        if (self.progress)(self.done, self.total.max(self.done)) { Next::Continues } else { Next::Stops }
    }

    /// Searches by hill climbing over the phases of the contracts that share a line with the victim. From the best
    /// place so far a few steps are tried, each along one coordinate, and the best of them is the next place if it is
    /// better.
    fn search(&mut self, victim: usize) -> Result<Next, ClaimError> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.effort.seed ^ victim as u64);
        let mut best = (0, Attack::new(BurstTiming::Chasing { victim }, self.effort.seed));
        let first = self.aimed(victim);
        if self.climb(&first, victim, &mut best)? == Next::Stops {
            return Ok(Next::Stops);
        }
        let joiners = self.stage.joiners(victim);
        let mut coordinates: Vec<PhaseTarget> = joiners
            .iter()
            .map(|joiner| joiner.at)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .map(PhaseTarget::JoiningAt)
            .collect();
        coordinates.extend(joiners.iter().map(|joiner| PhaseTarget::Promise(joiner.promise)));
        coordinates.push(PhaseTarget::Promise(victim));
        let frame = self.stage.paths[victim].hops.iter().map(|stop| sending(1500, stop.rate)).max().unwrap_or(1);
        let mut left = self.effort.rounds as usize;
        while left > 0 {
            let mut step = || {
                let who = coordinates[rng.random_range(0..coordinates.len())];
                // From a sixteenth of a frame to sixteen frames.
                let size = (frame << rng.random_range(0..9) >> 4).max(1);
                let by = if rng.random_range(0..2) == 0 { size } else { -size };
                best.1.moved(who, by)
            };
            let steps: Vec<Attack> = (0..left.min(STEPS)).map(|_| step()).collect();
            left -= steps.len();
            if self.climb(&steps, victim, &mut best)? == Next::Stops {
                return Ok(Next::Stops);
            }
        }
        Ok(Next::Continues)
    }

    /// Tries places, and keeps the best: the first of those that are equal.
    fn climb(&mut self, places: &[Attack], victim: usize, best: &mut (u64, Attack)) -> Result<Next, ClaimError> {
        self.watched(places, |attack, seen| {
            let delay = delay_ps(seen, victim);
            if delay > best.0 {
                *best = (delay, attack.clone());
            }
        })
    }
}
