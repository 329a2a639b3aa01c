//! Tests that need more than every machine has: root, node, Chromium or Python. Those that leave something out are reported as ignored.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod agent;
mod dashboard;
mod proof;
#[path = "../cli/command/run.rs"]
mod run;

fn main() -> std::process::ExitCode {
    wayleave_repo_checks::run_tests(wayleave_repo_checks::tests![
        agent::no_packet_passes_unshaped_while_agents_are_killed_and_controllers_down,
        dashboard::the_files_in_the_binary_are_those_of_the_sources,
        dashboard::a_tour_through_the_dashboard_finds_no_faults,
        proof::proofs_of_all_models_pass_an_independent_checker,
        proof::the_checker_lists_unproven_statements,
        proof::every_forgery_of_a_proof_is_refused,
        proof::text_that_is_no_proof_is_refused,
        proof::loads_on_a_line_are_certified_by_covers_of_the_smaller_side,
        proof::a_scheme_without_queues_proves_nothing,
        proof::a_comparison_of_plans_lists_changed_admissions_and_exits_with_six,
        proof::contracts_keep_jobs_apart,
    ])
}
