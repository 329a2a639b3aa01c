//! All bounds that were asked for.

use wayleave_calculus::Rational;
use wayleave_calculus::network::{BoundError, PathBounds, PortNetwork, ServerBound, Tfa, pmoo, sfa_of, tfa_watched};

use super::subject::AnalysisSubject;
use crate::error::Error;
use crate::progress::{ProgressStep, Watch};

/// Default number of flows that are shown, and for which linear programs are solved.
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

    /// Returns the name in JSON; tables show it in capitals.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tfa => "tfa",
            Self::Sfa => "sfa",
            Self::Pmoo => "pmoo",
            Self::Lp => "lp",
        }
    }
}

/// A bound in ns, or the reason why there is none.
pub type AnalysisBound = Result<Rational, String>;

/// One path of one flow.
#[non_exhaustive]
pub struct Row {
    /// The number of the flow in the network.
    pub flow: usize,
    /// The number of the path of this flow.
    pub path: usize,
    /// As many as there are analyses, in their order.
    pub bounds: Vec<AnalysisBound>,
    /// For each of them, whose bound it is, if the analysis itself gave nothing better.
    pub instead: Vec<Option<Analysis>>,
    /// Bound that admission uses, for admitted contracts.
    pub budget: Option<Rational>,
}

impl Row {
    /// The smallest bound of the analyses.
    pub fn tightest(&self) -> Option<&Rational> {
        self.bounds.iter().flatten().min()
    }

    /// Returns `true` if the analysis at index `place` has itself given the smallest bound.
    pub fn is_tightest(&self, place: usize) -> bool {
        self.instead[place].is_none()
            && self.bounds[place].as_ref().ok().is_some_and(|own| Some(own) == self.tightest())
    }
}

/// Bounds of flows and of servers.
#[non_exhaustive]
pub struct Report {
    /// In the order of each row's bounds.
    pub analyses: Vec<Analysis>,
    /// Path by path.
    pub rows: Vec<Row>,
    /// Number of flows left out.
    pub more: usize,
    /// Bound of each server by total flow analysis, or the reason why there is none.
    pub servers: Vec<Result<ServerBound, String>>,
    /// Remarks that a reader needs in order to interpret some of the bounds.
    pub notes: Vec<String>,
}

/// Input that all rows need.
struct Analyses<'s> {
    subject: &'s AnalysisSubject,
    tfa: Tfa,
    sfa: Option<PathBounds>,
    pmoo: Option<PathBounds>,
}

impl Report {
    /// Returns bounds of these flows: of the first 40 only unless `all` is set, since each linear program takes its time. Steps are servers, then flows.
    ///
    /// # Errors
    /// [`Error::Stopped`]: cancellation takes effect between two servers, flows or linear programs.
    pub fn of(
        subject: &AnalysisSubject,
        analyses: &[Analysis],
        flows: &[usize],
        all: bool,
        watch: &mut Watch<'_>,
    ) -> Result<Self, Error> {
        let report = Self::computed(subject, analyses, flows, all, watch);
        if watch.is_cancelled() { Err(Error::Stopped) } else { Ok(report) }
    }

    /// Computes rows until it is cancelled.
    fn computed(
        subject: &AnalysisSubject,
        analyses: &[Analysis],
        flows: &[usize],
        all: bool,
        watch: &mut Watch<'_>,
    ) -> Self {
        let (progress, cancel) = watch.parts();
        let (network, options) = (&subject.network, &subject.options);
        let shown = &flows[..if all { flows.len() } else { flows.len().min(SHOWN) }];
        let servers = network.servers().len();
        let total_steps = (servers + shown.len()) as u64;
        let mut step = |done: usize| progress.step(ProgressStep::Items { done: done as u64, total: total_steps });
        let total = tfa_watched(network, options, &mut step);
        let is_strict = subject.extras.is_none();
        let uses = |which: &[Analysis]| which.iter().any(|analysis| analyses.contains(analysis));
        let computed = Analyses {
            subject,
            sfa: uses(&[Analysis::Sfa, Analysis::Lp]).then(|| sfa_of(network, options, &total, shown)),
            pmoo: (is_strict && uses(&[Analysis::Pmoo])).then(|| pmoo(network, options, &total)),
            tfa: total,
        };
        let mut analyses = analyses.to_vec();
        analyses.dedup();
        let (mut notes, mut rows) = (Vec::new(), Vec::new());
        for (done, &flow) in (1..).zip(shown) {
            let paths = (0..network.flows()[flow].paths.len()).take_while(|_| !cancel.is_cancelled());
            rows.extend(paths.map(|path| computed.row(flow, path, &analyses, &mut notes)));
            step(servers + done);
        }
        let replaced = rows.iter().flat_map(|row| &row.instead).flatten().count();
        if replaced > 0 {
            let which = wayleave_explain::human::count(replaced, "linear program");
            notes.push(format!("{which} gave a worse bound than separate flow analysis (SFA); the SFA bound is shown"));
        }
        let servers = computed.tfa.servers().iter();
        let servers = servers.map(|bound| bound.clone().map_err(|reason| reason.explain(network))).collect();
        Self { analyses, rows, more: flows.len() - shown.len(), servers, notes }
    }
}

impl Analyses<'_> {
    fn row(&self, flow: usize, path: usize, analyses: &[Analysis], notes: &mut Vec<String>) -> Row {
        let extra = self.subject.extras.as_ref().map(|extras| &extras[flow]);
        let mut instead = vec![None; analyses.len()];
        let mut bound = |(analysis, instead): (&Analysis, &mut Option<Analysis>)| {
            let bound = self.bound(*analysis, flow, path, notes, instead)?;
            Ok(extra.map_or(bound.clone(), |extra| bound + &extra.constants))
        };
        let bounds = analyses.iter().zip(&mut instead).map(&mut bound).collect();
        Row { flow, path, bounds, instead, budget: extra.map(|extra| &extra.budgets + &extra.constants) }
    }

    fn bound(
        &self,
        analysis: Analysis,
        flow: usize,
        path: usize,
        notes: &mut Vec<String>,
        instead: &mut Option<Analysis>,
    ) -> AnalysisBound {
        let network = &self.subject.network;
        let explain = |reason: BoundError| reason.explain(network);
        match analysis {
            Analysis::Tfa => self.tfa.path_delay(flow, path).map_err(explain),
            Analysis::Sfa => match &self.sfa {
                Some(sfa) => sfa.path_delay(flow, path).map_err(explain),
                None => Err("not requested".to_owned()),
            },
            Analysis::Pmoo => match &self.pmoo {
                Some(pmoo) => pmoo.path_delay(flow, path).map_err(explain),
                None => {
                    Err("PMOO needs strict service curves, and the residual service under priorities is not strict"
                        .to_owned())
                }
            },
            Analysis::Lp => self.linear_program(network, flow, path, notes, instead),
        }
    }

    #[cfg(not(feature = "lp"))]
    fn linear_program(
        &self,
        _network: &PortNetwork,
        _flow: usize,
        _path: usize,
        _notes: &mut Vec<String>,
        _instead: &mut Option<Analysis>,
    ) -> AnalysisBound {
        Err("this build solves no linear programs: enable the feature `lp` of the crate wayleave".to_owned())
    }

    #[cfg(feature = "lp")]
    fn linear_program(
        &self,
        network: &PortNetwork,
        flow: usize,
        path: usize,
        notes: &mut Vec<String>,
        instead: &mut Option<Analysis>,
    ) -> AnalysisBound {
        use wayleave_calculus::lp::{NoFifoBound, fifo_delay};
        use wayleave_calculus::network::Multiplexing;

        if self.subject.options.multiplexing == Multiplexing::Arbitrary {
            return Err("the linear program is for FIFO: add --multiplexing fifo if servers are".to_owned());
        }
        let separate = self.sfa.as_ref().and_then(|sfa| sfa.path_delay(flow, path).ok());
        let bound = fifo_delay(network, &self.tfa, separate.as_ref(), flow, path);
        let bound = bound.map_err(|reason: NoFifoBound| reason.explain(network))?;
        let name = &network.flows()[flow].name;
        if bound.is_known {
            *instead = Some(Analysis::Sfa);
        } else if bound.is_loose {
            notes.push(format!(
                "the certificate of the linear program of \"{name}\" is more than a millionth above the solver's maximum: \
                 the bound holds, and a better one exists"
            ));
        }
        Ok(bound.delay)
    }
}
