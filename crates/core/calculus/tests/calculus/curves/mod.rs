//! Curves: textbook cases, corner cases, and what holds for all of them.

mod corner_cases;
mod properties;
mod textbook;
