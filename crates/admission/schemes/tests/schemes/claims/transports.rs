//! Every flow, path and marking scheme from outside: actions that no scheme may take on any event, and the published
//! averages of saw teeth.

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use wayleave_scheme_api::{
    Ack, Departure, Flow, FlowStart, Loss, Mark, Path, QueueState, RecoveryPhase, SendLimit, Switch,
};
use wayleave_schemes::path::ecmp::PerFlow;
use wayleave_schemes::path::flowlet::Flowlet;
use wayleave_schemes::path::presto::{FLOWCELL, Flowcells};
use wayleave_schemes::path::spraying::PerPacket;
use wayleave_schemes::switch::red;
use wayleave_schemes::switches::{AnySwitch, Ecn};
use wayleave_schemes::transport::fixed::Fixed;
use wayleave_schemes::transports::{AnyFlow, AnyPath};
use wayleave_units::{Bytes, Rate, Time};

type Constructor = fn(&FlowStart) -> AnyFlow;

const FLOWS: [(&str, Constructor); 3] =
    [("newreno", AnyFlow::newreno), ("cubic", AnyFlow::cubic), ("dctcp", AnyFlow::dctcp)];

fn below(rng: &mut ChaCha8Rng, bound: u64) -> u64 {
    rng.next_u64() % bound
}

fn start(segment: u32, initial_window: u64, max_window: u64) -> FlowStart {
    FlowStart { segment, initial_window, max_window, size: None, deadline: None, weight: 1 }
}

/// An acknowledgement of `newly` bytes to a sender without need.
fn ack(newly: u64, acknowledged: u64, sent: u64) -> Ack<'static> {
    Ack {
        newly,
        marked: 0,
        acknowledged,
        sent,
        in_flight: sent - acknowledged,
        remaining: None,
        round_trip: None,
        host_delay: None,
        limit: SendLimit::Application,
        phase: RecoveryPhase::Open,
        telemetry: &[],
    }
}

/// A sender to which anything may happen.
struct Anything {
    rng: ChaCha8Rng,
    now: Time,
    acknowledged: u64,
    sent: u64,
    phase: RecoveryPhase,
}

impl Anything {
    fn new(seed: u64) -> Self {
        let rng = ChaCha8Rng::seed_from_u64(seed);
        Self { rng, now: Time::ZERO, acknowledged: 0, sent: 0, phase: RecoveryPhase::Open }
    }

    /// An acknowledgement as a transport could give it.
    fn ack(&mut self, window: u64) -> Ack<'static> {
        self.sent = self.sent.max(self.acknowledged + window);
        let newly = 1 + below(&mut self.rng, self.sent - self.acknowledged);
        self.acknowledged += if self.phase == RecoveryPhase::Open { newly } else { newly.min(1) };
        Ack {
            marked: if below(&mut self.rng, 4) == 0 { below(&mut self.rng, newly + 1) } else { 0 },
            round_trip: (below(&mut self.rng, 8) > 0).then(|| Time::from_nanos(below(&mut self.rng, 1 << 28))),
            limit: if below(&mut self.rng, 4) > 0 { SendLimit::Window } else { SendLimit::Application },
            phase: self.phase,
            ..ack(newly, self.acknowledged, self.sent)
        }
    }

    /// Feeds a random event. Returns `true` if it was an acknowledgement that may let the window grow.
    fn happen(&mut self, flow: &mut AnyFlow) -> bool {
        self.now += Time::from_nanos(below(&mut self.rng, 1 << 30));
        let in_flight = below(&mut self.rng, flow.window() + 1);
        match below(&mut self.rng, 40) {
            0 => {
                self.phase = RecoveryPhase::Recovery;
                flow.on_loss(self.now, Loss::Fast { in_flight });
            }
            1 => {
                self.phase = RecoveryPhase::Open;
                flow.on_loss(self.now, Loss::Timeout { in_flight });
            }
            2..10 => self.phase = RecoveryPhase::Open,
            _ => {
                let ack = self.ack(flow.window());
                flow.on_ack(self.now, &ack);
                return ack.limit == SendLimit::Window && ack.phase == RecoveryPhase::Open;
            }
        }
        false
    }
}

#[test]
fn windows_always_stay_between_a_byte_and_their_maximum() {
    for (name, new) in FLOWS {
        for seed in 0..200 {
            let mut anything = Anything::new(seed);
            let segment = 1 + below(&mut anything.rng, 9000) as u32;
            let max_window = below(&mut anything.rng, 10_000_000);
            let initial = below(&mut anything.rng, 200_000);
            let mut flow = new(&start(segment, initial, max_window));
            for step in 0..500 {
                anything.happen(&mut flow);
                let window = flow.window();
                assert!((1..=max_window.max(1)).contains(&window), "{name}, seed {seed}, step {step}: {window}");
                if let AnyFlow::Dctcp(flow) = &flow {
                    assert!((0.0..=1.0).contains(&flow.alpha()), "seed {seed}, step {step}: {}", flow.alpha());
                }
            }
        }
    }
}

#[test]
fn windows_grow_only_by_acknowledgements_of_window_limited_senders() {
    for (name, new) in FLOWS {
        for seed in 0..200 {
            let mut anything = Anything::new(seed);
            let mut flow = new(&start(1000, 10_000, 1_000_000));
            for step in 0..500 {
                let before = flow.window();
                let may_grow = anything.happen(&mut flow);
                // A loss leaves two segments (RFC 5681, equation 4), also where one was all there was.
                let most = if may_grow { u64::MAX } else { before.max(2000) };
                assert!(flow.window() <= most, "{name}, seed {seed}, step {step}: {before} -> {}", flow.window());
            }
        }
    }
}

#[test]
fn a_flow_never_limited_by_its_window_keeps_it() {
    for (name, new) in FLOWS {
        let mut flow = new(&start(1000, 10_000, 1_000_000));
        for step in 1..1000 {
            flow.on_ack(Time::from_millis(step), &ack(1000, step * 1000, step * 1000 + 5000));
        }
        assert_eq!(flow.window(), 10_000, "{name}");
    }
}

#[test]
fn a_fixed_window_never_changes() {
    for seed in 0..20 {
        let mut anything = Anything::new(seed);
        let mut flow = AnyFlow::Fixed(Fixed(12_345));
        for _ in 0..200 {
            anything.happen(&mut flow);
            assert_eq!(flow.window(), 12_345, "seed {seed}");
        }
    }
}

#[test]
fn copies_of_a_flow_behave_identically() {
    for (name, new) in FLOWS {
        let run = |seed| {
            let mut anything = Anything::new(seed);
            let mut flow = new(&start(1460, 14_600, 1_000_000));
            for _ in 0..300 {
                anything.happen(&mut flow);
            }
            flow
        };
        for seed in 0..50 {
            assert_eq!(format!("{:?}", run(seed)), format!("{:?}", run(seed)), "{name}, seed {seed}");
        }
    }
}

/// The average window in segments of a flow that loses one packet of `per_loss`, at a constant round trip.
fn average_window(new: Constructor, per_loss: u64, round_trip: Time, rounds: u32) -> f64 {
    const SEGMENT: u64 = 1000;
    let mut flow = new(&start(SEGMENT as u32, 10_000, 100_000_000));
    let (mut now, mut packets, mut acknowledged) = (Time::ZERO, 0, 0);
    let mut sum = 0;
    for round in 0..rounds {
        let window = flow.window();
        for _ in 0..window / SEGMENT {
            packets += 1;
            acknowledged += SEGMENT;
            let mut ack = ack(SEGMENT, acknowledged, acknowledged + window);
            (ack.limit, ack.round_trip) = (SendLimit::Window, Some(round_trip));
            if packets % per_loss == 0 {
                flow.on_loss(now, Loss::Fast { in_flight: window });
                ack.phase = RecoveryPhase::Recovery;
            }
            flow.on_ack(now, &ack);
        }
        now += round_trip;
        // The first losses come from slow start.
        if round >= rounds / 3 {
            sum += window;
        }
    }
    sum as f64 / SEGMENT as f64 / f64::from(rounds - rounds / 3)
}

#[test]
fn the_average_window_of_newreno_follows_the_loss_rate() {
    // RFC 9438, 5.1, with alpha 1 and beta 1/2. Saw teeth of many round trips, or their steps show.
    for (per_loss, expected) in [(1000, 38.7), (10_000, 122.5)] {
        let average = average_window(AnyFlow::newreno, per_loss, Time::from_millis(10), 3000);
        assert!((average / expected - 1.0).abs() < 0.04, "{per_loss}: {average} instead of {expected}");
    }
}

#[test]
fn the_saw_tooth_of_cubic_peaks_after_the_computed_number_of_packets() {
    // RFC 9438, 5.1: the average window (C (3 + beta) / (4 (1 - beta)))^(1/4) (RTT / p)^(3/4) is 187 segments at 100 ms
    // and one loss in 10,000, 1,054 at one in 100,000 (Table 1). It is (3 + beta) / 4 of the peak, at which the next
    // loss comes. (From elsewhere the peak is reached over hundreds of losses only: the curve is flat there.)
    for (per_loss, expected) in [(10_000, 187.4), (100_000, 1053.9)] {
        let peak = (expected / 0.925 * 1000.0) as u64;
        let round_trip = Time::from_millis(100);
        let mut flow = AnyFlow::cubic(&start(1000, peak, 100_000_000));
        flow.on_loss(Time::ZERO, Loss::Fast { in_flight: peak });
        let (mut now, mut packets, mut rounds) = (Time::ZERO, 0, 0.0);
        while packets < per_loss {
            let window = flow.window();
            for _ in 0..window / 1000 {
                packets += 1;
                let ack = ack(1000, packets * 1000, packets * 1000 + window);
                flow.on_ack(now, &Ack { limit: SendLimit::Window, round_trip: Some(round_trip), ..ack });
            }
            now += round_trip;
            rounds += 1.0;
        }
        let [reached, average] = [flow.window() as f64 / peak as f64, packets as f64 / rounds / expected];
        assert!((reached - 1.0).abs() < 0.01 && (average - 1.0).abs() < 0.02, "{per_loss}: {reached}, {average}");
    }
}

#[test]
fn on_short_paths_cubic_is_as_fast_as_newreno() {
    // RFC 9438, 4.3: alpha_cubic is chosen so that both have the same average window.
    for per_loss in [1000, 10_000] {
        let average = |new| average_window(new, per_loss, Time::from_micros(100), 3000);
        let [reno, cubic] = [AnyFlow::newreno as Constructor, AnyFlow::cubic].map(average);
        assert!((cubic / reno - 1.0).abs() < 0.05, "{per_loss}: {cubic} and {reno}");
    }
}

fn all_paths(seed: u64) -> [AnyPath; 4] {
    let gap = Time::from_micros(50);
    [
        PerFlow::new(seed).into(),
        PerPacket::new(seed).into(),
        Flowlet::new(gap, seed).into(),
        Flowcells::new(FLOWCELL, seed).into(),
    ]
}

#[test]
fn the_chosen_path_exists_for_any_number_of_paths() {
    for seed in 0..200 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for mut path in all_paths(seed) {
            let mut now = Time::ZERO;
            let mut paths = 4;
            for _ in 0..300 {
                now += Time::from_nanos(below(&mut rng, 100_000));
                if below(&mut rng, 10) == 0 {
                    paths = 1 + below(&mut rng, 16) as u32;
                    if below(&mut rng, 2) == 0 {
                        path.on_paths_changed(now);
                    }
                }
                let departure = Departure { bytes: below(&mut rng, 9000) as u32, paths };
                let chosen = path.choose(now, departure);
                assert!(chosen < paths, "seed {seed}: {chosen} of {paths} by {path:?}");
            }
        }
    }
}

#[test]
fn a_flowcell_uses_one_path_only_and_is_as_large_as_allowed() {
    for seed in 0..100 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut path = AnyPath::from(Flowcells::new(FLOWCELL, seed));
        let (mut last, mut filled) = (None, 0);
        for _ in 0..2000 {
            let bytes = 1 + below(&mut rng, 1460) as u32;
            let chosen = path.choose(Time::ZERO, Departure { bytes, paths: 5 });
            match last {
                Some((cell, on)) if cell == path.cell() => assert_eq!(on, chosen, "seed {seed}"),
                Some((cell, on)) => {
                    assert_eq!((path.cell(), chosen), (cell + 1, (on + 1) % 5), "seed {seed}");
                    assert!(filled + u64::from(bytes) > FLOWCELL.get(), "seed {seed}");
                    filled = 0;
                }
                None => assert_eq!(path.cell(), 0, "seed {seed}"),
            }
            filled += u64::from(bytes);
            assert!(filled <= FLOWCELL.get(), "seed {seed}");
            last = Some((path.cell(), chosen));
        }
    }
}

#[test]
fn an_empty_queue_is_never_marked_and_one_above_all_thresholds_always() {
    let (min, max) = (Bytes::new(10_000), Bytes::new(30_000));
    for weight in [1.0, 0.5] {
        let of = |marking: Ecn| marking.switch(Rate::from_gbit(10), 1);
        let red = of(Ecn::Red(red::Params { min, max, probability: 0.5, weight }));
        for (mut port, marks) in [(AnySwitch::None, false), (of(Ecn::above(min)), true), (red, true)] {
            let found = |queued| QueueState { queued: Bytes::new(queued), idle_since: None };
            let idle = QueueState { queued: Bytes::ZERO, idle_since: Some(Time::ZERO) };
            for _ in 0..100 {
                assert_eq!(port.on_arrival(Time::ZERO, idle, 1538), Mark::No, "{port:?}");
            }
            for _ in 0..20 {
                port.on_arrival(Time::ZERO, found(100_000), 1538);
            }
            let mark = port.on_arrival(Time::ZERO, found(100_000), 1538);
            assert_eq!(mark == Mark::Congestion, marks, "{port:?}");
        }
    }
}
