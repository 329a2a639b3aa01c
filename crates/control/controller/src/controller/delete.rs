//! Deleting contracts.

use wayleave_protocol::Id;

use super::Controller;
use crate::command::{CommandError, ItemResult, Outcome, Precondition, Reply};

impl Controller {
    pub(crate) fn delete(&mut self, ids: Vec<(Id, Precondition)>) -> Vec<ItemResult> {
        let each = |(id, check): (Id, Precondition)| {
            let result = self.delete_one(&id, check);
            ItemResult { id, result, decision: None }
        };
        ids.into_iter().map(each).collect()
    }

    fn delete_one(&mut self, id: &Id, check: Precondition) -> Result<Outcome, CommandError> {
        let found = self.version_of(id);
        check.hold(found.map(|(_, revision)| revision))?;
        let Some((serial, _)) = found else { return Ok(Outcome::Absent) };
        self.admission.end(serial);
        Ok(Outcome::Deleted)
    }

    /// Ends the hold of a contract whose sender does not answer.
    pub(crate) fn forget(&mut self, id: &Id) -> Result<Reply, CommandError> {
        let missing = || CommandError::NotFound { what: "contract", name: id.to_string() };
        let serials = self.contracts().serials(|grant| *grant.id == *id);
        let ended = self.contracts().serials(|grant| *grant.id == *id && grant.is_ended);
        if serials.is_empty() {
            return Err(missing());
        }
        if ended.is_empty() {
            let message = format!("contract {id} is not being released: delete it first");
            return Err(CommandError::Invalid { field: "force", message });
        }
        for serial in ended {
            self.enforcement_mut().is_silent(serial);
        }
        Ok(Reply::Done { outcome: Outcome::Deleted, revision: self.journal().revision() })
    }
}
