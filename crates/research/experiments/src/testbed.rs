//! Interface for real packets. A figure that needs them requests a network of namespaces from a provider, which has
//! the programs that run in it.

use std::sync::Arc;

use wayleave_contracts::ContractRequest;
use wayleave_lab::Lab;
use wayleave_lab::run::{OfferedContract, Operator, RunOptions, RunReport};
use wayleave_topology::Network;

use crate::failed::Failed;
use crate::run::Run;

/// A provider of networks.
pub trait Laboratory: Send + Sync {
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

    /// Returns the client of the lab's controller.
    fn operator(&mut self) -> &mut dyn Operator;

    /// Offers a contract to the controller; whether it was admitted.
    ///
    /// # Errors
    /// If the controller does not answer.
    fn offer(&mut self, order: &ContractRequest) -> Result<bool, Failed>;

    /// Lets contracts send.
    ///
    /// # Errors
    /// If the controller or a namespace cannot be used.
    fn run(&mut self, promised: &[OfferedContract], options: &RunOptions) -> Result<RunReport, Failed>;
}

/// The laboratory of a run.
struct Provided(Arc<dyn Laboratory>);

impl Run<'_> {
    /// Returns this run with a laboratory for real packets; without one, figures that need real packets are left out.
    #[must_use]
    pub fn with_laboratory(self, laboratory: Box<dyn Laboratory>) -> Self {
        self.shared().insert(Provided(laboratory.into()));
        self
    }

    /// Returns the laboratory of this run.
    pub(crate) fn laboratory(&self) -> Result<Arc<dyn Laboratory>, Failed> {
        self.simulator().check()?;
        let missing = || Failed::LeftOut("it needs real packets, and nobody here sets up networks for them".to_owned());
        self.shared().get::<Provided>().map(|provided| provided.0.clone()).ok_or_else(missing)
    }
}
