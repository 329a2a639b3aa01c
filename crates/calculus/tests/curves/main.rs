//! Curves: textbook cases, corner cases, and what holds for all of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod corner_cases;
mod properties;
mod textbook;
