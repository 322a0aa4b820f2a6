//! Codes for "missing" that no file names, such as 1e20 over land: the user is asked, or told where nobody can answer.

use super::args::Hints;
use super::progress::Session;
use anyhow::Result;
use blockmgard::volume::{Values, Volume, missing_bits, suspect_missing};
use std::io::{BufRead, IsTerminal, Write};

/// What was settled so far, so that a series is asked about once.
#[derive(Default)]
pub struct Codes {
    missing: Vec<f64>,
    data: Vec<f64>,
}

/// A code as `--missing` takes it: it must come back to the same bits.
fn exact(values: &Values, code: f64) -> String {
    let plain = (1e-4..1e7).contains(&code.abs());
    match values {
        Values::F32(_) if plain => (code as f32).to_string(),
        Values::F32(_) => format!("{:e}", code as f32),
        Values::F64(_) if plain => code.to_string(),
        Values::F64(_) => format!("{code:e}"),
    }
}

/// What a suspicion means and what to say to the program.
pub fn suspicion(values: &Values, code: f64) -> String {
    let code = exact(values, code);
    format!("many values are exactly {code}, far outside all others: --missing {code} if they mean \"missing\"")
}

impl Codes {
    /// Looks for such a code in a volume, unless the command line has said what is missing. Returns one that is left as
    /// data, after telling so.
    pub fn settle(&mut self, volume: &mut Volume, hints: &Hints, session: &Session) -> Result<Option<f64>> {
        if hints.says_missing() {
            return Ok(None);
        }
        let patterns = missing_bits(&volume.values, &self.missing);
        volume.missing.patterns.extend(patterns);
        let Some(code) = suspect_missing(volume)? else { return Ok(None) };
        if self.data.contains(&code) {
            return Ok(Some(code));
        }
        let asked = !session.json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if asked && yes(&exact(&volume.values, code))? {
            self.missing.push(code);
            let patterns = missing_bits(&volume.values, &[code]);
            volume.missing.patterns.extend(patterns);
            return Ok(None);
        }
        if !asked {
            session.warn(&format!(
                "{}, --missing none if they are data (taken as data now)",
                suspicion(&volume.values, code)
            ));
        }
        self.data.push(code);
        Ok(Some(code))
    }
}

fn yes(code: &str) -> Result<bool> {
    let mut answer = String::new();
    loop {
        eprint!("many values are exactly {code}, far outside all others. Do they mean \"missing\"? [y/n] ");
        std::io::stderr().flush()?;
        answer.clear();
        let read = std::io::stdin().lock().read_line(&mut answer)?;
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ if read == 0 => return Ok(false),
            _ => {}
        }
    }
}

/// A raw file read in the wrong byte order is full of huge values.
pub fn looks_swapped(values: &Values, largest: f64) -> bool {
    const F32_LARGE: f64 = 1e34;
    const F64_LARGE: f64 = 1e250;
    match values {
        Values::F32(_) => largest > F32_LARGE,
        Values::F64(_) => largest > F64_LARGE,
    }
}
