//! `/v1/backups`: copies of the ledger, made while it is served.

use std::sync::Arc;

use tokio::sync::oneshot;
use wayleave_protocol::problem::{Code, Problem};
use wayleave_protocol::status::{Backup, BackupSpec};

use crate::answer::{HttpReply, Outcome, invalid, problem};
use crate::clock::wall;
use crate::http::call::AuthorizedRequest;
use crate::queue::Message;
use crate::state::Shared;

/// The longest name of a file.
const LONGEST: usize = 100;

pub(crate) async fn create(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let BackupSpec { name } = call.json()?;
    check(&name)?;
    let (begun, is_begun) = oneshot::channel();
    shared.jobs.send(Message::Backup(begun));
    let unavailable = || problem(Code::Unavailable, "the ledger cannot be read now: retry");
    let backup = is_begun.await.map_err(|_| unavailable())?.map_err(|_| unavailable())?;
    let Some(backup) = backup else {
        return Err(problem(Code::Conflict, "the ledger of this server is in memory: there is no file to back up"));
    };
    // The engine continues while a separate thread copies.
    let write = move || {
        let path = backup.beside(&name);
        backup.write(&path).map(|report| (path, report))
    };
    let written = tokio::task::spawn_blocking(write).await;
    let written = written
        .map_err(|_| problem(Code::Internal, "internal error: this backup has triggered a bug in the server"))?;
    let (path, report) = written.map_err(|error| problem(Code::Conflict, error.to_string()))?;
    if let Some(note) = call.note() {
        // It waits with refusals: the ledger itself has not changed.
        shared.refusals.add(note.answered(wall(), 201, &path.display().to_string()));
        shared.jobs.send(Message::Progress);
    }
    let (sequence, records) = (report.sequence.unwrap_or(0), report.records.values().sum());
    let backup = Backup { path: path.display().to_string(), sequence, records, bytes: report.bytes };
    Ok(HttpReply::json(201, &backup))
}

/// Files are made beside the ledger and nowhere else.
fn check(name: &str) -> Result<(), Box<Problem>> {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let is_name = (1..=LONGEST).contains(&name.len()) && name.bytes().all(is_sign) && !name.starts_with(['.', '-']);
    if is_name {
        return Ok(());
    }
    let expected = format!(
        "expected a file name: 1 to {LONGEST} letters, digits, '.', '_' and '-', starting with a letter, a digit or '_'"
    );
    Err(invalid("name", expected))
}
