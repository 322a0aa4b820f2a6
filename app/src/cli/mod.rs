//! The command line: the same jobs as the studio, without a window.

mod args;
mod bench;
mod bench_gpu;
mod bench_table;
mod codec_args;
mod codes;
mod compress;
mod decompress;
mod demo;
mod info;
mod parse;
mod picture;
mod progress;
mod roi;
#[cfg(feature = "studio")]
mod studio;
mod text;
mod tolerance;
mod tune;
mod variables;
mod verify;

use anyhow::Result;
use blockmgard::roi::RoiSpec;
use blockmgard::{Error, ErrorKind};
#[cfg(not(feature = "studio"))]
use clap::CommandFactory;
use clap::{Parser, Subcommand};
use progress::Session;
use std::process::ExitCode;

/// Error-bounded compression of scientific volumes with region-of-interest tolerances.
#[derive(Parser)]
#[command(name = "blockmgard", version, about, max_term_width = 100)]
struct Cli {
    /// Print the result as JSON on standard output.
    #[arg(long, global = true, display_order = 900)]
    json: bool,
    /// Number of CPU threads [default: one per core].
    #[arg(long, global = true, value_name = "N", display_order = 901)]
    threads: Option<usize>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Compress a volume, or a series of volumes, into .bmg streams
    Compress(compress::Compress),
    /// Rebuild a volume, or a box of it, from a .bmg stream
    Decompress(decompress::Decompress),
    /// Say what is in a file: variables of a data file, or tiers and settings of a .bmg stream
    Info(info::Info),
    /// Check a .bmg stream against the original, value by value
    Verify(verify::Verify),
    /// See what an ROI spec makes of a volume
    Roi(roi::Roi),
    /// Print the JSON schema of ROI specs
    Schema,
    /// Measure ratio and speed on a file; "bench gpu": kernel by kernel; "bench ui": the studio's frame times
    Bench(bench::Bench),
    /// Measure the stages of the hybrid mode on a device, for `compress --budget-ms`
    Tune(tune::Tune),
    /// Run the main job on the bundled sample: a table, demo.png and demo.json
    Demo(demo::Demo),
    /// Open the studio; so does the program without a command
    #[cfg(feature = "studio")]
    Studio(studio::Studio),
}

/// Exit codes that scripts rely on.
const FAILED: u8 = 1;
const WRONG_USAGE: u8 = 2;
/// Bound violated, or the stream or file is damaged.
const VIOLATED: u8 = 3;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = run(cli);
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(VIOLATED),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(exit_code(&error))
        }
    }
}

fn exit_code(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<Error>().map(|e| e.kind) {
        Some(ErrorKind::InvalidArgument) => WRONG_USAGE,
        Some(ErrorKind::Corruption | ErrorKind::Truncated) => VIOLATED,
        _ => FAILED,
    }
}

/// True when all is well; false when a bound is violated.
fn run(cli: Cli) -> Result<bool> {
    if let Some(threads) = cli.threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    let Some(command) = cli.command else {
        #[cfg(feature = "studio")]
        studio::Studio::default().run()?;
        #[cfg(not(feature = "studio"))]
        Cli::command().print_help()?;
        return Ok(true);
    };
    // Made only where there is a job: a session takes Ctrl+C for itself, and the window must end on it.
    let session = || Session::new(cli.json);
    match command {
        Command::Compress(c) => c.run(&session()?).map(|()| true),
        Command::Decompress(c) => c.run(&session()?).map(|()| true),
        Command::Info(c) => c.run(&session()?).map(|()| true),
        Command::Verify(c) => c.run(&session()?),
        Command::Roi(c) => c.run(&session()?).map(|()| true),
        Command::Schema => {
            progress::print(&serde_json::to_string_pretty(&RoiSpec::json_schema())?)?;
            Ok(true)
        }
        #[cfg(feature = "studio")]
        Command::Bench(bench::Bench { what: Some(bench::What::Ui), .. }) => studio::bench_ui(cli.json).map(|()| true),
        Command::Bench(c) => c.run(&session()?).map(|()| true),
        Command::Tune(c) => c.run(&session()?).map(|()| true),
        Command::Demo(c) => c.run(&session()?).map(|()| true),
        #[cfg(feature = "studio")]
        Command::Studio(c) => c.run().map(|()| true),
    }
}
