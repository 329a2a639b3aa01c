//! Benchmark of admission: time of decisions, number of admitted flows, memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wayleave_contracts::RequestMix;
use wayleave_ledger::Model;
use wayleave_scheme_api::{Admission, Request};
use wayleave_schemes::admission::chameleon::{Allocation, Chameleon, Params, Rerouting, Routing};
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_topology::{Network, PortSpec};
use wayleave_units::Time;

use super::{Metric, peak_rss_mb};

/// One filling of one network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// As it is called on the command line.
    pub(crate) name: &'static str,
    k: u64,
    hosts_per_edge: u64,
    queues: usize,
    rerouting: bool,
    budgets: Budgets,
}

/// Delay budgets of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Budgets {
    /// Section 4.1.2 of Chameleon.
    Published,
    /// Result of `wayleave tune` for scenario 8 at k = 12.
    Tuned,
}

const fn case(name: &'static str, k: u64, hosts_per_edge: u64, queues: usize, rerouting: bool) -> Case {
    Case { name, k, hosts_per_edge, queues, rerouting, budgets: Budgets::Published }
}

/// 40 k/2 servers per edge switch, as in Chameleon, section 5.2; `k4-q8` is the 16-host network of section 5.1.
pub(crate) const CASES: &[Case] = &[
    case("k4-q8-noreroute", 4, 2, 8, false),
    case("k4-q8-reroute", 4, 2, 8, true),
    case("k4-q4-noreroute", 4, 80, 4, false),
    case("k4-q4-reroute", 4, 80, 4, true),
    case("k6-q4-noreroute", 6, 120, 4, false),
    case("k6-q4-reroute", 6, 120, 4, true),
    case("k8-q4-noreroute", 8, 160, 4, false),
    case("k8-q4-reroute", 8, 160, 4, true),
    case("k10-q4-noreroute", 10, 200, 4, false),
    case("k10-q4-reroute", 10, 200, 4, true),
    case("k12-q2-noreroute", 12, 240, 2, false),
    case("k12-q2-reroute", 12, 240, 2, true),
    case("k12-q4-noreroute", 12, 240, 4, false),
    case("k12-q4-reroute", 12, 240, 4, true),
    Case { budgets: Budgets::Tuned, ..case("k12-q4-tuned", 12, 240, 4, false) },
    case("k16-q4-noreroute", 16, 320, 4, false),
    case("k16-q4-reroute", 16, 320, 4, true),
];

/// Configuration that is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// Table 2's scenario.
    pub(crate) scenario: usize,
    /// The seed of the requests.
    pub(crate) seed: u64,
    /// The network model.
    pub(crate) model: Model,
    /// Search for routes.
    pub(crate) routing: Routing,
}

/// Fills one network until the first refusal, then releases and admits at nine tenths of that.
pub(crate) fn run(case: Case, setting: Setting) -> Result<Vec<Metric>, String> {
    let started = Instant::now();
    let network = Arc::new(network(case)?);
    let how = match setting.routing {
        Routing::Scarcity(_) => Rerouting::with_tightening(),
        _ => Rerouting::default(),
    };
    let allocation = match case.budgets {
        Budgets::Published => Allocation::PUBLISHED,
        Budgets::Tuned => tuned(),
    };
    let params = Params { allocation, routing: setting.routing, rerouting: case.rerouting.then_some(how) };
    let mut scheme = Chameleon::new(network.clone(), setting.model, params).map_err(|error| error.to_string())?;
    let setup = started.elapsed();
    let mut requests = RequestMix::new(&network, setting.scenario, setting.seed)
        .map(|contract| wayleave_schemes::request(&contract, &setting.model));
    let mut times = Vec::new();
    let mut admitted = Vec::new();
    for request in requests.by_ref() {
        let (time, decision) = timed(&mut scheme, &request);
        times.push(time);
        match decision {
            Some(flow) => admitted.push(flow),
            None => break,
        }
    }
    let mut metrics = summary("", &mut times);
    metrics.push(Metric::new("accepted", admitted.len() as f64, "flows"));
    metrics.push(Metric::new("setup_ms", setup.as_secs_f64() * 1e3, "ms"));
    metrics.extend(churn(&mut scheme, admitted, &mut requests));
    metrics.push(Metric::new("rss_mb", peak_rss_mb().unwrap_or(f64::NAN), "MB"));
    Ok(metrics)
}

/// 0.2, 1, 4 and 20 ms for switches, 0.2 ms for hosts.
fn tuned() -> Allocation {
    let switch = [200, 1_000, 4_000, 20_000].map(Time::from_micros).to_vec();
    Allocation { switch: Some(switch), host: Some(vec![Time::from_micros(200)]), ..Allocation::PUBLISHED }
}

fn network(case: Case) -> Result<Network, String> {
    let buffer = Cabling::published_buffer(case.queues).ok_or("no published buffer for this queue count")?;
    let cabling = Cabling { switch_port: PortSpec::uniform(case.queues, buffer), ..Cabling::default() };
    let spec = FatTree { k: case.k, hosts_per_edge: Some(case.hosts_per_edge), cabling, ..FatTree::default() };
    build::fat_tree(&spec).map_err(|error| error.to_string())
}

type Flow = wayleave_topology::FlowId;

fn timed(scheme: &mut Chameleon, request: &Request) -> (Duration, Option<Flow>) {
    let start = Instant::now();
    let decision = scheme.admit(request);
    (start.elapsed(), decision.ok().map(|decision| decision.flow))
}

/// At nine tenths of the filling: a flow is released and another asked for, 10,000 times.
fn churn(scheme: &mut Chameleon, mut admitted: Vec<Flow>, requests: &mut impl Iterator<Item = Request>) -> Vec<Metric> {
    const STEPS: usize = 10_000;
    let full = admitted.len();
    // Not the newest tenth: a fixed stride over all ages.
    let mut position = 0;
    let mut release_one = |scheme: &mut Chameleon, admitted: &mut Vec<Flow>| {
        if admitted.is_empty() {
            return Duration::ZERO;
        }
        position = (position + 7919) % admitted.len();
        let flow = admitted.swap_remove(position);
        let start = Instant::now();
        scheme.release(flow);
        start.elapsed()
    };
    for _ in 0..full / 10 {
        release_one(scheme, &mut admitted);
    }
    let level = admitted.len();
    let (mut releases, mut admissions) = (Vec::new(), Vec::new());
    for request in requests.take(STEPS) {
        if admitted.len() >= level {
            releases.push(release_one(scheme, &mut admitted));
        }
        let (time, decision) = timed(scheme, &request);
        admissions.push(time);
        admitted.extend(decision);
    }
    let mut metrics = summary("churn_admit_", &mut admissions);
    metrics.extend(summary("churn_release_", &mut releases));
    metrics
}

pub(super) fn summary(prefix: &str, times: &mut [Duration]) -> Vec<Metric> {
    times.sort_unstable();
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let percentile = |share: f64| {
        let at = ((times.len() as f64 * share).ceil() as usize).saturating_sub(1);
        times.get(at).copied().map_or(f64::NAN, micros)
    };
    let mean = micros(times.iter().sum::<Duration>()) / times.len().max(1) as f64;
    let values =
        [("mean_us", mean), ("p50_us", percentile(0.5)), ("p99_us", percentile(0.99)), ("max_us", percentile(1.0))];
    values.into_iter().map(|(name, value)| Metric::new(&format!("{prefix}{name}"), value, "us")).collect()
}
