//! GOAL: schedules of messages that depend on one another, as LogGOPSim and ATLAHS read them, in text and in their binary form.
//!
//! The language is that of Hoefler, Siebert and Lumsdaine (Group Operation Assembly Language, ICPP 2009); the binary form is that of LogGOPSim
//! (Hoefler, Schneider, Lumsdaine, LSAP 2010), whose reader and writer are in its `Parser.hpp`.

mod binary;
mod text;

pub use binary::write_goal_binary;
pub use text::write_goal_text;

use wayleave_scenarios::JobGraph;

use crate::problem::{InputErrors, Problem, ProblemKind};
use crate::source::Source;

/// Reads a GOAL schedule, in either form.
///
/// ```
/// use wayleave_formats::{Source, read_goal};
/// let text = "num_ranks 2\nrank 0 {\na: calc 1000\nb: send 1024b to 1 tag 7\nb requires a\n}\nrank 1 {\nrecv 1024b from 0 tag 7\n}\n";
/// let graph = read_goal(&Source::new("pair.goal", text))?;
/// assert_eq!((graph.ranks(), graph.payload()), (2, 1024));
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// Everything that is wrong with the text, in order of place; the first thing that is wrong with the bytes. Cycles, ranks that are not there,
/// and messages that find no receiver.
pub fn read_goal(source: &Source) -> Result<JobGraph, InputErrors> {
    match source.bytes() {
        Some(bytes) => binary::read(source, bytes),
        None if source.text().contains('\0') => {
            let message = "neither text nor LogGOPSim's binary form, which begins with the number 4223";
            let problem = Problem::of_file(source, ProblemKind::NotText, message);
            let hint = "older versions of LogGOPSim wrote another form: name the text that it was made of (.goal)";
            Err(InputErrors::one(problem.with_hint(hint)))
        }
        None => text::read(source),
    }
}
