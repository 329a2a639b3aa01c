//! The tables of the page.

use super::findings::{BoundTerms, ContenderDecision, DecisionRow, Findings, LinkTier, RequestRow, VerifiedSet};
use super::markup::MarkupElement;
use super::numbers;
use wayleave_units::Human;

/// Alignment of the cells of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// To the left.
    Text,
    /// To the right, digits below digits.
    Number,
}

use Column::{Number, Text};

fn new(name: &'static str) -> MarkupElement {
    MarkupElement::new(name)
}

fn cell(name: &'static str, column: Column, text: impl Into<String>) -> MarkupElement {
    let cell = new(name).text(text);
    if column == Number { cell.class("number") } else { cell }
}

/// Returns a table of rows of text; the first cell of a row heads it. If there are groups of columns, they have a row
/// of heads above, each with the number of columns that it spans.
pub fn table(
    caption: &str,
    groups: &[(&str, usize)],
    heads: &[(&str, Column)],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> MarkupElement {
    let group = |&(name, columns): &(&str, usize)| {
        // A head without a name would be read aloud.
        let cell = new(if name.is_empty() { "td" } else { "th" }).text(name).with("colspan", columns);
        if name.is_empty() { cell } else { cell.with("scope", "colgroup") }
    };
    let groups = (!groups.is_empty()).then(|| new("tr").class("groups").children(groups.iter().map(group)));
    let head = heads.iter().map(|&(head, column)| cell("th", column, head).with("scope", "col"));
    let row = |cells: Vec<String>| {
        let cells = cells.into_iter().zip(heads).enumerate().map(|(index, (text, &(_, column)))| match index {
            0 => cell("th", column, text).with("scope", "row"),
            _ => cell("td", column, text),
        });
        new("tr").children(cells)
    };
    new("table")
        .child(new("caption").text(caption))
        .child(new("thead").children(groups).child(new("tr").children(head)))
        .child(new("tbody").children(rows.into_iter().map(row)))
}

/// A table that may be wider or longer than the page: it scrolls in its box, and the keyboard reaches it.
pub fn boxed(label: &str, table: MarkupElement) -> MarkupElement {
    new("div").class("scroll").with("tabindex", 0).with("role", "region").with("aria-label", label).child(table)
}

/// The contracts that came contract.
pub fn verified(verified: &VerifiedSet) -> MarkupElement {
    const SHOWN: usize = 40;
    let heads = [
        ("contract", Text),
        ("bound", Number),
        ("current bound", Number),
        ("worst observed", Number),
        ("of the bound", Number),
        ("lost", Number),
    ];
    let rows = verified.contracts.iter().take(SHOWN).map(|contract| {
        vec![
            contract.name.clone(),
            contract.bound.up(),
            contract.today.map_or_else(|| "-".to_owned(), Human::up),
            contract.worst.up(),
            numbers::percent(contract.share()),
            numbers::count(contract.drops),
        ]
    });
    let caption = "Contracts whose packets were closest to their bounds";
    boxed(caption, table(caption, &[], &heads, rows))
}

/// Contender by contender.
pub fn comparison(findings: &Findings) -> MarkupElement {
    let of_all = format!("admitted of {}", numbers::count(findings.setting.requests));
    let heads = [
        ("scheme", Text),
        ("before the first refusal", Number),
        (of_all.as_str(), Number),
        ("busiest link", Number),
        ("mean link", Number),
        ("reroutes", Number),
        ("time to admit", Number),
        ("time to refuse", Number),
    ];
    let rows = findings.contenders.iter().map(|contender| {
        vec![
            contender.name.to_owned(),
            numbers::count(contender.before_refusal),
            numbers::count(contender.admitted),
            numbers::percent(findings.busiest_share(contender)),
            numbers::percent(findings.mean_share(contender)),
            numbers::count(contender.moves),
            numbers::duration(contender.time_to_admit),
            numbers::duration(contender.time_to_refuse),
        ]
    });
    boxed(
        "Admitted requests by scheme",
        table("Identical requests in the same order for each scheme", &[], &heads, rows),
    )
}

/// Link tier by link tier.
pub fn tiers(findings: &Findings) -> MarkupElement {
    let mut heads = vec![("links", Text)];
    let mut groups = vec![("", 1)];
    for contender in &findings.contenders {
        heads.extend([("mean", Number), ("busiest", Number)]);
        groups.push((contender.name, 2));
    }
    let rows = LinkTier::ALL.map(|tier| {
        let of = |contender| [findings.tier_share(contender, tier), findings.tier_busiest(contender, tier)];
        let shares = findings.contenders.iter().flat_map(of).map(numbers::percent);
        std::iter::once(tier.name().to_owned()).chain(shares).collect()
    });
    boxed("Reserved by tier", table("Reserved, of the line rate", &groups, &heads, rows))
}

/// Refusals by stable code.
pub fn reasons(findings: &Findings) -> MarkupElement {
    let codes = codes(findings);
    let mut heads = vec![("scheme", Text)];
    heads.extend(codes.iter().map(|&code| (code, Number)));
    heads.push(("refused", Number));
    let rows = findings.contenders.iter().map(|contender| {
        let of = |code: &&str| contender.reasons.iter().find(|(reason, _)| reason == code).map_or(0, |reason| reason.1);
        let mut row = vec![contender.name.to_owned()];
        row.extend(codes.iter().map(|code| numbers::count(of(code))));
        row.push(numbers::count(contender.refused()));
        row
    });
    boxed("Refusals by reason", table("Refusals of the whole list, by reason", &[], &heads, rows))
}

/// Every code that occurs, most frequent first.
pub fn codes(findings: &Findings) -> Vec<&'static str> {
    let mut totals: Vec<(&'static str, usize)> = Vec::new();
    for &(code, count) in findings.contenders.iter().flat_map(|contender| &contender.reasons) {
        match totals.iter_mut().find(|(known, _)| *known == code) {
            Some(total) => total.1 += count,
            None => totals.push((code, count)),
        }
    }
    totals.sort_by_key(|&(code, count)| (std::cmp::Reverse(count), code));
    totals.into_iter().map(|(code, _)| code).collect()
}

/// A bound, term by term.
pub fn proof(proof: &BoundTerms) -> MarkupElement {
    let heads = [
        ("queue", Text),
        ("priority", Number),
        ("delay budget", Number),
        ("worst case today", Number),
        ("flows", Number),
    ];
    let mut rows: Vec<Vec<String>> = proof
        .hops
        .iter()
        .map(|hop| {
            vec![
                hop.link.clone(),
                hop.queue.to_string(),
                hop.budget.down(),
                hop.worst_now.up(),
                numbers::count(hop.flows),
            ]
        })
        .collect();
    let sum = |name: &str, time: String| vec![name.to_owned(), String::new(), time, String::new(), String::new()];
    rows.push(sum("propagation and processing", proof.constants.up()));
    rows.push(sum("end-to-end delay bound", proof.bound.up()));
    rows.push(sum("requested deadline", proof.ask.deadline.down()));
    let caption = format!("{}: {}", proof.ask.name, numbers::terms(&proof.ask));
    boxed("One delay bound by hop", table(&caption, &[], &heads, rows).class("sum"))
}

/// Returns the table of decisions on the first requests.
pub fn decisions(findings: &Findings) -> MarkupElement {
    let mut heads = vec![
        ("request", Text),
        ("name", Text),
        ("from", Text),
        ("to", Text),
        ("rate", Number),
        ("burst", Number),
        ("deadline", Number),
    ];
    heads.extend(findings.contenders.iter().map(|contender| (contender.name, Text)));
    let row = |row: &DecisionRow| {
        let RequestRow { number, name, from, to, rate, burst, deadline } = &row.ask;
        let mut cells = vec![numbers::count(*number), name.clone(), from.clone(), to.clone()];
        cells.extend([rate.up(), burst.up(), deadline.down()]);
        cells.extend(row.answers.iter().map(answer));
        cells
    };
    let table = table("In the order in which they were offered", &[], &heads, findings.decisions.iter().map(row));
    boxed("Decisions", table)
}

fn answer(answer: &ContenderDecision) -> String {
    match answer {
        ContenderDecision::Refused(code) => format!("refused: {code}"),
        ContenderDecision::Admitted { bound, queues, moved } => {
            let queues: Vec<String> = queues.iter().map(u8::to_string).collect();
            let moved = match moved {
                0 => String::new(),
                moved => format!(", {} moved", numbers::counted(*moved, "flow")),
            };
            format!("{} ({}){moved}", bound.up(), queues.join(" "))
        }
    }
}

/// Returns the table of all links with their reservations by contender. The script makes its columns sortable.
pub fn links(findings: &Findings) -> MarkupElement {
    const OF_LINK: [(&str, Column); 3] = [("link", Text), ("kind", Text), ("line rate, Mbit/s", Number)];
    const OF_CONTENDER: [(&str, Column); 3] =
        [("reserved, Mbit/s", Number), ("flows", Number), ("fullest queue", Number)];
    let mut heads = OF_LINK.to_vec();
    let mut groups = vec![("", OF_LINK.len())];
    for contender in &findings.contenders {
        heads.extend(OF_CONTENDER);
        groups.push((contender.name, OF_CONTENDER.len()));
    }
    let rows = findings.links.iter().enumerate().map(|(index, link)| {
        let mut row = vec![link.name.clone(), link.tier.name().to_owned(), numbers::megabits(link.rate)];
        for contender in &findings.contenders {
            let used = contender.links[index];
            row.extend([numbers::megabits(used.reserved), numbers::count(used.flows), numbers::percent(used.fullest)]);
        }
        row
    });
    boxed("Every link", table("Reserved rate on every link", &groups, &heads, rows).class("sortable"))
}

/// Names and values.
pub fn parameters(findings: &Findings) -> MarkupElement {
    let pair = |(name, value): &(&str, String)| [new("dt").text(*name), new("dd").text(value)];
    new("dl").children(findings.setting.parameters.iter().flat_map(pair))
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn every_row_has_as_many_cells_as_the_head() {
        let findings = sample::findings();
        let proof = proof(findings.proof.as_ref().unwrap());
        let tables = [
            comparison(&findings),
            tiers(&findings),
            reasons(&findings),
            decisions(&findings),
            links(&findings),
            proof,
        ];
        for table in tables {
            let text = table.to_string();
            let document = roxmltree::Document::parse(&text).unwrap();
            let rows: Vec<_> = document.descendants().filter(|node| node.has_tag_name("tr")).collect();
            let span =
                |cell: roxmltree::Node<'_, '_>| cell.attribute("colspan").map_or(1, |span| span.parse().unwrap());
            let cells = |row: &roxmltree::Node<'_, '_>| -> usize {
                row.children().filter(|cell| cell.is_element()).map(span).sum()
            };
            assert!(rows.len() > 1 && rows.iter().all(|row| cells(row) == cells(&rows[0])), "{text}");
        }
    }

    #[test]
    fn codes_are_listed_once_the_most_frequent_first() {
        let mut findings = sample::findings();
        findings.contenders[0].reasons = vec![("RATE", 3), ("BUFFER", 1)];
        findings.contenders[1].reasons = vec![("LATENCY", 9), ("RATE", 1)];
        assert_eq!(codes(&findings), ["LATENCY", "RATE", "BUFFER"]);
    }
}
