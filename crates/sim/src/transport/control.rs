//! Congestion control of a sender, with what it lets the sender do.

use wayleave_roles::{Ack, Allowance, Flow, Loss, RouteFacts};
use wayleave_schemes::transports::AnyFlow;

use crate::clock::{self, Instant};

/// Congestion control of one flow. What it allows changes only when it is told something, so it is asked then, and not for every segment
/// several times.
#[derive(Debug)]
pub(crate) struct Control {
    flow: AnyFlow,
    /// Payload of a full segment.
    segment: u32,
    allowed: Allowance,
}

impl Control {
    pub(super) fn new(flow: AnyFlow, segment: u32) -> Self {
        Self { allowed: flow.allowance(segment), flow, segment }
    }

    #[inline]
    pub(super) fn allowed(&self) -> Allowance {
        self.allowed
    }

    pub(super) fn flow(&self) -> &AnyFlow {
        &self.flow
    }

    #[inline(always)]
    fn tell(&mut self, news: impl FnOnce(&mut AnyFlow)) {
        news(&mut self.flow);
        self.allowed = self.flow.allowance(self.segment);
    }

    #[inline]
    pub(super) fn on_send(&mut self, now: Instant, bytes: u32) {
        self.tell(|flow| flow.on_send(clock::to_time(now), bytes));
    }

    #[inline]
    pub(super) fn on_ack(&mut self, now: Instant, ack: &Ack<'_>) {
        self.tell(|flow| flow.on_ack(clock::to_time(now), ack));
    }

    pub(super) fn on_loss(&mut self, now: Instant, loss: Loss) {
        self.tell(|flow| flow.on_loss(clock::to_time(now), loss));
    }

    pub(super) fn on_weight(&mut self, now: Instant, weight: u32) {
        self.tell(|flow| flow.on_weight(clock::to_time(now), weight));
    }

    pub(super) fn on_route(&mut self, now: Instant, route: RouteFacts) {
        self.tell(|flow| flow.on_route(clock::to_time(now), route));
    }
}
