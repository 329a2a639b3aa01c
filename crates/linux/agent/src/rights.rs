//! Check that this process has the rights that an agent needs.

/// Capabilities by their numbers (linux/capability.h): what for.
const NEEDED: [(u32, &str, &str); 3] = [
    (12, "CAP_NET_ADMIN", "configure queues and programs of interfaces"),
    (38, "CAP_PERFMON", "load eBPF programs with packet pointers"),
    (39, "CAP_BPF", "load eBPF programs and maps"),
];
const SYS_ADMIN: (u32, &str, &str) = (21, "CAP_SYS_ADMIN", "enter other network namespaces");

/// A message about what is missing.
pub(crate) fn missing(enters_namespaces: bool) -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    missing_in(&status, enters_namespaces)
}

fn missing_in(status: &str, enters_namespaces: bool) -> Option<String> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    let has = u64::from_str_radix(line.trim(), 16).ok()?;
    let is_there = |number: u32| has & (1 << number) != 0;
    let needed = NEEDED.into_iter().chain(enters_namespaces.then_some(SYS_ADMIN));
    // CAP_SYS_ADMIN includes both capabilities of eBPF.
    let has = |number: u32| is_there(number) || (number >= 38 && is_there(SYS_ADMIN.0));
    let lacks = needed.filter(|(number, ..)| !has(*number));
    let lacks: Vec<String> = lacks.map(|(_, name, what)| format!("{name} ({what})")).collect();
    (!lacks.is_empty()).then(|| {
        format!(
            "the agent lacks capabilities: {}\n  run it as root, or with packaging/systemd/wayleave-agent.service",
            lacks.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_rights_are_named() {
        assert_eq!(missing_in("CapEff:\t000001ffffffffff\n", true), None);
        let none = missing_in("Name:\tx\nCapEff:\t0000000000000000\n", false).unwrap_or_default();
        assert!(none.contains("CAP_NET_ADMIN") && none.contains("CAP_BPF") && !none.contains("SYS_ADMIN"), "{none}");
        let few = missing_in("CapEff:\t000000c000001000\n", true).unwrap_or_default();
        assert!(few.contains("CAP_SYS_ADMIN") && !few.contains("CAP_BPF"), "{few}");
        assert_eq!(missing_in("CapEff:\t000000c000001000\n", false), None);
    }
}
