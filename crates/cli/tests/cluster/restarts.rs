//! Controllers that start while others write, over slow connections to etcd: a start fails for damage and for nothing
//! else.
//!
//! `WAYLEAVE_CYCLES=100 cargo test -p wayleave-cli --test cluster` has 100 restarts (`make cluster`).

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::json;
use wayleave_repo_checks::{wait_for, wait_until};

use super::clients::{Clients, get};
use super::moving::start_with;
use super::processes::{Controllers, Etcd, folder, until_role};
use super::ready::Watch;
use super::{alone, is_in_order};

/// Delays between controllers and etcd in milliseconds, in each direction; `true` if only the one that starts has it.
const DELAYS: [(u64, bool); 6] = [(1, true), (20, true), (50, true), (5, false), (1, false), (50, false)];

pub(crate) fn a_restart_under_load_succeeds_with_etcd_at_any_speed() {
    let _alone = alone();
    let cycles: usize = std::env::var("WAYLEAVE_CYCLES").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let mut controllers = Controllers::start();
    let first = wait_for("a first leader", || controllers.leader());
    let clients = Clients::start(&controllers, first);
    let watch = Watch::start(controllers.urls());
    for cycle in 0..cycles {
        let (delay, is_alone) = DELAYS[cycle % DELAYS.len()];
        let leader = wait_for("a leader", || controllers.leader());
        // Also one that leads, now and then.
        let at = if cycle % 3 == 2 { leader } else { (leader + 1) % 3 };
        (0..3).for_each(|to| controllers.delay(to, Duration::ZERO));
        let slow = (0..3).filter(|&to| to == at || !is_alone);
        slow.for_each(|to| controllers.delay(to, Duration::from_millis(delay)));
        let before = clients.acknowledged();
        wait_until("changes", || clients.acknowledged() > before + 30);
        controllers.end(at);
        let before = clients.acknowledged();
        wait_until("changes meanwhile", || clients.acknowledged() > before + 100);
        let began = Instant::now();
        controllers.restart(at);
        wait_for("it answers reads", || {
            if let Some(output) = controllers.has_failed(at) {
                panic!("a restart has failed, and nothing is damaged: {output}");
            }
            let (role, _) = get(&controllers.url(at), "/v1/contracts?limit=1", &controllers.token())?;
            (role != "unknown").then_some(())
        });
        println!("{delay} ms to etcd, alone {is_alone}: answers reads after {} ms", began.elapsed().as_millis());
    }
    (0..3).for_each(|to| controllers.delay(to, Duration::ZERO));
    assert!(watch.stop() > 0);
    is_in_order(&clients.stop());
}

pub(crate) fn a_start_can_be_stopped_while_etcd_does_not_answer() {
    let _alone = alone();
    let folder = folder("start");
    let etcd = Etcd::start(&folder, 1);
    etcd.signal(Signal::SIGSTOP);
    let options = ["-t", "star:hosts=2", &format!("--etcd={}", etcd.urls())];
    let (mut process, _) = start_with(&folder, &folder.join("copy.db"), &options);
    // It listens before it asks etcd.
    wait_until("the copy is there", || folder.join("copy.db").exists());
    process.signal(Signal::SIGTERM);
    assert!(wait_for("it ends", || process.ended()), "it was ended, and that is no failure");
}

pub(crate) fn a_full_or_compacted_etcd_does_not_prevent_a_start() {
    let _alone = alone();
    let folder = folder("full");
    let etcd = Etcd::start_with(&folder, 1, "http", &[("quota-backend-bytes", (4 << 20).to_string())]);
    let options = ["-t", "star:hosts=4", &format!("--etcd={}", etcd.urls())];
    wait_for("etcd answers", || ureq::get(format!("{}/health", etcd.urls())).call().ok());
    let first = start_with(&folder, &folder.join("first.db"), &options);
    until_role(&folder, &first.1, "leader");
    let mut second = start_with(&folder, &folder.join("second.db"), &options);
    until_role(&folder, &second.1, "follower");

    // Another client fills it. No controller can lead, and one that starts waits.
    let value = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, vec![7; 512 << 10]);
    let is_full = |at: u32| {
        let key = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, format!("/other/{at}"));
        etcd.ask("kv/put", &json!({ "key": key, "value": value }))["error"].is_string()
    };
    assert!((0..100).any(is_full), "etcd is not full");
    super::moving::end(first);
    super::moving::end(second);
    second = start_with(&folder, &folder.join("second.db"), &options);
    until_role(&folder, &second.1, "unknown");
    assert_eq!(second.0.ended(), None);

    // There is space again, and everything of before is compacted.
    etcd.delete("/other/", "/other0");
    let revision = etcd.ask("kv/range", &json!({ "key": "AA==" }))["header"]["revision"].clone();
    etcd.ask("kv/compaction", &json!({ "revision": revision }));
    etcd.ask("maintenance/defragment", &json!({}));
    for mut alarm in etcd.ask("maintenance/alarm", &json!({ "action": "GET" }))["alarms"].as_array().unwrap().clone() {
        alarm["action"] = "DEACTIVATE".into();
        etcd.ask("maintenance/alarm", &alarm);
    }
    until_role(&folder, &second.1, "leader");
    let third = start_with(&folder, &folder.join("third.db"), &options);
    until_role(&folder, &third.1, "follower");
    drop((second, third, etcd));
}
