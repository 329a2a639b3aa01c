//! The packet simulator, as the jobs of figures use it: a run ends soon after the measurement is cancelled.

use wayleave::Cancel;
use wayleave_scenarios::Scenario;
use wayleave_sim::{Custom, Outcome, RunEnd};

use crate::failed::Failed;

/// Simulator of a measurement. Clones share its cancellation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Simulator {
    cancel: Cancel,
    /// Number of checks after which a test cancels.
    #[cfg(test)]
    checks_left: Option<std::sync::Arc<std::sync::atomic::AtomicUsize>>,
}

impl Simulator {
    /// Returns a simulator whose runs end once `cancel` is set.
    pub(crate) fn new(cancel: Cancel) -> Self {
        Self {
            cancel,
            #[cfg(test)]
            checks_left: None,
        }
    }

    /// Returns a simulator that is cancelled after a number of checks.
    #[cfg(test)]
    pub(crate) fn cancelled_after(checks: usize) -> Self {
        Self { checks_left: Some(std::sync::Arc::new(checks.into())), ..Self::default() }
    }

    /// Returns `true` if the measurement is cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        #[cfg(test)]
        if let Some(left) = &self.checks_left {
            use std::sync::atomic::Ordering::Relaxed;
            if left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err() {
                self.cancel.cancel();
            }
        }
        self.cancel.is_cancelled()
    }

    /// Checks for a cancellation, in jobs that do not use the simulator.
    ///
    /// # Errors
    /// Returns `Failed::Stopped` if the measurement is cancelled.
    pub(crate) fn check(&self) -> Result<(), Failed> {
        if self.is_cancelled() { Err(Failed::Stopped) } else { Ok(()) }
    }

    /// Simulates a scenario to its end.
    ///
    /// # Errors
    /// Returns `Failed::Stopped` if the measurement is cancelled before the end. Also returns an error if the scenario
    /// is invalid, or has more flows than the simulator can number.
    pub(crate) fn run(&self, scenario: &Scenario, seed: u64) -> Result<Outcome, Failed> {
        self.run_with(scenario, seed, &Custom::default())
    }

    /// Simulates a scenario with schemes of the caller, as [`Self::run`] does.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(crate) fn run_with(&self, scenario: &Scenario, seed: u64, custom: &Custom<'_>) -> Result<Outcome, Failed> {
        // A short run ends before the simulator asks.
        self.check()?;
        let outcome = wayleave_sim::run_with(scenario, seed, custom, |_| !self.is_cancelled());
        let outcome = outcome.map_err(Failed::broken)?;
        match outcome.ending {
            RunEnd::Complete => Ok(outcome),
            RunEnd::Stopped => Err(Failed::Stopped),
            RunEnd::TooManyFlows => {
                Err(Failed::Broken(format!("{}: more flows were open at once than can be numbered", scenario.name)))
            }
        }
    }
}
