//! Checks on a node: watches its interfaces for probes. The sender's host sends the probes.
//!
//! A probe enters its host by the sender's interface, like the sender's own packets. So it meets the rules of the
//! host, waits for tokens, gets tags and is queued. The kernel's packet sockets see it where it enters a node, before
//! any program, and where it leaves a node, behind all queues. There is no cost while no check is on; during a check
//! the kernel inspects a few words of each frame.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use wayleave_dataplane::frames::describe;
use wayleave_dataplane::net::{Capture, Injector, Namespace};
use wayleave_protocol::check::{CheckReport, CheckTask, MAX_PROBES, ProbeCounts, Probes};
use wayleave_topology::Network;

use crate::interfaces::NodeInterface;
use crate::node::NodeDriver;
use crate::probe::Template;

/// Interval between probes, and between polls for probes that were seen.
const EVERY: Duration = Duration::from_millis(20);
/// Maximum duration of a check that is not ended explicitly.
const LONGEST: Duration = Duration::from_secs(60);
/// Maximum number of concurrent checks; each further one is reported as a trouble.
const MAX: usize = 8;
/// Maximum number of frames read in one batch, so that the node's other work is not delayed.
const BATCH: usize = 500;

/// The checks that are on.
#[derive(Debug, Default)]
pub struct Checks {
    watches: BTreeMap<String, Watch>,
}

/// A check.
#[derive(Debug)]
struct Watch {
    mark: [u8; 8],
    capture: Option<Capture>,
    places: BTreeMap<u32, NodeInterface>,
    trouble: Option<String>,
    /// By interface and direction: the first in words, and the numbers of all.
    seen: BTreeMap<(u32, bool), (String, BTreeSet<u32>)>,
    sending: Option<Sending>,
    sent: u32,
    /// Counters before the check.
    counted: BTreeMap<String, u64>,
    until: Instant,
}

#[derive(Debug)]
struct Sending {
    into: Injector,
    template: Template,
    count: u32,
    at: Instant,
}

impl Checks {
    /// These checks are on, and no others.
    pub fn set(&mut self, tasks: Vec<CheckTask>, node: &mut impl NodeDriver) {
        self.watches.retain(|id, _| tasks.iter().any(|task| task.id == *id));
        for CheckTask { id, sends } in tasks {
            let is_room = self.watches.len() < MAX;
            let watch = self.watches.entry(id).or_insert_with_key(|id| Watch::begin(id, is_room, node));
            if let Some(probes) = sends {
                watch.send(probes, node);
            }
        }
    }

    /// Returns the time of the next work, or `None` if no check is on.
    pub fn due(&self) -> Option<Instant> {
        (!self.watches.is_empty()).then(|| Instant::now() + EVERY)
    }

    /// Sends what is due, and looks what was seen.
    pub fn work(&mut self, network: &Network) {
        let now = Instant::now();
        self.watches.retain(|_, watch| now < watch.until);
        for watch in self.watches.values_mut() {
            watch.send_due(now);
            watch.poll(network);
        }
    }

    /// Returns the reports of all checks; `None` if none is on.
    pub fn reports(&self, node: &mut impl NodeDriver) -> Option<Vec<CheckReport>> {
        if self.watches.is_empty() {
            return None;
        }
        let now = node.packets().unwrap_or_default();
        Some(self.watches.iter().map(|(id, watch)| watch.report(id, &now)).collect())
    }
}

impl Watch {
    fn begin(id: &str, is_room: bool, node: &mut impl NodeDriver) -> Self {
        let mark = u64::from_str_radix(id, 16).map(u64::to_be_bytes);
        let opened = match mark {
            _ if !is_room => Err(format!("{MAX} checks are already running")),
            Err(_) => Err("cannot parse the check number: the controller has another version".to_owned()),
            Ok(mark) => watch(mark),
        };
        let (capture, trouble) = match opened {
            Ok(capture) => (Some(capture), None),
            Err(why) => (None, Some(why)),
        };
        Self {
            mark: mark.unwrap_or_default(),
            capture,
            places: node.places(),
            trouble,
            seen: BTreeMap::new(),
            sending: None,
            sent: 0,
            counted: node.packets().unwrap_or_default(),
            until: Instant::now() + LONGEST,
        }
    }

    /// Begins to send, once.
    fn send(&mut self, probes: Probes, node: &mut impl NodeDriver) {
        if self.sending.is_some() || self.sent > 0 || self.trouble.is_some() {
            return;
        }
        let opened = node.outlet(self.mark, &probes).and_then(|(interface, template)| {
            Ok((Injector::into_ingress(&interface).map_err(|error| error.to_string())?, template))
        });
        match opened {
            Ok((into, template)) => {
                let count = probes.count.min(MAX_PROBES);
                self.sending = Some(Sending { into, template, count, at: Instant::now() });
            }
            Err(why) => self.trouble = Some(why),
        }
    }

    fn send_due(&mut self, now: Instant) {
        let Some(sending) = self.sending.as_mut().filter(|sending| now >= sending.at) else { return };
        match sending.into.put(&sending.template.frame(self.sent)) {
            Ok(()) => self.sent += 1,
            Err(error) => self.trouble = Some(format!("cannot send probe {}: {error}", self.sent)),
        }
        sending.at = now + EVERY;
        if self.sent >= sending.count || self.trouble.is_some() {
            self.sending = None;
        }
    }

    fn poll(&mut self, network: &Network) {
        let Some(capture) = &mut self.capture else { return };
        for _ in 0..BATCH {
            let Ok(Some(one)) = capture.next_now() else { return };
            let Some(number) = Template::number_in(self.mark, &one.frame).filter(|&number| number < MAX_PROBES) else {
                continue;
            };
            let Some(place) = self.places.get(&one.ifindex) else { continue };
            let reader = place.readers[usize::from(one.is_outgoing)];
            let key = (one.ifindex, one.is_outgoing);
            let words = || (describe(network, reader, &one.frame), BTreeSet::new());
            self.seen.entry(key).or_insert_with(words).1.insert(number);
        }
    }

    fn report(&self, id: &str, now: &BTreeMap<String, u64>) -> CheckReport {
        let seen = |(&(index, is_outgoing), (frame, probes)): (&(u32, bool), &(String, BTreeSet<u32>))| {
            let place = self.places.get(&index)?;
            let (interface, leads_to) = (place.interface.clone(), place.leads_to.clone());
            Some(ProbeCounts {
                interface,
                leads_to,
                is_outgoing,
                probes: probes.iter().copied().collect(),
                frame: frame.clone(),
            })
        };
        let more = |(what, &count): (&String, &u64)| {
            let more = count.saturating_sub(self.counted.get(what).copied().unwrap_or(0));
            (more > 0).then(|| (what.clone(), more))
        };
        CheckReport {
            id: id.to_owned(),
            trouble: self.trouble.clone(),
            sent: self.sent,
            seen: self.seen.iter().filter_map(seen).collect(),
            counted: now.iter().filter_map(more).collect(),
        }
    }
}

/// Sees the probes of a check at all interfaces of this thread's namespace.
fn watch(mark: [u8; 8]) -> Result<Capture, String> {
    let capture = Capture::open(&Namespace::current()).map_err(|error| format!("{error} (requires CAP_NET_RAW)"))?;
    capture.only(mark).map_err(|error| format!("cannot select frames: {error}"))?;
    Ok(capture)
}
