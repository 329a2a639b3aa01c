//! Fig. 12 and section 5.3: the tagger and the shaper of a host, here eBPF programs. They run on this machine's kernel
//! (`BPF_PROG_TEST_RUN`), so these figures need root and eBPF; where those are missing, they say so.

use wayleave_dataplane::measure::{Shaped, Shaping, TABLE_4, Tagging, memory, shape, tag};

use crate::data::{Axis, Centre, Figure, Form, Panel, Point, Series, Table};
use crate::run::{Failed, Run};
use crate::statement::Statement;

/// Table 3.
const PACKETS: [usize; 3] = [64, 776, 1478];
const BATCHES: [u32; 3] = [1, 16, 32];
const FLOWS: [u16; 3] = [1, 2, 3];
const TAGS: [u16; 5] = [2, 4, 6, 8, 10];
/// The links of section 5.3.1, in Gbit/s.
const LINE: f64 = 10.0;
/// Check sequence, preamble, delimiter and gap of a frame, in bytes (IEEE 802.3).
const AROUND: usize = 24;

/// What the application needs with no VM, and for each, in MB (section 5.3.3).
const PAPERS_BASE: f64 = 19.2;
const PAPERS_VM: f64 = 0.02;

/// One scenario, with ns for each packet.
struct Tagged {
    what: Tagging,
    nanos: f64,
}

impl Tagged {
    /// In Gbit/s of packets.
    fn rate(&self) -> f64 {
        (self.what.packet * 8) as f64 / self.nanos
    }

    /// What a link of 10 Gbit/s carries of them, in Gbit/s of packets.
    fn line(&self) -> f64 {
        let wire = self.what.packet + 4 * usize::from(self.what.tags) + AROUND;
        LINE * self.what.packet as f64 / wire as f64
    }
}

/// Measures Fig. 12a.
pub(crate) fn fig12a(run: &Run) -> Result<Figure, Failed> {
    let (batches, trials) = (run.choose(&BATCHES[..], &BATCHES[2..]), run.choose(10_000, 2_000));
    let mut all = Vec::new();
    for packet in PACKETS {
        for &tags in run.choose(&TAGS[..], &TAGS[..3]) {
            for flows in FLOWS {
                for &batch in batches {
                    let what = Tagging { packet, batch, flows, tags };
                    all.push(Tagged { what, nanos: tag(what, trials).map_err(Failed::broken)? });
                }
            }
        }
    }
    let of = |packet: usize| all.iter().filter(move |tagged| tagged.what.packet == packet);
    let series = PACKETS.map(|packet| {
        let tags = TAGS.iter().filter(|&&tags| of(packet).any(|tagged| tagged.what.tags == tags));
        let points = tags.map(|&tags| {
            let rates = of(packet).filter(|tagged| tagged.what.tags == tags).map(Tagged::rate).collect();
            Point::of(f64::from(tags), rates)
        });
        Series { name: format!("{packet} B"), points: points.collect() }
    });
    let slowest = |packet: usize| of(packet).map(|tagged| tagged.rate() / tagged.line()).fold(f64::INFINITY, f64::min);
    let fastest = all.iter().map(Tagged::rate).fold(0.0, f64::max);
    let measured = format!(
        "slowest scenario against the line: {:.1}x at 64 B, {:.1}x at 776 B, {:.1}x at 1478 B",
        slowest(64),
        slowest(776),
        slowest(1478)
    );
    let panel = Panel {
        name: "rate".to_owned(),
        title: "Tagging rate of one core".to_owned(),
        x: Axis::linear("tags", ""),
        y: Axis::logarithmic("rate of packets", "Gbit/s"),
        form: Form::Joined,
        centre: Centre::Mean,
        is_timing: true,
        bands: Vec::new(),
        series: series.into(),
    };
    Ok(Figure {
        statements: vec![
            Statement::claim(
                "5.3.1",
                "the tagger is never the bottleneck: it is as fast as a link of 10 Gbit/s",
                PACKETS.iter().all(|&packet| slowest(packet) >= 1.0),
                measured,
            )
            .because(
                "A line of 10 Gbit/s brings one of the smallest packets every 77 to 102 ns, and one core takes longer for each. \
                 Nothing pins the programs to one core: each interface is served by the core that its packets come to.",
            ),
            Statement::claim(
                "5.3.1",
                "up to 40 Gbit/s in some cases",
                fastest >= 40.0,
                format!("{fastest:.0} Gbit/s with the largest packets"),
            ),
        ],
        panels: vec![panel],
        notes: vec![
            "Points are means over batches and flows. A scenario's figure is the fastest of many runs, without what the kernel \
             takes to run a program that does nothing. The paper's figure has the rate of a generator and of a line as well; here \
             nothing but the program is measured: the whole of it, with classification and bucket."
                .to_owned(),
            "The kernel hands packets to a program one by one, so a batch is only how many are processed in a row; no more than \
             fit the room before a frame, or the kernel would copy it, which it does not do to packets of an interface."
                .to_owned(),
        ],
        ..Figure::default()
    }
    .with("packets", "Table 3: 64, 776, 1478 B; batches of 1, 16, 32; 1 to 3 flows; 2 to 10 tags"))
}

/// Measures Fig. 12b.
pub(crate) fn fig12b(run: &Run) -> Result<Figure, Failed> {
    // 1 kbit/s takes 2 s a look.
    let is_in = |what: &&Shaping| run.choose(true, what.rate > 1_000);
    let scenarios: Vec<&Shaping> = TABLE_4.iter().filter(is_in).step_by(run.choose(1, 3)).collect();
    let mut shaped = Vec::new();
    for &&what in &scenarios {
        shaped.push((what, shape(what, run.choose(3, 2)).map_err(Failed::broken)?));
    }
    let worst = |of: fn(&Shaped) -> f64| 100.0 * shaped.iter().map(|(_, shaped)| of(shaped)).fold(0.0, f64::max);
    let (rate, burst) = (worst(|shaped| shaped.rate_error), worst(|shaped| shaped.burst_error));
    let columns =
        ["VMs", "flows", "packet (B)", "rate (bit/s)", "burst (bit)", "rate deviation (%)", "burst deviation (%)"];
    let row = |(what, shaped): &(Shaping, Shaped)| {
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
        title: "What passes, against what the rule says".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: shaped.iter().map(row).collect(),
    };
    Ok(Figure {
        statements: vec![
            Statement::within(
                "5.3.2",
                "the rate deviates by around 2 % at most",
                0.0..=2.0,
                &[rate],
                format!("{rate:.3} % at most"),
            ),
            Statement::within(
                "5.3.2",
                "the burst deviates by around 2 % at most",
                0.0..=2.0,
                &[burst],
                format!("{burst:.3} % at most"),
            ),
        ],
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

/// Measures section 5.3.3.
pub(crate) fn resources(_: &Run) -> Result<Figure, Failed> {
    const CONTRACTS: u16 = 3;
    const MEGABYTE: f64 = 1e6;
    let measure = |endpoints: u8| {
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
        title: "What a host's data plane needs".to_owned(),
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
        statements: vec![
            Statement::claim(
                "5.3.3",
                "19.2 MB, plus 0.02 MB for each VM: a very low footprint",
                base <= PAPERS_BASE && each <= PAPERS_VM,
                format!("{base:.1} MB, plus {each:.4} MB"),
            ),
            Statement::not_compared(
                "5.3.3",
                "exactly three cores",
                format!("none is set apart; {cores:.2} cores carry 10 Gbit/s of 776 B packets with six tags"),
            )
            .remark("The programs run where packets come; an idle host spends nothing."),
        ],
        tables: vec![table],
        notes: vec![
            "Memory is what the kernel accounts to programs and maps (`memlock`), with room for 4096 contracts. The agent, a process of \
             its own that no packet waits for, is not in it; nor are the paper's container and its VMs."
                .to_owned(),
        ],
        ..Figure::default()
    })
}
