//! The corner arrays of a frame and the coarse part of its stream.

use super::chunk::{Chunk, Dense, Workspace};
use super::frame::{Frame, in_part};
use super::geometry::Array;
use super::lanes::Real;
use super::last;
use super::tiers::Tiers;
use crate::volume::Field;
use crate::{Control, Error, Region, Result};
use rayon::prelude::*;

/// The values of a corner array (originals, or the reconstruction) and the tier of each node.
#[derive(Clone, Debug)]
pub struct Corners<T> {
    pub n: [usize; 3],
    pub values: Vec<T>,
    /// One a node; empty when the frame has a single tier.
    tiers: Vec<u8>,
}

impl<T: Real> Corners<T> {
    /// Room for the array, with its tiers.
    pub fn new(frame: &Frame<T>, array: &Array) -> Self {
        let mut tiers = Vec::new();
        if frame.tolerance.tiers.len() > 1 {
            let map = frame.tiers();
            tiers.reserve_exact(array.len());
            for z in 0..array.n[0] {
                for y in 0..array.n[1] {
                    let row = (0..array.n[2]).map(|x| map.at(array.coordinates([z, y, x])));
                    tiers.extend(row);
                }
            }
        }
        Self { n: array.n, values: vec![T::ZERO; array.len()], tiers }
    }
    pub fn dense(&self) -> Dense<'_, T> {
        Dense { values: &self.values, n: self.n }
    }
    pub fn tiers<'a>(&'a self, frame: &'a Frame<T>) -> Tiers<'a, T> {
        if self.tiers.is_empty() {
            return Tiers::uniform(&frame.quantizers);
        }
        Tiers { tier: &self.tiers, blocks: self.n, shift: 0, quantizers: &frame.quantizers }
    }
    /// The values of a box, C order.
    pub fn copy_box(&self, region: &Region) -> Vec<T> {
        let mut values = Vec::with_capacity(region.len());
        self.rows(region).for_each(|row| values.extend_from_slice(&self.values[row]));
        values
    }
    fn paste_box(&mut self, region: &Region, values: &[T]) {
        for (row, from) in self.rows(region).zip(values.chunks_exact(region.shape()[2])) {
            self.values[row].copy_from_slice(from);
        }
    }
    /// Index ranges of the rows of a box.
    fn rows(&self, region: &Region) -> impl Iterator<Item = std::ops::Range<usize>> + use<T> {
        let ([_, ny, nx], Region { lo, hi }) = (self.n, *region);
        (lo[0]..hi[0])
            .flat_map(move |z| (lo[1]..hi[1]).map(move |y| (z * ny + y) * nx).map(move |row| row + lo[2]..row + hi[2]))
    }
}

/// Reads the first corner array (the frame itself when it has at most two nodes an axis).
fn read<T: Real>(frame: &Frame<T>, array: &Array, field: &dyn Field<T>) -> Result<Corners<T>> {
    let mut corners = Corners::new(frame, array);
    read_values(array, field, &mut corners.values)?;
    Ok(corners)
}

/// Reads the values of the first corner array.
pub fn read_values<T: Real>(array: &Array, field: &dyn Field<T>, values: &mut [T]) -> Result<()> {
    let x: Vec<usize> = (0..array.n[2]).map(|i| array.coordinate(2, i)).collect();
    let rows: Vec<_> = values.chunks_mut(array.n[2]).enumerate().collect();
    rows.into_par_iter().try_for_each(|(row, values)| {
        let [z, y, _] = array.coordinates([row / array.n[1], row % array.n[1], 0]);
        // Neighbouring coordinates are read together.
        let mut rest = values;
        for run in x.chunk_by(|a, b| a + 1 == *b) {
            let (now, later) = rest.split_at_mut(run.len());
            field.read_row(z, y, run[0], now)?;
            rest = later;
        }
        Ok(())
    })
}

/// The corners of `array` taken from its own values.
fn pick<T: Real>(frame: &Frame<T>, from: &Corners<T>, array: &Array, next: &Array) -> Corners<T> {
    let mut corners = Corners::new(frame, next);
    let index = [0, 1, 2].map(|a| array.corner_indices(a));
    let mut out = corners.values.iter_mut();
    for z in &index[0] {
        for y in &index[1] {
            for (x, out) in index[2].iter().zip(&mut out) {
                *out = from.values[(z * from.n[1] + y) * from.n[2] + x];
            }
        }
    }
    corners
}

fn encode_last<T: Real>(frame: &Frame<T>, corners: &mut Corners<T>) -> Vec<u8> {
    let mut values = std::mem::take(&mut corners.values);
    let bytes = last::encode(frame.coding, &corners.tiers(frame), corners.n, &mut values);
    corners.values = values;
    bytes
}

/// Encodes all corner arrays. Returns the coarse part and the reconstruction of the first corner array.
pub fn encode<T: Real>(frame: &Frame<T>, field: &dyn Field<T>, control: &Control) -> Result<(Vec<u8>, Corners<T>)> {
    let arrays = frame.corner_arrays();
    let mut stack = vec![read(frame, arrays[0], field)?];
    for pair in arrays.windows(2) {
        stack.push(pick(frame, &stack[stack.len() - 1], pair[0], pair[1]));
    }
    let mut bytes = Vec::new();
    let mut below = stack.pop().ok_or_else(|| Error::invalid("a frame without values"))?;
    append(&mut bytes, &encode_last(frame, &mut below));
    while let Some(mut corners) = stack.pop() {
        let plan = &frame.plans[stack.len() + 1];
        let chunks: Vec<usize> = (0..plan.array.chunks().iter().product()).collect();
        let encoded = chunks.into_par_iter().map_init(Workspace::default, |workspace, index| {
            control.check()?;
            let region = plan.array.chunk_box(index);
            workspace.values = corners.copy_box(&region);
            let chunk = Chunk { plan, region, tiers: corners.tiers(frame), corners: below.dense() };
            let bytes = chunk.pack(frame.coding, true, workspace);
            Ok((region, std::mem::take(&mut workspace.values), bytes))
        });
        for (region, values, chunk) in encoded.collect::<Result<Vec<_>>>()? {
            corners.paste_box(&region, &values);
            append(&mut bytes, &chunk);
        }
        below = corners;
    }
    Ok((bytes, below))
}

/// Decodes the corner arrays down to the one that `stop` (an index, the frame being 0) names.
pub fn decode<T: Real>(frame: &Frame<T>, bytes: &[u8], stop: usize, control: &Control) -> Result<Corners<T>> {
    let count = frame.plans.iter().skip(1).map(|p| p.array.chunks().iter().product::<usize>()).sum::<usize>();
    if bytes.len() / 3 < count {
        return Err(Error::truncated(format!("coarse part: {} bytes for {count} corner chunks", bytes.len())));
    }
    let mut parts = Parts { bytes };
    let mut below = Corners::new(frame, &frame.last);
    below.values = last::decode(frame.coding, &below.tiers(frame), below.n, parts.next()?)?;
    for index in (stop.max(1)..frame.plans.len()).rev() {
        let plan = &frame.plans[index];
        let mut corners = Corners::new(frame, &plan.array);
        let regions = (0..plan.array.chunks().iter().product()).map(|i| plan.array.chunk_box(i));
        let chunks = regions.map(|region| Ok((region, parts.next()?))).collect::<Result<Vec<_>>>()?;
        let decoded = chunks.into_par_iter().map_init(Workspace::default, |workspace, (region, bytes)| {
            control.check()?;
            let chunk = Chunk { plan, region, tiers: corners.tiers(frame), corners: below.dense() };
            let done = chunk.unpack(frame.coding, bytes, &region, workspace);
            done.map_err(|e| in_part(e, &format!("coarse part, corner array {index}")))?;
            Ok((region, std::mem::take(&mut workspace.values)))
        });
        for (region, values) in decoded.collect::<Result<Vec<_>>>()? {
            corners.paste_box(&region, &values);
        }
        below = corners;
    }
    if stop <= 1 && !parts.bytes.is_empty() {
        return Err(Error::corrupt(format!("coarse part: {} bytes too many at its end", parts.bytes.len())));
    }
    Ok(below)
}

/// Appends a part with its length in front (LEB128).
pub fn append(bytes: &mut Vec<u8>, part: &[u8]) {
    let mut length = part.len();
    while length >= 128 {
        bytes.push(length as u8 | 128);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend_from_slice(part);
}

/// Takes the parts of the coarse part one by one.
pub struct Parts<'a> {
    pub bytes: &'a [u8],
}

impl<'a> Parts<'a> {
    pub fn next(&mut self) -> Result<&'a [u8]> {
        let length = self.length()?;
        let (part, rest) = self.bytes.split_at_checked(length).ok_or_else(|| {
            Error::truncated(format!("coarse part: a chunk of {length} bytes where {} are left", self.bytes.len()))
        })?;
        self.bytes = rest;
        Ok(part)
    }
    fn length(&mut self) -> Result<usize> {
        let mut length = 0;
        for shift in (0..35).step_by(7) {
            let (&byte, rest) =
                self.bytes.split_first().ok_or_else(|| Error::truncated("coarse part: ends inside a length"))?;
            self.bytes = rest;
            length |= (byte as usize & 127) << shift;
            if byte < 128 {
                return Ok(length);
            }
        }
        Err(Error::corrupt("coarse part: a length of more than five bytes"))
    }
}
