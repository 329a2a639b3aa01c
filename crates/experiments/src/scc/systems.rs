//! The systems that the text compares, and one scenario under each of them.

use wayleave_scenarios::{Congestion, Scenario, Transport, Workload};

use super::workloads::Application;

/// What keeps objectives apart, if anything does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum System {
    /// Nothing: each application has the transport of its objective, and they meet in the queues ("direct coexistence").
    Direct,
}

impl System {
    /// How the flows of an application are carried.
    fn congestion(self, application: Application) -> Congestion {
        match (self, application) {
            (Self::Direct, Application::Latency) => Congestion::dctcp(),
            (Self::Direct, Application::Deadline) => Congestion::d2tcp(),
            (Self::Direct, Application::Completion) => Congestion::l2dct(),
        }
    }

    /// Puts a scenario under it, with its traffic: that of each application has the application's name.
    pub(super) fn carry(self, run: &mut Scenario) {
        for traffic in &mut run.traffic {
            let application = Application::ALL.into_iter().find(|application| application.name() == traffic.name);
            if let (Some(application), Workload::Flows(flows)) = (application, &mut traffic.workload) {
                flows.transport = Some(Transport { congestion: self.congestion(application), ..Transport::default() });
            }
        }
    }
}
