//! Silo, QJump and Loko on switches that share a service: which packets come in time, late, or not at all.

use super::{SWITCHES, few_seeds, panel, settings};
use crate::data::{Axis, Figure, Form, Point, Series, Table};
use crate::failed::Failed;
use crate::low_cost::{COMPARED, SchemeResult, compare};
use crate::run::Run;
use crate::statement::Statement;

const SLIDE: &str = "slide \"Remember! SoA was failing!\"";

/// Number of packets that the slide gives for Loko.
const PUBLISHED_PACKETS: u64 = 10_000_000;

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = few_seeds(run);
    // More than the slide's number, also after rounding to whole flows.
    let packets = run.choose(PUBLISHED_PACKETS / 20 * 21, 200_000);
    let found = run.gather(&format!("loko-comparison, {packets} packets"), (&["schemes"], &seeds), |_, seed| {
        compare(run.simulator(), SWITCHES, seed, packets)
    })?;
    let runs = found.concat();
    let series = |name: &str, of: &dyn Fn(&SchemeResult) -> u64| {
        let point = |(at, name): (usize, &str)| {
            Point::of(name, runs.iter().map(|fared| 100.0 * of(&fared[at]) as f64 / sent(&fared[at]) as f64).collect())
        };
        Series { name: name.to_owned(), points: COMPARED.into_iter().enumerate().map(point).collect() }
    };
    let series = vec![
        series("in time", &|fared| fared.counted.ok),
        series("late", &|fared| fared.counted.late),
        series("lost", &|fared| fared.counted.lost),
    ];
    let axes = (Axis::categories("scheme"), Axis::linear("packets", "%"));
    let figure = Figure {
        statements: statements(&runs),
        panels: vec![panel("packets", "Packet outcomes on a shared service", axes, Form::Apart, series)],
        tables: vec![table(&seeds, &runs)],
        seeds,
        notes: vec![
            "The slides print neither topology nor flows nor the parameters of Silo and QJump; the shares of late and lost packets \
             follow from those that are chosen here, so only the order is compared."
                .to_owned(),
        ],
        ..Figure::default()
    };
    Ok(settings(figure)
        .with("line", format!("{SWITCHES} switches"))
        .with("packets", format!("about {packets} for each scheme and seed"))
        .with("Silo", "1 ms a link; a line has one route between two hosts; believes that ports forward at line rate with a buffer each")
        .with("QJump", "n = 100, P = 306 B; believes the same"))
}

fn sent(fared: &SchemeResult) -> u64 {
    (fared.counted.ok + fared.counted.late + fared.counted.lost).max(1)
}

fn statements(runs: &[Vec<SchemeResult>]) -> Vec<Statement> {
    let failing = |at: usize, name: &str| {
        let is_so = runs.iter().all(|fared| fared[at].counted.lost > 0 && fared[at].counted.late > 0);
        let share = |of: &dyn Fn(&SchemeResult) -> u64| {
            let all: u64 = runs.iter().map(|fared| sent(&fared[at])).sum();
            100.0 * runs.iter().map(|fared| of(&fared[at])).sum::<u64>() as f64 / all as f64
        };
        let (late, lost) = (share(&|fared| fared.counted.late), share(&|fared| fared.counted.lost));
        let measured = format!("{late:.2} % late, {lost:.2} % lost");
        Statement::claim(SLIDE, format!("{name} loses packets and breaks deadlines on such switches"), is_so, measured)
    };
    vec![failing(0, "Silo"), failing(1, "QJump"), loko(runs)]
}

fn loko(runs: &[Vec<SchemeResult>]) -> Statement {
    let of = |fared: &[SchemeResult]| fared[2].counted;
    let is_kept = runs.iter().all(|fared| of(fared).late == 0 && of(fared).lost == 0);
    let fewest = runs.iter().map(|fared| sent(&fared[2])).min().unwrap_or(0);
    let sum = |what: &dyn Fn(&SchemeResult) -> u64| runs.iter().map(|fared| what(&fared[2])).sum::<u64>();
    let (late, lost) = (sum(&|fared| fared.counted.late), sum(&|fared| fared.counted.lost));
    let measured = format!("{late} late and {lost} lost of {} packets, at least {fewest} a seed", sum(&sent));
    let claim_text = "Loko has neither late nor lost packets, for more than 10 million packets";
    if is_kept && fewest <= PUBLISHED_PACKETS {
        return Statement::not_compared(SLIDE, claim_text, measured).because("Fewer packets were sent: --quick.");
    }
    Statement::claim(SLIDE, claim_text, is_kept, measured)
}

fn table(seeds: &[u64], runs: &[Vec<SchemeResult>]) -> Table {
    let row = |seed: u64, (scheme, fared): (&str, &SchemeResult)| {
        let SchemeResult { admitted, counted } = fared;
        let numbers = [*admitted as u64, counted.ok, counted.late, counted.lost].map(|number| number.to_string());
        let longest = [counted.longest.to_string(), format!("{:.1} %", counted.longest_share as f64 / 10.0)];
        [vec![seed.to_string(), scheme.to_lowercase()], numbers.to_vec(), longest.to_vec()].concat()
    };
    let rows =
        seeds.iter().zip(runs).flat_map(|(&seed, fared)| COMPARED.into_iter().zip(fared).map(move |of| row(seed, of)));
    Table {
        name: "packets".to_owned(),
        title: "Packets by scheme and seed".to_owned(),
        columns: ["seed", "scheme", "flows", "in time", "late", "lost", "maximum delay", "of its bound"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::low_cost::PacketCounts;
    use crate::statement::{Verdict, assert_each_can_change};

    fn runs(packets: u64) -> Vec<Vec<SchemeResult>> {
        let of = |late, lost| SchemeResult {
            admitted: 10,
            counted: PacketCounts { ok: packets, late, lost, ..PacketCounts::default() },
        };
        vec![vec![of(5, 5), of(5, 5), of(0, 0)]; 2]
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        assert_each_can_change(
            &runs(PUBLISHED_PACKETS + 1),
            |runs| statements(runs),
            &[
                ("Silo loses nothing", &|runs| runs[1][0].counted.lost = 0),
                ("QJump is in time", &|runs| runs[0][1].counted.late = 0),
                ("Loko is late", &|runs| runs[1][2].counted.late = 1),
            ],
        );
    }

    #[test]
    fn few_packets_prove_nothing_but_a_late_one_disproves() {
        let mut few = runs(PUBLISHED_PACKETS);
        assert_eq!(statements(&few)[2].verdict, Verdict::NotCompared);
        few[0][2].counted.late = 1;
        assert_eq!(statements(&few)[2].verdict, Verdict::Unexplained);
    }
}
