//! A probe through a lab: packets from one endpoint to another, watched at every interface on their route, so that
//! the place where they are lost is known.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use wayleave_dataplane::host::Counters;
use wayleave_dataplane::net::{Capture, Captured, Namespace};
use wayleave_topology::NodeKind;

use crate::capture::CapturePoint;
use crate::error::LabError;
use crate::plan::EndpointPlan;
use crate::up::Lab;

/// First bytes of every probe; its number follows.
const MARK: &[u8; 16] = b"wayleave-probe-1";
/// From one probe to the next.
const EVERY: Duration = Duration::from_millis(20);
/// Time without an observation after which the probes count as lost, and maximum duration of a run.
const QUIET: Duration = Duration::from_millis(700);
const TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes that a probe carries.
const PAYLOAD: usize = 64;

/// Probes to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeSpec {
    /// The endpoint that sends.
    pub from: String,
    /// The endpoint that receives.
    pub to: String,
    /// Number of packets.
    pub count: u32,
    /// The receiver's port, and the sender's; so a contract can be chosen by its match.
    pub ports: (Option<u16>, u16),
}

/// An interface at which probes were seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeObservation {
    /// The node or endpoint, and its interface.
    pub place: String,
    /// `true` if they left by it.
    pub is_outgoing: bool,
    /// Number of probes.
    pub probes: usize,
    /// From when the first was seen for the first time anywhere, in nanoseconds: the mean over all that were seen here.
    pub after_ns: u64,
    /// Description of the first one, with its tags.
    pub frame: String,
}

/// Observations of probes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeResult {
    /// Number of probes sent.
    pub sent: usize,
    /// Number of probes that the receiver got.
    pub received: usize,
    /// Places where they were seen, in the order of their route.
    pub observations: Vec<ProbeObservation>,
    /// Counters of the hosts at both ends meanwhile: host, outcome of packets, number.
    pub counted: Vec<(String, &'static str, u64)>,
}

impl ProbeResult {
    /// The last place where lost probes were seen, and the next one, if there is one; `None` if nothing was lost.
    pub fn lost(&self) -> Option<(String, Option<String>)> {
        let path: Vec<&ProbeObservation> = self.observations.iter().collect();
        let name = |one: &ProbeObservation| {
            format!("{} ({})", one.place, if one.is_outgoing { "leaving" } else { "entering" })
        };
        let gap = path.windows(2).find(|pair| pair[1].probes < pair[0].probes);
        match (gap, path.last()) {
            (Some(pair), _) => Some((name(pair[0]), Some(name(pair[1])))),
            (None, Some(last)) if last.probes > self.received || self.received < self.sent => Some((name(last), None)),
            (None, None) if self.received < self.sent => Some(("the sender".to_owned(), None)),
            _ => None,
        }
    }
}

/// Sends probes, and watches all interfaces of the lab.
///
/// # Errors
/// If an endpoint is not there, or a namespace cannot be used.
pub fn probe(lab: &Lab, spec: &ProbeSpec) -> Result<ProbeResult, LabError> {
    let plan = lab.plan();
    let end = |name: &str| {
        let ids = [name.to_owned(), format!("host:{name}"), format!("default:{name}")];
        let found = plan.endpoints.iter().find(|one| ids.contains(&one.id));
        found.ok_or_else(|| {
            LabError::Controller(format!(
                "{name} is not an endpoint of this lab: `wayleave lab status -o json` lists them"
            ))
        })
    };
    let (from, to) = (end(&spec.from)?, end(&spec.to)?);
    let mut watched: Vec<&str> = plan.switches().map(|node| node.namespace.as_str()).collect();
    watched.extend(
        plan.nodes.iter().filter(|node| [from.host, to.host].contains(&node.node)).map(|node| node.namespace.as_str()),
    );
    watched.extend([from.inside.namespace.as_str(), to.inside.namespace.as_str()]);
    let mut captures = Vec::new();
    for namespace in watched {
        captures.push(Capture::open(&Namespace::open(namespace)?)?);
    }
    let hosts: BTreeSet<&str> = [from, to].map(|one| lab.network().node(one.host).name.as_str()).into();
    let before = counters(lab, &hosts);
    let (source, target) = spec.ports;
    let inbox = bound(to, target)?;
    let outbox = bound(from, source.unwrap_or(0))?;
    let (mut seen, mut received) = (Seen::default(), BTreeSet::new());
    for number in 0..spec.count {
        let mut payload = [MARK.as_slice(), &number.to_be_bytes()].concat();
        payload.resize(PAYLOAD, 0);
        let to = SocketAddr::new(IpAddr::V4(to.address), target);
        outbox.send_to(&payload, to).map_err(|error| LabError::io("cannot send a probe", error))?;
        lab.stop().sleep_until(Instant::now() + EVERY);
        seen.poll(lab, &mut captures)?;
    }
    let (begin, mut quiet) = (Instant::now(), Instant::now());
    while quiet.elapsed() < QUIET && begin.elapsed() < TIMEOUT && !lab.stop().is_asked() {
        let mut is_more = seen.poll(lab, &mut captures)?;
        let mut payload = [0; 2 * PAYLOAD];
        while let Ok(length) = inbox.recv(&mut payload) {
            is_more |=
                number_in(payload.get(..length).unwrap_or_default()).is_some_and(|number| received.insert(number));
        }
        if is_more {
            quiet = Instant::now();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let after = counters(lab, &hosts);
    let more = after.into_iter().filter_map(|(what, count)| {
        let more = count - before.get(&what).copied().unwrap_or(0);
        (more > 0).then_some((what.0, what.1, more))
    });
    Ok(ProbeResult {
        sent: spec.count as usize,
        received: received.len(),
        observations: seen.observations(),
        counted: more.collect(),
    })
}

/// A socket where an endpoint is.
fn bound(endpoint: &EndpointPlan, port: u16) -> Result<UdpSocket, LabError> {
    let address = endpoint.address;
    let open = move || {
        let socket = UdpSocket::bind((address, port))?;
        socket.set_nonblocking(true)?;
        Ok::<_, std::io::Error>(socket)
    };
    let socket = Namespace::open(&endpoint.inside.namespace)?.run(open)?;
    socket.map_err(|error| LabError::io(format!("cannot use port {port} of {}", endpoint.id), error))
}

/// Returns the counters of hosts, by host and reason; empty if the hosts count nothing.
fn counters(lab: &Lab, hosts: &BTreeSet<&str>) -> BTreeMap<(String, &'static str), u64> {
    let mut all = BTreeMap::new();
    for node in lab.plan().nodes.iter().filter(|node| node.kind == NodeKind::Host && hosts.contains(&*node.ports.name))
    {
        let Ok(counters) = Counters::watch(&lab.pins().join(node.file_name())) else { continue };
        all.extend(counters.reasons.iter().map(|(reason, &count)| ((node.ports.name.clone(), reason.name()), count)));
    }
    all
}

/// The number of the probe in a frame or a payload.
fn number_in(bytes: &[u8]) -> Option<u32> {
    let at = bytes.windows(MARK.len()).position(|window| window == MARK)? + MARK.len();
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Observations of probes so far.
#[derive(Debug, Default)]
struct Seen {
    /// By interface and direction: the time at which each probe was seen, and the first probe.
    places: BTreeMap<(u32, bool), (Known, BTreeMap<u32, u64>)>,
    /// Time at which each probe was first seen.
    first: BTreeMap<u32, u64>,
}

/// A place, and the first frame there in words.
type Known = (String, String);

impl Seen {
    /// Takes what was captured since the last time; whether there was any probe.
    fn poll(&mut self, lab: &Lab, captures: &mut [Capture]) -> Result<bool, LabError> {
        let mut is_any = false;
        for capture in captures {
            while let Some(one) = capture.next_now().map_err(|error| LabError::io("cannot capture frames", error))? {
                is_any |= self.note(lab, &one);
            }
        }
        Ok(is_any)
    }

    fn note(&mut self, lab: &Lab, one: &Captured) -> bool {
        let Some(number) = number_in(&one.frame) else { return false };
        let Some(place) = CapturePoint::of(lab.plan(), lab.network(), one.ifindex, one.is_outgoing) else {
            return false;
        };
        let describe = || (place.name.clone(), place.describe(lab.network(), &one.frame));
        let entry = self.places.entry((one.ifindex, one.is_outgoing)).or_insert_with(|| (describe(), BTreeMap::new()));
        entry.1.entry(number).or_insert(one.at_ns);
        let first = self.first.entry(number).or_insert(one.at_ns);
        *first = (*first).min(one.at_ns);
        true
    }

    fn observations(self) -> Vec<ProbeObservation> {
        let first = self.first;
        let sighting = |((_, is_outgoing), ((place, frame), probes)): ((u32, bool), (Known, BTreeMap<u32, u64>))| {
            let since = |(number, at): (&u32, &u64)| at.saturating_sub(first.get(number).copied().unwrap_or(*at));
            let sum: u64 = probes.iter().map(since).sum();
            let after_ns = sum.checked_div(probes.len() as u64).unwrap_or(0);
            ProbeObservation { place, is_outgoing, probes: probes.len(), after_ns, frame }
        };
        let mut all: Vec<ProbeObservation> = self.places.into_iter().map(sighting).collect();
        all.sort_by_key(|one| one.after_ns);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sighting(place: &str, probes: usize) -> ProbeObservation {
        ProbeObservation { place: place.to_owned(), is_outgoing: true, probes, after_ns: 0, frame: String::new() }
    }

    #[test]
    fn the_place_of_loss_is_between_observers_with_different_counts() {
        let lost = |received, counts: &[usize]| {
            let observations =
                counts.iter().zip(["a", "b", "c"]).map(|(&probes, place)| sighting(place, probes)).collect();
            ProbeResult { sent: 10, received, observations, counted: Vec::new() }.lost()
        };
        let at = |place: &str| format!("{place} (leaving)");
        assert_eq!(lost(10, &[10, 10, 10]), None);
        assert_eq!(lost(7, &[10, 7, 7]), Some((at("a"), Some(at("b")))));
        assert_eq!(lost(0, &[10, 10]), Some((at("b"), None)));
        assert_eq!(lost(0, &[]), Some(("the sender".to_owned(), None)));
    }

    #[test]
    fn a_probe_is_recognised_at_any_offset_of_a_frame() {
        let payload = [&[0; 50][..], MARK, &7_u32.to_be_bytes(), &[0; 9]].concat();
        assert_eq!((number_in(&payload), number_in(&payload[..66]), number_in(b"")), (Some(7), None, None));
    }
}
