//! The nearest request that would fit, on 10,000 refusals: admitting it succeeds, and one step more is refused.

use std::sync::Arc;

use wayleave_contracts::{MAX_DEADLINE, RequestMix};
use wayleave_ledger::Model;
use wayleave_scheme_api::{Admission, Request};
use wayleave_schemes::admission::chameleon::{Chameleon, Params};
use wayleave_schemes::suggest::{NearestRequest, nearest};
use wayleave_topology::Network;
use wayleave_topology::builders::{FatTree, build};
use wayleave_units::{Bytes, Rate, Time};

const REFUSALS: usize = 10_000;
const SCENARIOS: [usize; 3] = [1, 4, 8];
/// Fillings of one scenario, each with its own seed and its own level.
const FILLINGS: u64 = 8;

/// Number of times that each value was available for a test.
#[derive(Default, Debug)]
struct Seen {
    refusals: usize,
    bursts: usize,
    rates: usize,
    deadlines: usize,
}

#[test]
fn the_nearest_request_is_admitted_and_one_step_more_is_refused() {
    let network = Arc::new(build::fat_tree(&FatTree::default()).unwrap());
    let fillings = SCENARIOS.len() * FILLINGS as usize;
    let mut seen = Seen::default();
    for (index, (scenario, seed)) in
        SCENARIOS.iter().flat_map(|&s| (1..=FILLINGS).map(move |seed| (s, seed))).enumerate()
    {
        println!("scenario {scenario} seed {seed}");
        let wanted = REFUSALS * (index + 1) / fillings;
        test_at_one_filling(&network, scenario, seed, wanted, &mut seen);
    }
    println!("{seen:?}");
    assert_eq!(seen.refusals, REFUSALS);
    // A test that met hardly any value would show nothing.
    assert!(seen.rates > 1000 && seen.bursts > 100 && seen.deadlines > 300, "{seen:?}");
}

/// Fills a network until some requests were refused (fewer or more with each seed), then asks for more.
fn test_at_one_filling(network: &Arc<Network>, scenario: usize, seed: u64, wanted: usize, seen: &mut Seen) {
    let model = Model::default();
    let mut scheme = Chameleon::new(network.clone(), model, Params::default()).unwrap();
    let mut requests =
        RequestMix::new(network, scenario, seed).map(|contract| wayleave_schemes::request(&contract, &model));
    let mut refused = 0;
    while refused < 5 * seed {
        refused += u64::from(scheme.admit(&requests.next().unwrap()).is_err());
    }
    while seen.refusals < wanted {
        let request = requests.next().unwrap();
        if !scheme.would_admit(&request) {
            seen.refusals += 1;
            let found = nearest(&mut scheme, &request);
            check(&mut scheme, &request, found, seen);
        }
    }
}

fn check(scheme: &mut Chameleon, request: &Request, found: NearestRequest, seen: &mut Seen) {
    if let Some(burst) = found.burst {
        seen.bursts += 1;
        let with = |bytes| Request { burst: Bytes::new(bytes), ..request.clone() };
        assert!(burst < request.burst);
        assert_admitted(scheme, &with(burst.get()));
        assert_refused(scheme, &with(burst.get() + 1));
    }
    if let Some(rate) = found.rate {
        seen.rates += 1;
        let with = |rate| Request { rate: Rate::from_bits_per_second(rate), ..request.clone() };
        assert!(rate < request.rate);
        assert_admitted(scheme, &with(rate.bits_per_second()));
        assert_refused(scheme, &with(rate.bits_per_second() + 1));
    }
    if let Some(deadline) = found.deadline {
        seen.deadlines += 1;
        let with = |nanos| Request { deadline: Time::from_nanos(nanos), ..request.clone() };
        assert!(deadline > request.deadline && deadline <= MAX_DEADLINE);
        assert_admitted(scheme, &with(deadline.as_nanos()));
        assert_refused(scheme, &with(deadline.as_nanos() - 1));
    }
}

fn assert_admitted(scheme: &mut Chameleon, request: &Request) {
    let decision = scheme.admit(request).unwrap_or_else(|refusal| panic!("{request:?}: {refusal:?}"));
    assert!(decision.bound <= request.deadline, "{request:?}: {decision:?}");
    scheme.release(decision.flow).unwrap();
}

fn assert_refused(scheme: &mut Chameleon, request: &Request) {
    assert!(scheme.admit(request).is_err(), "{request:?} is one step more, and was admitted");
}
