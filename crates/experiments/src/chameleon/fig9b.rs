//! Fig. 9b: how long it takes to embed one flow (5.1.5).

use std::sync::Arc;

use super::filling::Filling;
use super::{Qjump, Silo, System, small_cases, small_seeds, small_settings};
use crate::data::{Axis, Centre, Figure, Form, Panel, Point, Series};
use crate::run::{Failed, Run};
use crate::statement::Statement;
use crate::stats::Summary;

const SYSTEMS: [System; 5] =
    [System::Chameleon, System::Rerouting, System::Silo(Silo::SHAPED), System::Qjump(Qjump::FLAT), System::Wayleave];

/// Times of single runs in us.
pub(super) fn times(fillings: &[Arc<Filling>]) -> Vec<Vec<f64>> {
    let of = |filling: &Arc<Filling>| filling.times_ns.iter().map(|&ns| f64::from(ns) / 1e3).collect();
    fillings.iter().map(of).collect()
}

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = small_seeds(run);
    let cases: Vec<_> = SYSTEMS.iter().flat_map(|&system| small_cases(system, &seeds)).collect();
    run.fillings(&cases)?;
    let of = |&system: &System| {
        let fillings = run.fillings(&small_cases(system, &seeds))?;
        let points = vec![Point::pooled("one request", &times(&fillings))];
        Ok(Series { name: system.name(), points })
    };
    let series: Vec<Series> = SYSTEMS.iter().map(of).collect::<Result<_, Failed>>()?;
    let summary = |at: usize| series[at].points[0].summary;
    let (plain, rerouting, silo, qjump) = (summary(0), summary(1), summary(2), summary(3));
    let text = |name: &str, of: &Summary| format!("{name} {:.1} us, {:.0} us", of.median, of.p99);
    let measured = format!(
        "median and 99 %: {}; {}; {}",
        text("Chameleon", &plain),
        text("with rerouting", &rerouting),
        text("Silo", &silo)
    );
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
        statements: vec![
            Statement::claim(
                "5.1.5",
                "Chameleon is faster than Silo at the median: least delay against constrained least cost",
                plain.median < silo.median && rerouting.median < silo.median,
                measured.clone(),
            )
            .because(WHY),
            Statement::claim(
                "5.1.5",
                "even at the tail, Chameleon is faster than Silo",
                plain.p99 < silo.p99 && rerouting.p99 < silo.p99,
                measured,
            )
            .because(WHY),
            Statement::claim(
                "5.1.5",
                "QJump, with everything decided before, has a much lower runtime",
                qjump.median < plain.median / 2.0,
                format!("median {:.1} us against {:.1} us", qjump.median, plain.median),
            )
            .because(
                "QJump's decision itself is a few integers. What takes the time here is the route that every flow gets (one of \
                 the shortest paths, by a hash), which the publication leaves to the network.",
            ),
        ],
        panels: vec![panel],
        seeds,
        notes: vec![
            "Dots are medians of all decisions, positive and negative; whiskers reach from 1 % to 99 %. Times are those of \
             this machine and this program: the order of the systems counts, not the digits."
                .to_owned(),
        ],
        ..Figure::default()
    };
    Ok(small_settings(figure))
}

const WHY: &str = "The tail is that of nearly full networks: a search that fails has tried everything, and rerouting repeats it for up \
                   to 20 candidates. Silo's runs end long before, with a fifth of the flows and one queue a port.";
