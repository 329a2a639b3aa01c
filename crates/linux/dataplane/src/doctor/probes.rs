//! The checks, in order.

use std::fs;
use std::path::Path;
use std::process::Command;

use nix::unistd::geteuid;

use super::throwaway::{NEAR, Pins, Throwaway};
use super::{Check, CheckFinding, Need};
use crate::error::Error;
use crate::host::{Host, LONGEST_WAIT, Settings};
use crate::net::{Capture, Hook, Injector, NetError, PortQdisc, ToolBatch, attach_ingress, attach_pass, pin_pass};
use crate::programs::SwitchProgram;
use wayleave_units::{Bytes, Rate};

/// Runs all checks. This takes some tens of milliseconds, and leaves nothing behind.
pub fn examine() -> Vec<Check> {
    let mut checks = vec![rights()];
    checks.extend(TOOLS.iter().map(Tool::check));
    let is_able = checks[0].is_present() && present(&checks, "ip");
    let place = if is_able { Some(Throwaway::new().map_err(|error| error.to_string())) } else { None };
    checks.push(namespaces(place.as_ref()));
    let place = place.and_then(Result::ok);
    checks.push(links(place.as_ref()));
    let place = place.filter(|_| present(&checks, "veth"));
    checks.push(jit());
    let tc = place.as_ref().filter(|_| present(&checks, "tc"));
    let pins = if checks[0].is_present() { Some(Pins::new().map_err(|error| error.to_string())) } else { None };
    checks.push(bpffs(pins.as_ref()));
    let pins = pins.and_then(Result::ok);
    checks.push(programs(pins.as_ref()));
    checks.push(attached(pins.as_ref().zip(tc)));
    checks.push(polling(pins.as_ref().zip(place.as_ref())));
    checks.extend(KINDS.iter().map(|kind| kind.check(tc)));
    checks.push(port(tc));
    checks.push(waiting(pins.as_ref().zip(tc)));
    checks.push(seen(place.as_ref()));
    checks.push(sent(tc));
    checks.push(mounted());
    checks.push(realtime());
    checks.push(super::vswitchd::check());
    checks
}

fn present(checks: &[Check], name: &str) -> bool {
    checks.iter().any(|check| check.name == name && check.is_present())
}

fn found(result: Result<(), impl ToString>) -> CheckFinding {
    match result {
        Ok(()) => CheckFinding::Present("works".to_owned()),
        Err(error) => CheckFinding::Missing(error.to_string()),
    }
}

/// Mount point of systemd's bpf file system; default of agents for their pins.
const PINS: &str = "/sys/fs/bpf";

/// Bits of `CapEff` (include/uapi/linux/capability.h).
const CAPABILITIES: [(u32, &str); 3] = [(12, "CAP_NET_ADMIN"), (21, "CAP_SYS_ADMIN"), (39, "CAP_BPF")];

fn rights() -> Check {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    let missing: Vec<&str> =
        CAPABILITIES.iter().filter(|(bit, _)| bits >> bit & 1 == 0).map(|&(_, name)| name).collect();
    let finding = match (geteuid().is_root(), missing.is_empty()) {
        (true, true) => CheckFinding::Present("root, with all required capabilities".to_owned()),
        (true, false) => CheckFinding::Missing(format!("root without {}", missing.join(", "))),
        (false, _) => CheckFinding::Missing(format!("user {} is not root", geteuid())),
    };
    Check {
        name: "root",
        need: Need::Required,
        purpose: "namespaces, links, queues and eBPF programs",
        remedy: "run as root (sudo); in a container give it CAP_NET_ADMIN, CAP_SYS_ADMIN and CAP_BPF",
        finding,
    }
}

/// A program that is called.
struct Tool {
    name: &'static str,
    version: &'static str,
    need: Need,
    purpose: &'static str,
    remedy: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "ip",
        version: "-V",
        need: Need::Required,
        purpose: "creates namespaces and links",
        remedy: "install iproute2",
    },
    Tool {
        name: "tc",
        version: "-V",
        need: Need::Required,
        purpose: "creates queues and attaches programs",
        remedy: "install iproute2 (in some distributions iproute-tc)",
    },
    Tool {
        name: "ethtool",
        version: "--version",
        need: Need::Required,
        purpose: "turns off offloads that merge packets, so that each packet is shaped individually",
        remedy: "install ethtool",
    },
    Tool {
        name: "nsenter",
        version: "--version",
        need: Need::Useful,
        purpose: "gives access to the namespaces of a lab",
        remedy: "install util-linux",
    },
];

impl Tool {
    fn check(&self) -> Check {
        let printed = Command::new(self.name).arg(self.version).output();
        let finding = match printed {
            Ok(output) => {
                let text = [output.stdout, output.stderr].concat();
                let text = String::from_utf8_lossy(&text);
                CheckFinding::Present(text.lines().next().unwrap_or("installed").trim().to_owned())
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                CheckFinding::Missing("not installed".to_owned())
            }
            Err(error) => CheckFinding::Missing(error.to_string()),
        };
        let Self { name, need, purpose, remedy, .. } = *self;
        Check { name, need, purpose, remedy, finding }
    }
}

fn namespaces(place: Option<&Result<Throwaway, String>>) -> Check {
    Check {
        name: "network namespaces",
        need: Need::Required,
        purpose: "the hosts, switches and endpoints of a lab",
        remedy: "a kernel with CONFIG_NET_NS; in a container CAP_SYS_ADMIN and a /run that can be mounted on",
        finding: place.map_or(CheckFinding::Untried("root and ip"), |place| found(place.as_ref().map(drop))),
    }
}

fn links(place: Option<&Throwaway>) -> Check {
    Check {
        name: "veth",
        need: Need::Required,
        purpose: "the cables of a lab, the interfaces of containers",
        remedy: "load the module veth, or a kernel with CONFIG_VETH",
        finding: place.map_or(CheckFinding::Untried("network namespaces"), |place| found(place.add_link())),
    }
}

fn jit() -> Check {
    let path = "/proc/sys/net/core/bpf_jit_enable";
    let finding = match fs::read_to_string(path).map(|text| text.trim().to_owned()) {
        Ok(value) if value == "0" => CheckFinding::Missing(format!("{path} is 0")),
        Ok(value) => CheckFinding::Present(format!("{path} is {value}")),
        Err(error) => CheckFinding::Missing(format!("{path}: {error}")),
    };
    Check {
        name: "BPF JIT",
        need: Need::Useful,
        purpose: "without it eBPF programs are interpreted and several times slower",
        remedy: "sysctl -w net.core.bpf_jit_enable=1",
        finding,
    }
}

fn bpffs(pins: Option<&Result<Pins, String>>) -> Check {
    Check {
        name: "bpffs",
        need: Need::Required,
        purpose: "keeps programs and rules when an agent stops, and finds them again",
        remedy: "a kernel with CONFIG_BPF_SYSCALL; in a container CAP_SYS_ADMIN, for the mount",
        finding: pins.map_or(CheckFinding::Untried("root"), |pins| found(pins.as_ref().map(drop))),
    }
}

fn programs(pins: Option<&Pins>) -> Check {
    let load = |pins: &Pins| -> Result<(), Error> {
        let settings = Settings { contracts: 16, ..Settings::default() };
        Host::open(&pins.path().join("host"), &settings).map(drop)?;
        SwitchProgram::open(&pins.path().join("switch")).map(drop)
    };
    Check {
        name: "eBPF programs",
        need: Need::Required,
        purpose: "Wayleave's programs classify, shape, tag and forward packets; loaded and verified here",
        remedy: "Linux 5.12 or newer with CONFIG_BPF_SYSCALL; root, or CAP_BPF with CAP_NET_ADMIN and CAP_PERFMON",
        finding: pins.map_or(CheckFinding::Untried("bpffs"), |pins| found(load(pins))),
    }
}

fn attached(place: Option<(&Pins, &Throwaway)>) -> Check {
    let attach = |(pins, place): (&Pins, &Throwaway)| -> Result<(), String> {
        let program = SwitchProgram::open(&pins.path().join("switch")).map_err(|error| error.to_string())?;
        place.try_tc(&attach_ingress(NEAR, &program.pinned(Hook::Ingress))).map_err(error_text)
    };
    Check {
        name: "attached programs",
        need: Need::Required,
        purpose: "programs see every packet of an interface, and stay when an agent stops",
        remedy: "see clsact and cls_bpf; iproute2 has to be built with libbpf",
        finding: place.map_or(CheckFinding::Untried("bpffs, veth and tc"), |place| found(attach(place))),
    }
}

fn polling(place: Option<(&Pins, &Throwaway)>) -> Check {
    let attach = |(pins, place): (&Pins, &Throwaway)| -> Result<(), String> {
        let program = pin_pass(pins.path(), 1500).map_err(|error| error.to_string())?;
        ToolBatch::ip().line(attach_pass(NEAR, &program)).run(&place.namespace).map_err(error_text)
    };
    Check {
        name: "XDP on veth",
        need: Need::Required,
        purpose: "virtual links use NAPI, which keeps packets in order",
        remedy: "Linux 4.19 or newer; iproute2 has to be built with libbpf",
        finding: place.map_or(CheckFinding::Untried("bpffs and veth"), |place| found(attach(place))),
    }
}

/// Returns the output of a tool; the name of the check shows its command.
fn error_text(error: NetError) -> String {
    match error {
        NetError::Tool { output, .. } => output,
        other => other.to_string(),
    }
}

/// Something that `tc` makes.
struct Kind {
    name: &'static str,
    need: Need,
    /// The arguments behind `dev X`, and those before it.
    lines: &'static [(&'static str, &'static str)],
    purpose: &'static str,
    remedy: &'static str,
}

const KINDS: &[Kind] = &[
    Kind {
        name: "clsact",
        need: Need::Required,
        lines: &[("qdisc add", "clsact")],
        purpose: "the hook of eBPF programs",
        remedy: "load the module sch_ingress, or a kernel with CONFIG_NET_SCH_INGRESS",
    },
    Kind {
        name: "cls_bpf",
        need: Need::Required,
        lines: &[("qdisc add", "clsact"), ("filter add", "ingress bpf direct-action bytecode \"1,6 0 0 0,\"")],
        purpose: "attaches eBPF programs, so that they stay when an agent stops",
        remedy: "load the module cls_bpf, or a kernel with CONFIG_NET_CLS_BPF",
    },
    Kind {
        name: "tbf",
        need: Need::Required,
        lines: &[("qdisc add", "root tbf rate 10mbit burst 4100 limit 10000")],
        purpose: "limits the rate of a port",
        remedy: "load the module sch_tbf, or a kernel with CONFIG_NET_SCH_TBF",
    },
    Kind {
        name: "htb",
        need: Need::Required,
        lines: &[("qdisc add", "root handle 1: htb")],
        purpose: "orders the queues of a port by priority",
        remedy: "load the module sch_htb, or a kernel with CONFIG_NET_SCH_HTB",
    },
    Kind {
        name: "bfifo",
        need: Need::Required,
        lines: &[("qdisc add", "root bfifo limit 97000")],
        purpose: "limits the buffer of a queue, in bytes",
        remedy: "a kernel with CONFIG_NET_SCHED",
    },
    Kind {
        name: "fq",
        need: Need::Useful,
        lines: &[("qdisc add", "root fq")],
        purpose: "could delay early packets at a lower cost than htb (earliest departure time); not used yet",
        remedy: "load the module sch_fq; nothing depends on it",
    },
    Kind {
        name: "etf",
        need: Need::Useful,
        lines: &[("qdisc add", "root etf clockid CLOCK_TAI delta 200000 skip_sock_check")],
        purpose: "could send packets at exact times with a capable network card; not used yet",
        remedy: "load the module sch_etf; nothing depends on it",
    },
    Kind {
        name: "prio",
        need: Need::Useful,
        lines: &[("qdisc add", "root prio bands 8")],
        purpose: "could order the queues of a port at a lower cost than htb; not used yet",
        remedy: "load the module sch_prio; htb does it without",
    },
    Kind {
        name: "mqprio",
        need: Need::Useful,
        lines: &[("qdisc add", "root mqprio num_tc 1 map 0 queues 1@0 hw 0")],
        purpose: "could offload the queues of a port to the network card; not used yet",
        remedy: "load the module sch_mqprio; htb does it in the kernel",
    },
];

impl Kind {
    fn check(&self, place: Option<&Throwaway>) -> Check {
        let lines: Vec<String> =
            self.lines.iter().map(|(before, after)| format!("{before} dev {NEAR} {after}")).collect();
        let Self { name, need, purpose, remedy, .. } = *self;
        let finding =
            place.map_or(CheckFinding::Untried("veth and tc"), |place| found(place.try_tc(&lines).map_err(error_text)));
        Check { name, need, purpose, remedy, finding }
    }
}

/// The queues of a port as a whole.
fn port(place: Option<&Throwaway>) -> Check {
    let port = PortQdisc {
        rate: Rate::from_mbit(10),
        queues: vec![Bytes::new(97_000); 8],
        weights: vec![6, 3, 1],
        overhead: 24,
        mtu: Bytes::new(1_500),
    };
    Check {
        name: "port",
        need: Need::Required,
        purpose: "a port with a rate and eight queues, as on switches and hosts",
        remedy: "see tbf, htb and bfifo",
        finding: place.map_or(CheckFinding::Untried("veth and tc"), |place| {
            found(port.lines(NEAR).and_then(|lines| place.try_tc(&lines)))
        }),
    }
}

/// The place where packets wait for the tokens of their contract, as an agent makes it.
fn waiting(place: Option<(&Pins, &Throwaway)>) -> Check {
    let hold = |(pins, place): (&Pins, &Throwaway)| -> Result<(), String> {
        let settings = Settings { contracts: 16, ..Settings::default() };
        let mut host = Host::open(&pins.path().join("host"), &settings).map_err(|error| error.to_string())?;
        let held = place.namespace.run(move || host.hold(LONGEST_WAIT).and_then(|()| host.release_hold()));
        held.map_err(error_text)?.map_err(|error| error.to_string())
    };
    Check {
        name: "waiting for tokens",
        need: Need::Useful,
        purpose: "queues packets that exceed their contract, and segments super-frames; without it both are dropped",
        remedy: "load the modules macvlan, sch_htb and sch_tbf, or a kernel with CONFIG_MACVLAN",
        finding: place.map_or(CheckFinding::Untried("bpffs, veth and tc"), |place| found(hold(place))),
    }
}

/// Checks how an agent captures frames.
fn seen(place: Option<&Throwaway>) -> Check {
    Check {
        name: "packet sockets",
        need: Need::Useful,
        purpose: "let `wayleave capture` and `wayleave probe` see frames",
        remedy: "CONFIG_PACKET in the kernel; in a container give it CAP_NET_RAW",
        finding: place.map_or(CheckFinding::Untried("veth"), |place| found(Capture::open(&place.namespace).map(drop))),
    }
}

/// Checks how an agent sends the probes of `wayleave probe`.
fn sent(place: Option<&Throwaway>) -> Check {
    let inject = |place: &Throwaway| -> Result<(), String> {
        let done = place.namespace.run(|| Injector::into_ingress(NEAR).map(drop));
        done.map_err(error_text)?.map_err(error_text)
    };
    Check {
        name: "probes",
        need: Need::Useful,
        purpose: "lets `wayleave probe` inject frames as if an endpoint had sent them",
        remedy: "load the modules cls_u32 and act_mirred, and see packet sockets",
        finding: place.map_or(CheckFinding::Untried("veth and tc"), |place| found(inject(place))),
    }
}

/// Checks the default folder for pins of agents.
fn mounted() -> Check {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let is_bpf = |line: &str| line.split(' ').nth(1) == Some(PINS) && line.split(' ').nth(2) == Some("bpf");
    let finding = if mounts.lines().any(is_bpf) {
        CheckFinding::Present(format!("mounted at {PINS}"))
    } else {
        CheckFinding::Missing(format!("nothing is mounted at {PINS}"))
    };
    Check {
        name: "mounted bpffs",
        need: Need::Useful,
        purpose: "holds an agent's programs and rules, unless its configuration sets `pins`; labs mount their own",
        remedy: "mount -t bpf bpf /sys/fs/bpf, as `wayleave agent init` and systemd do",
        finding,
    }
}

fn realtime() -> Check {
    let path = Path::new("/proc/sys/kernel/sched_rt_runtime_us");
    let finding = match fs::read_to_string(path).map(|text| text.trim().to_owned()) {
        Ok(value) if value == "-1" => CheckFinding::Present("no limit".to_owned()),
        Ok(value) => CheckFinding::Missing(format!("limited to {value} us of each second")),
        // A kernel without groups of real-time tasks has no limit.
        Err(_) => CheckFinding::Present("no limit".to_owned()),
    };
    Check {
        name: "real-time scheduling",
        need: Need::Useful,
        purpose: "for measurements: senders and receivers that are not preempted by other programs",
        remedy: "sysctl -w kernel.sched_rt_runtime_us=-1, during a measurement",
        finding,
    }
}

/// Tries queueing disciplines of these names, in turn, in one throwaway namespace; `None` if there can be none.
pub fn try_disciplines(names: &[&str]) -> Option<Vec<CheckFinding>> {
    let place = Throwaway::new().ok().filter(|place| place.add_link().is_ok())?;
    let line = |name: &&str| place.try_tc(&[format!("qdisc add dev {NEAR} root {name}")]).map_err(error_text);
    Some(names.iter().map(line).map(found).collect())
}

#[cfg(test)]
mod tests {
    use super::super::can_run;
    use super::*;

    #[test]
    fn every_check_has_its_purpose_and_advice() {
        let checks = examine();
        for check in &checks {
            assert!(
                !check.purpose.is_empty() && !check.remedy.is_empty() && !check.finding.to_string().is_empty(),
                "{check:?}"
            );
            let twins = checks.iter().filter(|other| other.name == check.name).count();
            assert_eq!(twins, 1, "{}", check.name);
        }
        assert!(checks.len() > 15);
    }

    #[test]
    fn missing_optional_features_do_not_stop_the_data_plane() {
        let mut checks = examine();
        checks.iter_mut().for_each(|check| check.finding = CheckFinding::Present(String::new()));
        assert!(can_run(&checks));
        for index in 0..checks.len() {
            let mut checks = checks.clone();
            checks[index].finding = CheckFinding::Missing(String::new());
            assert_eq!(can_run(&checks), checks[index].need == Need::Useful, "{}", checks[index].name);
        }
    }

    #[test]
    fn a_qdisc_is_not_tried_without_a_place() {
        assert_eq!(KINDS[2].check(None).finding, CheckFinding::Untried("veth and tc"));
    }
}
