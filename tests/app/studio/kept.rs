//! Work that belongs to a volume: it stays with it, in the session and in projects.

use super::support::*;
use blockmgard_app::studio::state::saved::streams_folder;

/// A window with a volume from a file, two regions and a run.
fn at_work(folder: &std::path::Path) -> Window {
    let mut h = window([16, 16, 16]);
    open(&mut h, &raw_file(folder, [24, 24, 24]));
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c, c + vec2(30.0, 30.0));
    h.state().state.commands.send(Command::Run(RunRequest::default()));
    h.step();
    settle(&mut h);
    assert_eq!(h.state().state.runs.list.len(), 1, "{:?}", h.state().state.notices);
    h
}

#[test]
fn runs_and_regions_come_back_with_their_volume() {
    let folder = tempfile::tempdir().unwrap();
    let mut h = at_work(folder.path());
    let (name, count) = (h.state().state.runs.list[0].name.clone(), painted(&h));
    let other = raw_file(folder.path(), [8, 9, 10]);
    open(&mut h, &other);
    let state = &h.state().state;
    assert!(state.runs.list.is_empty() && state.roi.regions.is_empty());
    h.get_by_label_contains("1 run of another volume").click();
    settle(&mut h);
    h.get_by_label_contains("waves_24x24x24.f32").click();
    settle(&mut h);
    settle(&mut h);
    let state = &h.state().state;
    assert_eq!((state.runs.list.len(), state.runs.list[0].name.clone()), (1, name));
    assert!(state.runs.list[0].reconstruction.is_some() && state.runs.list[0].tolerance.is_some(), "decoded again");
    assert_eq!(painted(&h), count, "{:?}", h.state().state.notices);
    assert!(h.state().state.kept.is_empty());
}

#[test]
fn a_run_that_ends_after_its_volume_has_left_is_kept_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut h = at_work(folder.path());
    let other = raw_file(folder.path(), [8, 9, 10]);
    for _ in 0..3 {
        h.state().state.commands.send(Command::Run(RunRequest::default()));
    }
    h.step();
    open(&mut h, &other);
    let state = &h.state().state;
    let kept: usize = state.kept.iter().map(|k| k.runs.len()).sum();
    assert_eq!(kept + state.runs.list.len(), 4, "{:?}", state.notices);
    assert!(state.runs.list.is_empty());
}

#[test]
fn a_project_restores_its_runs_and_says_which_streams_are_gone() {
    let folder = tempfile::tempdir().unwrap();
    let mut h = at_work(folder.path());
    let project = folder.path().join("work.json");
    // As of a lossless region.
    h.state_mut().state.runs.list[0].metrics.roi_psnr_db = Some(f64::INFINITY);
    h.state_mut().state.apply(Command::SaveAs(Export::Project, project.clone()));
    settle(&mut h);
    let first = |h: &Window| {
        let run = &h.state().state.runs.list[0];
        (run.name.clone(), run.compress.clone(), run.metrics.clone(), run.measured_ms, run.reconstruction.is_some())
    };
    let mut second = window([16, 16, 16]);
    open(&mut second, &project.display().to_string());
    assert_eq!(first(&second), first(&h), "{:?}", second.state().state.notices);
    assert_eq!(second.state().state.compare, h.state().state.compare);
    std::fs::remove_dir_all(streams_folder(&project)).unwrap();
    let mut third = window([16, 16, 16]);
    open(&mut third, &project.display().to_string());
    let state = &third.state().state;
    assert!(state.runs.list[0].reconstruction.is_none() && state.notices.iter().any(|n| n.text.contains("streams")));
    assert_eq!(first(&third).1, first(&h).1, "the figures remain");
}

#[test]
fn a_project_is_written_where_its_streams_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let mut h = at_work(folder.path());
    let project = folder.path().join("work.json");
    // As on a full disk: the streams find no place.
    std::fs::write(streams_folder(&project), "in the way").unwrap();
    h.state_mut().state.apply(Command::SaveAs(Export::Project, project.clone()));
    settle(&mut h);
    assert!(h.state().state.save.as_ref().unwrap().error.as_ref().unwrap().contains("without all"));
    let mut second = window([16, 16, 16]);
    open(&mut second, &project.display().to_string());
    assert_eq!((second.state().state.runs.list.len(), painted(&second)), (1, painted(&h)));
}

#[test]
fn saving_again_removes_the_streams_of_removed_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut h = at_work(folder.path());
    let project = folder.path().join("work.json");
    let streams = || std::fs::read_dir(streams_folder(&project)).map_or(0, |d| d.count());
    h.state_mut().state.apply(Command::SaveAs(Export::Project, project.clone()));
    settle(&mut h);
    assert_eq!(streams(), 1);
    let id = h.state().state.runs.list[0].id;
    h.state().state.commands.send(Command::Runs(RunEdit::Remove(id)));
    h.step();
    h.state_mut().state.apply(Command::SaveAs(Export::Project, project.clone()));
    settle(&mut h);
    assert_eq!(streams(), 0);
}

#[test]
fn a_goal_stays_with_the_file_that_it_was_set_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut h = window([16, 16, 16]);
    let settings = RunRequest { matched: Match::Ratio(50.0), ..RunRequest::default() };
    h.state_mut().state.apply(Command::Runs(RunEdit::Settings(settings)));
    open(&mut h, &raw_file(folder.path(), [8, 9, 10]));
    assert_eq!(h.state().state.runs.settings.matched, Match::Nothing);
}

#[cfg(unix)]
#[test]
fn a_file_that_another_program_shortens_is_told_and_the_work_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut h = window([16, 16, 16]);
    let path = raw_file(folder.path(), [64, 64, 64]);
    open(&mut h, &path);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c, c + vec2(30.0, 30.0));
    let count = painted(&h);
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(40_000).unwrap();
    h.state_mut().state.apply(Command::Crosshair([60, 32, 32]));
    settle(&mut h);
    h.state().state.commands.send(Command::Run(RunRequest::default()));
    h.step();
    settle(&mut h);
    let state = &h.state().state;
    assert!(state.notices.iter().any(|n| n.text.contains("became shorter")), "{:?}", state.notices);
    assert!(state.runs.list.is_empty());
    assert_eq!(painted(&h), count);
}
