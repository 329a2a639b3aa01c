//! What a controller does while another one leads, and how a controller is made of records.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use wayleave_controller::{Change, Controller, Kind, Now, Setup};
use wayleave_protocol::problem::Code;
use wayleave_store::Record;
use wayleave_units::Time;

use crate::answer::{not_leader, problem, unavailable};
use crate::disk::News;
use crate::history::History;
use crate::metrics::Metrics;
use crate::stage::Stage;
use crate::trial::wall;
use crate::view::{Edit, Health, View};
use crate::work::{Executor, Job, Performed, perform};

/// After it has read that it answers for so many times as long, at least.
const FOLLOW_PART: u32 = 5;

/// What records make.
pub(crate) struct Loaded {
    pub(crate) controller: Controller,
    pub(crate) stage: Stage,
    pub(crate) history: History,
    /// Histories that are too long.
    pub(crate) forgotten: Vec<Change>,
    pub(crate) past: Vec<Edit>,
}

/// Makes controllers of records.
pub(crate) struct Reader {
    pub(crate) setup: Setup,
    pub(crate) history_bytes: u64,
}

impl Reader {
    /// Makes a controller of records.
    pub(crate) fn read(&self, all: &[Record]) -> Result<Loaded, String> {
        let mut records = Vec::with_capacity(all.len());
        for Record { kind, key, body } in all {
            let Some(kind) = Kind::of(kind) else {
                return Err(format!("the ledger has a {kind} record, which this version does not know"));
            };
            records.push((kind, key.as_str(), &**body));
        }
        let chunks = records.iter().filter(|(kind, ..)| *kind == Kind::History).map(|&(_, key, body)| (key, body));
        let chunks: Vec<(&str, &str)> = chunks.collect();
        let controller = Controller::load(&self.setup, wall(), records).map_err(|error| error.to_string())?;
        let stage = Stage::new(&controller);
        let last_event = controller.last_event();
        let (history, forgotten, past) = History::load(self.history_bytes, wall(), last_event, chunks.into_iter())?;
        Ok(Loaded { controller, stage, history, forgotten, past })
    }
}

/// What a controller knows while another one leads.
pub(crate) struct Following<'a> {
    reader: Reader,
    view: &'a Arc<View>,
    metrics: &'a Metrics,
    /// What reads are answered by, since when.
    reading: Option<(Controller, Instant)>,
    /// What has come since.
    news: Option<News>,
    /// When that is read.
    next: Option<Instant>,
    /// Who leads, as far as anything is known of that.
    leader: Option<Option<String>>,
}

impl<'a> Following<'a> {
    /// Nothing yet.
    pub(crate) fn new(reader: Reader, view: &'a Arc<View>, metrics: &'a Metrics) -> Self {
        Self { reader, view, metrics, reading: None, news: None, next: None, leader: None }
    }

    pub(crate) fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Whether reads are answered.
    pub(crate) fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// Shows what another controller has written.
    pub(crate) fn follow(&mut self, leader: Option<String>, news: Option<News>) -> Result<(), String> {
        if let Some(news) = news {
            self.news = Some(news);
        }
        // To read everything takes the longer the more there is; most of the time is for answers.
        let is_time = self.next.is_none_or(|next| Instant::now() >= next);
        if let Some(News { records, sequence }) = self.news.take_if(|_| is_time) {
            let began = Instant::now();
            let Loaded { controller, past, mut stage, .. } = self.reader.read(&records)?;
            let mut edits = stage.begin(&controller, records);
            edits.extend(past);
            // To load a controller counts as a generation, and this one does not write it.
            let numbers = (sequence, controller.revision(), controller.generation().saturating_sub(1));
            self.view.replace(edits, numbers, Health::Following(leader.clone()));
            self.next = Some(Instant::now() + began.elapsed() * FOLLOW_PART);
            self.reading = Some((controller, began));
        }
        if self.leader.as_ref() != Some(&leader) {
            tracing::info!(
                leader = leader.as_deref().unwrap_or("nobody"),
                "another controller leads: this one follows"
            );
        }
        self.leader = Some(leader.clone());
        self.view.set_health(Health::Following(leader));
        Ok(())
    }

    /// Answers nothing: what others write cannot be judged here.
    pub(crate) fn stand_aside(&mut self, why: String) {
        (self.reading, self.news, self.next, self.leader) = (None, None, None, None);
        let is_new = self.view.read().health != Health::Barred(why.clone());
        if is_new {
            tracing::error!(why, "this controller takes no part");
            self.view.set_health(Health::Barred(why));
        }
    }

    /// What is read is answered by what is known; for all else the leader has to be asked. How long that took, if it took the time of an account.
    pub(crate) fn answer(&mut self, job: Job) -> Option<Duration> {
        let Some((controller, began)) = &mut self.reading else {
            let _ = job.reply.send(unavailable());
            return None;
        };
        if !job.is_read {
            let _ = job.reply.send(not_leader(self.leader.as_ref().and_then(Option::as_deref)).into());
            return None;
        }
        let steady = Time::from_nanos(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        let (start, now) = (Instant::now(), Now { steady, wall: wall() });
        let mut executor = Executor { controller, now, metrics: self.metrics };
        let mut keys = HashSet::new();
        let Job { work, repeat, reply, is_begun, .. } = job;
        let performed = catch_unwind(AssertUnwindSafe(|| perform(&mut executor, &mut keys, work, repeat, is_begun)));
        let answer = match performed {
            Ok(Performed::Done(answer) | Performed::Known(answer)) => answer,
            Ok(Performed::More(..)) => unavailable(),
            Err(_) => problem(Code::Internal, "this request has found a mistake in the server").into(),
        };
        let _ = reply.send(answer);
        Some(start.elapsed())
    }
}
