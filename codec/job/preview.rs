//! A coarse look at a stream that reads a small part of it.

use super::dispatch::Coded;
use super::sink::clamp;
use crate::backend::FrameShape;
use crate::backend::FrameSource;
use crate::stream::{Archive, FrameKind, FrameReader};
use crate::transform::hybrid::{coarse, frame::Frame, plan::Plan};
use crate::transform::pyramid::{self, Preview, Real};
use crate::volume::{DType, Metadata, Values, VecField, Volume};
use crate::{Control, Error, Mode, Region, Result, Shape};
use std::sync::Arc;

/// Coarse nodes of a whole volume, each within its tolerance.
pub struct CoarseVolume {
    /// The nodes as a volume of their own that lies over the whole one. Mostly they are not evenly spaced: then it has coordinates.
    pub volume: Volume,
    /// Nodes of the whole volume that were kept, per axis (slowest first, three axes).
    pub coordinates: [Vec<usize>; 3],
}

/// Decodes the finest corner arrays of about `max_values` values in all, from the coarse parts alone.
///
/// # Errors
/// When the stream is hybrid or stored plain (it has no corner arrays), damaged, or `control` is cancelled.
pub fn preview(archive: &Archive, max_values: usize, control: &Control) -> Result<CoarseVolume> {
    let plain = (0..archive.frames().count).any(|i| archive.frame(i).kind() == FrameKind::Plain);
    if archive.header().params.mode != Mode::Pyramid {
        return Err(Error::invalid("only pyramid streams carry a preview").remedy("decode a box instead"));
    }
    if plain {
        let message = "this stream stores its values as they are, without a coarse part, and so carries no preview";
        return Err(Error::invalid(message).remedy("decode a box instead"));
    }
    each_type(archive, Look::Within(max_values), control)
}

/// Decodes what a hybrid stream keeps of its finest local level: about a quarter of the values, from the coarse parts alone. For
/// showing something while the rest is decoded: the details are missing, so no bound holds.
///
/// # Errors
/// When the stream is of another mode, stored plain or without local levels, damaged, or `control` is cancelled.
pub fn coarse_look(archive: &Archive, control: &Control) -> Result<CoarseVolume> {
    let plain = (0..archive.frames().count).any(|i| archive.frame(i).kind() == FrameKind::Plain);
    let params = &archive.header().params;
    if params.mode != Mode::Hybrid || params.local_levels == 0 || plain {
        return Err(Error::invalid("only hybrid streams with local levels have a coarse array"));
    }
    each_type(archive, Look::Hybrid, control)
}

/// Which coarse array of a frame.
#[derive(Clone, Copy)]
enum Look {
    /// A pyramid's corner array of about so many values in all frames.
    Within(usize),
    Hybrid,
}

fn each_type(archive: &Archive, look: Look, control: &Control) -> Result<CoarseVolume> {
    match archive.header().dtype {
        DType::F32 => joined::<f32>(archive, look, control, |n, v| Values::F32(Arc::new(VecField::new(v, n)))),
        DType::F64 => joined::<f64>(archive, look, control, |n, v| Values::F64(Arc::new(VecField::new(v, n)))),
    }
}

/// Previews of all frames, one after the other along the axis that is cut.
fn joined<T: Coded + Real>(
    archive: &Archive,
    look: Look,
    control: &Control,
    wrap: impl Fn([usize; 3], Vec<T>) -> Values,
) -> Result<CoarseVolume> {
    let frames = archive.frames();
    let axis = frames.axis;
    let mut all: Option<Preview<T>> = None;
    for index in 0..frames.count {
        control.check()?;
        let frame = archive.frame(index);
        let next = match look {
            Look::Within(most) => of_frame::<T>(&frame, most / frames.count, all.as_ref(), axis, control),
            Look::Hybrid => hybrid_frame::<T>(&frame),
        };
        let mut next = next.map_err(|e| archive.named(e))?;
        next.coordinates[axis].iter_mut().for_each(|c| *c += frame.region().lo[axis]);
        match &mut all {
            None => all = Some(next),
            Some(all) => {
                all.n[axis] += next.n[axis];
                all.coordinates[axis].append(&mut next.coordinates[axis]);
                // Axes before the one that is cut have one node: C order is the order of frames.
                all.values.append(&mut next.values);
            }
        }
    }
    let Preview { n, coordinates, values } = all.ok_or_else(|| Error::corrupt("the stream has no frames"))?;
    let first = 3 - usize::from(archive.header().shape.rank);
    let provenance = archive.provenance()?;
    let meta = stretched(provenance.volume, &coordinates[first..]);
    let volume = Volume { shape: Shape::new(&n[first..])?, values: wrap(n, values), meta, missing: provenance.missing };
    Ok(CoarseVolume { volume, coordinates })
}

/// One frame's preview, with the same nodes across the cut as the frames before.
fn of_frame<T: Coded + Real>(
    frame: &FrameReader,
    mut max_values: usize,
    before: Option<&Preview<T>>,
    axis: usize,
    control: &Control,
) -> Result<Preview<T>> {
    let (tolerance, params) = frame.coding()?;
    let n = frame.region().shape();
    let shape = FrameShape { n, tolerance: &tolerance, params: &params, max_abs: frame.extent().max_abs() };
    let fits =
        |p: &Preview<T>| before.is_none_or(|b| (0..3).all(|a| a == axis || b.coordinates[a] == p.coordinates[a]));
    let mut preview = pyramid::preview::<T>(&shape, frame, max_values, control)?;
    while !fits(&preview) && max_values > 0 {
        // A smaller last frame has a finer array that would do: take a coarser one.
        max_values /= 2;
        preview = pyramid::preview::<T>(&shape, frame, max_values, control)?;
    }
    if !fits(&preview) {
        let message = "the frames of this stream differ in shape so much that no coarse nodes of theirs meet";
        return Err(Error::invalid(message).remedy("decode a box instead"));
    }
    put_special(frame, &mut preview)?;
    Ok(preview)
}

/// The array that the finest local level of a frame leaves, without the nodes of its padding.
fn hybrid_frame<T: Coded>(frame: &FrameReader) -> Result<Preview<T>> {
    let (tolerance, params) = frame.coding()?;
    let n = frame.region().shape();
    let plan = Plan::new(n, &params);
    let part = coarse::read::<T>(&plan, params.entropy, &frame.coarse()?)?;
    let part = part.filter(|_| plan.chunked()).ok_or_else(|| Error::invalid("the frame has no coarse array"))?;
    let decoder = Frame::<T>::new(n, &tolerance, frame.extent().max_abs(), &params, Some(part.factors));
    let values = decoder.hierarchy.recompose(&part.levels, &part.coarsest);
    let extents = decoder.hierarchy.coarse_extents();
    // Axes of one node were moved to the front, which leaves the order of the values as it is.
    let mut coordinates: [Vec<usize>; 3] = std::array::from_fn(|_| vec![0]);
    for (axis, coordinates) in coordinates.iter_mut().enumerate().filter(|(axis, _)| n[*axis] > 1) {
        let nodes = (0..n[axis].div_ceil(BLOCK)).flat_map(|b| COARSE_NODES.map(|c| b * BLOCK + c));
        *coordinates = nodes.filter(|&c| c < n[axis]).collect();
    }
    let kept = coordinates.each_ref().map(Vec::len);
    let ours = crate::transform::hybrid::plan::squeeze(n, kept);
    let rows = (0..ours[0] * ours[1]).map(|i| (i / ours[1] * extents[1] + i % ours[1]) * extents[2]);
    let values = rows.flat_map(|row| values[row..row + ours[2]].iter().copied()).collect();
    let mut preview = Preview { n: kept, coordinates, values };
    put_special(frame, &mut preview)?;
    Ok(preview)
}

/// Nodes of a block axis, and those of them that a local level keeps.
const BLOCK: usize = 8;
const COARSE_NODES: [usize; 5] = [0, 2, 4, 6, 7];

/// Brings the nodes of a preview into the valid range, and puts the special values among them in their places.
fn put_special<T: Coded>(frame: &FrameReader, preview: &mut Preview<T>) -> Result<()> {
    clamp(&mut preview.values, frame.limits()?);
    if let Some(special) = frame.special::<T>()? {
        let [_, ny, nx] = preview.n;
        for (i, value) in preview.values.iter_mut().enumerate() {
            let at = [i / (ny * nx), i / nx % ny, i % nx];
            let lo: [usize; 3] = std::array::from_fn(|a| preview.coordinates[a][at[a]]);
            special.restore(&Region { lo, hi: lo.map(|c| c + 1) }, std::slice::from_mut(value));
        }
    }
    Ok(())
}

/// Where the nodes that were kept lie: spacing (the mean distance, where they are not evenly spaced) and origin, and the coordinates of uneven axes.
fn stretched(mut meta: Metadata, kept: &[Vec<usize>]) -> Metadata {
    let rank = kept.len();
    let spacing = meta.spacing.take().unwrap_or_else(|| vec![1.0; rank]);
    let origin = meta.origin.clone().unwrap_or_else(|| vec![0.0; rank]);
    let own = std::mem::take(&mut meta.coordinates);
    let place = |axis: usize, node: usize| match own.get(axis).filter(|nodes| !nodes.is_empty()) {
        Some(nodes) => nodes.get(node).copied(),
        None => Some(origin.get(axis)? + spacing.get(axis)? * node as f64),
    };
    let is_even = |axis: usize| {
        let step = |pair: &[usize]| pair[1] - pair[0];
        let mut steps = kept[axis].windows(2).map(step);
        let first = steps.next();
        own.get(axis).is_none_or(Vec::is_empty) && steps.all(|step| Some(step) == first)
    };
    if !(0..rank).all(is_even) {
        let places = |axis: usize| match is_even(axis) {
            true => Vec::new(),
            false => kept[axis].iter().filter_map(|&node| place(axis, node)).collect(),
        };
        meta.coordinates = (0..rank).map(places).collect();
    }
    let steps = kept.iter().map(|nodes| match nodes.as_slice() {
        [first, .., last] => (last - first) as f64 / (nodes.len() - 1) as f64,
        _ => 1.0,
    });
    meta.spacing = Some(spacing.iter().zip(steps).map(|(s, step)| s * step).collect());
    meta
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_nodes_lie_where_they_lay() {
        let uneven = (0..64).map(|i| (i * i) as f64).collect();
        let (spacing, origin) = (Some(vec![2.0, 0.5, 1.0]), Some(vec![10.0, 0.0, -1.0]));
        let meta = Metadata { spacing, origin, coordinates: vec![vec![], vec![], uneven], ..Metadata::default() };
        let seen = stretched(meta, &[vec![0, 31, 32, 63], vec![0, 7, 14], vec![0, 31, 63]]);
        assert_eq!(seen.coordinates, [vec![10.0, 72.0, 74.0, 136.0], vec![], vec![0.0, 961.0, 3969.0]]);
        assert_eq!((seen.spacing.unwrap()[..2].to_vec(), seen.origin.unwrap()[0]), (vec![42.0, 3.5], 10.0));
        let even = stretched(Metadata::default(), &[vec![0, 4, 8], vec![5]]);
        assert!(even.coordinates.is_empty() && even.spacing == Some(vec![4.0, 1.0]));
    }
}
