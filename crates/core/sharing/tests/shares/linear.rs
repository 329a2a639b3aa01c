//! Against linear programs: max-min fairness by its definition, one program after the other.

use crate::common::{case, cases};
use num_traits::{ToPrimitive, Zero};
use wayleave_calculus::Rational;
use wayleave_calculus::lp::{LinearProgram, maximize};
use wayleave_calculus::rational::whole;
use wayleave_sharing::Shares;
use wayleave_units::Rate;

/// Children that share an amount: how much each can take, and its weight.
struct Vessels {
    amount: u64,
    caps: Vec<u64>,
    weights: Vec<u64>,
}

impl Vessels {
    /// The largest value of one child's part, or of the level of all that are open, when the open ones have at least `level`
    /// and the closed ones exactly what they have.
    fn most(&self, closed: &[Option<Rational>], level: &Rational, of: Option<usize>) -> Rational {
        let mut program = LinearProgram::default();
        let all = whole(i128::from(self.amount));
        // The level cannot pass what the amount is for the smallest weight; weights are at least 1.
        let rising = program.variable(
            level.clone(),
            if of.is_none() { all.clone() } else { level.clone() },
            whole(i128::from(of.is_none())),
        );
        let mut parts = Vec::new();
        for (child, closed) in closed.iter().enumerate() {
            let cap = whole(i128::from(self.caps[child]));
            let (low, high) = closed.clone().map_or((Rational::zero(), cap), |fixed| (fixed.clone(), fixed));
            let part = program.variable(low, high, whole(i128::from(of == Some(child))));
            if closed.is_none() {
                // weight * level <= part
                program.at_most([(rising, whole(i128::from(self.weights[child]))), (part, whole(-1))], whole(0));
            }
            parts.push(part);
        }
        program.at_most(parts.into_iter().map(|part| (part, whole(1))), all);
        maximize(&program).unwrap().bound
    }

    /// Lexicographic: raises the level of all that are open as far as possible, closes those that cannot have more,
    /// and repeats.
    fn max_min(&self) -> Vec<Rational> {
        let mut closed: Vec<Option<Rational>> = vec![None; self.caps.len()];
        let mut level = Rational::zero();
        while closed.iter().any(Option::is_none) {
            level = self.most(&closed, &level, None);
            let at_level = |child: usize| &level * whole(i128::from(self.weights[child]));
            let open: Vec<usize> = (0..closed.len()).filter(|&child| closed[child].is_none()).collect();
            let stuck =
                open.iter().copied().filter(|&child| self.most(&closed, &level, Some(child)) == at_level(child));
            let stuck: Vec<usize> = stuck.collect();
            assert!(!stuck.is_empty(), "somebody cannot have more than the highest level");
            stuck.into_iter().for_each(|child| closed[child] = Some(at_level(child)));
        }
        closed.into_iter().flatten().collect()
    }
}

#[test]
fn shares_are_the_lexicographic_optimum_rounded_down() {
    cases(150, |random| {
        let mut case = case(random, 7, 4_000);
        case.terms.iter_mut().for_each(|terms| terms.weight = terms.weight.min(9.try_into().unwrap()));
        let tree = case.tree();
        let mut shares = Shares::default();
        shares.compute(&tree, case.capacity, &case.demands);
        let nodes: Vec<_> = tree.nodes().collect();
        for parent in 0..case.parents.len() {
            let children = case.children(parent);
            if children.is_empty() {
                continue;
            }
            let demand = |&child: &usize| shares.demand(nodes[child]).bits_per_second();
            let min = |&child: &usize| case.terms[child].min.bits_per_second();
            let floors: Vec<u64> = children.iter().map(|child| demand(child).min(min(child))).collect();
            let share = shares.share(nodes[parent]).bits_per_second();
            let promised: u64 = floors.iter().sum();
            // Minima in proportion to themselves, or the demands above them in proportion to the weights.
            let (taking, vessels): (Vec<usize>, Vessels) = if promised > share {
                let taking: Vec<usize> = children.iter().copied().filter(|child| min(child) > 0).collect();
                let caps = taking.iter().map(|child| demand(child).min(min(child))).collect();
                let weights = taking.iter().map(min).collect();
                (taking, Vessels { amount: share, caps, weights })
            } else {
                let caps = children.iter().zip(&floors).map(|(child, floor)| demand(child) - floor).collect();
                let weights = children.iter().map(|&child| u64::from(case.terms[child].weight.get())).collect();
                (children.clone(), Vessels { amount: share - promised, caps, weights })
            };
            for (child, part) in taking.iter().zip(vessels.max_min()) {
                let floor = if promised > share { 0 } else { demand(child).min(min(child)) };
                let expected = floor + part.floor().to_integer().to_u64().unwrap();
                assert_eq!(
                    shares.share(nodes[*child]),
                    Rate::from_bits_per_second(expected),
                    "node {child} of {case:?}"
                );
            }
        }
    });
}
