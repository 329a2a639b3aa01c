//! Scheduling of the daemons of Open vSwitch by the kernel. The userspace datapath forwards in the daemon, so that what runs before it delays packets.

use std::fs;

use super::{Check, CheckFinding, Need};

/// The program.
const DAEMON: &str = "ovs-vswitchd";
/// `rt_priority` and `policy` of proc_pid_stat(5), behind the name of the program.
const RT_PRIORITY: usize = 37;
const POLICY: usize = 38;
/// `SCHED_FIFO`, `SCHED_RR` and `SCHED_DEADLINE` of include/uapi/linux/sched.h.
const REAL_TIME: [u32; 3] = [1, 2, 6];

/// Scheduling of a process by the kernel (sched(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessScheduling {
    /// As any other program.
    Ordinary,
    /// Before ordinary programs, with this priority.
    RealTime(u32),
}

impl ProcessScheduling {
    /// Returns how the main thread of a process is scheduled; `None` if there is no such process.
    pub fn of(pid: i32) -> Option<Self> {
        Self::read(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn read(stat: &str) -> Option<Self> {
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u32>().ok();
        let is_real_time = REAL_TIME.contains(&number(POLICY)?);
        Some(if is_real_time { Self::RealTime(number(RT_PRIORITY)?) } else { Self::Ordinary })
    }
}

/// The daemons that run.
fn daemons() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let is_daemon = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == DAEMON);
    let mut daemons: Vec<i32> = pids.filter(is_daemon).collect();
    daemons.sort_unstable();
    daemons
}

pub(super) fn check() -> Check {
    let known = daemons().into_iter().filter_map(|pid| Some((pid, ProcessScheduling::of(pid)?))).collect::<Vec<_>>();
    Check {
        name: "priority of ovs-vswitchd",
        need: Need::Useful,
        purpose: "keeps the delays of Open vSwitch switches low while other programs run",
        remedy: "chrt --all-tasks --fifo --pid 10 PID, or CPUSchedulingPolicy=fifo and CPUSchedulingPriority=10 in its systemd unit",
        finding: finding(&known),
    }
}

fn finding(daemons: &[(i32, ProcessScheduling)]) -> CheckFinding {
    let list = |pids: Vec<i32>| pids.iter().map(i32::to_string).collect::<Vec<_>>().join(", ");
    let of = |is_ordinary: bool| {
        let wanted = daemons.iter().filter(|(_, how)| (*how == ProcessScheduling::Ordinary) == is_ordinary);
        list(wanted.map(|&(pid, _)| pid).collect())
    };
    match (daemons, of(true)) {
        ([], _) => CheckFinding::Present("not running".to_owned()),
        (_, ordinary) if !ordinary.is_empty() => CheckFinding::Missing(format!(
            "ordinary priority (process {ordinary}): on a busy machine packets took 26 to 52 ms where the bound was 15 ms; 3.6 ms with real-time \
             priority"
        )),
        _ => CheckFinding::Present(format!("real-time priority (process {})", of(false))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_with_ordinary_priority_is_named_with_its_cost() {
        let [ordinary, real] = [ProcessScheduling::Ordinary, ProcessScheduling::RealTime(10)];
        for (daemons, is_present, expected) in [
            (&[][..], true, "not running"),
            (&[(7, real), (9, real)][..], true, "real-time priority (process 7, 9)"),
            (
                &[(7, real), (9, ordinary)][..],
                false,
                "ordinary priority (process 9): on a busy machine packets took 26 to 52 ms",
            ),
        ] {
            let finding = finding(daemons);
            assert_eq!(matches!(finding, CheckFinding::Present(_)), is_present, "{finding}");
            assert!(finding.to_string().starts_with(expected), "{finding}");
        }
    }
}
