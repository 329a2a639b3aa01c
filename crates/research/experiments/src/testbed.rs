//! Real packets. A figure that needs them asks somebody for a network of namespaces who has the programs that run in it.

use wayleave_contracts::Order;
use wayleave_lab::Lab;
use wayleave_lab::run::{Operator, Promised, RunOptions, RunReport};
use wayleave_topology::Network;

use crate::run::Failed;

/// Who sets up networks.
pub trait Laboratory: Sync {
    /// Sets up a network, which is at the rates of a lab already, with a controller and agents that are ready. `options` are
    /// those of the controller's command line.
    ///
    /// # Errors
    /// [`Failed::LeftOut`] where labs cannot be made.
    fn up(&self, name: &str, network: &Network, options: &[&str]) -> Result<Box<dyn Testbed>, Failed>;
}

/// A network that is up. It is taken away when it is dropped.
pub trait Testbed {
    /// The lab.
    fn lab(&self) -> &Lab;

    /// Who asks the lab's controller.
    fn operator(&mut self) -> &mut dyn Operator;

    /// Offers a contract to the controller; whether it was admitted.
    ///
    /// # Errors
    /// If the controller does not answer.
    fn offer(&mut self, order: &Order) -> Result<bool, Failed>;

    /// Lets contracts send.
    ///
    /// # Errors
    /// If the controller or a namespace cannot be used.
    fn run(&mut self, promised: &[Promised], options: &RunOptions) -> Result<RunReport, Failed>;
}
