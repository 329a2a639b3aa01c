//! The controller, one step after the other.

mod answers;
mod heard;
mod smoke;
mod what_if;
