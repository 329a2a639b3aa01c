//! Versions of rules that this ledger never sent. It does not continue the ledger that sent them, such as that of which it
//! is a backup: their routes are unknown, and they prove neither a rule in force nor a stop.

use super::Enforcement;
use crate::grant::RuleState;
use crate::journal::DirtyRecord;
use crate::releases::Phase;

/// Maximum version of another ledger after which this one continues to count. An agent with a later one carries out none
/// of the versions that follow, and is not trusted.
pub(super) const MAX_FOREIGN: u64 = u64::MAX / 2;

impl Enforcement {
    /// Takes the version of a rule that is installed when an agent begins a session: its first one since the controller was
    /// loaded, or not. Returns `true` if it was sent to the agent, which has none of the versions that were given out
    /// between the load and its first session.
    ///
    /// If its contract was thought to send nothing, that was wrong: the rule in force is taken as it is, and an older one is
    /// replaced. A rule that was never sent is replaced, too.
    pub(super) fn adopt(&mut self, serial: u64, version: u64, is_first: bool) -> bool {
        let Some(sender) = self.contracts.sender_mut(serial) else { return false };
        let can_have = !is_first || version <= sender.version_at_load;
        if can_have && sender.announced.is_some_and(|announced| version <= announced.version) {
            return true;
        }
        let was_sent = can_have && sender.announced.is_none() && version <= sender.version;
        let version = version.min(MAX_FOREIGN);
        // It is replaced already, by a version that the agent does not carry out.
        if !can_have_later(sender.announced, version) && !is_first {
            return false;
        }
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

/// Returns `true` if a version is later than the last instruction.
fn can_have_later(announced: Option<RuleState>, version: u64) -> bool {
    announced.is_none_or(|announced| version > announced.version)
}
