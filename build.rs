//! Prepares the CUDA kernels: flattens each `kernels/*.cu`, compiles it with nvcc where there is one, and embeds both.
//!
//! nvcc is looked for in `NVCC`, `CUDA_HOME`/`CUDA_PATH`, `PATH` and /usr/local/cuda. With `NVCC` set, a failing compilation
//! fails the build (CI); otherwise the sources alone are embedded and NVRTC compiles them on the user's machine.
//! `NVCC=none` skips the search. `BLOCKMGARD_SPILLS=deny` makes register spills an error.

use std::collections::HashSet;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

type Result<T> = std::result::Result<T, String>;

fn main() {
    for variable in ["NVCC", "CUDA_HOME", "CUDA_PATH", "BLOCKMGARD_SPILLS"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    println!("cargo:rerun-if-changed=kernels");
    if env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    if let Err(message) = embed(Path::new("kernels"), &out) {
        panic!("{message}");
    }
}

/// Writes `kernels.rs`: the flattened source of every module and, where nvcc ran, its fatbin.
fn embed(folder: &Path, out: &Path) -> Result<()> {
    let mut sources: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(|e| format!("kernels/: {e}"))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "cu"))
        .collect();
    sources.sort();
    let nvcc = Nvcc::find();
    let mut table = String::from("pub(super) static MODULES: &[Module] = &[\n");
    for source in &sources {
        let name = source.file_stem().and_then(|s| s.to_str()).ok_or("kernel file names are plain ASCII")?;
        let mut flat = String::new();
        flatten(source, &mut HashSet::new(), &mut flat)?;
        let flat_path = out.join(format!("{name}.cu"));
        fs::write(&flat_path, flat).map_err(|e| format!("{}: {e}", flat_path.display()))?;
        let image = match &nvcc {
            Some(nvcc) => nvcc.compile(&flat_path, &out.join(format!("{name}.fatbin")))?,
            None => None,
        };
        let image = image.map_or("None".into(), |path| format!("Some(include_bytes!({path:?}))"));
        let _ =
            writeln!(table, "    Module {{ name: {name:?}, source: include_str!({flat_path:?}), fatbin: {image} }},");
    }
    table.push_str("];\n");
    fs::write(out.join("kernels.rs"), table).map_err(|e| format!("kernels.rs: {e}"))
}

/// Inlines `#include "..."` lines once each, so that NVRTC needs no include path.
fn flatten(path: &Path, seen: &mut HashSet<PathBuf>, out: &mut String) -> Result<()> {
    if !seen.insert(path.to_path_buf()) {
        return Ok(());
    }
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    for (number, line) in text.lines().enumerate() {
        match line.strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"')) {
            Some(include) => {
                flatten(&path.with_file_name(include), seen, out)?;
                let _ = writeln!(out, "#line {} \"{}\"", number + 2, path.display());
            }
            None if line.starts_with("#pragma once") => {}
            None => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    Ok(())
}

struct Nvcc {
    program: PathBuf,
    /// The user named it: a failure is an error, not a reason to fall back.
    required: bool,
    /// Real architectures; the last one also as PTX for later devices.
    architectures: &'static [&'static str],
}

impl Nvcc {
    fn find() -> Option<Self> {
        let named = env::var_os("NVCC").filter(|v| !v.is_empty());
        if named.as_ref().is_some_and(|v| v == "none") {
            return None;
        }
        let required = named.is_some();
        let homes =
            ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(|h| Path::new(&h).join("bin/nvcc"));
        let candidates = named.map(PathBuf::from).into_iter().chain(homes);
        let fixed = [PathBuf::from("nvcc"), PathBuf::from("/usr/local/cuda/bin/nvcc")];
        candidates.chain(fixed).find_map(|program| {
            let version = Command::new(&program).arg("--version").output().ok().filter(|o| o.status.success())?;
            let architectures = architectures(&String::from_utf8_lossy(&version.stdout));
            Some(Self { program, required, architectures })
        })
    }

    /// Compiles one flattened module; `None` when nvcc fails and nobody insisted on it.
    fn compile(&self, source: &Path, image: &Path) -> Result<Option<PathBuf>> {
        let mut command = Command::new(&self.program);
        command.args([
            "-fatbin",
            "-std=c++17",
            "-O3",
            "--fmad=false",
            "--threads=2",
            // a module need not use every constant of the headers inlined into it
            "-diag-suppress=177",
            "-Werror",
            "all-warnings",
            "-Xptxas=-v",
        ]);
        for architecture in self.architectures {
            command.arg(format!("-gencode=arch=compute_{architecture},code=sm_{architecture}"));
        }
        if let Some(last) = self.architectures.last() {
            command.arg(format!("-gencode=arch=compute_{last},code=compute_{last}"));
        }
        let run = command
            .arg("-o")
            .arg(image)
            .arg(source)
            .output()
            .map_err(|e| format!("{}: {e}", self.program.display()))?;
        let log = String::from_utf8_lossy(&run.stderr).into_owned() + &String::from_utf8_lossy(&run.stdout);
        if !run.status.success() {
            let message = format!("{} failed on {}:\n{log}", self.program.display(), source.display());
            if self.required {
                return Err(message);
            }
            println!("cargo:warning={} (kernels will be compiled at run time)", message.replace('\n', " "));
            return Ok(None);
        }
        report_spills(&log)?;
        Ok(Some(image.to_path_buf()))
    }
}

/// What this nvcc can target, from the text of `nvcc --version`.
fn architectures(version: &str) -> &'static [&'static str] {
    let release = version.split("release ").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("0.0");
    let mut parts = release.split('.').map(|p| p.parse::<u32>().unwrap_or(0));
    match (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) {
        (major, minor) if (major, minor) >= (12, 8) => &["80", "90", "100"],
        (major, minor) if (major, minor) >= (11, 8) => &["80", "90"],
        _ => &["80"],
    }
}

/// Warns of every kernel whose registers spill to local memory, or fails under `BLOCKMGARD_SPILLS=deny`.
fn report_spills(log: &str) -> Result<()> {
    let mut kernel = "";
    let mut spills = Vec::new();
    for line in log.lines() {
        if let Some(rest) = line.split("Compiling entry function '").nth(1) {
            kernel = rest.split("' for").next().unwrap_or(rest);
        }
        if line.contains("bytes spill stores") && !line.contains(" 0 bytes spill stores") {
            spills.push(format!("{kernel}:{}", line.trim_start_matches("ptxas info    :")));
        }
    }
    if spills.is_empty() {
        return Ok(());
    }
    if env::var("BLOCKMGARD_SPILLS").is_ok_and(|v| v == "deny") {
        return Err(format!("register spills:\n{}", spills.join("\n")));
    }
    for spill in spills {
        println!("cargo:warning=register spill in {spill}");
    }
    Ok(())
}
