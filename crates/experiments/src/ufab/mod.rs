//! uFAB's evaluation: S. Wang and others, SIGCOMM 2022.
//!
//! | figure | here |
//! |---|---|
//! | 4: an incast, by the number of its senders | `fig4.rs` |
//! | 15 to 18, 20, 21: at 100 Gbit/s | `fast/` |
//!
//! All of them have the one testbed or the one large network, tenants with a minimum each, and the systems that the text compares
//! ([`systems`]). Figures 1 to 3 are of production networks, tables 3 and 4 of hardware: they are not here.

pub(crate) mod fast;
pub(crate) mod fig4;
mod systems;
mod testbed;
