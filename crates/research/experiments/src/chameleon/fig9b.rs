//! Fig. 9b: how long it takes to embed one flow (5.1.5).

use std::sync::Arc;

use super::filling::FillResult;
use super::{Qjump, RerouteSettings, Silo, System, small_cases, small_seeds, small_settings};
use crate::data::{Axis, Centre, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;
use crate::stats::Summary;

const PLAIN: System = System::Chameleon;
const REROUTING: System = System::Rerouting(RerouteSettings::OLDEST);
const SILO: System = System::Silo(Silo::TEXT);
const AROUND: System = System::Silo(Silo::AROUND);
const QJUMP: System = System::Qjump(Qjump::FLAT);
const SYSTEMS: [System; 6] = [PLAIN, REROUTING, SILO, AROUND, QJUMP, System::Wayleave];

/// Times of single runs in us.
pub(super) fn times(fillings: &[Arc<FillResult>]) -> Vec<Vec<f64>> {
    let of = |filling: &Arc<FillResult>| filling.times_ns.iter().map(|&ns| f64::from(ns) / 1e3).collect();
    fillings.iter().map(of).collect()
}

/// Of one system.
#[derive(Clone, Debug)]
struct Timed {
    system: System,
    /// Of all decisions, us.
    summary: Summary,
    /// Refusals among all decisions, and decisions that moved flows; in per cent.
    refused: f64,
    moving: f64,
}

/// Measurements.
#[derive(Clone, Debug)]
struct Data {
    timed: Vec<Timed>,
}

impl Data {
    fn of(&self, system: System) -> &Timed {
        // Every requested system was measured; an unmeasured one, which no figure has, would get the first result.
        self.timed.iter().find(|timed| timed.system == system).unwrap_or(&self.timed[0])
    }
}

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = small_seeds(run);
    let cases: Vec<_> = SYSTEMS.iter().flat_map(|&system| small_cases(system, &seeds)).collect();
    run.fillings(&cases)?;
    let (mut timed, mut series) = (Vec::new(), Vec::new());
    for system in SYSTEMS {
        let fillings = run.fillings(&small_cases(system, &seeds))?;
        let point = Point::pooled("one request", &times(&fillings));
        let percent = |count: usize| 100.0 * count as f64 / point.summary.samples.max(1) as f64;
        let moving = fillings.iter().flat_map(|filling| &filling.moved).filter(|&&moved| moved > 0).count();
        timed.push(Timed { system, summary: point.summary, refused: percent(fillings.len()), moving: percent(moving) });
        series.push(Series { name: system.name(), points: vec![point] });
    }
    let panel = Panel {
        name: "time".to_owned(),
        title: "Time from a request to its answer".to_owned(),
        x: Axis::categories("all scenarios"),
        y: Axis::logarithmic("time of one decision", "us"),
        form: Form::Apart,
        centre: Centre::Median,
        is_timing: true,
        bands: Vec::new(),
        series,
    };
    let figure = Figure {
        statements: statements(&Data { timed }),
        panels: vec![panel],
        seeds,
        notes: vec![
            "Dots are medians of all decisions, positive and negative; whiskers reach from 1 % to 99 %. Times are those of \
             this machine and this program: ratios within this run count, not the digits."
                .to_owned(),
            "Silo's time is that of one search for a delay-constrained shortest path (5.1.5), and of the check of its links. Around full links it is LARAC \
             with the check of every queue that it visits."
                .to_owned(),
        ],
        ..Figure::default()
    };
    Ok(small_settings(figure))
}

/// The reading under which Silo's search has as much to do as LARAC.
const AROUND_FULL_LINKS: &str = "Silo searches around full links";

fn statements(data: &Data) -> Vec<Statement> {
    let [plain, rerouting, silo, around, qjump] = [PLAIN, REROUTING, SILO, AROUND, QJUMP].map(|system| data.of(system));
    let faster = |claim_text: &str, of: fn(&Summary) -> f64| {
        let ratios = [plain, rerouting].map(|chameleon| of(&silo.summary) / of(&chameleon.summary));
        let show = |timed: &Timed| format!("{:.1} us ({})", of(&timed.summary), timed.system.name());
        let measured = format!(
            "Silo takes {:.1}x as long as Chameleon without and {:.1}x as long as with rerouting: {}",
            ratios[0],
            ratios[1],
            [plain, rerouting, silo, around].map(show).join(", ")
        );
        Statement::within("5.1.5", claim_text, 1.0..=f64::INFINITY, &ratios, measured)
    };
    let around_full_links =
        |of: fn(&Summary) -> f64| [plain, rerouting].map(|chameleon| of(&around.summary) / of(&chameleon.summary));
    let tail = format!(
        "it is not that of refusals, as one might think: those are {:.2} % of Chameleon's decisions, and {:.2} % with rerouting. Another {:.2} % move flows. \
         Of Silo's decisions {:.2} % are refusals, and its search looks at no load; where it searches around full links, as LARAC with the check of every queue, 99 % take {:.1} us.",
        plain.refused, rerouting.refused, rerouting.moving, silo.refused, around.summary.p99
    );
    vec![
        faster("Chameleon is faster than Silo at the median: least delay against constrained least cost", |of| of.median)
            .tested(AROUND_FULL_LINKS, &around_full_links(|of| of.median)),
        faster("even at the tail, Chameleon is faster than Silo", |of| of.p99)
            .tested(AROUND_FULL_LINKS, &around_full_links(|of| of.p99))
            .supposed(tail),
        Statement::not_compared(
            "5.1.5",
            "QJump, with everything decided before, has a much lower runtime",
            format!("median {:.1} us against {:.1} us of Chameleon", qjump.summary.median, plain.summary.median),
        )
        .remark(
            "QJump's decision itself is a few integers. What takes the time here is the route that every flow gets (one of \
             the shortest paths, by a hash), which the publication leaves to the network.",
        ),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    fn timed(system: System, us: f64) -> Timed {
        Timed { system, summary: Summary::pooled(&[vec![us; 10]]).1, refused: 1.0, moving: 1.0 }
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let of = |system: System| timed(system, if matches!(system, System::Silo(_)) { 20.0 } else { 5.0 });
        let data = Data { timed: SYSTEMS.map(of).to_vec() };
        assert_each_can_change(
            &data,
            statements,
            &[
                ("a faster median", &|data| data.timed[2].summary.median = 1.0),
                ("a shorter tail", &|data| data.timed[2].summary.p99 = 1.0),
            ],
        );
    }
}
