//! The engine: takes one event after the other until the end time, and dispatches it to its part.
//!
//! | part | content |
//! |---|---|
//! | [`Fabric`] | links, ports, paths, packets, the event queue |
//! | [`Interfaces`] | turns at the hosts' interfaces |
//! | [`Flows`] | reliable flows, their slots and alarms |
//! | [`Processes`] | sources, arrivals of flows, requests, outages |
//! | [`Copies`] | packets of sources that use several routes |
//! | [`Hosts`] | the host layer: machines of schemes, stacks, pairs, messages, brokers |
//! | [`RunStats`] | statistics of flows and traffic |
//!
//! A part handles its own events and those of the parts above it in this table; hosts know flows. Effects between
//! parts are handled here: a dropped packet concerns its flow and its pair, a pair that may continue sends segments
//! of flows, a complete flow is followed by another.
//!
//! | file | content |
//! |---|---|
//! | `packets` | packets leave hosts and arrive there; acknowledgements |
//! | `alarms`, `losses` | alarms of flows; lost packets |
//! | `hosts` | the stacks of hosts; actions of machines and brokers, and timers of the host layer |
//! | `tunnels` | tunnels of pairs, and their turns |
//! | `processes` | packets of sources, beginnings of flows and requests, failures |
//! | `logical_process`, `barrier` | a part of a run in several threads, and their synchronisation |
//! | `fast_forward` | parts of the network whose state repeats are suspended, and are credited with that time |
//! | `outcome` | the end of a run |
//!
//! Actors are numbered without gaps: arrivals of all links, then services of all ports, then processes (sources,
//! arrivals of flows, outages), then two alarms for each flow. The order matters for simultaneous events: packets
//! arrive before ports choose.

mod alarms;
mod barrier;
mod fast_forward;
mod hosts;
mod logical_process;
mod losses;
mod outcome;
mod packets;
mod processes;
mod tunnels;

use wayleave_scenarios::Scenario;

pub(crate) use barrier::{Barrier, Member};

use crate::clock::{self, Instant};
use crate::copies::Copies;
use crate::custom::Custom;
use crate::events::Actor;
use crate::fabric::{NetworkState, Prefetch};
use crate::fast_forward::Forward;
use crate::flows::Flows;
use crate::hosts::Hosts;
use crate::interfaces::Interfaces;
use crate::outcome::RunEnd;
use crate::processes::{Builder, Processes};
use crate::run_stats::RunStats;

/// Number of events between two checks for a request to stop.
const EVENTS_PER_LOOK: u64 = 1 << 16;

/// Number of events between two checks of the event queue.
const EVENTS_PER_STRETCH: u64 = 1 << 12;

/// A run in progress.
#[derive(Debug)]
pub(crate) struct Engine {
    fabric: NetworkState,
    interfaces: Interfaces,
    flows: Flows,
    processes: Processes,
    copies: Copies,
    /// Limits of the hosts; empty if they do not share.
    hosts: Hosts,
    stats: RunStats,
    /// The part that skips traffic whose state repeats itself, if that is asked for.
    forward: Option<Box<Forward>>,
    /// Number of handled events.
    events: u64,
    /// A flow could not be opened, because the event queue has no number for it.
    has_too_many_flows: bool,
    end: Instant,
    now: Instant,
    /// Actor of the present event.
    actor: Actor,
    prefetch: Prefetch,
}

impl Engine {
    /// A run of a scenario that was validated.
    pub(crate) fn new(scenario: &Scenario, seed: u64, custom: &Custom<'_>) -> Self {
        let mut fabric = NetworkState::new(scenario, seed, custom);
        // Theirs is the first process.
        let mut hosts = Hosts::new(scenario, seed, custom, &fabric);
        let mut copies = Copies::default();
        let mut stats = RunStats::new(scenario.traffic.len(), scenario.warmup, scenario.record.series);
        let builder = Builder::new((scenario, seed), &mut fabric, &mut hosts, &mut copies, &mut stats);
        let processes = builder.build();
        if let Some(traffic) = NetworkState::attacked(scenario) {
            fabric.attack(stats.flows_of(traffic));
        }
        let mut engine = Self {
            interfaces: Interfaces::new(scenario, fabric.links() as usize),
            flows: Flows::new(scenario, seed, processes.next_actor()),
            fabric,
            processes,
            copies,
            hosts,
            stats,
            forward: Forward::new(scenario, custom),
            events: 0,
            has_too_many_flows: false,
            end: clock::from_time(scenario.duration),
            now: 0,
            actor: 0,
            prefetch: Prefetch::default(),
        };
        engine.hosts.start(&mut engine.fabric);
        engine.apply_actions(0);
        engine.processes.start(&mut engine.fabric);
        engine
    }

    /// Runs to the end, or until `go_on` returns `false`; it is called now and then with the time in ps.
    pub(crate) fn run(&mut self, go_on: &mut dyn FnMut(Instant) -> bool) -> RunEnd {
        let mut stretches = 0;
        loop {
            if self.run_events(self.end.saturating_add(1), EVENTS_PER_STRETCH) {
                self.now = self.end;
                return RunEnd::Complete;
            }
            if self.has_too_many_flows {
                return RunEnd::TooManyFlows;
            }
            // Not by `events`, which does not count all handled events.
            stretches += 1;
            if stretches % (EVENTS_PER_LOOK / EVENTS_PER_STRETCH) == 0 && !go_on(self.now) {
                return RunEnd::Stopped;
            }
        }
    }

    /// Handles the events before a time, but at most `most`. Returns `true` if no event is left before that time.
    ///
    /// All runs use this loop, whole networks and parts of one: event handling is one piece of machine code.
    fn run_events(&mut self, until: Instant, most: u64) -> bool {
        let (kinds, is_large) = (self.kinds(), self.fabric.is_large());
        let events = self.fabric.events();
        events.adapt(self.events);
        let mut limit = events.limit(until);
        for _ in 0..most {
            if is_large && self.fabric.needs_prefetch() {
                self.prefetch();
            }
            let Some((now, actor)) = self.fabric.events().take_before(limit) else {
                if !self.fabric.events().is_due_before(until) {
                    return true;
                }
                limit = self.fabric.events().limit(until);
                continue;
            };
            (self.now, self.actor) = (now, actor);
            self.events += 1;
            if let Some(part) = self.fabric.part() {
                part.peak_packets.begin(now, actor, (kinds[1]..kinds[2]).contains(&actor));
            }
            self.dispatch(actor, kinds, now);
        }
        false
    }

    /// Prefetches the state that the next arriving packets will need, as far as it is known.
    #[inline(never)]
    fn prefetch(&mut self) {
        self.fabric.prefetch(&mut self.prefetch);
        let flows = self.fabric.flows_ahead(&self.prefetch);
        self.flows.prefetch(flows.clone());
        self.stats.prefetch(flows.map(|(slot, _)| self.flows[slot].stat));
    }

    /// Behind the last actor that is an arrival, a service, and a process.
    fn kinds(&self) -> [Actor; 3] {
        [self.fabric.links(), self.fabric.actors(), self.processes.next_actor()]
    }

    /// An event.
    #[inline(always)]
    fn dispatch(&mut self, actor: Actor, [links, services, processes]: [Actor; 3], now: Instant) {
        if actor < links {
            self.arrive(actor, now);
        } else if actor < services {
            self.serve(actor - links, now);
        } else if actor < processes {
            self.run_process((actor - services) as usize, now);
        } else {
            self.wake(actor - processes, now);
        }
        if !self.hosts.actions.is_empty() {
            self.apply_actions(now);
        }
    }

    #[cfg(test)]
    pub(crate) fn fabric(&mut self) -> &mut NetworkState {
        &mut self.fabric
    }
}
