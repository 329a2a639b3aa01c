//! Progress of the process, for `/healthz`: of the engine, and of the threads that execute requests.
//!
//! The threads that serve connections check the progress once a second and answer `/healthz` themselves, so that the
//! answer does not wait for the threads that it reports on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::pulse::{EngineHeartbeat, Watch};
use crate::queue::{Message, Queue};

/// Interval of looks.
const EVERY: Duration = Duration::from_secs(1);

/// Progress of the threads that carry requests out, and the reason for which this process is not in order.
#[derive(Debug, Default)]
pub(crate) struct Alive {
    requests: EngineHeartbeat,
    /// A sign of progress was asked for and has not come yet.
    is_asked: AtomicBool,
    problem: Mutex<Option<String>>,
}

impl Alive {
    /// Reason for which the process is not in order, as far as the last look has shown one.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_problem(&self, problem: Option<String>) {
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }

    /// Asks the threads of this runtime for a sign of progress.
    fn ask(self: &Arc<Self>, requests: &Handle) {
        if !self.is_asked.swap(true, Ordering::AcqRel) {
            let alive = self.clone();
            requests.spawn(async move {
                alive.requests.record_progress();
                alive.is_asked.store(false, Ordering::Release);
            });
        }
    }
}

/// Checks the progress of both, once an interval.
struct Inspections {
    engine: Watch,
    requests: Watch,
    /// Sum of the intervals between looks. A stopped process makes no looks, so it is in order when it continues.
    inspected: Duration,
}

impl Inspections {
    fn new(most: Duration) -> Self {
        Self { engine: Watch::new(most, 0), requests: Watch::new(most, 0), inspected: Duration::ZERO }
    }

    /// Reason for which the process is not in order, `every` after the look before.
    fn inspect(&mut self, every: Duration, engine: &EngineHeartbeat, requests: &EngineHeartbeat) -> Option<String> {
        self.inspected += every;
        let now = u64::try_from(self.inspected.as_nanos()).unwrap_or(u64::MAX);
        let (engine, requests) = (self.engine.look(engine, now), self.requests.look(requests, now));
        let silent =
            |what: &str, silent: Duration| format!("{what} made no progress for {:.0} s", silent.as_secs_f64());
        let engine = engine.map(|time| silent("the engine has", time));
        engine.or_else(|| requests.map(|time| silent("the request worker threads have", time)))
    }
}

/// Looks until the server ends. The engine and the threads of `requests` may make no progress for `most`.
pub(crate) async fn watch_loop(
    alive: Arc<Alive>,
    (jobs, engine): (Arc<Queue>, Arc<EngineHeartbeat>),
    requests: Handle,
    most: Duration,
    mut ending: watch::Receiver<bool>,
) {
    let every = EVERY.min(most / 4).max(Duration::from_millis(1));
    let mut inspections = Inspections::new(most);
    loop {
        // An idle engine makes progress by handling this message.
        jobs.send(Message::Progress);
        alive.ask(&requests);
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            _ = ending.wait_for(|ending| *ending) => return,
        }
        let problem = inspections.inspect(every, &engine, &alive.requests);
        if problem != alive.problem() {
            match &problem {
                Some(problem) => tracing::error!(problem, "/healthz answers 503"),
                None => tracing::info!("/healthz answers 200 again"),
            }
        }
        alive.set_problem(problem);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_stalled_part_is_named_until_it_makes_progress() {
        let (engine, requests, mut inspections) =
            (EngineHeartbeat::default(), EngineHeartbeat::default(), Inspections::new(3 * SECOND));
        for _ in 0..10 {
            engine.record_progress();
            requests.record_progress();
            assert_eq!(inspections.inspect(SECOND, &engine, &requests), None);
        }
        let mut after = |count_progress: [bool; 2]| {
            count_progress[0].then(|| engine.record_progress());
            count_progress[1].then(|| requests.record_progress());
            inspections.inspect(SECOND, &engine, &requests)
        };
        assert_eq!([after([false, true]), after([false, true]), after([false, true])], [None, None, None]);
        assert_eq!(after([false, true]).as_deref(), Some("the engine has made no progress for 4 s"));
        assert_eq!(after([true, true]), None);
        assert_eq!([after([true, false]), after([true, false]), after([true, false])], [None, None, None]);
        let reports = after([true, false]);
        assert_eq!(reports.as_deref(), Some("the request worker threads have made no progress for 4 s"));
        assert_eq!(after([true, true]), None);
    }
}
