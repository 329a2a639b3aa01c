//! The state machine of agents, and the suite that every driver has to pass.

mod agent;
mod suite;
