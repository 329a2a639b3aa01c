//! Algorithms 1 and 2 line by line, then any order that paths can cause.

use super::*;
use crate::random::SplitMix;

const PACKET: Departure = Departure { bytes: 1460, paths: 4 };

fn us(micros: u64) -> Time {
    Time::from_micros(micros)
}

/// A buffer whose average is 100 us, and the packets that it passed up.
struct Receiver {
    buffer: Reorder<u32>,
    up: Vec<u32>,
}

impl Receiver {
    fn new() -> Self {
        Self { buffer: Reorder::new(Params { initial: us(100), ..Params::default() }), up: Vec::new() }
    }

    /// The packet is known by its segment; returns what is passed up for it.
    fn packet(&mut self, at: u64, cell: u32, segment: u32) -> &[u32] {
        let before = self.up.len();
        self.buffer.on_packet(us(at), segment, cell, segment, |packet| self.up.push(packet));
        &self.up[before..]
    }

    fn timer(&mut self, at: u64) -> &[u32] {
        let before = self.up.len();
        self.buffer.on_timer(us(at), |packet| self.up.push(packet));
        &self.up[before..]
    }
}

#[test]
fn a_flowcell_is_as_many_packets_as_fit_and_the_next_takes_the_next_path() {
    let mut flowcells = Flowcells::new(FLOWCELL, 9);
    let first = flowcells.choose(Time::ZERO, PACKET);
    for packet in 1..44 * 9 {
        let path = flowcells.choose(Time::ZERO, PACKET);
        assert_eq!(flowcells.cell(), packet / 44, "packet {packet}");
        assert_eq!(path, (first + packet / 44) % 4, "packet {packet}");
    }
}

#[test]
fn a_packet_that_fills_a_flowcell_exactly_belongs_to_it() {
    let mut flowcells = Flowcells::new(Bytes::new(3000), 9);
    let cells = [1000, 1000, 1000, 1, 3000, 5000, 1].map(|bytes| {
        flowcells.choose(Time::ZERO, Departure { bytes, paths: 2 });
        flowcells.cell()
    });
    assert_eq!(cells, [0, 0, 0, 1, 2, 3, 4]);
}

#[test]
fn flows_begin_on_different_paths() {
    let mut counts = [0_u32; 4];
    for identity in 0..4000 {
        counts[Flowcells::new(FLOWCELL, identity).choose(Time::ZERO, PACKET) as usize] += 1;
    }
    assert!(counts.iter().all(|count| count.abs_diff(1000) < 150), "{counts:?}");
}

#[test]
fn changed_paths_end_a_flowcell() {
    let mut flowcells = Flowcells::new(FLOWCELL, 9);
    flowcells.on_paths_changed(Time::ZERO);
    flowcells.choose(Time::ZERO, PACKET);
    assert_eq!(flowcells.cell(), 0, "nothing was sent before");
    flowcells.on_paths_changed(Time::ZERO);
    let path = flowcells.choose(Time::ZERO, Departure { paths: 2, ..PACKET });
    assert!(path < 2);
    assert_eq!(flowcells.cell(), 1);
    // Even if a driver does not report the change, the path exists, and the flowcell is new.
    let path = flowcells.choose(Time::ZERO, Departure { paths: 1, ..PACKET });
    assert_eq!((path, flowcells.cell() - 1), (0, u32::from(flowcells.cell() == 2)));
}

#[test]
fn packets_in_order_are_passed_up_at_once() {
    let mut receiver = Receiver::new();
    for segment in 0..100 {
        assert_eq!(receiver.packet(u64::from(segment), segment / 10, segment), [segment]);
        assert_eq!(receiver.buffer.deadline(), None);
    }
}

#[test]
fn behind_a_hole_within_a_flowcell_everything_is_passed_up_at_once() {
    let mut receiver = Receiver::new();
    receiver.packet(0, 0, 0);
    assert_eq!(receiver.packet(1, 0, 2), [2]);
    assert_eq!(receiver.packet(2, 0, 3), [3]);
    // Also the next flowcell: the hole is a loss, and is not before it.
    assert_eq!(receiver.packet(3, 1, 4), [4]);
    // A retransmission in the current flowcell.
    assert_eq!(receiver.packet(9, 1, 1), [1]);
}

#[test]
fn behind_a_hole_between_flowcells_packets_wait_until_it_closes() {
    let mut receiver = Receiver::new();
    receiver.packet(0, 0, 0);
    assert_eq!(receiver.packet(1, 1, 3), [0; 0]);
    assert_eq!(receiver.packet(2, 1, 4), [0; 0]);
    assert_eq!(receiver.buffer.deadline(), Some(us(201)));
    assert_eq!(receiver.packet(3, 0, 1), [1]);
    assert_eq!(receiver.packet(4, 0, 2), [2, 3, 4]);
    assert_eq!(receiver.buffer.deadline(), None);
}

#[test]
fn flowcells_that_arrive_in_reverse_leave_in_order() {
    let mut receiver = Receiver::new();
    for cell in [3, 2, 1] {
        for packet in 0..4 {
            assert_eq!(receiver.packet(u64::from(3 - cell), cell, cell * 4 + packet), [0; 0]);
        }
    }
    for segment in 0..4 {
        receiver.packet(5, 0, segment);
    }
    assert_eq!(receiver.up, (0..16).collect::<Vec<_>>());
}

#[test]
fn a_loss_at_the_end_of_a_flowcell_times_out_after_twice_the_average() {
    let mut receiver = Receiver::new();
    receiver.packet(0, 0, 0);
    receiver.packet(10, 1, 2);
    assert_eq!(receiver.timer(209), [0; 0]);
    assert_eq!(receiver.buffer.deadline(), Some(us(210)));
    assert_eq!(receiver.timer(210), [2]);
    assert_eq!(receiver.packet(211, 1, 3), [3]);
    // A packet that was given up arrives late, from an older flowcell: it is not held.
    assert_eq!(receiver.packet(212, 0, 1), [1]);
    assert_eq!(receiver.buffer.average(), us(100), "a loss says nothing about order");
}

#[test]
fn a_segment_that_has_just_grown_is_held_for_half_the_average_longer() {
    let mut receiver = Receiver::new();
    receiver.packet(0, 0, 0);
    receiver.packet(10, 1, 2);
    receiver.packet(180, 1, 3);
    // 180 us + 100 us / 2.
    assert_eq!(receiver.timer(210), [0; 0]);
    assert_eq!(receiver.buffer.deadline(), Some(us(230)));
    // A packet behind another hole, or of another flowcell, is not merged.
    receiver.packet(220, 1, 5);
    receiver.packet(221, 2, 9);
    assert_eq!(receiver.timer(230), [2, 3, 5]);
    // The other flowcell continues to wait, from its arrival on.
    assert_eq!(receiver.buffer.deadline(), Some(us(421)));
}

#[test]
fn a_retransmission_that_begins_a_flowcell_is_passed_up() {
    let mut receiver = Receiver::new();
    for segment in [0, 2, 3] {
        receiver.packet(0, 0, segment);
    }
    assert_eq!(receiver.packet(1, 1, 1), [1]);
    assert_eq!(receiver.packet(2, 1, 4), [4]);
}

#[test]
fn a_completed_flowcell_is_no_longer_held() {
    // Segment 0 is retransmitted in a later flowcell than the held segment: nothing before that can still arrive in
    // order.
    let mut receiver = Receiver::new();
    receiver.packet(0, 0, 0);
    assert_eq!(receiver.packet(1, 1, 5), [0; 0]);
    assert_eq!(receiver.packet(2, 2, 0), [0, 5]);
    assert_eq!(receiver.buffer.deadline(), None);
}

#[test]
fn packets_of_the_next_flowcell_do_not_extend_a_held_segment() {
    let mut receiver = Receiver::new();
    receiver.packet(0, 0, 0);
    receiver.packet(10, 1, 2);
    receiver.packet(180, 2, 3);
    assert_eq!(receiver.timer(210), [2, 3]);
}

#[test]
fn the_time_out_follows_the_measured_duration_of_holes() {
    // Each hole lasts 20 us: the average goes from 100 us by an eighth of the difference, 90, 81.25, ... to 20.
    let mut receiver = Receiver::new();
    let mut expected = 100.0;
    for round in 0..60 {
        let (at, first) = (u64::from(round) * 1000, round * 2);
        receiver.packet(at, first + 1, first + 1);
        receiver.packet(at + 20, first, first);
        expected += (20.0 - expected) / 8.0;
        let average = receiver.buffer.average().as_nanos() as f64 / 1000.0;
        assert!((average - expected).abs() < 0.02, "{average} instead of {expected}");
    }
    assert_eq!(receiver.up, (0..120).collect::<Vec<_>>());
}

#[test]
fn flowcell_numbers_wrap_around() {
    let mut receiver = Receiver::new();
    receiver.buffer = Reorder::new(Params::default());
    receiver.packet(0, u32::MAX / 2, 0);
    receiver.packet(0, u32::MAX - 1, 1);
    assert_eq!(receiver.packet(1, 0, 3), [0; 0]);
    assert_eq!(receiver.packet(2, u32::MAX, 2), [2, 3]);
}

#[test]
fn duplicates_are_passed_up_like_other_packets() {
    let mut receiver = Receiver::new();
    receiver.packet(0, 0, 0);
    receiver.packet(1, 1, 2);
    receiver.packet(2, 1, 2);
    assert_eq!(receiver.packet(3, 0, 1), [1, 2, 2]);
    assert_eq!(receiver.packet(4, 0, 0), [0]);
}

/// A segment, its flowcell, and when it arrives in us.
type Arrival = (u64, u32, u32);

/// Packets of some flowcells, each path with a delay of its own and in order, with losses of one in `loss`; by arrival.
fn arrivals(random: &mut SplitMix, loss: u32) -> Vec<Arrival> {
    let delays: [u32; 4] = [(); 4].map(|()| random.below(60));
    let mut arrivals = Vec::new();
    let mut segment = 0;
    let first = random.below(4);
    for cell in 0..24 {
        for _ in 0..=random.below(6) {
            // The paths' delays are constant, so none overtakes within a flowcell.
            let at = segment + delays[((cell + first) % 4) as usize];
            if loss == 0 || random.below(loss) > 0 {
                arrivals.push((u64::from(at), cell, segment));
            }
            segment += 1;
        }
    }
    arrivals.sort_unstable_by_key(|&(at, _, segment)| (at, segment));
    arrivals
}

/// Feeds arrivals, waking the buffer when it asks.
fn feed(arrivals: &[Arrival], seed: u64) -> Receiver {
    let mut receiver = Receiver::new();
    for &(at, cell, segment) in arrivals {
        while let Some(wake) = receiver.buffer.deadline().filter(|&wake| wake < us(at)) {
            receiver.timer(wake.as_nanos().div_ceil(1000));
            assert_ne!(receiver.buffer.deadline(), Some(wake), "seed {seed}: woken for nothing");
        }
        receiver.packet(at, cell, segment);
    }
    for _ in 0..1000 {
        let Some(wake) = receiver.buffer.deadline() else { break };
        receiver.timer(wake.as_nanos().div_ceil(1000));
    }
    receiver
}

#[test]
fn without_losses_everything_leaves_in_order_for_any_paths() {
    for seed in 0..2000 {
        let arrivals = arrivals(&mut SplitMix::new(seed), 0);
        // Patient enough for the first hole; the average may learn that holes are short only while they are.
        let mut receiver = Receiver::new();
        receiver.buffer = Reorder::new(Params { initial: us(1000), gain: 20, ..Params::default() });
        for &(at, cell, segment) in &arrivals {
            receiver.packet(at, cell, segment);
            assert!(receiver.buffer.deadline().is_none_or(|wake| wake > us(at)), "seed {seed}");
        }
        assert_eq!(receiver.up, (0..arrivals.len() as u32).collect::<Vec<_>>(), "seed {seed}");
    }
}

#[test]
fn with_losses_every_packet_leaves_once_and_none_remains() {
    for seed in 0..2000 {
        let arrivals = arrivals(&mut SplitMix::new(seed), 5);
        let mut receiver = feed(&arrivals, seed);
        assert_eq!(receiver.buffer.held(), 0, "seed {seed}");
        receiver.up.sort_unstable();
        let mut sent: Vec<u32> = arrivals.iter().map(|&(.., segment)| segment).collect();
        sent.sort_unstable();
        assert_eq!(receiver.up, sent, "seed {seed}");
    }
}

#[test]
fn no_packet_waits_longer_than_one_time_out_per_earlier_flowcell() {
    for seed in 0..500 {
        let arrivals = arrivals(&mut SplitMix::new(seed), 5);
        let last = arrivals.last().map_or(0, |&(at, ..)| at);
        let mut receiver = feed(&arrivals, seed);
        receiver.timer(last + 24 * 250);
        assert_eq!(receiver.buffer.held(), 0, "seed {seed}");
    }
}
