//! Position of a sender, relative to a time, so that it can be seen whether it does the same again; and the segments that it need not
//! send then.

use wayleave_schemes::transport::cubic::Cubic;
use wayleave_schemes::transport::dctcp::Dctcp;
use wayleave_schemes::transport::newreno::NewReno;
use wayleave_schemes::transport::swift::Swift;
use wayleave_schemes::transports::AnyFlow;

use super::sender::{DueSegment, ENDLESS, Repair, Sender};
use super::timer::NEVER;
use crate::clock::{self, Instant};

/// Progress of a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SenderState {
    /// Segments that are acknowledged without a gap.
    pub(crate) acknowledged: u32,
    /// Time of the latest acknowledgement, by the sender's clock.
    pub(crate) at: Instant,
    /// Segments that were never sent; `None` without end.
    pub(crate) unsent: Option<u32>,
    /// The smoothed round trip, 0 before the first sample.
    pub(crate) round_trip: Instant,
}

/// Congestion control of a sender at a time.
#[derive(Clone, Debug)]
pub(crate) enum Control {
    NewReno(NewReno),
    Cubic(Cubic),
    Swift(Swift),
    /// With the acknowledged amount, and the payload of a segment, in bytes.
    Dctcp(Dctcp, u64, u64),
}

impl Control {
    /// Returns `true` if congestion control repeats itself: it had this state before and has the state `later` after
    /// `segments` acknowledgements. Alpha of DCTCP may have decreased in between as it does without marks: it has no
    /// effect until the next mark. Its further course is known if the outstanding amount is equal after each
    /// acknowledgement, which holds for one acknowledgement per period.
    pub(crate) fn is_repeated_by(&self, later: &Self, segments: u32) -> bool {
        match (self, later) {
            (Self::NewReno(one), Self::NewReno(other)) => one == other,
            (Self::Cubic(one), Self::Cubic(other)) => one == other,
            (Self::Swift(one), Self::Swift(other)) => one == other,
            (&Self::Dctcp(one, acknowledged, segment), Self::Dctcp(other, ..)) => {
                segments == 1 && one.after_unmarked(acknowledged, segment, 1) == *other
            }
            _ => false,
        }
    }
}

impl Sender {
    pub(crate) fn state(&self) -> SenderState {
        SenderState {
            acknowledged: self.flight.first(),
            at: self.rack.last_delivered_at(),
            unsent: self.segments().map(|segments| segments.saturating_sub(self.flight.next())),
            round_trip: self.timer.smoothed(),
        }
    }

    /// Adds its state relative to a time, and returns that of its congestion control. The error is the reason why it
    /// cannot repeat.
    pub(crate) fn add_state(&self, now: Instant, words: &mut Vec<u64>) -> Result<Control, &'static str> {
        let is_usual = self.repair == Repair::None && self.due == DueSegment::Window && self.prober.is_idle();
        if !self.flight.add_state(now, words) || !is_usual {
            return Err("losses are being repaired");
        }
        if self.available != self.segments {
            return Err("something beside congestion control limits a flow");
        }
        let first = self.flight.first();
        self.timer.add_state(now, words);
        self.rack.add_state(now, first, words);
        self.prober.add_state(now, words);
        words.extend([self.pace_at.saturating_sub(now), u64::from(self.judge_at != NEVER)]);
        self.control_at(now)
    }

    fn control_at(&self, now: Instant) -> Result<Control, &'static str> {
        match &self.control {
            AnyFlow::NewReno(flow) => Ok(Control::NewReno(*flow)),
            AnyFlow::Cubic(flow) => Ok(Control::Cubic(*flow)),
            AnyFlow::Swift(flow) if flow.may_shrink(clock::to_time(now)) => Ok(Control::Swift(flow.clone())),
            AnyFlow::Dctcp(flow) => {
                let acknowledged = u64::from(self.flight.first()) * u64::from(self.segment);
                match flow.may_shrink(acknowledged) {
                    true => Ok(Control::Dctcp(*flow, acknowledged, u64::from(self.segment))),
                    false => Err("a window has just shrunk"),
                }
            }
            AnyFlow::Swift(_) => Err("a window has just shrunk"),
            _ => Err("congestion control is not known"),
        }
    }

    /// Time at which the least round trip is measured anew, by its clock.
    pub(crate) fn forgets_at(&self) -> Instant {
        self.rack.forgets_at()
    }

    /// Counts segments, fewer than are unsent, as sent and acknowledged, in a time that its clock did not count.
    /// Numbers in flight stay unchanged: there are fewer segments behind them. Nothing was lost or marked.
    pub(crate) fn skip(&mut self, segments: u64, by: Instant) {
        let segment = u64::from(self.segment);
        match &mut self.control {
            AnyFlow::Dctcp(flow) => {
                let acknowledged = u64::from(self.flight.first()) * segment;
                *flow = flow.after_unmarked(acknowledged, segment, segments);
                flow.renumber(segments * segment);
            }
            AnyFlow::Swift(flow) => flow.pass(clock::to_time(by)),
            _ => {}
        }
        self.rack.pass(by);
        if self.segments != ENDLESS {
            debug_assert!(segments <= u64::from(self.segments - self.flight.next()), "fewer segments are unsent");
            self.segments -= segments as u32;
            self.available = self.segments;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_scheme_api::{Ack, Flow, FlowStart, Loss, RecoveryPhase, SendLimit};
    use wayleave_units::Time;

    const SEGMENT: u64 = 1_000;

    fn start() -> FlowStart {
        FlowStart {
            segment: 1_000,
            initial_window: 10_000,
            max_window: 1_000_000,
            size: None,
            deadline: None,
            weight: 1,
        }
    }

    fn controls() -> [AnyFlow; 4] {
        [AnyFlow::newreno(&start()), AnyFlow::cubic(&start()), AnyFlow::swift(&start()), AnyFlow::dctcp(&start())]
    }

    /// Feeds `count` acknowledgements to congestion control, with the window full after each.
    fn acknowledge(flow: &mut AnyFlow, from: u64, count: u64, marked: u64, limit: SendLimit) {
        for acknowledged in from + 1..=from + count {
            let ack = Ack {
                newly: SEGMENT,
                marked,
                acknowledged: acknowledged * SEGMENT,
                sent: (acknowledged + 9) * SEGMENT,
                in_flight: 9 * SEGMENT,
                remaining: None,
                round_trip: Some(Time::from_micros(20)),
                host_delay: None,
                limit,
                phase: RecoveryPhase::Open,
                telemetry: &[],
            };
            flow.on_ack(Time::from_micros(acknowledged), &ack);
        }
    }

    fn control(flow: AnyFlow, acknowledged: u32) -> Result<Control, &'static str> {
        let setup = super::super::Setup {
            size: None,
            segment: 1_000,
            initial_window: 10,
            max_window: 1_000,
            min_timeout: Time::from_millis(1),
            first_timeout: Time::from_millis(1),
            deadline: None,
            pacing: wayleave_scenarios::Pacing::Off,
        };
        let mut sender = Sender::new(&setup, flow);
        (0..acknowledged).for_each(|_| {
            sender.flight.send(0);
        });
        sender.flight.advance_in_order(acknowledged);
        sender.control_at(1_000_000_000)
    }

    /// Checks, for each kind of congestion control, the allowed and the forbidden differences a period later.
    #[test]
    fn changing_windows_are_no_repetition() {
        for kind in 0..controls().len() {
            let state = |acks: u64, marked: u64, limit| {
                let mut flow = controls().into_iter().nth(kind).unwrap();
                acknowledge(&mut flow, 0, 30, 0, SendLimit::Application);
                acknowledge(&mut flow, 30, acks, marked, limit);
                control(flow, 30 + acks as u32).unwrap()
            };
            let before = state(0, 0, SendLimit::Application);
            assert!(before.is_repeated_by(&state(1, 0, SendLimit::Application), 1), "{before:?}");
            assert!(!before.is_repeated_by(&state(1, 0, SendLimit::Window), 1), "{before:?}");
            if let Control::Dctcp(..) = before {
                // Marked while the window is the least that it may be, or about to be observed.
                assert!(!before.is_repeated_by(&state(2, 0, SendLimit::Application), 2), "two in a period");
                assert!(!before.is_repeated_by(&state(2, 0, SendLimit::Application), 1), "an acknowledgement too many");
            }
        }
    }

    /// Its clock is stopped, and timers with a time of their own expire earlier by that clock.
    #[test]
    fn timers_move_by_the_skipped_time() {
        let setup = super::super::Setup {
            size: Some(1_000_000),
            segment: 1_000,
            initial_window: 10,
            max_window: 1_000,
            min_timeout: Time::from_millis(1),
            first_timeout: Time::from_millis(1),
            deadline: None,
            pacing: wayleave_scenarios::Pacing::Off,
        };
        for control in controls() {
            let mut sender = Sender::new(&setup, control);
            let forgets = sender.forgets_at();
            sender.skip(900, 7_000_000);
            assert_eq!(sender.forgets_at(), forgets - 7_000_000);
            assert_eq!(sender.state().unsent, Some(100));
        }
    }

    #[test]
    fn a_window_that_has_just_shrunk_cannot_be_repeated() {
        let mut flows = controls();
        let loss = Loss::Fast { in_flight: 10_000 };
        for (at, flow) in flows.iter_mut().enumerate() {
            acknowledge(flow, 0, 30, 0, SendLimit::Application);
            flow.on_loss(Time::from_micros(1_000), loss);
            assert_eq!(control(std::mem::replace(flow, AnyFlow::newreno(&start())), 30).is_ok(), at < 2, "{at}");
        }
        assert!(control(AnyFlow::d2tcp(&start()), 0).is_err(), "it is not known whether others repeat themselves");
    }
}
