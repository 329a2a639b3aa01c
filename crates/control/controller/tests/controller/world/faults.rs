//! Failures, and the effects of the network on messages.

use std::collections::BTreeSet;

use wayleave_agent::machine::{Agent, InjectedFault, PollInterval, Recorder};
use wayleave_controller::ElementName;

use crate::world::events::{Event, Wanted, What};
use crate::world::run::{Node, World};

impl World {
    /// Sends an event through the network: it arrives late, twice or never.
    pub(crate) fn carry(&mut self, event: Event) {
        if self.is_calm {
            let late = self.dice.time(10, 500);
            return self.at(late, event);
        }
        if self.dice.percent(self.weather.drops) {
            if let Event::Asked(wanted) = &event {
                self.note(|| format!("lost: {}", wanted.what.text()));
            }
            return;
        }
        if self.dice.percent(self.weather.doubles) {
            let late = self.dice.time(10, 10 * self.weather.slowest_us);
            self.at(late, event.clone());
        }
        let late = self.dice.time(10, self.weather.slowest_us);
        self.at(late, event);
    }

    /// Something fails, or seems to.
    pub(crate) fn fail(&mut self) -> Result<(), String> {
        match self.dice.between(1, 100) {
            1..=20 => {
                let host = self.some_host();
                self.restart_agent(&host);
            }
            21..=40 => self.cut_power(),
            41..=60 => {
                let links: Vec<String> = self.setup.network.links().map(|(_, link)| link.name.clone()).collect();
                let link = self.dice.pick(&links);
                if self.dice.percent(50) { self.cut(&link) } else { self.declare(ElementName::Link(link)) }
            }
            61..=72 => {
                let switches = self.setup.network.switches();
                let names: Vec<String> = switches.map(|node| self.setup.network.node(node).name.clone()).collect();
                let switch = self.dice.pick(&names);
                self.declare(ElementName::Node(switch));
            }
            73..=78 if self.weather.operators_err => {
                let host = self.some_host();
                self.declare(ElementName::Node(host));
            }
            79..=88 => {
                let (host, many) = (self.some_host(), self.dice.between(1, 3));
                let faults: Vec<InjectedFault> = (0..many)
                    .map(|_| self.dice.pick(&[InjectedFault::Fails, InjectedFault::DoneUnconfirmed]))
                    .collect();
                if let Some(agent) = self.nodes.get_mut(&host).and_then(|node| node.agent.as_mut()) {
                    agent.driver_mut().inject_faults(faults);
                }
            }
            89..=94 if self.weather.calendar_jumps => {
                let jump = self.dice.between(0, 1_000_000_000);
                // As often forth as back, and never before the beginning.
                self.wall_offset =
                    if self.dice.percent(50) { self.wall_offset + jump } else { self.wall_offset.saturating_sub(jump) };
                self.note(|| "the calendar jumps".to_owned());
            }
            _ => return self.crash("for no reason"),
        }
        Ok(())
    }

    /// The cable of a link is cut, and joined again later: the agents of its ends see it, each in its own time.
    fn cut(&mut self, name: &str) {
        let network = self.setup.network.clone();
        let Some(link) = network.find_link(name) else { return };
        for end in [network.link(link).from, network.link(link).to] {
            let (soon, later) = (self.dice.time(10, 1_000), self.dice.time(500, 30_000));
            for (after, is_down) in [(soon, true), (soon + later, false)] {
                let node = network.node(end).name.clone();
                self.at(after, Event::Carrier { node, link: name.to_owned(), is_down });
            }
        }
    }

    /// Reports the carrier of a node's cables by its agent.
    pub(crate) fn see(&mut self, node: &str) {
        let late = self.dice.time(10, 500);
        let what = What::See { node: node.to_owned() };
        self.at(late, Event::Asked(Box::new(Wanted { key: None, what, retries: 0 })));
    }

    /// Reports the rules of shares that a host's agent has received.
    pub(crate) fn report_rules(&mut self, node: &str) {
        self.carry(Event::Asked(Box::new(Wanted {
            key: None,
            what: What::Report { node: node.to_owned() },
            retries: 0,
        })));
    }

    /// Declares an element down, and later up.
    fn declare(&mut self, element: ElementName) {
        let (soon, later) = (self.dice.time(10, 1_000), self.dice.time(500, 30_000));
        for (after, down) in [(soon, true), (soon + later, false)] {
            let what = What::Declare { element: element.clone(), down };
            self.at(after, Event::Asked(Box::new(Wanted { key: None, what, retries: 9 })));
        }
    }

    /// Restarts the process of an agent; its node keeps running.
    pub(crate) fn restart_agent(&mut self, name: &str) {
        let pace = self.weather.pace;
        let Some(node) = self.nodes.get_mut(name) else { return };
        let Some(agent) = node.agent.take() else { return };
        node.life += 1;
        node.rules.clear();
        node.agent = Some(Agent::new(agent.into_driver(), pace));
        // A new agent begins at once, independently of its clock.
        self.note(|| format!("agent of {name} restarts"));
    }

    /// Cuts the power of a host or a switch, which loses its installed rules.
    fn cut_power(&mut self) {
        let with_agents: Vec<String> = self.nodes.keys().cloned().collect();
        let name = self.dice.pick(&with_agents);
        let Some(node) = self.nodes.get_mut(&name) else { return };
        if node.agent.take().is_none() {
            return;
        }
        node.life += 1;
        node.rules.clear();
        self.note(|| format!("{name} loses power"));
        self.look_at(&name);
        let back = self.dice.time(100, 100_000);
        self.at(back, Event::Power { node: name.clone() });
        if self.dice.percent(50) {
            self.declare(ElementName::Node(name));
        }
    }

    /// Power is back.
    pub(crate) fn power(&mut self, name: &str) {
        let pace = self.weather.pace;
        if let Some(node) = self.nodes.get_mut(name).filter(|node| node.agent.is_none()) {
            node.agent = Some(Agent::new(Recorder::default(), pace));
            self.note(|| format!("{name} has power again"));
        }
    }
}

impl Node {
    pub(crate) fn new(pace: PollInterval) -> Self {
        Self {
            agent: Some(Agent::new(Recorder::default(), pace)),
            life: 0,
            taint: None,
            down_links: BTreeSet::new(),
            rules: Vec::new(),
            notices: BTreeSet::new(),
        }
    }
}
