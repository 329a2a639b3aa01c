//! The controller, one step after the other.

mod smoke;
mod what_if;
