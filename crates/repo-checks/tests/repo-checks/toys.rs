//! What a scheme costs: the toys of the crate `schemes` stand in a folder and on one line each, whatever they play.

use crate::repository::{File, files};

const SCHEMES: &str = "crates/schemes/src/";

/// The lines outside of a folder on which a scheme is named, in any way to write its name.
fn mentions<'a>(files: &'a [File], folder: &str) -> Vec<(&'a str, usize)> {
    let name: String = folder.split('_').collect();
    let inside = format!("{SCHEMES}{folder}/");
    let mut found = Vec::new();
    for File { path, text } in files.iter().filter(|file| !file.path.starts_with(&inside)) {
        for (number, line) in text.lines().enumerate() {
            let plain: String = line.chars().filter(|letter| !matches!(letter, '-' | '_' | ' ')).collect();
            if plain.to_lowercase().contains(&name) {
                found.push((path.as_str(), number + 1));
            }
        }
    }
    found
}

#[test]
fn every_toy_is_named_on_one_line_outside_of_its_folder() {
    let files = files().unwrap();
    let folder = |file: &File| {
        let (folder, rest) = file.path.strip_prefix(SCHEMES)?.split_once('/')?;
        (rest == "mod.rs" && folder.starts_with("toy_")).then(|| folder.to_owned())
    };
    let toys: Vec<String> = files.iter().filter_map(folder).collect();
    let kinds = "an admission scheme, a transport, two host schemes, one with brokers, and a marking";
    assert_eq!(toys.len(), 5, "{kinds}: {toys:?}");
    for toy in toys {
        let found = mentions(&files, &toy);
        assert!(matches!(found[..], [(path, _)] if path == "crates/schemes/src/list.rs"), "{toy}: {found:?}");
    }
}
