//! Errors of programs and their maps.

use std::path::{Path, PathBuf};

/// Reason for a failed operation.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The kernel refuses for lack of rights.
    #[error(
        "{doing}: not permitted. eBPF programs need root, or the capabilities CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON; network \
                 namespaces need CAP_SYS_ADMIN as well"
    )]
    NotPermitted {
        /// Failed operation.
        doing: String,
    },
    /// Another process owns these pins.
    #[error("{} belongs to another running process: a host runs one agent", .0.display())]
    Busy(PathBuf),
    /// It cannot be done as it was asked, however often it is tried.
    #[error("{0}")]
    Refused(String),
    /// It did not work.
    #[error("{doing}: {why}")]
    Failed {
        /// Failed operation.
        doing: String,
        /// Error message of the system.
        why: String,
    },
}

/// Prefix of the verifier's output in an error of the loader, and the number of its lines that are shown: it ends
/// with statistics.
const VERDICT: &str = "Verifier output:";
const VERDICT_LINES: usize = 3;

impl Error {
    /// Something that did not work, with everything that the error has below it.
    pub(crate) fn failed(doing: impl Into<String>, error: impl std::error::Error) -> Self {
        let (doing, mut why) = (doing.into(), error.to_string());
        let mut below = error.source();
        while let Some(error) = below {
            let text = error.to_string();
            if !why.contains(&text) {
                why = format!("{why}: {text}");
            }
            below = error.source();
        }
        // The kernel's error for a program that the verifier refuses equals that for a missing right, but the
        // verifier's output gives the reason.
        if let Some((_, verdict)) = why.split_once(VERDICT) {
            let verdict: Vec<&str> = verdict.trim().lines().take(VERDICT_LINES).collect();
            return Self::Failed { doing, why: format!("this kernel's verifier refuses it: {}", verdict.join("; ")) };
        }
        if why.contains("os error 1)") || why.contains("os error 13)") {
            return Self::NotPermitted { doing };
        }
        Self::Failed { doing, why }
    }

    pub(crate) fn at(doing: &str, path: &Path, error: impl std::error::Error) -> Self {
        Self::failed(format!("{doing} {}", path.display()), error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_refused_by_the_verifier_lacks_no_right() {
        let load = |text: &str| Error::failed("loading", std::io::Error::other(text.to_owned())).to_string();
        let refused = load(
            "syscall: Permission denied (os error 13). Verifier output: combined stack size is 528. Too large\nverification time 3",
        );
        assert!(refused.contains("verifier refuses it: combined stack size is 528. Too large"), "{refused}");
        assert!(load("syscall: Operation not permitted (os error 1)").contains("CAP_BPF"));
    }
}
