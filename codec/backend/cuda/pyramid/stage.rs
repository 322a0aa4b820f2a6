//! One array of a frame's pyramid on the device.

use super::super::buffer::Buffer;
use super::super::gpu::Gpu;
use super::bands::Bands;
use super::level::{Gathering, Level, Span, WholeTiles, Worklist};
use super::lines::Lines;
use super::planes::Eights;
use super::tiles::TileList;
use super::{Work, narrow};
use crate::transform::pyramid::Real;
use crate::transform::pyramid::geometry::Array;
use crate::transform::pyramid::plan::{ArrayPlan, TilePlan};
use crate::{Params, Region, Result};

/// One array on the device.
pub struct Stage<T> {
    /// None for the last array.
    pub plan: Option<ArrayPlan<T>>,
    pub n: [usize; 3],
    pub level: Level,
    /// Its tiles and chunks in the worklist at hand.
    pub span: Span,
    pub tiles: TileList,
    /// Its whole tiles, for the planes coder.
    pub eights: Option<Eights<T>>,
    /// The array's values, then its reconstruction; of a corner array with tiles its reconstruction alone.
    pub values: Buffer,
    /// The values of such an array, which several blocks may read while others rebuild it.
    pub original: Buffer,
    /// The tier of each node, or of each block of the frame.
    pub tiers: Buffer,
}

impl<T: Real> Stage<T> {
    pub fn new(gathering: &mut Gathering, array: Array, params: &Params) -> Self {
        let n = array.n;
        let plan = (!array.is_last()).then(|| match params.coder {
            crate::Coder::Groups => ArrayPlan::<T>::new(array).with_groups(),
            crate::Coder::Class | crate::Coder::Planes => ArrayPlan::<T>::new(array),
        });
        let level = match &plan {
            Some(plan) => gathering.add(plan),
            None => gathering.add_last::<T>(n.iter().product()),
        };
        let eights = plan.as_ref().and_then(|plan| Eights::new(plan, level.first_shape));
        let [values, original, tiers] = std::array::from_fn(|_| Buffer::default());
        Self { plan, n, level, span: Span::default(), tiles: TileList::default(), eights, values, original, tiers }
    }
    pub fn len(&self) -> usize {
        self.n.iter().product()
    }
    /// Where its values stand before they are rebuilt.
    pub fn source(&self) -> &Buffer {
        match &self.plan {
            Some(plan) if !plan.array.is_frame() => &self.original,
            _ => &self.values,
        }
    }
    /// Memory for the values of a corner array.
    pub fn reserve_corners(&mut self, gpu: &Gpu) -> Result<()> {
        let bytes = self.len() * T::BYTES;
        self.values.reserve(gpu, bytes)?;
        self.original.reserve(gpu, if self.plan.is_some() { bytes } else { 0 })?;
        Ok(())
    }
    /// The lines of its whole tiles, if it has any.
    pub fn lines(&self, gpu: &Gpu) -> Result<Lines> {
        self.whole_tile().map_or(Ok(Lines::default()), |(tile, whole)| Lines::new(gpu, tile, whole))
    }
    /// The kernels of bands for them, if there are any.
    pub fn bands(&self, gpu: &Gpu) -> Result<Option<Bands>> {
        // they count the nodes of eight planes in 32 bits
        if self.n[1] * self.n[2] >= 1 << 29 {
            return Ok(None);
        }
        self.whole_tile().map_or(Ok(None), |(tile, whole)| Bands::new(gpu, tile, whole))
    }
    pub fn whole_tile(&self) -> Option<(&TilePlan<T>, &WholeTiles)> {
        let (plan, whole) = (self.plan.as_ref()?, self.level.whole.as_ref()?);
        let tile = plan.tile_plans().iter().find(|tile| tile.dims == [whole.side as usize; 3])?;
        Some((tile, whole))
    }
    /// Appends the given chunks of the array to `list`.
    pub fn list(&mut self, list: &mut Worklist, chunks: impl Iterator<Item = usize>) {
        self.span = match &self.plan {
            Some(plan) => list.add(plan, &self.level, chunks),
            None => list.add_last(&self.level, self.len()),
        };
    }
    /// The work on the whole array; `result` takes its reconstruction.
    pub fn work(&self, encode: bool, result: u64) -> Work {
        Work { encode, values: None, result, lo: [0; 3], hi: self.n }
    }
    pub fn whole(&self) -> Region {
        Region { lo: [0; 3], hi: self.n }
    }
    pub fn chunk_count(&self) -> usize {
        self.plan.as_ref().map_or(1, |plan| plan.array.chunks().iter().product())
    }
    pub fn side(&self) -> u32 {
        self.plan.as_ref().map_or(1, |p| p.array.sides().tile as u32)
    }
    /// Extents of the array of tiers.
    pub fn blocks(&self, frame: bool) -> [u32; 3] {
        narrow(if frame { self.n.map(|n| n.div_ceil(8)) } else { self.n })
    }
}
