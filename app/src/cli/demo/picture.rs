//! demo.png: original and tolerance map on top, then reconstruction and error of every run.

use super::runs::Run;
use crate::cli::picture::{self, Canvas, Panel, Slice};
use anyhow::Result;
use blockmgard::ToleranceMap;
use blockmgard::roi::RoiSpec;
use blockmgard::volume::Volume;

const SCALE: usize = 4;
const MARGIN: usize = 16;
/// Height of the lines of words above a panel.
const CAPTION: usize = 30;

/// Where panels go: columns of equal width, counted from 0.
struct Grid {
    canvas: Canvas,
    cell: (usize, usize),
}

impl Grid {
    fn new(columns: usize, rows: usize, slice: &Slice) -> Self {
        let cell = (slice.width * SCALE + MARGIN, slice.height * SCALE + CAPTION + MARGIN);
        let canvas = Canvas::new(columns * cell.0 + MARGIN, rows * cell.1 + MARGIN);
        Self { canvas, cell }
    }
    fn put(&mut self, column: usize, row: usize, words: [&str; 2], panel: &Panel) {
        let (x, y) = (MARGIN + column * self.cell.0, MARGIN + row * self.cell.1);
        self.canvas.text(x, y, words[0]);
        self.canvas.text(x, y + 12, words[1]);
        self.canvas.panel(x, y + CAPTION - 4, panel, SCALE);
    }
}

/// The middle slice across the second axis, where the layer is seen from the side.
pub fn draw(volume: &Volume, spec: &RoiSpec, map: &ToleranceMap, runs: &[Run]) -> Result<Canvas> {
    let slice = Slice::new(&volume.shape, 1, None)?;
    let original = slice.read(volume)?;
    let range = original.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), &v| (lo.min(v), hi.max(v)));
    let columns = runs.len().div_ceil(2).max(3);
    let mut grid = Grid::new(columns, 5, &slice);
    grid.put(0, 0, ["original", &slice.title(volume)], &picture::values(&slice, &original, range));
    let colors: Vec<[u8; 3]> = (0..map.tiers.len()).map(|i| spec.tier_color(i).0).collect();
    let tiers = picture::tiers_over_values(&slice, &original, map, &colors);
    grid.put(1, 0, ["tolerance map", "one tier per 8x8x8 block"], &tiers);
    legend(&mut grid, map, &colors);
    for (index, run) in runs.iter().enumerate() {
        let rebuilt = slice.read(&run.rebuilt)?;
        let (column, row) = (index / 2, 1 + index % 2 * 2);
        let psnr = format!("ratio {:.1}, PSNR {:.1} dB", run.ratio, run.metrics.psnr_db);
        grid.put(column, row, [&run.name, &psnr], &picture::values(&slice, &rebuilt, range));
        let errors: Vec<f64> =
            (0..original.len()).map(|i| (rebuilt[i] - original[i]).abs() / tau_of(run, map, slice.node(i))).collect();
        let worst = format!("largest {:.4} of it", run.metrics.max_error_over_tau);
        grid.put(column, row + 1, ["error over tolerance", &worst], &picture::errors(&slice, &errors));
    }
    Ok(grid.canvas)
}

/// The tolerance that a run promised at a node.
fn tau_of(run: &Run, map: &ToleranceMap, [z, y, x]: [usize; 3]) -> f64 {
    let [_, by, bx] = map.blocks;
    run.metrics.tiers[usize::from(map.tier_of_block[(z / 8 * by + y / 8) * bx + x / 8])].tau
}

/// Names of tiers and the meaning of the error colours, in the third cell of the first row.
fn legend(grid: &mut Grid, map: &ToleranceMap, colors: &[[u8; 3]]) {
    let (x, mut y) = (MARGIN + 2 * grid.cell.0, MARGIN + CAPTION);
    for (tier, &color) in map.tiers.iter().zip(colors) {
        grid.canvas.legend(x, y, &tier.name, color);
        grid.canvas.text(x + 12, y + 12, &format!("+/- {:.3e}", tier.tau));
        y += 32;
    }
    y += 16;
    for (name, value) in [("no error", 0.0), ("half the tolerance", 0.5), ("the tolerance", 1.0), ("beyond it", 2.0)] {
        grid.canvas.legend(x, y, name, picture::error_color(value));
        y += 16;
    }
}
