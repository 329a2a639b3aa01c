//! One ledger through many lives of the server, each of which ends at another write or sync.
//!
//! Clients ask while it lives, and hold the next life to the answers that they got: nothing acknowledged is lost, and
//! nothing is there twice. A request that was not acknowledged is there as a whole or not at all, and a request that
//! is repeated with its key is carried out once. After each life an independent calculator derives every promise of
//! the ledger again (`wayleave ledger check`).

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use wayleave_faults::{Shim, TraceStep, TracedCall, WriteFault};
use wayleave_repo_checks::Random;

use crate::crash::client::{Client, revision};
use crate::crash::process::{
    LedgerDir, Server, ServerAccess, Start, TOPOLOGY, shim, start_gated, start_with, wayleave,
};

/// Lives of a usual run; `WAYLEAVE_CYCLES=10000` makes it that many.
const CYCLES: u64 = 200;
/// `WAYLEAVE_SEED=n` replays a run; requests and faults are equal, the interleaving of threads is not.
const SEED: u64 = 1;
/// Requests of each client in a life.
const REQUESTS: u64 = 1;
/// Once in this number of lives the process is killed from outside, between any two of its instructions.
const FROM_OUTSIDE: u64 = 8;
const KILLED: Option<i32> = Some(9);

/// Phase of a server's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Starting,
    Serving,
    Ending,
}

/// A sort of write or sync: when, on which file, what.
type Point = (Phase, String, &'static str);

#[derive(Default)]
struct Counts {
    kills: BTreeMap<String, u64>,
    /// Number of lives in which each sort of points was.
    known: BTreeMap<Point, u64>,
    /// The number of each sort of points within its phase, in the last life that had it.
    places: BTreeMap<Point, u64>,
    hit: BTreeSet<Point>,
    survived: u64,
    /// The most writes and syncs of a life, in each phase.
    life: [usize; 3],
}

impl Counts {
    /// All points of a life, by their number; one more in each phase, since not every life has as many.
    fn points(&self) -> Vec<(Phase, u64)> {
        let phases = [Phase::Starting, Phase::Serving, Phase::Ending].into_iter().zip(self.life);
        phases.flat_map(|(phase, count)| (1..=count as u64 + 1).map(move |at| (phase, at))).collect()
    }

    /// Sorts of points that no kill has hit, of those that at least `lives` lives had.
    fn missed(&self, lives: u64) -> Vec<&Point> {
        self.known
            .iter()
            .filter(|(point, had)| **had >= lives && !self.hit.contains(point))
            .map(|(point, _)| point)
            .collect()
    }
}

struct Run {
    place: LedgerDir,
    shim: Shim,
    clients: Vec<Client>,
    random: Random,
    revision: u64,
    counts: Counts,
}

/// Intended end of a life.
#[derive(Clone, Debug)]
enum End {
    /// At this write or sync, counted from the beginning of a phase; or when it is asked to.
    Fault(Phase, WriteFault),
    /// Killed after the last requests were sent, without waiting.
    Outside,
}

/// Sorts of points that fewer lives have need not have been hit.
const SELDOM: u64 = 20;

#[test]
fn a_ledger_survives_two_hundred_kills() {
    let (seed, cycles) = (number("WAYLEAVE_SEED", SEED), number("WAYLEAVE_CYCLES", CYCLES));
    println!(
        "replay: WAYLEAVE_SEED={seed} WAYLEAVE_CYCLES={cycles} cargo test --locked -p wayleave-cli --test cli crash::cycles::lives"
    );
    let mut run = Run {
        place: LedgerDir::new(),
        shim: shim(),
        clients: (0..2).map(|number| Client::new(number, seed)).collect(),
        random: Random::new(seed),
        revision: 0,
        counts: Counts::default(),
    };
    // Creates the ledger; begins after an end; and after a kill: the points of a life are counted.
    let whole = End::Fault(Phase::Starting, WriteFault::None);
    for end in [&whole, &whole, &End::Outside, &whole] {
        // The files are created once in the life of a ledger; `a_first_start_can_be_killed_at_any_point` is about that.
        run.counts = Counts::default();
        run.live(end);
    }
    let (mut points, mut round) = (Vec::new(), 0);
    for _ in 0..cycles {
        if run.random.below(FROM_OUTSIDE) == 0 {
            run.live(&End::Outside);
            continue;
        }
        if points.is_empty() {
            points = run.counts.points();
            round += 1;
        }
        // Before a write is after the call before it; in the middle of a sync is before it.
        let (phase, at) = points.remove(0);
        let fault = if (at + round).is_multiple_of(2) { WriteFault::KillAfter(at) } else { WriteFault::KillHalf(at) };
        run.live(&End::Fault(phase, fault));
    }
    // Not every life has as many points as the one before. Points that have not been hit are aimed at in turn: where they were last, and place by
    // place.
    for attempt in 0..cycles {
        let missed = run.counts.missed(1);
        let Some(&point) = missed.get(attempt as usize % missed.len().max(1)) else { break };
        let (phase, known) = (point.0, run.counts.places.get(point).copied());
        let places = run.counts.life[phase as usize] as u64 + 1;
        let at = known.filter(|_| attempt % 4 < 2).unwrap_or(1 + attempt / 4 % places);
        run.live(&End::Fault(phase, WriteFault::KillAfter(at)));
    }
    run.live(&whole);
    // Some lives do what hardly any other does, such as to write what it noted a second ago just when it is to end; and then aiming may be in vain.
    let missed: Vec<Point> = run.counts.missed(SELDOM).into_iter().cloned().collect();
    run.report(cycles);
    assert_eq!(missed, [], "points that no kill has hit");
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}: expected a number")))
}

impl Run {
    /// Runs one life, and checks the state that it leaves.
    fn live(&mut self, end: &End) {
        let trace = self.place.path("trace");
        drop(std::fs::remove_file(&trace));
        let (of, fault) =
            if let End::Fault(phase, fault) = end { (*phase, fault) } else { (Phase::Starting, &WriteFault::None) };
        let gate = (of != Phase::Starting).then(|| self.place.path("gate"));
        drop(gate.as_ref().map(std::fs::remove_file));
        let mut bounds = (usize::MAX, usize::MAX);
        let (phase, is_killed) = match start_gated(&self.place, &self.shim, fault, Some(&trace), gate.as_deref()) {
            Start::Ended(status, printed) => {
                assert_eq!(status.signal(), KILLED, "{end:?}: {printed}");
                (Phase::Starting, true)
            }
            Start::Serves(server) => {
                bounds.0 = steps(&trace).len();
                self.serve(server, end, &trace, &mut bounds)
            }
        };
        self.count(&trace, bounds, phase, is_killed, end);
        self.check_ledger(end);
    }

    /// Asks while it lives; returns the phase in which it ended, and `true` if it was killed.
    fn serve(&mut self, mut server: Server, end: &End, trace: &Path, bounds: &mut (usize, usize)) -> (Phase, bool) {
        let access = server.access();
        if matches!(end, End::Fault(Phase::Serving, _)) {
            std::fs::write(self.place.path("gate"), "").unwrap();
        }
        let is_whole = self.check(&access).is_ok() && self.act(&access);
        if matches!(end, End::Outside) {
            self.clients.iter_mut().for_each(|client| client.send_only(&access));
            server.process().kill().unwrap();
            assert_eq!(server.wait().0.signal(), KILLED);
            return (Phase::Serving, true);
        }
        if is_whole {
            bounds.1 = steps(trace).len();
            if matches!(end, End::Fault(Phase::Ending, _)) {
                std::fs::write(self.place.path("gate"), "").unwrap();
            }
            server.ask_to_end();
        }
        let (status, printed) = server.wait();
        assert!(status.signal() == KILLED || (is_whole && status.success()), "{end:?}: {status}: {printed}");
        assert!(!printed.contains("panicked"), "{end:?}: {printed}");
        (if is_whole { Phase::Ending } else { Phase::Serving }, !status.success())
    }

    fn check(&mut self, access: &ServerAccess) -> std::io::Result<()> {
        let now = revision(access)?;
        assert!(now >= self.revision, "revision {now} after {}", self.revision);
        for client in &mut self.clients {
            client.check(access)?;
        }
        self.revision = revision(access)?;
        Ok(())
    }

    /// All clients at once; whether all were answered.
    fn act(&mut self, access: &ServerAccess) -> bool {
        std::thread::scope(|scope| {
            let act = |client: &mut Client| (0..REQUESTS).all(|_| client.act(access).is_ok());
            let threads: Vec<_> = self.clients.iter_mut().map(|client| scope.spawn(move || act(client))).collect();
            let all: Vec<bool> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
            all.into_iter().all(|one| one)
        })
    }

    fn count(&mut self, trace: &Path, bounds: (usize, usize), phase: Phase, is_killed: bool, end: &End) {
        let points: Vec<Point> = (steps(trace).iter().enumerate())
            .map(|(at, step)| {
                let phase = match at {
                    at if at < bounds.0 => Phase::Starting,
                    at if at < bounds.1 => Phase::Serving,
                    _ => Phase::Ending,
                };
                point(phase, step)
            })
            .collect();
        let begins = [0, bounds.0, bounds.1];
        for (at, point) in points.iter().enumerate() {
            self.counts.places.insert(point.clone(), (at + 1 - begins[point.0 as usize]) as u64);
        }
        for point in points.iter().cloned().collect::<BTreeSet<Point>>() {
            *self.counts.known.entry(point).or_default() += 1;
        }
        if !is_killed {
            self.counts.survived += 1;
            let life = [bounds.0, bounds.1 - bounds.0, points.len() - bounds.1];
            let most = self.counts.life;
            self.counts.life = [0, 1, 2].map(|phase| most[phase].max(life[phase]));
            return;
        }
        let moment = match end {
            End::Outside => "from outside",
            End::Fault(_, WriteFault::KillBefore(_)) => "before a call",
            End::Fault(_, WriteFault::KillHalf(_)) => "in the middle of a call",
            End::Fault(..) => "after a call",
        };
        *self.counts.kills.entry(format!("{phase:?}, {moment}")).or_default() += 1;
        if let (End::Fault(_, WriteFault::KillHalf(_) | WriteFault::KillAfter(_)), Some(last)) = (end, points.last()) {
            self.counts.hit.insert(last.clone());
        }
    }

    /// The ledger as the process left it: whole, and every promise in it holds.
    fn check_ledger(&self, end: &End) {
        let copy = self.place.copy();
        let mut command = wayleave("ledger check");
        let output = command.arg(copy.ledger()).args(["-t", TOPOLOGY]).output().unwrap();
        let printed = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{end:?}: {}", String::from_utf8_lossy(&printed));
    }

    fn report(&self, cycles: u64) {
        let Counts { kills, known, hit, survived, life, .. } = &self.counts;
        let killed: u64 = kills.values().sum();
        let sum = |of: fn(&Client) -> u64| self.clients.iter().map(of).sum::<u64>();
        println!(
            "{cycles} lives, {killed} killed, {survived} ended; {life:?} writes and syncs while starting, serving and ending"
        );
        kills.iter().for_each(|(what, times)| println!("{times:5} killed: {what}"));
        println!("{} requests acknowledged", sum(|client| client.acknowledged));
        println!(
            "{} requests carried out and not answered, then asked again with their key",
            sum(|client| client.resolved)
        );
        println!("{} sorts of points, {} hit: {known:?}", known.len(), hit.len());
    }
}

fn steps(trace: &Path) -> Vec<TraceStep> {
    if trace.exists() { wayleave_faults::read(trace).unwrap() } else { Vec::new() }
}

fn point(phase: Phase, step: &TraceStep) -> Point {
    let name = step.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let call = match step.call {
        TracedCall::Create => "create",
        TracedCall::Write(..) => "write",
        TracedCall::Sync => "sync",
        TracedCall::Truncate(_) => "truncate",
        TracedCall::Unlink => "unlink",
        TracedCall::Rename(_) => "rename",
    };
    (phase, name, call)
}

#[test]
fn a_first_start_can_be_killed_at_any_point() {
    let (shim, place) = (shim(), LedgerDir::new());
    let trace = place.path("trace");
    let server = start_with(&place, &shim, &WriteFault::None, Some(&trace)).serves();
    let points = steps(&trace).len() as u64;
    server.kill();
    for at in 1..=points {
        let place = LedgerDir::new();
        match start_with(&place, &shim, &WriteFault::KillHalf(at), None) {
            Start::Ended(status, printed) => assert_eq!(status.signal(), KILLED, "{at}: {printed}"),
            Start::Serves(server) => drop(server.kill()),
        }
        let server = start_with(&place, &shim, &WriteFault::None, None).serves();
        assert_eq!(server.access().get("/v1/status").unwrap().status, 200, "{at}");
        let (status, printed) = server.end();
        assert!(status.success(), "{at}: {printed}");
    }
    println!("{points} writes and syncs of a first start, each killed in its middle");
}
