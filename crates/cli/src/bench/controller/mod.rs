//! Benchmark of a controller: requests per second, and time of a restart.

mod etcd;
mod flood;
mod load;
mod network;
mod record;
mod restart;
mod server;
mod what_if;

use std::path::Path;

use super::Metric;

/// The case whose ledger is in etcd.
const ON_ETCD: &str = "256-clients-etcd";

/// The cases.
pub(crate) const CASES: &[&str] =
    &["64-clients", ON_ETCD, "restart-100k", "record-100k", "flood", "flood-puts", "what-if-124k"];

/// Returns why a case cannot run on this machine, or `None` if it can: `etcd` has to be in a folder of `PATH`.
pub(crate) fn left_out(case: &str) -> Option<&'static str> {
    let is_installed = || {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join("etcd").is_file())
    };
    (case == ON_ETCD && !is_installed()).then_some("etcd is not installed")
}

/// Runs one case, with the ledger in an existing folder. `program` is the `wayleave` program, which serves.
///
/// # Errors
/// If the server cannot be started or does not answer, or there is no such case.
pub(crate) fn run(case: &str, program: &Path, folder: &Path) -> Result<Vec<Metric>, String> {
    match case {
        "64-clients" => load::run(program, folder),
        ON_ETCD => load::run_on_etcd(program, folder),
        "flood" => flood::run(program, folder, flood::Flood::Lists),
        "flood-puts" => flood::run(program, folder, flood::Flood::Puts),
        "record-100k" => record::run(program, folder),
        "restart-100k" => restart::run(program, folder),
        "what-if-124k" => what_if::run(program, folder),
        other => Err(format!("there is no case \"{other}\"")),
    }
}
