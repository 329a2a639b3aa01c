//! Flows that send more at once than they may: the burst multiplier.

use super::{SWITCHES, few_seeds, panel, settings};
use crate::data::{Axis, Band, Figure, Form, Point, Series};
use crate::failed::Failed;
use crate::low_cost::{PacketCounts, burst};
use crate::run::Run;
use crate::statement::Statement;

const SLIDE: &str = "slide \"Proof-of-Concept\", burst multiplier";

/// One entry for each multiplier.
type Trials = Vec<(u64, PacketCounts)>;

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = few_seeds(run);
    let packets = run.choose(200_000, 20_000);
    let found = run.gather(&format!("loko-burst, {packets} packets"), (&["bursts"], &seeds), |_, seed| {
        burst(run.simulator(), SWITCHES, seed, packets)
    })?;
    let runs = found.concat();
    let series = |name: &str, of: &dyn Fn(&PacketCounts) -> f64| {
        let multipliers = runs.first().into_iter().flatten().map(|(multiplier, _)| *multiplier).enumerate();
        let point = |(at, multiplier): (usize, u64)| {
            Point::of(multiplier as f64, runs.iter().map(|trials| of(&trials[at].1)).collect())
        };
        Series { name: name.to_owned(), points: multipliers.map(point).collect() }
    };
    let counts = vec![series("lost", &|counted| counted.lost as f64), series("late", &|counted| counted.late as f64)];
    let longest = vec![series("maximum delay", &|counted| counted.longest_share as f64 / 10.0)];
    let multiplier = || Axis::linear("burst multiplier", "");
    let mut delays = panel(
        "delay",
        "Longest delay, of its guarantee",
        (multiplier(), Axis::linear("maximum delay", "%")),
        Form::Joined,
        longest,
    );
    delays.bands.push(Band { low: 0.0, high: 100.0, label: "within the latency guarantee".to_owned() });
    let packets_axis = (multiplier(), Axis::linear("packets in a run", ""));
    let figure = Figure {
        statements: statements(&runs),
        panels: vec![delays, panel("packets", "Packets late and lost", packets_axis, Form::Joined, counts)],
        seeds,
        notes: vec![
            "Flows hand over their multiplied burst once, all at the same time, and go on at their rate. So counts are those of \
             the beginning of a run, however long it is."
                .to_owned(),
        ],
        ..Figure::default()
    };
    Ok(settings(figure)
        .with("line", format!("{SWITCHES} switches"))
        .with("packets", format!("about {packets} for each multiplier and seed")))
}

/// The first multiplier of each seed at which something is seen, as text.
fn first(runs: &[Trials], is_seen: impl Fn(&PacketCounts) -> bool) -> String {
    let of = |trials: &Trials| trials.iter().find(|(_, counted)| is_seen(counted)).map(|(multiplier, _)| *multiplier);
    let text = |trials| of(trials).map_or_else(|| "never".to_owned(), |multiplier| multiplier.to_string());
    runs.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn statements(runs: &[Trials]) -> Vec<Statement> {
    let is_kept = |(_, counted): &(u64, PacketCounts)| counted.late == 0 && counted.lost == 0;
    let within: Vec<&(u64, PacketCounts)> = runs.iter().filter_map(|trials| trials.first()).collect();
    let longest = within.iter().map(|(_, counted)| counted.longest_share).max().unwrap_or(0) as f64 / 10.0;
    let guarantee = Statement::claim(
        SLIDE,
        "at multiplier 1 the guarantee holds, and nothing is lost",
        !within.is_empty() && within.iter().all(|trial| is_kept(trial)),
        format!("longest delay {longest:.1} % of the guarantee"),
    );
    let violated = |is_seen: fn(&PacketCounts) -> bool, claim_text: &str, what: &str| {
        let is_so =
            runs.iter().all(|trials| trials.iter().any(|(multiplier, counted)| *multiplier > 1 && is_seen(counted)));
        Statement::claim(
            SLIDE,
            claim_text,
            is_so,
            format!("first {what} at multipliers {} (by seed)", first(runs, is_seen)),
        )
        .remark("At which multiplier stands only in the slide's picture, and depends on flows that it does not print.")
    };
    vec![
        guarantee,
        violated(|counted| counted.lost > 0, "beyond, packets are lost", "loss"),
        violated(|counted| counted.late > 0, "beyond, delays exceed the guarantee", "late packet"),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let counted = |late, lost| PacketCounts { ok: 100, late, lost, longest_share: 500, ..PacketCounts::default() };
        let trials: Trials = vec![(1, counted(0, 0)), (2, counted(0, 3)), (3, counted(2, 9))];
        assert_each_can_change(
            &vec![trials.clone(), trials],
            |runs| statements(runs),
            &[
                ("a late packet within the contract", &|runs| runs[1][0].1.late = 1),
                ("nothing is lost", &|runs| runs[0].iter_mut().for_each(|(_, counted)| counted.lost = 0)),
                ("nothing is late", &|runs| runs[0].iter_mut().for_each(|(_, counted)| counted.late = 0)),
            ],
        );
    }
}
