//! Loko's benchmark (A. Van Bemten and others, CoNEXT 2019, slides, step 1) of a switch in a lab, with real packets:
//! throughput, delay per packet, and buffer capacity. The switch is a black box between endpoints that send and
//! receive.
//!
//! | slides | here |
//! |---|---|
//! | step 0, which services are independent | [`Calibrated::is_shared`]: the joint throughput of two ports that are loaded at once equals that of one, or twice that |
//! | throughput | the minimum over [`LOADS`] loads that exceed it |
//! | per-packet delay | the longest of single packets, and T of a service curve R (t - T) below all observations of loads and bursts |
//! | buffer capacity | packets of the largest burst of which [`TRAINS`] times none was lost, without those that had left before the last came |
//!
//! Sizes are those on the wire, as contracts count them: the frame, a tag, and 24 B. Runs in which a processor of
//! this machine stalled are not valid for the switch. They are repeated, up to [`TIMEOUT`] times the number of runs,
//! and then they count.

mod figures;

use std::collections::BTreeSet;
use std::time::Duration;

use wayleave_dataplane::switch::{CaseFlow, MAX_ENTRIES};
use wayleave_topology::NodeId;
use wayleave_topology::devices::{Action, Case, Measurement};
use wayleave_units::{Bytes, Rate, Time};

use crate::error::LabError;
use crate::hosts::{Hosts, best_effort};
use crate::plan::{EndpointPlan, NodePlan};
use crate::sentinel::Sentinel;
use crate::stop::StopRequest;
use crate::traffic::{ProbeResult, Prober, SMALLEST_PROBE};
use crate::up::Lab;
use figures::{arrivals, held, lag, lasting, rate, slowest};

/// Single packets whose delay is measured.
const SINGLES: usize = 100;
/// Bursts of one length.
const TRAINS: usize = 8;
/// Loads that exceed what the switch serves.
const LOADS: usize = 8;
/// Duration of each load.
const LOAD: Duration = Duration::from_millis(150);
/// Ratio of the offered load to the throughput.
const EXCESS: u64 = 3;
/// The longest burst that is tried.
const LONGEST: usize = 4096;
/// Maximum number of runs per valid run, until stalls are accepted.
const TIMEOUT: usize = 4;
/// Time without an arrival after which a run ends; it is at least the time of two packets.
const SILENCE: Duration = Duration::from_millis(60);
/// Percentage of one port's throughput from which two ports together count as having a service each.
const INDEPENDENT: u64 = 150;

/// Measurements of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calibrated {
    /// Measurements as in Loko's table.
    pub measurement: Measurement,
    /// Throughput of two ports that were loaded at once.
    pub together: Rate,
    /// Number of runs that count although a processor stalled in them.
    pub stalled: usize,
}

impl Calibrated {
    /// Returns `true` if both ports were served by one service.
    pub fn is_shared(&self) -> bool {
        self.together.bits_per_second() < self.measurement.throughput.bits_per_second() / 100 * INDEPENDENT
    }
}

/// Measures a switch of a lab without a controller, case by case. Two hosts have to be attached to it. A bridge of Open vSwitch is given the table of each case; another
/// switch is measured as it is set up, so its cases differ in the packet alone.
///
/// # Errors
/// If there is no such switch, a case is none that it can have, packets are lost one by one, or the switch is faster than its ports.
pub fn calibrate(
    lab: &Lab,
    switch: &str,
    cases: &[Case],
    on_case: &mut dyn FnMut(Case, Calibrated),
) -> Result<(), LabError> {
    if lab.server().is_some() {
        let why = "its agents watch the switch; `lab up --no-controller` creates a lab that can be measured";
        return Err(LabError::Controller(format!("this lab has a controller, and {why}")));
    }
    let network = lab.network();
    let node = lab.plan().switches().find(|node| node.ports.name == switch);
    let node = node.ok_or_else(|| LabError::NoSwitch(switch.to_owned()))?;
    let bridge = lab.bridge(node);
    let links = network.links_from(node.node);
    check(cases, links.iter().map(|&link| network.link(link).mtu).min().unwrap_or(Bytes::ZERO), bridge.is_some())?;
    let attached = attached(lab, node.node);
    let ([first, second, ..], Some(last)) = (attached.as_slice(), attached.last()) else {
        let why = "one to send and one to receive";
        return Err(LabError::Calibrate(format!("two hosts must be attached to {switch}, {why}")));
    };
    // Of two hosts each sends to the other one; of more, two send by ports of their own.
    let pairs = [[*first, *second], [*last, *first]];
    let prober = Prober::open(&pairs)?;
    let flows = flows(lab, node, &pairs, &prober)?;
    let _hosts = Hosts::start(lab)?;
    let line = links.iter().map(|&link| network.link(link).rate).min().unwrap_or(Rate::ZERO);
    let mut bench = Bench { stop: lab.stop(), line, prober, stalled: 0 };
    let mut set_up = None;
    let mut all = || {
        for &case in cases {
            let table = Case { packet: Bytes::ZERO, ..case };
            if let Some(bridge) = bridge.as_ref().filter(|_| set_up != Some(table)) {
                bridge.forward_by(&case, &flows)?;
                set_up = Some(table);
            }
            let measured = bench.measure(case.packet).map_err(|error| match error {
                LabError::Calibrate(why) => LabError::Calibrate(format!("{case}: {why}")),
                other => other,
            });
            on_case(case, measured?);
        }
        Ok(())
    };
    let measured = all();
    let restored = bridge.map_or(Ok(()), |bridge| bridge.forward_as_before());
    measured.and_then(|()| Ok(restored?))
}

fn check(cases: &[Case], mtu: Bytes, has_tables: bool) -> Result<(), LabError> {
    // Header and tag, and the 24 B around a frame.
    let most = mtu.get() + 14 + 4 + 24;
    if let Some(wrong) = cases.iter().map(|case| case.packet).find(|one| !(SMALLEST_PROBE..=most).contains(&one.get()))
    {
        return Err(LabError::Calibrate(format!(
            "invalid packet size {wrong}: expected {SMALLEST_PROBE} to {most} B on the wire, with a tag and 24 B around the frame"
        )));
    }
    if let Some(wrong) = cases.iter().find(|case| case.entries > MAX_ENTRIES) {
        let why = format!("expected at most {MAX_ENTRIES}");
        return Err(LabError::Calibrate(format!("cannot create a table of {} entries: {why}", wrong.entries)));
    }
    if let Some(wrong) = cases.iter().find(|case| matches!(case.action, Action::SetVlanId | Action::StripVlan)) {
        let why = "ports of a lab classify packets by their tag, and drop packets without one";
        return Err(LabError::Calibrate(format!("{} cannot be measured here: {why}", wrong.action)));
    }
    let tables: BTreeSet<Case> = cases.iter().map(|&case| Case { packet: Bytes::ZERO, ..case }).collect();
    if tables.len() > 1 && !has_tables {
        return Err(LabError::Calibrate(format!(
            "{} tables requested, but this switch is measured as it is set up: expected one value for each dimension other than packet (`lab up --ovs` creates a switch with tables)",
            tables.len()
        )));
    }
    Ok(())
}

/// The probes of each pair, as they pass the switch.
fn flows(
    lab: &Lab,
    switch: &NodePlan,
    pairs: &[[&EndpointPlan; 2]],
    prober: &Prober,
) -> Result<Vec<CaseFlow>, LabError> {
    let network = lab.network();
    let link =
        |host: NodeId| network.links_from(switch.node).iter().copied().find(|&link| network.link(link).to == host);
    let flow = |([from, to], ports): (&[&EndpointPlan; 2], [u16; 2])| {
        let port = |host: NodeId| Some(lab.plan().port(network, link(host)?)?.interface.clone());
        Some(CaseFlow {
            interfaces: [port(from.host)?, port(to.host)?],
            tag: best_effort(lab, from.host, to.host)?.tags.first()?.tci(),
            macs: [from.mac, to.mac],
            addresses: [from.address, to.address],
            ports,
        })
    };
    let flows: Option<Vec<CaseFlow>> = pairs.iter().zip(prober.ports()?).map(flow).collect();
    flows.ok_or_else(|| LabError::Calibrate(format!("no tagged route through {}", switch.ports.name)))
}

/// Hosts by themselves at a switch.
fn attached(lab: &Lab, switch: NodeId) -> Vec<&EndpointPlan> {
    let network = lab.network();
    let hosts = network.links_from(switch).iter().map(|&link| network.link(link).to);
    hosts.filter_map(|host| lab.plan().on_host(host).next()).collect()
}

/// Outcomes of a run's packets, by pair.
type Run = Vec<Vec<ProbeResult>>;

struct Bench<'a> {
    stop: &'a StopRequest,
    /// Of the slowest port.
    line: Rate,
    prober: Prober,
    stalled: usize,
}

impl Bench<'_> {
    fn measure(&mut self, packet: Bytes) -> Result<Calibrated, LabError> {
        self.stalled = 0;
        let (fastest, slowest_single) = self.singles(packet)?;
        let (trains, buffer) = self.trains(packet, fastest)?;
        let about = trains.iter().filter_map(|run| rate(&arrivals(run), packet)).min().unwrap_or(self.line);
        if about.bits_per_second() > self.line.bits_per_second() / 100 * 90 {
            return Err(self.too_fast());
        }
        let alone = self.loads(packet, about, 1)?;
        let both = self.loads(packet, about, 2)?;
        let least = |runs: &[Run]| runs.iter().filter_map(|run| lasting(&arrivals(run), packet)).min().unwrap_or(about);
        let (throughput, together) = (least(&alone), least(&both));
        let mut calibrated = Calibrated {
            measurement: Measurement { throughput, delay: slowest_single, buffer },
            together,
            stalled: self.stalled,
        };
        // One service for both is seen from both.
        let mut loads = alone;
        if calibrated.is_shared() {
            calibrated.measurement.throughput = throughput.min(together);
            loads.extend(both);
        }
        let lags = trains.iter().chain(&loads).filter_map(|run| {
            let begin = run.iter().flatten().map(|one| one.sent).min()?;
            Some(lag(begin, &arrivals(run), packet, calibrated.measurement.throughput))
        });
        calibrated.measurement.delay = lags.fold(slowest_single, Time::max);
        Ok(calibrated)
    }

    /// The least and the most that a packet takes through an idle switch.
    fn singles(&mut self, packet: Bytes) -> Result<(Time, Time), LabError> {
        let runs = self.runs(SINGLES, |bench| bench.prober.send(1, packet, 1, Duration::ZERO, SILENCE))?;
        if runs.iter().flatten().flatten().any(|one| one.received.is_none()) {
            let why = "a packet was lost without other traffic: something else uses the switch, or it does not forward";
            return Err(LabError::Calibrate(why.to_owned()));
        }
        let mut delays: Vec<Time> = runs.iter().flatten().filter_map(|burst| slowest(burst)).collect();
        delays.sort_unstable();
        Ok((delays.first().copied().unwrap_or(Time::ZERO), delays.last().copied().unwrap_or(Time::ZERO)))
    }

    /// Returns the longest bursts without loss, and the minimum number of their packets that were in the switch at
    /// once.
    fn trains(&mut self, packet: Bytes, transit: Time) -> Result<(Vec<Run>, u32), LabError> {
        let (mut fits, mut longest) = (None, 1);
        // From here on something is lost.
        let mut breaks = None;
        while breaks.is_none_or(|breaks| breaks - longest > 1) {
            let length = breaks.map_or(longest * 2, |breaks: usize| longest.midpoint(breaks));
            if length > LONGEST {
                return Err(self.too_fast());
            }
            let count = if breaks.is_none() { 2 } else { TRAINS };
            let runs = self.train_of(packet, length, count)?;
            match runs.iter().flatten().flatten().all(|one| one.received.is_some()) {
                true => (longest, fits) = (length, Some(runs).filter(|_| count == TRAINS)),
                false => breaks = Some(length),
            }
        }
        let runs = match fits {
            Some(runs) => runs,
            None => self.train_of(packet, longest, TRAINS)?,
        };
        let held = runs.iter().flatten().map(|burst| held(burst, packet, self.line, transit)).min().unwrap_or(0);
        Ok((runs, u32::try_from(held).unwrap_or(u32::MAX)))
    }

    /// Bursts as fast as the line takes them, so that none waits in its host.
    fn train_of(&mut self, packet: Bytes, length: usize, count: usize) -> Result<Vec<Run>, LabError> {
        let interval = time_of(packet, self.line.bits_per_second());
        self.runs(count, |bench| bench.prober.send(1, packet, length, interval, SILENCE))
    }

    /// Offers more than the switch serves, by this number of ports at once.
    fn loads(&mut self, packet: Bytes, about: Rate, ports: usize) -> Result<Vec<Run>, LabError> {
        let offered = about.bits_per_second().saturating_mul(EXCESS).min(self.line.bits_per_second());
        let interval = time_of(packet, offered);
        let count = usize::try_from(LOAD.as_nanos() / interval.as_nanos().max(1)).unwrap_or(LONGEST);
        self.runs(LOADS, |bench| bench.prober.send(ports, packet, count, interval, SILENCE))
    }

    /// Returns the required number of runs, without stalls of a processor if possible.
    fn runs(
        &mut self,
        wanted: usize,
        mut run: impl FnMut(&mut Self) -> Result<Run, LabError>,
    ) -> Result<Vec<Run>, LabError> {
        let (mut clean, mut stalled) = (Vec::with_capacity(wanted), Vec::new());
        for _ in 0..wanted * TIMEOUT {
            self.stop.check()?;
            let sentinel = Sentinel::start()?;
            let seen = run(self)?;
            let stalls = sentinel.stop();
            let begin = seen.iter().flatten().map(|one| one.sent).min().unwrap_or(0);
            let end = seen.iter().flatten().map(|one| one.received.unwrap_or(one.sent)).max().unwrap_or(0);
            if stalls.within(begin, end) == 0 {
                clean.push(seen)
            } else {
                stalled.push(seen)
            }
            if clean.len() == wanted {
                return Ok(clean);
            }
        }
        let missing = wanted - clean.len();
        self.stalled += missing;
        clean.extend(stalled.into_iter().take(missing));
        Ok(clean)
    }

    fn too_fast(&self) -> LabError {
        LabError::Calibrate(format!(
            "the switch forwards at the rate of its ports, {}: it has no shared service to measure. Use faster ports (`lab up --scale-rate`), or give the switch a service (`lab up --service`)",
            self.line
        ))
    }
}

/// Returns the transmission time of a packet at a rate.
fn time_of(packet: Bytes, rate: u64) -> Duration {
    let nanos = u128::from(packet.bits()) * 1_000_000_000 / u128::from(rate.max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
