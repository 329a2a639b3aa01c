//! Versions of rules that this ledger never sent. It does not continue the ledger that sent them, such as that of which it
//! is a backup: their routes are unknown, and they prove neither a rule in force nor a stop.

use super::Enforcement;
use crate::grant::{RuleState, Sender};
use crate::journal::DirtyRecord;
use crate::releases::Phase;

/// Maximum version of another ledger after which this one continues to count. An agent with a later one carries out none
/// of the versions that follow, and is not trusted.
pub(super) const MAX_FOREIGN: u64 = u64::MAX / 2;

impl Enforcement {
    /// Records that the agent of a sender has a session, and may receive its last instruction.
    pub(super) fn offer(&mut self, serial: u64) {
        let announced = |sender: &Sender| sender.announced.map(|announced| announced.version);
        let later = |sender: &Sender| announced(sender).filter(|&version| version > sender.offered);
        let Some(version) = self.contracts.sender(serial).and_then(later) else { return };
        if let Some(sender) = self.contracts.sender_mut(serial) {
            sender.offered = version;
            self.journal.mark(DirtyRecord::Contract(serial));
        }
    }

    /// Takes the version of a rule that is installed when an agent begins a session. Returns `true` if it was sent to the
    /// agent.
    ///
    /// If its contract was thought to send nothing, that was wrong: the rule in force is taken as it is, and an older one is
    /// replaced. A rule that was never sent is replaced, too.
    pub(super) fn adopt(&mut self, serial: u64, version: u64) -> bool {
        let Some(sender) = self.contracts.sender_mut(serial) else { return false };
        let can_have = version <= sender.offered;
        if can_have && sender.announced.is_some_and(|announced| version <= announced.version) {
            return true;
        }
        // It is replaced already, by a version that the agent does not carry out.
        if version > MAX_FOREIGN && sender.announced.is_some_and(|announced| announced.version > MAX_FOREIGN) {
            return false;
        }
        let was_sent = can_have && sender.announced.is_none();
        let version = version.min(MAX_FOREIGN);
        sender.version = sender.version.max(version);
        let announced = Some(RuleState { version, runs: true });
        (sender.announced, sender.confirmed) = (announced, announced);
        if was_sent && sender.run == Some(version) {
            self.journal.mark(DirtyRecord::Contract(serial));
            return true;
        }
        let stop = sender.next_version();
        sender.stop = Some(stop);
        sender.run = sender.run.map(|_| sender.next_version());
        if was_sent {
            sender.since = sender.version;
        } else {
            // Its packets may use the present reservation of the contract, and those that it leaves.
            self.leave_later(serial, stop);
        }
        self.journal.mark(DirtyRecord::Contract(serial));
        was_sent
    }

    /// Returns `true` if a version was sent to the agent that confirms it. An agent that has a later one from another ledger
    /// ignores all up to that one, so it is sent the same again with a version after it.
    pub(super) fn was_sent(&mut self, serial: u64, version: u64) -> bool {
        let Some(sender) = self.contracts.sender_mut(serial) else { return false };
        if sender.announced.is_some_and(|announced| version <= announced.version) {
            return true;
        }
        if version <= sender.version || version > MAX_FOREIGN {
            return false;
        }
        sender.version = version;
        let next = sender.next_version();
        sender.stop = sender.stop.map(|_| next);
        sender.run = sender.run.map(|_| sender.next_version());
        self.leave_later(serial, next);
        self.journal.mark(DirtyRecord::Contract(serial));
        false
    }

    /// Routes that a contract leaves are empty only after its sender has this version.
    fn leave_later(&mut self, serial: u64, until: u64) {
        let left = self.releases.of(serial).filter(|(_, one)| one.phase == Phase::Sending && one.until < until);
        let left: Vec<u64> = left.map(|(number, _)| number).collect();
        for number in left {
            self.releases.set_until(number, until);
            self.journal.mark(DirtyRecord::Release(number));
        }
    }
}
