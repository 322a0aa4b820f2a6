//! Figures of a comparison made on the device.

use blockmgard::backend::Cuda;
use blockmgard::metrics::{self, Comparison};
use blockmgard::volume::{Metadata, Values, VecField, Volume, default_axes};
use blockmgard::{Control, Element, Shape, Tier, ToleranceMap};
use std::sync::Arc;

/// A field with errors around its tolerances, some beyond, one exactly at it; every other seed is f64.
pub fn compare(cuda: &Cuda, seed: u64) {
    let shapes: [&[usize]; 4] = [&[13, 20, 45], &[70, 131], &[1000], &[8, 8, 32]];
    let shape = Shape::new(shapes[seed as usize % 4]).unwrap();
    let taus: &[f64] = [&[1e-2][..], &[1e-3, 0.0, 1e-2], &[f64::INFINITY, 1e-4]][seed as usize % 3];
    let tiers = taus.iter().enumerate().map(|(i, &tau)| Tier { name: format!("t{i}"), tau }).collect();
    let mut map = ToleranceMap { tiers, ..ToleranceMap::uniform(&shape, 1.0).unwrap() };
    for (i, tier) in map.tier_of_block.iter_mut().enumerate() {
        *tier = ((i * 7 + seed as usize) % taus.len()) as u8;
    }
    let (mut u, mut v) = (Vec::new(), Vec::new());
    for i in 0..shape.len() {
        let value = (i as f64 * 0.01).sin() + seed as f64;
        let error = 1.01e-2 * ((i * 7919 % 1009) as f64 / 1009.0 - 0.5) * 2.0;
        u.push(value);
        v.push(if i % 5 == 0 { value } else { value + error });
    }
    v[3] = u[3] + taus[0].min(1.0);
    match seed / 4 % 2 {
        0 => as_type::<f64>(cuda, &shape, &map, &u, &v, |f| Values::F64(f)),
        _ => as_type::<f32>(cuda, &shape, &map, &u, &v, |f| Values::F32(f)),
    }
}

fn as_type<T: Element>(
    cuda: &Cuda,
    shape: &Shape,
    map: &ToleranceMap,
    u: &[f64],
    v: &[f64],
    wrap: impl Fn(Arc<VecField<T>>) -> Values,
) {
    let [u, v] = [u, v].map(|values| values.iter().map(|&x| T::from_f64(x)).collect::<Vec<T>>());
    let figures = cuda.figures(&u, &v, shape.n, map).unwrap();
    assert_eq!(figures, cuda.figures(&u, &v, shape.n, map).unwrap());
    let volume = |values: Vec<T>| Volume {
        shape: *shape,
        values: wrap(Arc::new(VecField::new(values, shape.n))),
        meta: Metadata { axes: default_axes(shape.rank.into()), ..Metadata::default() },
        missing: Default::default(),
    };
    let (original, reconstructed) = (volume(u), volume(v));
    let job = Comparison {
        original: &original,
        reconstructed: &reconstructed,
        tolerance: map,
        background: None,
        compressed_bytes: None,
    };
    let report = metrics::compare(&job, &Control::default()).unwrap();
    assert_eq!(figures.violations, report.violations);
    assert_eq!((figures.max_error, figures.max_error_over_tau), (report.max_error, report.max_error_over_tau));
    assert_eq!(figures.range, report.range);
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} and {b}");
    close(figures.rmse, report.rmse);
    close(figures.psnr_db, report.psnr_db);
    assert_eq!(figures.roi_psnr_db.is_some(), report.roi_psnr_db.is_some());
    close(figures.roi_psnr_db.unwrap_or(0.0), report.roi_psnr_db.unwrap_or(0.0));
    for (ours, theirs) in figures.tiers.iter().zip(&report.tiers) {
        assert_eq!((&ours.name, ours.values, ours.violations), (&theirs.name, theirs.values, theirs.violations));
        assert_eq!((ours.max_error, ours.max_error_over_tau), (theirs.max_error, theirs.max_error_over_tau));
        close(ours.rmse, theirs.rmse);
    }
}
