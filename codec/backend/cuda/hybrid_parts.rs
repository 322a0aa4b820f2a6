//! Decoding of a frame of the hybrid mode in parts: by several devices, and where one is short of memory.

use super::hybrid::{self, Outcome};
use super::{Cpu, Cuda, Kept, locked};
use crate::backend::{FrameShape, FrameSource, RegionSink};
use crate::{Control, Error, ErrorKind, Region, Result};

/// Boxes are cut at multiples of this many nodes, the side of a chunk of a large volume.
const GRAIN: usize = 64;

/// What all parts share.
pub struct HybridParts<'a, T> {
    pub cuda: &'a Cuda,
    pub frame: &'a FrameShape<'a>,
    pub source: &'a dyn FrameSource,
    pub out: &'a dyn RegionSink<T>,
    pub control: &'a Control,
}

/// Decodes a box that lies in the frame and is not empty.
pub fn decode<T: Kept>(job: &HybridParts<T>, region: &Region) -> Result<()> {
    let what = match hybrid::refusal(job.frame.n) {
        Some(what) => what,
        None => return job.spread(region),
    };
    job.on_cpu(&job.cuda.stand_in(what)?, region)
}

impl<T: Kept> HybridParts<'_, T> {
    fn on_cpu(&self, cpu: &Cpu, region: &Region) -> Result<()> {
        T::decode_on_cpu(cpu, self.frame, self.source, region, self.out, self.control)
    }

    /// A part for each device.
    fn spread(&self, region: &Region) -> Result<()> {
        let parts = cut(region, self.cuda.gpus.len());
        if parts.len() == 1 {
            return self.on_device(0, region);
        }
        let broken = |_| Error::new(ErrorKind::Device, "GPU: a worker ended early");
        std::thread::scope(|scope| {
            let spawn = |(gpu, part)| scope.spawn(move || self.on_device(gpu, part));
            let running: Vec<_> = parts.iter().enumerate().map(spawn).collect();
            running.into_iter().try_for_each(|worker| worker.join().map_err(broken)?)
        })
    }

    /// In halves where memory is short.
    fn on_device(&self, index: usize, region: &Region) -> Result<()> {
        let gpu = &self.cuda.gpus[index];
        gpu.bind()?;
        gpu.account.forgive();
        let mut session = locked(&self.cuda.sessions[index]);
        let hybrid = session.hybrid(gpu, self.frame.n, self.frame.params);
        let run = |hybrid| hybrid::decode_frame(gpu, hybrid, self.frame, self.source, region, self.out, self.control);
        let outcome = hybrid.and_then(run);
        if outcome.is_err() && gpu.account.was_short() {
            session.clear();
        }
        drop(session);
        match outcome {
            Ok(Outcome::Done) => Ok(()),
            Ok(Outcome::LeftToCpu(what)) => self.on_cpu(&self.cuda.stand_in(what)?, region),
            Err(error) if !gpu.account.was_short() => Err(error),
            Err(error) => match &cut(region, 2)[..] {
                [_] if self.cuda.cpu_when_short => self.on_cpu(&Cpu, region),
                [_] => Err(error),
                halves => halves.iter().try_for_each(|half| self.on_device(index, half)),
            },
        }
    }
}

/// At most `count` boxes of about the same size, cut along the first axis that allows it.
fn cut(region: &Region, count: usize) -> Vec<Region> {
    let shape = region.shape();
    let Some(axis) = (0..3).find(|&a| shape[a] > GRAIN) else { return vec![*region] };
    let step = shape[axis].div_ceil(count).next_multiple_of(GRAIN);
    let mut ends: Vec<usize> = (1..count).map(|i| (region.lo[axis] + i * step) / GRAIN * GRAIN).collect();
    ends.retain(|&end| end > region.lo[axis] && end < region.hi[axis]);
    ends.push(region.hi[axis]);
    let mut lo = region.lo[axis];
    let part = |end| {
        let mut part = *region;
        (part.lo[axis], part.hi[axis]) = (lo, end);
        lo = end;
        part
    };
    ends.into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_a_box_in_order_and_become_smaller() {
        for (lo, hi) in [([0; 3], [512, 9, 9]), ([3, 5, 0], [4, 200, 9]), ([60, 0, 0], [130, 1, 1]), ([0; 3], [64; 3])]
        {
            let region = Region { lo, hi };
            for count in 1..5 {
                let parts = cut(&region, count);
                assert!(parts.len() <= count && parts.iter().all(|p| !p.is_empty()));
                assert_eq!(parts.iter().map(Region::len).sum::<usize>(), region.len());
            }
            assert_eq!(cut(&region, 2).len() > 1, region.shape().iter().any(|&n| n > GRAIN), "{region:?}");
        }
    }
}
