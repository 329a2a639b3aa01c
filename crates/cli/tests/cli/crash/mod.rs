//! `wayleave serve` as a process over a ledger on disk: killed at every write and sync, and over disks and ledgers that fail.

mod client;
mod cycles;
mod process;
mod refusals;
