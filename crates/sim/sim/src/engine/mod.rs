//! The engine: takes one event after the other until the time is over, and hands it to the part that it concerns.
//!
//! | part | what it owns |
//! |---|---|
//! | [`Fabric`] | links, ports, paths, packets, the event queue |
//! | [`Interfaces`] | whose turn it is at the hosts' interfaces |
//! | [`Flows`] | reliable flows, their places and alarms |
//! | [`Processes`] | sources, arrivals of flows, requests, outages |
//! | [`Copies`] | packets of sources that go over several routes |
//! | [`Edges`] | what limits hosts that share: machines, stacks, pairs, messages, brokers |
//! | [`Tally`] | what is counted of flows and traffic |
//!
//! A part does what concerns itself and those above it in this table; edges know flows. What goes on in others is done here,
//! where the parts meet: a packet that was dropped concerns its flow and its pair, a pair that may go on sends segments
//! of flows, a flow that is complete is followed by another.
//!
//! | file | what |
//! |---|---|
//! | `arrivals` | packets arrive at hosts, or are lost |
//! | `sending` | flows send, and wait for their turn or an alarm |
//! | `gate` | flows and packets pass the stack of their host, or wait there |
//! | `wishes` | what machines and brokers want done, and what is due at the edges |
//! | `deeds` | what happens of itself: packets, flows, requests, failures |
//! | `part`, `meeting` | a part of a run in several threads, and where these meet |
//! | `forward` | parts of the network whose state repeats itself stand still, and are credited with that time |
//! | `outcome` | the end of a run |
//!
//! Actors are numbered without gaps: arrivals of all links, then services of all ports, then processes (sources,
//! arrivals of flows, outages), then two alarms for each flow. The order matters where events fall on the same instant: packets arrive
//! before ports choose.

mod arrivals;
mod deeds;
mod forward;
mod gate;
mod meeting;
mod outcome;
mod part;
mod sending;
mod wishes;

use wayleave_scenarios::Scenario;

pub(crate) use meeting::{Meeting, Member};

use crate::clock::{self, Instant};
use crate::copies::Copies;
use crate::custom::Custom;
use crate::edge::Edges;
use crate::events::Actor;
use crate::fabric::{Ahead, Fabric};
use crate::flows::Flows;
use crate::forward::Forward;
use crate::interfaces::Interfaces;
use crate::outcome::Ending;
use crate::processes::{Builder, Processes};
use crate::tally::Tally;

/// Events between two looks at whether somebody wants the run to end.
const EVENTS_PER_LOOK: u64 = 1 << 16;

/// Events between two looks at the event queue.
const EVENTS_PER_STRETCH: u64 = 1 << 12;

/// A run under way.
#[derive(Debug)]
pub(crate) struct Engine {
    fabric: Fabric,
    interfaces: Interfaces,
    flows: Flows,
    processes: Processes,
    copies: Copies,
    /// Limits of the hosts; empty if they do not share.
    edges: Edges,
    tally: Tally,
    /// The part that skips traffic whose state repeats itself, if that is asked for.
    forward: Option<Box<Forward>>,
    /// Events that were dealt with.
    events: u64,
    /// A flow could not be opened, because the event queue has no number for it.
    has_too_many_flows: bool,
    end: Instant,
    now: Instant,
    /// Whose event is dealt with.
    actor: Actor,
    ahead: Ahead,
}

impl Engine {
    /// A run of a scenario that was validated.
    pub(crate) fn new(scenario: &Scenario, seed: u64, custom: &Custom<'_>) -> Self {
        let mut fabric = Fabric::new(scenario, seed, custom);
        // Theirs is the first process.
        let mut edges = Edges::new(scenario, seed, custom, &fabric);
        let mut copies = Copies::default();
        let mut tally = Tally::new(scenario.traffic.len(), scenario.warmup, scenario.record.series);
        let builder = Builder::new((scenario, seed), &mut fabric, &mut edges, &mut copies, &mut tally);
        let processes = builder.build();
        if let Some(traffic) = Fabric::attacked(scenario) {
            fabric.attack(tally.flows_of(traffic));
        }
        let mut engine = Self {
            interfaces: Interfaces::new(scenario, fabric.links() as usize),
            flows: Flows::new(scenario, seed, processes.next_actor()),
            fabric,
            processes,
            copies,
            edges,
            tally,
            forward: Forward::new(scenario, custom),
            events: 0,
            has_too_many_flows: false,
            end: clock::from_time(scenario.duration),
            now: 0,
            actor: 0,
            ahead: Ahead::default(),
        };
        engine.edges.start(&mut engine.fabric);
        engine.carry_out(0);
        engine.processes.start(&mut engine.fabric);
        engine
    }

    /// Runs to the end, or until `go_on`, which is told the time in ps now and then, says no.
    pub(crate) fn run(&mut self, go_on: &mut dyn FnMut(Instant) -> bool) -> Ending {
        let mut stretches = 0;
        loop {
            if self.deal(self.end.saturating_add(1), EVENTS_PER_STRETCH) {
                self.now = self.end;
                return Ending::Complete;
            }
            if self.has_too_many_flows {
                return Ending::TooManyFlows;
            }
            // Not by `events`, which does not count everything that is dealt with.
            stretches += 1;
            if stretches % (EVENTS_PER_LOOK / EVENTS_PER_STRETCH) == 0 && !go_on(self.now) {
                return Ending::Stopped;
            }
        }
    }

    /// Deals with the events before a time, but with so many at most. Whether none is left before that time.
    ///
    /// All that runs goes through this loop, whole networks and parts of one: what an event takes is one piece of machine code.
    fn deal(&mut self, until: Instant, most: u64) -> bool {
        let (kinds, is_large) = (self.kinds(), self.fabric.is_large());
        let events = self.fabric.events();
        events.adapt(self.events);
        let mut limit = events.limit(until);
        for _ in 0..most {
            if is_large && self.fabric.is_to_look_ahead() {
                self.look_ahead();
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
                part.crowd.begin(now, actor, (kinds[1]..kinds[2]).contains(&actor));
            }
            self.act(actor, kinds, now);
        }
        false
    }

    /// Looks at what the packets meet that arrive next, as far as it is known.
    #[inline(never)]
    fn look_ahead(&mut self) {
        self.fabric.look_ahead(&mut self.ahead);
        let flows = self.fabric.flows_ahead(&self.ahead);
        self.flows.look_at(flows.clone());
        self.tally.look_at(flows.map(|(slot, _)| self.flows[slot].stat));
    }

    /// Behind the last actor that is an arrival, a service, and a process.
    fn kinds(&self) -> [Actor; 3] {
        [self.fabric.links(), self.fabric.actors(), self.processes.next_actor()]
    }

    /// An event.
    #[inline(always)]
    fn act(&mut self, actor: Actor, [links, services, processes]: [Actor; 3], now: Instant) {
        if actor < links {
            self.arrive(actor, now);
        } else if actor < services {
            self.serve(actor - links, now);
        } else if actor < processes {
            self.proceed((actor - services) as usize, now);
        } else {
            self.wake(actor - processes, now);
        }
        if !self.edges.actions.is_empty() {
            self.carry_out(now);
        }
    }

    #[cfg(test)]
    pub(crate) fn fabric(&mut self) -> &mut Fabric {
        &mut self.fabric
    }
}
