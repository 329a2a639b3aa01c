//! Fig. 13: the fabric broker holds a tenant of 100 racks to a rate, whatever its racks do (6.2).

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_contracts::{Bandwidth, PerDirection, Policy, PolicyLevel};
use wayleave_scenarios::{
    EdgeScheme, Ends, PacketKind, Parley, Scenario, Sharing, SharingChange, SharingEvent, Traffic,
};
use wayleave_sim::Outcome;
use wayleave_topology::builders::{Cabling, LeafSpine, build};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use super::testbed::{free, mean_between, policy, service, settings, simulate};
use crate::data::{Axis, Centre, Figure, Form, Panel, Point, Series};
use crate::run::{Failed, Run};
use crate::statement::Statement;

/// The tenant's limit in each phase, in Mbit/s.
const LIMITS: [u64; 6] = [20, 50, 100, 150, 20, 100];
/// Of a phase, in seconds.
const PHASE: u64 = 50;
/// Of a burst, and of the sleep behind it, in seconds.
const BURST: u64 = 5;
const SLEEP: u64 = 2;
/// Each rack's link to the fabric.
const UPLINK: Rate = Rate::from_mbit(100);
/// A full frame on the wire.
const FRAME: Bytes = Bytes::new(1_538);

/// The two patterns of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    OnOff,
    Steady,
}

impl Pattern {
    const fn name(self) -> &'static str {
        match self {
            Self::OnOff => "on-off",
            Self::Steady => "steady",
        }
    }

    const fn sleep(self) -> u64 {
        match self {
            Self::OnOff => SLEEP,
            Self::Steady => 0,
        }
    }
}

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(3, 1);
    let (racks, phases) = run.choose((100, LIMITS.len()), (20, 3));
    let patterns = [Pattern::OnOff, Pattern::Steady];
    let jobs: Vec<(Pattern, u64)> =
        patterns.iter().flat_map(|&pattern| seeds.iter().map(move |&seed| (pattern, seed))).collect();
    let used = run.map(&jobs, |&(pattern, seed)| {
        let scenario = fabric(pattern, racks, phases, seed)?;
        Ok(usage(&simulate(&scenario, seed)?))
    })?;
    let of = |pattern: Pattern| jobs.iter().zip(&used).filter(move |((of, _), _)| *of == pattern).map(|(_, used)| used);
    let series = patterns.iter().map(|&pattern| {
        let runs: Vec<&Vec<(f64, f64)>> = of(pattern).collect();
        let points = (0..runs.first().map_or(0, |run| run.len())).map(|at| {
            Point::of(runs[0][at].0, runs.iter().filter_map(|run| run.get(at)).map(|(_, value)| *value).collect())
        });
        Series { name: pattern.name().to_owned(), points: points.collect() }
    });
    let limits = LIMITS[..phases].iter().enumerate().flat_map(|(phase, &limit)| {
        [phase, phase + 1].map(|phase| Point::of((phase as u64 * PHASE) as f64, vec![limit as f64]))
    });
    let mut series: Vec<Series> = series.collect();
    series.push(Series { name: "limit".to_owned(), points: limits.collect() });
    let panel = Panel {
        name: "usage".to_owned(),
        title: format!("What a tenant of {racks} racks sends together"),
        x: Axis::linear("time", "s"),
        y: Axis::logarithmic("sent", "Mbit/s"),
        form: Form::Joined,
        centre: Centre::Mean,
        is_timing: false,
        bands: Vec::new(),
        series,
    };
    let mut statements = Vec::new();
    let all: Vec<&Vec<(f64, f64)>> = used.iter().collect();
    let range = |values: &[f64]| {
        let (low, high) =
            values.iter().fold((f64::MAX, 0.0_f64), |(low, high), &value| (low.min(value), high.max(value)));
        format!("{low:.1} to {high:.1} Mbit/s")
    };
    let early: Vec<f64> = all.iter().map(|used| mean_between(used, 1.0, 9.0)).collect();
    statements.push(Statement::claim(
        "6.2",
        "the fabric broker takes 10 s to take effect",
        early.iter().all(|&used| used > 10.0 * LIMITS[0] as f64),
        format!("{} from 1 to 9 s, in the mean", range(&early)),
    ));
    let settled: Vec<f64> = all.iter().map(|used| mean_between(used, 30.0, 50.0)).collect();
    statements.push(Statement::claim(
        "6.2",
        "it converges within a few iterations, at t = 30 s, and limits the tenant to < 20 Mbit/s, despite its bursts",
        settled.iter().all(|&used| used <= LIMITS[0] as f64 * 1.005),
        format!("{} from 30 to 50 s, in the mean", range(&settled)),
    ));
    for (phase, &limit) in LIMITS[..phases].iter().enumerate().skip(1) {
        let begin = (phase as u64 * PHASE) as f64;
        let later: Vec<f64> = all.iter().map(|used| mean_between(used, begin + 20.0, begin + PHASE as f64)).collect();
        statements.push(Statement::claim(
            "Fig. 13",
            format!("the limit is {limit} Mbit/s from {begin} s on"),
            later.iter().all(|&used| used <= limit as f64 * 1.005),
            format!("{} from {} s on, in the mean", range(&later), begin + 20.0),
        ));
    }
    let figure = Figure {
        statements,
        panels: vec![panel],
        seeds,
        notes: vec![
            "UDP of a rack that may not send what it would is dropped at its machine, behind a queue of 128 kB.".to_owned(),
            "Points are means of a second. A burst lasts 5 s, so that a rack that sleeps leaves its share unused until the \
             next round of the fabric broker: use is below the limit."
                .to_owned(),
        ],
        ..Figure::default()
    };
    Ok(settings(figure)
        .with("network", format!("{racks} racks with a host each, 100 Mbit/s between rack and fabric"))
        .with(
            "traffic",
            "UDP at 100 Mbit/s to another rack, at random, for 5 s, then nothing for 2 s (on-off) or the next (steady)",
        ))
}

fn tenant(network: &Network, level: PolicyLevel, max: Option<u64>) -> Result<Policy, Failed> {
    let max = max.map(Rate::from_mbit);
    let sent = PerDirection { transmit: Bandwidth { max, ..Bandwidth::default() }, ..free() };
    policy(network, level, None, vec![service("tenant", 7001, sent)])
}

fn fabric(pattern: Pattern, racks: u64, phases: usize, seed: u64) -> Result<Scenario, Failed> {
    let cabling = Cabling { rate: Rate::from_gbit(1), propagation: Time::from_nanos(500), ..Cabling::default() };
    let shape =
        LeafSpine { leaves: racks, spines: 1, hosts_per_leaf: 1, parallel: 1, uplink_rate: Some(UPLINK), cabling };
    let network = Arc::new(build::leaf_spine(&shape).map_err(Failed::broken)?);
    let hosts: Vec<NodeId> = network.hosts().collect();
    let length = phases as u64 * PHASE;
    let mut scenario = Scenario::new("fig. 13", network.clone(), Time::from_millis(length * 1_000));
    scenario.record.series = Some(Time::from_millis(1_000));
    let machine = tenant(&network, PolicyLevel::Machine, None)?;
    let mut sharing = Sharing {
        rack: Some(tenant(&network, PolicyLevel::Rack, None)?),
        fabric: Some(tenant(&network, PolicyLevel::Fabric, Some(LIMITS[0]))?),
        ..Sharing::new(EdgeScheme::Parley(Parley::default()), machine)
    };
    for (phase, &limit) in LIMITS[..phases].iter().enumerate().skip(1) {
        let what = SharingChange::Policy(Box::new(tenant(&network, PolicyLevel::Fabric, Some(limit))?));
        sharing.events.push(SharingEvent { at: Time::from_millis(phase as u64 * PHASE * 1_000), what });
    }
    scenario.sharing = Some(sharing);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for (rack, &from) in hosts.iter().enumerate() {
        // Racks do not keep step.
        let mut at = random.random_range(0..1_000_000);
        while at < length * 1_000_000 {
            let mut other = random.random_range(0..hosts.len() - 1);
            other += usize::from(other >= rack);
            let kind = PacketKind::ConstantRate { rate: UPLINK };
            let name = format!("{rack} at {at} us");
            let mut burst = Traffic::packets(&name, Ends::Pairs(vec![(from, hosts[other])]), kind, FRAME);
            burst.start = Time::from_micros(at);
            burst.stop = Some(Time::from_micros(at + BURST * 1_000_000));
            burst.service = Some("tenant".to_owned());
            scenario.traffic.push(burst);
            at += (BURST + pattern.sleep()) * 1_000_000;
        }
    }
    Ok(scenario)
}

/// What the tenant sends from all racks together: seconds, Mbit/s.
fn usage(outcome: &Outcome) -> Vec<(f64, f64)> {
    let end = outcome.simulated.as_nanos() * 1_000;
    let mut sum: Vec<(f64, f64)> = Vec::new();
    let racks = outcome.sharing.iter().flat_map(|sharing| &sharing.services).filter(|service| service.name == "tenant");
    for series in racks.flat_map(|service| &service.racks).filter_map(|rack| rack.transmit.as_ref()) {
        for (at, bin) in series.bins(end).enumerate() {
            if sum.len() <= at {
                sum.push(((bin.start_ps + bin.end_ps) as f64 / 2e12, 0.0));
            }
            sum[at].1 += bin.per_second() * 8.0 / 1e6;
        }
    }
    sum
}
