//! Starts of flows and requests, and the actions after their completion.

use std::cmp::Reverse;

use wayleave_scenarios::{Endpoint, FlowSpec};
use wayleave_scheme_api::{CongestionSignal, FlowStart};

use super::table::{Opening, Process, Processes};
use super::traffic::{FlowAccounting, TrafficSpec};
use crate::app_source::Supply;
use crate::clock::Instant;
use crate::connections::{ArrivedFlow, Connections};
use crate::fabric::{NetworkState, Step};
use crate::flow_chain::{Chains, TaskEnd};
use crate::flows::{Purpose, RpcStep};
use crate::ideal::PortUse;
use crate::random;
use crate::rpc::{AfterReply, Calls, Loop};
use crate::run_stats::RunStats;
use crate::transport::Sender;

/// Transport of a flow at its start.
pub(crate) struct Transport {
    pub(crate) sender: Sender,
    /// Start parameters in the form for other components.
    pub(crate) start: FlowStart,
    pub(crate) hears_marks: bool,
    /// Signal of a tunnel to it.
    pub(crate) signal: CongestionSignal,
    pub(crate) supply: Option<Box<Supply>>,
    /// The only path, if it is fixed.
    pub(crate) fixed: Option<(Step, u32)>,
}

impl Processes {
    /// A flow of a traffic begins between two hosts.
    pub(crate) fn begin(&mut self, traffic: u32, (from, to): (Endpoint, Endpoint), now: Instant) -> Opening {
        let spec = &mut self.traffic[traffic as usize];
        let bytes = spec.draw_size(u64::MAX);
        let (queue, deadline) = (spec.queue, spec.draw_deadline());
        let ends = (from, to);
        let purpose = Purpose { traffic, step: RpcStep::None, began: now, bytes, deadline, ends, ..Purpose::NONE };
        Opening { from, to, queue, purpose }
    }

    /// A flow of a pair arrives; it waits if all connections of the pair are busy.
    pub(super) fn arrive(&mut self, traffic: u32, pair: u32, flow: ArrivedFlow) -> Option<Opening> {
        let spec = &mut self.traffic[traffic as usize];
        let is_free = spec.connections.as_mut().is_none_or(|connections| connections.take(pair, flow));
        if is_free { self.begin_at(traffic, pair, flow) } else { None }
    }

    /// A flow of a pair has ended: the next one that waits takes its connection.
    pub(crate) fn next_in_line(&mut self, ended: &Purpose) -> Option<Opening> {
        let connections = self.traffic[ended.traffic as usize].connections.as_mut()?;
        let flow = connections.leave(ended.pair)?;
        self.begin_at(ended.traffic, ended.pair, flow)
    }

    fn begin_at(&mut self, traffic: u32, pair: u32, flow: ArrivedFlow) -> Option<Opening> {
        let spec = &self.traffic[traffic as usize];
        let &(from, to) = spec.loops.get(pair as usize)?;
        let ArrivedFlow { at: began, bytes, deadline } = flow;
        let ends = (from, to);
        let purpose = Purpose { traffic, step: RpcStep::None, began, bytes, deadline, pair, ends, ..Purpose::NONE };
        Some(Opening { from, to, queue: spec.queue, purpose })
    }

    pub(super) fn begin_listed(&mut self, traffic: u32, flow: &FlowSpec, now: Instant) -> Opening {
        let queue = flow.queue.unwrap_or(self.traffic[traffic as usize].queue);
        let (began, bytes) = (now, flow.size.get());
        let purpose = Purpose { traffic, step: RpcStep::None, began, bytes, ..Purpose::NONE };
        Opening { from: flow.from.into(), to: flow.to.into(), queue, purpose }
    }

    /// Begins the next request of a closed loop; [`Processes::servers`] has its first step. Returns `false` if the
    /// traffic has no loops.
    pub(crate) fn request(&mut self, traffic: u32, index: u32, now: Instant) -> bool {
        let spec = &mut self.traffic[traffic as usize];
        let deadline = spec.draw_deadline();
        let Some(calls) = &mut spec.calls else { return false };
        calls.begin(index, now, deadline);
        true
    }

    /// The next step of a request begins: whom it asks. [`Processes::part`] has the part for each.
    pub(crate) fn servers(&mut self, traffic: u32, index: u32) -> Vec<Endpoint> {
        let spec = &mut self.traffic[traffic as usize];
        spec.calls.as_mut().map_or_else(Vec::new, |calls| calls.step(index, &mut spec.rng))
    }

    /// A part of a request leaves.
    pub(crate) fn part(&mut self, traffic: u32, index: u32, server: Endpoint) -> Option<Opening> {
        let spec = &mut self.traffic[traffic as usize];
        let &Loop { client, began, deadline, .. } = spec.calls.as_ref()?.loops.get(index as usize)?;
        let bytes = spec.draw_size(1);
        let step = RpcStep::Request;
        let purpose = Purpose { traffic, step, began, bytes, deadline, pair: index, server, ..Purpose::NONE };
        Some(Opening { from: client, to: server, queue: spec.queue, purpose })
    }

    /// A request has come to its server, which answers. It would have taken `ideal` alone.
    pub(crate) fn answer(&mut self, request: &Purpose, ideal: Instant) -> Option<Opening> {
        let spec = &mut self.traffic[request.traffic as usize];
        let calls = spec.calls.as_ref()?;
        let &Loop { client, .. } = calls.loops.get(request.pair as usize)?;
        let unit = random::unit(&mut spec.rng);
        let bytes = calls.answer.quantile(unit).max(1);
        let purpose = Purpose { step: RpcStep::Answer, bytes, ideal_before: ideal, ..*request };
        Some(Opening { from: request.server, to: client, queue: spec.queue, purpose })
    }

    /// Returns `true` if several answers of a traffic share the client's link.
    pub(crate) fn fans_out(&self, traffic: u32) -> bool {
        self.traffic[traffic as usize].calls.as_ref().is_some_and(Calls::fans_out)
    }

    /// An answer has come to its client. Alone it would have taken `ideal` with its request, of which `transfer` on the
    /// client's link.
    pub(crate) fn answered(&mut self, answer: &Purpose, ideal: Instant, transfer: Instant) -> AfterReply {
        let calls = self.traffic[answer.traffic as usize].calls.as_mut();
        calls.map_or(AfterReply::Answers, |calls| calls.answered(answer.pair, answer.bytes, ideal, transfer))
    }

    /// A closed loop pauses before its next request.
    pub(crate) fn think(&mut self, answer: &Purpose, fabric: &mut NetworkState, now: Instant) {
        let spec = &mut self.traffic[answer.traffic as usize];
        let stop = spec.stop;
        let mean = spec.calls.as_ref().map_or(0, |calls| calls.think_time);
        let at = now.saturating_add(random::exponential(&mut spec.rng, mean as f64));
        let is_its =
            |process: &Process| matches!(process, Process::Loops { traffic, .. } if *traffic == answer.traffic);
        let number = self.all.iter().position(is_its);
        let Some(number) = number.filter(|_| at < stop) else { return };
        if let Process::Loops { due, .. } = &mut self.all[number] {
            due.push(Reverse((at, answer.pair)));
        }
        self.put(number, at, fabric, now);
    }

    /// Handles a complete flow that belongs to no request. Returns the task that is over with the flow, if any.
    /// `ideal` is the time that the flow would have taken alone.
    pub(crate) fn task_over(&mut self, purpose: &Purpose, ideal: Instant, sender: PortUse) -> Option<TaskEnd> {
        let chains = self.traffic[purpose.traffic as usize].chains.as_mut()?;
        chains.completed(purpose.pair, purpose.bytes, ideal, sender)
    }

    /// Returns the start of the chain of a flow that belongs to no request.
    pub(crate) fn origin(&self, purpose: &Purpose) -> Instant {
        let chains = self.traffic[purpose.traffic as usize].chains.as_ref();
        let task = chains.filter(|_| purpose.step == RpcStep::Task);
        task.map_or(purpose.began, |chains: &Chains| chains.origin(purpose.pair))
    }

    /// A flow whose chain began at `origin` is complete: the tasks that follow it, each with its flows.
    pub(crate) fn tasks_after(&mut self, flow: &Purpose, origin: Instant, now: Instant) -> Vec<(u32, Vec<Opening>)> {
        let followers = self.traffic[flow.traffic as usize].followers.clone();
        followers
            .into_iter()
            .filter_map(|traffic| Some((traffic, self.task_after(traffic, flow, origin, now)?)))
            .collect()
    }

    fn task_after(&mut self, traffic: u32, flow: &Purpose, origin: Instant, now: Instant) -> Option<Vec<Opening>> {
        let spec = &mut self.traffic[traffic as usize];
        if now >= spec.stop {
            return None;
        }
        let deadline = spec.draw_deadline();
        let (task, receivers) = spec.chains.as_mut()?.begin(flow.ends, origin, &mut spec.rng);
        let from = flow.ends.1;
        let openings = receivers.into_iter().map(|to| {
            let bytes = spec.draw_size(flow.bytes);
            let (step, ends) = (RpcStep::Task, (from, to));
            let purpose = Purpose { traffic, step, began: now, bytes, deadline, pair: task, ends, ..Purpose::NONE };
            Opening { from, to, queue: spec.queue, purpose }
        });
        Some(openings.collect())
    }

    /// The transport of a flow that begins now.
    pub(crate) fn transport(&self, purpose: &Purpose, now: Instant) -> Transport {
        let spec = &self.traffic[purpose.traffic as usize];
        let setup = spec.setup(purpose, now);
        let start = setup.flow_start();
        let congestion = &spec.transport.congestion;
        Transport {
            sender: Sender::new(&setup, congestion.flow(&start)),
            start,
            hears_marks: congestion.hears_marks(),
            signal: congestion.signal(),
            supply: spec.supply(purpose, now).map(Box::new),
            fixed: spec.fixed,
        }
    }

    /// Returns the index of statistics of a flow.
    pub(crate) fn counted_at(&mut self, traffic: u32, ends: (Endpoint, Endpoint), stats: &mut RunStats) -> u32 {
        match &mut self.traffic[traffic as usize].counting {
            FlowAccounting::PerPair(known) => *known.entry(ends).or_insert_with(|| stats.open(traffic, Some(ends))),
            FlowAccounting::Together(known) => *known.get_or_insert_with(|| stats.open(traffic, None)),
        }
    }

    /// Returns the queue of a traffic, and the classes of one of its flows at its sender and its receiver. An answer
    /// is sent from receivers back to senders.
    pub(crate) fn classes_of(
        &self,
        traffic: u32,
        (from, to): (Endpoint, Endpoint),
        is_answer: bool,
    ) -> (u8, (u32, u32)) {
        let spec = &self.traffic[traffic as usize];
        let classes = if is_answer {
            let (first, second) = spec.classes_between(to, from, &self.vm_classes);
            (second, first)
        } else {
            spec.classes_between(from, to, &self.vm_classes)
        };
        (spec.queue, classes)
    }

    /// The name of a traffic.
    pub(crate) fn name(&self, traffic: u32) -> &str {
        &self.traffic[traffic as usize].name
    }

    /// The names of all traffic.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.traffic.iter().map(|traffic: &TrafficSpec| traffic.name.clone())
    }

    /// The flows that still wait for a connection, with the numbers of their traffic.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (usize, ArrivedFlow)> {
        let all = self.traffic.iter().enumerate();
        all.flat_map(|(number, spec)| {
            spec.connections.iter().flat_map(Connections::waiting).map(move |flow| (number, flow))
        })
    }
}
