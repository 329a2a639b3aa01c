//! `docs/develop/packet-path.md` names existing functions, in the right files, and counts these files.

use std::collections::BTreeSet;
use std::path::Path;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/develop");

/// Maximum number of files: a change that adds one needs a reason on the page.
const MAX_FILES: usize = 17;

/// Returns the names in backticks that look like `Type::function`.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter_map(|name| name.split_once("::")).map(|(_, function)| function)
}

/// Returns the targets of links to sources.
fn sources(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter(|target| target.ends_with(".rs"))
}

/// Returns `true` if a source defines a function of this name.
fn defines(source: &str, function: &str) -> bool {
    source.contains(&format!("fn {function}(")) || source.contains(&format!("fn {function}<"))
}

#[test]
fn every_function_of_the_packet_path_exists_where_documented() {
    let docs = Path::new(DOCS);
    let page = std::fs::read_to_string(docs.join("packet-path.md")).unwrap();
    let mut files = BTreeSet::new();
    let mut all = String::new();
    for target in sources(&page) {
        files.insert(target);
        all += &std::fs::read_to_string(docs.join(target)).unwrap();
    }
    let mut rows = 0;
    for line in page.lines() {
        // The first function of a row of a table is in the file of that row, all others are in one of the files.
        if let Some(file) = sources(line).next().filter(|_| line.starts_with('|')) {
            let function = functions(line).next().unwrap();
            let source = std::fs::read_to_string(docs.join(file)).unwrap();
            assert!(defines(&source, function), "{file} has no function {function}");
            rows += 1;
        }
        for function in functions(line) {
            assert!(defines(&all, function), "no file of the page has a function {function}");
        }
    }
    assert!(rows > 30, "{rows} rows: the tables cannot be read");
    assert!(files.len() <= MAX_FILES, "{} files: {files:?}", files.len());
    let count = format!("The path touches {} files in 3 crates.", files.len());
    assert!(page.contains(&count), "the page does not say: {count}");
}
