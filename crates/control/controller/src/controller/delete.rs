//! Deleting contracts.

use wayleave_protocol::Id;

use super::Controller;
use crate::command::{Check, Fault, ItemResult, Outcome, Reply};

impl Controller {
    pub(crate) fn delete(&mut self, ids: Vec<(Id, Check)>) -> Vec<ItemResult> {
        let each = |(id, check): (Id, Check)| {
            let result = self.delete_one(&id, check);
            ItemResult { id, result, decision: None }
        };
        ids.into_iter().map(each).collect()
    }

    fn delete_one(&mut self, id: &Id, check: Check) -> Result<Outcome, Fault> {
        let found = self.standing(id);
        check.hold(found.map(|(_, revision)| revision))?;
        let Some((serial, _)) = found else { return Ok(Outcome::Absent) };
        self.admission.end(serial);
        Ok(Outcome::Deleted)
    }

    /// Ends the hold of a contract whose sender does not answer.
    pub(crate) fn forget(&mut self, id: &Id) -> Result<Reply, Fault> {
        let missing = || Fault::NotFound { what: "contract", name: id.to_string() };
        let serials = self.contracts().serials(|grant| *grant.id == *id);
        let ended = self.contracts().serials(|grant| *grant.id == *id && grant.is_ended);
        if serials.is_empty() {
            return Err(missing());
        }
        if ended.is_empty() {
            let message = format!("contract {id} is not being released: delete it first");
            return Err(Fault::Invalid { field: "force", message });
        }
        for serial in ended {
            self.enforcement_mut().is_silent(serial);
        }
        Ok(Reply::Done { outcome: Outcome::Deleted, revision: self.journal().revision() })
    }
}
