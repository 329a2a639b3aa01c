//! Fig. 14 (section 5.4.1): delays of admitted flows against what was promised, on real packets. Needs root and eBPF.
//!
//! Requests in the mix of the paper are admitted until the first refusal; then all flows send the most that they may, bursts at
//! the same instants, while some get other routes. Every packet of every flow is held against its bound; five flows are drawn.

use std::time::Duration;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_contracts::{Category, LatencyContract, RequestMix};
use wayleave_lab::run::{ContractReport, NetworkAction, OfferedContract, RunOptions, RunReport};
use wayleave_units::Time;

use super::testbed::{Part, at_lab_rate, order, scale};
use crate::data::{Axis, AxisValue, Centre, Figure, Form, Panel, Point, Series, Table};
use crate::failed::Failed;
use crate::run::{Effort, Run};
use crate::statement::Statement;
use crate::stats::percentile;

/// IA, CS, CPS, BH (5.4.1). They add up to 104 as printed, so they are weights.
const MIX: [u32; 4] = [31, 31, 31, 11];
/// One list of requests, as in the paper.
const SEED: u64 = 1;
/// Number of flows that are shown.
const SHOWN: usize = 5;
/// A flow with fewer packets has no 10 % and 90 % percentile.
const FEWEST: u64 = 10;
/// The flows of a quick look.
const QUICK_REQUESTS: usize = 60;
/// More requests than are ever admitted.
const MAX_REQUESTS: usize = 5_000;
/// A bound of which less was used was not tested.
const TESTED: f64 = 0.1;
/// A full frame on the wire at 10 Mbit/s.
const FRAME: Time = Time::from_micros(1_250);

/// One of the two scenarios.
struct Scene {
    title: &'static str,
    name: &'static str,
    papers: usize,
    requests: Vec<LatencyContract>,
    offered: usize,
    seen: RunReport,
}

/// Measures Fig. 14.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let whole = scene(run, Part::Whole, "8 servers", "servers-8", 298)?;
    run.report_progress(1, 2)?;
    let left = scene(run, Part::LeftPod, "Left pod, 4 servers", "servers-4", 218)?;
    run.report_progress(2, 2)?;
    let scenes = [whole, left];
    let lasts = format!("{} s in each scenario", lasts(run).as_secs());
    Ok(Figure {
        statements: statements(&scenes.each_ref().map(Counts::of), run.effort == Effort::Full),
        panels: scenes.iter().map(panel).chain([shares(&scenes)]).collect(),
        tables: vec![table(&scenes), bounds(&scenes)],
        seeds: vec![SEED],
        notes: vec![
            "Shown are five flows at random, one of them moved while it sent (*), of those with ten packets or more. Times are those of real packets \
             on this machine, another run has others. The paper's traffic is not described; here all flows send the most that they may, and \
             all bursts at the same instants."
                .to_owned(),
            "Ports of the lab space frames nearly as a wire does: the second frame of a burst leaves an idle port at most a third of a frame's time too early."
                .to_owned(),
            format!(
                "A promise is tested by what comes near it. Where no flow of a scenario used {:.0} % of its bound, nothing is said of the promise.",
                100.0 * TESTED
            ),
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
    run.choose(Duration::from_secs(30), Duration::from_secs(6))
}

fn scene(run: &Run, part: Part, title: &'static str, name: &'static str, papers: usize) -> Result<Scene, Failed> {
    let network = part.network()?;
    let mut testbed = run.laboratory()?.up("fig14", &network, &[])?;
    let (mut requests, mut promised, mut offered) = (Vec::new(), Vec::new(), 0);
    let most = run.choose(MAX_REQUESTS, QUICK_REQUESTS);
    for (request, index) in RequestMix::weighted(&network, MIX, SEED).take(most).zip(0..) {
        let request = at_lab_rate(request);
        let order = order(&network, request.clone(), index)?;
        offered += 1;
        if !testbed.offer(&order)? {
            break;
        }
        let plan = testbed.lab().plan();
        promised.push(OfferedContract::of(plan, &order).ok_or_else(|| Failed::broken("a request without a port"))?);
        requests.push(request);
    }
    let reroutings = run.choose(12, 4);
    let seen = testbed.run(&promised, &RunOptions { reroutings, ..RunOptions::lasting(lasts(run)) })?;
    Ok(Scene { title, name, papers, requests, offered, seen })
}

/// Properties of a flow that the choice of five needs.
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
    /// Returns `true` if a flow was itself given another route while it sent.
    fn is_moved(&self, one: &ContractReport) -> bool {
        one.moved > 0
    }

    fn request(&self, one: &ContractReport) -> Option<&LatencyContract> {
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
        self.seen.contracts.iter().map(used).fold(0.0, f64::max)
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

/// The share of its bound that a flow used.
fn used(one: &ContractReport) -> f64 {
    one.flow.worst().unwrap_or_default().as_nanos() as f64 / one.bound().as_nanos().max(1) as f64
}

fn milliseconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e6
}

fn panel(scene: &Scene) -> Panel {
    let shown = scene.shown();
    let series = |name: &str, of: &dyn Fn(&ContractReport, AxisValue) -> Point| Series {
        name: name.to_owned(),
        points: shown.iter().map(|one| of(one, AxisValue::Name(scene.label(one)))).collect(),
    };
    let at = |x: AxisValue, time: Time| Point::of(x, vec![milliseconds(time)]);
    let delays = |one: &ContractReport, x: AxisValue| {
        let delays = one.flow.delays.iter().map(|&delay| delay as f64 / 1e6).collect::<Vec<_>>();
        Point::pooled(x, &[delays])
    };
    let deadline = |one: &ContractReport| scene.request(one).map_or(one.bound(), |request| request.deadline);
    Panel {
        name: scene.name.to_owned(),
        title: scene.title.to_owned(),
        x: Axis::categories("flow; * rerouted while sending"),
        y: Axis::logarithmic("packet delay", "ms"),
        form: Form::Deciles,
        centre: Centre::Median,
        is_timing: true,
        bands: Vec::new(),
        series: vec![
            series("delay: median, whiskers p10 to p90", &delays),
            series("maximum delay", &|one, x| at(x, one.flow.worst().unwrap_or_default())),
            series("guaranteed bound", &|one, x| at(x, one.bound())),
            series("requested deadline", &|one, x| at(x, deadline(one))),
        ],
    }
}

fn table(scenes: &[Scene]) -> Table {
    let columns = [
        "scenario",
        "requests",
        "admitted",
        "packets",
        "maximum / bound",
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
            scene.sum(|one| one.losses.map_or(0, |losses| losses.shaped)).to_string(),
            scene.sum(|one| one.losses.map_or(0, |losses| losses.network)).to_string(),
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

/// Returns the used share of each flow's bound.
fn shares(scenes: &[Scene]) -> Panel {
    let series = |scene: &Scene| {
        let mut all: Vec<f64> = scene.seen.contracts.iter().map(|one| 100.0 * used(one)).collect();
        all.sort_unstable_by(f64::total_cmp);
        let below = |at: usize| 100.0 * (at + 1) as f64 / all.len() as f64;
        // Nothing has no place on a logarithmic axis.
        let points = all.iter().enumerate().map(|(at, &share)| Point::of(share.max(0.01), vec![below(at)]));
        Series { name: scene.title.to_owned(), points: points.collect() }
    };
    Panel {
        name: "used".to_owned(),
        title: "Maximum delay of every flow, relative to its bound".to_owned(),
        x: Axis::logarithmic("maximum delay / bound", "%"),
        y: Axis::linear("flows (cumulative)", "%"),
        form: Form::Steps,
        centre: Centre::Median,
        is_timing: true,
        bands: Vec::new(),
        series: scenes.iter().map(series).collect(),
    }
}

/// The share of its bound that each of the flows that are shown used, and those of all flows together.
fn bounds(scenes: &[Scene]) -> Table {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let rows = scenes.iter().flat_map(|scene| {
        let row = |name: String, share: f64| vec![scene.title.to_owned(), name, percent(share)];
        let mut all: Vec<f64> = scene.seen.contracts.iter().map(used).collect();
        all.sort_unstable_by(f64::total_cmp);
        let shown = scene.shown().into_iter().map(move |one| row(scene.label(one), used(one))).collect::<Vec<_>>();
        shown
            .into_iter()
            .chain(
                [("all flows, median", 0.5), ("all flows, most", 1.0)]
                    .map(|(name, share)| row(name.to_owned(), percentile(&all, share))),
            )
            .collect::<Vec<_>>()
    });
    Table {
        name: "bounds".to_owned(),
        title: "Maximum delay relative to the bound".to_owned(),
        columns: ["scenario", "flow", "maximum / bound"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

/// Counts of one scenario that statements use.
#[derive(Clone, Debug, Default)]
struct Counts {
    title: &'static str,
    papers: usize,
    admitted: usize,
    packets: u64,
    violations: u64,
    excused: u64,
    unpromised: u64,
    lost: u64,
    shaped: u64,
    reordered: u64,
    moves: u64,
    unqueued: u64,
    fullest: f64,
    /// Flows that used [`TESTED`] of their bounds or more.
    tested: usize,
}

impl Counts {
    fn of(scene: &Scene) -> Self {
        let reroutings = scene.seen.actions.iter().filter(|action| action.kind == NetworkAction::Reroute);
        Self {
            title: scene.title,
            papers: scene.papers,
            admitted: scene.requests.len(),
            packets: scene.sum(|one| one.flow.received()),
            violations: scene.seen.violations(),
            excused: scene.sum(|one| one.excused),
            unpromised: scene.sum(|one| one.unpromised),
            lost: scene.sum(|one| one.losses.map_or(0, |losses| losses.network)),
            shaped: scene.sum(|one| one.losses.map_or(0, |losses| losses.shaped)),
            reordered: scene.sum(|one| one.flow.reordered),
            moves: reroutings.count() as u64,
            unqueued: scene.unqueued(),
            fullest: scene.fullest(),
            tested: scene.seen.contracts.iter().filter(|one| used(one) >= TESTED).count(),
        }
    }
}

fn statements(scenes: &[Counts], is_whole: bool) -> Vec<Statement> {
    let sum = |of: fn(&Counts) -> u64| scenes.iter().map(of).sum::<u64>();
    let (packets, lost, shaped) = (sum(|one| one.packets), sum(|one| one.lost), sum(|one| one.shaped));
    let (reordered, moves) = (sum(|one| one.reordered), sum(|one| one.moves));
    let unqueued = 100.0 * sum(|one| one.unqueued) as f64 / packets.max(1) as f64;
    let mut statements: Vec<Statement> = scenes.iter().map(delays).collect();
    statements.extend([
        Statement::claim(
            "5.4.1",
            "there is no packet loss",
            lost == 0 && packets > 0,
            format!("{lost} of {} packets lost in the network, {shaped} more dropped by shapers", packets + lost + shaped),
        )
        .remark(if shaped > 0 {
            "A busy machine holds packets up on their way to the shaper, and a packet that comes too close to the one before is dropped."
        } else {
            ""
        })
        .ruled_out(["packets dropped by shapers, which are counted apart"]),
        Statement::claim(
            "5.3.1",
            "all tagged packets are sent",
            lost == 0 && packets > 0,
            format!("of {} packets that were tagged, {packets} arrived at their receivers", packets + lost),
        )
        .ruled_out(["packets dropped by shapers, which are not tagged"]),
        Statement::claim(
            "3.4, 5.4.1",
            "no reordering during reconfigurations",
            reordered == 0 && moves > 0,
            format!("{reordered} packets reordered, {moves} reroutings"),
        )
        .remark("The text's flows include TCP's; here all flows are UDP, whose packets are numbered, so that nothing hides what the network does to their order."),
        Statement::claim(
            "5.4.1",
            "very little queuing: most packets have the same delay",
            unqueued > 50.0,
            format!("{unqueued:.1} % of packets took at most a frame (1.25 ms) longer than the fastest of their flow"),
        )
        .supposed("all bursts are sent at the same instants here, so that they meet in queues as often as they can; a request's traffic in the paper is not described"),
        Statement::not_compared(
            "5.4.1",
            format!("{} requests are accepted in the two scenarios", join(scenes, |one| one.papers)),
            format!("{}{}", join(scenes, |one| one.admitted), if is_whole { "" } else { " (no more were offered in a quick look)" }),
        )
        .remark("Which requests the paper drew, and when it stopped, is not printed; here it is at the first refusal, with a queue kept for best effort."),
    ]);
    statements
}

fn join(scenes: &[Counts], of: fn(&Counts) -> usize) -> String {
    scenes.iter().map(|one| of(one).to_string()).collect::<Vec<_>>().join(" and ")
}

/// A late packet disproves the promise; none in time proves something only if one came near its bound.
fn delays(one: &Counts) -> Statement {
    let claim_text = format!("the required delays of flows are met, also while flows are rerouted ({})", one.title);
    let measured = format!(
        "{} of {} packets later than their bound, {} more while the machine stood still, {} more while their contract was stopped; {} reroutings; the longest \
         delay is {:.0} % of its bound",
        one.violations,
        one.packets,
        one.excused,
        one.unpromised,
        one.moves,
        100.0 * one.fullest
    );
    if one.violations == 0 && one.tested == 0 {
        return Statement::not_compared("5.4.1", claim_text, measured)
            .remark("No packet came near its bound, so none was tested.");
    }
    Statement::claim("5.4.1", claim_text, one.violations == 0 && one.moves > 0 && one.packets > 0, measured)
        .remark(format!(
            "What came near its bound: {} of {} flows used {:.0} % of theirs or more.",
            one.tested,
            one.admitted,
            100.0 * TESTED
        ))
        .ruled_out(["stalls of the processors and stops of contracts, whose packets are counted apart"])
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::{Verdict, assert_each_can_change};

    fn counts() -> [Counts; 2] {
        let one = Counts {
            papers: 298,
            admitted: 150,
            packets: 1_000,
            moves: 4,
            unqueued: 900,
            fullest: 0.2,
            tested: 3,
            ..Counts::default()
        };
        [Counts { title: "8 servers", ..one.clone() }, one]
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        assert_each_can_change(
            &counts(),
            |counts| statements(counts, true),
            &[
                ("late packets of the first", &|counts| counts[0].violations = 1),
                ("late packets of the second", &|counts| counts[1].violations = 1),
                ("a lost packet", &|counts| counts[1].lost = 1),
                ("packets out of order", &|counts| counts[0].reordered = 1),
                ("long queues", &|counts| counts.iter_mut().for_each(|one| one.unqueued = 100)),
            ],
        );
    }

    #[test]
    fn a_bound_that_no_packet_approached_is_not_compared_but_a_late_packet_counts() {
        let verdict = |tested, violations| delays(&Counts { tested, violations, ..counts()[0].clone() }).verdict;
        assert_eq!(
            [verdict(0, 0), verdict(1, 0), verdict(0, 1)],
            [Verdict::NotCompared, Verdict::Holds, Verdict::Unexplained]
        );
    }

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
        // If enough were moved, none is exchanged: flows are drawn as if all were alike.
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
