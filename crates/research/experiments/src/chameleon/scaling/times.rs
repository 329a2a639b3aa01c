//! Fig. 10b and 11b: how long a decision takes (5.2.2). Times are compared within one run only.

use super::super::System;
use super::super::{all_means_within, fig9b};
use super::limits::Limits;
use super::scope::{PLAIN, REROUTING, SILO_AROUND, SILO_OF_THE_TEXT, SYSTEMS, Scope};
use crate::data::{Axis, Centre, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;
use crate::stats::{Summary, mean, ratio_of_means};

/// Of one size.
#[derive(Clone, Debug)]
struct Times {
    summary: Summary,
    /// Means of single runs, us.
    means: Vec<f64>,
}

/// Measurements.
#[derive(Clone, Debug)]
struct Data {
    scope: Scope,
    /// By k.
    times: Vec<(System, Vec<Times>)>,
    /// Of Chameleon by k, with two queues beside four, without and with rerouting.
    fewer: Option<[Vec<Times>; 2]>,
    limits: Limits,
}

impl Data {
    fn of(&self, system: System) -> &[Times] {
        self.times.iter().find(|(known, _)| *known == system).map_or(&[], |(_, times)| times)
    }

    /// In the largest network.
    fn last(&self, system: System) -> Option<&Times> {
        self.of(system).last()
    }
}

pub(super) fn measure(run: &Run, queues: usize) -> Result<Figure, Failed> {
    let scope = Scope::of(run, queues);
    let limits = Limits::measure(run, queues)?;
    let fillings = scope.fill(run, &SYSTEMS)?;
    let point = |(&k, fillings): (&u64, &Vec<_>)| Point::pooled(k.to_string(), &fig9b::times(fillings));
    let series = |(system, by_k): (&System, &super::scope::BySize)| Series {
        name: system.name(),
        points: scope.ks.iter().zip(by_k).map(point).collect(),
    };
    let all: Vec<Series> = SYSTEMS.iter().zip(&fillings).map(series).collect();
    let times = |of: &Point| Times { summary: of.summary, means: of.values.clone() };
    let pooled = |by_k: &super::scope::BySize| {
        let of = |fillings: &Vec<_>| {
            let (means, summary) = Summary::pooled(&fig9b::times(fillings));
            Times { summary, means }
        };
        by_k.iter().map(of).collect()
    };
    let fewer = match queues {
        4 => {
            let two = scope.with_queues(2).fill(run, &[PLAIN, REROUTING])?;
            Some([pooled(&two[0]), pooled(&two[1])])
        }
        _ => None,
    };
    let times =
        SYSTEMS.into_iter().zip(&all).map(|(system, of)| (system, of.points.iter().map(times).collect())).collect();
    let data = Data { scope, times, fewer, limits };
    // Side by side: the whiskers of several systems reach over the same times.
    let panel = Panel {
        x: Axis::categories("k of the fat tree"),
        form: Form::Apart,
        centre: Centre::Median,
        is_timing: true,
        ..data.scope.panel("time", "Time of one decision", Axis::logarithmic("time of one decision", "us"), all)
    };
    let figure = Figure {
        statements: statements(&data),
        panels: vec![panel],
        seeds: data.scope.seeds.clone(),
        notes: vec![
            "Dots are medians of all decisions, whiskers 1 % to 99 %. Times are those of this machine and this program: ratios within this run count, not \
             the digits."
                .to_owned(),
            "Silo's time is that of one search for a delay-constrained shortest path (5.1.5), and of the check of its links. Around full links it is LARAC with the \
             check of every queue that it visits."
                .to_owned(),
        ],
        ..Figure::default()
    };
    Ok(data.scope.settings(figure))
}

fn show(of: &Summary) -> String {
    format!("{:.1} us median, {:.1} us mean, {:.0} us at 99 %", of.median, of.mean, of.p99)
}

fn statements(data: &Data) -> Vec<Statement> {
    let last = [PLAIN, REROUTING, SILO_OF_THE_TEXT, SILO_AROUND].map(|system| data.last(system));
    let [Some(plain), Some(rerouting), Some(silo), Some(around)] = last else { return Vec::new() };
    let order = format!(
        "at k = {}: Chameleon {}; with rerouting {}; Silo {}; around full links {}",
        data.scope.largest(),
        show(&plain.summary),
        show(&rerouting.summary),
        show(&silo.summary),
        show(&around.summary)
    );
    let faster = |name: &str, of: &Times| {
        let (median, mean) = (silo.summary.median / of.summary.median, silo.summary.mean / of.summary.mean);
        Statement::within(
            "5.2.2",
            format!("Chameleon {name} is faster than Silo, at the median and on average, in the largest network"),
            1.0..=f64::INFINITY,
            &[median, mean],
            format!("Silo takes {median:.1}x as long at the median, {mean:.1}x on average ({order})"),
        )
    };
    let growth = |system: System| {
        let mean = |times: Option<&Times>| times.map_or(f64::NAN, |times| times.summary.mean);
        let all = data.of(system);
        mean(all.last()) / mean(all.first())
    };
    let mut statements = vec![
        faster("without rerouting", plain),
        with_limits(data, faster("with rerouting", rerouting)),
        Statement::within(
            "5.2.2",
            "rerouting costs time at the tail",
            1.0..=f64::INFINITY,
            &[rerouting.summary.p99 / plain.summary.p99],
            format!("99 % of the decisions take {:.1}x as long with rerouting", rerouting.summary.p99 / plain.summary.p99),
        ),
        limits(data),
        Statement::not_compared(
            "5.2.2",
            "all approaches scale exponentially with the network's size",
            format!(
                "from k = {} to {}, the mean grows {:.1}x (Chameleon), {:.1}x (with rerouting) and {:.1}x (Silo)",
                data.scope.ks[0],
                data.scope.largest(),
                growth(PLAIN),
                growth(REROUTING),
                growth(SILO_OF_THE_TEXT)
            ),
        )
        .remark(
            "Goal-directed searches touch few links, so most decisions take a few us at every size; the means are those of the searches that fail.",
        ),
    ];
    statements.extend(data.fewer.as_ref().map(|fewer| fewer_queues(data, fewer)));
    if data.scope.largest() == 12 {
        statements.push(
            Statement::not_compared(
                "5.2.2",
                "at k = 12 Silo needs up to 10 s on average and 30 s at the tail; Chameleon 9 s, and 20 s (3 minutes with rerouting)",
                order,
            )
            .remark("Another program (Java) on another machine."),
        );
    }
    statements
}

/// Adds the times with other limits of candidates, compared with Silo's in the same network.
fn with_limits(data: &Data, statement: Statement) -> Statement {
    let Limits { ks, all } = &data.limits;
    let at = data.scope.ks.iter().position(|k| *k == ks[1]);
    let Some(silo) = at.and_then(|at| data.of(SILO_OF_THE_TEXT).get(at)) else { return statement };
    all.iter().filter(|one| one.limit > 0).fold(statement, |statement, one| {
        let (median, mean) = (silo.summary.median / one.median_us, silo.summary.mean / one.mean_us);
        let name = format!(
            "at k = {} with {} candidates at most: Silo takes {median:.1}x as long at the median, {mean:.1}x on average",
            ks[1], one.limit
        );
        statement.tested(name, &[median, mean])
    })
}

fn tails(limits: &Limits) -> String {
    let text = |one: &super::limits::Limited| format!("{:.0} us with {}", one.tail_us, one.limit);
    limits.all.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// More candidates: more flows, and a longer tail.
fn limits(data: &Data) -> Statement {
    let Limits { ks, all } = &data.limits;
    let (Some(first), Some(last)) = (all.first(), all.last()) else {
        return Statement::claim("5.2.2", "", false, "");
    };
    let flows = |one: &super::limits::Limited| one.flows.last().map_or(f64::NAN, |runs| mean(runs));
    let admitted = all.iter().map(|one| format!("{:.0} with {}", flows(one), one.limit)).collect::<Vec<_>>().join(", ");
    Statement::within(
        "5.2.2",
        "the limit of reconfigurations navigates between flows and the tail: more of both, the more candidates are tried",
        1.0..=f64::INFINITY,
        &[flows(last) / flows(first), last.tail_us / first.tail_us],
        format!("at k = {}: flows {admitted}; 99 % of the decisions take {}", ks[1], tails(&data.limits)),
    )
}

/// Two queues against four.
fn fewer_queues(data: &Data, fewer: &[Vec<Times>; 2]) -> Statement {
    let of = |(system, two): (System, &Vec<Times>)| -> Vec<Vec<f64>> {
        data.of(system).iter().zip(two).map(|(four, two)| ratio_of_means(&four.means, &two.means)).collect()
    };
    let groups = [PLAIN, REROUTING].into_iter().zip(fewer).map(of).collect::<Vec<_>>();
    let text =
        |groups: &Vec<Vec<f64>>| groups.iter().map(|runs| format!("{:.2}x", mean(runs))).collect::<Vec<_>>().join(", ");
    all_means_within(
        "5.2",
        "fewer queues save time",
        1.0..=f64::INFINITY,
        &groups.concat(),
        format!(
            "mean time with four queues against two, by size: {} without rerouting, {} with it",
            text(&groups[0]),
            text(&groups[1])
        ),
    )
    .tested(format!(
        "medians: a run ends with one refusal, whose search tries everything, and with fewer queues fewer decisions are before it: the mean is that of this one search. Medians \
         without rerouting, by size: {} us with four queues, {} us with two.",
        medians(data.of(PLAIN)),
        medians(&fewer[0])
    ), &median_ratios(data, &fewer[0]))
}

/// Returns the medians with four queues over those with two.
fn median_ratios(data: &Data, two: &[Times]) -> Vec<f64> {
    data.of(PLAIN).iter().zip(two).map(|(four, two)| four.summary.median / two.summary.median).collect()
}

fn medians(times: &[Times]) -> String {
    times.iter().map(|times| format!("{:.1}", times.summary.median)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    fn times(us: f64) -> Times {
        let (means, summary) = Summary::pooled(&[0.99, 1.0, 1.01].map(|factor| vec![us * factor; 4]));
        Times { summary, means }
    }

    fn data() -> Data {
        let of = |system: System| match system {
            PLAIN => [4.0, 5.0],
            REROUTING => [6.0, 8.0],
            _ => [10.0, 100.0],
        };
        let fewer = [[2.0, 3.0], [3.0, 4.0]].map(|us| us.map(times).to_vec());
        Data {
            scope: Scope { queues: 4, ks: &[8, 12], seeds: vec![1, 2, 3] },
            times: SYSTEMS.map(|system| (system, of(system).map(times).to_vec())).to_vec(),
            fewer: Some(fewer),
            limits: Limits::made_up(),
        }
    }

    fn set(data: &mut Data, system: System, us: [f64; 2]) {
        let of = data.times.iter_mut().find(|(known, _)| *known == system).unwrap();
        of.1 = us.map(times).to_vec();
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        assert_each_can_change(
            &data(),
            statements,
            &[
                ("slower than Silo", &|data| set(data, PLAIN, [4.0, 200.0])),
                ("slower than Silo with rerouting", &|data| set(data, REROUTING, [6.0, 200.0])),
                ("rerouting costs nothing", &|data| set(data, REROUTING, [6.0, 4.5])),
                ("candidates cost nothing", &|data| {
                    data.limits.all.iter_mut().for_each(|one| one.tail_us = 9.0 - one.limit as f64 / 20.0)
                }),
                ("four queues are as fast", &|data| set(data, PLAIN, [1.0, 5.0])),
            ],
        );
    }
}
