//! The transports of SCC's divisions and of its comparison (SCC, VI): DCTCP, D2TCP, L2DCT, pFabric. Skeletons: each
//! shows that it hears what its paper needs.

use wayleave_roles::{Ack, Flow, FlowStart, Loss};
use wayleave_units::Time;

/// A window that nothing changes.
#[derive(Debug)]
pub(crate) struct Fixed(pub(crate) u64);

impl Flow for Fixed {
    fn on_ack(&mut self, _now: Time, _ack: &Ack<'_>) {}
    fn on_loss(&mut self, _now: Time, _loss: Loss) {}
    fn window(&self) -> u64 {
        self.0
    }
}

/// DCTCP, SIGCOMM 2010: the share of marked bytes.
#[derive(Debug)]
pub(crate) struct Dctcp {
    pub(crate) window: u64,
}

impl Flow for Dctcp {
    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) {
        self.window = if ack.marked > 0 { self.window / 2 } else { self.window + ack.newly };
    }
    fn on_loss(&mut self, _now: Time, _loss: Loss) {
        self.window /= 2;
    }
    fn window(&self) -> u64 {
        self.window
    }
}

/// D2TCP, SIGCOMM 2012: how urgent a flow is follows from its deadline, what is left, and its round trips.
#[derive(Debug)]
pub(crate) struct D2tcp {
    pub(crate) window: u64,
    pub(crate) deadline: Option<Time>,
}

impl D2tcp {
    pub(crate) fn new(start: &FlowStart) -> Self {
        Self { window: start.initial_window, deadline: start.deadline }
    }
}

impl Flow for D2tcp {
    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        let (deadline, round_trip) = (self.deadline.expect("a deadline"), ack.round_trip.expect("a round trip"));
        let needs = round_trip.as_nanos() * ack.remaining.expect("a size") / self.window.max(1);
        let is_urgent = now + Time::from_nanos(needs) > deadline;
        if ack.marked > 0 && !is_urgent {
            self.window /= 2;
        }
    }
    fn on_loss(&mut self, _now: Time, _loss: Loss) {
        self.window /= 2;
    }
    fn window(&self) -> u64 {
        self.window
    }
}

/// L2DCT, INFOCOM 2013: the more a flow has sent, the less it grows.
#[derive(Debug)]
pub(crate) struct L2dct {
    pub(crate) window: u64,
}

impl Flow for L2dct {
    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) {
        let is_short = ack.acknowledged < 200_000;
        self.window += if is_short { ack.newly } else { ack.newly / 4 };
    }
    fn on_loss(&mut self, _now: Time, _loss: Loss) {
        self.window /= 2;
    }
    fn window(&self) -> u64 {
        self.window
    }
}

/// pFabric, SIGCOMM 2013: priority is what is left; after time-outs one byte at a time.
#[derive(Debug, Default)]
pub(crate) struct Pfabric {
    timeouts: u32,
}

impl Flow for Pfabric {
    fn on_ack(&mut self, _now: Time, _ack: &Ack<'_>) {
        self.timeouts = 0;
    }
    fn on_loss(&mut self, _now: Time, loss: Loss) {
        if matches!(loss, Loss::Timeout { .. }) {
            self.timeouts += 1;
        }
    }
    fn window(&self) -> u64 {
        18_000
    }
    fn payload(&self, segment: u32) -> u32 {
        if self.timeouts >= 5 { 1 } else { segment }
    }
}

#[test]
fn pfabric_probes_with_one_byte_after_time_outs() {
    let mut flow = Pfabric::default();
    assert_eq!((flow.payload(1460), flow.urgency(9_000)), (1460, 9_000));
    for _ in 0..5 {
        flow.on_loss(Time::ZERO, Loss::Timeout { in_flight: 1460 });
    }
    assert_eq!(flow.payload(1460), 1);
}
