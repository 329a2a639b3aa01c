//! uFAB's evaluation: S. Wang and others, SIGCOMM 2022.
//!
//! | figure | here |
//! |---|---|
//! | 4: an incast, by the number of its senders | `fig4.rs` |
//! | 5: the least used of three paths, and the one with room | `fig5.rs` |
//! | 11: twelve tenants come one after the other | `fig11.rs` |
//! | 12: fourteen tenants begin together | `fig12.rs` |
//! | 13: Memcached beside MongoDB | `fig13.rs` |
//! | 14: the tasks of block storage | `fig14.rs` |
//! | 15 to 18, 20, 21: at 100 Gbit/s | `fast/` |
//!
//! All of them have the one testbed or the one large network, tenants with a minimum each, and the systems that the text compares
//! ([`systems`]). Figures 1 to 3 are of production networks, tables 3 and 4 of hardware: they are not here.

pub(crate) mod fast;
pub(crate) mod fig11;
pub(crate) mod fig12;
pub(crate) mod fig13;
pub(crate) mod fig14;
pub(crate) mod fig4;
pub(crate) mod fig5;
mod path_choice;
mod readings;
mod systems;
mod testbed;
