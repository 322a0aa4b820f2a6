//! The live map and the runs.

use super::support::*;

/// What the studio shows live must be what the library resolves for a run.
#[test]
fn the_live_map_equals_the_librarys_for_every_kind_of_region() {
    let mut h = window([40, 41, 42]);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(40.0, 30.0), c + vec2(30.0, 20.0));
    let kinds = [
        RegionKind::Threshold { measure: Measure::Percentile, lo: 90.0, hi: 100.0 },
        RegionKind::Threshold { measure: Measure::Range, lo: 0.0, hi: 15.0 },
        RegionKind::Gradient { measure: Measure::Percentile, lo: 95.0, hi: 100.0 },
        RegionKind::Box(blockmgard::Region { lo: [2, 3, 4], hi: [12, 9, 21] }),
        RegionKind::Ellipsoid(Ball { center: [30.0, 20.0, 33.3], radius: [6.0, 7.0, 4.5] }),
        RegionKind::Polygon(Extruded { axis: 1, points: vec![[2.5, 3.5], [30.0, 8.0], [18.0, 35.0]], layers: 33..38 }),
        // Corners and edges through voxel centres.
        RegionKind::Polygon(Extruded { axis: 0, points: vec![[7.0, 8.0], [7.0, 16.0], [16.0, 16.0]], layers: 20..33 }),
    ];
    for (i, kind) in kinds.into_iter().enumerate() {
        let state = &mut h.state_mut().state;
        state.apply(Command::Tier(1 + i % 2));
        state.apply(Command::AddRegion { name: format!("R{i}"), kind });
        settle(&mut h);
        let state = &h.state().state;
        let document = state.document.as_ref().unwrap();
        let stats = Stats::of(&document.volume, &Control::default()).unwrap();
        let expected = state.spec().unwrap().resolve(&document.volume, &stats, &Control::default()).unwrap();
        let live = &state.mapping.result.as_ref().unwrap().levels[0];
        assert_eq!(live.tier_of_block, expected.tier_of_block, "after region {i}");
    }
}

#[test]
fn a_run_keeps_its_bound_and_fills_the_table() {
    let mut h = window([32, 32, 32]);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(40.0, 0.0), c + vec2(40.0, 0.0));
    for (_, _, request) in RunRequest::presets() {
        h.state().state.commands.send(Command::Run(request));
    }
    h.step();
    settle(&mut h);
    let runs = &h.state().state.runs.list;
    assert_eq!(runs.len(), RunRequest::presets().len(), "{:?}", h.state().state.notices);
    // the last preset
    let strict = runs.len() - 1;
    for run in runs {
        assert_eq!(run.metrics.violations, 0, "{}", run.name);
        assert!(run.metrics.max_error_over_tau <= 1.0);
        assert!(run.metrics.roi_psnr_db.is_some(), "{} must compare over the regions", run.name);
    }
    assert!(runs[0].compress.ratio > runs[strict].compress.ratio, "regions must cost less than strict everywhere");
    h.get_by_label("Results");
    let line = |h: &Window, i: usize| {
        let state = &h.state().state;
        state.command_line(&state.runs.list[i].request, state.runs.list[i].id)
    };
    let (command, uniform) = (line(&h, 1), line(&h, strict));
    let archive = blockmgard::stream::Archive::from_bytes(runs[1].stream.as_ref().unwrap().bytes.to_vec()).unwrap();
    let made_by = archive.provenance().unwrap().command;
    assert!(made_by.len() > 40 && command.starts_with(&made_by), "{made_by}");
    assert!(command.contains("--mode hybrid") && command.contains("-L 1 -M 2"), "{command}");
    assert!(command.contains("test_hybrid-l1-m2-proj.-roi.bmg"), "a file of its own: {command}");
    let tiers = h.state().state.roi.tiers[..2].to_vec();
    h.state_mut().state.apply(Command::SetTiers(tiers));
    assert_eq!(line(&h, strict), uniform, "the run's tolerance, not today's");
}

#[test]
fn a_matched_run_reaches_its_ratio_and_a_sweep_trades_bits_for_psnr() {
    let mut h = window([32, 32, 32]);
    let settings = RunRequest { matched: Match::Ratio(20.0), ..RunRequest::default() };
    h.state().state.commands.send(Command::Run(settings));
    h.state().state.commands.send(Command::Sweep(RunRequest::default()));
    h.step();
    settle(&mut h);
    let state = &h.state().state;
    let ratio = state.runs.list[0].compress.ratio;
    assert!((ratio / 20.0 - 1.0).abs() < 0.1, "{ratio}, {:?}", state.notices);
    let points = &state.plots.sweeps[0].points;
    assert_eq!(points.len(), 7);
    assert!(points.windows(2).all(|w| w[0].bits_per_value <= w[1].bits_per_value && w[0].psnr_db <= w[1].psnr_db));
}

#[test]
fn a_time_budget_picks_the_levels_and_shows_predicted_beside_measured() {
    use blockmgard::job::tune::{DeviceModels, Linear, Models, Saturating};
    let mut h = window([40, 40, 40]);
    let settings = RunRequest { device: "cpu".into(), budget_ms: Some(5.0), ..RunRequest::preset("Paper (L1 M2)") };
    h.state_mut().state.apply(Command::Runs(RunEdit::Settings(settings.clone())));
    settle(&mut h);
    h.get_by_label("Measure this device");
    let device = blockmgard::backend::Backend::describe(&blockmgard::backend::Cpu);
    // Global levels take 1 ms each, the rest next to nothing.
    let models = Models {
        local: Saturating { slope: 1e9, peak: 1e12 },
        global: Linear { fixed_ms: 1.0, ms_per_item: 0.0 },
        lossless: Linear { fixed_ms: 0.5, ms_per_item: 0.0 },
    };
    let models = DeviceModels { device, version: env!("CARGO_PKG_VERSION").into(), f32: models, f64: models };
    h.state_mut().state.tuning.put("cpu".into(), Tuned::Ready(Arc::new(models)));
    settle(&mut h);
    let choice = h.state().state.budget_choice().unwrap().unwrap();
    assert!(choice.global_levels == 4 && (choice.predicted_ms - 4.5).abs() < 0.1, "{choice:?}");
    h.get_by_label_contains("M 4: 4.5 ms predicted");
    h.state().state.commands.send(Command::RunCurrent);
    h.step();
    settle(&mut h);
    let state = &h.state().state;
    let run = state.runs.list.first().unwrap_or_else(|| panic!("{:?}", state.notices));
    assert_eq!(run.request.params.global_levels, 4);
    assert!(run.name.contains("M4") && run.name.contains("in 5 ms"), "{}", run.name);
    assert!(run.measured_ms > 0.0 && run.predicted_ms == Some(choice.predicted_ms));
    // Too short a time is said before anything runs.
    let settings = RunRequest { budget_ms: Some(0.1), ..settings };
    h.state_mut().state.apply(Command::Runs(RunEdit::Settings(settings)));
    settle(&mut h);
    h.get_by_label_contains("Too short");
}

#[test]
fn a_matched_ratio_counts_painted_regions() {
    let mut h = window([32, 32, 32]);
    let c = axial(&h).center();
    for i in 0..6 {
        let d = vec2(0.0, i as f32 * 30.0 - 90.0);
        drag(&mut h, PointerButton::Primary, c + d - vec2(90.0, 0.0), c + d + vec2(90.0, 7.0));
    }
    let settings = RunRequest { matched: Match::Ratio(12.0), ..RunRequest::default() };
    h.state().state.commands.send(Command::Run(settings));
    h.step();
    settle(&mut h);
    let state = &h.state().state;
    let run = &state.runs.list[0];
    let ratio = run.compress.original_bytes as f64 / run.stream.as_ref().unwrap().bytes.len() as f64;
    assert!((ratio / 12.0 - 1.0).abs() < 0.02, "{ratio}, {:?}", state.notices);
}

/// The job that the window is for, from the file to the file.
#[test]
fn a_volume_is_selected_painted_run_compared_exported_and_reopened() {
    let folder = tempfile::tempdir().unwrap();
    let mut h = window([16, 16, 16]);
    h.state_mut().state.start(Some(raw_file(folder.path(), [40, 40, 40])), OpenHints::default());
    settle(&mut h);
    key(&mut h, Modifiers::NONE, Key::T);
    let tools = Tools { lo: 90.0, hi: 90.2, ..h.state().state.tools.clone() };
    h.state_mut().state.apply(Command::Tools(Box::new(tools)));
    key(&mut h, Modifiers::NONE, Key::Enter);
    key(&mut h, Modifiers::NONE, Key::P);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(60.0, 40.0), c + vec2(20.0, 40.0));
    let strict: Vec<usize> = h.state().state.mapping.result.as_ref().unwrap().counts.iter().map(|c| c[2]).collect();
    assert!(strict[0] > 0);
    h.get_by_label("Compare three").click();
    settle(&mut h);
    let names: Vec<_> = h.state().state.runs.list.iter().map(|run| run.name.clone()).collect();
    assert_eq!(names, ["Pyramid 32, uniform strict", "Hybrid L1 M2 proj., ROI", "Pyramid 32, ROI"]);
    h.get_by_label("Pyramid 32, ROI as B").click();
    settle(&mut h);
    let pyramid = h.state().state.runs.list[2].id;
    let compare = h.state().state.compare;
    assert_eq!((compare.mode, compare.b), (CompareMode::Swipe, LayerChoice::Run(pyramid)));
    let (stream, spec) = (folder.path().join("out.bmg"), folder.path().join("out.toml"));
    let state = &mut h.state_mut().state;
    state.apply(Command::SaveAs(Export::Stream(pyramid), stream.clone()));
    state.apply(Command::SaveAs(Export::Spec, spec.clone()));
    settle(&mut h);

    let mut second = window([16, 16, 16]);
    second.state_mut().state.start(Some(stream.display().to_string()), OpenHints::default());
    settle(&mut second);
    let state = &second.state().state;
    assert_eq!((state.extents(), state.roi.regions.len()), (Some([40; 3]), 2), "{:?}", state.notices);
    let kept = h.state().state.runs.list[2].tolerance.clone().unwrap();
    assert_eq!(state.mapping.result.as_ref().unwrap().levels[0], *kept, "the stream's own map");
    let threshold = state.roi.regions[0].id;
    for on in [false, true] {
        second.state_mut().state.apply(Command::RegionOn(threshold, on));
    }
    settle(&mut second);
    let map = &second.state().state.mapping.result.as_ref().unwrap().levels[0];
    assert_ne!(map.tier_of_block, kept.tier_of_block, "the threshold of decoded values, from the first change on");
    second.state_mut().state.apply(Command::OpenProject(spec));
    settle(&mut second);
    assert_eq!(second.state().state.roi.tiers, h.state().state.roi.tiers);
}

#[test]
fn two_runs_picked_as_a_and_b_have_a_line_between_them() {
    let mut h = window([16, 16, 16]);
    for preset in ["Fast", "Balanced"] {
        h.state().state.commands.send(Command::Run(RunRequest::preset(preset)));
    }
    h.step();
    settle(&mut h);
    // The first run stands under B by itself.
    h.get_by_label("Balanced, ROI as A").click();
    settle(&mut h);
    assert_eq!(h.state().state.compare.mode, CompareMode::Swipe);
    let single = Compare { mode: CompareMode::Single, ..h.state().state.compare };
    h.state_mut().state.apply(Command::Compare(single));
    settle(&mut h);
    h.get_by_label("Fast, ROI as A").click();
    settle(&mut h);
    assert_eq!(h.state().state.compare.mode, CompareMode::Single, "A alone was asked for");
    h.get_by_label("Balanced, ROI as B").click();
    settle(&mut h);
    assert_eq!(h.state().state.compare.mode, CompareMode::Swipe);
}

#[test]
fn what_was_run_is_expected_as_it_was_and_a_map_between_lies_between() {
    let mut h = window([40, 40, 40]);
    let strict = RunRequest { tolerance: RunTolerance::UniformStrictest, ..RunRequest::default() };
    for request in [RunRequest::default(), strict] {
        h.state().state.commands.send(Command::Run(request));
    }
    h.step();
    settle(&mut h);
    let ratio = |h: &Window, i: usize| h.state().state.runs.list[i].compress.ratio;
    let loose = h.state().state.estimate().unwrap();
    assert!(!loose.rough && (loose.ratio / ratio(&h, 0) - 1.0).abs() < 0.01, "{loose:?}");
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(80.0, 0.0), c + vec2(80.0, 0.0));
    let between = h.state().state.estimate().unwrap();
    assert!(!between.rough && between.ratio < ratio(&h, 0) && between.ratio > ratio(&h, 1), "{between:?}");
}
