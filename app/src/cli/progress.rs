//! What every command shares: JSON or text, progress bars on standard error, Ctrl+C.

use anyhow::Result;
use blockmgard::{Control, Error, ErrorKind};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::Write;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// One run of the program.
pub struct Session {
    /// Results go out as JSON.
    pub json: bool,
    control: Arc<Control>,
}

impl Session {
    /// Takes over Ctrl+C (and a request to terminate): the running job ends at its next check and removes its files. The
    /// second time the program ends at once.
    pub fn new(json: bool) -> Result<Self> {
        let control = Arc::new(Control::default());
        let handle = control.clone();
        ctrlc::set_handler(move || {
            if handle.check().is_err() {
                // Asked twice: whatever holds the job up, it ends now. Its .part file stays.
                std::process::exit(130);
            }
            handle.cancel();
        })?;
        Ok(Self { json, control })
    }
    /// Runs a job with a progress bar named `label` (none when standard error is no terminal).
    pub fn watch<R>(&self, label: &str, job: impl FnOnce(&Control) -> blockmgard::Result<R>) -> Result<R> {
        let (done, ended) = mpsc::channel::<()>();
        let result = std::thread::scope(|scope| {
            scope.spawn(|| draw(label, &self.control, ended));
            let result = job(&self.control);
            drop(done);
            result
        });
        Ok(result?)
    }
    /// Prints a result: `value` as JSON, or `text`.
    pub fn print(&self, value: &serde_json::Value, text: &str) -> Result<()> {
        if self.json { print(&serde_json::to_string_pretty(value)?) } else { print(text) }
    }
    /// Says what the user should not miss, with --json too.
    pub fn warn(&self, text: &str) {
        eprintln!("warning: {text}");
    }
    /// Says something that is no result.
    pub fn note(&self, text: &str) {
        if !self.json {
            eprintln!("{text}");
        }
    }
}

/// Prints a text on standard output. Who reads it may have closed it (`| head`): the work goes on all the same.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::new(ErrorKind::Io, format!("standard output: {error}")).into())
        }
        _ => Ok(()),
    }
}

/// Follows the job until `ended` hangs up.
fn draw(label: &str, control: &Control, ended: mpsc::Receiver<()>) {
    let style = "{msg} {wide_bar} {bytes}/{total_bytes} {binary_bytes_per_sec} {eta}";
    let bar = ProgressBar::no_length().with_message(label.to_owned());
    bar.set_style(ProgressStyle::with_template(style).expect("the template is well-formed"));
    while let Err(mpsc::RecvTimeoutError::Timeout) = ended.recv_timeout(Duration::from_millis(100)) {
        let (at, total) = control.progress();
        bar.set_length(total);
        bar.set_position(at.min(total));
    }
    bar.finish_and_clear();
}
