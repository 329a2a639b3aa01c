//! The script of `tc` for a leaf (`golden/leaf1.sh`), with packets in this kernel.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests assert by panicking")]

use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;

use nix::sys::socket::{setsockopt, sockopt};
use wayleave_dataplane::net::{Namespace, queue_counters};
use wayleave_dataplane::sandbox::Apart;

/// Script of a leaf with three ports, each with the same queues and filters. The tests in `render.rs` compare it with what is rendered.
const SCRIPT: &str = include_str!("golden/leaf1.sh");
const PORT: &str = "eth3";

fn main() -> std::process::ExitCode {
    wayleave_repo_checks::run_tests(wayleave_repo_checks::tests![
        the_script_of_tc_puts_packets_into_the_queue_of_their_codepoint
    ])
}

fn the_script_of_tc_puts_packets_into_the_queue_of_their_codepoint() {
    let apart = Apart::enter(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("bpf-render")).unwrap_or_else(|error| {
        wayleave_repo_checks::leave_out("root", format_args!("it needs a network namespace: {error}"));
    });
    for port in 1..=3 {
        apart.veth(&format!("eth{port}"), 100 * port).unwrap();
    }
    let shell = |text: &str| {
        let output = Command::new("sh").args(["-c", text]).output().unwrap();
        assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
    };
    // If a port is missing, nothing is changed.
    shell("ip link set eth3 name away");
    let output = Command::new("sh").args(["-c", SCRIPT]).output().unwrap();
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("no queues were changed"));
    let untouched = Command::new("tc").args(["qdisc", "show", "dev", "eth1"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&untouched.stdout).contains("tbf"));
    shell("ip link set away name eth3");
    shell(SCRIPT);
    // It can be run again.
    shell(SCRIPT);
    shell(&format!(
        "ip addr add 10.9.0.1/24 dev {PORT} && ip neigh replace 10.9.0.2 lladdr 02:00:00:00:00:09 nud permanent dev {PORT}"
    ));
    let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
    // robot 3 in queue 0, camera 4 in queue 2; guaranteed 1 in queue 5, objective 2 in queue 6; best effort and unknown packets in queue 7.
    for (dscp, packets) in [(3, 1), (4, 2), (1, 3), (2, 4), (0, 5), (40, 6)] {
        setsockopt(&socket, sockopt::Ipv4Tos, &(dscp << 2)).unwrap();
        for _ in 0..packets {
            socket.send_to(b"x", "10.9.0.2:9").unwrap();
        }
    }
    let counters = queue_counters(&Namespace::current()).unwrap();
    let (_, queues) = counters.into_iter().find(|(name, _)| name == PORT).unwrap();
    let waiting = |queue: usize| queues[queue].packets;
    assert_eq!((0..7).map(waiting).collect::<Vec<_>>(), [1, 0, 2, 0, 0, 3, 4]);
    // The kernel's own packets (multicast) are best effort as well.
    assert!(waiting(7) >= 11, "{}", waiting(7));
}
