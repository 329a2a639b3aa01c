//! Assertions on the statements of a figure: each of them can fail, in each direction that its range has.

use std::cell::RefCell;

use super::{Check, Outcome, Statement};

/// Name of a change, and the change.
pub(crate) type Change<'a, D> = (&'a str, &'a dyn Fn(&mut D));

/// Asserts that verdicts can change. For each statement that is compared, numbers outside of each finite end of its range are planted,
/// and have to be outside; and a change of the data has to bring it from the inside to the outside or back, or two changes where the
/// range has two ends. Zero is no such end: times and sizes are never less. Each change has to turn a statement.
///
/// # Panics
/// If a statement cannot fail, or a change does nothing; with the statement or the name of the change.
pub(crate) fn assert_each_can_change<D: Clone>(
    data: &D,
    statements: impl Fn(&D) -> Vec<Statement>,
    changes: &[Change<'_, D>],
) {
    let before = statements(data);
    assert_all_can_fail(&before);
    let mut turned = vec![0; before.len()];
    for (name, change) in changes {
        let mut data = data.clone();
        change(&mut data);
        let after = statements(&data);
        assert_eq!(before.len(), after.len(), "{name}: other statements");
        let pairs = before.iter().zip(&after).map(|(before, after)| [before.outcome(), after.outcome()]);
        let is_decided = |outcome: &Outcome| matches!(outcome, Outcome::Inside | Outcome::Outside);
        let turns: Vec<usize> =
            pairs.map(|pair| usize::from(pair[0] != pair[1] && pair.iter().all(is_decided))).collect();
        assert!(turns.contains(&1), "{name} changes no verdict: {after:#?}");
        turned.iter_mut().zip(turns).for_each(|(turned, turn)| *turned += turn);
    }
    for (statement, turned) in before.iter().zip(turned) {
        let is_end = |end: &&f64| end.is_finite() && **end != 0.0;
        let ends = match (statement.check, statement.range) {
            (Check::Nothing, _) | (_, None) => 0,
            (Check::Truth, _) => 1,
            (_, Some(range)) => range.iter().filter(is_end).count().max(1),
        };
        assert!(turned >= ends, "{turned} of {ends} changes turn its verdict: {statement:#?}");
    }
}

thread_local! {
    /// Statements that were checked by this thread.
    static CHECKED: RefCell<Vec<Statement>> = const { RefCell::new(Vec::new()) };
}

/// Returns the statements that a check of a figure has checked.
pub(crate) fn recorded(check: fn()) -> Vec<Statement> {
    CHECKED.with_borrow_mut(Vec::clear);
    check();
    CHECKED.take()
}

/// Asserts that each statement can fail, and that a reading of a claim occurs once.
pub(crate) fn assert_all_can_fail(statements: &[Statement]) {
    statements.iter().for_each(assert_can_fail);
    assert_names_differ(statements);
    CHECKED.with_borrow_mut(|checked| checked.extend_from_slice(statements));
}

/// Asserts that numbers outside of each finite end are outside, and that there is such an end.
fn assert_can_fail(statement: &Statement) {
    let Some([low, high]) = statement.range else { return };
    let planted = |value: f64| {
        let estimate = statement.check.estimate(&[value; 2]);
        Statement { estimate, ..statement.clone() }.outcome()
    };
    let off = |end: f64| (end.abs() * 1e-3).max(1e-6);
    assert!(low.is_finite() || high.is_finite(), "its range has no end: {statement:#?}");
    for outside in [low - off(low), high + off(high)].into_iter().filter(|value| value.is_finite()) {
        assert_eq!(planted(outside), Outcome::Outside, "{outside}: {statement:#?}");
    }
    let inside = if low.is_finite() { low } else { high };
    assert_eq!(planted(inside), Outcome::Inside, "{inside}: {statement:#?}");
}

/// Asserts that a reading of a claim occurs once, and that all readings are compared with one range.
fn assert_names_differ(statements: &[Statement]) {
    for (at, one) in statements.iter().enumerate() {
        for other in statements[..at].iter().filter(|other| other.claim_text == one.claim_text) {
            assert!(other.reading != one.reading, "twice: {one:#?}");
            // Otherwise a claim would hold by its easiest range.
            assert!((other.check, other.range) == (one.check, one.range), "a range of its own: {one:#?} {other:#?}");
        }
    }
}

#[test]
#[should_panic(expected = "1 of 2 changes")]
fn a_range_with_two_ends_needs_two_changes() {
    let statements = |number: &f64| vec![Statement::within("1", "says", 1.0..=2.0, &[*number], "")];
    assert_each_can_change(&1.5, statements, &[("more", &|number| *number = 3.0)]);
}

#[test]
#[should_panic(expected = "a range of its own")]
fn a_reading_with_an_easier_range_is_noticed() {
    let statement = |most: f64| Statement::within("1", "says", 1.0..=most, &[1.0], "");
    assert_names_differ(&[statement(2.0), statement(20.0).reading("another")]);
}

#[test]
#[should_panic(expected = "its range has no end")]
fn a_statement_that_cannot_fail_is_detected() {
    let statement = Statement::within("1", "says", 1.0..=2.0, &[1.0], "");
    assert_can_fail(&Statement { range: Some([f64::NEG_INFINITY, f64::INFINITY]), ..statement });
}
