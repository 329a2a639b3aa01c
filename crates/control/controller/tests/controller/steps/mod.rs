//! The controller, one step after the other.

mod answers;
mod changed;
mod clock;
mod formats;
mod heard;
mod kinds;
mod macs;
mod moves;
mod protection;
mod rules;
mod smoke;
mod what_if;
