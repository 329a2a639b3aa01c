//! Failures while flows run: elements and times with the worst effect.
//!
//! A protected contract is promised that any `n - 1` failures of elements that its `n` routes do not share neither
//! lose nor delay a packet (`docs/theory/admission.md`, section 12). So for every route in turn all others are cut,
//! at a moment when the burst is on the failing element, and the burst is chased along the remaining route. Then
//! single elements fail while the whole set sends.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_topology::FailureElement;

use crate::attack::{Attack, BurstTiming, FrameSizes, InjectedFailure};
use crate::effort::Effort;
use crate::stage::{Stage, sending};

/// Maximum number of combinations of route failures that are counted.
const MAX_COMBINATIONS: usize = 1 << 20;

impl Stage<'_> {
    /// Returns the elements that only one of several routes uses.
    fn private(&self, group: usize, route: usize) -> Vec<FailureElement> {
        let routes = &self.claim.protected[group].routes;
        let own = &self.claim.promises[routes[route]].route;
        let others = || routes.iter().filter(|&&other| other != routes[route]);
        let is_shared = |element: &FailureElement| {
            others().any(|&other| self.network.uses(&self.claim.promises[other].route, *element))
        };
        self.network.elements(own).into_iter().filter(|element| !is_shared(element)).collect()
    }

    /// Returns attacks on one protected contract: every route is left alone in turn, with all others cut. `effort`
    /// limits the number of combinations.
    pub(crate) fn cut_one(&self, group: usize, effort: &Effort) -> Vec<Attack> {
        let mut rng = ChaCha8Rng::seed_from_u64(effort.seed ^ (group as u64) << 20);
        let routes = &self.claim.protected[group].routes;
        let private: Vec<Vec<FailureElement>> = (0..routes.len()).map(|route| self.private(group, route)).collect();
        let combinations_without = |survivor: usize| {
            let others = private.iter().enumerate().filter(|(route, _)| *route != survivor);
            others
                .fold(1_usize, |combinations, (_, elements)| combinations.saturating_mul(elements.len()))
                .min(MAX_COMBINATIONS)
        };
        let all: usize = (0..routes.len()).map(combinations_without).sum();
        let wanted = usize::try_from(effort.cuts).unwrap_or(usize::MAX);
        let chosen: Vec<usize> = if wanted >= all {
            (0..all).collect()
        } else {
            // From every part of the list one, so that every route is left alone about as often.
            (0..wanted).map(|part| (part * all + rng.random_range(0..all)) / wanted).collect()
        };
        let attack = |mut number: usize| {
            let mut survivor = 0;
            while number >= combinations_without(survivor) {
                number -= combinations_without(survivor);
                survivor += 1;
            }
            let mut attack = Attack::new(BurstTiming::Chasing { victim: routes[survivor] }, effort.seed);
            for route in (0..routes.len()).filter(|&route| route != survivor) {
                let element = private[route][number % private[route].len()];
                number /= private[route].len();
                let at_ns = self.moment(routes[route], element, &mut rng);
                attack.cuts.push(InjectedFailure { element, at_ns });
            }
            attack
        };
        chosen.into_iter().map(attack).collect()
    }

    /// Returns the time when the burst of a promise, which begins at 0, is on an element.
    fn moment(&self, promise: usize, element: FailureElement, rng: &mut ChaCha8Rng) -> i64 {
        let terms = &self.claim.promises[promise];
        let Some(frame) = self.frame(promise, FrameSizes::Largest) else { return 0 };
        let hops = &terms.route.hops;
        let enters = |hop: &wayleave_topology::Hop| match element {
            FailureElement::Cable(link) => self.network.cable(hop.link) == self.network.cable(link),
            FailureElement::Switch(node) => self.network.link(hop.link).from == node,
        };
        let at = hops.iter().position(enters).unwrap_or(0);
        let lasts = sending(terms.burst.get(), self.paths[promise].hops[at].rate).max(1);
        self.reach(promise, at, frame) + rng.random_range(0..lasts)
    }

    /// Single failures while the whole set sends, each of an element that a protected contract can do without.
    pub(crate) fn cut_all(&self, effort: &Effort) -> Vec<Attack> {
        let mut elements: Vec<FailureElement> = Vec::new();
        for (group, protected) in self.claim.protected.iter().enumerate() {
            for route in 0..protected.routes.len() {
                elements.extend(self.private(group, route));
            }
        }
        let canonical = |element| match element {
            FailureElement::Cable(link) => FailureElement::Cable(self.network.cable(link)),
            switch @ FailureElement::Switch(_) => switch,
        };
        let mut elements: Vec<FailureElement> = elements.into_iter().map(canonical).collect();
        elements.sort_unstable();
        elements.dedup();
        let mut rng = ChaCha8Rng::seed_from_u64(effort.seed);
        let wanted = match effort.cuts {
            0 => 0,
            u32::MAX => elements.len(),
            _ => elements.len().min(2 * effort.seeds as usize),
        };
        let mut attacks = Vec::new();
        for number in 0..wanted {
            let last = elements.len() - 1 - number;
            let at = rng.random_range(0..=last);
            elements.swap(at, last);
            let timing = if number % 2 == 0 { BurstTiming::Together } else { BurstTiming::Repeated };
            let mut attack = Attack::new(timing, effort.seed.wrapping_add(number as u64));
            let at_ns = rng.random_range(0..self.longest().max(1));
            attack.cuts.push(InjectedFailure { element: elements[last], at_ns });
            attacks.push(attack);
        }
        attacks
    }
}
