//! Fig. 11: twelve tenants come one after the other and fill the links between the pods (section 5.2).

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use super::path_choice::{Pair, dead_ends, is_feasible};
use super::readings::{
    Curve, Span, listed, longest, longest_queue, mean_in, milliseconds, missed, most_in, over_time, rates, settles,
    sum, thinned,
};
use super::systems::{AS_HERE, AS_PRINTED, System};
use super::testbed::{ROUND_TRIP, Tenant, endless, network, scenario, servers, settings};
use crate::catalogue::{Entry, UFAB};
use crate::checkpoint::stored;
use crate::data::{Axis, Figure, Form, Panel, Point, Series, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;
use crate::stats::mean;

pub(crate) const ENTRY: Entry = Entry {
    id: "ufab-fig11",
    runs: "permutation",
    paper: &UFAB,
    place: "Fig. 11",
    title: "Minimum rates of twelve tenants that join one after the other",
    full_runs: 10,
    full_seconds: 50,
    quick_seconds: 10,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

/// The classes of tenants (5.2).
const MINIMA: [u64; 3] = [1, 2, 5];
/// "We randomly insert a VF every 20 ms" (5.2).
const STEP: Time = Time::from_millis(20);
/// Time after the last tenant's start from which all are measured: Table 1 gives 10 to 200 ms to converge to systems
/// like the alternatives.
const SETTLING: Time = Time::from_millis(60);
/// For so long that is measured.
const MEASURED: Time = Time::from_millis(40);
/// Number of trials of the path rule without packets.
const DRAWS: usize = 1_000;
const BIN: Time = Time::from_micros(400);
/// The links carry this part of their rate at most, and a tenant that gets this part of its minimum has it (5.1: target utilisation).
const TARGET: f64 = 0.95;
/// Bound of the amount in flight, section 3.4, at 10 Gbit/s, in kB: three times 9.5 Gbit/s and 24 us.
const BOUND_KB: f64 = 3.0 * TARGET * 10.0 * ROUND_TRIP.as_nanos() as f64 / 8e3;

const SYSTEMS: [System; 8] = [
    System::Ufab,
    System::AllPaths,
    System::Probed,
    System::Printed,
    System::Unbounded,
    System::Pwc,
    System::PwcRecommended,
    System::Elastic,
];
/// Number of draws of pairs for which it is computed if all minima fit.
const PACKED_DRAWS: u64 = 1_000;

/// One tenant of a run.
#[derive(Clone, Debug)]
struct Vf {
    /// In Gbit/s.
    min: f64,
    rates: Curve,
    /// Its traffic when all were present, in Gbit/s.
    late: f64,
    /// Its shortfall from its minimum then.
    late_missed: f64,
    /// From when it came until it had its minimum, in ms; not a number if it never had.
    served_after: f64,
}

stored!(Vf { min, rates, late, late_missed, served_after });

/// One run of a system.
#[derive(Clone, Debug)]
struct Case {
    vfs: Vec<Vf>,
    /// Total shortfall over total traffic, over time.
    dissatisfaction: Curve,
    /// Dissatisfaction when all were present.
    late_dissatisfaction: f64,
    /// In kB.
    queue: Curve,
    /// `true` if paths can be assigned to pairs so that all minima fit.
    is_feasible: bool,
    /// Fraction of draws in which the path rule ends without room for a pair, if four or all paths are inspected.
    dead_ends: [f64; 2],
}

stored!(Case { vfs, dissatisfaction, late_dissatisfaction, queue, is_feasible, dead_ends });

impl Case {
    /// Returns the number of tenants that have their minimum.
    fn kept(&self) -> f64 {
        self.vfs.iter().filter(|vf| vf.late_missed <= (1.0 - TARGET) * vf.min).count() as f64
    }

    fn total(&self) -> f64 {
        self.vfs.iter().map(|vf| vf.late).sum()
    }

    fn longest_queue(&self) -> f64 {
        self.queue.iter().map(|(_, held)| *held).fold(0.0, f64::max)
    }
}

/// All runs of a system.
#[derive(Clone, Debug)]
struct Row {
    system: System,
    cases: Vec<Case>,
}

impl Row {
    fn each(&self, of: impl Fn(&Case) -> f64) -> Vec<f64> {
        self.cases.iter().map(of).collect()
    }
}

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 2);
    let found = run.gather(ENTRY.id, (&SYSTEMS, &seeds), |&system, seed| case(run.simulator(), system, seed))?;
    let rows: Vec<Row> = SYSTEMS.into_iter().zip(found).map(|(system, cases)| Row { system, cases }).collect();
    let packed = packed(run.choose(PACKED_DRAWS, PACKED_DRAWS / 10))?;
    let figure = Figure {
        statements: statements(&rows, packed),
        panels: panels(&rows),
        tables: vec![table(&rows)],
        seeds,
        notes: NOTES.map(str::to_owned).to_vec(),
        ..Figure::default()
    };
    Ok(settings(figure)
        .with("tenants", "12 with one pair each from pod 1 to pod 2: one of 1, 2 and 5 Gbit/s at each host; pairs and their order are drawn by the seed")
        .with("time", "one tenant more every 20 ms; measured for 40 ms from 60 ms after the last one on"))
}

const NOTES: [&str; 2] = [
    "A tenant has its minimum if it misses at most 5 % of it while all are there: links carry 95 % at most (5.1).",
    "Dissatisfaction is what all tenants missed of their minima over what all of them got. The text does not say over which time; here it is when all are there.",
];

/// Returns the start time of the `index`th tenant.
fn comes_at(index: usize) -> Time {
    Time::from_nanos(STEP.as_nanos() * index as u64)
}

/// Twelve tenants in the order in which they come, with their pairs.
fn tenants(servers: &[NodeId], seed: u64) -> Vec<Pair> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (left, right) = servers.split_at(servers.len() / 2);
    let mut all = Vec::new();
    for min in MINIMA {
        let mut to = right.to_vec();
        to.shuffle(&mut rng);
        all.extend(left.iter().zip(to).map(|(&from, to)| (min, from, to)));
    }
    all.shuffle(&mut rng);
    all
}

/// Returns the part of draws in which paths can be assigned to pairs so that all minima fit. The text shows one draw.
fn packed(draws: u64) -> Result<f64, Failed> {
    let network = network(Rate::from_gbit(10))?;
    let servers = servers(&network);
    let fits = |&seed: &u64| is_feasible(&network, &tenants(&servers, seed));
    Ok((1..=draws).filter(fits).count() as f64 / draws as f64)
}

fn case(simulator: &Simulator, system: System, seed: u64) -> Result<Case, Failed> {
    let network = network(Rate::from_gbit(10))?;
    let pairs = tenants(&servers(&network), seed);
    let named = |index: usize| format!("vf{}", index + 1);
    let tenants: Vec<Tenant> = (0..)
        .zip(&pairs)
        .map(|(index, &(min, from, to))| Tenant {
            name: named(index),
            min: Rate::from_gbit(min),
            hosts: vec![from, to],
        })
        .collect();
    let last = comes_at(pairs.len() - 1).as_nanos();
    let measured_from = last + SETTLING.as_nanos();
    let duration = Time::from_nanos(measured_from + MEASURED.as_nanos());
    let mut run = scenario("permutation", &network, system, &tenants, (duration, BIN))?;
    run.traffic =
        (0..).zip(&pairs).map(|(index, &(_, from, to))| endless(&named(index), from, to, comes_at(index))).collect();
    let outcome = simulator.run(&run, seed)?;
    let late: Span = (measured_from as f64 / 1e6, milliseconds(duration));
    let misses: Vec<Curve> = tenants.iter().map(|tenant| missed(&outcome, &tenant.name)).collect();
    let vfs: Vec<Vf> = (0..)
        .zip(&pairs)
        .map(|(index, &(min, ..))| {
            let (min, rates) = (min as f64, rates(&outcome, index));
            let came = milliseconds(comes_at(index));
            Vf {
                min,
                late: mean_in(&rates, late),
                late_missed: mean_in(&misses[index], late),
                served_after: settles(&rates, came, (TARGET * min, f64::INFINITY), 2.0),
                rates,
            }
        })
        .collect();
    let got = sum(&vfs.iter().map(|vf| vf.rates.clone()).collect::<Vec<_>>());
    let lost = sum(&misses);
    let ratio =
        |((at, missed), (_, got)): (&(f64, f64), &(f64, f64))| (*at, 100.0 * missed / got.max(f64::MIN_POSITIVE));
    Ok(Case {
        late_dissatisfaction: 100.0 * mean_in(&lost, late) / mean_in(&got, late),
        dissatisfaction: thinned(&lost, 10).iter().zip(&thinned(&got, 10)).map(ratio).collect(),
        queue: longest_queue(&outcome),
        is_feasible: is_feasible(&network, &pairs),
        dead_ends: [4, 8].map(|looked_at| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            dead_ends(&network, &pairs, looked_at, DRAWS, &mut random)
        }),
        vfs,
    })
}

/// The experiment in which a pair probes all paths before it takes one.
const ALL_PATHS: &str = "all 8 paths looked at";

fn statements(rows: &[Row], packed: f64) -> Vec<Statement> {
    let of = |system: System, value: &dyn Fn(&Case) -> f64| -> Vec<f64> {
        rows.iter().filter(|row| row.system == system).flat_map(|row| row.each(value)).collect()
    };
    let kept = |system| of(system, &Case::kept);
    let dissatisfied = |system| of(system, &|case| case.late_dissatisfaction);
    let queues = |system| of(system, &Case::longest_queue);
    let minima: f64 = 4.0 * MINIMA.iter().sum::<u64>() as f64;
    let totals = of(System::Ufab, &Case::total);
    let served = |system| of(system, &|case| longest(case.vfs.iter().map(|vf| vf.served_after)));
    // 3.1, assumption iii: virtual machines are placed so that all minima fit.
    let of_packed = |system: System, value: &dyn Fn(&Case) -> f64| -> Vec<f64> {
        let cases = rows.iter().filter(|row| row.system == system).flat_map(|row| &row.cases);
        cases.filter(|case| case.is_feasible).map(value).collect()
    };
    let feasible = of_packed(System::Ufab, &|_| 1.0).len();
    let dead_ends = |looked_at: usize| of(System::Ufab, &|case| 100.0 * case.dead_ends[looked_at]);
    let rule = format!(
        "the rule for paths (3.5), with which a pair moves only to a path that has room (3.3): without packets {:.0} % of {DRAWS} draws of it for each seed end \
         where somebody has no path with room and nobody can move, {} % by seed, and {:.0} % if all 8 paths are looked at. Pairs can be given to paths so that all fit in {feasible} of {} runs; \
         with all 8 paths looked at {} of 12 keep their minima",
        mean(&dead_ends(0)),
        listed(&dead_ends(0), 0),
        mean(&dead_ends(1)),
        totals.len(),
        listed(&kept(System::AllPaths), 0),
    );
    let best = format!(
        "the gap. With the recommended one of 200 us {} of 12 minima are kept, and {} % are missed",
        listed(&kept(System::PwcRecommended), 0),
        listed(&dissatisfied(System::PwcRecommended), 1),
    );
    let more_than = |other: System| -> Vec<f64> {
        kept(System::Elastic).iter().zip(kept(other)).map(|(elastic, pwc)| elastic - pwc).collect()
    };
    let more = more_than(System::Pwc);
    let all_kept = |reading: &str, kept: Vec<f64>| {
        let claim_text = "uFAB guarantees the minimum of all 12 tenants";
        let measured = format!("{} of 12", listed(&kept, 0));
        Statement::within("5.2, Fig. 11a", claim_text, 12.0..=12.0, &kept, measured).reading(reading)
    };
    let converges = |reading: &str, times: Vec<f64>| {
        let claim_text = "uFAB converges in less than a millisecond when a tenant comes";
        let measured = format!("the slowest tenant of each run has its minimum after {} ms", listed(&times, 1));
        Statement::within("abstract, 5.2", claim_text, 0.0..=1.0, &times, measured).reading(reading)
    };
    let slowest = |case: &Case| longest(case.vfs.iter().map(|vf| vf.served_after));
    let experiments = [(System::AllPaths, ALL_PATHS), (System::Probed, PROBED)];
    let tested = |statement: Statement, value: &dyn Fn(&Case) -> f64| {
        experiments
            .iter()
            .fold(statement, |statement, &(system, name)| statement.tested(name, &of_packed(system, value)))
    };
    // The text shows one draw: the best of the seeds.
    let best_of =
        |values: Vec<f64>, better: fn(f64, f64) -> f64| values.into_iter().reduce(better).into_iter().collect();
    let in_draws = |values: Vec<f64>, is_met: fn(f64) -> bool| {
        format!("So in {} of {} draws.", values.iter().filter(|value| is_met(**value)).count(), values.len())
    };
    let mut statements = vec![
        tested(all_kept(PACKED, of_packed(System::Ufab, &Case::kept)), &Case::kept)
            .remark(format!("Of {PACKED_DRAWS} draws of pairs {:.1} % can be packed at all.", 100.0 * packed))
            .supposed(rule.clone()),
        all_kept(ONE_DRAW, best_of(kept(System::Ufab), f64::max))
            .remark(in_draws(kept(System::Ufab), |kept| kept >= 12.0)),
        all_kept(AS_PRINTED, of_packed(System::Printed, &Case::kept)),
        tested(converges(PACKED, of_packed(System::Ufab, &slowest)), &slowest).supposed(rule),
        converges(ONE_DRAW, best_of(served(System::Ufab), f64::min))
            .remark(in_draws(served(System::Ufab), |ms| ms <= 1.0)),
        converges(AS_PRINTED, of_packed(System::Printed, &slowest)),
        low_queue(AS_HERE, &queues(System::Ufab)),
        low_queue(AS_PRINTED, &queues(System::Printed)),
    ];
    statements.extend([
        Statement::mean_within(
            "5.2, Fig. 11a",
            "with work conservation: they get more than the 32 Gbit/s of their minima, of 38 that can be carried",
            minima..=38.0,
            &totals,
            format!("{} Gbit/s", listed(&totals, 1)),
        ),
        Statement::mean_within(
            "5.2, Fig. 11b",
            "PicNIC'+WCC+Clove guarantees the minimum of 3 tenants only",
            2.5..=3.5,
            &kept(System::Pwc),
            format!("{} of 12", listed(&kept(System::Pwc), 0)),
        )
        .tested(best.clone(), &kept(System::PwcRecommended)),
        Statement::mean_within(
            "5.2, Fig. 11c",
            "ElasticSwitch+Clove guarantees bandwidth for more tenants than PicNIC'+WCC+Clove",
            f64::MIN_POSITIVE..=f64::INFINITY,
            &more,
            format!("{} more", listed(&more, 0)),
        )
        .tested(best.clone(), &more_than(System::PwcRecommended)),
        Statement::mean_within(
            "5.2, Fig. 11d",
            "PicNIC'+WCC+Clove has a dissatisfaction of more than 40 %",
            40.0..=f64::INFINITY,
            &dissatisfied(System::Pwc),
            format!("{} %", listed(&dissatisfied(System::Pwc), 1)),
        )
        .tested(best, &dissatisfied(System::PwcRecommended)),
        Statement::mean_within(
            "5.2, Fig. 11d",
            "ElasticSwitch+Clove has one of more than 10 %",
            10.0..=f64::INFINITY,
            &dissatisfied(System::Elastic),
            format!("{} %", listed(&dissatisfied(System::Elastic), 1)),
        )
        .ruled_out(["its periods, hold, growth, headroom and burst, and thresholds of marks: docs/theory/sharing.md lists which were tried, and which missed least"]),
        Statement::mean_within(
            "5.2, Fig. 11d",
            "the dissatisfaction of uFAB is mostly close to zero: not a tenth of ElasticSwitch's 10 %",
            0.0..=1.0,
            &dissatisfied(System::Ufab),
            format!("{} %", listed(&dissatisfied(System::Ufab), 2)),
        ),
        Statement::mean_within(
            "5.2, Fig. 11e",
            "ElasticSwitch+Clove causes serious queuing: more than those three",
            BOUND_KB..=f64::INFINITY,
            &queues(System::Elastic),
            format!("the longest queue holds {} kB", listed(&queues(System::Elastic), 0)),
        ),
    ]);
    statements
}

/// Readings of the twelve tenants: a placement is given, and the figure shows one.
const PACKED: &str = "draws that can be packed (3.1)";
const ONE_DRAW: &str = "one draw, as the figure shows: the best of the seeds";
/// The experiment in which a pair sends after its candidates have answered.
const PROBED: &str = "pairs send after their candidates have answered (3.5)";

fn low_queue(reading: &str, queues: &[f64]) -> Statement {
    Statement::mean_within(
        "5.2, Fig. 11e",
        "uFAB always keeps the queue low: below the three bandwidth-delay products of section 3.4",
        0.0..=BOUND_KB,
        queues,
        format!("the longest queue holds {} kB", listed(queues, 0)),
    )
    .reading(reading)
}

fn panels(rows: &[Row]) -> Vec<Panel> {
    let curve = |(number, vf): (usize, &Vf)| (format!("vf{number}, {} Gbit/s", vf.min), thinned(&vf.rates, 10));
    let rates =
        |row: &Row| row.cases.first().map(|case| over_time("tenants", row.system, (1..).zip(&case.vfs).map(curve)));
    let panel = |name: &str, title: &str, y: Axis, of: &dyn Fn(&Case) -> Curve| {
        Panel::new(name, title, (Axis::linear("time", "ms"), y), Form::Joined, by_system(rows, of))
    };
    let mut panels: Vec<Panel> = rows.iter().filter_map(rates).collect();
    panels.push(panel(
        "dissatisfaction",
        "Missed of the minima over what was got",
        Axis::linear("dissatisfaction", "%"),
        &|case| case.dissatisfaction.clone(),
    ));
    panels.push(panel("queue", "Longest queue", Axis::logarithmic("queue", "kB"), &|case| most_of(&case.queue, 10)));
    panels
}

/// Returns the maxima of groups of `neighbours` points.
fn most_of(curve: &Curve, neighbours: usize) -> Curve {
    let most = |chunk: &[(f64, f64)]| {
        (mean(&chunk.iter().map(|point| point.0).collect::<Vec<_>>()), most_in(chunk, (0.0, f64::INFINITY)).max(0.1))
    };
    curve.chunks(neighbours).map(most).collect()
}

fn by_system(rows: &[Row], of: impl Fn(&Case) -> Curve) -> Vec<Series> {
    rows.iter()
        .map(|row| {
            let curves: Vec<Curve> = row.cases.iter().map(&of).collect();
            let points = curves.first().into_iter().flatten().enumerate().map(|(index, (at, _))| {
                Point::of(*at, curves.iter().filter_map(|curve| curve.get(index)).map(|(_, value)| *value).collect())
            });
            Series { name: row.system.name().to_owned(), points: points.collect() }
        })
        .collect()
}

fn table(rows: &[Row]) -> Table {
    let cells = rows.iter().map(|row| {
        let each = |of: &dyn Fn(&Case) -> f64| mean(&row.each(of));
        vec![
            row.system.name().to_owned(),
            format!("{:.1} of 12", each(&Case::kept)),
            format!("{:.1} %", each(&|case| case.late_dissatisfaction)),
            format!("{:.1} Gbit/s", each(&Case::total)),
            format!("{:.0} kB", each(&Case::longest_queue)),
        ]
    });
    Table {
        name: "systems".to_owned(),
        title: "With all tenants active (mean of the seeds)".to_owned(),
        columns: ["system", "minima met", "dissatisfaction", "total", "longest queue"].map(str::to_owned).to_vec(),
        rows: cells.collect(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let vf = |missed: f64| Vf { min: 2.0, rates: Vec::new(), late: 3.0, late_missed: missed, served_after: 0.5 };
        let case = |kept: usize, ratio: f64, queue: f64| Case {
            vfs: (0..12).map(|index| vf(if index < kept { 0.0 } else { 1.0 })).collect(),
            dissatisfaction: Vec::new(),
            late_dissatisfaction: ratio,
            queue: vec![(1.0, queue)],
            is_feasible: true,
            dead_ends: [0.5; 2],
        };
        let of = |system: System| match system {
            System::Pwc | System::PwcRecommended => case(3, 45.0, 100.0),
            System::Elastic => case(9, 15.0, 500.0),
            _ => case(12, 0.1, 40.0),
        };
        let rows: Vec<Row> = SYSTEMS.map(|system| Row { system, cases: vec![of(system); 2] }).to_vec();
        let changed = |system: System, by: fn(&mut Case)| {
            move |rows: &mut Vec<Row>| {
                rows.iter_mut().filter(|row| row.system == system).flat_map(|row| &mut row.cases).for_each(by)
            }
        };
        assert_each_can_change(
            &rows,
            |rows| statements(rows, 0.5),
            &[
                ("uFAB keeps less", &changed(System::Ufab, |case| case.vfs[0].late_missed = 1.0)),
                ("it keeps less as printed", &changed(System::Printed, |case| case.vfs[0].late_missed = 1.0)),
                (
                    "it keeps none as printed",
                    &changed(System::Printed, |case| {
                        case.vfs.iter_mut().for_each(|vf| vf.late_missed = 1.0);
                    }),
                ),
                ("it is slow as printed", &changed(System::Printed, |case| case.vfs[3].served_after = 2.0)),
                ("it queues as printed", &changed(System::Printed, |case| case.queue[0].1 = 90.0)),
                (
                    "uFAB keeps none",
                    &changed(System::Ufab, |case| case.vfs.iter_mut().for_each(|vf| vf.late_missed = 1.0)),
                ),
                ("uFAB carries less", &changed(System::Ufab, |case| case.vfs.iter_mut().for_each(|vf| vf.late = 2.0))),
                (
                    "uFAB carries too much",
                    &changed(System::Ufab, |case| case.vfs.iter_mut().for_each(|vf| vf.late = 4.0)),
                ),
                ("uFAB is slow", &changed(System::Ufab, |case| case.vfs[3].served_after = 2.0)),
                ("uFAB misses something", &changed(System::Ufab, |case| case.late_dissatisfaction = 2.0)),
                ("uFAB queues", &changed(System::Ufab, |case| case.queue[0].1 = 90.0)),
                (
                    "PWC keeps all",
                    &changed(System::Pwc, |case| *case = Case { vfs: vec![case.vfs[0].clone(); 12], ..case.clone() }),
                ),
                (
                    "PWC keeps none",
                    &changed(System::Pwc, |case| *case = Case { vfs: vec![case.vfs[11].clone(); 12], ..case.clone() }),
                ),
                ("PWC misses little", &changed(System::Pwc, |case| case.late_dissatisfaction = 5.0)),
                ("ElasticSwitch misses little", &changed(System::Elastic, |case| case.late_dissatisfaction = 5.0)),
                ("ElasticSwitch does not queue", &changed(System::Elastic, |case| case.queue[0].1 = 50.0)),
            ],
        );
    }
}
