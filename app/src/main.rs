//! The program `blockmgard`: the studio and the command line over the same jobs.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
