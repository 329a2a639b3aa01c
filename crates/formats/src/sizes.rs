//! Distributions of flow sizes in files of others: two or three columns.
//!
//! - `SIZE SHARE`: bytes, and the share of flows that are not longer, up to 1 or in percent up to 100 (the form of the
//!   HPCC release's traffic generator);
//! - `PACKETS 1 SHARE`: packets of 1460 B of payload (the form of the YAPS simulator).

use wayleave_scenarios::{FlowSizes, SizesError};

use crate::columns::{Line, lines};
use crate::location::Span;
use crate::problem::{InputErrors, ProblemKind, Problems};
use crate::source::Source;

/// The payload of a full packet: 1500 B less 40 B of headers.
const PACKET: f64 = 1460.0;

/// Reads a cumulative distribution of flow sizes: lines of `SIZE SHARE` in bytes, or of `PACKETS 1 SHARE` in packets of
/// 1460 B. Shares end with 1, or with 100 if they are in percent. Empty lines and those that begin with `#` are skipped.
///
/// ```
/// use wayleave_formats::{Source, read_flow_sizes};
/// let sizes = read_flow_sizes(&Source::new("cdf.txt", "1000 0\n3000 50\n9000 100\n"))?;
/// assert_eq!((sizes.quantile(0.5), sizes.mean()), (3000, 4000.0));
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// Everything that is wrong with the file, in order of place; among it a distribution that does not rise.
pub fn read_flow_sizes(source: &Source) -> Result<FlowSizes, InputErrors> {
    let mut problems = Problems::new(source);
    let sizes = read(source.text(), &mut problems);
    problems.finish(sizes)
}

fn read(text: &str, problems: &mut Problems<'_>) -> Option<FlowSizes> {
    let lines: Vec<Line<'_>> = lines(text).collect();
    let Some(columns) = lines.first().map(|line| line.words.len()) else {
        let message = "the file has no lines: SIZE SHARE is expected on each";
        problems.report(ProblemKind::Empty, Span::default(), || message);
        return None;
    };
    let mut right = true;
    let mut points = Vec::with_capacity(lines.len());
    for line in &lines {
        match point(line, columns, problems) {
            Some(point) => points.push(point),
            None => right = false,
        }
    }
    // A last share of exactly 100 says that all are in percent; anything else is left for the check.
    if points.last().is_some_and(|&(_, share)| share == 100.0) {
        points.iter_mut().for_each(|(_, share)| *share /= 100.0);
    }
    if !right {
        return None;
    }
    match FlowSizes::from_points(points) {
        Ok(sizes) => Some(sizes),
        Err(error) => {
            let line = match error {
                SizesError::Unfinished { .. } | SizesError::Zero => lines.last(),
                _ => error.point().and_then(|point| lines.get(point)),
            };
            let span = line.map_or(Span::default(), |line| line.span);
            problems.report(ProblemKind::Impossible, span, || error.to_string());
            None
        }
    }
}

/// The size in bytes and the share of a line.
fn point(line: &Line<'_>, columns: usize, problems: &mut Problems<'_>) -> Option<(f64, f64)> {
    match line.words[..] {
        [size, share] if columns == 2 => {
            let (size, share) = (size.number("size in bytes", problems), share.number("share", problems));
            Some((size?, share?))
        }
        [packets, one, share] if columns == 3 && one.text == "1" => {
            let (packets, share) = (packets.number("number of packets", problems), share.number("share", problems));
            Some((packets? * PACKET, share?))
        }
        _ => {
            problems.report(ProblemKind::Syntax, line.span, || {
                let message = "SIZE SHARE is expected on each line, or PACKETS 1 SHARE";
                (message, "the size in bytes, and the share of flows that are not longer; packets have 1460 B")
            });
            None
        }
    }
}
