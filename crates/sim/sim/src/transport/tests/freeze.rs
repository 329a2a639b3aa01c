//! No transfer freezes under any losses: the first missing segment is retransmitted within two time-outs, and every
//! transfer ends.

use rand::Rng;
use rand::rngs::ChaCha8Rng;
use wayleave_schemes::transport::fixed::Fixed;
use wayleave_schemes::transports::AnyFlow;
use wayleave_units::Time;

use super::super::*;
use super::line::{Fate, Line};
use super::{SEGMENT, setup};
use crate::clock::{Instant, PS_PER_SECOND};
use crate::random;

/// Some segments are lost several times in a row, in addition to random losses.
struct Unlucky {
    rng: ChaCha8Rng,
    delay: Instant,
    /// More delay, at random up to this.
    jitter: Instant,
    /// Segments, and the number of their transmissions that are still to be lost.
    doomed: Vec<(u32, u32)>,
    loss: f64,
    ack_loss: f64,
}

impl Unlucky {
    /// One to four segments that are lost twice or three times.
    fn new(seed: u64, segments: u32) -> Self {
        let mut rng = random::generator(seed, 0);
        let mut pick = |bound: u32| random::below(&mut rng, bound);
        let doomed = (0..1 + pick(4)).map(|_| (pick(segments), 2 + pick(2))).collect();
        let delay = u64::from(10 + pick(10_000)) * 1_000_000;
        let jitter = [0, 0, delay / 8, 2 * delay][pick(4) as usize];
        let (loss, ack_loss) = ([0.0, 0.0, 0.01, 0.3][pick(4) as usize], [0.0, 0.0, 0.02, 0.3][pick(4) as usize]);
        Self { rng, delay, jitter, doomed, loss, ack_loss }
    }

    fn takes(&mut self) -> Instant {
        self.delay + random::uniform(&mut self.rng, self.jitter + 1)
    }
}

impl Fate for Unlucky {
    fn forward(&mut self, sequence: u32, _: u64) -> Option<Instant> {
        for (segment, times) in &mut self.doomed {
            if *segment == sequence && *times > 0 {
                *times -= 1;
                return None;
            }
        }
        (random::unit(&mut self.rng) >= self.loss).then(|| self.takes())
    }

    fn back(&mut self) -> Option<Instant> {
        (random::unit(&mut self.rng) >= self.ack_loss).then(|| self.takes())
    }
}

fn control(setup: &Setup, which: u32) -> AnyFlow {
    let start = setup.flow_start();
    match which {
        0 => AnyFlow::newreno(&start),
        1 => AnyFlow::cubic(&start),
        2 => AnyFlow::dctcp(&start),
        3 => AnyFlow::swift(&start),
        _ => AnyFlow::Fixed(Fixed(u64::from(setup.initial_window) * u64::from(SEGMENT))),
    }
}

/// Sends everything. The error describes the failure.
fn transfer(seed: u64) -> Result<(), String> {
    let mut rng = random::generator(seed, 1);
    let segments = 1 + random::below(&mut rng, 400);
    let window = 1 + random::below(&mut rng, 60);
    let mut setup = setup(u64::from(segments) * u64::from(SEGMENT), window);
    setup.max_window = 100;
    setup.min_timeout = [Time::from_micros(200), Time::from_millis(10), Time::from_millis(200)][(seed % 3) as usize];
    let control = control(&setup, rng.next_u32() % 5);
    let mut line = Line::new(Sender::new(&setup, control), Unlucky::new(seed, segments));
    let mut idle_steps = 0;
    while line.step() {
        // The time-out may have grown shorter since the segment was sent.
        let timeout = line.sender.timer.timeout();
        idle_steps = if line.moved_at == line.now { timeout } else { timeout.max(idle_steps) };
        // A window of a part of a packet waits for its pace, at most a hundred round trips of Swift's.
        let since = line.moved_at.max(line.sender.paced_until().min(line.now));
        if line.now - since > 2 * idle_steps {
            let first = line.sender.flight.first();
            return Err(format!("seed {seed}: {first} was sent at {} and is awaited at {}", line.moved_at, line.now));
        }
        if line.now > 3_600 * PS_PER_SECOND {
            return Err(format!("seed {seed}: not over after an hour"));
        }
    }
    let received = line.receiver.expected();
    if received == segments { Ok(()) } else { Err(format!("seed {seed}: {received} of {segments} segments")) }
}

/// `WAYLEAVE_TRANSFERS` sets the number of transfers: `make transport-long` uses 100,000.
#[test]
fn no_transfer_freezes_where_segments_are_lost_twice_or_three_times() {
    let transfers = std::env::var("WAYLEAVE_TRANSFERS").ok().and_then(|text| text.parse().ok()).unwrap_or(400);
    let wrong: Vec<String> = (0..transfers).filter_map(|seed| transfer(seed).err()).collect();
    assert!(wrong.is_empty(), "{} of {transfers}, the first: {:?}", wrong.len(), &wrong[..wrong.len().min(5)]);
}
