//! Cost of a scheme: each toy of the crate `schemes` has a folder and one line elsewhere, for any kind of scheme; and
//! the programs of brokers know no scheme at all.

use crate::repository::{File, files};

const SCHEMES: &str = "crates/admission/schemes/src/";

/// Sources that run the brokers of any scheme.
const BROKERS: [&str; 3] =
    ["crates/linux/broker/src/", "crates/cli/src/commands/broker.rs", "crates/cli/src/broker_args.rs"];

/// Returns a text in a normal form in which names are compared, for any spelling.
fn plain(text: &str) -> String {
    text.chars().filter(|letter| !matches!(letter, '-' | '_' | ' ')).collect::<String>().to_lowercase()
}

/// The page that shows the files of a scheme with a toy as its example.
const PAGE: &str = "docs/develop/extending.md";

/// Returns the lines outside of a folder, and of the page, on which a scheme is named, in any spelling.
fn mentions<'a>(files: &'a [File], folder: &str) -> Vec<(&'a str, usize)> {
    let name: String = folder.split('_').collect();
    let inside = |path: &str| path.starts_with(SCHEMES) && path.contains(&format!("/{folder}/"));
    let mut found = Vec::new();
    for File { path, text } in files.iter().filter(|file| !inside(&file.path) && file.path != PAGE) {
        for (number, line) in text.lines().enumerate() {
            if plain(line).contains(&name) {
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
        let (_, below) = file.path.strip_prefix(SCHEMES)?.split_once('/')?;
        let (folder, rest) = below.split_once('/')?;
        (rest == "mod.rs" && folder.starts_with("toy_")).then(|| folder.to_owned())
    };
    let toys: Vec<String> = files.iter().filter_map(folder).collect();
    let kinds = "an admission scheme, a transport, two host schemes, one with brokers, and a marking";
    assert_eq!(toys.len(), 5, "{kinds}: {toys:?}");
    for toy in toys {
        let found = mentions(&files, &toy);
        assert!(matches!(found[..], [(path, _)] if path == "crates/admission/schemes/src/list.rs"), "{toy}: {found:?}");
    }
}

/// The schemes of hosts, in the list of all: those that may have brokers.
fn host_schemes(files: &[File]) -> Vec<String> {
    let list =
        files.iter().find(|file| file.path == "crates/admission/schemes/src/list.rs").map_or("", |file| &file.text);
    let hosts = list.split("host {").nth(1).and_then(|rest| rest.split('}').next()).unwrap_or_default();
    let module = |line: &str| Some(line.split("::").next()?.rsplit([' ', ']']).next()?.to_owned());
    hosts.lines().filter(|line| line.contains("::")).filter_map(module).collect()
}

/// Lines of code that name one of the schemes. Sections of publications are cited in comments, and one network is called as a scheme is.
fn named<'a>(files: &'a [File], schemes: &[String]) -> Vec<(&'a str, usize)> {
    let mut found = Vec::new();
    for File { path, text } in files.iter().filter(|file| BROKERS.iter().any(|place| file.path.starts_with(place))) {
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let line = plain(&line.replace("testbed:parley-testbed", ""));
            if schemes.iter().any(|scheme| line.contains(&plain(scheme))) {
                found.push((path.as_str(), number + 1));
            }
        }
    }
    found
}

#[test]
fn the_programs_of_brokers_name_no_scheme() {
    let files = files().unwrap();
    let schemes = host_schemes(&files);
    assert!(schemes.len() >= 4 && schemes.iter().any(|scheme| scheme == "parley"), "{schemes:?}");
    assert_eq!(named(&files, &schemes), []);
    // It would be seen.
    let path = "crates/linux/broker/src/setup.rs".to_owned();
    let text = "// Parley\nuse wayleave_schemes::host::parley::Params;\n".to_owned();
    assert_eq!(named(&[File { path, text }], &schemes).len(), 1);
}
