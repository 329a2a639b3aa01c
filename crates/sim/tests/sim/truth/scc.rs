//! SCC's underlay in the simulator: shares of divisions against their weights, and what becomes of them without feedback or tracker.

use std::num::NonZeroU16;

use wayleave_contracts::{Division, Match, Objective, Policy, PolicyLevel, Protocol, Service};
use wayleave_scenarios::{EdgeScheme, Scenario, Sharing, Traffic};
use wayleave_schemes::scc::Params;
use wayleave_sim::Outcome;
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use super::networks::{Star, endless, run, star};

const LINE: Rate = Rate::from_gbit(1);

/// Divisions a0, a1 and so on with these shares in Mbit/s.
pub(super) fn divisions(network: &Network, shares: &[(u64, Option<Objective>)]) -> Policy {
    let service = |(index, &(share, objective)): (usize, &(u64, Option<Objective>))| Service {
        name: format!("a{index}"),
        filter: Some(Match {
            protocol: Some(Protocol::TCP),
            destination_port: NonZeroU16::new(index as u16 + 1),
            ..Match::default()
        }),
        division: Some(Division { share: Rate::from_mbit(share), objective }),
        ..Service::default()
    };
    let services = shares.iter().enumerate().map(service).collect();
    Policy::new(network, "divisions", PolicyLevel::Machine, Vec::new(), None, services).unwrap()
}

pub(super) fn of(division: usize, mut traffic: Traffic) -> Traffic {
    traffic.service = Some(format!("a{division}"));
    traffic
}

/// So many tunnels of each division, each from a host of its own, to the last host of a star; 300 us of round trip (II-B).
pub(super) fn incast(shares: &[u64], tunnels: usize, milliseconds: u64, params: Params) -> (Star, Scenario) {
    let hosts = shares.len() * tunnels;
    let star = star(&vec![LINE; hosts + 1], 70_000);
    let mut scenario = Scenario::new("incast", star.network.clone(), Time::from_millis(milliseconds));
    scenario.warmup = Time::from_millis(milliseconds / 4);
    scenario.switches.buffering = wayleave_scenarios::Buffering::EachQueue(Bytes::new(250 * 1_538));
    let shares: Vec<_> = shares.iter().map(|&share| (share, None)).collect();
    scenario.sharing = Some(Sharing::new(EdgeScheme::Scc(params), divisions(&star.network, &shares)));
    let last: NodeId = star.hosts[hosts];
    let traffic = |host: usize| of(host % shares.len(), endless(&format!("t{host}"), star.hosts[host], last));
    scenario.traffic = (0..hosts).map(traffic).collect();
    (star, scenario)
}

/// What a division received, in Mbit/s.
pub(super) fn carried(outcome: &Outcome, division: usize, milliseconds: f64) -> f64 {
    let service = outcome.sharing.as_ref().unwrap().service(&format!("a{division}")).unwrap();
    let bytes: u64 = service.machines.iter().map(|machine| machine.received.get()).sum();
    bytes as f64 * 8.0 / milliseconds / 1e3
}

#[test]
fn explore() {
    let env = |key: &str, usual: u64| std::env::var(key).ok().and_then(|v| v.parse().ok()).unwrap_or(usual);
    let params = Params {
        step_percent: env("STEP", 1) as u8,
        cut_percent: env("CUT", 4) as u8,
        relief_percent: env("RELIEF", 25) as u8,
        smoothing: env("SMOOTH", 4) as u32,
        period: Time::from_micros(env("PERIOD", 300)),
        ..Params::default()
    };
    let time = env("MS", 1_000);
    for ratio in [3, 10] {
        for tunnels in [1, 4, 16, 64] {
            let whole = env("WHOLE", 1_000);
            let (star, scenario) =
                incast(&[whole / (1 + ratio), whole * ratio / (1 + ratio)], tunnels, time, params.clone());
            let outcome = run(&scenario, 1);
            let got = [0, 1].map(|d| carried(&outcome, d, time as f64 * 0.75));
            let queue = outcome.queues.iter().find(|q| q.link == star.down[2 * tunnels]).unwrap();
            println!(
                "1:{ratio} {tunnels:3} tunnels: {:.1} {:.1} ratio {:.3} off {:+.1} % sum {:.1} peak {} drops {}",
                got[0],
                got[1],
                got[1] / got[0],
                (got[1] / got[0] / ratio as f64 - 1.0) * 100.0,
                got[0] + got[1],
                queue.counts.peak.get() / 1538,
                queue.counts.drops
            );
        }
    }
}
