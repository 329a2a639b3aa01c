//! Fig. 12 and section 5.3: the tagger and the shaper of a host, here eBPF programs. They run on this machine's
//! kernel (`BPF_PROG_TEST_RUN`), so these figures need root and eBPF, and report their absence.

mod path;

use wayleave_dataplane::measure::{ShapingError, ShapingScenario, TABLE_4, Tagging, memory, shape, tag};

use self::path::PACKETS;
use crate::data::{Axis, Centre, Figure, Form, Panel, Point, Series, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;

const BATCHES: [u32; 3] = [1, 16, 32];
const FLOWS: [u16; 3] = [1, 2, 3];
const TAGS: [u16; 5] = [2, 4, 6, 8, 10];
/// The links of section 5.3.1, in Gbit/s.
const LINE: f64 = 10.0;
/// Check sequence, preamble, delimiter and gap of a frame, in bytes (IEEE 802.3).
const AROUND: usize = 24;

/// Memory of the application with no VM, and for each VM, in MB (section 5.3.3).
const PAPERS_BASE: f64 = 19.2;
const PAPERS_VM: f64 = 0.02;

/// One scenario, with ns for each packet.
#[derive(Clone, Debug)]
struct Tagged {
    what: Tagging,
    nanos: f64,
}

impl Tagged {
    /// In Gbit/s of packets.
    fn rate(&self) -> f64 {
        (self.what.packet * 8) as f64 / self.nanos
    }

    /// Returns the rate of these packets on a link of 10 Gbit/s, in Gbit/s of packets.
    fn line(&self) -> f64 {
        let wire = self.what.packet + 4 * usize::from(self.what.tags) + AROUND;
        LINE * self.what.packet as f64 / wire as f64
    }
}

/// Measures Fig. 12a.
pub(crate) fn fig12a(run: &Run) -> Result<Figure, Failed> {
    let (batches, trials) = (run.choose(&BATCHES[..], &BATCHES[2..]), run.choose(5_000, 2_000));
    let mut all = Vec::new();
    for packet in PACKETS {
        for &tags in run.choose(&TAGS[..], &TAGS[..3]) {
            for flows in FLOWS {
                for &batch in batches {
                    run.simulator().check()?;
                    let what = Tagging { packet, batch, flows, tags };
                    all.push(Tagged { what, nanos: tag(what, trials).map_err(Failed::broken)? });
                }
            }
        }
    }
    let data = TaggingData { all, paths: path::measure(run)? };
    Ok(Figure {
        statements: tagging_statements(&data),
        panels: vec![rates(&data.all)],
        tables: data.paths.iter().map(|paths| path::table(paths)).collect(),
        notes: vec![
            "Points are means over batches and flows. A scenario's figure is the fastest of many runs, without what the kernel \
             takes to run a program that does nothing: the whole program, with classification and bucket. The paper's figure has the rate of a generator and of a \
             line as well, one of which bounds its tagger."
                .to_owned(),
            "The kernel hands packets to a program one by one, so a batch is only how many are processed in a row; no more than \
             fit the room before a frame, or the kernel would copy it, which it does not do to packets of an interface."
                .to_owned(),
            match &data.paths {
                Some(_) => path::NOTE.to_owned(),
                None => "The whole path of a packet was left out: nobody here sets up networks for real packets.".to_owned(),
            },
        ],
        ..Figure::default()
    }
    .with("packets", "Table 3: 64, 776, 1478 B; batches of 1, 16, 32; 1 to 3 flows; 2 to 10 tags"))
}

/// Data of Fig. 12a.
#[derive(Clone, Debug)]
struct TaggingData {
    all: Vec<Tagged>,
    /// Measured paths; `None` if networks of real packets cannot be set up.
    paths: Option<Vec<path::Path>>,
}

fn of(all: &[Tagged], packet: usize) -> impl Iterator<Item = &Tagged> {
    all.iter().filter(move |tagged| tagged.what.packet == packet)
}

fn rates(all: &[Tagged]) -> Panel {
    let series = PACKETS.map(|packet| {
        let tags = TAGS.iter().filter(|&&tags| of(all, packet).any(|tagged| tagged.what.tags == tags));
        let points = tags.map(|&tags| {
            let rates = of(all, packet).filter(|tagged| tagged.what.tags == tags).map(Tagged::rate).collect();
            Point::of(f64::from(tags), rates)
        });
        Series { name: format!("{packet} B"), points: points.collect() }
    });
    Panel {
        name: "rate".to_owned(),
        title: "Tagging rate of one core".to_owned(),
        x: Axis::linear("tags", ""),
        y: Axis::logarithmic("rate of packets", "Gbit/s"),
        form: Form::Joined,
        centre: Centre::Mean,
        is_timing: true,
        bands: Vec::new(),
        series: series.into(),
    }
}

fn tagging_statements(TaggingData { all, paths }: &TaggingData) -> Vec<Statement> {
    let slowest =
        |packet: usize| of(all, packet).map(|tagged| tagged.rate() / tagged.line()).fold(f64::INFINITY, f64::min);
    let fastest = all.iter().map(Tagged::rate).fold(0.0, f64::max);
    let mut statements = vec![
        Statement::within(
            "5.3.1",
            "the tagger is never the bottleneck: with 776 and 1478 B it is as fast as a link of 10 Gbit/s",
            1.0..=f64::INFINITY,
            &[slowest(776), slowest(1478)],
            format!("slowest scenario against the line: {:.1}x at 776 B, {:.1}x at 1478 B", slowest(776), slowest(1478)),
        ),
        Statement::not_compared(
            "5.3.1",
            "with 64 B the tagger is bounded by the link or by the traffic generator",
            format!("slowest scenario against the line: {:.1}x", slowest(64)),
        )
        .remark(
            "The text does not say by which of the two, nor how fast the generator is with 64 B. A line of 10 Gbit/s brings one of them every 77 to 102 ns. \
             Nothing pins the programs to one core: each interface is served by the core that its packets come to.",
        ),
        Statement::within(
            "5.3.1",
            "up to 40 Gbit/s in some cases",
            40.0..=f64::INFINITY,
            &[fastest],
            format!("{fastest:.0} Gbit/s with the largest packets"),
        )
        .ruled_out(["other work of the machine, since the fastest of many runs counts"]),
    ];
    statements.extend(paths.iter().map(|paths| path::all_sent(paths)));
    statements
}

/// Measures Fig. 12b.
pub(crate) fn fig12b(run: &Run) -> Result<Figure, Failed> {
    // 1 kbit/s takes 2 s a look.
    let is_in = |what: &&ShapingScenario| run.choose(true, what.rate > 1_000);
    let scenarios: Vec<&ShapingScenario> = TABLE_4.iter().filter(is_in).step_by(run.choose(1, 3)).collect();
    let mut shaped = Vec::new();
    for &&what in &scenarios {
        run.report_progress(shaped.len(), scenarios.len())?;
        shaped.push((what, shape(what, run.choose(3, 2)).map_err(Failed::broken)?));
    }
    let columns =
        ["VMs", "flows", "packet (B)", "rate (bit/s)", "burst (bit)", "rate deviation (%)", "burst deviation (%)"];
    let row = |(what, shaped): &(ShapingScenario, ShapingError)| {
        vec![
            what.vms.to_string(),
            what.flows.to_string(),
            what.packet.to_string(),
            what.rate.to_string(),
            what.burst.to_string(),
            format!("{:.4}", 100.0 * shaped.rate_error),
            format!("{:.4}", 100.0 * shaped.burst_error),
        ]
    };
    let table = Table {
        name: "deviation".to_owned(),
        title: "Measured rate and burst relative to the rule".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: shaped.iter().map(row).collect(),
    };
    Ok(Figure {
        statements: shaping_statements(&shaped),
        tables: vec![table],
        notes: vec![
            "Six tags a packet, as in the paper. A rule counts wire bytes; its rate and burst are the table's, grown by what a packet \
             has on the wire. Times are those that the program itself sees, so a card that measures them on a line is left out."
                .to_owned(),
        ],
        ..Figure::default()
    }
    .with("scenarios", "Table 4"))
}

fn shaping_statements(shaped: &[(ShapingScenario, ShapingError)]) -> Vec<Statement> {
    let worst = |of: fn(&ShapingError) -> f64| 100.0 * shaped.iter().map(|(_, shaped)| of(shaped)).fold(0.0, f64::max);
    let error = |what: &str, worst: f64| {
        let claim_text = format!("the {what} deviates by around 2 % at most");
        Statement::within("5.3.2", claim_text, 0.0..=2.0, &[worst], format!("{worst:.4} % at most"))
            .ruled_out(["stalls of the machine: the median time between packets counts"])
    };
    let mut statements =
        vec![error("rate", worst(|shaped| shaped.rate_error)), error("burst", worst(|shaped| shaped.burst_error))];
    // The one row of Table 4 that differs from another in nothing but its VMs.
    let with = |vms: u8| {
        let terms = |what: &ShapingScenario| (what.vms, what.flows, what.packet, what.rate, what.burst);
        let is_meant = |what: &ShapingScenario| terms(what) == (vms, 1, 800, 10_000_000, 1_000_000);
        shaped
            .iter()
            .find(|(what, _)| is_meant(what))
            .map(|(_, shaped)| 100.0 * shaped.rate_error.max(shaped.burst_error))
    };
    statements.extend(with(1).zip(with(10)).map(|(one, ten)| {
        Statement::not_compared(
            "5.3.2",
            "shaping is more precise with fewer VMs: a process takes packets of VMs in turn, and with fewer it comes sooner",
            format!("the larger deviation is {one:.4} % with one VM and {ten:.4} % with ten (1 flow each, 800 B, 10 Mbit/s, 1 Mbit)"),
        )
        .remark("Nothing takes turns here: a packet meets its bucket when its VM sends it. What is left is the machine's noise.")
    }));
    statements
}

/// Measures section 5.3.3.
pub(crate) fn resources(run: &Run) -> Result<Figure, Failed> {
    const CONTRACTS: u16 = 3;
    const MEGABYTE: f64 = 1e6;
    let measure = |endpoints: u8| {
        run.simulator().check()?;
        let memory = memory(endpoints, CONTRACTS).map_err(Failed::broken)?;
        Ok::<f64, Failed>(memory.get() as f64 / MEGABYTE)
    };
    let (base, many) = (measure(0)?, measure(100)?);
    let each = (many - base) / 100.0;
    let typical = Tagging { packet: 776, batch: 32, flows: 1, tags: 6 };
    let nanos = tag(typical, 10_000).map_err(Failed::broken)?;
    let cores = nanos * (LINE * 1e9 / 8.0 / (776 + 24 + AROUND) as f64) / 1e9;
    let row = |name: &str, paper: &str, here: String| vec![name.to_owned(), paper.to_owned(), here];
    let table = Table {
        name: "resources".to_owned(),
        title: "Resources of a host's data plane".to_owned(),
        columns: ["", "the paper", "here"].map(str::to_owned).to_vec(),
        rows: vec![
            row("memory without VMs", "19.2 MB", format!("{base:.1} MB")),
            row("memory of each VM", "0.02 MB", format!("{each:.4} MB, with {CONTRACTS} contracts")),
            row(
                "processor",
                "three cores, always",
                format!("{nanos:.0} ns a packet; {cores:.2} cores for 10 Gbit/s of 776 B"),
            ),
        ],
    };
    Ok(Figure {
        statements: resource_statements(base, each, cores),
        tables: vec![table],
        notes: vec![
            "Memory is what the kernel accounts to programs and maps (`memlock`), with room for 4096 contracts. The agent, a process of \
             its own that no packet waits for, is not in it; nor are the paper's container and its VMs."
                .to_owned(),
        ],
        ..Figure::default()
    })
}

fn resource_statements(base: f64, each: f64, cores: f64) -> Vec<Statement> {
    vec![
        Statement::claim(
            "5.3.3",
            "19.2 MB, plus 0.02 MB for each VM: a very low footprint",
            base <= PAPERS_BASE && each <= PAPERS_VM,
            format!("{base:.1} MB, plus {each:.4} MB"),
        )
        .ruled_out(["the agent's own process, which is not counted"]),
        Statement::not_compared(
            "5.3.3",
            "exactly three cores",
            format!("none is set apart; {cores:.2} cores carry 10 Gbit/s of 776 B packets with six tags"),
        )
        .remark("The programs run where packets come; an idle host spends nothing."),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_of_tagging_can_change() {
        let tagged = |packet: usize| Tagged { what: Tagging { packet, batch: 1, flows: 1, tags: 2 }, nanos: 120.0 };
        let data = TaggingData { all: PACKETS.map(tagged).to_vec(), paths: Some(vec![path::Path::made_up()]) };
        assert_each_can_change(
            &data,
            tagging_statements,
            &[
                ("a slow tagger", &|data| data.all[1].nanos = 2_000.0),
                ("nothing is fast", &|data| data.all.iter_mut().for_each(|one| one.nanos = 400.0)),
                ("a lost packet", &|data| data.paths.iter_mut().flatten().for_each(|path| path.lost = 1)),
            ],
        );
    }

    #[test]
    pub(crate) fn every_verdict_of_shaping_can_change() {
        let exact = ShapingError { rate_error: 0.001, burst_error: 0.001 };
        let shaped: Vec<(ShapingScenario, ShapingError)> = TABLE_4.into_iter().map(|what| (what, exact)).collect();
        assert_eq!(shaping_statements(&shaped).len(), 3);
        assert_each_can_change(
            &shaped,
            |shaped| shaping_statements(shaped),
            &[
                ("a slow bucket", &|shaped| shaped[3].1.rate_error = 0.03),
                ("a large bucket", &|shaped| shaped[0].1.burst_error = 0.03),
            ],
        );
    }

    #[test]
    pub(crate) fn every_verdict_of_resources_can_change() {
        let statements = |&(base, each): &(f64, f64)| resource_statements(base, each, 0.2);
        assert_each_can_change(&(9.0, 0.001), statements, &[("more for a VM", &|of| of.1 = 0.1)]);
    }
}
