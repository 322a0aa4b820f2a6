//! Progress and cancellation shared between a job and whoever watches it.

use crate::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// One job's progress counter and cancel switch. Cheap to poll from any thread.
#[derive(Debug, Default)]
pub struct Control {
    cancel: Arc<AtomicBool>,
    done: AtomicU64,
    total: AtomicU64,
}

impl Control {
    /// Asks the job to stop; it ends with [`crate::ErrorKind::Cancelled`] at its next check.
    pub fn cancel(&self) {
        self.cancel.store(true, Relaxed);
    }
    /// Called by jobs between pieces of work.
    pub fn check(&self) -> Result<()> {
        if self.cancel.load(Relaxed) { Err(Error::cancelled()) } else { Ok(()) }
    }
    /// With the same cancel switch and a progress of its own, for work that is done twice.
    pub fn uncounted(&self) -> Self {
        Self { cancel: self.cancel.clone(), ..Self::default() }
    }
    /// Sets the amount of work (bytes of original data) and resets the counter.
    pub fn begin(&self, total: u64) {
        self.done.store(0, Relaxed);
        self.total.store(total, Relaxed);
    }
    pub fn advance(&self, amount: u64) {
        self.done.fetch_add(amount, Relaxed);
    }
    /// (done, total) in the unit given to [`Control::begin`].
    pub fn progress(&self) -> (u64, u64) {
        (self.done.load(Relaxed), self.total.load(Relaxed))
    }
}
