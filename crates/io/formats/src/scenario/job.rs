//! `job`: messages that depend on one another, of a collective operation or of a trace.

use std::sync::Arc;

use wayleave_scenarios::{
    Collective, CollectiveError, CollectiveExchange, Endpoint, GraphError, Job, JobError, JobGraph, OfContract,
    TransportConfig,
};
use wayleave_units::Time;

use super::endpoints::Names;
use super::ends::read_some;
use super::files::Files;
use super::scalars::{exactly_one, refuse_beside, small, unknown_word};
use super::workload::own_transport;
use crate::fields::{Fields, Shape};
use crate::goal::read_goal;
use crate::problem::{ProblemKind, Problems};
use crate::tree::{Node, Value};

pub(crate) const JOB: Shape =
    Shape { what: "a job", keys: &["collective", "goal", "ranks", "data", "chunks", "compute", "iterations"] };

/// Reads a job. By default its ranks are all members of the contract, or else all hosts.
pub(super) fn read(
    traffic: &Fields<'_, '_>,
    names: &Names<'_>,
    of: Option<&OfContract>,
    usual: &TransportConfig,
    files: &mut Files<'_>,
    problems: &mut Problems<'_>,
) -> Option<Job> {
    let keys = ["sizes", "deadline", "sendSchedule", "active", "frame", "from", "to", "pairs", "route"];
    refuse_beside(traffic, &keys, "a job, whose ranks and messages define it", problems);
    let node = traffic.get("job")?;
    let fields = Fields::read(node, &JOB, problems)?;
    let (what, stated) = exactly_one(&fields, "a job", &["collective", "goal"], problems)?;
    let ranks = match (fields.get("ranks"), of) {
        (Some(node), _) => read_ranks(node, names, problems)?,
        (None, Some(of)) => of.hosts.iter().map(|&host| Endpoint::from(host)).collect(),
        (None, None) => names.network.hosts().map(Endpoint::from).collect(),
    };
    let iterations = fields.get("iterations").map_or(Some(1), |node| small(node, problems));
    let transport = own_transport(traffic, usual, problems);
    let graph = match what {
        "goal" => {
            refuse_beside(&fields, &["data", "chunks", "compute"], "a job with goal: the trace defines it", problems);
            files.read(stated, problems, read_goal)
        }
        _ => read_collective(stated, &fields, ranks.len(), problems),
    };
    match Job::new(ranks, Arc::new(graph?), iterations?) {
        Ok(mut job) => {
            job.transport = transport?;
            Some(job)
        }
        Err(error) => {
            let key = if error == JobError::NoIterations { "iterations" } else { "ranks" };
            let at = fields.get(key).unwrap_or(stated);
            let hint = match error {
                JobError::Ranks { endpoints, ranks } if endpoints > ranks as usize => "; list them in `ranks`",
                JobError::Ranks { .. } => "; a host may be listed in `ranks` several times",
                JobError::NoIterations => "",
            };
            problems.report(ProblemKind::Impossible, at.span, || format!("{error}{hint}"));
            None
        }
    }
}

/// Reads a list of hosts, virtual machines and ranges, in which each may occur several times.
fn read_ranks(node: &Node<'_>, names: &Names<'_>, problems: &mut Problems<'_>) -> Option<Vec<Endpoint>> {
    let items = match &node.value {
        Value::Sequence(items) => &items[..],
        _ => std::slice::from_ref(node),
    };
    let ranks: Vec<Option<Vec<Endpoint>>> = items.iter().map(|item| read_some(item, names, problems)).collect();
    ranks.into_iter().collect::<Option<Vec<_>>>().map(|ranks| ranks.concat())
}

fn read_collective(
    stated: &Node<'_>,
    fields: &Fields<'_, '_>,
    ranks: usize,
    problems: &mut Problems<'_>,
) -> Option<JobGraph> {
    let data = fields.require("data", problems).and_then(|node| node.quantity(problems));
    let chunks = fields.get("chunks").map_or(Some(1), |node| small(node, problems));
    let compute = fields.get("compute").map_or(Some(Time::ZERO), |node| node.quantity(problems));
    let word = stated.expect_text(problems)?;
    let Some((_, collective)) = Collective::ALL.into_iter().find(|(name, _)| *name == word) else {
        unknown_word(stated, "collective operation", word, &Collective::ALL.map(|(name, _)| name), problems);
        return None;
    };
    let exchange = CollectiveExchange { collective, data: data?, chunks: chunks?, compute: compute? };
    match exchange.graph(u32::try_from(ranks).unwrap_or(u32::MAX)) {
        Ok(graph) => Some(graph),
        Err(error) => {
            let key = match error {
                CollectiveError::TooFewRanks(_) | CollectiveError::NoPowerOfTwo(_) => "ranks",
                CollectiveError::NoData => "data",
                CollectiveError::NoChunks | CollectiveError::Graph(GraphError::TooLarge { .. }) => "chunks",
                CollectiveError::Graph(_) => "collective",
            };
            let at = fields.get(key).unwrap_or(stated);
            problems.report(ProblemKind::Impossible, at.span, || error.to_string());
            None
        }
    }
}
