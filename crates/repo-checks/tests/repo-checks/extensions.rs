//! `docs/develop/extending.md` lists all files of an addition: each list is held against the example that the page names.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};

use crate::repository::{File, files};

const PAGE: &str = "docs/develop/extending.md";
/// Folders of generated documents in which an example may have to be named.
const GENERATED: [&str; 2] = ["docs/api/", "schemas/"];

/// An addition as the page describes it.
#[derive(Debug, PartialEq)]
struct Addition {
    heading: String,
    example: String,
    files: Vec<String>,
}

/// Returns the sections of the page that have an example.
fn additions(page: &str) -> Vec<Addition> {
    let sections = page.split("\n## ").skip(1);
    let read = |section: &str| {
        let example = section.split("\nExample: `").nth(1)?.split('`').next()?.to_owned();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let files = rows.filter(|cell| cell.contains('/')).map(|file| file.replace("<name>", &example)).collect();
        Some(Addition { heading: section.lines().next()?.to_owned(), example, files })
    };
    sections.filter_map(read).collect()
}

/// Returns a name without differences of writing: `topology_summary`, `TopologySummary` and `topology/summary` are one.
fn plain(text: &str) -> String {
    text.chars().filter(|letter| !matches!(letter, '-' | '_' | '/' | ' ')).collect::<String>().to_lowercase()
}

/// Returns `true` if an identifier of the tokens is the example. Comments and strings have none.
fn names(tokens: TokenStream, example: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(name) => plain(&name.to_string()) == example,
        TokenTree::Group(group) => names(group.stream(), example),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// Returns the files that an addition has to touch: sources that name it, its own files, and generated documents.
fn needed(files: &[File], example: &str) -> BTreeSet<String> {
    let example = plain(example);
    let is_needed = |File { path, text }: &&File| {
        if GENERATED.iter().any(|folder| path.starts_with(folder)) {
            return plain(text).contains(&example);
        }
        if !(path.starts_with("crates/") && path.contains("/src/") && path.ends_with(".rs")) {
            return false;
        }
        let is_own = path.split('/').any(|part| plain(part.trim_end_matches(".rs")) == example);
        let mentions = || plain(text).contains(&example);
        is_own || mentions() && text.parse().is_ok_and(|tokens| names(tokens, &example))
    };
    files.iter().filter(is_needed).map(|file| file.path.clone()).collect()
}

/// Returns files that a list lacks, and listed files that are not there or do not mention the example.
fn faults(files: &[File], addition: &Addition) -> Vec<String> {
    let Addition { heading, example, files: listed } = addition;
    let missing = needed(files, example).into_iter().filter(|path| !listed.contains(path));
    let mut faults: Vec<String> = missing.map(|path| format!("{PAGE}, \"{heading}\" lacks {path}")).collect();
    for path in listed {
        let own = plain(path).contains(&plain(example));
        match files.iter().find(|file| file.path == *path) {
            None => faults.push(format!("{PAGE}, \"{heading}\" lists {path}, which is no file")),
            Some(file) if !own && !plain(&file.text).contains(&plain(example)) => {
                faults.push(format!("{PAGE}, \"{heading}\" lists {path}, which does not mention {example}"));
            }
            Some(_) => {}
        }
    }
    faults
}

#[test]
fn the_page_lists_the_files_of_its_examples() {
    let files = files().unwrap();
    let page = files.iter().find(|file| file.path == PAGE).unwrap();
    let additions = additions(&page.text);
    let headings: Vec<&str> = additions.iter().map(|addition| addition.heading.as_str()).collect();
    assert_eq!(headings, ["A transport", "An admission scheme", "A REST endpoint", "A file format"]);
    let faults: Vec<String> = additions.iter().flat_map(|addition| faults(&files, addition)).collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn a_list_that_is_wrong_is_refused() {
    let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
    let all = [
        file("crates/a/src/new_form.rs", "pub fn read() {}"),
        file("crates/a/src/lib.rs", "mod new_form;"),
        file("crates/a/src/other.rs", "/// Unlike NewForm.\nconst TEXT: &str = \"new_form\";"),
        file("schemas/a.json", "{ \"newForm\": 1 }"),
    ];
    let page =
        |rows: &str| format!("# Page\n\n## A form\n\nExample: `new_form`.\n\n| file | change |\n|---|---|\n{rows}");
    let found = |rows: &str| additions(&page(rows)).iter().flat_map(|one| faults(&all, one)).collect::<Vec<_>>();
    let right = "| `crates/a/src/<name>.rs` | x |\n| `crates/a/src/lib.rs` | x |\n| `schemas/a.json` | x |\n";
    assert_eq!(found(right), [""; 0]);
    for row in right.lines() {
        let faults = found(&right.replace(row, ""));
        assert!(faults.len() == 1 && faults[0].contains("lacks"), "{row}: {faults:?}");
    }
    assert!(found(&format!("{right}| `crates/a/src/gone.rs` | x |\n"))[0].contains("which is no file"));
    let quiet = [file("docs/quiet.md", "")];
    let addition = Addition { heading: "x".into(), example: "new_form".into(), files: vec!["docs/quiet.md".into()] };
    assert!(faults(&quiet, &addition)[0].contains("does not mention"));
}
