//! The delay between two places: light in a fibre along the great circle.

use wayleave_units::Time;

/// The mean radius of the earth in m (IUGG, R1).
const EARTH_RADIUS: f64 = 6_371_008.8;
/// The speed of light in m/s (exact by the definition of the metre).
const LIGHT: f64 = 299_792_458.0;
/// Light in glass has about two thirds of its speed (refractive index 1.5).
const IN_FIBRE: f64 = 2.0 / 3.0;

/// Longitude and latitude, in radians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Coordinates {
    longitude: f64,
    latitude: f64,
}

impl Coordinates {
    /// From degrees; `None` if there is no such place.
    pub(super) fn new(longitude: f64, latitude: f64) -> Option<Self> {
        let on_earth = (-180.0..=360.0).contains(&longitude) && (-90.0..=90.0).contains(&latitude);
        on_earth.then(|| Self { longitude: longitude.to_radians(), latitude: latitude.to_radians() })
    }

    /// Returns the travel time of light to another place, rounded up to whole us: the last digits of trigonometry
    /// differ between machines, and no delay may.
    pub(super) fn delay_to(self, other: Self) -> Time {
        let half = |a: f64, b: f64| ((a - b) / 2.0).sin().powi(2);
        let across = half(self.longitude, other.longitude) * self.latitude.cos() * other.latitude.cos();
        let haversine = (half(self.latitude, other.latitude) + across).clamp(0.0, 1.0);
        delay_of(2.0 * EARTH_RADIUS * haversine.sqrt().asin())
    }
}

/// The time of light through this length of fibre in metres, rounded up to whole us.
pub(super) fn delay_of(metres: f64) -> Time {
    let micros = metres / (LIGHT * IN_FIBRE) * 1e6;
    // Half the earth is 100 ms away, so this fits. The arithmetic error is at most a picosecond.
    Time::from_micros((micros - 1e-6).ceil().max(0.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn geographic_distances_become_delays() {
        let place = |longitude, latitude| Coordinates::new(longitude, latitude).unwrap();
        let (pole, equator, antipode) = (place(0.0, 90.0), place(77.0, 0.0), place(0.0, -90.0));
        // A quarter of a great circle is pi/2 * 6371.0088 km = 10,007.557 km; at 199,861.639 km/s that takes 50.0724 ms.
        assert_eq!(pole.delay_to(equator), Time::from_micros(50_073));
        assert_eq!(pole.delay_to(antipode), Time::from_micros(100_145));
        assert_eq!(equator.delay_to(pole), pole.delay_to(equator));
        assert_eq!(pole.delay_to(pole), Time::ZERO);
        // Across the date line is near.
        assert_eq!(place(180.0, 10.0).delay_to(place(-180.0, 10.0)), Time::ZERO);
        assert!(Coordinates::new(0.0, 91.0).is_none() && Coordinates::new(400.0, 0.0).is_none());
    }
}
