//! The picture of the groups of crates and of the arrows between them: `docs/architecture.svg`, written from the manifests.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::arrows::{ARROWS, Manifest, manifests};
use crate::repository::root;

const FILE: &str = "docs/architecture.svg";

/// Groups in the order of their arrows, the lowest first: name, folder below `crates`, and description.
const GROUPS: &[(&str, &str, &str)] = &[
    ("core", "core", "quantities, networks, contracts, calculus"),
    ("admission", "admission", "schemes, their roles and their ledger"),
    ("sim", "sim", "the packet-level simulator"),
    ("check", "check", "independent checks of decisions"),
    ("io", "io", "files, explanations, reports"),
    ("control", "control", "the controller, its server, storage and client"),
    ("linux", "linux", "agents, brokers and data planes"),
    ("facade", "wayleave", "the library"),
    ("research", "research", "figures of the publications"),
    ("command", "cli", "the command wayleave"),
];

/// Height of a row and distance between two rows, in pixels.
const ROW: usize = 58;
const STEP: usize = 72;
const TOP: usize = 46;
const LEFT: usize = 16;
const WIDTH: usize = 620;
/// Distance between two lanes.
const LANE: usize = 26;
const COLOURS: [&str; 9] =
    ["#1f6feb", "#b35900", "#1a7f37", "#8250df", "#bf3989", "#6e7781", "#0a7ea4", "#9a6700", "#cf222e"];

/// Crates of a group, in the order of the table of arrows.
fn crates_of<'m>(folder: &str, manifests: &'m [Manifest]) -> Vec<&'m Manifest> {
    let place = |name: &str| ARROWS.iter().position(|(known, _)| *known == name);
    let mut found: Vec<&Manifest> = manifests.iter().filter(|manifest| manifest.group == folder).collect();
    found.sort_by_key(|manifest| place(&manifest.name));
    found
}

/// Returns the arrows between groups, by their places in [`GROUPS`]: the user and the used.
fn group_arrows(manifests: &[Manifest]) -> BTreeSet<(usize, usize)> {
    let group = |name: &str| {
        let manifest = manifests.iter().find(|manifest| manifest.name == name)?;
        GROUPS.iter().position(|(_, folder, _)| *folder == manifest.group)
    };
    let arrows = manifests.iter().flat_map(|manifest| manifest.dependencies.iter().map(move |other| (manifest, other)));
    let arrows = arrows.filter_map(|(manifest, other)| Some((group(&manifest.name)?, group(other)?)));
    arrows.filter(|(user, used)| user != used).collect()
}

/// The top of a group's row; the highest group is drawn first.
fn top(group: usize) -> usize {
    TOP + (GROUPS.len() - 1 - group) * STEP
}

/// Draws the picture. Each used group has a vertical lane: users connect to it with a dot, and it ends at the group with an arrow.
fn draw(manifests: &[Manifest]) -> String {
    let arrows = group_arrows(manifests);
    let lane = |used: usize| LEFT + WIDTH + 24 + (GROUPS.len() - 2 - used) * LANE;
    let (width, height) = (lane(0) + 28, top(0) + ROW + 16);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\">\n<title>Groups of crates and the arrows between them</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"28\" font-size=\"14\" fill=\"#24292f\">A group with a dot on a line uses the group at which \
         the line ends with an arrow.</text>\n"
    );
    for (used, colour) in COLOURS.iter().enumerate() {
        let users: Vec<usize> = arrows.iter().filter(|(_, other)| *other == used).map(|(user, _)| *user).collect();
        let Some(&highest) = users.iter().max() else { continue };
        let (x, from, to, edge) = (lane(used), top(highest) + 18, top(used) + ROW - 16, LEFT + WIDTH);
        let tip = edge + 9;
        let _ = writeln!(
            svg,
            "<path d=\"M{x} {from}V{to}H{tip}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n\
             <path d=\"M{edge} {to}l10 -5v10z\" fill=\"{colour}\"/>"
        );
    }
    for user in 0..GROUPS.len() {
        let used: Vec<usize> = arrows.iter().filter(|(other, _)| *other == user).map(|(_, used)| *used).collect();
        let Some(&lowest) = used.iter().min() else { continue };
        let (y, edge, end) = (top(user) + 18, LEFT + WIDTH, lane(lowest));
        let _ = writeln!(svg, "<path d=\"M{edge} {y}H{end}\" stroke=\"#8c959f\" stroke-width=\"1\"/>");
        for used in used {
            let _ = writeln!(svg, "<circle cx=\"{}\" cy=\"{y}\" r=\"4.5\" fill=\"{}\"/>", lane(used), COLOURS[used]);
        }
    }
    for (group, (name, folder, description)) in GROUPS.iter().enumerate() {
        let y = top(group);
        let (heading, below) = (y + 22, y + 44);
        let _ = writeln!(
            svg,
            "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{ROW}\" rx=\"6\" fill=\"#f6f8fa\" stroke=\"#57606a\"/>\n\
             <text x=\"28\" y=\"{heading}\" font-size=\"16\" fill=\"#24292f\"><tspan font-weight=\"bold\">{name}</tspan>\
             <tspan dx=\"12\" font-size=\"13\" fill=\"#57606a\">{description}</tspan></text>"
        );
        let mut x = 28;
        for manifest in crates_of(folder, manifests) {
            let width = manifest.name.len() * 8 + 18;
            let (box_top, middle) = (below - 15, x + width / 2);
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{box_top}\" width=\"{width}\" height=\"22\" rx=\"4\" fill=\"#ffffff\" stroke=\"#afb8c1\"/>\n\
                 <text x=\"{middle}\" y=\"{below}\" font-size=\"13\" font-family=\"monospace\" text-anchor=\"middle\" \
                 fill=\"#24292f\">{}</text>",
                manifest.name
            );
            x += width + 8;
        }
    }
    svg + "</svg>\n"
}

#[test]
fn the_committed_picture_shows_the_manifests() {
    let drawn = draw(&manifests());
    let path = root().join(FILE);
    if std::env::var_os("WAYLEAVE_UPDATE").is_some() {
        std::fs::write(path, drawn).unwrap();
        return;
    }
    let remedy = "`WAYLEAVE_UPDATE=1 cargo test -p wayleave-repo-checks picture::` writes it again";
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == drawn, "{FILE} differs from the manifests: {remedy}");
}

#[test]
fn groups_depend_in_their_order_and_hold_all_crates() {
    let manifests = manifests();
    for (user, used) in group_arrows(&manifests) {
        assert!(used < user, "group {} uses {}, which stands above it", GROUPS[user].0, GROUPS[used].0);
    }
    let places = |name: &str| {
        let manifest = manifests.iter().find(|manifest| manifest.name == name)?;
        GROUPS.iter().position(|(_, folder, _)| *folder == manifest.group)
    };
    let order: Vec<Option<usize>> =
        ARROWS.iter().map(|(name, _)| *name).filter(|name| *name != "repo-checks").map(places).collect();
    assert!(!order.contains(&None), "a crate is in no group: {order:?}");
    assert!(order.is_sorted(), "rows of ARROWS are not in the order of the groups: {order:?}");
}

#[test]
fn the_map_names_every_crate_and_fits_two_pages() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for manifest in manifests() {
        assert!(map.contains(&format!("`{}`", manifest.name)), "ARCHITECTURE.md does not name {}", manifest.name);
    }
    assert!(map.contains(FILE), "ARCHITECTURE.md does not show {FILE}");
    let (lines, words) = (map.lines().count(), map.split_whitespace().count());
    assert!(
        lines <= 90 && words <= 1_000,
        "ARCHITECTURE.md has {lines} lines and {words} words, above the limits of 90 and 1,000"
    );
}

#[test]
fn a_new_arrow_or_a_new_crate_changes_the_picture() {
    let manifest = |name: &str, group: &str, dependencies: &[&str]| Manifest {
        name: name.to_owned(),
        group: group.to_owned(),
        dependencies: dependencies.iter().map(|&other| other.to_owned()).collect(),
        dev_dependencies: Vec::new(),
    };
    let (units, sim) = (manifest("units", "core", &[]), manifest("sim", "sim", &[]));
    let before = draw(&[manifest("units", "core", &[]), manifest("sim", "sim", &[])]);
    assert!(!before.contains("<circle"));
    let arrow = draw(&[manifest("units", "core", &[]), manifest("sim", "sim", &["units"])]);
    assert!(arrow.contains("<circle") && arrow.contains(COLOURS[0]));
    let more = draw(&[units, sim, manifest("stack", "sim", &[])]);
    assert!(more.contains(">stack</text>") && !before.contains(">stack</text>"));
}
