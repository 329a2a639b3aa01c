//! The repository as text.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// A text file of the repository.
pub(crate) struct File {
    /// From the root, with `/` between its parts.
    pub(crate) path: String,
    /// Contents of the file.
    pub(crate) text: String,
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every text file, in order of path, without what a build or a tool leaves behind.
pub(crate) fn files() -> io::Result<Vec<File>> {
    let root = root();
    let mut files = Vec::new();
    let mut directories = vec![String::new()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(root.join(&directory))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
            match entry.file_type()? {
                kind if kind.is_dir() && is_ours(&path, &name) => directories.push(path),
                // In a worktree of git, `.git` is a file with the path of the repository.
                kind if kind.is_file() && name != ".git" => {
                    // Files that are no text are not checked.
                    if let Ok(text) = fs::read_to_string(entry.path()) {
                        files.push(File { path, text });
                    }
                }
                _ => {}
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Returns `true` if a directory is part of the repository: `.gitignore` names `target` and `out`, tools hide theirs.
fn is_ours(path: &str, name: &str) -> bool {
    name == ".ci" || !(name.starts_with('.') || name == "target" || name == "node_modules" || path == "out")
}
