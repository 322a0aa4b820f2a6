//! Times on a raw file.

use blockmgard::backend::Cuda;
use blockmgard::backend::cuda::HuffmanDecoder;
use blockmgard::backend::cuda::bench::{Runs, bench_f32, bench_f64, mappings_f32, mappings_f64};
use blockmgard::{Basis, Coder, Entropy, Mode, Order, Params, Shape, ToleranceMap};

/// Runs the bench once on a small field: what it says of the values must be true.
pub fn run_once(cuda: &Cuda) {
    let shape = Shape::new(&[24, 40, 72]).unwrap();
    let values: Vec<f32> = blockmgard::volume::standin(shape.n);
    let map = ToleranceMap::uniform(&shape, 1e-3).unwrap();
    let hybrid = Params { mode: Mode::Hybrid, ..Params::default() };
    let tile = |tile: u8| Params { tile, ..Params::default() };
    let (groups, in_order) = (Params { coder: Coder::Groups, ..tile(16) }, Params { order: Order::Axis, ..tile(32) });
    for params in [tile(8), tile(16), groups, in_order, Params::fast(), hybrid] {
        let report = bench_f32(cuda, &values, shape.n, &map, &params, Runs { resident: 1, host: 1 }).unwrap();
        let figures = &report.figures;
        assert!(figures.violations == 0 && report.max_error_of_tau > 0.5 && report.max_error_of_tau <= 1.0);
        // The comparison was made of what a recorded graph decoded.
        assert_eq!(figures.max_error_over_tau, report.max_error_of_tau);
        assert!(report.graph_compress.is_some() && report.graph_decompress.is_some());
    }
}

/// All mappings of a local level give the same symbols and values, or this is an error.
pub fn mappings(cuda: &Cuda) {
    let shape = Shape::new(&[20, 40, 72]).unwrap();
    let map = ToleranceMap::uniform(&shape, 1e-3).unwrap();
    let runs = Runs { resident: 1, host: 1 };
    assert_eq!(mappings_f32(cuda, &blockmgard::volume::standin(shape.n), shape.n, &map, runs).unwrap().len(), 3);
    assert_eq!(mappings_f64(cuda, &blockmgard::volume::standin(shape.n), shape.n, &map, runs).unwrap().len(), 3);
}

/// Measures one setting: `file extents tolerance`, then `fast` or a tile (behind it perhaps `groups` and `axis`), or `L M` of the hybrid mode
/// (behind them perhaps `projection` and `class`, or `lanes` or `warps` for the Huffman decoder).
pub fn measure(cuda: Cuda, setting: &str) -> String {
    let words: Vec<&str> = setting.split_whitespace().collect();
    let cuda = &match (words.contains(&"lanes"), words.contains(&"warps")) {
        (true, _) => cuda.with_huffman(HuffmanDecoder::Lanes),
        (_, true) => cuda.with_huffman(HuffmanDecoder::Warps),
        _ => cuda,
    };
    let extents: Vec<usize> = words[1..4].iter().map(|w| w.parse().unwrap()).collect();
    let shape = Shape::new(&extents).unwrap();
    let relative: f64 = words[4].parse().unwrap();
    let number = |i: usize| words[i].parse().unwrap();
    let params = match words.len() {
        6 if words[5] == "fast" => Params::fast(),
        count if count == 6 || words[6].parse::<u8>().is_err() => Params {
            tile: number(5),
            coder: if words.contains(&"groups") { Coder::Groups } else { Coder::Class },
            order: if words.contains(&"axis") { Order::Axis } else { Order::Parity },
            ..Params::default()
        },
        _ => Params {
            mode: Mode::Hybrid,
            local_levels: number(5),
            global_levels: number(6),
            basis: if words.contains(&"projection") { Basis::Projection } else { Basis::Hierarchical },
            entropy: if words.contains(&"class") { Entropy::Class } else { Entropy::Huffman },
            ..Params::default()
        },
    };
    let bytes = std::fs::read(words[0]).unwrap();
    let report = if words[0].ends_with("f64") {
        let values: Vec<f64> = bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
        let map = ToleranceMap::uniform(&shape, relative * cuda.max_abs(&values).unwrap()).unwrap();
        bench_f64(cuda, &values, shape.n, &map, &params, Runs { resident: 11, host: 11 })
    } else {
        let values: Vec<f32> = bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        let map = ToleranceMap::uniform(&shape, relative * cuda.max_abs(&values).unwrap() as f64).unwrap();
        bench_f32(cuda, &values, shape.n, &map, &params, Runs { resident: 11, host: 11 })
    };
    format!("{setting}\n{}", serde_json::to_string_pretty(&report.unwrap()).unwrap())
}
