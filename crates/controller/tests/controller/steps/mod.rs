//! The controller, one step after the other.

mod answers;
mod heard;
mod kinds;
mod smoke;
mod what_if;
