//! The simulator against known results: closed forms of queueing theory, times computed by hand, and published facts.
//!
//! Every test builds a scenario through the public interface only, and states the errors that it would catch. Numbers
//! beside an expression are in picoseconds, like the simulator's, unless a unit is named.

mod applications;
mod buffers;
mod clove;
mod congestion;
mod copies;
mod corrected;
mod jitter;
mod jobs;
mod latency;
mod limiters;
mod lossless;
mod measures;
mod networks;
mod objectives;
mod outages;
mod paths;
mod pfabric;
mod picnic;
mod queueing;
mod replay;
mod residual;
mod roles;
mod scc;
mod scc_properties;
mod scheduling;
mod services;
mod several_links;
mod shaping;
mod stamps;
mod strict_over_weighted;
mod swift;
mod tasks;
mod ufab;
mod ufab_maxima;
mod ufab_paths;
mod ufab_properties;
mod ufab_watched;
mod workloads;
