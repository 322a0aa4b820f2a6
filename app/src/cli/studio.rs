//! `blockmgard studio` and `blockmgard bench ui`.

use super::args::Hints;
use super::progress::print;
use anyhow::Result;
use blockmgard_app::studio::{self, StudioArgs};
use clap::Args;
use std::fmt::Write;

#[derive(Args, Default)]
pub struct Studio {
    /// A data file, .bmg stream, project or ROI spec [default: the bundled sample]
    #[arg(value_name = "FILE[:VAR]")]
    file: Option<String>,
    #[command(flatten)]
    hints: Hints,
}

impl Studio {
    pub fn run(self) -> Result<()> {
        studio::run(StudioArgs { file: self.file, hints: self.hints.open() })
    }
}

/// Prints the frame times of the studio's UI thread.
pub fn bench_ui(json: bool) -> Result<()> {
    let times = studio::bench::run()?;
    if json {
        return print(&serde_json::to_string_pretty(&times)?);
    }
    let mut text = String::from("UI-thread time of a frame on 512x512x512 values, ms, without rasterizing\n");
    let _ = writeln!(text, "{:<32} {:>7} {:>8} {:>8} {:>8}", "", "frames", "median", "99 %", "worst");
    for t in &times.frames {
        let times = format!("{:>8.2} {:>8.2} {:>8.2}", t.median_ms, t.p99_ms, t.worst_ms);
        let _ = writeln!(text, "{:<32} {:>7} {times}", t.activity, t.frames);
    }
    let _ = write!(text, "first slice of a raw file of 2 GiB: {:.1} ms", times.first_slice_ms);
    print(&text)
}
