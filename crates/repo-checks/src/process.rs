//! Processes of tests.

use std::ops::{Deref, DerefMut};
use std::process::Child;

/// A child process that is killed when it is dropped, also by a panic.
#[derive(Debug)]
pub struct KilledChild(pub Child);

impl Deref for KilledChild {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for KilledChild {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for KilledChild {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
