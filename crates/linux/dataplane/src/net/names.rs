//! Making namespaces with names, and deleting them.

use super::batch::ToolBatch;
use super::error::NetError;
use super::namespace::{Namespace, check_name};

impl Namespace {
    /// Creates namespaces of these names.
    ///
    /// # Errors
    /// If one exists already, or root is missing; those before it stay.
    pub fn create<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<(), NetError> {
        let mut batch = ToolBatch::ip();
        for name in names {
            check_name(name)?;
            batch.line(format_args!("netns add {name}"));
        }
        batch.run(&Self::current())
    }

    /// Deletes those of these names that exist.
    ///
    /// # Errors
    /// If one exists and cannot be deleted.
    pub fn delete<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<(), NetError> {
        let mut batch = ToolBatch::ip();
        for name in names.into_iter().filter(|name| Self::exists(name)) {
            batch.line(format_args!("netns del {name}"));
        }
        match batch.run(&Self::current()) {
            // An interrupted creation leaves a file that is no namespace; `ip` removes the file and reports an error.
            Err(NetError::Tool { .. }) => batch.run_each(&Self::current()),
            other => other,
        }
    }
}
