//! What a writer is given: values of any origin with their shape, names, units and geometry.

use crate::roi::ToleranceMap;
use crate::volume::{Element, Field, Metadata, Region, Shape, StoredType, Values, Volume};
use crate::{Error, Result};
use bytemuck::Pod;
use std::io::Write;
use std::path::Path;

/// Values to write, with everything that goes into a header.
pub struct Payload<'a> {
    pub shape: Shape,
    pub stored: StoredType,
    pub meta: Metadata,
    /// Values that mean "missing", in the values' own type.
    pub missing: Vec<f64>,
    /// Closed range of values that are data; others are missing.
    pub valid: Option<[f64; 2]>,
    values: Source<'a>,
}

enum Source<'a> {
    Volume(&'a Values),
    U8(&'a [u8]),
    F64(Vec<f64>),
}

impl<'a> Payload<'a> {
    /// A volume as it is.
    pub fn volume(volume: &'a Volume) -> Self {
        let missing = volume.missing.patterns.iter().map(|&bits| match &volume.values {
            Values::F32(_) => f32::from_bits64(bits).to_f64(),
            Values::F64(_) => f64::from_bits64(bits),
        });
        Self {
            shape: volume.shape,
            stored: volume.values.dtype().into(),
            meta: volume.meta.clone(),
            missing: missing.collect(),
            valid: volume.missing.valid,
            values: Source::Volume(&volume.values),
        }
    }
    /// A mask or label volume of the same shape and geometry as the volume that `meta` describes.
    ///
    /// # Errors
    /// A mask whose length is not that of the shape.
    pub fn mask(mask: &'a [u8], shape: Shape, meta: &Metadata) -> Result<Self> {
        if mask.len() != shape.len() {
            return Err(Error::invalid(format!("a mask of {} values does not fit shape {shape}", mask.len())));
        }
        let meta = Metadata { units: None, long_name: None, variable: "mask".into(), ..meta.clone() };
        Ok(Self { shape, stored: StoredType::U8, meta, missing: Vec::new(), valid: None, values: Source::U8(mask) })
    }
    /// The absolute tolerance of each 8^3 block of the volume of shape `of` that `meta` describes
    /// (infinite where detail is ignored), placed at the centres of the blocks.
    pub fn tolerance_map(map: &ToleranceMap, of: &Shape, meta: &Metadata) -> Result<Self> {
        let rank = of.rank as usize;
        let shape = Shape::new(&map.blocks[3 - rank..])?;
        let step = meta.spacing.clone().unwrap_or_else(|| vec![1.0; rank]);
        let start = meta.origin.clone().unwrap_or_else(|| vec![0.0; rank]);
        // The nodes of a block are 8 steps apart from the next block's; its centre is 3.5 steps from its first node.
        let centre = |a: usize| if of.extents()[a] > 1 { start[a] + 3.5 * step[a] } else { start[a] };
        let meta = Metadata {
            variable: "tolerance".into(),
            long_name: Some("absolute tolerance per 8x8x8 block".into()),
            spacing: Some(step.iter().map(|s| 8.0 * s).collect()),
            origin: Some((0..rank).map(centre).collect()),
            coordinates: Vec::new(),
            ..meta.clone()
        };
        let values = map.tier_of_block.iter().map(|&t| map.tiers[t as usize].tau).collect();
        Ok(Self { shape, stored: StoredType::F64, meta, missing: Vec::new(), valid: None, values: Source::F64(values) })
    }
    /// Name of the variable, or a plain word where it has none.
    pub fn name(&self) -> &str {
        if self.meta.variable.is_empty() { "value" } else { &self.meta.variable }
    }
    /// Bytes of all values.
    pub fn bytes(&self) -> u64 {
        (self.shape.len() * self.stored.bytes()) as u64
    }
    /// Spacing per axis of the shape's rank, slowest first; 1 where it is not known.
    pub fn spacing(&self) -> Vec<f64> {
        self.per_axis(&self.meta.spacing, 1.0)
    }
    /// Origin per axis of the shape's rank, slowest first; 0 where it is not known.
    pub fn origin(&self) -> Vec<f64> {
        self.per_axis(&self.meta.origin, 0.0)
    }
    /// Coordinates of the nodes along an axis of the shape's rank: as they are kept, else from origin and spacing.
    pub fn nodes(&self, axis: usize) -> Vec<f64> {
        let n = self.shape.extents()[axis];
        let kept = self.meta.coordinates.get(axis).filter(|nodes| nodes.len() == n);
        let (start, step) = (self.origin()[axis], self.spacing()[axis]);
        kept.cloned().unwrap_or_else(|| (0..n).map(|i| start + step * i as f64).collect())
    }
    fn per_axis(&self, given: &Option<Vec<f64>>, default: f64) -> Vec<f64> {
        let rank = self.shape.rank as usize;
        given.clone().filter(|g| g.len() == rank).unwrap_or_else(|| vec![default; rank])
    }
    /// The values, C order, little-endian.
    pub fn write_values(&self, sink: &mut dyn Write, path: &Path) -> Result<()> {
        let io = |e: std::io::Error| Error::io(path, &e);
        match &self.values {
            Source::Volume(Values::F32(f)) => each_plane(f.as_ref(), |p| little_endian(sink, p).map_err(io)),
            Source::Volume(Values::F64(f)) => each_plane(f.as_ref(), |p| little_endian(sink, p).map_err(io)),
            Source::U8(v) => sink.write_all(v).map_err(io),
            Source::F64(v) => little_endian(sink, v).map_err(io),
        }
    }
    /// All values in memory as f32; `None` when they are of another type.
    pub(super) fn collect_f32(&self) -> Option<Result<Vec<f32>>> {
        match &self.values {
            Source::Volume(Values::F32(f)) => Some(all(f.as_ref())),
            _ => None,
        }
    }
    /// All values in memory as f64; `None` when they are of another type.
    pub(super) fn collect_f64(&self) -> Option<Result<Vec<f64>>> {
        match &self.values {
            Source::Volume(Values::F64(f)) => Some(all(f.as_ref())),
            Source::F64(v) => Some(Ok(v.clone())),
            _ => None,
        }
    }
    /// The values when they are bytes.
    pub(super) fn as_u8(&self) -> Option<&[u8]> {
        match &self.values {
            Source::U8(v) => Some(v),
            _ => None,
        }
    }
}

fn all<T: Element>(field: &dyn Field<T>) -> Result<Vec<T>> {
    let n = field.extents();
    let mut out = vec![T::ZERO; n.iter().product()];
    field.read_region(&Region { lo: [0; 3], hi: n }, &mut out)?;
    Ok(out)
}

/// Plane by plane, so that a volume larger than memory can be written.
fn each_plane<T: Element>(field: &dyn Field<T>, mut take: impl FnMut(&[T]) -> Result<()>) -> Result<()> {
    let [nz, ny, nx] = field.extents();
    let mut plane = vec![T::ZERO; ny * nx];
    for z in 0..nz {
        field.read_region(&Region { lo: [z, 0, 0], hi: [z + 1, ny, nx] }, &mut plane)?;
        take(&plane)?;
    }
    Ok(())
}

fn little_endian<T: Pod>(sink: &mut dyn Write, values: &[T]) -> std::io::Result<()> {
    if cfg!(target_endian = "little") {
        return sink.write_all(bytemuck::cast_slice(values));
    }
    for value in values {
        let mut bytes = bytemuck::bytes_of(value).to_vec();
        bytes.reverse();
        sink.write_all(&bytes)?;
    }
    Ok(())
}
