//! A thread that always works on what is wanted now: requests of the same key replace each other.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex};

type Task<R> = Box<dyn FnOnce() -> R + Send>;

struct Queue<K, R> {
    waiting: VecDeque<(K, Task<R>)>,
    busy: bool,
    closed: bool,
}

/// Handle of the thread; dropping it ends the thread after the task at hand.
pub struct Worker<K, R> {
    shared: Arc<(Mutex<Queue<K, R>>, Condvar)>,
    results: Receiver<(K, R)>,
}

impl<K: PartialEq + Clone + Send + 'static, R: Send + 'static> Worker<K, R> {
    /// `wake` is called after each finished task, from the worker's thread.
    pub fn new(name: &str, wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        let queue = Queue { waiting: VecDeque::new(), busy: false, closed: false };
        let shared: Arc<(Mutex<Queue<K, R>>, Condvar)> = Arc::new((Mutex::new(queue), Condvar::new()));
        let (send, results) = channel();
        let inner = shared.clone();
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                while let Some((key, task)) = next(&inner) {
                    // A task that stops on an internal error must not take the thread, and all later tasks, with it.
                    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(task));
                    if result.is_ok_and(|r| send.send((key, r)).is_err()) {
                        return;
                    }
                    inner.0.lock().unwrap_or_else(|p| p.into_inner()).busy = false;
                    wake();
                }
            })
            .expect("the system refuses another thread");
        Self { shared, results }
    }

    /// Asks for a task; an unstarted one of the same key is dropped.
    pub fn request(&self, key: K, task: impl FnOnce() -> R + Send + 'static) {
        let mut queue = self.shared.0.lock().unwrap_or_else(|p| p.into_inner());
        queue.waiting.retain(|(k, _)| *k != key);
        queue.waiting.push_back((key, Box::new(task)));
        self.shared.1.notify_one();
    }

    /// What has been finished since the last call.
    pub fn finished(&self) -> Vec<(K, R)> {
        self.results.try_iter().collect()
    }

    /// Whether nothing is waiting or being worked on.
    pub fn is_idle(&self) -> bool {
        let queue = self.shared.0.lock().unwrap_or_else(|p| p.into_inner());
        queue.waiting.is_empty() && !queue.busy
    }
}

fn next<K, R>(shared: &(Mutex<Queue<K, R>>, Condvar)) -> Option<(K, Task<R>)> {
    let mut queue = shared.0.lock().unwrap_or_else(|p| p.into_inner());
    loop {
        if queue.closed {
            return None;
        }
        if let Some(task) = queue.waiting.pop_front() {
            queue.busy = true;
            return Some(task);
        }
        queue = shared.1.wait(queue).unwrap_or_else(|p| p.into_inner());
    }
}

impl<K, R> Drop for Worker<K, R> {
    fn drop(&mut self) {
        self.shared.0.lock().unwrap_or_else(|p| p.into_inner()).closed = true;
        self.shared.1.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_task_that_panics_leaves_the_worker_alive() {
        let worker: Worker<u8, u32> = Worker::new("test", Arc::new(|| ()));
        worker.request(0, || panic!("on purpose"));
        worker.request(1, || 7);
        let mut got = vec![];
        while got.is_empty() {
            got.extend(worker.finished());
        }
        assert_eq!(got, [(1, 7)]);
    }

    #[test]
    fn a_newer_request_of_the_same_key_replaces_an_unstarted_one() {
        let worker: Worker<u8, u32> = Worker::new("test", Arc::new(|| ()));
        worker.request(0, || {
            std::thread::sleep(Duration::from_millis(30));
            0
        });
        std::thread::sleep(Duration::from_millis(10));
        for i in 1..=5 {
            worker.request(1, move || i);
        }
        let mut got = vec![];
        while got.len() < 2 {
            got.extend(worker.finished());
        }
        assert_eq!(got, [(0, 0), (1, 5)]);
    }
}
