//! Names of version 0.2 that are kept for one release: each does what its new name does, and no help shows it.

use super::{Run, file, run_in, wayleave};

const K4: &str = "-t fat-tree:k=4";

/// Old names of commands with their new ones. Each line ends at once, without a network and without rights.
const COMMANDS: &[(&str, &str, &str)] = &[
    ("requests", "generate contracts", "-t star:hosts=3 --count 3"),
    ("provision", "size", "--size 1MB --bandwidth 10Gbit --load 80%"),
    ("benchmark", "characterize-switch", "-o csv"),
    ("render", "export-config", "--for tc -t star:hosts=3 -f CONTRACTS"),
    ("check", "probe", "h1 h2 --ledger LEDGER -t star:hosts=3"),
    ("down node", "node fail", "s1 --ledger LEDGER -t star:hosts=3"),
    ("up node", "node restore", "s1 --ledger LEDGER -t star:hosts=3"),
    ("down link", "link fail", "h1->s1 --ledger LEDGER -t star:hosts=3"),
    ("up link", "link restore", "h1->s1 --ledger LEDGER -t star:hosts=3"),
    ("lab check", "lab probe", "h1 h2 --name nosuchlab"),
    ("agent --config CONTRACTS down", "agent --config CONTRACTS uninstall", ""),
];

const CONTRACT: &str = "name: c, from: h1, to: h2, rate: 1Mbit, burst: 1500B, deadline: 10ms";
const EVENTS: &str = "\
apiVersion: wayleave/v1
kind: Events
spec:
  events:
    - { at: 0ms, add: { name: c, from: h1, to: h2, rate: 1Mbit, burst: 1500B, deadline: 10ms } }
    - { at: 1ms, release: c }
";

/// Returns a line with the files that it names.
fn with_files(line: &str) -> String {
    let ledger = std::env::temp_dir().join(format!("wayleave-aliases-{}.db", std::process::id()));
    line.replace("CONTRACTS", &file("one.yaml", super::contracts(&[CONTRACT])))
        .replace("EVENTS", &file("events.yaml", EVENTS))
        .replace("LEDGER", ledger.to_str().unwrap())
}

/// Asserts that two lines end alike and print equal output.
#[track_caller]
fn assert_same(old: &str, new: &str) {
    let [before, after] = [old, new].map(|line| timeless(wayleave(&with_files(line))));
    assert_eq!(before, after, "{old} and {new}");
    let (_, _, error) = after;
    assert!(!error.contains("unexpected argument") && !error.contains("unrecognized"), "{new}: {error}");
}

/// Code and output without durations of decisions and without the version of a plan's command line.
fn timeless(run: Run) -> (Option<i32>, String, String) {
    let is_time = |line: &&str| !line.contains("decision_us") && !line.contains(" per decision");
    // Other tests set up labs at the same time, and an error lists them.
    let error = run.stderr.split("; labs that are up").next().unwrap_or_default().to_owned();
    (run.code, run.stdout.lines().filter(is_time).collect(), error)
}

#[test]
fn old_names_of_commands_behave_like_the_new_ones() {
    for (old, new, arguments) in COMMANDS {
        assert_same(&format!("{old} {arguments}"), &format!("{new} {arguments}"));
    }
}

#[test]
fn old_names_of_options_and_values_behave_like_the_new_ones() {
    let verify = format!("verify {K4} -f CONTRACTS --effort quick");
    assert_same(&format!("{verify} --break shaper-off"), &format!("{verify} --inject shaper-off"));
    for (old, new) in [
        ("calculus-low", "delay-understated"),
        ("frame-forgotten", "frame-omitted"),
        ("jitter-ignored", "jitter-omitted"),
        ("moves-chained", "transitions-overlap"),
    ] {
        assert_same(&format!("{verify} --break {old}"), &format!("{verify} --inject {new}"));
    }
    for hold in ["bound", "none"] {
        let plan = format!("plan {K4} --events EVENTS");
        assert_same(&format!("{plan} --hold {hold}"), &format!("{plan} --release-hold {hold}"));
    }
    let show = "topology show ../../docs/examples/coast.gml --default-rate 10Gbit --default-delay 1ms";
    assert_same(&format!("{show} --delay-from-places"), &format!("{show} --delay-from-coordinates"));
}

/// Old and new names of settings of `serve`, each with a value that is not the default.
const SETTINGS: &[(&str, &str, &str)] = &[
    ("southbound", "enforcement", "hosts-and-switches"),
    ("together-limit", "max-atomic-batch", "7"),
    ("answers-limit", "idempotency-cache-size", "3MiB"),
    ("open-limit", "in-flight-bytes", "3MiB"),
    ("waiting-connections", "long-poll-connections", "77"),
    ("silent-after", "heartbeat-timeout", "7s"),
    ("heal-after", "violation-clear-after", "7s"),
    ("clock-jump", "clock-step-threshold", "7s"),
    ("clock-doubt", "clock-step-holddown", "7s"),
    ("replace-basis", "force-config", "abc"),
    ("delay-from-places", "delay-from-coordinates", "true"),
];

#[test]
fn old_names_of_settings_work_as_flags_in_the_environment_and_in_a_file() {
    for (old, new, value) in SETTINGS {
        let expected = |origin: &str| {
            let quoted =
                if value.parse::<u64>().is_ok() || *value == "true" { value.to_string() } else { format!("{value:?}") };
            let line = format!("{new} = {quoted}");
            format!("{line:<48} # {origin}")
        };
        let shows = |run: Run, origin: String| {
            let (line, run) = (expected(&origin), run.ends_with(0));
            assert!(run.stdout.lines().any(|one| one == line), "{line}:\n{}", run.stdout);
        };
        let show = "config show --origin --";
        let flag = if *value == "true" { format!("--{old}") } else { format!("--{old} {value}") };
        shows(wayleave(&format!("{show} {flag}")), format!("flag --{new}"));
        let variable = format!("WAYLEAVE_{}", old.to_uppercase().replace('-', "_"));
        shows(run_in(&[(&variable, value)], show, ""), format!("environment {variable}"));
        let quoted = if *value == "true" { value.to_string() } else { format!("{value:?}") };
        let path = file("old.toml", format!("{old} = {quoted}\n"));
        shows(wayleave(&format!("{show} --config {path}")), format!("file {path}"));
    }
}

#[test]
fn a_setting_under_two_names_is_refused() {
    let path = file("twice.toml", "silent-after = \"7s\"\nheartbeat-timeout = \"8s\"\n");
    let run = wayleave(&format!("config show -- --config {path}")).ends_with(2);
    assert!(run.stderr.contains("are two names of one setting"), "{}", run.stderr);
    let both = [("WAYLEAVE_SILENT_AFTER", "7s"), ("WAYLEAVE_HEARTBEAT_TIMEOUT", "8s")];
    let run = run_in(&both, "config show", "").ends_with(2);
    assert!(run.stderr.contains("are two names of one setting"), "{}", run.stderr);
}

const SCENARIO: &str = "\
apiVersion: wayleave/v1
kind: Scenario
spec:
  topology: star:hosts=2,rate=1Gbit
  duration: 1ms
  traffic: [ { name: a, from: h1, to: h2, sizes: 1kB, rpc: { answer: 1kB, KEY: 10us } } ]
";

#[test]
fn an_old_key_of_a_file_does_what_the_new_one_does_and_is_named_in_a_warning() {
    let run = |key: &str| wayleave(&format!("sim {} -o json", file("s.yaml", SCENARIO.replace("KEY", key))));
    let (old, new) = (run("think").ends_with(0), run("thinkTime").ends_with(0));
    let results = |run: &Run| run.json()["runs"][0]["traffic"].clone();
    assert!(results(&new)[0]["sent"].as_u64() > Some(0), "{}", new.stdout);
    assert_eq!(results(&old), results(&new));
    let warnings: Vec<&str> = old.stderr.lines().filter(|line| line.starts_with("warning: ")).collect();
    let [warning] = warnings[..] else { panic!("{}", old.stderr) };
    assert!(warning.ends_with("s.yaml:6:75: \"think\" of RPC is now called \"thinkTime\""), "{warning}");
    assert!(!new.stderr.contains("warning: "), "{}", new.stderr);
    let both = run("think: 10us, thinkTime").ends_with(2);
    assert!(both.stderr.contains("are two names of one key"), "{}", both.stderr);
}

#[test]
fn no_help_shows_an_old_name() {
    let all = wayleave("help --all").ends_with(0).stdout;
    for (old, ..) in COMMANDS.iter().filter(|(old, ..)| !old.contains(' ')) {
        assert!(!all.lines().any(|line| line.trim_start().starts_with(&format!("{old} "))), "{old}: {all}");
    }
    let [plan, serve, verify] =
        ["plan", "serve", "verify"].map(|command| wayleave(&format!("{command} --help")).stdout);
    for (old, ..) in SETTINGS {
        assert!(!serve.contains(&format!("--{old}")), "{old}");
    }
    assert!(!plan.contains("--hold ") && !verify.contains("--break "), "{plan}{verify}");
}
