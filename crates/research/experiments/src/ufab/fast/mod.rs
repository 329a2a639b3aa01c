//! uFAB at 100 Gbit/s: the testbed of section 5.4, and the fabric of the simulations (5.1, 5.5, 5.6, appendix D).
//!
//! | figure | here |
//! |---|---|
//! | 15: seven tenants and a core that fails; cost of probes | `fig15.rs` |
//! | 16: 90 to 1, demands that change | `fig16.rs` |
//! | 17: flows of a web search on the fabric | `fig17.rs` |
//! | 18: convergence, by the freeze window and by the probing interval | `fig18.rs` |
//! | 20: answers that spread | `fig20.rs` |
//! | 21: the example of tokens | `fig21.rs` |
//! | none: claims about the design | `design.rs` |

pub(crate) mod design;
pub(crate) mod fig15;
pub(crate) mod fig16;
pub(crate) mod fig17;
pub(crate) mod fig18;
pub(crate) mod fig20;
pub(crate) mod fig21;
mod watched;

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_contracts::Policy;
use wayleave_scenarios::{
    Buffering, FlowArrivals, FlowEndpoints, HostSchemeConfig, Reliable, Scenario, SendSchedule, Traffic,
};
use wayleave_schemes::host::ufab::{InitialPath, Settings};
use wayleave_sim::Outcome;
use wayleave_sim::stats::Histogram;
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_topology::{Network, NodeId, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

use super::systems::{MTU, System, as_printed};
use super::testbed::{Tenant, flows};
use crate::failed::Failed;

/// Every line here.
const LINE: Rate = Rate::from_gbit(100);

/// Shared rate of the line, in Gbit/s (5.1: 95 %).
const SHARED: f64 = 95.0;

/// System that keeps minima at 100 Gbit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Contender {
    Ufab,
    /// Without the bound of latency.
    Unbounded,
    /// ElasticSwitch+Clove.
    Elastic,
    /// PicNIC'+WCC+Clove.
    Pwc,
    /// uFAB with a probe for each 4 kB (5.4).
    Sparse,
    /// uFAB as printed: ramp, queue, sum of windows, registers.
    Printed,
    /// uFAB' with ports that drop nothing.
    Deep,
    /// ElasticSwitch+Clove over CUBIC, which ignores marks.
    ElasticCubic,
    /// uFAB whose pairs send when their candidates have answered (3.5), and not on an initial path at once (4.1).
    Probed,
}

impl Contender {
    /// The systems of the text.
    const ALL: [Self; 4] = [Self::Ufab, Self::Unbounded, Self::Elastic, Self::Pwc];

    const fn name(self) -> &'static str {
        match self {
            Self::Ufab => "uFAB",
            Self::Unbounded => "uFAB'",
            Self::Elastic => "ES+Clove",
            Self::Pwc => "PWC",
            Self::Sparse => "uFAB, a probe for 4 kB",
            Self::Printed => "uFAB as printed",
            Self::Deep => "uFAB', unlimited buffers",
            Self::ElasticCubic => "ES+Clove, CUBIC",
            Self::Probed => "uFAB, candidates first",
        }
    }

    /// The same on the testbed, where it is one of those.
    const fn on_testbed(self) -> System {
        match self {
            Self::Elastic => System::Elastic,
            Self::ElasticCubic => System::ElasticCubic,
            Self::Pwc => System::Pwc,
            Self::Ufab | Self::Sparse | Self::Printed | Self::Probed => System::Ufab,
            Self::Unbounded | Self::Deep => System::Unbounded,
        }
    }

    /// Lets tenants share by this system: as on the testbed, except for the line's parameters at uFAB's edges and
    /// switches.
    fn share(self, run: &mut Scenario, tenants: Policy) {
        self.on_testbed().share(run, tenants);
        let Some(HostSchemeConfig::Ufab(settings)) = run.sharing.as_mut().map(|sharing| &mut sharing.scheme) else {
            return;
        };
        *settings = Settings { latency_bound: settings.latency_bound, ..fast() };
        match self {
            Self::Sparse => settings.probe_every = Settings::default().probe_every,
            Self::Printed => *settings = as_printed(fast()),
            Self::Probed => settings.initial_path = InitialPath::Probed,
            Self::Deep => run.switches.buffering = Buffering::Unlimited,
            Self::Ufab | Self::Unbounded | Self::Elastic | Self::ElasticCubic | Self::Pwc => {}
        }
    }
}

/// uFAB's parameters where they depend on the line: 16 bits of tokens are to count 100 Gbit/s, and rates are measured in about a base round trip.
fn fast() -> Settings {
    Settings {
        unit_bandwidth: Rate::from_mbit(2),
        measurement_interval: Time::from_micros(12),
        probe_every: MTU,
        ..Settings::default()
    }
}

/// Servers of a pod of the fabric.
const SERVERS_OF_POD: u64 = 32;

/// Returns the number of pods with `servers` servers; `None` if they are not whole pods, or more than the 512 servers
/// of 5.1.
pub(crate) fn pods_of(servers: u64) -> Option<u64> {
    let pods = servers / SERVERS_OF_POD;
    (servers == pods * SERVERS_OF_POD && (1..=16).contains(&pods)).then_some(pods)
}

/// Returns `pods` pods of 32 servers: 4 edge switches with 8 servers each and 4 aggregation switches, joined twice. 8
/// cores behind each aggregation switch are 1:1, and 4 are 1:2 (5.1: 32 and 16 cores for 512 servers). Links of 1 us
/// (5.1); ports hold 432 us of the line, which is more than any text's queue needs.
fn fabric(pods: u64, cores_per_aggregation: u64) -> Result<Arc<Network>, Failed> {
    let cabling = Cabling {
        rate: LINE,
        propagation: Time::from_micros(1),
        switch_port: PortSpec::uniform(1, Bytes::new(5_400_000)),
        ..Cabling::default()
    };
    let spec = FatTree {
        k: 8,
        pods: Some(pods),
        cores_per_aggregation: Some(cores_per_aggregation),
        parallel: 2,
        hosts_per_edge: Some(8),
        cabling,
        ..FatTree::default()
    };
    build::fat_tree(&spec).map(Arc::new).map_err(Failed::broken)
}

/// A round trip of the idle fabric between pods: six links of 1 us in each direction, a full frame and its
/// acknowledgement.
const ROUND_TRIP_US: f64 = 12.0 + 6.0 * (1_538.0 + 84.0) * 8.0 / 100e3;

/// A tenant, and its traffic.
struct Pair {
    tenant: Tenant,
    traffic: Traffic,
}

/// Returns random pairs of hosts, from four random pairings of all hosts. The hosts of a pair are a tenant, and each
/// sends to the other at the pair's minimum. The sum of a host's minima is on average `load` of its line, and at most
/// 1.3 times this.
fn background(hosts: &[NodeId], load: f64, random: &mut ChaCha8Rng) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for round in 0..4 {
        let mut order = hosts.to_vec();
        shuffle(&mut order, random);
        for (at, two) in order.chunks_exact(2).enumerate() {
            let mbit = load * 25_000.0 * random.random_range(0.7..1.3);
            let min = Rate::from_mbit(mbit as u64);
            let name = format!("b{round}-{at}");
            // The offered rate is payload: 1,460 B of each 1,538.
            let send_schedule = Some(SendSchedule::Rate(Rate::from_mbit((mbit * 1_460.0 / 1_538.0) as u64)));
            let reliable = Reliable { send_schedule, ..Reliable::new(FlowArrivals::Once, None) };
            let traffic = flows(&name, FlowEndpoints::Pairs(vec![(two[0], two[1]), (two[1], two[0])]), reliable);
            pairs.push(Pair { tenant: Tenant { name, min, hosts: two.to_vec() }, traffic });
        }
    }
    pairs
}

/// Returns the traffic that a tenant received at a host, in Gbit/s, for each bin.
fn received(outcome: &Outcome, tenant: &str, at: NodeId) -> Vec<f64> {
    let share = outcome.sharing.as_ref().and_then(|sharing| sharing.service(tenant));
    let machine = share.and_then(|share| share.machines.iter().find(|machine| machine.host == at));
    let Some(series) = machine.and_then(|machine| machine.receive.as_ref()) else { return Vec::new() };
    let end = outcome.simulated.as_nanos() * 1_000;
    // Bits in ps are Tbit/s.
    series.bins(end).map(|bin| bin.amount as f64 * 8_000.0 / (bin.end_ps - bin.start_ps).max(1) as f64).collect()
}

/// Returns a percentile of the round trips of all traffic, in us.
fn round_trip_us(outcome: &Outcome, percent: f64) -> f64 {
    let mut all = Histogram::new();
    for round_trips in outcome.traffic.iter().filter_map(|traffic| traffic.round_trips.as_ref()) {
        all.merge(&round_trips.all());
    }
    all.percentile(percent).map_or(f64::NAN, |ps| ps as f64 / 1e6)
}

/// Returns a generator of random numbers for draws before a run.
fn generator(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

fn shuffle<T>(list: &mut [T], random: &mut ChaCha8Rng) {
    for at in (1..list.len()).rev() {
        list.swap(at, random.random_range(0..=at));
    }
}

/// Returns the ratio of both values for each run.
fn times(above: &[f64], below: &[f64]) -> Vec<f64> {
    above.iter().zip(below).map(|(above, below)| above / below).collect()
}

/// The largest of some numbers.
fn most(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::NAN, f64::max)
}
