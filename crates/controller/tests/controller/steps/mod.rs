//! The controller, one step after the other.

mod heard;
mod smoke;
mod what_if;
