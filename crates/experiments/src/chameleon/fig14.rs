//! Fig. 14 (section 5.4.1): delays of admitted flows against what was promised, on real packets. Needs root and eBPF.
//!
//! Requests in the mix of the paper are admitted until the first refusal; then all flows send the most that they may, bursts at
//! the same instants, while some get other routes. Every packet of every flow is held against its bound; five flows are drawn.

use std::time::Duration;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_contracts::{Category, Contract, Mix};
use wayleave_lab::run::{ContractReport, Deed, Promised, RunOptions, RunReport};
use wayleave_units::Time;

use super::testbed::{Part, at_lab_rate, order, scale};
use crate::data::{Axis, Centre, Figure, Form, Panel, Point, Series, Table, X};
use crate::run::{Effort, Failed, Run};
use crate::statement::Statement;

/// IA, CS, CPS, BH (5.4.1). They add up to 104 as printed, so they are weights.
const MIX: [u32; 4] = [31, 31, 31, 11];
/// One list of requests, as in the paper.
const SEED: u64 = 1;
/// How many flows are shown.
const SHOWN: usize = 5;
/// A flow with fewer packets has no 10 % and 90 % percentile.
const FEWEST: u64 = 10;
/// The flows of a quick look.
const QUICK_REQUESTS: usize = 60;
/// Nobody admits so many.
const MOST_REQUESTS: usize = 5_000;
/// A full frame on the wire at 10 Mbit/s.
const FRAME: Time = Time::from_micros(1_250);

/// One of the two scenarios.
struct Scene {
    title: &'static str,
    name: &'static str,
    papers: usize,
    requests: Vec<Contract>,
    offered: usize,
    seen: RunReport,
}

/// Measures Fig. 14.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let whole = scene(run, Part::Whole, "8 servers", "servers-8", 298)?;
    run.tell(1, 2)?;
    let left = scene(run, Part::LeftPod, "Left pod, 4 servers", "servers-4", 218)?;
    run.tell(2, 2)?;
    let scenes = [whole, left];
    let lasts = format!("{} s in each scenario", lasts(run).as_secs());
    Ok(Figure {
        statements: statements(run, &scenes),
        panels: scenes.iter().map(panel).collect(),
        tables: vec![table(&scenes)],
        seeds: vec![SEED],
        notes: vec![
            "Shown are five flows at random, one of them moved while it sent (*), of those with ten packets or more. Times are those of real packets \
             on this machine, another run has others. The paper's traffic is not described; here all flows send the most that they may, and \
             all bursts at the same instants."
                .to_owned(),
            "A port of a lab that was idle sends the first frames of a burst at once, which a wire would not: most delays are what the machine needs."
                .to_owned(),
            "A packet is late if it takes longer than its flow's bound, which is at most its deadline. Late packets for which the processors of \
             this machine stood still long enough are counted apart."
                .to_owned(),
            "Bytes of Table 1 are taken as those of frames: its smallest bursts would not hold what the wire adds to a packet.".to_owned(),
        ],
        ..Figure::default()
    }
    .with("scale", scale())
    .with("network", "10 switches and 8 servers, two pods of a fat tree with k = 4, four queues of 190 kB a port (5.4, 4.2), delays of 4.1.2")
    .with("requests", "31, 31, 31, 11 parts of IA, CS, CPS, BH of Table 1, random hosts (5.4.1); admitted by the controller of a lab over REST")
    .with("time", lasts))
}

fn lasts(run: &Run) -> Duration {
    run.choose(Duration::from_secs(50), Duration::from_secs(6))
}

fn scene(run: &Run, part: Part, title: &'static str, name: &'static str, papers: usize) -> Result<Scene, Failed> {
    let network = part.network()?;
    let mut testbed = run.laboratory()?.up("fig14", &network)?;
    let (mut requests, mut promised, mut offered) = (Vec::new(), Vec::new(), 0);
    let most = run.choose(MOST_REQUESTS, QUICK_REQUESTS);
    for (request, index) in Mix::weighted(&network, MIX, SEED).take(most).zip(0..) {
        let request = at_lab_rate(request);
        let order = order(&network, request.clone(), index)?;
        offered += 1;
        if !testbed.offer(&order)? {
            break;
        }
        let plan = testbed.lab().plan();
        promised.push(Promised::of(plan, &order).ok_or_else(|| Failed::broken("a request without a port"))?);
        requests.push(request);
    }
    let reroutings = run.choose(12, 4);
    let seen = testbed.run(&promised, &RunOptions { reroutings, ..RunOptions::lasting(lasts(run)) })?;
    Ok(Scene { title, name, papers, requests, offered, seen })
}

/// What the choice of five needs to know of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Candidate {
    packets: u64,
    is_moved: bool,
}

/// Five flows at random with enough packets, in their order, at least one of them moved, if there is one.
fn five(candidates: &[Candidate], seed: u64) -> Vec<usize> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut left: Vec<usize> = (0..candidates.len()).filter(|&at| candidates[at].packets >= FEWEST).collect();
    let mut drawn = Vec::new();
    while !left.is_empty() {
        drawn.push(left.swap_remove(random.random_range(0..left.len())));
    }
    let mut chosen: Vec<usize> = drawn.iter().copied().take(SHOWN).collect();
    if !chosen.iter().any(|&at| candidates[at].is_moved)
        && let Some(&moved) = drawn.iter().find(|&&at| candidates[at].is_moved)
        && let Some(last) = chosen.last_mut()
    {
        *last = moved;
    }
    chosen.sort_unstable();
    chosen
}

impl Scene {
    /// Whether a flow was itself given another route while it sent.
    fn is_moved(&self, one: &ContractReport) -> bool {
        one.moved > 0
    }

    fn request(&self, one: &ContractReport) -> Option<&Contract> {
        let name = one.contract.id.split_once(':')?.1;
        self.requests.iter().find(|request| request.name == name)
    }

    /// `CS 37`, with a star if it was moved.
    fn label(&self, one: &ContractReport) -> String {
        let request = self.request(one);
        let category = request.and_then(Category::of).map_or("?", Category::short);
        let number = request.and_then(|request| request.name.rsplit('-').next()).unwrap_or("?");
        format!("{category} {number}{}", if self.is_moved(one) { "*" } else { "" })
    }

    fn shown(&self) -> Vec<&ContractReport> {
        let all = &self.seen.contracts;
        let candidate = |one: &ContractReport| Candidate { packets: one.flow.received(), is_moved: self.is_moved(one) };
        five(&all.iter().map(candidate).collect::<Vec<_>>(), SEED).into_iter().map(|at| &all[at]).collect()
    }

    fn sum(&self, of: impl Fn(&ContractReport) -> u64) -> u64 {
        self.seen.contracts.iter().map(of).sum()
    }

    /// The longest delay of any flow against its bound.
    fn fullest(&self) -> f64 {
        let share = |one: &ContractReport| {
            one.flow.worst().unwrap_or_default().as_nanos() as f64 / one.bound().as_nanos().max(1) as f64
        };
        self.seen.contracts.iter().map(share).fold(0.0, f64::max)
    }

    /// Packets that took at most one frame longer than the fastest of their flow.
    fn unqueued(&self) -> u64 {
        self.sum(|one| {
            let delays = &one.flow.delays;
            let least = delays.first().copied().unwrap_or(0);
            delays.partition_point(|&delay| delay <= least + FRAME.as_nanos()) as u64
        })
    }
}

fn milliseconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e6
}

fn panel(scene: &Scene) -> Panel {
    let shown = scene.shown();
    let series = |name: &str, of: &dyn Fn(&ContractReport, X) -> Point| Series {
        name: name.to_owned(),
        points: shown.iter().map(|one| of(one, X::Name(scene.label(one)))).collect(),
    };
    let at = |x: X, time: Time| Point::of(x, vec![milliseconds(time)]);
    let delays = |one: &ContractReport, x: X| {
        let delays = one.flow.delays.iter().map(|&delay| delay as f64 / 1e6).collect::<Vec<_>>();
        Point::pooled(x, &[delays])
    };
    let deadline = |one: &ContractReport| scene.request(one).map_or(one.bound(), |request| request.deadline);
    Panel {
        name: scene.name.to_owned(),
        title: scene.title.to_owned(),
        x: Axis::categories("flow; * got another route while it sent"),
        y: Axis::logarithmic("delay of packets", "ms"),
        form: Form::Deciles,
        centre: Centre::Median,
        is_timing: true,
        bands: Vec::new(),
        series: vec![
            series("delay: median, whiskers from 10 % to 90 %", &delays),
            series("the longest delay", &|one, x| at(x, one.flow.worst().unwrap_or_default())),
            series("the bound that was promised", &|one, x| at(x, one.bound())),
            series("the deadline that was asked for", &|one, x| at(x, deadline(one))),
        ],
    }
}

fn table(scenes: &[Scene]) -> Table {
    let columns = [
        "scenario",
        "requests",
        "admitted",
        "packets",
        "longest / bound",
        "late",
        "late in stalls",
        "late while stopped",
        "shaped",
        "lost",
        "reordered",
        "moves",
    ];
    let row = |scene: &Scene| {
        vec![
            scene.title.to_owned(),
            scene.offered.to_string(),
            scene.requests.len().to_string(),
            scene.sum(|one| one.flow.received()).to_string(),
            format!("{:.0} %", 100.0 * scene.fullest()),
            scene.seen.violations().to_string(),
            scene.sum(|one| one.excused).to_string(),
            scene.sum(|one| one.unpromised).to_string(),
            scene.sum(|one| one.losses.shaped).to_string(),
            scene.sum(|one| one.losses.network).to_string(),
            scene.sum(|one| one.flow.reordered).to_string(),
            scene.seen.moves().to_string(),
        ]
    };
    Table {
        name: "flows".to_owned(),
        title: "All admitted flows".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: scenes.iter().map(row).collect(),
    }
}

fn statements(run: &Run, scenes: &[Scene]) -> Vec<Statement> {
    let sum = |of: &dyn Fn(&Scene) -> u64| scenes.iter().map(of).sum::<u64>();
    let packets = sum(&|scene| scene.sum(|one| one.flow.received()));
    let violations = sum(&|scene| scene.seen.violations());
    let excused = sum(&|scene| scene.sum(|one| one.excused));
    let unpromised = sum(&|scene| scene.sum(|one| one.unpromised));
    let lost = sum(&|scene| scene.sum(|one| one.losses.network));
    let shaped = sum(&|scene| scene.sum(|one| one.losses.shaped));
    let reordered = sum(&|scene| scene.sum(|one| one.flow.reordered));
    let moves = sum(&|scene| scene.seen.actions.iter().filter(|action| action.deed == Deed::Reroute).count() as u64);
    let fullest = scenes.iter().map(Scene::fullest).fold(0.0, f64::max);
    let unqueued = 100.0 * sum(&Scene::unqueued) as f64 / packets.max(1) as f64;
    let admitted: Vec<String> = scenes.iter().map(|scene| scene.requests.len().to_string()).collect();
    let papers: Vec<String> = scenes.iter().map(|scene| scene.papers.to_string()).collect();
    let is_whole = run.effort == Effort::Full;
    vec![
        Statement::claim(
            "5.4.1",
            "the required delays of flows are met, also while flows are rerouted",
            violations == 0 && moves > 0 && packets > 0,
            format!(
                "{violations} of {packets} packets later than their bound, {excused} more while the machine stood still, {unpromised} more while \
                 their contract was stopped; {moves} reroutings; the longest delay is {:.0} % of its bound",
                100.0 * fullest
            ),
        ),
        Statement::claim(
            "5.4.1",
            "there is no packet loss",
            lost == 0,
            format!("{lost} of {} packets lost in the network, {shaped} more dropped by shapers", packets + lost + shaped),
        )
        .remark(if shaped > 0 {
            "A busy machine holds packets up on their way to the shaper, and a packet that comes too close to the one before is dropped."
        } else {
            ""
        }),
        Statement::claim(
            "5.4.1",
            "no reordering during reconfigurations",
            reordered == 0,
            format!("{reordered} packets reordered, {moves} reroutings"),
        )
        .because("A packet on a shorter or emptier route passes those that are still on the old one."),
        Statement::claim(
            "5.4.1",
            "very little queuing: most packets have the same delay",
            unqueued > 50.0,
            format!("{unqueued:.1} % of packets took at most a frame (1.25 ms) longer than the fastest of their flow"),
        )
        .because("All bursts are sent at the same instants here, so that they meet in queues as often as they can."),
        Statement::not_compared(
            "5.4.1",
            format!("{} requests are accepted in the two scenarios", papers.join(" and ")),
            format!("{}{}", admitted.join(" and "), if is_whole { "" } else { " (no more were offered in a quick look)" }),
        )
        .remark("Which requests the paper drew, and when it stopped, is not printed; here it is at the first refusal, with a queue kept for best effort."),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(packets: u64, count: usize, moved: &[usize]) -> Vec<Candidate> {
        (0..count).map(|at| Candidate { packets, is_moved: moved.contains(&at) }).collect()
    }

    #[test]
    fn five_flows_are_drawn_by_the_seed_and_one_of_them_was_moved() {
        let all = candidates(FEWEST, 200, &[7]);
        for seed in 0..50 {
            let drawn = five(&all, seed);
            assert_eq!(drawn, five(&all, seed));
            assert!(drawn.len() == 5 && drawn.is_sorted_by(|one, next| one < next) && drawn.contains(&7), "{drawn:?}");
        }
        assert_ne!(five(&all, 1), five(&all, 2));
        // Where enough were moved, nobody is exchanged: the draw is that of flows that all look alike.
        let all_moved = candidates(FEWEST, 200, &(0..200).collect::<Vec<_>>());
        assert_eq!(five(&all_moved, 1), five(&candidates(FEWEST, 200, &[]), 1));
    }

    #[test]
    fn flows_with_too_few_packets_are_not_drawn() {
        let mut all = candidates(FEWEST - 1, 20, &[3]);
        assert_eq!(five(&all, 1), [0; 0]);
        all[3].packets = FEWEST;
        all[9].packets = FEWEST;
        assert_eq!(five(&all, 1), [3, 9]);
    }
}
