//! `report.html`: one file with everything in it, for light and dark screens and for paper.

use super::findings::{Contender, Findings};
use super::markup::MarkupElement;
use super::svg::FigureBackground;
use super::{network_figure, numbers, palette, queue_figure, tables, verified_figure};

/// Stylesheet of every page.
pub const STYLE: &str = include_str!("page.css");

fn new(name: &'static str) -> MarkupElement {
    MarkupElement::new(name)
}

/// A paragraph in which the names of links stay in one piece.
fn paragraph(text: impl AsRef<str>) -> MarkupElement {
    let mut paragraph = new("p");
    let mut plain = String::new();
    for part in text.as_ref().split_inclusive(' ') {
        let name = part.trim_end();
        if name.contains("->") {
            paragraph = paragraph.text(std::mem::take(&mut plain)).child(new("code").text(name));
            plain.push_str(&part[name.len()..]);
        } else {
            plain.push_str(part);
        }
    }
    paragraph.text(plain)
}

/// Tenants with contracts of several kinds on one network, and the service that each got.
#[derive(Clone, Debug)]
pub struct TenantReport {
    /// The setting, in a sentence.
    pub setting: &'static str,
    /// Heads of the columns.
    pub heads: [&'static str; 4],
    /// Tenant, guarantee, service, and service without guarantees.
    pub rows: Vec<[String; 4]>,
    /// Service over time.
    pub figure: MarkupElement,
}

/// The page; the tenants come first, if there are any.
pub fn render(findings: &Findings, tenants: Option<&TenantReport>) -> String {
    let head = new("head")
        .child(new("meta").with("charset", "utf-8"))
        .child(new("meta").with("name", "viewport").with("content", "width=device-width, initial-scale=1"))
        .child(new("title").text("Wayleave demo: admission report for latency contracts"))
        .child(new("style").text(STYLE).text(palette::stylesheet()));
    let body = new("body")
        .child(new("header").children(opening(findings)))
        .child(new("main").children(tenants.map(tenant_section)).children(sections(findings)))
        .child(new("script").text(include_str!("page.js")));
    format!("<!DOCTYPE html>\n{}\n", new("html").with("lang", "en").child(head).child(body))
}

/// Returns a page with the text of a command, as a terminal shows it.
pub fn of_text(title: &str, text: &str, command: &str) -> String {
    let head = new("head")
        .child(new("meta").with("charset", "utf-8"))
        .child(new("meta").with("name", "viewport").with("content", "width=device-width, initial-scale=1"))
        .child(new("title").text(title))
        .child(new("style").text(STYLE));
    let text = new("pre").class("terminal").with("tabindex", 0).child(new("code").text(text));
    let made = paragraph(format!("Made by Wayleave {}:", env!("CARGO_PKG_VERSION"))).class("quiet");
    let main = new("main").child(text).child(made).child(new("pre").child(new("code").text(command)));
    let body = new("body").child(new("header").child(new("h1").text(title))).child(main);
    format!("<!DOCTYPE html>\n{}\n", new("html").with("lang", "en").child(head).child(body))
}

fn opening(findings: &Findings) -> Vec<MarkupElement> {
    vec![
        new("h1").text("Admission report"),
        paragraph(numbers::introduction(findings)),
        new("div").class("headlines").children(headlines(findings)),
    ]
}

/// The numbers to remember.
fn headlines(findings: &Findings) -> Vec<MarkupElement> {
    let tile =
        |figure: String, text: String| new("div").child(new("strong").text(figure)).child(new("span").text(text));
    let mut tiles = Vec::new();
    if let [first, .., last] = findings.contenders.as_slice() {
        let offered = numbers::count(findings.setting.requests);
        let mut compare = |what: &str, many: usize, few: usize| {
            let times = numbers::times(many, few, last.name);
            tiles.push(tile(numbers::count(many), format!("{what}: {times}")));
        };
        compare(
            &format!("requests admitted by {} before its first refusal", first.name),
            first.before_refusal,
            last.before_refusal,
        );
        compare(&format!("of {offered} requests admitted by {} in total", first.name), first.admitted, last.admitted);
    }
    let outcome = match findings.unproven().count() {
        0 => "bounds recomputed by an independent checker: all hold".to_owned(),
        broken => format!("bounds recomputed by an independent checker: {} DO NOT HOLD", numbers::count(broken)),
    };
    tiles.push(tile(numbers::count(findings.rechecked()), outcome));
    let verified = &findings.verified;
    let outcome = match verified.violations.len() {
        0 => format!(
            "packets of {} under attack: none late, none lost",
            numbers::counted(verified.contracts.len(), "contract")
        ),
        broken => format!("packets under attack: {} BROKEN", numbers::counted(broken, "promise")),
    };
    tiles.push(tile(numbers::count(verified.packets), outcome));
    tiles
}

fn section(title: &str, children: impl IntoIterator<Item = MarkupElement>) -> MarkupElement {
    new("section").child(new("h2").text(title)).children(children)
}

fn sections(findings: &Findings) -> Vec<MarkupElement> {
    let figure = |figure: MarkupElement| new("figure").child(figure);
    let proof = findings.proof.as_ref().map(|proof| {
        let text = paragraph(numbers::about_proof(proof));
        section("One proven delay bound by hop", [text, tables::proof(proof)])
    });
    let links_note =
        "Click a column head to sort. The fullest queue is the one with the highest use of its delay budget.";
    let decisions_note = "The first requests of the list, then each scheme's first refusal. An admitted request shows its delay bound, and in brackets the queue on each link of its route (0 is the highest priority).";
    let mut sections = vec![
        section("Admitted requests", [tables::comparison(findings), about_times()]),
        section(
            "Reservations by link",
            [figure(network_figure::draw(findings, FigureBackground::Page)), tables::tiers(findings)],
        ),
        section("Queue usage", [figure(queue_figure::draw(findings))]),
        section("First refusals", first_refusals(findings)),
    ];
    sections.extend(proof);
    sections.push(section("Rechecked", rechecks(findings)));
    sections.push(section("Packet-level verification", verification(findings)));
    sections.push(section("The first decisions", [paragraph(decisions_note), tables::decisions(findings)]));
    sections.push(section("Every link", [paragraph(links_note), tables::links(findings)]));
    sections.push(section("Model and parameters", [tables::parameters(findings)]));
    sections.push(section("Reproduce this report", again(findings)));
    sections
}

fn tenant_section(tenants: &TenantReport) -> MarkupElement {
    const CAPTION: &str = "Service of each tenant";
    let heads = tenants.heads.map(|head| (head, tables::Column::Text));
    let table = tables::table(CAPTION, &[], &heads, tenants.rows.iter().map(|row| row.to_vec())).class("sentences");
    let figure = new("div").class("plots").child(new("figure").child(tenants.figure.clone()));
    section("Tenants with contracts of every kind", [paragraph(tenants.setting), tables::boxed(CAPTION, table), figure])
}

fn about_times() -> MarkupElement {
    paragraph(
        "Times are means over this run on this machine; all other figures are reproducible. The time to refuse includes the search for the reason.",
    )
    .class("quiet")
}

fn first_refusals(findings: &Findings) -> Vec<MarkupElement> {
    let mut parts: Vec<MarkupElement> = Vec::new();
    for contender in &findings.contenders {
        parts.push(new("h3").text(contender.name));
        parts.push(paragraph(numbers::sentence(contender.about)).class("quiet").children(options(contender)));
        parts.push(paragraph(numbers::sentence(&numbers::first_refusal(contender))));
    }
    if !tables::codes(findings).is_empty() {
        parts.push(tables::reasons(findings));
    }
    parts
}

/// The options that make a contender of the other commands, where there are any.
fn options(contender: &Contender) -> Option<MarkupElement> {
    let options = Some(&contender.options).filter(|options| !options.is_empty())?;
    Some(new("span").text(" (").child(new("code").text(options)).text(")"))
}

fn rechecks(findings: &Findings) -> Vec<MarkupElement> {
    let line = |contender: &Contender| {
        new("li").text(format!("{}: {}.", contender.name, numbers::recheck(&contender.recheck)))
    };
    let about = "Every bound was recomputed by an independent checker: a different algorithm that works from the definitions in exact fractions.";
    let mut parts = vec![paragraph(about), new("ul").children(findings.contenders.iter().map(line))];
    parts.extend(broken(findings.unproven()));
    parts
}

/// Returns the list of violations, if there are any.
fn broken<'a>(violations: impl Iterator<Item = &'a str>) -> Option<MarkupElement> {
    let items: Vec<MarkupElement> = violations.map(|violation| new("li").text(violation)).collect();
    (!items.is_empty()).then(|| new("ul").children(items))
}

fn verification(findings: &Findings) -> Vec<MarkupElement> {
    let verified = &findings.verified;
    let mut parts = vec![
        paragraph(numbers::about_verification(findings)),
        paragraph(numbers::sentence(&numbers::verified(verified))),
        new("figure").child(verified_figure::draw(verified)),
        paragraph(numbers::closeness(verified)),
        tables::verified(verified),
    ];
    parts.extend(broken(verified.violations.iter().map(String::as_str)));
    parts
}

fn again(findings: &Findings) -> Vec<MarkupElement> {
    let code = |command: &str| new("pre").child(new("code").text(command));
    let steps = numbers::next_steps(findings).into_iter().flat_map(|(what, command)| [paragraph(what), code(&command)]);
    let made = format!("Made by Wayleave {}, seed {}.", findings.setting.version, findings.setting.seed);
    [paragraph(made), code(&findings.setting.command)].into_iter().chain(steps).collect()
}

/// Returns the words with digits that a text has and a page lacks: for tests that compare a terminal's output with a page.
pub fn missing_figures(text: &str, page: &str) -> Vec<String> {
    let page: String = page.split('<').filter_map(|part| Some(part.split_once('>')?.1)).collect::<Vec<_>>().join(" ");
    let page = page.replace("&lt;", "<").replace("&quot;", "\"").replace("&amp;", "&");
    let figures = |text: &str| {
        let strip = |word: &str| word.trim_matches(['(', ')', ',', '.', ':', ';', '"']).to_owned();
        let words: Vec<String> = text.split_whitespace().map(strip).collect();
        words.into_iter().filter(|word| word.contains(|letter: char| letter.is_ascii_digit())).collect::<Vec<_>>()
    };
    let known = figures(&page);
    figures(text).into_iter().filter(|figure| !known.contains(figure)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::super::terminal::{self, Paint};
    use super::*;

    #[test]
    fn every_figure_of_the_terminal_stands_on_the_page() {
        let findings = sample::findings();
        let (page, text) = (render(&findings, None), terminal::render(&findings, "report", "picture", Paint::Plain));
        assert_eq!(missing_figures(&text, &page), Vec::<String>::new());
        let changed = text.replace("1,940", "1,941");
        assert!(!missing_figures(&changed, &page).is_empty());
    }

    fn parse(page: &str) -> roxmltree::Document<'_> {
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..roxmltree::ParsingOptions::default() };
        roxmltree::Document::parse_with_options(page, options).unwrap()
    }

    #[test]
    fn the_page_is_well_formed_and_its_ids_are_unique() {
        let page = render(&sample::findings(), None);
        let document = parse(&page);
        let mut ids: Vec<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!((all, ids.len()), (6, 6));
    }

    #[test]
    fn tenants_come_first_with_their_table_and_their_figure() {
        let row = ["plant", "1 ms", "0.5 ms", "3 ms"].map(str::to_owned);
        let figure = new("svg").with("id", "tenants");
        let report = TenantReport {
            setting: "12 ms.",
            heads: ["tenant", "guaranteed", "got", "without"],
            rows: vec![row],
            figure,
        };
        let page = render(&sample::findings(), Some(&report));
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
        assert!(at("Tenants with contracts of every kind") < at("0.5 ms") && at("0.5 ms") < at("id=\"tenants\""));
        assert!(at("id=\"tenants\"") < at("Admitted requests"));
        assert!(!render(&sample::findings(), None).contains("Tenants with contracts"));
    }

    #[test]
    fn the_page_loads_no_external_files() {
        let page = render(&sample::findings(), None);
        let document = parse(&page);
        let loads = |node: &roxmltree::Node<'_, '_>| {
            ["src", "href", "srcset", "data", "poster", "action"].into_iter().any(|name| node.has_attribute(name))
        };
        assert!(!document.descendants().any(|node| loads(&node)));
        assert!(!page.contains("@import") && !page.contains("url("));
    }

    #[test]
    fn style_and_script_read_the_same_in_html_and_xml() {
        for raw in [STYLE, include_str!("page.js")] {
            assert!(!raw.contains(['<', '&', '"']), "HTML would not unescape it");
        }
    }
}
