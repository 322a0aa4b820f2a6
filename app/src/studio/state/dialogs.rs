//! Dialogs of the system, off the UI thread.

use super::State;
use super::document::OpenRequest;
use crate::studio::jobs::Done;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Name of the job behind a dialog of the system.
const BROWSING: &str = "Choosing a file";

impl State {
    /// A dialog of the system, off the UI thread; says so where the system has none.
    fn browse(
        &mut self,
        ask: impl FnOnce() -> Option<PathBuf> + Send + 'static,
        then: impl FnOnce(&mut State, PathBuf) + Send + 'static,
    ) {
        if self.jobs.is_running(BROWSING) {
            return;
        }
        self.jobs.spawn(BROWSING, move |_| {
            let asked = Instant::now();
            let picked = ask();
            let done: Done<State> = Box::new(move |state: &mut State| match picked {
                Some(path) => then(state, path),
                // No hand is this fast: the dialog never came up.
                None if asked.elapsed() < Duration::from_millis(300) => {
                    state.say("The system shows no file dialog here; type the path");
                }
                None => {}
            });
            Ok(done)
        });
    }

    pub(super) fn browse_import(&mut self) {
        let ask = || rfd::FileDialog::new().set_title("Import a mask").pick_file();
        self.browse(ask, |state, path| {
            if let Some(form) = &mut state.import {
                form.path = path.to_string_lossy().into_owned();
            }
        });
    }

    pub(super) fn browse_save(&mut self) {
        let Some(form) = self.save.clone() else { return };
        let ask = move || {
            let dialog = rfd::FileDialog::new().set_title("Save as");
            match PathBuf::from(&form.path).file_name() {
                Some(name) => dialog.set_file_name(name.to_string_lossy()).save_file(),
                None => dialog.save_file(),
            }
        };
        self.browse(ask, |state, path| {
            if let Some(form) = &mut state.save {
                form.path = path.to_string_lossy().into_owned();
            }
        });
    }

    pub(super) fn ask_open(&mut self) {
        let folder = self.document.as_ref().and_then(|d| d.path.parent().map(|p| p.to_path_buf()));
        self.windows.open_dialog = true;
        let ask = move || {
            let dialog = rfd::FileDialog::new().set_title("Open a volume");
            match folder {
                Some(folder) => dialog.set_directory(folder).pick_file(),
                None => dialog.pick_file(),
            }
        };
        self.browse(ask, |state, path| {
            state.open(OpenRequest { path: path.to_string_lossy().into_owned(), ..Default::default() });
        });
    }
}
