//! Segments that were sent and are not acknowledged in order: the last transmission time and the state of each.
//!
//! One word for each segment, in a ring. If everything arrives in order that is all. Segments that are out of order,
//! lost or retransmitted are in separate lists, so that no operation has to scan a window.

use std::collections::VecDeque;

use super::rack::Transmission;
use super::ranges::Ranges;
use super::timer::NEVER;
use crate::clock::Instant;
use crate::packet::Block;

/// A segment: the time of its latest transmission in the lower bits, its state in the upper three.
#[derive(Clone, Copy, Debug)]
struct Segment(u64);

/// It has arrived beyond a gap.
const ARRIVED: u64 = 1 << 63;
/// It counts as lost, and was not retransmitted since.
const LOST: u64 = 1 << 62;
/// It was sent more than once.
const AGAIN: u64 = 1 << 61;
/// 2^61 ps are 26 days.
const TIME: u64 = AGAIN - 1;

impl Segment {
    fn is(self, state: u64) -> bool {
        self.0 & state != 0
    }

    fn sent(self) -> Instant {
        self.0 & TIME
    }
}

/// The segments of one flow that are in flight.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flight {
    /// From `first` on.
    segments: VecDeque<Segment>,
    /// The first that has not arrived.
    first: u32,
    /// Sent, not arrived, not taken for lost.
    in_flight: u32,
    /// A segment arrived beyond a gap or has to be retransmitted, or was sent before a retransmitted one.
    is_out_of_order: bool,
    /// Data beside the ring, from the first disorder on.
    disorder: Option<Box<Disorder>>,
}

/// Segments that are out of order, lost, or retransmitted.
#[derive(Clone, Debug, Default)]
struct Disorder {
    /// Segments that have arrived beyond a gap, and their number.
    arrived: Ranges,
    count: u32,
    /// Before it, first transmissions have been judged.
    judged: u32,
    /// Lost, and not retransmitted.
    to_send_again: u32,
    /// None of these is before.
    again_from: u32,
    /// Retransmissions in the order of time; some of them are over.
    again: VecDeque<Transmission>,
    /// Everything before was sent before the latest of these, whose arrival judges it.
    sent_before: u32,
}

/// Rule by which segments are judged (RFC 8985, 6.2, step 5).
#[derive(Clone, Copy, Debug)]
pub(crate) struct LossRule {
    /// The one that was sent last of all that were delivered (RACK.segment).
    pub(crate) latest: Transmission,
    /// After this long a segment that was sent before is lost (RACK.rtt + RACK.reo_wnd).
    pub(crate) lost_after: Instant,
    /// Start of a new episode: transmissions from this segment on, retransmissions from this time on.
    pub(crate) since: Transmission,
}

/// Result of judging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LossDetection {
    /// Segments that are taken for lost now.
    pub(crate) lost: u32,
    /// One of these was sent since the window last shrank.
    pub(crate) is_new_episode: bool,
    /// Time of the next judgement, or [`NEVER`].
    pub(crate) again_at: Instant,
}

impl Flight {
    /// Creates a flight with room for `room` segments from the start.
    pub(crate) fn new(room: u32) -> Self {
        Self { segments: VecDeque::with_capacity(room as usize), ..Self::default() }
    }

    /// The first segment that has not arrived (SND.UNA).
    #[inline]
    pub(crate) fn first(&self) -> u32 {
        self.first
    }

    /// The first that was never sent (SND.NXT).
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.first + self.segments.len() as u32
    }

    /// Sent, not arrived, not taken for lost.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Returns `true` if no segment in flight has arrived beyond a gap, was lost, or was sent before a retransmitted
    /// one.
    #[inline]
    pub(crate) fn is_in_order(&self) -> bool {
        !self.is_out_of_order
    }

    /// Adds how long ago each segment was sent. Returns `false` where something is out of order.
    pub(crate) fn add_state(&self, now: Instant, words: &mut Vec<u64>) -> bool {
        words.extend([u64::from(self.in_flight), self.segments.len() as u64]);
        words.extend(self.segments.iter().map(|segment| now - segment.sent()));
        !self.is_out_of_order && self.segments.iter().all(|segment| !segment.is(ARRIVED | LOST | AGAIN))
    }

    /// Returns the number of segments that have arrived beyond a gap.
    pub(crate) fn arrived(&self) -> u32 {
        self.disorder.as_ref().map_or(0, |disorder| disorder.count)
    }

    /// Returns the segments that count as lost and were not retransmitted.
    #[cfg(test)]
    pub(crate) fn lost(&self) -> impl Iterator<Item = u32> {
        self.segments.iter().zip(self.first..).filter(|(segment, _)| segment.is(LOST)).map(|(_, sequence)| sequence)
    }

    /// Returns `true` if a segment has to be retransmitted.
    #[inline]
    pub(crate) fn has_to_send_again(&self) -> bool {
        self.is_out_of_order && self.disorder.as_ref().is_some_and(|disorder| disorder.to_send_again > 0)
    }

    /// The next segment leaves; its number.
    #[inline]
    pub(crate) fn send(&mut self, now: Instant) -> u32 {
        let sequence = self.next();
        self.segments.push_back(Segment(now & TIME));
        self.in_flight += 1;
        sequence
    }

    /// Everything before `expected` has arrived, and all is in order. The latest of the segments that this is news of.
    #[inline]
    pub(crate) fn advance_in_order(&mut self, expected: u32) -> Option<Transmission> {
        let before = expected.checked_sub(self.first + 1)?;
        if before > 0 {
            // The answers of some were lost.
            self.segments.get(before as usize)?;
            self.segments.drain(..before as usize);
        }
        let latest = self.segments.pop_front()?.sent();
        self.first = expected;
        self.in_flight -= before + 1;
        Some((latest, expected - 1))
    }

    /// Records that everything before `expected` and the block have arrived. Calls `news` for each segment that was
    /// not known to have arrived, with a flag: it was retransmitted. Returns the number of these segments.
    pub(crate) fn acknowledge(&mut self, expected: u32, block: Block, mut news: impl FnMut(Transmission, bool)) -> u32 {
        self.is_out_of_order = true;
        let first = self.first;
        let disorder = self.disorder.get_or_insert_default();
        let mut newly = 0;
        let mut arrives = |disorder: &mut Disorder, in_flight: &mut u32, sequence: u32, segment: Segment| {
            newly += 1;
            match segment.is(LOST) {
                true => disorder.to_send_again -= 1,
                false => *in_flight -= 1,
            }
            news((segment.sent(), sequence), segment.is(AGAIN));
        };
        for sequence in first..expected.min(first + self.segments.len() as u32) {
            let Some(segment) = self.segments.pop_front() else { break };
            self.first += 1;
            match segment.is(ARRIVED) {
                true => disorder.count -= 1,
                false => arrives(disorder, &mut self.in_flight, sequence, segment),
            }
        }
        let (first, end) = (self.first, self.first + self.segments.len() as u32);
        disorder.arrived.advance(first);
        let block = Block { start: block.start.max(first), end: block.end.min(end) };
        if block.start < block.end {
            let mut arrived = std::mem::take(&mut disorder.arrived);
            arrived.insert(block, |part| {
                for sequence in part.start..part.end {
                    let segment = &mut self.segments[(sequence - first) as usize];
                    arrives(disorder, &mut self.in_flight, sequence, *segment);
                    segment.0 = segment.0 & !LOST | ARRIVED;
                    disorder.count += 1;
                }
            });
            disorder.arrived = arrived;
        }
        self.tidy();
        newly
    }

    /// Forgets what is over.
    fn tidy(&mut self) {
        let Some(disorder) = &mut self.disorder else { return };
        while let Some(&transmission) = disorder.again.front()
            && !is_current(&self.segments, self.first, transmission)
        {
            disorder.again.pop_front();
        }
        self.is_out_of_order = disorder.count > 0 || disorder.to_send_again > 0 || self.first < disorder.sent_before;
    }

    /// Marks segments as lost according to the rule (RACK_detect_loss).
    pub(crate) fn judge(&mut self, now: Instant, rule: &LossRule) -> LossDetection {
        let mut judgement = LossDetection { lost: 0, is_new_episode: false, again_at: NEVER };
        if !self.is_out_of_order {
            return judgement;
        }
        if let Some(mut disorder) = self.disorder.take() {
            self.judge_first(&mut disorder, now, rule, &mut judgement);
            self.judge_again(&mut disorder, now, rule, &mut judgement);
            self.disorder = Some(disorder);
        }
        judgement
    }

    /// Judges first transmissions, which were sent in the order of their numbers.
    fn judge_first(&mut self, disorder: &mut Disorder, now: Instant, rule: &LossRule, judgement: &mut LossDetection) {
        let arrived = std::mem::take(&mut disorder.arrived);
        let from = disorder.judged.max(self.first);
        let mut ranges = arrived.iter().skip_while(|range| range.end <= from).peekable();
        let mut sequence = from;
        while sequence < self.next() {
            if let Some(range) = ranges.next_if(|range| range.start <= sequence) {
                sequence = range.end;
                continue;
            }
            let segment = self.segments[(sequence - self.first) as usize];
            if !segment.is(LOST | AGAIN) {
                if (segment.sent(), sequence) >= rule.latest {
                    break;
                }
                let due = segment.sent() + rule.lost_after;
                if due > now {
                    // The last one has the latest time.
                    judgement.again_at = due;
                } else {
                    judgement.is_new_episode |= sequence >= rule.since.1;
                    judgement.lost += 1;
                    self.lose(disorder, sequence);
                }
            }
            sequence += 1;
            if judgement.again_at == NEVER {
                disorder.judged = sequence;
            }
        }
        drop(ranges);
        disorder.arrived = arrived;
    }

    /// Judges retransmissions, which are in the order of time.
    fn judge_again(&mut self, disorder: &mut Disorder, now: Instant, rule: &LossRule, judgement: &mut LossDetection) {
        while let Some(&transmission) = disorder.again.front() {
            if is_current(&self.segments, self.first, transmission) {
                if transmission >= rule.latest || transmission.0 + rule.lost_after > now {
                    break;
                }
                judgement.is_new_episode |= transmission.0 >= rule.since.0;
                self.lose(disorder, transmission.1);
                judgement.lost += 1;
            }
            disorder.again.pop_front();
        }
        let is_waiting = |&&transmission: &&Transmission| {
            transmission < rule.latest && is_current(&self.segments, self.first, transmission)
        };
        if let Some(&(sent, _)) = disorder.again.iter().rev().find(is_waiting) {
            let due = sent + rule.lost_after;
            judgement.again_at = if judgement.again_at == NEVER { due } else { judgement.again_at.max(due) };
        }
    }

    fn lose(&mut self, disorder: &mut Disorder, sequence: u32) {
        self.segments[(sequence - self.first) as usize].0 |= LOST;
        self.in_flight -= 1;
        disorder.to_send_again += 1;
        disorder.again_from = disorder.again_from.min(sequence);
    }

    /// The retransmission time-out: the first segment is lost, and others that were sent long enough ago
    /// (RACK_mark_losses_on_RTO).
    pub(crate) fn time_out(&mut self, now: Instant, lost_after: Instant) {
        let mut disorder = self.disorder.take().unwrap_or_default();
        for at in 0..self.segments.len() {
            let segment = self.segments[at];
            if !segment.is(ARRIVED | LOST) && (at == 0 || segment.sent() + lost_after <= now) {
                self.lose(&mut disorder, self.first + at as u32);
            }
        }
        self.disorder = Some(disorder);
        self.is_out_of_order = true;
    }

    /// The first segment that is lost leaves again.
    pub(crate) fn send_again(&mut self, now: Instant) -> Option<u32> {
        let disorder = self.disorder.as_mut().filter(|disorder| disorder.to_send_again > 0)?;
        let from = disorder.again_from.max(self.first);
        let found = self.segments.range((from - self.first) as usize..).position(|segment| segment.is(LOST))?;
        let sequence = from + found as u32;
        disorder.to_send_again -= 1;
        disorder.again_from = sequence + 1;
        self.in_flight += 1;
        self.note_again(now, sequence);
        Some(sequence)
    }

    /// Retransmits the last segment that was sent, if any is in flight, in any state.
    pub(crate) fn send_last_again(&mut self, now: Instant) -> u32 {
        let sequence = self.next().saturating_sub(1).max(self.first);
        self.disorder.get_or_insert_default();
        self.is_out_of_order = true;
        self.note_again(now, sequence);
        sequence
    }

    fn note_again(&mut self, now: Instant, sequence: u32) {
        if let Some(segment) = self.segments.get_mut((sequence - self.first) as usize) {
            *segment = Segment(now & TIME | AGAIN);
        }
        let next = self.next();
        if let Some(disorder) = &mut self.disorder {
            disorder.sent_before = next;
            disorder.again.push_back((now, sequence));
        }
    }
}

/// Returns `true` if a retransmission is the latest transmission of its segment, which is in flight.
fn is_current(segments: &VecDeque<Segment>, first: u32, (sent, sequence): Transmission) -> bool {
    let segment = sequence.checked_sub(first).and_then(|at| segments.get(at as usize));
    segment.is_some_and(|segment| !segment.is(ARRIVED | LOST) && segment.is(AGAIN) && segment.sent() == sent)
}
