//! One parallel pass over an original and its reconstruction.

use super::lag::PairSums;
use super::report::{Report, psnr_db};
use super::ssim::ssim_slice;
use super::sums::Sums;
use crate::volume::{Field, RowReader, Segment, Units, Validity, Values, Volume};
use crate::{Control, Element, Error, Result, ToleranceMap};
use rayon::prelude::*;

/// What to compare, and what is known besides the values.
pub struct Comparison<'a> {
    pub original: &'a Volume,
    /// Of the same shape and type.
    pub reconstructed: &'a Volume,
    pub tolerance: &'a ToleranceMap,
    /// The tier that is no ROI; when not known, the loosest one counts as background.
    pub background: Option<usize>,
    /// Size of the compressed stream, for ratio and bit rate.
    pub compressed_bytes: Option<u64>,
}

/// Compares a reconstruction with its original. The result does not depend on the number of threads.
///
/// # Errors
/// When shapes, types or the tolerance map do not fit, reading fails, or `control` was cancelled.
pub fn compare(job: &Comparison, control: &Control) -> Result<Report> {
    let (a, b) = (job.original, job.reconstructed);
    if a.shape.n != b.shape.n || a.shape.blocks() != job.tolerance.blocks {
        return Err(Error::invalid(format!(
            "a volume of shape {} cannot be compared with one of {}",
            a.shape, b.shape
        ))
        .remedy("compare a file with its own reconstruction"));
    }
    match (&a.values, &b.values) {
        (Values::F32(u), Values::F32(v)) => compare_fields(job, &**u, &**v, control),
        (Values::F64(u), Values::F64(v)) => compare_fields(job, &**u, &**v, control),
        (u, v) => Err(Error::invalid(format!("{} values cannot be compared with {} values", u.dtype(), v.dtype()))
            .remedy("compare volumes of the same type")),
    }
}

/// Units whose sums are held at a time.
const BATCH: usize = 256;

fn compare_fields<T: Element>(
    job: &Comparison,
    u: &dyn Field<T>,
    v: &dyn Field<T>,
    control: &Control,
) -> Result<Report> {
    control.begin((job.original.shape.len() * T::BYTES) as u64);
    let mut total = pass(job, u, v, 1.0, control)?;
    let scale = total.sums.needed_scale();
    if scale != 1.0 {
        total = pass(job, u, v, scale, control)?;
    }
    u.check()?;
    v.check()?;
    let ssim = match job.original.shape.rank {
        1 => None,
        _ => Some(ssim_slice(job.original, job.reconstructed, 0, u.extents()[0] / 2)?),
    };
    let mut report = total.into_report(job, T::BYTES);
    report.ssim = ssim;
    Ok(report)
}

/// One pass over all values, with errors times `scale` in the sums.
fn pass<T: Element>(
    job: &Comparison,
    u: &dyn Field<T>,
    v: &dyn Field<T>,
    scale: f64,
    control: &Control,
) -> Result<Partial> {
    let units = Units::new(u.extents());
    let empty = || Partial { sums: Sums::new(&job.tolerance.tiers, scale), lags: Default::default() };
    let mut total = empty();
    for first in (0..units.count()).step_by(BATCH) {
        let batch = (first..(first + BATCH).min(units.count())).into_par_iter();
        let parts: Vec<Partial> = batch
            .map_init(
                || Rows::new(u, v, job, scale),
                |rows, unit| {
                    control.check()?;
                    let mut part = empty();
                    for segment in units.rows(unit) {
                        rows.add(segment, &mut part)?;
                        control.advance((segment.len * T::BYTES) as u64);
                    }
                    rows.errors_at = None;
                    Ok(part)
                },
            )
            .collect::<Result<_>>()?;
        for part in parts {
            total.sums.join(part.sums);
            total.lags.iter_mut().zip(&part.lags).for_each(|(a, b)| a.join(b));
        }
    }
    Ok(total)
}

struct Partial {
    sums: Sums,
    lags: [PairSums; 3],
}

/// Reads rows of both fields and the rows before them.
struct Rows<'a, T: Element> {
    readers: [RowReader<'a, T>; 2],
    job: &'a Comparison<'a>,
    valid: Validity<'a>,
    scale: f64,
    errors: Vec<f64>,
    /// The segment that `errors` belongs to.
    errors_at: Option<Segment>,
    before: Vec<f64>,
}

impl<'a, T: Element> Rows<'a, T> {
    fn new(u: &'a dyn Field<T>, v: &'a dyn Field<T>, job: &'a Comparison<'a>, scale: f64) -> Self {
        let readers = [RowReader::new(u), RowReader::new(v)];
        let valid = Validity::new(&job.original.missing);
        Self { readers, job, valid, scale, errors: Vec::new(), errors_at: None, before: Vec::new() }
    }
    fn add(&mut self, s: Segment, part: &mut Partial) -> Result<()> {
        if s.y > 0 {
            let above = Segment { y: s.y - 1, ..s };
            if self.errors_at == Some(above) {
                std::mem::swap(&mut self.errors, &mut self.before);
            } else {
                self.read_before(above)?;
            }
        }
        self.errors.clear();
        self.errors.resize(s.len, 0.0);
        let [u, v] = &mut self.readers;
        let (u, v) = (u.read(s)?, v.read(s)?);
        for (tier, x) in tier_runs(self.job.tolerance, s) {
            let tau = self.job.tolerance.tiers[tier].tau;
            let values = (&u[x.clone()], &v[x.clone()]);
            part.sums.add(tier, tau, self.valid, [s.z, s.y, s.x0 + x.start], values, &mut self.errors[x]);
        }
        self.errors_at = Some(s);
        part.lags[2].add(&self.errors, &self.errors[1.min(s.len)..]);
        if s.y > 0 {
            part.lags[1].add(&self.before, &self.errors);
        }
        if s.z > 0 {
            self.read_before(Segment { z: s.z - 1, ..s })?;
            part.lags[0].add(&self.before, &self.errors);
        }
        Ok(())
    }
    fn read_before(&mut self, s: Segment) -> Result<()> {
        let [u, v] = &mut self.readers;
        let (u, v) = (u.read(s)?, v.read(s)?);
        self.before.clear();
        let error = |(u, v): (&T, &T)| match self.valid.is_valid(*u) {
            true => v.to_f64() * self.scale - u.to_f64() * self.scale,
            false => f64::NAN,
        };
        self.before.extend(u.iter().zip(v).map(error));
        Ok(())
    }
}

/// Cuts a row segment where the tier changes: `(tier, positions in the segment)`.
fn tier_runs(map: &ToleranceMap, s: Segment) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> {
    let row = (s.z / 8 * map.blocks[1] + s.y / 8) * map.blocks[2];
    let tiers = &map.tier_of_block[row..row + map.blocks[2]];
    let end = s.x0 + s.len;
    let mut x = s.x0;
    std::iter::from_fn(move || {
        let (start, tier) = (x, *tiers.get(x / 8).filter(|_| x < end)?);
        let same = tiers[x / 8..].iter().take_while(|t| **t == tier).count();
        x = ((x / 8 + same) * 8).min(end);
        Some((tier as usize, start - s.x0..x - s.x0))
    })
}

impl Partial {
    fn into_report(self, job: &Comparison, value_bytes: usize) -> Report {
        let Partial { sums, lags } = self;
        let tiers = &job.tolerance.tiers;
        let (valid, rmse) = sums.rmse(|_| true);
        // Ratios of scaled figures are those of the figures.
        let (range, scaled_range, scale) = (sums.range(), sums.scaled_range(), sums.scale);
        let background = job.background.or_else(|| loosest(job.tolerance));
        let (roi_values, roi_rmse) = sums.rmse(|i| Some(i) != background);
        let sum = sums.tiers.iter().map(|t| t.sum).sum::<f64>() / valid.max(1) as f64;
        let variance = rmse * rmse - sum * sum;
        let worst = |key: &dyn Fn(usize) -> f64| (0..tiers.len()).reduce(|a, b| if key(b) > key(a) { b } else { a });
        let largest = worst(&|i| sums.tiers[i].max_error).map(|i| &sums.tiers[i]);
        let over_tau = |i: usize| sums.tiers[i].over_tau(tiers[i].tau);
        let nearest = worst(&over_tau);
        let count = job.original.shape.len() as u64;
        let rank = job.original.shape.rank as usize;
        Report {
            count,
            valid,
            special: sums.special,
            special_changed: sums.special_changed,
            violations: sums.special_changed + sums.tiers.iter().map(|t| t.violations).sum::<u64>(),
            max_error: largest.map_or(0.0, |t| t.max_error),
            max_error_at: largest.and_then(|t| t.max_error_at),
            max_error_over_tau: nearest.map_or(0.0, over_tau),
            worst_at: nearest.filter(|i| over_tau(*i) > 0.0).and_then(|i| sums.tiers[i].max_error_at),
            range,
            rmse: rmse / scale,
            nrmse: if rmse == 0.0 { 0.0 } else { rmse / scaled_range },
            psnr_db: psnr_db(scaled_range, rmse),
            roi_psnr_db: (roi_values > 0 && tiers.len() > 1).then(|| psnr_db(scaled_range, roi_rmse)),
            bit_rate: job.compressed_bytes.map(|b| 8.0 * b as f64 / count as f64),
            ratio: job.compressed_bytes.map(|b| (count * value_bytes as u64) as f64 / b as f64),
            autocorrelation: lags[3 - rank..].iter().map(|l| l.correlation(variance)).collect(),
            ssim: None,
            tiers: sums.tiers.into_iter().zip(tiers).map(|(s, t)| s.report(t, scaled_range, scale)).collect(),
        }
    }
}

/// The tier with the largest tolerance, of those that hold a block.
pub(crate) fn loosest(map: &ToleranceMap) -> Option<usize> {
    map.used_tiers().max_by(|a, b| map.tiers[*a].tau.total_cmp(&map.tiers[*b].tau))
}
