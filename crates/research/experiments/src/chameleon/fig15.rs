//! Fig. 15 (section 5.4.2): clock synchronisation beside Hadoop-like bursts, on real packets. Needs root and eBPF.
//!
//! A master sends a message (sent at t1, received at t2), the slave answers it (t3, t4). As in PTP, the slave uses
//! half of the difference between both directions as the offset of its clock. Both have one clock here, so the true
//! offset is 0, and the result is the error.
//!
//! Readings:
//! - "around 480 Mbps" applies to both senders together: two of 480 Mbit/s would leave a twenty-fifth of the master's
//!   link to all others.
//! - The text does not state the length of a burst; in Table 1 those of Hadoop have 1 to 5 kB: 3 full frames. Without
//!   contracts 20 are shown as well.
//! - The places of the servers are only in a picture: the senders are under different switches of the pod that is not
//!   the master's.
//! - "On appropriate queues": in one case, admission by least delay (4.1.4) chooses the queues. In the other case,
//!   the exchange is in the first queue of every port, and the bursts are below it where they meet: at their hosts
//!   and in front of the master, as an operator can pin them. For that hosts have two queues, of 0.5 ms and 1 ms; the
//!   paper's have one, and take packets of VMs in turn before it (4.2.1).
//! - Messages are not divided by the scale: one every 47 ms (23 kbit/s of a link's 10 Mbit/s), so that there are
//!   enough to count.

use std::collections::BTreeMap;
use std::time::Duration;

use wayleave_contracts::{ContractRequest, LatencyContract};
use wayleave_lab::Stalls;
use wayleave_lab::run::{OfferedContract, RunOptions, RunReport, SenderLoad};
use wayleave_lab::traffic::Arrival;
use wayleave_schemes::admission::chameleon::Allocation;
use wayleave_topology::Network;
use wayleave_units::{Bytes, Rate, Time};

use super::testbed::{Part, SCALE, order, scale};
use crate::data::{Axis, Centre, Figure, Form, Panel, Point, Series, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;
use crate::stats::percentile;
use crate::testbed::Testbed;

/// Interval of the master's messages: it and the interval of bursts (104 ms) do not divide each other, so messages
/// meet all parts of the latter.
const EVERY: Time = Time::from_millis(47);
/// PTP of Table 1: 80 B to 300 B at most 220 kbit/s within 2 ms to 4 ms; a message of 44 B is 134 B on the wire with six tags.
const MESSAGE: u64 = 134;
/// A full frame on the wire, with six tags.
const FRAME: u64 = 1562;
/// Frames of a burst: 4.7 kB of the up to 5 kB of Table 1; and as many as make a burst of line rate last.
const TRAIN: u64 = 3;
const LONG_TRAIN: u64 = 20;
/// Length of the beginning that is drawn over time, in seconds.
const DRAWN: f64 = 5.0;

/// Measures Fig. 15.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let host = [Allocation::PUBLISHED_HOST, Allocation::published(4)[1]];
    let network = Part::Whole.with_host_queues(&host)?;
    let mut testbed = run.laboratory()?.up("fig15", &network, &["--routing", "least-delay"])?;
    let (orders, long) = (Orders::of(&network, TRAIN)?, Orders::of(&network, LONG_TRAIN)?);
    let lasts = run.choose(Duration::from_secs(20), Duration::from_secs(4));
    let mut cases = Vec::new();
    for cross_traffic in CrossTraffic::ALL {
        match cross_traffic {
            CrossTraffic::Nobody | CrossTraffic::Bursts | CrossTraffic::LongBursts => {}
            CrossTraffic::Chosen => orders.admit(&mut *testbed)?,
            CrossTraffic::Sorted => orders.sort(&mut *testbed)?,
        }
        let offered = if cross_traffic == CrossTraffic::LongBursts { &long } else { &orders };
        cases.push(offered.run(&mut *testbed, cross_traffic, lasts)?);
        run.report_progress(cases.len(), CrossTraffic::ALL.len())?;
    }
    drop(testbed);
    Ok(Figure {
        statements: statements(&Errors::of(&cases)),
        panels: vec![over_time(&cases), distribution(&cases)],
        tables: vec![table(&cases), queues(&cases)],
        notes: vec![
            "Both ends have one clock, so the estimated offset is the error. The bursts of Table 1 are of up to 5 kB, 3 frames here; 20 frames are shown beside them, \
             without contracts. Where the servers stand is not said; \"around 480 Mbps\" is taken of both senders together: two of 480 Mbit/s would leave a twenty-fifth of \
             the master's link to everybody else. Hosts have two queues for contracts, where the paper's have one and take packets of VMs in turn before it (4.2.1)."
                .to_owned(),
            "Times are those of real packets on this machine. What the network adds is a hundred times what it would be at 1 Gbit/s; what the machine \
             adds is not. So statements are about what a case adds to the idle network for 90 % of the exchanges, divided by 100: what it would be at 1 Gbit/s. Exchanges are left out during which processors \
             stood still for so long (more than 300 us) that it may be all of their error.".to_owned(),
        ],
        ..Figure::default()
    }
    .with("scale", scale())
    .with("network", "10 switches and 8 servers, two pods of a fat tree with k = 4 (5.4), hosts with two queues for contracts; the master is h1, the slave h5, the senders h5 and h7")
    .with("exchange", "a message of 134 B on the wire every 47 ms, and its answer; contracts of 100 kbit/s, 268 B, 200 ms (PTP of Table 1)")
    .with("bursts", "two senders to the master, each 3 full frames at once (20 in one case), 2.4 Mbit/s on average; contracts of the same rate and burst, 10 s (BH of Table 1); routes and queues of least delay (4.1.4)")
    .with("time", format!("{} s each", lasts.as_secs())))
}

/// Other senders in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CrossTraffic {
    Nobody,
    Bursts,
    /// Bursts of many frames.
    LongBursts,
    /// All with contracts, in the queues that admission has chosen.
    Chosen,
    /// All with contracts, the exchange above the bursts.
    Sorted,
}

impl CrossTraffic {
    const ALL: [Self; 5] = [Self::Nobody, Self::Bursts, Self::LongBursts, Self::Chosen, Self::Sorted];

    const fn name(self) -> &'static str {
        match self {
            Self::Nobody => "alone",
            Self::Bursts => "beside bursts, no contracts",
            Self::LongBursts => "beside bursts of 20 frames, no contracts",
            Self::Chosen => "all with contracts",
            Self::Sorted => "the same, bursts in lower queues",
        }
    }

    const fn has_contracts(self) -> bool {
        matches!(self, Self::Chosen | Self::Sorted)
    }
}

/// Message, answer, and the bursts.
struct Orders([ContractRequest; 4]);

impl Orders {
    fn of(network: &Network, frames: u64) -> Result<Self, Failed> {
        let node = |name: &str| network.find_node(name).ok_or_else(|| Failed::broken(format!("no server {name}")));
        let (master, slave, third) = (node("h1")?, node("h5")?, node("h7")?);
        let contract = |name: &str, from, to, rate, packets: u64, frame: u64, deadline_ms: u64| LatencyContract {
            max_frame: Some(Bytes::new(frame)),
            ..LatencyContract::new(
                name,
                from,
                to,
                rate,
                Bytes::new(packets * frame),
                Time::from_millis(deadline_ms * SCALE),
            )
        };
        let message = Rate::from_bits_per_second(100_000);
        let train = Rate::from_bits_per_second(480_000_000 / 2 / SCALE);
        let contracts = [
            contract("sync", master, slave, message, 2, MESSAGE, 2),
            contract("delay-request", slave, master, message, 2, MESSAGE, 2),
            contract("hadoop-slave", slave, master, train, frames, FRAME, 100),
            contract("hadoop-third", third, master, train, frames, FRAME, 100),
        ];
        let mut orders = Vec::new();
        for (contract, index) in contracts.into_iter().zip(0..) {
            orders.push(order(network, contract, index)?);
        }
        orders.try_into().map(Self).map_err(|_| Failed::broken("four contracts"))
    }

    fn admit(&self, testbed: &mut dyn Testbed) -> Result<(), Failed> {
        for order in &self.0 {
            if !testbed.offer(order)? {
                return Err(Failed::broken(format!("contract {} was refused", order.name())));
            }
        }
        Ok(())
    }

    /// Puts the exchange above the bursts.
    fn sort(&self, testbed: &mut dyn Testbed) -> Result<(), Failed> {
        let operator = testbed.operator();
        let shown = operator.contracts().map_err(Failed::broken)?;
        // The bursts are moved first, to free the path.
        for (order, is_burst) in self.0.iter().zip([false, false, true, true]).rev() {
            let name = order.name();
            let contract = shown.iter().find(|one| one.id.ends_with(&format!(":{name}")));
            let (id, route) = contract
                .and_then(|one| Some((&one.id, one.routes.first()?)))
                .ok_or_else(|| Failed::broken(format!("{name} has no route")))?;
            let pinned = if is_burst { below(route) } else { above(route) };
            operator.pin(id, Some(&pinned)).map_err(|why| Failed::broken(format!("{name} on {pinned:?}: {why}")))?;
        }
        Ok(())
    }

    fn run(&self, testbed: &mut dyn Testbed, cross_traffic: CrossTraffic, lasts: Duration) -> Result<Case, Failed> {
        let count = if cross_traffic == CrossTraffic::Nobody { 2 } else { 4 };
        let plan = testbed.lab().plan();
        let mut promised: Vec<OfferedContract> =
            self.0[..count].iter().filter_map(|order| OfferedContract::of(plan, order)).collect();
        let asked = promised.first().map(|one| one.id.clone()).unwrap_or_default();
        for (at, one) in promised.iter_mut().enumerate() {
            one.sends = match at {
                0 => SenderLoad::Requests { every: EVERY },
                1 => SenderLoad::Answers { to: asked.clone() },
                _ => SenderLoad::Trains,
            };
        }
        let is_plain = !cross_traffic.has_contracts();
        let seen = testbed.run(&promised, &RunOptions { is_plain, ..RunOptions::lasting(lasts) })?;
        Ok(Case::of(cross_traffic, seen))
    }
}

/// A route with its first queues.
fn above(route: &[(String, u8)]) -> Vec<(String, u8)> {
    route.iter().map(|(link, _)| (link.clone(), 0)).collect()
}

/// A route with the second queues of its first and its last link, where flows of other inputs join it.
fn below(route: &[(String, u8)]) -> Vec<(String, u8)> {
    let last = route.len().saturating_sub(1);
    let queue = |at: usize| u8::from(at == 0 || at == last);
    route.iter().enumerate().map(|(at, (link, _))| (link.clone(), queue(at))).collect()
}

/// A message with its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Exchange {
    /// Time when the message was sent.
    from: u64,
    /// Time when the answer was received.
    to: u64,
    /// Offset of its clock that the slave computes, in nanoseconds; the true offset is 0.
    offset: i64,
}

/// Every message that was answered, in order: the estimate of IEEE 1588, ((t2 - t1) - (t4 - t3)) / 2.
fn exchanges(messages: &[Arrival], answers: &[Arrival]) -> Vec<Exchange> {
    let answers: BTreeMap<u64, &Arrival> = answers.iter().map(|answer| (answer.number, answer)).collect();
    let exchange = |message: &Arrival| {
        let answer = answers.get(&message.number)?;
        let between = |from: u64, to: u64| to as i64 - from as i64;
        let offset = (between(message.sent, message.received) - between(answer.sent, answer.received)) / 2;
        Some(Exchange { from: message.sent, to: answer.received, offset })
    };
    let mut all: Vec<Exchange> = messages.iter().filter_map(exchange).collect();
    all.sort_by_key(|exchange| exchange.from);
    all
}

/// Returns the exchanges whose error the machine does not explain: processors were not stopped for twice this time
/// during the exchange, in both directions together. As for late packets, a stall excuses at most its own duration.
fn undisturbed(exchanges: &[Exchange], stalls: &Stalls) -> Vec<Exchange> {
    let is_own = |exchange: &&Exchange| {
        let stalled = stalls.within(exchange.from, exchange.to);
        stalled == 0 || 2 * exchange.offset.unsigned_abs() > stalled
    };
    exchanges.iter().filter(is_own).copied().collect()
}

/// Observations with one set of other senders.
struct Case {
    cross_traffic: CrossTraffic,
    exchanges: Vec<Exchange>,
    left_out: usize,
    seen: RunReport,
}

impl Case {
    fn of(cross_traffic: CrossTraffic, seen: RunReport) -> Self {
        let packets = |at: usize| seen.contracts.get(at).map_or(&[][..], |one| &one.flow.arrivals);
        let all = exchanges(packets(0), packets(1));
        let exchanges = undisturbed(&all, &seen.stalls);
        Self { cross_traffic, left_out: all.len() - exchanges.len(), exchanges, seen }
    }

    /// Errors in us, the smallest first.
    fn errors(&self) -> Vec<f64> {
        let mut errors: Vec<f64> =
            self.exchanges.iter().map(|exchange| exchange.offset.unsigned_abs() as f64 / 1e3).collect();
        errors.sort_unstable_by(f64::total_cmp);
        errors
    }

    fn error(&self, share: f64) -> f64 {
        percentile(&self.errors(), share)
    }

    fn sum(&self, of: impl Fn(&wayleave_lab::run::ContractReport) -> u64) -> u64 {
        self.seen.contracts.iter().map(of).sum()
    }
}

fn over_time(cases: &[Case]) -> Panel {
    let series = |case: &Case| {
        let begins = case.exchanges.first().map_or(0, |first| first.from);
        let point = |exchange: &Exchange| {
            let seconds = (exchange.from - begins) as f64 / 1e9;
            // Nothing has no place on a logarithmic axis: clocks are read to 0.1 us here.
            Point::of(seconds, vec![(exchange.offset.unsigned_abs() as f64 / 1e3).max(0.1)])
        };
        let points = case.exchanges.iter().map(point);
        let is_drawn = |point: &Point| matches!(point.x, crate::data::AxisValue::Number(at) if at <= DRAWN);
        Series { name: case.cross_traffic.name().to_owned(), points: points.take_while(is_drawn).collect() }
    };
    Panel {
        name: "time".to_owned(),
        title: format!("Error of the estimated offset, the first {DRAWN:.0} s"),
        x: Axis::linear("time", "s"),
        y: Axis::logarithmic("absolute error", "us"),
        form: Form::Scattered,
        centre: Centre::Median,
        is_timing: true,
        bands: Vec::new(),
        series: cases.iter().map(series).collect(),
    }
}

fn distribution(cases: &[Case]) -> Panel {
    let series = |case: &Case| {
        let errors = case.errors();
        let share = |at: usize| 100.0 * (at + 1) as f64 / errors.len() as f64;
        let points = errors.iter().enumerate().map(|(at, &error)| Point::of(error.max(0.1), vec![share(at)]));
        Series { name: case.cross_traffic.name().to_owned(), points: points.collect() }
    };
    Panel {
        name: "distribution".to_owned(),
        title: "Distribution of the absolute error".to_owned(),
        x: Axis::logarithmic("absolute error", "us"),
        y: Axis::linear("share of exchanges", "%"),
        form: Form::Steps,
        centre: Centre::Median,
        is_timing: true,
        bands: Vec::new(),
        series: cases.iter().map(series).collect(),
    }
}

fn table(cases: &[Case]) -> Table {
    let columns = [
        "exchange",
        "exchanges",
        "left out",
        "median",
        "p90",
        "p99",
        "largest",
        "late",
        "late in stalls",
        "shaped",
        "lost",
    ];
    let row = |case: &Case| {
        let error = |share: f64| format!("{:.0} us", case.error(share));
        let late = |count: u64| if case.cross_traffic.has_contracts() { count.to_string() } else { "-".to_owned() };
        vec![
            case.cross_traffic.name().to_owned(),
            case.exchanges.len().to_string(),
            case.left_out.to_string(),
            error(0.5),
            error(0.9),
            error(0.99),
            error(1.0),
            late(case.seen.violations()),
            late(case.sum(|one| one.excused)),
            case.sum(|one| one.losses.map_or(0, |losses| losses.shaped)).to_string(),
            case.sum(|one| one.losses.map_or(0, |losses| losses.network)).to_string(),
        ]
    };
    Table {
        name: "error".to_owned(),
        title: "Error of the estimated offset; late and lost packets".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: cases.iter().map(row).collect(),
    }
}

/// Returns the queues of admitted contracts, and the results of their packets.
fn queues(cases: &[Case]) -> Table {
    let columns = ["case", "contract", "queues from host to host", "bound", "p99", "maximum delay"];
    let with_contracts = cases.iter().filter(|case| case.cross_traffic.has_contracts());
    let rows = with_contracts.flat_map(|case| case.seen.contracts.iter().map(|one| (case.cross_traffic, one))).map(
        |(cross_traffic, one)| {
            let hops = one.contract.routes.iter().flatten().map(|(_, queue)| queue.to_string());
            let milliseconds = |time: Time| format!("{:.1} ms", time.as_nanos() as f64 / 1e6);
            vec![
                cross_traffic.name().to_owned(),
                one.contract.id.clone(),
                hops.collect::<Vec<_>>().join(" "),
                milliseconds(one.bound()),
                milliseconds(one.flow.per_mille(990).unwrap_or_default()),
                milliseconds(one.flow.worst().unwrap_or_default()),
            ]
        },
    );
    Table {
        name: "queues".to_owned(),
        title: "The queues of contracts (0 goes first), and their packets".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

/// Errors that statements use.
#[derive(Clone, Debug, Default)]
struct Errors {
    /// Maximum error of 90 % of the exchanges, in us: by company.
    by_cross_traffic: [f64; 5],
    /// Of packets with contracts.
    packets: u64,
    late: u64,
    excused: u64,
    lost: u64,
}

impl Errors {
    fn of(cases: &[Case]) -> Self {
        let error = |cross_traffic| {
            cases.iter().find(|case| case.cross_traffic == cross_traffic).map_or(f64::NAN, |case| case.error(0.9))
        };
        let kept = || cases.iter().filter(|case| case.cross_traffic.has_contracts());
        let sum = |of: fn(&wayleave_lab::run::ContractReport) -> u64| kept().map(|case| case.sum(of)).sum::<u64>();
        Self {
            by_cross_traffic: CrossTraffic::ALL.map(error),
            packets: sum(|one| one.flow.received()),
            late: sum(|one| one.violations),
            excused: sum(|one| one.excused),
            lost: sum(|one| one.losses.map_or(0, |losses| losses.network)),
        }
    }

    /// Returns the additional error over an idle network, at the rate of the paper's testbed, in us. Negative values
    /// are the machine's noise.
    fn added(&self, cross_traffic: CrossTraffic) -> f64 {
        let at = |wanted| {
            CrossTraffic::ALL
                .iter()
                .position(|&cross_traffic| cross_traffic == wanted)
                .map_or(f64::NAN, |at| self.by_cross_traffic[at])
        };
        (at(cross_traffic) - at(CrossTraffic::Nobody)).max(0.0) / SCALE as f64
    }
}

/// "In the order of hundreds of microseconds".
const HUNDREDS: std::ops::RangeInclusive<f64> = 100.0..=1_000.0;
/// "In the order of tens of microseconds": an addition below ten does not change the order.
const LESS_THAN_TENS: std::ops::RangeInclusive<f64> = 0.0..=10.0;

fn statements(errors: &Errors) -> Vec<Statement> {
    let Errors { by_cross_traffic: [alone, ..], packets, late, excused, lost } = *errors;
    let [bursts, long, chosen, sorted] =
        [CrossTraffic::Bursts, CrossTraffic::LongBursts, CrossTraffic::Chosen, CrossTraffic::Sorted]
            .map(|cross_traffic| errors.added(cross_traffic));
    let frame = (FRAME * 8) as f64 / 10.0;
    let measured = |added: f64| format!("{added:.1} us more than in the idle network, at 1 Gbit/s");
    let idle = |added: f64, reading: &str| {
        let claim_text = "with contracts the offset remains as in the idle network";
        Statement::within("5.4.2", claim_text, LESS_THAN_TENS, &[added], measured(added)).reading(reading)
    };
    vec![
        Statement::within(
            "5.4.2",
            "bursts put the clocks out of synchronisation in the order of hundreds of us",
            HUNDREDS,
            &[bursts],
            measured(bursts),
        )
        .tested(format!(
            "the length of a burst, which the text does not say: 3 frames, as in Table 1, add {bursts:.1} us, and {LONG_TRAIN} frames at the same rate {long:.1} us"
        ), &[long]),
        Statement::not_compared(
            "5.4.2",
            "the offset of an idle network remains in the order of tens of us",
            format!("90 % of the exchanges err by at most {alone:.0} us"),
        )
        .remark("It is that of this machine, and of no clock that drifts: both ends have the same one."),
        Statement::claim(
            "5.4.2",
            "guarantees also in presence of adversarial traffic",
            late + lost == 0 && packets > 0,
            format!(
                "{late} of {packets} packets with contracts later than promised, {excused} more while the machine stood still, {lost} lost"
            ),
        )
        .ruled_out(["stalls of the processors, which are counted apart"]),
        idle(chosen, "least delay puts exchange and bursts into the same first queues"),
        idle(sorted, "the exchange alone in the first queue of every port")
        .ruled_out([
            format!("bursts before the exchange in its queue: it has the first queue alone. A frame that is being sent is not interrupted: up to {:.1} us", frame / SCALE as f64).as_str(),
        ]),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;
    use wayleave_lab::Stall;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let errors =
            Errors { by_cross_traffic: [30.0, 20_000.0, 60_000.0, 500.0, 400.0], packets: 1_000, ..Errors::default() };
        assert_each_can_change(
            &errors,
            statements,
            &[
                ("short bursts", &|errors| errors.by_cross_traffic[1] = 2_000.0),
                ("endless bursts", &|errors| errors.by_cross_traffic[1] = 200_000.0),
                ("a late packet", &|errors| errors.late = 1),
                ("the exchange waits behind bursts", &|errors| errors.by_cross_traffic[3] = 5_000.0),
                ("the exchange waits in front of them", &|errors| errors.by_cross_traffic[4] = 5_000.0),
            ],
        );
    }

    fn arrival(number: u64, sent: u64, received: u64) -> Arrival {
        Arrival { number, sent, received }
    }

    #[test]
    fn the_offset_is_half_of_the_difference_of_both_directions() {
        let messages = [arrival(0, 1_000, 1_300), arrival(1, 2_000, 2_100), arrival(2, 3_000, 3_100)];
        // The second is answered before the first, the third never, and one answers nothing.
        let answers = [arrival(1, 2_200, 2_500), arrival(0, 1_400, 1_500), arrival(9, 0, 5)];
        let expected =
            [Exchange { from: 1_000, to: 1_500, offset: 100 }, Exchange { from: 2_000, to: 2_500, offset: -100 }];
        assert_eq!(exchanges(&messages, &answers), expected);
    }

    #[test]
    fn a_clock_that_is_ahead_is_detected_on_symmetric_paths() {
        // The slave's clock is 70 ahead, both directions take 30.
        let seen = exchanges(&[arrival(0, 100, 200)], &[arrival(0, 250, 210)]);
        assert_eq!(seen[0].offset, 70);
    }

    #[test]
    fn an_exchange_disturbed_by_a_stall_is_left_out() {
        let exchange = |from, to, offset| Exchange { from, to, offset };
        let all = [exchange(0, 100, 1), exchange(100, 200, -5), exchange(140, 230, -6), exchange(200, 300, 1)];
        let stalls = Stalls { all: vec![Stall { core: 0, from: 150, to: 160 }], is_strict: true };
        assert_eq!(undisturbed(&all, &stalls), [all[0], all[2], all[3]]);
    }

    #[test]
    fn the_contracts_are_those_of_the_paper_divided_by_the_scale() {
        let network = Part::Whole.network().unwrap();
        let orders = Orders::of(&network, TRAIN).unwrap();
        for order in &orders.0 {
            assert!(order.contract.validate(&network).is_ok() && order.matching.is_some(), "{order:?}");
        }
        let bursts: u64 = orders.0[2..].iter().map(|order| order.as_latency().unwrap().rate.bits_per_second()).sum();
        assert_eq!(bursts, 4_800_000);
        // A message every 47 ms keeps the contract.
        assert!(MESSAGE * 8 * 1_000 / 47 < orders.0[0].as_latency().unwrap().rate.bits_per_second());
    }
}
