//! Times on a raw file.

use blockmgard::backend::Cuda;
use blockmgard::backend::cuda::bench::{bench_f32, bench_f64};
use blockmgard::{Basis, Mode, Params, Shape, ToleranceMap};

/// Measures one setting: `file extents tolerance`, then a tile, or `L M` of the hybrid mode (`L M projection`).
pub fn measure(cuda: &Cuda, setting: &str) -> String {
    let words: Vec<&str> = setting.split_whitespace().collect();
    let extents: Vec<usize> = words[1..4].iter().map(|w| w.parse().unwrap()).collect();
    let shape = Shape::new(&extents).unwrap();
    let relative: f64 = words[4].parse().unwrap();
    let number = |i: usize| words[i].parse().unwrap();
    let params = match words.len() {
        6 => Params { tile: number(5), ..Params::default() },
        count => Params {
            mode: Mode::Hybrid,
            local_levels: number(5),
            global_levels: number(6),
            basis: if count > 7 { Basis::Projection } else { Basis::Hierarchical },
            ..Params::default()
        },
    };
    let bytes = std::fs::read(words[0]).unwrap();
    let report = if words[0].ends_with("f64") {
        let values: Vec<f64> = bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
        let map = ToleranceMap::uniform(&shape, relative * cuda.max_abs(&values).unwrap()).unwrap();
        bench_f64(cuda, &values, shape.n, &map, &params, 11)
    } else {
        let values: Vec<f32> = bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        let map = ToleranceMap::uniform(&shape, relative * cuda.max_abs(&values).unwrap() as f64).unwrap();
        bench_f32(cuda, &values, shape.n, &map, &params, 11)
    };
    format!("{setting}\n{}", serde_json::to_string_pretty(&report.unwrap()).unwrap())
}
