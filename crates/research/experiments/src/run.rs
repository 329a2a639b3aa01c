//! Runs on several threads. Each job is the work of one thread and shares nothing with the others, and results are
//! kept in the order of the jobs. The results therefore do not depend on the number of threads, except for times on a
//! clock.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use wayleave::Cancel;

use crate::checkpoint::{self, Checkpoints, Stored};
use crate::failed::Failed;
use crate::shared::Shared;
use crate::simulator::Simulator;

/// Size of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// As many runs, and networks as large, as in the paper.
    Full,
    /// A tenth of the runs and smaller networks: shapes show, digits do not.
    Quick,
}

/// Returns the seeds of `runs` runs: 1, 2, 3 and so on, for every figure.
pub fn seeds(runs: usize) -> Vec<u64> {
    (1..).take(runs).collect()
}

/// One case of a figure with its results, one for each seed.
#[derive(Clone, Debug)]
pub(crate) struct CaseRuns<C, R> {
    pub(crate) case: C,
    pub(crate) runs: Vec<R>,
}

/// A callback after every job: gets the number of finished jobs and of all jobs that run together.
type AfterJob<'a> = Box<dyn Fn(usize, usize) + Sync + 'a>;

/// Measurement of figures: effort, seeds, threads and shared results.
pub struct Run<'a> {
    /// Size of the measurement.
    pub effort: Effort,
    runs: Option<NonZeroUsize>,
    threads: NonZeroUsize,
    after_job: Option<AfterJob<'a>>,
    simulator: Simulator,
    checkpoints: Option<Box<dyn Checkpoints>>,
    servers: Option<u64>,
    /// Number of runs that checkpoints hold.
    kept_runs: AtomicUsize,
    /// Results of runs by their inputs, for figures that share them.
    found: Mutex<BTreeMap<String, String>>,
    /// Other values that figures share, by type.
    shared: Shared,
}

impl<'a> Run<'a> {
    /// On one thread, with as many runs as the figures want, unwatched.
    pub fn new(effort: Effort) -> Self {
        Self {
            effort,
            runs: None,
            threads: NonZeroUsize::MIN,
            after_job: None,
            simulator: Simulator::default(),
            checkpoints: None,
            servers: None,
            kept_runs: AtomicUsize::new(0),
            found: Mutex::default(),
            shared: Shared::default(),
        }
    }

    /// Sets the number of runs of each case, instead of the figures' numbers.
    #[must_use]
    pub fn with_runs(self, runs: Option<NonZeroUsize>) -> Self {
        Self { runs, ..self }
    }

    /// Sets the number of threads.
    #[must_use]
    pub fn with_threads(self, threads: NonZeroUsize) -> Self {
        Self { threads, ..self }
    }

    /// Calls `after_job` after every job, with the number of finished jobs and of all jobs that run together.
    #[must_use]
    pub fn watched(self, after_job: impl Fn(usize, usize) + Sync + 'a) -> Self {
        Self { after_job: Some(Box::new(after_job)), ..self }
    }

    /// Ends the measurement once `cancel` is set. Jobs in progress end soon, without a result.
    #[must_use]
    pub fn with_cancel(self, cancel: Cancel) -> Self {
        Self { simulator: Simulator::new(cancel), ..self }
    }

    /// Cancels the measurement after a number of checks.
    #[cfg(test)]
    pub(crate) fn cancelled_after(self, checks: usize) -> Self {
        Self { simulator: Simulator::cancelled_after(checks), ..self }
    }

    /// Sets a store for results of runs; stored results are not measured again.
    #[must_use]
    pub fn with_checkpoints(self, checkpoints: Box<dyn Checkpoints>) -> Self {
        Self { checkpoints: Some(checkpoints), ..self }
    }

    /// Sets the number of servers of the network, for figures that can be measured on networks of several sizes
    /// ([`crate::Entry::has_network_of`]).
    #[must_use]
    pub fn with_servers(self, servers: Option<u64>) -> Self {
        Self { servers, ..self }
    }

    /// Returns the number of servers of the network, if it was set.
    pub(crate) const fn servers(&self) -> Option<u64> {
        self.servers
    }

    /// Returns the simulator of all jobs.
    pub(crate) const fn simulator(&self) -> &Simulator {
        &self.simulator
    }

    /// Returns the store of the values that figures share.
    pub(crate) const fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Returns the number of completed runs that the store of [`Self::with_checkpoints`] holds.
    pub(crate) fn kept_runs(&self) -> usize {
        self.kept_runs.load(Ordering::Relaxed)
    }

    /// Reports that `done` of `of` consecutive parts of a figure are done.
    pub(crate) fn report_progress(&self, done: usize, of: usize) -> Result<(), Failed> {
        if let Some(after_job) = &self.after_job {
            after_job(done, of);
        }
        self.simulator.check()
    }

    /// Returns one of two values, by the effort.
    pub fn choose<T>(&self, full: T, quick: T) -> T {
        match self.effort {
            Effort::Full => full,
            Effort::Quick => quick,
        }
    }

    /// Returns the seeds of a figure, given its full and its quick number of runs.
    pub fn seeds(&self, full: usize, quick: usize) -> Vec<u64> {
        seeds(self.runs.map_or_else(|| self.choose(full, quick), NonZeroUsize::get))
    }

    /// Runs every case with every seed. Returns the results of each case, one for each seed. Stored results are
    /// reused. `figure` names the figure and everything its runs depend on except case and seed: together they
    /// identify a run.
    ///
    /// # Errors
    /// As [`Self::map`]. Also returns an error if results cannot be stored, or a stored result is not of this run.
    pub(crate) fn gather<C: Debug + Sync, R: Stored + Send>(
        &self,
        figure: &str,
        (cases, seeds): (&[C], &[u64]),
        work: impl Fn(&C, u64) -> Result<R, Failed> + Sync,
    ) -> Result<Vec<Vec<R>>, Failed> {
        let jobs: Vec<(&C, u64)> = cases.iter().flat_map(|case| seeds.iter().map(move |&seed| (case, seed))).collect();
        let found = self.jobs(&jobs, |&(case, seed)| {
            let inputs = format!("{figure}, {case:?}, seed {seed}");
            self.once(&inputs, || work(case, seed))
        })?;
        let mut found = found.into_iter();
        Ok(cases.iter().map(|_| found.by_ref().take(seeds.len()).collect()).collect())
    }

    /// Runs every case with every seed, as [`Self::gather`] does. Returns the cases with their results.
    ///
    /// # Errors
    /// As [`Self::gather`].
    pub(crate) fn rows<C: Debug + Sync, R: Stored + Send>(
        &self,
        figure: &str,
        cases: Vec<C>,
        seeds: &[u64],
        work: impl Fn(&C, u64) -> Result<R, Failed> + Sync,
    ) -> Result<Vec<CaseRuns<C, R>>, Failed> {
        let found = self.gather(figure, (&cases, seeds), work)?;
        Ok(cases.into_iter().zip(found).map(|(case, runs)| CaseRuns { case, runs }).collect())
    }

    /// Returns the result of the run with these inputs: a known or stored one, or else a new one, which is stored.
    fn once<R: Stored>(&self, inputs: &str, work: impl FnOnce() -> Result<R, Failed>) -> Result<R, Failed> {
        // A thread that panicked while it held the lock has inserted a whole result or none.
        let found = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let known = found().get(inputs).cloned();
        let checkpoints = self.checkpoints.as_deref();
        let is_known = known.is_some();
        let kept = match (known, checkpoints) {
            (None, Some(checkpoints)) => checkpoints.load(inputs)?,
            (known, _) => known,
        };
        let (text, result) = match kept {
            Some(text) => {
                let foreign = || Failed::Broken(format!("the result that was kept of {inputs} is not of this figure"));
                let result = checkpoint::parse(&text).ok_or_else(foreign)?;
                (text, result)
            }
            None => {
                let result = work()?;
                let text = checkpoint::text(&result);
                if let Some(checkpoints) = checkpoints {
                    checkpoints.save(inputs, &text)?;
                }
                (text, result)
            }
        };
        if !is_known {
            self.kept_runs.fetch_add(usize::from(checkpoints.is_some()), Ordering::Relaxed);
            found().insert(inputs.to_owned(), text);
        }
        Ok(result)
    }

    /// Runs all jobs, and returns their results in order. They are not stored: for figures without
    /// [`keeps_runs`](crate::Entry::keeps_runs).
    ///
    /// # Errors
    /// Returns the first error of a job, or `Failed::Stopped` if the measurement was cancelled.
    pub fn map<J: Sync, R: Send>(
        &self,
        jobs: &[J],
        work: impl Fn(&J) -> Result<R, Failed> + Sync,
    ) -> Result<Vec<R>, Failed> {
        debug_assert!(self.checkpoints.is_none(), "a figure that keeps its runs uses `gather`");
        self.jobs(jobs, work)
    }

    fn jobs<J: Sync, R: Send>(
        &self,
        jobs: &[J],
        work: impl Fn(&J) -> Result<R, Failed> + Sync,
    ) -> Result<Vec<R>, Failed> {
        let (done, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let go = |job: &J| {
            if has_failed.load(Ordering::Relaxed) {
                return Err(Failed::Stopped);
            }
            self.simulator.check()?;
            let result = work(job);
            if result.is_err() {
                has_failed.store(true, Ordering::Relaxed);
            } else if let Some(after_job) = &self.after_job {
                after_job(done.fetch_add(1, Ordering::Relaxed) + 1, jobs.len());
            }
            result
        };
        let threads = self.threads.get().min(jobs.len()).max(1);
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| Failed::Broken(format!("threads cannot be started: {error}")))?;
        let results: Vec<Result<R, Failed>> = pool.install(|| jobs.par_iter().with_max_len(1).map(go).collect());
        // A job's own error is more useful than the error of the jobs that did not start then.
        let broken = results.iter().find_map(|result| match result {
            Err(failed) if *failed != Failed::Stopped => Some(failed.clone()),
            _ => None,
        });
        broken.map_or_else(|| results.into_iter().collect(), Err)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wayleave_scenarios::{FlowEndpoints, PacketKind, Scenario, Traffic};
    use wayleave_topology::NodeId;
    use wayleave_topology::builders::{Cabling, Chain, build};
    use wayleave_units::{Bytes, Rate, Time};

    use super::*;

    fn on<'a>(threads: usize) -> Run<'a> {
        Run::new(Effort::Quick).with_threads(NonZeroUsize::new(threads).unwrap())
    }

    #[test]
    fn results_are_in_the_order_of_the_jobs_for_any_number_of_threads() {
        let jobs: Vec<u64> = (0..500).collect();
        for threads in [1, 2, 7] {
            let results = on(threads).map(&jobs, |&job| Ok(job * job)).unwrap();
            assert!(results.iter().zip(&jobs).all(|(result, job)| *result == job * job), "{threads} threads");
        }
    }

    /// Catches: figures of one command that measure the same twice.
    #[test]
    fn runs_that_figures_share_are_measured_once() {
        let run = on(2);
        let measured = AtomicUsize::new(0);
        let work = |case: &u64, seed: u64| {
            measured.fetch_add(1, Ordering::Relaxed);
            Ok(vec![*case as f64 / 3.0, seed as f64])
        };
        let first = run.gather("waits", (&[1, 2], &[1, 2, 3]), work).unwrap();
        let second = run.gather("waits", (&[2, 3], &[1, 2]), work).unwrap();
        assert_eq!(measured.load(Ordering::Relaxed), 8, "six, and then two of four");
        assert_eq!(second[0], first[1][..2]);
        assert_eq!(run.gather("losses", (&[1], &[1]), work).unwrap(), [[first[0][0].clone()]]);
        assert_eq!(measured.load(Ordering::Relaxed), 9, "another figure");
    }

    #[test]
    fn the_error_of_a_job_is_that_of_the_run() {
        let jobs: Vec<u64> = (0..50).collect();
        let work = |&job: &u64| if job == 13 { Err(Failed::Broken("13".to_owned())) } else { Ok(job) };
        assert_eq!(on(2).map(&jobs, work), Err(Failed::Broken("13".to_owned())));
    }

    #[test]
    fn a_cancelled_run_starts_no_further_job() {
        let (cancel, begun) = (Cancel::default(), AtomicUsize::new(0));
        let run = on(1).with_cancel(cancel.clone()).watched(|done, of| {
            assert_eq!(of, 9);
            if done == 3 {
                cancel.cancel();
            }
        });
        let work = |_: &i32| Ok(begun.fetch_add(1, Ordering::Relaxed));
        assert_eq!(run.map(&[0; 9], work), Err(Failed::Stopped));
        assert_eq!(begun.load(Ordering::Relaxed), 3);
    }

    /// A scenario whose events are enough for several callbacks of the simulator.
    fn long_scenario() -> Scenario {
        let network =
            Arc::new(build::line(&Chain { switches: 1, hosts_per_switch: 2, cabling: Cabling::default() }).unwrap());
        let hosts: Vec<NodeId> = network.hosts().collect();
        let mut scenario = Scenario::new("long", network, Time::from_millis(100));
        let kind = PacketKind::ConstantRate { rate: Rate::from_gbit(1) };
        let ends = FlowEndpoints::Pairs(vec![(hosts[0], hosts[1])]);
        scenario.traffic = vec![Traffic::packets("packets", ends, kind, Bytes::new(500))];
        scenario
    }

    /// Catches: a cancellation that waits for the end of the run in progress, and a result of a part of a run.
    #[test]
    fn a_cancelled_simulation_ends_early_and_is_not_stored() {
        let (kept, scenario) = (Arc::new(Kept::default()), long_scenario());
        let measured = AtomicUsize::new(0);
        let measure = |run: &Run, cancelled_seed: Option<u64>, cancel: &Cancel| {
            run.gather("x", (&[0], &[1, 2, 3]), |_, seed| {
                measured.fetch_add(1, Ordering::Relaxed);
                if cancelled_seed == Some(seed) {
                    cancel.cancel();
                }
                Ok(run.simulator().run(&scenario, seed)?.events as f64)
            })
        };
        let never = Cancel::default();
        let whole = measure(&on(1), None, &never).unwrap();
        let cancel = Cancel::default();
        let run = on(1).with_cancel(cancel.clone()).with_checkpoints(Box::new(kept.clone()));
        assert_eq!(measure(&run, Some(2), &cancel), Err(Failed::Stopped));
        assert_eq!((kept.0.lock().unwrap().len(), run.kept_runs()), (1, 1));
        measured.store(0, Ordering::Relaxed);
        let run = on(1).with_checkpoints(Box::new(kept.clone()));
        assert_eq!(measure(&run, None, &never).unwrap(), whole);
        assert_eq!((measured.load(Ordering::Relaxed), run.kept_runs()), (2, 3));
    }

    /// Catches: figures of short runs that ignore Ctrl-C, since a run of few events ends before it looks.
    #[test]
    fn a_cancelled_simulator_begins_no_run_however_short_it_is() {
        let cancel = Cancel::default();
        let run = on(1).with_cancel(cancel.clone());
        let scenario = Scenario { duration: Time::from_nanos(1), ..long_scenario() };
        assert!(run.simulator().run(&scenario, 1).is_ok());
        cancel.cancel();
        assert_eq!(run.simulator().run(&scenario, 1).map(drop), Err(Failed::Stopped));
    }

    /// In memory.
    #[derive(Default)]
    struct Kept(std::sync::Mutex<std::collections::BTreeMap<String, String>>);

    impl Checkpoints for Arc<Kept> {
        fn load(&self, inputs: &str) -> Result<Option<String>, Failed> {
            Ok(self.0.lock().unwrap().get(inputs).cloned())
        }

        fn save(&self, inputs: &str, result: &str) -> Result<(), Failed> {
            self.0.lock().unwrap().insert(inputs.to_owned(), result.to_owned());
            Ok(())
        }
    }

    #[test]
    fn an_interrupted_run_resumes_with_the_missing_jobs() {
        let kept = Arc::new(Kept::default());
        let work = |&case: &u32, seed: u64| Ok(1.0 / f64::from(case) + seed as f64);
        let (cases, seeds) = ([3, 7, 9], [1, 2]);
        let whole = on(1).gather("x", (&cases, &seeds), work).unwrap();
        let cancel = Cancel::default();
        let broken = on(1).with_checkpoints(Box::new(kept.clone())).with_cancel(cancel.clone()).watched(|done, _| {
            if done == 4 {
                cancel.cancel();
            }
        });
        assert_eq!(broken.gather("x", (&cases, &seeds), work), Err(Failed::Stopped));
        let measured = AtomicUsize::new(0);
        let rest = on(1).with_checkpoints(Box::new(kept.clone())).gather("x", (&cases, &seeds), |case, seed| {
            measured.fetch_add(1, Ordering::Relaxed);
            work(case, seed)
        });
        assert_eq!((rest.unwrap(), measured.into_inner()), (whole, 2));
        // Another figure, or the same with other settings, takes nothing from it.
        let other = on(1).with_checkpoints(Box::new(kept)).gather("y", (&cases, &seeds), |_, _| Ok(0.0));
        assert_eq!(other.unwrap(), [[0.0; 2]; 3]);
    }

    #[test]
    fn a_checkpoint_of_another_job_is_an_error() {
        let kept = Arc::new(Kept::default());
        kept.save("x, 3, seed 1", "0.25 0.5").unwrap();
        let run = on(1).with_checkpoints(Box::new(kept));
        let result = run.gather("x", (&[3], &[1]), |_, _| Ok(1.0));
        assert!(matches!(result, Err(Failed::Broken(why)) if why.contains("x, 3, seed 1")));
    }

    #[test]
    fn seeds_are_equal_for_all_figures_and_an_explicit_number_has_precedence() {
        let run = Run::new(Effort::Quick);
        assert_eq!((run.seeds(100, 3), seeds(5)), (vec![1, 2, 3], vec![1, 2, 3, 4, 5]));
        assert_eq!(run.with_runs(NonZeroUsize::new(2)).seeds(100, 3), [1, 2]);
    }
}
