//! Maximum amount of a pair in flight on one path
//! ([`HostAction::SetWindow`](wayleave_scheme_api::HostAction::SetWindow)).
//!
//! Every packet carries the amount that the pair had sent on the path with it, and its receiver returns that number.
//! The returned number shows that all earlier packets have left the path too, arrived or lost: packets of one path
//! stay in order. So a loss uses no room once a later packet is answered. If no later packet is answered, because the
//! last packets of a window were lost, the driver calls [`Window::forget`] when its transport times out.
//!
//! A window holds on average over its rounds: less than a packet more may be in flight in some of them.

use crate::clock::{Instant, PS_PER_SECOND};

/// The window of one pair on one path, in wire bytes.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// `None`: no limit.
    limit: Option<u64>,
    /// Sent since the pair opened.
    sent: u64,
    /// Of that, known to have left the path.
    answered: u64,
    /// Let go, and not sent yet.
    reserved: u64,
    /// Round trip of the path without queues, if it is another than that of the pair.
    round_trip: Option<Instant>,
    /// Pause of a window below one packet.
    pause: Pause,
    /// Time of the last packet or answer.
    active_at: Instant,
    /// The largest packet so far.
    packet: u64,
    /// The present round ends when more than this is answered.
    round_until: u64,
    /// Remainder that whole packets have left of the windows of earlier rounds.
    left: u64,
    /// Of that, what this round may use.
    extra: u64,
    floor: Floor,
}

/// Pause after a packet: a window of less than one packet is one packet every `bytes / window` round trips. If the window changes during the
/// pause, the present one decides: a rise of a tenth shortens the pause by a tenth.
#[derive(Clone, Copy, Debug, Default)]
struct Pause {
    since: Instant,
    /// The packet times the round trip, in byte picoseconds.
    work: u128,
}

impl Pause {
    /// Begins after a packet.
    fn after(bytes: u32, round_trip: Instant, now: Instant) -> Self {
        Self { since: now, work: u128::from(bytes) * u128::from(round_trip) }
    }

    /// Returns its end with this window.
    fn end(self, limit: u64) -> Instant {
        let lasts = self.work.div_ceil(u128::from(limit.max(1)));
        self.since.saturating_add(u64::try_from(lasts).unwrap_or(Instant::MAX))
    }
}

/// A rate at which packets leave although a window is full, since that much was promised ([`HostAction::SetFloor`](wayleave_scheme_api::HostAction::SetFloor)). A packet that
/// leaves because the window is open counts as well, so this only makes up for a window that gives less.
#[derive(Clone, Copy, Debug, Default)]
struct Floor {
    /// In bit/s; zero: none.
    rate: u64,
    /// Time at which the next packet is due at the rate.
    next_at: Instant,
    /// Maximum time by which that may be earlier than now: unused rate is kept for a base round trip.
    kept: Instant,
}

impl Floor {
    /// Counts a packet that is let go.
    fn count(&mut self, bytes: u32, now: Instant) {
        if self.rate > 0 {
            let takes = u128::from(bytes) * 8 * u128::from(PS_PER_SECOND) / u128::from(self.rate);
            // A pair that sent more owes nothing for it: it was promised the rate in every window of time.
            let since = self.next_at.clamp(now.saturating_sub(self.kept), now);
            self.next_at = since.saturating_add(u64::try_from(takes).unwrap_or(u64::MAX));
        }
    }

    /// Returns the room for the next packet if the window is full.
    fn or(self, full: WindowCheck, now: Instant) -> WindowCheck {
        match full {
            WindowCheck::Open => full,
            _ if self.rate == 0 => full,
            _ if self.next_at <= now => WindowCheck::Open,
            WindowCheck::Until(at) => WindowCheck::Until(at.min(self.next_at)),
            WindowCheck::Closed => WindowCheck::Until(self.next_at),
        }
    }
}

/// Room of a window for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowCheck {
    /// It does.
    Open,
    /// Not before this time, if nothing else changes.
    Until(Instant),
    /// Not before something is answered, or the window is another.
    Closed,
}

impl Window {
    /// Another limit; `None` lifts it.
    pub fn set(&mut self, limit: Option<u64>) {
        self.limit = limit;
    }

    /// Sets the round trip of the path without queues.
    pub fn set_round_trip(&mut self, round_trip: Instant) {
        self.round_trip = Some(round_trip);
    }

    /// The rate at which packets leave although the window is full; zero: none does.
    pub fn set_floor(&mut self, bits_per_second: u64, round_trip: Instant, now: Instant) {
        if self.floor.rate == 0 {
            self.floor.next_at = now;
        }
        (self.floor.rate, self.floor.kept) = (bits_per_second, round_trip);
    }

    /// The limit.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Sent or let go, and not known to have left the path.
    pub fn in_flight(&self) -> u64 {
        self.reserved + self.sent - self.answered
    }

    /// Returns the time of the last packet or answer.
    pub fn active_at(&self) -> Instant {
        self.active_at
    }

    /// Returns the room for a packet now. A window below one packet means one packet every `bytes / window` round
    /// trips.
    pub fn check(&self, bytes: u32, now: Instant) -> WindowCheck {
        let bytes = u64::from(bytes);
        let room = match self.limit {
            None => WindowCheck::Open,
            Some(0) => return WindowCheck::Closed,
            Some(limit) if limit < bytes => match self.in_flight() {
                0 if self.pause.end(limit) <= now => WindowCheck::Open,
                0 => WindowCheck::Until(self.pause.end(limit)),
                _ => WindowCheck::Closed,
            },
            Some(limit) if self.in_flight() + bytes <= limit + self.extra => WindowCheck::Open,
            Some(_) => WindowCheck::Closed,
        };
        self.floor.or(room, now)
    }

    /// A packet was let go; it counts until it is sent.
    pub fn reserve(&mut self, bytes: u32, now: Instant) {
        self.reserved += u64::from(bytes);
        self.floor.count(bytes, now);
    }

    /// Releases a grant that will not be used.
    pub fn release(&mut self, bytes: u32) {
        self.reserved = self.reserved.saturating_sub(u64::from(bytes));
    }

    /// A packet leaves for which `reserved` bytes had been let go. Returns what its answer has to bring back.
    pub fn send(&mut self, bytes: u32, reserved: u32, round_trip: Instant, now: Instant) -> u64 {
        self.release(reserved);
        self.sent += u64::from(bytes);
        self.packet = self.packet.max(u64::from(bytes));
        self.active_at = now;
        self.pause = Pause::after(bytes, self.round_trip.unwrap_or(round_trip), now);
        self.sent
    }

    /// A packet was answered; whether something became free. Answers that come twice or late change nothing.
    pub fn answer(&mut self, sent: u64, now: Instant) -> bool {
        self.active_at = now;
        let sent = sent.min(self.sent);
        let is_new = sent > self.answered;
        self.answered = self.answered.max(sent);
        if self.answered > self.round_until {
            self.begin_round();
        }
        is_new
    }

    /// Keeps the remainder of a window that is not a whole number of packets for later rounds, until it is a packet.
    /// Three and a half packets are three in one round and four in the next, and not three in all.
    fn begin_round(&mut self) {
        self.round_until = self.sent;
        self.extra = 0;
        let limit = self.limit.unwrap_or(0);
        if self.packet == 0 || limit < self.packet {
            self.left = 0;
            return;
        }
        self.left += limit % self.packet;
        if let Some(left) = self.left.checked_sub(self.packet) {
            (self.left, self.extra) = (left, self.packet);
        }
    }

    /// Nothing that is in flight will be answered any more; whether something became free.
    pub fn forget(&mut self) -> bool {
        let is_new = self.answered < self.sent;
        self.answered = self.sent;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: Instant = 24_000_000;

    fn window(limit: u64) -> Window {
        let mut window = Window::default();
        window.set(Some(limit));
        window
    }

    #[test]
    fn a_window_passes_packets_that_fit_beside_the_data_in_flight() {
        let mut window = window(3_000);
        assert_eq!(window.check(1_500, 0), WindowCheck::Open);
        window.reserve(1_500, 0);
        assert_eq!(window.check(1_501, 0), WindowCheck::Closed, "what was let go counts before it is sent");
        assert_eq!(window.send(1_400, 1_500, ROUND_TRIP, 0), 1_400);
        assert_eq!((window.in_flight(), window.check(1_600, 0)), (1_400, WindowCheck::Open));
        assert!(window.answer(1_400, 5));
        assert_eq!(window.in_flight(), 0);
    }

    #[test]
    fn an_answer_frees_bytes_lost_before_it() {
        let mut window = window(3_000);
        let [_, second] = [(); 2].map(|()| window.send(1_500, 0, ROUND_TRIP, 0));
        assert_eq!(window.check(1, 0), WindowCheck::Closed);
        assert!(window.answer(second, 1));
        assert_eq!(window.in_flight(), 0);
        assert!(!window.answer(1_500, 2), "the answer that was overtaken frees nothing twice");
        assert!(!window.answer(1_000_000, 3), "nor does one of a packet that was never sent");
        assert_eq!(window.in_flight(), 0);
    }

    #[test]
    fn a_window_with_lost_last_packets_opens_when_they_are_forgotten() {
        let mut window = window(1_500);
        window.send(1_500, 0, ROUND_TRIP, 0);
        assert_eq!(window.check(1_500, u64::MAX), WindowCheck::Closed);
        assert!(window.forget());
        assert_eq!(window.check(1_500, 0), WindowCheck::Open);
        assert!(!window.forget());
    }

    /// A quarter of a packet is one packet in four round trips.
    #[test]
    fn a_window_below_a_packet_causes_a_pause() {
        let mut window = window(375);
        assert_eq!(window.check(1_500, 0), WindowCheck::Open);
        let sent = window.send(1_500, 0, ROUND_TRIP, 0);
        assert_eq!(window.check(1_500, 10), WindowCheck::Closed, "one at a time");
        window.answer(sent, ROUND_TRIP);
        assert_eq!(window.check(1_500, ROUND_TRIP), WindowCheck::Until(4 * ROUND_TRIP));
        assert_eq!(window.check(1_500, 4 * ROUND_TRIP), WindowCheck::Open);
    }

    /// A quarter of a packet is one packet in four round trips, a half one in two.
    #[test]
    fn a_pause_is_that_of_the_present_window() {
        let mut window = window(375);
        let sent = window.send(1_500, 0, ROUND_TRIP, 0);
        window.answer(sent, ROUND_TRIP);
        window.set(Some(376));
        assert_ne!(window.check(1_500, ROUND_TRIP), WindowCheck::Open, "a slightly larger window ends no pause");
        window.set(Some(750));
        assert_eq!(window.check(1_500, ROUND_TRIP), WindowCheck::Until(2 * ROUND_TRIP));
        window.set(Some(300));
        assert_eq!(window.check(1_500, ROUND_TRIP), WindowCheck::Until(5 * ROUND_TRIP));
        window.set(Some(1_500));
        assert_eq!(window.check(1_500, ROUND_TRIP), WindowCheck::Open, "a window of a packet has no pauses");
    }

    /// The first of ten rounds has nothing left of others: nine halves are four packets, nine times 0.9 are eight.
    #[test]
    fn fractions_of_a_packet_are_spread_over_rounds() {
        for (limit, expected) in [(3_500, 34), (3_000, 30), (3_900, 38)] {
            let mut window = window(limit);
            let mut count = 0;
            for round in 0..10 {
                while window.check(1_000, round) == WindowCheck::Open {
                    window.send(1_000, 0, ROUND_TRIP, round);
                    count += 1;
                    assert!(window.in_flight() <= limit + 1_000);
                }
                window.answer(u64::MAX, round);
            }
            assert_eq!(count, expected, "{limit} B");
        }
    }

    /// 1,500 B at 500 Mbit/s are one packet each base round trip of 24 us, at any amount in flight.
    #[test]
    fn a_floor_passes_packets_although_the_window_is_full() {
        let mut window = window(1_500);
        window.set_floor(500_000_000, ROUND_TRIP, 0);
        let mut let_go = |now: Instant| {
            let room = window.check(1_500, now);
            if room == WindowCheck::Open {
                window.reserve(1_500, now);
                window.send(1_500, 1_500, ROUND_TRIP, now);
            }
            room
        };
        assert_eq!(let_go(0), WindowCheck::Open, "by the window");
        assert_eq!(let_go(0), WindowCheck::Until(ROUND_TRIP), "what the window let go counts");
        assert_eq!(let_go(ROUND_TRIP), WindowCheck::Open);
        assert_eq!(let_go(ROUND_TRIP), WindowCheck::Until(2 * ROUND_TRIP));
        // After a pause there is one packet for the present, and one round trip that was kept.
        assert_eq!([let_go(10 * ROUND_TRIP), let_go(10 * ROUND_TRIP)], [WindowCheck::Open; 2]);
        assert_eq!(let_go(10 * ROUND_TRIP), WindowCheck::Until(11 * ROUND_TRIP));
        window.set(Some(0));
        assert_eq!(window.check(1_500, u64::MAX), WindowCheck::Closed, "no path, no floor");
        window.set(Some(1_500));
        window.set_floor(0, ROUND_TRIP, 0);
        assert_eq!(window.check(1_500, u64::MAX), WindowCheck::Closed);
    }

    #[test]
    fn a_window_of_zero_blocks_everything_and_no_window_nothing() {
        let mut window = window(0);
        assert_eq!(window.check(1, u64::MAX), WindowCheck::Closed);
        window.set(None);
        assert_eq!(window.check(u32::MAX, 0), WindowCheck::Open);
    }
}
