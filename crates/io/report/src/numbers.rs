//! Numbers and sentences of reports.

use std::time::Duration;

use wayleave_units::{Human, Rate, Time, plural};

use super::findings::{BoundTerms, Contender, Findings, NodeTier, Recheck, RequestRow, VerifiedSet};
use super::scale::ShareOfWhole;

/// `12,345`.
pub fn count(number: impl ToString) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 flow`, `12,345 flows`.
pub fn counted<N: ToString + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    format!("{} {}", count(number.to_string()), plural(&number, noun))
}

/// `1st`, `22nd`, `113th`.
pub fn ordinal(number: usize) -> String {
    let suffix = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{}{suffix}", count(number))
}

/// Returns `41.3 %`. A share below 100 % is never rounded to 100 %.
pub fn percent(share: ShareOfWhole) -> String {
    let percent = share.get() * 100.0;
    format!("{:.1} %", if percent < 100.0 { percent.min(99.9) } else { percent })
}

/// `143 Mbit/s` without the unit, for columns of one.
pub fn megabits(rate: Rate) -> String {
    format!("{:.1}", rate.bits_per_second() as f64 / 1e6)
}

/// `4.2 us`, with two digits: of measured times; `-` where nothing was measured.
pub fn duration(span: Option<Duration>) -> String {
    let Some(nanos) = span.and_then(|span| u64::try_from(span.as_nanos()).ok()) else { return "-".to_owned() };
    let step = 10u64.pow(nanos.checked_ilog10().unwrap_or(0).saturating_sub(1));
    format!("{:#}", Time::from_nanos((nanos + step / 2) / step * step))
}

/// `h3 to h9, 143.2 kbit/s, bursts of 201 B, deadline 2.914 ms`.
pub fn terms(ask: &RequestRow) -> String {
    let (rate, burst, deadline) = (ask.rate.up(), ask.burst.up(), ask.deadline.down());
    format!("{} to {}, {rate}, bursts of {burst}, deadline {deadline}", ask.from, ask.to)
}

/// Describes the first refusal: the request and the reason.
pub fn first_refusal(contender: &Contender) -> String {
    let Some(refusal) = &contender.first_refusal else {
        return format!("none of {} was refused.", counted(contender.admitted, "request"));
    };
    let RequestRow { number, name, from, to, rate: asked, burst, deadline } = &refusal.ask;
    let (number, asked, burst, deadline) = (ordinal(*number), asked.up(), burst.up(), deadline.down());
    let why = &refusal.why;
    format!(
        "the {number} request, {name}, asked for {asked} with bursts of {burst} from {from} to {to}, every packet \
         within {deadline}, but {why}."
    )
}

/// `recomputed by an independent checker: 12,345 bounds, all hold`.
pub fn rechecked(findings: &Findings) -> String {
    let bounds = counted(findings.rechecked(), "bound");
    match findings.unproven().count() {
        0 => format!("recomputed by an independent checker: {bounds}, all hold"),
        broken => format!("recomputed by an independent checker: {bounds}, {} DO NOT HOLD", count(broken)),
    }
}

/// `verified packet by packet: 585,400 packets of 2,357 contracts, none late, none lost`.
pub fn verified(verified: &VerifiedSet) -> String {
    let packets = counted(verified.packets, "packet");
    let contracts = counted(verified.contracts.len(), "contract");
    match verified.violations.len() {
        0 => format!("verified packet by packet: {packets} of {contracts}, none late, none lost"),
        broken => format!("verified packet by packet: {packets} of {contracts}, {} BROKEN", counted(broken, "promise")),
    }
}

/// Describes the packet-level check of the promises.
pub fn about_verification(findings: &Findings) -> String {
    let name = findings.contenders.first().map_or("", |contender| contender.name);
    format!(
        "All guarantees of {name}, tested in {} of the packet simulator with colliding, repeated and staggered bursts, each behind a full frame of other traffic.",
        counted(findings.verified.runs, "run")
    )
}

/// Describes the distance of packet delays from their bounds.
pub fn closeness(verified: &VerifiedSet) -> String {
    let share = ShareOfWhole::mean(verified.contracts.iter().map(|contract| contract.share()));
    format!(
        "On average, the slowest packet of a contract took {} of its bound. Bounds include delay budgets that later contracts may use; the bounds for the present contracts alone are lower.",
        percent(share)
    )
}

/// Describes the recheck of one contender.
pub fn recheck(recheck: &Recheck) -> String {
    let (flows, queues) = (count(recheck.flows), count(recheck.queues));
    let outcome = match recheck.violations.len() {
        0 => "all hold".to_owned(),
        broken => format!("{} do not hold", count(broken)),
    };
    format!("{flows} end-to-end bounds, {queues} queue delays, {queues} queue backlogs: {outcome}")
}

/// `3.2 times Silo's 461`, or that there is nothing to compare with.
pub fn times(many: usize, few: usize, whose: &str) -> String {
    match few {
        0 => format!("{whose}: none"),
        few => format!("{:.1} times {whose}'s {}", many as f64 / few as f64, count(few)),
    }
}

/// A small number as a word.
fn small(number: usize) -> String {
    const WORDS: [&str; 7] = ["no", "one", "two", "three", "four", "five", "six"];
    WORDS.get(number).map_or_else(|| count(number), |word| (*word).to_owned())
}

/// Returns an introduction for readers who do not know the demo.
pub fn introduction(findings: &Findings) -> String {
    let hosts = findings.nodes.iter().filter(|node| node.tier == NodeTier::Host).count();
    let switches = count(findings.nodes.len() - hosts);
    let (hosts, requests) = (count(hosts), count(findings.setting.requests));
    let contenders = small(findings.contenders.len());
    format!(
        "{hosts} hosts share a fat tree of {switches} switches. {requests} requests (source, destination, rate, burst and deadline) are offered in the same order to {contenders} admission schemes. A request is admitted only if it is proven that its own deadline and all deadlines guaranteed before are met, whatever the others send within their contracts."
    )
}

/// Explains the terms of a bound.
pub fn about_proof(proof: &BoundTerms) -> String {
    let margin = Time::from_nanos(proof.ask.deadline.as_nanos().saturating_sub(proof.bound.as_nanos()));
    format!(
        "{} goes from one pod to another, through {}. Its bound includes the full delay budget of each, not only the present worst case, so later admissions cannot break it. The bound is {}, which is {} below the deadline.",
        proof.ask.name,
        counted(proof.hops.len(), "queue"),
        proof.bound.up(),
        margin.down(),
    )
}

/// The same text with a capital letter.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Returns the suggested next commands, each with its purpose.
pub fn next_steps(findings: &Findings) -> Vec<(&'static str, String)> {
    let setting = &findings.setting;
    let on = format!("-t {}", setting.topology);
    let list = format!("--scenario {} --seed {} --count {}", setting.scenario, setting.seed, setting.requests);
    let mut steps =
        vec![("Write the requests to a file", format!("wayleave generate contracts {on} {list} > all.yaml"))];
    if let Some(first) = findings.contenders.first() {
        let command = format!("wayleave plan {on} -f all.yaml {}", first.options).trim_end().to_owned();
        steps.push(("Repeat the admission decisions", command));
    }
    // The one with the earliest refusal of the same scheme has the least to decide before it.
    let refused = |contender: &&Contender| contender.first_refusal.is_some();
    if let Some(contender) = findings.contenders.iter().rev().skip(1).find(refused).or(findings.contenders.last()) {
        let name = contender.first_refusal.as_ref().map_or("", |refusal| refusal.ask.name.as_str());
        let command = format!("wayleave explain {name} {on} -f all.yaml {}", contender.options).trim_end().to_owned();
        steps.push(("Explain one refusal and the nearest request that would fit", command));
    }
    if let Some(first) = findings.contenders.first() {
        let command = format!("wayleave verify {on} -f all.yaml {}", first.options).trim_end().to_owned();
        steps.push(("Test all guarantees, more thoroughly than here", command));
    }
    steps.push(("Show the network", format!("wayleave topology show {}", setting.topology)));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn almost_all_is_not_rounded_to_all() {
        let of = |part: f64| percent(ShareOfWhole::of(part, 1.0));
        assert_eq!([of(0.9999), of(1.0), of(0.123_4), of(0.0)], ["99.9 %", "100.0 %", "12.3 %", "0.0 %"]);
    }

    #[test]
    fn counts_are_grouped_by_thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), text);
        }
        assert_eq!((counted(1, "flow").as_str(), counted(0, "flow").as_str()), ("1 flow", "0 flows"));
    }

    #[test]
    fn ordinals_have_english_endings() {
        let printed =
            [(1, "1st"), (2, "2nd"), (3, "3rd"), (11, "11th"), (112, "112th"), (231, "231st"), (1941, "1,941st")];
        for (number, text) in printed {
            assert_eq!(ordinal(number), text);
        }
    }

    #[test]
    fn durations_keep_two_digits() {
        let spans = [(3_140, "3.1 us"), (42_400, "42 us"), (1_240_000, "1.2 ms"), (7, "7 ns")];
        for (nanos, text) in spans {
            assert_eq!(duration(Some(Duration::from_nanos(nanos))), text);
        }
        assert_eq!(duration(None), "-");
    }
}
