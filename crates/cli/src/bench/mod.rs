//! Benchmarks: networks are filled, packets simulated, shares computed, a controller queried. Each case returns
//! figures with a name and a unit.

pub(crate) mod admission;
pub(crate) mod controller;
pub(crate) mod dataplane;
pub(crate) mod hoses;
pub(crate) mod mixed;
pub(crate) mod sharing;
pub(crate) mod sim;
mod ufab;

use std::io::Write;

use serde::Serialize;

use wayleave::Error;

/// One figure.
#[derive(Clone, Debug)]
pub(crate) struct Metric {
    /// Name of the metric.
    pub(crate) name: String,
    /// Value.
    pub(crate) value: f64,
    /// Unit.
    pub(crate) unit: &'static str,
}

impl Metric {
    /// A figure of a case.
    pub(crate) fn new(name: &str, value: f64, unit: &'static str) -> Self {
        Self { name: name.to_owned(), value, unit }
    }
}

#[derive(Serialize)]
struct Line<'a> {
    bench: &'a str,
    case: &'a str,
    metric: &'a str,
    value: f64,
    unit: &'a str,
}

/// Writes a case's figures as JSON, one object a line.
///
/// # Errors
/// If they cannot be written.
pub(crate) fn write_lines(out: &mut impl Write, bench: &str, case: &str, metrics: &[Metric]) -> Result<(), Error> {
    for metric in metrics {
        // A clock resolves nanoseconds.
        let digits = if metric.unit == "ms" { 1e6 } else { 1e3 };
        let value = (metric.value * digits).round() / digits;
        let line = Line { bench, case, metric: &metric.name, value, unit: metric.unit };
        writeln!(out, "{}", serde_json::to_string(&line)?)?;
    }
    Ok(())
}

/// Returns the peak memory of this process, if the system reports it.
pub(crate) fn peak_rss_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

/// Returns the processor time of this process, in seconds; its run time if the system does not report it.
pub(crate) fn cpu_seconds() -> f64 {
    let used = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanos = used.and_then(|used| used.split_whitespace().next()?.parse::<u64>().ok());
    nanos.map_or_else(|| started().elapsed().as_secs_f64(), |nanos| nanos as f64 / 1e9)
}

/// A moment that does not change.
fn started() -> std::time::Instant {
    static STARTED: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    *STARTED.get_or_init(std::time::Instant::now)
}
