//! Sizes and systems of Fig. 10 and 11.

use std::sync::Arc;

use crate::chameleon::filling::{Case, FillResult, Size};
use crate::chameleon::{Qjump, RerouteSettings, SILO, Silo, System};
use crate::data::{Axis, Figure, Form, Panel, Series};
use crate::failed::Failed;
use crate::run::Run;

/// From 640 to 17,280 servers (5.2).
const FULL: &[u64] = &[4, 6, 8, 10, 12];

/// Network sizes that fit into a quick run.
const QUICK: &[u64] = &[4, 6, 8];

pub(super) const PLAIN: System = System::Chameleon;

pub(super) const REROUTING: System = System::Rerouting(RerouteSettings::OLDEST);

pub(super) const NEWEST: System = System::Rerouting(RerouteSettings::NEWEST);

pub(super) const RANDOM: System = System::Rerouting(RerouteSettings::RANDOM);

pub(super) const SILO_OF_THE_TEXT: System = System::Silo(Silo::TEXT);

pub(super) const SILO_AROUND: System = System::Silo(Silo::AROUND);

pub(super) const SILO_PUBLISHED: System = System::Silo(Silo::PUBLISHED);

pub(super) const QJUMP: System = System::Qjump(Qjump::FLAT);

pub(super) const SYSTEMS: [System; 13] = [
    PLAIN,
    REROUTING,
    NEWEST,
    RANDOM,
    SILO_OF_THE_TEXT,
    SILO_AROUND,
    System::Silo(Silo::FRAMELESS),
    System::Silo(Silo::UNSHAPED),
    System::Silo(Silo::BURSTS),
    SILO_PUBLISHED,
    System::Silo(Silo::EXAMPLE),
    QJUMP,
    System::Wayleave,
];

/// Networks to be filled.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub(super) queues: usize,
    pub(super) ks: &'static [u64],
    pub(super) seeds: Vec<u64>,
}

impl Scope {
    pub(super) fn of(run: &Run, queues: usize) -> Self {
        // 10 runs (5.2).
        Self { queues, ks: run.choose(FULL, QUICK), seeds: run.seeds(10, 3) }
    }

    /// The same sizes with another number of queues.
    pub(super) fn with_queues(&self, queues: usize) -> Self {
        Self { queues, ..self.clone() }
    }

    pub(super) fn cases(&self, system: System, k: u64) -> Vec<Case> {
        // 40 servers per rack would be 320 at k = 4; 640 at k = 4 and 17,280 at k = 12 are 40 k/2 (5.2). Silo does not
        // exploit queues, so its cases are the same for both figures.
        let size = Size { k, hosts_per_edge: 20 * k, queues: system.queues(self.queues) };
        self.seeds.iter().map(|&seed| Case { size, system, scenario: 8, seed }).collect()
    }

    /// Fillings by system, then by k, then by seed.
    pub(super) fn fill(&self, run: &Run, systems: &[System]) -> Result<Vec<BySize>, Failed> {
        let cases = |&system: &System| self.ks.iter().flat_map(move |&k| self.cases(system, k));
        run.fillings(&systems.iter().flat_map(cases).collect::<Vec<_>>())?;
        let of = |&system: &System| self.ks.iter().map(|&k| run.fillings(&self.cases(system, k))).collect();
        systems.iter().map(of).collect()
    }

    pub(super) fn largest(&self) -> u64 {
        self.ks.last().copied().unwrap_or(0)
    }

    pub(super) fn panel(&self, name: &str, title: &str, y: Axis, series: Vec<Series>) -> Panel {
        Panel::new(
            name,
            format!("{title}, {} queues", words(self.queues)),
            (Axis::linear("k of the fat tree", ""), y),
            Form::Joined,
            series,
        )
    }

    pub(super) fn settings(&self, figure: Figure) -> Figure {
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
pub(super) type BySize = Vec<Vec<Arc<FillResult>>>;

fn words(queues: usize) -> &'static str {
    if queues == 2 { "two" } else { "four" }
}
