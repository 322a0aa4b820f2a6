//! The special part of a frame: values that never reach a transform (NaN, infinities, missing), bit for bit.

use super::bytes::{Cursor, ZSTD_LEVEL, put_varint, zstd_pack, zstd_unpack};
use super::extent::Extent;
use super::linear;
use crate::simd::{Kernel, dispatch};
use crate::volume::{Field, Missing};
use crate::{Control, Element, Error, Region, Result};
use std::collections::BTreeSet;
use std::io::Write;

/// True for values that are stored apart: not finite, or missing.
#[inline(always)]
pub fn is_special<T: Element>(v: T, missing: &Missing) -> bool {
    !v.is_finite() || (!missing.is_empty() && missing.holds(v))
}

/// Looks at every value once, in parallel: the extent of the ordinary ones and the number of special ones.
pub fn scan<T: Element>(field: &dyn Field<T>, missing: &Missing, control: &Control) -> Result<(Extent, u64)> {
    let found = linear::fold(
        field,
        control,
        || (Extent::EMPTY, 0),
        |_, values| scan_piece(values, missing),
        |a, b| (a.0.union(b.0), a.1 + b.1),
    )?;
    field.check()?;
    Ok(found)
}

fn scan_piece<T: Element>(values: &[T], missing: &Missing) -> (Extent, u64) {
    let ordinary = if missing.is_empty() { dispatch(Ordinary(values)) } else { None };
    ordinary.map_or_else(|| scan_specials(values, missing), |extent| (extent, 0))
}

/// Independent lanes, or the compiler must keep the comparisons in order.
const LANES: usize = 32;

/// The extent of values that are all finite, or nothing.
struct Ordinary<'a, T>(&'a [T]);

impl<T: Element> Kernel for Ordinary<'_, T> {
    type Output = Option<Extent>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let (mut low, mut high, mut odd) = ([T::INFINITY; LANES], [-T::INFINITY; LANES], [T::ZERO; LANES]);
        let groups = self.0.chunks_exact(LANES);
        let rest = groups.remainder();
        for group in groups {
            for lane in 0..LANES {
                let v = group[lane];
                low[lane] = if v < low[lane] { v } else { low[lane] };
                high[lane] = if v > high[lane] { v } else { high[lane] };
                // Stays 0 unless v is infinite or NaN.
                odd[lane] = odd[lane] + v * T::ZERO;
            }
        }
        if odd.iter().any(|&o| o != T::ZERO) || rest.iter().any(|v| !v.is_finite()) {
            return None;
        }
        let lanes = low.iter().zip(&high).map(|(l, h)| Extent::new(l.to_f64(), h.to_f64()));
        let rest = rest.iter().map(|v| Extent::new(v.to_f64(), v.to_f64()));
        Some(lanes.chain(rest).fold(Extent::EMPTY, Extent::union))
    }
}

fn scan_specials<T: Element>(values: &[T], missing: &Missing) -> (Extent, u64) {
    let (mut low, mut high) = ([T::INFINITY; LANES], [-T::INFINITY; LANES]);
    let mut specials = 0;
    let mut look = |lane: usize, v: T, ordinary: bool| {
        low[lane] = if ordinary & (v < low[lane]) { v } else { low[lane] };
        high[lane] = if ordinary & (v > high[lane]) { v } else { high[lane] };
        specials += u64::from(!ordinary);
    };
    if missing.is_empty() {
        let mut groups = values.chunks_exact(LANES);
        for group in &mut groups {
            for (lane, &v) in group.iter().enumerate() {
                look(lane, v, v.abs() < T::INFINITY);
            }
        }
        groups.remainder().iter().for_each(|&v| look(0, v, v.is_finite()));
    } else {
        values.iter().for_each(|&v| look(0, v, !is_special(v, missing)));
    }
    let lanes = low.into_iter().zip(high).map(|(l, h)| Extent::new(l.to_f64(), h.to_f64()));
    (lanes.fold(Extent::EMPTY, Extent::union), specials)
}

/// Most distinct bit patterns that a palette lists.
const MAX_PALETTE: usize = 255;

/// Packs the special values of a frame (see `FORMAT.md`, "Special part"). Memory: the mask, one bit a value.
pub fn encode<T: Element>(field: &dyn Field<T>, missing: &Missing, control: &Control) -> Result<Vec<u8>> {
    let palette = palette(field, missing, control)?;
    let mut out = vec![palette.len() as u8];
    for &bits in &palette {
        out.extend(&bits.to_le_bytes()[..T::BYTES]);
    }
    let mask = zstd_pack(bytemuck::cast_slice(&mask(field, missing, control)?));
    put_varint(&mut out, mask.len() as u64);
    out.extend(mask);
    if palette.len() != 1 {
        append_codes(&mut out, field, missing, &palette, control)?;
    }
    Ok(out)
}

/// The distinct patterns, ascending; empty when there are more than a palette holds.
fn palette<T: Element>(field: &dyn Field<T>, missing: &Missing, control: &Control) -> Result<Vec<u64>> {
    let cap = |set: BTreeSet<u64>| set.into_iter().take(MAX_PALETTE + 1).collect::<BTreeSet<_>>();
    let found = linear::fold(
        field,
        control,
        BTreeSet::new,
        |_, values| {
            let mut set = BTreeSet::new();
            let mut last = None;
            for &v in values.iter().filter(|&&v| is_special(v, missing)) {
                let bits = v.to_bits64();
                if last != Some(bits) && set.len() <= MAX_PALETTE {
                    set.insert(bits);
                    last = Some(bits);
                }
            }
            set
        },
        |a, b| cap(a.into_iter().chain(b).collect()),
    )?;
    Ok(if found.len() > MAX_PALETTE { Vec::new() } else { found.into_iter().collect() })
}

fn mask<T: Element>(field: &dyn Field<T>, missing: &Missing, control: &Control) -> Result<Vec<u64>> {
    use rayon::prelude::*;
    let total = linear::length(field);
    let mut words = vec![0u64; total.div_ceil(64)];
    words.par_chunks_mut(linear::PIECE / 64).enumerate().try_for_each(|(piece, words)| {
        control.check()?;
        let start = piece * linear::PIECE;
        let values = linear::read(field, start, linear::PIECE.min(total - start))?;
        for (word, group) in words.iter_mut().zip(values.chunks(64)) {
            *word = group.iter().enumerate().fold(0, |w, (i, &v)| w | u64::from(is_special(v, missing)) << i);
        }
        Ok(())
    })?;
    Ok(words)
}

/// Palette indices (one byte each) or, without a palette, the patterns themselves, as one zstd frame.
fn append_codes<T: Element>(
    out: &mut Vec<u8>,
    field: &dyn Field<T>,
    missing: &Missing,
    palette: &[u64],
    control: &Control,
) -> Result<()> {
    let broken = |e: std::io::Error| Error::invalid(format!("the special values do not compress: {e}"));
    let mut packer = zstd::stream::write::Encoder::new(out, ZSTD_LEVEL).map_err(broken)?;
    let total = linear::length(field);
    let mut codes = Vec::new();
    for start in (0..total).step_by(linear::PIECE) {
        control.check()?;
        codes.clear();
        let values = linear::read(field, start, linear::PIECE.min(total - start))?;
        for &v in values.iter().filter(|&&v| is_special(v, missing)) {
            let bits = v.to_bits64();
            match palette.binary_search(&bits) {
                Ok(index) => codes.push(index as u8),
                Err(_) => codes.extend(&bits.to_le_bytes()[..T::BYTES]),
            }
        }
        packer.write_all(&codes).map_err(broken)?;
    }
    packer.finish().map_err(broken)?;
    Ok(())
}

/// The special values of a frame, ready to be put back.
#[derive(Debug)]
pub struct Special<T> {
    n: [usize; 3],
    mask: Vec<u64>,
    /// Special values before each group of `GROUP` mask words.
    before: Vec<u64>,
    palette: Vec<T>,
    /// Palette index of each special value; empty when the palette has one entry or none.
    indices: Vec<u8>,
    /// Patterns of the special values, as bytes, when there is no palette.
    patterns: Vec<u8>,
}

const GROUP: usize = 64;
const PART: &str = "special part";

impl<T: Element> Special<T> {
    /// Reads [`encode`]'s bytes for a frame of `n` nodes.
    pub fn decode(payload: &[u8], n: [usize; 3]) -> Result<Self> {
        let mut c = Cursor::new(payload, PART);
        let palette = (0..c.u8()?).map(|_| pattern(c.take(T::BYTES)?)).collect::<Result<Vec<T>>>()?;
        let total: usize = n.iter().product();
        let words = total.div_ceil(64);
        let length = c.length()?;
        let bytes = zstd_unpack(c.take(length)?, words as u64 * 8, PART)?;
        let word = |b: &[u8]| u64::from_le_bytes(b.try_into().expect("chunks of 8 bytes"));
        let mask: Vec<u64> = bytes.chunks_exact(8).map(word).collect();
        if !total.is_multiple_of(64) && mask[words - 1] >> (total % 64) != 0 {
            return Err(c.bad("its mask reaches beyond the frame"));
        }
        let mut count = 0;
        let before = mask.chunks(GROUP).map(|g| {
            let here = count;
            count += g.iter().map(|w| u64::from(w.count_ones())).sum::<u64>();
            here
        });
        let before = before.collect();
        let (mut indices, mut patterns) = (Vec::new(), Vec::new());
        match palette.len() {
            0 => patterns = zstd_unpack(c.rest(), count * T::BYTES as u64, PART)?,
            1 => c.finish()?,
            _ => indices = zstd_unpack(c.rest(), count, PART)?,
        }
        if indices.iter().any(|&i| usize::from(i) >= palette.len()) {
            return Err(c.bad("it names a pattern that it does not list"));
        }
        Ok(Self { n, mask, before, palette, indices, patterns })
    }
    /// Writes the special values that lie in `region` of the frame over `values` (the region, C order).
    pub fn restore(&self, region: &Region, values: &mut [T]) {
        let [nz, ny, nx] = region.shape();
        for z in 0..nz {
            for y in 0..ny {
                let start = ((region.lo[0] + z) * self.n[1] + region.lo[1] + y) * self.n[2] + region.lo[2];
                self.restore_run(start, &mut values[(z * ny + y) * nx..][..nx]);
            }
        }
    }
    fn restore_run(&self, start: usize, values: &mut [T]) {
        let end = start + values.len();
        let mut rank = None;
        for word in start / 64..end.div_ceil(64) {
            let mut bits = self.mask[word];
            if word == start / 64 {
                bits &= !0 << (start % 64);
            }
            if word == end / 64 {
                bits &= (1 << (end % 64)) - 1;
            }
            while bits != 0 {
                let index = word * 64 + bits.trailing_zeros() as usize;
                let order = *rank.get_or_insert_with(|| self.rank(index));
                values[index - start] = self.value(order);
                rank = Some(order + 1);
                bits &= bits - 1;
            }
        }
    }
    /// Number of special values before `index`.
    fn rank(&self, index: usize) -> usize {
        let word = index / 64;
        let first = word / GROUP * GROUP;
        let words: u32 = self.mask[first..word].iter().map(|w| w.count_ones()).sum();
        let bits = (self.mask[word] & ((1 << (index % 64)) - 1)).count_ones();
        self.before[word / GROUP] as usize + (words + bits) as usize
    }
    fn value(&self, order: usize) -> T {
        match self.palette.len() {
            0 => pattern(&self.patterns[order * T::BYTES..][..T::BYTES]).expect("T::BYTES bytes are a pattern"),
            1 => self.palette[0],
            _ => self.palette[usize::from(self.indices[order])],
        }
    }
}

fn pattern<T: Element>(bytes: &[u8]) -> Result<T> {
    let mut wide = [0; 8];
    wide[..T::BYTES].copy_from_slice(bytes);
    Ok(T::from_bits64(u64::from_le_bytes(wide)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::SliceField;

    const N: [usize; 3] = [5, 7, 13];

    /// Values where about one in `every` is special, of `kinds` different patterns.
    fn values(every: u32, kinds: u32) -> Vec<f32> {
        (0..(5 * 7 * 13u32))
            .map(|i| {
                let h = i.wrapping_mul(2_654_435_761) >> 7;
                if h % every == 0 { f32::from_bits(0x7fc0_0000 + h % kinds) } else { h as f32 }
            })
            .collect()
    }

    #[test]
    fn special_values_come_back_bit_for_bit_in_any_box() {
        for (every, kinds) in [(1, 1), (3, 1), (4, 200), (1, 1 << 20), (200, 2)] {
            let data = values(every, kinds);
            let field = SliceField::new(&data, N);
            let bytes = encode(&field, &Missing::default(), &Control::default()).unwrap();
            let special = Special::<f32>::decode(&bytes, N).unwrap();
            for region in [Region { lo: [0; 3], hi: N }, Region { lo: [1, 2, 3], hi: [4, 3, 13] }] {
                let mut box_values = vec![0.0; region.len()];
                field.read_region(&region, &mut box_values).unwrap();
                let mut restored: Vec<f32> = box_values.iter().map(|v| if v.is_finite() { *v } else { 1.0 }).collect();
                special.restore(&region, &mut restored);
                assert!(restored.iter().zip(&box_values).all(|(a, b)| a.to_bits() == b.to_bits()));
            }
            for cut in 0..bytes.len() {
                assert!(Special::<f32>::decode(&bytes[..cut], N).is_err());
            }
        }
    }

    #[test]
    fn missing_patterns_are_special_and_do_not_count_as_largest() {
        let data = [1.0f64, -3.0, 1e20, f64::INFINITY, -0.0];
        let field = SliceField::new(&data, [1, 1, 5]);
        let missing = vec![1e20f64.to_bits()].into();
        let (extent, specials) = scan(&field, &missing, &Control::default()).unwrap();
        assert_eq!((extent.min, extent.max, extent.max_abs(), specials), (-3.0, 1.0, 3.0, 2));
        let nothing = SliceField::new(&[f64::NAN], [1, 1, 1]);
        let (extent, specials) = scan(&nothing, &missing, &Control::default()).unwrap();
        assert_eq!((extent, extent.max_abs(), extent.range(), specials), (Extent::EMPTY, 0.0, 0.0, 1));
    }
}
