//! The recorder passes the suite, and a driver with any of the flaws does not.

use wayleave_agent::machine::suite::{DriverUnderTest, check};
use wayleave_agent::machine::{Driver, DriverError, Recorder};
use wayleave_protocol::agent::Rule;
use wayleave_protocol::contract::Hop;
use wayleave_units::Time;

/// Flaw of a recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    InstallsNothing,
    KeepsTheFirstRule,
    RemovesAndComplains,
    RemovesNothing,
    ForgetsAtRestart,
    RemembersOverReboots,
    ReplacesBeforeItFails,
    SetsUpAgain,
}

struct Broken {
    inner: Recorder,
    flaw: Flaw,
    fails: bool,
    set_ups: usize,
    forgot: bool,
}

impl Driver for Broken {
    fn installed(&mut self, now: Time) -> Result<Vec<(u64, u64)>, DriverError> {
        if self.forgot { Ok(Vec::new()) } else { self.inner.installed(now) }
    }

    fn install(&mut self, now: Time, serial: u64, version: u64, rule: &Rule) -> Result<(), DriverError> {
        let is_there = self.inner.rules().contains_key(&serial);
        if std::mem::take(&mut self.fails) {
            if self.flaw == Flaw::ReplacesBeforeItFails {
                self.inner.remove(now, serial, version)?;
            }
            return Err(DriverError::Later("busy".into()));
        }
        match self.flaw {
            Flaw::InstallsNothing => Ok(()),
            Flaw::KeepsTheFirstRule if is_there => Ok(()),
            _ => self.inner.install(now, serial, version, rule),
        }
    }

    fn remove(&mut self, now: Time, serial: u64, version: u64) -> Result<(), DriverError> {
        match self.flaw {
            Flaw::RemovesNothing => Ok(()),
            Flaw::RemovesAndComplains if !self.inner.rules().contains_key(&serial) => {
                Err(DriverError::Never("nothing there".into()))
            }
            _ => self.inner.remove(now, serial, version),
        }
    }

    fn set_up(&mut self, now: Time, version: u64) -> Result<(), DriverError> {
        let is_set_up = self.inner.installed(now)?.iter().any(|&(serial, _)| serial == 0);
        self.set_ups += usize::from(!is_set_up || self.flaw == Flaw::SetsUpAgain);
        self.inner.set_up(now, version)
    }
}

impl DriverUnderTest for Broken {
    fn in_force(&mut self, serial: u64) -> Option<Vec<Vec<Hop>>> {
        self.inner.in_force(serial)
    }

    fn restart(mut self) -> Self {
        self.forgot = self.flaw == Flaw::ForgetsAtRestart;
        self
    }

    fn reboot(mut self) -> Self {
        if self.flaw != Flaw::RemembersOverReboots {
            self.inner.lose_everything();
        }
        self
    }

    fn fail_next(&mut self) -> bool {
        self.fails = true;
        true
    }

    fn set_ups(&self) -> Option<usize> {
        Some(self.set_ups)
    }
}

#[test]
fn the_recorder_meets_every_requirement_on_drivers() {
    assert_eq!(check(Recorder::default), []);
}

#[test]
fn every_flaw_is_found_by_its_rule() {
    let expected = [
        (Flaw::InstallsNothing, "an installed rule is in force"),
        (Flaw::KeepsTheFirstRule, "a rule is replaced by another"),
        (Flaw::RemovesAndComplains, "installing a rule again changes nothing"),
        (Flaw::RemovesNothing, "a removed rule sends nothing"),
        (Flaw::ForgetsAtRestart, "reported rules are installed, also after a restart"),
        (Flaw::RemembersOverReboots, "no rule is installed after a reboot"),
        (Flaw::ReplacesBeforeItFails, "a failed installation leaves the old rule"),
        (Flaw::SetsUpAgain, "a node is set up once"),
    ];
    for (flaw, rule) in expected {
        let make = || Broken { inner: Recorder::default(), flaw, fails: false, set_ups: 0, forgot: false };
        let broken = check(make);
        assert!(broken.iter().any(|one| one.rule == rule), "{flaw:?}: {broken:?}");
    }
}
