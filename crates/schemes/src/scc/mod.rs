//! SCC: tenants share a network by weights, and the flows of each are served by its objective.
//!
//! C. Tian et al., "Multi-Tenant Multi-Objective Bandwidth Allocation in Datacenters Using Stacked Congestion Control".

mod params;
pub mod tunnel;

pub use params::{Late, Law, Params, Scheduling, Spare};
pub use tunnel::PrivateControl;
pub use wayleave_contracts::Objective;
