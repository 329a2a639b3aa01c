//! Fig. 18: how fast a network converges, by its load and by the window in which a host moves one pair only, and by how often is probed (section 5.6).

use wayleave_scenarios::{EdgeScheme, Scenario};
use wayleave_schemes::ufab::Settings;
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

use super::watched::{What, watch};
use super::{Contender, Pair, ROUND_TRIP_US, SHARED, background, fabric, generator, most, received, shuffle};
use crate::catalogue::{Entry, UFAB};
use crate::data::{Axis, Band, Centre, Figure, Form, Panel, Point, Series};
use crate::run::{Failed, Run};
use crate::statement::Statement;
use crate::stats::mean;
use crate::ufab::testbed::{Tenant, endless, policy, simulate};

pub(crate) const ENTRY: Entry = Entry {
    id: "ufab-fig18",
    runs: "convergence",
    paper: &UFAB,
    place: "Fig. 18",
    title: "Convergence by load, freeze window and how often is probed",
    full_seconds: 2_000,
    quick_seconds: 40,
    measure,
};

const BIN: Time = Time::from_micros(50);
/// Senders of the incast (5.6).
const SENDERS: usize = 16;

/// One load and one freeze window.
#[derive(Clone, Debug)]
struct Frozen {
    load: f64,
    window: u32,
    /// Of each run: until all have their minima, in us; and moves of pairs, for each of them.
    settles_us: Vec<f64>,
    moves: Vec<f64>,
}

/// The incast with a probe for each so many bytes.
#[derive(Clone, Debug)]
struct Probed {
    /// Round trips at the fair share; nothing for the 4 kB of the text.
    round_trips: Option<u64>,
    settles_us: Vec<f64>,
}

#[derive(Clone, Debug)]
struct Data {
    frozen: Vec<Frozen>,
    probed: Vec<Probed>,
}

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(5, 1);
    let pods = run.choose(4, 2);
    let duration = Time::from_micros(run.choose(3_000, 1_200));
    let windows: Vec<u32> = run.choose(vec![1, 2, 5, 10, 20, 50, 100], vec![1, 10, 50]);
    let cases: Vec<(f64, u32)> =
        [0.5, 0.7].iter().flat_map(|&load| windows.iter().map(move |&window| (load, window))).collect();
    let jobs: Vec<_> = cases.iter().flat_map(|&case| seeds.iter().map(move |&seed| (case, seed))).collect();
    let mut found = run.map(&jobs, |&((load, window), seed)| frozen(pods, load, window, duration, seed))?.into_iter();
    let frozen = cases.iter().map(|&(load, window)| {
        let (settles_us, moves) = found.by_ref().take(seeds.len()).unzip();
        Frozen { load, window, settles_us, moves }
    });
    let frozen = frozen.collect();
    let rounds = run.choose(vec![None, Some(1), Some(2), Some(4), Some(8)], vec![None, Some(4)]);
    let jobs: Vec<_> = rounds.iter().flat_map(|&round| seeds.iter().map(move |&seed| (round, seed))).collect();
    let mut found = run.map(&jobs, |&(round, seed)| probed(pods, round, duration, seed))?.into_iter();
    let probed = rounds
        .iter()
        .map(|&round_trips| Probed { round_trips, settles_us: found.by_ref().take(seeds.len()).collect() });
    let data = Data { frozen, probed: probed.collect() };
    let notes = vec![
        format!(
            "The text does not say what converges. Here every server has four tenants with one other server each, and sends to each of these at the tenant's minimum, to all together at the load in the mean; all begin at the same time, on paths that they choose while all are empty. The network has \
             converged at the end of the last interval of {} us in which a pair receives less than 80 % of its minimum. A move is any path that is taken after the first one.",
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
        sharing.scheme = EdgeScheme::Ufab(settings);
    }
    scenario.traffic = traffic;
    Ok(scenario)
}

fn frozen(pods: u64, load: f64, window: u32, duration: Time, seed: u64) -> Result<(f64, f64), Failed> {
    let network = fabric(pods, 8)?;
    let hosts: Vec<NodeId> = network.hosts().collect();
    let pairs = background(&hosts, load, &mut generator(seed));
    let wanted: Vec<(String, NodeId, f64)> = pairs
        .iter()
        .flat_map(|Pair { tenant: Tenant { name, min, hosts }, .. }| {
            hosts.iter().map(|&host| (name.clone(), host, min.bits_per_second() as f64 / 1e9))
        })
        .collect();
    let settings = Settings { freeze: window, ..super::fast() };
    let (outcome, notes) = watch(&scenario(&network, pairs, settings, duration)?, seed)?;
    let bin_us = BIN.as_nanos() as f64 / 1e3;
    let settles = wanted.iter().map(|(name, to, min)| {
        let rates = received(&outcome, name, *to);
        rates.iter().rposition(|&rate| rate < 0.8 * min).map_or(0.0, |last| (last + 1) as f64 * bin_us)
    });
    let settles_us = most(&settles.collect::<Vec<f64>>());
    let taken = notes.iter().filter(|note| note.what == What::Takes).count();
    Ok((settles_us, taken.saturating_sub(wanted.len()) as f64 / wanted.len() as f64))
}

/// The incast beside a background of half of the load: until each of its senders has its fair share but for a quarter, in us.
fn probed(pods: u64, round_trips: Option<u64>, duration: Time, seed: u64) -> Result<f64, Failed> {
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
    let outcome = simulate(&scenario(&network, pairs, Settings { probe_every, ..usual }, duration)?, seed)?;
    let from_start = (start.as_nanos() / BIN.as_nanos()) as usize;
    let late = (0..SENDERS).map(|at| {
        let rates = received(&outcome, &format!("vf{}", at + 1), to).split_off(from_start);
        // Two intervals together: a fair share is 24 frames in one.
        let is_off = |rates: &[f64]| !(0.75 * fair..=1.25 * fair).contains(&mean(rates));
        rates.windows(2).rposition(is_off).map_or(0.0, |last| (last + 2) as f64 * BIN.as_nanos() as f64 / 1e3)
    });
    Ok(most(&late.collect::<Vec<f64>>()))
}

fn statements(data: &Data) -> Vec<Statement> {
    let at = |load: f64| data.frozen.iter().filter(move |one| one.load == load);
    let light: Vec<f64> = at(0.5).map(|one| mean(&one.settles_us)).collect();
    let moves = |load: f64| -> Vec<f64> { at(load).map(|one| mean(&one.moves)).collect() };
    let ends = |load: f64| {
        let moves = moves(load);
        [moves.first().copied().unwrap_or(f64::NAN), moves.last().copied().unwrap_or(f64::NAN)]
    };
    let chosen = at(0.7).find(|one| one.window == 10);
    let chosen = chosen.map_or(f64::NAN, |one| mean(&one.settles_us));
    let quickest = at(0.7).map(|one| mean(&one.settles_us)).fold(f64::INFINITY, f64::min);
    let shown = |load: f64| {
        at(load)
            .map(|one| format!("{}: {:.0} us, {:.2} moves", one.window, mean(&one.settles_us), mean(&one.moves)))
            .collect::<Vec<_>>()
            .join("; ")
    };
    let usual = data.probed.first().map_or(f64::NAN, |one| mean(&one.settles_us));
    let lazy: Vec<f64> = data.probed.iter().skip(1).map(|one| mean(&one.settles_us) / usual).collect();
    let [eager, patient] = ends(0.7);
    vec![
        Statement::within(
            "5.6, Fig. 18a",
            "at a load of 0.5 the network converges within 500 us with any freeze window",
            f64::NEG_INFINITY..=500.0,
            &light,
            shown(0.5),
        )
        .remark("By window: until the last pair has its minimum, and moves a pair."),
        Statement::claim("5.6, Fig. 18b", "at 0.7 a longer window means fewer moves", patient < eager, shown(0.7)),
        Statement::within(
            "5.6, Fig. 18b",
            "a window of 10 round trips keeps the time low: no longer than twice that of the best one",
            f64::NEG_INFINITY..=2.0,
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
                    let name = one.round_trips.map_or("4 kB".to_owned(), |count| format!("{count} round trips"));
                    format!("{name}: {:.0} us", mean(&one.settles_us))
                })
                .collect::<Vec<_>>()
                .join("; "),
        ),
    ]
}

fn panels(data: &Data) -> Vec<Panel> {
    let by_load = |what: fn(&Frozen) -> &Vec<f64>| {
        [0.5, 0.7].map(|load| Series {
            name: format!("load {load}"),
            points: (data.frozen.iter().filter(|one| one.load == load))
                .map(|one| Point::of(f64::from(one.window), what(one).clone()))
                .collect(),
        })
    };
    let panel = |name: &str, title: &str, x: Axis, y: Axis, form, bands, series| Panel {
        name: name.to_owned(),
        title: title.to_owned(),
        x,
        y,
        form,
        centre: Centre::Mean,
        is_timing: false,
        bands,
        series,
    };
    let window = || Axis::logarithmic("freeze window", "round trips");
    let half = vec![Band { low: 0.0, high: 500.0, label: "at a load of 0.5".to_owned() }];
    let name = |one: &Probed| one.round_trips.map_or("4 kB".to_owned(), |count| format!("{count} round trips"));
    let probed = data.probed.iter().map(|one| Point::of(name(one), one.settles_us.clone())).collect();
    vec![
        panel(
            "time",
            "Until all have their minima",
            window(),
            Axis::linear("time", "us"),
            Form::Joined,
            half,
            by_load(|one| &one.settles_us).to_vec(),
        ),
        panel(
            "moves",
            "Moves of a pair",
            window(),
            Axis::linear("moves", ""),
            Form::Joined,
            Vec::new(),
            by_load(|one| &one.moves).to_vec(),
        ),
        panel(
            "probing",
            "16 to 1 beside half of the load, by how often is probed",
            Axis::categories("a probe every"),
            Axis::linear("time", "us"),
            Form::Apart,
            Vec::new(),
            vec![Series { name: "uFAB".to_owned(), points: probed }],
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    fn every_verdict_can_change() {
        let frozen = |(load, window, moves): (f64, u32, f64)| Frozen {
            load,
            window,
            settles_us: vec![300.0],
            moves: vec![moves],
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
                ("slow at half", &|data: &mut Data| data.frozen[0].settles_us = vec![600.0]),
                ("more moves with patience", &|data: &mut Data| data.frozen[3].moves = vec![3.0]),
                ("ten are slow", &|data: &mut Data| data.frozen[3].settles_us = vec![900.0]),
                ("lazy is slow", &|data: &mut Data| data.probed[1].settles_us = vec![500.0]),
                ("lazy is quick", &|data: &mut Data| data.probed[1].settles_us = vec![50.0]),
            ],
        );
    }
}
