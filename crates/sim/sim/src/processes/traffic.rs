//! One kind of traffic during a run.

use std::collections::HashMap;
use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use wayleave_scenarios::{Deadline, Endpoint, FlowSizes, SendSchedule, TransportConfig};
use wayleave_schemes::duplicates::Filter;
use wayleave_schemes::services::Services;

use crate::app_source::Supply;
use crate::clock::{self, Instant};
use crate::connections::Connections;
use crate::endpoints::Pairs;
use crate::fabric::Step;
use crate::flow_chain::Chains;
use crate::flows::Purpose;
use crate::jobs::JobRun;
use crate::packet::HEADERS;
use crate::random;
use crate::rpc::Calls;
use crate::schedule::Schedule;
use crate::transport::{NEVER, Setup};

/// One kind of traffic, resolved.
#[derive(Debug)]
pub(super) struct TrafficSpec {
    pub(super) name: String,
    pub(super) pairs: Pairs,
    /// Closed loops.
    pub(super) calls: Option<Calls>,
    /// Tasks, if it follows another traffic.
    pub(super) chains: Option<Chains>,
    /// The numbers of those that follow it.
    pub(super) followers: Vec<u32>,
    /// Progress in its graph, if it is a job.
    pub(super) job: Option<JobRun>,
    /// Pairs with arrivals of their own, by number.
    pub(super) loops: Vec<(Endpoint, Endpoint)>,
    /// Number of concurrent flows of a pair, if limited.
    pub(super) connections: Option<Connections>,
    pub(super) queue: u8,
    /// Its classes where it is sent and where it is received, if hosts share and it names services.
    pub(super) classes: (Option<u32>, Option<u32>),
    pub(super) stop: Instant,
    /// Times at which it is active, if not always. Arrivals of flows count the active time.
    pub(super) schedule: Option<Arc<Schedule>>,
    /// Data that applications of flows write, if not all at once.
    pub(super) send_schedule: Option<SendSchedule>,
    pub(super) sizes: Option<FlowSizes>,
    pub(super) deadline: Option<Deadline>,
    /// For deadlines that are drawn: they change nothing else.
    pub(super) deadline_rng: ChaCha8Rng,
    pub(super) transport: TransportConfig,
    /// The only path, if it is fixed: its first step, the rest in the table of routes.
    pub(super) fixed: Option<(Step, u32)>,
    /// Further routes of copies, and the duplicate filter.
    pub(super) copies: Option<(Vec<(Step, u32)>, Filter)>,
    pub(super) counting: FlowAccounting,
    /// Of its own, so that no traffic changes what another one draws.
    pub(super) rng: ChaCha8Rng,
}

impl TrafficSpec {
    /// Returns the classes of traffic from one endpoint to another: those of the services that it names, otherwise
    /// those of the endpoints.
    pub(super) fn classes_between(&self, from: Endpoint, to: Endpoint, vm_classes: &[u32]) -> (u32, u32) {
        let of = |end: Endpoint| end.vm().and_then(|vm| vm_classes.get(vm)).copied();
        let at = |named: Option<u32>, end: Endpoint| named.or_else(|| of(end)).unwrap_or(Services::OTHER.0);
        (at(self.classes.0, from), at(self.classes.1, to))
    }

    /// Returns the active time until a time.
    pub(super) fn active(&self, now: Instant) -> Instant {
        self.schedule.as_ref().map_or(now, |schedule| schedule.active(now))
    }

    /// Returns the time at which it has been active for this long.
    pub(super) fn real(&self, active: Instant) -> Instant {
        self.schedule.as_ref().map_or(active, |schedule| schedule.real(active))
    }

    /// Returns the first time at which it is active, from a time on.
    pub(super) fn next_on(&self, at: Instant) -> Instant {
        self.schedule.as_ref().map_or(at, |schedule| schedule.next_on(at))
    }

    /// Returns the supply of the application of a flow that begins now, if not all data is available at once.
    /// Requests and answers are available at once, and flows with an end do not pause.
    pub(super) fn supply(&self, purpose: &Purpose, now: Instant) -> Option<Supply> {
        let pauses = self.schedule.is_some() && purpose.bytes == u64::MAX;
        (self.send_schedule.is_some() || pauses).then(|| Supply::new(self.send_schedule, self.schedule.clone(), now))
    }

    /// Returns the task of the sender of a flow that begins now.
    pub(super) fn setup(&self, purpose: &Purpose, now: Instant) -> Setup {
        let transport = &self.transport;
        let left = |deadline| clock::to_time(purpose.began.saturating_add(deadline).saturating_sub(now));
        Setup {
            size: (purpose.bytes != u64::MAX).then_some(purpose.bytes),
            segment: u32::try_from(transport.mtu.get()).unwrap_or(u32::MAX).saturating_sub(HEADERS).max(1),
            initial_window: transport.initial_window,
            max_window: transport.max_window,
            min_timeout: transport.min_timeout,
            first_timeout: transport.first_timeout,
            deadline: purpose.deadline().map(left),
            pacing: transport.pacing,
        }
    }

    /// Returns the payload of the next flow; `usual` if no size is configured.
    pub(super) fn draw_size(&mut self, usual: u64) -> u64 {
        let unit = random::unit(&mut self.rng);
        self.sizes.as_ref().map_or(usual, |sizes| sizes.quantile(unit).max(1))
    }

    /// Returns the time that the next flow has from its arrival on; [`NEVER`] without a deadline.
    pub(super) fn draw_deadline(&mut self) -> Instant {
        let Some(deadline) = &self.deadline else { return NEVER };
        let unit = if deadline.is_drawn() { random::unit(&mut self.deadline_rng) } else { 0.0 };
        clock::from_time(deadline.quantile(unit))
    }
}

/// Statistics in which flows are counted.
#[derive(Debug)]
pub(super) enum FlowAccounting {
    /// Each pair for itself.
    PerPair(HashMap<(Endpoint, Endpoint), u32>),
    /// All together.
    Together(Option<u32>),
}
