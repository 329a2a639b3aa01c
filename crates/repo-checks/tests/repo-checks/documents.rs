//! The documents keep their word: links lead to files, commands exist, examples are files that are tested elsewhere, and
//! the changelog has its next release.

use std::collections::BTreeMap;

use crate::repository::{File, files, root};

/// A line of a Markdown file, with its context.
struct Line<'a> {
    number: usize,
    text: &'a str,
    /// The language of the fenced block around it.
    fence: Option<&'a str>,
}

/// The lines of a Markdown file without those that open and close fences.
fn lines(text: &str) -> Vec<Line<'_>> {
    let mut open: Option<(&str, &str)> = None;
    let mut lines = Vec::new();
    for (number, text) in (1..).zip(text.lines()) {
        let trimmed = text.trim_start();
        let marks = trimmed.len() - trimmed.trim_start_matches('`').len();
        match open {
            Some((mark, _)) if trimmed.trim_end().trim_end_matches('`').is_empty() && marks >= mark.len() => {
                open = None
            }
            None if marks >= 3 => open = Some((&trimmed[..marks], trimmed[marks..].trim())),
            _ => lines.push(Line { number, text, fence: open.map(|(_, language)| language) }),
        }
    }
    lines
}

/// Returns the targets of links and images in a line, outside of code.
fn targets(line: &str) -> Vec<String> {
    // Every other part between backticks is code.
    let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let inline = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    // `[name]: target`
    let reference = prose.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target);
    // A title may follow: [text](target "title").
    inline.chain(reference).filter_map(|target| target.split_whitespace().next()).map(str::to_owned).collect()
}

/// Relative links to files that do not exist; `exists` is asked with a path from the root.
fn link_faults(files: &[File], exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    for File { path, text } in files.iter().filter(|file| file.path.ends_with(".md")) {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        for line in lines(text).iter().filter(|line| line.fence.is_none()) {
            for target in targets(line.text) {
                let file = target.split('#').next().unwrap_or_default();
                let elsewhere = target.contains("://") || target.starts_with("mailto:");
                if elsewhere || file.is_empty() {
                    continue;
                }
                if !join(directory, file).is_some_and(|file| exists(&file)) {
                    faults.push(format!("{path}:{} links to {target}, and there is no such file", line.number));
                }
            }
        }
    }
    faults
}

/// Returns the anchors of a page: those of its headings, as GitHub and mdbook write them, and those of `<a id="...">`.
fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for Line { text, .. } in lines(text).iter().filter(|line| line.fence.is_none()) {
        if let Some((_, rest)) = text.split_once("<a id=\"") {
            anchors.extend(rest.split_once('"').map(|(id, _)| id.to_owned()));
        }
        let heading = text.trim_start_matches('#');
        if heading.len() == text.len() || !heading.starts_with(' ') {
            continue;
        }
        let kept = heading.trim().chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        let anchor = kept.collect::<String>().to_lowercase().replace(' ', "-");
        let repeated = (1..).map(|count| format!("{anchor}-{count}"));
        let free = std::iter::once(anchor.clone()).chain(repeated).find(|name| !anchors.contains(name));
        anchors.extend(free);
    }
    anchors
}

/// Returns links to parts of pages that have no such heading.
fn anchor_faults(files: &[File]) -> Vec<String> {
    let pages: Vec<&File> = files.iter().filter(|file| file.path.ends_with(".md")).collect();
    let anchors_of: BTreeMap<&str, Vec<String>> =
        pages.iter().map(|page| (page.path.as_str(), anchors(&page.text))).collect();
    let mut faults = Vec::new();
    for File { path, text } in pages {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        for line in lines(text).iter().filter(|line| line.fence.is_none()) {
            for target in targets(line.text).iter().filter(|target| !target.contains("://")) {
                let Some((file, anchor)) = target.split_once('#') else { continue };
                let page = if file.is_empty() { Some(path.clone()) } else { join(directory, file) };
                let anchors = page.and_then(|page| anchors_of.get(page.as_str()));
                if anchors.is_some_and(|anchors| !anchors.iter().any(|known| known == anchor)) {
                    faults.push(format!("{path}:{} links to {target}, and there is no such heading", line.number));
                }
            }
        }
    }
    faults
}

/// `target` seen from `directory`; `None` above the root.
fn join(directory: &str, target: &str) -> Option<String> {
    let from_root = target.strip_prefix('/');
    let start = if from_root.is_some() { "" } else { directory };
    let mut parts: Vec<&str> = start.split('/').filter(|part| !part.is_empty()).collect();
    for part in from_root.unwrap_or(target).split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Commands that have commands of their own.
const NESTED: [&str; 2] = ["topology", "bench"];

/// Options that every command has without a declaration.
const GIVEN: [&str; 2] = ["help", "version"];

/// The source of the command line.
struct CommandLine {
    /// Sources that declare the commands.
    commands: String,
    /// All sources.
    everything: String,
}

/// Commands and options in `sh` blocks that the command line does not know.
fn command_faults(files: &[File], line: &CommandLine) -> Vec<String> {
    let mut faults = Vec::new();
    for File { path, text } in files.iter().filter(|file| file.path.ends_with(".md")) {
        for Line { number, text, .. } in lines(text).iter().filter(|line| line.fence == Some("sh")) {
            // Several on a line are joined by a pipe.
            for command in text.split('|').filter_map(|part| part.trim_start().strip_prefix("wayleave ")) {
                let unknown = line.unknown(command);
                faults
                    .extend(unknown.into_iter().map(|what| format!("{path}:{number} has {what}, which is not known")));
            }
        }
    }
    faults
}

impl CommandLine {
    /// Returns the commands and options of `command` that are not declared; values are not checked here.
    fn unknown(&self, command: &str) -> Vec<String> {
        let command = command.split(" #").next().unwrap_or_default();
        let mut words = command.split_whitespace();
        let mut unknown = Vec::new();
        let first = words.clone().next().filter(|word| !word.starts_with('-'));
        if let Some(first) = first.filter(|first| !has_word(&self.commands, &pascal_case(first))) {
            unknown.push(format!("command {first}"));
        }
        let second = words.clone().nth(1).filter(|word| !word.starts_with('-'));
        let second = second.filter(|_| first.is_some_and(|first| NESTED.contains(&first)));
        if let Some(second) = second.filter(|second| !has_word(&self.everything, &pascal_case(second))) {
            unknown.push(format!("command {second}"));
        }
        let options = words.by_ref().filter_map(|word| word.strip_prefix("--"));
        let options = options.map(|option| option.split('=').next().unwrap_or(option));
        unknown.extend(options.filter(|option| !self.has_option(option)).map(|option| format!("option --{option}")));
        unknown
    }

    /// An option is a field of its name, or named in quotes.
    fn has_option(&self, name: &str) -> bool {
        GIVEN.contains(&name)
            || has_word(&self.everything, &name.replace('-', "_"))
            || self.everything.contains(&format!("\"{name}\""))
    }
}

/// `what-if` is declared as `WhatIf`.
fn pascal_case(name: &str) -> String {
    name.split('-').map(|part| part[..1].to_uppercase() + &part[1..]).collect()
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found == word)
}

/// Folders of example files; the tests of the formats and `.ci/run` read them with the real readers.
const EXAMPLES: [&str; 2] = ["schemas/examples/", "docs/examples/"];

/// Documents of ours in `yaml` and `csv` blocks that are no example file, word for word. A line `# ...` represents any number of lines.
fn example_faults(files: &[File]) -> Vec<String> {
    let is_example = |file: &&File| EXAMPLES.iter().any(|folder| file.path.starts_with(folder));
    let examples: Vec<Vec<&str>> = files.iter().filter(is_example).map(|file| content(file.text.lines())).collect();
    let mut faults = Vec::new();
    for File { path, text } in files.iter().filter(|file| file.path.ends_with(".md")) {
        let lines = lines(text);
        let blocks = lines.chunk_by(|a, b| a.fence.is_some() && a.fence == b.fence && a.number + 1 == b.number);
        for block in blocks.filter(|block| matches!(block[0].fence, Some("yaml" | "csv"))) {
            let shown = content(block.iter().map(|line| line.text));
            if !examples.iter().any(|example| is_excerpt(&shown, example)) {
                let place = format!("{path}:{}", block[0].number);
                faults.push(format!("{place} begins an example that is no file of {}", EXAMPLES.join(" or ")));
            }
        }
    }
    faults
}

/// Returns `true` if the lines are those of `example`, where a line `# ...` replaces one or more of them.
fn is_excerpt(shown: &[&str], example: &[&str]) -> bool {
    let parts: Vec<&[&str]> = shown.split(|line| line.trim() == "# ...").collect();
    let [first, between @ .., last] = &parts[..] else { return shown == example };
    let Some(mut rest) = example.strip_prefix(*first) else { return false };
    for part in between {
        let Some(at) = (1..rest.len()).find(|&at| rest[at..].starts_with(part)) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.len() > last.len() && rest.ends_with(last)
}

/// Lines without what only an editor reads.
fn content<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    lines.filter(|line| !line.starts_with("# yaml-language-server")).collect()
}

/// Returns the missing parts of a changelog.
fn changelog_faults(text: &str) -> Vec<String> {
    let heading = |line: &str| line.starts_with("## ");
    match text.lines().find(|line| heading(line)) {
        Some(first) if first.to_lowercase().contains("[unreleased]") => Vec::new(),
        Some(first) => vec![format!("CHANGELOG.md begins with \"{first}\": a section [Unreleased] stands first")],
        None => vec!["CHANGELOG.md has no section: a section [Unreleased] stands first".to_owned()],
    }
}

#[test]
fn every_relative_link_leads_to_a_file() {
    let faults = link_faults(&files().unwrap(), |path| root().join(path).exists());
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn every_link_to_a_part_of_a_page_leads_to_a_heading() {
    let faults = anchor_faults(&files().unwrap());
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn every_command_in_the_documents_exists() {
    let files = files().unwrap();
    let below = |start: &str| -> String {
        files.iter().filter(|file| file.path.starts_with(start)).map(|file| file.text.as_str()).collect()
    };
    let line = CommandLine { commands: below("crates/cli/src/args.rs"), everything: below("crates/cli/src/") };
    assert!(!line.commands.is_empty(), "crates/cli/src/args.rs declares the commands, and it is not there");
    let faults = command_faults(&files, &line);
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn every_example_in_the_documents_is_a_file() {
    let faults = example_faults(&files().unwrap());
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn the_changelog_begins_with_the_unreleased_version() {
    let files = files().unwrap();
    let changelog = files.iter().find(|file| file.path == "CHANGELOG.md").expect("there is a CHANGELOG.md");
    assert_eq!(changelog_faults(&changelog.text), [""; 0]);
}

fn file(path: &str, text: &str) -> Vec<File> {
    vec![File { path: path.to_owned(), text: text.to_owned() }]
}

#[test]
fn a_broken_link_is_refused() {
    let exists = |path: &str| ["docs/there.md", "README.md"].contains(&path);
    let text = "[a](there.md) [b](there.md#part) [c](../README.md) [d](https://x.y/z) [e](#here) ![f](/README.md)";
    assert_eq!(link_faults(&file("docs/a.md", text), exists), [""; 0]);
    for (text, target) in [
        ("[a](gone.md)", "gone.md"),
        ("fine\n[a](there.md) and [b](gone.md#part)", "gone.md#part"),
        ("![a](there.md/..)", "there.md/.."),
        ("[a](../../README.md)", "../../README.md"),
        ("[a]: gone.md", "gone.md"),
        ("[a](gone.md \"title\")", "gone.md"),
    ] {
        let faults = link_faults(&file("docs/a.md", text), exists);
        assert_eq!(faults.len(), 1, "{text}: {faults:?}");
        assert!(faults[0].contains(&format!("links to {target},")), "{faults:?}");
    }
}

#[test]
fn a_link_to_a_missing_heading_is_refused() {
    let text = "# The `plan` command: 2nd part\n## Example\n## Example\n<a id=\"old\"></a>\n```sh\n# comment\n```\n";
    let link = |target: &str| {
        let mut files = file("docs/b.md", text);
        files.extend(file("docs/guide/a.md", &format!("# Own\n[a]({target})")));
        anchor_faults(&files)
    };
    for target in
        ["../b.md#the-plan-command-2nd-part", "../b.md#example-1", "../b.md#old", "#own", "../b.md", "c.yaml#x"]
    {
        assert_eq!(link(target), [""; 0], "{target}");
    }
    for target in ["../b.md#gone", "../b.md#comment", "../b.md#example-2", "#example"] {
        assert_eq!(link(target), [format!("docs/guide/a.md:2 links to {target}, and there is no such heading")]);
    }
}

#[test]
fn links_in_code_are_ignored() {
    let text = "`[a](gone.md)`\n```text\n[a](gone.md)\n```\n````\n```\n[a](gone.md)\n````\n[a](lost.md)";
    assert_eq!(link_faults(&file("a.md", text), |_| false), ["a.md:9 links to lost.md, and there is no such file"]);
}

fn unknown_words(language: &str, block: &str) -> String {
    let commands = "enum Command { Plan(PlanArgs), WhatIf, Topology(TopologyCommand) }".to_owned();
    let rest = "enum TopologyCommand { Show } struct PlanArgs { dry_run: bool, #[arg(long = \"file\")] files: String }";
    let line = CommandLine { everything: commands.clone() + rest, commands };
    command_faults(&file("README.md", &format!("```{language}\n{block}\n```")), &line).join("; ")
}

#[test]
fn declared_commands_and_options_pass() {
    for command in [
        "wayleave plan -f gone.yaml --dry-run",
        "wayleave plan --dry-run=yes --file gone > gone.json",
        "wayleave what-if gone   # wayleave gone --gone",
        "wayleave topology show gone | wayleave plan -f -",
        "wayleave --help",
        "cargo gone --gone",
    ] {
        assert_eq!(unknown_words("sh", command), "", "{command}");
    }
}

#[test]
fn an_undeclared_command_or_option_is_refused() {
    for (command, word) in [
        ("wayleave plot", "command plot"),
        ("wayleave show", "command show"),
        ("wayleave topology shew", "command shew"),
        ("wayleave plan --dry-walk", "option --dry-walk"),
        ("wayleave topology show | wayleave pla -f -", "command pla"),
    ] {
        let expected = format!("README.md:2 has {word}, which is not known");
        assert_eq!(unknown_words("sh", command), expected, "{command}");
        assert_eq!(unknown_words("text", command), "", "{command}");
    }
}

#[test]
fn a_missing_example_is_refused() {
    let with = |text: &str| {
        let mut files = file("a.md", text);
        files.extend(file("docs/examples/a.yaml", "# yaml-language-server: $schema=x\nkind: A\nspec: 1\n"));
        example_faults(&files)
    };
    assert_eq!(
        with("```yaml\nkind: A\nspec: 1\n```\n\n```yaml\nkind: A\nspec: 1\n```\n```text\nkind: B\n```"),
        [""; 0]
    );
    let faults = with("```yaml\nkind: A\nspec: 1\n```\n```yaml\nkind: A\nspec: 2\n```");
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].starts_with("a.md:6 begins an example"), "{faults:?}");
    assert_eq!(with("```csv\nname,from\n```").len(), 1);
}

#[test]
fn an_excerpt_of_an_example_keeps_its_order_and_its_ends() {
    let example = ["a", "b", "c", "b", "d", "d"];
    for shown in ["a b c b d d", "a ... d", "a ... c ... d", "a ... c ... d d", "...", "a ...", "... b d d"] {
        let shown: Vec<&str> = shown.split(' ').map(|line| if line == "..." { "  # ..." } else { line }).collect();
        assert!(is_excerpt(&shown, &example), "{shown:?}");
    }
    for shown in
        ["a b", "b ... d", "a ... c", "a ... d ... c ... d", "a ... x ... d", "a ... b c b d d", "a b c b d d ..."]
    {
        let shown: Vec<&str> = shown.split(' ').map(|line| if line == "..." { "  # ..." } else { line }).collect();
        assert!(!is_excerpt(&shown, &example), "{shown:?}");
    }
}

#[test]
fn a_changelog_without_the_next_release_is_refused() {
    assert_eq!(changelog_faults("# Changelog\n\n## [Unreleased]\n\n## [0.1.0]\n"), [""; 0]);
    assert!(changelog_faults("# Changelog\n\n## [0.1.0]\n\n## [Unreleased]\n")[0].contains("stands first"));
    assert!(changelog_faults("# Changelog\n")[0].contains("has no section"));
}
