//! The files of a crate depend on one another in one direction only, in the crates that are listed here.
//!
//! A file depends on another if it names something of it: in a `use`, or in a path that begins with `crate`, `super`, `self`
//! or the name of a module below it. A re-export (`pub use`) is no dependency of the file where it stands; who uses a name
//! that was re-exported depends on the file where that name comes from. Unit tests are left out: they may look anywhere.

use std::collections::{BTreeMap, BTreeSet};

use crate::repository::files;

/// Folders below `crates` that have no cycle among their files. A folder below `src` stands for its own files only.
const WITHOUT_CYCLES: &[&str] = &[
    "linux/agent/src",
    "linux/broker/src",
    "core/calculus/src/network",
    "cli/src",
    "control/controller/src",
    "linux/dataplane/src",
    "io/explain/src",
    "linux/lab/src",
    "control/protocol/src",
    "check/recheck/src",
    "control/server/src",
    "sim/sim/src",
    "control/store/src",
    "wayleave/src",
];

/// A module by its names from the root of its crate; the root has none.
type Module = Vec<String>;

/// What a file says of modules.
#[derive(Debug, Default)]
struct Parsed {
    /// Modules in files of their own, declared here.
    children: BTreeSet<String>,
    /// Those of them that are compiled for unit tests only.
    tests: BTreeSet<String>,
    /// Names that `use` brings here, with where they come from.
    names: BTreeMap<String, Vec<String>>,
    /// Everything that is named, but for re-exports.
    paths: Vec<Vec<String>>,
}

/// A text without comments, and without what stands in quotation marks.
fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(marks) = raw_string(rest) {
            let end = format!("\"{}", "#".repeat(marks));
            let begin = marks + 2;
            rest[begin..].find(&end).map_or(rest.len(), |at| begin + at + end.len())
        } else if first == '"' {
            string(rest)
        } else if first == '\'' {
            character(rest)
        } else {
            0
        };
        if skipped == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.push(' ');
            rest = &rest[skipped..];
        }
    }
    code
}

/// How many `#` a raw string begins with, if one begins here.
fn raw_string(text: &str) -> Option<usize> {
    let after = text.strip_prefix('r')?;
    let marks = after.len() - after.trim_start_matches('#').len();
    after[marks..].starts_with('"').then_some(marks)
}

/// The length of a string that begins here.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character that begins here; 0 if it is a lifetime.
fn character(text: &str) -> usize {
    let mut letters = text.char_indices().skip(1);
    match (letters.next(), letters.next()) {
        (Some((_, '\\')), _) => {
            text[2..].char_indices().skip(1).find(|(_, letter)| *letter == '\'').map_or(0, |end| end.0 + 3)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 0,
    }
}

/// The words and signs of a text; `::` is one sign.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let length = match first {
            first if is_word(first) => rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            first => first.len_utf8(),
        };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

fn is_name(token: &str) -> bool {
    token.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
}

/// The position behind the bracket that closes the one at `open`.
fn closing(tokens: &[&str], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match *token {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

fn parse(text: &str) -> Parsed {
    let code = code(text);
    let tokens = tokens(&code);
    let mut parsed = Parsed::default();
    let (mut at, mut for_tests, mut exported) = (0, false, false);
    while let Some(&token) = tokens.get(at) {
        match token {
            "#" => {
                let end = closing(&tokens, at + 1);
                for_tests |= tokens[at..end].join("") == "#[cfg(test)]";
                at = end;
            }
            "pub" => {
                exported = true;
                at = if tokens.get(at + 1) == Some(&"(") { closing(&tokens, at + 1) } else { at + 1 };
            }
            "mod" => {
                let name = tokens.get(at + 1).copied().unwrap_or_default().to_owned();
                match (tokens.get(at + 2), for_tests) {
                    (Some(&";"), true) => drop((parsed.tests.insert(name.clone()), parsed.children.insert(name))),
                    (Some(&";"), false) => drop(parsed.children.insert(name)),
                    _ => {}
                }
                at = if for_tests && tokens.get(at + 2) == Some(&"{") { closing(&tokens, at + 2) } else { at + 3 };
                (for_tests, exported) = (false, false);
            }
            "use" => {
                let end = at + tokens[at..].iter().position(|token| *token == ";").unwrap_or(tokens.len() - at - 1);
                if !for_tests {
                    import(&tokens[at + 1..end], &[], exported, &mut parsed);
                }
                (at, for_tests, exported) = (end + 1, false, false);
            }
            first if is_name(first) && tokens.get(at + 1) == Some(&"::") && (at == 0 || tokens[at - 1] != "::") => {
                let mut path = vec![first.to_owned()];
                at += 1;
                while tokens.get(at) == Some(&"::") && tokens.get(at + 1).is_some_and(|token| is_name(token)) {
                    path.push(tokens[at + 1].to_owned());
                    at += 2;
                }
                at += usize::from(tokens.get(at) == Some(&"::"));
                parsed.paths.push(path);
            }
            _ => {
                // A visibility belongs to what comes next, an attribute to the item.
                for_tests &= !matches!(token, ";" | "{");
                exported = false;
                at += 1;
            }
        }
    }
    parsed
}

/// One tree of a `use`.
fn import(tokens: &[&str], before: &[String], exported: bool, parsed: &mut Parsed) {
    let mut path = before.to_vec();
    let mut at = 0;
    while let Some(&token) = tokens.get(at) {
        match token {
            "::" => at += 1,
            "{" => {
                let end = closing(tokens, at);
                let (mut from, mut depth) = (at + 1, 0);
                for position in at + 1..end {
                    match tokens[position] {
                        "{" => depth += 1,
                        "}" if position + 1 < end => depth -= 1,
                        "," | "}" if depth == 0 => {
                            if from < position {
                                import(&tokens[from..position], &path, exported, parsed);
                            }
                            from = position + 1;
                        }
                        _ => {}
                    }
                }
                return;
            }
            "as" => {
                let alias = tokens.get(at + 1).copied().unwrap_or_default();
                return named(alias, path, exported, parsed);
            }
            "*" => {
                path.push("*".to_owned());
                at += 1;
            }
            name => {
                path.push(name.to_owned());
                at += 1;
            }
        }
    }
    let last = match path.last().map(String::as_str) {
        // `use a::{self}` names a.
        Some("self") if path.len() > 1 => {
            path.pop();
            path.last().cloned()
        }
        _ => path.last().cloned(),
    };
    named(&last.unwrap_or_default(), path, exported, parsed);
}

fn named(alias: &str, path: Vec<String>, exported: bool, parsed: &mut Parsed) {
    if !exported {
        parsed.paths.push(path.clone());
    }
    parsed.names.insert(alias.to_owned(), path);
}

/// A crate that was read.
struct Crate {
    modules: BTreeMap<Module, Parsed>,
}

impl Crate {
    /// Of the files of a folder `src`, by their paths in it.
    fn read<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let all = files.filter(|(path, _)| path.ends_with(".rs"));
        let mut modules: BTreeMap<Module, Parsed> = all.map(|(path, text)| (module_of(path), parse(text))).collect();
        let for_tests: Vec<Module> = modules
            .iter()
            .flat_map(|(module, parsed)| {
                parsed.tests.iter().map(|name| [&module[..], std::slice::from_ref(name)].concat())
            })
            .collect();
        modules.retain(|module, _| !for_tests.iter().any(|test| module.starts_with(test)));
        Self { modules }
    }

    /// From the root of the crate; `None` for what belongs to another crate, or to no module.
    fn absolute(&self, from: &Module, path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let parsed = self.modules.get(from)?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([from, rest].concat()),
            "super" => {
                let parent = from.split_last()?.1.to_vec();
                if rest.first().is_some_and(|next| next == "super") {
                    return self.absolute(&parent, rest);
                }
                Some([&parent, rest].concat())
            }
            name if parsed.children.contains(name) => Some([from, path].concat()),
            // A module that a `use` has brought here.
            name => {
                let known = parsed.names.get(name).filter(|known| known.as_slice() != path)?;
                Some([self.absolute(from, known)?.as_slice(), rest].concat())
            }
        }
    }

    /// The module in which the end of a path is written, through any re-exports.
    fn home(&self, path: &[String], depth: usize) -> Option<Module> {
        let length = (0..=path.len()).rev().find(|&length| self.modules.contains_key(&path[..length]))?;
        let module = path[..length].to_vec();
        let Some(name) = path.get(length) else { return Some(module) };
        let known = self.modules[&module].names.get(name).filter(|_| depth < 16);
        let known = known.and_then(|known| self.absolute(&module, known));
        match known {
            Some(known) if known != path[..=length] => self.home(&[&known, &path[length + 1..]].concat(), depth + 1),
            _ => Some(module),
        }
    }

    /// On which other modules each depends.
    fn dependencies(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let of = |(module, parsed): (_, &Parsed)| {
            let paths = parsed.paths.iter().filter_map(|path| self.home(&self.absolute(module, path)?, 0));
            (module, paths.filter(|other| other != module).collect())
        };
        self.modules.iter().map(of).collect()
    }

    /// One cycle for each group of files that depend on one another.
    fn cycles(&self) -> Vec<String> {
        let dependencies = self.dependencies();
        let (mut done, mut cycles) = (BTreeSet::new(), Vec::new());
        for module in dependencies.keys() {
            walk(module, &dependencies, &mut Vec::new(), &mut done, &mut cycles);
        }
        cycles
    }
}

/// Depth first; a module that stands on the way already closes a cycle.
fn walk(
    module: &Module,
    dependencies: &BTreeMap<&Module, BTreeSet<Module>>,
    way: &mut Vec<Module>,
    done: &mut BTreeSet<Module>,
    cycles: &mut Vec<String>,
) {
    if let Some(start) = way.iter().position(|other| other == module) {
        let names = way[start..].iter().chain([module]).map(shown);
        cycles.push(names.collect::<Vec<_>>().join(" -> "));
        return;
    }
    if done.contains(module) {
        return;
    }
    way.push(module.clone());
    for other in &dependencies[module] {
        walk(other, dependencies, way, done, cycles);
    }
    way.pop();
    done.insert(module.clone());
}

fn shown(module: &Module) -> String {
    if module.is_empty() { "(root)".to_owned() } else { module.join("::") }
}

fn module_of(path: &str) -> Module {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut module: Module = path.split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

#[test]
fn files_depend_in_one_direction() {
    let files = files().unwrap();
    let mut faults = Vec::new();
    for folder in WITHOUT_CYCLES {
        let prefix = format!("crates/{folder}/");
        let own = files.iter().filter_map(|file| Some((file.path.strip_prefix(&prefix)?, file.text.as_str())));
        let found = Crate::read(own);
        assert!(!found.modules.is_empty(), "there is no crates/{folder}");
        faults.extend(found.cycles().into_iter().map(|cycle| format!("{folder}: {cycle}")));
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

fn cycles(files: &[(&str, &str)]) -> Vec<String> {
    Crate::read(files.iter().copied()).cycles()
}

#[test]
fn two_files_that_use_each_other_are_a_cycle() {
    let main = ("main.rs", "mod a;\nmod b;\nfn main() { a::run() }");
    let a = "use crate::b::B;\npub fn run() {}";
    assert_eq!(cycles(&[main, ("a.rs", a), ("b.rs", "pub struct B;")]), [""; 0]);
    for back in ["use crate::a;", "use super::a::run;", "fn b() { crate::a::run() }", "use crate::{a::{run as go}, b};"]
    {
        assert_eq!(cycles(&[main, ("a.rs", a), ("b.rs", back)]), ["a -> b -> a"], "{back}");
    }
}

#[test]
fn a_child_that_uses_its_parent_is_a_cycle_if_the_parent_uses_it() {
    let parent = "mod child;\npub const N: u8 = 1;\npub fn f() -> u8 { child::f() }";
    let root = ("lib.rs", "pub mod a;");
    assert_eq!(cycles(&[root, ("a/mod.rs", parent), ("a/child.rs", "use super::N;")]), ["a -> a::child -> a"]);
    let facade = "mod child;\npub const N: u8 = 1;\npub use child::f;";
    assert_eq!(cycles(&[root, ("a/mod.rs", facade), ("a/child.rs", "use super::N;")]), [""; 0]);
}

#[test]
fn a_name_that_was_re_exported_leads_to_where_it_comes_from() {
    let root = ("lib.rs", "mod a;\nmod b;");
    let a = [("a/mod.rs", "mod x;\npub use x::X;"), ("a/x.rs", "use crate::b::B;\npub struct X;")];
    let cycle = cycles(&[root, a[0], a[1], ("b.rs", "use crate::a::X;\npub struct B;")]);
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
        #[cfg(test)]
        mod tests { use crate::a; fn f() { if true { crate::a::g() } } }
        #[cfg(test)]
        mod far;
    "##;
    assert_eq!(cycles(&[root, a, ("b.rs", quiet), ("b/far.rs", "use crate::a;")]), [""; 0]);
    assert_eq!(cycles(&[root, a, ("b.rs", "const C: char = '\"'; use crate::a;")]), ["a -> b -> a"]);
}
