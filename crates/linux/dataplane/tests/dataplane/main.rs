//! The eBPF programs and queues in this kernel, and against their models.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod changes;
mod differential;
mod doctor;
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
        changes::a_rule_changed_under_traffic_is_consistent_and_refills_no_bucket,
        differential::programs_of_endpoints_equal_the_models,
        differential::no_malformed_frame_reaches_a_guaranteed_queue,
        differential::programs_of_uplinks_equal_the_models,
        differential::skipped_numbers_of_the_second_round_are_not_mistaken_for_earlier_ones,
        doctor::a_qdisc_unknown_to_the_kernel_is_missing_and_a_working_one_leaves_nothing,
        doctor::real_time_and_ordinary_programs_are_distinguished,
        forwarding::frames_follow_their_outer_tag_and_lose_it,
        forwarding::a_switch_samples_the_packets_that_hosts_sample_with_any_tags,
        holding::packets_above_a_contract_wait_and_all_arrive,
        holding::departures_stay_below_the_admitted_curve,
        holding::waiting_packets_are_limited_and_the_longest_wait_is_reported,
        holding::waiting_packets_are_removed_with_their_contract,
        holding::packets_lost_with_their_class_are_not_waited_for,
        holding::tcp_with_super_frames_waits_and_loses_almost_no_packets,
        holding::tcp_reaches_the_rate_of_its_contract,
        holding::a_thousand_contracts_have_a_class_each,
        holding::a_thousand_contracts_have_classes_like_those_of_tc_and_equal_shaping,
        holding::waiting_packets_leave_in_order_of_arrival,
        holding::a_contract_with_a_missing_class_is_found,
        holding::super_frames_are_cut_into_the_frames_of_a_large_mtu,
        host::a_packet_of_a_contract_is_tagged_charged_and_sent_to_its_uplink,
        host::installed_rules_are_found_again_and_buckets_keep_their_level,
        host::the_verifier_accepts_the_programs_within_few_steps,
        host::a_second_owner_is_refused_until_the_first_has_left,
        host::tear_down_leaves_nothing_and_incomplete_pins_are_no_obstacle,
        host::pins_of_another_version_stay_until_the_host_is_torn_down,
        host::impossible_changes_are_refused_without_effect,
        host::of_contracts_for_equal_packets_the_oldest_applies_and_the_next_succeeds_it,
        host::a_removed_endpoint_releases_its_address,
        host::delays_are_measured_if_both_ends_share_a_kernel,
        host::both_ends_sample_equal_packets_despite_changes_on_the_route,
        host::unread_samples_are_dropped_and_counted,
        interfaces::frames_on_a_link_are_counted_at_both_ends_and_drops_of_queues_at_the_sender,
        interfaces::every_copy_takes_its_own_route_with_one_sequence_number,
        interfaces::ip_packets_with_a_truncated_header_are_malformed,
        interfaces::a_port_has_its_configured_queues_for_any_configuration,
        measures::packets_cross_every_host,
        measures::packets_are_tagged_repeatedly,
        neighbours::hosts_find_each_other_and_their_servers_and_other_broadcasts_are_dropped,
        neighbours::broadcasts_are_limited_and_need_best_effort,
        neighbours::copies_reach_local_endpoints_and_routes_of_any_length,
        neighbours::the_vlan_tag_of_a_guest_never_enters_the_network,
        neighbours::packets_with_undeclared_addresses_are_reported,
        objects::the_sources_compile_to_the_shipped_objects,
        objects::the_hash_of_the_sources_is_that_of_the_shipped_objects,
        objects::every_source_and_every_object_is_listed,
        ovs::packets_follow_their_outer_tag_for_any_number_of_tags,
        ovs::a_full_queue_costs_no_packet_of_another_queue,
        ovs::packets_waiting_at_one_port_do_not_delay_another,
        ovs::a_restarted_bridge_is_configured_again_and_a_missing_one_reported,
        ovs::a_full_table_and_an_interface_that_is_no_port_are_refused,
        priorities::the_highest_queue_is_fast_and_lossless_while_the_lowest_overflows,
        priorities::without_priorities_the_port_delays_everything,
        priorities::queues_below_strict_ones_share_the_remaining_rate_by_weight,
        registers::the_registers_in_the_kernel_equal_those_of_the_model,
        switch::a_port_that_cannot_carry_packets_of_its_link_is_refused,
        switch::a_reconfigured_switch_keeps_its_queues_and_adds_new_ones,
    ])
}
