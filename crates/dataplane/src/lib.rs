//! The Linux data plane: what carries out contracts on hosts and switches (Chameleon, sections 3.4 and 4.2, on eBPF instead of DPDK).
//!
//! - [`net`]: network namespaces, links, and the queues of ports, by iproute2.
//! - [`doctor`]: what a machine has and lacks for all of this.
//! - [`switch`]: what a switch is told, and what drives it.

pub mod doctor;
pub mod net;
pub mod switch;
