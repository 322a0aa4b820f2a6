//! Volumes cut into planes: pages of one TIFF file, folders of PNG or TIFF slices, numbered raw slices.

use super::strided::component_name;
use super::tiled::{BoxReader, tiled_values};
use crate::volume::stored::gather;
use crate::volume::{Dataset, Element, OpenHints, Region, StoredType, Values, VariableInfo, Volume, default_axes};
use crate::{Error, Result};
use std::sync::Arc;

/// What all planes of a stack have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneShape {
    pub height: usize,
    pub width: usize,
    /// Values per pixel.
    pub channels: usize,
    pub stored: StoredType,
    pub big_endian: bool,
}

impl PlaneShape {
    /// Bytes of one plane, or an error that the claim is absurd.
    pub fn bytes(&self) -> Result<usize> {
        super::header_text::total_bytes(&[self.height, self.width], self.channels, self.stored.bytes())
    }
}

/// Decodes planes on demand.
pub trait Planes: Send + Sync {
    fn count(&self) -> usize;
    fn shape(&self) -> PlaneShape;
    /// The bytes of plane `z`, all of [`PlaneShape::bytes`].
    fn plane(&self, z: usize) -> Result<Vec<u8>>;
}

/// A stack of planes, one variable per channel.
pub struct SliceStack {
    source: String,
    planes: Arc<dyn Planes>,
    infos: Vec<VariableInfo>,
}

impl SliceStack {
    /// `spacing` is per axis z, y, x.
    pub fn new(
        source: String,
        name: &str,
        planes: Arc<dyn Planes>,
        spacing: Option<[f64; 3]>,
        hints: &OpenHints,
    ) -> Result<Self> {
        let shape = planes.shape();
        shape.bytes()?;
        let extents = if planes.count() > 1 {
            vec![planes.count(), shape.height, shape.width]
        } else {
            vec![shape.height, shape.width]
        };
        if extents.contains(&0) {
            return Err(Error::invalid(format!("a stack of shape {extents:?} holds no values")));
        }
        let skip = 3 - extents.len();
        let info = |c: usize| VariableInfo {
            name: component_name(name, c, shape.channels),
            axes: default_axes(extents.len()),
            extents: extents.clone(),
            stored: format!("{} slices", shape.stored),
            dtype: shape.stored.delivered(),
            units: None,
            long_name: None,
            missing: hints.missing.clone(),
            valid: None,
            spacing: spacing.map(|s| s[skip..].to_vec()),
            origin: None,
            coordinates: Vec::new(),
            axis_units: Vec::new(),
            axis_attributes: Vec::new(),
            notes: shape.stored.conversion_note().into_iter().collect(),
        };
        let infos = (0..shape.channels).map(info).collect();
        Ok(Self { source, planes, infos })
    }
    /// Adds what a reader should know.
    pub fn with_note(mut self, note: Option<String>) -> Self {
        self.infos.iter_mut().for_each(|info| info.notes.extend(note.clone()));
        self
    }
}

impl Dataset for SliceStack {
    fn variables(&self) -> &[VariableInfo] {
        &self.infos
    }
    fn open(&self, variable: usize, step: usize) -> Result<Volume> {
        let info = self
            .infos
            .get(variable)
            .ok_or_else(|| Error::invalid(format!("{} has no variable number {variable}", self.source)))?;
        info.leading_indices(step)?;
        let n = info.shape()?.n;
        let reader = PlaneBoxes { planes: self.planes.clone(), channel: variable };
        let values: Values = tiled_values(info.dtype, n, [1, n[1], n[2]], reader)?;
        let name = if self.infos.len() > 1 { info.name.as_str() } else { "" };
        info.volume(&self.source, name, step, values)
    }
}

struct PlaneBoxes {
    planes: Arc<dyn Planes>,
    channel: usize,
}

impl<T: Element> BoxReader<T> for PlaneBoxes {
    fn read_box(&self, region: &Region, out: &mut [T]) -> Result<()> {
        let PlaneShape { width, channels, stored, big_endian, .. } = self.planes.shape();
        let [_, ny, nx] = region.shape();
        let expected = self.planes.shape().bytes()?;
        for (i, out) in out.chunks_exact_mut((ny * nx).max(1)).enumerate() {
            let plane = self.planes.plane(region.lo[0] + i)?;
            if plane.len() != expected {
                return Err(Error::corrupt(format!("a slice of {} bytes where {expected} are due", plane.len())));
            }
            for (y, row) in out.chunks_exact_mut(nx).enumerate() {
                let start = ((region.lo[1] + y) * width + region.lo[2]) * channels + self.channel;
                gather(&plane, start * stored.bytes(), channels * stored.bytes(), stored, big_endian, row);
            }
        }
        Ok(())
    }
}
