//! Dependencies among the files of a crate, read with `syn`.
//!
//! A file depends on another if it names one of its items: in a `use`, or in a path that begins with `crate`, `super`, `self`
//! or the name of a module below it. A re-export (`pub use`) is no dependency of its own file: a file that uses the re-exported
//! name depends on the file where the item is defined. Unit tests are left out: they may use anything.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, ItemMod, ItemUse, Macro, Meta, Path, UseTree, VisRestricted, Visibility};

/// A module by its names from the root of its crate. The root has none.
pub(crate) type Module = Vec<String>;

/// Modules, imports and paths of a file.
#[derive(Debug, Default)]
struct Parsed {
    /// Modules in files of their own that are declared here.
    children: BTreeSet<String>,
    /// Children that are compiled for unit tests only.
    tests: BTreeSet<String>,
    /// Names that a `use` brings here, with their paths.
    names: BTreeMap<String, Vec<String>>,
    /// Paths that are named here, without those of re-exports.
    paths: Vec<Vec<String>>,
    /// Number of inline modules around the current item.
    depth: usize,
}

impl Parsed {
    fn of(text: &str) -> syn::Result<Self> {
        let mut parsed = Self::default();
        parsed.visit_file(&syn::parse_file(text)?);
        Ok(parsed)
    }

    /// Records a path. An inline module belongs to its file, so each `super` that only leaves one is removed.
    fn record(&mut self, mut path: Vec<String>) -> Vec<String> {
        let supers = path.iter().take_while(|name| *name == "super").count();
        let inside = supers.min(self.depth);
        path.drain(..inside);
        if inside > 0 && inside == supers {
            path.insert(0, "self".to_owned());
        }
        path
    }

    /// Records the leaves of a `use`.
    fn import(&mut self, tree: &UseTree, before: &[String], exported: bool) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        let (name, path) = match tree {
            UseTree::Path(tree) => return self.import(&tree.tree, &with(&tree.ident), exported),
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.import(tree, before, exported)),
            // `use a::{self}` names a.
            UseTree::Name(tree) if tree.ident == "self" => {
                (before.last().cloned().unwrap_or_default(), before.to_vec())
            }
            UseTree::Rename(tree) if tree.ident == "self" => (tree.rename.to_string(), before.to_vec()),
            UseTree::Name(tree) => (tree.ident.to_string(), with(&tree.ident)),
            UseTree::Rename(tree) => (tree.rename.to_string(), with(&tree.ident)),
            UseTree::Glob(_) => ("*".to_owned(), [before, &["*".to_owned()]].concat()),
        };
        let path = self.record(path);
        if !exported {
            self.paths.push(path.clone());
        }
        self.names.insert(name, path);
    }

    /// Records the paths in the arguments or the body of a macro, which `syn` leaves unparsed.
    fn scan(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.end(&mut path);
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                other => {
                    self.end(&mut path);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.scan(group.stream());
                    }
                }
            }
        }
        self.end(&mut path);
    }

    fn end(&mut self, path: &mut Vec<String>) {
        let path = std::mem::take(path);
        if path.len() > 1 {
            let path = self.record(path);
            self.paths.push(path);
        }
    }
}

impl<'ast> Visit<'ast> for Parsed {
    fn visit_item(&mut self, item: &'ast Item) {
        if !attributes(item).iter().any(is_test_only) {
            visit::visit_item(self, item);
        } else if let Item::Mod(ItemMod { ident, content: None, .. }) = item {
            self.children.insert(ident.to_string());
            self.tests.insert(ident.to_string());
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !matches!(item, ImplItem::Fn(function) if function.attrs.iter().any(is_test_only)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if item.content.is_none() {
            self.children.insert(item.ident.to_string());
        } else {
            self.depth += 1;
            visit::visit_item_mod(self, item);
            self.depth -= 1;
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let exported = !matches!(item.vis, Visibility::Inherited);
        self.import(&item.tree, &[], exported);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let mut names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.end(&mut names);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        self.visit_path(&item.path);
        self.scan(item.tokens.clone());
    }

    /// `pub(in crate::a)` is no use of a.
    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Returns `true` for `#[cfg(test)]` and `#[test]`.
fn is_test_only(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        Meta::NameValue(_) => false,
    }
}

/// The modules of a crate, without unit tests.
pub(crate) struct Crate {
    modules: BTreeMap<Module, Parsed>,
}

impl Crate {
    /// Reads the files of a folder `src`, given with their paths in it.
    pub(crate) fn read<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Self, String> {
        let mut modules = BTreeMap::new();
        for (path, text) in files.filter(|(path, _)| path.ends_with(".rs")) {
            let parsed = Parsed::of(text).map_err(|error| format!("{path}: {error}"))?;
            modules.insert(module_of(path), parsed);
        }
        let tests: Vec<Module> = modules
            .iter()
            .flat_map(|(module, parsed)| {
                parsed.tests.iter().map(|name| [&module[..], std::slice::from_ref(name)].concat())
            })
            .collect();
        modules.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
        Ok(Self { modules })
    }

    /// Returns a path from the root of the crate; `None` if it leads to another crate, or to no module.
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

    /// Returns the module that defines the end of a path, through re-exports.
    fn home(&self, path: &[String], depth: usize) -> Option<Module> {
        let length = (0..=path.len()).rev().find(|&length| self.modules.contains_key(&path[..length]))?;
        let module = path[..length].to_vec();
        let Some(name) = path.get(length) else { return Some(module) };
        let known = self.modules[&module].names.get(name).filter(|_| name != "*" && depth < 16);
        let known = known.and_then(|known| self.absolute(&module, known));
        match known {
            Some(known) if known != path[..=length] => self.home(&[&known, &path[length + 1..]].concat(), depth + 1),
            _ => Some(module),
        }
    }

    /// Returns the modules that each module depends on.
    pub(crate) fn dependencies(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let of = |(module, parsed): (&Module, &Parsed)| {
            let paths = parsed.paths.iter().filter_map(|path| self.home(&self.absolute(module, path)?, 0));
            (module.clone(), paths.filter(|other| other != module).collect())
        };
        self.modules.iter().map(of).collect()
    }
}

fn module_of(path: &str) -> Module {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut module: Module = path.split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    module
}
