//! The commands that write files for other programs, and the options that all commands share.

use crate::command::{fed, file, wayleave};

#[test]
fn the_same_seed_gives_the_same_requests_in_both_formats() {
    let yaml = wayleave("generate contracts -t fat-tree:k=4 --scenario 3 --count 50 --seed 7").ends_with(0).stdout;
    assert_eq!(wayleave("generate contracts -t fat-tree:k=4 --scenario 3 --count 50 --seed 7").stdout, yaml);
    let csv = wayleave("generate contracts -t fat-tree:k=4 --scenario 3 --count 50 --seed 7 --format csv")
        .ends_with(0)
        .stdout;
    assert_eq!(csv.lines().count(), 51);
    let plan = |path: &str| {
        let mut plan = wayleave(&format!("plan -t fat-tree:k=4 -f {path} -o json")).json();
        // The times of decisions differ.
        plan["summary"]["decision_us"].take();
        plan
    };
    assert_eq!(plan(&file("requests.yaml", &yaml)), plan(&file("requests.csv", &csv)));
}

#[test]
fn a_network_with_one_host_has_no_requests() {
    let run = wayleave("generate contracts -t star:hosts=1").ends_with(2);
    assert!(run.stderr.contains("two hosts"), "{}", run.stderr);
}

#[test]
fn completions_and_schemas_are_written_for_every_shell_and_kind() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(wayleave(&format!("completions {shell}")).ends_with(0).stdout.contains("explain"));
    }
    for kind in ["topology", "contracts", "events", "scenario", "tenants"] {
        let schema = wayleave(&format!("schema {kind}")).ends_with(0).json();
        assert!(schema["$schema"].as_str().unwrap().contains("json-schema.org"));
    }
}

/// Every command that `--help` shows has a page, under the name by which pages of others point to it.
#[test]
fn manual_pages_are_written_for_every_command() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("man");
    wayleave(&format!("man --out {}", folder.display())).ends_with(0);
    let whole = std::fs::read_to_string(folder.join("wayleave.1")).unwrap();
    let named: Vec<&str> =
        whole.lines().filter_map(|line| line.strip_prefix("wayleave\\-")?.strip_suffix("(1)")).collect();
    assert!(named.len() > 40, "{named:?}");
    for name in named {
        let page = folder.join(format!("wayleave-{}.1", name.replace("\\-", "-")));
        assert!(page.exists(), "{}", page.display());
    }
    let page = wayleave("man lab run").ends_with(0).stdout;
    let written = std::fs::read_to_string(folder.join("wayleave-lab-run.1")).unwrap();
    assert!(page == written && page.contains("adversary"), "{page}");
    let run = wayleave("man lab rum").ends_with(2);
    assert!(run.stderr.contains("wayleave lab has no command rum; it has up, run,"), "{}", run.stderr);
}

#[test]
fn every_command_has_help_with_an_example() {
    for command in [
        "plan",
        "explain",
        "verify",
        "export-config",
        "topology",
        "topology show",
        "topology validate",
        "generate contracts",
        "bench admission",
        "schema",
        "completions",
        "man",
    ] {
        let help = wayleave(&format!("{command} --help")).ends_with(0).stdout;
        assert!(help.contains("Example"), "{command}: {help}");
        assert!(help.contains(&format!("  wayleave {command}")), "{command}: {help}");
    }
    let help = wayleave("--help").ends_with(0).stdout;
    assert!(help.contains("3  a request was refused") && help.contains("4  the recheck or verify found"), "{help}");
    assert!(wayleave("--version").ends_with(0).stdout.starts_with("wayleave "));
}

#[test]
fn wrong_usage_exits_with_2() {
    wayleave("").ends_with(2);
    wayleave("plan").ends_with(2);
    wayleave("plan -t fat-tree:k=4").ends_with(2);
    wayleave("plan -t fat-tree:k=4 -f a --events b").ends_with(2);
    let run = wayleave("plan -t fat-tree:k=4 -f a --reroute-limit 3").ends_with(2);
    assert!(run.stderr.contains("--reroute"), "{}", run.stderr);
    let run = wayleave("plan -t fat-tree:k=4 -f a --budgets 100").ends_with(2);
    assert!(run.stderr.contains("has no unit"), "{}", run.stderr);
    let run = wayleave("plan -t fat-tree:k=4 -f a --max-frame 10B").ends_with(2);
    assert!(run.stderr.contains("expected 64B"), "{}", run.stderr);
    let run = fed("plan -t - -f -", "").ends_with(2);
    assert!(run.stderr.contains("only one file can be -"), "{}", run.stderr);
    let run = wayleave("plan -t fat-tree:k=4 -f a --scheme silo --reroute").ends_with(2);
    assert!(run.stderr.contains("--reroute is an option of --scheme chameleon"), "{}", run.stderr);
    let run = wayleave("plan -t fat-tree:k=4 -f a --model published --tags 3").ends_with(2);
    assert!(run.stderr.contains("--overhead on"), "{}", run.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_exits_with_1() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_wayleave"))
        .args(["generate", "contracts", "-t", "fat-tree:k=4"])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("could not be written"));
}
