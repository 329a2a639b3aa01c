//! Copies of the ledger of a cluster.

use wayleave_store::StoredRecord;

/// Key of the record with the position of the copy.
pub(crate) const POSITION: &str = "replica";

/// Origin of a copy of a cluster's ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOf {
    /// The cluster.
    pub cluster: String,
    /// The last batch that the copy has.
    pub batch: u64,
}

impl CopyOf {
    /// Takes the position out of the records of a ledger; `None` if the ledger is that of a standalone controller.
    ///
    /// # Errors
    /// If that record cannot be read.
    pub fn take(records: &mut Vec<StoredRecord>) -> Result<Option<Self>, String> {
        let Some(at) = records.iter().position(|record| record.kind == POSITION) else { return Ok(None) };
        let record = records.remove(at);
        let read = record
            .body
            .rsplit_once(' ')
            .and_then(|(cluster, batch)| Some(Self { cluster: cluster.to_owned(), batch: batch.parse().ok()? }));
        let wrong = || {
            let text = &record.body;
            format!("the record {POSITION} has {text:?}: expected the name of a cluster and the number of a batch")
        };
        read.map(Some).ok_or_else(wrong)
    }
}

/// Error for a copy of a cluster's ledger that is opened as the ledger of a single controller, with the remedy.
pub(crate) fn is_copy(of: &CopyOf, path: &std::path::Path) -> String {
    let CopyOf { cluster, batch } = of;
    format!(
        "this is a copy of the ledger of cluster {cluster}, up to batch {batch}. Start with the cluster's etcd (serve --etcd) or query its controllers (--server); if all of them are gone for good: wayleave ledger leave {}",
        path.display()
    )
}
