//! Parley's evaluation: V. Jeyakumar et al., "Flexible Network Bandwidth and Latency Provisioning in the Datacenter", 2014,
//! sections 4 and 6.
//!
//! | figure | here |
//! |---|---|
//! | Table 2 | `table2.rs`, with the trees of `shares.rs` |

mod shares;
pub(crate) mod table2;

pub use shares::{SHARE_CASES, ShareCase, ShareTimes, time_shares};
