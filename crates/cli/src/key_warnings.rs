//! Warnings of the library about old keys in files: on the standard error, or in the log of a daemon.

use log::{LevelFilter, Log, Metadata, Record};
use wayleave_formats::KEY_WARNINGS;

/// Receiver of the warnings.
struct KeyWarnings;

impl Log for KeyWarnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == KEY_WARNINGS
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        match tracing::dispatcher::has_been_set() {
            true => tracing::warn!("{}", record.args()),
            false => crate::output::tell!("warning: {}", record.args()),
        }
    }

    fn flush(&self) {}
}

/// Installs the receiver.
pub(crate) fn install() {
    if log::set_logger(&KeyWarnings).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}
