//! Relations between the analyses on every network.

use proptest::prelude::*;
use wayleave_calculus::network::{
    LineShaping, Multiplexing, Options, Packetizer, PortNetwork, ServerFlow, pmoo, sfa, tfa,
};
use wayleave_calculus::{ArrivalCurve, Rational, ServiceCurve, horizontal_deviation, residual_service};

use super::random::{Curves, feed_forward};

const PLAIN: Options =
    Options { shaping: LineShaping::Off, packetizer: Packetizer::Off, multiplexing: Multiplexing::Fifo };

fn options() -> impl Strategy<Value = Options> {
    let shaping = prop_oneof![Just(LineShaping::On), Just(LineShaping::Off)];
    let packetizer = prop_oneof![Just(Packetizer::On), Just(Packetizer::Off)];
    let multiplexing = prop_oneof![Just(Multiplexing::Fifo), Just(Multiplexing::Arbitrary)];
    (shaping, packetizer, multiplexing).prop_map(|(shaping, packetizer, multiplexing)| Options {
        shaping,
        packetizer,
        multiplexing,
    })
}

/// No analysis can be below what a flow alone in the network suffers: its convolved servers.
fn alone(network: &PortNetwork, flow: usize) -> Rational {
    let ServerFlow { arrival, paths, .. } = &network.flows()[flow];
    let servers = paths[0].iter().map(|&server| network.servers()[server].service.clone());
    let service = servers.reduce(|one, other| one.convolution(&other)).unwrap();
    horizontal_deviation(arrival, &service).unwrap()
}

/// PMOO on one server is the residual service of blind multiplexing.
fn left_at_one(network: &PortNetwork, flow: usize) -> ServiceCurve {
    let others = (0..network.flows().len()).filter(|&other| other != flow);
    let cross: ArrivalCurve = others.map(|other| &network.flows()[other].arrival).sum();
    residual_service(&network.servers()[0].service, &cross)
}

/// Equal servers in a row, and flows that cross all of them.
fn equal_servers(count: std::ops::Range<usize>) -> impl Strategy<Value = PortNetwork> {
    let flows = proptest::collection::vec((1..5_i128, 0..30_i128), 1..4);
    (count, 20..60_i128, 0..6_i128, flows).prop_map(|(count, rate, latency, flows)| {
        let servers = (0..count).map(|index| crate::network::server(&format!("s{index}"), rate, latency)).collect();
        let path: Vec<usize> = (0..count).collect();
        let flows =
            flows.iter().enumerate().map(|(index, &(r, b))| crate::network::flow(&format!("f{index}"), r, b, &path));
        crate::network::network(servers, flows.collect())
    })
}

proptest! {
    #[test]
    fn every_bound_is_at_least_the_delay_of_the_flow_alone(net in feed_forward(Curves::Rich), options in options()) {
        let total = tfa(&net, &options);
        let (separate, once) = (sfa(&net, &options, &total), pmoo(&net, &options, &total));
        for flow in 0..net.flows().len() {
            let least = alone(&net, flow);
            // PMOO knows one piece of a curve; it is below the others, and so above in delay.
            for bound in [total.path_delay(flow, 0), separate.path_delay(flow, 0), once.path_delay(flow, 0)] {
                prop_assert!(bound.unwrap() >= least);
            }
        }
    }

    /// See `sfa.rs`: every s = burst / R gives the sum of the servers' delays.
    #[test]
    fn separate_fifo_flows_without_lines_are_never_worse_than_the_total(net in feed_forward(Curves::Plain)) {
        let total = tfa(&net, &PLAIN);
        let separate = sfa(&net, &PLAIN, &total);
        for flow in 0..net.flows().len() {
            prop_assert!(separate.path_delay(flow, 0).unwrap() <= total.path_delay(flow, 0).unwrap());
        }
    }

    /// For a blind order it holds with lines and packetizers too: the residual service of a server serves a flow
    /// within its busy period.
    #[test]
    fn separate_blind_flows_are_never_worse_than_the_total(net in feed_forward(Curves::Rich), options in options()) {
        let options = Options { multiplexing: Multiplexing::Arbitrary, shaping: LineShaping::Off, ..options };
        let total = tfa(&net, &options);
        let separate = sfa(&net, &options, &total);
        for flow in 0..net.flows().len() {
            prop_assert!(separate.path_delay(flow, 0).unwrap() <= total.path_delay(flow, 0).unwrap());
        }
    }

    #[test]
    fn fifo_is_never_worse_than_a_blind_order(net in feed_forward(Curves::Plain)) {
        let fifo = tfa(&net, &PLAIN);
        let blind = tfa(&net, &Options { multiplexing: Multiplexing::Arbitrary, ..PLAIN });
        for flow in 0..net.flows().len() {
            prop_assert!(fifo.path_delay(flow, 0).unwrap() <= blind.path_delay(flow, 0).unwrap());
        }
    }

    /// Not SFA for FIFO with lines: its classic theta is the time of the burst, and a line makes the burst short and steep.
    #[test]
    fn lines_only_help_and_packetizers_only_cost(net in feed_forward(Curves::Rich), options in options()) {
        let bounds = |options: Options| {
            let total = tfa(&net, &options);
            let once = pmoo(&net, &options, &total);
            let of_flow = |flow| [total.path_delay(flow, 0).unwrap(), once.path_delay(flow, 0).unwrap()];
            (0..net.flows().len()).flat_map(of_flow).collect::<Vec<_>>()
        };
        let on = bounds(Options { shaping: LineShaping::On, ..options });
        let off = bounds(Options { shaping: LineShaping::Off, ..options });
        prop_assert!(on.iter().zip(&off).all(|(on, off)| on <= off));
        let fluid = bounds(Options { packetizer: Packetizer::Off, ..options });
        let packets = bounds(Options { packetizer: Packetizer::On, ..options });
        prop_assert!(fluid.iter().zip(&packets).all(|(fluid, packets)| fluid <= packets));
    }

    /// One server: nothing can be paid twice, so that both give what a blind order leaves.
    #[test]
    fn at_one_server_pmoo_and_sfa_are_the_same(net in equal_servers(1..2)) {
        let options = Options { multiplexing: Multiplexing::Arbitrary, ..PLAIN };
        let total = tfa(&net, &options);
        for flow in 0..net.flows().len() {
            let expected = horizontal_deviation(&net.flows()[flow].arrival, &left_at_one(&net, flow)).unwrap();
            prop_assert_eq!(sfa(&net, &options, &total).path_delay(flow, 0), Ok(expected.clone()));
            prop_assert_eq!(pmoo(&net, &options, &total).path_delay(flow, 0), Ok(expected));
        }
    }

    /// Equal servers in a row, all flows on the whole row: the bursts of the others are paid once instead of at every
    /// server, grown. (With servers of different rates SFA can be better: PMOO pays all bursts at the slowest.)
    #[test]
    fn with_all_flows_on_the_whole_path_pmoo_is_never_worse(net in equal_servers(1..5)) {
        let options = Options { multiplexing: Multiplexing::Arbitrary, ..PLAIN };
        let total = tfa(&net, &options);
        let (separate, once) = (sfa(&net, &options, &total), pmoo(&net, &options, &total));
        for flow in 0..net.flows().len() {
            prop_assert!(once.path_delay(flow, 0).unwrap() <= separate.path_delay(flow, 0).unwrap());
        }
    }
}
