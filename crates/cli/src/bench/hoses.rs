//! Time of a decision about a hose, and of the independent recheck of all hoses.

use std::time::{Duration, Instant};
use wayleave::Watch;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_scheme_api::{Admission, ShareMembers, ShareRequest};
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_topology::{Classes, LinkSpec, NetworkBuilder, NodeId, NodeKind, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

use super::admission::{Setting, summary};
use super::mixed::RandomContracts;
use super::{Metric, peak_rss_mb};
use wayleave::{Network, PlanOptions, SchemeOptions, Session, recheck_shares};

/// Hoses on one network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HoseCase {
    /// Name on the command line.
    pub(crate) name: &'static str,
    fabric: FabricShape,
    hoses: usize,
    members: usize,
}

/// Network of a case.
#[derive(Clone, Copy, Debug)]
enum FabricShape {
    /// A ring of switches with three random cables for every two switches, and one host at each switch.
    Mesh {
        switches: usize,
    },
    FatTree {
        k: u64,
        hosts_per_edge: u64,
    },
}

/// The cases. Hoses on meshes join all hosts.
pub(crate) const HOSES: &[HoseCase] = &[
    HoseCase { name: "mesh16-hoses", fabric: FabricShape::Mesh { switches: 16 }, hoses: 20, members: 16 },
    HoseCase { name: "mesh200-hoses", fabric: FabricShape::Mesh { switches: 200 }, hoses: 3, members: 200 },
    HoseCase { name: "k16-hose", fabric: FabricShape::FatTree { k: 16, hosts_per_edge: 8 }, hoses: 1, members: 1_000 },
    HoseCase {
        name: "k12-hoses",
        fabric: FabricShape::FatTree { k: 12, hosts_per_edge: 240 },
        hoses: 50_000,
        members: 10,
    },
];

/// Asks for all hoses, then derives all of them again.
///
/// # Errors
/// If the network cannot be built, or the recheck finds a fault.
pub(crate) fn run(case: HoseCase, setting: Setting) -> Result<Vec<Metric>, String> {
    let mut random = ChaCha8Rng::seed_from_u64(setting.seed);
    let network = Network::new(case.name, network(case.fabric, &mut random)?);
    let scheme = SchemeOptions::named("fabric").map_err(|error| error.to_string())?;
    let options = PlanOptions::default().with_model(setting.model).with_scheme(scheme);
    let mut session = Session::open(&network, &options).map_err(|error| error.to_string())?;
    let mut draw = RandomContracts { hosts: network.graph.hosts().collect(), random };
    let mut times = Vec::new();
    let mut admitted = 0_u64;
    for _ in 0..case.hoses {
        let min = Rate::from_bits_per_second(draw.random.random_range(100_000..=1_000_000));
        let request = ShareRequest { among: ShareMembers::Hose(draw.members(case.members)), min, within: None };
        let start = Instant::now();
        let decision = session.scheme_mut().admit_share(&request);
        times.push(start.elapsed());
        admitted += u64::from(decision.is_ok());
    }
    let all: Duration = times.iter().sum();
    let mut metrics = summary("", &mut times);
    metrics.push(Metric::new("admitted", admitted as f64, "contracts"));
    metrics.push(Metric::new("admission_ms", all.as_secs_f64() * 1e3, "ms"));
    let start = Instant::now();
    let broken = recheck_shares(&session.context(), &mut Watch::none());
    metrics.push(Metric::new("recheck_ms", start.elapsed().as_secs_f64() * 1e3, "ms"));
    if let Some(first) = broken.first() {
        return Err(format!("the recheck finds {} faults, the first: {first:?}", broken.len()));
    }
    metrics.push(Metric::new("rss_mb", peak_rss_mb().unwrap_or(f64::NAN), "MB"));
    Ok(metrics)
}

fn network(shape: FabricShape, random: &mut ChaCha8Rng) -> Result<wayleave_topology::Network, String> {
    let network = match shape {
        FabricShape::Mesh { switches } => mesh(switches, random)?,
        FabricShape::FatTree { k, hosts_per_edge } => {
            let cabling = Cabling { rate: Rate::from_gbit(10), ..Cabling::default() };
            let spec = FatTree { k, hosts_per_edge: Some(hosts_per_edge), cabling, ..FatTree::default() };
            build::fat_tree(&spec).map_err(|error| error.to_string())?
        }
    };
    network.with_classes(Classes::default()).map_err(|error| error.to_string())
}

fn mesh(switches: usize, random: &mut ChaCha8Rng) -> Result<wayleave_topology::Network, String> {
    let mut builder = NetworkBuilder::default();
    let node = |builder: &mut NetworkBuilder, name: String, kind| {
        builder.add_node(&name, kind).map_err(|error| error.to_string())
    };
    let port = || PortSpec::uniform(8, Bytes::new(97_000));
    let cable = |builder: &mut NetworkBuilder, from: NodeId, to: NodeId| {
        let (rate, propagation, mtu) = (Rate::from_gbit(10), Time::from_micros(1), Bytes::new(1_500));
        let spec = LinkSpec { from, to, rate, propagation, mtu, port: port() };
        builder.add_cable(spec, port()).map(|_| ()).map_err(|error| error.to_string())
    };
    let mut all = Vec::new();
    for at in 0..switches {
        let switch = node(&mut builder, format!("s{at}"), NodeKind::Switch)?;
        let host = node(&mut builder, format!("h{at}"), NodeKind::Host)?;
        cable(&mut builder, host, switch)?;
        all.push(switch);
    }
    for at in 0..switches {
        cable(&mut builder, all[at], all[(at + 1) % switches])?;
    }
    for _ in 0..switches * 3 / 2 {
        let (one, other) = (random.random_range(0..switches), random.random_range(0..switches));
        if one != other {
            cable(&mut builder, all[one], all[other])?;
        }
    }
    Ok(builder.build())
}
