//! `wayleave bench controller`: how many requests a second it answers, and how soon it is back.

mod load;
mod restart;
mod server;

use std::path::PathBuf;
use std::sync::Arc;

use wayleave_controller::{Setup, Southbound, Timing};
use wayleave_formats::parse_builder;
use wayleave_ledger::Model;
use wayleave_schemes::chameleon::{Chameleon, Params};

use super::Metric;

/// The network: hosts enough that all contracts fit.
const TOPOLOGY: &str = "fat-tree:k=16";
const HOSTS: usize = 1_024;

/// The ends of the how-manieth contract: all hosts send, and all receive.
fn contract(number: usize) -> (usize, usize) {
    let (from, round) = (number % HOSTS, number / HOSTS);
    // Steps without a common divisor with the number of hosts, so that no round repeats another.
    let to = (from + 1 + 37 * round) % HOSTS;
    (from, if to == from { (to + 1) % HOSTS } else { to })
}

/// The cases.
pub(crate) const CASES: &[&str] = &["64-clients", "restart-100k"];

/// Runs one case in a directory of its own, which is gone afterwards.
pub(crate) fn run(case: &str) -> Result<Vec<Metric>, String> {
    let directory = Directory::new()?;
    match case {
        "64-clients" => load::run(&directory.0),
        "restart-100k" => restart::run(&directory.0),
        other => Err(format!("there is no case \"{other}\"")),
    }
}

/// A directory that is removed in the end.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("wayleave-bench-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| format!("{} cannot be created: {error}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What is left of it is the system's to clean.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A controller's network with Wayleave's own model and scheme, and nobody to tell.
fn setup(builder: &str) -> Result<Setup, String> {
    let network = Arc::new(parse_builder(builder).map_err(|error| error.to_string())?.network);
    Chameleon::new(network.clone(), Model::default(), Params::default()).map_err(|error| error.to_string())?;
    let of = network.clone();
    let scheme = move || match Chameleon::new(of.clone(), Model::default(), Params::default()) {
        Ok(scheme) => scheme.into(),
        Err(_) => unreachable!("the same was made a moment ago"),
    };
    Ok(Setup {
        network,
        model: Model::default(),
        scheme: Arc::new(scheme),
        southbound: Southbound::Assumed,
        timing: Timing::default(),
    })
}
