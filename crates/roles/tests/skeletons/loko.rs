//! Loko (CoNEXT 2019): admission against the rate and burst of each switch, which is one shared service. Nothing at the
//! hosts but the flows' own token buckets, so every other layer is absent.

use wayleave_roles::{Absent, Admission, Binding, Decision, Flow, Refusal, Request};
use wayleave_topology::{FlowId, Hop, LinkId, NodeId, Route};
use wayleave_units::{Bytes, Rate, Time};

use crate::stack::{Layers, PLAIN, Stack};
use crate::transports::Fixed;

/// One switch with the published allocation "full rate": 11.8 Mbit/s, 1.86 ms.
struct OneSwitch {
    used: Rate,
    flows: Vec<Option<Rate>>,
}

const ALLOCATED: Rate = Rate::from_bits_per_second(11_800_000);

fn route() -> Route {
    Route { hops: vec![Hop { link: LinkId(0), queue: 0 }] }
}

impl Admission for OneSwitch {
    fn admit(&mut self, request: &Request) -> Result<Decision, Refusal> {
        let left = ALLOCATED.saturating_sub(self.used);
        if request.rate > left {
            let binding = Binding::Rate { link: LinkId(0), queue: 0, asked: request.rate, left };
            return Err(Refusal::Blocked { route: route(), binding, others: Vec::new() });
        }
        self.used += request.rate;
        self.flows.push(Some(request.rate));
        let flow = FlowId(self.flows.len() as u32 - 1);
        let bound = Time::from_micros(1_860);
        let (copies, moved) = (Vec::new(), Vec::new());
        Ok(Decision { flow, route: route(), copies, bound, moved, activate_after: Time::ZERO })
    }
    fn release(&mut self, flow: FlowId) -> Option<Route> {
        let rate = self.flows.get_mut(flow.index())?.take()?;
        self.used = self.used.saturating_sub(rate);
        Some(route())
    }
    fn change(&mut self, flow: FlowId, request: &Request) -> Option<Result<Decision, Refusal>> {
        self.release(flow)?;
        Some(self.admit(request))
    }
    fn would_admit(&mut self, request: &Request) -> bool {
        request.rate <= ALLOCATED.saturating_sub(self.used)
    }
}

#[test]
fn a_switch_that_is_full_refuses_and_absent_layers_have_no_size() {
    let request = Request {
        from: NodeId(0),
        to: NodeId(1),
        rate: Rate::from_mbit(8),
        burst: Bytes::new(1_538),
        deadline: Time::from_millis(2),
        max_frame: None,
        route: None,
        protection: 1,
    };
    let mut switch = OneSwitch { used: Rate::ZERO, flows: Vec::new() };
    let decision = switch.admit(&request).unwrap();
    assert!(!switch.would_admit(&request));
    let refusal = switch.admit(&request).unwrap_err();
    let Refusal::Blocked { binding: Binding::Rate { left, .. }, .. } = refusal else { panic!("{refusal:?}") };
    assert_eq!(left, Rate::from_bits_per_second(3_800_000));
    assert_eq!(switch.release(decision.flow), Some(route()));
    assert!(switch.admit(&request).is_ok());

    let layers = Layers {
        flow: Fixed(14_600),
        tunnel: Absent,
        hosts: [Absent, Absent],
        path: Absent,
        reorder: Absent,
        ports: PLAIN,
    };
    assert_eq!(size_of_val(&layers), size_of::<Fixed>());
    let mut stack = Stack::new(layers);
    stack.open();
    stack.carry().unwrap();
    assert_eq!(
        stack.log(),
        [
            "transport: 1460 B of a window of 14600, urgency 1460",
            "tunnel: Queued, next InOrder",
            "path: 0 of 2 in use, 0 copies",
            "NIC: class 3 with weight 1",
            "ports of path 0: mark No",
            "reordering buffer: delivers",
            "transport: hears of 0 B marked, window 14600",
        ]
    );
    assert_eq!(stack.layers.flow.window(), 14_600);
}
