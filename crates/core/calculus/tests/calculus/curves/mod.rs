//! Curves: textbook cases, corner cases, and general properties.

mod corner_cases;
mod properties;
mod textbook;
