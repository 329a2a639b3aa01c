//! Fig. 10a and 11a: flows admitted until the first refusal (5.2.1).

use std::ops::RangeInclusive;

use super::super::{Silo, System};
use super::super::{accepted, all_means_within, factors};
use super::limits::Limits;
use super::scope::{
    NEWEST, PLAIN, QJUMP, RANDOM, REROUTING, SILO_AROUND, SILO_OF_THE_TEXT, SILO_PUBLISHED, SYSTEMS, Scope,
};
use crate::data::{Axis, Figure, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;
use crate::stats::{Summary, mean, ratio_of_means};

/// By k, then by seed.
type Flows = Vec<Vec<f64>>;

/// Measurements.
#[derive(Clone, Debug)]
struct Data {
    scope: Scope,
    flows: Vec<(System, Flows)>,
    /// Of Chameleon with two queues, beside four.
    fewer: Option<[Flows; 2]>,
    limits: Limits,
    /// Runs of Silo as published that ended with a flow that fits no empty network either; in per cent.
    hopeless: f64,
}

impl Data {
    fn measure(run: &Run, queues: usize) -> Result<Self, Failed> {
        let scope = Scope::of(run, queues);
        let limits = Limits::measure(run, queues)?;
        let fillings = scope.fill(run, &SYSTEMS)?;
        let of = |by_k: &super::scope::BySize| by_k.iter().map(|fillings| accepted(fillings)).collect::<Flows>();
        let of_published = |(system, by_k): (&System, &super::scope::BySize)| {
            let all = || by_k.iter().flatten().map(|filling| f64::from(u8::from(filling.is_hopeless)));
            (*system == SILO_PUBLISHED).then(|| 100.0 * mean(&all().collect::<Vec<_>>()))
        };
        let hopeless = SYSTEMS.iter().zip(&fillings).find_map(of_published).unwrap_or(f64::NAN);
        let fewer = match queues {
            4 => {
                let two = scope.with_queues(2).fill(run, &[PLAIN, REROUTING])?;
                Some([of(&two[0]), of(&two[1])])
            }
            _ => None,
        };
        let flows = SYSTEMS.into_iter().zip(fillings.iter().map(of)).collect();
        Ok(Self { scope, flows, fewer, limits, hopeless })
    }

    fn of(&self, system: System) -> &Flows {
        // Every requested system was measured; an unmeasured one, which no figure has, would get the first result.
        self.flows.iter().find(|(known, _)| *known == system).map_or(&self.flows[0].1, |(_, flows)| flows)
    }

    /// By k, a value for each seed.
    fn ratios(&self, one: System, other: System) -> Flows {
        ratios(self.of(one), self.of(other))
    }
}

fn ratios(ones: &Flows, others: &Flows) -> Flows {
    ones.iter().zip(others).map(|(one, other)| ratio_of_means(one, other)).collect()
}

/// `15.8x (14.4x to 17.3x)`.
fn with_interval(runs: &[f64]) -> String {
    let Summary { mean, ci95, .. } = Summary::of_runs(runs);
    ci95.map_or_else(|| format!("{mean:.1}x"), |[low, high]| format!("{mean:.1}x ({low:.1}x to {high:.1}x)"))
}

/// Returns the increase of a ratio from the smallest network to the largest one.
fn growth(ratios: &Flows) -> Vec<f64> {
    let ends = ratios.first().zip(ratios.last());
    ends.map_or_else(Vec::new, |(first, last)| ratio_of_means(last, first))
}

fn ends(ratios: &Flows) -> String {
    let mean = |runs: Option<&Vec<f64>>| runs.map_or(f64::NAN, |runs| mean(runs));
    format!("{:.2}x in the smallest network, {:.2}x in the largest", mean(ratios.first()), mean(ratios.last()))
}

pub(super) fn measure(run: &Run, queues: usize) -> Result<Figure, Failed> {
    let data = Data::measure(run, queues)?;
    let point = |(&k, values): (&u64, &Vec<f64>)| Point::of(k as f64, values.clone());
    let series = |(system, flows): &(System, Flows)| Series {
        name: system.name(),
        points: data.scope.ks.iter().zip(flows).map(point).collect(),
    };
    let flows = || Axis::logarithmic("flows admitted until the first refusal", "flows");
    let accepted = data.scope.panel("accepted", "Flows admitted", flows(), data.flows.iter().map(series).collect());
    let figure = Figure {
        statements: statements(&data),
        panels: vec![accepted, data.limits.panel(&data.scope)],
        seeds: data.scope.seeds.clone(),
        notes: vec![
            "Means over the runs with 95 % confidence intervals (Student's t over the seeds, thick) and 1 % to 99 % (thin). A number of the text is \
             held against the interval, rounded as the text rounds."
                .to_owned(),
            format!(
                "Silo as published, or without input lines, is ended by a single flow: in {:.0} % of its runs the refused request fits no empty network either, since its own \
                 burst has grown by r D at each hop. So the size of the network hardly matters to it.",
                data.hopeless
            ),
        ],
        ..Figure::default()
    };
    Ok(data.scope.settings(figure))
}

const MORE: RangeInclusive<f64> = 1.0..=f64::INFINITY;

fn statements(data: &Data) -> Vec<Statement> {
    let mut statements = vec![more_than_silo(data), benefit_grows(data), rerouting_grows(data)];
    if let Some(fewer) = &data.fewer {
        statements.extend(more_queues(data, fewer));
    }
    if data.scope.queues == 4 && data.scope.largest() == 12 {
        statements.extend(numbers(data));
    }
    statements
}

fn more_than_silo(data: &Data) -> Statement {
    let ratios = [PLAIN, REROUTING].map(|chameleon| data.ratios(chameleon, SILO_OF_THE_TEXT));
    let around = [PLAIN, REROUTING].map(|chameleon| factors(&data.ratios(chameleon, SILO_AROUND)));
    let measured = format!("{} without rerouting, {} with it", factors(&ratios[0]), factors(&ratios[1]));
    Statement {
        measured,
        ..all_means_within(
            "5.2.1",
            "Chameleon admits more flows than Silo in every size, without rerouting too",
            MORE,
            &ratios.concat(),
            "",
        )
    }
    .remark(format!(
        "Over a Silo that searches around full links: {} without rerouting, {} with it.",
        around[0], around[1]
    ))
}

/// Over Silo and over QJump, with and without rerouting.
fn benefit_grows(data: &Data) -> Statement {
    let over = |chameleon, other| data.ratios(chameleon, other);
    let silo = [PLAIN, REROUTING].map(|chameleon| over(chameleon, SILO_OF_THE_TEXT));
    let qjump = [PLAIN, REROUTING].map(|chameleon| over(chameleon, QJUMP));
    let groups: Vec<Vec<f64>> = silo.iter().chain(&qjump).map(growth).collect();
    let claim_text = "the benefit over Silo and QJump grows with the size of the network";
    let measured = format!(
        "over Silo {} without rerouting, {} with it; over QJump {} without",
        ends(&silo[0]),
        ends(&silo[1]),
        ends(&qjump[0])
    );
    // Less than before is no benefit, even if it grows.
    let is_benefit = silo.iter().chain(&qjump).all(|ratios| ratios.last().is_some_and(|last| mean(last) > 1.0));
    let grows = if is_benefit {
        all_means_within("5.2.1", claim_text, MORE, &groups, measured)
    } else {
        Statement::claim("5.2.1", claim_text, false, measured)
    };
    grows.remark(format!(
        "Over a Silo that searches around full links: {} without rerouting, {} with it.",
        ends(&over(PLAIN, SILO_AROUND)),
        ends(&over(REROUTING, SILO_AROUND))
    ))
}

fn rerouting_grows(data: &Data) -> Statement {
    let [oldest, newest] = [REROUTING, NEWEST].map(|system| data.ratios(system, PLAIN));
    let claim_text = "the benefit of reconfigurations grows with the size of the network";
    let limits = format!("the limit of candidates: {}", data.limits.growth());
    let order = format!("the order of equal candidates: newest first, {}", ends(&newest));
    let grows = Statement::mean_within("5.2.1", claim_text, MORE, &growth(&oldest), ends(&oldest));
    grows.tested(limits, &data.limits.growth_with_most()).tested(order, &growth(&newest))
}

/// Returns statements about four queues compared with two.
fn more_queues(data: &Data, [plain, rerouting]: &[Flows; 2]) -> [Statement; 2] {
    let [more, more_rerouting] = [ratios(data.of(PLAIN), plain), ratios(data.of(REROUTING), rerouting)];
    let (four, two) = (data.ratios(REROUTING, PLAIN), ratios(rerouting, plain));
    let groups = ratios(&four, &two);
    [
        all_means_within(
            "5.2, 5.2.1",
            "the benefit grows with the number of queues: fewer queues cost flows",
            MORE,
            &[more.clone(), more_rerouting.clone()].concat(),
            format!(
                "four queues against two, by size: {} without rerouting, {} with it",
                factors(&more),
                factors(&more_rerouting)
            ),
        ),
        all_means_within(
            "5.2.1",
            "the benefit of reconfigurations grows with the number of queues",
            MORE,
            &groups,
            format!("{} with four queues, {} with two", factors(&four), factors(&two)),
        ),
    ]
}

/// The numbers that the text gives, rounded as it rounds.
fn numbers(data: &Data) -> Vec<Statement> {
    let last = |of: &Flows| of.last().cloned().unwrap_or_default();
    let [oldest, newest, random] = [REROUTING, NEWEST, RANDOM].map(|system| last(data.of(system)));
    let [more, more_newest, more_random] = [REROUTING, NEWEST, RANDOM].map(|system| last(&data.ratios(system, PLAIN)));
    let flows = |name: &str, runs: &[f64]| {
        let claim_text = "up to 16,000 flows at k = 12 with four queues";
        Statement::mean_within("5.2.1", claim_text, 15_500.0..=16_500.0, runs, format!("{:.0} on average", mean(runs)))
            .reading(name.to_owned())
    };
    let double = |name: &str, runs: &[f64]| {
        let claim_text = "at k = 12 with four queues, rerouting more than doubles the flows";
        Statement::mean_within("5.2.1", claim_text, 2.0..=f64::INFINITY, runs, format!("{:.2}x", mean(runs)))
            .reading(name.to_owned())
    };
    let order = "Section 4.1.3 does not state which of equal candidates moves first; the published controller moves the oldest (chameleon-fig8a).";
    let orders = [
        ("the oldest of equal candidates first", &oldest, &more),
        ("the newest of equal candidates first", &newest, &more_newest),
        ("equal candidates in random order", &random, &more_random),
    ];
    let mut all = orders.map(|(name, runs, _)| flows(name, runs).because(order)).to_vec();
    all.extend(Silo::READINGS.map(|silo| times_silo(data, silo)));
    all.extend(orders.map(|(name, _, ratios)| double(name, ratios).because(order)));
    all
}

/// Returns the largest ratio to a reading of Silo, of all sizes and both orders of equal candidates.
fn times_silo(data: &Data, silo: Silo) -> Statement {
    let over_silo = |system| data.ratios(system, System::Silo(silo));
    let by_k: Vec<Vec<f64>> = [REROUTING, NEWEST].into_iter().flat_map(over_silo).collect();
    let most = by_k.iter().max_by(|one, other| mean(one).total_cmp(&mean(other))).cloned().unwrap_or_default();
    let [oldest, newest] =
        [REROUTING, NEWEST].map(|system| over_silo(system).last().map_or(f64::NAN, |runs| mean(runs)));
    let measured =
        format!("{} at most; at k = 12 {oldest:.1}x oldest first, {newest:.1}x newest first", with_interval(&most));
    let random = over_silo(RANDOM).pop().unwrap_or_default();
    // The order that admits the 16,000 flows of the text.
    Statement::mean_within("5.2.1", "up to 15x the flows of Silo", 14.5..=15.5, &most, measured)
        .tested("equal candidates in random order", &random)
        .reading(silo.reading())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    /// Returns numbers of flows near these values for k = 4 and k = 12.
    fn flows(small: f64, large: f64) -> Flows {
        [small, large].map(|flows| [0.99, 1.0, 1.01].map(|factor| flows * factor).to_vec()).to_vec()
    }

    fn data() -> Data {
        let of = |system: System| match system {
            System::Chameleon => flows(400.0, 7_000.0),
            REROUTING => flows(1_000.0, 16_000.0),
            NEWEST => flows(900.0, 15_000.0),
            RANDOM => flows(950.0, 16_000.0),
            QJUMP => flows(32.0, 32.0),
            System::Silo(_) => flows(200.0, 1_066.0),
            _ => flows(100.0, 1_600.0),
        };
        Data {
            scope: Scope { queues: 4, ks: &[4, 12], seeds: vec![1, 2, 3] },
            flows: SYSTEMS.map(|system| (system, of(system))).to_vec(),
            fewer: Some([flows(300.0, 4_000.0), flows(600.0, 7_000.0)]),
            limits: Limits::made_up(),
            hopeless: 100.0,
        }
    }

    fn scale(data: &mut Data, system: System, factors: [f64; 2]) {
        let all = data.flows.iter_mut().filter(|(known, _)| *known == system).flat_map(|(_, flows)| flows.iter_mut());
        all.zip(factors).for_each(|(runs, factor)| runs.iter_mut().for_each(|flows| *flows *= factor));
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        assert_each_can_change(
            &data(),
            statements,
            &[
                ("less than Silo", &|data| scale(data, SILO_OF_THE_TEXT, [3.0, 1.0])),
                ("more of Silo in the largest network", &|data| scale(data, SILO_OF_THE_TEXT, [1.0, 4.0])),
                ("more with rerouting in the largest network", &|data| scale(data, REROUTING, [0.5, 1.0])),
                ("fewer flows with four queues", &|data| scale(data, PLAIN, [0.5, 1.0])),
                ("less benefit of rerouting with four queues", &|data| scale(data, REROUTING, [0.7, 1.0])),
                ("many more flows", &|data| scale(data, REROUTING, [1.0, 1.5])),
                ("fewer flows", &|data| scale(data, REROUTING, [1.0, 0.8])),
                ("newest first as many as the text", &|data| scale(data, NEWEST, [1.0, 16.0 / 15.0])),
                ("newest first more than the text", &|data| scale(data, NEWEST, [1.0, 16.0 / 15.0])),
                ("hardly any gain", &|data| scale(data, PLAIN, [1.0, 2.0])),
                ("and none newest first", &|data| scale(data, NEWEST, [1.0, 0.8])),
                ("in random order more than the text", &|data| scale(data, RANDOM, [1.0, 1.2])),
                ("in random order fewer", &|data| scale(data, RANDOM, [1.0, 0.8])),
            ],
        );
    }

    #[test]
    fn a_growing_ratio_below_one_is_no_benefit() {
        let mut data = data();
        // From 0.4x to 0.93x.
        scale(&mut data, SILO_OF_THE_TEXT, [5.0, 7.0]);
        let benefit = &statements(&data)[1];
        assert!(!benefit.is_held(), "{benefit:?}");
    }
}
