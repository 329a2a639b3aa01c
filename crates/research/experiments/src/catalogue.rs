//! Every figure by name: one line each.

pub use crate::entry::{CHAMELEON, Entry, LOKO, ONE_FABRIC, PARLEY, Paper, SCC, UFAB};

use crate::chameleon::{fig8a, fig8b, fig9a, fig9b, fig12, fig14, fig15, scaling, sec2, table5};
use crate::loko::{burst, comparison, scalability, zodiac_fx};
use crate::parley;
use crate::{fabric, scc, ufab};

/// Every figure, in the order of the papers.
pub const CATALOGUE: &[Entry] = &[
    Entry {
        id: "sec2-examples",
        runs: "section 2",
        paper: &CHAMELEON,
        place: "section 2, Fig. 1",
        title: "Worked examples of QJump and Silo, and the flow that only rerouting admits",
        full_runs: 0,
        full_seconds: 1,
        quick_seconds: 1,
        measure: sec2::measure,
        #[cfg(test)]
        check: sec2::tests::every_statement_can_fail,
    },
    Entry {
        id: "chameleon-fig8a",
        runs: "section 5.1",
        paper: &CHAMELEON,
        place: "Fig. 8a",
        title: "Flows admitted until the first refusal",
        full_runs: 100,
        full_seconds: 60,
        quick_seconds: 6,
        measure: fig8a::measure,
        #[cfg(test)]
        check: fig8a::tests::every_verdict_can_change,
    },
    Entry {
        id: "chameleon-fig8b",
        runs: "section 5.1",
        paper: &CHAMELEON,
        place: "Fig. 8b",
        title: "Reconfigured flows",
        full_runs: 100,
        full_seconds: 15,
        quick_seconds: 2,
        measure: fig8b::measure,
        #[cfg(test)]
        check: fig8b::tests::every_verdict_can_change,
    },
    Entry {
        id: "chameleon-fig9a",
        runs: "section 5.1",
        paper: &CHAMELEON,
        place: "Fig. 9a",
        title: "Utilisation of the links between switches",
        full_runs: 100,
        full_seconds: 20,
        quick_seconds: 3,
        measure: fig9a::measure,
        #[cfg(test)]
        check: fig9a::tests::every_verdict_can_change,
    },
    Entry {
        id: "chameleon-fig9b",
        runs: "section 5.1",
        paper: &CHAMELEON,
        place: "Fig. 9b",
        title: "Time to embed one flow",
        full_runs: 100,
        full_seconds: 20,
        quick_seconds: 3,
        measure: fig9b::measure,
        #[cfg(test)]
        check: fig9b::tests::every_verdict_can_change,
    },
    Entry {
        id: "chameleon-fig10a",
        runs: "two queues",
        paper: &CHAMELEON,
        place: "Fig. 10a",
        title: "Flows admitted by network size, two queues",
        full_runs: 10,
        full_seconds: 25,
        quick_seconds: 8,
        measure: scaling::fig10a,
        #[cfg(test)]
        check: scaling::flows_check,
    },
    Entry {
        id: "chameleon-fig10b",
        runs: "two queues",
        paper: &CHAMELEON,
        place: "Fig. 10b",
        title: "Time to embed one flow by network size, two queues",
        full_runs: 10,
        full_seconds: 90,
        quick_seconds: 8,
        measure: scaling::fig10b,
        #[cfg(test)]
        check: scaling::times_check,
    },
    Entry {
        id: "chameleon-fig11a",
        runs: "four queues",
        paper: &CHAMELEON,
        place: "Fig. 11a",
        title: "Flows admitted by network size, four queues",
        full_runs: 10,
        full_seconds: 180,
        quick_seconds: 12,
        measure: scaling::fig11a,
        #[cfg(test)]
        check: scaling::flows_check,
    },
    Entry {
        id: "chameleon-fig11b",
        runs: "four queues",
        paper: &CHAMELEON,
        place: "Fig. 11b",
        title: "Time to embed one flow by network size, four queues",
        full_runs: 10,
        full_seconds: 180,
        quick_seconds: 12,
        measure: scaling::fig11b,
        #[cfg(test)]
        check: scaling::times_check,
    },
    Entry {
        id: "chameleon-fig12a",
        runs: "tagging",
        paper: &CHAMELEON,
        place: "Fig. 12a",
        title: "Tagging rate of a host by packet size and tags (root, eBPF)",
        full_runs: 0,
        full_seconds: 60,
        quick_seconds: 16,
        measure: fig12::fig12a,
        #[cfg(test)]
        check: fig12::tests::every_verdict_of_tagging_can_change,
    },
    Entry {
        id: "chameleon-fig12b",
        runs: "shaping",
        paper: &CHAMELEON,
        place: "Fig. 12b",
        title: "Rate and burst that pass a host's shaper (root, eBPF)",
        full_runs: 0,
        full_seconds: 100,
        quick_seconds: 15,
        measure: fig12::fig12b,
        #[cfg(test)]
        check: fig12::tests::every_verdict_of_shaping_can_change,
    },
    Entry {
        id: "chameleon-fig12-resources",
        runs: "resources",
        paper: &CHAMELEON,
        place: "section 5.3.3",
        title: "Memory and CPU usage of a host's data plane (root, eBPF)",
        full_runs: 0,
        full_seconds: 5,
        quick_seconds: 5,
        measure: fig12::resources,
        #[cfg(test)]
        check: fig12::tests::every_verdict_of_resources_can_change,
    },
    Entry {
        id: "chameleon-fig14",
        runs: "real packets",
        paper: &CHAMELEON,
        place: "Fig. 14",
        title: "Packet delays of admitted flows, some of them rerouted, with real packets (root, eBPF)",
        full_runs: 1,
        full_seconds: 80,
        quick_seconds: 30,
        measure: fig14::measure,
        #[cfg(test)]
        check: fig14::tests::every_verdict_can_change,
    },
    Entry {
        id: "chameleon-fig15",
        runs: "clock synchronisation",
        paper: &CHAMELEON,
        place: "Fig. 15",
        title: "Clock synchronisation beside Hadoop-like bursts, with real packets (root, eBPF)",
        full_runs: 0,
        full_seconds: 115,
        quick_seconds: 30,
        measure: fig15::measure,
        #[cfg(test)]
        check: fig15::tests::every_verdict_can_change,
    },
    Entry {
        id: "table5",
        runs: "Table 5",
        paper: &CHAMELEON,
        place: "Table 5",
        title: "Guarantees and work conservation of each system",
        full_runs: 0,
        full_seconds: 1,
        quick_seconds: 10,
        measure: table5::measure,
        #[cfg(test)]
        check: table5::tests::every_verdict_can_change,
    },
    Entry {
        id: "loko-zodiac-fx",
        runs: "Zodiac FX",
        paper: &LOKO,
        place: "proof of concept",
        title: "Benchmark and allocations of a simulated Zodiac FX",
        full_runs: 0,
        full_seconds: 1,
        quick_seconds: 1,
        measure: zodiac_fx::measure,
        #[cfg(test)]
        check: zodiac_fx::tests::every_verdict_can_change,
    },
    Entry {
        id: "loko-comparison",
        runs: "comparison",
        paper: &LOKO,
        place: "evaluation",
        title: "Silo, QJump and Loko on switches that share a service",
        full_runs: 3,
        full_seconds: 8,
        quick_seconds: 3,
        measure: comparison::measure,
        #[cfg(test)]
        check: comparison::tests::every_verdict_can_change,
    },
    Entry {
        id: "loko-burst",
        runs: "bursts",
        paper: &LOKO,
        place: "burst multiplier",
        title: "Flows that exceed their burst",
        full_runs: 3,
        full_seconds: 1,
        quick_seconds: 1,
        measure: burst::measure,
        #[cfg(test)]
        check: burst::tests::every_verdict_can_change,
    },
    Entry {
        id: "loko-scalability",
        runs: "scalability",
        paper: &LOKO,
        place: "scalability analysis",
        title: "First exhausted resource, by network size",
        full_runs: 10,
        full_seconds: 1,
        quick_seconds: 2,
        measure: scalability::measure,
        #[cfg(test)]
        check: scalability::tests::every_verdict_can_change,
    },
    Entry {
        id: "parley-fig9",
        runs: "limited senders",
        paper: &PARLEY,
        place: "Fig. 9",
        title: "Queue at a receiver with rate-limited senders, by load",
        full_runs: 3,
        full_seconds: 4,
        quick_seconds: 1,
        measure: parley::fig9::measure,
        #[cfg(test)]
        check: parley::fig9::tests::every_verdict_can_change,
    },
    Entry {
        id: "parley-table2",
        runs: "shares",
        paper: &PARLEY,
        place: "Table 2, section 6.2",
        title: "Time to compute the shares of N services, and broker messages",
        full_runs: 3,
        full_seconds: 6,
        quick_seconds: 2,
        measure: parley::table2::measure,
        #[cfg(test)]
        check: parley::table2::tests::every_verdict_can_change,
    },
    Entry {
        id: "parley-fig12",
        runs: "congested core",
        paper: &PARLEY,
        place: "Fig. 12",
        title: "Two receivers behind one congested link",
        full_runs: 3,
        full_seconds: 140,
        quick_seconds: 8,
        measure: parley::fig12::measure,
        #[cfg(test)]
        check: parley::fig12::tests::every_verdict_can_change,
    },
    Entry {
        id: "parley-fig13",
        runs: "fabric broker",
        paper: &PARLEY,
        place: "Fig. 13",
        title: "Rate limit for a tenant of 100 racks",
        full_runs: 3,
        full_seconds: 165,
        quick_seconds: 5,
        measure: parley::fig13::measure,
        #[cfg(test)]
        check: parley::fig13::tests::every_verdict_can_change,
    },
    Entry {
        id: "parley-fig14",
        runs: "throughput protection",
        paper: &PARLEY,
        place: "Fig. 14",
        title: "Two services share the links of a rack",
        full_runs: 3,
        full_seconds: 210,
        quick_seconds: 4,
        measure: parley::fig14::measure,
        #[cfg(test)]
        check: parley::fig14::tests::every_verdict_can_change,
    },
    Entry {
        id: "parley-fig15",
        runs: "bursts",
        paper: &PARLEY,
        place: "Fig. 15",
        title: "To rate limit or not",
        full_runs: 3,
        full_seconds: 6,
        quick_seconds: 1,
        measure: parley::fig15::measure,
        #[cfg(test)]
        check: parley::fig15::tests::every_verdict_can_change,
    },
    Entry {
        id: "parley-convergence",
        runs: "iterations",
        paper: &PARLEY,
        place: "section 6.3",
        title: "Iterations of the machine shaper until rates converge",
        full_runs: 0,
        full_seconds: 1,
        quick_seconds: 1,
        measure: parley::convergence::measure,
        #[cfg(test)]
        check: parley::convergence::tests::every_verdict_can_change,
    },
    Entry {
        id: "parley-table3",
        runs: "latency protection",
        paper: &PARLEY,
        place: "Table 3",
        title: "Tail of completion times by load, with and without Parley",
        full_runs: 3,
        full_seconds: 310,
        quick_seconds: 12,
        measure: parley::table3::measure,
        #[cfg(test)]
        check: parley::table3_check,
    },
    // On uFAB's testbed.
    ufab::fig4::ENTRY,
    ufab::fig5::ENTRY,
    ufab::fig11::ENTRY,
    ufab::fig12::ENTRY,
    ufab::fig13::ENTRY,
    ufab::fig14::ENTRY,
    // uFAB at 100 Gbit/s.
    ufab::fast::fig15::ENTRY,
    ufab::fast::fig16::ENTRY,
    ufab::fast::fig17::ENTRY,
    ufab::fast::fig18::ENTRY,
    ufab::fast::fig20::ENTRY,
    ufab::fast::fig21::ENTRY,
    ufab::fast::design::ENTRY,
    scc::fig1::ENTRY,
    scc::fig3::ENTRY,
    scc::fig4::ENTRY,
    scc::fig5::ENTRY,
    scc::fig10::DATA_MINING,
    scc::fig7::ENTRY,
    scc::fig8a::ENTRY,
    scc::fig8b::ENTRY,
    scc::fig9::ENTRY,
    scc::fig10::ENTRY,
    scc::fig11::ENTRY,
    scc::fig12::ENTRY,
    scc::latency::ENTRY,
    scc::messages::ENTRY,
    fabric::ENTRY,
];

impl Entry {
    /// Returns `true` if completed runs can be stored ([`Run::with_checkpoints`](crate::Run::with_checkpoints)). Figures of Chameleon and of
    /// times cannot: they are measured in minutes, and their results are large or depend on the machine.
    pub fn keeps_runs(&self) -> bool {
        const OTHERS: [&str; 5] =
            ["loko-zodiac-fx", "parley-fig9", "parley-table2", "parley-convergence", "ufab-design"];
        *self.paper != CHAMELEON && !OTHERS.contains(&self.id)
    }

    /// `true` if the figure can be measured with another number of servers ([`Run::with_servers`](crate::Run::with_servers)): uFAB's Fig. 17 on any number of pods, up to the 512
    /// servers of its text.
    pub fn has_network_of(&self, servers: u64) -> bool {
        self.id == ufab::fast::fig17::ENTRY.id && ufab::fast::pods_of(servers).is_some()
    }
}

/// The figure of this name.
pub fn find(id: &str) -> Option<&'static Entry> {
    CATALOGUE.iter().find(|entry| entry.id == id)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use wayleave::Watch;

    use super::*;
    use crate::entry::ONE_FABRIC;
    use crate::papers::HEADLINES;
    use crate::statement::{recorded, too_wide};
    use crate::{Checkpoints, Effort, Failed, ReproduceOptions, Run, reproduce};

    /// Numbers outside of each end of its range are planted into each statement of each figure, and have to be outside.
    #[test]
    fn every_statement_of_every_figure_can_fail() {
        for entry in CATALOGUE {
            let statements = recorded(entry.check);
            assert!(!statements.is_empty(), "{} has no statement that was checked", entry.id);
            for headline in HEADLINES.iter().filter(|headline| headline.figure == entry.id) {
                let is_it = |statement: &crate::Statement| statement.claim_text == headline.claim_text;
                assert!(statements.iter().any(is_it), "{} has no statement: {}", entry.id, headline.claim_text);
            }
        }
        assert!(HEADLINES.iter().all(|headline| find(headline.figure).is_some()));
    }

    /// Papers whose ranges are checked, and arguments for ranges that the rule of [`too_wide`] refuses: figure, part of the statement, reason.
    const CHECKED: [&Paper; 6] = [&CHAMELEON, &LOKO, &PARLEY, &UFAB, &SCC, &ONE_FABRIC];
    const ARGUED: &[[&str; 3]] = &[
        ["chameleon-fig8b", "a few per cent", "few are below ten, and none is not a few"],
        ["chameleon-fig8b", "most successful reroutings", "most are more than half"],
        ["chameleon-fig15", "in the order of hundreds of us", "an order of magnitude has a decade"],
        [
            "chameleon-fig15",
            "remains as in the idle network",
            "tens of us of an idle network remain tens with less than ten more",
        ],
        ["ufab-fig4", "every tenant has its minimum", "a minimum is a lower bound, and the upper one is the line"],
        ["ufab-fig11", "guarantees bandwidth for more tenants", "more by any number"],
        ["ufab-fig11", "mostly close to zero", "the text has no number, and ElasticSwitch's is ten times this one"],
        ["ufab-fig17", "and than with PicNIC'+WCC+Clove", "the second half of a sentence with fewer"],
        ["ufab-design", "has its guarantee on all of them together", "a guarantee is a lower bound; links carry 95 %"],
        ["scc-fig1", "very close to 300 us", "a tenth is very close"],
        ["scc-fig1", "almost no DS flows", "one in twenty is almost none; the text has no number"],
        ["scc-fig1", "many DS flows", "more than almost none"],
        ["scc-fig7", "CS is not degraded", "a tenth is the limit of remaining the same in Fig. 3, too"],
        ["scc-fig8b", "almost all deadlines", "all but one in twenty"],
        ["scc-fig11", "only marginally", "a tenth at most"],
        ["scc-messages", "no longer than without it", "a tenth is the limit of remaining the same in Fig. 3, too"],
        ["parley-fig12", "Jain's index is 0.99", "an index is at most 1, and a larger one is fairer"],
        ["parley-fig12", "too slow to guarantee fair shares", "unfair is below what rounds to 0.99"],
        ["parley-fig12", "a reaction time of 1 ms is sufficient", "fair is what rounds to 0.99 or is fairer"],
        [
            "parley-fig14",
            "in 100 ms, so in one",
            "a round is the unit: it takes one, or none if rates are right before",
        ],
        [
            "parley-fig15",
            "all of them finish in",
            "the latest of them; three requests of 2.5 MB take 6 ms at line rate",
        ],
    ];

    /// Catches: ranges that nearly any measurement is in.
    #[test]
    fn ranges_are_those_of_the_texts() {
        let mut refused = Vec::new();
        let mut used = vec![false; ARGUED.len()];
        for entry in CATALOGUE.iter().filter(|entry| CHECKED.contains(&entry.paper)) {
            for statement in recorded(entry.check) {
                let Some(reason) = too_wide(&statement) else { continue };
                match ARGUED.iter().position(|[id, part, _]| *id == entry.id && statement.claim_text.contains(part)) {
                    Some(at) => used[at] = true,
                    None => {
                        refused.push(format!("{}: {}: {:?}: {reason}", entry.id, statement.claim_text, statement.range))
                    }
                }
            }
        }
        refused.dedup();
        assert!(refused.is_empty(), "{}", refused.join("\n"));
        assert!(used.iter().all(|&used| used), "arguments for no statement: {ARGUED:?} {used:?}");
    }

    /// Catches: figures that end with a result after Ctrl-C.
    #[test]
    fn every_figure_ends_without_a_result_once_it_is_cancelled() {
        const REAL_PACKETS: [&str; 5] =
            ["chameleon-fig12a", "chameleon-fig12b", "chameleon-fig12-resources", "chameleon-fig14", "chameleon-fig15"];
        for (entry, checks) in CATALOGUE.iter().flat_map(|entry| [(entry, 0), (entry, 1)]) {
            let run = Run::new(Effort::Quick).with_runs(NonZeroUsize::new(1)).cancelled_after(checks);
            let failed = (entry.measure)(&run).map(|_| "a result").unwrap_err();
            // After the first check these need rights, or a laboratory.
            let is_elsewhere = checks > 0 && REAL_PACKETS.contains(&entry.id);
            assert!(failed == Failed::Stopped || is_elsewhere, "{}, {checks} checks: {failed}", entry.id);
        }
    }

    /// Fails at the first run that is looked up.
    struct Asked;

    impl Checkpoints for Asked {
        fn load(&self, inputs: &str) -> Result<Option<String>, Failed> {
            Err(Failed::Broken(inputs.to_owned()))
        }

        fn save(&self, _: &str, _: &str) -> Result<(), Failed> {
            Ok(())
        }
    }

    /// Catches: figures that accept `--resume` and measure everything again. That no run of a figure uses `Run::map` is asserted there.
    #[test]
    fn every_figure_keeps_its_runs_or_is_refused_with_resume() {
        for entry in CATALOGUE {
            if entry.keeps_runs() {
                let run = Run::new(Effort::Quick).with_runs(NonZeroUsize::new(1)).with_checkpoints(Box::new(Asked));
                let asked = (entry.measure)(&run).map(|_| "nothing looked up").unwrap_err();
                assert!(matches!(asked, Failed::Broken(_)), "{}: {asked}", entry.id);
            } else {
                let folder = std::env::temp_dir().join(format!("wayleave-refused-{}", std::process::id()));
                let options = ReproduceOptions::default().with_resume(folder.clone());
                let refused = reproduce(&[entry], options, &mut Watch::none()).map(|_| "a result").unwrap_err();
                assert!(refused.to_string().starts_with(&format!("{} keeps no runs", entry.id)), "{refused}");
                assert!(!folder.exists());
            }
        }
    }

    #[test]
    fn names_are_unique_and_fit_file_names() {
        for (at, entry) in CATALOGUE.iter().enumerate() {
            assert!(entry.id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{}", entry.id);
            assert!(CATALOGUE[..at].iter().all(|other| other.id != entry.id), "{}", entry.id);
        }
    }
}
