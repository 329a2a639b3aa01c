//! Exact bounds from floating-point solutions.
//!
//! For the maximum of c x with A x <= b, l <= x <= h, ANY y >= 0 gives a bound (weak duality):
//!
//! c x <= b y + sum over j of max over l_j <= x_j <= h_j of (c - A' y)_j x_j.
//!
//! So the solver computes y, that is the solution of the dual program; y becomes a vector of fractions, negative
//! components become zero, and the right-hand side is computed exactly (Neumaier and Shcherbina, "Safe bounds in
//! linear and mixed-integer linear programming", Mathematical Programming 99, 2004, with fractions instead of
//! directed rounding). A bad y gives a large bound, never a wrong one.
//!
//! The optimal y of programs with simple numbers are simple fractions: the simple fractions nearest to the solver's
//! values are tried as well, and mostly give the exact maximum.

use microlp::{ComparisonOp, OptimizationDirection, Problem};
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{Signed, Zero};

use crate::Rational;
use crate::lp::LinearProgram;
use crate::rational::to_f64;

/// A bound is called loose if it exceeds the solver's own maximum by more than this relative difference.
pub const LOOSE: f64 = 1e-6;

/// Relative distances within which a simpler fraction is searched.
const SIMPLER: [f64; 3] = [1e-11, 1e-9, 1e-7];

/// The longest common denominator of simpler fractions.
const MAX_BITS: u64 = 512;

/// A maximum from above.
#[derive(Clone, Debug, PartialEq)]
pub struct Certified {
    /// Exact upper bound of the maximum, valid for any output of the solver.
    pub bound: Rational,
    /// The solver's value of the maximum: for [`Self::is_loose`] only.
    pub estimate: f64,
}

impl Certified {
    /// Returns `true` if the bound is more than [`LOOSE`] above the solver's value of the maximum.
    pub fn is_loose(&self) -> bool {
        to_f64(&self.bound) - self.estimate > LOOSE * self.estimate.abs().max(f64::MIN_POSITIVE)
    }
}

/// The solver gave up, for the reason that it gives.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
#[error("the solver of linear programs gave up: {}", .0)]
pub struct Unsolved(pub String);

/// Bounds the maximum of a program.
///
/// # Errors
/// If the solver gives up.
pub fn maximize(program: &LinearProgram) -> Result<Certified, Unsolved> {
    let scale = Scale::of(program);
    let (duals, estimate) = solve_dual(program, &scale)?;
    let exact: Vec<Rational> = duals.iter().map(|&dual| fraction(dual)).collect();
    let mut bound = bound_of(program, &exact);
    for tolerance in SIMPLER {
        let simple: Vec<Rational> = duals.iter().map(|&dual| simplest(dual, tolerance)).collect();
        if have_a_denominator(&simple) {
            bound = bound.min(bound_of(program, &simple));
        }
    }
    Ok(Certified { bound, estimate })
}

/// Returns `true` if the fractions have a common denominator that is small enough for fast computation. If not, they
/// are not those of a program with simple numbers.
fn have_a_denominator(fractions: &[Rational]) -> bool {
    let mut common = BigInt::from(1);
    for fraction in fractions {
        common = common.lcm(fraction.denom());
        if common.bits() > MAX_BITS {
            return false;
        }
    }
    true
}

/// The right-hand side of the inequality above, for multipliers that are not negative.
fn bound_of(program: &LinearProgram, multipliers: &[Rational]) -> Rational {
    let mut left: Vec<Rational> = program.variables.iter().map(|column| column.objective.clone()).collect();
    let mut bound = Rational::zero();
    for (row, multiplier) in program.rows.iter().zip(multipliers).filter(|(_, multiplier)| multiplier.is_positive()) {
        bound += multiplier * &row.limit;
        for (variable, factor) in &row.terms {
            left[*variable] -= multiplier * factor;
        }
    }
    for (column, left) in program.variables.iter().zip(left).filter(|(_, left)| !left.is_zero()) {
        bound += if left.is_positive() { &column.high } else { &column.low } * left;
    }
    bound
}

/// Units in which the numbers of a program are near one: powers of two, one for each variable and each row.
struct Scale {
    columns: Vec<f64>,
    rows: Vec<f64>,
    objective: f64,
}

impl Scale {
    fn of(program: &LinearProgram) -> Self {
        let width = |column: &crate::lp::program::Column| power_of_two(to_f64(&(&column.high - &column.low)));
        let columns: Vec<f64> = program.variables.iter().map(width).collect();
        let largest = |values: &mut dyn Iterator<Item = f64>| power_of_two(values.fold(0.0, f64::max));
        let rows = program.rows.iter().map(|row| {
            1.0 / largest(&mut row.terms.iter().map(|(variable, factor)| to_f64(factor).abs() * columns[*variable]))
        });
        let rows = rows.collect();
        let values = program.variables.iter().zip(&columns);
        let objective = 1.0 / largest(&mut values.map(|(column, scale)| to_f64(&column.objective).abs() * scale));
        Self { columns, rows, objective }
    }
}

/// The power of two below a number; 1 for zero.
fn power_of_two(number: f64) -> f64 {
    if number > 0.0 && number.is_finite() { number.log2().floor().exp2() } else { 1.0 }
}

/// Multipliers for the rows, and the maximum. With x = l + x' the dual is: the smallest b' y + w u with A' y + u >= c,
/// y >= 0 and u >= 0, for b' = b - A l and w = h - l.
fn solve_dual(program: &LinearProgram, scale: &Scale) -> Result<(Vec<f64>, f64), Unsolved> {
    let mut dual = Problem::new(OptimizationDirection::Minimize);
    let mut columns: Vec<Vec<(microlp::Variable, f64)>> = vec![Vec::new(); program.variables.len()];
    let rows: Vec<microlp::Variable> = (program.rows.iter().zip(&scale.rows))
        .map(|(row, unit)| {
            let at_low: Rational =
                row.terms.iter().map(|(index, factor)| factor * &program.variables[*index].low).sum();
            let cost = to_f64(&(&row.limit - at_low)) * unit;
            let multiplier = dual.add_var(cost, (0.0, f64::INFINITY));
            for (index, factor) in &row.terms {
                columns[*index].push((multiplier, to_f64(factor) * unit * scale.columns[*index]));
            }
            multiplier
        })
        .collect();
    let mut constant = Rational::zero();
    for ((column, unit), mut terms) in program.variables.iter().zip(&scale.columns).zip(columns) {
        constant += &column.objective * &column.low;
        let width = to_f64(&(&column.high - &column.low)) / unit;
        terms.push((dual.add_var(width, (0.0, f64::INFINITY)), 1.0));
        // Multipliers are in units of the objective, so that costs, right-hand sides and factors are all near one: the
        // solver takes what is far below that for zero, and then for the best.
        dual.add_constraint(terms.as_slice(), ComparisonOp::Ge, to_f64(&column.objective) * unit * scale.objective);
    }
    let solved = dual.solve().map_err(|error| Unsolved(error.to_string()))?;
    let Some(solution) = solved.solution() else { return Err(Unsolved("it found no solution".to_owned())) };
    let multipliers = rows.iter().zip(&scale.rows).map(|(&row, unit)| solution.var_value(row) * unit / scale.objective);
    let multipliers = multipliers.collect();
    Ok((multipliers, solution.objective() / scale.objective + to_f64(&constant)))
}

/// Converts a float exactly; negative numbers and NaN become zero.
fn fraction(number: f64) -> Rational {
    Rational::from_float(number).filter(Signed::is_positive).unwrap_or_else(Rational::zero)
}

/// The fraction with the smallest denominator that is near a number: its continued fraction, as far as it is needed.
fn simplest(number: f64, tolerance: f64) -> Rational {
    if number.is_nan() || number < f64::MIN_POSITIVE || number.is_infinite() {
        return Rational::zero();
    }
    let exact = fraction(number);
    let near = fraction(number * tolerance);
    let (mut before, mut last) = ((BigInt::from(0), BigInt::from(1)), (BigInt::from(1), BigInt::from(0)));
    let mut rest = exact.clone();
    loop {
        let whole = rest.floor().to_integer();
        let next = (&whole * &last.0 + &before.0, &whole * &last.1 + &before.1);
        let candidate = Rational::new(next.0.clone(), next.1.clone());
        if (&candidate - &exact).abs() <= near {
            return candidate;
        }
        (before, last) = (last, next);
        rest = (rest - Rational::from_integer(whole)).recip();
    }
}

#[cfg(test)]
mod tests {
    use crate::rational::{ratio, whole};

    use super::*;

    fn example() -> LinearProgram {
        let mut program = LinearProgram::default();
        let x = program.variable(whole(-3), whole(10), whole(1));
        let y = program.variable(whole(0), whole(100), whole(1));
        program.at_most([(x, whole(3)), (y, whole(1))], whole(7));
        program.at_most([(x, whole(-1)), (y, whole(7))], whole(5));
        program
    }

    #[test]
    fn the_maximum_is_found_exactly() {
        // 3 x + y = 7 and 7 y - x = 5: x = 2, y = 1.
        let certified = maximize(&example()).unwrap();
        assert_eq!(certified.bound, whole(3));
        assert!(!certified.is_loose() && (certified.estimate - 3.0).abs() < 1e-9);
    }

    #[test]
    fn the_bound_holds_for_any_multipliers() {
        let program = example();
        for (one, other) in [(0, 0), (1, 0), (0, 1), (7, 3), (1, 1)] {
            let multipliers = [ratio(one, 22).unwrap(), ratio(other, 22).unwrap()];
            assert!(bound_of(&program, &multipliers) >= whole(3), "{one} {other}");
        }
        assert_eq!(bound_of(&program, &[ratio(8, 22).unwrap(), ratio(2, 22).unwrap()]), whole(3));
        // Without any row: the largest values of all variables.
        assert_eq!(bound_of(&program, &[whole(-1), whole(0)]), whole(110));
    }

    #[test]
    fn a_bound_far_above_the_estimate_is_loose() {
        assert!(Certified { bound: whole(3), estimate: 2.9999 }.is_loose());
        assert!(!Certified { bound: whole(3), estimate: 3.0 - 1e-9 }.is_loose());
    }

    #[test]
    fn the_simplest_fraction_near_a_number_is_found() {
        assert_eq!(simplest(1.0 / 3.0, 1e-11), ratio(1, 3).unwrap());
        assert_eq!(simplest(1.0 / 90_000_000.0, 1e-9), ratio(1, 90_000_000).unwrap());
        assert_eq!(simplest(2.0 + 1e-13, 1e-11), whole(2));
        for nothing in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(simplest(nothing, 1e-9), whole(0));
        }
    }
}
