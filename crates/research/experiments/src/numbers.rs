//! Numbers read back from JSON, which has no word for those that are not finite: they are written as `null`.

use serde::{Deserialize, Deserializer};

/// A number; not a number where there is `null`.
pub(crate) fn one<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

/// The same for each of several.
pub(crate) fn many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let numbers: Vec<Option<f64>> = Vec::deserialize(from)?;
    Ok(numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
}

/// An interval; an end that is `null` is open.
pub(crate) fn interval<'de, D: Deserializer<'de>>(from: D) -> Result<Option<[f64; 2]>, D::Error> {
    let ends: Option<[Option<f64>; 2]> = Option::deserialize(from)?;
    Ok(ends.map(|[low, high]| [low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY)]))
}
