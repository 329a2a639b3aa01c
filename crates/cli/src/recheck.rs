//! Output of the independent calculator's results for every promise, on the standard error.

use wayleave::{ReservationLog, Session, Watch};
use wayleave_explain::human::count;
use wayleave_explain::{Context, claimed_shares};

use crate::progress::Progress;

/// Maximum number of violations that are printed.
const SHOWN: usize = 20;

/// Result of the calculator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoundSource {
    Sound,
    Unsound,
}

/// Derives every promise again; violations and a verdict go to the standard error.
pub(crate) fn recheck(context: &Context<'_>, progress: &mut Progress) -> BoundSource {
    let Some(report) = wayleave::recheck(context, &mut Watch::progress(progress)) else {
        crate::output::tell!("recheck: nothing to recompute: this scheme reserves no queues");
        return BoundSource::Unsound;
    };
    for violation in report.violations.iter().take(SHOWN) {
        crate::output::tell!("guarantee violated: {violation}");
    }
    if let Some(more) = report.violations.len().checked_sub(SHOWN).filter(|&more| more > 0) {
        crate::output::tell!("and {}", count(more, "more violation"));
    }
    let broken = wayleave::recheck_shares(context, &mut Watch::progress(progress));
    broken.iter().take(SHOWN).for_each(|one| crate::output::tell!("guarantee violated: {one}"));
    let mut parts = vec![count(report.queues.len(), "queue"), count(report.flows.len(), "flow")];
    let shares = claimed_shares(context).len();
    parts.extend((shares > 0).then(|| count(shares, "share")));
    let (last, others) =
        parts.split_last().map_or((String::new(), String::new()), |(last, others)| (last.clone(), others.join(", ")));
    let checked = format!("recheck: {others} and {last} recomputed independently");
    if report.is_sound() && broken.is_empty() {
        crate::output::tell!("{checked}: sound, all guarantees hold");
        return BoundSource::Sound;
    }
    crate::output::tell!("{checked}: UNSOUND, {}", count(report.violations.len() + broken.len(), "violation"));
    BoundSource::Unsound
}

/// Checks every moment at which contracts were added, moved or removed: all packets that could be in flight fit.
/// Prints nothing if no contract left a route.
pub(crate) fn recheck_transitions<S>(
    stays: &ReservationLog<S>,
    session: &Session,
    progress: &mut Progress,
) -> BoundSource {
    let shares = recheck_shares_over_time(stays, session, progress);
    let Some(found) = stays.check(session, &mut Watch::progress(progress)) else { return shares };
    for one in found.overbooked.iter().take(SHOWN) {
        crate::output::tell!("overbooked: {one}");
    }
    if let Some(more) = found.overbooked.len().checked_sub(SHOWN).filter(|&more| more > 0) {
        crate::output::tell!("and {} more", count(more, "overbooked port"));
    }
    let checked = format!(
        "recheck: {} from a route, and {} of flows that can share a link at the same time checked",
        count(found.departures, "departure"),
        count(found.sets, "set")
    );
    match found.overbooked.len() {
        0 if found.departures == 0 => {}
        0 => crate::output::tell!("{checked}: no port was ever overbooked"),
        many => crate::output::tell!("{checked}: UNSOUND, {} overbooked", count(many, "time")),
    }
    if found.overbooked.is_empty() { shares } else { BoundSource::Unsound }
}

/// Derives minima and weights at every moment, including packets still on their links. Prints nothing if there are
/// none.
fn recheck_shares_over_time<S>(stays: &ReservationLog<S>, session: &Session, progress: &mut Progress) -> BoundSource {
    let Some(found) = stays.check_shares(session, &mut Watch::progress(progress)) else { return BoundSource::Sound };
    // If no contract ever left, the end is the only moment.
    if found.sets == 0 && found.broken.is_empty() {
        return BoundSource::Sound;
    }
    found.broken.iter().take(SHOWN).for_each(|one| crate::output::tell!("guarantee violated: {one}"));
    if let Some(more) = found.broken.len().checked_sub(SHOWN).filter(|&more| more > 0) {
        crate::output::tell!("and {}", count(more, "more violation"));
    }
    let checked = format!(
        "recheck: {} of shares and flows that can share a link at the same time recomputed independently",
        count(found.sets, "set")
    );
    if found.broken.is_empty() {
        crate::output::tell!("{checked}: every minimum and weight fits at every moment");
        return BoundSource::Sound;
    }
    crate::output::tell!("{checked}: UNSOUND, {}", count(found.broken.len(), "violation"));
    BoundSource::Unsound
}
