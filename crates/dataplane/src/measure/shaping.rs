//! How exact the bucket is: rate and burst of what passes, against what the rule says, on the machine's own clock.

use std::time::{Duration, Instant};

use aya::programs::SchedClassifier;
use wayleave_units::{Bytes, Rate};
use wayleave_wire::wire_bytes;

use super::{LOOPBACK, apart, frame, mac, rule, selector};
use crate::apart::Apart;
use crate::error::Error;
use crate::host::{Host, HostProgram, Sender, Settings};
use crate::test_run::{Input, REDIRECTED, run};

/// Tags of every packet (section 5.3.2).
const TAGS: u16 = 6;

/// What is sent: a scenario of Table 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaping {
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

const fn scenario(vms: u8, flows: u16, packet: usize, rate: u64, burst: u64) -> Shaping {
    Shaping { vms, flows, packet, rate, burst }
}

/// Table 4 of the paper, row by row.
pub const TABLE_4: [Shaping; 17] = [
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

/// How far what passed was from the rule, of the flow that was furthest from it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shaped {
    /// Of the rate, as a part of it.
    pub rate_error: f64,
    /// Of the burst, as a part of it.
    pub burst_error: f64,
}

/// Sends more than every bucket allows, and looks at what passes. A rule's rate and burst count wire bytes; they are those of the
/// scenario, grown by what a packet has on the wire.
///
/// Each flow is offered a packet whenever its bucket should allow one, a little before and until it passes. `rounds` times: a
/// machine that stands still for a moment makes a packet late, so of the bursts the largest counts, of the rates the median.
///
/// # Errors
/// If the kernel refuses.
pub fn shape(what: Shaping, rounds: usize) -> Result<Shaped, Error> {
    let seen: Vec<Vec<Seen>> = apart(|apart| (0..rounds.max(1)).map(|_| round(apart, what)).collect())?;
    let mut worst = Shaped::default();
    for flow in 0..seen[0].len() {
        let burst = seen.iter().map(|round| round[flow].burst).fold(0.0, f64::max);
        let mut rates: Vec<f64> = seen.iter().map(|round| round[flow].rate).collect();
        rates.sort_by(f64::total_cmp);
        worst.burst_error = worst.burst_error.max((burst - 1.0).abs());
        worst.rate_error = worst.rate_error.max((rates[rates.len() / 2] - 1.0).abs());
    }
    Ok(worst)
}

/// What passed of a flow, as parts of what the rule says.
#[derive(Clone, Copy)]
struct Seen {
    rate: f64,
    burst: f64,
}

/// A flow while it is measured.
struct Flow {
    ifindex: u32,
    frame: Vec<u8>,
    /// When packets passed.
    passed: Vec<Instant>,
    due: Instant,
}

/// What a rule says in wire bytes.
#[derive(Clone, Copy)]
struct Allowed {
    cost: u64,
    rate: Rate,
    burst: Bytes,
}

impl Allowed {
    fn of(what: Shaping) -> Self {
        let cost = wire_bytes(what.packet, usize::from(TAGS)).get();
        let grown = |bits: u64| (bits * cost).div_ceil(what.packet as u64);
        Self {
            cost,
            rate: Rate::from_bits_per_second(grown(what.rate)),
            burst: Bytes::new(grown(what.burst).div_ceil(8)),
        }
    }

    /// How long a packet's tokens take to come.
    fn interval(self) -> Duration {
        Duration::from_secs_f64((self.cost * 8) as f64 / self.rate.bits_per_second() as f64)
    }
}

/// One look at all flows: their bursts, and then so many packets as the rate allows.
fn round(apart: &Apart, what: Shaping) -> Result<Vec<Seen>, Error> {
    let allowed = Allowed::of(what);
    let mut host = Host::open(apart.pins(), &Settings::default())?;
    let program = host.program(HostProgram::Endpoint)?;
    let mut flows = Vec::new();
    for vm in 0..what.vms {
        let ifindex = endpoint(apart, vm)?;
        host.add_endpoint(ifindex, mac(vm))?;
        for flow in 0..what.flows {
            let serial = 1 + u64::from(vm) * u64::from(what.flows) + u64::from(flow);
            let sender = Sender { ifindex, selector: selector(vm, flow) };
            host.remove(serial)?;
            host.install(serial, 1, &rule(sender, allowed.rate, allowed.burst, TAGS)?)?;
            let frame = frame(vm, flow, what.packet);
            flows.push(Flow { ifindex, frame, passed: Vec::new(), due: Instant::now() });
        }
    }
    // A rate is seen over 30 ms, or four packets of a slow flow.
    let steady = (Duration::from_millis(30).as_secs_f64() / allowed.interval().as_secs_f64()).ceil().max(4.0) as usize;
    let wanted = (allowed.burst.get() / allowed.cost) as usize + 1 + steady;
    offer(&program, &mut flows, wanted, allowed)?;
    host.tear_down()?;
    Ok(flows.iter().map(|flow| seen(flow, allowed)).collect())
}

/// The interface of a VM: the loopback for the first one, for others a pair of their own.
fn endpoint(apart: &Apart, vm: u8) -> Result<u32, Error> {
    if vm == 0 {
        return Ok(LOOPBACK);
    }
    let (name, ifindex) = (format!("vm{vm}"), 100 + 2 * u32::from(vm));
    if apart.ip(&["link", "show", &name]).is_err() {
        apart.veth(&name, ifindex)?;
    }
    Ok(ifindex)
}

/// Offers packets until so many have passed of every flow.
fn offer(program: &SchedClassifier, flows: &mut [Flow], wanted: usize, allowed: Allowed) -> Result<(), Error> {
    // Before a packet is due: so long an offer takes.
    const BEFORE: Duration = Duration::from_micros(3);
    let at_once = (allowed.burst.get() / allowed.cost) as usize;
    while let Some(flow) = flows.iter_mut().filter(|flow| flow.passed.len() < wanted).min_by_key(|flow| flow.due) {
        let now = Instant::now();
        if flow.due > now + BEFORE {
            continue;
        }
        let out = run(program, Input { ifindex: flow.ifindex, frame: &flow.frame, gso_size: 0 }, 1)?;
        if out.verdict != REDIRECTED {
            continue;
        }
        flow.passed.push(now);
        // The bucket was full when the first one passed.
        let first = flow.passed[0];
        let tokens = |packets: usize| (packets as u64 * allowed.cost * 8) as f64 - (allowed.burst.get() * 8) as f64;
        let bits = tokens(flow.passed.len() + 1).max(0.0);
        flow.due = if flow.passed.len() <= at_once {
            first + Duration::from_secs_f64(bits / allowed.rate.bits_per_second() as f64)
        } else {
            now + allowed.interval().saturating_sub(2 * BEFORE)
        };
    }
    Ok(())
}

/// The smallest bucket that allows what passed, and the rate after the burst.
fn seen(flow: &Flow, allowed: Allowed) -> Seen {
    let (cost, rate) = ((allowed.cost * 8) as f64, allowed.rate.bits_per_second() as f64);
    // Largest over all intervals of what passed in it, less what the rate brings meanwhile.
    let (mut burst, mut level) = (0.0_f64, 0.0_f64);
    let mut last = flow.passed.first().copied();
    for &at in &flow.passed {
        let elapsed = last.map_or(0.0, |last| (at - last).as_secs_f64());
        level = (level - rate * elapsed).max(0.0) + cost;
        (burst, last) = (burst.max(level), Some(at));
    }
    let after = &flow.passed[(allowed.burst.get() / allowed.cost) as usize..];
    let (first, last) = (after[0], after[after.len() - 1]);
    let seconds = (last - first).as_secs_f64();
    Seen { rate: (after.len() - 1) as f64 * cost / seconds / rate, burst: burst / (allowed.burst.get() * 8) as f64 }
}
