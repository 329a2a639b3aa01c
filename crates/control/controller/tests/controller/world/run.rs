//! The scheduler: chooses the next event, and checks the state after it.

mod serving;

use std::collections::{BTreeMap, BTreeSet};

use wayleave_agent::machine::{Agent, AgentReply, Recorder};
use wayleave_contracts::BucketDemand;
use wayleave_contracts::Quota;
use wayleave_controller::{Command, Controller, ControllerConfig, Precondition, Timestamps};
use wayleave_schemes::admitted::AdmittedSet as _;
use wayleave_units::{Time, WallTime};

use crate::world::checks::{self, Store};
use crate::world::events::{Event, Waiting, Wanted, What};
use crate::world::model::Model;
use crate::world::place::{CLOCK_HOLD_DOWN, Dice, JUMP, Weather, setup};
use crate::world::wire::{Flow, Wire};

/// Begin of the calendar, in ns since 1970: far from its origin, so that it can jump back.
const CALENDAR: u64 = 1_700_000_000_000_000_000;

/// Maximum time for a history to settle: a multiple of every timeout.
const TIMEOUT: Time = Time::from_millis(20_000);

/// A host or a switch with an agent.
pub(crate) struct Node {
    /// None while it has no power.
    pub(crate) agent: Option<Agent<Recorder>>,
    /// Grows whenever an agent ends: its connections end with it.
    pub(crate) life: u64,
    /// It was declared down while it was not, in this session.
    pub(crate) taint: Option<Option<u64>>,
    /// Links that have no carrier there.
    pub(crate) down_links: BTreeSet<String>,
    /// Serial and version of the rules of shares that its agent received last.
    pub(crate) rules: Vec<(u64, u64)>,
    /// All rules that it ever received.
    pub(crate) notices: BTreeSet<(u64, u64)>,
}

pub(crate) struct World {
    pub(crate) dice: Dice,
    pub(crate) weather: Weather,
    pub(crate) setup: ControllerConfig,
    pub(crate) controller: Controller,
    pub(crate) model: Model,
    pub(crate) nodes: BTreeMap<String, Node>,
    pub(crate) wall_offset: u64,
    /// Offset that a controller may trust, and a later offset with the time since which it applies.
    trusted_offset: u64,
    suspected: Option<(u64, Time)>,
    pub(crate) generated: u64,
    /// `true` if nothing fails.
    pub(crate) is_calm: bool,
    pub(crate) wire: Wire,
    now: Time,
    /// Load time of this controller, and the number of controllers loaded before it.
    born: Time,
    life: u64,
    store: Store,
    /// `true` since the records on disk were replaced by a backup: hosts may send for contracts that are lost.
    is_restored: bool,
    /// A controller that follows the records on disk, until it has to read all of them.
    follower: Option<Controller>,
    group: Vec<Waiting>,
    commits: bool,
    queue: BTreeMap<(Time, u64), Event>,
    number: u64,
    trace: Option<Vec<String>>,
    totals: Totals,
}

/// Numbers of events in all histories together: a world without events finds nothing.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    steps: u64,
    created: u64,
    shares: u64,
    shares_moved: u64,
    shares_degraded: u64,
    shares_restored: u64,
    refused: u64,
    moved: u64,
    rerouted: u64,
    degraded: u64,
    restored: u64,
    commits: u64,
    followed: u64,
    crashes: u64,
    from_memory: u64,
    sessions: u64,
    wire_checks: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.created += other.created;
        self.shares += other.shares;
        self.shares_moved += other.shares_moved;
        self.shares_degraded += other.shares_degraded;
        self.shares_restored += other.shares_restored;
        self.refused += other.refused;
        self.moved += other.moved;
        self.rerouted += other.rerouted;
        self.degraded += other.degraded;
        self.restored += other.restored;
        self.commits += other.commits;
        self.followed += other.followed;
        self.crashes += other.crashes;
        self.from_memory += other.from_memory;
        self.sessions += other.sessions;
        self.wire_checks += other.wire_checks;
    }

    pub(crate) fn assert_that_something_happened(&self) {
        let all = [
            self.created,
            self.shares,
            self.shares_moved,
            self.shares_degraded,
            self.shares_restored,
            self.refused,
            self.moved,
            self.rerouted,
            self.degraded,
            self.restored,
            self.commits,
            self.followed,
            self.crashes,
        ];
        assert!(all.iter().chain([&self.from_memory, &self.sessions]).all(|&one| one > 0), "{self:?}");
    }
}

impl World {
    pub(crate) fn new(seed: u64, is_traced: bool) -> Self {
        let mut dice = Dice::new(seed);
        let setup = setup(&mut dice);
        let weather = Weather::of(&mut dice);
        let controller = Controller::load(&setup, WallTime::from_nanos(CALENDAR), []).unwrap();
        let has_agent =
            |switch: bool| !switch || setup.enforced_by == wayleave_controller::EnforcedBy::HostsAndSwitches;
        let is_switch = |node| setup.network.switches().any(|other| other == node);
        let nodes = setup.network.nodes().filter(|&(node, _)| has_agent(is_switch(node)));
        let nodes = nodes.map(|(_, node)| (node.name.clone(), Node::new(weather.pace))).collect();
        let mut world = Self {
            dice,
            weather,
            controller,
            model: Model::default(),
            nodes,
            setup,
            wall_offset: CALENDAR,
            trusted_offset: CALENDAR,
            suspected: None,
            generated: 0,
            is_calm: false,
            wire: Wire::default(),
            now: Time::ZERO,
            born: Time::ZERO,
            life: 0,
            store: Store::new(),
            is_restored: false,
            follower: None,
            group: Vec::new(),
            commits: false,
            queue: BTreeMap::new(),
            number: 0,
            trace: is_traced.then(Vec::new),
            totals: Totals::default(),
        };
        let put = Command::PutTenant { name: "acme".to_owned(), quota: Quota::default(), check: Precondition::None };
        let now = world.clock();
        world.controller.handle(now, put).unwrap();
        world.put_on_disk().unwrap();
        world.at(Time::ZERO, Event::NextRequest);
        if world.weather.failures_us > 0 {
            world.at(Time::from_millis(2), Event::Failure);
        }
        world
    }

    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>12} {}", self.now.to_string(), line()));
        }
    }

    pub(crate) fn trace(&self) -> &[String] {
        self.trace.as_deref().unwrap_or_default()
    }

    pub(crate) fn totals(&self) -> Totals {
        Totals { wire_checks: self.wire.checks, ..self.totals }
    }

    pub(crate) fn at(&mut self, after: Time, event: Event) {
        self.number += 1;
        self.queue.insert((self.now + after, self.number), event);
    }

    pub(crate) fn wall(&self) -> WallTime {
        WallTime::from_nanos(self.wall_offset + self.now.as_nanos())
    }

    /// Returns the latest time that a controller may trust: the time of a clock that has run evenly for the hold-down
    /// time of a jump.
    fn believable(&mut self) -> WallTime {
        let (now, offset, jump) = (self.now, self.wall_offset, JUMP.as_nanos());
        if offset > self.trusted_offset + jump {
            let since = match self.suspected {
                Some((suspected, since)) if suspected == offset => since,
                _ => now,
            };
            self.suspected = Some((offset, since));
            if now < since + CLOCK_HOLD_DOWN {
                return WallTime::from_nanos(self.trusted_offset + jump + now.as_nanos());
            }
        }
        (self.trusted_offset, self.suspected) = (offset, None);
        self.wall()
    }

    /// Returns the time that is passed to this controller.
    fn clock(&mut self) -> Timestamps {
        let wall = self.wall();
        self.model.latest = self.model.latest.max(Some(self.believable()));
        Timestamps { steady: self.now - self.born, wall }
    }

    /// The whole history: while things fail, and until it has settled.
    pub(crate) fn live(&mut self) -> Result<(), String> {
        while self.generated < self.weather.generated {
            self.step()?;
        }
        self.settle()
    }

    /// The whole history, in which the records on disk are once replaced by a backup: later, at half of the history.
    pub(crate) fn live_with_backup(&mut self) -> Result<(), String> {
        let (third, half) = (self.weather.generated / 3, self.weather.generated / 2);
        while self.generated < third || self.commits || !self.group.is_empty() {
            self.step()?;
        }
        let backup = (self.store.clone(), self.model.clone());
        while self.generated < half {
            self.step()?;
        }
        (self.store, self.model, self.follower) = (backup.0, backup.1, None);
        self.is_restored = true;
        // The controller was stopped meanwhile: connections of agents have ended.
        self.queue.retain(|_, event| !matches!(event, Event::FromAgent { .. } | Event::ToAgent { .. }));
        self.crash("and is started with a backup")?;
        while self.generated < self.weather.generated {
            self.step()?;
        }
        self.settle()
    }

    /// Nothing fails any more, until no work is left.
    fn settle(&mut self) -> Result<(), String> {
        self.calm_down();
        let end = self.now + TIMEOUT;
        loop {
            let result = checks::settled(&self.controller, self.nodes.keys());
            let is_quiet = self.group.is_empty() && !self.queue.values().any(|event| matches!(event, Event::Asked(_)));
            if result.is_ok() && is_quiet {
                break;
            }
            if self.now > end {
                return result.map_err(|error| format!("it does not settle: {error}"));
            }
            for _ in 0..50 {
                self.step()?;
            }
        }
        self.hosts_apply_operations()?;
        self.everything_ends()
    }

    /// Ends all failures, and restores all elements that are down.
    fn calm_down(&mut self) {
        self.is_calm = true;
        self.note(|| "from now on nothing fails".to_owned());
        // All contracts that start have started, and those that end have ended.
        self.wall_offset += 10_000_000_000;
        for name in self.nodes.keys().cloned().collect::<Vec<_>>() {
            self.power(&name);
            self.nodes.entry(name.clone()).and_modify(|node| node.down_links.clear());
            self.see(&name);
        }
        for element in self.controller.down().map(|(element, _)| element.clone()).collect::<Vec<_>>() {
            let what = What::Declare { element, down: false };
            self.at(Time::ZERO, Event::Asked(Box::new(Wanted { key: None, what, retries: 0 })));
        }
    }

    /// At the end hosts send what is promised, and nothing else.
    fn hosts_apply_operations(&mut self) -> Result<(), String> {
        let mut promised = BTreeSet::new();
        for grant in self.controller.grants().filter(|grant| grant.degraded_reason.is_none()) {
            let Some(terms) = grant.terms() else { continue };
            let request = wayleave_schemes::request(terms, &self.setup.model);
            let demand = BucketDemand { rate: request.rate, burst: request.burst, max_frame: request.max_frame };
            let routes = self.controller.routes(grant);
            promised.extend(routes.iter().map(|(_, route)| Flow::of(grant.serial, route, demand, 0)));
        }
        let sent = self.wire.flows(Time::MAX);
        match sent.symmetric_difference(&promised).next() {
            Some(flow) => {
                let word = if sent.contains(flow) { "sent, and not promised" } else { "promised, and not sent" };
                Err(format!("{flow:?} is {word}: {:?}", self.controller.grant_of(flow.serial)))
            }
            None => Ok(()),
        }
    }

    /// Once every contract is deleted, nothing is reserved.
    fn everything_ends(&mut self) -> Result<(), String> {
        for id in self.model.ids() {
            let command = Command::Delete { ids: vec![(id, Precondition::None)] };
            let wanted = Wanted { key: None, what: What::Other(command), retries: 0 };
            self.at(Time::ZERO, Event::Asked(Box::new(wanted)));
        }
        let end = self.now + TIMEOUT;
        let empty = checks::load(&self.setup, self.wall(), &Store::new())?;
        while *self.controller.ledger() != *empty.ledger() || self.controller.grants().next().is_some() {
            if self.now > end {
                return Err("everything is deleted, and something is still held".to_owned());
            }
            self.step()?;
        }
        Ok(())
    }

    /// The next thing happens.
    fn step(&mut self) -> Result<(), String> {
        self.totals.steps += 1;
        let event = self.queue.first_key_value().map_or(Time::MAX, |(&(time, _), _)| time);
        let (steady, wall) = self.controller.due();
        let steady = steady.map(|due| self.born + due);
        let wall = wall.map(|due| Time::from_nanos(due.as_nanos().saturating_sub(self.wall_offset)));
        let due = steady.into_iter().chain(wall).min().unwrap_or(Time::MAX);
        let agent = self.nodes.iter().filter_map(|(name, node)| Some((node.agent.as_ref()?.due(), name)));
        let agent = agent.min().map(|(time, name)| (time, name.clone()));
        match agent {
            Some((time, name)) if time < event.min(due) => {
                self.now = self.now.max(time);
                self.with_agent(&name, Agent::tick);
                self.look()
            }
            _ if due < event => {
                self.now = self.now.max(due);
                let now = self.clock();
                self.controller.tick(now);
                self.note(|| "controller: tick".to_owned());
                self.commit_soon();
                self.look()
            }
            _ => match self.queue.pop_first() {
                Some(((time, _), event)) => {
                    self.now = self.now.max(time);
                    self.happen(event)
                }
                None => Err("nothing happens any more".to_owned()),
            },
        }
    }

    fn happen(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::NextRequest => {
                if !self.is_calm {
                    self.generated += 1;
                    let wanted = self.next_request();
                    self.carry(Event::Asked(Box::new(wanted)));
                    let pause = self.dice.time(10, 10_000);
                    self.at(pause, Event::NextRequest);
                }
                Ok(())
            }
            Event::Failure => {
                if !self.is_calm {
                    self.fail()?;
                    let pause = self.dice.time(1_000, self.weather.failures_us);
                    self.at(pause, Event::Failure);
                }
                self.look()
            }
            Event::Power { node } => {
                self.power(&node);
                Ok(())
            }
            Event::Carrier { node, link, is_down } => {
                if let Some(one) = self.nodes.get_mut(&node).filter(|_| !self.is_calm) {
                    if is_down {
                        one.down_links.insert(link)
                    } else {
                        one.down_links.remove(&link)
                    };
                    self.see(&node);
                }
                Ok(())
            }
            Event::Asked(wanted) => self.asked(*wanted),
            Event::FromAgent { node, life, request } => self.agent_asks(node, life, request),
            Event::ToAgent { node, life, number, answer } => {
                if self.nodes.get(&node).is_some_and(|one| one.life == life) {
                    if !matches!(&answer, AgentReply::Operations(operations) if operations.is_empty()) {
                        self.note(|| format!("to {node}: {answer:?}"));
                    }
                    let has_begun = matches!(answer, AgentReply::Begun { .. });
                    self.with_agent(&node, |agent, now| agent.answer(now, number, answer));
                    if has_begun {
                        self.see(&node);
                    }
                    return self.look();
                }
                Ok(())
            }
            Event::Commit { life } => {
                if life == self.life {
                    self.commit()?;
                }
                self.look()
            }
        }
    }

    /// Lets an agent act, sends its requests, and checks the packets that its node sends.
    fn with_agent(&mut self, name: &str, act: impl FnOnce(&mut Agent<Recorder>, Time)) {
        let now = self.now;
        let Some(node) = self.nodes.get_mut(name) else { return };
        let Some(agent) = node.agent.as_mut() else { return };
        act(agent, now);
        let requests = agent.take_requests();
        let (life, epoch) = (node.life, agent.epoch());
        self.look_at(name);
        if let Some(node) = self.nodes.get_mut(name)
            && node.taint.is_some_and(|tainted| epoch.is_some() && epoch != tainted)
        {
            node.taint = None;
        }
        for request in requests {
            self.carry(Event::FromAgent { node: name.to_owned(), life, request });
        }
    }

    /// Observes the present rules of a node.
    pub(crate) fn look_at(&mut self, name: &str) {
        let Some(node) = self.nodes.get(name) else { return };
        let nothing = BTreeMap::new();
        let rules = node.agent.as_ref().map_or(&nothing, |agent| agent.driver().rules());
        self.wire.observe(self.now, self.controller.network(), name, rules, node.taint.is_some());
    }

    /// Checks all invariants that have to hold at every moment.
    fn look(&mut self) -> Result<(), String> {
        checks::whole(&self.controller)?;
        checks::enforced_shares_were_sent(&self.controller, &self.nodes)?;
        // Often enough, since a reservation lasts for many steps.
        if self.dice.percent(10) {
            checks::sound(&self.controller, &mut self.wire)?;
        }
        if !self.is_restored
            && !self.wire.is_tainted(self.now)
            && let Some(placement) = self.controller.scheme().queues()
        {
            let flows = self.wire.flows(self.now);
            let result = self.wire.passes(placement, &flows);
            result.map_err(|error| format!("what is sent breaks promises:\n    {error}"))?;
        }
        // Removals of unknown rules are not on disk: agents name these rules again in their next sessions.
        if !self.is_restored && self.dice.percent(2) {
            checks::survives(&self.controller, &self.setup, self.wall())?;
            let which = self.dice.between(0, u64::from(u32::MAX));
            checks::copies_answer_alike(&self.controller, &self.setup, self.wall(), which)?;
        }
        Ok(())
    }
}
