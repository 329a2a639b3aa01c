//! Labs on this machine, and real packets through them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod common;
mod fat_tree;
mod hosts;
mod lab;
mod traffic;

fn main() -> std::process::ExitCode {
    wayleave_repo_checks::run_tests(wayleave_repo_checks::tests![
        fat_tree::contracts_across_a_fat_tree_keep_their_bounds_and_order_beside_floods,
        lab::a_lab_comes_up_knows_itself_and_leaves_nothing,
        lab::a_lab_that_several_take_away_is_taken_away_by_one_and_unknown_to_the_others,
        lab::a_second_lab_of_the_same_name_is_refused_and_one_of_another_name_is_not,
        lab::endpoints_know_one_another_and_have_the_size_of_packets_that_was_planned,
        lab::programs_of_a_lab_outlive_their_starter_and_end_with_the_lab,
        lab::child_that_sets_up_a_lab,
        lab::a_lab_whose_making_is_killed_can_be_taken_away_whole,
        lab::what_the_kernel_refuses_is_said_and_nothing_stays,
        traffic::a_contract_keeps_its_bound_beside_a_flood_and_would_not_without_its_queue,
        traffic::a_lab_has_the_mtu_and_the_interfaces_of_its_topology,
        traffic::a_contract_keeps_its_bound_where_open_vswitch_forwards,
        traffic::every_message_of_an_exchange_is_answered_by_its_number,
    ])
}
