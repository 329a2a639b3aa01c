//! One name means one thing: public type names that several crates define are listed here, each with a reason.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Item, Visibility};

use crate::repository::{File, files};

/// Groups of crates in which a name may mean something of its own, with the reason.
const MIRRORS: &[(&str, &str)] = &[
    ("crates/control/protocol/", "documents of the REST interface have the names of what they describe"),
    ("crates/check/recheck/", "the independent calculator defines its own types on purpose"),
    ("crates/cli/", "a program: no other crate can use its types"),
    ("crates/research/experiments/", "modules of figures; nothing outside uses their types"),
];

/// Names that several crates define, with the reason.
const SHARED: &[(&str, &str)] = &[
    ("DecodeError", "each codec has one, named with its module"),
    ("Error", "the error of a library, as in `std::io::Error`"),
    ("Host", "the role of a scheme, and the driver that carries it out in the kernel"),
    ("Network", "the library's network is the graph with its name"),
    ("Options", "the options of a program or a function, named with their module"),
    ("Settings", "the parameters of a scheme or a driver, named with their module"),
];

/// Crate of a source file; `None` outside of a crate's library or binary.
fn crate_of(path: &str) -> Option<&str> {
    let end = path.find("/src/")?;
    path.starts_with("crates/").then(|| &path[..end])
}

/// Public types at the top level of the modules, by name, with the crates that define them.
fn definitions(files: &[File]) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let sources = files.iter().filter(|file| file.path.ends_with(".rs") && !file.path.ends_with("tests.rs"));
    for File { path, text } in sources.filter(|file| !MIRRORS.iter().any(|(mirror, _)| file.path.starts_with(mirror))) {
        let Some(crate_name) = crate_of(path) else { continue };
        let Ok(parsed) = syn::parse_file(text) else { continue };
        for item in parsed.items {
            let (visibility, name) = match item {
                Item::Struct(item) => (item.vis, item.ident),
                Item::Enum(item) => (item.vis, item.ident),
                Item::Trait(item) => (item.vis, item.ident),
                Item::Type(item) => (item.vis, item.ident),
                Item::Union(item) => (item.vis, item.ident),
                _ => continue,
            };
            if matches!(visibility, Visibility::Public(_)) {
                found.entry(name.to_string()).or_default().insert(crate_name.to_owned());
            }
        }
    }
    found
}

fn name_faults(files: &[File], shared: &[(&str, &str)]) -> Vec<String> {
    let several: BTreeMap<String, BTreeSet<String>> =
        definitions(files).into_iter().filter(|(_, crates)| crates.len() > 1).collect();
    let unlisted =
        several.iter().filter(|(name, _)| !shared.iter().any(|(known, _)| known == name)).map(|(name, crates)| {
            let crates: Vec<&str> = crates.iter().map(String::as_str).collect();
            format!(
                "{name} is defined by {}: rename all but one, or list it in SHARED with a reason",
                crates.join(", ")
            )
        });
    let unused = shared
        .iter()
        .filter(|(known, _)| !several.contains_key(*known))
        .map(|(known, _)| format!("{known} is not defined by several crates: remove it from SHARED"));
    unlisted.chain(unused).collect()
}

#[test]
fn a_public_type_name_belongs_to_one_crate() {
    let faults = name_faults(&files().unwrap(), SHARED);
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn a_name_in_two_crates_is_a_fault_unless_it_is_listed() {
    let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
    let twice = [file("crates/a/b/src/lib.rs", "pub struct Plan;"), file("crates/a/c/src/x.rs", "pub enum Plan {}")];
    assert_eq!(
        name_faults(&twice, &[]),
        ["Plan is defined by crates/a/b, crates/a/c: rename all but one, or list it in SHARED with a reason"]
    );
    assert_eq!(name_faults(&twice, &[("Plan", "why")]), [""; 0]);
    let private =
        [file("crates/a/b/src/lib.rs", "pub struct Plan;"), file("crates/a/c/src/x.rs", "pub(crate) struct Plan;")];
    assert_eq!(name_faults(&private, &[]), [""; 0]);
    assert_eq!(name_faults(&private, &[("Plan", "why")]).len(), 1);
}
