//! uFAB (SIGCOMM 2022): active edge, informative core, path migration.

use std::collections::BTreeMap;
use std::convert::Infallible;

use wayleave_roles::{
    Absent, Demand, Host, HostAction, HostInput, Incoming, IntHop, Mark, Outgoing, PathIndex, PathUse, Probe,
    ProbeAnswer, ProbeKind, ProbeOutcome, QueueState, Switch,
};
use wayleave_units::{Bytes, Time};

use crate::stack::{End, Layers, PAIR, RTT, Stack};
use crate::transports::Fixed;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Timer {
    /// 5 round trips (3.5): the guarantee was violated all the time.
    Violated { pair: Outgoing },
    /// 8 base round trips (4.1): a probe stayed away.
    ProbeLost { pair: Outgoing, path: PathIndex, sent: u32 },
}

/// uFAB-E for one pair; its window is its part of what the links' pairs have together.
struct Edge {
    tokens: u64,
    key: u64,
    /// Subscription of the candidate paths, as far as it is known.
    found: BTreeMap<PathIndex, u64>,
    candidates: u32,
    current: Option<PathIndex>,
    unprobed: Bytes,
    sent: u32,
    answered: u32,
}

type Act<'a> = &'a mut dyn FnMut(HostAction<'_, Infallible, Timer>);

impl Edge {
    /// L_w (4.1), one MTU.
    const PROBE_EVERY: Bytes = Bytes::new(1_500);

    fn new() -> Self {
        Self {
            tokens: 10,
            key: 0,
            found: BTreeMap::new(),
            candidates: 0,
            current: None,
            unprobed: Bytes::ZERO,
            sent: 0,
            answered: 0,
        }
    }

    fn probe(&mut self, now: Time, path: PathIndex, kind: ProbeKind, act: Act<'_>) {
        let probe = Probe { pair: self.key, kind, tokens: self.tokens };
        // Another window at the first link than at those behind it.
        let windows = [Bytes::new(20_000), Bytes::new(15_000)];
        act(HostAction::SendProbe { pair: PAIR, path, probe, windows: &windows });
        self.sent += 1;
        let timer = Timer::ProbeLost { pair: PAIR, path, sent: self.sent };
        act(HostAction::Arm { at: now + Time::from_micros(8 * 24), timer });
    }

    /// A candidate answers: the least subscribed is chosen once all have (3.5).
    fn on_candidate(&mut self, now: Time, path: PathIndex, hops: &[IntHop], act: Act<'_>) {
        self.found.insert(path, hops.iter().map(|hop| hop.tokens).max().unwrap());
        if self.found.len() == self.candidates as usize {
            let best = *self.found.iter().min_by_key(|(_, subscription)| **subscription).unwrap().0;
            self.move_to(best, now, act);
        }
    }

    /// The path in use answers: equation 3 without its second factor.
    fn on_active(&mut self, path: PathIndex, answer: ProbeAnswer, hops: &[IntHop], act: Act<'_>) {
        let tokens = answer.tokens.map_or(self.tokens, |admitted| admitted.min(self.tokens));
        let window = hops.iter().map(|hop| hop.windows.get() * tokens / hop.tokens).min().map(Bytes::new);
        act(HostAction::SetWindow { pair: PAIR, path, window });
    }

    /// 3.5: to another path; the old one is told that the pair leaves it.
    fn move_to(&mut self, path: PathIndex, from: Time, act: Act<'_>) {
        act(HostAction::UsePath { pair: PAIR, path, purpose: PathUse::Share, from });
        if let Some(path) = self.current.replace(path) {
            act(HostAction::LeavePath { pair: PAIR, path });
            self.probe(from, path, ProbeKind::Finish, act);
        }
        self.probe(from, path, ProbeKind::Active, act);
    }
}

impl Host for Edge {
    type Message = Infallible;
    type Timer = Timer;

    fn on(
        &mut self,
        now: Time,
        input: HostInput<'_, Infallible, Timer>,
        act: &mut impl FnMut(HostAction<'_, Infallible, Timer>),
    ) {
        match input {
            HostInput::Opened { pair, spec } => {
                (self.key, self.candidates) = (spec.key, spec.paths);
                for path in (0..spec.paths).map(PathIndex) {
                    act(HostAction::SetWindow { pair, path, window: Some(Bytes::ZERO) });
                    self.probe(now, path, ProbeKind::Candidate, act);
                }
            }
            HostInput::Sent { path, bytes, .. } => {
                self.unprobed += bytes;
                if self.unprobed >= Self::PROBE_EVERY {
                    self.unprobed = Bytes::ZERO;
                    self.probe(now, path, ProbeKind::Active, act);
                }
            }
            HostInput::ProbeReturned { path, kind, outcome: ProbeOutcome::Answered(answer), hops, .. } => {
                self.answered = self.sent;
                match kind {
                    ProbeKind::Candidate => self.on_candidate(now, path, hops, act),
                    ProbeKind::Active => self.on_active(path, answer, hops, act),
                    ProbeKind::Finish => {}
                }
            }
            HostInput::Demand { demand: Demand::Ends, .. } => {
                if let Some(path) = self.current {
                    self.probe(now, path, ProbeKind::Finish, act);
                }
            }
            HostInput::Timer(Timer::Violated { pair }) => {
                assert_eq!(pair, PAIR);
                let other = PathIndex(1 - self.current.unwrap().0);
                // Only probes go in the first round trip, so that packets on the old path arrive before.
                self.move_to(other, now + RTT, act);
            }
            HostInput::Timer(Timer::ProbeLost { pair, path, sent }) if sent > self.answered => {
                act(HostAction::LeavePath { pair, path });
            }
            _ => {}
        }
    }

    fn answer(&mut self, _now: Time, _pair: Incoming, probe: &Probe) -> ProbeAnswer {
        ProbeAnswer { tokens: Some(probe.tokens / 2) }
    }
}

/// uFAB-C: both registers, with a table where the switch has a Bloom filter.
#[derive(Clone, Default)]
struct Core {
    pairs: BTreeMap<u64, (u64, Bytes)>,
}

impl Core {
    fn with(tokens: u64) -> Self {
        Self { pairs: [(1, (tokens, Bytes::new(30_000)))].into() }
    }
}

impl Switch for Core {
    fn on_arrival(&mut self, _now: Time, _queue: QueueState, _bytes: u32) -> Mark {
        Mark::No
    }

    fn on_telemetry(&mut self, _now: Time, probe: Option<&Probe>, hop: &mut IntHop) {
        let Some(probe) = probe else { return };
        match probe.kind {
            ProbeKind::Candidate => None,
            ProbeKind::Active => self.pairs.insert(probe.pair, (probe.tokens, hop.windows)),
            ProbeKind::Finish => self.pairs.remove(&probe.pair),
        };
        hop.tokens = self.pairs.values().map(|(tokens, _)| tokens).sum();
        hop.windows = self.pairs.values().fold(Bytes::ZERO, |sum, (_, window)| sum + *window);
    }
}

#[test]
fn probes_find_a_path_and_a_window_and_a_violated_guarantee_moves_the_pair() {
    let mut stack = Stack::new(Layers {
        flow: Fixed(14_600),
        tunnel: Absent,
        hosts: [Edge::new(), Edge::new()],
        path: Absent,
        reorder: Absent,
        ports: [[Core::with(50), Core::with(50)], [Core::with(5), Core::with(5)]],
    });
    stack.open();
    assert_eq!(
        stack.log(),
        [
            "Sender: window of path 0 Some(Bytes(0))",
            "Sender: window of path 1 Some(Bytes(0))",
            "probe: Candidate on path 0 finds [(50, 30000), (50, 30000)], ProbeAnswer { tokens: Some(5) }",
            "probe: Candidate on path 1 finds [(5, 30000), (5, 30000)], ProbeAnswer { tokens: Some(5) }",
            "Sender: uses path 1 for Share from 0ns",
            "probe: Active on path 1 finds [(15, 50000), (15, 45000)], ProbeAnswer { tokens: Some(5) }",
            "Sender: window of path 1 Some(Bytes(15000))",
        ]
    );
    stack.carry().unwrap();
    assert_eq!(
        stack.log(),
        [
            "transport: 1460 B of a window of 14600, urgency 1460",
            "tunnel: Queued, next InOrder",
            "path: 1 of 1 in use, 0 copies",
            "window: 15kB lets through",
            "NIC: class 3 with weight 1",
            "probe: Active on path 1 finds [(15, 50000), (15, 45000)], ProbeAnswer { tokens: Some(5) }",
            "Sender: window of path 1 Some(Bytes(15000))",
            "ports of path 1: mark No",
            "reordering buffer: delivers",
            "transport: hears of 0 B marked, window 14600",
            "probe: Finish on path 1 finds [(5, 30000), (5, 30000)], ProbeAnswer { tokens: Some(5) }",
        ]
    );
    stack.tell(End::Sender, HostInput::Timer(Timer::Violated { pair: PAIR }));
    stack.settle();
    assert_eq!(
        stack.log(),
        [
            "Sender: uses path 0 for Share from 48us",
            "Sender: leaves path 1",
            "probe: Finish on path 1 finds [(5, 30000), (5, 30000)], ProbeAnswer { tokens: Some(5) }",
            "probe: Active on path 0 finds [(60, 50000), (60, 45000)], ProbeAnswer { tokens: Some(5) }",
            "Sender: window of path 0 Some(Bytes(3750))",
        ]
    );
    stack.carry().unwrap();
    assert_eq!(stack.log()[2..4], ["path: 0 from 48us", "path: 0 of 1 in use, 0 copies"]);
}

#[test]
fn a_pair_that_the_links_leave_no_window_is_held_back() {
    let crowded = || [Core::with(1_000_000), Core::with(1_000_000)];
    let mut stack = Stack::new(Layers {
        flow: Fixed(14_600),
        tunnel: Absent,
        hosts: [Edge::new(), Edge::new()],
        path: Absent,
        reorder: Absent,
        ports: [crowded(), crowded()],
    });
    stack.open();
    stack.log();
    assert_eq!(stack.carry(), None);
    assert_eq!(stack.log().last().unwrap(), "window: 0B holds back");
}
