//! Candidates of the search: parameters of latency contracts, and of the classes below them if queues are divided.

use wayleave_topology::Classes;
use wayleave_units::Time;

use crate::admission::chameleon::Params;
use crate::admission::fabric::Settings;

/// Candidate of the search.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Of latency contracts.
    pub params: Params,
    /// Of the classes below them; none where all queues are for latency contracts and best effort.
    pub division: Option<PortDivision>,
}

/// Division of ports among classes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortDivision {
    /// The classes, with their weights.
    pub classes: Classes,
    /// Maximum queueing delay of the guaranteed class on links that carry minima with a time.
    pub guaranteed_budget: Time,
    /// `true` if weights and that budget are varied as well: only if some contracts depend on them.
    pub is_free: bool,
}

/// Above this sum of weights none is refined: a turn is that many largest frames long, and every class waits for it.
const FINEST: u16 = 40;

impl From<Params> for Candidate {
    fn from(params: Params) -> Self {
        Self { params, division: None }
    }
}

impl PortDivision {
    /// As a topology has it.
    pub fn new(classes: Classes, is_free: bool) -> Self {
        Self { classes, guaranteed_budget: Settings::default().guaranteed_budget, is_free }
    }

    /// One change at a time, each with its name. Best effort keeps its part of the line: who asks for nothing has no vote here.
    pub(super) fn steps(&self) -> Vec<(String, Self)> {
        if !self.is_free {
            return Vec::new();
        }
        let mut steps = Vec::new();
        for times in [1, 2] {
            let Some(all) = self.refined(times) else { continue };
            for by in [1_u16, 2] {
                let more = |from: u16, to: u16| Some((from.checked_sub(by).filter(|&left| left > 0)?, to + by));
                let shifted = [
                    more(all.objective, all.guaranteed).map(|(objective, guaranteed)| (guaranteed, objective)),
                    more(all.guaranteed, all.objective),
                ];
                for (guaranteed, objective) in shifted.into_iter().flatten() {
                    let classes = reduced(Classes { guaranteed, objective, ..all });
                    steps.push((weights(&classes), Self { classes, ..*self }));
                }
            }
        }
        for (times, by) in [(2, 3), (3, 2)] {
            let budget = Time::from_nanos(self.guaranteed_budget.as_nanos() * times / by);
            steps.push((format!("guaranteed budget {budget:#}"), Self { guaranteed_budget: budget, ..*self }));
        }
        steps
    }

    /// The same parts in finer weights.
    fn refined(&self, times: u16) -> Option<Classes> {
        let Classes { guaranteed, objective, best_effort, .. } = self.classes;
        let all = u32::from(guaranteed) + u32::from(objective) + u32::from(best_effort);
        let [guaranteed, objective, best_effort] = [guaranteed, objective, best_effort].map(|weight| weight * times);
        (times == 1 || all * u32::from(times) <= u32::from(FINEST)).then_some(Classes {
            guaranteed,
            objective,
            best_effort,
            ..self.classes
        })
    }
}

/// Weights without a common divisor: a turn is no longer than it has to be.
fn reduced(classes: Classes) -> Classes {
    let common = |one: u16, other: u16| {
        let (mut one, mut other) = (one, other);
        while other > 0 {
            (one, other) = (other, one % other);
        }
        one.max(1)
    };
    let by = common(common(classes.guaranteed, classes.objective), classes.best_effort);
    Classes {
        guaranteed: classes.guaranteed / by,
        objective: classes.objective / by,
        best_effort: classes.best_effort / by,
        ..classes
    }
}

fn weights(classes: &Classes) -> String {
    format!("weights {}:{}:{}", classes.guaranteed, classes.objective, classes.best_effort)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_keep_the_part_of_best_effort_and_leave_every_class_a_part() {
        let usual = Classes::default();
        let (mut seen, mut left) = (Vec::new(), vec![PortDivision::new(usual, true)]);
        while let Some(here) = left.pop().filter(|_| seen.len() < 500) {
            for (_, next) in here.steps() {
                let Classes { guaranteed, objective, best_effort, .. } = next.classes;
                assert!(guaranteed > 0 && objective > 0, "{next:?}");
                let all = u32::from(guaranteed) + u32::from(objective) + u32::from(best_effort);
                assert_eq!(u32::from(best_effort) * 10, all, "a tenth, as in {usual:?}");
                assert!(all <= u32::from(FINEST) && next.classes.validate().is_ok(), "{next:?}");
                if !seen.contains(&next.classes) {
                    seen.push(next.classes);
                    left.push(next);
                }
            }
        }
        assert!(seen.len() > 20, "{}", seen.len());
    }

    #[test]
    fn weights_stay_without_requests_for_minima() {
        assert_eq!(PortDivision::new(Classes::default(), false).steps(), []);
    }
}
