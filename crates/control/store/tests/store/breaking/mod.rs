//! Tests that try to break the store, and must not succeed.
//!
//! - `kills`: a program that commits is killed at each of its writes and syncs, or they fail.
//! - `cuts`: the power fails at any moment; of the data that was not synced, any sectors are on disk.
//! - `damage`: bits flip, files are cut or exchanged, pages and rows are old.
//!
//! `WAYLEAVE_BREAKING=10` makes all of them ten times as long, `all` tries every point. A failure prints the command
//! that reproduces it.

mod cuts;
mod damage;
mod kills;
mod writer;

/// Returns the factor of the usual duration of the tests.
fn factor() -> usize {
    match std::env::var("WAYLEAVE_BREAKING").as_deref() {
        Ok("all") => 1_000_000,
        Ok(text) => text.parse().expect("WAYLEAVE_BREAKING is a number or all"),
        Err(_) => 1,
    }
}

/// The seed of a test: its own, or the one of WAYLEAVE_SEED.
fn seed(own: u64) -> u64 {
    std::env::var("WAYLEAVE_SEED").map_or(own, |text| text.parse().expect("WAYLEAVE_SEED is a number"))
}
