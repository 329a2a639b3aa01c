//! The checks of the repository.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod arrows;
mod comments;
mod cycles;
mod dependencies;
mod documents;
mod extensions;
mod facade;
mod files;
mod machine;
mod modules;
mod names;
mod omissions;
mod picture;
mod prose;
mod repository;
mod summary;
mod targets;
mod toys;
mod words;
