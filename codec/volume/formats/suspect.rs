//! Values that look like a code for "missing" although no file says so.

use crate::volume::{Element, Field, Missing, Volume};
use crate::{Result, with_values};

/// Values looked at, evenly over the rows of the volume.
const SAMPLE: usize = 1 << 21;
/// The code must come this often among those.
const MIN_COUNT: usize = 8;
/// It must be this many ranges of all other values away from the nearest of them.
const MIN_GAP: f64 = 10.0;
/// The same of a number that is written with nines alone, which people take for such a code.
const MIN_GAP_OF_NINES: f64 = 1.0;

/// A constant far outside all other values, such as 1e20 over land, that is probably a code for "missing".
///
/// It is a question for the user, never an answer: nothing is masked because of it. Looks at up to 2^21 values;
/// NaN, infinities and what is known to be missing do not count.
pub fn suspect_missing(volume: &Volume) -> Result<Option<f64>> {
    with_values!(&volume.values, field => {
        let sample = sample(field.as_ref(), &volume.missing)?;
        Ok(outlier(sample))
    })
}

fn sample<T: Element>(field: &dyn Field<T>, missing: &Missing) -> Result<Vec<f64>> {
    let [nz, ny, nx] = field.extents();
    let rows = nz * ny;
    let wanted = (SAMPLE / nx).clamp(1, rows);
    let (width, mut row) = (nx.min(SAMPLE), Vec::new());
    let mut out = Vec::new();
    for i in 0..wanted {
        let r = (i as u128 * rows as u128 / wanted as u128) as usize;
        row.resize(width, T::ZERO);
        field.read_row(r / ny, r % ny, 0, &mut row)?;
        out.extend(row.iter().filter(|v| v.is_finite() && !missing.holds(**v)).map(|v| v.to_f64()));
    }
    Ok(out)
}

/// The largest or smallest value, when it repeats and stands far apart.
fn outlier(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let apart = |code: f64, rest: &[f64], count: usize| {
        let (lo, hi) = (*rest.first()?, *rest.last()?);
        let gap = (code - if code > hi { hi } else { lo }).abs();
        let spread = (hi - lo).max(lo.abs().max(hi.abs()) * 1e-3);
        let least = if is_nines(code) { MIN_GAP_OF_NINES } else { MIN_GAP };
        (count >= MIN_COUNT && hi > lo && gap > least * spread).then_some(code)
    };
    let (&low, &high) = (values.first()?, values.last()?);
    let below = values.partition_point(|v| *v <= low);
    let above = values.partition_point(|v| *v < high);
    apart(high, &values[..above], values.len() - above).or_else(|| apart(low, &values[below..], below))
}

/// Whether a number is written with three nines or more and no other digit, such as -999 or 999.9.
fn is_nines(code: f64) -> bool {
    let digits = format!("{}", code.abs() as f32).replace('.', "");
    digits.len() >= 3 && digits.bytes().all(|digit| digit == b'9')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_are_suspected_and_data_are_not() {
        let sea: Vec<f64> = (0..1000).map(|i| 271.0 + (i % 30) as f64).collect();
        let with =
            |code: f64, count: usize| outlier(sea.iter().copied().chain(std::iter::repeat_n(code, count)).collect());
        assert_eq!(with(1e20, 300), Some(1e20));
        assert_eq!(with(-9999.0, 300), Some(-9999.0));
        assert_eq!(with(1e20, 3), None);
        assert_eq!(with(310.0, 300), None);
        assert_eq!(outlier(sea), None);
        // A field that is zero almost everywhere, such as cloud water, is no field with a code.
        let cloud: Vec<f64> = (0..1000).map(|i| if i < 960 { 0.0 } else { 1e-4 * (i - 959) as f64 }).collect();
        assert_eq!(outlier(cloud), None);
        assert_eq!(outlier(vec![5.0; 100]), None);
        let wide: Vec<f64> = (0..1000).map(|i| 0.265 * i as f64).collect();
        let with = |code: f64| outlier(wide.iter().copied().chain(std::iter::repeat_n(code, 300)).collect());
        assert_eq!([-999.0, 999.9, -999.0f32 as f64].map(with), [Some(-999.0), Some(999.9), Some(-999.0)]);
        assert_eq!([-800.0, 990.0, -99.0].map(with), [None; 3], "what people do not write for it, or near the others");
    }
}
