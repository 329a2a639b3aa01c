//! The cubic function of RFC 9438, section 4.2, and its inverse.

use wayleave_units::Time;

/// C: how steep the curve is, in segments/s^3 (RFC 9438, section 5.1).
pub const SCALE: f64 = 0.4;

/// beta_cubic: part of the window that remains after a loss (RFC 9438, section 4.6).
pub const BETA: f64 = 0.7;

/// W_cubic: how large the window is after some time, in segments.
///
/// ```
/// use wayleave_schemes::transport::cubic::Curve;
/// use wayleave_units::Time;
///
/// let curve = Curve::from_window(70.0, 100.0);
/// assert!((curve.plateau_after - 4.217_163).abs() < 1e-6);
/// assert!((curve.at(Time::ZERO) - 70.0).abs() < 1e-9);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// W_max, in segments.
    pub plateau: f64,
    /// K, in s.
    pub plateau_after: f64,
}

impl Curve {
    /// From this window at the start up to the plateau, in segments (RFC 9438, equation 2). No plateau is below the
    /// start.
    pub fn from_window(window: f64, plateau: f64) -> Self {
        Self { plateau: plateau.max(window), plateau_after: cube_root((plateau - window) / SCALE) }
    }

    /// The window after this time, in segments (RFC 9438, equation 1).
    #[inline]
    pub fn at(&self, elapsed: Time) -> f64 {
        let offset = elapsed.as_nanos() as f64 / 1e9 - self.plateau_after;
        SCALE * (offset * offset * offset) + self.plateau
    }
}

/// Dividing the bits of a double by three divides its logarithm by three, but for the offset of the exponent, of which
/// two thirds have to come back. With this constant the result is at most 5 % off (FreeBSD's msun, `s_cbrt.c`, B1).
const ROOT_OFFSET: u64 = 715_094_163 << 32;

/// Each step squares the relative error: 0.05, 3e-3, 1e-5, 1e-10, below 2^-53.
const STEPS: usize = 5;

/// The cube root; 0 for anything below the smallest normal number. By Newton's method, because the library's result
/// may differ between machines.
fn cube_root(value: f64) -> f64 {
    if !value.is_normal() || value < 0.0 {
        return 0.0;
    }
    let guess = f64::from_bits(value.to_bits() / 3 + ROOT_OFFSET);
    (0..STEPS).fold(guess, |root, _| root - (root - value / (root * root)) / 3.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots_are_correct_to_the_last_digits() {
        for exponent in -40..=40 {
            for step in 0..50 {
                let root = (1.0 + f64::from(step) / 49.0) * 2.0_f64.powi(exponent);
                let found = cube_root(root * root * root);
                assert!((found / root - 1.0).abs() < 1e-15, "{root}: {found}");
            }
        }
        assert_eq!((cube_root(0.0), cube_root(-1.0), cube_root(f64::NAN)), (0.0, 0.0, 0.0));
    }

    #[test]
    fn after_a_loss_at_100_segments_the_curve_is_the_one_computed_by_hand() {
        // K^3 = 100 * 0.3 / 0.4 = 75 s^3; one second before and after the plateau the window is 0.4 away from it.
        let curve = Curve::from_window(70.0, 100.0);
        assert!((curve.plateau_after.powi(3) - 75.0).abs() < 1e-12);
        let at = |seconds: f64| curve.at(Time::from_nanos((seconds * 1e9) as u64));
        let after = curve.plateau_after;
        for (time, window) in
            [(0.0, 70.0), (after - 1.0, 99.6), (after, 100.0), (after + 1.0, 100.4), (2.0 * after, 130.0)]
        {
            assert!((at(time) - window).abs() < 1e-6, "{time}: {}", at(time));
        }
    }

    #[test]
    fn a_curve_whose_plateau_is_reached_begins_flat() {
        let curve = Curve::from_window(80.0, 50.0);
        assert_eq!(curve, Curve { plateau: 80.0, plateau_after: 0.0 });
        assert!((curve.at(Time::from_millis(10_000)) - 480.0).abs() < 1e-9);
    }
}
