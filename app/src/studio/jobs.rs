//! Background jobs: named threads with progress and cancel; their results come back as closures over the state.

use blockmgard::Control;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

/// What a finished job does to the state, on the UI thread.
pub type Done<S> = Box<dyn FnOnce(&mut S) + Send>;

/// One running job.
pub struct Job {
    pub id: u64,
    /// Shown to the user: "Reading statistics".
    pub name: String,
    pub control: Arc<Control>,
    pub started: Instant,
}

/// The running jobs.
pub struct Jobs<S> {
    pub running: Vec<Job>,
    next_id: u64,
    send: Sender<(u64, Result<Done<S>, String>)>,
    receive: Receiver<(u64, Result<Done<S>, String>)>,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl<S: 'static> Jobs<S> {
    /// `wake` is called from a job's thread when it ends.
    pub fn new(wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        let (send, receive) = channel();
        Self { running: vec![], next_id: 1, send, receive, wake }
    }

    /// Starts a job on its own thread. Its error is shown to the user unless it was cancelled.
    pub fn spawn<F>(&mut self, name: impl Into<String>, work: F) -> u64
    where
        F: FnOnce(&Control) -> anyhow::Result<Done<S>> + Send + 'static,
    {
        let (id, name, control) = (self.next_id, name.into(), Arc::new(Control::default()));
        self.next_id += 1;
        let (send, wake, inner) = (self.send.clone(), self.wake.clone(), control.clone());
        let thread = std::thread::Builder::new().name(name.clone()).spawn(move || {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&inner)));
            let result = match result {
                Ok(Ok(done)) => Ok(done),
                Ok(Err(error)) if is_cancelled(&error) => Err(String::new()),
                Ok(Err(error)) => Err(format!("{error:#}")),
                Err(_) => Err("the job stopped on an internal error; the session is unharmed".to_owned()),
            };
            // The receiver is gone only when the window is closing.
            let _ = send.send((id, result));
            wake();
        });
        match thread {
            Ok(_) => self.running.push(Job { id, name, control, started: Instant::now() }),
            Err(error) => {
                let _ = self.send.send((id, Err(format!("the system refuses another thread: {error}"))));
            }
        }
        id
    }

    /// Jobs that ended since the last call: (name, result). An empty error means cancelled.
    pub fn finished(&mut self) -> Vec<(String, Result<Done<S>, String>)> {
        let ended: Vec<_> = self.receive.try_iter().collect();
        ended
            .into_iter()
            .map(|(id, result)| {
                let at = self.running.iter().position(|j| j.id == id);
                (at.map(|i| self.running.remove(i).name).unwrap_or_default(), result)
            })
            .collect()
    }

    pub fn cancel(&self, id: u64) {
        if let Some(job) = self.running.iter().find(|j| j.id == id) {
            job.control.cancel();
        }
    }
    pub fn is_running(&self, name: &str) -> bool {
        self.running.iter().any(|j| j.name == name)
    }
}

/// Whether an error says that the user stopped the job.
pub fn is_cancelled(error: &anyhow::Error) -> bool {
    error.downcast_ref::<blockmgard::Error>().is_some_and(|e| e.kind == blockmgard::ErrorKind::Cancelled)
}
