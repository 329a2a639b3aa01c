//! What the independent calculator says of every promise, on the standard error.

use wayleave_explain::Context;
use wayleave_explain::human::count;

/// How many violations a person reads.
const SHOWN: usize = 20;

/// What the calculator says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Sound,
    Unsound,
}

/// Derives every promise again; violations and a verdict go to the standard error.
pub(crate) fn recheck(context: &Context<'_>) -> Verdict {
    let Some(report) = wayleave::recheck(context) else {
        eprintln!("recheck: nothing was derived again, for this scheme reserves no queues");
        return Verdict::Unsound;
    };
    for violation in report.violations.iter().take(SHOWN) {
        eprintln!("broken promise: {violation}");
    }
    if let Some(more) = report.violations.len().checked_sub(SHOWN).filter(|&more| more > 0) {
        eprintln!("and {}", count(more, "more broken promise"));
    }
    let checked = format!(
        "recheck: {} and {} derived again",
        count(report.queues.len(), "queue"),
        count(report.flows.len(), "flow")
    );
    if report.is_sound() {
        eprintln!("{checked}: sound, every promise holds");
        return Verdict::Sound;
    }
    eprintln!("{checked}: UNSOUND, {}", count(report.violations.len(), "promise") + " broken");
    Verdict::Unsound
}
