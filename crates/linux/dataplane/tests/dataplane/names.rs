//! Names of namespaces that belong to one test process, and removal of those that dead processes have left.

use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use wayleave_dataplane::net::Namespace;

/// Prefix of the names of tests; the number of the process follows.
const PREFIX: &str = "wltest";

static SWEEP: Once = Once::new();
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Names that no other test has.
pub(crate) struct Names(Vec<String>);

impl Names {
    /// One for each word.
    pub(crate) fn new(words: &[&str]) -> Self {
        SWEEP.call_once(sweep);
        let number = NEXT.fetch_add(1, Relaxed);
        Self(words.iter().map(|word| format!("{PREFIX}.{}.{number}.{word}", std::process::id())).collect())
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// One of them.
    pub(crate) fn get(&self, index: usize) -> &str {
        &self.0[index]
    }
}

/// Deletes what tests of processes have left that are no more.
fn sweep() {
    let all = Namespace::list().unwrap();
    let is_dead = |name: &&String| {
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('.').nth(1));
        owner.is_some_and(|owner| !Path::new("/proc").join(owner).exists())
    };
    Namespace::delete(all.iter().filter(is_dead).map(String::as_str)).unwrap();
}

/// Leaves the test out unless namespaces can be made on this machine.
pub(crate) fn require_namespaces() {
    let names = Names::new(&["probe"]);
    let made = Namespace::create(names.all());
    Namespace::delete(names.all()).unwrap();
    if let Err(error) = made {
        wayleave_repo_checks::leave_out("root", format_args!("it needs network namespaces: {error}"));
    }
}
