//! The table, and what was expected.

use super::readings::{Seen, seen};
use super::systems::{Case, System};
use super::tenants::Size;
use crate::catalogue::{Entry, ONE_FABRIC};
use crate::data::{Figure, Table};
use crate::run::{Failed, Run};
use crate::statement::Statement;
use crate::stats::mean;
use wayleave_units::Time;

pub(crate) const ENTRY: Entry = Entry {
    id: "one-fabric",
    runs: "one fabric",
    paper: &ONE_FABRIC,
    place: "docs/fabric.md",
    title: "Four kinds of tenants on one network",
    full_seconds: 3_600,
    quick_seconds: 120,
    measure,
};

/// For the table of features: one fabric for a moment.
pub(crate) fn for_a_while() -> Result<Seen, Failed> {
    seen(Case { system: System::OneFabric, size: Size(4), duration: Time::from_millis(10), fails: false }, 1)
}

pub(super) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(5, 1);
    let duration = Time::from_millis(run.choose(48, 16));
    let sizes = run.choose(&[Size(4), Size(8)][..], &[Size(4)][..]);
    let cases: Vec<Case> = (sizes.iter())
        .flat_map(|&size| System::ALL.map(|system| [false, true].map(|fails| Case { system, size, duration, fails })))
        .flatten()
        .collect();
    let found = run.gather(ENTRY.id, (&cases, &seeds), |&case, seed| seen(case, seed))?;
    let rows: Vec<(Case, Vec<Seen>)> = cases.into_iter().zip(found).collect();
    let tables = sizes.iter().map(|&size| table(size, &rows)).collect();
    let figure = Figure { statements: statements(&rows), tables, seeds, ..Figure::default() };
    Ok(figure
        .with("network", "fat tree at 10 Gbit/s with 1 us a link, eight queues of 500 kB a port, or one of 4 MB")
        .with("latency", "15 controls (20 Mbit/s, 3 kB, 200 us) and 4 cameras (100 Mbit/s, 6 kB, 500 us) from each host; all send together at their fastest for 0.8 ms of every 2 ms, three times as much where nobody holds them to their contracts")
        .with("minima", "three tenants with a hose at every host, together what can be promised below the latency contracts; every 4 ms from a permutation to all-to-one and back")
        .with("objectives", "divisions of deadlines, completion and latency with weights 3:2:1, one long flow from each host; 1,000 more flows in the second one")
        .with("best effort", "one long flow from each host, and 20 kB from eight hosts to one every millisecond")
        .with("failure", "in runs of their own the first core switch dies at three quarters, and nobody is told"))
}

fn of(rows: &[(Case, Vec<Seen>)], size: Size, system: System, fails: bool) -> &[Seen] {
    let is_it = |(case, _): &&(Case, Vec<Seen>)| (case.size, case.system, case.fails) == (size, system, fails);
    rows.iter().find(is_it).map_or(&[], |(_, seen)| seen)
}

fn each(seen: &[Seen], of: impl Fn(&Seen) -> f64) -> Vec<f64> {
    seen.iter().map(of).collect()
}

/// How far the divisions are from their weights: the largest distance from the mean, as a part of it.
fn distance(seen: &Seen) -> f64 {
    let middle = mean(&seen.divisions);
    seen.divisions.iter().map(|got| (got - middle).abs() / middle).fold(0.0, f64::max)
}

/// ms, where there are any.
fn messages(milliseconds: f64) -> String {
    if milliseconds.is_finite() { format!("{milliseconds:.2} ms") } else { "none arrives".to_owned() }
}

fn table(size: Size, rows: &[(Case, Vec<Seen>)]) -> Table {
    let row = |system: System| {
        let (seen, failed) = (of(rows, size, system, false), of(rows, size, system, true));
        let number = |of: &dyn Fn(&Seen) -> f64| mean(&each(seen, of));
        vec![
            system.name().to_owned(),
            format!("{:.0} of {:.0}", number(&|seen| seen.admitted), number(&|seen| seen.asked)),
            format!(
                "{:.0}; {:.2} of its deadline; {:.0} lost",
                number(&|seen| seen.broken),
                number(&|seen| seen.slowest),
                number(&|seen| seen.lost)
            ),
            format!(
                "{:.0} of {:.0}; {:.2} ms",
                number(&|seen| seen.short),
                number(&|seen| seen.hoses),
                number(&|seen| seen.lag)
            ),
            format!(
                "{:.0}; {:.2} ms; {:.0} Gbit/s",
                mean(&each(failed, |seen| seen.short)),
                mean(&each(failed, |seen| seen.lag)),
                mean(&each(failed, |seen| seen.all))
            ),
            format!("{:.0} %", 100.0 * number(&distance)),
            format!("{:.2}", number(&|seen| seen.busiest)),
            format!("{:.1} Gbit/s; {}", number(&|seen| seen.best), messages(number(&|seen| seen.messages))),
            format!("{:.0} Gbit/s", number(&|seen| seen.all)),
        ]
    };
    let columns = [
        "system",
        "latency contracts admitted",
        "broken; the slowest packet",
        "hoses short for longer than Theta; the longest lag",
        "the same when a core switch dies; all that arrives",
        "objectives: distance from weights",
        "busiest links",
        "best effort: goodput; 99 % of messages",
        "all that arrives",
    ];
    Table {
        name: format!("k{}", size.0),
        title: format!("Fat tree of k = {}", size.0),
        columns: columns.map(str::to_owned).to_vec(),
        rows: System::ALL.map(row).to_vec(),
    }
}

fn statements(rows: &[(Case, Vec<Seen>)]) -> Vec<Statement> {
    let size = Size(4);
    let seen = of(rows, size, System::OneFabric, false);
    let worst = |of: &dyn Fn(&Seen) -> f64| each(seen, of).into_iter().fold(0.0, f64::max);
    let section = "expected by the design";
    let (broken, lost) = (worst(&|seen| seen.broken), worst(&|seen| seen.lost));
    let distances = each(seen, distance);
    let busiest = each(seen, |seen| seen.busiest);
    vec![
        Statement::claim(
            section,
            "one fabric: no packet of a latency contract is late or lost",
            !seen.is_empty() && broken == 0.0,
            format!(
                "{broken} contracts broken, {lost} packets lost, the slowest takes {:.2} of its deadline",
                worst(&|seen| seen.slowest)
            ),
        ),
        Statement::claim(
            section,
            "one fabric: no minimum is missed after Theta",
            !seen.is_empty() && worst(&|seen| seen.short) == 0.0,
            format!("the longest lag is {:.2} ms, Theta {:.2} ms", worst(&|seen| seen.lag), worst(&|seen| seen.theta)),
        ),
        Statement::within(
            section,
            "one fabric: objectives get shares within 5 % of their weights",
            f64::NEG_INFINITY..=0.05,
            &distances,
            format!("{:.0} %", 100.0 * mean(&distances)),
        ),
        Statement::within(
            section,
            "one fabric: the busiest links carry 0.94 and more",
            0.94..=f64::INFINITY,
            &busiest,
            format!("{:.2}", mean(&busiest)),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    fn good() -> Vec<(Case, Vec<Seen>)> {
        let case = Case { system: System::OneFabric, size: Size(4), duration: Time::from_millis(1), fails: false };
        vec![(case, vec![Seen { divisions: vec![2.0; 3], busiest: 0.96, ..Seen::default() }])]
    }

    #[test]
    fn every_verdict_can_change() {
        assert_each_can_change(
            &good(),
            |rows| statements(rows),
            &[
                ("a late packet", &|rows| rows[0].1[0].broken = 1.0),
                ("a short hose", &|rows| rows[0].1[0].short = 1.0),
                ("a division with more", &|rows| rows[0].1[0].divisions[1] = 3.0),
                ("idle links", &|rows| rows[0].1[0].busiest = 0.5),
            ],
        );
    }

    /// The first of the experiment, for a moment: everybody is there, and nothing that was promised is broken.
    #[test]
    fn one_fabric_keeps_its_promises_for_a_while() {
        let case = Case { system: System::OneFabric, size: Size(4), duration: Time::from_millis(6), fails: false };
        let seen = seen(case, 7).unwrap();
        assert!(seen.admitted > 250.0 && seen.hoses == 48.0 && seen.busiest > 0.85, "{seen:?}");
        assert_eq!((seen.broken, seen.short), (0.0, 0.0), "{seen:?}");
        assert!(seen.in_flight <= 1.0, "{seen:?}");
    }
}
