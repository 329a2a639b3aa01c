//! Open vSwitch in a lab: for each switch that it forwards for, a database and a daemon in the switch's namespace, with one bridge.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use wayleave_dataplane::doctor::ProcessScheduling;
use wayleave_dataplane::net::{Namespace, output};
use wayleave_dataplane::switch::{OvsBridge, OvsSwitch, SwitchDriver};

use crate::error::LabError;
use crate::plan::{LabPlan, NodePlan};
use crate::processes::{ProcessSpec, is_alive, last_lines, running, start};
use crate::state::Folder;
use crate::stop::StopRequest;

/// The bridge of every switch: each has an Open vSwitch of its own.
const BRIDGE: &str = "br0";
/// Runs a program before all ordinary ones (chrt(1)). The userspace datapath forwards in the daemon: at ordinary priority packets took 26 to 52 ms on
/// a busy machine where the bound was 15 ms, and 3.6 ms like this (issue 45).
const REAL_TIME: [&str; 3] = ["chrt", "-f", "10"];
/// Timeout of a daemon's start.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The bridge of a switch.
pub(crate) fn bridge(folder: &Folder, switch: &NodePlan) -> OvsBridge {
    OvsBridge { name: BRIDGE.to_owned(), run: folder.path().join("ovs").join(switch.file_name()) }
}

/// Returns `true` if programs may have real-time priority here.
fn may_have_priority() -> bool {
    let [program, arguments @ ..] = REAL_TIME;
    let mut command = Command::new(program);
    command.args(arguments).arg("true").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The switches of a lab whose daemon runs at ordinary priority.
pub(crate) fn without_priority(plan: &LabPlan, folder: &Folder) -> Vec<String> {
    let running = running(folder);
    let is_ordinary = |switch: &&NodePlan| {
        let [_, daemon] = names(switch);
        let process = running.iter().find(|process| process.name == daemon);
        process.is_some_and(|process| ProcessScheduling::of(process.pid) == Some(ProcessScheduling::Ordinary))
    };
    plan.switches().filter(|switch| switch.is_ovs).filter(is_ordinary).map(|switch| switch.ports.name.clone()).collect()
}

/// The programs of a switch, as the lab calls them.
pub(crate) fn names(switch: &NodePlan) -> [String; 2] {
    ["ovsdb-server", "ovs-vswitchd"].map(|program| format!("{program}-{}", switch.file_name()))
}

/// Starts Open vSwitch in the namespace of a switch, and makes its bridge forward for it.
pub(crate) fn begin(folder: &Folder, switch: &NodePlan, pins: &Path, stop: &StopRequest) -> Result<(), LabError> {
    let (namespace, bridge) = (Namespace::open(&switch.namespace)?, bridge(folder, switch));
    std::fs::create_dir_all(&bridge.run)
        .map_err(|error| LabError::io(format!("cannot create {}", bridge.run.display()), error))?;
    let at = |file: &str| bridge.run.join(file).to_string_lossy().into_owned();
    let (database, socket) = (at("conf.db"), at("db.sock"));
    output(&namespace, "ovsdb-tool", &["create", &database])?;
    let [server, daemon] = names(switch);
    let run = |name: &str, program: &str, arguments: &[&str], file: &str| {
        let inside = ["netns", "exec", &switch.namespace, program];
        let folders = ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"];
        let program = ProcessSpec {
            name: name.to_owned(),
            file: PathBuf::from("ip"),
            arguments: inside.iter().chain(arguments).map(|&argument| argument.to_owned()).collect(),
            environment: folders.map(|name| (name.to_owned(), bridge.run.to_string_lossy().into_owned())).to_vec(),
        };
        let process = start(folder, &program)?;
        let begin = Instant::now();
        while !bridge.run.join(file).exists() {
            if !is_alive(process.pid) || begin.elapsed() > TIMEOUT {
                let output = last_lines(&folder.log(&process.name));
                return Err(LabError::Ended { program: process.name, output });
            }
            stop.check()?;
            sleep(Duration::from_millis(10));
        }
        Ok(())
    };
    run(&server, "ovsdb-server", &[&database, &format!("--remote=punix:{socket}")], "db.sock")?;
    let server = format!("unix:{socket}");
    let database = format!("--db={server}");
    let report = |what: &[&str]| {
        output(&namespace, "ovs-vsctl", &[&[database.as_str(), "--timeout=20"], what].concat()).map(drop)
    };
    report(&["--no-wait", "init"])?;
    let control = format!("--unixctl={}", at("switch.ctl"));
    let with_priority: Vec<&str> = if may_have_priority() { REAL_TIME.to_vec() } else { Vec::new() };
    let command = [with_priority.as_slice(), &["ovs-vswitchd", &server, &control]].concat();
    run(&daemon, command[0], &command[1..], "switch.ctl")?;
    // The kernel's datapath needs a module; the other one is in the daemon.
    let kind = ["--", "set", "bridge", BRIDGE, "datapath_type=netdev", "protocols=OpenFlow13", "fail_mode=secure"];
    report(&[&["add-br", BRIDGE][..], &kind].concat())?;
    for port in &switch.ports.ports {
        report(&["add-port", BRIDGE, &port.interface])?;
    }
    OvsSwitch::open(bridge, namespace, &pins.join(switch.file_name()))?.configure(&switch.ports)?;
    Ok(())
}
