//! Every key of contracts, topologies, policies and tenants, with its treatment by each driver.
//! `docs/reference/keys.md` is made from this table.

use super::cell::Cell::{self, By, Changes, Named, Test};

/// Keys of a kind of file with a cell for each of [`super::DRIVERS`].
pub(super) struct Row {
    pub(super) kind: &'static str,
    /// Words in braces are alternatives: `spec.{a,b}.c` is `spec.a.c` and `spec.b.c`.
    pub(super) keys: &'static [&'static str],
    pub(super) cells: [Cell; 4],
}

const FORM: Cell = By("form of the file");
const NAMES: Cell = By("a name or words to find things by");
const ADMISSION: Cell = By("admission counts it");
const CONTROLLER: Cell = By("the controller");
const HOSTS: Cell = By("hosts");
const DEVICE: Cell = By("describes devices and cables: admission counts it, and nothing can set it");
const BROKER: Cell = By("brokers, which read their own files; the controller counts minima alone");
const NO_POLICY: Cell = Named("expected kind Contracts");

const fn row(kind: &'static str, keys: &'static [&'static str], cells: [Cell; 4]) -> Row {
    Row { kind, keys, cells }
}

const fn all(kind: &'static str, keys: &'static [&'static str], cell: Cell) -> Row {
    Row { kind, keys, cells: [cell; 4] }
}

const CONTRACTS: &str = "Contracts";
const TOPOLOGY: &str = "Topology";
const POLICY: &str = "Policy";
const TENANTS: &str = "Tenants";

pub(super) const ROWS: &[Row] = &[
    all(CONTRACTS, &["{apiVersion,kind,metadata,spec}", "metadata.name", "spec.contracts"], FORM),
    all(CONTRACTS, &["spec.contracts[].{name,tenant,labels}"], NAMES),
    row(
        CONTRACTS,
        &["spec.contracts[].{from,to}"],
        [
            Changes,
            Test("names_become_interfaces_addresses_and_tags"),
            Test("packets_follow_their_outer_tag_for_any_number_of_tags"),
            Test("a_codepoint_means_the_queue_of_its_route_at_every_switch"),
        ],
    ),
    row(
        CONTRACTS,
        &["spec.contracts[].{rate,burst}"],
        [
            Changes,
            Test("packets_above_a_contract_wait_and_all_arrive"),
            HOSTS,
            Named("keep it to its rate, burst and largest frame"),
        ],
    ),
    row(
        CONTRACTS,
        &["spec.contracts[].maxFrame"],
        [
            Changes,
            Test("programs_of_endpoints_equal_the_models"),
            HOSTS,
            Named("keep it to its rate, burst and largest frame"),
        ],
    ),
    row(CONTRACTS, &["spec.contracts[].{accounting,minFrame,deadline}"], [Changes, ADMISSION, ADMISSION, ADMISSION]),
    row(
        CONTRACTS,
        &["spec.contracts[].route"],
        [
            Changes,
            Test("names_become_interfaces_addresses_and_tags"),
            Test("packets_follow_their_outer_tag_for_any_number_of_tags"),
            Test("a_codepoint_means_the_queue_of_its_route_at_every_switch"),
        ],
    ),
    row(
        CONTRACTS,
        &["spec.contracts[].protection"],
        [
            Named("protection of contract"),
            Test("every_copy_takes_its_own_route_with_one_sequence_number"),
            HOSTS,
            Named("protection of contract"),
        ],
    ),
    row(
        CONTRACTS,
        &["spec.contracts[].priority"],
        [Named("priority of contract"), CONTROLLER, CONTROLLER, Named("priority of contract")],
    ),
    row(
        CONTRACTS,
        &["spec.contracts[].starts"],
        [Named("starts of contract"), CONTROLLER, CONTROLLER, Named("starts of contract")],
    ),
    row(
        CONTRACTS,
        &["spec.contracts[].ends"],
        [Named("ends of contract"), CONTROLLER, CONTROLLER, Named("ends of contract")],
    ),
    row(
        CONTRACTS,
        &[
            "spec.contracts[].match",
            "spec.contracts[].match.{protocol,sourceAddress,sourcePort,destinationAddress,destinationPort}",
        ],
        [Named("match of contract"), Test("programs_of_endpoints_equal_the_models"), HOSTS, Named("match of contract")],
    ),
    row(
        CONTRACTS,
        &["spec.contracts[].excess"],
        [
            Named("excess: demote of contract"),
            Named("excess: demote of contract"),
            HOSTS,
            Named("excess: demote of contract"),
        ],
    ),
    row(
        CONTRACTS,
        &["spec.contracts[].bandwidth", "spec.contracts[].bandwidth.{from,to,hose}"],
        [
            Changes,
            Test("each_pair_of_a_contract_has_a_rule_in_the_queues_of_its_class"),
            HOSTS,
            Named("bandwidth.min of"),
        ],
    ),
    row(
        CONTRACTS,
        &["spec.contracts[].bandwidth.min"],
        [
            Changes,
            Test("two_tenants_share_the_line_of_a_receiver_by_minima_and_weights"),
            HOSTS,
            Named("bandwidth.min of"),
        ],
    ),
    row(
        CONTRACTS,
        &["spec.contracts[].bandwidth.max"],
        [Changes, Test("a_lone_sender_gets_the_unused_capacity_up_to_its_maximum"), HOSTS, Named("bandwidth.max of")],
    ),
    row(
        CONTRACTS,
        &["spec.contracts[].bandwidth.weight"],
        [
            Changes,
            Test("two_tenants_share_the_line_of_a_receiver_by_minima_and_weights"),
            HOSTS,
            Named("bandwidth.weight of"),
        ],
    ),
    row(
        CONTRACTS,
        &["spec.contracts[].bandwidth.within"],
        [
            Test("shares_and_times_of_minima_are_derived_after_every_event"),
            Named("bandwidth.within of"),
            HOSTS,
            Named("bandwidth.within of"),
        ],
    ),
    row(
        CONTRACTS,
        &["spec.contracts[].objective", "spec.contracts[].objective.{members,weight}"],
        [
            Changes,
            Test("each_pair_of_a_contract_has_a_rule_in_the_queues_of_its_class"),
            HOSTS,
            Named("objective.weight of"),
        ],
    ),
    row(
        CONTRACTS,
        &["spec.contracts[].objective.goal"],
        [Changes, Named("objective.goal of"), HOSTS, Named("objective.goal of")],
    ),
    row(
        CONTRACTS,
        &["spec.contracts[].objective.deadline"],
        [Changes, Named("objective.deadline of"), HOSTS, Named("objective.deadline of")],
    ),
    row(
        CONTRACTS,
        &["spec.contracts[].bestEffort", "spec.contracts[].bestEffort.members"],
        [
            Changes,
            By("what packets without a contract are"),
            By("what packets without a contract are"),
            By("what packets without a contract are"),
        ],
    ),
    row(
        CONTRACTS,
        &["spec.contracts[].bestEffort.max"],
        [
            Changes,
            Test("best_effort_never_exceeds_its_maximum_whichever_receivers_it_uses"),
            HOSTS,
            Named("bestEffort.max of"),
        ],
    ),
    all(TOPOLOGY, &["{apiVersion,kind,metadata,spec}", "metadata.name"], FORM),
    all(TOPOLOGY, &["spec.nodes[].name"], NAMES),
    row(
        TOPOLOGY,
        &[
            "spec.{builder,defaults,nodes,links}",
            "spec.builder.{kind,k,pods,coresPerAggregation,parallel,hostsPerEdge,hosts,leaves,spines,hostsPerLeaf,switches,hostsPerSwitch,name}",
            "spec.nodes[].kind",
            "spec.links[].{between,from,to}",
        ],
        [
            Changes,
            Test("tags_name_ports_in_order_of_links_for_any_neighbour"),
            Test("packets_follow_their_outer_tag_for_any_number_of_tags"),
            Test("a_codepoint_means_the_queue_of_its_route_at_every_switch"),
        ],
    ),
    row(
        TOPOLOGY,
        &["spec.{builder,defaults,links[]}.rate", "spec.builder.{aggregationRate,coreRate,uplinkRate}"],
        [
            Changes,
            Test("a_port_bursts_for_two_milliseconds_of_its_rate_and_orders_its_queues"),
            Test("a_full_queue_costs_no_packet_of_another_queue"),
            Test("ports_of_a_device_are_compared_with_the_topology"),
        ],
    ),
    row(
        TOPOLOGY,
        &["spec.{builder,defaults,links[]}.delay", "spec.nodes[].{processing,jitter}"],
        [Changes, DEVICE, DEVICE, DEVICE],
    ),
    row(
        TOPOLOGY,
        &["spec.{builder,defaults,links[]}.mtu"],
        [
            Changes,
            Test("a_port_that_cannot_carry_packets_of_its_link_is_refused"),
            Test("a_port_that_cannot_carry_packets_of_its_link_is_refused"),
            Named("No packet is larger than the MTU of its link in the topology, which is not set here"),
        ],
    ),
    row(
        TOPOLOGY,
        &["spec.{builder,defaults,links[]}.{queues,buffer}", "spec.{builder,defaults,links[]}.queues[].buffer"],
        [
            Changes,
            Test("a_port_has_its_configured_queues_for_any_configuration"),
            Test("a_full_queue_costs_no_packet_of_another_queue"),
            Test("the_pool_holds_the_sum_of_all_queue_reservations"),
        ],
    ),
    all(
        TOPOLOGY,
        &[
            "spec.{builder,defaults,links[]}.{budgets,hostBudgets}",
            "spec.{builder,defaults,links[]}.{queues[],hostQueues[]}.budget",
        ],
        ADMISSION,
    ),
    row(
        TOPOLOGY,
        &[
            "spec.{builder,defaults,links[]}.{hostQueues,hostBuffer}",
            "spec.{builder,defaults,links[]}.hostQueues[].buffer",
        ],
        [
            Changes,
            Test("a_host_has_a_queue_below_its_contracts_and_its_switch_port_has_none"),
            HOSTS,
            Named("Ports of hosts have the queues and buffers of the topology"),
        ],
    ),
    row(
        TOPOLOGY,
        &["spec.links[].{interface,interfaces}"],
        [
            By("a name for devices"),
            Test("interfaces_are_those_of_the_topology"),
            Test("interfaces_are_those_of_the_topology"),
            Test("a_port_without_a_name_gets_no_duplicate_name"),
        ],
    ),
    row(
        TOPOLOGY,
        &["spec.classes", "spec.classes.{latency,guaranteed,objective,bestEffort}"],
        [
            Changes,
            Test("queues_below_strict_ones_share_the_remaining_rate_by_weight"),
            Test("queues_below_strict_ones_share_the_remaining_rate_by_weight"),
            Test("the_last_queue_of_sonic_is_the_highest_and_the_strict_one"),
        ],
    ),
    row(
        TOPOLOGY,
        &["spec.classes.target"],
        [
            Changes,
            Test("a_target_below_nine_tenths_limits_the_receive_rate"),
            HOSTS,
            Named("fill no more of a line than `target`"),
        ],
    ),
    all(TOPOLOGY, &["spec.classes.promise"], ADMISSION),
    row(TOPOLOGY, &["spec.classes.roundTrip"], [Changes, ADMISSION, ADMISSION, ADMISSION]),
    all(POLICY, &["{apiVersion,kind,metadata,spec}", "metadata.name", "spec.{level,services}"], FORM),
    all(POLICY, &["spec.services[].name"], NAMES),
    row(POLICY, &["spec.{nodes,peak}", "spec.services[].{parent,endpoints}"], [Changes, BROKER, HOSTS, NO_POLICY]),
    row(
        POLICY,
        &["spec.services[].{min,max,weight}", "spec.services[].{transmit,receive}"],
        [Changes, Test("a_rack_broker_limits_all_contracts_of_a_tenant_and_respects_minima"), HOSTS, NO_POLICY],
    ),
    row(
        POLICY,
        &["spec.services[].{transmit,receive}.{min,max,weight}"],
        [Changes, Test("a_rack_broker_limits_all_contracts_of_a_tenant_and_respects_minima"), HOSTS, NO_POLICY],
    ),
    row(
        POLICY,
        &[
            "spec.services[].changes",
            "spec.services[].changes[].{at,min,max,weight,transmit,receive}",
            "spec.services[].changes[].{transmit,receive}.{min,max,weight}",
        ],
        [Named("changes of service"), BROKER, HOSTS, NO_POLICY],
    ),
    row(
        POLICY,
        &[
            "spec.services[].match",
            "spec.services[].match.{protocol,sourceAddress,sourcePort,destinationAddress,destinationPort}",
        ],
        [
            By("a traffic names its service"),
            By("a service has all contracts of its tenant"),
            By("a service has all contracts of its tenant"),
            NO_POLICY,
        ],
    ),
    row(
        POLICY,
        &["spec.services[].tenant"],
        [By("who may change a service"), Test("a_rack_broker_limits_a_tenant_until_it_falls_silent"), HOSTS, NO_POLICY],
    ),
    row(POLICY, &["spec.services[].{share,objective}"], [Changes, Named("does not support shares"), HOSTS, NO_POLICY]),
    all(
        TENANTS,
        &[
            "{apiVersion,kind,metadata,spec}",
            "metadata.name",
            "spec.{tenants,vms}",
            "spec.tenants[].{name,quota}",
            "spec.tenants[].quota.{rate,burst,contracts}",
            "spec.vms[].{name,tenant,host,placement,mac}",
        ],
        CONTROLLER,
    ),
];

/// Keys of scenarios of which no outcome of `effects.json` shows that the simulator carries them out.
pub(super) const SCENARIO: &[(&[&str], Cell)] = &[
    (&["{apiVersion,kind,metadata,spec}", "metadata.name"], FORM),
    (&["spec.vms[].name"], NAMES),
    (&["spec.record.trace"], Test("a_trace_is_written_shown_and_captured")),
    (&["spec.record.promises"], Named("record.promises has no effect")),
    (&["spec.sweep", "spec.sweep.{seeds,vary}"], Test("a_sweep_is_every_combination_with_the_seed_changing_fastest")),
    (&["spec.fastForward.maxError"], Test("results_equal_those_of_the_full_simulation")),
    (&["spec.switches.telemetry"], Test("records_cover_the_queue_of_the_packet_since_the_start_of_the_run")),
    (
        &["spec.transport.congestion.swift.endpointTarget"],
        Named("transport.congestion.swift.endpointTarget has no effect"),
    ),
    (
        &["spec.sharing.scheme.parley.{rackReportThreshold,fabricReportThreshold}"],
        Test("light_services_are_reported_as_one_sum_and_deducted_from_the_capacity"),
    ),
    (&["spec.topology.htsim", "spec.traffic[].flows.htsim"], Test("files_of_htsim_can_be_used_in_a_scenario")),
];
