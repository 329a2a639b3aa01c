//! The files of htsim's datacenter simulations (Handley et al., NDP, SIGCOMM 2017): fat trees in `.topo`, flows in `.cm`.

mod flows;
mod topology;

pub use flows::read_htsim_flows;
pub use topology::read_htsim_topology;
