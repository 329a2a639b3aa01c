//! Section 6.3: number of iterations until the machine shaper's rate is within 0.01 % of the ideal, in a fluid model
//! of many equal senders.

use wayleave_scheme_api::Arrivals;
use wayleave_schemes::host::eyeq::{Marks, MeterParams, RateMeter};
use wayleave_units::{Bytes, Rate, Time};

use super::testbed::ECN;
use crate::data::{Figure, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;

/// Of the machine shaper in section 6.3.
const INTERVAL: Time = Time::from_micros(500);
const LINE: f64 = 10e9;
/// Rate that the meter shares.
const CAPACITY: f64 = 9e9;
/// "Regardless of the number of flows"; at most as many as R's floor of 1 Mbit/s allows with room below it.
const SENDERS: [u32; 7] = [1, 3, 10, 30, 100, 300, 1_000];
/// Within 0.01 % of the ideal, as in the text, and within 1 %.
const WITHIN: [f64; 2] = [1e-4, 1e-2];
/// Buffer of a port in all other figures.
const BUFFER: f64 = 4.5e6;
const LONGEST: usize = 2_000;

/// Path between the senders and the meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    /// All traffic arrives.
    Open,
    /// A line of 10 Gbit/s; traffic beyond its rate is lost.
    Bare,
    /// The same with a queue, and nothing marks.
    Line,
    /// The same with marks from 80 kB on.
    Marked(Marks),
}

const PATHS: [Path; 5] =
    [Path::Open, Path::Bare, Path::Line, Path::Marked(Marks::Printed), Path::Marked(Marks::Released)];

impl Path {
    const fn name(self) -> &'static str {
        match self {
            Self::Open => "all that is sent arrives",
            Self::Bare => "behind a 10 Gbit/s line without a queue, no marks",
            Self::Line => "behind a 10 Gbit/s line, no marks",
            Self::Marked(Marks::Printed) => "behind a 10 Gbit/s line, marks as printed",
            Self::Marked(Marks::Released) => "behind a 10 Gbit/s line, marks as released",
        }
    }
}

/// Iterations on a path: for each number of senders to within each part of the ideal.
#[derive(Clone, Debug)]
struct Row {
    path: Path,
    taken: Vec<[usize; 2]>,
}

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let row = |&path: &Path| Row { path, taken: SENDERS.map(|senders| taken(path, f64::from(senders))).to_vec() };
    let rows = run.map(&PATHS, |path| Ok(row(path)))?;
    let figure = Figure {
        statements: statements(&rows),
        tables: vec![table(&rows)],
        notes: vec![
            "A fluid model: equal senders that want everything and obey at once, without chance. R begins at C, as of a class that was idle."
                .to_owned(),
            "A meter behind a full line sees no more than 10 of its 9 Gbit/s, however many send: R falls by a nineteenth in each iteration where it would \
             halve, and the queue that has grown by then keeps the line full."
                .to_owned(),
        ],
        ..Figure::default()
    };
    Ok(figure
        .with("meter", "C 9 of 10 Gbit/s, alpha 0.5, every 500 us (6.3)")
        .with("queue", "4.5 MB, marks from 80 kB on (Table 1)"))
}

/// Returns the numbers of iterations after which R stays within a part of the ideal.
fn taken(path: Path, senders: f64) -> [usize; 2] {
    let marks = if let Path::Marked(marks) = path { marks } else { Marks::Printed };
    let mut meter =
        RateMeter::new(Rate::from_bits_per_second(CAPACITY as u64), MeterParams { marks, ..MeterParams::default() });
    let (seconds, ideal) = (INTERVAL.as_nanos() as f64 / 1e9, CAPACITY / senders);
    let (mut queue, mut last) = (0.0, [0; 2]);
    for done in 1..=LONGEST {
        let offered = meter.rate().bits_per_second() as f64 * senders * seconds / 8.0;
        let arrived = match path {
            Path::Open => offered,
            Path::Bare | Path::Line | Path::Marked(_) => (queue + offered).min(LINE * seconds / 8.0),
        };
        queue = (queue + offered - arrived).min(if path == Path::Bare { 0.0 } else { BUFFER });
        let is_marked = matches!(path, Path::Marked(_)) && queue > ECN.get() as f64;
        let bytes = Bytes::new(arrived as u64);
        let marked = if is_marked { bytes } else { Bytes::ZERO };
        meter.count(Arrivals { bytes, marked, lost: Bytes::ZERO });
        meter.finish(INTERVAL);
        let off = (meter.rate().bits_per_second() as f64 - ideal).abs() / ideal;
        for (last, within) in last.iter_mut().zip(WITHIN) {
            if off > within {
                *last = done;
            }
        }
    }
    last.map(|last| last + 1)
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let iterations = |row: &Row, at: usize| row.taken.iter().map(|taken| taken[at] as f64).collect::<Vec<_>>();
    let claim = |row: &Row, at: usize, claim_text: &str, most: f64| {
        let shown: Vec<String> =
            SENDERS.iter().zip(&row.taken).map(|(senders, taken)| format!("{} for {senders}", taken[at])).collect();
        Statement::within("6.3", claim_text, 1.0..=most, &iterations(row, at), format!("{} senders", shown.join(", ")))
    };
    let open = &rows[0];
    let in_worst_case = |row: &Row| {
        let claim_text = "it converges, in the worst case, to within 30 iterations, to within 0.01 % of the ideal, regardless of the number of flows";
        let cause =
            "what the meter can see. In the same model it takes fewer iterations where all that is sent arrives";
        claim(row, 0, claim_text, 30.0).reading(row.path.name()).tested(cause, &iterations(open, 0))
    };
    let mut all: Vec<Statement> = rows.iter().map(in_worst_case).collect();
    // Fewer than 15 are at most 14.
    let in_practice = |(at, within): (usize, &f64)| {
        let claim_text = "in practice fewer than 15 iterations suffice";
        claim(open, at, claim_text, 14.0).reading(format!("to within {} % of the ideal", within * 100.0))
    };
    all.extend(WITHIN.iter().enumerate().map(in_practice));
    all
}

fn table(rows: &[Row]) -> Table {
    let cells = rows.iter().flat_map(|row| {
        WITHIN.iter().enumerate().map(move |(at, within)| {
            let taken = row.taken.iter().map(move |taken| taken[at].to_string());
            [row.path.name().to_owned(), format!("{} %", within * 100.0)].into_iter().chain(taken).collect()
        })
    });
    let columns = ["path".to_owned(), "within".to_owned()];
    Table {
        name: "iterations".to_owned(),
        title: "Iterations until R stays within a distance of the ideal rate, by number of senders".to_owned(),
        columns: columns.into_iter().chain(SENDERS.map(|senders| senders.to_string())).collect(),
        rows: cells.collect(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    fn a_line_that_hides_the_overload_converges_slower_and_marks_help() {
        let [open, line, marked] =
            [Path::Open, Path::Line, Path::Marked(Marks::Printed)].map(|path| taken(path, 100.0)[0]);
        println!("{open} {line} {marked}");
        assert!(open <= 30 && line > 30 && marked < line);
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let rows = PATHS.map(|path| Row { path, taken: vec![[10, 5], [14, 6]] });
        let with = |taken: [usize; 2]| move |rows: &mut [Row; 5]| rows.iter_mut().for_each(|row| row.taken[0] = taken);
        assert_each_can_change(
            &rows,
            |rows| statements(rows),
            &[("it takes long", &with([40, 20])), ("it takes nothing", &with([0, 0]))],
        );
    }
}
