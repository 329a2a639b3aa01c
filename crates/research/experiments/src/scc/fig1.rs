//! Fig. 1: objectives alone and beside each other on one bottleneck, without SCC (section II-B).

use wayleave_scenarios::FlowEndpoints;
use wayleave_units::{Rate, Time};

use super::readings::{Metric, Metrics, completion, each, mean_of, missed, ranges, round_trip};
use super::systems::{SHARE, System, equal_tenants};
use super::testbed::{Bottleneck, ROUND_TRIP, bottleneck, scenario, settings};
use super::workloads::{Application, Spacing, traffic};
use crate::catalogue::{Entry, SCC};
use crate::data::{Axis, Band, Centre, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;
use crate::stats::{mean, ratio_of_means};

pub(crate) const ENTRY: Entry = Entry {
    id: "scc-fig1",
    runs: "motivation",
    paper: &SCC,
    place: "Fig. 1",
    title: "Objectives alone and beside each other, without SCC",
    full_runs: 10,
    full_seconds: 40,
    quick_seconds: 6,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

/// "low (20%), medium(50%) and high (80%) load on the link".
pub(super) const LOADS: [u32; 3] = [LOW, MEDIUM, HIGH];
const LOW: u32 = 20;
const MEDIUM: u32 = 50;
pub(super) const HIGH: u32 = 80;
/// "the bottleneck link capacity is 500 Mbps", where an application is alone.
pub(super) const ALONE: u32 = 500;
/// "The bottleneck link capacity is 1000 Mbps", where there are two.
pub(super) const TOGETHER: u32 = 1_000;
/// "an aggregate bandwidth of 400 Mbps on average".
const LATENCY: u32 = 400;
/// Misses in per cent below which almost no flow misses its deadline, and above which many do: the text has no number.
const ALMOST_NONE: f64 = 5.0;
/// "very close to the RTT": within a tenth. The text has no number.
const CLOSE_US: f64 = 1.1 * ROUND_TRIP.as_nanos() as f64 / 1e3;

/// Traffic over the bottleneck; all rates in Mbit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    capacity: u32,
    /// Rates of LS, DS and CS on the wire; 0 is no traffic.
    demands: [u32; 3],
    spacing: Spacing,
}

impl Case {
    /// Two of them together on 1 Gbit/s, or one.
    const fn of(capacity: u32, demands: [u32; 3]) -> Self {
        Self { capacity, demands, spacing: Spacing::Random }
    }

    /// LS alone.
    const LATENCY: Self = Self::of(ALONE, [LATENCY, 0, 0]);

    /// LS alone, with flows in even steps.
    const EVEN: Self = Self { spacing: Spacing::Even, ..Self::LATENCY };

    /// DS alone on a link of this rate, at a load that counts for 500 Mbit/s.
    const fn deadline(capacity: u32, load: u32) -> Self {
        Self::of(capacity, [0, ALONE * load / 100, 0])
    }

    const fn completion(capacity: u32, load: u32) -> Self {
        Self::of(capacity, [0, 0, ALONE * load / 100])
    }

    /// LS beside DS.
    const fn beside_latency(load: u32) -> Self {
        Self::of(TOGETHER, [LATENCY, ALONE * load / 100, 0])
    }

    /// DS beside CS, both with loads that count for a link of this rate.
    const fn both(counts_for: u32, load: u32) -> Self {
        Self::of(TOGETHER, [0, counts_for * load / 100, counts_for * load / 100])
    }

    fn all() -> Vec<Self> {
        let by_load = |load| {
            [
                Self::deadline(ALONE, load),
                Self::deadline(TOGETHER, load),
                Self::completion(ALONE, load),
                Self::completion(TOGETHER, load),
                Self::beside_latency(load),
                Self::both(ALONE, load),
                Self::both(TOGETHER, load),
            ]
        };
        [Self::LATENCY, Self::EVEN].into_iter().chain(LOADS.into_iter().flat_map(by_load)).collect()
    }
}

/// One case, run with every seed.
type Row = crate::run::CaseRuns<Case, Metrics>;

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 2);
    let duration = Time::from_millis(run.choose(20_000, 3_000));
    let cases = Case::all();
    let figure = format!("{}, {duration}", ENTRY.id);
    let rows = run.rows(&figure, cases, &seeds, |&case, seed| one(run.simulator(), case, duration, seed))?;
    let notes = vec![
        "Where two applications meet on 1 Gbit/s, the text says that this \"is large enough to meet the demands of both types of flows\", so a load of 80 % is 400 Mbit/s of \
         each, as where they are alone on 500 Mbit/s. Series and remarks show two other readings: what is alone has 1 Gbit/s as well, so that only the company differs; and a load of \
         80 % is 800 Mbit/s of each, more than the link carries."
            .to_owned(),
        format!(
            "The text puts no number on \"almost no flows\" and \"many\": here these are less than {ALMOST_NONE} % of misses, and more. \"Very close\" is within a tenth. A factor \"up \
             to\" some number holds if the largest effect is between half of the text's and twice it: 4x is 2.5x to 7x."
        ),
    ];
    let figure = Figure { statements: statements(&rows), panels: panels(&rows), seeds, notes, ..Figure::default() };
    Ok(settings(figure)
        .with("time", format!("{} s, of which the first tenth does not count", duration.as_nanos() / 1_000_000_000)))
}

fn one(simulator: &Simulator, case: Case, duration: Time, seed: u64) -> Result<Metrics, Failed> {
    let Bottleneck { network, pairs } = bottleneck(Rate::from_mbit(u64::from(case.capacity)))?;
    let mut run = scenario("objectives", &network, duration);
    run.traffic = Application::ALL
        .into_iter()
        .zip(pairs)
        .zip(case.demands)
        .filter(|&(_, mbit)| mbit > 0)
        .map(|((application, pair), mbit)| {
            traffic(application, FlowEndpoints::Pairs(vec![pair]), f64::from(mbit), case.spacing)
        })
        .collect();
    System::Direct.carry(&mut run, &equal_tenants(&Application::ALL, SHARE))?;
    simulator.run(&run, seed).map(|outcome| Metrics::of(&outcome))
}

/// Runs of a case; none if it was not run.
fn runs(rows: &[Row], case: Case) -> &[Metrics] {
    rows.iter().find(|row| row.case == case).map_or(&[], |row| &row.runs)
}

fn tail(metrics: &Metrics) -> f64 {
    metrics.round_trip[1]
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    [latency(rows), deadlines_alone(rows), deadlines_beside(rows), completions(rows)].concat()
}

/// Fig. 1b.
fn latency(rows: &[Row]) -> Vec<Statement> {
    let [alone, even, beside] = [Case::LATENCY, Case::EVEN, Case::beside_latency(HIGH)].map(|case| runs(rows, case));
    let times = |metric: Metric, base: &[Metrics]| ratio_of_means(&each(beside, metric), &each(base, metric));
    let measured = |metric: Metric| {
        format!(
            "{:.0} us beside DS at {HIGH} %, {:.0} us alone: {:+.0} %",
            mean_of(beside, metric),
            mean_of(alone, metric),
            100.0 * (mean(&times(metric, alone)) - 1.0)
        )
    };
    let evenly = |metric: Metric| {
        format!(
            "Alone, packets of Poisson flows wait for each other, at a load of 80 %. Against flows in even steps ({:.0} us) it is {:+.0} %.",
            mean_of(even, metric),
            100.0 * (mean(&times(metric, even)) - 1.0)
        )
    };
    vec![
        Statement::mean_within(
            "II-B",
            "alone, LS packets see almost no queue: round trips very close to 300 us",
            0.0..=CLOSE_US,
            &each(alone, round_trip),
            format!("{:.0} us on average", mean_of(alone, round_trip)),
        )
        .tested(format!(
            "Poisson arrivals of two packets each, at 80 % of the link, have to queue whatever the transport does. The same flows in even steps take {:.0} us.",
            mean_of(even, round_trip)
        ), &each(even, round_trip)),
        Statement::mean_within(
            "II-B",
            "beside DS the tail of LS round trips grows by more than 300 %",
            4.0..=f64::INFINITY,
            &times(tail, alone),
            measured(tail),
        )
        .tested(evenly(tail), &times(tail, even)),
        Statement::mean_within(
            "II-B",
            "beside DS the average of LS round trips grows by more than 50 %",
            1.5..=f64::INFINITY,
            &times(round_trip, alone),
            measured(round_trip),
        )
        .tested(evenly(round_trip), &times(round_trip, even)),
    ]
}

/// Fig. 1c, DS alone.
fn deadlines_alone(rows: &[Row]) -> Vec<Statement> {
    let alone = |load| runs(rows, Case::deadline(ALONE, load));
    let all = |load| format!("{:.2} % at {load} %", mean_of(alone(load), missed));
    let mut statements: Vec<Statement> = [LOW, MEDIUM]
        .map(|load| {
            Statement::mean_within(
                "II-B",
                format!("alone, almost no DS flows miss deadlines at a load of {load} %"),
                0.0..=ALMOST_NONE,
                &each(alone(load), missed),
                all(load),
            )
        })
        .to_vec();
    statements.push(Statement::mean_within(
        "II-B",
        format!("alone, many DS flows miss deadlines at a load of {HIGH} %"),
        ALMOST_NONE..=f64::INFINITY,
        &each(alone(HIGH), missed),
        all(HIGH),
    ));
    statements
}

/// Fig. 1c, DS beside LS and beside CS.
fn deadlines_beside(rows: &[Row]) -> Vec<Statement> {
    let times = |base: u32, counts_for: u32, load: u32| {
        let [beside, alone] = [Case::both(counts_for, load), Case::deadline(base, load)];
        ratio_of_means(&each(runs(rows, beside), missed), &each(runs(rows, alone), missed))
    };
    let larger = |base: u32, counts_for: u32| {
        let both = [MEDIUM, HIGH].map(|load| times(base, counts_for, load));
        let at = usize::from(mean(&both[1]) > mean(&both[0]));
        let [first, second] = both;
        if at == 1 { second } else { first }
    };
    let beside = |load| runs(rows, Case::both(ALONE, load));
    let most = larger(ALONE, ALONE);
    let readings = |what: &str, metric: Metric, load: u32, alone: fn(u32, u32) -> Case| {
        format!(
            "A link that is twice as fast and as loaded serves each flow in half the time, so what is alone on 500 Mbit/s is worse off. Alone on 1 Gbit/s {what} {:.2} at \
             {load} %, and together with loads that count for 1 Gbit/s, which overload it, {:.2}.",
            mean_of(runs(rows, alone(TOGETHER, load)), metric),
            mean_of(runs(rows, Case::both(TOGETHER, load)), metric)
        )
    };
    let latency = [MEDIUM, HIGH].map(|load| each(runs(rows, Case::beside_latency(load)), missed));
    vec![
        Statement::mean_within(
            "II-B",
            "beside LS, many DS flows miss their deadlines",
            ALMOST_NONE..=f64::INFINITY,
            &latency[1],
            format!("{:.1} % at {HIGH} %, {:.1} % at {MEDIUM} %", mean(&latency[1]), mean(&latency[0])),
        ),
        Statement::claim(
            "II-B",
            format!("beside CS some DS flows miss their deadlines even at a load of {LOW} %"),
            beside(LOW).iter().any(|run| run.missed > 0.0),
            format!(
                "{:.3} % on average, {:.2} % alone",
                mean_of(beside(LOW), missed),
                mean_of(runs(rows, Case::deadline(ALONE, LOW)), missed)
            ),
        ),
        Statement::mean_within(
            "II-B",
            "beside CS the misses of DS grow up to 4x at medium and high loads",
            ranges::times(4.0),
            &most,
            format!(
                "{:.2}x at {MEDIUM} % ({:.1} %), {:.2}x at {HIGH} % ({:.1} %)",
                mean(&times(ALONE, ALONE, MEDIUM)),
                mean_of(beside(MEDIUM), missed),
                mean(&times(ALONE, ALONE, HIGH)),
                mean_of(beside(HIGH), missed),
            ),
        )
        .tested(readings("the misses in per cent are", missed, HIGH, Case::deadline), &times(TOGETHER, ALONE, HIGH)),
    ]
}

/// Fig. 1d.
fn completions(rows: &[Row]) -> Vec<Statement> {
    let of = |case| each(runs(rows, case), completion);
    let times = |base| ratio_of_means(&of(Case::both(ALONE, HIGH)), &of(Case::completion(base, HIGH)));
    let alone = times(ALONE);
    vec![
        Statement::mean_within(
            "II-B",
            "beside DS the AFCT of CS grows by more than 2x at high load",
            2.0..=f64::INFINITY,
            &alone,
            format!(
                "{:.2}x: {:.2} ms, {:.2} ms alone",
                mean(&alone),
                mean(&of(Case::both(ALONE, HIGH))),
                mean(&of(Case::completion(ALONE, HIGH)))
            ),
        )
        .tested(format!(
            "A link that is twice as fast and as loaded serves each flow in half the time. Alone on 1 Gbit/s CS takes {:.2} ms, and beside DS {:.1} times that; with loads that count \
             for 1 Gbit/s, which overload it, {:.0} ms.",
            mean(&of(Case::completion(TOGETHER, HIGH))),
            mean(&times(TOGETHER)),
            mean(&of(Case::both(TOGETHER, HIGH)))
        ), &times(TOGETHER)),
    ]
}

fn panels(rows: &[Row]) -> Vec<Panel> {
    let series = |name: &str, case: &dyn Fn(u32) -> Case, metric: Metric| Series {
        name: name.to_owned(),
        points: LOADS.iter().map(|&load| Point::of(f64::from(load), each(runs(rows, case(load)), metric))).collect(),
    };
    let panel = |name: &str, title: &str, y: Axis, bands: Vec<Band>, series: Vec<Series>| Panel {
        name: name.to_owned(),
        title: title.to_owned(),
        x: Axis::linear("load", "%"),
        y,
        form: Form::Joined,
        centre: Centre::Mean,
        is_timing: false,
        bands,
        series,
    };
    let base = ROUND_TRIP.as_nanos() as f64 / 1e3;
    vec![
        panel(
            "round-trips",
            "Round trips of LS packets, by the load of DS",
            Axis::linear("round-trip time", "us"),
            vec![Band { low: base, high: CLOSE_US, label: "very close to 300 us".to_owned() }],
            vec![
                series("alone, mean", &|_| Case::LATENCY, round_trip),
                series("alone, p99", &|_| Case::LATENCY, tail),
                series("alone in even steps, mean", &|_| Case::EVEN, round_trip),
                series("beside DS, mean", &Case::beside_latency, round_trip),
                series("beside DS, p99", &Case::beside_latency, tail),
            ],
        ),
        panel(
            "misses",
            "Deadlines that DS misses, by its load",
            Axis::linear("missed", "%"),
            Vec::new(),
            vec![
                series("alone", &|load| Case::deadline(ALONE, load), missed),
                series("beside LS", &Case::beside_latency, missed),
                series("beside CS", &|load| Case::both(ALONE, load), missed),
                series("alone on 1 Gbit/s", &|load| Case::deadline(TOGETHER, load), missed),
                series("beside CS, loads of 1 Gbit/s", &|load| Case::both(TOGETHER, load), missed),
            ],
        ),
        panel(
            "completion",
            "Average completion time of CS, by its load",
            Axis::logarithmic("AFCT", "ms"),
            Vec::new(),
            vec![
                series("alone", &|load| Case::completion(ALONE, load), completion),
                series("beside DS", &|load| Case::both(ALONE, load), completion),
                series("alone on 1 Gbit/s", &|load| Case::completion(TOGETHER, load), completion),
                series("beside DS, loads of 1 Gbit/s", &|load| Case::both(TOGETHER, load), completion),
            ],
        ),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    fn set(rows: &mut [Row], case: Case, change: impl Fn(&mut Metrics)) {
        rows.iter_mut().filter(|row| row.case == case).flat_map(|row| &mut row.runs).for_each(change);
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let metrics = Metrics { round_trip: [300.0, 400.0], missed: 1.0, completion: 2.0 };
        let row = |case: Case| Row { case, runs: vec![metrics; 2] };
        let mut rows: Vec<Row> = Case::all().into_iter().map(row).collect();
        set(&mut rows, Case::beside_latency(HIGH), |run| {
            *run = Metrics { round_trip: [500.0, 2_000.0], missed: 6.0, ..metrics }
        });
        set(&mut rows, Case::deadline(ALONE, HIGH), |run| run.missed = 10.0);
        set(&mut rows, Case::both(ALONE, MEDIUM), |run| run.missed = 4.0);
        set(&mut rows, Case::both(ALONE, HIGH), |run| run.completion = 5.0);
        type Rows = Vec<Row>;
        assert_each_can_change(
            &rows,
            |rows| statements(rows),
            &[
                ("packets alone wait", &|rows: &mut Rows| set(rows, Case::LATENCY, |run| run.round_trip[0] = 331.0)),
                ("the tail stays", &|rows: &mut Rows| set(rows, Case::LATENCY, |run| run.round_trip[1] = 501.0)),
                ("the mean stays", &|rows: &mut Rows| set(rows, Case::LATENCY, |run| run.round_trip[0] = 334.0)),
                ("low misses", &|rows: &mut Rows| set(rows, Case::deadline(ALONE, LOW), |run| run.missed = 6.0)),
                ("medium misses", &|rows: &mut Rows| set(rows, Case::deadline(ALONE, MEDIUM), |run| run.missed = 6.0)),
                ("no high misses", &|rows: &mut Rows| set(rows, Case::deadline(ALONE, HIGH), |run| run.missed = 4.0)),
                ("LS does no harm", &|rows: &mut Rows| set(rows, Case::beside_latency(HIGH), |run| run.missed = 4.0)),
                ("no low misses", &|rows: &mut Rows| set(rows, Case::both(ALONE, LOW), |run| run.missed = 0.0)),
                ("CS does no harm", &|rows: &mut Rows| set(rows, Case::both(ALONE, MEDIUM), |run| run.missed = 1.9)),
                ("CS does more harm", &|rows: &mut Rows| set(rows, Case::both(ALONE, MEDIUM), |run| run.missed = 8.1)),
                ("DS does no harm", &|rows: &mut Rows| set(rows, Case::both(ALONE, HIGH), |run| run.completion = 3.9)),
            ],
        );
    }
}
