//! `index.html`: every figure of a run, with the texts' statements beside the measured values.

use crate::{Claim, Statement, Verdict, claims};

use super::measured::{Measured, MeasuredBy, Reproduced};
use super::png;
use super::totals::{HEADS, Tally, Totals};
use wayleave_report::markup::MarkupElement;
use wayleave_report::palette;
use wayleave_report::tables::Column::{Number, Text};
use wayleave_report::tables::{boxed, table};

fn new(name: &'static str) -> MarkupElement {
    MarkupElement::new(name)
}

/// The page; pictures and data are files beside it.
pub(crate) fn render(reproduced: &Reproduced, command: &str) -> String {
    let head = new("head")
        .child(new("meta").with("charset", "utf-8"))
        .child(new("meta").with("name", "viewport").with("content", "width=device-width, initial-scale=1"))
        .child(new("title").text("Figures of the publications, measured again"))
        .child(
            new("style").text(wayleave_report::page::STYLE).text(include_str!("page.css")).text(palette::stylesheet()),
        );
    let all = &reproduced.figures;
    let totals = Totals::of(reproduced);
    let tile = |count: usize, text: String| {
        new("div").child(new("strong").text(count.to_string())).child(new("span").text(text))
    };
    let header = new("header")
        .child(new("h1").text("Figures of the publications, measured again"))
        .child(new("p").text(
            "The publications' texts say what their systems do; their curves stand only in pictures, and are not here. \
             Each statement of a text stands beside what was measured.",
        ))
        .child(
            new("div").class("headlines").children(
                totals
                    .total
                    .numbers()
                    .into_iter()
                    .zip(Verdict::ALL)
                    .map(|(count, verdict)| tile(count, format!("claims: {}", verdict.name()))),
            ),
        )
        .child(contents(all))
        .child(counts(&totals))
        .children(totals.missing().into_iter().map(|sentence| new("p").text(sentence)));
    let provenance = new("footer")
        .child(new("h2").text("Once more"))
        .child(new("pre").text(command))
        .child(new("p").class("quiet").text(format!("Made by {}.", MeasuredBy::default().program())));
    let main = new("main").children(all.iter().map(section));
    let body = new("body").child(header).child(main).child(provenance);
    format!("<!DOCTYPE html>\n{}\n", new("html").with("lang", "en").child(head).child(body))
}

fn contents(all: &[Measured]) -> MarkupElement {
    let item = |measured: &Measured| {
        let entry = measured.entry;
        let link = new("a").with("href", format!("#{}", entry.id)).text(entry.id);
        new("li").child(link).text(format!(": {}", entry.title))
    };
    new("ul").children(all.iter().map(item))
}

/// A row for each figure, and one for all.
fn counts(totals: &Totals) -> MarkupElement {
    let heads: Vec<(&str, _)> = [("claims", Text)].into_iter().chain(HEADS.map(|head| (head, Number))).collect();
    let row = |name: &str, tally: &Tally| std::iter::once(name.to_owned()).chain(tally.cells()).collect();
    let rows: Vec<Vec<String>> = totals.figures.iter().map(|of| row(of.figure, &of.tally)).collect();
    let caption = "Claims by verdict";
    boxed(caption, table(caption, &[], &heads, rows.into_iter().chain([row("all", &totals.total)])).class("counts"))
}

fn section(measured: &Measured) -> MarkupElement {
    let entry = measured.entry;
    let file = |extension: &str| format!("{}.{extension}", entry.id);
    let link = |extension: &'static str| new("a").with("href", file(extension)).text(extension);
    let image = new("img").with("src", file("svg")).with("alt", format!("{}: {}", entry.place, entry.title));
    let files = new("p").class("quiet").child(link("json")).text(" ").child(link("csv")).text(" ");
    let files = files.child(link("svg"));
    let files = if png::IS_BUILT_IN { files.text(" ").child(link("png")) } else { files };
    new("section")
        .with("id", entry.id)
        .child(new("h2").text(format!("{}: {}", entry.place, entry.title)))
        .child(new("p").class("quiet").text(format!("{} ({})", entry.paper.citation, entry.id)))
        .child(new("figure").child(image))
        .child(files)
        .child(statements(&measured.figure.statements))
}

fn statements(statements: &[Statement]) -> MarkupElement {
    let heads = [("section", Text), ("the text says", Text), ("measured", Text), ("verdict", Text), ("remark", Text)];
    let row = |claim: Claim<'_>| {
        let (first, verdict) = (claim.readings[0], claim.verdict().name().to_owned());
        let measured = claim.measured().join("; ");
        vec![first.section.clone(), first.claim_text.clone(), measured, verdict, claim.remarks().join(" ")]
    };
    let caption = "What the text says, and what was seen";
    boxed(caption, table(caption, &[], &heads, claims(statements).into_iter().map(row)).class("statements"))
}
