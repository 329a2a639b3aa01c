//! The server's part: requests are executed, put on disk together, and then answered, unless the server ends in
//! between.

use wayleave_agent::machine::{Agent, AgentCall, AgentReply, AgentRequest};
use wayleave_contracts::ContractRequest;
use wayleave_controller::{
    Command, CommandError, Effect, ElementName, FollowError, Mode, NewAnswer, Precondition, RecordChange, RecordKind,
    Reply, Timestamps,
};
use wayleave_protocol::agent::{ContractProblem, KEYS_SINCE_0_2, Measured};

use super::World;
use crate::world::checks::{self, Store};
use crate::world::events::{Done, Event, Waiting, Wanted, What};

impl World {
    /// A client's request has come.
    pub(super) fn asked(&mut self, wanted: Wanted) -> Result<(), String> {
        let now = self.clock();
        if let Some(key) = &wanted.key
            && let Some(known) = self.controller.recall(key)
        {
            let done = Done::Again(known.answer.clone());
            self.totals.from_memory += 1;
            self.group.push(Waiting::Client { wanted: Box::new(wanted), done, from_memory: true });
            self.commit_soon();
            return Ok(());
        }
        let Some(done) = self.carry_out(now, wanted.what.clone())? else { return Ok(()) };
        self.note(|| format!("{}\n                -> {}", wanted.what.text(), done.short()));
        if let Some(key) = &wanted.key {
            let (fingerprint, answer) = ("the same".to_owned(), done.text());
            self.controller.remember(now.wall, key, NewAnswer { account: "clients", fingerprint, answer });
        }
        self.group.push(Waiting::Client { wanted: Box::new(wanted), done, from_memory: false });
        self.commit_soon();
        self.look()
    }

    fn carry_out(&mut self, now: Timestamps, what: What) -> Result<Option<Done>, String> {
        let command = match what {
            What::Apply { mut orders, mode, effect } => {
                orders.iter_mut().for_each(|(order, _)| self.resolve(order));
                return self.apply(now, orders, mode, effect).map(Some);
            }
            What::Declare { down: true, .. } if self.is_calm => return Ok(None),
            What::Declare { element, down } => {
                if let ElementName::Node(name) = &element
                    && let Some(node) = self.nodes.get_mut(name).filter(|_| down)
                    && let Some(agent) = &node.agent
                {
                    // An operator who does not err looks first.
                    if !self.weather.operators_err && name.starts_with('h') {
                        return Ok(None);
                    }
                    node.taint = Some(agent.epoch());
                    self.look_at(name);
                }
                Command::SetElement { element, down: down.then(|| "it seems so".to_owned()) }
            }
            What::See { node } => {
                let Some(one) = self.nodes.get(&node) else { return Ok(None) };
                // An agent without a session reports it in the next one.
                let Some(epoch) = one.agent.as_ref().and_then(Agent::epoch) else { return Ok(None) };
                Command::See { node, epoch, without_carrier: one.down_links.iter().cloned().collect() }
            }
            What::Report { node } => {
                let Some(one) = self.nodes.get(&node) else { return Ok(None) };
                let Some(epoch) = one.agent.as_ref().and_then(Agent::epoch) else { return Ok(None) };
                let (mut in_force, mut problems) = (one.rules.clone(), Vec::new());
                if !self.is_calm && !in_force.is_empty() && self.dice.percent(3) {
                    let (serial, _) = in_force.remove(0);
                    problems.push(ContractProblem { serial, why: "its interface is not there".to_owned() });
                }
                Command::ReportRules {
                    node,
                    epoch,
                    in_force: Some(in_force),
                    enforces: KEYS_SINCE_0_2.map(str::to_owned).to_vec(),
                    problems: Some(problems),
                }
            }
            What::Late { node, serial } => {
                let epoch = self.nodes.get(&node).and_then(|node| node.agent.as_ref()?.epoch());
                let Some(epoch) = epoch else { return Ok(None) };
                let measured = Measured { serial, packets: 9, late: 1, worst_ns: 50_000_000 };
                Command::Measure { node, epoch, measured: vec![measured] }
            }
            What::Other(Command::Forget { id }) => {
                // Only an operator who knows that a host sends nothing may release its hold.
                let sender = self.controller.grant(&id).and_then(|grant| grant.sender());
                let host = sender.map(|sender| self.setup.network.node(sender).name.clone());
                if host.is_some_and(|host| self.nodes.get(&host).is_some_and(|node| node.agent.is_some())) {
                    return Ok(None);
                }
                Command::Forget { id }
            }
            What::Other(command) => command,
        };
        let is_delete = matches!(command, Command::Delete { .. });
        let result = self.controller.handle(now, command);
        if let Ok(Reply::Changed { rerouted, degraded, restored }) = &result {
            self.totals.rerouted += rerouted.len() as u64;
            self.totals.degraded += degraded.len() as u64;
            let is_share =
                |id: &&wayleave_controller::Id| self.controller.grant(id).is_some_and(|grant| grant.terms().is_none());
            self.totals.shares_moved += rerouted.iter().filter(is_share).count() as u64;
            self.totals.shares_degraded += degraded.iter().filter(is_share).count() as u64;
            self.totals.shares_restored += restored.iter().filter(is_share).count() as u64;
            self.totals.restored += restored.len() as u64;
        }
        match result {
            Ok(Reply::Each(applied)) if is_delete => Ok(Some(Done::Deleted(applied))),
            result => Ok(Some(Done::Other(result))),
        }
    }

    fn apply(
        &mut self,
        now: Timestamps,
        orders: Vec<(ContractRequest, Precondition)>,
        mode: Mode,
        effect: Effect,
    ) -> Result<Done, String> {
        self.controller.tick(now);
        let before = (self.controller.ledger().clone(), checks::records(&self.controller));
        let result = self.controller.handle(now, Command::Apply { orders: orders.clone(), mode, effect });
        let Ok(Reply::Each(applied)) = result else { return Err(format!("a list was answered with {result:?}")) };
        let is_whole = applied.iter().all(|one| one.result.is_ok());
        self.totals.created += applied.iter().filter(|one| one.result.is_ok()).count() as u64;
        let is_share = |(order, one): &(&(ContractRequest, Precondition), &wayleave_controller::ItemResult)| {
            order.0.as_latency().is_none() && one.result.is_ok()
        };
        self.totals.shares += orders.iter().zip(&applied).filter(is_share).count() as u64;
        let is_refused =
            |one: &&wayleave_controller::ItemResult| matches!(one.result, Err(CommandError::Refused { .. }));
        self.totals.refused += applied.iter().filter(is_refused).count() as u64;
        if effect == Effect::DryRun || (mode == Mode::AllOrNothing && !is_whole) {
            if before.0 != *self.controller.ledger() {
                return Err("a trial has changed the ledger".to_owned());
            }
            let without_counters = |mut store: Store| {
                store.retain(|(kind, _), _| *kind != RecordKind::Controller);
                // The numbers of tenants are in their records.
                for (_, body) in store.iter_mut().filter(|((kind, _), _)| *kind == RecordKind::Tenant) {
                    let mut record: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
                    record.as_object_mut().map(|record| record.remove("numbers"));
                    *body = record.to_string().into();
                }
                store
            };
            if without_counters(before.1) != without_counters(checks::records(&self.controller)) {
                return Err("a trial has changed records".to_owned());
            }
        }
        Ok(Done::Applied { orders, mode, effect, applied })
    }

    /// An agent's request has come.
    pub(super) fn agent_asks(&mut self, node: String, life: u64, request: AgentCall) -> Result<(), String> {
        let now = self.clock();
        let AgentCall { number, ask } = request;
        let command = match ask {
            AgentRequest::Begin { after, installed } => Command::Begin { node: node.clone(), after, installed },
            AgentRequest::Confirm { epoch, done } => Command::Confirm { node: node.clone(), epoch, done },
            AgentRequest::Operations { epoch } => {
                let at = self.controller.node(&node).ok().and_then(|node| self.controller.node_state(node));
                let current = at.filter(|state| state.is_open).map(|state| state.epoch);
                let answer = (current != Some(epoch)).then_some(AgentReply::Stale { current });
                self.group.push(Waiting::Agent { node, life, number, answer });
                self.commit_soon();
                return Ok(());
            }
        };
        self.note(|| format!("from {node}: {command:?}"));
        let answer = match self.controller.handle(now, command) {
            Ok(Reply::Begun { epoch }) => {
                self.totals.sessions += 1;
                AgentReply::Begun { epoch }
            }
            Ok(_) => AgentReply::Noted,
            Err(CommandError::StaleEpoch { current }) => AgentReply::Stale { current },
            Err(fault) => return Err(format!("an agent was told {fault:?}")),
        };
        self.group.push(Waiting::Agent { node, life, number, answer: Some(answer) });
        self.commit_soon();
        self.look()
    }

    pub(super) fn commit_soon(&mut self) {
        if !std::mem::replace(&mut self.commits, true) {
            let life = self.life;
            let late = self.dice.time(1, 2_000);
            self.at(late, Event::Commit { life });
        }
    }

    pub(super) fn put_on_disk(&mut self) -> Result<(), String> {
        let output = self.controller.take_output();
        let is_move = |event: &&wayleave_controller::Event| {
            event.kind == wayleave_controller::EventKind::Rerouted && event.detail.starts_with("bound")
        };
        self.totals.moved += output.events.iter().filter(is_move).count() as u64;
        for event in &output.events {
            self.note(|| format!("    {} {} {}", event.object, event.kind.name(), event.detail));
        }
        for RecordChange { kind, key, body } in output.changes.clone() {
            match body {
                Some(body) => drop(self.store.insert((kind, key), body)),
                None => drop(self.store.remove(&(kind, key))),
            }
        }
        self.follow(&output.changes)
    }

    /// A controller that follows records has the state of one that is loaded from them.
    fn follow(&mut self, changes: &[RecordChange]) -> Result<(), String> {
        let now = Timestamps { steady: self.now, wall: self.wall() };
        match self.follower.as_mut().map(|follower| follower.follow(now, changes)) {
            None if self.totals.commits.is_multiple_of(7) => {
                self.follower = Some(checks::load(&self.setup, self.wall(), &self.store)?);
            }
            None => {}
            Some(Ok(())) => {
                self.totals.followed += 1;
                if self.totals.followed.is_multiple_of(5)
                    && let Some(follower) = &self.follower
                {
                    checks::follows(follower, &self.setup, self.wall(), &self.store)?;
                }
            }
            Some(Err(FollowError::Kind(_) | FollowError::Down)) => self.follower = None,
            Some(Err(error @ FollowError::Load(_))) => return Err(format!("a follower cannot go on: {error}")),
        }
        Ok(())
    }

    /// Puts all changes on disk, and then answers, unless the controller ends in between.
    pub(super) fn commit(&mut self) -> Result<(), String> {
        self.commits = false;
        let crashes = !self.is_calm && self.dice.percent(self.weather.crashes);
        if crashes && self.dice.percent(50) {
            return self.crash("before it commits");
        }
        self.put_on_disk()?;
        self.totals.commits += 1;
        if self.dice.percent(25) {
            checks::same_records(&self.controller, &self.store)?;
        }
        let group = std::mem::take(&mut self.group);
        for one in &group {
            if let Waiting::Client { wanted, done, from_memory } = one {
                self.learn(wanted, done, *from_memory)?;
            }
        }
        self.model.agrees(&self.controller)?;
        if crashes {
            return self.crash("after it has committed");
        }
        group.into_iter().for_each(|one| self.notify(one));
        Ok(())
    }

    /// Adds a change that is on disk to the model, even if its answer is lost.
    fn learn(&mut self, wanted: &Wanted, done: &Done, from_memory: bool) -> Result<(), String> {
        match done {
            Done::Applied { orders, mode, effect, applied } => {
                self.model.applied(orders, *mode, *effect, applied)?;
            }
            Done::Deleted(applied) => self.model.deleted(applied)?,
            Done::Other(_) | Done::Again(_) => {}
        }
        match &wanted.key {
            Some(key) => self.model.answered(key, &done.text(), from_memory),
            None => Ok(()),
        }
    }

    fn notify(&mut self, one: Waiting) {
        match one {
            Waiting::Client { mut wanted, .. } => {
                // The answer is lost: it is asked again.
                if !self.is_calm && wanted.key.is_some() && wanted.retries > 0 && self.dice.percent(30) {
                    wanted.retries -= 1;
                    self.carry(Event::Asked(wanted));
                }
            }
            Waiting::Agent { node, life, number, answer } => {
                if answer.is_none() {
                    self.send_rules(&node);
                }
                let answer = answer.unwrap_or_else(|| AgentReply::Operations(self.controller.outbox(&node)));
                self.carry(Event::ToAgent { node, life, number, answer });
            }
        }
    }

    /// A host fetches the rules of shares when it asks for operations, and reports them if they are others, or now and then.
    fn send_rules(&mut self, name: &str) {
        let Some(host) = self.setup.network.find_node(name) else { return };
        let notices = self.controller.grants().filter(|grant| grant.is_announced_to_hosts());
        let of_host = notices.filter(|grant| grant.order.contract.hosts().contains(&host));
        let rules: Vec<(u64, u64)> = of_host.map(|grant| (grant.serial, grant.rule_version())).collect();
        let (reports_anyway, is_outdated) = (self.dice.percent(5), !self.is_calm && self.dice.percent(10));
        let Some(node) = self.nodes.get_mut(name).filter(|_| !is_outdated) else { return };
        let is_new = node.rules != rules;
        node.notices.extend(rules.iter().copied());
        node.rules = rules;
        if is_new || reports_anyway {
            self.report_rules(name);
        }
    }

    /// Ends the controller, and loads another one from the records on disk. A client that waits for an answer may
    /// retry.
    pub(crate) fn crash(&mut self, why: &str) -> Result<(), String> {
        self.note(|| format!("the controller ends {why}"));
        self.totals.crashes += 1;
        self.life += 1;
        self.commits = false;
        for one in std::mem::take(&mut self.group) {
            if let Waiting::Client { mut wanted, .. } = one
                && wanted.retries > 0
            {
                wanted.retries -= 1;
                let late = self.dice.time(100, 20_000);
                self.at(late, Event::Asked(wanted));
            }
        }
        self.born = self.now;
        self.controller = checks::load(&self.setup, self.wall(), &self.store)?;
        let clock = self.clock();
        self.model.latest = self.model.latest.max(Some(clock.wall));
        self.commit_soon();
        Ok(())
    }
}
