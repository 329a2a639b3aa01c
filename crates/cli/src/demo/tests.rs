//! The demo as a whole, on shorter lists.

use super::*;
use wayleave::NoProgress;
use wayleave_report::page::missing_figures;

fn of(count: u32) -> DemoOptions {
    DemoOptions { count, ..DemoOptions::default() }
}

fn findings(options: DemoOptions) -> Findings {
    demo(&options, &mut NoProgress).unwrap().findings
}

/// Without the times, which differ from run to run.
fn timeless(options: DemoOptions) -> Findings {
    let mut findings = findings(options);
    for contender in &mut findings.contenders {
        (contender.time_to_admit, contender.time_to_refuse) = (None, None);
    }
    findings
}

fn text(findings: &Findings) -> String {
    terminal::render(findings, "report.html", "reservations.svg", Paint::Plain)
}

#[test]
fn the_same_seed_gives_the_same_demo_except_times() {
    let [a, b] = [1, 1].map(|_| timeless(of(300)));
    assert_eq!((text(&a), page::render(&a, None)), (text(&b), page::render(&b, None)));
    assert_ne!(text(&a), text(&timeless(DemoOptions { seed: 2, ..of(300) })));
}

#[test]
fn terminal_and_page_agree_in_every_scenario() {
    for scenario in 1..=8 {
        let findings = findings(DemoOptions { scenario, ..of(150) });
        let page = page::render(&findings, None);
        assert_eq!(missing_figures(&text(&findings), &page), Vec::<String>::new(), "scenario {scenario}");
        // Commands are copied, and not broken into lines.
        let long = |line: &&str| line.chars().count() > 100 && !line.starts_with("  wayleave ");
        assert_eq!(text(&findings).lines().find(long), None, "scenario {scenario}");
    }
}

#[test]
fn every_bound_of_every_contender_is_rechecked_and_holds() {
    let findings = timeless(DemoOptions { scenario: 1, ..of(300) });
    assert_eq!(findings.contenders.len(), 3);
    for contender in &findings.contenders {
        assert_eq!((contender.recheck.flows, contender.recheck.violations.len()), (contender.admitted, 0));
        assert!(contender.recheck.queues > 0, "{}", contender.name);
        assert_eq!(contender.admitted + contender.refused(), 300, "{}", contender.name);
    }
}

#[test]
fn the_terms_of_the_proof_add_up_to_its_bound() {
    let proof = timeless(of(300)).proof.unwrap();
    let budgets = proof.hops.iter().map(|hop| hop.budget).sum::<wayleave_units::Time>();
    assert_eq!((proof.hops.len(), budgets + proof.constants), (6, proof.bound));
    assert!(proof.bound <= proof.ask.deadline);
    assert!(proof.hops.iter().all(|hop| hop.worst_now <= hop.budget && hop.flows > 0));
}

#[test]
fn a_single_request_gives_a_demo_too() {
    let findings = timeless(of(1));
    assert!(findings.contenders.iter().all(|contender| (contender.admitted, contender.refused()) == (1, 0)));
    assert!(text(&findings).contains("Silo: none of 1 request was refused."), "{}", text(&findings));
}

#[test]
fn both_files_are_written_and_well_formed() {
    let directory = std::env::temp_dir().join(format!("wayleave-demo-test-{}", std::process::id()));
    let files = Demo { findings: timeless(of(50)), tenants: None }.write(&directory.join("new")).unwrap();
    let [html, svg] = files.map(|file| std::fs::read_to_string(file).unwrap());
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..roxmltree::ParsingOptions::default() };
    let svg = roxmltree::Document::parse(&svg).unwrap();
    let html = roxmltree::Document::parse_with_options(&html, options).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    let lanes = |document: &roxmltree::Document<'_>| {
        let is_lane = |node: &roxmltree::Node<'_, '_>| node.has_tag_name(("http://www.w3.org/2000/svg", "line"));
        let named = document.descendants().filter(is_lane);
        named.filter(|node| node.first_element_child().is_some_and(|child| child.tag_name().name() == "title")).count()
    };
    // 48 cables, both directions, for two contenders.
    assert_eq!((lanes(&svg), lanes(&html)), (192, 192));
    assert!(svg.root_element().has_attribute("viewBox"));
}

#[test]
fn a_directory_that_cannot_be_created_is_an_error_with_its_name() {
    let failure =
        Demo { findings: timeless(of(1)), tenants: None }.write(Path::new("/dev/null/report")).unwrap_err().to_string();
    assert!(failure.contains("/dev/null/report"), "{failure}");
}
