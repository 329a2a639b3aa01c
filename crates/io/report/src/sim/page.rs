//! `report.html`: one file with everything in it, for light and dark screens, for phones and for paper.

use wayleave_units::plural;

use super::{figures, sweep, tables};
use crate::markup::MarkupElement;
use crate::numbers;
use crate::palette;
use crate::sim::measure::Measure;
use crate::sim::result::RunResult;
use crate::sim::summary::about;
use crate::sim::text;

/// A scenario that is longer is not a text that anybody reads in a report.
const MAX_SOURCE: usize = 200_000;

fn new(name: &'static str) -> MarkupElement {
    MarkupElement::new(name)
}

fn section(title: &str, children: impl IntoIterator<Item = MarkupElement>) -> MarkupElement {
    new("section").child(new("h2").text(title)).children(children)
}

fn paragraph(text: impl Into<String>) -> MarkupElement {
    new("p").text(text)
}

/// The runs of a page: their scenario and the parameters that vary.
#[derive(Clone, Debug)]
pub struct Runs<'a> {
    /// Name of the scenario.
    pub scenario: &'a str,
    /// Name and text of each file.
    pub sources: Vec<(&'a str, &'a str)>,
    /// Paths of the parameters that vary, each once.
    pub parameters: Vec<&'a str>,
    /// Number of runs that were planned.
    pub planned: usize,
    /// `true` if the scenario asks for several runs.
    pub is_sweep: bool,
    /// Hash of the input, in hexadecimal digits.
    pub input_hash: String,
}

/// Returns the page of the results of some runs; `command` is the command that was run.
pub fn render(batch: &Runs<'_>, results: &[RunResult], command: &str) -> String {
    let head = new("head")
        .child(new("meta").with("charset", "utf-8"))
        .child(new("meta").with("name", "viewport").with("content", "width=device-width, initial-scale=1"))
        .child(new("title").text(format!("{}: simulated with Wayleave", batch.scenario)))
        .child(new("style").text(crate::page::STYLE).text(include_str!("sim.css")).text(palette::stylesheet()));
    let (opening, mut sections) = match (results, batch.is_sweep) {
        ([run], false) => (run_opening(run), run_sections(run)),
        _ => (sweep_opening(batch, results), sweep_sections(results)),
    };
    sections.push(input(batch));
    sections.push(provenance(batch, results, command));
    let header = new("header").child(new("h1").text(batch.scenario)).children(opening);
    let body = new("body")
        .child(header)
        .child(new("main").children(sections))
        .child(new("script").text(include_str!("../page.js")));
    format!("<!DOCTYPE html>\n{}\n", new("html").with("lang", "en").child(head).child(body))
}

fn headlines(tiles: impl IntoIterator<Item = (String, String)>) -> MarkupElement {
    let tile =
        |(figure, text): (String, String)| new("div").child(new("strong").text(figure)).child(new("span").text(text));
    new("div").class("headlines").children(tiles.into_iter().map(tile))
}

fn partial(text: impl Into<String>) -> MarkupElement {
    paragraph(text).class("partial")
}

fn run_opening(run: &RunResult) -> Vec<MarkupElement> {
    let mut parts = vec![paragraph(format!("{}.", about(run)))];
    if !run.is_complete() {
        parts.push(partial(
            "This run was stopped before its end. The results are partial and cover the time until then.",
        ));
    }
    parts.push(headlines(run_tiles(run)));
    parts
}

/// The numbers to remember.
fn run_tiles(run: &RunResult) -> Vec<(String, String)> {
    let sum = |of: fn(&crate::sim::result::TrafficResult) -> u64| run.traffic.iter().map(of).sum::<u64>();
    let (sent, lost) = (sum(|traffic| traffic.sent), sum(|traffic| traffic.drops));
    let goodput = text::rate(sum(|traffic| traffic.goodput_bps) as f64);
    let lost_text = format!("{} of {} lost", numbers::count(lost), numbers::counted(sent, "packet"));
    let mut tiles = vec![(goodput, "total goodput".to_owned()), (tables::loss_rate(lost, sent), lost_text)];
    let slowest = run.traffic.iter().filter_map(|traffic| Some((Measure::TailTime.of(traffic)?, traffic)));
    if let Some((time, traffic)) = slowest.max_by(|one, other| one.0.total_cmp(&other.0)) {
        let what = if traffic.completion_ps.is_some() { "completion time" } else { "packet delay" };
        tiles.push((text::mean_time(time), format!("p99 {what}, {}", traffic.name)));
    }
    if let Some(queue) = run.queues.iter().max_by_key(|queue| queue.peak_bytes) {
        tiles.push((text::size(queue.peak_bytes), format!("largest queue depth, at {}", queue.link)));
    }
    tiles
}

fn plots(figures: impl IntoIterator<Item = MarkupElement>) -> Option<MarkupElement> {
    let figures: Vec<MarkupElement> = figures.into_iter().map(|figure| new("figure").child(figure)).collect();
    (!figures.is_empty()).then(|| new("div").class("plots").children(figures))
}

fn run_sections(run: &RunResult) -> Vec<MarkupElement> {
    let how_exact = "Means, minima and maxima are exact. Percentiles are rounded up, by less than 6.25 %.";
    let mut sections = vec![section(
        "Traffic and delays",
        tables::flows(run)
            .into_iter()
            .chain(tables::sizes(run))
            .chain(tables::chains(run))
            .chain(tables::round_trips(run))
            .chain([tables::packets(run)])
            .chain(tables::guarantees(run))
            .chain(tables::divisions(run))
            .chain([paragraph(how_exact).class("quiet")]),
    )];
    let times = [figures::completions(run), figures::delays(run)].into_iter().flatten();
    sections.extend(plots(times.chain(figures::slowdowns(run))).map(|plots| {
        let slowdown =
            "The slowdown of a flow is its completion time divided by its completion time in an empty network.";
        let about = (!figures::slowdowns(run).is_empty()).then(|| paragraph(slowdown).class("quiet"));
        section("Distributions", [plots].into_iter().chain(about))
    }));
    let over_time = [figures::throughput(run), figures::round_trips(run), figures::missed(run), figures::backlogs(run)]
        .into_iter()
        .flatten();
    sections.extend(plots(over_time).map(|plots| section("Over time", [plots])));
    sections.push(section("Queues", plots(figures::waits(run)).into_iter().chain([tables::queues(run)])));
    sections.push(section("Links", plots(figures::links(run)).into_iter().chain([tables::tiers(run)])));
    sections
}

fn sweep_opening(batch: &Runs<'_>, results: &[RunResult]) -> Vec<MarkupElement> {
    let complete = results.iter().filter(|run| run.is_complete()).count();
    let what = if batch.parameters.is_empty() { "the seed".to_owned() } else { batch.parameters.join(", ") };
    let all = batch.planned;
    let mut parts = vec![paragraph(format!("A sweep of {} over {what}.", numbers::counted(all, "run")))];
    if complete < all {
        parts.push(partial(format!(
            "These results are partial: {complete} of {} complete.",
            numbers::counted(all, "run")
        )));
    }
    let hops: u64 = results.iter().map(|run| run.hops).sum();
    let simulated: u64 = results.iter().map(|run| run.simulated_ns).fold(0, u64::saturating_add);
    let mut seeds: Vec<u64> = results.iter().map(|run| run.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    parts.push(headlines([
        (numbers::count(complete), format!("complete of {}", numbers::counted(all, "run"))),
        (numbers::count(seeds.len()), plural(&seeds.len(), "different seed").into_owned()),
        (text::time(simulated.saturating_mul(1_000)), "total simulated time".to_owned()),
        (numbers::count(hops), "packet transmissions on links".to_owned()),
    ]));
    parts
}

fn sweep_sections(results: &[RunResult]) -> Vec<MarkupElement> {
    let mut sections = Vec::new();
    let left_out = sweep::lines_left_out(results);
    let note = (left_out > 0)
        .then(|| paragraph(format!("Not drawn: {}; the table lists all.", numbers::counted(left_out, "more line"))));
    for (name, figures) in sweep::figures(results) {
        sections.extend(plots(figures).map(|plots| section(&name, [plots])));
    }
    let about = "Dots are means over the seeds; bars range from the lowest to the highest seed.";
    if let Some(last) = sections.last_mut() {
        *last = last.clone().child(paragraph(about).class("quiet")).children(note);
    }
    sections.push(section("By parameters", [sweep::choices(results)]));
    sections.push(section("Every run", [sweep::runs(results)]));
    sections
}

/// The file that was run, folded.
fn input(batch: &Runs<'_>) -> MarkupElement {
    let fold = |name: &str, text: &str| {
        let code = match text.len() <= MAX_SOURCE {
            true => new("pre").child(new("code").text(text)),
            false => paragraph(format!("{} of text are not shown here.", text::size(text.len() as u64))),
        };
        new("details").child(new("summary").child(new("code").text(name))).child(code)
    };
    section("The scenario", batch.sources.iter().map(|(name, text)| fold(name, text)))
}

/// Returns the version, the inputs and the command that produced the page.
fn provenance(batch: &Runs<'_>, results: &[RunResult], command: &str) -> MarkupElement {
    let mut list = new("dl");
    let mut add = |name: &str, value: MarkupElement| {
        let parts = [new("dt").text(name), new("dd").child(value)];
        list = std::mem::replace(&mut list, new("dl")).children(parts);
    };
    add("version", new("span").text(format!("Wayleave {}", env!("CARGO_PKG_VERSION"))));
    add("input hash", new("code").text(&batch.input_hash));
    if let [run] = results {
        add("seed", new("span").text(run.seed.to_string()));
        add("packet-hops", new("span").text(numbers::count(run.hops)));
        add("events", new("span").text(numbers::count(run.events)));
        add("maximum packets in memory", new("span").text(numbers::count(run.peak_packets)));
    }
    add("command", new("code").text(command));
    let about = "Runs with the same version, input and seed are bit-identical on any number of threads. The JSON result of each run is in runs/, next to this file, with the command that repeats it.";
    let replays = results.iter().map(|run| new("li").child(new("code").text(&run.replay)));
    let folded =
        new("details").child(new("summary").text("Commands that repeat each run")).child(new("ul").children(replays));
    section("Provenance", [list, paragraph(about), folded])
}
