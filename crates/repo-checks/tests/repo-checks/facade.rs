//! Public structs of the library `wayleave`, read with `syn`: its own, and those of other crates that it exports. A new field of theirs must not
//! break a program that uses the library.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{ItemStruct, ItemUse, UseTree, Visibility};

use crate::repository::{File, files};

const LIBRARY: &str = "crates/wayleave/src/";

/// Exported structs of other crates with public fields that programs may list, each with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "Scenario",
        "its reader in `formats` lists every field, so that a new one does not compile before a file can state it",
    ),
    (
        "result",
        "`wayleave::sim` fills in these records, and `report` defines them: a new field does not compile before it is measured",
    ),
];

/// Public structs that break a rule, each with the rule.
#[derive(Default)]
struct Structs {
    /// Number of public structs.
    seen: usize,
    wrong: Vec<String>,
}

impl Visit<'_> for Structs {
    fn visit_item_struct(&mut self, item: &ItemStruct) {
        visit::visit_item_struct(self, item);
        if !matches!(item.vis, Visibility::Public(_)) {
            return;
        }
        self.seen += 1;
        let name = item.ident.to_string();
        let is_options = name.ends_with("Options");
        let has_public_fields = item.fields.iter().any(|field| matches!(field.vis, Visibility::Public(_)));
        let is_non_exhaustive = item.attrs.iter().any(|attribute| attribute.path().is_ident("non_exhaustive"));
        if is_options && has_public_fields {
            self.wrong.push(format!("{name}: options have private fields and a method `with_...` for each"));
        }
        if (is_options || has_public_fields) && !is_non_exhaustive {
            self.wrong.push(format!("{name}: not marked #[non_exhaustive]"));
        }
    }
}

impl Structs {
    /// Adds the structs of a file.
    fn read(&mut self, File { path, text }: &File) {
        let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let before = self.wrong.len();
        self.visit_file(&parsed);
        self.wrong[before..].iter_mut().for_each(|wrong| *wrong = format!("{path}: {wrong}"));
    }
}

/// Names that a crate exports from other crates of the workspace, by the name of the crate in `use`.
#[derive(Default)]
struct Exports(BTreeMap<String, BTreeSet<String>>);

impl Visit<'_> for Exports {
    fn visit_item_use(&mut self, item: &ItemUse) {
        if let (Visibility::Public(_), UseTree::Path(tree)) = (&item.vis, &item.tree)
            && let Some(name) = tree.ident.to_string().strip_prefix("wayleave_")
        {
            leaves(&tree.tree, self.0.entry(name.replace('_', "-")).or_default());
        }
    }
}

/// Adds the last names of a `use`.
fn leaves(tree: &UseTree, names: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(tree) => leaves(&tree.tree, names),
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, names)),
        UseTree::Name(tree) => drop(names.insert(tree.ident.to_string())),
        UseTree::Rename(tree) => drop(names.insert(tree.ident.to_string())),
        UseTree::Glob(_) => drop(names.insert("*".to_owned())),
    }
}

/// Returns the public structs behind exports: those of their names, and all of an exported module.
fn exported(files: &[File], exports: &Exports) -> (Structs, BTreeSet<String>) {
    let (mut structs, mut used) = (Structs::default(), BTreeSet::new());
    for (name, names) in &exports.0 {
        assert!(!names.contains("*"), "wayleave exports all of {name}: name the items");
        for File { path, text } in files {
            let Some(inside) = path.split_once(&format!("/{name}/src/")).map(|(_, inside)| inside) else { continue };
            let Some(module) = inside.strip_suffix(".rs") else { continue };
            let module = module.rsplit('/').next().unwrap_or_default();
            for item in syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}")).items {
                let syn::Item::Struct(item) = item else { continue };
                let ident = item.ident.to_string();
                let Some(by) = [module, &ident].into_iter().find(|by| names.contains(*by)) else { continue };
                let before = structs.wrong.len();
                structs.visit_item_struct(&item);
                if structs.wrong.len() > before && EXCEPTIONS.iter().any(|(name, _)| *name == by) {
                    structs.wrong.truncate(before);
                    used.insert(by.to_owned());
                }
                structs.wrong[before..].iter_mut().for_each(|wrong| *wrong = format!("{path}: {wrong}"));
            }
        }
    }
    (structs, used)
}

#[test]
fn public_structs_of_the_library_can_get_new_fields() {
    let mut structs = Structs::default();
    files().unwrap().iter().filter(|file| file.path.starts_with(LIBRARY) && file.path.ends_with(".rs")).for_each(
        |file| {
            structs.read(file);
        },
    );
    assert!(structs.seen > 40, "only {} public structs were read", structs.seen);
    assert!(structs.wrong.is_empty(), "{}", structs.wrong.join("\n"));
}

#[test]
fn structs_that_the_library_exports_from_other_crates_can_get_new_fields() {
    let files = files().unwrap();
    let mut exports = Exports::default();
    for File { path, text } in files.iter().filter(|file| file.path.starts_with(LIBRARY) && file.path.ends_with(".rs"))
    {
        exports.visit_file(&syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}")));
    }
    let (structs, used) = exported(&files, &exports);
    assert!(structs.seen > 20, "only {} exported structs were read", structs.seen);
    assert!(structs.wrong.is_empty(), "{}", structs.wrong.join("\n"));
    let excepted: BTreeSet<String> = EXCEPTIONS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(used, excepted, "an exception that nothing needs");
}

#[test]
fn a_struct_that_cannot_get_new_fields_is_named() {
    let text = "
        pub struct AOptions { a: u8 }
        #[non_exhaustive] pub struct BOptions { pub b: u8 }
        #[non_exhaustive] pub struct COptions { c: u8 }
        pub struct Record { pub value: u8 }
        pub struct Tuple(pub u8);
        pub struct Closed { value: u8 }
        pub(crate) struct Inner { pub value: u8 }
        mod inside { pub struct Deep { pub value: u8 } }
    ";
    let mut structs = Structs::default();
    structs.read(&File { path: "x.rs".to_owned(), text: text.to_owned() });
    let named: Vec<&str> = structs.wrong.iter().filter_map(|wrong| wrong.split(": ").nth(1)).collect();
    assert_eq!(named, ["AOptions", "BOptions", "Record", "Tuple", "Deep"]);
}
