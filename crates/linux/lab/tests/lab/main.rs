//! Labs on this machine, and real packets through them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod common;
mod fat_tree;
mod guards;
mod hosts;
mod lab;
mod traffic;

fn main() -> std::process::ExitCode {
    if let Ok(name) = std::env::var(lab::CHILD) {
        lab::set_up(&name);
        return std::process::ExitCode::SUCCESS;
    }
    wayleave_repo_checks::run_tests(wayleave_repo_checks::tests![
        fat_tree::contracts_across_a_fat_tree_keep_bounds_and_order_during_floods,
        lab::a_lab_starts_reports_its_state_and_leaves_nothing,
        lab::concurrent_removals_of_a_lab_succeed_once,
        lab::a_second_lab_with_an_existing_name_is_refused,
        lab::endpoints_reach_each_other_and_have_the_planned_mtu,
        lab::programs_of_a_lab_outlive_their_starter_and_end_with_the_lab,
        lab::a_lab_killed_during_its_creation_can_be_removed_completely,
        lab::a_refusal_of_the_kernel_is_reported_and_leaves_nothing,
        traffic::a_contract_keeps_its_bound_during_a_flood_and_needs_its_queue,
        traffic::a_lab_has_the_mtu_and_the_interfaces_of_its_topology,
        traffic::a_contract_keeps_its_bound_with_open_vswitch,
        traffic::every_message_of_an_exchange_is_answered_by_its_number,
    ])
}
