//! Query parameters of the routes.

use wayleave_protocol::contract::{Kind, State};
use wayleave_protocol::health::HealthLevel;

use crate::handlers::contract_order::{Column, Direction};
use crate::handlers::names;
use crate::http::operation::ParamKind::{Choice, Count, Flag, Number, Text as Words};
use crate::http::operation::{Param, ParamKind};

/// The names of all values of a type, for [`Choice`].
macro_rules! names {
    ($of:ty) => {{
        const NAMES: [&str; <$of>::ALL.len()] = {
            let mut names = [""; <$of>::ALL.len()];
            let mut at = 0;
            while at < names.len() {
                names[at] = <$of>::ALL[at].name();
                at += 1;
            }
            names
        };
        &NAMES
    }};
}

const fn param(name: &'static str, kind: ParamKind, help: &'static str) -> Param {
    Param { name, kind, help }
}

pub(super) const LIMIT: Param = param("limit", Count(1000), "Maximum number of items: 1 to 1000, default 100");
pub(super) const AFTER: Param = param("after", Words, "Value of `next` of the previous page");
pub(super) const TENANT: Param = param("tenant", Words, "Only items of this tenant; an error if it does not exist");
pub(super) const DRY_RUN: Param = param("dryRun", Flag, "Dry run: only report the result");
pub(super) const STATE: Param = param("state", Choice(names!(State)), "Only contracts in this state");
pub(super) const KIND: Param = param("kind", Choice(names!(Kind)), "Only contracts of this kind");
pub(super) const SORT: Param = param(
    "sort",
    Choice(Column::NAMES),
    "Column by which contracts are sorted; unknown values are last, and equal ones are sorted by tenant and name. A contract whose value of the column changes between two pages may be in both or in neither",
);
pub(super) const ORDER: Param =
    param("order", Choice(Direction::NAMES), "Direction of `sort`: ascending is the default");
pub(super) const AT_HOST: Param = param(
    "host",
    Words,
    "Only contracts with an end or a member on this host or switch, or with a reservation on one of its links",
);
pub(super) const PREFIX: Param = param("prefix", Words, "Beginning or part of the name, in upper or lower case");
pub(super) const OF_KIND: Param =
    param("kind", Choice(names::KINDS), "Only names of this kind; a node is a host or a switch");
pub(super) const FORMAT: Param =
    param("format", Choice(&["json", "csv"]), "`csv`: a table; a list is then complete, without pages");
pub(super) const ON_LINK: Param =
    param("link", Words, "Only contracts that use this link; an error if it does not exist");
pub(super) const NAMED: Param = param("text", Words, "Only contracts whose `tenant:name` contains this text");
pub(super) const LABELLED: Param =
    param("labels", Words, "Only contracts with all of these labels: key=value, separated by commas");
pub(super) const LEVEL: Param = param("level", Choice(names!(HealthLevel)), "Only contracts at this level");
pub(super) const GROUP: Param =
    param("group", Words, "Only this part of the network: the `group` of a node group or of `within`");
pub(super) const BUCKETS: Param = param("buckets", Count(400), "Number of time buckets: 1 to 400, default 120");
pub(super) const PROBLEMS: Param =
    param("problems", Flag, "Only agents that are silent, have stopped, or report a problem");
pub(super) const OF_EACH: Param =
    param("limit", Count(1000), "Maximum length of each list: 1 to 1000; unlimited if not given");
pub(super) const ON_HOST: Param = param("host", Words, "Only VMs on this host");
pub(super) const WHO: Param = param("who", Words, "Only requests made with this token");
pub(super) const OBJECT: Param = param("object", Words, "Only requests that concern this object");
pub(super) const LINK: Param = param("link", Words, "Only queues of this link");
pub(super) const ATOMIC: Param = param("atomic", Flag, "Apply the whole list or nothing");
pub(super) const FORCE: Param =
    param("force", Flag, "Operators: also release its reservation at once, because its sender has certainly stopped");
pub(super) const EPOCH: Param = param("epoch", Number(u64::MAX), "Session number; any other number is a conflict");
pub(super) const WAIT: Param = param("wait", Number(60), "Seconds to wait for messages: 0 to 60, default 0");
pub(super) const FROM: Param = param("from", Words, "Begin of the history (RFC 3339); default: an hour before its end");
pub(super) const TO: Param = param("to", Words, "End of the history (RFC 3339); default: now");
pub(super) const STEP: Param =
    param("step", Count(86_400), "Seconds of each point, in multiples of 10; default: at most 500 points");
pub(super) const PATHS: Param = param("limit", Count(1000), "Maximum number of paths: 1 to 1000, default 20");
pub(super) const MONTH: Param =
    param("month", Words, "Year and month (UTC), such as 2026-11; default: the present month");
pub(super) const HISTORY: &[Param] = &[FROM, TO, STEP, FORMAT];
pub(super) const PAGE: &[Param] = &[LIMIT, AFTER];
pub(super) const PAGE_OR_CSV: &[Param] = &[LIMIT, AFTER, FORMAT];
pub(super) const TRIAL: &[Param] = &[DRY_RUN];
