//! Exactness of the bucket: rate and burst of the packets that pass, against those of the rule, on the machine's own
//! clock.

use std::time::Duration;

use aya::programs::SchedClassifier;
use nix::time::{ClockId, clock_gettime};
use wayleave_packet_format::wire_bytes;
use wayleave_units::{Bytes, Rate};

use super::{LOOPBACK, apart, frame, mac, rule, selector};
use crate::error::Error;
use crate::host::{Host, HostProgram, Sender, Settings};
use crate::sandbox::Apart;
use crate::test_run::{TestPacket, run};

/// Tags of every packet (section 5.3.2).
const TAGS: u16 = 6;

/// Offered traffic: a scenario of Table 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapingScenario {
    /// Endpoints.
    pub vms: u8,
    /// Flows of each, every one with its own bucket.
    pub flows: u16,
    /// Bytes of a packet.
    pub packet: usize,
    /// Bits a second, of packets.
    pub rate: u64,
    /// Bits, of packets.
    pub burst: u64,
}

const fn scenario(vms: u8, flows: u16, packet: usize, rate: u64, burst: u64) -> ShapingScenario {
    ShapingScenario { vms, flows, packet, rate, burst }
}

/// Table 4 of the paper, row by row.
pub const TABLE_4: [ShapingScenario; 17] = [
    scenario(10, 3, 78, 100_000, 100_000),
    scenario(10, 1, 800, 10_000_000, 10_000),
    scenario(10, 1, 800, 10_000_000, 100_000),
    scenario(10, 1, 800, 10_000_000, 1_000_000),
    scenario(5, 3, 800, 10_000_000, 100_000),
    scenario(5, 3, 1522, 10_000_000, 100_000),
    scenario(5, 1, 78, 1_000, 1_000),
    scenario(5, 1, 78, 1_000, 10_000),
    scenario(5, 1, 78, 1_000, 100_000),
    scenario(5, 1, 78, 10_000_000, 1_000),
    scenario(5, 1, 78, 10_000_000, 10_000),
    scenario(5, 1, 78, 10_000_000, 100_000),
    scenario(1, 3, 800, 100_000, 100_000),
    scenario(1, 3, 800, 10_000_000, 100_000),
    scenario(1, 1, 78, 10_000_000, 1_000_000),
    scenario(1, 1, 800, 10_000_000, 1_000_000),
    scenario(1, 1, 1522, 10_000_000, 1_000_000),
];

/// Deviation of the passed packets from the rule, for the flow with the largest deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShapingError {
    /// Relative error of the rate.
    pub rate_error: f64,
    /// Relative error of the burst.
    pub burst_error: f64,
}

/// Sends more than every bucket allows, and records the packets that pass, with their times by the program's clock. A
/// rule's rate and burst count wire bytes; they are those of the scenario, increased by the overhead of a packet on
/// the wire.
///
/// Each flow is offered packets from shortly before its bucket should allow one until one passes. Of `rounds` the
/// largest burst counts. The rate is that of the median time between packets before which others were refused: a
/// machine that pauses for a moment is not taken for a slow bucket.
///
/// # Errors
/// If the kernel refuses.
pub fn shape(what: ShapingScenario, rounds: usize) -> Result<ShapingError, Error> {
    // A machine that has other work may need more looks.
    (0..9).find_map(|_| measure(what, rounds).ok()).map_or_else(|| measure(what, rounds), Ok)
}

fn measure(what: ShapingScenario, rounds: usize) -> Result<ShapingError, Error> {
    let allowed = Allowed::of(what);
    let rounds: Vec<Vec<Flow>> = apart(|apart| {
        let mut host = Host::open(&apart.pins().join("host"), &Settings::default())?;
        let interfaces = (0..what.vms).map(|vm| endpoint(apart, vm)).collect::<Result<Vec<_>, _>>()?;
        for (vm, &ifindex) in (0..).zip(&interfaces) {
            host.add_endpoint(ifindex, mac(vm))?;
        }
        (0..rounds.max(1)).map(|_| round(&mut host, what, allowed, &interfaces)).collect()
    })?;
    let mut worst = None;
    for flow in 0..rounds[0].len() {
        let seen = rounds.iter().map(|round| &round[flow]);
        let mut intervals: Vec<u64> = seen.clone().flat_map(Flow::intervals).collect();
        intervals.sort_unstable();
        let Some(&interval) = intervals.get(intervals.len() / 2) else { continue };
        let burst = seen.map(|flow| flow.burst(allowed)).fold(0.0, f64::max);
        let rate = (allowed.cost * 8) as f64 / (interval as f64 / 1e9);
        let ShapingError { rate_error, burst_error } = worst.unwrap_or_default();
        worst = Some(ShapingError {
            rate_error: (rate / allowed.rate.bits_per_second() as f64 - 1.0).abs().max(rate_error),
            burst_error: (burst / (allowed.burst.get() * 8) as f64 - 1.0).abs().max(burst_error),
        });
    }
    worst.ok_or_else(|| {
        let why = "no packet passed as soon as its bucket allowed it: the machine is too busy".to_owned();
        Error::Failed { doing: "measuring".to_owned(), why }
    })
}

/// A rule's limits in wire bytes.
#[derive(Clone, Copy)]
struct Allowed {
    cost: u64,
    rate: Rate,
    burst: Bytes,
}

impl Allowed {
    fn of(what: ShapingScenario) -> Self {
        let cost = wire_bytes(what.packet, usize::from(TAGS)).get();
        let grown = |bits: u64| (bits * cost).div_ceil(what.packet as u64);
        let burst = Bytes::new(grown(what.burst).div_ceil(8));
        Self { cost, rate: Rate::from_bits_per_second(grown(what.rate)), burst }
    }

    /// Returns the time in which tokens for this many bits arrive, in ns.
    fn nanos(self, bits: f64) -> f64 {
        bits / self.rate.bits_per_second() as f64 * 1e9
    }
}

/// A packet that passed.
#[derive(Clone, Copy)]
struct Passed {
    /// By the program's clock, in ns.
    at: u64,
    /// `true` if one was refused just before.
    is_tight: bool,
}

/// A flow while it is measured.
struct Flow {
    serial: u64,
    ifindex: u32,
    frame: Vec<u8>,
    passed: Vec<Passed>,
    /// Expected level of the bucket after the last packet, in bits.
    level: f64,
    /// Time at which it should allow another one.
    due: u64,
}

impl Flow {
    /// Returns the smallest bucket that allows the passed packets, in bits: the maximum in any interval, less the
    /// tokens that arrive in it.
    fn burst(&self, allowed: Allowed) -> f64 {
        let (cost, rate) = ((allowed.cost * 8) as f64, allowed.rate.bits_per_second() as f64);
        let (mut burst, mut level, mut last) = (0.0_f64, 0.0_f64, 0);
        for passed in &self.passed {
            level = (level - rate * passed.at.saturating_sub(last) as f64 / 1e9).max(0.0) + cost;
            (burst, last) = (burst.max(level), passed.at);
        }
        burst
    }

    /// Times in ns between packets that passed as soon as the bucket allowed it.
    fn intervals(&self) -> impl Iterator<Item = u64> {
        let tight = self.passed.windows(2).filter(|pair| pair.iter().all(|passed| passed.is_tight));
        tight.map(|pair| pair[1].at - pair[0].at)
    }

    /// Returns `true` if this many packets passed after the burst.
    fn is_seen(&self, steady: usize) -> bool {
        let first = self.passed.iter().position(|passed| passed.is_tight);
        first.is_some_and(|first| self.passed.len() > first + steady)
    }

    /// A packet has passed: when will there be tokens for another one?
    fn pass(&mut self, at: u64, is_tight: bool, allowed: Allowed) {
        let (cost, burst) = ((allowed.cost * 8) as f64, (allowed.burst.get() * 8) as f64);
        let elapsed = self.passed.last().map_or(0, |last| at.saturating_sub(last.at));
        let brought = elapsed as f64 / allowed.nanos(1.0);
        self.level = (self.level + brought).min(burst) - cost;
        self.passed.push(Passed { at, is_tight });
        self.due = at + allowed.nanos((cost - self.level).max(0.0)) as u64;
    }
}

/// The interface of a VM: the loopback for the first one, for others a pair of their own.
fn endpoint(apart: &Apart, vm: u8) -> Result<u32, Error> {
    if vm == 0 {
        return Ok(LOOPBACK);
    }
    let ifindex = 100 + 2 * u32::from(vm);
    apart.veth(&format!("vm{vm}"), ifindex).map(|()| ifindex)
}

/// Measures all flows once: their bursts, and then as many packets as the rate allows.
fn round(host: &mut Host, what: ShapingScenario, allowed: Allowed, interfaces: &[u32]) -> Result<Vec<Flow>, Error> {
    let mut flows = Vec::new();
    for (vm, &ifindex) in (0..).zip(interfaces) {
        for flow in 0..what.flows {
            let serial = 1 + u64::from(vm) * u64::from(what.flows) + u64::from(flow);
            let (frame, level) = (frame(vm, flow, what.packet), (allowed.burst.get() * 8) as f64);
            flows.push((flow, vm, Flow { serial, ifindex, frame, passed: Vec::new(), level, due: 0 }));
        }
    }
    // A rule that is new begins with a full bucket.
    for (_, _, flow) in &flows {
        host.remove(flow.serial)?;
    }
    for (number, vm, flow) in &flows {
        let sender = Sender { ifindex: flow.ifindex, selector: selector(*vm, *number) };
        host.install(flow.serial, 1, &rule(sender, allowed.rate, allowed.burst, TAGS)?)?;
    }
    let mut flows: Vec<Flow> = flows.into_iter().map(|(_, _, flow)| flow).collect();
    // A rate is seen over 20 ms, or three packets of a slow flow.
    let steady = (20e6 / allowed.nanos((allowed.cost * 8) as f64)).ceil().max(3.0) as usize;
    let program = host.program(HostProgram::Endpoint)?;
    // The flows are staggered, so that they are not due at one moment.
    let (begin, count) = (now()? + 100_000, flows.len() as f64);
    for (at, flow) in flows.iter_mut().enumerate() {
        flow.due = begin + (allowed.nanos((allowed.cost * 8) as f64).min(1e7) * at as f64 / count) as u64;
    }
    offer(host, &program, &mut flows, allowed, steady)?;
    Ok(flows)
}

/// The programs' clock, in ns (`bpf_ktime_get_ns`).
fn now() -> Result<u64, Error> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC);
    let now = now.map_err(|error| Error::failed("reading the clock", std::io::Error::from(error)))?;
    Ok(Duration::from(now).as_nanos() as u64)
}

/// Offers packets until this many have passed of every flow.
fn offer(
    host: &Host,
    program: &SchedClassifier,
    flows: &mut [Flow],
    allowed: Allowed,
    steady: usize,
) -> Result<(), Error> {
    /// Packets of one call; they come about 100 ns apart. Once one has passed, the frame has tags, and the others are forged.
    const OFFERS: u32 = 30;
    let interval = allowed.nanos((allowed.cost * 8) as f64) as u64;
    // Time before a packet is due at which its flow is first offered one, in ns; the first call after a pause is
    // slow.
    let before = (interval / (4 * flows.len() as u64)).clamp(2_500, 30_000);
    // A machine that is busy may never see as many.
    let end = now()? + 100_000_000 + interval * (steady as u64 + 3);
    while let Some(flow) = flows.iter_mut().filter(|flow| !flow.is_seen(steady)).min_by_key(|flow| flow.due) {
        if now()? > end {
            break;
        }
        if flow.due > now()? + before {
            continue;
        }
        let (then, began) = (host.bucket(flow.serial)?, now()?);
        run(program, TestPacket { ifindex: flow.ifindex, frame: &flow.frame, gso_size: 0 }, OFFERS)?;
        let after = host.bucket(flow.serial)?;
        if after.packets > then.packets {
            let was_refused = then.last > flow.passed.last().map_or(u64::MAX, |last| last.at);
            let is_close = was_refused && after.last - then.last < interval / 1_000;
            // A packet was refused in this call, and the machine did not pause in between.
            let refused = after.shaped - then.shaped;
            let is_prompt = refused > 0 && after.last.saturating_sub(began) < 3_000 + 300 * refused + interval / 1_000;
            flow.pass(after.last, is_close || is_prompt, allowed);
        }
    }
    Ok(())
}
