//! Controllers that are ready: at most one at any instant, and none without etcd.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use wayleave_repo_checks::{wait_for, wait_until};

use super::alone;
use super::processes::Controllers;

/// A controller has answered that it is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ready {
    /// The controller.
    at: usize,
    /// As which leader: each one has a later epoch.
    epoch: u64,
    called: Instant,
    answered: Instant,
}

/// Asks all controllers whether they are ready, until it is stopped.
pub(crate) struct Watch {
    ends: Arc<AtomicBool>,
    seen: Arc<Mutex<Vec<Ready>>>,
    threads: Vec<JoinHandle<()>>,
}

fn ready(url: &str) -> Option<u64> {
    let config = ureq::Agent::config_builder().timeout_global(Some(Duration::from_millis(500)));
    let agent: ureq::Agent = config.http_status_as_error(false).build().into();
    let answer = agent.get(format!("{url}/readyz")).call().ok().filter(|answer| answer.status() == 200)?;
    // A controller whose role changes while it is asked gives no epoch.
    answer.headers().get("x-wayleave-epoch")?.to_str().ok()?.parse().ok()
}

impl Watch {
    pub(crate) fn start(urls: Vec<String>) -> Self {
        let (ends, seen) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<Ready>>>::default());
        let one = |(at, url): (usize, String)| {
            let (ends, seen) = (ends.clone(), seen.clone());
            spawn(move || {
                while !ends.load(SeqCst) {
                    let called = Instant::now();
                    if let Some(epoch) = ready(&url) {
                        seen.lock().unwrap().push(Ready { at, epoch, called, answered: Instant::now() });
                    }
                    sleep(Duration::from_millis(20));
                }
            })
        };
        let threads = urls.into_iter().enumerate().map(one).collect();
        Self { ends, seen, threads }
    }

    /// Counts the answers in which a controller was ready; two at one instant fail the test.
    pub(crate) fn stop(self) -> usize {
        self.ends.store(true, SeqCst);
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
        let seen = std::mem::take(&mut *self.seen.lock().unwrap());
        if let Some((one, other)) = two_at_once(&seen) {
            panic!("two controllers were ready at once: {one:?}, {other:?}");
        }
        seen.len()
    }
}

/// Two answers that show it: of one epoch by two controllers, or the later epoch first.
fn two_at_once(seen: &[Ready]) -> Option<(Ready, Ready)> {
    let mut by_answer = seen.to_vec();
    by_answer.sort_by_key(|one| one.answered);
    let is_wrong = |one: &Ready, other: &Ready| {
        one.epoch == other.epoch && one.at != other.at || one.answered < other.called && one.epoch > other.epoch
    };
    by_answer.iter().enumerate().find_map(|(index, one)| {
        let other = by_answer[index + 1..].iter().find(|other| is_wrong(one, other))?;
        Some((*one, *other))
    })
}

pub(crate) fn a_leader_that_is_ready_beside_its_successor_is_found() {
    let start = Instant::now();
    let ready = |at, epoch, called, answered| {
        let [called, answered] = [called, answered].map(|ms| start + Duration::from_millis(ms));
        Ready { at, epoch, called, answered }
    };
    let in_order = [ready(0, 1, 0, 10), ready(0, 1, 10, 20), ready(1, 2, 15, 30), ready(0, 3, 31, 40)];
    assert_eq!(two_at_once(&in_order), None);
    let late = [ready(0, 1, 0, 10), ready(1, 2, 15, 30), ready(0, 1, 31, 40)];
    assert_eq!(two_at_once(&late), Some((late[1], late[2])));
    // The old one was asked before the new one answered.
    assert_eq!(two_at_once(&[ready(1, 2, 15, 30), ready(0, 1, 29, 40)]), None);
    let both = [ready(0, 1, 0, 10), ready(1, 1, 5, 20)];
    assert_eq!(two_at_once(&both), Some((both[0], both[1])));
}

pub(crate) fn an_idle_partitioned_leader_is_ready_no_longer_than_its_lease() {
    let _alone = alone();
    let controllers = Controllers::start();
    let watch = Watch::start(controllers.urls());
    let is_ready = |at: usize| ready(&controllers.url(at)).is_some();
    let old = wait_for("a leader", || (0..3).find(|&at| is_ready(at)));
    controllers.cut(old, true);
    let new = wait_for("another leader", || (0..3).find(|&at| at != old && is_ready(at)));
    // This is the only request to the old one.
    assert!(!is_ready(old), "{old} is ready beside {new}");
    controllers.cut(old, false);
    wait_for("the old leader follows", || (controllers.role(old)? == "follower").then_some(()));
    // Without etcd no controller leads.
    (0..3).for_each(|at| controllers.hang_member(at, true));
    wait_until("nobody is ready", || (0..3).all(|at| !is_ready(at)));
    let metrics = ureq::get(format!("{}/metrics", controllers.url(new)))
        .header("authorization", format!("Bearer {}", controllers.token()));
    let metrics = metrics.call().unwrap().body_mut().read_to_string().unwrap();
    assert!(metrics.lines().any(|line| line == "wayleave_ready 0"), "{metrics}");
    (0..3).for_each(|at| controllers.hang_member(at, false));
    wait_for("somebody leads again", || (0..3).find(|&at| is_ready(at)));
    assert!(watch.stop() > 0);
}
