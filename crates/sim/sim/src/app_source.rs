//! Applications that do not hand all their data to the transport at once: flows that pause, and flows whose data comes
//! bit by bit.
//!
//! A sender knows how many of its segments there are ([`Sender::available`]). A flow of an application has a [`Supply`],
//! which is asked when its quick alarm rings: where the application is switched on or off, and where the sender has sent
//! all that it was given. So a flow that has more data than the network takes costs no events.
//!
//! [`Sender::available`]: crate::transport::Sender

use std::sync::Arc;

use wayleave_scenarios::SendSchedule;

use crate::clock::{self, Instant, PS_PER_SECOND};
use crate::schedule::Schedule;
use crate::transport::{NEVER, Sender};

/// Data that an application hands to the sender of one flow over time.
#[derive(Clone, Debug)]
pub(crate) struct Supply {
    /// Everything at once if absent, as long as it is on.
    send_schedule: Option<SendSchedule>,
    schedule: Option<Arc<Schedule>>,
    /// Start of the flow.
    began: Instant,
    /// Time for which the traffic had been active then.
    active: Instant,
    /// `true` if a flow that has all its data may send.
    is_on: bool,
}

impl Supply {
    pub(crate) fn new(send_schedule: Option<SendSchedule>, schedule: Option<Arc<Schedule>>, began: Instant) -> Self {
        let active = schedule.as_ref().map_or(began, |schedule| schedule.active(began));
        Self { send_schedule, schedule, began, active, is_on: true }
    }

    /// Returns the payload written until now.
    fn written(&self, send_schedule: SendSchedule, now: Instant) -> u64 {
        let active = self.schedule.as_ref().map_or(now, |schedule| schedule.active(now)) - self.active;
        match send_schedule {
            SendSchedule::Rate(rate) => clock::transmitted(active, rate),
            SendSchedule::Writes { bytes, every } => {
                let every = clock::from_time(every).max(1);
                let is_on = self.schedule.as_ref().is_none_or(|schedule| schedule.is_on(now));
                // A write due at the end of a period happens at the start of the next.
                let writes = if is_on { active / every + 1 } else { active.div_ceil(every) };
                writes.saturating_mul(bytes.get())
            }
        }
    }

    /// Returns the time at which `bytes`, more than zero, have been written; [`NEVER`] if they never are.
    fn written_at(&self, send_schedule: SendSchedule, bytes: u64) -> Instant {
        match send_schedule {
            SendSchedule::Rate(rate) => {
                let bits = u128::from(bytes) * 8 * u128::from(PS_PER_SECOND);
                let active = bits.div_ceil(u128::from(rate.bits_per_second().max(1)));
                let active = self.active.saturating_add(Instant::try_from(active).unwrap_or(NEVER));
                self.schedule.as_ref().map_or(active, |schedule| schedule.reached(active))
            }
            SendSchedule::Writes { bytes: each, every } => {
                let before = bytes.div_ceil(each.get().max(1)).saturating_sub(1);
                let active = self.active.saturating_add(before.saturating_mul(clock::from_time(every)));
                self.schedule.as_ref().map_or(active, |schedule| schedule.real(active))
            }
        }
    }

    /// Returns the number of segments that a sender has now.
    pub(crate) fn available(&self, sender: &Sender, now: Instant) -> u32 {
        match self.send_schedule {
            None if self.is_on => u32::MAX,
            None => 0,
            Some(send_schedule) => sender.whole_segments(self.written(send_schedule, now)),
        }
    }

    /// Returns the time at which the sender has to be given more data, or be stopped: not before now.
    pub(crate) fn next_poll(&self, sender: &Sender, now: Instant) -> Instant {
        match (self.send_schedule, &self.schedule) {
            _ if sender.is_done() => NEVER,
            (None, None) => NEVER,
            (None, Some(schedule)) => schedule.next_switch(now),
            (Some(send_schedule), _) => match sender.starved_of() {
                Some(bytes) => self.written_at(send_schedule, bytes).max(now),
                None => NEVER,
            },
        }
    }

    /// Switches the application on or off, if it has all its data at once. Returns its new state if it has changed.
    pub(crate) fn switch(&mut self, now: Instant) -> Option<bool> {
        let (None, Some(schedule)) = (self.send_schedule, &self.schedule) else { return None };
        let was_on = std::mem::replace(&mut self.is_on, schedule.is_on(now));
        (was_on != self.is_on).then_some(self.is_on)
    }

    /// Returns the time from the start of the flow until `bytes` were written.
    pub(crate) fn lasts(&self, bytes: u64) -> Instant {
        self.send_schedule.map_or(0, |send_schedule| self.written_at(send_schedule, bytes).saturating_sub(self.began))
    }
}
