//! The table, and the expected results.

use super::readings::{TenantReadings, seen};
use super::systems::{BIN, Case, System};
use super::tenants::{DIVISIONS, Size};
use crate::catalogue::{Entry, ONE_FABRIC};
use crate::data::{Axis, Figure, Form, Panel, Point, Series, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;
use crate::stats::mean;
use wayleave_units::Time;

/// Simulated time of a full run. Objectives use it in a quick run too, and twice this time in a full one, as an
/// experiment: their levels converge in some tens of milliseconds.
const LONG: Time = Time::from_millis(48);
const TWICE: Time = Time::from_millis(96);

pub(crate) const ENTRY: Entry = Entry {
    id: "one-fabric",
    runs: "one fabric",
    paper: &ONE_FABRIC,
    place: "docs/theory/fabric.md",
    title: "Four kinds of tenants on one network",
    full_runs: 5,
    full_seconds: 3_600,
    quick_seconds: 120,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

/// For the table of features: one fabric for a moment.
pub(crate) fn for_a_while(simulator: &Simulator) -> Result<TenantReadings, Failed> {
    seen(simulator, Case::one_fabric(Size(4), Time::from_millis(10)), 1)
}

pub(super) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 1);
    let duration = run.choose(LONG, Time::from_millis(16));
    let sizes = run.choose(&[Size(4), Size(8)][..], &[Size(4)][..]);
    let mut cases: Vec<Case> = (sizes.iter())
        .flat_map(|&size| {
            System::ALL.map(|system| [false, true].map(|fails| Case { system, size, duration, fails, flips: true }))
        })
        .flatten()
        .collect();
    let longer = run.choose(TWICE, LONG);
    for &size in sizes {
        let whole = Case::one_fabric(size, duration);
        cases.extend([Case { duration: longer, ..whole }, Case { flips: false, ..whole }]);
    }
    let found = run.gather(ENTRY.id, (&cases, &seeds), |&case, seed| seen(run.simulator(), case, seed))?;
    let rows: Vec<(Case, Vec<TenantReadings>)> = cases.into_iter().zip(found).collect();
    let panels = sizes.iter().map(|&size| panel(size, &rows)).collect();
    let tables = sizes.iter().flat_map(|&size| [table(size, &rows), failed_table(size, &rows)]).collect();
    let statements = sizes.iter().flat_map(|&size| statements(size, longer, &rows)).collect();
    let figure = Figure { statements, panels, tables, seeds, ..Figure::default() };
    Ok(figure
        .with("network", "fat tree at 10 Gbit/s with 1 us a link, eight queues of 500 kB a port, or one of 4 MB")
        .with("latency", "15 controls (20 Mbit/s, 3 kB, 200 us) and 4 cameras (100 Mbit/s, 6 kB, 500 us) from each host; all send together at their fastest for 0.8 ms of every 2 ms, three times as much where nobody holds them to their contracts")
        .with("minima", "three tenants with a hose at every host, together what can be promised below the latency contracts; every 4 ms from a permutation to all-to-one and back; in runs of their own they stay in their permutation")
        .with("objectives", "divisions of deadlines, completion and latency with weights 3:2:1, one long flow from each host; 1,000 more flows in the second one; shares of the second half of a run")
        .with("paths", "one fabric: objectives and best effort by flowcells of one packet, without paths that answer nothing for 2 ms; uFAB chooses paths; others by a hash of each flow")
        .with("best effort", "one long flow from each host, and 20 kB from eight hosts to one every millisecond")
        .with("failure", "in runs of their own the first core switch dies in the middle of a permutation, and nobody is told"))
}

fn of(rows: &[(Case, Vec<TenantReadings>)], size: Size, system: System, fails: bool) -> &[TenantReadings] {
    let is_it = |(case, _): &&(Case, Vec<TenantReadings>)| {
        (case.size, case.system, case.fails, case.flips) == (size, system, fails, true)
    };
    rows.iter().find(is_it).map_or(&[], |(_, seen)| seen)
}

fn each(seen: &[TenantReadings], of: impl Fn(&TenantReadings) -> f64) -> Vec<f64> {
    seen.iter().map(of).collect()
}

/// The most of all seeds.
fn most(seen: &[TenantReadings], of: impl Fn(&TenantReadings) -> f64) -> f64 {
    each(seen, of).into_iter().fold(0.0, f64::max)
}

/// Parts of a hundred: the mean, and from where to where seeds reach.
fn percent(parts: &[f64]) -> String {
    let of = |least: bool| {
        parts.iter().copied().reduce(if least { f64::min } else { f64::max }).map_or(f64::NAN, |part| 100.0 * part)
    };
    match parts {
        [_] | [] => format!("{:.0} %", 100.0 * mean(parts)),
        _ => format!("{:.1} % in the mean, {:.1} to {:.1} %", 100.0 * mean(parts), of(true), of(false)),
    }
}

/// Returns the deviation of the divisions from their weights: the largest distance from the mean, relative to the
/// mean.
fn distance(seen: &TenantReadings) -> f64 {
    let middle = mean(&seen.divisions);
    seen.divisions.iter().map(|got| (got - middle).abs() / middle).fold(0.0, f64::max)
}

/// Returns the deviation of the divisions from the due shares of their tunnels on their paths, with the total scaled
/// to the divisions' actual total.
fn distance_from_due(seen: &TenantReadings) -> f64 {
    let weighted =
        |of: &[f64]| of.iter().zip(DIVISIONS).map(|(rate, (_, weight, _))| rate * weight as f64).sum::<f64>();
    let part = weighted(&seen.divisions) / weighted(&seen.due);
    let parts = seen.divisions.iter().zip(&seen.due).map(|(got, due)| (got / (due * part) - 1.0).abs());
    parts.fold(0.0, f64::max)
}

/// Returns the traffic of one kind of tenants that arrives after the switch's failure, relative to the traffic
/// without a failure in this time.
fn left(seen: &[TenantReadings], failed: &[TenantReadings], kind: usize, case: Case) -> f64 {
    let first = (case.dies_at().as_nanos() / BIN.as_nanos()) as usize;
    let sum = |seen: &TenantReadings| seen.kinds.iter().skip(first).map(|kinds| kinds[kind]).sum::<f64>();
    let parts: Vec<f64> = seen.iter().zip(failed).map(|(seen, failed)| sum(failed) / sum(seen)).collect();
    mean(&parts)
}

/// Returns the time in ms after which hoses permanently have nine tenths of their traffic without the failure; `None`
/// if they never have.
fn back(seen: &TenantReadings, failed: &TenantReadings, case: Case) -> Option<f64> {
    let first = (case.dies_at().as_nanos() / BIN.as_nanos()) as usize;
    let pairs = seen.kinds.iter().zip(&failed.kinds).skip(first);
    let lacks: Vec<bool> = pairs.map(|(seen, failed)| failed[0] < 0.9 * seen[0]).collect();
    let intervals = lacks.iter().rposition(|&lacks| lacks).map_or(0, |last| last + 1);
    (intervals < lacks.len()).then_some(intervals as f64 * BIN.as_nanos() as f64 / 1e6)
}

/// ms, where there are any.
fn messages(milliseconds: f64) -> String {
    if milliseconds.is_finite() { format!("{milliseconds:.2} ms") } else { "none arrives".to_owned() }
}

/// The mean of each division.
fn listed(seen: &[TenantReadings], of: impl Fn(&TenantReadings) -> &[f64]) -> String {
    let mean_of = |at: usize| mean(&each(seen, |seen| of(seen).get(at).copied().unwrap_or(f64::NAN)));
    (0..DIVISIONS.len()).map(|at| format!("{:.1}", mean_of(at))).collect::<Vec<_>>().join(", ")
}

/// Returns the arrivals in one fabric over time, with a failing core switch.
fn panel(size: Size, rows: &[(Case, Vec<TenantReadings>)]) -> Panel {
    let failed = of(rows, size, System::OneFabric, true);
    let bins = failed.first().map_or(0, |seen| seen.kinds.len());
    let series = |(kind, name): (usize, &str)| Series {
        name: name.to_owned(),
        points: (0..bins)
            .map(|bin| {
                let middle = (bin as f64 + 0.5) * BIN.as_nanos() as f64 / 1e6;
                let at = |seen: &TenantReadings| seen.kinds.get(bin).map_or(f64::NAN, |kinds| kinds[kind]);
                Point::of(middle, each(failed, at))
            })
            .collect(),
    };
    let names = ["hoses", "objectives", "best effort", "latency contracts"];
    let dies = rows.iter().find(|(case, _)| case.size == size).map_or(Time::ZERO, |(case, _)| case.dies_at());
    Panel::new(
        format!("arrives-k{}", size.0),
        format!("What arrives in one fabric, k = {}; a core switch dies at {dies}", size.0),
        (Axis::linear("time", "ms"), Axis::linear("goodput", "Gbit/s")),
        Form::Joined,
        names.into_iter().enumerate().map(series).collect(),
    )
}

fn table(size: Size, rows: &[(Case, Vec<TenantReadings>)]) -> Table {
    let row = |system: System| {
        let seen = of(rows, size, system, false);
        let number = |of: &dyn Fn(&TenantReadings) -> f64| mean(&each(seen, of));
        let most = |of: &dyn Fn(&TenantReadings) -> f64| most(seen, of);
        vec![
            system.name().to_owned(),
            format!("{:.0} of {:.0}", number(&|seen| seen.admitted), number(&|seen| seen.asked)),
            format!(
                "{:.0}; {:.2} of its deadline; {:.0} lost",
                most(&|seen| seen.broken),
                most(&|seen| seen.slowest),
                most(&|seen| seen.lost)
            ),
            format!(
                "{:.0} of {:.0}; {:.2} ms",
                most(&|seen| seen.short),
                most(&|seen| seen.hoses),
                most(&|seen| seen.lag)
            ),
            match system {
                System::OneFabric => {
                    format!("{:.0} %; {:.0} %", 100.0 * number(&distance), 100.0 * number(&distance_from_due))
                }
                _ => format!("{:.0} %; -", 100.0 * number(&distance)),
            },
            format!("{:.2}", number(&|seen| seen.busiest)),
            format!("{:.1} Gbit/s; {}", number(&|seen| seen.best), messages(number(&|seen| seen.messages))),
        ]
    };
    let columns = [
        "system",
        "latency contracts admitted",
        "violations (maximum); slowest packet",
        "hoses below their minimum for longer than Theta (maximum); longest lag",
        "objectives: deviation from weights; from fair shares on their paths",
        "busiest links",
        "best effort: goodput; p99 message time",
    ];
    Table {
        name: format!("k{}", size.0),
        title: format!("Fat tree of k = {}", size.0),
        columns: columns.map(str::to_owned).to_vec(),
        rows: System::ALL.map(row).to_vec(),
    }
}

/// Returns the effect of a failed core switch: the arrivals after the failure, relative to those without it in this
/// time.
fn failed_table(size: Size, rows: &[(Case, Vec<TenantReadings>)]) -> Table {
    let row = |system: System| {
        let (seen, failed) = (of(rows, size, system, false), of(rows, size, system, true));
        let case = rows.iter().find(|(case, _)| (case.size, case.system) == (size, system)).map(|row| row.0);
        let percent = |kind| case.map_or(f64::NAN, |case| 100.0 * left(seen, failed, kind, case));
        let number = |of: &dyn Fn(&TenantReadings) -> f64| mean(&each(failed, of));
        let most = |of: &dyn Fn(&TenantReadings) -> f64| most(failed, of);
        let contracts = match system.promises_latency() {
            true => format!("{:.0}; {:.0}", number(&|seen| seen.cut), most(&|seen| seen.broken)),
            false => "-".to_owned(),
        };
        vec![
            system.name().to_owned(),
            contracts,
            format!("{:.0} of {:.0}", most(&|seen| seen.short), most(&|seen| seen.hoses)),
            format!("{:.2} ms", most(&|seen| seen.lag)),
            format!("{:.0} %", percent(0)),
            format!("{:.0} %", percent(1)),
            format!("{:.0} %", percent(2)),
        ]
    };
    let columns = [
        "system",
        "latency contracts: disconnected; other violations",
        "hoses below their minimum (maximum)",
        "longest lag",
        "rate left to hoses",
        "objectives",
        "best effort",
    ];
    Table {
        name: format!("k{}-failed", size.0),
        title: format!("Unannounced failure of a core switch, k = {}", size.0),
        columns: columns.map(str::to_owned).to_vec(),
        rows: System::ALL.map(row).to_vec(),
    }
}

/// Reason why hoses of pairs that choose among paths without guarantees can be late.
const LATE_HOSES: &str = "A pair that goes on while 127 others end is admitted a 128th of the hose, and hears of more with its next probe, which takes 4 kB. Where those that are held \
     back probe again after 1, 2, 4 and so on round trips, none of 384 hoses is late, and what is in flight is 2.84 times its bound (docs/theory/ufab.md).";

fn statements(size: Size, longer: Time, rows: &[(Case, Vec<TenantReadings>)]) -> Vec<Statement> {
    let seen = of(rows, size, System::OneFabric, false);
    let worst = |of: &dyn Fn(&TenantReadings) -> f64| most(seen, of);
    let claim_text = |what: &str| format!("one fabric, k = {}: {what}", size.0);
    let section = "expected by the design";
    let (broken, lost) = (worst(&|seen| seen.broken), worst(&|seen| seen.lost));
    let distances = each(seen, distance);
    let due = each(seen, distance_from_due);
    let busiest = each(seen, |seen| seen.busiest);
    let failed = of(rows, size, System::OneFabric, true);
    let case = rows.iter().find(|(case, _)| (case.size, case.system) == (size, System::OneFabric)).map(|row| row.0);
    let backs: Vec<f64> = seen
        .iter()
        .zip(failed)
        .filter_map(|(seen, failed)| Some(back(seen, failed, case?).unwrap_or(f64::INFINITY)))
        .collect();
    let is_longer = |(case, _): &&(Case, Vec<TenantReadings>)| {
        (case.size, case.system, case.fails, case.flips, case.duration)
            == (size, System::OneFabric, false, true, longer)
    };
    let stays = rows.iter().find(|(case, _)| case.size == size && !case.flips).map_or(&[][..], |(_, seen)| seen);
    let seen_longer = rows.iter().find(is_longer).map_or(&[][..], |(_, seen)| seen);
    let in_flight = worst(&|seen| seen.in_flight).max(most(seen_longer, |seen| seen.in_flight));
    let hurt = most(failed, |seen| seen.broken);
    vec![
        Statement::claim(
            section,
            claim_text("no packet of a latency contract is late or lost"),
            !seen.is_empty() && broken == 0.0,
            format!(
                "{broken} contracts broken, {lost} packets lost, the slowest takes {:.2} of its deadline",
                worst(&|seen| seen.slowest)
            ),
        ),
        Statement::claim(
            section,
            claim_text("no minimum is missed after Theta"),
            !seen.is_empty() && worst(&|seen| seen.short) == 0.0,
            format!(
                "{:.0} of {:.0} hoses at most; the longest lag is {:.2} ms, Theta {:.2} ms",
                worst(&|seen| seen.short),
                worst(&|seen| seen.hoses),
                worst(&|seen| seen.lag),
                worst(&|seen| seen.theta)
            ),
        )
        .supposed(LATE_HOSES),
        Statement::within(
            section,
            claim_text("objectives get shares within 5 % of their weights"),
            0.0..=0.05,
            &distances,
            percent(&distances),
        )
        .tested(format!("Levels come together by and by: in {longer} it is {}.", percent(&each(seen_longer, distance))), &each(seen_longer, distance)),
        Statement::within(
            section,
            claim_text("objectives get what their tunnels are due on the paths that they take, within 5 %"),
            0.0..=0.05,
            &due,
            percent(&due),
        )
        .tested(format!(
            "What is due is not in proportion to weights, since many tunnels find more free paths than few: for each unit of weight it is {}, and they have {} Gbit/s. In {longer} it is {}.",
            listed(seen, |seen| &seen.due),
            listed(seen, |seen| &seen.divisions),
            percent(&each(seen_longer, distance_from_due))
        ), &each(seen_longer, distance_from_due)),
        Statement::within(
            section,
            claim_text("the busiest links carry 0.94 and more"),
            0.94..=f64::INFINITY,
            &busiest,
            format!("{:.2}", mean(&busiest)),
        )
        .tested(format!(
            "While hoses send all to one they use no more than three hosts can receive, and objectives and best effort do not fill what that leaves in 4 ms: where hoses stay in \
             their permutation, the busiest links carry {:.2}.",
            mean(&each(stays, |seen| seen.busiest))
        ), &each(stays, |seen| seen.busiest)),
        Statement::claim(
            section,
            claim_text("when a core switch dies without a word, latency contracts on other routes are kept"),
            !failed.is_empty() && hurt == 0.0,
            format!("{hurt} broken; {:.0} had their only route over it", mean(&each(failed, |seen| seen.cut))),
        ),
        Statement::claim(
            section,
            claim_text("no link has more of the guaranteed class in flight than is said, without a dead switch"),
            !seen.is_empty() && in_flight <= 1.0,
            format!("{:.0} % of it at most", 100.0 * in_flight),
        ),
        Statement::not_compared(
            section,
            claim_text("after that, hoses have nine tenths of what they have without it again"),
            match mean(&backs) {
                after if after.is_finite() => format!("after {after:.1} ms"),
                _ => "not in all runs".to_owned(),
            },
        ),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    fn good() -> Vec<(Case, Vec<TenantReadings>)> {
        let case = Case::one_fabric(Size(4), Time::from_millis(16));
        let failed = (Case { fails: true, ..case }, vec![TenantReadings::default()]);
        vec![
            (
                case,
                vec![TenantReadings {
                    divisions: vec![2.0; 3],
                    due: vec![3.0; 3],
                    busiest: 0.96,
                    ..TenantReadings::default()
                }],
            ),
            failed,
        ]
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        assert_each_can_change(
            &good(),
            |rows| statements(Size(4), Time::from_millis(48), rows),
            &[
                ("a late packet", &|rows| rows[0].1[0].broken = 1.0),
                ("a short hose", &|rows| rows[0].1[0].short = 1.0),
                ("a division with more", &|rows| rows[0].1[0].divisions[1] = 3.0),
                ("a division that is due more", &|rows| rows[0].1[0].due[1] = 4.0),
                ("a contract that is broken beside the dead switch", &|rows| rows[1].1[0].broken = 1.0),
                ("more in flight", &|rows| rows[0].1[0].in_flight = 1.1),
                ("idle links", &|rows| rows[0].1[0].busiest = 0.5),
            ],
        );
    }

    /// A failing core switch affects all tenants: contracts whose only route crosses it send in vain, hoses search
    /// other paths.
    #[test]
    fn a_failed_core_switch_affects_all_tenants() {
        let simulator = Simulator::default();
        let case = Case::one_fabric(Size(4), Time::from_millis(16));
        let dead = Case { fails: true, ..case };
        let (whole, failed) = (seen(&simulator, case, 7).unwrap(), seen(&simulator, dead, 7).unwrap());
        let rows = [(case, vec![whole.clone()]), (dead, vec![failed.clone()])];
        let left = [0, 1, 2, 3].map(|kind| left(&rows[0].1, &rows[1].1, kind, case));
        // Half of the contracts go over cores, a quarter of these over each of the four.
        assert!(failed.cut > 20.0 && left[3] < 0.95, "{} contracts, {left:?}", failed.cut);
        assert!(failed.lag >= whole.lag && left[1] < 0.95, "{} and {} ms, {left:?}", failed.lag, whole.lag);
        assert_eq!(failed.broken, 0.0, "contracts on other routes");
        assert_eq!(whole.kinds[..19], failed.kinds[..19], "nothing differs before 10 ms");
        // Intervals of half a millisecond, of which the last three milliseconds count.
        const BEFORE: usize = 26;
        let hoses = |seen: &TenantReadings| seen.kinds.iter().skip(BEFORE).map(|kinds| kinds[0]).sum::<f64>();
        let last = hoses(&failed) / hoses(&whole);
        assert!(last > 0.9, "hoses find other paths: in the last 3 ms they have {last:.2} of what they have otherwise");
    }

    /// A short version of the experiment's first run: all tenants are present, and no promise is broken.
    #[test]
    fn one_fabric_keeps_its_promises_in_a_short_run() {
        let case = Case::one_fabric(Size(4), Time::from_millis(6));
        let seen = seen(&Simulator::default(), case, 7).unwrap();
        assert!(seen.admitted > 250.0 && seen.hoses == 48.0 && seen.busiest > 0.85, "{seen:?}");
        assert_eq!((seen.broken, seen.short), (0.0, 0.0), "{seen:?}");
        assert!(seen.in_flight <= 1.0, "{seen:?}");
    }
}
