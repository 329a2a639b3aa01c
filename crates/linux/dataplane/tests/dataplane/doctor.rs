//! Checks of the machine that need root.

use std::fs;
use std::process::{Command, Stdio};

use wayleave_dataplane::doctor::{CheckFinding, ProcessScheduling, try_disciplines};
use wayleave_repo_checks::{KilledChild, leave_out};

pub(crate) fn a_qdisc_unknown_to_the_kernel_is_missing_and_a_working_one_leaves_nothing() {
    let Some(findings) = try_disciplines(&["nonesuch", "bfifo limit 97000", "bfifo limit 97000"]) else {
        leave_out("root", "probes of queues need root");
    };
    let is_present: Vec<bool> = findings.iter().map(|one| matches!(one, CheckFinding::Present(_))).collect();
    assert_eq!(is_present, [false, true, true], "{findings:?}");
}

pub(crate) fn real_time_and_ordinary_programs_are_distinguished() {
    let own = ProcessScheduling::of(std::process::id() as i32);
    let Ok(child) = Command::new("chrt").args(["-f", "10", "cat"]).stdin(Stdio::piped()).spawn() else {
        leave_out("root", "real-time priority needs chrt");
    };
    let mut child = KilledChild(child);
    let pid = child.id() as i32;
    let name = || fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    // Without the right to do so `chrt` ends before it becomes `cat`.
    while name().trim() != "cat" {
        if child.try_wait().unwrap().is_some() {
            leave_out("root", "real-time priority needs CAP_SYS_NICE");
        }
        std::thread::yield_now();
    }
    assert_eq!(ProcessScheduling::of(pid), Some(ProcessScheduling::RealTime(10)));
    assert!(own.is_some() && own != ProcessScheduling::of(pid), "{own:?}");
    assert_eq!(ProcessScheduling::of(-1), None);
}
