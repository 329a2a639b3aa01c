//! SCC's evaluation: C. Tian and others, "Multi-Tenant Multi-Objective Bandwidth Allocation in Datacenters Using
//! Stacked Congestion Control", INFOCOM 2017.
//!
//! | figure | here |
//! |---|---|
//! | 1: objectives alone and beside each other, without SCC | `fig1.rs` |
//! | 3: the testbed | `fig3.rs` |
//! | 4: deadlines and completion times beside each other | `fig4.rs` |
//! | 5: tunnels with and without a schedule of their own | `fig5.rs` |
//! | 6, 10: the three applications beside each other | `fig10.rs`, on the networks of `coexist.rs` |
//! | 7: interference between applications | `fig7.rs` |
//! | 8a: beside pFabric | `fig8a.rs` |
//! | 8b: one tenant before another | `fig8b.rs` |
//! | 9: one objective alone | `fig9.rs` |
//! | 11: an oversubscribed network, and one transport for all | `fig11.rs` |
//! | 12: LS in a higher queue | `fig12.rs` |
//! | none: latency of LS, by flow and by place | `latency.rs` |
//! | none: messages of II-B to many receivers | `messages.rs` |
//!
//! All of them have three applications ([`workloads`]), each with the transport of its objective, on a single
//! bottleneck or on the networks of section VI ([`testbed`]), under the systems that the text compares ([`systems`]).

mod coexist;
pub(crate) mod fig1;
pub(crate) mod fig10;
pub(crate) mod fig11;
pub(crate) mod fig12;
pub(crate) mod fig3;
pub(crate) mod fig4;
pub(crate) mod fig5;
pub(crate) mod fig7;
pub(crate) mod fig8a;
pub(crate) mod fig8b;
pub(crate) mod fig9;
pub(crate) mod latency;
pub(crate) mod messages;
mod readings;
mod systems;
mod testbed;
mod workloads;
