//! `docs/SUMMARY.md`, the table of contents of the documents' site (`make docs-site`), lists every page once.
//!
//! `WAYLEAVE_UPDATE=1` removes entries without a page and adds pages without an entry. Entries keep their order and titles, except for decisions:
//! these are sorted, with the titles of their pages.

use crate::repository::{File, files, root};

const SUMMARY: &str = "docs/SUMMARY.md";

/// Sections in their order, with the folders of `docs` whose pages they list.
const SECTIONS: [(&str, &str); 7] = [
    ("Guide", "guide"),
    ("Operate", "operate"),
    ("Theory", "theory"),
    ("Reference", "reference"),
    ("Papers", "papers"),
    ("Develop", "develop"),
    ("Decisions", "decisions"),
];

/// An entry of the summary: the title of a page and its path from `docs`.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    title: String,
    target: String,
}

/// Returns the entries of a summary in their order.
fn entries(summary: &str) -> Vec<Entry> {
    let entry = |line: &str| {
        let (title, target) = line.trim_start_matches([' ', '-', '[']).strip_suffix(')')?.split_once("](")?;
        Some(Entry { title: title.to_owned(), target: target.to_owned() })
    };
    summary.lines().filter_map(entry).collect()
}

/// Returns all pages of the site: those below `docs`, and those of the root.
fn pages(files: &[File]) -> Vec<Entry> {
    let page = |File { path, text }: &File| {
        let is_page = path.ends_with(".md") && path != SUMMARY && (path.starts_with("docs/") || !path.contains('/'));
        let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(path).replace('`', "");
        let target = path.strip_prefix("docs/").map_or_else(|| format!("../{path}"), str::to_owned);
        is_page.then_some(Entry { title, target })
    };
    files.iter().filter_map(page).collect()
}

/// Returns the folder in whose section a page is listed, or `None` for pages above all sections.
fn folder(target: &str) -> Option<&str> {
    match target.split_once('/') {
        Some(("..", "README.md" | "CHANGELOG.md")) => None,
        Some(("..", _)) => Some("develop"),
        Some((folder, _)) => Some(folder),
        None => Some("papers"),
    }
}

/// Returns a summary of all pages that keeps the order and the titles of `summary`.
fn updated(summary: &str, pages: &[Entry]) -> String {
    let is_kept = |entry: &Entry| {
        folder(&entry.target) != Some("decisions") && pages.iter().any(|page| page.target == entry.target)
    };
    let mut listed: Vec<Entry> = Vec::new();
    for entry in entries(summary).into_iter().filter(is_kept).chain(pages.iter().cloned()) {
        if !listed.iter().any(|other| other.target == entry.target) {
            listed.push(entry);
        }
    }
    let of = |section: Option<&str>| -> Vec<&Entry> {
        let mut entries: Vec<&Entry> = listed.iter().filter(|entry| folder(&entry.target) == section).collect();
        if section == Some("decisions") {
            entries.sort_by_key(|entry| (!entry.target.ends_with("/README.md"), entry.target.as_str()));
        }
        entries
    };
    let mut text = "# Summary\n\n".to_owned();
    for Entry { title, target } in of(None) {
        text += &format!("[{title}]({target})\n");
    }
    for (heading, folder) in SECTIONS {
        let entries = of(Some(folder));
        if entries.is_empty() {
            continue;
        }
        text += &format!("\n# {heading}\n\n");
        for Entry { title, target } in entries {
            let indent = if folder == "decisions" && !target.ends_with("/README.md") { "  " } else { "" };
            text += &format!("{indent}- [{title}]({target})\n");
        }
    }
    text
}

#[test]
fn the_summary_lists_every_page_once() {
    let files = files().unwrap();
    let pages = pages(&files);
    let has_no_section =
        |page: &&Entry| folder(&page.target).is_some_and(|folder| !SECTIONS.iter().any(|(_, of)| *of == folder));
    let unknown: Vec<&Entry> = pages.iter().filter(has_no_section).collect();
    assert!(unknown.is_empty(), "no section of SECTIONS in summary.rs lists {unknown:?}");
    let summary = files.iter().find(|file| file.path == SUMMARY).map_or("", |file| file.text.as_str());
    let expected = updated(summary, &pages);
    if std::env::var_os("WAYLEAVE_UPDATE").is_some() {
        std::fs::write(root().join(SUMMARY), expected).unwrap();
        return;
    }
    let remedy = "`WAYLEAVE_UPDATE=1 cargo test -p wayleave-repo-checks summary::` updates it";
    let different = expected.lines().find(|line| !summary.lines().any(|listed| listed == *line));
    let different = different.or_else(|| summary.lines().find(|line| !expected.lines().any(|listed| listed == *line)));
    assert!(summary == expected, "{SUMMARY} does not list the pages of the repository, first {different:?}: {remedy}");
}

#[test]
fn an_update_keeps_titles_adds_pages_and_removes_entries_without_a_page() {
    let file = |path: &str, title: &str| File { path: path.to_owned(), text: format!("# {title}\n\ntext\n") };
    let files = [
        file("README.md", "Home"),
        file("crates/a/README.md", "A crate"),
        file("docs/decisions/002-b.md", "002. B"),
        file("docs/decisions/README.md", "Decisions"),
        file("docs/guide/a.md", "Long title of A"),
        file("docs/guide/b.md", "B"),
        file(SUMMARY, "Summary"),
    ];
    let pages = pages(&files);
    let before = "# Summary\n\n[Home](../README.md)\n\n# Guide\n\n- [Gone](guide/gone.md)\n- [A](guide/a.md)\n- [Again](guide/a.md)\n";
    let after = updated(before, &pages);
    let sections = "# Guide\n\n- [A](guide/a.md)\n- [B](guide/b.md)\n\n# Decisions\n\n- [Decisions](decisions/README.md)\n  - [002. B](decisions/002-b.md)\n";
    assert_eq!(after, format!("# Summary\n\n[Home](../README.md)\n\n{sections}"));
    assert_eq!(updated(&after, &pages), after);
    assert_eq!(updated(&after.replace("002. B", "Old title"), &pages), after);
}
