//! The shares of a tree of services, at once and while demands change.

use std::time::Duration;

use wayleave_experiments::{ShareCase, time_shares};

use super::{Metric, peak_rss_mb};

/// Runs a case.
///
/// # Errors
/// The reason, if the machine or the case does not allow it.
pub(crate) fn run(case: ShareCase, seed: u64) -> Result<Vec<Metric>, String> {
    let times = time_shares(case, seed).map_err(|error| error.to_string())?;
    let all = &times.computations;
    let at = |percent: usize| all.get(all.len() * percent / 100).copied().unwrap_or_default();
    Ok(vec![
        Metric::new("ms", milliseconds(at(50)), "ms"),
        Metric::new("min_ms", milliseconds(at(0)), "ms"),
        Metric::new("p99_ms", milliseconds(at(99)), "ms"),
        Metric::new("update", milliseconds(times.update), "ms"),
        Metric::new("services", times.services as f64, "services"),
        Metric::new("least_load_percent", 100.0 * times.least_load, "%"),
        Metric::new("limited", times.limited as f64, "services"),
        Metric::new("rss_mb", peak_rss_mb().unwrap_or(f64::NAN), "MB"),
    ])
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
