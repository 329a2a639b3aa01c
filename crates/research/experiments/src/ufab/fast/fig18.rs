//! Fig. 18: speed of convergence, by the network's load, by the window in which a host moves only one pair, and by
//! the probing interval (section 5.6).

use wayleave_scenarios::{HostSchemeConfig, Scenario};
use wayleave_schemes::host::ufab::Settings;
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

use super::watched::{NoteKind, watch};
use super::{Contender, Pair, ROUND_TRIP_US, SHARED, background, fabric, generator, most, received, shuffle};
use crate::catalogue::{Entry, UFAB};
use crate::checkpoint::stored;
use crate::data::{Axis, Band, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;
use crate::stats::mean;
use crate::ufab::testbed::{Tenant, endless, policy};

pub(crate) const ENTRY: Entry = Entry {
    id: "ufab-fig18",
    runs: "convergence",
    paper: &UFAB,
    place: "Fig. 18",
    title: "Convergence by load, freeze window and probing interval",
    full_runs: 5,
    full_seconds: 600,
    quick_seconds: 8,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

const BIN: Time = Time::from_micros(50);
/// "The whole network can converge within 500 us" (5.6).
const WITHIN_US: f64 = 500.0;
/// Senders of the incast (5.6).
const SENDERS: usize = 16;

/// One load and one freeze window.
#[derive(Clone, Debug)]
struct Frozen {
    load: f64,
    window: u32,
    runs: Vec<Settled>,
}

/// One run of the experiment.
#[derive(Clone, Debug)]
struct Settled {
    /// Until all have their minima in each interval, and in each two intervals together; in us.
    single_us: f64,
    double_us: f64,
    /// Average rate, relative to its minimum and from 500 us on, of the pair that is last in single intervals.
    last_has: f64,
    /// Moves of a pair.
    moves: f64,
}

stored!(Settled { single_us, double_us, last_has, moves });

impl Frozen {
    fn each(&self, of: impl Fn(&Settled) -> f64) -> Vec<f64> {
        self.runs.iter().map(of).collect()
    }

    fn mean(&self, of: impl Fn(&Settled) -> f64) -> f64 {
        mean(&self.each(of))
    }
}

/// The incast with one probe per given number of bytes.
#[derive(Clone, Debug)]
struct Probed {
    /// Round trips at the fair share; nothing for the MTU of the text (4.1).
    round_trips: Option<u64>,
    settles_us: Vec<f64>,
}

#[derive(Clone, Debug)]
struct Data {
    frozen: Vec<Frozen>,
    probed: Vec<Probed>,
}

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 1);
    let pods = run.choose(4, 2);
    let duration = Time::from_micros(run.choose(3_000, 1_200));
    let windows: Vec<u32> = run.choose(vec![1, 2, 5, 10, 20, 50, 100], vec![1, 10, 50]);
    let cases: Vec<(f64, u32)> =
        [0.5, 0.7].iter().flat_map(|&load| windows.iter().map(move |&window| (load, window))).collect();
    let name = |part: &str| format!("{} {part}, {pods} pods, {duration}", ENTRY.id);
    let found = run.gather(&name("a"), (&cases, &seeds), |&(load, window), seed| {
        frozen(run.simulator(), pods, load, window, duration, seed)
    })?;
    let frozen = cases.iter().zip(found).map(|(&(load, window), runs)| Frozen { load, window, runs }).collect();
    let rounds = run.choose(vec![None, Some(1), Some(2), Some(4), Some(8)], vec![None, Some(4)]);
    let found =
        run.gather(&name("c"), (&rounds, &seeds), |&round, seed| probed(run.simulator(), pods, round, duration, seed))?;
    let probed =
        rounds.iter().zip(found).map(|(&round_trips, settles_us)| Probed { round_trips, settles_us }).collect();
    let data = Data { frozen, probed };
    let notes = vec![
        format!(
            "The text does not say what converges. Here every server has four tenants with one other server each, and sends to each of these at the tenant's minimum, to all together at the load in the mean; all begin at the same time, on paths that they choose while all are empty. The network has \
             converged at the end of the last interval of {} us in which a pair receives less than 80 % of its minimum. A move is any path that is taken after the first one. The same with every two intervals together is drawn beside it.",
            BIN.as_nanos() / 1_000
        ),
        format!(
            "Probing every n round trips is a probe for every n fair shares of the incast in a round trip of {ROUND_TRIP_US:.1} us; the edge counts bytes, and not time."
        ),
    ];
    let panels = panels(&data);
    let figure = Figure { statements: statements(&data), panels, seeds, notes, ..Figure::default() };
    Ok(figure
        .with("network", format!("{pods} pods of the fabric, 1:1"))
        .with("time", format!("{} us", duration.as_nanos() / 1_000)))
}

/// The scenario of some pairs under uFAB.
fn scenario(
    network: &std::sync::Arc<wayleave_topology::Network>,
    pairs: Vec<Pair>,
    settings: Settings,
    duration: Time,
) -> Result<Scenario, Failed> {
    let (tenants, traffic): (Vec<Tenant>, Vec<_>) = pairs.into_iter().map(|pair| (pair.tenant, pair.traffic)).unzip();
    let mut scenario = Scenario::new("convergence", network.clone(), duration);
    scenario.record.series = Some(BIN);
    Contender::Ufab.share(&mut scenario, policy(network, &tenants)?);
    if let Some(sharing) = &mut scenario.sharing {
        sharing.scheme = HostSchemeConfig::Ufab(settings);
    }
    scenario.traffic = traffic;
    Ok(scenario)
}

fn frozen(
    simulator: &Simulator,
    pods: u64,
    load: f64,
    window: u32,
    duration: Time,
    seed: u64,
) -> Result<Settled, Failed> {
    let network = fabric(pods, 8)?;
    let hosts: Vec<NodeId> = network.hosts().collect();
    let pairs = background(&hosts, load, &mut generator(seed));
    let wanted: Vec<(String, NodeId, f64)> = pairs
        .iter()
        .flat_map(|Pair { tenant: Tenant { name, min, hosts }, .. }| {
            hosts.iter().map(|&host| (name.clone(), host, min.bits_per_second() as f64 / 1e9))
        })
        .collect();
    let settings = Settings { migration_backoff: window, ..super::fast() };
    let (outcome, notes) = watch(simulator, &scenario(&network, pairs, settings, duration)?, seed)?;
    // Of each pair, what it has of its minimum, interval by interval.
    let parts = wanted
        .iter()
        .map(|(name, to, min)| received(&outcome, name, *to).into_iter().map(|rate| rate / min).collect::<Vec<f64>>());
    let parts: Vec<Vec<f64>> = parts.collect();
    let late = (WITHIN_US / bin_us()) as usize;
    let last = parts.iter().max_by(|one, other| settled_us(one, 1).total_cmp(&settled_us(other, 1)));
    let taken = notes.iter().filter(|note| note.what == NoteKind::Takes).count();
    let all = |together| most(&parts.iter().map(|parts| settled_us(parts, together)).collect::<Vec<_>>());
    Ok(Settled {
        single_us: all(1),
        double_us: all(2),
        last_has: last.and_then(|parts| parts.get(late..)).map_or(f64::NAN, mean),
        moves: taken.saturating_sub(wanted.len()) as f64 / wanted.len() as f64,
    })
}

fn bin_us() -> f64 {
    BIN.as_nanos() as f64 / 1e3
}

/// Returns the end of the last time in which a pair has less than 80 % of its minimum, in us; `together` intervals
/// are averaged.
fn settled_us(parts: &[f64], together: usize) -> f64 {
    let last = parts.windows(together).rposition(|parts| mean(parts) < 0.8);
    last.map_or(0.0, |last| (last + together) as f64 * bin_us())
}

/// The incast beside a background of half of the load: until each of its senders has its fair share but for a quarter, in us.
fn probed(
    simulator: &Simulator,
    pods: u64,
    round_trips: Option<u64>,
    duration: Time,
    seed: u64,
) -> Result<f64, Failed> {
    let network = fabric(pods, 8)?;
    let mut random = generator(seed);
    let mut hosts: Vec<NodeId> = network.hosts().collect();
    shuffle(&mut hosts, &mut random);
    let Some((&to, others)) = hosts.split_first() else { return Err(Failed::broken("a fabric without servers")) };
    let mut pairs = background(others, 0.5, &mut random);
    let start = Time::from_nanos(duration.as_nanos() / 3);
    let fair = SHARED / SENDERS as f64;
    for (at, &from) in others.iter().take(SENDERS).enumerate() {
        let name = format!("vf{}", at + 1);
        let traffic = endless(&name, from, to, start);
        pairs.push(Pair { tenant: Tenant { name, min: Rate::from_gbit(2), hosts: vec![from, to] }, traffic });
    }
    let bytes = |count: u64| Bytes::new((fair * ROUND_TRIP_US * 125.0) as u64 * count);
    let usual = super::fast();
    let probe_every = round_trips.map_or(usual.probe_every, bytes);
    let outcome = simulator.run(&scenario(&network, pairs, Settings { probe_every, ..usual }, duration)?, seed)?;
    let from_start = (start.as_nanos() / BIN.as_nanos()) as usize;
    let late = (0..SENDERS).map(|at| {
        let rates = received(&outcome, &format!("vf{}", at + 1), to).split_off(from_start);
        // Two intervals together: a fair share is 24 frames in one.
        let is_off = |rates: &[f64]| !(0.75 * fair..=1.25 * fair).contains(&mean(rates));
        rates.windows(2).rposition(is_off).map_or(0.0, |last| (last + 2) as f64 * bin_us())
    });
    Ok(most(&late.collect::<Vec<f64>>()))
}

fn statements(data: &Data) -> Vec<Statement> {
    let at = |load: f64| data.frozen.iter().filter(move |one| one.load == load);
    let light = |of: fn(&Settled) -> f64| -> Vec<f64> { at(0.5).map(|one| one.mean(of)).collect() };
    let moves: Vec<f64> = at(0.7).map(|one| one.mean(|run| run.moves)).collect();
    let [eager, patient] = [moves.first(), moves.last()].map(|moves| moves.copied().unwrap_or(f64::NAN));
    let chosen = at(0.7).find(|one| one.window == 10);
    let chosen = chosen.map_or(f64::NAN, |one| one.mean(|run| run.single_us));
    let quickest = at(0.7).map(|one| one.mean(|run| run.single_us)).fold(f64::INFINITY, f64::min);
    let shown = |load: f64| {
        let one = |one: &Frozen| {
            let [time, moves] = [one.mean(|run| run.single_us), one.mean(|run| run.moves)];
            format!("{}: {time:.0} us, {moves:.2} moves", one.window)
        };
        at(load).map(one).collect::<Vec<_>>().join("; ")
    };
    let usual = data.probed.first().map_or(f64::NAN, |one| mean(&one.settles_us));
    let lazy: Vec<f64> = data.probed.iter().skip(1).map(|one| mean(&one.settles_us) / usual).collect();
    vec![
        Statement::within(
            "5.6, Fig. 18a",
            "at a load of 0.5 the network converges within 500 us with any freeze window",
            0.0..=WITHIN_US,
            &light(|run| run.single_us),
            shown(0.5),
        )
        .remark("By window: until the last pair has its minimum, and moves a pair.")
        .tested(steady_pairs_fluctuate(at(0.5)), &[most_of_double(at(0.5))]),
        Statement::claim("5.6, Fig. 18b", "at 0.7 a longer window means fewer moves", patient < eager, shown(0.7)),
        Statement::within(
            "5.6, Fig. 18b",
            "a window of 10 round trips keeps the time low: no longer than twice that of the best one",
            0.0..=2.0,
            &[chosen / quickest],
            format!("{chosen:.0} us, and {quickest:.0} us with the best"),
        ),
        Statement::within(
            "5.6, Fig. 18c",
            "with a probe every n round trips rates converge in about the same time: half or twice of it",
            0.5..=2.0,
            &lazy,
            data.probed
                .iter()
                .map(|one| {
                    let name = one.round_trips.map_or("MTU".to_owned(), |count| format!("{count} round trips"));
                    format!("{name}: {:.0} us", mean(&one.settles_us))
                })
                .collect::<Vec<_>>()
                .join("; "),
        ),
    ]
}

/// Returns the longest time until all pairs have their minima, counted by two intervals together.
fn most_of_double<'a>(light: impl Iterator<Item = &'a Frozen>) -> f64 {
    most(&light.flat_map(|one| &one.runs).map(|run| run.double_us).collect::<Vec<_>>())
}

/// Returns a text about the last pairs in a late network: they converged long before, and have single intervals below
/// 80 %.
fn steady_pairs_fluctuate<'a>(light: impl Iterator<Item = &'a Frozen> + Clone) -> String {
    let runs: Vec<&Settled> = light.clone().flat_map(|one| &one.runs).collect();
    let late: Vec<&&Settled> = runs.iter().filter(|run| run.single_us > WITHIN_US).collect();
    let has: Vec<f64> = late.iter().map(|run| 100.0 * run.last_has).collect();
    let [least, highest] = [f64::min, f64::max].map(|end| has.iter().copied().fold(f64::NAN, end));
    let double_us = most_of_double(light);
    format!(
        "two intervals together: single ones of pairs that have converged fluctuate. In {} of {} runs the last interval below 80 % is later than {WITHIN_US} us; the pair that has it gets {least:.0} to {highest:.0} % of its minimum in the mean of the time from {WITHIN_US} us on. \
         With two intervals together all have theirs within {double_us:.0} us in every run",
        late.len(),
        runs.len(),
    )
}

fn panels(data: &Data) -> Vec<Panel> {
    let by_load = |suffix: &str, what: fn(&Settled) -> f64| {
        [0.5, 0.7].map(|load| Series {
            name: format!("load {load}{suffix}"),
            points: (data.frozen.iter().filter(|one| one.load == load))
                .map(|one| Point::of(f64::from(one.window), one.each(what)))
                .collect(),
        })
    };
    let panel = |name: &str, title: &str, x: Axis, y: Axis, form, bands, series| Panel {
        bands,
        ..Panel::new(name, title, (x, y), form, series)
    };
    let window = || Axis::logarithmic("freeze window", "round trips");
    let half = vec![Band { low: 0.0, high: WITHIN_US, label: "at a load of 0.5".to_owned() }];
    let name = |one: &Probed| one.round_trips.map_or("MTU".to_owned(), |count| format!("{count} round trips"));
    let probed = data.probed.iter().map(|one| Point::of(name(one), one.settles_us.clone())).collect();
    vec![
        panel(
            "time",
            "Until all have their minima",
            window(),
            Axis::linear("time", "us"),
            Form::Joined,
            half,
            [by_load("", |run| run.single_us), by_load(", two intervals", |run| run.double_us)].concat(),
        ),
        panel(
            "moves",
            "Moves of a pair",
            window(),
            Axis::linear("moves", ""),
            Form::Joined,
            Vec::new(),
            by_load("", |run| run.moves).to_vec(),
        ),
        panel(
            "probing",
            "16 to 1 beside half of the load, by how often is probed",
            Axis::categories("probing interval"),
            Axis::linear("time", "us"),
            Form::Apart,
            Vec::new(),
            vec![Series { name: "uFAB".to_owned(), points: probed }],
        ),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    fn an_interval_that_is_low_between_two_others_is_not_low_with_its_neighbour() {
        let parts = [0.1, 0.6, 1.0, 1.0, 0.79, 0.95, 1.0];
        assert_eq!((settled_us(&parts, 1), settled_us(&parts, 2)), (250.0, 100.0));
        assert_eq!(settled_us(&[0.9; 5], 2), 0.0);
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let frozen = |(load, window, moves): (f64, u32, f64)| {
            let run = Settled { single_us: 300.0, double_us: 200.0, last_has: 1.0, moves };
            Frozen { load, window, runs: vec![run] }
        };
        let probed = |round_trips| Probed { round_trips, settles_us: vec![200.0] };
        let data = Data {
            frozen: [(0.5, 1, 0.2), (0.5, 10, 0.1), (0.7, 1, 2.0), (0.7, 10, 0.5)].map(frozen).to_vec(),
            probed: vec![probed(None), probed(Some(4))],
        };
        assert_each_can_change(
            &data,
            statements,
            &[
                ("slow at half", &|data: &mut Data| data.frozen[0].runs[0].single_us = 600.0),
                ("more moves with patience", &|data: &mut Data| data.frozen[3].runs[0].moves = 3.0),
                ("ten are slow", &|data: &mut Data| data.frozen[3].runs[0].single_us = 900.0),
                ("lazy is slow", &|data: &mut Data| data.probed[1].settles_us = vec![500.0]),
                ("lazy is quick", &|data: &mut Data| data.probed[1].settles_us = vec![50.0]),
            ],
        );
    }
}
