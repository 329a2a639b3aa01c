//! What `wayleave sim` is made of, beside its options: which runs there are, how they are run, what is kept of them.
//!
//! A scenario file becomes a [`batch::Batch`] of runs. [`runner`] runs them on all cores; what a run found out becomes a
//! [`result::RunResult`], whose JSON depends on nothing but the input, the seed and the version. [`store`] keeps
//! it in a file of its own as soon as it is there, so that a batch can be stopped and resumed. Everything that is shown
//! (the [`summary`] on the terminal, the report of [`crate::report::sim`]) is a function of these results.
//!
//! | module | what |
//! |---|---|
//! | [`batch`] | runs, the hash of their input, the command that replays each |
//! | [`memory`] | what the machine has, against what the runs need |
//! | [`runner`], [`interrupt`], [`progress`] | threads, Ctrl-C, the estimate |
//! | [`result`], [`convert`] | what is kept of a run |
//! | [`store`] | files that are whole or not there, and the document of all runs |
//! | [`measure`], [`summary`], [`text`] | figures, tables and words for people |

pub(crate) mod batch;
pub(crate) mod convert;
pub(crate) mod interrupt;
pub(crate) mod measure;
pub(crate) mod memory;
pub(crate) mod progress;
pub(crate) mod result;
pub(crate) mod runner;
pub(crate) mod store;
pub(crate) mod summary;
pub(crate) mod text;
