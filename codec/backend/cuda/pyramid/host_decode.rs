//! A frame, or a box of it, from bytes on the host to values on the host, by one or several devices.

use super::Work;
use super::decode::{Packet, Sent};
use super::slabs::{Slab, Team, Worker};
use crate::backend::{FrameShape, FrameSource, RegionSink};
use crate::transform::pyramid::Real;
use crate::{Control, Error, ErrorKind, Region, Result};
use cudarc::driver::CudaEvent;
use rayon::prelude::*;

/// Decodes the part of a frame inside `region`, which lies in the frame and is not empty, and which the team was made for.
pub fn decode_frame<T: Real>(
    mut team: Team<T>,
    frame: &FrameShape,
    source: &dyn FrameSource,
    region: &Region,
    out: &dyn RegionSink<T>,
    control: &Control,
) -> Result<()> {
    let workers = &mut team.workers[..];
    let job = Job { frame, source, out, control };
    if workers[0].pyramid.stages.len() == 1 {
        return workers[0].decode_alone(&job, region);
    }
    let Some(plan) = &workers[0].pyramid.stages[0].plan else { return Ok(()) };
    let (is, count) = (source.chunk_count(), plan.array.chunks().iter().product::<usize>());
    if is != count {
        return Err(Error::corrupt(format!("chunk index: {is} chunks where the shape asks for {count}")));
    }
    let step = workers.len();
    if step == 1 {
        return workers[0].decode(&job, 0, 1);
    }
    let job = &job;
    let broken = |_| Error::new(ErrorKind::Device, "GPU: a worker ended early");
    std::thread::scope(|scope| {
        let spawn = |(first, worker): (usize, _)| {
            let worker: &mut Worker<T> = worker;
            scope.spawn(move || worker.decode(job, first, step))
        };
        let running: Vec<_> = workers.iter_mut().enumerate().map(spawn).collect();
        running.into_iter().try_for_each(|worker| worker.join().map_err(broken)?)
    })
}

/// What workers share.
struct Job<'a, T> {
    frame: &'a FrameShape<'a>,
    source: &'a dyn FrameSource,
    out: &'a dyn RegionSink<T>,
    control: &'a Control,
}

fn crop<T: Real>(all: &[T], n: [usize; 3], region: &Region) -> Vec<T> {
    let mut values = Vec::with_capacity(region.len());
    for z in region.lo[0]..region.hi[0] {
        for y in region.lo[1]..region.hi[1] {
            let row = (z * n[1] + y) * n[2];
            values.extend_from_slice(&all[row + region.lo[2]..row + region.hi[2]]);
        }
    }
    values
}

/// A slab whose values are being made.
struct Queued<'a> {
    region: Region,
    address: u64,
    sent: Sent,
    packets: Vec<Packet<'a>>,
    ready: CudaEvent,
}

impl<T: Real> Worker<'_, T> {
    /// Rebuilds all corner arrays (the frame, where it is its own last array).
    fn begin(&mut self, job: &Job<T>) -> Result<()> {
        let (gpu, pyramid) = (self.gpu, &mut *self.pyramid);
        gpu.bind()?;
        let coarse = job.source.coarse()?;
        pyramid.set_points(job.frame.params.points);
        let packets = pyramid.coarse_packets(&coarse)?;
        pyramid.send_tiers(gpu, job.frame.tolerance, T::from_f64(job.frame.max_abs))?;
        pyramid.gather(gpu, usize::MAX, false)?;
        pyramid.take_corners(gpu, false)?;
        let sent = pyramid.queue_packets(gpu, &packets)?;
        pyramid.check(gpu, &sent, &packets)?;
        pyramid.rebuild_corners(gpu)?;
        job.control.check()
    }

    /// A frame that is its own last array.
    fn decode_alone(&mut self, job: &Job<T>, region: &Region) -> Result<()> {
        self.begin(job)?;
        let stage = &self.pyramid.stages[0];
        let mut all = vec![T::ZERO; stage.len()];
        // SAFETY: the last array was just rebuilt in place.
        unsafe { self.gpu.download(stage.values.address(self.gpu), &mut all)? };
        job.out.put(region, &crop(&all, job.frame.n, region))?;
        job.control.advance((region.len() * T::BYTES) as u64);
        Ok(())
    }

    /// Rebuilds every `step`-th slab from the `first`. While kernels work on a slab, the values of the one before travel.
    fn decode(&mut self, job: &Job<T>, first: usize, step: usize) -> Result<()> {
        self.begin(job)?;
        let gpu = self.gpu;
        let slabs = self.pyramid.slabs.slabs.clone();
        let mut before = None;
        for (turn, index) in (first..slabs.len()).step_by(step).enumerate() {
            job.control.check()?;
            let queued = self.queue(job, &slabs[index], index, turn)?;
            if let Some(done) = before.take() {
                self.hand_out(job, &done)?;
            }
            self.pyramid.check(gpu, &queued.sent, &queued.packets)?;
            before = Some(queued);
        }
        before.map_or(Ok(()), |done| self.hand_out(job, &done))
    }

    fn hand_out(&self, job: &Job<T>, done: &Queued) -> Result<()> {
        // SAFETY: the slab's values stand there, dense, once it is ready.
        unsafe { self.gpu.receive(done.address, &done.region, job.out, &done.ready)? };
        job.control.advance((done.region.len() * T::BYTES) as u64);
        Ok(())
    }

    fn queue<'s>(&mut self, job: &Job<'s, T>, slab: &Slab, index: usize, turn: usize) -> Result<Queued<'s>> {
        let (gpu, pyramid) = (self.gpu, &mut *self.pyramid);
        let packet = |&chunk: &usize| Ok(Packet { bytes: job.source.chunk(chunk)?, stage: 0, chunk });
        let packets = slab.chunks.par_iter().map(packet).collect::<Result<Vec<_>>>()?;
        pyramid.take_slab(gpu, index, false)?;
        let sent = pyramid.queue_packets(gpu, &packets)?;
        let address = pyramid.slabs.memory[turn % 2].address(gpu);
        let Region { lo, hi } = slab.region;
        // Whatever damaged symbols say, the kernel stays inside the box; nothing is handed out before the check.
        let work = Work { lo, hi, ..pyramid.stages[0].work(false, address) };
        pyramid.run_tiles(gpu, 0, &work)?;
        Ok(Queued { region: slab.region, address, sent, packets, ready: gpu.event_on(&gpu.stream)? })
    }
}
