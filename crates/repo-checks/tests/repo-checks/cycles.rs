//! The files of every crate depend on one another in one direction only.

use std::collections::{BTreeMap, BTreeSet};

use crate::modules::{Crate, Module};
use crate::repository::{File, files};

/// Returns one shortest cycle of each group of modules that depend on one another.
fn cycles(dependencies: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<Vec<Module>> {
    let mut reported: BTreeSet<&Module> = BTreeSet::new();
    let mut cycles = Vec::new();
    for start in dependencies.keys() {
        if reported.contains(start) {
            continue;
        }
        let before = search(start, dependencies);
        if let Some(last) = before.keys().find(|module| dependencies[**module].contains(start)) {
            let mut cycle = vec![start.clone(), (*last).clone()];
            let mut at = *last;
            while at != start {
                at = before[at];
                cycle.push(at.clone());
            }
            cycle.reverse();
            cycles.push(cycle);
            // All modules that lead back to the start are in one group.
            let group = before.keys().filter(|module| search(module, dependencies).contains_key(start));
            reported.extend(group.copied());
        }
    }
    cycles
}

/// Returns the modules that can be reached from a start, each with the module before it on a shortest path.
fn search<'a>(
    start: &'a Module,
    dependencies: &'a BTreeMap<Module, BTreeSet<Module>>,
) -> BTreeMap<&'a Module, &'a Module> {
    let mut before = BTreeMap::from([(start, start)]);
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(module) = queue.pop_front() {
        for other in dependencies.get(module).into_iter().flatten() {
            if !before.contains_key(other) {
                before.insert(other, module);
                queue.push_back(other);
            }
        }
    }
    before
}

fn shown(module: &Module) -> String {
    if module.is_empty() { "(root)".to_owned() } else { module.join("::") }
}

/// Returns the cycles of a crate.
fn found(files: &[(&str, &str)]) -> Result<Vec<String>, String> {
    let dependencies = Crate::read(files.iter().copied())?.dependencies();
    let text = |cycle: Vec<Module>| cycle.iter().map(shown).collect::<Vec<_>>().join(" -> ");
    Ok(cycles(&dependencies).into_iter().map(text).collect())
}

/// Returns the folders `src` of all crates.
fn sources(files: &[File]) -> Vec<String> {
    let manifests = files.iter().filter_map(|file| file.path.strip_suffix("/Cargo.toml"));
    manifests.filter(|folder| folder.starts_with("crates/")).map(|folder| format!("{folder}/src/")).collect()
}

#[test]
fn files_depend_in_one_direction() {
    let files = files().unwrap();
    let sources = sources(&files);
    assert!(sources.len() > 30, "{sources:?}");
    let mut all = Vec::new();
    for folder in &sources {
        let own: Vec<(&str, &str)> = files
            .iter()
            .filter_map(|file| Some((file.path.strip_prefix(folder.as_str())?, file.text.as_str())))
            .collect();
        assert!(!own.is_empty(), "{folder} has no file");
        all.extend(found(&own).unwrap().into_iter().map(|cycle| format!("{folder}: {cycle}")));
    }
    assert!(all.is_empty(), "\n{}\n", all.join("\n"));
}

fn cycles_of(files: &[(&str, &str)]) -> Vec<String> {
    found(files).unwrap()
}

#[test]
fn two_files_that_use_each_other_are_a_cycle() {
    let main = ("main.rs", "mod a;\nmod b;\nfn main() { a::run() }");
    let a = "use crate::b::B;\npub fn run() {}";
    assert_eq!(cycles_of(&[main, ("a.rs", a), ("b.rs", "pub struct B;")]), [""; 0]);
    for back in [
        "use crate::a;",
        "use super::a::run;",
        "fn b() { crate::a::run() }",
        "use crate::{a::{run as go}, b};",
        "use crate::a::*;",
        "fn b() -> Vec<crate::a::A> { Vec::new() }",
        "fn b() { assert!(1 == crate::a::run()) }",
        "macro_rules! b { () => { $crate::a::run() } }",
        "impl B { fn b(&self) { <u8 as crate::a::A>::run() } }",
        "mod inner { use super::super::a::run; }",
    ] {
        assert_eq!(cycles_of(&[main, ("a.rs", a), ("b.rs", back)]), ["a -> b -> a"], "{back}");
    }
    assert_eq!(cycles_of(&[main, ("a.rs", a), ("b.rs", "mod inner { use super::B; use super::a; }")]), [""; 0]);
}

#[test]
fn a_cycle_of_three_files_is_found_once() {
    let root = ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;");
    let files = [
        root,
        ("a.rs", "use crate::b;"),
        ("b.rs", "use crate::c;"),
        ("c.rs", "use crate::a;"),
        ("d.rs", "use crate::a;"),
    ];
    assert_eq!(cycles_of(&files), ["a -> b -> c -> a"]);
}

#[test]
fn a_child_that_uses_its_parent_is_a_cycle_if_the_parent_uses_it() {
    let parent = "mod child;\npub const N: u8 = 1;\npub fn f() -> u8 { child::f() }";
    let root = ("lib.rs", "pub mod a;");
    assert_eq!(cycles_of(&[root, ("a/mod.rs", parent), ("a/child.rs", "use super::N;")]), ["a -> a::child -> a"]);
    let facade = "mod child;\npub const N: u8 = 1;\npub use child::f;";
    assert_eq!(cycles_of(&[root, ("a/mod.rs", facade), ("a/child.rs", "use super::N;")]), [""; 0]);
}

#[test]
fn a_re_exported_name_leads_to_its_definition() {
    let root = ("lib.rs", "mod a;\nmod b;");
    let a = [("a/mod.rs", "mod x;\npub use x::X;"), ("a/x.rs", "use crate::b::B;\npub struct X;")];
    let cycle = cycles_of(&[root, a[0], a[1], ("b.rs", "use crate::a::X;\npub struct B;")]);
    assert_eq!(cycle, ["a::x -> b -> a::x"]);
}

#[test]
fn comments_strings_and_unit_tests_do_not_count() {
    let root = ("lib.rs", "mod a;\nmod b;");
    let a = ("a.rs", "use crate::b::B;");
    let quiet = r##"
        //! [`crate::a`]
        /* crate::a */
        const TEXT: (&str, &str, char) = ("crate::a \" crate::a", r#"" crate::a"#, '"');
        fn lifetime<'a>(text: &'a str) -> &'a str { text }
        pub(in crate::a) fn seen() {}
        #[cfg(test)]
        mod tests { use crate::a; fn f() { if true { crate::a::g() } } }
        #[cfg(test)]
        fn helper() { crate::a::g() }
        impl B { #[cfg(test)] fn helper() { crate::a::g() } }
        #[cfg(test)]
        mod far;
    "##;
    assert_eq!(cycles_of(&[root, a, ("b.rs", quiet), ("b/far.rs", "use crate::a;")]), [""; 0]);
    assert_eq!(cycles_of(&[root, a, ("b.rs", "const C: char = '\"'; use crate::a;")]), ["a -> b -> a"]);
}

#[test]
fn a_file_that_cannot_be_parsed_is_an_error() {
    assert!(found(&[("lib.rs", "fn f( {")]).is_err());
}
