//! All bounds that were asked for.

use wayleave_calculus::Rational;
use wayleave_calculus::lp::{NoFifoBound, fifo_delay};
use wayleave_calculus::network::{Multiplexing, NoBound, PathBounds, PortNetwork, ServerBound, Tfa, pmoo, sfa, tfa};

use super::subject::Subject;

/// How many flows are shown, and linear programs solved, unless more are asked for.
const SHOWN: usize = 40;

/// An analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Analysis {
    /// Total flow analysis: the sum of bounds of all traffic at every server.
    Tfa,
    /// Separate flow analysis: what servers leave for one flow, convolved along its path.
    Sfa,
    /// Pay multiplexing only once: for any order of service.
    Pmoo,
    /// A linear program for FIFO, with an exact certificate.
    Lp,
}

impl Analysis {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Tfa, Self::Sfa, Self::Pmoo, Self::Lp];

    /// As it stands in JSON and, in capitals, in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tfa => "tfa",
            Self::Sfa => "sfa",
            Self::Pmoo => "pmoo",
            Self::Lp => "lp",
        }
    }
}

/// A bound in ns, or why there is none.
pub type Bound = Result<Rational, String>;

/// One path of one flow.
pub struct Row {
    /// The number of the flow in the network.
    pub flow: usize,
    /// The number of the path of this flow.
    pub path: usize,
    /// As many as there are analyses, in their order.
    pub bounds: Vec<Bound>,
    /// What admission counts with, for admitted contracts.
    pub budget: Option<Rational>,
}

impl Row {
    /// The smallest bound of the analyses.
    pub fn tightest(&self) -> Option<&Rational> {
        self.bounds.iter().flatten().min()
    }
}

/// Bounds of flows and of servers.
pub struct Report {
    /// In the order of each row's bounds.
    pub analyses: Vec<Analysis>,
    /// Path by path.
    pub rows: Vec<Row>,
    /// How many flows are left out.
    pub more: usize,
    /// Server by server, by total flow analysis; or why there is no bound.
    pub servers: Vec<Result<ServerBound, String>>,
    /// What a reader has to know about some of the bounds.
    pub notes: Vec<String>,
}

/// What all rows need.
struct Analyses<'s> {
    subject: &'s Subject,
    tfa: Tfa,
    sfa: PathBounds,
    pmoo: Option<PathBounds>,
}

impl Report {
    /// Bounds of these flows; without `all`, of the first 40, since each linear program takes its time.
    pub fn of(subject: &Subject, analyses: &[Analysis], flows: &[usize], all: bool) -> Self {
        let (network, options) = (&subject.network, &subject.options);
        let total = tfa(network, options);
        let is_strict = subject.extras.is_none();
        let computed = Analyses {
            subject,
            sfa: sfa(network, options, &total),
            pmoo: (is_strict && analyses.contains(&Analysis::Pmoo)).then(|| pmoo(network, options, &total)),
            tfa: total,
        };
        let mut analyses = analyses.to_vec();
        analyses.dedup();
        let mut notes = Vec::new();
        let shown = if all { flows.len() } else { flows.len().min(SHOWN) };
        let paths = flows[..shown].iter().flat_map(|&flow| {
            let paths = network.flows()[flow].paths.len();
            (0..paths).map(move |path| (flow, path))
        });
        let rows = paths.map(|(flow, path)| computed.row(flow, path, &analyses, &mut notes)).collect();
        let servers = computed.tfa.servers().iter();
        let servers = servers.map(|bound| bound.clone().map_err(|reason| reason.explain(network))).collect();
        Self { analyses, rows, more: flows.len() - shown, servers, notes }
    }
}

impl Analyses<'_> {
    fn row(&self, flow: usize, path: usize, analyses: &[Analysis], notes: &mut Vec<String>) -> Row {
        let extra = self.subject.extras.as_ref().map(|extras| &extras[flow]);
        let bound = |analysis: &Analysis| {
            let bound = self.bound(*analysis, flow, path, notes)?;
            Ok(extra.map_or(bound.clone(), |extra| bound + &extra.constants))
        };
        let bounds = analyses.iter().map(bound).collect();
        Row { flow, path, bounds, budget: extra.map(|extra| &extra.budgets + &extra.constants) }
    }

    fn bound(&self, analysis: Analysis, flow: usize, path: usize, notes: &mut Vec<String>) -> Bound {
        let network = &self.subject.network;
        let explain = |reason: NoBound| reason.explain(network);
        match analysis {
            Analysis::Tfa => self.tfa.path_delay(flow, path).map_err(explain),
            Analysis::Sfa => self.sfa.path_delay(flow, path).map_err(explain),
            Analysis::Pmoo => match &self.pmoo {
                Some(pmoo) => pmoo.path_delay(flow, path).map_err(explain),
                None => Err("PMOO needs strict service curves, and what priorities leave over is none".to_owned()),
            },
            Analysis::Lp => self.linear_program(network, flow, path, notes),
        }
    }

    fn linear_program(&self, network: &PortNetwork, flow: usize, path: usize, notes: &mut Vec<String>) -> Bound {
        if self.subject.options.multiplexing == Multiplexing::Arbitrary {
            return Err("the linear program is for FIFO: add --multiplexing fifo if servers are".to_owned());
        }
        let separate = self.sfa.path_delay(flow, path).ok();
        let bound = fifo_delay(network, &self.tfa, separate.as_ref(), flow, path);
        let bound = bound.map_err(|reason: NoFifoBound| reason.explain(network))?;
        if bound.is_loose {
            let name = &network.flows()[flow].name;
            notes.push(format!(
                "the certificate of the linear program of \"{name}\" is more than a millionth above the solver's maximum: \
                 the bound holds, and a better one exists"
            ));
        }
        Ok(bound.delay)
    }
}
