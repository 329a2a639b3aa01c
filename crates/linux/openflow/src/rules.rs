//! Changes that give a switch exactly a set of rules.

use crate::{FlowCommand, FlowEntry, FlowMod};

/// Changes that lead to the wanted rules: additions and removals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Wanted rules that are not there, or do something else. An addition takes the place of a rule with the same match and priority (section 6.4).
    pub additions: Vec<FlowMod>,
    /// Removals of rules that are not wanted.
    pub removals: Vec<FlowMod>,
}

impl Changes {
    /// Compares rules that are wanted, each with a match and a priority of its own, with those of a switch. Rules that are as wanted are not touched.
    pub fn between(wanted: &[FlowMod], there: &[FlowEntry]) -> Self {
        let is_about = |rule: &FlowMod, entry: &FlowEntry| {
            (rule.table, rule.priority, &rule.fields) == (entry.table, entry.priority, &entry.fields)
        };
        let is_as = |rule: &FlowMod, entry: &FlowEntry| {
            let timeouts = (rule.idle_s, rule.hard_s);
            is_about(rule, entry)
                && (rule.cookie, timeouts) == (entry.cookie, entry.timeouts_s)
                && rule.instructions == entry.instructions
        };
        let delete = |entry: &FlowEntry| FlowMod {
            table: entry.table,
            command: FlowCommand::DeleteStrict,
            priority: entry.priority,
            fields: entry.fields.clone(),
            ..FlowMod::default()
        };
        let unwanted = there.iter().filter(|entry| !wanted.iter().any(|rule| is_about(rule, entry)));
        let missing = wanted.iter().filter(|rule| !there.iter().any(|entry| is_as(rule, entry)));
        Self { additions: missing.cloned().collect(), removals: unwanted.map(delete).collect() }
    }

    /// Returns `true` if all rules are as wanted.
    pub fn is_empty(&self) -> bool {
        self.additions.is_empty() && self.removals.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FlowAction, FlowMatch, Instruction};

    fn rule(vlan: u16, port: u32) -> FlowMod {
        FlowMod {
            cookie: 7,
            priority: 100,
            fields: FlowMatch { vlan: Some(vlan), ..FlowMatch::default() },
            instructions: vec![Instruction::Apply(vec![FlowAction::Output(port)])],
            ..FlowMod::default()
        }
    }

    fn entry(rule: &FlowMod) -> FlowEntry {
        FlowEntry {
            table: rule.table,
            priority: rule.priority,
            flags: 0,
            timeouts_s: (rule.idle_s, rule.hard_s),
            age: (5, 6),
            cookie: rule.cookie,
            counts: (7, 8),
            fields: rule.fields.clone(),
            instructions: rule.instructions.clone(),
        }
    }

    #[test]
    fn matching_rules_are_kept_and_all_others_changed() {
        let wanted = [rule(1, 10), rule(2, 20), rule(3, 30)];
        assert_eq!(Changes::between(&wanted, &wanted.clone().map(|rule| entry(&rule))), Changes::default());
        // The first exists, the second has another action, the third is missing, and a fourth is foreign.
        let there = [entry(&rule(1, 10)), entry(&rule(2, 21)), entry(&rule(4, 40))];
        let Changes { additions, removals } = Changes::between(&wanted, &there);
        assert_eq!((removals.len(), removals[0].command), (1, FlowCommand::DeleteStrict));
        assert_eq!(removals[0].fields, rule(4, 40).fields);
        assert_eq!(additions, wanted[1..]);
    }

    #[test]
    fn a_rule_with_a_timeout_or_another_cookie_does_not_match() {
        let wanted = [rule(1, 10)];
        for other in [FlowMod { hard_s: 1, ..rule(1, 10) }, FlowMod { cookie: 8, ..rule(1, 10) }] {
            assert_eq!(Changes::between(&wanted, &[entry(&other)]).additions, wanted);
        }
    }
}
