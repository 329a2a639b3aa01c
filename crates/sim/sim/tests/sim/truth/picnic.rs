//! PicNIC'+WCC+Clove and ElasticSwitch+Clove, which uFAB (SIGCOMM 2022, 5.1) is compared with, each with the parameters with
//! which it does best (docs/theory/sharing.md).

use wayleave_scenarios::{
    Buffering, Congestion, Ecn, FlowEndpoints, HostSchemeConfig, PacketKind, Routing, Scenario, Sharing, Traffic,
    TransportConfig,
};
use wayleave_schemes::host::elasticswitch;
use wayleave_schemes::host::picnic;
use wayleave_schemes::path::clove;
use wayleave_sim::Outcome;
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

use super::networks::{FRAME, assert_near, endless, flow, run, star};
use super::roles::{Diamond, long_diamond};
use super::ufab::{of, shares, tenants};

const LINE: Rate = Rate::from_gbit(10);

/// One of the two.
#[derive(Clone, Copy, Debug)]
enum Baseline {
    /// PicNIC'+WCC+Clove.
    Pwc,
    /// ElasticSwitch+Clove; its flows see marks.
    Es,
}

fn set_up(scenario: &mut Scenario, baseline: Baseline) -> HostSchemeConfig {
    scenario.switches.buffering = Buffering::EachQueue(Bytes::new(2_750_000));
    let gap = Time::from_micros(36);
    scenario.routing = Routing::Clove(clove::Params { flowlet_gap: gap, ..clove::Params::default() });
    let (congestion, scheme) = match baseline {
        Baseline::Pwc => (Congestion::swift(), HostSchemeConfig::Picnic(picnic::Settings::default())),
        Baseline::Es => {
            scenario.switches.ecn = Ecn::above(Bytes::new(80_000)).into();
            let [period, hold] = [500, 2_000].map(Time::from_micros);
            let settings = elasticswitch::Settings {
                partition_period: period,
                min_hold: hold,
                ..elasticswitch::Settings::default()
            };
            (Congestion::dctcp(), HostSchemeConfig::ElasticSwitch(settings))
        }
    };
    scenario.transport = TransportConfig { congestion, ..TransportConfig::default() };
    scheme
}

/// The hosts of a star send to the last one, each for a tenant of its own; the base round trip is 24 us.
fn incast(minima: &[u64], milliseconds: u64) -> Outcome {
    let star = star(&vec![LINE; minima.len() + 1], 5_350);
    let mut scenario = Scenario::new("incast", star.network.clone(), Time::from_millis(milliseconds));
    let scheme = set_up(&mut scenario, Baseline::Pwc);
    let last = star.hosts[minima.len()];
    let at: Vec<Vec<NodeId>> = (0..minima.len()).map(|at| vec![star.hosts[at], last]).collect();
    scenario.sharing = Some(Sharing::new(scheme, tenants(&star.network, minima, &at)));
    scenario.traffic = (0..minima.len()).map(|at| of(at, endless(&format!("a{at}"), star.hosts[at], last))).collect();
    run(&scenario, 1)
}

/// Catches: meters without weights, and limiters that do not reach flows. Of 9.5 Gbit/s: 1.1875, 2.375 and 5.9375,
/// and 14 times 0.679. From the start on: within the first 1 % of the run the rates in feedback to senders decrease.
#[test]
fn a_receiver_shares_its_line_by_minima() {
    for minima in [vec![1_000, 2_000, 5_000], vec![500; 14]] {
        let shares = shares(&incast(&minima, 100), 100.0);
        let sum: u64 = minima.iter().sum();
        println!("{shares:.3?} Gbit/s");
        for (share, min) in shares.iter().zip(&minima) {
            assert_near(*share, 9.5 * *min as f64 / sum as f64, 0.02, &format!("{minima:?}"));
        }
    }
}

/// Six tenants with minima of 1, 2 and 5 Gbit/s, three at each of two hosts, over two spines: 16 of 20 Gbit/s are promised. One
/// begins every 10 ms; a packet of each now and then has opened its pair before, so that Clove knows its paths.
fn crossed(baseline: Baseline) -> (Outcome, Vec<u64>) {
    let Diamond { network, left, right, .. } = long_diamond(2, 2_500);
    let mut scenario = Scenario::new("crossed", network.clone(), Time::from_millis(140));
    let scheme = set_up(&mut scenario, baseline);
    let minima = vec![5_000, 1_000, 2_000, 5_000, 2_000, 1_000];
    let ends: Vec<(NodeId, NodeId)> = [0, 0, 0, 1, 1, 1].map(|at| (left[at], right[at])).to_vec();
    let at: Vec<Vec<NodeId>> = ends.iter().map(|&(from, to)| vec![from, to]).collect();
    scenario.sharing = Some(Sharing::new(scheme, tenants(&network, &minima, &at)));
    scenario.warmup = Time::from_millis(80);
    for (at, &(from, to)) in ends.iter().enumerate() {
        let mut bulk = of(at, endless(&format!("a{at}"), from, to));
        bulk.start = Time::from_millis(10 * at as u64);
        scenario.traffic.push(bulk);
    }
    for (at, &pair) in ends.iter().enumerate() {
        let kind = PacketKind::ConstantRate { rate: Rate::from_bits_per_second(100_000) };
        let name = format!("k{at}");
        let packets = Traffic::packets(&name, FlowEndpoints::Pairs(vec![pair]), kind, Bytes::new(100));
        scenario.traffic.push(of(at, packets));
    }
    (run(&scenario, 1), minima)
}

/// Catches: combinations of which a part has no effect. All minima are met within 5 % (both measure rates in periods,
/// and feedback is delayed). Of 20 Gbit/s receivers share out 19 with PicNIC', and flows on unequal paths leave at
/// most a tenth more. ElasticSwitch grows into the remaining rate, and decreases with every mark.
#[test]
fn minima_are_met_and_spare_capacity_is_used_on_two_paths() {
    for (baseline, least) in [(Baseline::Pwc, 0.9 * 19.0), (Baseline::Es, 0.85 * 20.0)] {
        let (outcome, minima) = crossed(baseline);
        let rate = |at| flow(&outcome, at).delivered as f64 * FRAME as f64 * 8.0 / 60e6;
        let rates: Vec<f64> = (0..minima.len()).map(rate).collect();
        let all: f64 = rates.iter().sum();
        println!("{baseline:?}: {all:.2} Gbit/s, {rates:.3?} of {minima:?}");
        for (rate, &min) in rates.iter().zip(&minima) {
            assert!(*rate >= 0.95 * min as f64 / 1e3, "{baseline:?}: {rates:.3?} of {minima:?}");
        }
        assert!(all >= least, "{baseline:?}: {all} of 20 Gbit/s");
    }
}
