//! The controller, one step after the other.

mod answers;
mod smoke;
mod what_if;
