//! Tokens: a hose is divided among pairs (E, Algorithm 1), and a pair's tokens among its paths (F, Algorithm 2).
//!
//! Amounts are bit/s, so that halves and thirds of a hose stay exact; the remainder of a division is at most 1 bit/s
//! per pair. The text's "0" for "not assigned yet" is `None` here, so that a pair can be given nothing.

use super::settings::UnusedTokens;

/// A pair at its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SenderDemand {
    /// Sending rate; `None`: all that it may send.
    pub(super) sends: Option<u64>,
    /// Rate that its receiver admits; `None`: anything.
    pub(super) admitted: Option<u64>,
}

/// Sender side, Algorithm 1, lines 1 to 19: computes each pair's part of the hose. `parts` is filled in the order of
/// `pairs`.
///
/// If all pairs are bounded, the printed lines 9 and 14 divide by zero: no pair can take the unused part, and it
/// stays unused.
pub(super) fn assign(hose: u64, pairs: &[SenderDemand], unused: UnusedTokens, parts: &mut Vec<u64>) {
    parts.clear();
    let Some(fair) = hose.checked_div(pairs.len() as u64) else { return };
    let mut given: Vec<Option<u64>> = vec![None; pairs.len()];
    let (mut spare, mut open) = (0, pairs.len() as u64);
    for (pair, given) in pairs.iter().zip(&mut given) {
        if let Some(sends) = pair.sends.filter(|&sends| sends < fair) {
            spare += fair - sends;
            *given = Some(if unused == UnusedTokens::Kept { fair } else { sends });
            open -= 1;
        }
    }
    let mut fair = fair + spare.checked_div(open).unwrap_or(0);
    let mut order: Vec<usize> = (0..pairs.len()).filter(|&at| given[at].is_none()).collect();
    order.sort_by_key(|&at| pairs[at].admitted.unwrap_or(u64::MAX));
    for at in order {
        open -= 1;
        given[at] = match pairs[at].admitted {
            Some(admitted) if admitted < fair => {
                fair += (fair - admitted).checked_div(open).unwrap_or(0);
                Some(admitted)
            }
            _ => Some(fair),
        };
    }
    parts.extend(given.into_iter().map(Option::unwrap_or_default));
}

/// Receiver side, lines 19 to 30: returns the admitted part of each sender's rate; `None`: anything. The loop follows
/// the sorted list, which the printed line 23 leaves open.
pub(super) fn admit(hose: u64, given: &[u64]) -> Vec<Option<u64>> {
    let mut fair = hose.checked_div(given.len() as u64).unwrap_or(0);
    let mut order: Vec<usize> = (0..given.len()).collect();
    order.sort_by_key(|&at| given[at]);
    let mut admitted = vec![None; given.len()];
    let mut open = given.len() as u64;
    for at in order {
        if given[at] < fair {
            open -= 1;
            fair += (fair - given[at]).checked_div(open).unwrap_or(0);
        } else {
            admitted[at] = Some(fair);
        }
    }
    admitted
}

/// Algorithm 2: what each path of a pair is given. Every path has at least its equal part, so that it can grow at once; what
/// idle ones leave goes to the others as well.
pub(super) fn spread(tokens: u64, sends: &[Option<u64>]) -> Vec<u64> {
    let Some(fair) = tokens.checked_div(sends.len() as u64) else { return Vec::new() };
    let unused = |sends: &Option<u64>| sends.filter(|&sends| sends < fair).map(|sends| fair - sends);
    let spare: u64 = sends.iter().filter_map(unused).sum();
    let open = sends.iter().filter(|sends| unused(sends).is_none()).count() as u64;
    let more = spare.checked_div(open).unwrap_or(0);
    sends.iter().map(|sends| if unused(sends).is_some() { fair } else { fair + more }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSE: u64 = 6_000_000;
    const ALL: SenderDemand = SenderDemand { sends: None, admitted: None };

    fn assigned(pairs: &[SenderDemand], unused: UnusedTokens) -> Vec<u64> {
        let mut parts = Vec::new();
        assign(HOSE, pairs, unused, &mut parts);
        parts
    }

    /// Fig. 21a: a1 sends to a4, a5 and a6, a2 to a6.
    #[test]
    fn the_example_with_enough_demand() {
        assert_eq!(assigned(&[ALL; 3], UnusedTokens::Kept), [HOSE / 3; 3]);
        assert_eq!(assigned(&[ALL], UnusedTokens::Kept), [HOSE]);
        // a6 is asked for a third and for everything: it admits all of the first, and two thirds of the second.
        assert_eq!(admit(HOSE, &[HOSE / 3, HOSE]), [None, Some(HOSE / 3 * 2)]);
        assert_eq!(admit(HOSE, &[HOSE, HOSE / 3]), [Some(HOSE / 3 * 2), None], "the order of pairs does not matter");
    }

    /// Fig. 21b: a1 to a4 wants epsilon only.
    #[test]
    fn the_example_with_a_low_demand_pair() {
        let epsilon = 1_000;
        let little = SenderDemand { sends: Some(epsilon), admitted: None };
        let printed = assigned(&[little, ALL, ALL], UnusedTokens::AsPrinted);
        assert_eq!(printed, [epsilon, (HOSE - epsilon) / 2, (HOSE - epsilon) / 2]);
        let kept = assigned(&[little, ALL, ALL], UnusedTokens::Kept);
        assert_eq!(kept, [HOSE / 3, (HOSE - epsilon) / 2, (HOSE - epsilon) / 2]);
        // "In the worst case we only assign double the VM-pair's token to the network in one RTT."
        assert!(kept.iter().sum::<u64>() < 2 * HOSE);
        assert_eq!(admit(HOSE, &[printed[2], HOSE]), [None, Some((HOSE + epsilon) / 2)]);
    }

    #[test]
    fn a_receiver_bounds_a_pair_and_the_others_get_the_rest() {
        let bound = |admitted| SenderDemand { sends: None, admitted: Some(admitted) };
        assert_eq!(assigned(&[bound(500_000), ALL, ALL], UnusedTokens::Kept), [500_000, 2_750_000, 2_750_000]);
        assert_eq!(
            assigned(&[ALL, bound(1_000_000), bound(500_000)], UnusedTokens::Kept),
            [4_500_000, 1_000_000, 500_000]
        );
        assert_eq!(
            assigned(&[bound(500_000); 2], UnusedTokens::Kept),
            [500_000; 2],
            "what nobody can use stays unused"
        );
        assert_eq!(assigned(&[bound(0)], UnusedTokens::Kept), [0], "nothing is a part, too");
    }

    /// ElasticSwitch's worked example, as uFAB's text has it from there: hose 1, three pairs, one wants 0.1.
    #[test]
    fn tokens_unused_by_one_pair_go_to_the_others() {
        let little = SenderDemand { sends: Some(HOSE / 10), admitted: None };
        assert_eq!(assigned(&[little, ALL, ALL], UnusedTokens::AsPrinted), [HOSE / 10, HOSE / 20 * 9, HOSE / 20 * 9]);
    }

    #[test]
    fn no_division_by_zero_occurs() {
        let idle = SenderDemand { sends: Some(0), admitted: Some(0) };
        assert_eq!(assigned(&[idle; 3], UnusedTokens::AsPrinted), [0; 3]);
        assert_eq!(assigned(&[idle; 3], UnusedTokens::Kept), [HOSE / 3; 3]);
        assert!(
            assigned(&[], UnusedTokens::Kept).is_empty() && admit(HOSE, &[]).is_empty() && spread(1, &[]).is_empty()
        );
        assert_eq!(admit(HOSE, &[0, 0]), [None, None]);
    }

    /// For any demands: with the printed line 7 no more than the hose is given, and with the text's reading less than
    /// twice the hose.
    #[test]
    fn a_hose_is_never_allocated_twice() {
        let mut random = crate::random::SplitMix::new(3);
        for _ in 0..10_000 {
            let mut any = |most| (random.below(3) > 0).then(|| u64::from(random.below(most)));
            let demand_of = |_| SenderDemand { sends: any(7_000_000), admitted: any(7_000_000) };
            let pairs: Vec<SenderDemand> = (0..7).map(demand_of).collect();
            let printed: u64 = assigned(&pairs, UnusedTokens::AsPrinted).iter().sum();
            assert!(printed <= HOSE, "{pairs:?}");
            assert!(assigned(&pairs, UnusedTokens::Kept).iter().sum::<u64>() < 2 * HOSE, "{pairs:?}");
            let given: Vec<u64> = pairs.iter().filter_map(|pair| pair.sends).collect();
            let taken =
                admit(HOSE, &given).into_iter().zip(&given).map(|(most, given)| most.unwrap_or(*given).min(*given));
            assert!(taken.sum::<u64>() <= HOSE, "{given:?}");
        }
    }

    /// Algorithm 2: equal parts; the unused part of an idle path goes to the others while it keeps its own.
    #[test]
    fn paths_share_the_tokens_of_a_pair() {
        assert_eq!(spread(900, &[None; 3]), [300; 3]);
        assert_eq!(spread(900, &[Some(100), None, None]), [300, 400, 400]);
        assert_eq!(spread(900, &[Some(0), Some(0), Some(0)]), [300; 3]);
    }
}
