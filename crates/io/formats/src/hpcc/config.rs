//! `config.txt`: settings of an HPCC simulation (`scratch/third.cc` of the release reads it). It is refused, and the
//! settings that are not simulated are named.

use crate::columns::{Line, lines};
use crate::messages::{all_of, quoted};
use crate::problem::Message;

/// Keys that a configuration always has, with the file that each names.
const FILES: [&str; 2] = ["TOPOLOGY_FILE", "FLOW_FILE"];

/// Returns `true` if a text is a configuration.
pub(super) fn is_config(text: &str) -> bool {
    lines(text).any(|line| line.words.len() == 2 && FILES.contains(&line.words[0].text))
}

/// The message about a configuration in place of a topology or of flows.
pub(super) fn refusal(text: &str) -> Message {
    let named: Vec<String> = lines(text)
        .filter(|line| line.words.len() == 2 && FILES.contains(&line.words[0].text))
        .map(|line| format!("{} {}", line.words[0].text, quoted(line.words[1].text)))
        .collect();
    // The release always uses PFC; forks have a key to switch it off.
    let is_off =
        |line: &Line<'_>| matches!(line.words[..], [key, value] if key.text == "ENABLE_PFC" && value.text == "0");
    let pfc = (!lines(text).any(|line| is_off(&line))).then(|| "PFC (on unless ENABLE_PFC 0)".to_owned());
    let not_simulated: Vec<String> =
        pfc.into_iter().chain(lines(text).filter_map(|line| not_simulated(&line))).collect();
    let mut hint = format!("name the files instead that it names: {}", all_of(&named));
    if !not_simulated.is_empty() {
        let list = not_simulated.join("; ");
        hint.push_str(&format!(
            ". It relies on what is not simulated (docs/reference/scenarios.md, \"Not simulated\"): {list}"
        ));
    }
    ("this is the configuration of an HPCC simulation", hint).into()
}

/// The feature that a line switches on and that is not simulated. Modes of `CC_MODE` are those of the release's `run.py`.
/// Mode 8, DCTCP, is simulated (`transport: dctcp`).
fn not_simulated(line: &Line<'_>) -> Option<String> {
    let [key, value] = line.words[..] else { return None };
    let is_on = value.text.parse::<f64>().is_ok_and(|value| value != 0.0);
    let what = match (key.text, value.text) {
        ("CC_MODE", "1") => "DCQCN",
        ("CC_MODE", "3") => "HPCC's congestion control",
        ("CC_MODE", "7") => "TIMELY",
        ("CC_MODE", "10") => "HPCC-PINT",
        ("CC_MODE", "8") => return None,
        ("CC_MODE", _) => "a congestion control of a fork",
        ("ENABLE_QCN", _) if is_on => "congestion notifications (CNP)",
        ("ERROR_RATE_PER_LINK", _) if is_on => "links that lose packets",
        ("L2_BACK_TO_ZERO", _) if is_on => "go-back-to-zero retransmission",
        ("ACK_HIGH_PRIO", _) if is_on => "a priority of acknowledgements",
        _ => return None,
    };
    Some(format!("{} {} ({what})", key.text, value.text))
}
