//! The offer to take up the last session's work again.

use super::State;
use super::saved::ProjectFiles;
use crate::studio::jobs::Done;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Work that was autosaved and may be in no project.
pub struct Offer {
    files: Box<ProjectFiles>,
    /// "density.f32: 3 regions, 2 runs, 5 minutes ago"
    pub text: String,
}

impl State {
    /// Looks for work of the last session and offers it.
    pub fn offer_last_session(&mut self) {
        let Some(path) = self.settings.slot.last().filter(|p| p.exists()) else { return };
        self.jobs.spawn("Looking at the last session", move |_| {
            // What cannot be read again is not offered; the file stays where it is.
            let read = std::fs::read_to_string(&path).ok().and_then(|text| ProjectFiles::read(&path, &text).ok());
            let offer = read.and_then(|files| {
                let text = summary(&files, age(&path))?;
                Some(Offer { files: Box::new(files), text })
            });
            let done: Done<State> = Box::new(move |state: &mut State| state.offer = offer);
            Ok(done)
        });
    }

    pub(super) fn answer_offer(&mut self, yes: bool) {
        let Some(offer) = self.offer.take().filter(|_| yes) else { return };
        self.open_project(Box::new(ProjectFiles { unsaved: true, ..*offer.files }));
    }
}

/// What there is to restore; `None` for nothing.
fn summary(files: &ProjectFiles, age: Option<Duration>) -> Option<String> {
    let project = &files.project;
    let (regions, runs) = (project.roi.regions.len(), project.run_count());
    let count = |n: usize, what: &str| match n {
        0 => None,
        1 => Some(format!("1 {what}")),
        _ => Some(format!("{n} {what}s")),
    };
    let parts: Vec<String> = count(regions, "region").into_iter().chain(count(runs, "run")).collect();
    if parts.is_empty() {
        return None;
    }
    let name = Path::new(&project.file).file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let age = age.map_or_else(String::new, |a| format!(", {}", ago(a)));
    Some(format!("{name}: {}{age}", parts.join(", ")))
}

fn age(path: &Path) -> Option<Duration> {
    SystemTime::now().duration_since(std::fs::metadata(path).ok()?.modified().ok()?).ok()
}

fn ago(age: Duration) -> String {
    let minutes = age.as_secs() / 60;
    match minutes {
        0 => "less than a minute ago".to_owned(),
        1 => "a minute ago".to_owned(),
        2..=119 => format!("{minutes} minutes ago"),
        120..=2879 => format!("{} hours ago", minutes / 60),
        _ => format!("{} days ago", minutes / 1440),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_well() {
        let of = |secs| ago(Duration::from_secs(secs));
        assert_eq!(
            [of(5), of(60), of(7000), of(9000), of(400_000)].map(|t| t.replace(" ago", "")),
            ["less than a minute", "a minute", "116 minutes", "2 hours", "4 days"]
        );
    }
}
