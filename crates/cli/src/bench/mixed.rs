//! Benchmark of decisions if contracts of every kind share one ledger.
//!
//! 50,000 contracts: of every hundred 80 are latency contracts of a scenario of Table 2, 14 are pairs, 4 are hoses of
//! 20 members and 2 are objectives of 10. The network is that of Chameleon's section 5.2 with eight queues, five of
//! them for latency.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_contracts::RequestMix;
use wayleave_scheme_api::{Admission, ShareMembers, ShareRequest};
use wayleave_schemes::admission::chameleon::Params;
use wayleave_schemes::admission::fabric::{Fabric, Settings};
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_topology::{Classes, Network, NodeId};
use wayleave_units::Rate;

use super::admission::{Setting, summary};
use super::{Metric, peak_rss_mb};

/// One filling of one network with contracts of every kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MixedCase {
    /// As it is called on the command line.
    pub(crate) name: &'static str,
    k: u64,
    hosts_per_edge: u64,
    contracts: usize,
}

/// The cases: 17,280 hosts at k = 12.
pub(crate) const MIXED: &[MixedCase] = &[
    MixedCase { name: "k4-mixed", k: 4, hosts_per_edge: 80, contracts: 5_000 },
    MixedCase { name: "k12-mixed", k: 12, hosts_per_edge: 240, contracts: 50_000 },
];

const HOSE: usize = 20;
const DIVISION: usize = 10;

/// Asks for all contracts; times of a hose are those of one member.
///
/// # Errors
/// If the network cannot be built.
pub(crate) fn run(case: MixedCase, setting: Setting) -> Result<Vec<Metric>, String> {
    let network = Arc::new(network(case)?);
    let params = Params { routing: setting.routing, ..Params::default() };
    let mut fabric =
        Fabric::new(network.clone(), setting.model, params, &Settings::default()).map_err(|error| error.to_string())?;
    let mut latency = RequestMix::new(&network, setting.scenario, setting.seed);
    let mut draw =
        RandomContracts { hosts: network.hosts().collect(), random: ChaCha8Rng::seed_from_u64(setting.seed) };
    let mut times: [Vec<Duration>; 4] = Default::default();
    let mut admitted = [0_u64; 4];
    for number in 0..case.contracts {
        let (kind, members, request) = match number % 100 {
            0..80 => (0, 1, None),
            80..94 => (1, 1, Some(draw.pair())),
            94..98 => (2, HOSE, Some(draw.among(HOSE, ShareMembers::Hose))),
            _ => (3, DIVISION, Some(draw.among(DIVISION, ShareMembers::Objective))),
        };
        let (time, is_admitted) = match request {
            Some(request) => {
                let start = Instant::now();
                let decision = fabric.admit_share(&request);
                (start.elapsed(), decision.is_ok())
            }
            None => {
                let Some(contract) = latency.next() else { break };
                let request = wayleave_schemes::request(&contract, &setting.model);
                let start = Instant::now();
                let decision = fabric.try_admit(&request);
                (start.elapsed(), decision.is_some())
            }
        };
        times[kind].push(time / members as u32);
        admitted[kind] += u64::from(is_admitted);
    }
    let mut metrics = Vec::new();
    for (kind, prefix) in ["latency_", "pair_", "hose_member_", "objective_member_"].into_iter().enumerate() {
        metrics.extend(summary(prefix, &mut times[kind]));
        metrics.push(Metric::new(&format!("{prefix}admitted"), admitted[kind] as f64, "contracts"));
    }
    metrics.push(Metric::new("rss_mb", peak_rss_mb().unwrap_or(f64::NAN), "MB"));
    Ok(metrics)
}

fn network(case: MixedCase) -> Result<Network, String> {
    let cabling = Cabling { rate: Rate::from_gbit(10), ..Cabling::default() };
    let spec = FatTree { k: case.k, hosts_per_edge: Some(case.hosts_per_edge), cabling, ..FatTree::default() };
    let network = build::fat_tree(&spec).map_err(|error| error.to_string())?;
    network.with_classes(Classes::default()).map_err(|error| error.to_string())
}

/// Random contracts.
pub(super) struct RandomContracts {
    pub(super) hosts: Vec<NodeId>,
    pub(super) random: ChaCha8Rng,
}

impl RandomContracts {
    /// Returns `count` different hosts.
    pub(super) fn members(&mut self, count: usize) -> Vec<NodeId> {
        for at in 0..count {
            let other = self.random.random_range(at..self.hosts.len());
            self.hosts.swap(at, other);
        }
        self.hosts[..count].to_vec()
    }

    fn pair(&mut self) -> ShareRequest {
        let ends = self.members(2);
        let min = Rate::from_mbit(self.random.random_range(1..=20));
        ShareRequest { among: ShareMembers::Pair(ends[0], ends[1]), min, within: None }
    }

    fn among(&mut self, count: usize, among: fn(Vec<NodeId>) -> ShareMembers) -> ShareRequest {
        let members = self.members(count);
        let min = Rate::from_bits_per_second(self.random.random_range(100_000..=1_000_000));
        ShareRequest { among: among(members), min, within: None }
    }
}
