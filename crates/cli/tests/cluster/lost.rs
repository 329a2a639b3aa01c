//! An etcd that has lost data: a controller that notices names the loss, and none leads with the rest.

use std::path::Path;

use nix::sys::signal::Signal;
use wayleave_repo_checks::wait_for;

use super::alone;
use super::clients::{get, put};
use super::moving::{end, serve_with, start_with};
use super::processes::{self, Etcd, folder, until_role};

/// Last message of a controller that exits by itself.
fn last_words(folder: &Path, ledger: &str, etcd: &Etcd) -> String {
    let log = folder.join("log");
    let before = std::fs::read_to_string(&log).unwrap_or_default().len();
    let options = ["-t", "fat-tree:k=4", &format!("--etcd={}", etcd.urls())];
    let (mut process, _) = start_with(folder, &folder.join(ledger), &options);
    assert!(!wait_for("it ends", || process.ended()), "it ends well by what is lost");
    std::fs::read_to_string(&log).unwrap()[before..].to_owned()
}

pub(crate) fn deleted_keys_and_older_states_of_etcd_are_named_at_a_start() {
    let _alone = alone();
    let folder = folder("lost");
    let etcd = Etcd::start(&folder, 1);
    let options = ["-t", "fat-tree:k=4", &format!("--etcd={}", etcd.urls())];
    let token = || processes::token(&folder);
    let leader = serve_with(&folder, &folder.join("first.db"), &options);
    until_role(&folder, &leader.1, "leader");
    for name in ["a", "b", "c"] {
        assert_eq!(put(&leader.1, name, &token()), 201);
    }
    // The state of etcd is saved, and one more contract is admitted.
    let (data, saved) = (folder.join("m0"), folder.join("saved"));
    etcd.signal(Signal::SIGSTOP);
    copy(&data, &saved);
    etcd.signal(Signal::SIGCONT);
    // A copy that took longer than a lease ended it.
    wait_for("it leads again", || (put(&leader.1, "d", &token()) == 201).then_some(()));
    let commit = get(&leader.1, "/v1/status", &token()).unwrap().1["cluster"]["commit"].as_u64().unwrap();
    end(leader);

    // A batch that is in no snapshot is lost: controllers that have it continue, others name it.
    let entry = |number: u64| format!("/wayleave/wayleave/log/{number:020}");
    etcd.delete(&entry(2), &entry(3));
    let output = last_words(&folder, "second.db", &etcd);
    assert!(output.contains(&format!("{} in etcd is missing", entry(2))), "{output}");
    let leader = serve_with(&folder, &folder.join("first.db"), &options);
    until_role(&folder, &leader.1, "leader");
    end(leader);

    let etcd = etcd.restored(&folder, &saved);
    let options = ["-t", "fat-tree:k=4", &format!("--etcd={}", etcd.urls())];
    let output = last_words(&folder, "first.db", &etcd);
    assert!(output.contains("this controller has seen batch") && output.contains("was an older state"), "{output}");
    // A controller that has read nothing before continues from the restored state.
    let leader = serve_with(&folder, &folder.join("third.db"), &options);
    until_role(&folder, &leader.1, "leader");
    assert!(get(&leader.1, "/v1/status", &token()).unwrap().1["cluster"]["commit"].as_u64().unwrap() <= commit);
    assert_eq!(get(&leader.1, "/v1/contracts/default:c", &token()).unwrap().1["id"], "default:c");
    end(leader);

    // All keys have been deleted.
    etcd.delete("/wayleave/wayleave/", "/wayleave/wayleave0");
    let output = last_words(&folder, "third.db", &etcd);
    assert!(output.contains("head in etcd is missing, but this controller has seen batch"), "{output}");
    drop(etcd);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let at = to.join(entry.file_name());
        if entry.path().is_dir() { copy(&entry.path(), &at) } else { assert!(std::fs::copy(entry.path(), at).is_ok()) }
    }
}

impl Etcd {
    /// The same member with the state that was saved.
    fn restored(self, folder: &Path, saved: &Path) -> Self {
        drop(self);
        std::fs::remove_dir_all(folder.join("m0")).unwrap();
        std::fs::rename(saved, folder.join("m0")).unwrap();
        Self::start(folder, 1)
    }
}
