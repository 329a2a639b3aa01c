//! The commands of the documents, as they are printed there: each `sh` block is run, and a `text` block right below
//! it is the expected output.
//!
//! A line `...` in such an output matches any number of lines, and times of decisions are those of some machine. A
//! block that is not to be run gives the reason in the line above: `<!-- not run: needs root -->`. Blocks of one
//! document are run in order in one folder, where `docs` is that of the repository.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A block of commands.
#[derive(Debug, Default)]
struct Block {
    /// Line where it begins.
    line: usize,
    commands: Vec<String>,
    /// Reason for not running it.
    not_run: Option<String>,
    /// Expected output.
    output: Option<String>,
}

/// The blocks of a document.
fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut lines = (1..).zip(text.lines()).peekable();
    let (mut before, mut is_just_below) = ("", false);
    while let Some((number, line)) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            is_just_below &= line.is_empty();
            before = line;
            continue;
        };
        let content: Vec<&str> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        match (language, blocks.last_mut()) {
            ("sh", _) => {
                let not_run = before.strip_prefix("<!-- not run: ").and_then(|rest| rest.strip_suffix(" -->"));
                let joined = content.join("\n").replace("\\\n", " ");
                let commands = joined.lines().map(|line| line.split(" #").next().unwrap_or(line).trim().to_owned());
                let commands = commands.filter(|command| !command.is_empty()).collect();
                blocks.push(Block { line: number, commands, not_run: not_run.map(str::to_owned), output: None });
            }
            ("text", Some(last)) if is_just_below => last.output = Some(content.join("\n")),
            _ => {}
        }
        is_just_below = language == "sh";
        before = "";
    }
    blocks
}

/// Without the numbers that are times of decisions.
fn timeless(line: &str) -> String {
    match line.strip_suffix(" per decision").and_then(|time| time.split_once(' ')) {
        Some((number, unit)) if number.parse::<f64>().is_ok() && !unit.contains(' ') => "TIME per decision".to_owned(),
        _ => line.trim_end().to_owned(),
    }
}

/// The first line that is expected but not printed at its place.
fn missing(output: &str, printed: &str) -> Option<String> {
    let printed: Vec<String> = printed.lines().map(timeless).collect();
    let (mut at, mut is_anywhere) = (0, false);
    for line in output.lines().map(timeless) {
        if line == "..." {
            is_anywhere = true;
            continue;
        }
        let rest = &printed[at..];
        let found = if is_anywhere {
            rest.iter().position(|one| *one == line)
        } else {
            (rest.first() == Some(&line)).then_some(0)
        };
        let Some(found) = found else { return Some(line) };
        at += found + 1;
        is_anywhere = false;
    }
    (!is_anywhere && at < printed.len()).then(|| format!("the end, and not: {}", printed[at]))
}

/// Runs a block. The error describes the failure.
fn run(block: &Block, folder: &Path) -> Result<(), String> {
    let mut printed = String::new();
    for command in &block.commands {
        if !command.starts_with("wayleave ") {
            return Err(format!("{command}: is no command of wayleave, and the block does not say why it is not run"));
        }
        // Errors come after the output, as where both are files.
        let line = format!("wayleave() {{ '{}' \"$@\"; }}\n{command} 2>errors", env!("CARGO_BIN_EXE_wayleave"));
        let done = Command::new("bash").args(["-c", &line]).current_dir(folder).env_remove("COLUMNS").output();
        let done = done.map_err(|error| error.to_string())?;
        let errors = fs::read_to_string(folder.join("errors")).map_err(|error| error.to_string())?;
        // 3: something is refused, as it may be; 4: a fault is found.
        let expected: &[i32] = if command.contains("--inject") { &[4] } else { &[0, 3] };
        if !done.status.code().is_some_and(|code| expected.contains(&code)) {
            return Err(format!("{command}: {}, {errors}", done.status));
        }
        printed = String::from_utf8_lossy(&done.stdout).into_owned() + &errors;
    }
    match block.output.as_ref().and_then(|output| missing(output, &printed)) {
        Some(line) => Err(format!("{line:?} is expected, and this comes out:\n{printed}")),
        None => Ok(()),
    }
}

/// Returns README.md and all pages below docs/, each with its path from the root and its text.
fn documents() -> Vec<(String, String)> {
    let root = root();
    let mut paths = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let name = |path: &PathBuf| path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn commands_behave_as_documented() {
    let (mut faults, mut outputs) = (Vec::new(), 0);
    for (name, text) in documents() {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents").join(&name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for kept in ["docs", "schemas"] {
            symlink(root().join(kept), folder.join(kept)).unwrap();
        }
        for block in blocks(&text) {
            let place = format!("{name}:{}", block.line);
            match &block.not_run {
                Some(why) => println!("{place} is not run: {why}"),
                None => {
                    outputs += usize::from(block.output.is_some());
                    faults.extend(run(&block, &folder).err().map(|fault| format!("{place}: {fault}")));
                }
            }
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    assert!(outputs >= 7, "only {outputs} outputs were compared");
}

#[test]
fn output_is_compared_line_by_line() {
    let printed = "one\ntwo\n\n4 us per decision\nfive\n";
    for output in ["one\ntwo\n\n5.1 ms per decision\nfive", "one\n...\nfive", "...\nfive", "one\n..."] {
        assert_eq!(missing(output, printed), None, "{output}");
    }
    for (output, line) in
        [("one\nthree", "three"), ("two", "two"), ("...\nfive\ntwo", "two"), ("one\ntwo", "the end, and not: ")]
    {
        assert_eq!(missing(output, printed).as_deref(), Some(line), "{output}");
    }
}

#[test]
fn blocks_are_found_with_their_output_and_their_reason() {
    let text = "<!-- not run: minutes -->\n```sh\nmake all  # everything\n```\n\n```text\nout\n```\n```sh\nwayleave a \\\n  b\nwayleave c\n```\nthen\n```text\nno\n```\n";
    let found = blocks(text);
    assert_eq!((found[0].not_run.as_deref(), found[0].output.as_deref()), (Some("minutes"), Some("out")));
    assert_eq!(
        (&found[1].commands[..], &found[1].output),
        (&["wayleave a    b".to_owned(), "wayleave c".to_owned()][..], &None)
    );
    let unknown = Block { commands: vec!["make all".to_owned()], ..Block::default() };
    assert!(run(&unknown, Path::new(".")).unwrap_err().contains("does not say why it is not run"));
}
