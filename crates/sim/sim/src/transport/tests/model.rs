//! The sender against RFC 8985, section 6, written down as the text has it: a list of all segments, looked through from
//! beginning to end for every acknowledgement.

use rand::rngs::ChaCha8Rng;

use super::super::sender::Repair;
use super::super::*;
use super::line::{Fate, Line, Step};
use super::sender;
use crate::clock::Instant;
use crate::random;

#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    sent: Instant,
    is_again: bool,
    is_lost: bool,
    is_delivered: bool,
}

/// The variables of RFC 8985, 5.2 and 5.3.
#[derive(Debug)]
struct Text {
    segments: Vec<Segment>,
    /// SND.UNA.
    first: usize,
    xmit: (Instant, usize),
    rtt: Instant,
    min_rtt: Instant,
    fack: usize,
    reordering_seen: bool,
    dsack_round: Option<usize>,
    mult: u64,
    persist: u32,
    /// Recovery, until this is acknowledged; and since when.
    recovery: Option<usize>,
    since: Instant,
}

impl Text {
    fn new() -> Self {
        Self {
            segments: Vec::new(),
            first: 0,
            xmit: (0, 0),
            rtt: 0,
            min_rtt: Instant::MAX,
            fack: 0,
            reordering_seen: false,
            dsack_round: None,
            mult: 1,
            persist: 0,
            recovery: None,
            since: 0,
        }
    }

    /// 6.1.
    fn transmit(&mut self, now: Instant, sequence: usize) {
        let is_again = sequence < self.segments.len();
        self.segments.resize(self.segments.len().max(sequence + 1), Segment::default());
        self.segments[sequence] = Segment { sent: now, is_again, is_lost: false, is_delivered: false };
    }

    /// 6.2. Returns the time of the next check, or [`NEVER`].
    fn acknowledge(&mut self, now: Instant, answer: &SegmentReply<'_>, smoothed: Instant) -> Instant {
        self.min_rtt = self.min_rtt.min(now - answer.sent);
        let (from, to) = (answer.block.start as usize, answer.block.end as usize);
        let is_new = |at: usize, segment: &Segment| {
            !segment.is_delivered && (at < answer.expected as usize || (from..to).contains(&at))
        };
        let mut newly: Vec<usize> = (0..self.segments.len()).filter(|&at| is_new(at, &self.segments[at])).collect();
        for &at in &newly {
            self.segments[at].is_delivered = true;
            self.segments[at].is_lost = false;
            if at + 1 > self.fack {
                self.fack = at + 1;
            } else if at + 1 < self.fack && !self.segments[at].is_again {
                self.reordering_seen = true;
            }
        }
        newly.sort_by_key(|&at| (self.segments[at].sent, at));
        for at in newly {
            let Segment { sent, is_again, .. } = self.segments[at];
            let rtt = now - sent;
            if is_again && (answer.sent < sent || rtt < self.min_rtt) {
                continue;
            }
            self.rtt = rtt;
            self.xmit = self.xmit.max((sent, at));
        }
        self.first = self.first.max(answer.expected as usize);
        if self.dsack_round.is_some_and(|round| self.first >= round) {
            self.dsack_round = None;
        }
        if answer.is_duplicate && self.dsack_round.is_none() {
            self.dsack_round = Some(self.segments.len());
            self.mult += 1;
            self.persist = 16;
        }
        if self.recovery.is_some_and(|until| self.first >= until) {
            self.recovery = None;
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.mult = 1;
            }
        }
        self.detect(now, smoothed)
    }

    fn window(&self, smoothed: Instant) -> Instant {
        let sacked = self.segments[self.first..].iter().filter(|segment| segment.is_delivered).count();
        if !self.reordering_seen && (self.recovery.is_some() || sacked >= 3) {
            return 0;
        }
        (self.mult * (self.min_rtt / 4)).min(smoothed)
    }

    /// RACK_detect_loss.
    fn detect(&mut self, now: Instant, smoothed: Instant) -> Instant {
        let (mut timeout, mut is_new_episode) = (0, false);
        let window = self.window(smoothed);
        for at in self.first..self.segments.len() {
            let segment = self.segments[at];
            if segment.is_delivered || segment.is_lost || self.rtt == 0 || self.xmit <= (segment.sent, at) {
                continue;
            }
            let due = segment.sent + self.rtt + window;
            if due <= now {
                self.segments[at].is_lost = true;
                is_new_episode |= match self.recovery {
                    None => true,
                    Some(until) if !segment.is_again => at >= until,
                    Some(_) => segment.sent >= self.since,
                };
            } else {
                timeout = due.max(timeout);
            }
        }
        if is_new_episode {
            (self.recovery, self.since) = (Some(self.segments.len()), now);
        }
        if timeout == 0 { NEVER } else { timeout }
    }

    /// 6.3.
    fn time_out(&mut self, now: Instant, smoothed: Instant) {
        let window = self.window(smoothed);
        for at in self.first..self.segments.len() {
            let segment = &mut self.segments[at];
            if !segment.is_delivered && (at == self.first || segment.sent + self.rtt + window <= now) {
                segment.is_lost = true;
            }
        }
        (self.recovery, self.since) = (Some(self.segments.len()), now);
    }

    fn lost(&self) -> Vec<usize> {
        (self.first..self.segments.len()).filter(|&at| self.segments[at].is_lost).collect()
    }

    fn in_flight(&self) -> usize {
        self.segments[self.first..].iter().filter(|segment| !segment.is_delivered && !segment.is_lost).count()
    }
}

/// Losses, doubles and disorder.
struct Weather {
    rng: ChaCha8Rng,
    loss: f64,
    jitter: Instant,
}

impl Weather {
    fn takes(&mut self) -> Option<Instant> {
        let is_lost = random::unit(&mut self.rng) < self.loss;
        let delay = 10_000_000 + random::uniform(&mut self.rng, self.jitter + 1);
        (!is_lost).then_some(delay)
    }
}

impl Fate for Weather {
    fn forward(&mut self, _: u32, _: u64) -> Option<Instant> {
        self.takes()
    }

    fn back(&mut self) -> Option<Instant> {
        self.takes()
    }
}

/// Sends everything, and compares after each step.
fn compare(seed: u64) -> usize {
    let mut rng = random::generator(seed, 2);
    let (segments, window) = (1 + random::below(&mut rng, 300), 1 + random::below(&mut rng, 60));
    let loss = [0.0, 0.01, 0.1, 0.4][random::below(&mut rng, 4) as usize];
    let jitter = [0, 1_000_000, 20_000_000][random::below(&mut rng, 3) as usize];
    let sender = sender(u64::from(segments) * u64::from(super::SEGMENT), window);
    let mut line = Line::new(sender, Weather { rng, loss, jitter });
    let mut text = Text::new();
    let mut compared = 0;
    while line.step_with(&mut |sender, now, step| {
        match step {
            Step::Sent(sequence) => text.transmit(now, sequence as usize),
            Step::Answered(answer) => {
                let judge_at = text.acknowledge(now, answer, sender.timer.smoothed());
                assert_eq!(sender.judge_at(), judge_at, "seed {seed} at {now}: {answer:?}");
            }
            Step::Expired { judged, timed_out } => {
                if judged {
                    let judge_at = text.detect(now, sender.timer.smoothed());
                    assert!(timed_out || sender.judge_at() == judge_at, "seed {seed} at {now}");
                }
                if timed_out {
                    text.time_out(now, sender.timer.smoothed());
                }
            }
        }
        let lost: Vec<usize> = sender.flight.lost().map(|sequence| sequence as usize).collect();
        assert_eq!(lost, text.lost(), "seed {seed} at {now}: {step:?}");
        assert_eq!(sender.flight.in_flight() as usize, text.in_flight(), "seed {seed} at {now}");
        assert_eq!(sender.flight.first() as usize, text.first, "seed {seed} at {now}");
        assert_eq!(sender.repair != Repair::None, text.recovery.is_some(), "seed {seed} at {now}");
        compared += 1;
    }) {}
    assert_eq!(line.receiver.expected(), segments, "seed {seed}");
    compared
}

#[test]
fn losses_equal_those_of_a_model_of_the_rfc() {
    let compared: usize = (0..300).map(compare).sum();
    assert!(compared > 100_000, "{compared} steps");
}
