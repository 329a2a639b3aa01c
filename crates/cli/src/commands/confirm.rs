//! Confirmation of deletions, at a terminal or by an option.

use std::io::{BufRead, IsTerminal, stdin};

use clap::Args;

use crate::failure::Failure;
use crate::output::tell;

/// Number of names that are listed.
const LISTED: usize = 40;

/// Confirms without a question.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Confirm {
    /// Delete without confirmation; required if standard input is not a terminal
    #[arg(long)]
    yes: bool,
}

impl Confirm {
    /// Returns `true` if the option is there.
    pub(crate) const fn is_given(self) -> bool {
        self.yes
    }

    /// Lists what is to be deleted and asks; an error unless it is confirmed.
    pub(crate) fn deletion(self, ids: &[String]) -> Result<(), Failure> {
        if ids.is_empty() || self.yes {
            return Ok(());
        }
        for id in ids.iter().take(LISTED) {
            tell!("  delete contract {id}");
        }
        if ids.len() > LISTED {
            tell!("  ... and {} more (--dry-run --all shows them)", ids.len() - LISTED);
        }
        self.question(&format!("Delete {}?", wayleave_explain::human::count(ids.len(), "contract")))
    }

    /// Shows what it is about and asks; an error unless the answer is yes. Nothing is shown if it is confirmed by the option.
    pub(crate) fn question_after(
        self,
        show: impl FnOnce() -> Result<(), Failure>,
        question: &str,
    ) -> Result<(), Failure> {
        if self.yes {
            return Ok(());
        }
        show()?;
        self.question(question)
    }

    fn question(self, question: &str) -> Result<(), Failure> {
        if !stdin().is_terminal() {
            let text =
                "nothing was changed: standard input is not a terminal, so no confirmation is possible; add --yes";
            return Err(Failure::Usage(text.to_owned()));
        }
        tell!("{question} [y/N]");
        let mut answer = String::new();
        stdin().lock().read_line(&mut answer)?;
        if is_yes(&answer) { Ok(()) } else { Err(Failure::Usage("nothing was changed: not confirmed".to_owned())) }
    }
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::is_yes;

    #[test]
    fn only_a_yes_confirms() {
        assert!(["y\n", "Yes\n", " y "].iter().all(|answer| is_yes(answer)));
        assert!(["", "\n", "n\n", "yep\n", "no\n", "yes no"].iter().all(|answer| !is_yes(answer)));
    }
}
