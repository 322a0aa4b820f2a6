//! Words of the command line that need more than a number.

use blockmgard::{Error, Region, Result, Shape};
use std::path::PathBuf;

/// Extents as one word (clap takes a bare `Vec` for several words).
#[derive(Clone)]
pub struct Dims(pub Vec<usize>);

/// `100x500x500`, slowest axis first.
pub fn dims(text: &str) -> Result<Dims> {
    let bad =
        || Error::invalid(format!("dims {text:?} are not numbers")).remedy("write 100x500x500, slowest axis first");
    text.split(['x', 'X', ',']).map(|n| n.trim().parse().map_err(|_| bad())).collect::<Result<_>>().map(Dims)
}

/// Bytes, with an optional unit: `1GiB`, `512MiB`, `2GB`, `1048576`.
pub fn bytes(text: &str) -> Result<u64> {
    let bad = || Error::invalid(format!("size {text:?} is not understood")).remedy("write 512MiB, 1GiB or 2GB");
    if let Some(plain) = text.parse().ok().filter(|n: &f64| *n >= 0.0 && n.is_finite()) {
        return Ok(plain as u64);
    }
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..split].parse().map_err(|_| bad())?;
    let unit = match text[split..].trim().to_ascii_lowercase().as_str() {
        "b" => 1.0,
        "k" | "kib" => 1024.0,
        "kb" => 1e3,
        "m" | "mib" => 1024.0 * 1024.0,
        "mb" => 1e6,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "gb" => 1e9,
        "t" | "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "tb" => 1e12,
        _ => return Err(bad()),
    };
    Ok((number * unit) as u64)
}

/// `10:20,0:91,5:6` for a shape: half-open, slowest axis first. `:` is a whole axis, `5` a single node, an open end the
/// axis's own.
pub fn region(text: &str, shape: &Shape) -> Result<Region> {
    let bad = |why: String| {
        Error::invalid(format!("box {text:?}: {why}"))
            .remedy("write 10:20,0:91,5:6, one interval an axis, slowest first")
    };
    let parts: Vec<_> = text.split(',').collect();
    let extents = shape.extents();
    if parts.len() != extents.len() {
        return Err(bad(format!("{} intervals for a volume of {shape}", parts.len())));
    }
    let mut region = shape.region();
    for (axis, (part, &n)) in parts.iter().zip(extents).enumerate() {
        let number = |word: &str, open: usize| match word.trim() {
            "" => Ok(open),
            word => word.parse().map_err(|_| bad(format!("{word:?} is no number"))),
        };
        let (lo, hi) = match part.split_once(':') {
            Some((lo, hi)) => (number(lo, 0)?, number(hi, n)?),
            None => {
                let at: usize = number(part, n)?;
                (at, at.saturating_add(1))
            }
        };
        if lo >= hi || hi > n {
            return Err(bad(format!("{part} is empty or reaches outside 0:{n}")));
        }
        let axis = 3 - extents.len() + axis;
        (region.lo[axis], region.hi[axis]) = (lo, hi);
    }
    Ok(region)
}

/// The first node per axis of a box that [`region`] understood.
pub fn corner(text: &str) -> Vec<usize> {
    let first = |part: &str| part.split(':').next().and_then(|lo| lo.trim().parse().ok()).unwrap_or(0);
    text.split(',').map(first).collect()
}

/// A tolerance: 0 is lossless, `inf` no bound at all.
pub fn tolerance(text: &str) -> Result<f64> {
    let text = text.trim();
    let good = text.parse().ok().filter(|t: &f64| *t >= 0.0);
    if good == Some(f64::INFINITY) && text.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '+') {
        return Err(Error::invalid(format!("{text} is larger than any number of 64 bits")).remedy("inf sets no bound"));
    }
    good.map(|t| t + 0.0).ok_or_else(|| Error::invalid("a tolerance is a number from 0 on").remedy("0 keeps every bit"))
}

/// A file to write.
pub fn output(text: &str) -> Result<PathBuf> {
    file(text, "results cannot go through a pipe: a file appears when it is whole", "name a file")
}

/// A stream to read.
pub fn stream(text: &str) -> Result<PathBuf> {
    file(text, "a stream cannot come through a pipe: its directory stands at its end", "write it to a file first")
}

/// A file by name; `-`, a pipe elsewhere, is refused.
fn file(text: &str, why: &str, remedy: &str) -> Result<PathBuf> {
    if text == "-" {
        return Err(Error::invalid(why).remedy(format!("{remedy}; ./- is one called -")));
    }
    Ok(text.into())
}

/// A PSNR or ratio to reach.
pub fn goal(text: &str) -> Result<f64> {
    let good = text.trim().parse().ok().filter(|t: &f64| *t > 0.0 && t.is_finite());
    good.ok_or_else(|| Error::invalid("a goal is a number above 0"))
}

/// `None` for the word "none".
#[derive(Clone)]
pub struct Missing(pub Option<f64>);

/// A value that means "missing", or "none".
pub fn missing(text: &str) -> Result<Missing> {
    if text.eq_ignore_ascii_case("none") {
        return Ok(Missing(None));
    }
    let bad = |_| Error::invalid(format!("{text:?} is no number")).remedy("write a value such as 1e20, or none");
    text.trim().parse().map(|v| Missing(Some(v))).map_err(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_name_axes_slowest_first_and_bad_ones_are_refused() {
        let shape = Shape::new(&[91, 50]).unwrap();
        assert_eq!(region("10:20,:", &shape).unwrap(), Region { lo: [0, 10, 0], hi: [1, 20, 50] });
        assert_eq!((corner("10:20,:"), corner(" 5 ,40:")), (vec![10, 0], vec![5, 40]));
        assert_eq!(region("5,40:", &shape).unwrap(), Region { lo: [0, 5, 40], hi: [1, 6, 50] });
        for bad in ["", "1:2", "1:2,3:4,5:6", "5:5,:", "9:3,:", "0:92,:", "a:b,:", "91,:", "-1:2,:"] {
            assert!(region(bad, &shape).is_err(), "{bad}");
        }
    }

    #[test]
    fn tolerances_are_numbers_and_outputs_files() {
        assert!(["1e400", "+1e999", "-1", "nan", "much"].iter().all(|bad| tolerance(bad).is_err()));
        assert!(output("-").is_err() && output("./-").is_ok());
    }

    #[test]
    fn sizes_take_binary_and_decimal_units() {
        assert_eq!(bytes("1GiB").unwrap(), 1 << 30);
        assert_eq!(bytes("2GB").unwrap(), 2_000_000_000);
        assert_eq!(bytes("1.5m").unwrap(), 3 << 19);
        assert_eq!((bytes("1e9").unwrap(), bytes("4096").unwrap()), (1_000_000_000, 4096));
        assert!(bytes("-1").is_err() && bytes("nan").is_err() && bytes("inf").is_err());
        assert!(bytes("much").is_err() && bytes("1 parsec").is_err());
    }

    #[test]
    fn tolerances_and_goals_are_numbers_that_make_sense() {
        assert_eq!(tolerance("-0").unwrap().to_bits(), 0);
        assert!(tolerance("inf").is_ok_and(f64::is_infinite) && tolerance("1e-300").is_ok());
        assert!(["-1", "nan", "", "x"].iter().all(|t| tolerance(t).is_err()));
        assert!(["0", "-3", "nan", "inf"].iter().all(|t| goal(t).is_err()) && goal("60").is_ok());
        assert!(missing("none").unwrap().0.is_none() && missing("-1e10").unwrap().0 == Some(-1e10));
        assert!(missing("land").is_err());
    }
}
