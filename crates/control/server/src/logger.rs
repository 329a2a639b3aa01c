//! Asynchronous output of log lines to the standard error.
//!
//! A thread that logs never waits: a separate thread writes the lines, and lines are dropped and counted while too
//! many wait for a slow reader. A full pipe, or one whose reader has ended, blocks nothing.

use std::fmt::{self, Debug, Write as _};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tracing::field::Field;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::fmt::{FormatFields, MakeWriter};
use wayleave_units::escaped;

/// Bytes of lines that may wait: some thousand lines.
const WAITING_BYTES: usize = 1 << 20;
/// Maximum wait for unwritten lines at the end of the process.
const LAST: Duration = Duration::from_secs(1);
/// Poll interval during that wait.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

static LINES: OnceLock<Lines> = OnceLock::new();
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Returns the number of lines dropped since this process began.
pub(crate) fn dropped() -> u64 {
    DROPPED.load(Ordering::Relaxed)
}

/// Waits until all logged lines are written, or the reader seems to have stopped.
pub fn flush() {
    let until = Instant::now() + LAST;
    while LINES.get().is_some_and(|lines| lines.waiting.load(Ordering::Acquire) > 0) && Instant::now() < until {
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Fields of log lines as text: the message, then `name=value`. Control, bidirectional and invisible characters are escaped, ends of lines as well, so
/// that no text from outside acts on a terminal or looks like a line of its own.
pub(crate) fn plain_fields() -> impl for<'a> FormatFields<'a> + Send + Sync + 'static {
    let field = |writer: &mut Writer<'_>, field: &Field, value: &dyn Debug| match field.name() {
        "message" => write!(Escaping(writer), "{value:?}"),
        name => write!(Escaping(writer), "{name}={value:?}"),
    };
    debug_fn(field).delimited(" ")
}

/// Escapes what is written.
struct Escaping<'a, W>(&'a mut W);

impl<W: fmt::Write> fmt::Write for Escaping<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write_str(&escaped(text))
    }
}

/// Destination of lines.
#[derive(Clone)]
pub(crate) struct Lines {
    /// Escapes whole lines of JSON, which only JSON itself has escaped: not C1 controls, and not bidirectional ones.
    escapes: bool,
    lines: Sender<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
}

impl Lines {
    /// To the standard error, by a thread of its own.
    pub(crate) fn to_stderr() -> io::Result<Self> {
        let (lines, taken) = channel();
        let waiting: Arc<AtomicUsize> = Arc::default();
        let written = waiting.clone();
        // Not through the shared handle, whose lock would block all other threads that log.
        let mut out = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        let thread = std::thread::Builder::new().name("log".to_owned());
        thread.spawn(move || write(&taken, &written, &mut out))?;
        let lines = Self { escapes: false, lines, waiting };
        Ok(LINES.get_or_init(|| lines).clone())
    }

    /// Returns a writer that escapes all but the last character of a line: for lines of JSON, in which escape
    /// sequences are equivalent.
    pub(crate) fn escaped(self) -> Self {
        Self { escapes: true, ..self }
    }

    fn take(&self, line: &[u8]) {
        // Counted first, so that several who log at once stay below the limit together.
        let before = self.waiting.fetch_add(line.len(), Ordering::AcqRel);
        if before + line.len() > WAITING_BYTES || self.lines.send(line.to_vec()).is_err() {
            self.waiting.fetch_sub(line.len(), Ordering::AcqRel);
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn write(taken: &Receiver<Vec<u8>>, waiting: &AtomicUsize, out: &mut impl Write) {
    for line in taken {
        // A reader that has closed the pipe needs no error.
        let _ = out.write_all(&line);
        waiting.fetch_sub(line.len(), Ordering::AcqRel);
    }
}

impl Write for Lines {
    /// One line, as the formatter of `tracing` writes it.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(line) {
            Ok(text) if self.escapes => {
                let (text, end) = text.strip_suffix('\n').map_or((text, ""), |text| (text, "\n"));
                self.take(format!("{}{end}", escaped(text)).as_bytes());
            }
            _ => self.take(line),
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logging_thread_never_blocks_and_excess_lines_are_dropped_and_counted() {
        let (lines, taken) = channel();
        let mut lines = Lines { escapes: false, lines, waiting: Arc::default() };
        let (line, fit) = ([b'x'; 1000], WAITING_BYTES / 1000);
        let before = dropped();
        (0..fit + 7).for_each(|_| lines.write_all(&line).unwrap());
        assert_eq!(dropped() - before, 7);
        // The reader continues.
        let mut out = Vec::new();
        let waiting = lines.waiting.clone();
        drop(lines);
        write(&taken, &waiting, &mut out);
        assert_eq!((out.len(), waiting.load(Ordering::Acquire)), (fit * 1000, 0));
    }
}
