//! One fabric: latency contracts, minima, objectives and best effort on one network, against systems that promise a
//! part of that.
//!
//! The design's experiment: a fat tree at 10 Gbit/s with four kinds of tenants, each of which makes it hard for the
//! others.
//!
//! | file | contents |
//! |---|---|
//! | `tenants` | the tenants and their promises |
//! | `systems` | one scenario under each of seven systems |
//! | `readings`, `shares` | results read from a run; due shares of divisions on the paths of their tunnels |
//! | `figure` | the table and its statements |

mod figure;
mod readings;
mod shares;
mod systems;
mod tenants;

pub(crate) use figure::{ENTRY, for_a_while};
