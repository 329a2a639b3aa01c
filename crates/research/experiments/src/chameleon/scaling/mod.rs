//! Fig. 10a, 10b, 11a, 11b: larger networks, with two and with four queues a port (5.2).
//!
//! | | |
//! |---|---|
//! | `flows.rs` | Fig. 10a and 11a: flows admitted |
//! | `limits.rs` | how many candidates are tried to be moved, in two sizes of the network |
//! | `times.rs` | Fig. 10b and 11b: how long a decision takes |

mod flows;
mod limits;
mod times;

use super::filling::{Case, Filling, Size};
use super::{Moving, Qjump, SILO, Silo, System};
use crate::data::{Axis, Centre, Figure, Form, Panel, Series};
use crate::failed::Failed;
use crate::run::Run;
use std::sync::Arc;

/// From 640 to 17,280 servers (5.2).
const FULL: &[u64] = &[4, 6, 8, 10, 12];
/// What fits into a quick look.
const QUICK: &[u64] = &[4, 6, 8];

const PLAIN: System = System::Chameleon;
const REROUTING: System = System::Rerouting(Moving::OLDEST);
const NEWEST: System = System::Rerouting(Moving::NEWEST);
const SILO_OF_THE_TEXT: System = System::Silo(Silo::TEXT);
const SILO_AROUND: System = System::Silo(Silo::AROUND);
const SILO_UNSHAPED: System = System::Silo(Silo::UNSHAPED);
const QJUMP: System = System::Qjump(Qjump::FLAT);

const SYSTEMS: [System; 10] = [
    PLAIN,
    REROUTING,
    NEWEST,
    SILO_OF_THE_TEXT,
    SILO_AROUND,
    System::Silo(Silo::FRAMELESS),
    SILO_UNSHAPED,
    System::Silo(Silo::BURSTS),
    QJUMP,
    System::Wayleave,
];

/// Fig. 10a.
pub(crate) fn fig10a(run: &Run) -> Result<Figure, Failed> {
    flows::measure(run, 2)
}

/// Fig. 10b.
pub(crate) fn fig10b(run: &Run) -> Result<Figure, Failed> {
    times::measure(run, 2)
}

/// Fig. 11a.
pub(crate) fn fig11a(run: &Run) -> Result<Figure, Failed> {
    flows::measure(run, 4)
}

/// Fig. 11b.
pub(crate) fn fig11b(run: &Run) -> Result<Figure, Failed> {
    times::measure(run, 4)
}

/// What is filled.
#[derive(Clone, Debug)]
struct Scope {
    queues: usize,
    ks: &'static [u64],
    seeds: Vec<u64>,
}

impl Scope {
    fn of(run: &Run, queues: usize) -> Self {
        // 10 runs (5.2).
        Self { queues, ks: run.choose(FULL, QUICK), seeds: run.seeds(10, 3) }
    }

    /// The same sizes with another number of queues.
    fn with_queues(&self, queues: usize) -> Self {
        Self { queues, ..self.clone() }
    }

    fn cases(&self, system: System, k: u64) -> Vec<Case> {
        // 40 servers per rack would be 320 at k = 4; 640 at k = 4 and 17,280 at k = 12 are 40 k/2 (5.2). Silo does not
        // exploit queues, so its cases are the same for both figures.
        let size = Size { k, hosts_per_edge: 20 * k, queues: system.queues(self.queues) };
        self.seeds.iter().map(|&seed| Case { size, system, scenario: 8, seed }).collect()
    }

    /// Fillings by system, then by k, then by seed.
    fn fill(&self, run: &Run, systems: &[System]) -> Result<Vec<BySize>, Failed> {
        let cases = |&system: &System| self.ks.iter().flat_map(move |&k| self.cases(system, k));
        run.fillings(&systems.iter().flat_map(cases).collect::<Vec<_>>())?;
        let of = |&system: &System| self.ks.iter().map(|&k| run.fillings(&self.cases(system, k))).collect();
        systems.iter().map(of).collect()
    }

    fn largest(&self) -> u64 {
        self.ks.last().copied().unwrap_or(0)
    }

    fn panel(&self, name: &str, title: &str, y: Axis, series: Vec<Series>) -> Panel {
        Panel {
            name: name.to_owned(),
            title: format!("{title}, {} queues", words(self.queues)),
            x: Axis::linear("k of the fat tree", ""),
            y,
            form: Form::Joined,
            centre: Centre::Mean,
            is_timing: false,
            bands: Vec::new(),
            series,
        }
    }

    fn settings(&self, figure: Figure) -> Figure {
        let buffer = if self.queues == 2 { "356 kB" } else { "190 kB" };
        let ks: Vec<String> = self.ks.iter().map(u64::to_string).collect();
        let hosts = |k: u64| 10 * k * k * k;
        figure
            .with(
                "network",
                format!(
                    "fat trees, k = {}; 40 k/2 servers a rack: {} to {}, links at 1 Gbit/s (5.2)",
                    ks.join(", "),
                    hosts(self.ks[0]),
                    hosts(self.largest())
                ),
            )
            .with(
                "Chameleon",
                format!(
                    "{} queues of {buffer} a port (5.2), delays of 4.1.2, hosts 0.5 ms, rerouting limit 20",
                    self.queues
                ),
            )
            .with("Silo", SILO)
            .with("QJump", "n = 32, P = 1500 B, epsilon = 4 us (5.1.1)")
            .with("requests", "Table 1 in the mix of scenario 8 (5.2), random hosts; until the first refusal")
            .with(
                "model",
                "that of the published controller; \"Wayleave\" has Wayleave's own, which is sound on real networks",
            )
    }
}

/// Fillings by k, then by seed.
type BySize = Vec<Vec<Arc<Filling>>>;

fn words(queues: usize) -> &'static str {
    if queues == 2 { "two" } else { "four" }
}
