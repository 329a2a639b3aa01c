//! Words that names of items, fields, variables and tests do not use: an engineer has to understand every name at once.
//!
//! CONTRIBUTING.md, section "English", has the rules. The lint of prose (`prose.rs`) checks comments and documents.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use crate::repository::{File, files};

/// Retired words, each with its replacement.
const RETIRED: &[(&[&str], &str)] = &[
    (&["told", "tell", "tells"], "sent, notified, reported, announced"),
    (&["hear", "hears", "heard", "heed", "heeds", "heeded"], "received, accepted"),
    (&["say", "says", "said", "saying"], "message, text, output, stated"),
    (&["somebody", "anybody", "whoever", "whatever"], "the subject: host, agent, tenant, flow"),
    (&["stranger", "strangers"], "unknown, spoofed, foreign"),
    (&["wish", "wishes"], "request, demand"),
    (&["trouble", "troubles"], "error, problem, fault, reason"),
    (&["seat", "seats"], "connection, slot, specification"),
    (&["deed", "deeds"], "action"),
    (&["crowd", "lull", "company"], "the term of the field"),
    (&["patience"], "timeout, limit"),
    (&["forth"], "forward"),
    (&["strike", "strikes", "struck"], "expire, expires, expired"),
    (&["doubt", "doubts", "doubted", "believed", "believes"], "suspected, trusted"),
    (&["ways"], "paths, routes, directions"),
];

/// Names that keep a retired word: path prefix, name, and the reason.
const KEPT: &[(&str, &str, &str)] = &[
    ("crates/", "hears_at", "field of messages of agents, whose names are those of 0.2.0"),
    ("crates/", "trouble", "field of messages of agents, whose names are those of 0.2.0"),
    ("crates/", "troubles", "field of messages of agents, whose names are those of 0.2.0"),
    ("crates/", "hears_marks", "attribute of transports in Python"),
];

/// Words of a name in snake case or camel case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        if letter == '_' || (letter.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = letter.is_lowercase();
        words.last_mut().unwrap().extend(letter.to_lowercase().filter(|letter| *letter != '_'));
    }
    words
}

/// Names that a source file defines.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn add(&mut self, name: &syn::Ident) {
        self.0.insert(name.to_string());
    }

    /// Functions in the arguments of a macro, such as tests of properties.
    fn add_functions(&mut self, tokens: TokenStream) {
        let mut follows_fn = false;
        for tree in tokens {
            match &tree {
                TokenTree::Ident(name) if follows_fn => self.add(name),
                TokenTree::Group(group) => self.add_functions(group.stream()),
                _ => {}
            }
            follows_fn = matches!(&tree, TokenTree::Ident(name) if name == "fn");
        }
    }
}

impl Visit<'_> for Names {
    fn visit_signature(&mut self, signature: &syn::Signature) {
        self.add(&signature.ident);
        visit::visit_signature(self, signature);
    }

    fn visit_pat_ident(&mut self, pattern: &syn::PatIdent) {
        self.add(&pattern.ident);
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_field(&mut self, field: &syn::Field) {
        field.ident.iter().for_each(|name| self.add(name));
        visit::visit_field(self, field);
    }

    fn visit_variant(&mut self, variant: &syn::Variant) {
        self.add(&variant.ident);
        visit::visit_variant(self, variant);
    }

    fn visit_item_struct(&mut self, item: &syn::ItemStruct) {
        self.add(&item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &syn::ItemEnum) {
        self.add(&item.ident);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &syn::ItemTrait) {
        self.add(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &syn::ItemType) {
        self.add(&item.ident);
    }

    fn visit_item_const(&mut self, item: &syn::ItemConst) {
        self.add(&item.ident);
        visit::visit_item_const(self, item);
    }

    fn visit_item_mod(&mut self, item: &syn::ItemMod) {
        self.add(&item.ident);
        visit::visit_item_mod(self, item);
    }

    fn visit_macro(&mut self, call: &syn::Macro) {
        self.add_functions(call.tokens.clone());
    }
}

fn word_faults(files: &[File], kept: &[(&str, &str, &str)]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut used = BTreeSet::new();
    let is_checked = |path: &str| path.starts_with("crates/") && path.ends_with(".rs");
    for File { path, text } in files.iter().filter(|file| is_checked(&file.path)) {
        let Ok(parsed) = syn::parse_file(text) else { continue };
        let mut names = Names::default();
        names.visit_file(&parsed);
        for name in names.0 {
            let words = words(&name);
            let found = RETIRED.iter().find(|(retired, _)| words.iter().any(|word| retired.contains(&word.as_str())));
            let Some((_, instead)) = found else { continue };
            match kept.iter().position(|(prefix, known, _)| path.starts_with(prefix) && *known == name) {
                Some(place) => drop(used.insert(place)),
                None => faults.push(format!("{path}: the name {name} has a retired word: use {instead}")),
            }
        }
    }
    let unused = kept.iter().enumerate().filter(|(place, _)| !used.contains(place));
    faults.extend(unused.map(|(_, (path, name, _))| format!("{name} of {path} does not exist: remove it from KEPT")));
    faults
}

#[test]
fn names_have_no_retired_words() {
    let faults = word_faults(&files().unwrap(), KEPT);
    assert!(faults.is_empty(), "{} faults\n{}\n", faults.len(), faults.join("\n"));
}

#[test]
fn a_retired_word_in_a_name_is_a_fault_unless_the_name_is_listed() {
    let file = |text: &str| [File { path: "crates/a/src/b.rs".to_owned(), text: text.to_owned() }];
    for text in [
        "fn told() {}",
        "fn f() { let is_told = 1; }",
        "fn f(said: u8) {}",
        "struct A { said: u8 }",
        "struct SaidWord;",
        "enum A { Told }",
        "mod told {}",
        "const TOLD: u8 = 1;",
        "proptest! { #[test] fn whatever_comes() {} }",
    ] {
        assert_eq!(word_faults(&file(text), &[]).len(), 1, "{text}");
    }
    assert_eq!(word_faults(&file("fn f() { g(\"told\") } // told\nfn retold_fortold() { told() }"), &[]), [""; 0]);
    assert_eq!(word_faults(&file("fn told() {}"), &[("crates/a/", "told", "a reason")]), [""; 0]);
    assert_eq!(word_faults(&file("fn f() {}"), &[("crates/a/", "told", "a reason")]).len(), 1);
}
