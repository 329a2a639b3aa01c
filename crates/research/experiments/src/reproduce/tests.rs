//! Files of a figure that is measured here: they are well formed and match the data.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use crate::{Effort, Run, find};
use wayleave_explain::table::TableLayout;

use super::{
    Measured, MeasuredBy, ReproduceOptions, Reproduced, Totals, csv, document, figures, markdown, page, png, reproduce,
    terminal,
};
use wayleave::{Cancel, ProgressStep, Watch};

fn measured(id: &str, threads: usize) -> Measured {
    let entry = find(id).unwrap();
    let run = Run::new(Effort::Quick).with_runs(NonZeroUsize::new(2)).with_threads(NonZeroUsize::new(threads).unwrap());
    let figure = (entry.measure)(&run).unwrap();
    let command = format!("wayleave reproduce {id} --quick --seeds 2");
    Measured { entry, figure, effort: "quick".to_owned(), command, origin: MeasuredBy::default() }
}

/// A run of one figure, in which two others could not be measured.
fn reproduced(measured: Measured) -> Reproduced {
    let missing = |id, why: &str| vec![(find(id).unwrap(), why.to_owned())];
    Reproduced {
        figures: vec![measured],
        left_out: missing("chameleon-fig14", "needs root"),
        failed: missing("parley-fig9", "out of luck"),
        cancelled: None,
    }
}

#[test]
fn the_files_of_a_figure_do_not_depend_on_the_number_of_threads() {
    let of = |threads| {
        let measured = measured("chameleon-fig9a", threads);
        (
            document::of(&measured).unwrap(),
            csv::runs(&measured.figure),
            csv::summaries(&measured.figure),
            measured.picture(),
        )
    };
    assert_eq!(of(1), of(2));
}

#[test]
fn a_picture_is_well_formed_and_becomes_pixels() {
    for id in ["sec2-examples", "chameleon-fig9a"] {
        let measured = measured(id, 2);
        let svg = measured.picture();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let texts: String = document.descendants().filter_map(|node| node.text()).collect();
        assert!(texts.contains(measured.entry.title) && texts.contains(&measured.input_hash()), "{id}");
        let png = png::of(&svg).unwrap();
        assert_eq!(png.is_some(), png::IS_BUILT_IN);
        if let Some(png) = png {
            // The signature of PNG, and more than a white sheet.
            assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.len() > 20_000, "{id}: {} bytes", png.len());
        }
        // The page links only to files that are written.
        assert_eq!(page::render(&reproduced(measured), "").contains(&format!("{id}.png")), png::IS_BUILT_IN);
    }
}

#[test]
fn every_row_of_a_csv_has_as_many_fields_as_its_head() {
    let measured = measured("chameleon-fig9a", 2);
    for text in [csv::runs(&measured.figure), csv::summaries(&measured.figure)] {
        let fields = |line: &str| {
            // Commas between quotes part nothing.
            line.split('"').step_by(2).map(|part| part.matches(',').count()).sum::<usize>() + 1
        };
        let head = fields(text.lines().next().unwrap());
        assert!(text.lines().count() > 500);
        assert!(text.lines().all(|line| fields(line) == head), "{head}");
    }
}

#[test]
fn the_page_and_the_terminal_show_every_statement_with_its_verdict() {
    let reproduced = reproduced(measured("sec2-examples", 1));
    let page = page::render(&reproduced, "wayleave reproduce sec2-examples");
    let mut printed = Vec::new();
    terminal::write(&mut printed, &reproduced.figures[0], TableLayout::default()).unwrap();
    let printed = String::from_utf8(printed).unwrap();
    let statements = &reproduced.figures[0].figure.statements;
    assert!(statements.len() >= 6);
    for statement in statements {
        assert!(page.contains(&statement.section.replace('&', "&amp;")), "{statement:?}");
        assert!(printed.contains(&statement.section), "{statement:?}");
    }
    assert!(printed.matches("holds").count() >= statements.len());
    roxmltree::Document::parse(page.trim_start_matches("<!DOCTYPE html>")).unwrap();
}

#[test]
fn a_run_ends_with_the_number_of_statements_per_verdict() {
    let reproduced = reproduced(measured("sec2-examples", 1));
    let statements = reproduced.figures[0].figure.statements.len();
    let mut printed = Vec::new();
    terminal::write_totals(&mut printed, &Totals::of(&reproduced), TableLayout::default()).unwrap();
    let printed = String::from_utf8(printed).unwrap();
    let page = page::render(&reproduced, "");
    for text in [&printed, &page] {
        assert!(text.contains("partly explained") && text.contains(&statements.to_string()), "{text}");
        assert!(text.contains("chameleon-fig14 was left out: needs root"), "{text}");
        assert!(text.contains("parley-fig9 failed: out of luck"), "{text}");
    }
    let mut json = Vec::new();
    reproduced.write_json(&mut json).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["totals"]["total"]["holds"], statements);
    assert_eq!(json["totals"]["failed"][0]["why"], "out of luck");
    assert_eq!(json["figures"][0]["figure"], "sec2-examples");
}

#[test]
fn written_results_are_read_back() {
    for id in ["sec2-examples", "chameleon-fig9a"] {
        let before = measured(id, 2);
        let after = document::read(&document::of(&before).unwrap()).unwrap();
        assert_eq!(before.figure.statements, after.figure.statements);
        // The last digit of a fraction may change; what is shown does not.
        assert!(markdown::figure(&before) == markdown::figure(&after), "{id}");
    }
}

/// Catches: totals and a page of a stopped command that claim to have all figures.
#[test]
fn totals_and_page_of_a_stopped_command_name_the_missing_figures() {
    let folder = std::env::temp_dir().join(format!("wayleave-stopped-{}", std::process::id()));
    let cancel = Cancel::default();
    let mut progress = |step: ProgressStep<'_>| {
        if matches!(step, ProgressStep::Figure { index: 1, .. }) {
            cancel.cancel();
        }
    };
    let names = ["sec2-examples", "loko-scalability", "loko-burst"].map(str::to_owned);
    let options = ReproduceOptions::default().with_seeds(NonZeroUsize::MIN).with_folder(folder.clone());
    let stopped = reproduce(&figures(&names).unwrap(), options, &mut Watch::new(&mut progress, &cancel)).unwrap();
    assert!(stopped.cancelled.is_some() && stopped.figures.len() == 1);
    stopped.write_page(&folder, "").unwrap();
    let totals = fs::read_to_string(folder.join("totals.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&totals).unwrap();
    let missing = serde_json::json!([
        { "figure": "loko-scalability", "why": "stopped before its end" },
        { "figure": "loko-burst", "why": "not begun" },
    ]);
    assert_eq!(json["stopped"], missing);
    let page = fs::read_to_string(folder.join("index.html")).unwrap();
    assert!(page.contains("loko-burst is missing because the command was stopped: not begun"), "{page}");
    // The pages of figures give the reason too.
    let reasons: super::totals::Reasons = serde_json::from_str(&totals).unwrap();
    assert_eq!(reasons.of(find("loko-scalability").unwrap()), "Not complete: stopped before its end.");
    fs::remove_dir_all(folder).unwrap();
}

/// Measures a figure with one seed, with its runs kept in a folder if one is given; stops after `stop_after` runs.
fn resumed(resume: Option<&Path>, stop_after: usize) -> Reproduced {
    let cancel = Cancel::default();
    let stop = cancel.clone();
    let mut progress = move |step: ProgressStep<'_>| {
        if matches!(step, ProgressStep::Figure { done, .. } if done >= stop_after) {
            stop.cancel();
        }
    };
    let one = NonZeroUsize::MIN;
    let options = ReproduceOptions::default().with_seeds(one).with_resume(resume.map(Path::to_owned)).with_threads(one);
    let watch = &mut Watch::new(&mut progress, &cancel);
    reproduce(&figures(&["ufab-fig4".to_owned()]).unwrap(), options, watch).unwrap()
}

#[test]
fn an_interrupted_figure_resumes_to_the_same_bytes() {
    let folder = std::env::temp_dir().join(format!("wayleave-resume-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let bytes = |reproduced: &Reproduced| {
        let mut json = Vec::new();
        reproduced.write_json(&mut json).unwrap();
        String::from_utf8(json).unwrap()
    };
    let whole = resumed(None, usize::MAX);
    let interrupted = resumed(Some(&folder), 2);
    let cancelled = interrupted.cancelled.unwrap();
    assert_eq!((cancelled.entry.id, cancelled.kept_runs, interrupted.figures.len()), ("ufab-fig4", 2, 0));
    let kept = || {
        let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
        let mut files: Vec<(std::path::PathBuf, String)> =
            files.map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect();
        files.sort();
        files
    };
    let first = kept();
    assert_eq!(first.len(), 2);
    let rest = resumed(Some(&folder), usize::MAX);
    assert!(bytes(&rest) == bytes(&whole));
    // Nothing was measured twice, and now all is there: what follows measures nothing.
    let all = kept();
    assert!(all.len() > first.len() && first.iter().all(|file| all.contains(file)));
    assert!(bytes(&resumed(Some(&folder), usize::MAX)) == bytes(&whole) && kept() == all);
    // A file that was changed is an error of this figure.
    let (path, text) = &all[0];
    fs::write(path, text.replacen("\"result\": \"", "\"result\": \"9", 1)).unwrap();
    let failed = resumed(Some(&folder), usize::MAX).failed;
    assert!(failed[0].1.contains("is damaged"), "{failed:?}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_number_of_servers_is_accepted_only_by_figures_with_such_a_network() {
    let refused = |figure: &str, servers| {
        let options = ReproduceOptions::default().with_servers(servers);
        let chosen = figures(&[figure.to_owned()]).unwrap();
        let cancel = Cancel::default();
        cancel.cancel();
        reproduce(&chosen, options, &mut Watch::new(&mut |_: ProgressStep<'_>| (), &cancel))
            .err()
            .map(|error| error.to_string())
    };
    assert!(refused("ufab-fig4", 128).unwrap().contains("ufab-fig4 has no network of 128 servers"));
    for servers in [0, 16, 100, 544] {
        assert!(refused("ufab-fig17", servers).unwrap().contains("32, 64, 96"), "{servers}");
    }
}
