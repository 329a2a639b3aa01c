//! Keys with a new name. A file may contain the old name for one release: the reader warns once for each old key and
//! file, and refuses a mapping with both names. Remove an entry one release after it was added.

/// A key with a new name, in one kind of mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenamedKey {
    /// The mapping, as messages call it: `RPC`, or the title of a scheme.
    pub of: &'static str,
    /// Name until version 0.2.
    pub old: &'static str,
    /// Name since version 0.3.
    pub new: &'static str,
}

/// Old and new keys by kind of mapping ([`Shape::what`](crate::fields::Shape)).
const RENAMED: &[(&str, &[(&str, &str)])] = &[
    (
        "uFAB",
        &[
            ("unit", "unitBandwidth"),
            ("target", "targetUtilization"),
            ("asks", "admitBeforeSend"),
            ("candidates", "candidatePaths"),
            ("freeze", "migrationBackoff"),
            ("violations", "violationRtts"),
            ("betterFor", "migrationHoldTime"),
            ("timeout", "probeTimeoutRtts"),
            ("idle", "idleRtts"),
            ("step", "startup"),
            ("rise", "windowIncrease"),
            ("floor", "fullWindowRate"),
            ("surplus", "excessSharing"),
            ("turns", "classWeights"),
            ("queue", "queueEstimate"),
            ("sum", "windowUnit"),
            ("unused", "unusedTokens"),
            ("filter", "bloomFilterSize"),
            ("remember", "dedupWindow"),
            ("clean", "pairExpiry"),
            ("interval", "measurementInterval"),
        ],
    ),
    (
        "uFAB-C",
        &[
            ("filter", "bloomFilterSize"),
            ("remember", "dedupWindow"),
            ("clean", "pairExpiry"),
            ("interval", "measurementInterval"),
        ],
    ),
    (
        "SCC",
        &[
            ("period", "feedbackPeriod"),
            ("law", "rateLaw"),
            ("step", "increaseFactor"),
            ("cut", "decreaseFactor"),
            ("brake", "overshootBackoff"),
            ("mostSteps", "maxIncreaseSteps"),
            ("rounds", "inFlightPeriods"),
            ("relief", "markedSlack"),
            ("floor", "minRate"),
            ("silence", "feedbackTimeout"),
            ("report", "reportInterval"),
            ("patience", "trackerTimeout"),
            ("slot", "decisionSlot"),
            ("late", "missedDeadline"),
            ("spare", "spareRate"),
        ],
    ),
    (
        "Parley",
        &[
            ("filled", "limitSaturation"),
            ("heavyInRack", "rackReportThreshold"),
            ("heavyInFabric", "fabricReportThreshold"),
        ],
    ),
    ("EyeQ", &[("floor", "minRate"), ("feedback", "staleFeedback")]),
    ("ElasticSwitch", &[("period", "partitionPeriod"), ("hold", "minHold"), ("holdMost", "maxHold")]),
    ("PicNIC'", &[("target", "targetPercent"), ("unit", "unitBandwidth")]),
    ("fixed limits", &[("pair", "pairRate")]),
    (
        "Swift",
        &[
            ("base", "baseTarget"),
            ("hop", "hopTarget"),
            ("range", "flowScalingRange"),
            ("low", "flowScalingMinWindow"),
            ("high", "flowScalingMaxWindow"),
            ("increase", "additiveIncrease"),
            ("decrease", "maxDecrease"),
            ("least", "minWindow"),
            ("endpoint", "endpointTarget"),
            ("timeouts", "resetTimeouts"),
        ],
    ),
    ("L2DCT", &[("low", "maxWeightSize"), ("high", "minWeightSize")]),
    ("pFabric", &[("timeout", "timeoutRtts"), ("probes", "probeTimeouts")]),
    (
        "Clove",
        &[
            ("gap", "flowletGap"),
            ("by", "pathMetric"),
            ("keep", "markedWeight"),
            ("pause", "reweightInterval"),
            ("interval", "measurementInterval"),
            ("probe", "probeInterval"),
            ("age", "recordExpiry"),
        ],
    ),
    ("Presto", &[("silence", "pathTimeout")]),
    ("a traffic source", &[("offer", "sendSchedule"), ("listed", "flows")]),
    ("RPC", &[("think", "thinkTime")]),
    ("a job", &[("pieces", "chunks")]),
    ("an outage", &[("silent", "undetected")]),
    ("sharing", &[("also", "otherSchemes"), ("idle", "idleTimeout")]),
    ("a fast-forward", &[("error", "maxError")]),
    ("an objective", &[("aim", "goal"), ("min", "weight")]),
];

/// Target of the log records about old keys; each record is one warning.
pub const KEY_WARNINGS: &str = "wayleave::keys";

/// Returns all renamed keys.
pub fn renamed_keys() -> impl Iterator<Item = RenamedKey> {
    let of_mapping = |&(of, keys): &(&'static str, &'static [(&'static str, &'static str)])| {
        keys.iter().map(move |&(old, new)| RenamedKey { of, old, new })
    };
    RENAMED.iter().flat_map(of_mapping)
}

/// Returns the entry of an old key of a mapping.
pub(crate) fn renamed_key(of: &str, old: &str) -> Option<RenamedKey> {
    renamed_keys().find(|key| key.of == of && key.old == old)
}
