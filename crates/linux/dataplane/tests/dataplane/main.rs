//! The eBPF programs and queues in this kernel, and against their models.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod changes;
mod differential;
mod forwarding;
mod holding;
mod host;
mod interfaces;
mod measures;
mod model;
mod names;
mod neighbours;
mod objects;
mod ovs;
mod priorities;
mod registers;
mod switch;
mod world;

fn main() -> std::process::ExitCode {
    wayleave_repo_checks::run_tests(wayleave_repo_checks::tests![
        changes::a_rule_that_changes_under_traffic_is_a_whole_rule_and_fills_no_bucket,
        differential::endpoints_do_what_the_models_say,
        differential::no_malformed_frame_reaches_a_guaranteed_queue,
        differential::uplinks_do_what_the_models_say,
        differential::numbers_that_are_skipped_in_the_second_round_are_not_taken_for_those_of_the_first,
        forwarding::frames_follow_their_outer_tag_and_lose_it,
        forwarding::a_switch_notes_the_packets_that_hosts_note_whatever_tags_they_have,
        holding::what_exceeds_a_contract_waits_and_all_of_it_arrives,
        holding::what_leaves_stays_below_the_admitted_curve,
        holding::no_more_waits_than_the_queue_holds_and_the_longest_wait_is_told,
        holding::a_contract_that_is_removed_takes_along_what_waits,
        holding::what_is_lost_with_its_class_is_not_waited_for,
        holding::tcp_with_its_super_frames_waits_and_hardly_loses_a_packet,
        holding::tcp_reaches_the_rate_of_its_contract,
        holding::a_thousand_contracts_have_a_class_each,
        holding::a_thousand_contracts_have_classes_as_tc_would_make_them_and_the_last_is_shaped_as_the_first,
        holding::what_waits_leaves_in_the_order_in_which_it_came,
        holding::a_contract_without_one_of_its_classes_is_found,
        holding::super_frames_are_cut_into_the_frames_of_a_large_mtu,
        host::a_packet_of_a_contract_is_tagged_charged_and_sent_to_its_uplink,
        host::what_is_installed_is_found_again_and_its_bucket_keeps_its_level,
        host::the_verifier_is_done_with_the_programs_after_few_steps,
        host::a_second_owner_is_refused_until_the_first_is_gone,
        host::nothing_is_left_after_tear_down_and_half_made_pins_are_no_obstacle,
        host::pins_of_another_version_are_left_alone_until_they_are_removed,
        host::what_cannot_be_done_is_refused_and_changes_nothing,
        host::of_contracts_for_the_same_packets_the_oldest_counts_and_the_next_follows,
        host::an_endpoint_that_goes_takes_its_address_along,
        host::delays_are_measured_where_both_ends_share_a_kernel,
        host::both_ends_choose_the_same_packets_whatever_is_changed_on_the_way,
        host::what_nobody_reads_is_not_sampled_and_counted,
        interfaces::every_copy_takes_its_own_route_and_all_have_one_number,
        interfaces::ip_packets_without_a_whole_header_are_malformed,
        interfaces::a_port_has_the_queues_that_it_was_given_whatever_they_are,
        measures::packets_cross_every_host,
        measures::packets_are_tagged_again_and_again,
        neighbours::hosts_find_each_other_and_their_servers_and_nothing_else_goes_to_all,
        neighbours::what_asks_all_is_limited_and_needs_best_effort,
        neighbours::copies_go_to_those_on_the_host_and_over_routes_of_any_length,
        neighbours::a_guest_with_a_vlan_sends_and_gets_its_tag_and_the_network_never_sees_it,
        neighbours::packets_with_addresses_that_nobody_has_declared_are_named,
        objects::the_sources_compile_to_the_shipped_objects,
        objects::the_hash_of_the_sources_is_that_of_the_shipped_objects,
        objects::every_source_and_every_object_is_among_them,
        ovs::packets_go_where_their_outer_tag_says_however_many_they_have,
        ovs::a_full_queue_costs_no_packet_of_another_queue,
        ovs::packets_that_wait_at_one_port_keep_none_from_another,
        ovs::a_bridge_that_starts_again_is_told_again_and_one_that_is_gone_says_so,
        ovs::a_table_without_room_and_an_interface_that_is_no_port_are_refused,
        priorities::the_highest_queue_is_fast_and_whole_while_the_lowest_overflows,
        priorities::without_priorities_the_same_port_delays_everything,
        priorities::queues_below_the_strict_ones_share_what_is_left_by_their_weights,
        registers::the_registers_in_the_kernel_are_those_of_the_model,
        switch::a_port_that_takes_no_packet_of_its_link_is_refused,
        switch::a_switch_that_is_configured_again_keeps_its_queues_and_takes_what_is_new,
    ])
}
