//! Fig. 8a: flows admitted until the first refusal, by scenario and system (5.1.3); and the sweeps of footnotes 2 and 3.

use super::published_runs::{self, Repeated};
use super::{
    FastFlowRule, Qjump, RerouteSettings, SCENARIOS, Silo, System, accepted, all_means_within, factors, small_cases,
    small_seeds, small_settings, spread,
};
use crate::data::{Axis, Band, Centre, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;
use crate::stats::{mean, ratio_of_means};

/// The eight delays of section 4.1.2, of which footnote 2 takes the best for Silo.
const DELAYS_US: [u64; 8] = [100, 500, 1_000, 1_500, 3_000, 6_000, 12_000, 24_000];

/// The n that are tried for QJump: powers of two, and 83, the largest whose epoch is within the tightest deadline of
/// Table 1, 2 ms (2 n P / R + 4 us = 1.996 ms). Footnote 3 does not list the tried values.
const APPLICATIONS: [u32; 9] = [2, 4, 8, 16, 32, 64, 83, 128, 256];

const PLAIN: System = System::Chameleon;
const REROUTING: System = System::Rerouting(RerouteSettings::OLDEST);
const NEWEST: System = System::Rerouting(RerouteSettings::NEWEST);
const MAIN: [System; 6] =
    [PLAIN, REROUTING, NEWEST, System::Silo(Silo::TEXT), System::Qjump(Qjump::FLAT), System::Wayleave];
/// Silo and QJump as the figure takes them, and every other reading.
const BASELINES: [System; 10] = [
    System::Silo(Silo::READINGS[0]),
    System::Silo(Silo::READINGS[1]),
    System::Silo(Silo::READINGS[2]),
    System::Silo(Silo::READINGS[3]),
    System::Silo(Silo::READINGS[4]),
    System::Silo(Silo::READINGS[5]),
    System::Silo(Silo::READINGS[6]),
    System::Qjump(Qjump::READINGS[0]),
    System::Qjump(Qjump::READINGS[1]),
    System::Qjump(Qjump::READINGS[2]),
];
/// The readings of Silo whose delay is swept.
const SWEPT_SILOS: [Silo; 4] = [Silo::TEXT, Silo::AROUND, Silo::UNSHAPED, Silo::PUBLISHED];
/// The readings of QJump whose n is swept.
const SWEPT_QJUMPS: [Qjump; 4] = [Qjump::READINGS[0], Qjump::READINGS[1], Qjump::READINGS[2], Qjump::WITH_HOSTS];

/// Flows admitted by a system.
#[derive(Clone, Debug)]
struct Admitted {
    system: System,
    /// Flows, by scenario, then by seed.
    by_scenario: Vec<Vec<f64>>,
    /// Share of the runs whose refused request fits no empty network either; only of Silo.
    hopeless: f64,
}

impl Admitted {
    fn measure(run: &Run, system: System, seeds: &[u64]) -> Result<Self, Failed> {
        let fillings = run.fillings(&small_cases(system, seeds))?;
        let hopeless =
            mean(&fillings.iter().map(|filling| f64::from(u8::from(filling.is_hopeless))).collect::<Vec<_>>());
        let by_scenario = accepted(&fillings).chunks(seeds.len()).map(<[f64]>::to_vec).collect();
        Ok(Self { system, by_scenario, hopeless })
    }

    fn series(&self) -> Series {
        let point = |(scenario, values): (usize, &Vec<f64>)| Point::of(scenario.to_string(), values.clone());
        Series { name: self.system.name(), points: SCENARIOS.zip(&self.by_scenario).map(point).collect() }
    }

    /// In scenario 8.
    fn last(&self) -> &[f64] {
        self.by_scenario.last().map_or(&[], Vec::as_slice)
    }

    /// This over another by scenario, a value for each seed.
    fn ratios(&self, other: &Self) -> Vec<Vec<f64>> {
        self.by_scenario.iter().zip(&other.by_scenario).map(|(mine, others)| ratio_of_means(mine, others)).collect()
    }

    /// This over another, seed by seed: both had the same requests.
    fn ratio_series(&self, other: &Self) -> Series {
        let paired = |(mine, others): (&Vec<f64>, &Vec<f64>)| {
            // Nothing admitted counts as one flow, so that a ratio remains a number.
            mine.iter().zip(others).map(|(mine, others)| mine / others.max(1.0)).collect::<Vec<f64>>()
        };
        let pairs = self.by_scenario.iter().zip(&other.by_scenario).map(paired);
        let points = SCENARIOS.zip(pairs).map(|(scenario, values)| Point::of(scenario.to_string(), values));
        Series { name: format!("over {}", other.system.name()), points: points.collect() }
    }

    /// The mean of the scenarios, seed by seed.
    fn mean_scenario(&self) -> Vec<f64> {
        let of_seed = |at: usize| mean(&self.by_scenario.iter().map(|values| values[at]).collect::<Vec<_>>());
        (0..self.last().len()).map(of_seed).collect()
    }
}

/// Measurements.
#[derive(Clone, Debug)]
struct Data {
    admitted: Vec<Admitted>,
    published: Vec<Repeated>,
}

impl Data {
    fn measure(run: &Run, seeds: &[u64]) -> Result<Self, Failed> {
        let mut systems: Vec<System> = MAIN.into_iter().chain(BASELINES).collect();
        systems.extend(silo_sweeps().into_iter().flatten());
        systems.extend(qjump_sweeps().into_iter().flatten());
        // All at once: threads have more to do, and the progress shows one list.
        let cases: Vec<_> = systems.iter().flat_map(|&system| small_cases(system, seeds)).collect();
        run.fillings(&cases)?;
        systems.dedup();
        let admitted =
            systems.into_iter().map(|system| Admitted::measure(run, system, seeds)).collect::<Result<_, _>>()?;
        Ok(Self { admitted, published: published_runs::repeat(run)? })
    }

    fn of(&self, system: System) -> &Admitted {
        // Every requested system was measured; an unmeasured one, which no figure has, would get the first result.
        self.admitted.iter().find(|of| of.system == system).unwrap_or(&self.admitted[0])
    }

    /// By the mean of the scenarios: places of a sweep, with a value for each seed.
    fn sweep(&self, systems: &[System], places: &[String]) -> Series {
        let point = |(&system, place): (&System, &String)| Point::of(place.clone(), self.of(system).mean_scenario());
        Series { name: systems[0].name(), points: systems.iter().zip(places).map(point).collect() }
    }
}

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = small_seeds(run);
    let data = Data::measure(run, &seeds)?;
    let figure = Figure {
        statements: statements(&data),
        panels: panels(&data),
        seeds,
        notes: notes(&data),
        ..Figure::default()
    };
    Ok(small_settings(figure))
}

fn notes(data: &Data) -> Vec<String> {
    let hopeless = |silo: Silo| format!("{:.0} %", 100.0 * data.of(System::Silo(silo)).hopeless);
    vec![
        "A dot is the mean of the runs, the thick bar its 95 % confidence interval (Student's t over the seeds), the thin \
         one reaches from the 1 % to the 99 % percentile; ratios in the panel are of runs with the same requests, and their dots are \
         medians. Ratios in statements are those of means, with the interval of a ratio (delta method)."
            .to_owned(),
        "The first refusal is that of the unluckiest request, so single runs differ by a factor of two.".to_owned(),
        format!(
            "Readings of Silo. It takes one of the shortest paths by a hash of the flow, and does not look at load (2.2: \"no optimization of routes\"; \
             3.1.2: \"the links supposed to be traversed\"); \"around full links\" takes the shortest path with room, which section 3.3 adds for Chameleon. \
             The model is Chameleon's: input lines cap arrival curves, and two frames delay the service (24.48 us of the 100 us). Without frames, without \
             input lines, and without both (d = b / R, to the letter of 3.1.1) are shown beside it. Without input lines, a run ends with a request that fits no \
             empty network either in {} of the runs ({} with d = b / R, {} as published): the flow's own burst grows by r D at each hop, and after five hops it alone is \
             more than a link can send in 0.1 ms. \"As published\" is the Silo mode of the library of Chameleon's authors (eces-dnm, README): no input lines, two \
             frames, growing bursts, a shortest path around full links. The example in that README has bursts that do not grow.",
            hopeless(Silo::UNSHAPED),
            hopeless(Silo::BURSTS),
            hopeless(Silo::PUBLISHED)
        ),
        "Readings of QJump: a flow that asks for more than its share of the rate takes one of the n places (closest to \"a maximum of n = 32 flows\"); \
         is refused (2.1.1); or takes as many places as it needs."
            .to_owned(),
    ]
}

fn panels(data: &Data) -> Vec<Panel> {
    let all = |of: &[System]| of.iter().map(|&system| data.of(system).series()).collect::<Vec<_>>();
    let panel = |name: &str, title: &str, series| {
        Panel::new(
            name,
            title,
            (
                Axis::categories("scenario of Table 2"),
                Axis::logarithmic("flows admitted until the first refusal", "flows"),
            ),
            Form::Apart,
            series,
        )
    };
    let sweep = |name: &str, title: &str, x: &str, series| Panel {
        x: Axis::categories(x),
        y: Axis::linear("flows, mean of the eight scenarios", "flows"),
        ..panel(name, title, series)
    };
    let compared = |system: &&System| !matches!(system, System::Qjump(Qjump { fast: FastFlowRule::Charged, .. }));
    let ratio = |&system: &System| data.of(PLAIN).ratio_series(data.of(system));
    vec![
        panel("accepted", "Flows admitted", all(&MAIN)),
        panel("baselines", "Readings of the baselines", all(&BASELINES)),
        Panel {
            y: Axis::logarithmic("Chameleon without rerouting / other scheme", "x"),
            centre: Centre::Median,
            bands: vec![Band { low: 2.0, high: 10.0, label: "the text: 2x to 10x".to_owned() }],
            ..panel("ratio", "Ratio of admitted flows", BASELINES.iter().filter(compared).map(ratio).collect())
        },
        sweep("silo-delay", "Footnote 2: Silo's delay", "delay of every link, ms", silo_series(data)),
        sweep("qjump-n", "Footnote 3: QJump's n", "n", qjump_series(data)),
    ]
}

fn statements(data: &Data) -> Vec<Statement> {
    let (plain, rerouting) = (data.of(PLAIN), data.of(REROUTING));
    let flat = data.of(System::Qjump(Qjump::FLAT));
    let over_silo = |silo: Silo| ratio_statement(plain, data.of(System::Silo(silo)), "Silo").reading(silo.reading());
    let refused = data.of(System::Qjump(Qjump::READINGS[1]));
    let mut all: Vec<Statement> = Silo::READINGS.into_iter().map(over_silo).collect();
    all.extend(over_qjump(data));
    all.extend([
        Statement::claim(
            "5.1.3",
            "QJump is blocked to a maximum of n = 32 flows",
            flat.by_scenario.concat().iter().all(|&flows| flows == 32.0),
            format!(
                "{} in all scenarios; {} if fast flows are refused",
                spread(&flat.by_scenario.concat()),
                spread(&refused.by_scenario.concat())
            ),
        ),
        all_means_within(
            "5.1.3",
            "rerouting admits more still, in every scenario",
            1.0..=f64::INFINITY,
            &rerouting.ratios(plain),
            factors(&rerouting.ratios(plain)),
        ),
        reroute_gain(plain, rerouting),
        best_delay(data),
        best_applications(data),
    ]);
    all.extend(published_runs::statements(&data.published));
    all
}

/// Returns a statement for each reading of QJump. With one place for each flow, scenario 8 left out is an experiment: there the published
/// controller's own flows are above the range of the text.
fn over_qjump(data: &Data) -> [Statement; 3] {
    let plain = data.of(PLAIN);
    Qjump::READINGS.map(|qjump| {
        let statement = ratio_statement(plain, data.of(System::Qjump(qjump)), "QJump").reading(qjump.reading());
        if qjump != Qjump::FLAT {
            return statement;
        }
        let seven = &plain.ratios(data.of(System::Qjump(qjump)))[..7];
        let [low, high] = published_runs::without_rerouting();
        let times = |flows: f64| flows / f64::from(qjump.applications);
        let experiment = format!(
            "scenario 8 left out, where the published controller's own {low} to {high} flows are {:.0}x to {:.0}x: {}",
            times(low),
            times(high),
            factors(seven)
        );
        statement.tested(experiment, &all_means_within("5.1.3", "", TWO_TO_TEN, seven, "").values)
    })
}

/// Range of "between 2x and 10x" (5.1.3).
const TWO_TO_TEN: std::ops::RangeInclusive<f64> = 2.0..=10.0;

fn ratio_statement(chameleon: &Admitted, other: &Admitted, name: &str) -> Statement {
    let ratios = chameleon.ratios(other);
    let claim_text = format!("without rerouting, 2x to 10x the flows of the others; here over {name}");
    all_means_within("5.1.3", claim_text, TWO_TO_TEN, &ratios, format!("{} over the eight scenarios", factors(&ratios)))
}

fn reroute_gain(plain: &Admitted, rerouting: &Admitted) -> Statement {
    let gains = rerouting.ratios(plain);
    let (Some(first), Some(last)) = (gains.first(), gains.last()) else {
        return Statement::claim("5.1.3", "", false, "");
    };
    let differences: Vec<f64> = last.iter().zip(first).map(|(last, first)| last - first).collect();
    let measured = format!("{:.2}x in scenario 1, {:.2}x in scenario 8", mean(first), mean(last));
    let claim_text = "the benefit of rerouting depends on the traffic: scenario 8 gains more than scenario 1";
    Statement::mean_within("5.1.3", claim_text, 0.0..=f64::INFINITY, &differences, measured)
}

fn silo_sweeps() -> [Vec<System>; 4] {
    SWEPT_SILOS.map(|of| DELAYS_US.map(|budget_us| System::Silo(Silo { budget_us, ..of })).to_vec())
}

fn qjump_sweeps() -> [Vec<System>; 4] {
    SWEPT_QJUMPS.map(|of| APPLICATIONS.map(|applications| System::Qjump(Qjump { applications, ..of })).to_vec())
}

/// Silo with each of the eight delays.
fn silo_series(data: &Data) -> Vec<Series> {
    let places = DELAYS_US.map(|us| format!("{}", us as f64 / 1e3));
    silo_sweeps().iter().map(|systems| data.sweep(systems, &places)).collect()
}

/// QJump with several n.
fn qjump_series(data: &Data) -> Vec<Series> {
    let places = APPLICATIONS.map(|n| n.to_string());
    qjump_sweeps().iter().map(|systems| data.sweep(systems, &places)).collect()
}

/// Returns the place of the largest mean of a sweep; the first of equals.
fn best(series: &Series) -> usize {
    let mean = |at: usize| series.points[at].summary.mean;
    (0..series.points.len()).fold(0, |best, at| if mean(at) > mean(best) { at } else { best })
}

fn best_delay(data: &Data) -> Statement {
    let sweeps = silo_series(data);
    let text = |series: &Series| {
        let best = best(series);
        format!(
            "{}: {} ms with {:.0} flows",
            series.name,
            DELAYS_US[best] as f64 / 1e3,
            series.points[best].summary.mean
        )
    };
    let measured = sweeps.iter().map(text).collect::<Vec<_>>().join("; ");
    let is_so = DELAYS_US[best(&sweeps[0])] == Silo::TEXT.budget_us;
    Statement::claim("footnote 2", "of the eight delays, 0.1 ms a link serves Silo best", is_so, measured)
}

fn best_applications(data: &Data) -> Statement {
    let sweeps = qjump_series(data);
    let text = |series: &Series| {
        let best = best(series);
        let of_32 = series.points[4].summary.mean;
        format!(
            "{}: n = {} with {:.0} flows, n = 32 with {of_32:.0}",
            series.name, APPLICATIONS[best], series.points[best].summary.mean
        )
    };
    let [measured, refused, charged, hosts] = [0, 1, 2, 3].map(|at| text(&sweeps[at]));
    let is_so = APPLICATIONS[best(&sweeps[0])] == Qjump::FLAT.applications;
    Statement::claim("footnote 3", "of several n, 32 serves QJump best", is_so, measured)
        .remark(
            "The tightest deadlines are 2 ms, and an epoch of 83 places is 1.996 ms. The text does not say which n were tried; 32 is two for each of 16 servers.",
        )
        .ruled_out([refused.as_str(), charged.as_str(), hosts.as_str()])
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::{Verdict, assert_each_can_change, claims};

    /// Flows in scenarios 1 to 7, and in scenario 8.
    fn admitted(system: System, most: f64, last: f64) -> Admitted {
        let runs = |flows: f64| [0.99, 1.0, 1.01].map(|factor| flows * factor).to_vec();
        let by_scenario = SCENARIOS.map(|scenario| runs(if scenario == 8 { last } else { most })).collect();
        Admitted { system, by_scenario, hopeless: 0.0 }
    }

    fn data() -> Data {
        let mut all =
            vec![admitted(PLAIN, 240.0, 720.0), admitted(REROUTING, 255.0, 1_600.0), admitted(NEWEST, 255.0, 1_500.0)];
        let flows = |system: System| match system {
            System::Silo(Silo { budget_us, .. }) => 8_000.0 / budget_us as f64,
            // Up to 83 all deadlines are met.
            System::Qjump(Qjump { applications, .. }) => f64::from(if applications > 83 { 10 } else { applications }),
            _ => 400.0,
        };
        let others = silo_sweeps().into_iter().flatten().chain(qjump_sweeps().into_iter().flatten()).chain(BASELINES);
        all.extend(
            others
                .map(|system| Admitted { by_scenario: vec![vec![flows(system); 3]; 8], ..admitted(system, 0.0, 0.0) }),
        );
        Data { admitted: all, published: published_runs::systems().into_iter().map(Repeated::with).collect() }
    }

    fn scale(data: &mut Data, system: System, scenarios: &[usize], factor: f64) {
        for one in data.admitted.iter_mut().filter(|one| one.system == system) {
            for &scenario in scenarios {
                one.by_scenario[scenario - 1].iter_mut().for_each(|flows| *flows *= factor);
            }
        }
    }

    fn of_others(data: &mut Data, scenarios: &[usize], factor: f64) {
        Silo::READINGS[1..].iter().for_each(|&silo| scale(data, System::Silo(silo), scenarios, factor));
    }

    fn of_qjumps(data: &mut Data, scenarios: &[usize], factor: f64) {
        Qjump::READINGS[1..].iter().for_each(|&qjump| scale(data, System::Qjump(qjump), scenarios, factor));
    }

    fn of_published(data: &mut Data, factor: f64) {
        data.published.iter_mut().flat_map(|one| &mut one.flows).for_each(|flows| *flows *= factor);
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        const ALL: [usize; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
        let (silo, flat) = (System::Silo(Silo::TEXT), System::Qjump(Qjump::FLAT));
        let with = |applications| System::Qjump(Qjump { applications, ..Qjump::FLAT });
        assert_each_can_change(
            &data(),
            statements,
            &[
                ("more of Silo", &|data| scale(data, silo, &ALL, 2.0)),
                ("less of Silo", &|data| scale(data, silo, &[8], 0.2)),
                ("more of QJump in scenario 8", &|data| scale(data, flat, &[8], 3.0)),
                ("less of Chameleon in scenario 8", &|data| scale(data, PLAIN, &[8], 0.4)),
                ("no gain of rerouting", &|data| scale(data, REROUTING, &[3], 0.9)),
                ("no more gain in scenario 8", &|data| scale(data, REROUTING, &[8], 0.46)),
                ("more than the published controller", &|data| of_published(data, 1.01)),
                ("less than the published controller", &|data| of_published(data, 0.99)),
                ("another delay", &|data| {
                    scale(data, System::Silo(Silo { budget_us: 500, ..Silo::TEXT }), &ALL, 9.0);
                }),
                ("more of all other readings of Silo", &|data| of_others(data, &ALL, 2.0)),
                ("less of all other readings of Silo", &|data| of_others(data, &[8], 0.2)),
                ("more of other readings of QJump", &|data| of_qjumps(data, &[8], 3.0)),
                ("less of other readings of QJump in scenario 1", &|data| of_qjumps(data, &[8, 1], 2.5)),
                ("nothing beyond 32", &|data| [64, 83].into_iter().for_each(|n| scale(data, with(n), &ALL, 0.1))),
            ],
        );
    }

    #[test]
    fn one_scenario_outside_the_range_is_a_difference() {
        let all = statements(&data());
        let verdicts = claims(&all).iter().take(2).map(|claim| claim.verdict()).collect::<Vec<_>>();
        // 720 flows over 32 are 22.5x; without scenario 8 it is 7.5x.
        assert_eq!(verdicts, [Verdict::Holds, Verdict::HoldsUnderReading]);
    }
}
