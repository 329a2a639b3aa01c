//! Fig. 11: twelve tenants come one after the other and fill the links between the pods (section 5.2).

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use super::readings::{
    Curve, Span, longest_queue, mean_in, milliseconds, missed, most_in, rates, settles, sum, thinned,
};
use super::systems::System;
use super::testbed::{ROUND_TRIP, Tenant, endless, network, scenario, servers, settings, simulate};
use crate::catalogue::{Entry, UFAB};
use crate::data::{Axis, Centre, Figure, Form, Panel, Point, Series, Table};
use crate::run::{Failed, Run};
use crate::statement::Statement;
use crate::stats::mean;

pub(crate) const ENTRY: Entry = Entry {
    id: "ufab-fig11",
    runs: "permutation",
    paper: &UFAB,
    place: "Fig. 11",
    title: "Minima of twelve tenants that come one after the other",
    full_seconds: 120,
    quick_seconds: 10,
    measure,
};

/// The classes of tenants (5.2).
const MINIMA: [u64; 3] = [1, 2, 5];
/// "We randomly insert a VF every 20 ms" (5.2).
const STEP: Time = Time::from_millis(20);
/// What is measured of the time when all are there begins so long after the last one came: Table 1 gives 10 to 200 ms to converge to systems like
/// the alternatives.
const SETTLING: Time = Time::from_millis(60);
/// For so long that is measured.
const MEASURED: Time = Time::from_millis(40);
const BIN: Time = Time::from_micros(400);
/// The links carry this part of their rate at most, and a tenant that gets this part of its minimum has it (5.1: target utilisation).
const TARGET: f64 = 0.95;
/// Bound of what is in flight, section 3.4, at 10 Gbit/s, in kB: three times 9.5 Gbit/s and 24 us.
const BOUND_KB: f64 = 3.0 * TARGET * 10.0 * ROUND_TRIP.as_nanos() as f64 / 8e3;

/// One tenant of a run.
#[derive(Clone, Debug)]
struct Vf {
    /// In Gbit/s.
    min: f64,
    rates: Curve,
    /// What it got when all were there, in Gbit/s.
    late: f64,
    /// What it missed of its minimum then.
    late_missed: f64,
    /// From when it came until it had its minimum, in ms; not a number if it never had.
    served_after: f64,
}

/// One run of a system.
#[derive(Clone, Debug)]
struct Case {
    vfs: Vec<Vf>,
    /// What all missed together over what all got, over time.
    dissatisfaction: Curve,
    /// When all were there.
    late_dissatisfaction: f64,
    /// In kB.
    queue: Curve,
}

impl Case {
    /// How many tenants have their minimum.
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
    let seeds = run.seeds(10, 2);
    let jobs: Vec<_> =
        System::COMPARED.iter().flat_map(|&system| seeds.iter().map(move |&seed| (system, seed))).collect();
    let mut cases = run.map(&jobs, |&(system, seed)| case(system, seed))?.into_iter();
    let rows: Vec<Row> = System::COMPARED
        .into_iter()
        .map(|system| Row { system, cases: cases.by_ref().take(seeds.len()).collect() })
        .collect();
    let figure = Figure {
        statements: statements(&rows),
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

/// When the `index`th tenant comes.
fn comes_at(index: usize) -> Time {
    Time::from_nanos(STEP.as_nanos() * index as u64)
}

/// Twelve tenants in the order in which they come, with their pairs.
fn tenants(servers: &[NodeId], seed: u64) -> Vec<(u64, NodeId, NodeId)> {
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

fn case(system: System, seed: u64) -> Result<Case, Failed> {
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
    let outcome = simulate(&run, seed)?;
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
        vfs,
    })
}

fn listed(values: &[f64], digits: usize) -> String {
    values.iter().map(|value| format!("{value:.digits$}")).collect::<Vec<_>>().join(", ")
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let of = |system: System, value: &dyn Fn(&Case) -> f64| -> Vec<f64> {
        rows.iter().filter(|row| row.system == system).flat_map(|row| row.each(value)).collect()
    };
    let kept = |system| of(system, &Case::kept);
    let minima: f64 = 4.0 * MINIMA.iter().sum::<u64>() as f64;
    let totals = of(System::Ufab, &Case::total);
    let queues = of(System::Ufab, &Case::longest_queue);
    let dissatisfied = of(System::Ufab, &|case| case.late_dissatisfaction);
    let served: Vec<f64> = of(System::Ufab, &|case| {
        case.vfs.iter().map(|vf| vf.served_after).fold(0.0, |most, time| if time <= most { most } else { time })
    });
    vec![
        Statement::mean_within(
            "5.2, Fig. 11a",
            "uFAB guarantees the minimum of all 12 tenants",
            12.0..=12.0,
            &kept(System::Ufab),
            format!("{} of 12", listed(&kept(System::Ufab), 0)),
        ),
        Statement::mean_within(
            "5.2, Fig. 11a",
            "with work conservation: they get more than the 32 Gbit/s of their minima, of 38 that can be carried",
            minima..=38.0,
            &totals,
            format!("{} Gbit/s", listed(&totals, 1)),
        ),
        Statement::mean_within(
            "abstract, 5.2",
            "uFAB converges in less than a millisecond when a tenant comes",
            f64::NEG_INFINITY..=1.0,
            &served,
            format!("the slowest tenant of each run has its minimum after {} ms", listed(&served, 1)),
        ),
        Statement::mean_within(
            "5.2, Fig. 11d",
            "the dissatisfaction of uFAB is mostly close to zero: not a tenth of ElasticSwitch's 10 %",
            f64::NEG_INFINITY..=1.0,
            &dissatisfied,
            format!("{} %", listed(&dissatisfied, 2)),
        ),
        Statement::mean_within(
            "5.2, Fig. 11e",
            "uFAB always keeps the queue low: below the three bandwidth-delay products of section 3.4",
            f64::NEG_INFINITY..=BOUND_KB,
            &queues,
            format!("the longest queue holds {} kB", listed(&queues, 0)),
        ),
    ]
}

fn panel(name: &str, title: String, y: Axis, form: Form, series: Vec<Series>) -> Panel {
    let x = Axis::linear("time", "ms");
    Panel {
        name: name.to_owned(),
        title,
        x,
        y,
        form,
        centre: Centre::Mean,
        is_timing: false,
        bands: Vec::new(),
        series,
    }
}

fn panels(rows: &[Row]) -> Vec<Panel> {
    let mut panels = Vec::new();
    for row in rows {
        let Some(case) = row.cases.first() else { continue };
        let series = (1..).zip(&case.vfs).map(|(number, vf): (usize, &Vf)| Series {
            name: format!("vf{number}, {} Gbit/s", vf.min),
            points: thinned(&vf.rates, 10).into_iter().map(|(at, rate)| Point::of(at, vec![rate])).collect(),
        });
        panels.push(panel(
            &format!("rates-{}", row.system.slug()),
            format!("What tenants get under {}, first seed", row.system.name()),
            Axis::linear("rate", "Gbit/s"),
            Form::Joined,
            series.collect(),
        ));
    }
    panels.push(panel(
        "dissatisfaction",
        "Missed of the minima over what was got".to_owned(),
        Axis::linear("dissatisfaction", "%"),
        Form::Joined,
        over_time(rows, |case| case.dissatisfaction.clone()),
    ));
    panels.push(panel(
        "queue",
        "The longest queue".to_owned(),
        Axis::logarithmic("queue", "kB"),
        Form::Joined,
        over_time(rows, |case| most_of(&case.queue, 10)),
    ));
    panels
}

/// The largest of so many neighbours each.
fn most_of(curve: &Curve, neighbours: usize) -> Curve {
    let most = |chunk: &[(f64, f64)]| {
        (mean(&chunk.iter().map(|point| point.0).collect::<Vec<_>>()), most_in(chunk, (0.0, f64::INFINITY)).max(0.1))
    };
    curve.chunks(neighbours).map(most).collect()
}

fn over_time(rows: &[Row], of: impl Fn(&Case) -> Curve) -> Vec<Series> {
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
        title: "When all tenants are there, the mean of the seeds".to_owned(),
        columns: ["system", "minima kept", "dissatisfaction", "all together", "longest queue"]
            .map(str::to_owned)
            .to_vec(),
        rows: cells.collect(),
    }
}
