//! Cases whose results are in Le Boudec and Thiran, "Network Calculus" (LNCS 2050), or follow from that book by hand.
//!
//! Abstract units: a rate of 2 with a time of 3 gives 6. The symbols are the book's: alpha = r t + b, beta = R [t -
//! T]+.

use wayleave_calculus::rational::{ratio, whole};
use wayleave_calculus::{
    ArrivalCurve, BucketCurve, RateLatency, Rational, ServiceCurve, deconvolution, horizontal_deviation,
    residual_service, strict_priority_residuals, vertical_deviation,
};
use wayleave_units::{Amount, Bytes, Rate, Time};

fn arrival(pieces: &[(i128, i128)]) -> ArrivalCurve {
    let pieces = pieces.iter().map(|&(rate, burst)| BucketCurve { rate: whole(rate), burst: whole(burst) });
    ArrivalCurve::from_pieces(pieces).unwrap()
}

fn rate_latency(rate: i128, latency: Rational) -> ServiceCurve {
    ServiceCurve::from_pieces([RateLatency::new(whole(rate), &latency)]).unwrap()
}

fn frac(numerator: i128, denominator: i128) -> Rational {
    ratio(numerator, denominator).unwrap()
}

/// Section 1.4.1, the example after theorem 1.4.3: d = T + b / R, v = b + r T, output r t + (b + r T).
#[test]
fn a_token_bucket_through_a_rate_latency_server_waits_for_the_latency_and_its_burst() {
    let (alpha, beta) = (arrival(&[(3, 10)]), rate_latency(4, frac(5, 2)));
    assert_eq!(horizontal_deviation(&alpha, &beta), Some(frac(5, 2) + frac(10, 4)));
    assert_eq!(vertical_deviation(&alpha, &beta), Some(whole(10) + whole(3) * frac(5, 2)));
    let output = BucketCurve { rate: whole(3), burst: frac(35, 2) };
    assert_eq!(deconvolution(&alpha, &beta), ArrivalCurve::from_pieces([output]).ok());
}

/// Proposition 1.4.1 (the IntServ model) for alpha(t) = min(M + p t, b + r t) and beta = R [t - T]+:
///
/// - d = (M + (b - M) / (p - r) (p - R)+) / R + T,
/// - v = b + r T + ((b - M) / (p - r) - T)+ ((p - R)+ - p + r),
/// - output b + r (T + t) if (b - M) / (p - r) <= T, otherwise the minimum of this curve and (t + T) min(p, R) + M +
///   (b - M) / (p - r) (p - R)+.
#[test]
fn a_t_spec_flow_through_a_rate_latency_server_has_the_bounds_of_the_intserv_model() {
    let positive = |number: Rational| number.max(whole(0));
    // The peak rate above and below R, at R, the knee before, at and after T, no latency, r = R.
    for (max_packet, peak, mean, burst) in [(2, 9, 2, 30), (2, 5, 2, 30), (1, 4, 3, 5), (0, 9, 4, 10), (3, 7, 4, 11)] {
        for (rate, latency) in
            [(4, whole(1)), (4, whole(4)), (6, frac(1, 3)), (4, whole(0)), (7, whole(10)), (4, whole(2))]
        {
            let alpha = arrival(&[(peak, max_packet), (mean, burst)]);
            let beta = rate_latency(rate, latency.clone());
            let knee = frac(burst - max_packet, peak - mean);
            let excess = whole((peak - rate).max(0));

            let delay = (whole(max_packet) + &knee * &excess) / whole(rate) + &latency;
            assert_eq!(horizontal_deviation(&alpha, &beta), Some(delay), "{alpha:?} {beta:?}");

            let grown = whole(burst) + whole(mean) * &latency;
            let backlog = &grown + positive(&knee - &latency) * (&excess - whole(peak - mean));
            assert_eq!(vertical_deviation(&alpha, &beta), Some(backlog), "{alpha:?} {beta:?}");

            let mut output = vec![BucketCurve { rate: whole(mean), burst: grown }];
            if knee > latency {
                let slope = whole(peak.min(rate));
                let offset = &slope * &latency + whole(max_packet) + &knee * &excess;
                output.push(BucketCurve { rate: slope, burst: offset });
            }
            assert_eq!(deconvolution(&alpha, &beta), ArrivalCurve::from_pieces(output).ok(), "{alpha:?} {beta:?}");
        }
    }
}

/// Section 1.4.3: beta_{R1,T1} convolved with beta_{R2,T2} is beta_{min(R1,R2), T1+T2}.
#[test]
fn rate_latency_servers_in_sequence_add_latencies_at_the_minimum_rate() {
    let nodes = [rate_latency(5, whole(2)), rate_latency(3, frac(1, 2)), rate_latency(4, whole(1))];
    let path = nodes[0].convolution(&nodes[1]).convolution(&nodes[2]);
    assert_eq!(path, rate_latency(3, frac(7, 2)));
}

/// Section 1.4.3, "pay bursts only once": D = b / min(R1,R2) + T1 + T2, whereas adding the nodes' delays gives
/// D1 + D2 = b / R1 + (b + r T1) / R2 + T1 + T2.
#[test]
fn bursts_are_paid_only_once_along_a_path() {
    let alpha = arrival(&[(2, 12)]);
    let (first, second) = (rate_latency(4, whole(3)), rate_latency(3, whole(1)));

    let whole_path = horizontal_deviation(&alpha, &first.convolution(&second));
    assert_eq!(whole_path, Some(frac(12, 3) + whole(4)));

    let between = deconvolution(&alpha, &first).unwrap();
    let added = horizontal_deviation(&alpha, &first).unwrap() + horizontal_deviation(&between, &second).unwrap();
    assert_eq!(added, frac(12, 4) + frac(12 + 2 * 3, 3) + whole(4));
}

/// Section 1.4.1 for the sum of the flows: all flows of a FIFO queue share the delay T + (sum of bursts) / R.
#[test]
fn flows_of_one_fifo_queue_share_the_delay_of_their_aggregate() {
    let flows = [arrival(&[(1, 4)]), arrival(&[(2, 9)]), arrival(&[(1, 5)])];
    let aggregate: ArrivalCurve = flows.iter().sum();
    assert_eq!(aggregate, arrival(&[(4, 18)]));
    assert_eq!(horizontal_deviation(&aggregate, &rate_latency(4, whole(2))), Some(whole(2) + frac(18, 4)));
}

/// Section 1.3.2, non-preemptive priority to H on a link of rate C: H gets the rate C after l_max / C; if H keeps
/// to r t + b, L gets the rate C - r after b / (C - r).
#[test]
fn a_priority_node_serves_high_after_one_low_packet_and_low_after_the_burst_of_high() {
    let link = ServiceCurve::constant_rate(Rate::from_bits_per_second(10));
    let high = link.subtract_amount(Amount::from_nanobits(15));
    assert_eq!(high, rate_latency(10, frac(15, 10)));
    let low = residual_service(&link, &arrival(&[(4, 12)]));
    assert_eq!(low, rate_latency(6, frac(12, 6)));
}

/// Section 6.2.1, blind multiplexing: beyond a flow r t + b a server R [t - T]+ keeps the rate R - r after (b + R T) / (R - r).
#[test]
fn blind_multiplexing_leaves_a_rate_latency_service_beside_a_token_bucket() {
    let left = residual_service(&rate_latency(10, whole(3)), &arrival(&[(4, 12)]));
    assert_eq!(left, rate_latency(6, frac(12 + 30, 6)));
}

/// By hand: the traffic 1 + 8 t up to t = 2, then 13 + 2 t, leaves of 10 t first 2 t - 1, then 8 t - 13.
#[test]
fn a_residual_service_is_convex_and_its_first_slope_is_below_it() {
    let left = residual_service(&rate_latency(10, whole(0)), &arrival(&[(8, 1), (2, 13)]));
    let pieces = [(2, 1), (8, 13)].map(|(rate, debt)| RateLatency { rate: whole(rate), debt: whole(debt) });
    assert_eq!(left.pieces(), pieces);
    assert_eq!(left.first_slope(), rate_latency(2, frac(1, 2)));
    assert_eq!((left.latency(), left.ultimate_rate()), (Some(frac(1, 2)), whole(8)));
}

/// Section 1.5: a greedy shaper sigma gives the output curve alpha convolved with sigma, here their minimum.
#[test]
fn a_shaper_preserves_existing_constraints_of_traffic() {
    let (alpha, sigma) = (arrival(&[(2, 9)]), arrival(&[(5, 3)]));
    assert_eq!(alpha.convolution(&sigma), arrival(&[(5, 3), (2, 9)]));
}

/// The published Chameleon controller: R = 1 Gbit/s, Lmax = 1530 B, latency 2 Lmax / R for the highest priority.
#[test]
fn strict_priorities_of_a_link_serve_each_with_the_remainder_of_higher_ones() {
    let [urgent, middle] = [(100, 10_000), (400, 20_000)]
        .map(|(mbit, bytes)| ArrivalCurve::token_bucket(Rate::from_mbit(mbit), Bytes::new(bytes)));
    let arrivals = [urgent, middle, ArrivalCurve::zero()];
    let services = strict_priority_residuals(Rate::from_gbit(1), Bytes::new(2 * 1530), &arrivals);
    let bytes = |bytes: i128| whole(bytes * 8_000_000_000);
    let expected = [(1_000, 3_060), (900, 13_060), (500, 33_060)]
        .map(|(mbit, debt)| RateLatency { rate: whole(mbit * 1_000_000), debt: bytes(debt) })
        .map(|piece| ServiceCurve::from_pieces([piece]).unwrap());
    assert_eq!(services, expected);
    assert_eq!(services[0], ServiceCurve::rate_latency(Rate::from_gbit(1), Time::from_nanos(24_480)));
}

/// The check in constant time of the admission kernel, for inputs at least as fast as the output. With B = sum of
/// bursts, rho = sum of rates and tau = max (b_i - Lmax)+ / (R - r_i), the residual service is (R_q, T).
/// A queue has delay =  T + (B + rho tau) / R_q - tau and backlog = B + rho m - R_q (m - T) with m = max(T, tau).
#[test]
fn the_constant_time_check_of_equal_line_rates_is_exact() {
    let (link, max_frame) = (10, 3);
    for (flows, latency) in
        [([(2, 30), (1, 9)], whole(1)), ([(2, 30), (1, 9)], whole(9)), ([(4, 2), (3, 50)], frac(7, 2))]
    {
        let per_input = flows.map(|flow| arrival(&[flow]).minimum(&arrival(&[(link, max_frame)])));
        let aggregate: ArrivalCurve = per_input.iter().sum();
        let service = rate_latency(8, latency.clone());

        let flow_knees = flows.iter().map(|&(rate, burst)| frac((burst - max_frame).max(0), link - rate));
        let tau = flow_knees.max().unwrap();
        let bursts = whole(flows.iter().map(|&(_, burst)| burst).sum());
        let rates = whole(flows.iter().map(|&(rate, _)| rate).sum());
        let delay = &latency + (&bursts + &rates * &tau) / whole(8) - &tau;
        assert_eq!(horizontal_deviation(&aggregate, &service), Some(delay));
        let last = latency.clone().max(tau);
        let backlog = bursts + rates * &last - whole(8) * (&last - &latency);
        assert_eq!(vertical_deviation(&aggregate, &service), Some(backlog));
    }
}
