//! `index.html`: every figure of a run, with what the texts say beside what was measured.

use wayleave_experiments::{Statement, Verdict};

use super::measured::Measured;
use super::png;
use crate::report::markup::Element;
use crate::report::palette;
use crate::report::tables::Column::Text;
use crate::report::tables::{boxed, table};

fn new(name: &'static str) -> Element {
    Element::new(name)
}

/// The page; pictures and data are files beside it.
pub(crate) fn render(all: &[Measured], command: &str) -> String {
    let head = new("head")
        .child(new("meta").with("charset", "utf-8"))
        .child(new("meta").with("name", "viewport").with("content", "width=device-width, initial-scale=1"))
        .child(new("title").text("Figures of the publications, measured again"))
        .child(
            new("style")
                .text(include_str!("../report/page.css"))
                .text(include_str!("page.css"))
                .text(palette::stylesheet()),
        );
    let statements = || all.iter().flat_map(|measured| &measured.figure.statements);
    let count = |verdict: Verdict| statements().filter(|statement| statement.verdict == verdict).count();
    let tile = |verdict: Verdict, text: &str| {
        new("div").child(new("strong").text(count(verdict).to_string())).child(new("span").text(text))
    };
    let header = new("header")
        .child(new("h1").text("Figures of the publications, measured again"))
        .child(new("p").text(
            "The publications' texts say what their systems do; their curves stand only in pictures, and are not here. \
             Each statement of a text stands beside what was measured.",
        ))
        .child(new("div").class("headlines").children([
            tile(Verdict::Holds, "statements were seen here, too"),
            tile(Verdict::Differs, "statements differ, each with the reason as far as it is known"),
            tile(Verdict::NotCompared, "statements cannot be compared: times of other programs on other machines"),
        ]))
        .child(contents(all));
    let provenance = new("footer")
        .child(new("h2").text("Once more"))
        .child(new("pre").text(command))
        .child(new("p").class("quiet").text(format!("Made by {}.", Measured::program())));
    let main = new("main").children(all.iter().map(section));
    let body = new("body").child(header).child(main).child(provenance);
    format!("<!DOCTYPE html>\n{}\n", new("html").with("lang", "en").child(head).child(body))
}

fn contents(all: &[Measured]) -> Element {
    let item = |measured: &Measured| {
        let entry = measured.entry;
        let link = new("a").with("href", format!("#{}", entry.id)).text(entry.id);
        new("li").child(link).text(format!(": {}", entry.title))
    };
    new("ul").children(all.iter().map(item))
}

fn section(measured: &Measured) -> Element {
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

fn statements(statements: &[Statement]) -> Element {
    let heads = [("section", Text), ("the text says", Text), ("measured", Text), ("verdict", Text), ("remark", Text)];
    let row = |of: &Statement| {
        let verdict = of.verdict.name().to_owned();
        vec![of.section.to_owned(), of.says.clone(), of.measured.clone(), verdict, of.remarks().join(" ")]
    };
    let caption = "What the text says, and what was seen";
    boxed(caption, table(caption, &[], &heads, statements.iter().map(row)).class("statements"))
}
