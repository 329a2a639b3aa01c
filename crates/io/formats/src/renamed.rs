//! Keys with a new name. A file may contain the old name for one release: the reader warns once for each old key and
//! file, and refuses a mapping with both names. Remove an entry one release after it was added.

use crate::location::Span;
use crate::messages::quoted;
use crate::problem::{Problem, ProblemKind, Problems};

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

impl Problems<'_> {
    /// Warns of an old key, once for each source.
    pub(crate) fn warn_of_old_key(&mut self, key: RenamedKey, span: Span) {
        if self.old_keys.contains(&key) {
            return;
        }
        self.old_keys.push(key);
        let RenamedKey { of, old, new } = key;
        let message = format!("{} of {of} is now called {}", quoted(old), quoted(new));
        let problem = Problem::at(self.source(), span, ProblemKind::OldKey, &message);
        let problem = problem.with_hint(&format!("write {new}: the next release refuses {old}"));
        log::warn!(target: KEY_WARNINGS, "{problem}");
    }
}
