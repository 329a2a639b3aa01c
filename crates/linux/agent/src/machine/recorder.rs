//! A driver for tests: it records its calls, and fails on demand.

use std::collections::{BTreeMap, VecDeque};

use wayleave_protocol::agent::Rule;
use wayleave_units::Time;

use super::driver::{Driver, DriverError};

/// A node that only records the calls that it receives.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    rules: BTreeMap<u64, (u64, Rule)>,
    set_up: Option<u64>,
    calls: Vec<DriverCall>,
    faults: VecDeque<InjectedFault>,
}

/// A recorded call.
#[derive(Clone, Debug, PartialEq)]
pub struct DriverCall {
    /// Time of the call.
    pub at: Time,
    /// Requested action.
    pub did: RecordedCall,
    /// Result of the call.
    pub answer: Result<(), DriverError>,
}

/// Action requested from a recorder.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordedCall {
    /// To list the installed rules.
    Installed,
    /// To install a rule of this serial and version.
    Install(u64, u64),
    /// To remove the rule of this serial.
    Remove(u64, u64),
    /// To set itself up.
    SetUp(u64),
}

/// Fault of the next call, in place of its normal effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// Nothing is done; trying again may help.
    Fails,
    /// It is done, and that is not reported: slow, or the answer is lost.
    DoneUnconfirmed,
    /// Nothing is done, ever.
    Impossible,
}

impl Recorder {
    /// The next calls that do something meet these troubles, one each.
    pub fn inject_faults(&mut self, faults: impl IntoIterator<Item = InjectedFault>) {
        self.faults.extend(faults);
    }

    /// Its power was off: nothing is installed any more.
    pub fn lose_everything(&mut self) {
        self.rules.clear();
        self.set_up = None;
    }

    /// Returns the installed rules, by serial.
    pub fn rules(&self) -> &BTreeMap<u64, (u64, Rule)> {
        &self.rules
    }

    /// Returns the calls, in order.
    pub fn calls(&self) -> &[DriverCall] {
        &self.calls
    }

    /// Performs an action, or the fault that is due in its place.
    fn act(&mut self, at: Time, did: RecordedCall, act: impl FnOnce(&mut Self)) -> Result<(), DriverError> {
        let answer = match self.faults.pop_front() {
            None => {
                act(self);
                Ok(())
            }
            Some(InjectedFault::DoneUnconfirmed) => {
                act(self);
                Err(DriverError::Later("no answer in time".to_owned()))
            }
            Some(InjectedFault::Fails) => Err(DriverError::Later("busy".to_owned())),
            Some(InjectedFault::Impossible) => Err(DriverError::Never("not supported".to_owned())),
        };
        self.calls.push(DriverCall { at, did, answer: answer.clone() });
        answer
    }
}

impl Driver for Recorder {
    fn installed(&mut self, now: Time) -> Result<Vec<(u64, u64)>, DriverError> {
        self.calls.push(DriverCall { at: now, did: RecordedCall::Installed, answer: Ok(()) });
        let set_up = self.set_up.map(|version| (0, version));
        Ok(set_up.into_iter().chain(self.rules.iter().map(|(&serial, (version, _))| (serial, *version))).collect())
    }

    fn install(&mut self, now: Time, serial: u64, version: u64, rule: &Rule) -> Result<(), DriverError> {
        let rule = (version, rule.clone());
        self.act(now, RecordedCall::Install(serial, version), |node| drop(node.rules.insert(serial, rule)))
    }

    fn remove(&mut self, now: Time, serial: u64, version: u64) -> Result<(), DriverError> {
        self.act(now, RecordedCall::Remove(serial, version), |node| drop(node.rules.remove(&serial)))
    }

    fn set_up(&mut self, now: Time, version: u64) -> Result<(), DriverError> {
        self.act(now, RecordedCall::SetUp(version), |node| node.set_up = Some(version))
    }
}
