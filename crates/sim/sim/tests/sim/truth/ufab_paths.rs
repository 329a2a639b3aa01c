//! uFAB with several paths of a pair at once (Algorithm 2), and printed forms that show with few pairs.

use std::collections::BTreeMap;

use wayleave_scenarios::{
    Buffering, Element, ElementChange, HostSchemeConfig, Outage, Routing, Scenario, SendSchedule, Sharing, Workload,
};
use wayleave_scheme_api::ProbeKind;
use wayleave_schemes::host::ufab::{Settings, UnusedTokens, WindowUnit};
use wayleave_topology::LinkId;
use wayleave_units::{Rate, Time};

use super::networks::{Cables, assert_near, endless, fixed_window, run, star};
use super::roles::{Diamond, unequal_diamond};
use super::ufab::{LINE, crossed, crossed_on, of, shares, tenants};
use super::ufab_watched::{What, watch};

/// A pair has one flow here, whose packets are spread over both paths.
fn over_both(minima: &[u64], milliseconds: u64) -> (Diamond, Scenario) {
    let (diamond, mut scenario) = crossed(minima, milliseconds, Settings { paths: 2, ..Settings::default() });
    scenario.routing = Routing::spraying();
    (diamond, scenario)
}

/// Catches: tokens that all go to one path. Minima of 7, 6 and 4 Gbit/s are 17 of the 19 of two paths, and no two of
/// them fit on one path of 9.5. With one path each, one pair misses its minimum; with two, each has half on either
/// path.
#[test]
fn minima_that_fit_on_no_single_path_fit_on_both() {
    let minima = [7_000, 6_000, 4_000];
    let missed = |(_, mut scenario): (Diamond, Scenario), seed| {
        scenario.warmup = Time::from_millis(10);
        let shares = shares(&run(&scenario, seed), 20.0);
        println!("seed {seed}: {shares:.3?}");
        shares.iter().zip(minima).filter(|(share, min)| **share < *min as f64 / 1e3).count()
    };
    for seed in 1..=3 {
        assert_eq!(missed(over_both(&minima, 30), seed), 0, "seed {seed}");
    }
    assert!(missed(crossed(&minima, 30, Settings::default()), 1) > 0, "one path each");
}

/// Catches: changes of one path of a pair that ports take for those of another one. Both paths of a pair pass the
/// last port, and a tenth of the probes is lost and repeated. Beside each port a list records the values of arriving
/// probes for each pair and path: Phi is their sum after every probe.
#[test]
fn sums_are_exact_where_both_paths_of_a_pair_meet() {
    let (_, mut scenario) = over_both(&[2_000, 3_000], 12);
    scenario.sharing.as_mut().unwrap().faults.probe_loss = 0.1;
    for seed in 1..=4 {
        let (_, events) = watch(&scenario, seed);
        let mut path_of = BTreeMap::new();
        let mut reported: BTreeMap<LinkId, BTreeMap<_, u64>> = BTreeMap::new();
        let (mut both, mut seen) = (0, 0);
        for event in events {
            match event.what {
                What::Probe { path, probe, .. } if probe.kind != ProbeKind::Candidate => {
                    path_of.insert((probe.pair, probe.change), path);
                }
                What::Sums { link, probe, tokens, .. } => {
                    let reported = reported.entry(link).or_default();
                    reported.insert((probe.pair, path_of[&(probe.pair, probe.change)]), probe.tokens);
                    assert_eq!(
                        tokens,
                        reported.values().sum::<u64>(),
                        "seed {seed}, {link:?} at {}: {reported:?}",
                        event.at
                    );
                    both += usize::from(probe.is_repeated);
                    seen += 1;
                }
                _ => {}
            }
        }
        assert!(seen > 2_000 && both > 200, "{seen} probes, {both} of them repeated");
    }
}

/// After the last transmission, finish probes have subtracted everything, on every path.
#[test]
fn after_all_paths_have_finished_nothing_is_counted() {
    let (diamond, mut scenario) = over_both(&[2_000, 3_000], 20);
    scenario.sharing.as_mut().unwrap().faults.probe_loss = 0.1;
    for (at, traffic) in scenario.traffic.iter_mut().enumerate() {
        let pair = (diamond.left[at], diamond.right[at]);
        *traffic = of(at, super::networks::once(&format!("a{at}"), &[pair], 4_000_000));
    }
    for seed in 1..=4 {
        let (_, events) = watch(&scenario, seed);
        let mut last = BTreeMap::new();
        for event in events {
            if let What::Sums { link, tokens, windows, .. } = event.what {
                last.insert(link, (tokens, windows));
            }
        }
        assert!(last.len() >= 4 && last.values().all(|&sums| sums == (0, 0)), "seed {seed}: {last:?}");
    }
}

/// Catches: windows of the round trip of another path. The cables to one spine are longer, and pairs are on either path, or all on
/// the long one since the short one has failed. Minima of 4 Gbit/s each fit on both.
#[test]
fn pairs_on_paths_of_unequal_length_have_their_shares() {
    for (long, minima) in [(0, [4_000, 4_000]), (1, [4_000, 4_000]), (1, [2_000, 6_000])] {
        let mut cables = [3_000; 2];
        cables[long] = 15_000;
        let diamond = unequal_diamond(2, 3_000, cables);
        let (diamond, mut scenario) = crossed_on(diamond, &minima, 30, Settings::default());
        scenario.warmup = Time::from_millis(10);
        for fails in [false, true] {
            if fails {
                let what = Element::Link(diamond.to_spine[1 - long]);
                scenario.outages = vec![Outage { at: Time::ZERO, what, change: ElementChange::FailsSilently }];
            }
            for seed in 1..=3 {
                let shares = shares(&run(&scenario, seed), 20.0);
                println!("long path {long}, fails {fails}, seed {seed}: {shares:.3?}");
                let full = shares.iter().sum::<f64>();
                for (share, min) in shares.iter().zip(minima) {
                    assert!(*share >= min as f64 / 1e3, "the minimum of {min} Mbit/s: {shares:?}");
                    // Together on one path they share it by minima.
                    if full < 10.0 {
                        assert_near(share / full, min as f64 / 8e3, 0.05, "its part of the long path");
                    }
                }
            }
        }
    }
}

/// The printed sum of windows: of two pairs with equal tokens one has a cable of 6 us in place of 2. Windows that are shared by tokens are rates by the inverse of the
/// round trip.
#[test]
fn windows_as_bytes_give_the_longer_round_trip_less() {
    let ratio = |window_unit: WindowUnit| {
        let mut cables = Cables::new();
        let switch = cables.switch("s");
        let [near, far, to] = [("near", 2_000), ("far", 6_000), ("to", 4_000)].map(|(name, propagation)| {
            let host = cables.host(name);
            cables.join(host, switch, LINE, propagation);
            host
        });
        let network = cables.build();
        let mut scenario = Scenario::new("two round trips", network.clone(), Time::from_millis(30));
        scenario.switches.buffering = Buffering::Unlimited;
        scenario.transport = fixed_window(1_000);
        let settings = Settings { window_unit, ..Settings::default() };
        scenario.sharing = Some(Sharing::new(HostSchemeConfig::Ufab(settings), tenants(&network, &[2_000; 2], &[])));
        scenario.traffic = vec![of(0, endless("near", near, to)), of(1, endless("far", far, to))];
        scenario.warmup = Time::from_millis(10);
        let shares = shares(&run(&scenario, 1), 20.0);
        println!("{window_unit:?}: {shares:.3?}");
        shares[1] / shares[0]
    };
    assert_near(ratio(WindowUnit::Rates), 1.0, 0.05, "rates by tokens");
    // Base round trips of 16.8 and 24.8 us: two cables of 2 and 4 us, or 6 and 4, in each direction, and some 4.8 us
    // for the frame and its answer.
    assert_near(ratio(WindowUnit::AsPrinted), 16.8 / 24.8, 0.1, "rates by the inverse of the round trip");
}

/// The printed line 7 of Algorithm 1: a pair that sends 100 Mbit/s of its half of 4 Gbit/s reports that in its
/// probes; with the text's reading it keeps its half. Its unused part goes to the other pair in either case (Fig.
/// 21b).
#[test]
fn a_pair_with_little_demand_reports_its_kept_tokens() {
    let tokens = |unused_tokens: UnusedTokens| {
        let star = star(&[LINE; 3], 5_000);
        let mut scenario = Scenario::new("little", star.network.clone(), Time::from_millis(10));
        scenario.switches.buffering = Buffering::Unlimited;
        scenario.transport = fixed_window(1_000);
        let settings = Settings { unused_tokens, ..Settings::default() };
        scenario.sharing = Some(Sharing::new(HostSchemeConfig::Ufab(settings), tenants(&star.network, &[4_000], &[])));
        let [from, little, much] = [0, 1, 2].map(|at| star.hosts[at]);
        let mut slow = of(0, endless("little", from, little));
        if let Workload::Flows(flows) = &mut slow.workload {
            flows.send_schedule = Some(SendSchedule::Rate(Rate::from_mbit(100)));
        }
        scenario.traffic = vec![slow, of(0, endless("much", from, much))];
        let (_, events) = watch(&scenario, 1);
        let mut last: BTreeMap<u64, u64> = BTreeMap::new();
        for event in events {
            if let What::Probe { probe, .. } = event.what
                && probe.kind == ProbeKind::Active
            {
                last.insert(probe.pair, probe.tokens);
            }
        }
        last.into_values().collect::<Vec<u64>>()
    };
    let (kept, printed) = (tokens(UnusedTokens::Kept), tokens(UnusedTokens::AsPrinted));
    println!("kept {kept:?}, as printed {printed:?}");
    assert_eq!(kept[0], 2_000, "its half");
    assert!((95..=125).contains(&printed[0]), "what it sends, with headers: {printed:?}");
    for tokens in [kept[1], printed[1]] {
        assert!((3_870..=3_905).contains(&tokens), "and the other one what that leaves: {tokens}");
    }
}
