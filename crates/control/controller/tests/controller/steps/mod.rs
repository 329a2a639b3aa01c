//! The controller, one step after the other.

mod answers;
mod changed;
mod clock;
mod foreign;
mod formats;
mod heartbeats;
mod kinds;
mod macs;
mod moves;
mod protection;
mod rules;
mod smoke;
mod what_if;
