//! Hand-computed values, and the path of a flowlet.

use wayleave_scheme_api::{Departure, IntHop, LocalFlow, Path, PathReport};
use wayleave_units::{Bytes, Rate, Time};

use super::{Clove, FlowletChoice, Params};
use crate::random::SplitMix;

const RATE: Rate = Rate::from_gbit(10);

fn of(paths: u32) -> Departure {
    Departure { bytes: 1460, paths }
}

fn at(microseconds: u64) -> Time {
    Time::from_micros(microseconds)
}

fn marked(path: u32) -> PathReport {
    PathReport { path, bytes: 1460, marked: 1460, round_trip: None }
}

fn by_marks() -> Clove {
    Clove::new(&Params { path_metric: FlowletChoice::Marks, ..Params::default() }, 1)
}

#[track_caller]
fn assert_weights(clove: &Clove, expected: &[f64]) {
    let weights: Vec<f64> = clove.0.paths.iter().map(|path| path.weight).collect();
    let is_near = weights.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-9);
    assert!(is_near && weights.len() == expected.len(), "{weights:?} and not {expected:?}");
}

/// Feeds two records of a path of 10 Gbit/s, 1 ms apart, between which its links were used by these percentages.
fn use_path(clove: &mut Clove, path: u32, percents: &[u64], from: Time) {
    for (time, part) in [(from, 0), (from + Time::from_millis(1), 1)] {
        let hop = |&percent: &u64| IntHop {
            rate: RATE,
            sent: Bytes::new(part * percent * 12_500),
            at: time,
            ..IntHop::default()
        };
        let hops: Vec<IntHop> = percents.iter().map(hop).collect();
        clove.on_telemetry(time, path, &hops);
    }
}

#[test]
fn a_mark_takes_a_third_of_the_weight_once_in_forty_microseconds() {
    let mut clove = by_marks();
    clove.choose(at(0), of(4));
    assert_weights(&clove, &[1.0; 4]);
    clove.on_report(at(100), marked(0));
    assert_weights(&clove, &[0.67, 1.11, 1.11, 1.11]);
    clove.on_report(at(130), marked(0));
    assert_weights(&clove, &[0.67, 1.11, 1.11, 1.11]);
    clove.on_report(at(140), marked(0));
    let other = 1.11 + 0.2211 / 3.0;
    assert_weights(&clove, &[0.4489, other, other, other]);
    // Another path has a pause of its own, and packets without marks move nothing.
    clove.on_report(at(141), PathReport { marked: 0, ..marked(1) });
    assert_weights(&clove, &[0.4489, other, other, other]);
    clove.on_report(at(141), marked(1));
    assert!(clove.0.paths[1].weight < other);
}

#[test]
fn flowlets_are_drawn_by_weight() {
    let mut clove = by_marks();
    clove.choose(at(0), of(2));
    for step in 0..4 {
        clove.on_report(at(100 * step), marked(0));
    }
    let first = clove.0.paths[0].weight;
    assert!((first - 0.67_f64.powi(4)).abs() < 1e-9, "{first}");
    let drawn = (1..=20_000).filter(|packet| clove.choose(at(1_000 * packet), of(2)) == 0).count();
    let expected = 20_000.0 * first / 2.0;
    assert!((drawn as f64 - expected).abs() < 200.0, "{drawn} and not {expected}");
}

#[test]
fn the_path_with_the_least_used_bottleneck_is_taken() {
    for seed in 0..20 {
        let mut clove = Clove::new(&Params::default(), seed);
        clove.choose(at(0), of(3));
        // The mean would prefer the first.
        for (path, used) in [(0, [90, 0]), (1, [80, 80]), (2, [10, 100])] {
            use_path(&mut clove, path, &used, at(0));
        }
        assert_eq!(clove.choose_for(at(1_000), LocalFlow(1), of(3)), 1, "seed {seed}");
    }
}

#[test]
fn a_gap_of_two_hundred_microseconds_draws_a_path_and_a_shorter_one_does_not() {
    for (apart, is_kept) in [(199, true), (200, false)] {
        let mut clove = Clove::new(&Params::default(), 1);
        clove.choose(at(0), of(2));
        use_path(&mut clove, 0, &[10], at(0));
        use_path(&mut clove, 1, &[50], at(0));
        let (flow, begins) = (LocalFlow(1), at(1_000));
        assert_eq!(clove.choose_for(begins, flow, of(2)), 0);
        use_path(&mut clove, 0, &[90], at(1_000));
        let chosen = clove.choose_for(begins + at(apart), flow, of(2));
        assert_eq!(chosen == 0, is_kept, "{apart} us apart");
    }
}

/// For any records between its packets, a flow stays on its path within a flowlet, and others of the pair choose for
/// themselves.
#[test]
fn no_report_moves_a_flowlet() {
    for by in [FlowletChoice::Utilisation, FlowletChoice::Marks] {
        let mut clove = Clove::new(&Params { path_metric: by, ..Params::default() }, 7);
        let path = clove.choose_for(at(0), LocalFlow(0), of(4));
        for packet in 1..1_000_u64 {
            let now = at(packet * 100);
            clove.on_report(now, marked(path));
            use_path(&mut clove, path, &[100], now);
            assert_eq!(clove.choose_for(now, LocalFlow(0), of(4)), path, "{by:?}");
        }
        let other = clove.choose_for(at(99_950), LocalFlow(1), of(4));
        assert_ne!(other, path, "{by:?}");
    }
}

#[test]
fn old_reports_are_ignored() {
    let mut clove = Clove::new(&Params::default(), 1);
    clove.choose(at(0), of(2));
    use_path(&mut clove, 0, &[60], at(0));
    use_path(&mut clove, 1, &[50], at(0));
    let flow = LocalFlow(1);
    assert_eq!(clove.choose_for(at(1_000), flow, of(2)), 1);
    use_path(&mut clove, 1, &[50], at(9_000));
    assert_eq!(clove.choose_for(at(10_999), flow, of(2)), 1);
    assert_eq!(clove.choose_for(at(11_199), flow, of(2)), 0, "10 ms after it was heard");
}

/// Back-to-back packets give no utilisation: the first hundred microseconds count as one.
#[test]
fn utilisation_is_measured_over_an_interval() {
    let mut clove = Clove::new(&Params::default(), 1);
    clove.choose(at(0), of(2));
    let stamp = |time: u64, sent: u64| IntHop { rate: RATE, sent: Bytes::new(sent), at: at(time), ..IntHop::default() };
    clove.on_telemetry(at(10), 0, &[stamp(0, 0)]);
    clove.on_telemetry(at(20), 0, &[stamp(10, 12_500)]);
    assert_eq!(clove.0.paths[0].utilisation(at(20), at(10_000)), 0.0);
    clove.on_telemetry(at(110), 0, &[stamp(100, 12_500)]);
    assert_eq!(clove.0.paths[0].utilisation(at(110), at(10_000)), 0.1);
    // A record from another path, or a very old one, restarts the measurement.
    clove.on_telemetry(at(300), 0, &[stamp(290, 0), stamp(295, 0)]);
    assert_eq!(clove.0.paths[0].utilisation(at(300), at(10_000)), 0.1);
    clove.on_telemetry(at(20_000), 0, &[stamp(19_990, 0), stamp(19_995, 1)]);
    assert_eq!(clove.0.paths[0].utilisation(at(20_000), at(10_000)), 0.0);
}

#[test]
fn at_most_four_paths_are_used_and_they_are_disjoint() {
    let used = |listed, seed| {
        let mut clove = Clove::new(&Params::default(), seed);
        clove.choose(at(0), of(listed));
        clove.0.paths.iter().map(|path| path.number).collect::<Vec<_>>()
    };
    // Of two choices each at three places: no two paths share what lies between the first and the second, or the second and the third.
    for seed in 0..10 {
        let numbers = used(8, seed);
        assert!(numbers == [0, 3, 5, 6] || numbers == [1, 2, 4, 7], "{numbers:?}");
    }
    for (listed, parts) in [(3, 3), (1, 1), (4, 4), (6, 4), (16, 4), (256, 4)] {
        let numbers = used(listed, 5);
        let part = |number: u32| number / (listed / parts);
        assert!(numbers.iter().map(|&number| part(number)).eq(0..parts), "{numbers:?} of {listed}");
        assert!(numbers.iter().all(|&number| number < listed), "{numbers:?}");
    }
}

#[test]
fn every_path_is_probed_in_turn_within_the_probe_interval() {
    let mut clove = Clove::new(&Params::default(), 5);
    let probes: Vec<_> = (0..8).filter_map(|_| clove.probe(at(0), 8)).collect();
    assert!(probes.iter().all(|probe| probe.next == at(250)));
    let mut paths: Vec<u32> = probes.iter().map(|probe| probe.path).collect();
    assert_eq!(paths[..4], paths[4..]);
    paths.truncate(4);
    paths.sort_unstable();
    paths.dedup();
    assert_eq!(paths.len(), 4);
    for params in [
        Params { probe_interval: Time::ZERO, ..Params::default() },
        Params { path_metric: FlowletChoice::Marks, ..Params::default() },
    ] {
        assert!(Clove::new(&params, 5).probe(at(0), 8).is_none());
    }
}

#[test]
fn changed_paths_are_measured_anew() {
    let mut clove = Clove::new(&Params::default(), 3);
    clove.choose(at(0), of(8));
    use_path(&mut clove, 0, &[90], at(0));
    clove.on_paths_changed(at(1_000));
    use_path(&mut clove, 0, &[90], at(0));
    assert!(clove.choose(at(1_001), of(2)) < 2);
    assert!(clove.0.paths.iter().all(|path| path.utilisation(at(1_001), at(10_000)) == 0.0));
}

/// For any reports of a driver and switches, the chosen path exists.
#[test]
fn no_report_causes_a_panic() {
    for seed in 0..200 {
        let mut random = SplitMix::new(seed);
        let by = if seed % 2 == 0 { FlowletChoice::Utilisation } else { FlowletChoice::Marks };
        let mut clove = Clove::new(&Params { path_metric: by, ..Params::default() }, seed);
        let (mut now, mut paths) = (Time::ZERO, 1);
        for _ in 0..500 {
            now += Time::from_nanos(random.draw() >> (40 + random.below(24)));
            let path = random.below(10);
            match random.below(6) {
                0 => {
                    paths = 1 + random.below(9);
                    clove.on_paths_changed(now);
                }
                1 => clove.on_report(now, marked(path)),
                2 => {
                    let hop = |random: &mut SplitMix| IntHop {
                        rate: Rate::from_bits_per_second(random.draw() >> random.below(64)),
                        sent: Bytes::new(random.draw() >> random.below(64)),
                        at: Time::from_nanos(random.draw() >> random.below(64)),
                        ..IntHop::default()
                    };
                    let hops: Vec<IntHop> = (0..random.below(4)).map(|_| hop(&mut random)).collect();
                    clove.on_telemetry(now, path, &hops);
                }
                3 => {
                    let probe = clove.probe(now, paths);
                    assert!(probe.is_none_or(|probe| probe.path < paths && probe.next > Time::ZERO), "seed {seed}");
                }
                _ => assert!(clove.choose_for(now, LocalFlow(random.below(5)), of(paths)) < paths, "seed {seed}"),
            }
        }
    }
}
