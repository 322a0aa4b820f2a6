//! Metrics against values computed by hand or straight from their definitions.

use super::*;
use crate::volume::{Metadata, Values, VecField, Volume};
use crate::{Control, ErrorKind, Shape, Tier, ToleranceMap};
use std::sync::Arc;

fn volume32(extents: &[usize], data: Vec<f32>) -> Volume {
    let shape = Shape::new(extents).unwrap();
    let values = Values::F32(Arc::new(VecField::new(data, shape.n)));
    Volume { shape, values, meta: Metadata::default(), missing: Default::default() }
}

fn volume64(extents: &[usize], data: Vec<f64>) -> Volume {
    let shape = Shape::new(extents).unwrap();
    let values = Values::F64(Arc::new(VecField::new(data, shape.n)));
    Volume { shape, values, meta: Metadata::default(), missing: Default::default() }
}

fn report(a: &Volume, b: &Volume, map: &ToleranceMap) -> Report {
    let job = Comparison { original: a, reconstructed: b, tolerance: map, background: None, compressed_bytes: Some(8) };
    compare(&job, &Control::default()).unwrap()
}

fn uniform(v: &Volume, tau: f64) -> ToleranceMap {
    ToleranceMap::uniform(&v.shape, tau).unwrap()
}

#[test]
fn figures_of_four_values() {
    let a = volume32(&[4], vec![0.0, 1.0, 2.0, 4.0]);
    let b = volume32(&[4], vec![0.5, 1.0, 1.5, 4.0]);
    let r = report(&a, &b, &uniform(&a, 0.5));
    // Errors 0.5, 0, -0.5, 0: RMSE sqrt(0.5 / 4), range 4; pairs (0.5, 0), (0, -0.5), (-0.5, 0) have covariance 0 - 0 * (-1/6).
    let rmse = 0.125f64.sqrt();
    assert_eq!((r.count, r.valid, r.violations, r.max_error, r.max_error_over_tau), (4, 4, 0, 0.5, 1.0));
    assert_eq!((r.max_error_at, r.worst_at), (Some([0, 0, 0]), Some([0, 0, 0])));
    assert_eq!((r.range, r.rmse, r.nrmse), (4.0, rmse, rmse / 4.0));
    assert!((r.psnr_db - 20.0 * (4.0 / rmse).log10()).abs() < 1e-12);
    assert_eq!((r.bit_rate, r.ratio, r.roi_psnr_db), (Some(16.0), Some(2.0), None));
    assert_eq!((r.autocorrelation.clone(), r.ssim), (vec![0.0], None));
    assert_eq!(r.tiers[0].histogram.iter().sum::<u64>(), 4);
    assert_eq!((r.tiers[0].histogram[0], r.tiers[0].histogram[50], r.tiers[0].histogram[99]), (1, 2, 1));
}

#[test]
fn a_miss_that_rounding_hides_is_a_violation() {
    let a = volume64(&[2], vec![1.0, 1.0]);
    let b = volume64(&[2], vec![2f64.powi(-54), -(2f64.powi(-54))]);
    let r = report(&a, &b, &uniform(&a, 1.0));
    assert_eq!((r.violations, r.max_error, r.max_error_over_tau), (1, 1.0, 1.0));
}

#[test]
fn figures_at_the_ends_of_f64_are_those_of_the_same_values_in_the_middle() {
    let (u, v) = ([-1.75, 0.5, 1.75, 0.25, -0.5, 1.0], [-1.5, 0.75, 1.75, 0.25, 0.75, 0.5]);
    let of = |power: i32| {
        let scaled = |w: &[f64]| w.iter().map(|w| w * 2f64.powi(power)).collect();
        let (a, b) = (volume64(&[2, 3], scaled(&u)), volume64(&[2, 3], scaled(&v)));
        report(&a, &b, &uniform(&a, 2f64.powi(power)))
    };
    let middle = of(0);
    assert!(middle.psnr_db.is_finite() && middle.rmse > 0.0);
    for power in [-1020, -600, 600, 1020, 1023] {
        let r = of(power);
        assert!((r.psnr_db - middle.psnr_db).abs() < 1e-9, "{power}: {} dB", r.psnr_db);
        assert!((r.tiers[0].psnr_db - middle.psnr_db).abs() < 1e-9 && (r.nrmse - middle.nrmse).abs() < 1e-12);
        assert!((r.rmse / 2f64.powi(power) - middle.rmse).abs() < 1e-12 * middle.rmse);
        assert!(r.autocorrelation.iter().zip(&middle.autocorrelation).all(|(a, b)| (a - b).abs() < 1e-9));
    }
    // the difference of two values beyond f64
    let (a, b) = (volume64(&[2], vec![-f64::MAX, f64::MAX]), volume64(&[2], vec![f64::MAX, f64::MAX]));
    let r = report(&a, &b, &uniform(&a, 1.0));
    assert!((r.psnr_db - 10.0 * 2f64.log10()).abs() < 1e-9, "{} dB", r.psnr_db);
    // a reconstruction that is no number, in another tier than an ordinary one
    let (a, b) = (volume64(&[16], vec![1.0; 16]), volume64(&[16], [vec![f64::NAN; 8], vec![0.5; 8]].concat()));
    let mut map = uniform(&a, 1.0);
    map.tiers.push(Tier { name: "other".into(), tau: 2.0 });
    map.tier_of_block[1] = 1;
    assert_eq!(report(&a, &b, &map).tiers[1].rmse, 0.5);
}

#[test]
fn special_values_must_keep_their_bits() {
    let nan = f32::from_bits(0x7fc0_1234);
    let mut a = volume32(&[6], vec![nan, f32::INFINITY, -999.0, 1.0, 2.0, 3.0]);
    a.missing = vec![(-999f32).to_bits() as u64].into();
    let same = volume32(&[6], vec![nan, f32::INFINITY, -999.0, 1.0, 2.0, 3.0]);
    let r = report(&a, &same, &uniform(&a, 0.1));
    assert_eq!((r.valid, r.special, r.special_changed, r.violations), (3, 3, 0, 0));
    assert_eq!((r.psnr_db, r.nrmse, r.max_error_at), (f64::INFINITY, 0.0, None));
    let other = volume32(&[6], vec![f32::NAN, f32::MAX, -999.5, f32::NAN, 2.0, 3.0]);
    let r = report(&a, &other, &uniform(&a, 0.1));
    assert_eq!((r.special_changed, r.violations, r.max_error, r.max_error_at), (3, 4, f64::INFINITY, Some([0, 0, 3])));
    let ignored = report(&a, &other, &uniform(&a, f64::INFINITY));
    assert_eq!((ignored.violations, ignored.max_error_over_tau), (4, 0.0));
}

#[test]
fn a_lossless_tier_asks_for_equal_bits() {
    let a = volume64(&[3], vec![0.0, 1.0, -5.0]);
    let b = volume64(&[3], vec![-0.0, 1.0, -5.0]);
    let r = report(&a, &b, &uniform(&a, 0.0));
    assert_eq!((r.violations, r.max_error, r.max_error_over_tau), (1, 0.0, 0.0));
    assert!(r.tiers[0].histogram.is_empty());
    assert_eq!(report(&a, &a, &uniform(&a, 0.0)).violations, 0);
}

#[test]
fn tiers_are_told_apart_by_block() {
    // 16 values, two blocks: errors 0.1 in the loose one, 0.01 (one of 0.03) in the strict one.
    let original: Vec<f64> = (0..16).map(f64::from).collect();
    let mut changed: Vec<f64> =
        original.iter().enumerate().map(|(i, v)| v + if i < 8 { 0.125 } else { 0.0078125 }).collect();
    changed[12] = 12.03125;
    let (a, b) = (volume64(&[16], original), volume64(&[16], changed));
    let map = ToleranceMap {
        blocks: [1, 1, 2],
        tiers: vec![Tier { name: "strict".into(), tau: 0.015625 }, Tier { name: "loose".into(), tau: 0.5 }],
        tier_of_block: vec![1, 0],
    };
    let r = report(&a, &b, &map);
    assert_eq!((r.violations, r.max_error, r.max_error_at), (1, 0.125, Some([0, 0, 0])));
    assert_eq!((r.max_error_over_tau, r.worst_at), (2.0, Some([0, 0, 12])));
    let strict = &r.tiers[0];
    assert_eq!((strict.values, strict.violations, strict.max_error_over_tau), (8, 1, 2.0));
    let rmse = ((7.0 * 0.0078125f64.powi(2) + 0.03125f64.powi(2)) / 8.0).sqrt();
    assert!((strict.rmse - rmse).abs() < 1e-15 && (r.roi_psnr_db.unwrap() - 20.0 * (15.0 / rmse).log10()).abs() < 1e-9);
    assert_eq!(r.roi_psnr_db, Some(strict.psnr_db));
}

#[test]
fn autocorrelation_follows_its_definition_on_every_axis() {
    let n = [9, 20, 300];
    let error = |z: usize, y: usize, x: usize| ((z * 7 + y * 3 + x) as f64 * 0.7).sin() * 0.01;
    let index: Vec<[usize; 3]> =
        (0..9).flat_map(|z| (0..20).flat_map(move |y| (0..300).map(move |x| [z, y, x]))).collect();
    let a = volume64(&n, vec![0.0; index.len()]);
    let b = volume64(&n, index.iter().map(|&[z, y, x]| error(z, y, x)).collect());
    let r = report(&a, &b, &uniform(&a, 1.0));
    let all: Vec<f64> = index.iter().map(|&[z, y, x]| error(z, y, x)).collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let variance = all.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / all.len() as f64;
    for axis in 0..3 {
        let pairs: Vec<(f64, f64)> = index
            .iter()
            .filter(|v| v[axis] + 1 < n[axis])
            .map(|&[z, y, x]| {
                (error(z, y, x), error(z + (axis == 0) as usize, y + (axis == 1) as usize, x + (axis == 2) as usize))
            })
            .collect();
        let count = pairs.len() as f64;
        let (first, second) = pairs.iter().fold((0.0, 0.0), |s, p| (s.0 + p.0, s.1 + p.1));
        let product = pairs.iter().map(|p| p.0 * p.1).sum::<f64>();
        let expected = (product / count - first / count * second / count) / variance;
        assert!(
            (r.autocorrelation[axis] - expected).abs() < 1e-9,
            "axis {axis}: {} {expected}",
            r.autocorrelation[axis]
        );
    }
}

#[test]
fn ssim_of_one_window_by_hand() {
    // One 2x2 window: original 0 1 2 3, reconstruction 0 1 2 5.
    let (a, b) = (volume64(&[2, 2], vec![0., 1., 2., 3.]), volume64(&[2, 2], vec![0., 1., 2., 5.]));
    let (mean_u, mean_v, var_u, var_v, cov) = (1.5, 2.0, 1.25, 3.5, 2.0);
    let (c1, c2) = (0.0009, 0.0081);
    let deviations = f64::sqrt(var_u) * f64::sqrt(var_v);
    let expected = (2.0 * mean_u * mean_v + c1) / (mean_u * mean_u + mean_v * mean_v + c1) * (2.0 * deviations + c2)
        / (var_u + var_v + c2)
        * (cov + c2 / 2.0)
        / (deviations + c2 / 2.0);
    let found = ssim_slice(&a, &b, 0, 0).unwrap().value;
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    assert!((ssim_volume(&a, &b, &Control::default()).unwrap() - expected).abs() < 1e-12);
    assert_eq!(ssim_slice(&a, &a, 1, 1).unwrap().value, 1.0);
    assert!(ssim_slice(&a, &b, 0, 1).is_err());
}

#[test]
fn ssim_does_not_depend_on_the_units() {
    // Windows over the left half have a constant original.
    let original = |i: usize| if i % 24 < 12 { 3.0 } else { (i % 7) as f64 };
    let of = |power: i32| {
        let values = |off: f64| (0..480).map(|i| (original(i) + off * (i % 3) as f64) * 2f64.powi(power)).collect();
        ssim_slice(&volume64(&[20, 24], values(0.0)), &volume64(&[20, 24], values(0.01)), 0, 0).unwrap().value
    };
    assert!(of(0) > 0.5 && of(0) < 1.0);
    for power in [-900, -40, 40, 900] {
        assert!((of(power) - of(0)).abs() < 1e-9, "{power}: {} {}", of(power), of(0));
    }
    let all = |v: f64| volume64(&[9, 9], vec![v; 81]);
    let of = |a: f64, b: f64| ssim_slice(&all(a), &all(b), 0, 0).unwrap().value;
    assert_eq!((of(0.0, 0.0), of(0.0, 1e-200), of(5.0, 5.0)), (1.0, 0.0, 1.0));
    assert!(of(1.0, 1.5) < 1.0 && (of(1.0, 1.5) - of(1e9, 1.5e9)).abs() < 1e-12);
}

#[test]
fn ssim_of_extreme_and_special_values_is_a_number() {
    for scale in [1e-300, 1.0, 1e300] {
        let a = volume64(&[9, 9], (0..81).map(|i| (i % 7) as f64 * scale).collect());
        assert!((ssim_slice(&a, &a, 0, 0).unwrap().value - 1.0).abs() < 1e-9);
    }
    let holes = volume32(&[9, 9], (0..81).map(|i| if i % 5 == 0 { f32::NAN } else { i as f32 }).collect());
    assert!((ssim_slice(&holes, &holes, 0, 0).unwrap().value - 1.0).abs() < 1e-9);
    let none = volume32(&[3, 3], vec![f32::NAN; 9]);
    assert_eq!(ssim_slice(&none, &none, 0, 0).unwrap().value, 1.0);
}

#[test]
fn threads_change_nothing_and_json_survives() {
    let value = |i: usize| ((i * 2654435761) % 1000) as f32 / 7.0;
    let n = [20, 90, 100];
    let a = volume32(&n, (0..180_000).map(value).collect());
    let b = volume32(&n, (0..180_000).map(|i| value(i) + (i % 13) as f32 * 1e-4).collect());
    let map = uniform(&a, 1e-3);
    let all = report(&a, &b, &map);
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(one.install(|| report(&a, &b, &map)), all);
    let exact = report(&a, &a, &map);
    let back: Report = serde_json::from_str(&serde_json::to_string(&exact).unwrap()).unwrap();
    assert_eq!((back.psnr_db, back), (f64::INFINITY, exact));
}

#[test]
fn volumes_that_do_not_match_are_refused() {
    let (a, b) = (volume32(&[4], vec![0.0; 4]), volume32(&[5], vec![0.0; 5]));
    let refuse = |a: &Volume, b: &Volume, map: &ToleranceMap| {
        let job =
            Comparison { original: a, reconstructed: b, tolerance: map, background: None, compressed_bytes: None };
        compare(&job, &Control::default()).unwrap_err().kind
    };
    assert_eq!(refuse(&a, &b, &uniform(&a, 1.0)), ErrorKind::InvalidArgument);
    assert_eq!(refuse(&a, &volume64(&[4], vec![0.0; 4]), &uniform(&a, 1.0)), ErrorKind::InvalidArgument);
}
