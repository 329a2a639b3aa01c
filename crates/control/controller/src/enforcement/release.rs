//! Ending contracts, and senders that certainly send nothing.

use super::Enforcement;
use crate::grant::AdmittedContract;
use crate::journal::DirtyRecord;
use crate::releases::{PendingRelease, Phase};

impl Enforcement {
    /// Ends a latency contract: its sender is instructed to stop, and its reservation is held until its last packets
    /// have left.
    pub(crate) fn end(&mut self, serial: u64) {
        let Some(grant) = self.contracts.get_mut(serial) else { return };
        if std::mem::replace(&mut grant.is_ended, true) {
            return;
        }
        let has_route = grant.has_given_route();
        let (Some(node), Some(latency)) = (grant.sender(), grant.latency_mut()) else { return };
        let (flow, sender) = (latency.flow.take(), &mut latency.sender);
        let may_run = sender.may_run();
        sender.run = None;
        let stop = sender.next_version();
        sender.stop = Some(stop);
        if let Some(flow) = flow {
            match self.book.reserved(flow, has_route).filter(|_| may_run) {
                Some(reserved) => {
                    // A reservation held for last packets must not be moved.
                    self.book.pin(flow, true);
                    let drain = self.book.promised(flow);
                    let number = self.journal.next_release();
                    let (until, phase, held) = (stop, Phase::Sending, Some(flow));
                    self.releases.insert(number, PendingRelease { serial, node, reserved, until, drain, phase, held });
                    self.journal.mark(DirtyRecord::Release(number));
                }
                // The sender never started: no packet can be in transit.
                None => self.book.release(flow),
            }
        }
        self.touch(serial);
        self.advance(serial);
    }

    /// Records that the sender of a contract certainly sends nothing: it is down, or its rule was removed.
    pub(crate) fn is_silent(&mut self, serial: u64) {
        self.note_silence(serial);
        self.advance(serial);
    }

    /// Records the silence of a sender, before the next instruction to it.
    pub(crate) fn note_silence(&mut self, serial: u64) {
        // Its last packets may be in transit, and its reservation may be given to others before it is instructed to
        // resume.
        let sent = self
            .contracts
            .get(serial)
            .and_then(|grant| Some((grant.flow()?, grant.is_pinned(), grant.announced_sender()?.announced?)));
        if let Some((flow, is_pinned, announced)) = sent
            && let Some(reserved) = self.book.reserved(flow, is_pinned)
        {
            self.leave(serial, reserved, announced.version);
        }
        let Some(sender) = self.contracts.sender_mut(serial) else { return };
        (sender.announced, sender.confirmed, sender.asked) = (None, None, None);
        if let Some(node) = self.contracts.get(serial).and_then(AdmittedContract::sender) {
            self.nodes.expect_no_more(node, serial);
        }
        self.journal.mark(DirtyRecord::Contract(serial));
        let left: Vec<u64> = self.releases.of(serial).map(|(number, _)| number).collect();
        self.stopped(&left);
    }
}
