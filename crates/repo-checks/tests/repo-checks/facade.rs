//! Public structs of the library `wayleave`, read with `syn`. A new field of theirs must not break a program that uses the library.

use syn::visit::{self, Visit};
use syn::{ItemStruct, Visibility};

use crate::repository::{File, files};

const LIBRARY: &str = "crates/wayleave/src/";

/// Public structs of a file that break a rule, each with the rule.
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
