//! Fig. 13: the fabric broker holds a tenant of 100 racks to a rate, regardless of its racks' load (6.2).

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_contracts::{Bandwidth, PerDirection, Policy, PolicyLevel};
use wayleave_scenarios::{
    FlowEndpoints, HostSchemeConfig, PacketKind, Parley, Scenario, Sharing, SharingChange, SharingEvent, Traffic,
};
use wayleave_sim::Outcome;
use wayleave_topology::builders::{Cabling, LeafSpine, build};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use super::testbed::{free, mean_between, policy, service, settings};
use crate::data::{Axis, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
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
/// A frame on the wire. The text does not state the packet size of the bursts. With frames of 9 kB, the offered
/// traffic, which is mostly dropped at once, takes a sixth of the time to simulate.
const FRAME: Bytes = Bytes::new(9_038);
/// "Within a few iterations (at t=30s)", in seconds.
const SETTLED: f64 = 30.0;
/// To the digits of the limits, in Mbit/s.
const DIGIT: f64 = 0.5;

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

/// Usage of the tenant: seconds, Mbit/s.
type Usage = Vec<(f64, f64)>;

/// Measurements.
#[derive(Clone, Debug)]
struct Data {
    racks: u64,
    phases: usize,
    /// The runs of each pattern.
    runs: Vec<(Pattern, Vec<Usage>)>,
}

impl Data {
    /// Of one pattern, in the settled part of a phase.
    fn settled(&self, pattern: Pattern, phase: usize) -> Vec<f64> {
        let from = (phase as u64 * PHASE) as f64;
        let of = self.runs.iter().filter(|(of, _)| *of == pattern).flat_map(|(_, runs)| runs);
        of.map(|used| mean_between(used, from + SETTLED, from + PHASE as f64)).collect()
    }

    /// Until when use was above half of its peak, before it settled: racks that sleep together make a dip, too.
    fn effect(&self) -> Vec<f64> {
        let all = self.runs.iter().flat_map(|(_, runs)| runs);
        all.map(|used| {
            let early = used.iter().filter(|(at, _)| *at < PHASE as f64);
            let peak = early.clone().map(|(_, rate)| *rate).fold(0.0, f64::max);
            early.filter(|(_, rate)| *rate > peak / 2.0).map(|(at, _)| *at + 0.5).fold(0.0, f64::max)
        })
        .collect()
    }
}

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(3, 1);
    let (racks, phases) = run.choose((100, LIMITS.len()), (20, 3));
    let patterns = [Pattern::OnOff, Pattern::Steady];
    let figure = format!("parley-fig13, {racks} racks, {phases} phases");
    let used = run.gather(&figure, (&patterns, &seeds), |&pattern, seed| {
        let scenario = fabric(pattern, racks, phases, seed)?;
        Ok(usage(&run.simulator().run(&scenario, seed)?))
    })?;
    let data = Data { racks, phases, runs: patterns.into_iter().zip(used).collect() };
    let figure = Figure {
        statements: statements(&data),
        panels: vec![panel(&data)],
        seeds,
        notes: [
            "UDP of a rack that may not send what it would is dropped at its machine, behind a queue of 128 kB.",
            "Points are means of a second. A burst lasts 5 s. A rack that sleeps leaves its share unused until the next round of the fabric \
             broker, and is held to its last limit meanwhile: a maximum holds also for who wants less. So on-off use is below the limit, by at most \
             the part of the time in which racks sleep, two sevenths.",
            "Frames have 9 kB; the text does not say how large packets are.",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..Figure::default()
    };
    Ok(settings(figure)
        .with("network", format!("{racks} racks with a host each, 100 Mbit/s between rack and fabric"))
        .with(
            "traffic",
            "UDP at 100 Mbit/s to another rack, at random, for 5 s, then nothing for 2 s (on-off) or the next (steady)",
        ))
}

fn statements(data: &Data) -> Vec<Statement> {
    let text = |values: &[f64], unit: &str| {
        let shown: Vec<String> = values.iter().map(|value| format!("{value:.1}")).collect();
        format!("{} {unit}", shown.join(", "))
    };
    let effect = data.effect();
    let measured = format!("use is below half of its peak for good after {}", text(&effect, "s"));
    let mut all = vec![
        Statement::mean_within("6.2", "the fabric broker takes 10 s to take effect", 5.0..=15.0, &effect, measured)
            .remark("The range is that of what is 10 s to its first digit."),
    ];
    for (phase, &limit) in LIMITS[..data.phases].iter().enumerate() {
        for (pattern, least) in [(Pattern::OnOff, 5.0 / 7.0), (Pattern::Steady, 1.0)] {
            let (begin, used, name) = (phase as u64 * PHASE, data.settled(pattern, phase), pattern.name());
            let claim_text = if phase == 0 {
                let settled = begin as f64 + SETTLED;
                format!("from {settled} s on the tenant is limited to its {limit} Mbit/s, despite its bursts ({name})")
            } else {
                format!("the tenant is limited to its {limit} Mbit/s from {begin} s on ({name})")
            };
            let range = limit as f64 * least - DIGIT..=limit as f64 + DIGIT;
            let measured = format!("{} from {} s on", text(&used, "Mbit/s"), begin as f64 + SETTLED);
            // A range of its own makes it another claim: traffic that pauses cannot use all of its limit.
            all.push(Statement::mean_within("6.2, Fig. 13", claim_text, range, &used, measured));
        }
    }
    all
}

fn panel(data: &Data) -> Panel {
    let mut series: Vec<Series> = data
        .runs
        .iter()
        .map(|(pattern, runs)| {
            let values = |at: usize| runs.iter().filter_map(|run| run.get(at)).map(|(_, value)| *value).collect();
            let times = runs.first().into_iter().flatten().enumerate();
            let points = times.map(|(at, (time, _))| Point::of(*time, values(at)));
            Series { name: pattern.name().to_owned(), points: points.collect() }
        })
        .collect();
    let limits = LIMITS[..data.phases].iter().enumerate().flat_map(|(phase, &limit)| {
        [phase, phase + 1].map(|phase| Point::of((phase as u64 * PHASE) as f64, vec![limit as f64]))
    });
    series.push(Series { name: "limit".to_owned(), points: limits.collect() });
    Panel::new(
        "usage",
        format!("Total sending rate of a tenant of {} racks", data.racks),
        (Axis::linear("time", "s"), Axis::logarithmic("sent", "Mbit/s")),
        Form::Joined,
        series,
    )
}

fn tenant(network: &Network, level: PolicyLevel, max: Option<u64>) -> Result<Policy, Failed> {
    let max = max.map(Rate::from_mbit);
    let sent = PerDirection { transmit: Bandwidth { max, ..Bandwidth::default() }, ..free() };
    policy(network, level, None, vec![service("tenant", 7001, sent)])
}

fn fabric(pattern: Pattern, racks: u64, phases: usize, seed: u64) -> Result<Scenario, Failed> {
    let (rate, propagation, mtu) = (Rate::from_gbit(1), Time::from_nanos(500), Bytes::new(9_000));
    let cabling = Cabling { rate, propagation, mtu, ..Cabling::default() };
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
        ..Sharing::new(HostSchemeConfig::Parley(Parley::default()), machine)
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
            let mut burst = Traffic::packets(&name, FlowEndpoints::Pairs(vec![(from, hosts[other])]), kind, FRAME);
            burst.start = Time::from_micros(at);
            burst.stop = Some(Time::from_micros(at + BURST * 1_000_000));
            burst.service = Some("tenant".to_owned());
            scenario.traffic.push(burst);
            at += (BURST + pattern.sleep()) * 1_000_000;
        }
    }
    Ok(scenario)
}

/// Returns the tenant's traffic from all racks together: seconds, Mbit/s.
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    /// Returns 1 Gbit/s for `until` seconds, and a part of each limit afterwards.
    fn used(until: f64, part: f64) -> Usage {
        let limit = |at: f64| LIMITS[(at / PHASE as f64) as usize] as f64;
        let times = (0..300).map(|second| f64::from(second) + 0.5);
        times.map(|at| (at, if at < until { 1e3 } else { part * limit(at) })).collect()
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let runs = |until, part| [Pattern::OnOff, Pattern::Steady].map(|of| (of, vec![used(until, part); 2])).to_vec();
        let data = Data { racks: 100, phases: LIMITS.len(), runs: runs(10.0, 1.0) };
        assert_each_can_change(
            &data,
            statements,
            &[
                ("it is at once", &|data: &mut Data| data.runs = runs(3.0, 1.0)),
                ("it is never", &|data: &mut Data| data.runs = runs(400.0, 1.0)),
                ("nothing is used", &|data: &mut Data| data.runs = runs(10.0, 0.0)),
                ("more is used", &|data: &mut Data| data.runs = runs(10.0, 1.1)),
            ],
        );
    }
}
