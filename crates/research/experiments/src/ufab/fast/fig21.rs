//! Fig. 21: division of a tenant's tokens among its pairs (appendix E), as carried by probes and their answers.

use std::collections::BTreeMap;

use wayleave_scenarios::{Scenario, SendSchedule, Workload};
use wayleave_schemes::host::ufab::{Settings, UnusedTokens};
use wayleave_topology::builders::{Cabling, build};
use wayleave_topology::{NodeId, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

use super::watched::{NoteKind, watch};
use super::{Contender, LINE};
use crate::catalogue::{Entry, UFAB};
use crate::checkpoint::stored;
use crate::data::{Figure, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;
use crate::ufab::testbed::{Tenant, endless, policy};

pub(crate) const ENTRY: Entry = Entry {
    id: "ufab-fig21",
    runs: "tokens",
    paper: &UFAB,
    place: "Fig. 21",
    title: "Token assignment example",
    full_runs: 1,
    full_seconds: 1,
    quick_seconds: 2,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

/// phi of the tenant in the example: a number of tokens that three and two divide.
const PHI: u64 = 6_000;
/// epsilon of Fig. 21b, as tokens: what a1 wants to send to a4.
const EPSILON: u64 = 600;

/// Latest values in messages, in tokens.
#[derive(Clone, Debug, Default)]
struct Answers {
    /// Of a1 to a4, a5 and a6, and of a2 to a6.
    asked: Vec<u64>,
    /// Answer of a6 to a2.
    admitted: u64,
}

stored!(Answers { asked, admitted });

/// Fig. 21a, and 21b with the printed line 7 and as the text has it.
#[derive(Clone, Debug, Default)]
struct Data {
    enough: Answers,
    little: Answers,
    kept: Answers,
}

fn measure(run: &Run) -> Result<Figure, Failed> {
    let cases =
        [(None, UnusedTokens::Kept), (Some(EPSILON), UnusedTokens::AsPrinted), (Some(EPSILON), UnusedTokens::Kept)];
    let found =
        run.gather(ENTRY.id, (&cases, &[1]), |&(epsilon, unused), _| example(run.simulator(), epsilon, unused))?;
    let Ok([enough, little, kept]) = <[Answers; 3]>::try_from(found.concat()) else {
        return Err(Failed::broken("an example without a result"));
    };
    let data = Data { enough, little, kept };
    let seeds = run.seeds(ENTRY.full_runs, 1);
    let figure = Figure { statements: statements(&data), tables: vec![table(&data)], seeds, ..Figure::default() };
    let notes = vec![
        "Probes say whole tokens, and what a pair sends is measured with headers and probes: a token or two are rounding. a6 learns of a2 with every frame, so what it admits is that of \
         the last probe."
            .to_owned(),
    ];
    Ok(Figure { notes, ..figure }
        .with("network", "one switch, 100 Gbit/s")
        .with("tokens", format!("{PHI} a host, of 2 Mbit/s each; epsilon is {EPSILON}")))
}

/// Six hosts of one tenant; a1 sends to a4, a5 and a6, and a2 to a6.
fn example(simulator: &Simulator, epsilon: Option<u64>, unused_tokens: UnusedTokens) -> Result<Answers, Failed> {
    let cabling = Cabling {
        rate: LINE,
        propagation: Time::from_micros(1),
        switch_port: PortSpec::uniform(1, Bytes::new(5_400_000)),
        ..Cabling::default()
    };
    let network = std::sync::Arc::new(build::star(6, cabling).map_err(Failed::broken)?);
    let hosts: Vec<NodeId> = network.hosts().collect();
    let min = Rate::from_mbit(2 * PHI);
    let tenant = Tenant { name: "a".to_owned(), min, hosts: hosts.clone() };
    let mut scenario = Scenario::new("tokens", network.clone(), Time::from_millis(3));
    Contender::Ufab.share(&mut scenario, policy(&network, &[tenant])?);
    if let Some(sharing) = &mut scenario.sharing {
        sharing.scheme = wayleave_scenarios::HostSchemeConfig::Ufab(Settings { unused_tokens, ..super::fast() });
    }
    let pairs = [(0, 3), (0, 4), (0, 5), (1, 5)];
    scenario.traffic = pairs.iter().map(|&(from, to)| endless("a", hosts[from], hosts[to], Time::ZERO)).collect();
    for (at, traffic) in scenario.traffic.iter_mut().enumerate() {
        traffic.name = format!("pair {at}");
    }
    if let (Some(epsilon), Workload::Flows(flows)) = (epsilon, &mut scenario.traffic[0].workload) {
        // Of each frame of 1,538 B 1,460 are payload.
        flows.send_schedule = Some(SendSchedule::Rate(Rate::from_mbit(2 * epsilon * 1_460 / 1_538)));
    }
    let (_, notes) = watch(simulator, &scenario, 1)?;
    let (mut asked, mut admitted) = (BTreeMap::new(), BTreeMap::new());
    for note in notes {
        match note.what {
            NoteKind::Sends { pair, tokens } => drop(asked.insert(pair, tokens)),
            NoteKind::Receives { pair, admitted: Some(tokens) } => drop(admitted.insert(pair, tokens)),
            NoteKind::Receives { .. } | NoteKind::Takes => {}
        }
    }
    let last = asked.keys().next_back().and_then(|pair| admitted.get(pair));
    Ok(Answers { admitted: last.copied().unwrap_or_default(), asked: asked.into_values().collect() })
}

/// Returns `true` if all tokens have the expected values, up to the last digit of a rate.
fn are(tokens: &[u64], expected: &[f64]) -> bool {
    // 1 % of the tokens: rates are measured between probes.
    tokens.len() == expected.len()
        && tokens.iter().zip(expected).all(|(&tokens, expected)| (tokens as f64 - expected).abs() <= PHI as f64 * 0.01)
}

fn statements(data: &Data) -> Vec<Statement> {
    let (phi, epsilon) = (PHI as f64, EPSILON as f64);
    let of_a1 = |answers: &Answers| answers.asked.iter().copied().take(3).collect::<Vec<_>>();
    let shown = |answers: &Answers| format!("{:?} of {PHI}, a6 admits {}", of_a1(answers), answers.admitted);
    vec![
        Statement::claim(
            "E, Fig. 21a",
            "a1 divides its tokens equally: phi/3 each",
            are(&of_a1(&data.enough), &[phi / 3.0; 3]),
            shown(&data.enough),
        ),
        Statement::claim(
            "E, Fig. 21a",
            "a6 admits phi/3 of a1, and 2/3 phi of a2",
            are(&[data.enough.admitted], &[phi * 2.0 / 3.0]),
            shown(&data.enough),
        ),
        Statement::claim(
            "E, Fig. 21b",
            "where a1 wants to send epsilon to a4, a5 and a6 get (phi - epsilon)/2 each",
            are(&of_a1(&data.little), &[epsilon, (phi - epsilon) / 2.0, (phi - epsilon) / 2.0]),
            shown(&data.little),
        )
        .remark("With the printed line 7 of Algorithm 1."),
        Statement::claim(
            "E, Fig. 21b",
            "a2 to a6 then adapts to (phi + epsilon)/2",
            are(&[data.little.admitted], &[(phi + epsilon) / 2.0]),
            shown(&data.little),
        ),
        Statement::claim(
            "E",
            "a pair of insufficient demand is given its fair share all the same, and the others what it leaves",
            are(&of_a1(&data.kept), &[phi / 3.0, (phi - epsilon) / 2.0, (phi - epsilon) / 2.0]),
            shown(&data.kept),
        )
        .remark("The comment of line 7 and the text, which is the default here."),
    ]
}

fn table(data: &Data) -> Table {
    let row = |name: &str, answers: &Answers| {
        let cells = answers.asked.iter().copied().chain([answers.admitted]).map(|tokens| tokens.to_string());
        std::iter::once(name.to_owned()).chain(cells).collect()
    };
    Table {
        name: "tokens".to_owned(),
        title: "Tokens in probes, and tokens of a2 that a6 admits".to_owned(),
        columns: ["case", "a1 to a4", "a1 to a5", "a1 to a6", "a2 to a6", "a6 admits of a2"]
            .map(str::to_owned)
            .to_vec(),
        rows: vec![
            row("21a", &data.enough),
            row("21b, line 7 as printed", &data.little),
            row("21b, as the text has it", &data.kept),
        ],
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let answers = |asked: [u64; 4], admitted| Answers { asked: asked.to_vec(), admitted };
        let data = Data {
            enough: answers([2_000, 2_000, 2_000, 6_000], 4_000),
            little: answers([600, 2_700, 2_700, 6_000], 3_300),
            kept: answers([2_000, 2_700, 2_700, 6_000], 3_300),
        };
        assert_each_can_change(
            &data,
            statements,
            &[
                ("unequal thirds", &|data: &mut Data| data.enough.asked[1] = 1_800),
                ("a6 admits more", &|data: &mut Data| data.enough.admitted = 6_000),
                ("nothing is left over", &|data: &mut Data| data.little.asked[2] = 2_000),
                ("a2 gets too little", &|data: &mut Data| data.little.admitted = 3_000),
                ("a4 loses its share", &|data: &mut Data| data.kept.asked[0] = 600),
            ],
        );
    }
}
