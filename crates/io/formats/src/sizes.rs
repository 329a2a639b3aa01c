//! Distributions of flow sizes in files of others: two or three columns.
//!
//! - `SIZE SHARE`: bytes, and the share of flows that are not longer, up to 1 or in percent up to 100 (the form of the
//!   HPCC release's traffic generator);
//! - `SIZE,SHARE`: the same with a comma (the CSV files of Opera, NSDI 2020: github.com/TritonNetworking/opera-sim);
//! - `PACKETS 1 SHARE`: packets of 1460 B of payload (the form of the YAPS simulator);
//! - a line with the mean alone, then `SIZE SHARE` (Homa, SIGCOMM 2018: github.com/PlatformLab/HomaSimulation,
//!   `sizeDistributions`): flows have exactly the sizes that are listed, so the mean is a sum and not an integral.

use wayleave_scenarios::{FlowSizes, SizesError};

use crate::columns::{Line, Word, lines};
use crate::location::Span;
use crate::problem::{InputErrors, ProblemKind, Problems};
use crate::source::Source;

/// The payload of a full packet: 1500 B less 40 B of headers.
const PACKET: f64 = 1460.0;

/// The most that the last share may be below 1: published files have six digits, as in 0.999999.
const ROUNDED: f64 = 1e-5;

/// Reads a cumulative distribution of flow sizes: lines of `SIZE SHARE` or `SIZE,SHARE` in bytes, or of `PACKETS 1 SHARE` in
/// packets of 1460 B. Shares end with 1, or with 100 if they are in percent; a last share that is rounded (0.999999) counts as
/// 1. A first line with one number is the mean, as Homa has it. Empty lines and those that begin with `#` are skipped.
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
    let mut lines: Vec<Line<'_>> = lines(text).map(at_commas).collect();
    let is_homa = lines.len() > 1 && lines[0].words.len() == 1 && lines[1].words.len() == 2;
    if is_homa {
        lines.remove(0).words[0].number("mean size", problems)?;
    }
    let Some(columns) = lines.first().map(|line| line.words.len()) else {
        let message = "the file is empty: expected lines of SIZE SHARE";
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
    // A last share of 100, perhaps rounded, means that all are in percent; any other value is left for the check.
    if points.last().is_some_and(|&(_, share)| (100.0 * (1.0 - ROUNDED)..=100.0).contains(&share)) {
        points.iter_mut().for_each(|(_, share)| *share /= 100.0);
    }
    if let Some((_, share)) = points.last_mut().filter(|(_, share)| (1.0 - ROUNDED..1.0).contains(share)) {
        *share = 1.0;
    }
    if !right {
        return None;
    }
    let steps = is_homa.then(|| as_steps(&points));
    match FlowSizes::from_points(points).and_then(|sizes| steps.map_or(Ok(sizes), FlowSizes::from_points)) {
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

/// The words of a line of CSV.
fn at_commas(line: Line<'_>) -> Line<'_> {
    let [only] = line.words[..] else { return line };
    let mut start = only.span.start();
    let words: Vec<Word<'_>> = only
        .text
        .split(',')
        .map(|text| {
            let span = Span::new(start..start + text.len());
            start += text.len() + 1;
            Word { text, span }
        })
        .collect();
    Line { words, span: line.span }
}

/// A distribution of the listed sizes alone, without sizes between them.
fn as_steps(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let rises = points.windows(2).flat_map(|pair| [(pair[1].0, pair[0].1), pair[1]]);
    points.first().copied().into_iter().chain(rises).collect()
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
