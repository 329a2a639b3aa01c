//! Old names of keys: each is read like the new one, with one warning, and refused beside the new one.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Once;

use wayleave_formats::{KEY_WARNINGS, RenamedKey, Source, parse_builder, read_contracts_of_all_kinds, renamed_keys};

use crate::common::scenarios::{messages, read};

/// Documents by kind of mapping, with `PAIR` for a key and its value.
const DOCUMENTS: &[(&str, &str)] = &[
    ("uFAB", "sharing: { scheme: { ufab: { PAIR } }, MACHINE }"),
    ("uFAB-C", "switches: { ecn: { ufabCore: { PAIR } } }"),
    (
        "SCC",
        "sharing: { scheme: { scc: { PAIR } }, machine: { services: [ { name: a, share: 1Gbit, objective: latency } ] } }",
    ),
    ("Parley", "sharing: { scheme: { parley: { PAIR } }, MACHINE }"),
    ("EyeQ", "sharing: { scheme: { eyeq: { PAIR } }, MACHINE }"),
    ("ElasticSwitch", "sharing: { scheme: { elasticswitch: { PAIR } }, MACHINE }"),
    ("PicNIC'", "sharing: { scheme: { picnic: { PAIR } }, MACHINE }"),
    ("fixed limits", "sharing: { scheme: { staticLimits: { PAIR } }, MACHINE }"),
    ("Swift", "transport: { congestion: { swift: { PAIR } } }"),
    ("L2DCT", "transport: { congestion: { l2dct: { PAIR } } }"),
    ("pFabric", "transport: { congestion: { pfabric: { PAIR } } }"),
    ("Clove", "routing: { clove: { PAIR } }"),
    ("Presto", "routing: { flowcell: { size: 64KiB, PAIR } }"),
    ("a traffic source", "traffic: [ { name: a, PAIR } ]"),
    ("RPC", "traffic: [ { name: a, sizes: 1kB, rpc: { answer: 1kB, PAIR } } ]"),
    ("a job", "traffic: [ { name: a, job: { collective: all-to-all, data: 4kB, PAIR } } ]"),
    ("an outage", "outages: [ { at: 1ms, fail: s1, PAIR } ]"),
    ("sharing", "sharing: { scheme: eyeq, MACHINE, PAIR }"),
    ("a fast-forward", "fastForward: { PAIR }"),
    (
        "an objective",
        "apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n    - { name: o, objective: { members: [h1, h2], PAIR } }\n",
    ),
];

/// Keys by kind of mapping, by their new names, each with a value that is not the default.
const VALUES: &[(&str, &[(&str, &str)])] = &[
    (
        "uFAB",
        &[
            ("unitBandwidth", "2Mbit"),
            ("targetUtilization", "0.9"),
            ("admitBeforeSend", "true"),
            ("candidatePaths", "3"),
            ("migrationBackoff", "5"),
            ("violationRtts", "6"),
            ("migrationHoldTime", "1s"),
            ("probeTimeoutRtts", "9"),
            ("idleRtts", "17"),
            ("startup", "as-printed"),
            ("windowIncrease", "free"),
            ("fullWindowRate", "nothing"),
            ("excessSharing", "weights"),
            ("classWeights", "as-printed"),
            ("queueEstimate", "as-printed"),
            ("windowUnit", "as-printed"),
            ("unusedTokens", "as-printed"),
            ("bloomFilterSize", "40kB"),
            ("dedupWindow", "6ms"),
            ("pairExpiry", "11s"),
            ("measurementInterval", "25us"),
        ],
    ),
    (
        "uFAB-C",
        &[("bloomFilterSize", "40kB"), ("dedupWindow", "6ms"), ("pairExpiry", "11s"), ("measurementInterval", "25us")],
    ),
    (
        "SCC",
        &[
            ("feedbackPeriod", "200us"),
            ("rateLaw", "as-printed"),
            ("increaseFactor", "0.02"),
            ("decreaseFactor", "0.05"),
            ("overshootBackoff", "0.2"),
            ("maxIncreaseSteps", "4"),
            ("inFlightPeriods", "2"),
            ("markedSlack", "0.5"),
            ("minRate", "1Mbit"),
            ("feedbackTimeout", "5"),
            ("reportInterval", "2ms"),
            ("trackerTimeout", "6"),
            ("decisionSlot", "2ms"),
            ("missedDeadline", "urgent"),
            ("spareRate", "earliest-deadline"),
        ],
    ),
    ("Parley", &[("limitSaturation", "0.8"), ("rackReportThreshold", "1Mbit"), ("fabricReportThreshold", "2Mbit")]),
    ("EyeQ", &[("minRate", "2Mbit"), ("staleFeedback", "timed")]),
    ("ElasticSwitch", &[("partitionPeriod", "10ms"), ("minHold", "10ms"), ("maxHold", "200ms")]),
    ("PicNIC'", &[("targetPercent", "90"), ("unitBandwidth", "100Mbit")]),
    ("fixed limits", &[("pairRate", "5Mbit")]),
    (
        "Swift",
        &[
            ("baseTarget", "30us"),
            ("hopTarget", "2us"),
            ("flowScalingRange", "90us"),
            ("flowScalingMinWindow", "0.2"),
            ("flowScalingMaxWindow", "90"),
            ("additiveIncrease", "0.5"),
            ("maxDecrease", "0.4"),
            ("minWindow", "0.02"),
            ("endpointTarget", "90us"),
            ("resetTimeouts", "4"),
        ],
    ),
    ("L2DCT", &[("maxWeightSize", "100kB"), ("minWeightSize", "2MB")]),
    ("pFabric", &[("timeoutRtts", "4"), ("probeTimeouts", "6")]),
    (
        "Clove",
        &[
            ("flowletGap", "100us"),
            ("pathMetric", "marks"),
            ("markedWeight", "0.5"),
            ("reweightInterval", "50us"),
            ("measurementInterval", "90us"),
            ("probeInterval", "2ms"),
            ("recordExpiry", "11ms"),
        ],
    ),
    ("Presto", &[("pathTimeout", "2ms")]),
    (
        "a traffic source",
        &[("sendSchedule", "300Mbit, sizes: 1MB"), ("flows", "[{ at: 1ms, from: h1, to: h2, size: 1kB }]")],
    ),
    ("RPC", &[("thinkTime", "1ms")]),
    ("a job", &[("chunks", "2")]),
    ("an outage", &[("undetected", "true")]),
    ("sharing", &[("otherSchemes", "[ { scheme: static-limits, services: [a] } ]"), ("idleTimeout", "7ms")]),
    ("a fast-forward", &[("maxError", "0.01")]),
    ("an objective", &[("goal", "completion, weight: 1Mbit"), ("weight", "1Mbit, goal: completion")]),
];

thread_local! {
    static WARNINGS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Collects the warnings of each thread.
struct Collector;

impl log::Log for Collector {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target() == KEY_WARNINGS
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            WARNINGS.with_borrow_mut(|warnings| warnings.push(record.args().to_string()));
        }
    }

    fn flush(&self) {}
}

/// Returns the value of a document, or its problems; with the warnings.
fn outcome(of: &str, pair: &str) -> (Result<String, Vec<String>>, Vec<String>) {
    static LOGGER: Once = Once::new();
    LOGGER.call_once(|| {
        log::set_logger(&Collector).unwrap();
        log::set_max_level(log::LevelFilter::Warn);
    });
    WARNINGS.take();
    let (_, document) = DOCUMENTS.iter().find(|(known, _)| *known == of).unwrap_or_else(|| panic!("{of}"));
    let text = document.replace("PAIR", pair);
    let value = match of {
        "an objective" => {
            let network = parse_builder("star:hosts=4").unwrap().network;
            let read = read_contracts_of_all_kinds(&Source::new("s.yaml", text), &network);
            read.map(|list| format!("{:?}", list.contracts())).map_err(|errors| messages(Err::<(), _>(errors)))
        }
        _ => {
            let machine = "machine: { services: [ { name: a, min: 1Mbit } ] }";
            let traffic = if text.starts_with("traffic") { "" } else { "\n  traffic: [ { name: a, sizes: 1MB } ]" };
            let text = text.replace("MACHINE", machine);
            let read = read(&format!("  topology: star:hosts=4,rate=10Gbit\n  duration: 10ms\n  {text}{traffic}\n"));
            read.map(|file| format!("{:?}", file.runs)).map_err(|errors| messages(Err::<(), _>(errors)))
        }
    };
    (value, WARNINGS.take())
}

#[test]
fn every_old_key_has_the_value_of_the_new_one_and_one_warning() {
    let mut seen = BTreeSet::new();
    for &(of, values) in VALUES {
        for &(new, value) in values {
            let olds: Vec<RenamedKey> = renamed_keys().filter(|key| key.of == of && key.new == new).collect();
            let [RenamedKey { old, .. }] = olds[..] else { panic!("{of}, {new}: {olds:?}") };
            seen.insert((of, old));
            let context = format!("{of}: {old}, {new}");
            let (before, warnings) = outcome(of, &format!("{old}: {value}"));
            assert!(before.is_ok(), "{context}: {before:?}");
            let [warning] = &warnings[..] else { panic!("{context}: {warnings:?}") };
            let expected = format!("\"{old}\" of {of} is now called \"{new}\"");
            assert!(warning.starts_with("s.yaml:") && warning.contains(&expected), "{context}: {warning}");
            assert_eq!(outcome(of, &format!("{new}: {value}")), (before.clone(), Vec::new()), "{context}");
            assert_ne!(outcome(of, "").0, before, "{context}: the value has to differ from the default");
        }
    }
    let all: BTreeSet<_> = renamed_keys().map(|key| (key.of, key.old)).collect();
    assert_eq!(seen, all);
}

#[test]
fn a_mapping_with_both_names_of_a_key_is_refused() {
    for &(of, values) in VALUES {
        for &(new, value) in values {
            let old = renamed_keys().find(|key| key.of == of && key.new == new).unwrap().old;
            for [first, second] in [[old, new], [new, old]] {
                let (read, _) = outcome(of, &format!("{first}: {value}, {second}: {value}"));
                let problems = read.unwrap_err();
                let expected = format!("\"{second}\" and \"{first}\"");
                assert!(problems.iter().any(|problem| problem.contains(&expected)), "{of}, {new}: {problems:?}");
            }
        }
    }
}

#[test]
fn an_old_key_in_many_runs_is_warned_of_once() {
    let text = "  topology: star:hosts=4\n  duration: 10ms\n  traffic: [ { name: a, sizes: 1MB } ]
  sharing: { scheme: { ufab: { asks: true } }, machine: { services: [ { name: a, min: 1Mbit } ] } }
  sweep: { vary: { traffic.a.sizes: [1MB, 2MB, 3MB] } }\n";
    drop(outcome("uFAB", ""));
    assert_eq!(read(text).unwrap().runs.len(), 3);
    let warnings = WARNINGS.take();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].starts_with("s.yaml:7:32: \"asks\" of uFAB is now called \"admitBeforeSend\"\n"),
        "{}",
        warnings[0]
    );
}

#[test]
fn a_sweep_over_an_old_key_varies_the_new_one() {
    let varied = |path: &str| {
        let text = format!(
            "  topology: star:hosts=4\n  duration: 10ms\n  traffic: [ {{ name: a, sizes: 1MB }} ]
  sharing: {{ scheme: {{ ufab: {{}} }}, machine: {{ services: [ {{ name: a, min: 1Mbit }} ] }} }}
  sweep: {{ vary: {{ sharing.scheme.ufab.{path}: [3, 5] }} }}\n"
        );
        let runs = read(&text).unwrap_or_else(|errors| panic!("{errors}")).runs;
        runs.into_iter().map(|run| format!("{:?}", run.scenario)).collect::<Vec<_>>()
    };
    assert_eq!(varied("candidates"), varied("candidatePaths"));
    assert_eq!(varied("candidates").len(), 2);
}
