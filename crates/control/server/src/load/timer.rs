//! The thread that opens the file, and records the measured load every ten seconds.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::SLOT_S;
use crate::clock::wall;
use crate::state::Shared;

/// A thread that records until it is ended.
pub(crate) struct LoadTimer {
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl LoadTimer {
    /// Starts the thread.
    pub(crate) fn start(shared: Arc<Shared>) -> std::io::Result<Self> {
        let (end, ended) = channel::<()>();
        let run = move || {
            shared.load.open();
            loop {
                let slot_ns = SLOT_S * 1_000_000_000;
                let rest = slot_ns - wall().as_nanos() % slot_ns;
                match ended.recv_timeout(Duration::from_nanos(rest)) {
                    Err(RecvTimeoutError::Timeout) => shared.record_load(wall()),
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        let thread = std::thread::Builder::new().name("load".to_owned()).spawn(run)?;
        Ok(Self { end, thread })
    }

    /// Ends the thread.
    pub(crate) fn end(self) -> Result<(), String> {
        drop(self.end);
        self.thread.join().map_err(|_| "the thread that records the measured load has failed".to_owned())
    }
}
