//! Events of processes: packets of sources leave, flows and requests begin and end, links fail.

use wayleave_scenarios::{Element, ElementChange, Outage};
use wayleave_scheme_api::Path;

use super::Engine;
use crate::clock::{self, Instant};
use crate::copies::CopyPath;
use crate::fabric::Health;
use crate::flows::{FlowSlot, FlowState, Purpose, RpcStep, Start};
use crate::hosts::NO_PAIR;
use crate::packet::{Kind, Packet};
use crate::processes::{Emission, JobAction, Opening, ProcessAction, Wakeup};
use crate::rpc::AfterReply;
use crate::trace::PacketEvent;

impl Engine {
    /// A process acts, if it is due.
    pub(super) fn run_process(&mut self, number: usize, now: Instant) {
        if self.is_elsewhere(number) {
            return;
        }
        match self.processes.wake(number, now) {
            Wakeup::Acts => {}
            // Observation of a run does not change the run.
            Wakeup::Looks => self.events -= 1,
            Wakeup::Hosts => return self.run_host_timers(now),
            Wakeup::Forward => return self.forward_due(now),
            Wakeup::Sleeps => return,
        }
        while let Some(action) = self.processes.next(number, &mut self.fabric, now) {
            match action {
                ProcessAction::Emit => self.emit(number, now),
                ProcessAction::Open(opening) => self.open(opening, now),
                ProcessAction::Round(traffic, pairs) => {
                    for pair in pairs {
                        let opening = self.processes.begin(traffic, pair, now);
                        self.open(opening, now);
                    }
                }
                ProcessAction::Request(traffic, index) => {
                    if self.processes.request(traffic, index, now) {
                        self.stats.requested(traffic);
                        self.step(traffic, index, now);
                    }
                }
                ProcessAction::Job(traffic, what) => {
                    self.processes.job_due(traffic, what, now);
                    self.resume_traffic(traffic, now);
                }
                ProcessAction::Change(outage) => return self.change(outage, now),
                ProcessAction::WarmedUp => {
                    self.fabric.forget(now);
                    self.stats.forget();
                    self.hosts.forget(now);
                    return;
                }
                ProcessAction::Measure => self.hosts.measure_guarantees(&self.flows, now),
                ProcessAction::Nothing => {}
            }
        }
    }

    /// A source's packet leaves.
    fn emit(&mut self, number: usize, now: Instant) {
        let Some(Emission { packet, first, copies }) = self.processes.emit(number, &self.fabric, now) else { return };
        self.stats.sent(packet.flow, &packet);
        let id = self.fabric.insert(packet);
        if self.hosts.is_shared() && copies.is_none() {
            self.gate_packet(packet.flow, first, id, now);
            return;
        }
        self.fabric.note(PacketEvent::Sent, (first.link(), first.queue()), id, now);
        self.depart(first, id, now);
        if let Some(set) = copies {
            self.duplicate(set, packet, now);
        }
    }

    /// The further copies of a packet leave, right behind the first.
    fn duplicate(&mut self, set: u32, packet: Packet, now: Instant) {
        self.stats.sent(self.copies.whole(set), &packet);
        for at in 0..self.copies.paths(set).len() {
            let CopyPath { first, route, flow } = self.copies.paths(set)[at];
            let copy = Packet { flow, route, ..packet };
            self.stats.sent(flow, &copy);
            let id = self.fabric.insert(copy);
            self.fabric.note(PacketEvent::Sent, (first.link(), first.queue()), id, now);
            self.depart(first, id, now);
        }
    }

    /// A flow begins; nothing happens where nothing joins its hosts.
    fn open(&mut self, opening: Opening, now: Instant) {
        let Opening { from, to, queue, purpose } = opening;
        let number = self.stats.opened(&purpose) << 16 | u64::from(purpose.traffic);
        if [from, to].iter().any(|end| !self.fabric.can_send_and_receive(end.host)) {
            return;
        }
        if self.flows.are_full() {
            self.has_too_many_flows = true;
            return;
        }
        let forward = self.fabric.direction(from.host, to.host, queue);
        let reverse = self.fabric.direction(to.host, from.host, queue);
        let (Some(mut forward), Some(reverse)) = (forward, reverse) else { return };
        let transport = self.processes.transport(&purpose, now);
        let is_fixed = transport.fixed.is_some();
        if let Some(fixed) = transport.fixed {
            forward = self.fabric.fixed(fixed);
        }
        let stat = self.processes.counted_at(purpose.traffic, (from, to), &mut self.stats);
        let pair = self.pair_of(
            purpose.traffic,
            (from, to),
            purpose.step == RpcStep::Answer,
            is_fixed.then_some(forward),
            now,
        );
        let interface = self.interfaces.of(forward.first.link());
        let start = Start {
            number,
            sender: transport.sender,
            supply: transport.supply,
            forward,
            reverse,
            interface: (interface, self.interfaces[interface].classes()),
            has_several_links: !is_fixed && self.fabric.has_several_links(from.host, to.host),
            stat,
            is_ecn_capable: transport.hears_marks,
            is_tunnelled: self.hosts.has_tunnel(pair),
            purpose,
            pair,
        };
        let slot = self.flows.open(start, &self.fabric, now);
        if pair != NO_PAIR {
            self.hosts.join(pair, slot, &mut self.flows, (&transport.start, transport.signal), now);
        }
        self.flows[slot].notify_route(&self.fabric, now);
        if self.forward.is_some() {
            self.forward_opened(slot, now);
        }
        let name = self.processes.name(purpose.traffic);
        self.fabric.name(Kind::Data, slot, name, (from.host, to.host), transport.start.segment);
        if self.starts_in_part(slot) {
            self.pump(slot, now);
        }
    }

    /// The next step of a request: all its parts leave.
    fn step(&mut self, traffic: u32, index: u32, now: Instant) {
        for server in self.processes.servers(traffic, index) {
            if let Some(part) = self.processes.part(traffic, index, server) {
                self.open(part, now);
            }
        }
    }

    /// The last segment of a flow has come: what follows.
    pub(super) fn complete(&mut self, slot: FlowSlot, now: Instant) {
        if let Some(forward) = &mut self.forward {
            forward.completed();
        }
        let flow = &self.flows[slot];
        let (purpose, ideal) = (flow.purpose, flow.ideal(&self.fabric));
        let next = match purpose.step {
            RpcStep::Request => self.processes.answer(&purpose, ideal),
            RpcStep::Answer => return self.answered(slot, &purpose, ideal, now),
            RpcStep::None => {
                self.stats.completed(&purpose, now - purpose.began, ideal);
                self.follow(&purpose, now);
                self.processes.next_in_line(&purpose)
            }
            RpcStep::Task => {
                self.follow(&purpose, now);
                let [sender, _] = self.flows[slot].port_uses(&self.fabric);
                if let Some(task) = self.processes.task_over(&purpose, ideal, sender) {
                    let whole = Purpose { bytes: task.bytes, ..purpose };
                    self.stats.completed(&whole, now - purpose.began, task.ideal);
                    self.stats.chained(&purpose, now - task.origin);
                }
                None
            }
            RpcStep::Message => {
                self.processes.message_delivered(&purpose, ideal);
                return self.resume_traffic(purpose.traffic, now);
            }
        };
        if let Some(next) = next {
            self.open(next, now);
        }
    }

    /// All of a flow is acknowledged: if it is a message of a job, its send is over.
    #[inline]
    pub(super) fn acknowledged(&mut self, slot: FlowSlot, now: Instant) {
        let flow = &self.flows[slot];
        if flow.purpose.step == RpcStep::Message {
            let (purpose, (ideal, ports)) = (flow.purpose, flow.ideal_acknowledged(&self.fabric));
            self.processes.message_ended(&purpose, ideal, ports);
            self.resume_traffic(purpose.traffic, now);
        }
    }

    /// A job does what it can.
    #[cold]
    fn resume_traffic(&mut self, traffic: u32, now: Instant) {
        while let Some(action) = self.processes.next_job_action(traffic, &mut self.fabric, now) {
            match action {
                JobAction::Begins => self.stats.requested(traffic),
                JobAction::Open(opening) => self.open(opening, now),
                JobAction::Ends { iteration, ideal, first } => {
                    self.stats.completed(&iteration, now - iteration.began, ideal);
                    if let Some(first) = first {
                        self.stats.chained(&Purpose { began: first, ..iteration }, now - first);
                    }
                }
            }
        }
    }

    /// Tasks begin that follow a flow.
    fn follow(&mut self, flow: &Purpose, now: Instant) {
        let origin = self.processes.origin(flow);
        for (traffic, openings) in self.processes.tasks_after(flow, origin, now) {
            self.stats.requested(traffic);
            for opening in openings {
                self.open(opening, now);
            }
        }
    }

    /// An answer has come to its client, which takes the next step, or pauses when it was the last one.
    fn answered(&mut self, slot: FlowSlot, answer: &Purpose, ideal: Instant, now: Instant) {
        let fans_out = self.processes.fans_out(answer.traffic);
        let transfer = if fans_out { self.flows[slot].last_transfer(&self.fabric) } else { 0 };
        match self.processes.answered(answer, answer.ideal_before + ideal, transfer) {
            AfterReply::Answers => {}
            AfterReply::Step => self.step(answer.traffic, answer.pair, now),
            AfterReply::End { bytes, ideal } => {
                self.stats.completed(&Purpose { bytes, ..*answer }, now - answer.began, ideal);
                self.processes.think(answer, &mut self.fabric, now);
            }
        }
    }

    /// Fails or repairs an element. Paths avoid or use it from now on, unless the failure is silent.
    fn change(&mut self, outage: Outage, now: Instant) {
        let links = match outage.what {
            Element::Link(link) => vec![link],
            Element::Switch(switch) => {
                let network = self.fabric.network();
                [network.links_from(switch), network.links_into(switch)].concat()
            }
        };
        let mut is_known = false;
        for link in links {
            let health = match outage.change {
                ElementChange::Works => {
                    if self.fabric.repair(link.0) {
                        is_known = true;
                        self.fabric.set_link(link, true);
                    }
                    continue;
                }
                ElementChange::Fails => {
                    is_known = true;
                    self.fabric.set_link(link, false);
                    Health::Down
                }
                ElementChange::FailsSilently => Health::SilentlyDown,
            };
            // Packets on the link or queued for it are lost.
            for dropped in self.fabric.fail(link.0, health, now) {
                self.dropped(dropped);
            }
        }
        if is_known {
            self.paths_changed(now);
        }
    }

    /// Handles failed or repaired links that are known everywhere.
    fn paths_changed(&mut self, now: Instant) {
        self.fabric.refresh_paths();
        self.processes.reroute(&self.fabric);
        for slot in self.flows.slots() {
            let flow = &mut self.flows[slot];
            flow.path.on_paths_changed(clock::to_time(now));
            flow.forget_plan();
            flow.notify_route(&self.fabric, now);
            if flow.state == FlowState::Waiting {
                self.pump(slot, now);
            }
        }
        self.pair_paths_changed(now);
        self.hosts.capacities_changed(&self.fabric, now);
    }
}
