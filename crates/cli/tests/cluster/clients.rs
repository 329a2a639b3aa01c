//! Clients that write and read contracts, and remember the answers.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ureq::Agent;
use wayleave_faults::linearizable::{ClientOperation, RegisterOperation};
use wayleave_repo_checks::Random;
use wayleave_units::Rate;

use super::TIMEOUT;
use super::processes::Controllers;

/// Number of clients at once.
const CLIENTS: u64 = 4;
/// After this number of operations other contracts are used: each has few enough to be ordered.
const GENERATION: u64 = 150;
const CONTRACTS: u64 = 6;
/// The least rate of a contract in bit/s; above it, the rate is the value that was written.
const BASE: u64 = 500_000;
/// A paused controller answers nothing; one that is busy answers late, and then it is not known whether it has done something.
const ANSWER: Duration = Duration::from_millis(500);

fn agent() -> Agent {
    waiting(ANSWER)
}

fn waiting(time: Duration) -> Agent {
    Agent::config_builder().timeout_global(Some(time)).http_status_as_error(false).build().into()
}

/// Role of a controller, and its answer.
pub(crate) fn get(url: &str, path: &str, token: &str) -> Option<(String, Value)> {
    let mut answer =
        agent().get(format!("{url}{path}")).header("authorization", format!("Bearer {token}")).call().ok()?;
    let role = answer.headers().get("x-wayleave-role")?.to_str().ok()?.to_owned();
    Some((role, serde_json::from_slice(&answer.body_mut().read_to_vec().ok()?).ok()?))
}

/// Asks for a contract; the status of the answer, which may take its time.
pub(crate) fn put(url: &str, name: &str, token: &str) -> u16 {
    let spec = json!({ "from": "h1", "to": "h9", "rate": "1Mbit", "burst": "300B", "deadline": "100ms" });
    let sent = waiting(TIMEOUT)
        .put(format!("{url}/v1/contracts/default:{name}"))
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .send(spec.to_string());
    sent.unwrap().status().as_u16()
}

pub(crate) struct Clients {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    urls: Vec<String>,
    token: String,
    /// Controller that answered last.
    at: AtomicUsize,
    ends: AtomicBool,
    operations: AtomicU64,
    acknowledged: AtomicU64,
    /// Time at which a change was acknowledged last, and the longest time since a request in which none was; in
    /// nanoseconds.
    last: AtomicU64,
    longest: AtomicU64,
    began: Instant,
    history: Mutex<Vec<ClientOperation>>,
}

impl Clients {
    pub(crate) fn start(controllers: &Controllers, leader: usize) -> Self {
        let shared = Arc::new(Shared {
            urls: controllers.urls(),
            token: controllers.token(),
            at: leader.into(),
            ends: false.into(),
            operations: 0.into(),
            acknowledged: 0.into(),
            last: 0.into(),
            longest: 0.into(),
            began: Instant::now(),
            history: Mutex::default(),
        });
        let client = |number: u64| {
            let shared = shared.clone();
            spawn(move || shared.run(number))
        };
        let threads = (0..CLIENTS).map(client).collect();
        Self { shared, threads }
    }

    /// Changes that were acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.shared.acknowledged.load(SeqCst)
    }

    /// The longest time without a change that was acknowledged, from now on.
    pub(crate) fn watch(&self) {
        self.shared.last.store(self.shared.now(), SeqCst);
        self.shared.longest.store(0, SeqCst);
    }

    /// Since [`Self::watch`].
    pub(crate) fn longest(&self) -> Duration {
        Duration::from_nanos(self.shared.longest.load(SeqCst))
    }

    pub(crate) fn stop(self) -> Vec<ClientOperation> {
        self.shared.ends.store(true, SeqCst);
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
        std::mem::take(&mut self.shared.history.lock().unwrap())
    }
}

impl Shared {
    fn now(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    fn run(&self, number: u64) {
        let agent = agent();
        let mut random = Random::new(number);
        while !self.ends.load(SeqCst) {
            let operation = self.operations.fetch_add(1, SeqCst);
            let key = operation / GENERATION * CONTRACTS + random.below(CONTRACTS);
            match random.below(8) {
                0..5 => self.write(&agent, key, Some(operation + 1)),
                5 => self.write(&agent, key, None),
                _ => self.read(&agent, key),
            }
            sleep(Duration::from_millis(3));
        }
    }

    fn note(&self, key: u64, did: RegisterOperation, called: u64, is_answered: bool) {
        let answered = is_answered.then(|| self.now());
        if is_answered && matches!(did, RegisterOperation::Wrote(_)) {
            self.acknowledged.fetch_add(1, SeqCst);
            let now = self.now();
            self.longest.fetch_max(now.saturating_sub(self.last.swap(now, SeqCst)), SeqCst);
        }
        self.history.lock().unwrap().push(ClientOperation { key: key as usize, did, called, answered });
    }

    /// Another controller is asked.
    fn move_on(&self, at: usize) {
        let _ = self.at.compare_exchange(at, (at + 1) % self.urls.len(), SeqCst, SeqCst);
        sleep(Duration::from_millis(20));
    }

    fn write(&self, agent: &Agent, key: u64, value: Option<u64>) {
        let (at, called) = (self.at.load(SeqCst), self.now());
        let url = format!("{}/v1/contracts/default:k{key}", self.urls[at]);
        let token = format!("Bearer {}", self.token);
        let sent = match value {
            Some(value) => {
                // Ends in different pods, so that none is refused in some 150,000 operations.
                let (from, to) = (format!("h{}", key % 16 + 1), format!("h{}", (key + 8) % 16 + 1));
                let spec = json!({
                    "from": from, "to": to, "rate": format!("{}bit", BASE + value), "burst": "300B", "deadline": "500ms"
                });
                agent
                    .put(url)
                    .header("authorization", token)
                    .header("content-type", "application/json")
                    .send(spec.to_string())
            }
            None => agent.delete(url).header("authorization", token).call(),
        };
        match sent.as_ref().map(|answer| answer.status().as_u16()) {
            Ok(200 | 201 | 204) => self.note(key, RegisterOperation::Wrote(value), called, true),
            Ok(404) if value.is_none() => {}
            // Nothing was done.
            Ok(421) => self.move_on(at),
            Err(ureq::Error::Io(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => self.move_on(at),
            Ok(503) | Err(_) => {
                self.note(key, RegisterOperation::Wrote(value), called, false);
                self.move_on(at);
            }
            Ok(other) => {
                let output = sent.and_then(|mut answer| answer.body_mut().read_to_string()).unwrap_or_default();
                panic!("a change was answered with {other}: {output}")
            }
        }
    }

    fn read(&self, agent: &Agent, key: u64) {
        let (at, called) = (self.at.load(SeqCst), self.now());
        let url = format!("{}/v1/contracts/default:k{key}", self.urls[at]);
        let Ok(mut answer) = agent.get(url).header("authorization", format!("Bearer {}", self.token)).call() else {
            return self.move_on(at);
        };
        let is_current = answer.headers().get("x-wayleave-role").is_some_and(|role| role == "leader");
        let found = match answer.status().as_u16() {
            200 => answer.body_mut().read_to_vec().ok().and_then(|body| {
                let found: Value = serde_json::from_slice(&body).ok()?;
                Some(Some(found["spec"]["rate"].as_str()?.parse::<Rate>().ok()?.bits_per_second() - BASE))
            }),
            404 => Some(None),
            _ => None,
        };
        match found.filter(|_| is_current) {
            Some(found) => self.note(key, RegisterOperation::Read(found), called, true),
            None => self.move_on(at),
        }
    }
}
