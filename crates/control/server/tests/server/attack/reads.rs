//! Many connections of one tenant that request long lists, as fast as they are answered.
//!
//! The connections are those of another process, so that its processor time can be separated from the server's. Times
//! are printed and not asserted: the order in which accounts are served is tested in `fair` and `reads`, without a
//! clock.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wayleave_controller::EnforcedBy;
use wayleave_server::disk::File;

use super::{tenant, times};
use crate::common::{Client, World, contract, options, read_head};
use wayleave_repo_checks::{KilledChild, TempFolder};

/// The variable that makes this test the process that reads: address and secret.
const READER: &str = "WAYLEAVE_TEST_READER";
/// Connections of the tenant.
const CONNECTIONS: usize = 64;
/// The test as `--exact` names it.
const NAME: &str = "attack::reads::long_lists_of_one_tenant_do_not_delay_others";

/// Asks for pages on one connection until the process ends.
fn read_on(address: &str, secret: &str, done: &AtomicU64) {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let ask = format!("GET /v1/contracts?limit=1000 HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {secret}\r\n\r\n");
    loop {
        if stream.write_all(ask.as_bytes()).is_err() {
            return;
        }
        let (status, headers) = read_head(&mut answers);
        assert_eq!(status, 200);
        let length = headers.iter().find(|(name, _)| name == "content-length").unwrap().1.parse().unwrap();
        std::io::copy(&mut answers.by_ref().take(length), &mut std::io::sink()).unwrap();
        done.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reads on all connections until the parent closes its pipe, and reports the number of pages at each request.
fn reader(what: &str) {
    let (address, secret) = what.split_once(' ').unwrap();
    let (address, secret) = (address.to_owned(), secret.to_owned());
    let done = Arc::new(AtomicU64::new(0));
    for _ in 0..CONNECTIONS {
        let (address, secret, done) = (address.clone(), secret.clone(), done.clone());
        std::thread::spawn(move || read_on(&address, &secret, &done));
    }
    for line in std::io::stdin().lines() {
        let _ = line;
        println!("done {}", done.load(Ordering::Relaxed));
    }
    std::process::exit(0);
}

/// The process that reads.
struct Flood {
    child: KilledChild,
    answers: BufReader<std::process::ChildStdout>,
}

impl Flood {
    fn start(client: &Client, is_niced: bool) -> Self {
        let this = std::env::current_exe().unwrap();
        let mut command = if is_niced { Command::new("nice") } else { Command::new(&this) };
        if is_niced {
            command.args(["-n", "19"]).arg(&this);
        }
        let what = format!("{} {}", client.address, client.secret.as_deref().unwrap());
        command.args(["--exact", NAME, "--nocapture"]).env(READER, what);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child: KilledChild(child), answers }
    }

    /// Pages that it has read.
    fn pages(&mut self) -> u64 {
        self.child.stdin.as_mut().unwrap().write_all(b"?\n").unwrap();
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.answers.read_line(&mut line).unwrap() > 0, "the process that reads has ended");
            // The line follows the test program's own output.
            if let Some((_, count)) = line.trim_end().rsplit_once("done ") {
                return count.parse().unwrap();
            }
        }
    }

    /// Waits until each connection has had an answer or two.
    fn settle(&mut self) {
        while self.pages() < 2 * CONNECTIONS as u64 {
            std::thread::yield_now();
        }
    }

    /// Processor time that it has used.
    fn cpu(&self) -> Duration {
        // Fields 14 and 15 of proc_pid_stat(5), in hundredths of a second.
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
        Duration::from_millis(fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap() * 10).sum())
    }
}

/// Median, 99th percentile and maximum in milliseconds.
fn figures(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share).ceil() as usize].as_secs_f64() * 1e3;
    format!("p50 {:.1} p99 {:.1} max {:.1} ms", at(0.5), at(0.99), at(1.0))
}

/// Changes, `/healthz`, and lists of others, one after the other.
fn measure(name: &str, count: usize, quiet: &Client, operator: &Client, flood: Option<&mut Flood>) {
    let timed = |ask: &dyn Fn() -> u16, expected: &[u16]| {
        let began = Instant::now();
        let status = ask();
        assert!(expected.contains(&status), "{status}");
        began.elapsed()
    };
    let mut flood = flood;
    let before = flood.as_mut().map(|flood| (flood.pages(), flood.cpu()));
    let began = Instant::now();
    let mut all: [Vec<Duration>; 4] = Default::default();
    for at in 0..count {
        let rate = format!("{}kbit", 1 + at % 50);
        let order = contract("a", "b", &rate);
        let own = contract("h2", "h3", &rate);
        all[0].push(timed(&|| quiet.put("/v1/contracts/q", &order).status, &[200, 201]));
        all[1].push(timed(&|| operator.put("/v1/contracts/o", &own).status, &[200, 201]));
        all[2].push(timed(&|| quiet.get("/v1/contracts?limit=1000").status, &[200]));
        all[3].push(timed(&|| quiet.without().get("/healthz").status, &[200]));
    }
    let elapsed = began.elapsed();
    let pages = flood.map(|flood| {
        let ((pages, cpu), (pages_before, cpu_before)) = ((flood.pages(), flood.cpu()), before.unwrap());
        let share = (cpu - cpu_before).as_secs_f64() / elapsed.as_secs_f64();
        let rate = (pages - pages_before) as f64 / elapsed.as_secs_f64();
        format!("; the reader has {rate:.0} pages a second and uses {share:.2} processors")
    });
    let [put, own, list, health] = all.map(figures);
    println!(
        "{name}: PUT of another tenant {put}; PUT of an operator {own}; list of another tenant {list}; /healthz {health}{}",
        pages.unwrap_or_default()
    );
}

#[test]
fn long_lists_of_one_tenant_do_not_delay_others() {
    if let Ok(what) = std::env::var(READER) {
        return reader(&what);
    }
    let scratch = Arc::new(TempFolder::new("server"));
    let disk = Box::new(File(scratch.join("ledger.db")));
    let world = World::of(options(disk, &scratch, EnforcedBy::Nobody), scratch);
    let (noisy, quiet) = (tenant(&world, "noisy", json!({})), tenant(&world, "quiet", json!({})));
    let count = 500 * times();
    let one = |number: usize| {
        let (from, to) = (1 + number % 16, 1 + (number + 1 + number / 16 % 15) % 16);
        json!({ "name": format!("c{number}"), "tenant": "noisy", "from": format!("h{from}"), "to": format!("h{to}"),
            "rate": "1kbit", "burst": "64B", "deadline": "50ms" })
    };
    for first in (0..count).step_by(1000) {
        let contracts: Vec<Value> = (first..count.min(first + 1000)).map(one).collect();
        let list = json!({ "apiVersion": "wayleave/v1", "kind": "Contracts", "spec": { "contracts": contracts } });
        let report = world.client.post("/v1/apply", &list).is(200).json();
        assert_eq!(report["refused"], 0, "{report}");
    }
    let rounds = 15 * times();
    println!("{count} contracts, {CONNECTIONS} connections that read pages of 1000");
    measure("alone", rounds, &quiet, &world.client, None);
    for (name, is_niced) in [("beside the reader", false), ("beside the reader with nice 19", true)] {
        let mut flood = Flood::start(&noisy, is_niced);
        flood.settle();
        measure(name, rounds, &quiet, &world.client, Some(&mut flood));
    }
}
