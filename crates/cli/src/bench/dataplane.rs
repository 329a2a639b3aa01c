//! Benchmark of a host's eBPF programs: cost of a packet, and accuracy of token buckets.

use wayleave_dataplane::measure::{HostCrossingTime, ShapingError, TABLE_4, Tagging, cross, load, memory, shape, tag};

use super::Metric;

/// The cases.
pub(crate) const CASES: &[&str] = &["2-tags", "6-tags", "crossing", "load", "precision", "memory"];

/// A packet of the middle size of Chameleon's Table 3.
const PACKET: usize = 776;
/// Runs, of which the fastest counts.
const TRIALS: u32 = 100_000;
/// Batches of packets across each host, of which the fastest counts.
const BATCHES: u32 = 2_000;
/// Number of rounds per scenario of Table 4.
const ROUNDS: usize = 3;

/// Runs one case.
///
/// # Errors
/// If this machine cannot load the programs, or there is no such case.
pub(crate) fn run(case: &str) -> Result<Vec<Metric>, String> {
    let metrics = match case {
        "2-tags" => tagging(2),
        "6-tags" => tagging(6),
        "crossing" => crossing(),
        "load" => loading(),
        "precision" => precision(),
        "memory" => footprint(),
        other => return Err(format!("there is no case \"{other}\"")),
    };
    metrics.map_err(|error| error.to_string())
}

/// The whole program of an endpoint: classification by five-tuple, bucket, tags.
fn tagging(tags: u16) -> Result<Vec<Metric>, wayleave_dataplane::Error> {
    let nanos = tag(Tagging { packet: PACKET, batch: 32, flows: 1, tags }, TRIALS)?;
    Ok(vec![
        Metric::new("ns_per_packet", nanos, "ns"),
        Metric::new("packets_per_s", 1e9 / nanos, "packets/s"),
        Metric::new("rate", PACKET as f64 * 8.0 / nanos, "Gbit/s"),
    ])
}

/// A packet from a tenant's interface to the wire, beside hosts that only forward or shape by HTB.
fn crossing() -> Result<Vec<Metric>, wayleave_dataplane::Error> {
    let HostCrossingTime { plain, htb, wayleave, shared } = cross(BATCHES)?;
    Ok(vec![
        Metric::new("plain", plain, "ns"),
        Metric::new("htb", htb, "ns"),
        Metric::new("wayleave", wayleave, "ns"),
        Metric::new("shared", shared, "ns"),
        Metric::new("times_htb", wayleave / htb, ""),
        Metric::new("shared_times_htb", shared / htb, ""),
    ])
}

/// Maps and programs of one host, and of as many as a fat tree with k = 4 has.
fn loading() -> Result<Vec<Metric>, wayleave_dataplane::Error> {
    let metric = |name, hosts| Ok(Metric::new(name, load(hosts)?.as_secs_f64() * 1e3, "ms"));
    Ok(vec![metric("one_host", 1)?, metric("16_hosts", 16)?])
}

/// The worst of all scenarios of Table 4.
fn precision() -> Result<Vec<Metric>, wayleave_dataplane::Error> {
    let mut worst = ShapingError::default();
    for scenario in TABLE_4 {
        let ShapingError { rate_error, burst_error } = shape(scenario, ROUNDS)?;
        worst.rate_error = worst.rate_error.max(rate_error);
        worst.burst_error = worst.burst_error.max(burst_error);
    }
    Ok(vec![
        Metric::new("burst_error", 100.0 * worst.burst_error, "%"),
        Metric::new("rate_error", 100.0 * worst.rate_error, "%"),
    ])
}

/// The kernel's memory for programs and maps.
fn footprint() -> Result<Vec<Metric>, wayleave_dataplane::Error> {
    let (base, many) = (memory(0, 3)?.get() as f64, memory(100, 3)?.get() as f64);
    Ok(vec![
        Metric::new("memory", base / 1e6, "MB"),
        Metric::new("memory_per_endpoint", (many - base) / 100.0 / 1e3, "kB"),
    ])
}
