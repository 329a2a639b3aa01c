//! Figure of the queues: for each contender and priority the used share of the delay budget, and the number of flows.

use super::findings::{Contender, Findings, LevelRole, PortKind, QueueLevel};
use super::markup::MarkupElement;
use super::numbers;
use super::scale::{ShareOfWhole, round_up};
use super::svg::{self, Anchor, Area, FigureBackground, Position};

const PANEL: f64 = 392.0;
const GAP: f64 = 32.0;
const HEAD: f64 = 74.0;
const ROW: f64 = 27.0;
const BAR: f64 = 13.0;
/// Columns: the budget's right end, the two columns of bars with their widths, and the right end of each bar's
/// number.
const BUDGET: f64 = 152.0;
const USED: (f64, f64) = (168.0, 68.0);
const USED_END: f64 = 292.0;
const FLOWS: (f64, f64) = (310.0, 44.0);
/// The steps of colour of the fullest queue, of the mean, and of flows.
const PEAK_STEP: usize = 0;
const MEAN_STEP: usize = 3;

/// The figure.
pub fn draw(findings: &Findings) -> MarkupElement {
    let contenders = &findings.contenders;
    let rows = contenders.iter().map(|contender| contender.levels.len()).max().unwrap_or(0) as f64;
    let width = contenders.len() as f64 * (PANEL + GAP) - GAP;
    let height = HEAD + rows * ROW + 42.0;
    let title = "Queue usage by priority";
    let figure = svg::figure("queues", (width, height), FigureBackground::Page, title, &description(findings));
    let axis = round_up(contenders.iter().flat_map(|contender| &contender.levels).map(flows).max().unwrap_or(1) as u64);
    let at = |x: f64, y: f64| Position { x, y };
    let panels = contenders
        .iter()
        .enumerate()
        .map(|(index, contender)| svg::moved(at(index as f64 * (PANEL + GAP), HEAD), panel(contender, axis)));
    figure.children(panels).child(svg::moved(at(0.0, height - 14.0), legend()))
}

/// Returns the explanation of the bars.
fn legend() -> Vec<MarkupElement> {
    let at = |x| Position { x, y: 0.0 };
    let swatch = |x, step: usize| {
        svg::rect(Area { at: Position { x, y: -BAR + 3.0 }, width: 26.0, height: BAR }, &format!("step{step}"))
    };
    let note = "A flow counts once in each priority on its route.";
    vec![
        swatch(0.0, PEAK_STEP),
        svg::text(at(34.0), Anchor::Start, "quiet", "fullest queue of this priority (with its value)"),
        swatch(340.0, MEAN_STEP),
        svg::text(at(374.0), Anchor::Start, "quiet", "mean over all links"),
        svg::text(at(540.0), Anchor::Start, "quiet", note),
    ]
}

fn flows(level: &QueueLevel) -> usize {
    if let LevelRole::Contracts { flows, .. } = level.role { flows } else { 0 }
}

fn description(findings: &Findings) -> String {
    let of = |contender: &Contender| {
        let used = contender.levels.iter().filter_map(|level| match &level.role {
            LevelRole::Contracts { used_most, flows, .. } => {
                let used = numbers::percent(*used_most);
                Some(format!("{}: {used} used, {}", name(level), numbers::counted(*flows, "flow")))
            }
            LevelRole::BestEffort | LevelRole::Unused => None,
        });
        format!("{}: {}.", contender.name, used.collect::<Vec<_>>().join("; "))
    };
    let sentences: Vec<String> = findings.contenders.iter().map(of).collect();
    format!("Bars for each scheme and priority. {}", sentences.join(" "))
}

fn name(level: &QueueLevel) -> String {
    match level.place {
        PortKind::Host => "host".to_owned(),
        PortKind::Switch => format!("switch, queue {}", level.queue),
    }
}

fn panel(contender: &Contender, axis: u64) -> Vec<MarkupElement> {
    let at = |x, y| Position { x, y };
    let heading = |x, text: &str| svg::text(at(x, -18.0), Anchor::Start, "label quiet", text);
    let bottom = contender.levels.len() as f64 * ROW;
    let mut parts = vec![
        svg::text(at(0.0, -46.0), Anchor::Start, "head", contender.name),
        heading(0.0, "port"),
        svg::text(at(BUDGET, -18.0), Anchor::End, "label quiet", "delay budget"),
        heading(USED.0, "budget used"),
        heading(FLOWS.0, "flows"),
        svg::line(at(0.0, -8.0), at(PANEL, -8.0), 1.0, "rule"),
        svg::line(at(0.0, bottom), at(PANEL, bottom), 1.0, "rule"),
    ];
    for (index, level) in contender.levels.iter().enumerate() {
        parts.push(svg::moved(at(0.0, index as f64 * ROW), row(level, axis)));
    }
    parts
}

fn row(level: &QueueLevel, axis: u64) -> Vec<MarkupElement> {
    let at = |x| Position { x, y: ROW / 2.0 + 4.0 };
    let label = svg::text(at(0.0), Anchor::Start, "", name(level));
    let remark = |text: &str| svg::text(at(USED.0), Anchor::Start, "quiet", text);
    match &level.role {
        LevelRole::BestEffort => vec![label, remark("for traffic without a contract")],
        LevelRole::Unused => vec![label, remark("not used")],
        &LevelRole::Contracts { budget, used_most, used_mean, flows } => {
            let share_of_axis = ShareOfWhole::of(flows as f64, axis as f64);
            vec![
                label,
                svg::text(at(BUDGET), Anchor::End, "", format!("{budget:#}")),
                bar(USED, ShareOfWhole::of(1.0, 1.0), "pipe"),
                bar(USED, used_most, &format!("step{PEAK_STEP}")),
                bar(USED, used_mean, &format!("step{MEAN_STEP}")),
                svg::text(at(USED_END), Anchor::End, "", numbers::percent(used_most)),
                bar(FLOWS, ShareOfWhole::of(1.0, 1.0), "pipe"),
                bar(FLOWS, share_of_axis, &format!("step{MEAN_STEP}")),
                svg::text(at(PANEL), Anchor::End, "", numbers::count(flows)),
            ]
        }
    }
}

fn bar((x, width): (f64, f64), share: ShareOfWhole, class: &str) -> MarkupElement {
    let at = Position { x, y: (ROW - BAR) / 2.0 };
    svg::rect(Area { at, width: share.length(width), height: BAR }, class)
}
