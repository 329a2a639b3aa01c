//! Controllers with another network, scheme or model than their cluster take no part, and a cluster gets another
//! network while it runs.

use std::path::Path;
use std::process::Command;

use wayleave_repo_checks::wait_for;

use super::clients::{get, put};
use super::moving::{end, serve_with};
use super::processes::{self, Etcd, folder, until_role};
use super::{alone, text};

/// Output of a controller that does not begin.
fn refused(folder: &Path, etcd: &str, more: &[&str]) -> String {
    let ledger = folder.join("refused.db");
    let arguments = ["serve", "--listen=127.0.0.1:1", "--advertise=http://127.0.0.1:1", "--log-level=warn"];
    let output = Command::new(env!("CARGO_BIN_EXE_wayleave"))
        .args(arguments)
        .args([format!("--ledger={}", ledger.display()), format!("--etcd={etcd}")])
        .args(more)
        .output()
        .unwrap();
    let printed = text(&output.stderr);
    assert!(!output.status.success(), "{printed}");
    printed
}

pub(crate) fn a_member_with_another_network_is_barred_until_the_cluster_changes_it() {
    let _alone = alone();
    let folder = folder("network");
    let etcd = Etcd::start(&folder, 1);
    let token = || processes::token(&folder);
    let start = |name: &str, more: &[&str]| {
        let etcd = format!("--etcd={}", etcd.urls());
        serve_with(&folder, &folder.join(format!("{name}.db")), &[&[etcd.as_str()][..], more].concat())
    };
    let old = ["-t", "fat-tree:k=4"];
    let first = start("first", &old);
    until_role(&folder, &first.1, "leader");
    assert_eq!(put(&first.1, "kept", &token()), 201);

    // The difference is named, and nothing else.
    let printed = refused(&folder, &etcd.urls(), &["-t", "fat-tree:k=6"]);
    let topology = "a different topology (here fat-tree:k=6, 54 hosts, 45 switches";
    assert!(printed.contains(topology) && printed.contains("in the cluster fat-tree:k=4, 16 hosts"), "{printed}");
    assert!(!printed.contains("a different scheme") && !printed.contains("a different model"), "{printed}");
    let fingerprint = printed.split("--force-config ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    let printed = refused(&folder, &etcd.urls(), &["-t", "fat-tree:k=4", "--max-frame=1530B"]);
    assert!(printed.contains("a different model (here max-frame 1530B; in the cluster max-frame mtu)"), "{printed}");
    assert!(!printed.contains("a different topology") && !printed.contains("a different scheme"), "{printed}");
    let printed = refused(&folder, &etcd.urls(), &["-t", "fat-tree:k=4", "--reroute"]);
    assert!(printed.contains("a different scheme (here ") && !printed.contains("a different topology"), "{printed}");
    // The contract's route is not in the other network.
    let replace = format!("--force-config={fingerprint}");
    let printed = refused(&folder, &etcd.urls(), &["-t", "fat-tree:k=6", &replace]);
    assert!(printed.contains("not all guarantees could be kept") && printed.contains("kept"), "{printed}");
    // A fingerprint that is not that of the cluster replaces nothing.
    let faster = ["-t", "fat-tree:k=4,rate=2Gbit"];
    let printed = refused(&folder, &etcd.urls(), &[&faster[..], &["--force-config=0123456789abcdef"]].concat());
    assert!(printed.contains(&fingerprint), "{printed}");

    // One after the other begins with the new network, and waits; then the one that leads ends.
    let second = start("second", &[&faster[..], &[&replace]].concat());
    assert_eq!(processes::role(&folder, &first.1).as_deref(), Some("leader"));
    let waiting = ureq::get(format!("{}/v1/contracts", second.1));
    let waiting = waiting.header("authorization", format!("Bearer {}", token())).config().http_status_as_error(false);
    assert_eq!(waiting.build().call().unwrap().status().as_u16(), 503, "who waits answers nothing");
    assert_eq!(put(&first.1, "meanwhile", &token()), 201);
    end(first);
    until_role(&folder, &second.1, "leader");
    let printed = refused(&folder, &etcd.urls(), &old);
    assert!(
        printed.contains("a different topology (here fat-tree:k=4;")
            || printed.contains("a different topology (here fat-tree:k=4,"),
        "{printed}"
    );
    let first = start("first", &faster);
    until_role(&folder, &first.1, "follower");
    for name in ["kept", "meanwhile"] {
        let found = wait_for("it is there", || get(&first.1, &format!("/v1/contracts/default:{name}"), &token()));
        assert_eq!(found.1["id"], format!("default:{name}"));
    }
    end(second);
    end(first);
    drop(etcd);
}
