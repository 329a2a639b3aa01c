//! Parley's evaluation: V. Jeyakumar et al., "Flexible Network Bandwidth and Latency Provisioning in the Datacenter",
//! 2014, sections 4, 6 and 7.
//!
//! | figure | here |
//! |---|---|
//! | Fig. 9 | `fig9.rs` |
//! | Table 2, overheads of 6.2 | `table2.rs`, with the trees of `shares.rs` |
//! | Table 3 | `table3.rs`, with the text's statements in `table3_statements.rs` |
//! | iterations of 6.3 | `convergence.rs` |
//! | Fig. 12 to 15 | `fig12.rs` to `fig15.rs`, in the networks of `testbed.rs` |

pub(crate) mod convergence;
pub(crate) mod fig12;
pub(crate) mod fig13;
pub(crate) mod fig14;
pub(crate) mod fig15;
pub(crate) mod fig9;
mod shares;
pub(crate) mod table2;
pub(crate) mod table3;
mod table3_data;
mod table3_statements;
mod testbed;

#[cfg(test)]
pub(crate) use table3_statements::tests::every_verdict_can_change as table3_check;

pub use shares::{SHARE_CASES, ShareCase, ShareTimes, time_shares};
