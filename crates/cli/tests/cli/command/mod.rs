//! The real binary, run as a person would.

mod agent_init;
mod aliases;
mod alike;
mod analyze;
mod assumptions;
mod bad_input;
mod bench;
mod client;
mod documents;
mod explain;
mod export_config;
mod graphs;
mod hostile;
mod interrupts;
mod kinds;
mod log_text;
mod plan;
mod planned;
mod policy;
mod protection;
mod prune;
mod recheck;
mod regressions;
mod replay;
mod rollback;
mod run;
mod schemes;
mod serve;
mod shares;
mod sim;
mod size;
mod stopped;
mod topology;
mod toys;
mod tune;
mod unknown_keys;
mod usage;
mod verify;

use interrupts::{Moment, interrupted};
pub(crate) use run::{Run, file, wayleave};
use run::{fed, run_in};

/// A contracts document with these items.
fn contracts(items: &[&str]) -> String {
    let items: String = items.iter().map(|item| format!("    - {{ {item} }}\n")).collect();
    format!("apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n{items}")
}

/// A list of random requests, as `wayleave generate contracts` writes it.
fn requests(name: &str, topology: &str, scenario: u32, count: u32) -> String {
    let run = wayleave(&format!("generate contracts -t {topology} --scenario {scenario} --count {count}")).ends_with(0);
    file(name, run.stdout)
}
