//! The agent, message by message.

use wayleave_agent::machine::suite::rule;
use wayleave_agent::machine::{
    Agent, AgentCall, AgentReply, AgentRequest, Driver, InjectedFault, PollInterval, RecordedCall, Recorder,
};
use wayleave_protocol::agent::{Operation, Work};
use wayleave_units::Time;

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

fn install(serial: u64, version: u64) -> Operation {
    Operation { serial, version, work: Work::Install { rule: Box::new(rule(version as u32)) } }
}

fn remove(serial: u64, version: u64) -> Operation {
    Operation { serial, version, work: Work::Remove }
}

fn only(agent: &mut Agent<Recorder>) -> AgentCall {
    let mut requests = agent.take_requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    requests.remove(0)
}

/// An agent in session 1, and the number of its last request.
fn in_session(driver: Recorder) -> (Agent<Recorder>, u64) {
    let mut agent = Agent::new(driver, PollInterval::default());
    agent.tick(ms(0));
    let begin = only(&mut agent);
    assert!(matches!(begin.ask, AgentRequest::Begin { after: 0, .. }));
    agent.answer(ms(0), begin.number, AgentReply::Begun { epoch: 1 });
    let poll = only(&mut agent);
    assert_eq!(poll.ask, AgentRequest::Operations { epoch: 1 });
    (agent, poll.number)
}

fn confirmed(agent: &mut Agent<Recorder>) -> Vec<(u64, u64)> {
    let of = |request: AgentCall| match request.ask {
        AgentRequest::Confirm { done, .. } => done,
        _ => Vec::new(),
    };
    agent.take_requests().into_iter().flat_map(of).collect()
}

#[test]
fn the_highest_version_of_each_contract_wins_in_any_order() {
    let operations = [install(1, 1), install(1, 2), remove(1, 3), install(1, 4)];
    let orders: [&[usize]; 5] = [&[0, 1, 2, 3], &[3, 2, 1, 0], &[1, 3, 0, 2], &[0, 0, 3, 3, 2], &[3, 0]];
    for order in orders {
        let (mut agent, poll) = in_session(Recorder::default());
        for &at in order {
            agent.answer(ms(1), poll, AgentReply::Operations(vec![operations[at].clone()]));
        }
        assert_eq!(agent.driver().rules()[&1].0, 4, "{order:?}");
    }
    let (mut agent, poll) = in_session(Recorder::default());
    for operation in [remove(1, 3), install(1, 2)] {
        agent.answer(ms(1), poll, AgentReply::Operations(vec![operation]));
    }
    assert!(agent.driver().rules().is_empty(), "a removed contract remembers its version");
    assert_eq!(confirmed(&mut agent), [(1, 3), (1, 3)]);
}

#[test]
fn a_repeated_operation_is_applied_once_and_confirmed_twice() {
    let (mut agent, poll) = in_session(Recorder::default());
    for _ in 0..2 {
        agent.answer(ms(1), poll, AgentReply::Operations(vec![install(7, 1)]));
    }
    let installs = agent.driver().calls().iter().filter(|call| call.did == RecordedCall::Install(7, 1)).count();
    assert_eq!((installs, confirmed(&mut agent)), (1, vec![(7, 1), (7, 1)]));
}

#[test]
fn a_failed_operation_is_retried_with_backoff_and_confirmed_once_done() {
    let mut driver = Recorder::default();
    driver.inject_faults([InjectedFault::Fails, InjectedFault::DoneUnconfirmed, InjectedFault::Fails]);
    let (mut agent, poll) = in_session(driver);
    agent.answer(ms(0), poll, AgentReply::Operations(vec![install(1, 1)]));
    let mut tried = Vec::new();
    for now in (0..1000).step_by(10) {
        agent.tick(ms(now));
        if !confirmed(&mut agent).is_empty() {
            tried.push(now);
        }
    }
    assert_eq!(tried, [50 + 100 + 200]);
}

#[test]
fn a_later_version_cancels_retries_of_an_earlier_one() {
    let mut driver = Recorder::default();
    driver.inject_faults([InjectedFault::Fails]);
    let (mut agent, poll) = in_session(driver);
    agent.answer(ms(0), poll, AgentReply::Operations(vec![install(1, 1)]));
    agent.answer(ms(1), poll, AgentReply::Operations(vec![remove(1, 2)]));
    agent.tick(ms(1000));
    assert!(agent.driver().rules().is_empty());
}

#[test]
fn an_impossible_operation_is_neither_confirmed_nor_retried() {
    let mut driver = Recorder::default();
    driver.install(ms(0), 1, 1, &rule(1)).unwrap();
    driver.inject_faults([InjectedFault::Impossible]);
    let (mut agent, poll) = in_session(driver);
    for _ in 0..2 {
        agent.answer(ms(1), poll, AgentReply::Operations(vec![install(1, 2)]));
    }
    agent.tick(ms(10_000));
    assert_eq!(confirmed(&mut agent), []);
    assert_eq!(agent.driver().rules()[&1].0, 1, "the old rule stays");
}

#[test]
fn an_agent_ignores_sessions_that_it_has_not_opened() {
    let mut agent = Agent::new(Recorder::default(), PollInterval::default());
    agent.tick(ms(0));
    let begin = only(&mut agent);
    agent.answer(ms(0), begin.number, AgentReply::Operations(vec![install(1, 1)]));
    agent.answer(ms(0), begin.number + 1, AgentReply::Begun { epoch: 1 });
    assert_eq!((agent.epoch(), agent.driver().rules().len()), (None, 0));
    agent.answer(ms(0), begin.number, AgentReply::Begun { epoch: 1 });
    let poll = only(&mut agent);
    agent.answer(ms(0), begin.number, AgentReply::Operations(vec![install(1, 1)]));
    assert_eq!(agent.driver().rules().len(), 0, "asked before this session");
    agent.answer(ms(0), poll.number, AgentReply::Operations(vec![install(1, 1)]));
    assert_eq!(agent.driver().rules().len(), 1);
}

#[test]
fn an_ended_session_is_followed_by_one_that_lists_installed_rules() {
    let (mut agent, poll) = in_session(Recorder::default());
    agent.answer(ms(1), poll, AgentReply::Operations(vec![install(1, 1)]));
    agent.take_requests();
    agent.answer(ms(2), poll, AgentReply::Stale { current: Some(4) });
    let begin = only(&mut agent);
    assert_eq!(begin.ask, AgentRequest::Begin { after: 4, installed: vec![(1, 1)] });
    agent.answer(ms(2), begin.number, AgentReply::Stale { current: Some(6) });
    let begin = only(&mut agent);
    assert_eq!(begin.ask, AgentRequest::Begin { after: 6, installed: vec![(1, 1)] });
    agent.answer(ms(2), begin.number, AgentReply::Begun { epoch: 7 });
    assert_eq!(agent.epoch(), Some(7));
    agent.answer(ms(3), poll, AgentReply::Operations(vec![remove(1, 9)]));
    assert_eq!(agent.driver().rules().len(), 1, "an answer of the session before");
}

#[test]
fn a_session_older_than_a_known_one_is_not_opened_nor_its_operations_applied() {
    let (mut agent, poll) = in_session(Recorder::default());
    agent.answer(ms(1), poll, AgentReply::Operations(vec![install(1, 1)]));
    agent.take_requests();
    agent.answer(ms(2), poll, AgentReply::Stale { current: Some(4) });
    let begin = only(&mut agent);
    for old in [1, 4] {
        agent.answer(ms(2), begin.number, AgentReply::Begun { epoch: old });
        agent.answer(ms(2), begin.number + 1, AgentReply::Operations(vec![remove(1, 9)]));
        assert_eq!((agent.epoch(), agent.driver().rules().len()), (None, 1), "epoch {old}");
    }
    agent.answer(ms(2), begin.number, AgentReply::Begun { epoch: 5 });
    assert_eq!(agent.epoch(), Some(5));
}

#[test]
fn without_a_controller_rules_stay_and_polls_back_off() {
    let (mut agent, poll) = in_session(Recorder::default());
    agent.answer(ms(0), poll, AgentReply::Operations(vec![install(1, 1)]));
    agent.take_requests();
    let mut asked = Vec::new();
    for now in (0..30_000).step_by(50) {
        agent.tick(ms(now));
        asked.extend(agent.take_requests().iter().map(|_| now));
    }
    let waits: Vec<u64> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(waits[..7], [100, 200, 400, 800, 1600, 3200, 5000]);
    assert_eq!(agent.driver().rules().len(), 1);
}
