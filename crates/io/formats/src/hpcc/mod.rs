//! The files of the HPCC release (Li et al., SIGCOMM 2019) for ns-3: `topology.txt` and `flow.txt`.
//!
//! Both begin with counts, which decide how much is read; what follows after that (the release puts remarks there) is
//! left alone, as in ns-3.

mod config;
mod flows;
mod topology;

pub use flows::read_hpcc_flows;
pub(crate) use flows::{bytes, nanos, node};
pub use topology::read_hpcc_topology;
