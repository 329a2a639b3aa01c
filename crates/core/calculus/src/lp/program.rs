//! A linear program in exact numbers: the largest c x with A x <= b, and every x between two bounds.

use crate::Rational;

/// A variable of a [`LinearProgram`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variable(pub(crate) usize);

/// Linear program with an objective to be maximised.
///
/// ```
/// use wayleave_calculus::rational::whole;
/// use wayleave_calculus::lp::{LinearProgram, maximize};
/// // The largest x + 2 y with x + y <= 4, x <= 10 and y <= 3.
/// let mut program = LinearProgram::default();
/// let x = program.variable(whole(0), whole(10), whole(1));
/// let y = program.variable(whole(0), whole(3), whole(2));
/// program.at_most([(x, whole(1)), (y, whole(1))], whole(4));
/// assert_eq!(maximize(&program)?.bound, whole(7));
/// # Ok::<(), wayleave_calculus::lp::Unsolved>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LinearProgram {
    pub(crate) variables: Vec<Column>,
    pub(crate) rows: Vec<Row>,
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) low: Rational,
    pub(crate) high: Rational,
    pub(crate) objective: Rational,
}

/// A sum of multiples of variables, and its upper bound.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) terms: Vec<(usize, Rational)>,
    pub(crate) limit: Rational,
}

impl LinearProgram {
    /// Adds a variable between two bounds, with the coefficient `objective`. A program without a point between the
    /// bounds has no maximum, and any bound is valid.
    pub fn variable(&mut self, low: Rational, high: Rational, objective: Rational) -> Variable {
        self.variables.push(Column { low, high, objective });
        Variable(self.variables.len() - 1)
    }

    /// The sum of the terms is at most `limit`.
    pub fn at_most(&mut self, terms: impl IntoIterator<Item = (Variable, Rational)>, limit: Rational) {
        let terms = terms.into_iter().map(|(variable, factor)| (variable.0, factor)).collect();
        self.rows.push(Row { terms, limit });
    }

    /// Returns the numbers of variables and rows.
    pub fn size(&self) -> (usize, usize) {
        (self.variables.len(), self.rows.len())
    }
}
