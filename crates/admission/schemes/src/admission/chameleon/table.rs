//! The delays of section 4.1.2.

use wayleave_units::Time;

/// The eight delays of section 4.1.2.
const EIGHT: [Time; 8] = [
    Time::from_micros(100),
    Time::from_micros(500),
    Time::from_micros(1_000),
    Time::from_micros(1_500),
    Time::from_micros(3_000),
    Time::from_micros(6_000),
    Time::from_micros(12_000),
    Time::from_micros(24_000),
];

/// Indices of the eight published delays for a port of n queues. 2, 4 and 8 follow section 4.1.2; the others are
/// subsets of larger ones.
const CHOSEN: [&[usize]; 8] = [
    &[0],
    &[0, 5],
    &[0, 2, 5],
    &[0, 2, 5, 7],
    &[0, 1, 2, 5, 7],
    &[0, 1, 2, 4, 5, 7],
    &[0, 1, 2, 3, 4, 5, 7],
    &[0, 1, 2, 3, 4, 5, 6, 7],
];

/// Returns the delays of a switch port with `queues` queues; empty above eight.
pub(super) fn published(queues: usize) -> Vec<Time> {
    let chosen = queues.checked_sub(1).and_then(|n| CHOSEN.get(n));
    chosen.map(|chosen| chosen.iter().map(|&i| EIGHT[i]).collect()).unwrap_or_default()
}
