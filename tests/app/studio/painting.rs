//! Strokes, shapes, whole-mask operations and undo.

use super::support::*;

#[test]
fn a_brush_stroke_paints_and_undo_takes_back_the_whole_stroke() {
    let mut h = window([64, 64, 64]);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(60.0, 0.0), c + vec2(60.0, 20.0));
    let full = painted(&h);
    assert!(full > 500, "{full}");
    assert_eq!(h.state().state.roi.regions.len(), 1);
    assert!(h.state().state.mapping.result.as_ref().unwrap().counts[0][2] > 0);
    key(&mut h, Modifiers::COMMAND, Key::Z);
    assert!(h.state().state.roi.regions.is_empty());
    key(&mut h, Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    assert_eq!(painted(&h), full);
    key(&mut h, Modifiers::COMMAND, Key::Z);
    key(&mut h, Modifiers::COMMAND, Key::Y);
    assert_eq!(painted(&h), full);
}

#[test]
fn the_right_button_erases_and_an_idle_click_leaves_no_undo_step() {
    let mut h = window([64, 64, 64]);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(60.0, 0.0), c + vec2(60.0, 0.0));
    let full = painted(&h);
    drag(&mut h, PointerButton::Secondary, c - vec2(20.0, 0.0), c + vec2(20.0, 0.0));
    let erased = painted(&h);
    assert!(erased < full && erased > 0, "{erased} of {full}");
    drag(&mut h, PointerButton::Secondary, c - vec2(0.0, 100.0), c - vec2(0.0, 110.0));
    key(&mut h, Modifiers::COMMAND, Key::Z);
    assert_eq!(painted(&h), full, "the empty stroke must not be a step");
}

#[test]
fn a_looser_tier_never_takes_voxels_from_a_stricter_one_unless_asked() {
    let mut h = window([64, 64, 64]);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(40.0, 0.0), c + vec2(40.0, 0.0));
    let strict = painted(&h);
    key(&mut h, Modifiers::NONE, Key::Num1);
    drag(&mut h, PointerButton::Primary, c - vec2(10.0, 0.0), c + vec2(10.0, 0.0));
    let count = |h: &Window, tier| {
        let roi = &h.state().state.roi;
        roi.painted().filter(|(r, _)| r.tier == tier).map(|(_, m)| m.read().unwrap().count()).sum::<u64>()
    };
    assert_eq!(count(&h, 2), strict);
    assert!(count(&h, 1) > 0);
    let tools = Tools { protect: false, ..h.state().state.tools.clone() };
    h.state_mut().state.apply(Command::Tools(Box::new(tools)));
    drag(&mut h, PointerButton::Primary, c - vec2(10.0, 0.0), c + vec2(10.0, 0.0));
    assert!(count(&h, 2) < strict);
}

#[test]
fn a_polygon_closes_with_enter_and_loses_a_corner_with_backspace() {
    let mut h = window([64, 64, 64]);
    key(&mut h, Modifiers::NONE, Key::G);
    let c = axial(&h).center();
    let click = |h: &mut Window, at| {
        h.event(Event::PointerMoved(at));
        h.step();
        button(h, at, PointerButton::Primary, true);
        h.step();
        button(h, at, PointerButton::Primary, false);
        // Longer than a double click.
        h.run_steps(40);
    };
    for d in [vec2(-80.0, -80.0), vec2(80.0, -80.0), vec2(80.0, 80.0), vec2(0.0, 0.0)] {
        click(&mut h, c + d);
    }
    key(&mut h, Modifiers::NONE, Key::Backspace);
    key(&mut h, Modifiers::NONE, Key::Enter);
    let roi = &h.state().state.roi;
    let RegionKind::Polygon(Extruded { points, .. }) = &roi.regions[0].kind else { panic!("no polygon") };
    assert_eq!(points.len(), 3);
}

#[test]
fn a_dragged_box_becomes_a_region_of_the_chosen_tier() {
    let mut h = window([64, 64, 64]);
    key(&mut h, Modifiers::NONE, Key::B);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(50.0, 40.0), c + vec2(50.0, 40.0));
    let region = &h.state().state.roi.regions[0];
    assert!(matches!(region.kind, RegionKind::Box(_)));
    assert_eq!(region.tier, 2);
    assert!(region.coverage.as_ref().unwrap().touched.count() > 0);
}

#[test]
fn an_operation_on_a_mask_is_shown_then_applied_or_cancelled() {
    let mut h = window([64, 64, 64]);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(30.0, 0.0), c + vec2(30.0, 0.0));
    let stroke = painted(&h);
    let grow = |h: &mut Window| {
        h.state().state.commands.send(Command::Morphology(Morphology::Grow));
        h.step();
        settle(h);
        assert!(painted(h) > stroke, "the operation must be seen before it is applied");
    };
    grow(&mut h);
    key(&mut h, Modifiers::NONE, Key::Escape);
    assert_eq!(painted(&h), stroke);
    assert_eq!(h.state().state.tools.tool, Tool::Brush, "Esc belonged to the operation");
    grow(&mut h);
    h.get_by_label("Apply").click();
    settle(&mut h);
    let grown = painted(&h);
    assert!(h.state().state.pending_morph.is_none() && grown > stroke);
    key(&mut h, Modifiers::COMMAND, Key::Z);
    assert_eq!(painted(&h), stroke, "an applied operation is one step");
}

#[test]
fn a_tier_moved_up_takes_its_regions_and_the_brush_along() {
    let mut h = window([32, 32, 32]);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(30.0, 0.0), c + vec2(30.0, 0.0));
    let strict = h.state().state.roi.tiers[2].clone();
    h.get_by_label("Move tier Strict up").click();
    settle(&mut h);
    let state = &h.state().state;
    assert_eq!((state.roi.tiers[1].clone(), state.roi.regions[0].tier, state.tools.tier), (strict, 1, 1));
    assert!(state.mapping.result.as_ref().unwrap().counts[0][1] > 0);
}

#[test]
fn a_brush_masked_by_a_gradient_paints_only_where_the_gradient_is_steep() {
    let mut h = window([48, 48, 48]);
    let state = &mut h.state_mut().state;
    let tools = Tools {
        masked: true,
        threshold_of: ThresholdOf::Gradient,
        measure: Measure::Percentile,
        lo: 80.0,
        hi: 100.0,
        ..state.tools.clone()
    };
    state.apply(Command::Tools(Box::new(tools)));
    settle(&mut h);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(60.0, 40.0), c + vec2(60.0, 40.0));
    let masked = painted(&h);
    key(&mut h, Modifiers::COMMAND, Key::Z);
    let tools = Tools { masked: false, ..h.state().state.tools.clone() };
    h.state_mut().state.apply(Command::Tools(Box::new(tools)));
    drag(&mut h, PointerButton::Primary, c - vec2(60.0, 40.0), c + vec2(60.0, 40.0));
    assert!(masked > 0 && masked < painted(&h) / 2, "{masked} of {}", painted(&h));
}

#[test]
fn the_threshold_handle_that_was_pressed_moves_however_fast_the_drag() {
    let mut h = window([32, 32, 32]);
    key(&mut h, Modifiers::NONE, Key::T);
    let stats = h.state().state.document.as_ref().unwrap().stats.clone().unwrap();
    let (lo, hi) = (stats.min + 0.5 * stats.range(), stats.min + 0.9 * stats.range());
    let tools = Tools { measure: Measure::Value, lo, hi, ..h.state().state.tools.clone() };
    h.state_mut().state.apply(Command::Tools(Box::new(tools)));
    settle(&mut h);
    let rect = h.get_by_label("Threshold interval").rect();
    let at = |part: f32| egui::pos2(rect.left() + part * rect.width(), rect.center().y);
    h.event(Event::PointerMoved(at(0.9)));
    h.step();
    button(&h, at(0.9), PointerButton::Primary, true);
    h.event(Event::PointerMoved(at(0.55)));
    h.step();
    button(&h, at(0.55), PointerButton::Primary, false);
    settle(&mut h);
    let tools = &h.state().state.tools;
    assert_eq!(tools.lo, lo);
    assert!((tools.hi - stats.min - 0.55 * stats.range()).abs() < 0.02 * stats.range(), "{}", tools.hi);
}

#[test]
fn a_press_on_a_swipe_line_not_drawn_yet_paints_nothing() {
    let mut h = window([64, 64, 64]);
    let view = axial(&h);
    let swipe = Compare { mode: CompareMode::Swipe, swipe: 0.5, ..h.state().state.compare };
    h.event(Event::PointerMoved(view.center()));
    h.step();
    h.state_mut().state.apply(Command::Compare(swipe));
    button(&h, view.center(), PointerButton::Primary, true);
    h.step();
    h.event(Event::PointerMoved(view.center() + vec2(40.0, 0.0)));
    h.step();
    button(&h, view.center() + vec2(40.0, 0.0), PointerButton::Primary, false);
    h.step();
    settle(&mut h);
    assert!(h.state().state.roi.regions.is_empty());
    drag(&mut h, PointerButton::Primary, view.center() + vec2(60.0, 30.0), view.center() + vec2(90.0, 30.0));
    assert!(painted(&h) > 0, "beside the line the brush paints as ever");
}

/// On a busy machine one frame may hold the end of a drag and the whole next one.
#[test]
fn two_drags_of_the_threshold_within_one_frame_move_both_handles() {
    let mut h = window([32, 32, 32]);
    key(&mut h, Modifiers::NONE, Key::T);
    let tools = Tools { measure: Measure::Range, lo: 20.0, hi: 80.0, ..h.state().state.tools.clone() };
    h.state_mut().state.apply(Command::Tools(Box::new(tools)));
    settle(&mut h);
    let area = h.get_by_label("Threshold interval").rect();
    let at = |percent: f32| Pos2::new(area.left() + area.width() * percent / 100.0, area.center().y);
    let press = |pos, pressed| Event::PointerButton {
        pos,
        button: PointerButton::Primary,
        pressed,
        modifiers: Modifiers::NONE,
    };
    let drag = |from: f32, to: f32| {
        [Event::PointerMoved(at(from)), press(at(from), true), Event::PointerMoved(at(to)), press(at(to), false)]
    };
    h.input_mut().events.extend(drag(20.0, 40.0).into_iter().chain(drag(80.0, 60.0)));
    h.step();
    settle(&mut h);
    let tools = &h.state().state.tools;
    assert!((tools.lo - 40.0).abs() < 1.0 && (tools.hi - 60.0).abs() < 1.0, "{} to {}", tools.lo, tools.hi);
    // Where both meet, the way that is dragged tells which one is meant.
    h.input_mut().events.extend(drag(60.0, 40.0).into_iter().chain(drag(40.0, 30.0)));
    h.step();
    h.input_mut().events.extend(drag(40.0, 70.0));
    h.step();
    settle(&mut h);
    let tools = &h.state().state.tools;
    assert!((tools.lo - 30.0).abs() < 1.0 && (tools.hi - 70.0).abs() < 1.0, "{} to {}", tools.lo, tools.hi);
}

#[test]
fn the_threshold_tool_starts_with_two_handles_where_most_values_are_equal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("slabs_16x16x16.f32");
    let slab = |i: u32| (if i < 2000 { 1.0f32 } else { 3.0 } + if i.is_multiple_of(97) { 0.3 } else { 0.0 }).min(3.0);
    std::fs::write(&path, (0..4096).flat_map(|i| slab(i).to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    let mut h = window([16, 16, 16]);
    open(&mut h, &path.display().to_string());
    key(&mut h, Modifiers::NONE, Key::T);
    let [lo, hi] = h.state().state.mask_interval();
    assert_eq!([lo, hi], [1.5, 2.5]);
}

/// A worker that reads the mask may be put to sleep by the system while it does.
#[test]
fn a_stroke_waits_for_no_reader_of_the_mask() {
    let mut h = window([64, 64, 64]);
    let c = axial(&h).center();
    drag(&mut h, PointerButton::Primary, c - vec2(60.0, 40.0), c - vec2(40.0, 40.0));
    let before = painted(&h);
    let mask = h.state().state.roi.painted().next().unwrap().1.clone();
    let reader = mask.read().unwrap();
    h.event(Event::PointerMoved(c));
    h.step();
    button(&h, c, PointerButton::Primary, true);
    h.step();
    h.event(Event::PointerMoved(c + vec2(60.0, 0.0)));
    h.step();
    button(&h, c + vec2(60.0, 0.0), PointerButton::Primary, false);
    h.step();
    assert!(h.state().state.stroke.is_some(), "its points wait");
    drop(reader);
    settle(&mut h);
    assert!(h.state().state.stroke.is_none() && painted(&h) > before);
    key(&mut h, Modifiers::COMMAND, Key::Z);
    assert_eq!(painted(&h), before, "still one step of undo");
}

#[test]
fn strokes_and_boxes_that_begin_and_end_within_one_frame_are_drawn() {
    let mut h = window([64, 64, 64]);
    let c = axial(&h).center();
    let press = |pos, button, pressed| Event::PointerButton { pos, button, pressed, modifiers: Modifiers::NONE };
    let quick = |h: &mut Window, button, from: Pos2, to: Pos2| {
        let moved = Event::PointerMoved;
        h.input_mut().events.extend([moved(from), press(from, button, true), moved(to), press(to, button, false)]);
        h.step();
        settle(h);
    };
    quick(&mut h, PointerButton::Primary, c - vec2(60.0, 0.0), c + vec2(60.0, 0.0));
    let full = painted(&h);
    assert!(full > 500, "{full}");
    quick(&mut h, PointerButton::Secondary, c - vec2(10.0, 0.0), c + vec2(10.0, 0.0));
    assert!(painted(&h) < full && painted(&h) > 0);
    key(&mut h, Modifiers::NONE, Key::B);
    quick(&mut h, PointerButton::Primary, c - vec2(50.0, 40.0), c + vec2(50.0, 40.0));
    assert!(matches!(h.state().state.roi.regions[1].kind, RegionKind::Box(_)));
}

#[test]
fn a_stroke_hits_the_voxels_under_the_pointer_whatever_the_aspect() {
    use blockmgard_app::studio::state::aspect::Aspect;
    let volume =
        Volume { meta: Metadata { spacing: Some(vec![1.0, 0.25, 1.0]), ..Metadata::default() }, ..volume([8, 64, 32]) };
    let dataset = Arc::new(MemoryDataset::new(volume, "test"));
    let mut h = window([8, 8, 8]);
    let document = Document::of_dataset("flat.f32".into(), OpenHints::default(), dataset, 0, 0).unwrap();
    h.state_mut().state.set_document(document);
    settle(&mut h);
    let (mut hit, tools) = (vec![], Tools { brush_size: 1.0, ..h.state().state.tools.clone() });
    h.state_mut().state.apply(Command::Tools(Box::new(tools)));
    for (aspect, ratio) in [(Aspect::Auto, 4.0), (Aspect::Index, 1.0), (Aspect::Physical, 4.0)] {
        h.get_by_label("View").click();
        settle(&mut h);
        h.get_by_label("Aspect").click();
        settle(&mut h);
        h.get_by_label(Aspect::ALL.iter().find(|a| a.0 == aspect).unwrap().1).click();
        settle(&mut h);
        let area = axial(&h);
        let t = blockmgard_app::studio::views::geometry::PlaneTransform::new(&h.state().state, 0, area).unwrap();
        assert!((t.scale.x / t.scale.y - ratio).abs() < 1e-3, "{aspect:?}: {:?}", t.scale);
        let at = t.screen(20.5, 40.5);
        drag(&mut h, PointerButton::Primary, at, at);
        let mask = h.state().state.roi.painted().next().unwrap().1.clone();
        hit.push(mask.read().unwrap().get([h.state().state.crosshair[0], 40, 20]));
        key(&mut h, Modifiers::COMMAND, Key::Z);
    }
    assert_eq!(hit, [true; 3]);
}
