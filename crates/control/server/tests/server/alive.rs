//! `/healthz` reports that a part of the process hangs, and is answered at that time.

use std::io::BufReader;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use serde_json::json;
use wayleave_controller::EnforcedBy;
use wayleave_server::ServerLimits;
use wayleave_server::disk::Memory;

use crate::common::{Answer, Client, World, options, read};
use wayleave_repo_checks::TempFolder;

/// Status and text of `/healthz`; the test fails if there is no answer.
fn healthz(client: &Client) -> Answer {
    let stream = client.without().begin("GET", "/healthz", &[], b"");
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    read(&mut BufReader::new(stream))
}

/// Asks until the answer has this status.
fn until(client: &Client, status: u16) -> String {
    let found = (0..1_000_000).map(|_| healthz(client)).find(|answer| answer.status == status);
    String::from_utf8(found.unwrap().body).unwrap()
}

fn world(disk: Memory, silent_within: Duration) -> World {
    let scratch = Arc::new(TempFolder::new("server"));
    let mut options = options(Box::new(disk), &scratch, EnforcedBy::Nobody);
    options.limits = ServerLimits { silent_within, ..ServerLimits::default() };
    World::of(options, scratch)
}

/// Keeps every thread that executes requests busy until the result is dropped.
fn occupy(world: &World) -> Vec<mpsc::Sender<()>> {
    let (began, begins) = mpsc::channel();
    let hold = |_| {
        let (release, released) = mpsc::channel::<()>();
        let began = began.clone();
        world.runtime.spawn(async move {
            began.send(()).unwrap();
            let _ = released.recv();
        });
        release
    };
    // As many as the runtime of `World` has.
    let held = (0..2).map(hold).collect();
    (0..2).for_each(|_| begins.recv().unwrap());
    held
}

#[test]
fn health_is_answered_while_no_request_thread_is_free() {
    let world = world(Memory::default(), Duration::from_secs(3600));
    let held = occupy(&world);
    for _ in 0..20 {
        assert_eq!((healthz(&world.client).status, healthz(&world.client).body), (200, b"ok\n".to_vec()));
    }
    drop(held);
    world.client.get("/v1").is(200);
}

#[test]
fn health_names_a_stalled_part_until_it_makes_progress() {
    let memory = Memory::default();
    let world = world(memory.clone(), Duration::from_millis(200));
    until(&world.client, 200);
    let held = occupy(&world);
    let received = until(&world.client, 503);
    assert!(received.starts_with("the request worker threads have made no progress for"), "{received}");
    drop(held);
    assert_eq!(until(&world.client, 200), "ok\n");
    // A disk that does not answer.
    let stuck = memory.0.lock().unwrap();
    let client = world.client.clone();
    let change = std::thread::spawn(move || client.put("/v1/tenants/a", &json!({})).status);
    let received = until(&world.client, 503);
    assert!(received.starts_with("the engine has made no progress for"), "{received}");
    world.client.get("/v1/status").is(200);
    drop(stuck);
    assert_eq!(change.join().unwrap(), 201);
    assert_eq!(until(&world.client, 200), "ok\n");
}
