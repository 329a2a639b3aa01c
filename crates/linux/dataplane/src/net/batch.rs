//! Many lines for `ip` or `tc` in one process.

use std::fmt;
use std::io::{self, Write};
use std::process::{Command, Output, Stdio};

use super::error::NetError;
use super::namespace::Namespace;

/// Lines for one tool, carried out in order up to the first that fails.
#[derive(Clone, Debug)]
pub struct ToolBatch {
    tool: &'static str,
    lines: Vec<String>,
}

impl ToolBatch {
    /// Lines for `ip`.
    pub const fn ip() -> Self {
        Self { tool: "ip", lines: Vec::new() }
    }

    /// Lines for `tc`.
    pub const fn tc() -> Self {
        Self { tool: "tc", lines: Vec::new() }
    }

    /// Adds a line, without the tool's name.
    pub fn line(&mut self, line: impl fmt::Display) -> &mut Self {
        self.lines.push(line.to_string());
        self
    }

    /// Adds the lines of another batch for the same tool.
    pub fn extend(&mut self, lines: impl IntoIterator<Item = String>) -> &mut Self {
        self.lines.extend(lines);
        self
    }

    /// Returns the lines of the batch.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Runs all lines in a namespace. An empty batch is no error.
    ///
    /// # Errors
    /// The first line that failed, with the output of the tool; the lines before have been carried out.
    pub fn run(&self, namespace: &Namespace) -> Result<(), NetError> {
        if self.lines.is_empty() {
            return Ok(());
        }
        if let Some(line) = self.lines.iter().find(|line| line.contains(char::is_control)) {
            return Err(self.failure(line, namespace, "a line must not contain control characters"));
        }
        let output = namespace.run(|| self.feed(&[]))??;
        if output.status.success() {
            return Ok(());
        }
        let output = String::from_utf8_lossy(&output.stderr);
        let line = failed_line(&output).and_then(|number| self.lines.get(number.checked_sub(1)?));
        Err(self.failure(line.map_or("-batch -", String::as_str), namespace, &reason(&output)))
    }

    /// Carries out every line, whether others fail or not.
    ///
    /// # Errors
    /// The first that failed.
    pub(super) fn run_each(&self, namespace: &Namespace) -> Result<(), NetError> {
        let one = |line: &String| Self { tool: self.tool, lines: vec![line.clone()] }.run(namespace);
        self.lines.iter().map(one).fold(Ok(()), Result::and)
    }

    /// Returns the tool's output for all lines, as concatenated JSON; a line that fails adds nothing.
    pub(super) fn json(&self, namespace: &Namespace) -> Result<String, NetError> {
        let output = namespace.run(|| self.feed(&["-j", "-force"]))??;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn feed(&self, options: &[&str]) -> Result<Output, NetError> {
        let mut command = Command::new(self.tool);
        let printed = if options.is_empty() { Stdio::null() } else { Stdio::piped() };
        command.args(options).args(["-batch", "-"]).stdin(Stdio::piped()).stdout(printed).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| unstarted(self.tool, error))?;
        let mut text = self.lines.join("\n");
        text.push('\n');
        if let Some(mut stdin) = child.stdin.take() {
            // A tool that stops at a wrong line does not read the rest; its exit code shows that.
            let _ = stdin.write_all(text.as_bytes());
        }
        child.wait_with_output().map_err(|error| NetError::io(format!("cannot wait for `{} -batch`", self.tool), error))
    }

    fn failure(&self, line: &str, namespace: &Namespace, output: &str) -> NetError {
        NetError::Tool {
            tool: self.tool,
            command: line.to_owned(),
            place: namespace.place(),
            output: output.to_owned(),
        }
    }
}

/// The standard output of a tool that runs in a namespace.
///
/// # Errors
/// If it is not installed, or fails.
pub fn output(namespace: &Namespace, tool: &'static str, arguments: &[&str]) -> Result<String, NetError> {
    let mut command = Command::new(tool);
    command.args(arguments).stdin(Stdio::null());
    let output = namespace.run(|| command.output())?.map_err(|error| unstarted(tool, error))?;
    if !output.status.success() {
        let output = reason(&String::from_utf8_lossy(&output.stderr));
        return Err(NetError::Tool { tool, command: arguments.join(" "), place: namespace.place(), output });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn unstarted(tool: &'static str, error: io::Error) -> NetError {
    if error.kind() == io::ErrorKind::NotFound {
        let package = match tool {
            "ethtool" => "ethtool",
            ovs if ovs.starts_with("ovs") => "openvswitch-switch",
            _ => "iproute2",
        };
        return NetError::Missing { tool, package };
    }
    NetError::io(format!("cannot start `{tool}`"), error)
}

/// The number in "Command failed -:3".
fn failed_line(output: &str) -> Option<usize> {
    let line = output.lines().find_map(|line| line.strip_prefix("Command failed "))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

/// Extracts the reason of the failure from a tool's output, in one line and without its preludes.
fn reason(output: &str) -> String {
    let is_reason = |line: &&str| {
        !line.is_empty()
            && !line.starts_with("Command failed")
            && !line.starts_with("Warning:")
            && !line.starts_with("Usage:")
    };
    let lines: Vec<&str> = output.lines().map(str::trim).filter(is_reason).collect();
    if lines.is_empty() { "no reason given".to_owned() } else { lines.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failed_line_and_the_reason_are_found() {
        let output =
            "Warning: sch_htb: quantum of class 20001 is big.\nRTNETLINK answers: File exists\nCommand failed -:12\n";
        assert_eq!((failed_line(output), reason(output)), (Some(12), "RTNETLINK answers: File exists".to_owned()));
        assert_eq!((failed_line("no"), reason("")), (None, "no reason given".to_owned()));
    }

    #[test]
    fn a_line_with_a_line_break_is_refused_before_anything_runs() {
        let error = ToolBatch::ip().line("link add a\nlink del b").run(&Namespace::current()).unwrap_err();
        assert!(error.to_string().contains("control characters"), "{error}");
    }
}
