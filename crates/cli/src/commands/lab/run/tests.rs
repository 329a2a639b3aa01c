//! Sentences and exit codes of runs in which something was missed or not measured.

use std::path::PathBuf;
use std::time::Duration;

use wayleave_contracts::ContractKind;
use wayleave_lab::Stalls;
use wayleave_lab::run::{
    ActionResult, ContractReport, GuaranteeResult, Losses, MeasuredTime, NetworkAction, PairReport, ReportedContract,
    RunCompletion, RunReport, ShareReport, SharedPromise,
};
use wayleave_lab::traffic::{Bounds, FlowReport};
use wayleave_units::{Bytes, Rate, Time};

use super::exit_of;
use super::print::{document, share_row, table};
use crate::exit::Exit;

fn contract(result: GuaranteeResult, state: &str) -> ContractReport {
    ContractReport {
        contract: ReportedContract {
            id: "default:ptp".to_owned(),
            serial: 1,
            kind: ContractKind::Latency,
            state: "enforced".to_owned(),
            reason: None,
            message: None,
            bound: Time::from_millis(50),
            routes: Vec::new(),
        },
        state: state.to_owned(),
        moved: 0,
        waits: Time::ZERO,
        flow: FlowReport {
            name: "default:ptp".to_owned(),
            sent: 1,
            reordered: 0,
            duplicates: 0,
            foreign: 0,
            bounds: Some(Bounds::of(Time::from_millis(50))),
            delays: vec![1_000],
            arrivals: Vec::new(),
        },
        losses: Some(Losses::default()),
        excused: 0,
        unpromised: 0,
        violations: 0,
        result,
    }
}

/// A contract for 1.2 Mbit/s with three members, measured for 4 s: arrived bytes of each.
fn share(arrived: [u64; 3]) -> ShareReport {
    let pair =
        |arrived| PairReport { from: "host:h1".to_owned(), to: "host:h2".to_owned(), arrived: Bytes::new(arrived) };
    ShareReport {
        promise: SharedPromise {
            id: "default:db".to_owned(),
            kind: ContractKind::Bandwidth,
            min: Rate::from_bits_per_second(1_200_000),
            pairs: Vec::new(),
        },
        is_admitted: true,
        state: "enforced".to_owned(),
        gap: None,
        measured: Ok(MeasuredTime { lasted: Duration::from_secs(4), stalled: Duration::ZERO }),
        pairs: arrived.map(pair).to_vec(),
    }
}

fn report(contract: ContractReport, share: ShareReport) -> RunReport {
    RunReport {
        end: RunCompletion::Complete,
        exited: Vec::new(),
        contracts: vec![contract],
        silent: Vec::new(),
        shares: vec![share],
        floods: Vec::new(),
        actions: Vec::new(),
        stalls: Stalls { all: Vec::new(), is_strict: true },
    }
}

fn text(seen: &RunReport) -> String {
    let mut out = Vec::new();
    table(&mut out, seen, &[], &|program| PathBuf::from(format!("/run/{program}.log"))).unwrap();
    String::from_utf8(out).unwrap()
}

/// Asserts that a text has each of these lines.
fn assert_lines(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|one| one == *line), "no line {line:?} in:\n{text}");
    }
}

/// Asserts the state, lowest, highest and total rate, and the short members of a contract.
fn assert_rates(share: &ShareReport, state: &str, rates: [&str; 3], short: &str) {
    let row = share_row(share);
    assert_eq!([&row[2], &row[4], &row[5], &row[6], &row[7]], [state, rates[0], rates[1], rates[2], short]);
}

const DEGRADED: &str = "degraded (FAILURE: link h1->s1 is down) at the end";
const WHOLE: [u64; 3] = [700_000; 3];

#[test]
fn a_run_that_measured_everything_is_fine() {
    let seen = report(contract(GuaranteeResult::Kept, "enforced"), share(WHOLE));
    assert_eq!(exit_of(&seen, 0), Exit::Fine);
    assert_eq!(exit_of(&seen, 1), Exit::Refused);
    assert_rates(&seen.shares[0], "enforced", ["1.4 Mbit/s", "1.4 Mbit/s", "4.2 Mbit/s"], "0");
    assert_lines(
        &text(&seen),
        &[
            "all minima reached: 3 members measured, 0 short (less than 95 % of the minimum), 0 unknown",
            "all bounds met: 1 contract measured, 0 violated, 0 unknown; 0 of 1 packet late, 0 more while the machine stalled, 0 more without a known guarantee; 0 lost; 0 moves under traffic",
        ],
    );
}

#[test]
fn members_of_a_degraded_contract_are_short() {
    let mut seen = report(contract(GuaranteeResult::Kept, "enforced"), share([0, 4_500_000, 0]));
    seen.shares[0].state = "degraded".to_owned();
    seen.shares[0].gap = Some(DEGRADED.to_owned());
    assert_eq!(exit_of(&seen, 0), Exit::Unsound);
    assert_rates(&seen.shares[0], "degraded", ["0 bit/s", "9 Mbit/s", "9 Mbit/s"], "2");
    assert_lines(
        &text(&seen),
        &[
            "NOT all minima reached: 2 members measured, 2 short (less than 95 % of the minimum), 1 unknown",
            &format!("unknown: default:db: {DEGRADED}"),
        ],
    );
}

#[test]
fn a_run_with_an_exited_agent_is_incomplete() {
    let silent = "degraded (SILENT) at the end".to_owned();
    let mut seen = report(contract(GuaranteeResult::Unknown(silent.clone()), "degraded"), share(WHOLE));
    seen.shares[0].gap = Some(silent);
    seen.exited = vec!["agent-h1".to_owned()];
    assert_eq!(exit_of(&seen, 0), Exit::Incomplete);
    let text = text(&seen);
    assert!(!text.contains("all minima reached") && !text.contains("all bounds met"), "{text}");
    assert_lines(
        &text,
        &[
            "no minimum tested: 0 members measured, 0 short (less than 95 % of the minimum), 3 unknown",
            "unknown: default:ptp: degraded (SILENT) at the end",
            "EXITED UNEXPECTEDLY: agent-h1 (log: /run/agent-h1.log)",
        ],
    );
    let only_exited =
        RunReport { exited: seen.exited, ..report(contract(GuaranteeResult::Kept, "enforced"), share(WHOLE)) };
    assert_eq!(exit_of(&only_exited, 0), Exit::Incomplete);
}

#[test]
fn a_run_that_is_stopped_early_has_no_rates() {
    let mut seen = report(contract(GuaranteeResult::Kept, "enforced"), share([0; 3]));
    seen.end = RunCompletion::Stopped;
    seen.shares[0].measured = Err("measured for only 0 ms".to_owned());
    assert_eq!(exit_of(&seen, 0), Exit::Stopped);
    assert_rates(&seen.shares[0], "enforced", ["-", "-", "-"], "unknown");
    assert_lines(
        &text(&seen),
        &[
            "no minimum tested: 0 members measured, 0 short (less than 95 % of the minimum), 3 unknown",
            "unknown: default:db: measured for only 0 ms",
            "stopped early: results so far",
        ],
    );
    let pair = &document(&seen, &[])["shares"][0]["pairs"][0];
    assert!(pair["rateBps"].is_null() && pair["arrivedBytes"].is_null() && pair["result"] == "unknown", "{pair}");
}

#[test]
fn a_run_without_its_controller_is_an_error_with_results() {
    let why = "its state at the end is unknown: the controller has exited";
    let mut seen = report(contract(GuaranteeResult::Unknown(why.to_owned()), "unknown"), share(WHOLE));
    seen.end = RunCompletion::Unobserved("the controller has exited".to_owned());
    seen.contracts[0].losses = None;
    assert_eq!(exit_of(&seen, 0), Exit::Internal);
    let text = text(&seen);
    assert_lines(&text, &["the end of the run was not observed: the controller has exited"]);
    assert!(text.contains("0 lost, unknown for 1 contract;"), "{text}");
    let document = document(&seen, &[]);
    assert_eq!(document["unobserved"], "the controller has exited");
    assert!(document["contracts"][0]["lost"].is_null() && document["isPartial"] == true, "{document}");
    seen.contracts[0].violations = 1;
    assert_eq!(exit_of(&seen, 0), Exit::Unsound, "a late packet is known nevertheless");
}

#[test]
fn an_action_without_an_outcome_is_counted() {
    let mut seen = report(contract(GuaranteeResult::Kept, "enforced"), share(WHOLE));
    seen.actions = vec![ActionResult {
        kind: NetworkAction::Cut,
        what: "s1->s2".to_owned(),
        began: 1,
        outcome: Err("stopped".to_owned()),
    }];
    assert_eq!(exit_of(&seen, 0), Exit::Incomplete);
    assert!(text(&seen).contains("0 moves under traffic, 1 action with unknown consequences"), "{}", text(&seen));
    let action = &document(&seen, &[])["actions"][0];
    assert!(action["action"] == "cut" && action["moved"].is_null() && action["tookNs"].is_null(), "{action}");
}
