//! A whole network on one machine: every host, switch and endpoint is a network namespace, every cable a virtual
//! link.
//!
//! - [`LabPlan`] is the plan: names, indices, addresses. It is pure, and the same at every start.
//! - [`scaled`] slows a network down to rates at which one machine keeps the time of every frame, with budgets that
//!   fit.
//! - [`Labs`] makes a lab ([`Labs::up`]), removes it ([`Labs::down`]) and inspects it ([`Labs::status`]).
//! - [`run`] lets contracts send their maximum, moves them during the run, and reports the outcome of every packet.
//! - [`traffic`] sends real packets from endpoint to endpoint and measures them; [`Sentinel`] detects stalls of the
//!   machine.

mod bridges;
mod build;
mod calibrate;
mod capture;
mod claim;
mod clock;
mod control;
mod error;
mod hosts;
mod interfaces;
mod names;
mod plan;
mod probe;
mod processes;
pub mod run;
mod scale;
mod sentinel;
mod state;
mod status;
mod stop;
pub mod traffic;
mod up;

pub use calibrate::{Calibrated, calibrate};
pub use capture::CapturePoint;
pub use claim::{ActiveRun, RunClaim};
pub use control::LabPrograms;
pub use error::LabError;
pub use hosts::{Hosts, host_path, shortest};
pub use names::LabName;
pub use plan::{EndpointPlan, EndpointSpec, HOST_TENANT, LabPlan, NodePlan, ServedPort, ServicePlan};
pub use probe::{ProbeObservation, ProbeResult, ProbeSpec, probe};
pub use processes::{Process, ProcessSpec};
pub use scale::{FRAMES, HOST_FRAMES, ScaleError, not_carried_out, scaled};
pub use sentinel::{Sentinel, Stall, Stalls};
pub use state::Stage;
pub use status::{NodeStatus, Status};
pub use stop::StopRequest;
pub use up::{Lab, Labs, Removed, UpOptions};
